//! Codes from the records that rows refer to: their rows, or the codes of their values.
//!
//! ```text
//! row 0 refers to sources 4 and 7      source 4: issn a, b     source 7: issn b
//! codes of row 0                       a, b
//! ```
//!
//! The values of all records referred to are read once at the start, except for texts, which are read with the first row
//! that leads to them.

use std::collections::HashMap;

use crate::entity::Entity;
use crate::index::bitset::CHUNK_ROWS;
use crate::index::doc_set::DocSet;
use crate::query::groups::counter::NULL;
use crate::query::groups::source::cost::Nanos;
use crate::query::groups::source::{Beyond, JoinedSource, ListValue, Source};
use crate::query::groups::value::GroupValue;
use crate::query::page::scan::RECORD_NANOS;
use crate::query::parse::grouping::GroupIndex;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::ChunkRows;
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

impl<'s> JoinedSource<'s> {
    /// Opens the references of an entity, and the values of the records beyond. Cost: the values of all records beyond.
    pub fn open(
        (references, of): (&[GroupIndex], Entity),
        (beyond, entity): (Option<&GroupIndex>, Entity),
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<JoinedSource<'s>, QueryError> {
        let open = |index| Source::open(index, snapshot, of, deadline);
        let references: Result<Vec<Source<'s>>, QueryError> = references.iter().map(open).collect();
        let beyond = match beyond {
            Some(index) => Some(Beyond::open(index, snapshot, entity, deadline)?),
            None => None,
        };
        Ok(JoinedSource { snapshot, references: references?, entity, beyond })
    }

    pub fn codes(&self) -> u64 {
        match &self.beyond {
            Some(beyond) => beyond.source.codes(),
            None => u64::from(self.snapshot.rows(self.entity)),
        }
    }

    pub fn entity_of_rows(&self) -> Option<Entity> {
        match &self.beyond {
            Some(beyond) => beyond.source.entity_of_rows(),
            None => Some(self.entity),
        }
    }

    pub fn value(&self, code: u64) -> Result<GroupValue, ReadError> {
        match &self.beyond {
            Some(beyond) => beyond.source.value(code),
            None => {
                let (entity, row) = (self.entity, code as u32);
                Ok(GroupValue::Record { entity, id: self.snapshot.row_id(entity, row)?, row })
            }
        }
    }

    pub fn each(
        &mut self,
        chunk: u32,
        rows: &ChunkRows,
        deadline: Deadline<'_>,
        visit: &mut dyn FnMut(u16, u64),
    ) -> Result<(), QueryError> {
        let mut found = Vec::new();
        for reference in &mut self.references {
            let mut codes = Vec::new();
            reference.each(chunk, rows, deadline, |low, code| codes.push((low, code)))?;
            for (low, code) in codes {
                let Some(row) = row_of(reference, code, self.entity) else { continue };
                match &mut self.beyond {
                    None => found.push((low, u64::from(row))),
                    Some(beyond) => {
                        let is_shown = row < self.snapshot.count(self.entity)
                            && !self.snapshot.suppressed().has(self.entity, row);
                        if is_shown {
                            let codes = beyond.codes_of(row, deadline)?;
                            found.extend(codes.iter().map(|code| (low, *code)));
                        }
                    }
                }
            }
        }
        visit_found(found, rows, visit);
        Ok(())
    }

    pub fn nanos(&self) -> Result<Nanos, ReadError> {
        let mut all = Nanos { row: 20.0, chunk: 0.0, start: 0.0, values: 0.0 };
        for reference in &self.references {
            all.add(reference.nanos()?);
        }
        all.row += all.values * 30.0;
        if let Some(Beyond { source: Source::Texts(_), .. }) = &self.beyond {
            // A record is read once.
            all.start += f64::from(self.snapshot.count(self.entity)) * RECORD_NANOS;
        }
        Ok(all)
    }
}

impl<'s> Beyond<'s> {
    fn open(
        index: &GroupIndex,
        snapshot: &'s Snapshot,
        entity: Entity,
        deadline: Deadline<'s>,
    ) -> Result<Beyond<'s>, QueryError> {
        let source = Source::open(index, snapshot, entity, deadline)?;
        let mut beyond =
            Beyond { source, codes: Vec::new(), from: Vec::new(), read: HashMap::new() };
        // Texts would be read from all records, though the rows may lead to few of the records.
        if matches!(beyond.source, Source::Texts(_)) {
            return Ok(beyond);
        }
        let rows = snapshot.count(entity);
        for chunk in 0..rows.div_ceil(CHUNK_ROWS as u32) {
            let all = DocSet::All(rows).chunk_rows(chunk, rows, false);
            let mut found = Vec::new();
            beyond.source.each(chunk, &all, deadline, |low, code| {
                if code != NULL {
                    found.push((low, code));
                }
            })?;
            // A record that has a code twice is counted once.
            found.sort_unstable();
            found.dedup();
            let mut found = found.into_iter().peekable();
            all.each(|low| {
                beyond.from.push(beyond.codes.len() as u32);
                while let Some((_, code)) = found.next_if(|(of, _)| *of == low) {
                    beyond.codes.push(code);
                }
                true
            });
        }
        beyond.from.push(beyond.codes.len() as u32);
        Ok(beyond)
    }

    fn codes_of(&mut self, row: u32, deadline: Deadline<'_>) -> Result<&[u64], QueryError> {
        if let (Some(from), Some(to)) =
            (self.from.get(row as usize), self.from.get(row as usize + 1))
        {
            return Ok(&self.codes[*from as usize..*to as usize]);
        }
        if !self.read.contains_key(&row) {
            let (mut codes, one) = (Vec::new(), ChunkRows::Array(vec![row as u16]));
            self.source.each(row >> 16, &one, deadline, |_, code| {
                if code != NULL {
                    codes.push(code);
                }
            })?;
            self.read.insert(row, codes);
        }
        Ok(self.read.get(&row).map_or(&[], Vec::as_slice))
    }
}

/// The row of an entity that the code of a reference names.
fn row_of(reference: &Source<'_>, code: u64, entity: Entity) -> Option<u32> {
    match reference {
        _ if code == NULL => None,
        Source::Lists(lists) => match lists.groups.get(code as usize)?.0 {
            ListValue::Record(of, row) => (of == entity).then_some(row),
            _ => None,
        },
        _ => u32::try_from(code).ok(),
    }
}

/// Visits the codes of each of some sources, which no other has.
pub(super) fn each_of(
    sources: &mut [Source<'_>],
    chunk: u32,
    rows: &ChunkRows,
    deadline: Deadline<'_>,
    visit: &mut dyn FnMut(u16, u64),
) -> Result<(), QueryError> {
    let (mut found, mut first) = (Vec::new(), 0);
    for source in sources {
        source.each(chunk, rows, deadline, |low, code| {
            if code != NULL {
                found.push((low, first + code));
            }
        })?;
        first += source.codes();
    }
    visit_found(found, rows, visit);
    Ok(())
}

/// Visits each pair of a row and a code once, and the rows without a code.
fn visit_found(mut found: Vec<(u16, u64)>, rows: &ChunkRows, visit: &mut dyn FnMut(u16, u64)) {
    found.sort_unstable();
    found.dedup();
    let mut found = found.into_iter().peekable();
    rows.each(|low| {
        let mut is_null = true;
        while let Some((_, code)) = found.next_if(|(of, _)| *of == low) {
            visit(low, code);
            is_null = false;
        }
        if is_null {
            visit(low, NULL);
        }
        true
    });
}
