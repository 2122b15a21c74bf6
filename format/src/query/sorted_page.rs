//! A page of matching rows in another order than their own.
//!
//! No set is sorted whole. Of few rows the keys are gathered and the page selected. Of many, the
//! order's ladder tells how many matches stand before each of its steps; from the nearest step the
//! order is walked to the page. An order that goes the other way is walked in runs of one value,
//! since ties stand by id both ways. With further keys, only the run the page begins in and the one
//! it ends in are taken apart by the next key, in the same way.

use std::ops::Range;

use crate::index::orders::Order;
use crate::query::clause::Side;
use crate::query::doc_set::Set;
use crate::query::intersection::Filter;
use crate::query::range::ValueRange;
use crate::query::walk::{Walk, run_of};
use crate::query::{AnswerError, Deadline};
use crate::storage::error::ReadError;
use crate::storage::ids::Ids;

/// A key of a sort: its order, and whether that goes the other way.
#[derive(Clone, Copy)]
pub(super) struct Sort<'s> {
    pub order: Order<'s>,
    pub is_reversed: bool,
}

impl Sort<'_> {
    /// A code as a number that ascends with this sort; no value comes last.
    fn place(&self, code: u64) -> u64 {
        let none = self.order.no_code();
        if !self.is_reversed || code == none { code } else { none - 1 - code }
    }
}

/// The first rows of a set in an order.
pub(crate) fn first_of(
    set: &Set,
    order: Order<'_>,
    (ids, by_id): (&Ids, Order<'_>),
    count: usize,
    deadline: Deadline<'_>,
) -> Result<Vec<u32>, AnswerError> {
    let keys = [Sort { order, is_reversed: false }];
    Sorter { ids, by_id, deadline }.page(set, &keys, 0, count)
}

/// The rows whose values of an order have these codes, but for those withheld.
pub(crate) fn rows_with_codes(
    order: Order<'_>,
    codes: Range<u64>,
    withheld: &[u32],
    deadline: Deadline<'_>,
) -> Result<Set, AnswerError> {
    let atoms = vec![ValueRange::new(order, codes)?.into_atom()];
    let side = Side { is_negated: false, atoms, text: String::new() };
    Set::of(&Filter::new(vec![side], order.rows()).but(withheld), deadline)
}

/// What sorting looks up.
#[derive(Clone, Copy)]
pub(super) struct Sorter<'s> {
    pub ids: &'s Ids,
    /// The order by id, which decides where nothing else does.
    pub by_id: Order<'s>,
    pub deadline: Deadline<'s>,
}

impl<'s> Sorter<'s> {
    /// The rows from one place to another of a set, in the order of the keys and then the ids.
    pub fn page(
        &self,
        set: &Set,
        keys: &[Sort<'s>],
        from: u64,
        count: usize,
    ) -> Result<Vec<u32>, AnswerError> {
        let count = set.count().saturating_sub(from).min(count as u64) as usize;
        if count == 0 {
            return Ok(Vec::new());
        }
        match (set, keys) {
            (Set::Few(few), _) => self.select(few, keys, from as usize, count),
            (_, [key]) => self.by_one(set, *key, from, count),
            (_, [key, others @ ..]) => self.by_runs(set, *key, others, from, count),
            (_, []) => {
                self.by_one(set, Sort { order: self.by_id, is_reversed: false }, from, count)
            }
        }
    }

    /// Gathers the keys of a few rows and selects the page.
    fn select(
        &self,
        rows: &[u32],
        keys: &[Sort<'s>],
        from: usize,
        count: usize,
    ) -> Result<Vec<u32>, AnswerError> {
        let mut gathered = Vec::with_capacity(rows.len());
        for row in rows {
            let mut places = [0; crate::query::SORT_KEYS_MAX];
            for (place, key) in places.iter_mut().zip(keys) {
                *place = key.place(key.order.code_of(*row)?);
            }
            gathered.push((places, self.ids.id(*row as usize)?, *row));
        }
        self.deadline.check()?;
        let to = (from + count).min(gathered.len());
        if to < gathered.len() {
            gathered.select_nth_unstable(to);
            gathered.truncate(to);
        }
        if from > 0 {
            gathered.select_nth_unstable(from);
        }
        gathered[from..].sort_unstable();
        Ok(gathered[from..].iter().map(|(_, _, row)| *row).collect())
    }

    /// A page by one key.
    fn by_one(
        &self,
        set: &Set,
        key: Sort<'s>,
        from: u64,
        count: usize,
    ) -> Result<Vec<u32>, AnswerError> {
        let walk = Walk::new(set, key.order, self.ids, self.deadline);
        if !key.is_reversed {
            return walk.take(from, count);
        }
        let valued = walk.before(key.order.valued())?;
        let end = (from + count as u64).min(valued);
        let mut page = if from < end { walk.backward(from..end, valued)? } else { Vec::new() };
        if page.len() < count {
            page.extend(walk.take(from.max(valued), count - page.len())?);
        }
        Ok(page)
    }

    /// A page by several keys: the runs of the first that it touches, each by the others.
    fn by_runs(
        &self,
        set: &Set,
        key: Sort<'s>,
        others: &[Sort<'s>],
        from: u64,
        count: usize,
    ) -> Result<Vec<u32>, AnswerError> {
        let rows = self.by_one(set, key, from, count)?;
        let codes: Result<Vec<u64>, ReadError> =
            rows.iter().map(|row| key.order.code_of(*row)).collect();
        let codes = codes?;
        let (Some(first), Some(last)) = (codes.first().copied(), codes.last().copied()) else {
            return Ok(Vec::new());
        };
        let walk = Walk::new(set, key.order, self.ids, self.deadline);
        // How many matches come before the run of the page's first row.
        let ranks = key.order.ranks_of(run_of(key.order, first))?;
        let before = match key.is_reversed && first != key.order.no_code() {
            true => walk.before(key.order.valued())? - walk.before(ranks.end)?,
            false => walk.before(ranks.start)?,
        };
        let in_first = codes.iter().take_while(|code| **code == first).count();
        let run = set.with_code(key.order, first, self.deadline)?;
        let mut page = self.page(&run, others, from - before, in_first)?;
        if first == last {
            return Ok(page);
        }
        let in_last = codes.iter().rev().take_while(|code| **code == last).count();
        // Runs between are whole, so that their rows are on the page and few.
        let between = &rows[in_first..rows.len() - in_last];
        let all: Vec<Sort<'s>> = [key].into_iter().chain(others.iter().copied()).collect();
        page.extend(self.select(between, &all, 0, between.len())?);
        let run = set.with_code(key.order, last, self.deadline)?;
        page.extend(self.page(&run, others, 0, in_last)?);
        Ok(page)
    }
}
