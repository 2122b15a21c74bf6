//! A part of what objects hold: the records that `--where` asks for, and all they refer to; or all, but
//! for those that `--suppress` names.
//!
//! Everything is merged and resolved as if all were published. Then each record of an entity that
//! is asked about is linked, in memory, and held to its filter; from those that match, references
//! are followed until nothing new is reached. What is left of rows, strays and codes keeps its
//! order and is numbered anew, and is written as any other snapshot is. So a record says the same
//! in a part as in the whole: its counts, siblings and children are those of the whole.
//!
//! Held in memory is a bit for each row, and while they are numbered half a bit more.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufWriter, Seek, Write},
    ops::Range,
};

use pinakes_format::entity::Entity;
use pinakes_format::index::bitset::word_bits;
use pinakes_format::index::encoding::ReferenceLookup;
use pinakes_format::index::term_lists::{Term, text_term};
use pinakes_format::query::{Library, Predicate};
use pinakes_format::record::ArchivedRecord;
use pinakes_format::record::gather::{Gather, Gathered, PathTree};
use pinakes_format::record::value::{NO_CODE, Slot, Slots, TABLE_FIRST, TABLE_NAMES, Table};
use pinakes_format::snapshot::split_blob;
use pinakes_format::storage::blobs::unnamed_file;
use pinakes_format::storage::error::ReadError;
use pinakes_format::{record, with_record};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::link::atomic_bitset::{Marks, Numbered};
use crate::link::external_sort::Spill;
use crate::link::merge::Rows;
use crate::link::resolve::source_types::TypeSums;
use crate::link::resolve::taxonomy::relatives;
use crate::link::resolve::unresolved::{Stray, Strays};
use crate::link::resolve::{Kept, Resolved};
use crate::link::select::suppressed::Withheld;
use crate::link::selection::Selection;
use crate::link::write::records::Plan;
use crate::link::{Column, IdRow, Linker, Segments, broken};
use crate::read::institution_types::FIXED;

/// Words of marks that one thread works on at a time, of 64 rows each.
const WORDS_PER_TASK: usize = 32;

/// What is kept of everything: by entity, rows with and without records; codes.
struct Reached {
    rows: Vec<Marks>,
    codes: Marks,
}

/// A part that was found, and what to know of the whole to write it.
pub(crate) struct Part {
    pub kept: Kept,
    /// The sums of the whole's institutions by type, by the codes of the part.
    pub type_sums: TypeSums,
    /// The codes of the types of sources that are withheld, by the rows in place of them.
    pub withheld_kinds: BTreeMap<u32, u32>,
    /// How many ids to be withheld lead nowhere.
    pub unknown_ids: u64,
}

