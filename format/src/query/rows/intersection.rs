//! Intersects the clauses of a filter, one chunk of 65,536 rows at a time.
//!
//! ```text
//! clauses by size     country.code:nz (400 rows)   is_oa:true (190,000 rows)
//! chunk 0             array [17, 90, 4711]         container of 31,000 bits
//! result              each of the 3 rows is looked up in the container: array [17, 4711]
//! ```
//!
//! Cost of a chunk: its containers, starting with the smallest clause; nothing more once no row is
//! left.

use crate::index::bitset::{
    CHUNK_ROWS, ChunkBits, EMPTY_CHUNK, count_bits, each_bit, has_bit, intersect, word_bits,
};
use crate::index::chunk_bits::{clear_rows, rows_in_chunk, set_all};
use crate::index::crossings::CrossingsFile;
use crate::index::postings::{ARRAY_ROWS_MAX, ChunkView};
use crate::query::rows::clause::{Clause, Leaf};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::storage::ReadError;

/// Rows up to which an array is looked up row by row; for more rows, the clause's bits are set first.
const LOOKUPS_MAX: usize = 64;

/// The intersection of a filter's clauses, without suppressed rows.
pub(in crate::query) struct Intersection<'s> {
    /// By ascending upper bound of rows.
    clauses: Vec<Clause<'s>>,
    /// The upper bound of each clause's rows.
    counts_max: Vec<u64>,
    /// Rows of the entity.
    rows: u32,
    /// Ascending.
    suppressed: &'s [u32],
    /// The counts of frequent terms, where the snapshot has them.
    crossings: Option<&'s CrossingsFile>,
}

/// The matching rows of one chunk, as their lower 16 bits.
pub(in crate::query) enum ChunkRows {
    /// Ascending.
    Array(Vec<u16>),
    Bits(Box<ChunkBits>),
}

impl ChunkRows {
    pub fn count(&self) -> u32 {
        match self {
            ChunkRows::Array(lows) => lows.len() as u32,
            ChunkRows::Bits(bits) => count_bits(&**bits) as u32,
        }
    }

    pub fn contains(&self, low: u16) -> bool {
        match self {
            ChunkRows::Array(lows) => lows.binary_search(&low).is_ok(),
            ChunkRows::Bits(bits) => has_bit(&**bits, u32::from(low)),
        }
    }

    /// Calls `visit` with the number and the bits of each word of the chunk's bitmap that has rows,
    /// until `visit` returns false.
    pub fn each_word(&self, mut visit: impl FnMut(u32, u64) -> bool) {
        let outcome = match self {
            ChunkRows::Array(lows) => {
                let mut words = lows.chunk_by(|one, other| one / 64 == other / 64);
                words.try_for_each(|lows| {
                    let bits = lows.iter().fold(0, |bits, low| bits | 1 << (low % 64));
                    visit(u32::from(lows[0] / 64), bits).then_some(())
                })
            }
            ChunkRows::Bits(bits) => {
                let words = (0..).zip(bits.iter()).filter(|(_, bits)| **bits != 0);
                let mut words = words.map(|(word, bits)| visit(word, *bits));
                words.try_for_each(|goes_on| goes_on.then_some(()))
            }
        };
        // `None` means that `visit` ended the walk.
        let _ = outcome;
    }

    /// Appends at most `count` rows, ascending, without the first `skipped`. Skips 64 rows of a bitmap by a
    /// count.
    pub fn append_rows(&self, chunk: u32, skipped: u64, count: usize, rows: &mut Vec<u32>) {
        let mut skipped = skipped as usize;
        let row = |low: u32| chunk << 16 | low;
        match self {
            ChunkRows::Array(lows) => {
                rows.extend(lows.iter().skip(skipped).take(count).map(|low| row((*low).into())));
            }
            ChunkRows::Bits(bits) => {
                let end = rows.len() + count;
                for (at, word) in bits.iter().enumerate() {
                    let here = word.count_ones() as usize;
                    if here <= skipped {
                        skipped -= here;
                        continue;
                    }
                    let missing = end - rows.len();
                    rows.extend(word_bits(at, *word).skip(skipped).take(missing).map(row));
                    skipped = 0;
                    if rows.len() == end {
                        return;
                    }
                }
            }
        }
    }

    /// Calls `visit` with each row, ascending, until `visit` returns false.
    pub fn each(&self, mut visit: impl FnMut(u16) -> bool) {
        match self {
            ChunkRows::Array(lows) => {
                let _ = lows.iter().try_for_each(|low| visit(*low).then_some(()));
            }
            ChunkRows::Bits(bits) => each_bit(bits, visit),
        }
    }

    /// Calls `visit` with each row, ascending, until `visit` fails.
    ///
    /// # Errors
    ///
    /// The error of `visit`.
    pub fn try_each(
        &self,
        mut visit: impl FnMut(u16) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let mut outcome = Ok(());
        self.each(|low| {
            outcome = visit(low);
            outcome.is_ok()
        });
        outcome
    }
}

