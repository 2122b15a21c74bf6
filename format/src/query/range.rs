//! The rows whose values lie in a range.

use std::{cell::OnceCell, ops::Range};

use crate::index::bitset::{Bitset, ChunkBits, EMPTY_CHUNK, union};
use crate::index::orders::Order;
use crate::query::clause::Atom;
use crate::storage::error::ReadError;

/// The rows whose values' codes lie in a range.
pub(super) struct ValueRange<'s> {
    order: Order<'s>,
    codes: Range<u64>,
    ranks: Range<u32>,
    /// The steps that stand at its ranks, or at its ends.
    inner: Range<usize>,
    ends: OnceCell<Bitset>,
}

impl<'s> ValueRange<'s> {
    /// The rows whose codes lie in a range.
    pub fn new(order: Order<'s>, codes: Range<u64>) -> Result<ValueRange<'s>, ReadError> {
        let ranks = order.ranks_of(codes.clone())?;
        ValueRange::of(order, codes, ranks)
    }

    pub fn without_value(order: Order<'s>) -> Result<ValueRange<'s>, ReadError> {
        let codes = order.no_code()..u64::MAX;
        ValueRange::of(order, codes, order.valued()..order.rows())
    }

    fn of(
        order: Order<'s>,
        codes: Range<u64>,
        ranks: Range<u32>,
    ) -> Result<ValueRange<'s>, ReadError> {
        let from = order.checkpoints_below(ranks.start)?;
        let to = order.checkpoints_below(ranks.end.saturating_add(1))?;
        Ok(ValueRange { order, codes, ranks, inner: from..to, ends: OnceCell::new() })
    }

    /// How many rows.
    pub fn count(&self) -> usize {
        self.ranks.len()
    }

    /// As an atom: rows one after another where it is the rows' own order.
    pub fn into_atom(self) -> Atom<'s> {
        if self.order.is_row_order() { Atom::Rows(self.ranks) } else { Atom::Values(self) }
    }

    pub fn contains(&self, row: u32) -> Result<bool, ReadError> {
        Ok(self.codes.contains(&self.order.code_of(row)?))
    }

    /// Sets the bits of its rows in a chunk.
    pub fn add_to(&self, chunk: u32, bits: &mut ChunkBits) -> Result<(), ReadError> {
        self.add_inner(chunk, bits)?;
        self.ends()?.add_to(chunk, bits);
        Ok(())
    }

    /// Sets the bits of those of its rows that lie between steps within it.
    pub fn add_inner(&self, chunk: u32, bits: &mut ChunkBits) -> Result<(), ReadError> {
        let Range { start, end } = self.inner;
        if start < end {
            let mut between = EMPTY_CHUNK;
            self.order.rows_before_checkpoint(end - 1, chunk)?.add_to(&mut between);
            self.order.rows_before_checkpoint(start, chunk)?.remove_from(&mut between);
            union(bits, &between);
        }
        Ok(())
    }

    /// Shows `visit` each of its rows, in their order.
    pub fn each_row(&self, mut visit: impl FnMut(u32)) -> Result<(), ReadError> {
        self.order.each_row(self.ranks.clone(), |row| {
            visit(row);
            true
        })
    }

    /// Shows `visit` each of its rows that do not lie between steps within it.
    pub fn each_end(&self, mut visit: impl FnMut(u32)) -> Result<(), ReadError> {
        let Range { start, end } = self.inner;
        if start == end {
            return self.each_row(visit);
        }
        let ends = [
            self.ranks.start..self.order.checkpoint_rank(start)?,
            self.order.checkpoint_rank(end - 1)?..self.ranks.end,
        ];
        for ranks in ends {
            self.order.each_row(ranks, |row| {
                visit(row);
                true
            })?;
        }
        Ok(())
    }

    /// A bit for each row that does not lie between steps within it.
    ///
    /// They are read from the order when a chunk is first asked for, and not where rows are looked
    /// up one by one. Measured on 10,000,000 rows, looking at the values of all rows between two
    /// steps took ten times as long.
    fn ends(&self) -> Result<&Bitset, ReadError> {
        if let Some(ends) = self.ends.get() {
            return Ok(ends);
        }
        let mut bits = Bitset::default();
        self.each_end(|row| {
            if bits.chunks().is_empty() {
                bits = Bitset::new(self.order.rows());
            }
            bits.insert(row);
        })?;
        Ok(self.ends.get_or_init(|| bits))
    }
}