impl Linker<'_> {
    /// Finds what is asked for; the plan is that of the whole.
    ///
    /// # Errors
    ///
    /// Where nothing matches and that is not allowed, or an object makes no sense.
    pub(crate) fn reach(&self, selection: &Selection, plan: &Plan<'_, '_>) -> Result<Part> {
        let mut whole = Whole::new(plan)?;
        whole.withheld = Withheld::find(selection.suppression(), &whole).map_err(|_| broken())?;
        let reached = Reached::nothing(&whole);
        if selection.has_queries() {
            let mut matches = 0;
            for query in selection.queries() {
                let predicate = Predicate::new(query, &whole).map_err(|_| broken())?;
                matches += whole.mark_matches(query.entity, &predicate, &reached)?;
            }
            if matches == 0 && !selection.allows_none() {
                return Err(Error::NoneMatch);
            }
            whole.follow(&reached)?;
        } else {
            whole.mark_all_others(&reached)?;
        }
        // The list of institution types is there whatever institutions are.
        let types = Entity::InstitutionType;
        (0..whole.count(types)).for_each(|row| _ = reached.rows[types as usize].mark(row));
        for fixed in &FIXED {
            let code = plan.resolved.strays.code(Table::InstitutionType, fixed.code);
            reached.mark_code(code.ok_or_else(broken)?)?;
        }
        let sources = whole.withheld.records(Entity::Source).iter();
        let kind_of = |row: &u32| Some((*row, *plan.source_kinds.get(*row as usize)?));
        let kinds: Vec<(u32, u32)> = sources.filter_map(kind_of).collect();
        for (_, code) in kinds.iter().filter(|(_, code)| *code != NO_CODE) {
            reached.mark_code(*code)?;
        }
        let unknown_ids = whole.withheld.unknown;
        let kept = whole.kept(reached.rows, reached.codes);
        let type_sums = plan.sums_of_types()?.into_iter();
        let type_sums =
            type_sums.filter_map(|(code, sum)| Some((kept.codes.of(code)?, sum))).collect();
        let withheld_kinds = kinds.into_iter().filter_map(|(row, code)| {
            let code = if code == NO_CODE { code } else { kept.codes.of(code)? };
            Some((kept.row(Entity::Source, row)?, code))
        });
        let withheld_kinds = withheld_kinds.collect();
        Ok(Part { kept, type_sums, withheld_kinds, unknown_ids })
    }

    /// What is left of rows and of what mentions stand for.
    pub(crate) fn reduce(
        &self,
        rows: Vec<Rows>,
        resolved: Resolved,
        kept: Kept,
        segments: &[Segments<'_>],
    ) -> Result<(Vec<Rows>, Resolved)> {
        let strays = self.reduce_strays(&rows, &resolved.strays, &kept)?;
        let rows: Result<Vec<Rows>> = rows
            .into_iter()
            .zip(Entity::all())
            .zip(segments)
            .map(|((rows, entity), segments)| self.reduce_rows(rows, entity, &kept, segments))
            .collect();
        let rows = rows?;
        Ok((rows, resolved.reduced(strays, kept)))
    }

    fn reduce_rows(
        &self,
        rows: Rows,
        entity: Entity,
        kept: &Kept,
        segments: &Segments<'_>,
    ) -> Result<Rows> {
        let count = rows.order.len();
        let mut suppressed = 0;
        for row in kept.nameless[entity as usize].records() {
            let (_, _, key) = rows.place(*row as usize, segments).ok_or_else(broken)?;
            suppressed += u64::from(key.origin.is_read());
        }
        let kept = &kept.rows[entity as usize];
        let mut order =
            BufWriter::with_capacity(1 << 18, self.spilled(unnamed_file(&self.scratch))?);
        let (mut read, mut derived) = (0, 0);
        for row in kept.rows().map(|row| row as usize).take_while(|row| *row < count) {
            let (_, _, key) = rows.place(row, segments).ok_or_else(broken)?;
            let tally = if key.origin.is_read() { &mut read } else { &mut derived };
            *tally += 1;
            self.spilled(order.write_all(rows.order.get(row).ok_or_else(broken)?))?;
        }
        let by_id = self.spilled(reduce_ids(&rows.by_id, kept, &self.scratch))?;
        let mut tally = rows.tally;
        tally.suppressed = suppressed;
        tally.excluded = tally.published_from_input - read - suppressed;
        (tally.published_from_input, tally.derived) = (read, derived);
        let order = self.spilled(column(order, 8))?;
        Ok(Rows { order, by_id, tally, ..rows })
    }

    fn reduce_strays(&self, rows: &[Rows], strays: &Strays, kept: &Kept) -> Result<Strays> {
        let stray_at = |at: usize| {
            let stray = strays.get(at).ok_or_else(|| io::Error::other("a stray cannot be read"))?;
            Ok(Stray { kind: stray.kind, id: stray.id, name: stray.name.map(str::to_owned) })
        };
        let of_entity = |entity: Entity| {
            let count = rows[entity as usize].order.len();
            let numbered = &kept.rows[entity as usize];
            let places = strays.of(entity as u8);
            let places = places.clone().filter(move |at| {
                let row = u32::try_from(count + (at - places.start)).ok();
                row.is_some_and(|row| numbered.of(row).is_some())
            });
            kept.nameless[entity as usize].among(entity, places.map(stray_at))
        };
        let codes = strays.of(TABLE_FIRST).start..strays.of(LAST_TABLE).end;
        let first = codes.start;
        let codes = codes.filter(|at| {
            let code = u32::try_from(at - first).ok();
            code.is_some_and(|code| kept.codes.of(code).is_some())
        });
        let all = Entity::all().flat_map(of_entity).chain(codes.map(stray_at));
        self.spilled(self.write_strays(all))
    }
}

/// The last table of codes.
const LAST_TABLE: u8 = TABLE_FIRST + TABLE_NAMES.len() as u8 - 1;

