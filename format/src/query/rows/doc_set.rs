//! Computes sets of rows: the matches of a filter, a run of equal values, the rows that a test keeps.

use std::ops::Range;

use crate::index::bitset::{Bitset, CHUNK_ROWS, EMPTY_CHUNK, intersect};
use crate::index::chunk_bits::{rows_in_chunk, set_all};
use crate::index::doc_set::{DocSet, DocSetBuilder, SORTED_ROWS_MAX};
use crate::index::orders::Order;
use crate::query::rows::clause::{Clause, Leaf};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::{ChunkRows, Intersection};
use crate::query::rows::range::{ValueRange, codes_of_value};
use crate::storage::ReadError;

/// A run of equal values is read rank by rank up to this fraction of all rows: reading the bits of all interval
/// numbers takes less time for a longer one.
const RUN_ROWS_DIVISOR: usize = 64;

impl DocSet {
    /// Evaluates an intersection for all chunks.
    pub(in crate::query) fn from_intersection(
        matches: &Intersection<'_>,
        deadline: Deadline<'_>,
    ) -> Result<DocSet, QueryError> {
        if matches.clauses().is_empty() {
            return Ok(match matches.suppressed() {
                [] => DocSet::All(matches.rows()),
                suppressed => DocSet::AllExcept(matches.rows(), suppressed.into()),
            });
        }
        matches.fetch();
        let mut builder = DocSetBuilder::new(matches.chunks());
        for chunk in 0..matches.chunks() {
            deadline.check()?;
            match matches.chunk(chunk)? {
                ChunkRows::Bits(bits) => builder.push_bits(chunk, &bits),
                ChunkRows::Array(lows) => builder.push_rows(chunk, &lows),
            }
        }
        Ok(builder.finish())
    }

    /// Selects the rows at ranks of an order that have the same value.
    pub fn run(
        &self,
        order: Order<'_>,
        ranks: Range<u32>,
        deadline: Deadline<'_>,
    ) -> Result<DocSet, QueryError> {
        let rows = order.rows();
        if ranks.len() <= SORTED_ROWS_MAX.min(rows as usize / RUN_ROWS_DIVISOR) {
            let mut sorted = Vec::new();
            order.each_row(ranks, |row| {
                if self.contains(row) {
                    sorted.push(row);
                }
                true
            })?;
            // The order breaks ties by id, and a set ascends by row.
            sorted.sort_unstable();
            return Ok(DocSet::Sorted(sorted));
        }
        // All ranks have one value, so the first tells the code.
        let codes = codes_of_value(order, order.code_of(order.row_at(ranks.start)?)?);
        let leaf = Leaf::from(ValueRange::with_ranks(order, codes, ranks)?);
        let chunks = rows.div_ceil(CHUNK_ROWS as u32);
        let mut builder = DocSetBuilder::new(chunks);
        for chunk in 0..chunks {
            deadline.check()?;
            let mut bits = EMPTY_CHUNK;
            leaf.add_to(rows, chunk, &mut bits)?;
            match self {
                DocSet::Bitmap(bitmap, _) => intersect(&mut bits, &bitmap.chunks()[chunk as usize]),
                _ => intersect(&mut bits, &self.chunk_bits(chunk)),
            }
            builder.push_bits(chunk, &bits);
        }
        Ok(builder.finish())
    }

    /// The set's rows in a chunk of an entity with this many rows, or with `is_complement` the others.
    pub(in crate::query) fn chunk_rows(
        &self,
        chunk: u32,
        rows: u32,
        is_complement: bool,
    ) -> ChunkRows {
        if let (DocSet::Sorted(sorted), false) = (self, is_complement) {
            let lows = rows_in_chunk(sorted, chunk).iter().map(|row| *row as u16);
            return ChunkRows::Array(lows.collect());
        }
        let mut all = Box::new(EMPTY_CHUNK);
        set_all(&mut all, rows, chunk);
        let bits = self.chunk_bits(chunk);
        let flip = if is_complement { u64::MAX } else { 0 };
        all.iter_mut().zip(&bits).for_each(|(all, bits)| *all &= bits ^ flip);
        ChunkRows::Bits(all)
    }

    /// Turns the set into a clause of another intersection.
    pub(in crate::query) fn into_clause(self) -> Clause<'static> {
        let (is_negated, leaf) = match self {
            DocSet::All(rows) => (false, Leaf::Interval(0..rows)),
            DocSet::AllExcept(_, others) => (true, Leaf::Sorted(others.into_vec())),
            DocSet::Sorted(sorted) => (false, Leaf::Sorted(sorted)),
            DocSet::Bitmap(bitmap, _) => (false, Leaf::Bitmap(bitmap)),
        };
        Clause { is_negated, ..Clause::internal(vec![leaf]) }
    }

    /// Keeps the rows for which `is_kept` returns true.
    ///
    /// # Errors
    ///
    /// The first error of `is_kept`; [`ReadError::Internal`] for `All` and `AllExcept`.
    pub fn retain(
        self,
        mut is_kept: impl FnMut(u32) -> Result<bool, QueryError>,
    ) -> Result<DocSet, QueryError> {
        let (sorted, bitmap) = match self {
            DocSet::Sorted(sorted) => (sorted, Bitset::default()),
            DocSet::Bitmap(bitmap, _) => (Vec::new(), bitmap),
            DocSet::All(_) | DocSet::AllExcept(..) => {
                return Err(ReadError::Internal(
                    "a complemented set of rows cannot be filtered row by row",
                )
                .into());
            }
        };
        let chunks = bitmap.chunks().len() as u32;
        let mut builder = DocSetBuilder::new(chunks);
        for row in sorted.into_iter().chain(bitmap.rows()) {
            if is_kept(row)? {
                builder.push_rows(row >> 16, &[row as u16]);
            }
        }
        Ok(builder.finish())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rows(set: &DocSet) -> Vec<u32> {
        (0..1 << 18).filter(|row| set.contains(*row)).collect()
    }

    #[test]
    fn retain_keeps_the_chosen_rows_of_sorted_rows_and_of_bitmaps() {
        let is_kept = |row: u32| row % 7 < 3;
        for step in [1, 5, 30] {
            let all: Vec<u32> = (0..200_000).step_by(step).collect();
            let mut builder = DocSetBuilder::new(4);
            all.iter().for_each(|row| builder.push_rows(row >> 16, &[*row as u16]));
            let set = builder.finish();
            assert_eq!(matches!(set, DocSet::Bitmap(..)), all.len() > SORTED_ROWS_MAX);
            let kept = set.retain(|row| Ok(is_kept(row))).unwrap();
            let expected: Vec<u32> = all.into_iter().filter(|row| is_kept(*row)).collect();
            assert_eq!(kept.count(), expected.len() as u64);
            assert_eq!(rows(&kept), expected);
        }
        let failed = DocSet::Sorted(vec![1, 2]).retain(|_| {
            Err(QueryError::from(ReadError::corrupt("records", "a record does not validate")))
        });
        assert!(failed.is_err());
    }
}
