//! All rows of a list, batch by batch, and the rows of a sample.
//!
//! A stream or an export reads a list from its beginning to its end. Between two batches it keeps a
//! [`RowCursor`], a position: not the filter's bitmaps, whose size grows with the snapshot. Every batch resolves the filter again.
//!
//! ```text
//! row order    the next row; the chunks after it are intersected until a batch is full
//! by names     the next position, as sorted
//! sorted       the next position; a batch is found as a page of 131,072 records is
//! sample       one batch
//! ```
//!
//! Cost of a batch: in row order the containers of its chunks; sorted, one pass over the containers of
//! the clauses.

use crate::index::doc_set::DocSet;
use crate::index::kept_sets::CountedSet;
use crate::query::page::execute::{ListPart, is_row_order, unsuppressed_rows_from};
use crate::query::page::sorted_page::{DirectedOrder, NamedSet};
use crate::query::parse::query::Query;
use crate::query::parse::sample::Sample;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::query::search::RankedRow;
use crate::snapshot::Snapshot;

/// Rows of a batch in row order, which the rows of one chunk may exceed.
const BATCH_ROWS: usize = 1 << 14;
/// Rows of a sorted batch. Finding a batch costs a pass over the filter, so that a batch is large.
const SORTED_BATCH_ROWS: usize = 1 << 17;
/// Rows of a batch with scores, which has the bytes of a sorted batch.
const RANKED_BATCH_ROWS: usize = SORTED_BATCH_ROWS * size_of::<u32>() / size_of::<RankedRow>();

/// The position of the next batch of a list's rows. The default is the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowCursor {
    /// A row in row order, else a position.
    next: u64,
}

/// Rows of a list, in its order.
#[derive(Clone, Debug)]
pub enum RowBatch {
    /// The rows of a list whose records have no scores.
    Unranked(Vec<u32>),
    /// The rows of a list with relevance among its sort keys.
    Ranked(Vec<RankedRow>),
}

impl RowBatch {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            RowBatch::Unranked(rows) => rows.len(),
            RowBatch::Ranked(ranked) => ranked.len(),
        }
    }

    /// Whether the list is at its end.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A row of the batch, and its score if the list has scores.
    pub fn get(&self, at: usize) -> Option<(u32, Option<RankedRow>)> {
        match self {
            RowBatch::Unranked(rows) => rows.get(at).map(|row| (*row, None)),
            RowBatch::Ranked(ranked) => ranked.get(at).map(|ranked| (ranked.row, Some(*ranked))),
        }
    }
}

impl RowCursor {
    /// The most bytes of a batch.
    pub const BATCH_BYTES_MAX: usize = SORTED_BATCH_ROWS * size_of::<u32>();
}