/// The map from id to row of the rows that are kept.
fn reduce_ids(by_id: &Column, kept: &Numbered, scratch: &std::path::Path) -> io::Result<Column> {
    let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(scratch)?);
    for at in 0..by_id.len() {
        let row = by_id.get(at).and_then(|pair| pair.get(8..12)?.try_into().ok());
        let row = row.and_then(|row| kept.of(u32::from_le_bytes(row)));
        if let (Some(id), Some(row)) = (by_id.u64(at), row) {
            IdRow { id, row }.write(&mut file)?;
        }
    }
    column(file, 12)
}

fn column(file: BufWriter<std::fs::File>, width: usize) -> io::Result<Column> {
    let mut file = file.into_inner().map_err(|error| error.into_error())?;
    file.rewind()?;
    Column::new(file, width)
}

impl Reached {
    fn nothing(whole: &Whole<'_, '_, '_>) -> Reached {
        let of_entity = |entity| Marks::none(whole.all_rows(entity) as usize);
        let rows = Entity::all().map(of_entity).collect();
        Reached { rows, codes: Marks::none(whole.codes.len()) }
    }

    fn mark_row(&self, entity: Entity, row: u32) -> Result<()> {
        self.rows[entity as usize].mark(row).then_some(()).ok_or_else(broken)
    }

    fn mark_code(&self, code: u32) -> Result<()> {
        self.codes.mark(code).then_some(()).ok_or_else(broken)
    }
}

/// Everything there is, as records show it once they are linked.
struct Whole<'p, 'a, 'o> {
    plan: &'p Plan<'a, 'o>,
    /// By code, its term.
    codes: Vec<Term>,
    /// What is not kept, whatever refers to it.
    withheld: Withheld,
}

