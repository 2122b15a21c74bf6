//! From mentions to rows: each mention of each segment is looked up once.
//!
//! What is mentioned and not there becomes a stray. Codes are resolved the same way: they are mentions
//! without ids.

pub(crate) mod levels;
pub(crate) mod source_types;
pub(crate) mod taxonomy;
pub(crate) mod unresolved;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, BufWriter, Write},
    ops::Range,
    path::Path,
    sync::{Mutex, PoisonError},
};

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::record::value::Table;
use pinakes_format::storage::blobs::unnamed_file;
use rayon::prelude::*;

use crate::error::Result;
use crate::link::atomic_bitset::Numbered;
use crate::link::external_sort::Sorter;
use crate::link::merge::Rows;
use crate::link::resolve::unresolved::{Stray, Strays};
use crate::link::select::suppressed::Nameless;
use crate::link::{Column, Linker, Segments, broken};
use crate::object::symbols::Mention;
use crate::read::institution_types::FIXED;

/// Stands in a segment's rows for what was not found on the first pass.
const UNRESOLVED: u32 = u32::MAX;
/// For each entity and each of its segments, the row of each mention.
pub(crate) struct Resolved {
    /// By entity, then by segment.
    rows: Vec<Vec<Range<usize>>>,
    /// The rows of all segments.
    found: Column,
    /// What is not there.
    pub strays: Strays,
    /// What is kept of the whole, where that is a part.
    kept: Option<Kept>,
}

/// The numbers that what is kept of rows and codes has in a part.
pub(crate) struct Kept {
    /// By entity, strays after records.
    pub rows: Vec<Numbered>,
    pub codes: Numbered,
    /// By entity, what stands in place of what is withheld.
    pub nameless: Vec<Nameless>,
}

impl Kept {
    /// Whether anything stands in place of what is withheld.
    pub(crate) fn has_nameless(&self) -> bool {
        self.nameless.iter().any(|nameless| !nameless.is_empty())
    }

    /// How many records are withheld, of each entity that has any.
    pub(crate) fn suppressed(&self) -> BTreeMap<String, u64> {
        Entity::all()
            .zip(&self.nameless)
            .map(|(entity, of)| (entity.facts().plural.to_owned(), of.records().len() as u64))
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// The number of an entity's row; `None` where nothing is left of it.
    pub(crate) fn row(&self, entity: Entity, row: u32) -> Option<u32> {
        self.nameless[entity as usize].number(row, &self.rows[entity as usize])
    }
}

impl Resolved {
    /// What is left of it for a part, with the strays that are kept.
    pub(crate) fn reduced(self, strays: Strays, kept: Kept) -> Resolved {
        Resolved { strays, kept: Some(kept), ..self }
    }

    /// The row, or the number of the code, that a mention of a segment stands for; `None` where
    /// there is no such mention, or nothing that is kept makes it.
    pub(crate) fn number(
        &self,
        entity: Entity,
        segment_at: usize,
        segment: &crate::object::file::Segment<'_>,
        mention: u32,
    ) -> Option<u32> {
        let mut rows = self.rows[entity as usize].get(segment_at)?.clone();
        let number = self.found.u32(rows.nth(mention as usize)?)?;
        let Some(kept) = &self.kept else { return Some(number) };
        match Entity::from_index(segment.mentions.subject(mention)?.0) {
            Some(entity) => kept.row(entity, number),
            None => kept.codes.of(number),
        }
    }
}

impl<'o> Linker<'o> {
    /// Resolves every mention of every segment. `codes` are those that side tables bring along, by
    /// their tables.
    pub(crate) fn resolve(
        &self,
        segments: &[Segments<'o>],
        rows: &[Rows],
        codes: BTreeSet<(u8, String)>,
    ) -> Result<Resolved> {
        let sorter = Mutex::new(Sorter::new(&self.scratch, self.sorter_bytes()));
        let push = |strays: Vec<Stray>| {
            let mut sorter = sorter.lock().unwrap_or_else(PoisonError::into_inner);
            strays.into_iter().try_for_each(|stray| self.spilled(sorter.push(stray)))
        };
        let fixed = FIXED.iter().map(|fixed| Stray {
            kind: Table::InstitutionType as u8,
            id: NO_ID,
            name: Some(fixed.code.to_owned()),
        });
        push(fixed.collect())?;
        let codes = codes.into_iter();
        push(codes.map(|(kind, code)| Stray { kind, id: NO_ID, name: Some(code) }).collect())?;
        let all: Vec<_> = segments.iter().flatten().collect();
        let first_rows = self.spilled(RowsFile::new(&self.scratch))?;
        let first_pass = all
            .par_iter()
            .map(|segment| {
                let (found, strays) = find_all(segment, rows)?;
                push(strays)?;
                self.spilled(first_rows.push(&found))
            })
            .collect::<Result<Vec<_>>>()?;
        let first_rows = self.spilled(first_rows.finish())?;
        let sorter = sorter.into_inner().unwrap_or_else(PoisonError::into_inner);
        let strays = self.spilled(sorter.finish().and_then(|strays| self.write_strays(strays)))?;
        let second_rows = self.spilled(RowsFile::new(&self.scratch))?;
        let second_pass = all
            .par_iter()
            .zip(first_pass)
            .map(|(segment, found)| {
                let found = found.map(|at| first_rows.u32(at));
                let found = place_strays(segment, found, rows, &strays)?;
                self.spilled(second_rows.push(&found))
            })
            .collect::<Result<Vec<_>>>()?;
        let found = self.spilled(second_rows.finish())?;
        let mut ranges = second_pass.into_iter();
        let rows = segments.iter().map(|of| ranges.by_ref().take(of.len()).collect()).collect();
        Ok(Resolved { rows, found, strays, kept: None })
    }
}

/// The rows of segment after segment, as they come, in one file: segments are thousands.
struct RowsFile(Mutex<(BufWriter<File>, usize)>);

impl RowsFile {
    fn new(scratch: &Path) -> io::Result<RowsFile> {
        let file = BufWriter::with_capacity(1 << 18, unnamed_file(scratch)?);
        Ok(RowsFile(Mutex::new((file, 0))))
    }

