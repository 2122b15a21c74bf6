//! Walking an order: which rows of a set stand at which places of it, either way.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
};

use crate::index::orders::Order;
use crate::index::postings::ChunkView;
use crate::query::doc_set::Set;
use crate::query::{AnswerError, Deadline};
use crate::storage::error::ReadError;
use crate::storage::ids::Ids;

/// Rows of an order read at a time.
const STRETCH_ROWS: u32 = 4_096;

/// The codes of one value, or of none.
pub(super) fn run_of(order: Order<'_>, code: u64) -> std::ops::Range<u64> {
    if code == order.no_code() { code..u64::MAX } else { code..code + 1 }
}

/// Walks an order and shows those of its rows that are in a set.
pub(super) struct Walk<'a, 's> {
    set: &'a Set,
    order: Order<'s>,
    /// What ties stand by.
    ids: &'s Ids,
    deadline: Deadline<'s>,
    /// How many of the set stand before a step, once it was counted.
    counted: RefCell<HashMap<usize, u64>>,
    /// Of a set that is all but some rows, the code and id of each of these, ascending, and so in the
    /// order, once they were asked for.
    others: OnceCell<Vec<(u64, u64)>>,
}

impl<'a, 's> Walk<'a, 's> {
    pub fn new(
        set: &'a Set,
        order: Order<'s>,
        ids: &'s Ids,
        deadline: Deadline<'s>,
    ) -> Walk<'a, 's> {
        let (counted, others) = (RefCell::default(), OnceCell::new());
        Walk { set, order, ids, deadline, counted, others }
    }

    /// How many of the set stand before a rank.
    pub fn before(&self, rank: u32) -> Result<u64, AnswerError> {
        if let Set::All(_) = self.set {
            return Ok(u64::from(rank));
        }
        if self.order.is_row_order() {
            return Ok(self.before_row(rank));
        }
        if let Set::AllBut(_, rows) = self.set {
            return Ok(u64::from(rank) - self.others_before(rows, rank)?);
        }
        let steps = self.order.checkpoints_below(rank.saturating_add(1))?;
        let (mut at, mut count) = (0, 0);
        if let Some(step) = steps.checked_sub(1) {
            at = self.order.checkpoint_rank(step)?;
            count = self.before_step(step)?;
        }
        self.order.each_row(at..rank, |row| {
            count += u64::from(self.set.contains(row));
            true
        })?;
        Ok(count)
    }

    /// How many of the rows that the set lacks stand before a rank.
    ///
    /// Cost: the first time, a look at each of them.
    fn others_before(&self, rows: &[u32], rank: u32) -> Result<u64, AnswerError> {
        if rank >= self.order.rows() {
            return Ok(rows.len() as u64);
        }
        let place_of = |row: u32| -> Result<(u64, u64), ReadError> {
            Ok((self.order.code_of(row)?, self.ids.id(row as usize)?))
        };
        let others = match self.others.get() {
            Some(others) => others,
            None => {
                let mut others: Vec<(u64, u64)> =
                    rows.iter().map(|row| place_of(*row)).collect::<Result<_, _>>()?;
                others.sort_unstable();
                self.deadline.check()?;
                self.others.get_or_init(|| others)
            }
        };
        let place = place_of(self.order.row_at(rank)?)?;
        Ok(others.partition_point(|other| *other < place) as u64)
    }

