//! Records by row and by id: in a snapshot, or on their way into one.

use std::ops::Range;

use crate::entity::{Entity, with_record};
use crate::index::encoding::ReferenceLookup;
use crate::index::term_lists::{Term, text_term};
use crate::json::record_reader::RecordReader;
use crate::json::render::{RecordBytes, RecordStore};
use crate::record::{Gather, Gathered, PathTree};
use crate::schema::Direction;
use crate::snapshot::{LookupResult, Snapshot};
use crate::storage::{ReadError, inflate, text_in};

/// Looks up records and the rows of ids. A snapshot implements it, and so does the compiler for
/// records that are not written yet.
pub trait RecordLookup: ReferenceLookup {
    /// Follows the chain of merges of an id to its end; returns an id that was not merged unchanged.
    fn merged_into(&self, entity: Entity, id: u64) -> Result<u64, ReadError>;

    /// The row of the record with an id, or the rows of unresolved references with the id. The id
    /// must not be merged.
    fn rows_with(&self, entity: Entity, id: u64) -> Result<Range<u32>, ReadError>;

    /// The ids that the record in a row refers to, ascending. A suppressed record refers to nothing.
    ///
    /// # Errors
    ///
    /// If the row has no record, or its entity no citation graph.
    fn references(&self, entity: Entity, row: u32) -> Result<Vec<u64>, ReadError>;

    /// Whether any record that is not suppressed refers to the record in a row.
    fn is_cited(&self, entity: Entity, row: u32) -> Result<bool, ReadError>;

    /// Calls `visit` with each value at each end of a tree through the record in a row. A suppressed
    /// record has no values.
    ///
    /// # Errors
    ///
    /// If the row has no record.
    fn gather(
        &self,
        entity: Entity,
        row: u32,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'_>),
    ) -> Result<(), ReadError>;

    /// Calls `visit` with the two parts of the record in a row, unless the record is suppressed.
    ///
    /// # Errors
    ///
    /// If the row has no record.
    fn record_bytes(
        &self,
        entity: Entity,
        row: u32,
        visit: &mut dyn FnMut(RecordBytes<'_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError>;
}

/// Gathers values as [`RecordLookup::gather`] does, with long texts as texts.
///
/// Cost: the decompression of the record's long texts, if the tree leads to one.
///
/// # Errors
///
/// If the row has no record, or its bytes are damaged.
pub(crate) fn gather_texts(
    lookup: &impl RecordLookup,
    entity: Entity,
    row: u32,
    tree: &PathTree,
    visit: &mut dyn FnMut(usize, Gathered<'_>),
) -> Result<(), ReadError> {
    lookup.record_bytes(entity, row, &mut |record| {
        let mut from = RecordReader::new(record.packed)?;
        let mut long: Vec<(usize, u32, u32)> = Vec::new();
        let mut each = |end, value: Gathered<'_>| match value {
            Gathered::LongText(offset, length) => long.push((end, offset, length)),
            value => visit(end, value),
        };
        with_record!(entity, R => R::gather(&mut from, tree, &mut each))?;
        if long.is_empty() {
            return Ok(());
        }
        // The long texts of a record are one compressed frame.
        let pool = inflate(record.long_texts)?;
        for (end, offset, length) in long {
            visit(end, Gathered::Text(text_in(&pool, offset, length)?));
        }
        Ok(())
    })
}

impl ReferenceLookup for Snapshot {
    fn count(&self, entity: Entity) -> u32 {
        Snapshot::count(self, entity)
    }

    fn is_suppressed(&self, entity: Entity, row: u32) -> bool {
        self.suppressed().has(entity, row)
    }

    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        Snapshot::row_id(self, entity, row)
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        Snapshot::row_name(self, entity, row)
    }

    fn code_text(&self, code: u32) -> Result<&str, ReadError> {
        self.code(code)
    }

    fn code_term(&self, code: u32) -> Result<Term, ReadError> {
        Ok(text_term(&self.code(code)?.to_ascii_lowercase()))
    }
}

impl RecordLookup for Snapshot {
    fn merged_into(&self, entity: Entity, id: u64) -> Result<u64, ReadError> {
        Ok(match self.find_unfiltered(entity, id)? {
            LookupResult::Merged(into) => into,
            LookupResult::Row(_) | LookupResult::Absent => id,
        })
    }

    fn rows_with(&self, entity: Entity, id: u64) -> Result<Range<u32>, ReadError> {
        Snapshot::rows_with(self, entity, id)
    }

    fn references(&self, entity: Entity, row: u32) -> Result<Vec<u64>, ReadError> {
        if self.suppressed().has(entity, row) {
            return Ok(Vec::new());
        }
        let rows = self.citations(entity)?.rows(Direction::References, row)?.into_vec()?;
        let id = |row| self.or_noted(Snapshot::row_id(self, entity, row));
        let ids: Result<Vec<u64>, ReadError> = rows.into_iter().map(id).collect();
        let mut ids = ids?;
        ids.sort_unstable();
        Ok(ids)
    }

    fn is_cited(&self, entity: Entity, row: u32) -> Result<bool, ReadError> {
        let citations = self.citations(entity)?;
        if self.suppressed().rows(entity).is_empty() {
            return Ok(citations.count(Direction::Citations, row)? > 0);
        }
        let mut is_cited = false;
        citations.rows(Direction::Citations, row)?.each(|row| {
            is_cited = !self.suppressed().has(entity, row);
            !is_cited
        })?;
        Ok(is_cited)
    }

    fn gather(
        &self,
        entity: Entity,
        row: u32,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'_>),
    ) -> Result<(), ReadError> {
        if self.suppressed().has(entity, row) {
            return Ok(());
        }
        with_record!(entity, R => {
            let no_record = ReadError::corrupt("records", "the row has no record");
            R::gather(&mut self.reader(entity, row)?.ok_or(no_record)?, tree, visit)
        })
    }
    fn record_bytes(
        &self,
        entity: Entity,
        row: u32,
        visit: &mut dyn FnMut(RecordBytes<'_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        match self.suppressed().has(entity, row) {
            true => Ok(()),
            false => visit(RecordStore::record(self, entity, row)?),
        }
    }
}
