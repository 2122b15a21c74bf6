//! Walks an order and collects the rows of a set by position, forwards or backwards.
//!
//! A *rank* counts all rows of the order; a *position* counts only the rows of the set. The walk
//! never starts at rank 0: it finds the last rank checkpoint with at most the wanted number of the
//! set's rows before it, and reads the order from there.
//!
//! ```text
//! set of 30,000 rows, position 12,000 wanted
//! checkpoint at rank      100,000     200,000     300,000
//! rows of the set before    4,100      11,950      19,800     found bit by bit of the interval numbers
//! walk                              from rank 200,000, skip 50 rows of the set, then collect
//! ```
//!
//! Cost: log2 of the checkpoints passes over the set's bitmap, without those whose counts a kept set has, and the
//! ranks up to the end of the page.

use std::{cell::OnceCell, ops::Range, sync::Arc};

use crate::index::bitset::Bitset;
use crate::index::doc_set::DocSet;
use crate::index::kept_sets::{CountedSet, IntervalCounts};
use crate::index::orders::{IntervalSlices, Order};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::storage::{Ids, ReadError};

/// Ranks read between two checks of the deadline and of the page's length.
const RANKS_PER_READ: u32 = 4_096;

/// A walk over one order, restricted to a set.
pub(in crate::query) struct OrderWalk<'a, 's> {
    set: &'a CountedSet,
    order: Order<'s>,
    /// Ties of the order are sorted by id.
    ids: &'s Ids,
    deadline: Deadline<'s>,
    counts: Arc<IntervalCounts>,
    /// For [`DocSet::AllExcept`]: code and id of each excepted row, ascending. Filled on first use.
    excepted: OnceCell<Vec<(u64, u64)>>,
}

impl<'a, 's> OrderWalk<'a, 's> {
    pub fn new(
        set: &'a CountedSet,
        order: Order<'s>,
        ids: &'s Ids,
        deadline: Deadline<'s>,
    ) -> OrderWalk<'a, 's> {
        let counts = set.counts(&order);
        OrderWalk { set, order, ids, deadline, counts, excepted: OnceCell::new() }
    }

    /// Counts the rows of the set before a rank.
    pub fn count_before(&self, rank: u32) -> Result<u64, QueryError> {
        if let DocSet::All(_) = self.set.rows {
            return Ok(u64::from(rank));
        }
        if rank >= self.order.rows() {
            return Ok(self.set.rows.count());
        }
        if self.order.is_row_order() {
            return Ok(self.count_before_row(rank));
        }
        if let DocSet::AllExcept(_, rows) = &self.set.rows {
            return Ok(u64::from(rank) - self.count_excepted_before(rows, rank)?);
        }
        let checkpoints = self.order.checkpoints_below(rank.saturating_add(1))?;
        let (mut from, rows) = (0, self.order.rows());
        if let Some(checkpoint) = checkpoints.checked_sub(1) {
            from = self.order.checkpoint_rank(checkpoint)?;
        }
        // Behind the last checkpoint, the fewer of the ranks on both sides are read.
        if checkpoints == self.order.checkpoints() && rows - rank < rank - from {
            return Ok(self.set.rows.count() - self.count_ranks(rank..rows)?);
        }
        let before = match checkpoints.checked_sub(1) {
            Some(checkpoint) => self.count_before_checkpoint(checkpoint)?,
            None => 0,
        };
        Ok(before + self.count_ranks(from..rank)?)
    }

    /// Counts the rows of the set between two ranks, rank by rank.
    fn count_ranks(&self, ranks: Range<u32>) -> Result<u64, ReadError> {
        let mut count = 0;
        self.order.each_row(ranks, |row| {
            count += u64::from(self.set.rows.contains(row));
            true
        })?;
        Ok(count)
    }

    /// Finds the ranks of the run of equal values that holds the row at a position.
    ///
    /// Cost: that of a checkpoint, and log2 of the run's ranks. No other rank is read where the run reaches from
    /// one checkpoint to the next.
    pub fn run_at(&self, position: u64) -> Result<Range<u32>, QueryError> {
        let (from, before) = self.begin(position)?;
        let is_in_run = match &self.set.rows {
            DocSet::Bitmap(..) if !self.order.is_row_order() => {
                let next = self.order.checkpoints_below(from.saturating_add(1))?;
                let is_last = next >= self.order.checkpoints();
                let end =
                    if is_last { self.order.rows() } else { self.order.checkpoint_rank(next)? };
                let code_at = |rank| self.order.code_of(self.order.row_at(rank)?);
                let (first, last) = (code_at(from), code_at(end - 1));
                first? == last?
            }
            _ => false,
        };
        let rank = match is_in_run {
            true => Some(from),
            false => {
                let found = self.ranked_from((from, before), position, 1)?;
                found.first().map(|(rank, _)| *rank)
            }
        };
        let rank = rank.ok_or(ReadError::Internal("a set has no row at a position"))?;
        Ok(self.order.run_of(rank)?)
    }

