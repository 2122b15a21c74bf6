//! Counts the codes of rows, or the pairs of codes of two sources.

use crate::index::doc_set::DocSet;
use crate::query::groups::counter::{CodeGroup, Counted, Counter, LISTED_MAX, NULL};
use crate::query::groups::source::Source;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::ChunkRows;
use crate::snapshot::Snapshot;

/// Counts the codes of a set's rows, of `rows` rows in all.
pub(in crate::query) fn count_codes(
    source: &mut Source<'_>,
    set: &DocSet,
    rows: u32,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
) -> Result<Counted, QueryError> {
    let is_complement = source.has_totals() && set.count() * 2 > u64::from(rows);
    let mut counter = Counter::new(source.codes());
    each_chunk(set, rows, is_complement, (snapshot, deadline), |chunk, found| {
        source.count(chunk, found, &mut counter, deadline)
    })?;
    let counted = counter.finish()?;
    if !is_complement {
        return Ok(counted);
    }
    // What all rows have, less what the other rows have.
    let mut totals = source.totals(rows, deadline)?;
    let mut others = counted.codes.into_iter().peekable();
    for (code, count) in &mut totals.codes {
        if let Some((_, other)) = others.next_if(|(other, _)| other == code) {
            *count = count.saturating_sub(other);
        }
    }
    totals.codes.retain(|(_, count)| *count > 0);
    totals.null = totals.null.saturating_sub(counted.null);
    Ok(totals)
}

/// Pairs of codes that the rows of a set have.
pub(super) struct Pairs<'a> {
    pub set: &'a DocSet,
    /// Rows of the entity.
    pub rows: u32,
    /// The parameter that asks for the pairs, for errors.
    pub text: &'a str,
    pub snapshot: &'a Snapshot,
    pub deadline: Deadline<'a>,
}

impl Pairs<'_> {
    /// Counts the pairs of a code of one source and a code of the other. Sorted by the first code, null last.
    pub fn count(&self, [one, other]: [&mut Source<'_>; 2]) -> Result<Vec<CodeGroup>, QueryError> {
        // In a pair, the number after the last code stands for null.
        let widths = [one.codes() + 1, other.codes() + 1];
        let mut counter = Counter::new(widths[0].saturating_mul(widths[1]));
        let (mut of_one, mut of_other) = (Vec::new(), Vec::new());
        each_chunk(self.set, self.rows, false, (self.snapshot, self.deadline), |chunk, found| {
            self.collect(one, chunk, found, &mut of_one)?;
            self.collect(other, chunk, found, &mut of_other)?;
            let mut others = &of_other[..];
            for of_row in of_one.chunk_by(|one, other| one.0 == other.0) {
                let row = of_row[0].0;
                let from = others.partition_point(|(low, _)| *low < row);
                let to = from + others[from..].partition_point(|(low, _)| *low == row);
                self.check_room(&counter, of_row.len() * (to - from))?;
                for (_, code) in of_row {
                    for (_, other) in &others[from..to] {
                        counter.add(code * widths[1] + other);
                    }
                }
                others = &others[to..];
            }
            Ok(())
        })?;
        pairs_of(counter, widths)
    }

    /// Counts the pairs of different codes that a row has of one source, each once: the smaller code comes
    /// first.
    pub fn count_within(&self, source: &mut Source<'_>) -> Result<Vec<CodeGroup>, QueryError> {
        let none = source.codes();
        let widths = [none + 1; 2];
        let mut counter = Counter::new(widths[0].saturating_mul(widths[1]));
        let mut codes = Vec::new();
        each_chunk(self.set, self.rows, false, (self.snapshot, self.deadline), |chunk, found| {
            self.collect(source, chunk, found, &mut codes)?;
            for of_row in codes.chunk_by(|one, other| one.0 == other.0) {
                self.check_room(&counter, of_row.len() * of_row.len().saturating_sub(1) / 2)?;
                for (at, (_, code)) in of_row.iter().enumerate() {
                    for (_, other) in &of_row[at + 1..] {
                        counter.add(code * widths[1] + other);
                    }
                }
            }
            Ok(())
        })?;
        pairs_of(counter, widths)
    }

    /// Collects the codes of a chunk's rows, ascending by row and code, each once.
    fn collect(
        &self,
        source: &mut Source<'_>,
        chunk: u32,
        rows: &ChunkRows,
        codes: &mut Vec<(u16, u64)>,
    ) -> Result<(), QueryError> {
        codes.clear();
        let none = source.codes();
        source.each(chunk, rows, self.deadline, |low, code| codes.push((low, code.min(none))))?;
        codes.sort_unstable();
        codes.dedup();
        Ok(())
    }

    /// Refuses pairs that need more memory than estimated: few records may have most of all values.
    fn check_room(&self, counter: &Counter, pairs: usize) -> Result<(), QueryError> {
        self.deadline.check()?;
        match counter {
            Counter::Sparse(listed) if listed.len() + pairs > LISTED_MAX => {
                let reason = format!(
                    "counts more than {LISTED_MAX} pairs; narrow `filter` to fewer records, or to \
                     records with fewer values"
                );
                Err(QueryError::refused("group_by", self.text, reason))
            }
            _ => Ok(()),
        }
    }
}

/// The pairs of a counter of `code × width + other`.
fn pairs_of(counter: Counter, widths: [u64; 2]) -> Result<Vec<CodeGroup>, QueryError> {
    let code = |number, width| if number == width - 1 { NULL } else { number };
    let groups = counter.finish()?.codes.into_iter().map(|(pair, count)| CodeGroup {
        codes: [code(pair / widths[1], widths[0]), code(pair % widths[1], widths[1])],
        count,
    });
    Ok(groups.collect())
}

/// Calls `visit` with each chunk that has rows of the set, or with `is_complement` rows outside it. An attempt that notes
/// what is absent goes on to the next chunk.
fn each_chunk(
    set: &DocSet,
    rows: u32,
    is_complement: bool,
    (snapshot, deadline): (&Snapshot, Deadline<'_>),
    mut visit: impl FnMut(u32, &ChunkRows) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let chunks = rows.div_ceil(crate::index::bitset::CHUNK_ROWS as u32);
    for chunk in 0..chunks {
        deadline.check()?;
        let found = set.chunk_rows(chunk, rows, is_complement);
        if found.count() > 0 {
            snapshot.or_noted(visit(chunk, &found))?;
        }
    }
    Ok(())
}
