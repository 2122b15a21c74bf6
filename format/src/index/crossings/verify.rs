//! Verifies crossings.

use crate::index::bitset::CHUNK_ROWS;
use crate::index::check::{CheckError, ensure, hash_of_link};
use crate::index::crossings::{
    BLOCK_RANKS, CountedOrder, CrossingsFile, FrequentTerms, STRETCH_BLOCKS,
};
use crate::storage::Ids;

/// Pairs are counted by so many of their first terms at a time.
const FIRSTS: usize = 8;
/// The parts of the rows whose ranks are in memory one after another: two bits for each row.
const WINDOWS: usize = 16;

impl CrossingsFile {
    /// Checks the terms against the frequent ones, and the counts of all pairs.
    pub(crate) fn verify_pairs(&self, frequent: &FrequentTerms<'_>) -> Result<(), CheckError> {
        let is_complete = self.terms() == frequent.terms();
        ensure(is_complete, "the terms are not the frequent ones")?;
        let terms = self.terms().len();
        for from in (0..terms).step_by(FIRSTS) {
            let firsts = from..terms.min(from + FIRSTS);
            let counts = frequent.pairs_of(firsts.clone())?;
            let mut counts = counts.chunks_exact(self.rows.div_ceil(CHUNK_ROWS).max(1));
            for (first, second) in firsts.flat_map(|of| (of + 1..terms).map(move |to| (of, to))) {
                let is_equal = counts.next() == Some(&self.common(first, second)?[..]);
                ensure(is_equal, "two terms have another number of rows in common")?;
            }
        }
        Ok(())
    }
}

impl CountedOrder<'_> {
    /// Checks that the rows are in their order, and that each block counts the rows of each term. `ids` are those of the
    /// entity. Memory: two bits for each row.
    pub(crate) fn verify(&self, frequent: &FrequentTerms<'_>, ids: &Ids) -> Result<(), CheckError> {
        self.verify_rows(ids)?;
        let rows = self.rows() as usize;
        let window = rows.div_ceil(WINDOWS).next_multiple_of(CHUNK_ROWS).max(CHUNK_ROWS);
        // A sum of hashes of the blocks in which the rows of a term are, in place of counts of all blocks.
        let mut sums = vec![0u64; frequent.terms().len()];
        for from in (0..rows).step_by(window) {
            let mut ranks = vec![0u32; window.min(rows - from)];
            let mut rank = 0;
            self.each_row(0..self.rows(), |row| {
                if let Some(slot) = ranks.get_mut((row as usize).wrapping_sub(from)) {
                    *slot = rank;
                }
                rank += 1;
                true
            })?;
            let chunks = from / CHUNK_ROWS..(from + ranks.len()).div_ceil(CHUNK_ROWS);
            let chunks = chunks.start as u32..chunks.end as u32;
            for (sum, postings) in sums.iter_mut().zip(frequent.postings()) {
                postings.each_in(chunks.clone(), |row| {
                    let rank = ranks.get((row as usize).wrapping_sub(from)).copied();
                    let block = rank.unwrap_or(u32::MAX) / BLOCK_RANKS as u32;
                    *sum = sum.wrapping_add(hash_of_link(block, 1));
                })?;
            }
        }
        for (term, sum) in sums.into_iter().enumerate() {
            self.verify_counts(term, sum)?;
        }
        Ok(())
    }

    /// Checks that the rows ascend by both keys and by id: so no row has two ranks.
    fn verify_rows(&self, ids: &Ids) -> Result<(), CheckError> {
        let Some(first) = self.first else { return Ok(()) };
        let (mut last, mut outcome) = (None, Ok(()));
        self.each_row(0..self.rows(), |row| {
            let key = first
                .code_of(row)
                .and_then(|code| Ok((code, self.order.code_of(row)?, ids.id(row as usize)?)));
            outcome = key.map_err(CheckError::from).and_then(|key| {
                let follows = last.replace(key).is_none_or(|last| last < key);
                ensure(follows, "the rows of two keys are not in their order")
            });
            outcome.is_ok()
        })?;
        outcome
    }

    /// Checks the counts of a term's blocks against a sum of hashes, and its sums against the counts.
    fn verify_counts(&self, term: usize, sum: u64) -> Result<(), CheckError> {
        let (mut found, mut before) = (0u64, 0);
        for block in 0..(self.rows() as usize).div_ceil(BLOCK_RANKS) {
            if block % STRETCH_BLOCKS == 0 {
                let is_sum = self.rows_before(term, block)? == before;
                ensure(is_sum, "a stretch has another number of rows before it")?;
            }
            let count = self.rows_in(term, block)?;
            let hashes = hash_of_link(block as u32, 1).wrapping_mul(u64::from(count));
            (found, before) = (found.wrapping_add(hashes), before + u64::from(count));
        }
        ensure(found == sum, "the blocks have other rows of a term")
    }
}