impl<'s> Intersection<'s> {
    /// Sorts the clauses by their upper bound of rows.
    pub fn new(clauses: Vec<Clause<'s>>, rows: u32) -> Intersection<'s> {
        let mut counted: Vec<(u64, Clause<'s>)> =
            clauses.into_iter().map(|clause| (clause.count_max(rows), clause)).collect();
        counted.sort_by_key(|(count_max, _)| *count_max);
        let (counts_max, clauses) = counted.into_iter().unzip();
        Intersection { clauses, counts_max, rows, suppressed: &[], crossings: None }
    }

    /// Leaves out ascending rows that match no filter.
    pub fn without(self, suppressed: &'s [u32]) -> Intersection<'s> {
        Intersection { suppressed, ..self }
    }

    /// Counts the rows of two frequent terms by the counts of the snapshot.
    pub fn counted_by(self, crossings: Option<&'s CrossingsFile>) -> Intersection<'s> {
        Intersection { crossings, ..self }
    }

    pub fn suppressed(&self) -> &'s [u32] {
        self.suppressed
    }

    /// The upper bound of each clause's rows, in the order of [`clauses`](Self::clauses).
    pub fn counts_max(&self) -> &[u64] {
        &self.counts_max
    }

    /// The clauses, smallest first.
    pub fn clauses(&self) -> &[Clause<'s>] {
        &self.clauses
    }

    /// Rows of the entity.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Chunks of the entity.
    pub fn chunks(&self) -> u32 {
        self.rows.div_ceil(CHUNK_ROWS as u32)
    }

    /// Asks for the posting lists that all chunks need together, where a host sends them.
    pub fn fetch(&self) {
        let mut lookups = f64::INFINITY;
        for (clause, count_max) in self.clauses.iter().zip(&self.counts_max) {
            clause.fetch_for(lookups);
            lookups = lookups.min(*count_max as f64);
        }
    }

    /// Computes the matching rows of a chunk.
    pub fn chunk(&self, chunk: u32) -> Result<ChunkRows, ReadError> {
        let mut found = self.intersect_chunk(chunk)?;
        let suppressed = rows_in_chunk(self.suppressed, chunk);
        if !suppressed.is_empty() {
            match &mut found {
                ChunkRows::Array(lows) => lows.retain(|low| {
                    suppressed.binary_search(&(chunk << 16 | u32::from(*low))).is_err()
                }),
                ChunkRows::Bits(bits) => clear_rows(bits, suppressed),
            }
        }
        Ok(found)
    }

    /// Intersects all clauses, suppressed rows included.
    fn intersect_chunk(&self, chunk: u32) -> Result<ChunkRows, ReadError> {
        let Some((first, others)) = self.clauses.split_first() else {
            let mut bits = Box::new(EMPTY_CHUNK);
            set_all(&mut bits, self.rows, chunk);
            return Ok(ChunkRows::Bits(bits));
        };
        let mut found = self.clause_rows(first, chunk)?;
        for clause in others {
            found = match found {
                ChunkRows::Array(lows) if lows.is_empty() => return Ok(ChunkRows::Array(lows)),
                ChunkRows::Array(lows) => {
                    ChunkRows::Array(self.intersect_array(clause, chunk, lows)?)
                }
                ChunkRows::Bits(bits) => self.intersect_bits(clause, chunk, bits)?,
            };
        }
        Ok(found)
    }

    fn clause_rows(&self, clause: &Clause<'s>, chunk: u32) -> Result<ChunkRows, ReadError> {
        if let ([leaf], false) = (clause.leaves.as_slice(), clause.is_negated) {
            if let Leaf::Sorted(sorted) = leaf {
                let sorted = rows_in_chunk(sorted, chunk);
                if sorted.len() <= ARRAY_ROWS_MAX {
                    return Ok(ChunkRows::Array(sorted.iter().map(|row| *row as u16).collect()));
                }
            }
            if let Some(view) = leaf.view(chunk)?.filter(ChunkView::is_array) {
                return Ok(ChunkRows::Array(view.to_vec()));
            }
        }
        let mut bits = Box::new(EMPTY_CHUNK);
        clause.add_to(self.rows, chunk, &mut bits)?;
        Ok(ChunkRows::Bits(bits))
    }

    fn intersect_array(
        &self,
        clause: &Clause<'s>,
        chunk: u32,
        mut lows: Vec<u16>,
    ) -> Result<Vec<u16>, ReadError> {
        if let [leaf] = clause.leaves.as_slice()
            && let Some(view) =
                leaf.view(chunk)?.filter(|view| lows.len() > LOOKUPS_MAX || !view.is_array())
        {
            view.filter(&mut lows, clause.is_negated);
            return Ok(lows);
        }
        if lows.len() > LOOKUPS_MAX && clause.is_stored_by_chunk() {
            let mut bits = EMPTY_CHUNK;
            // `add_to` complements a negated clause, so its bits are the rows to keep.
            clause.add_to(self.rows, chunk, &mut bits)?;
            return Ok(retain_set(lows, &bits));
        }
        let views: Result<Vec<_>, ReadError> =
            clause.leaves.iter().map(|leaf| leaf.view(chunk)).collect();
        let views = views?;
        let mut kept = Vec::with_capacity(lows.len());
        for low in lows {
            let row = chunk << 16 | u32::from(low);
            let mut is_in_union = false;
            for (leaf, view) in clause.leaves.iter().zip(&views) {
                if leaf.contains(view.as_ref(), row)? {
                    is_in_union = true;
                    break;
                }
            }
            if is_in_union != clause.is_negated {
                kept.push(low);
            }
        }
        Ok(kept)
    }

    fn intersect_bits(
        &self,
        clause: &Clause<'s>,
        chunk: u32,
        mut bits: Box<ChunkBits>,
    ) -> Result<ChunkRows, ReadError> {
        if let [leaf] = clause.leaves.as_slice()
            && let Some(view) = leaf.view(chunk)?
        {
            if clause.is_negated {
                view.remove_from(&mut bits);
            } else if view.is_array() {
                return Ok(ChunkRows::Array(retain_set(view.to_vec(), &bits)));
            } else {
                view.retain_in(&mut bits);
            }
            return Ok(ChunkRows::Bits(bits));
        }
        let mut other = EMPTY_CHUNK;
        clause.add_to(self.rows, chunk, &mut other)?;
        intersect(&mut *bits, &other);
        Ok(ChunkRows::Bits(bits))
    }

    /// Counts the matching rows.
    pub fn count(&self, deadline: Deadline<'_>) -> Result<u64, QueryError> {
        if self.clauses.is_empty() {
            return Ok(u64::from(self.rows) - self.suppressed.len() as u64);
        }
        Ok(self.chunk_counts(deadline)?.iter().map(|count| u64::from(*count)).sum())
    }

    /// Counts the matching rows of each chunk. A single posting list is counted from its directory, without its rows.
    pub fn chunk_counts(&self, deadline: Deadline<'_>) -> Result<Vec<u32>, QueryError> {
        if let [clause] = self.clauses.as_slice()
            && let Some(list) = clause.single_list()
        {
            let mut counts = list.chunk_counts(self.chunks())?;
            for suppressed in self.suppressed.chunk_by(|one, other| one >> 16 == other >> 16) {
                let chunk = suppressed[0] >> 16;
                let view = list.view(chunk)?;
                let left_out = suppressed.iter().filter(|row| view.contains(**row as u16)).count();
                counts[chunk as usize] -= left_out as u32;
            }
            return Ok(counts);
        }
        if let Some(counts) = self.count_crossing()? {
            return Ok(counts);
        }
        self.fetch();
        let mut counts = Vec::with_capacity(self.chunks() as usize);
        for chunk in 0..self.chunks() {
            deadline.check()?;
            counts.push(match self.count_two_lists(chunk)? {
                Some(count) => count,
                None => self.chunk(chunk)?.count(),
            });
        }
        Ok(counts)
    }

    /// Counts the rows of each chunk that have two frequent terms, by the counts of the snapshot; `None` for other clauses.
    fn count_crossing(&self) -> Result<Option<Vec<u32>>, QueryError> {
        let (Some(file), [one, other]) = (self.crossings, self.clauses.as_slice()) else {
            return Ok(None);
        };
        let term = |clause: &Clause<'s>| file.find(clause.single_list()?);
        let (Some(first), Some(second)) = (term(one), term(other)) else { return Ok(None) };
        if first == second {
            return Ok(None);
        }
        let mut counts = file.common(first, second)?;
        for row in self.suppressed {
            if one.contains(*row)? && other.contains(*row)? {
                let count = &mut counts[*row as usize >> 16];
                *count = count.saturating_sub(1);
            }
        }
        Ok(Some(counts))
    }

    /// Counts the rows that two posting lists have in common in a chunk, in place; `None` for other clauses.
    fn count_two_lists(&self, chunk: u32) -> Result<Option<u32>, ReadError> {
        if !rows_in_chunk(self.suppressed, chunk).is_empty() {
            return Ok(None);
        }
        let list = |clause: &Clause<'s>| match (clause.leaves.as_slice(), clause.is_negated) {
            ([leaf], false) => leaf.view(chunk),
            _ => Ok(None),
        };
        let [one, other] = self.clauses.as_slice() else { return Ok(None) };
        Ok(match (list(one)?, list(other)?) {
            (Some(one), Some(other)) => one.count_common(&other),
            _ => None,
        })
    }
}

/// Keeps the rows whose bits are set.
///
/// The loop does not branch on the bits, because the processor mispredicts such a branch: with a few
/// thousand rows a chunk, the branch took five times as long.
fn retain_set(mut lows: Vec<u16>, bits: &ChunkBits) -> Vec<u16> {
    let mut kept = 0;
    for at in 0..lows.len() {
        let low = lows[at];
        lows[kept] = low;
        kept += (bits[usize::from(low / 64)] >> (low % 64) & 1) as usize;
    }
    lows.truncate(kept);
    lows
}