impl<'p, 'a, 'o> Whole<'p, 'a, 'o> {
    fn new(plan: &'p Plan<'a, 'o>) -> Result<Whole<'p, 'a, 'o>> {
        let strays = &plan.resolved.strays;
        let codes = (strays.of(TABLE_FIRST).start..strays.of(LAST_TABLE).end).map(|at| {
            let text = strays.get(at)?.name?;
            Some(text_term(&text.to_ascii_lowercase()))
        });
        let codes = codes.collect::<Option<Vec<Term>>>().ok_or_else(broken)?;
        Ok(Whole { plan, codes, withheld: Withheld::default() })
    }

    /// How many rows an entity has, strays included.
    fn all_rows(&self, entity: Entity) -> u32 {
        // Rows are limited to u32 when they are written.
        self.count(entity) + self.plan.resolved.strays.of(entity as u8).len() as u32
    }

    /// What is reached, numbered.
    fn kept(&mut self, rows: Vec<Marks>, codes: Marks) -> Kept {
        let rows: Vec<Numbered> = rows.into_iter().map(Marks::numbered).collect();
        let withheld = std::mem::take(&mut self.withheld);
        let nameless = withheld.nameless(&rows, |entity, id| self.strays_with(entity, id).start);
        Kept { rows, codes: codes.numbered(), nameless }
    }

    /// The rows of the strays with an id; where there are none, between those with others.
    fn strays_with(&self, entity: Entity, id: u64) -> Range<u32> {
        let strays = &self.plan.resolved.strays;
        let places = strays.with_id(entity as u8, id);
        let before = strays.of(entity as u8).start;
        let row = |at: usize| self.count(entity) + (at - before) as u32;
        row(places.start)..row(places.end)
    }

    /// Marks a row; of one that is withheld, what is to stand in place of it.
    fn mark(&self, entity: Entity, row: u32, reached: &Reached) -> Result<()> {
        if self.withheld.mark(entity, row) { Ok(()) } else { reached.mark_row(entity, row) }
    }

    /// Marks whatever is not withheld, but for strays that nothing else refers to than what is.
    fn mark_all_others(&self, reached: &Reached) -> Result<()> {
        let mut orphaned: BTreeSet<(Entity, u32)> = BTreeSet::new();
        for entity in Entity::all() {
            let count = self.count(entity);
            let mut others = (0..count).filter(|row| !self.withheld.has(entity, *row));
            others.try_for_each(|row| reached.mark_row(entity, row))?;
            for row in self.withheld.records(entity) {
                self.each_target(entity, *row, |target, row| {
                    let stray = target.filter(|target| row >= self.count(*target));
                    orphaned.extend(stray.map(|target| (target, row)));
                    Ok(())
                })?;
            }
        }
        // Read all of it only where that may find something.
        if !orphaned.is_empty() {
            self.follow(reached)?;
        }
        for entity in Entity::all() {
            let strays = self.count(entity)..self.all_rows(entity);
            let mut kept = strays.filter(|row| {
                !self.withheld.has(entity, *row) && !orphaned.contains(&(entity, *row))
            });
            kept.try_for_each(|row| reached.mark_row(entity, row))?;
        }
        (0..self.codes.len() as u32).try_for_each(|code| reached.mark_code(code))?;
        self.withheld.mark_all();
        Ok(())
    }

    /// Marks the records that match; how many.
    fn mark_matches(
        &self,
        entity: Entity,
        predicate: &Predicate,
        reached: &Reached,
    ) -> Result<u64> {
        let marks = &reached.rows[entity as usize];
        let count = self.count(entity);
        (0..marks.words().div_ceil(WORDS_PER_TASK))
            .into_par_iter()
            .map(|task| {
                let rows = WORDS_PER_TASK as u32 * 64;
                let from = task as u32 * rows;
                let mut matches = 0;
                for row in from..from.saturating_add(rows).min(count) {
                    if self.withheld.has(entity, row) {
                        continue;
                    }
                    if predicate.holds(self, row).map_err(|_| broken())? {
                        reached.mark_row(entity, row)?;
                        matches += 1;
                    }
                }
                Ok(matches)
            })
            .sum()
    }

    /// Marks what the marked records refer to, and what that refers to, and so on.
    fn follow(&self, reached: &Reached) -> Result<()> {
        let mut followed: Vec<Vec<u64>> =
            reached.rows.iter().map(|marks| vec![0; marks.words()]).collect();
        loop {
            let mut has_more = false;
            for (entity, followed) in Entity::all().zip(&mut followed) {
                has_more |= self.follow_entity(entity, followed, reached)?;
            }
            if !has_more {
                return Ok(());
            }
        }
    }

    /// Follows the records of an entity that were not followed before; whether there were any.
    fn follow_entity(
        &self,
        entity: Entity,
        followed: &mut [u64],
        reached: &Reached,
    ) -> Result<bool> {
        let marks = &reached.rows[entity as usize];
        let count = self.count(entity);
        let follow_word = |at: usize, followed: &mut u64| {
            let fresh = marks.word(at) & !*followed;
            *followed |= fresh;
            // Strays lead nowhere.
            word_bits(at, fresh)
                .filter(|row| *row < count)
                .try_for_each(|row| self.follow_row(entity, row, reached))
                .map(|()| fresh != 0)
        };
        followed
            .par_chunks_mut(WORDS_PER_TASK)
            .enumerate()
            .map(|(task, words)| {
                let mut had_any = false;
                for (at, word) in words.iter_mut().enumerate() {
                    had_any |= follow_word(task * WORDS_PER_TASK + at, word)?;
                }
                Ok(had_any)
            })
            .try_reduce(|| false, |a, b| Ok(a || b))
    }

    fn follow_row(&self, entity: Entity, row: u32, reached: &Reached) -> Result<()> {
        self.each_target(entity, row, |target, number| match target {
            Some(entity) => self.mark(entity, number, reached),
            None => reached.mark_code(number),
        })
    }

    /// Shows `visit` each row a record refers to, with its entity, and each code, with none.
    fn each_target(
        &self,
        entity: Entity,
        row: u32,
        mut visit: impl FnMut(Option<Entity>, u32) -> Result<()>,
    ) -> Result<()> {
        let Plan { segments, rows, resolved, .. } = self.plan;
        let place = rows[entity as usize].place(row as usize, &segments[entity as usize]);
        let (segment_at, segment, key) = place.ok_or_else(broken)?;
        let (archived, _) = segment.blob(&key).and_then(split_blob).ok_or_else(broken)?;
        let mut mark = |mention: u32| {
            let (kind, _) = segment.mentions.subject(mention).ok_or_else(broken)?;
            let number = resolved.number(entity, segment_at, segment, mention);
            let number = number.ok_or_else(broken)?;
            visit(Entity::from_index(kind), number)
        };
        let mut outcome = Ok(());
        let mut marked = |mention: u32| {
            if outcome.is_ok() {
                outcome = mark(mention);
            }
        };
        with_record!(entity, R => {
            let record = record::access::<R>(archived).ok_or_else(broken)?;
            record.slots(&mut |slot| match slot {
                Slot::Target(at) | Slot::Copy(at) => marked(at.to_native()),
                Slot::SourceType { source, code } => {
                    marked(source.to_native());
                    if code.to_native() != NO_CODE {
                        marked(code.to_native());
                    }
                }
            });
        });
        outcome?;
        if entity.facts().taxonomy_level.is_some() {
            let blob = self.plan.link(entity, row as usize)?.blob;
            for (entity, row) in relatives(entity, &blob).ok_or_else(broken)? {
                visit(Some(entity), row)?;
            }
        }
        Ok(())
    }
}

impl ReferenceLookup for Whole<'_, '_, '_> {
    fn count(&self, entity: Entity) -> u32 {
        // The merge refuses more.
        self.plan.rows[entity as usize].order.len() as u32
    }