    /// The rank of the row at a place of a set that is all but some rows; beyond the last where there
    /// is none.
    fn rank_at(&self, place: u64) -> Result<u32, AnswerError> {
        // The last rank before which no more of them stand is that of one of them.
        let (mut low, mut high) = (0, self.order.rows());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.before(middle + 1)? <= place { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    fn before_row(&self, row: u32) -> u64 {
        match self.set {
            Set::All(_) => u64::from(row),
            Set::AllBut(_, others) => {
                u64::from(row) - others.partition_point(|other| *other < row) as u64
            }
            Set::Few(few) => few.partition_point(|few| *few < row) as u64,
            Set::Many(words, _) => words.count_below(row),
        }
    }

    fn before_step(&self, step: usize) -> Result<u64, AnswerError> {
        if let Some(count) = self.counted.borrow().get(&step) {
            return Ok(*count);
        }
        self.deadline.check()?;
        let mut count = 0;
        let Set::Many(words, _) = self.set else {
            let step = self.order.checkpoint_rank(step)?;
            let mut count = 0;
            self.order.each_row(0..step, |row| {
                count += u64::from(self.set.contains(row));
                true
            })?;
            return Ok(count);
        };
        for (chunk, words) in (0u32..).zip(words.chunks()) {
            let view = self.order.rows_before_checkpoint(step, chunk)?;
            count += count_in(words, view);
        }
        self.counted.borrow_mut().insert(step, count);
        Ok(count)
    }

    /// The rows of the set from a place on, in the order.
    pub fn take(&self, from: u64, count: usize) -> Result<Vec<u32>, AnswerError> {
        let mut page = Vec::with_capacity(count);
        if let Set::All(_) = self.set {
            let from = u32::try_from(from).unwrap_or(u32::MAX);
            for rank in (from..self.order.rows()).take(count) {
                page.push(self.order.row_at(rank)?);
            }
            return Ok(page);
        }
        let (mut rank, mut skipped) = match self.set {
            Set::AllBut(..) => (self.rank_at(from)?, from),
            _ => self.nearest(from)?,
        };
        if self.order.is_row_order()
            && let Set::Many(words, _) = self.set
        {
            (rank, skipped) = nearest_word(words.words(), from);
        }
        // In stretches, so that a page found early has read little.
        while page.len() < count && rank < self.order.rows() {
            let to = rank.saturating_add(STRETCH_ROWS).min(self.order.rows());
            self.order.each_row(rank..to, |row| {
                if self.set.contains(row) {
                    if skipped == from {
                        page.push(row);
                    } else {
                        skipped += 1;
                    }
                }
                page.len() < count
            })?;
            rank = to;
            self.deadline.check()?;
        }
        Ok(page)
    }

    /// The last step with no more than so many of the set before it: its rank, and how many.
    fn nearest(&self, place: u64) -> Result<(u32, u64), AnswerError> {
        let (mut low, mut high) = (0, self.order.checkpoints());
        let mut nearest = (0, 0);
        while low < high {
            let middle = low + (high - low) / 2;
            let before = self.before_step(middle)?;
            if before <= place {
                nearest = (self.order.checkpoint_rank(middle)?, before);
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(nearest)
    }

    /// The rows at places of the order that goes the other way, all of them with values, of which
    /// the set has so many.
    pub fn backward(
        &self,
        places: std::ops::Range<u64>,
        valued: u64,
    ) -> Result<Vec<u32>, AnswerError> {
        let wanted = (places.end - places.start) as usize;
        let mut page = Vec::with_capacity(wanted);
        // The run of the first row: its ties stand forward, so the page may begin within it.
        let Some(first) = self.take(valued - 1 - places.start, 1)?.first().copied() else {
            return Ok(page);
        };
        let ranks = self.order.ranks_of(run_of(self.order, self.order.code_of(first)?))?;
        let (from, to) = (self.before(ranks.start)?, self.before(ranks.end)?);
        let within = places.start - (valued - to);
        page.extend(self.take(from + within, wanted.min((to - from - within) as usize))?);
        if page.len() == wanted {
            return Ok(page);
        }
        // What stands before that run, as many as are wanted, and of the last run its beginning.
        let rest = wanted - page.len();
        let rows = self.take(from - rest as u64, rest)?;
        let codes: Result<Vec<u64>, ReadError> =
            rows.iter().map(|row| self.order.code_of(*row)).collect();
        let codes = codes?;
        let last = codes.first().copied().unwrap_or_default();
        let mut to = rows.len();
        while to > 0 && codes[to - 1] != last {
            let run = codes[..to].iter().rev().take_while(|code| **code == codes[to - 1]).count();
            page.extend_from_slice(&rows[to - run..to]);
            to -= run;
        }
        let ranks = self.order.ranks_of(run_of(self.order, last))?;
        page.extend(self.take(self.before(ranks.start)?, to)?);
        Ok(page)
    }
}

/// How many of a chunk's set bits are rows of a view.
fn count_in(words: &[u64], view: ChunkView<'_>) -> u64 {
    match view {
        ChunkView::Full => words.iter().map(|word| u64::from(word.count_ones())).sum(),
        ChunkView::Bitset(bytes, _) => words
            .iter()
            .zip(bytes.as_chunks::<8>().0)
            .map(|(word, bytes)| u64::from((word & u64::from_le_bytes(*bytes)).count_ones()))
            .sum(),
        ChunkView::Array(_) | ChunkView::Short(_) => {
            let mut count = 0;
            view.each(|low| {
                count += words[usize::from(low / 64)] >> (low % 64) & 1;
                true
            });
            count
        }
    }
}

/// The last word with no more than so many bits before it: its first row, and how many.
fn nearest_word(words: &[u64], place: u64) -> (u32, u64) {
    let mut before = 0;
    for (at, word) in words.iter().enumerate() {
        let here = u64::from(word.count_ones());
        if before + here > place {
            return (at as u32 * 64, before);
        }
        before += here;
    }
    (words.len() as u32 * 64, before)
}