    /// Appends the rows of a segment; where they stand.
    fn push(&self, rows: &[u32]) -> io::Result<Range<usize>> {
        let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, count) = &mut *guard;
        file.write_all(&bytes)?;
        let from = *count;
        *count += rows.len();
        Ok(from..*count)
    }

    fn finish(self) -> io::Result<Column> {
        let (file, _) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        Column::new(file.into_inner().map_err(|error| error.into_error())?, 4)
    }
}

/// A mention as it is looked up: merged ids followed to the end of their chain.
fn followed<'a>(mention: Mention<'a>, rows: &[Rows]) -> Mention<'a> {
    match Entity::from_index(mention.kind) {
        Some(entity) if mention.id != NO_ID => {
            Mention { id: rows[entity as usize].redirects.end(mention.id), ..mention }
        }
        _ => mention,
    }
}

/// The row of each mention that has a record, and what has none.
fn find_all(
    segment: &crate::object::file::Segment<'_>,
    rows: &[Rows],
) -> Result<(Vec<u32>, Vec<Stray>)> {
    let mut found = vec![UNRESOLVED; segment.mentions.count()];
    let mut strays = Vec::new();
    for number in segment.mentions.ascending() {
        let mention = segment.mentions.get(number).ok_or_else(broken)?;
        let mention = followed(mention, rows);
        let by_id = Entity::from_index(mention.kind).map(|entity| &rows[entity as usize].by_id);
        let at = by_id.and_then(|by_id| by_id.find(mention.id).map(|at| (by_id, at)));
        match at {
            Some((by_id, at)) => {
                let row = by_id.get(at).and_then(|pair| pair.get(8..12)?.try_into().ok());
                let slot = found.get_mut(number as usize).ok_or_else(broken)?;
                *slot = row.map(u32::from_le_bytes).ok_or_else(broken)?;
            }
            None => strays.push(Stray {
                kind: mention.kind,
                id: mention.id,
                name: mention.name.map(str::to_owned),
            }),
        }
    }
    Ok((found, strays))
}

/// The rows of a segment's mentions, those of strays filled in where they were not `found`.
fn place_strays(
    segment: &crate::object::file::Segment<'_>,
    found: impl Iterator<Item = Option<u32>>,
    rows: &[Rows],
    strays: &Strays,
) -> Result<Vec<u32>> {
    let row_of = |(number, row): (usize, Option<u32>)| {
        let row = row?;
        if row != UNRESOLVED {
            return Some(row);
        }
        let mention = segment.mentions.get(u32::try_from(number).ok()?)?;
        let place = strays.place(followed(mention, rows))?;
        match Entity::from_index(mention.kind) {
            Some(entity) => {
                let after = place - strays.of(mention.kind).start;
                u32::try_from(rows[entity as usize].order.len() + after).ok()
            }
            None => Some(strays.code_number(place)),
        }
    };
    found.enumerate().map(|found| row_of(found).ok_or_else(broken)).collect()
}
