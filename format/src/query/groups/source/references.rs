//! Codes from target rows and from the citation graph: the rows referred to.

use crate::index::targets::CHUNK_BLOCKS;
use crate::query::groups::counter::Counted;
use crate::query::groups::source::{
    LinksSource, NULL, READS_PER_CHECK, TargetsSource, count_union,
};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::schema::Direction;
use crate::storage::ReadError;

impl TargetsSource<'_> {
    pub(super) fn file_rows(&self) -> usize {
        self.file.rows(self.path).map_or(0, |rows| rows as usize)
    }

    #[inline]
    pub(super) fn each(
        &self,
        chunk: u32,
        word: u32,
        records: u64,
        visit: &mut impl FnMut(u16, u64),
    ) -> Result<(), ReadError> {
        let block = self.file.block(self.path, chunk * CHUNK_BLOCKS + word);
        if let Some(block) = self.snapshot.or_noted(block.map(Some))? {
            block.each(records, |record, row| {
                visit((word * 64 + record) as u16, row.map_or(NULL, u64::from));
            });
        }
        Ok(())
    }

    pub(super) fn totals(&self, rows: u32, deadline: Deadline<'_>) -> Result<Counted, QueryError> {
        let mut codes: Vec<(u64, u64)> = Vec::new();
        let (mut of_id, terms) = (Vec::new(), self.terms.terms(self.lists)?);
        let (snapshot, mut last) = (self.snapshot, None);
        for at in 0..=terms {
            if at.is_multiple_of(READS_PER_CHECK) {
                deadline.check()?;
            }
            let row = match at < terms {
                true => {
                    let row = snapshot.or_noted(self.terms.term_at(self.lists, at))? as u32;
                    snapshot.or_noted(snapshot.first_row_of_id(self.target, row))?
                }
                false => None,
            };
            if row != last {
                if let Some(row) = last {
                    codes.push((u64::from(row), snapshot.or_noted(count_union(&of_id))?));
                }
                of_id.clear();
                last = row;
            }
            if row.is_some() {
                let postings = self.terms.postings(self.lists, at).map(Some);
                of_id.extend(snapshot.or_noted(postings)?);
            }
        }
        let present = self.terms.presence(self.lists)?.count();
        Ok(Counted { codes, null: u64::from(rows.saturating_sub(present)) })
    }
}

impl LinksSource<'_> {
    pub(super) fn each(
        &self,
        row: u32,
        deadline: Deadline<'_>,
        mut visit: impl FnMut(u64),
    ) -> Result<(), QueryError> {
        deadline.check()?;
        // A suppressed record refers to nothing.
        let suppressed = self.snapshot.suppressed();
        let is_left_out =
            |row: u32| self.direction == Direction::Citations && suppressed.has(self.entity, row);
        let mut is_null = true;
        let rows = self.citations.rows(self.direction, row).and_then(|rows| {
            rows.each(|row| {
                if !is_left_out(row) {
                    is_null = false;
                    visit(u64::from(row));
                }
                true
            })
        });
        self.snapshot.or_noted(rows)?;
        if is_null {
            visit(NULL);
        }
        Ok(())
    }
}