impl Query {
    /// Collects the next rows of the whole list and moves the cursor behind them; no rows at the end. The
    /// page of the query has no effect.
    pub fn next_batch(
        &self,
        cursor: &mut RowCursor,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<RowBatch, QueryError> {
        if let Some(search) = self.search().filter(|_| self.has_scores()) {
            let part = (cursor.next, RANKED_BATCH_ROWS);
            let ranked = self.ranked_rows(search, part, snapshot, deadline)?.rows;
            cursor.next += ranked.len() as u64;
            return Ok(RowBatch::Ranked(ranked));
        }
        Ok(RowBatch::Unranked(self.next_unranked(cursor, snapshot, deadline)?))
    }

    /// Collects the next rows as [`Query::next_batch`] does, without their scores.
    pub fn next_rows(
        &self,
        cursor: &mut RowCursor,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Vec<u32>, QueryError> {
        Ok(match self.next_batch(cursor, snapshot, deadline)? {
            RowBatch::Unranked(rows) => rows,
            RowBatch::Ranked(ranked) => ranked.into_iter().map(|ranked| ranked.row).collect(),
        })
    }

    fn next_unranked(
        &self,
        cursor: &mut RowCursor,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Vec<u32>, QueryError> {
        let matches = self.resolve(snapshot, deadline)?;
        let keys = self.directed_orders(snapshot)?;
        let name = self.ordering_name();
        if self.sample.is_none() && name.is_none() && is_row_order(&keys) {
            return rows_from(&matches, cursor, deadline);
        }
        let part = ListPart { from: cursor.next, rows_max: SORTED_BATCH_ROWS };
        let rows = match self.sample {
            Some(sample) => self.sample_page(sample, &matches, &keys, part, snapshot, deadline)?.1,
            None => {
                let matching = self.matching_set(&matches, snapshot, deadline)?;
                match name {
                    Some(folded) => {
                        self.rows_by_name(folded, &matching.set.rows, part, snapshot, deadline)?
                    }
                    None => self.sorted_rows(matching.named(), &keys, part, snapshot, deadline)?,
                }
            }
        };
        cursor.next += rows.len() as u64;
        Ok(rows)
    }

    /// Counts the records of a sample and finds those of a page, in the order of the sort, or of the draws
    /// without a sort.
    pub(in crate::query) fn sample_page(
        &self,
        sample: Sample,
        matches: &Intersection<'_>,
        keys: &[DirectedOrder<'_>],
        part: ListPart,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<(u64, Vec<u32>), QueryError> {
        let (matching, counts) = self.counts(matches, snapshot, deadline)?;
        let positions = sample.positions(&snapshot.manifest().id, matching);
        let records = positions.len() as u64;
        if !keys.is_empty() {
            let mut rows = rows_at(matches, &counts, &positions, deadline)?;
            rows.sort_unstable();
            let set = CountedSet::new(DocSet::Sorted(rows));
            let named = NamedSet { set: &set, name: None };
            let rows = self.sorted_rows(named, keys, part, snapshot, deadline)?;
            return Ok((records, rows));
        }
        let from = part.from.min(records) as usize;
        let to = from.saturating_add(part.rows_max).min(positions.len());
        Ok((records, rows_at(matches, &counts, &positions[from..to], deadline)?))
    }
}

/// Collects the matching rows from the cursor on, in row order.
fn rows_from(
    matches: &Intersection<'_>,
    cursor: &mut RowCursor,
    deadline: Deadline<'_>,
) -> Result<Vec<u32>, QueryError> {
    let mut rows = Vec::new();
    // A cursor in row order is at most the number of rows, a u32.
    let first = cursor.next as u32;
    let mut chunk = first >> 16;
    while chunk < matches.chunks() && rows.len() < BATCH_ROWS {
        deadline.check()?;
        matches.chunk(chunk)?.each(|low| {
            let row = chunk << 16 | u32::from(low);
            if row >= first {
                rows.push(row);
            }
            true
        });
        chunk += 1;
    }
    cursor.next = u64::from(matches.rows()).min(u64::from(chunk) << 16);
    Ok(rows)
}

/// Finds the rows at some positions among the matching rows, in the order of the positions.
///
/// Cost: the chunks that hold the positions.
fn rows_at(
    matches: &Intersection<'_>,
    chunk_counts: &[u32],
    positions: &[u64],
    deadline: Deadline<'_>,
) -> Result<Vec<u32>, QueryError> {
    if matches.clauses().is_empty() {
        // A position is less than the number of rows, a u32.
        let row_at = |position: &u64| unsuppressed_rows_from(matches, *position as u32).next();
        return Ok(positions.iter().filter_map(row_at).collect());
    }
    let mut rows = vec![0; positions.len()];
    let mut ascending: Vec<(u64, usize)> = positions.iter().copied().zip(0..).collect();
    ascending.sort_unstable();
    let mut left = ascending.as_slice();
    let mut before = 0;
    for (chunk, in_chunk) in (0u32..).zip(chunk_counts) {
        let after = before + u64::from(*in_chunk);
        let (here, rest) = left.split_at(left.partition_point(|(position, _)| *position < after));
        left = rest;
        let mut here = here.iter().peekable();
        if here.peek().is_some() {
            deadline.check()?;
            let mut position = before;
            matches.chunk(chunk)?.each(|low| {
                if let Some((_, at)) = here.next_if(|(wanted, _)| *wanted == position) {
                    rows[*at] = chunk << 16 | u32::from(low);
                }
                position += 1;
                here.peek().is_some()
            });
        }
        before = after;
    }
    Ok(rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::query::rows::clause::{Clause, Leaf};

    /// Intersections over 3.5 chunks, with the rows that match.
    fn intersections(check: impl Fn(&Intersection<'_>, &[u32])) {
        const ROWS: u32 = 3 * 65_536 + 30_000;
        let suppressed: Vec<u32> = (0..ROWS).step_by(50_001).collect();
        for step in [1, 7, 60_000, 70_000, 300_000] {
            for suppressed in [&[][..], &suppressed] {
                let wanted: Vec<u32> = (0..ROWS).step_by(step).collect();
                let clauses = match step {
                    1 => Vec::new(),
                    _ => vec![Clause::internal(vec![Leaf::Sorted(wanted.clone())])],
                };
                let matches = Intersection::new(clauses, ROWS).without(suppressed);
                let expected: Vec<u32> =
                    wanted.into_iter().filter(|row| !suppressed.contains(row)).collect();
                check(&matches, &expected);
            }
        }
    }

    #[test]
    fn batches_in_row_order_have_every_matching_row_once() {
        intersections(|matches, expected| {
            let (mut cursor, mut found) = (RowCursor::default(), Vec::new());
            loop {
                let rows = rows_from(matches, &mut cursor, Deadline::NEVER).unwrap();
                assert!(rows.len() < BATCH_ROWS + 65_536);
                if rows.is_empty() {
                    break;
                }
                found.extend(rows);
            }
            assert_eq!(found, expected);
        });
    }

    #[test]
    fn rows_at_positions_have_the_order_of_the_positions() {
        intersections(|matches, expected| {
            let counts = matches.chunk_counts(Deadline::NEVER).unwrap();
            for records in [0, 1, 100, 10_000] {
                let sample = Sample { records, seed: 1 };
                let positions = sample.positions("snapshot", expected.len() as u64);
                let found = rows_at(matches, &counts, &positions, Deadline::NEVER).unwrap();
                let wanted: Vec<u32> = positions.iter().map(|at| expected[*at as usize]).collect();
                assert_eq!(found, wanted);
            }
        });
    }
}
