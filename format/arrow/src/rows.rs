//! The rows of a list, in its order, up to a limit.

use pinakes_format::query::{Deadline, Query, QueryError, RowCursor};
use pinakes_format::snapshot::Snapshot;

/// The rows of a list, one unit of work after the other.
///
/// Memory: one batch of the list, see [`RowCursor`].
pub struct ListedRows {
    snapshot: Snapshot,
    query: Query,
    cursor: RowCursor,
    /// The rows of the batch that no unit has yet are those from `taken` on.
    batch: Vec<u32>,
    taken: usize,
    /// Rows before the limit.
    left: u64,
    unit_rows: usize,
}

impl ListedRows {
    /// The rows of a query in units of `unit_rows`, at most `limit` rows.
    pub fn new(snapshot: &Snapshot, query: &Query, limit: u64, unit_rows: usize) -> ListedRows {
        let (snapshot, query, cursor) = (snapshot.clone(), query.clone(), RowCursor::default());
        ListedRows { snapshot, query, cursor, batch: Vec::new(), taken: 0, left: limit, unit_rows }
    }

    /// Sets the rows of later units.
    pub fn set_unit_rows(&mut self, unit_rows: usize) {
        self.unit_rows = unit_rows;
    }

    /// Returns the next unit; `None` at the end.
    pub fn next_unit(&mut self) -> Result<Option<Vec<u32>>, QueryError> {
        let wanted = self.unit_rows.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let mut unit = Vec::with_capacity(wanted);
        while unit.len() < wanted {
            if self.taken == self.batch.len() {
                self.taken = 0;
                self.batch =
                    self.query.next_rows(&mut self.cursor, &self.snapshot, Deadline::NEVER)?;
                if self.batch.is_empty() {
                    break;
                }
            }
            let rest = &self.batch[self.taken..];
            let part = &rest[..rest.len().min(wanted - unit.len())];
            unit.extend_from_slice(part);
            self.taken += part.len();
        }
        self.left -= unit.len() as u64;
        Ok((!unit.is_empty()).then_some(unit))
    }
}
