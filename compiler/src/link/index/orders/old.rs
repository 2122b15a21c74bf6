//! The orders of the previous snapshot, read rank by rank: rows that keep their value are a sorted run.

use std::io;

use pinakes_format::index::orders::Order;
use pinakes_format::storage::ReadError;

use crate::link::atomic_bitset::AtomicBitset;
use crate::link::index::extract::Extractor;
use crate::link::index::orders::values::OrderValues;
use crate::link::index::unchanged::{Taken, Unchanged};
use crate::link::take_over::TakeOver;

/// Ranks that are read together.
const RANKS: u32 = 1 << 12;
/// Rows of a value, on average, from which on the end of the value's rows is searched for.
const GROUP_ROWS: u64 = 256;

/// The orders of an entity in the previous snapshot.
pub(crate) struct OldOrders<'r> {
    pub unchanged: &'r Unchanged<'r>,
    /// Extracts from this snapshot.
    pub extractor: Extractor<'r>,
    /// Extracts from the previous snapshot.
    pub old_extractor: Extractor<'r>,
}

/// A row of the previous order that keeps its value: the row now, and the code of the value.
#[derive(Clone, Copy)]
pub(super) struct KeptRow {
    pub row: u32,
    pub code: u64,
}

impl OldOrders<'_> {
    /// The earlier order of texts that has the same rows and values as an order, if `earlier` has the same
    /// column of changed rows.
    pub(super) fn same(&self, number: usize, earlier: Option<usize>) -> Taken<Option<usize>> {
        let Some(of) = earlier else { return Ok(None) };
        Ok(self.is_same(of, number)?.then_some(of))
    }

    pub(super) fn order(&self, number: usize) -> Taken<Order<'_>> {
        let order = self.unchanged.old().order(self.unchanged.entity, number);
        order.map_err(self.failure())
    }

    pub(super) fn failure(&self) -> impl FnOnce(ReadError) -> TakeOver<io::Error> + use<> {
        self.unchanged.failure()
    }

    /// Calls `visit` with each row that keeps its value, rank by rank.
    pub(super) fn each_kept(
        &self,
        order: &Order<'_>,
        row_of: impl Fn(u32) -> Option<u32>,
        mut visit: impl FnMut(KeptRow) -> Taken<()>,
    ) -> Taken<()> {
        // A search for the last row with a value pays if the value has many rows.
        let is_coarse = order.no_code() < u64::from(order.rows()) / GROUP_ROWS;
        let (mut from, mut code, mut code_to) = (0, 0, 0);
        while from < order.rows() {
            let to = order.rows().min(from + RANKS);
            let (mut rank, mut outcome) = (from, Ok(()));
            let visited = order.each_row(from..to, |old| {
                if rank >= code_to {
                    let found = order.code_of(old).and_then(|of_row| {
                        code = of_row;
                        code_to = match is_coarse {
                            true => order.ranks_of(code..code + 1)?.end,
                            false => rank + 1,
                        };
                        Ok(())
                    });
                    outcome = found.map_err(self.failure());
                }
                rank += 1;
                if outcome.is_ok()
                    && let Some(row) = row_of(old)
                {
                    outcome = visit(KeptRow { row, code });
                }
                outcome.is_ok()
            });
            visited.map_err(self.failure())?;
            outcome?;
            from = to;
        }
        Ok(())
    }

    /// Whether two orders of texts list the same rows in the same groups.
    fn is_same(&self, a: usize, b: usize) -> Taken<bool> {
        let (a, b) = (self.order(a)?, self.order(b)?);
        for rank in 0..a.rows() {
            let row = |order: &Order<'_>| -> Taken<(u32, u64)> {
                let row = order.row_at(rank).map_err(self.failure())?;
                Ok((row, order.code_of(row).map_err(self.failure())?))
            };
            if row(&a)? != row(&b)? {
                return Ok(false);
            }
        }
        Ok(a.valued() == b.valued())
    }

    /// The changed rows whose text is that of the previous snapshot.
    pub(super) fn same_texts(
        &self,
        number: usize,
        values: &OrderValues<'_>,
    ) -> Taken<AtomicBitset> {
        let same =
            AtomicBitset::new(self.extractor.snapshot().count(self.unchanged.entity) as usize);
        let old_values = OrderValues::new(&self.old_extractor, number);
        for old in self.unchanged.dropped() {
            if let Some(row) = self.unchanged.moved(self.unchanged.entity, old)
                && old_values.text(old)? == values.text(row)?
            {
                same.insert(row as usize);
            }
        }
        Ok(same)
    }
}
