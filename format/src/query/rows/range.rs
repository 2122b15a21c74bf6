//! The rows whose values lie in a range.

use std::{cell::OnceCell, ops::Range};

use crate::index::bitset::{Bitset, ChunkBits, union};
use crate::index::orders::Order;
use crate::storage::ReadError;

/// The codes of one value; of [`Order::no_code`], the codes of rows without a value.
pub(in crate::query) fn codes_of_value(order: Order<'_>, code: u64) -> Range<u64> {
    if code == order.no_code() { code..u64::MAX } else { code..code + 1 }
}

/// The rows whose codes in an order lie in a range.
///
/// Rank checkpoints answer most of a range without a look at its rows:
///
/// ```text
/// ranks of the range            130 ─────────────────────── 470
/// checkpoints at ranks    100         200     300     400         500
/// from checkpoints                    200 ─────────── 400
/// from the order, row by row    130 ─ 200             400 ─ 470
/// ```
pub(in crate::query) struct ValueRange<'s> {
    order: Order<'s>,
    codes: Range<u64>,
    ranks: Range<u32>,
    /// The checkpoints at ranks of the range, its end included.
    inner_checkpoints: Range<usize>,
    /// The rows before the first and after the last of these checkpoints.
    end_rows: OnceCell<Bitset>,
}

impl<'s> ValueRange<'s> {
    pub fn new(order: Order<'s>, codes: Range<u64>) -> Result<ValueRange<'s>, ReadError> {
        let ranks = order.ranks_of(codes.clone())?;
        ValueRange::with_ranks(order, codes, ranks)
    }

    /// The rows without a value.
    pub fn without_value(order: Order<'s>) -> Result<ValueRange<'s>, ReadError> {
        let codes = order.no_code()..u64::MAX;
        ValueRange::with_ranks(order, codes, order.valued()..order.rows())
    }

    /// As [`ValueRange::new`], of codes whose ranks are known.
    pub fn with_ranks(
        order: Order<'s>,
        codes: Range<u64>,
        ranks: Range<u32>,
    ) -> Result<ValueRange<'s>, ReadError> {
        let from = order.checkpoints_below(ranks.start);
        let to = order.checkpoints_below(ranks.end.saturating_add(1));
        let (inner_checkpoints, end_rows) = (from?..to?, OnceCell::new());
        Ok(ValueRange { order, codes, ranks, inner_checkpoints, end_rows })
    }

    pub fn count(&self) -> usize {
        self.ranks.len()
    }

    /// The range as an interval of rows, if rows and ranks of the order are the same.
    pub fn row_interval(&self) -> Option<Range<u32>> {
        self.order.is_row_order().then(|| self.ranks.clone())
    }

    pub fn contains(&self, row: u32) -> Result<bool, ReadError> {
        Ok(self.codes.contains(&self.order.code_of(row)?))
    }

    /// Sets the bits of the range's rows in a chunk.
    pub fn add_to(&self, chunk: u32, bits: &mut ChunkBits) -> Result<(), ReadError> {
        let inner = self.add_inner(chunk, bits);
        let ends = self.end_rows();
        inner?;
        ends?.add_to(chunk, bits);
        Ok(())
    }

    /// Sets the bits of the rows between the first and the last inner checkpoint, in a chunk.
    pub fn add_inner(&self, chunk: u32, bits: &mut ChunkBits) -> Result<(), ReadError> {
        let Range { start, end } = self.inner_checkpoints;
        // The interval after a checkpoint has the next number.
        if start + 1 < end {
            let intervals = self.order.intervals(chunk)?;
            union(bits, &intervals.within(start + 1..end));
        }
        Ok(())
    }

    /// Notes what all chunks need together, where a host sends it.
    pub fn note(&self) {
        if self.inner_checkpoints.len() > 1 {
            self.order.note_intervals();
        }
    }

    /// Calls `visit` with each row, by rank.
    pub fn each_row(&self, mut visit: impl FnMut(u32)) -> Result<(), ReadError> {
        self.order.each_row(self.ranks.clone(), |row| {
            visit(row);
            true
        })
    }

    /// Calls `visit` with each row that [`add_inner`](Self::add_inner) leaves out.
    pub fn each_end_row(&self, mut visit: impl FnMut(u32)) -> Result<(), ReadError> {
        let Range { start, end } = self.inner_checkpoints;
        if start == end {
            return self.each_row(visit);
        }
        let ends = [
            self.ranks.start..self.order.checkpoint_rank(start)?,
            self.order.checkpoint_rank(end - 1)?..self.ranks.end,
        ];
        let mut ended = Ok(());
        for ranks in ends {
            let read = self.order.each_row(ranks, |row| {
                visit(row);
                true
            });
            match read {
                // An attempt notes what both ends lack.
                Err(error) if self.order.notes_failures() => ended = Err(error),
                read => read?,
            }
        }
        ended
    }

    /// Collects the end rows at the first call for a chunk; single look-ups do not need them.
    ///
    /// Measured on 10,000,000 rows: comparing the codes of all rows between two checkpoints instead
    /// took ten times as long.
    fn end_rows(&self) -> Result<&Bitset, ReadError> {
        if let Some(end_rows) = self.end_rows.get() {
            return Ok(end_rows);
        }
        let mut bits = Bitset::default();
        self.each_end_row(|row| {
            if bits.chunks().is_empty() {
                bits = Bitset::new(self.order.rows());
            }
            bits.insert(row);
        })?;
        Ok(self.end_rows.get_or_init(|| bits))
    }
}