    fn is_suppressed(&self, entity: Entity, row: u32) -> bool {
        self.withheld.has(entity, row)
    }

    fn row_id(&self, entity: Entity, row: u32) -> std::result::Result<u64, ReadError> {
        let rows = &self.plan.rows[entity as usize];
        let id = match rows.place(row as usize, &self.plan.segments[entity as usize]) {
            Some((_, _, key)) => Some(key.id),
            None => self.plan.stray(entity, row).map(|stray| stray.id),
        };
        id.ok_or(ReadError::corrupt("objects", "a row has no record"))
    }

    fn row_name(&self, entity: Entity, row: u32) -> std::result::Result<Option<&str>, ReadError> {
        if self.withheld.has(entity, row) {
            return Ok(None);
        }
        let rows = &self.plan.rows[entity as usize];
        let place = rows.place(row as usize, &self.plan.segments[entity as usize]);
        let Some((_, segment, key)) = place else {
            return self
                .plan
                .stray(entity, row)
                .map(|stray| stray.name)
                .ok_or(ReadError::corrupt("objects", "a row has no record"));
        };
        let blob = segment.blob(&key).and_then(split_blob);
        let (archived, _) = blob.ok_or(ReadError::corrupt("objects", "a row has no record"))?;
        with_record!(entity, R => {
            Ok(record::access::<R>(archived).ok_or(ReadError::corrupt("objects", "an archived record does not validate"))?.name())
        })
    }

    fn code_term(&self, code: u32) -> std::result::Result<Term, ReadError> {
        self.codes
            .get(code as usize)
            .copied()
            .ok_or(ReadError::corrupt("objects", "a code is in no table"))
    }
}

impl Library for Whole<'_, '_, '_> {
    fn merged_into(&self, entity: Entity, id: u64) -> std::result::Result<u64, ReadError> {
        Ok(self.plan.rows[entity as usize].redirects.end(id))
    }

    fn rows_with(&self, entity: Entity, id: u64) -> std::result::Result<Range<u32>, ReadError> {
        let rows = &self.plan.rows[entity as usize];
        if let Some(at) = rows.by_id.find(id) {
            let row = rows.by_id.get(at).and_then(|pair| pair.get(8..12)?.try_into().ok());
            let row = row
                .map(u32::from_le_bytes)
                .ok_or(ReadError::corrupt("objects", "an id leads to no row"))?;
            return Ok(row..row + 1);
        }
        Ok(self.strays_with(entity, id))
    }

    fn gather(
        &self,
        entity: Entity,
        row: u32,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'_>),
    ) -> std::result::Result<(), ReadError> {
        if self.withheld.has(entity, row) {
            return Ok(());
        }
        let linked = self
            .plan
            .link(entity, row as usize)
            .map_err(|_| ReadError::corrupt("objects", "a record cannot be linked"))?;
        let (archived, _) = split_blob(&linked.blob)
            .ok_or(ReadError::corrupt("objects", "a record's length exceeds its bytes"))?;
        with_record!(entity, R => {
            let record = record::access::<R>(archived).ok_or(ReadError::corrupt("objects", "an archived record does not validate"))?;
            record.gather(tree, visit);
        });
        Ok(())
    }
}