    /// Counts the excepted rows before a rank.
    ///
    /// Cost: a binary search; the first call also reads the code and id of each excepted row.
    fn count_excepted_before(&self, rows: &[u32], rank: u32) -> Result<u64, QueryError> {
        if rank >= self.order.rows() {
            return Ok(rows.len() as u64);
        }
        let code_and_id = |row: u32| -> Result<(u64, u64), ReadError> {
            Ok((self.order.code_of(row)?, self.ids.id(row as usize)?))
        };
        let excepted = match self.excepted.get() {
            Some(excepted) => excepted,
            None => {
                let mut excepted: Vec<(u64, u64)> =
                    rows.iter().map(|row| code_and_id(*row)).collect::<Result<_, _>>()?;
                excepted.sort_unstable();
                self.deadline.check()?;
                self.excepted.get_or_init(|| excepted)
            }
        };
        let at_rank = code_and_id(self.order.row_at(rank)?)?;
        Ok(excepted.partition_point(|other| *other < at_rank) as u64)
    }

    /// Binary-searches the rank of the row at a position; the number of rows if the set is smaller.
    fn rank_at(&self, position: u64) -> Result<u32, QueryError> {
        let (mut low, mut high) = (0, self.order.rows());
        while low < high {
            let middle = low + (high - low) / 2;
            let is_before = self.count_before(middle + 1)? <= position;
            if is_before { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    fn count_before_row(&self, row: u32) -> u64 {
        match &self.set.rows {
            DocSet::All(_) => u64::from(row),
            DocSet::AllExcept(_, others) => {
                u64::from(row) - others.partition_point(|other| *other < row) as u64
            }
            DocSet::Sorted(sorted) => sorted.partition_point(|known| *known < row) as u64,
            DocSet::Bitmap(bitmap, _) => bitmap.count_below(row),
        }
    }

    fn count_before_checkpoint(&self, checkpoint: usize) -> Result<u64, QueryError> {
        let DocSet::Bitmap(bitmap, _) = &self.set.rows else {
            let rank = self.order.checkpoint_rank(checkpoint)?;
            return Ok(self.count_ranks(0..rank)?);
        };
        // Interval n ends before checkpoint n.
        let (_, before) = self.descend(bitmap, |interval, _| interval <= checkpoint + 1)?;
        Ok(before)
    }

    /// Collects at most `count` rows of the set, starting at a position.
    pub fn rows_forward(&self, position: u64, count: usize) -> Result<Vec<u32>, QueryError> {
        let ranked = self.ranked_forward(position, count)?;
        Ok(ranked.into_iter().map(|(_, row)| row).collect())
    }

    /// Collects at most `count` rows of the set, each with its rank, starting at a position.
    fn ranked_forward(&self, position: u64, count: usize) -> Result<Vec<(u32, u32)>, QueryError> {
        self.ranked_from(self.begin(position)?, position, count)
    }

    /// Finds a rank from which a walk comes to a position soon, and the rows of the set before that rank.
    fn begin(&self, position: u64) -> Result<(u32, u64), QueryError> {
        Ok(match &self.set.rows {
            DocSet::All(_) => (u32::try_from(position).unwrap_or(u32::MAX), position),
            DocSet::AllExcept(..) => (self.rank_at(position)?, position),
            DocSet::Bitmap(bitmap, _) if self.order.is_row_order() => {
                word_at(bitmap.words(), position)
            }
            _ => self.last_checkpoint_before(position)?,
        })
    }

    /// Collects at most `count` rows of the set, each with its rank, starting at a position. `skipped` rows of
    /// the set come before `rank`.
    fn ranked_from(
        &self,
        (mut rank, mut skipped): (u32, u64),
        position: u64,
        count: usize,
    ) -> Result<Vec<(u32, u32)>, QueryError> {
        let mut page = Vec::with_capacity(count);
        // Each rank of a set of all rows is a match: no more ranks than the page are read.
        let ranks_per_read = match &self.set.rows {
            DocSet::All(_) => u32::try_from(count).unwrap_or(u32::MAX).min(RANKS_PER_READ),
            _ => RANKS_PER_READ,
        };
        while page.len() < count && rank < self.order.rows() {
            let to = rank.saturating_add(ranks_per_read).min(self.order.rows());
            let mut at = rank;
            self.order.each_row(rank..to, |row| {
                if self.set.rows.contains(row) {
                    if skipped == position {
                        page.push((at, row));
                    } else {
                        skipped += 1;
                    }
                }
                at += 1;
                page.len() < count
            })?;
            rank = to;
            self.deadline.check()?;
        }
        Ok(page)
    }

    /// Finds the last checkpoint with at most `position` rows of the set before it. Returns the
    /// checkpoint's rank and that number of rows; rank 0 if every checkpoint lies behind. A set that is no
    /// bitmap is walked from rank 0.
    fn last_checkpoint_before(&self, position: u64) -> Result<(u32, u64), QueryError> {
        let DocSet::Bitmap(bitmap, _) = &self.set.rows else { return Ok((0, 0)) };
        let checkpoints = self.order.checkpoints();
        let (interval, before) =
            self.descend(bitmap, |interval, before| interval <= checkpoints && before <= position)?;
        match interval.checked_sub(1) {
            None => Ok((0, 0)),
            Some(checkpoint) => Ok((self.order.checkpoint_rank(checkpoint)?, before)),
        }
    }

    /// Finds the last interval for which `is_reached`, given its number and the rows of the set in earlier
    /// intervals, returns true: bit by bit of the number. Returns both.
    ///
    /// Cost: two passes over the set for each bit below which nothing was counted yet.
    fn descend(
        &self,
        bitmap: &Bitset,
        is_reached: impl Fn(usize, u64) -> bool,
    ) -> Result<(usize, u64), QueryError> {
        let bits = self.order.interval_bits();
        let (mut interval, mut before) = (0, 0);
        let mut uncounted = None;
        for bit in (0..bits).rev() {
            let lower = match self.counts.get(bit, interval) {
                Some(lower) => lower,
                None => {
                    self.deadline.check()?;
                    let branch = match &mut uncounted {
                        Some(branch) => branch,
                        None => uncounted.insert(Branch::new(bitmap, &self.order)?),
                    };
                    let lower = branch.count_lower(bit, interval);
                    self.counts.set(bit, interval, lower);
                    lower
                }
            };
            let upper = interval | 1 << bit;
            if is_reached(upper, before + lower) {
                (interval, before) = (upper, before + lower);
            }
        }
        Ok((interval, before))
    }

    /// Collects the rows at some positions of the reversed order. All positions must be of rows with
    /// a value, of which the set has `valued`.
    ///
    /// Values descend, but ids ascend within one value, so the walk reverses runs of equal values
    /// and not single rows:
    ///
    /// ```text
    /// order      value 1: a b | value 2: c d e | value 3: f g
    /// reversed   value 3: f g | value 2: c d e | value 1: a b
    /// positions 1..4 of the reversed order: g c d
    /// ```
    pub fn rows_backward(
        &self,
        positions: Range<u64>,
        valued: u64,
    ) -> Result<Vec<u32>, QueryError> {
        let wanted = (positions.end - positions.start) as usize;
        let mut page = Vec::with_capacity(wanted);
        // Mirroring a position finds the run of the page's first row, though not the row itself.
        let mirrored = valued - 1 - positions.start;
        let Some((rank, _)) = self.ranked_forward(mirrored, 1)?.first().copied() else {
            return Ok(page);
        };
        let ranks = self.order.run_of(rank)?;
        let from = mirrored - self.count_in(ranks.start..rank)?;
        let to = mirrored + 1 + self.count_in(rank + 1..ranks.end)?;
        let within = positions.start - (valued - to);
        page.extend(self.rows_in(
            ranks.clone(),
            within,
            wanted.min((to - from - within) as usize),
        )?);
        if page.len() == wanted {
            return Ok(page);
        }
        // The missing rows stand just before the first run. All runs among them are complete except
        // the one with the least value: the page takes the beginning of this run, not its end.
        let rows = self.ranked_before(ranks.start, wanted - page.len())?;
        let codes: Result<Vec<u64>, ReadError> =
            rows.iter().map(|(_, row)| self.order.code_of(*row)).collect();
        let codes = codes?;
        let (Some((first, _)), Some(least)) = (rows.first(), codes.first()) else {
            return Ok(page);
        };
        let mut to = rows.len();
        while to > 0 && codes[to - 1] != *least {
            let run = codes[..to].iter().rev().take_while(|code| **code == codes[to - 1]).count();
            page.extend(rows[to - run..to].iter().map(|(_, row)| *row));
            to -= run;
        }
        page.extend(self.rows_in(self.order.run_of(*first)?, 0, to)?);
        Ok(page)
    }

    /// Counts the rows of the set between two ranks.
    fn count_in(&self, ranks: Range<u32>) -> Result<u64, QueryError> {
        if ranks.end.saturating_sub(ranks.start) > RANKS_PER_READ {
            return Ok(self.count_before(ranks.end)? - self.count_before(ranks.start)?);
        }
        Ok(self.count_ranks(ranks)?)
    }

    /// Collects `count` rows of the set from these ranks, which must have them, without the first
    /// `skipped`.
    fn rows_in(
        &self,
        ranks: Range<u32>,
        mut skipped: u64,
        count: usize,
    ) -> Result<Vec<u32>, QueryError> {
        if ranks.end - ranks.start > RANKS_PER_READ {
            return self.rows_forward(self.count_before(ranks.start)? + skipped, count);
        }
        let mut rows = Vec::with_capacity(count);
        self.order.each_row(ranks, |row| {
            if self.set.rows.contains(row) {
                match skipped.checked_sub(1) {
                    Some(left) => skipped = left,
                    None => rows.push(row),
                }
            }
            rows.len() < count
        })?;
        Ok(rows)
    }

    /// Collects the last `count` rows of the set before a rank, each with its rank, in order.
    fn ranked_before(&self, rank: u32, count: usize) -> Result<Vec<(u32, u32)>, QueryError> {
        let (mut to, mut found) = (rank, Vec::new());
        while found.len() < count && to > 0 {
            let (from, mut block) = (to.saturating_sub(RANKS_PER_READ), Vec::new());
            let mut ranks = from..to;
            self.order.each_row(from..to, |row| {
                let rank = ranks.next().unwrap_or(to);
                if self.set.rows.contains(row) {
                    block.push((rank, row));
                }
                true
            })?;
            found.extend(block.into_iter().rev());
            to = from;
            self.deadline.check()?;
        }
        found.truncate(count);
        found.reverse();
        Ok(found)
    }
}

/// The rows of a set in the intervals whose numbers begin with the same bits.
struct Branch<'s> {
    slices: Vec<IntervalSlices<'s>>,
    rows: Bitset,
    /// The lowest bit in which all numbers agree.
    bit: usize,
}

impl<'s> Branch<'s> {
    /// The rows in all intervals.
    fn new(set: &Bitset, order: &Order<'s>) -> Result<Branch<'s>, ReadError> {
        let slices = (0u32..).zip(set.chunks()).map(|(chunk, _)| order.intervals(chunk));
        // All are read before one fails: so an attempt notes all that are absent.
        let slices: Vec<Result<_, _>> = slices.collect();
        let slices = slices.into_iter().collect::<Result<_, _>>()?;
        Ok(Branch { slices, rows: set.clone(), bit: order.interval_bits() })
    }

    /// Counts the rows in the intervals that agree with `interval` in all bits above `bit` and have `bit` clear.
    /// Keeps the rows that agree in these bits; `bit` descends from call to call.
    fn count_lower(&mut self, bit: usize, interval: usize) -> u64 {
        let mut lower = 0;
        for (slices, rows) in self.slices.iter().zip(self.rows.chunks_mut()) {
            // Each chunk is in the processor's cache for all steps.
            for kept in (bit + 1..self.bit).rev() {
                slices.retain(kept, interval >> kept & 1 == 1, rows);
            }
            lower += slices.count_clear(bit, rows);
        }
        self.bit = bit + 1;
        lower
    }
}

/// Finds the word that holds the bit at a position among the set bits. Returns the word's first row
/// and the set bits before that row.
fn word_at(words: &[u64], position: u64) -> (u32, u64) {
    let mut before = 0;
    for (at, word) in words.iter().enumerate() {
        let here = u64::from(word.count_ones());
        if before + here > position {
            return (at as u32 * 64, before);
        }
        before += here;
    }
    (words.len() as u32 * 64, before)
}
