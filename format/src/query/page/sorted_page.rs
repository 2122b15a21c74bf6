//! Finds a page of a set's rows in an order other than the row order, without sorting the whole set.
//!
//! | set | method | cost |
//! |---|---|---|
//! | [`DocSet::Sorted`] | gather every row's keys, select the page | rows of the set |
//! | other, one key | walk the order from a rank checkpoint ([`OrderWalk`]) | distance to the checkpoint |
//! | other, more keys | refine the run of equal values where the page begins, walk on | first and last run |
//!
//! Refining example, `sort=year:desc,name`, page of 5 rows:
//!
//! ```text
//! by year alone     2021 2021 | 2020 2020 | 2019
//! run 2021          begins before the page: its rows are sorted by name, the page takes the last 2
//! run 2020          lies on the page as a whole: 2 rows are sorted by name
//! run 2019          goes on after the page: its rows are sorted by name, the page takes the first
//! ```

use std::{ops::Range, sync::Arc};

use crate::index::doc_set::DocSet;
use crate::index::kept_sets::{CountedSet, SnapshotSets};
use crate::index::orders::Order;
use crate::query::page::set_key::SetKey;
use crate::query::page::walk::OrderWalk;
use crate::query::rows::clause::{Clause, Leaf};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::query::rows::range::{ValueRange, codes_of_value};
use crate::storage::{Ids, ReadError};

/// An order with a direction: one key of a sort.
#[derive(Clone, Copy)]
pub(in crate::query) struct DirectedOrder<'s> {
    pub order: Order<'s>,
    /// Whether the sort runs against the order as it is stored.
    pub is_reversed: bool,
}

/// A set of rows, and its name if the set may be kept for later queries.
pub(in crate::query) struct MatchingSet {
    pub set: Arc<CountedSet>,
    pub name: Option<SetKey>,
}

impl MatchingSet {
    pub fn named(&self) -> NamedSet<'_> {
        NamedSet { set: &self.set, name: self.name.as_ref() }
    }
}

/// A borrowed [`MatchingSet`].
#[derive(Clone, Copy)]
pub(in crate::query) struct NamedSet<'q> {
    pub set: &'q CountedSet,
    pub name: Option<&'q SetKey>,
}

/// A row with a number that ascends with the sort; compared by the number first.
trait Numbered: Copy + Ord {
    fn number(self) -> u64;
    fn row(self) -> u32;
}

/// The number in the upper half, the row in the lower.
impl Numbered for u64 {
    fn number(self) -> u64 {
        self >> 32
    }

    fn row(self) -> u32 {
        self as u32
    }
}

impl Numbered for (u64, u32) {
    fn number(self) -> u64 {
        self.0
    }

    fn row(self) -> u32 {
        self.1
    }
}

impl DirectedOrder<'_> {
    /// Maps a code to a number that ascends with the sort. Rows without a value come last either way.
    pub fn sort_number(&self, code: u64) -> u64 {
        let none = self.order.no_code();
        if !self.is_reversed || code == none { code } else { none - 1 - code }
    }
}

/// Finds the first `count` rows of a set in an order.
pub(crate) fn first_rows(
    set: &CountedSet,
    order: Order<'_>,
    ids: &Ids,
    by_id: Order<'_>,
    count: usize,
    deadline: Deadline<'_>,
) -> Result<Vec<u32>, QueryError> {
    let keys = [DirectedOrder { order, is_reversed: false }];
    let kept = &SnapshotSets::default();
    PageFinder { ids, by_id, kept, deadline }.page(NamedSet { set, name: None }, &keys, 0, count)
}

/// Finds the rows whose codes in an order lie in a range, without the suppressed rows.
pub(crate) fn rows_with_codes(
    order: Order<'_>,
    codes: Range<u64>,
    suppressed: &[u32],
    deadline: Deadline<'_>,
) -> Result<DocSet, QueryError> {
    let clause = Clause::internal(vec![Leaf::from(ValueRange::new(order, codes)?)]);
    let matches = Intersection::new(vec![clause], order.rows()).without(suppressed);
    DocSet::from_intersection(&matches, deadline)
}

/// Finds pages of sets of one entity.
#[derive(Clone, Copy)]
pub(in crate::query) struct PageFinder<'s> {
    pub ids: &'s Ids,
    /// The order by id, which breaks every tie.
    pub by_id: Order<'s>,
    /// Where the runs of named sets are kept.
    pub kept: &'s SnapshotSets,
    pub deadline: Deadline<'s>,
}

/// Ranks from which on a run of equal values is kept: fewer are read in a short time.
const KEPT_RANKS_MIN: usize = 4_096;

impl<'s> PageFinder<'s> {
    /// Collects at most `count` rows from a position on, by the keys and then by id.
    pub fn page(
        &self,
        named: NamedSet<'_>,
        keys: &[DirectedOrder<'s>],
        from: u64,
        count: usize,
    ) -> Result<Vec<u32>, QueryError> {
        let set = named.set;
        let count = set.rows.count().saturating_sub(from).min(count as u64) as usize;
        if count == 0 {
            return Ok(Vec::new());
        }
        match (&set.rows, keys) {
            (DocSet::Sorted(rows), _) => self.select(rows, keys, from as usize, count),
            (_, [by]) => self.by_one_key(set, *by, from, count),
            (_, [by, others @ ..]) => self.by_more_keys(named, *by, others, from, count),
            (_, []) => {
                let by = DirectedOrder { order: self.by_id, is_reversed: false };
                self.by_one_key(set, by, from, count)
            }
        }
    }

    /// Selects the page by the first key, and within the runs of equal values on it by the others.
    pub fn select(
        &self,
        rows: &[u32],
        keys: &[DirectedOrder<'s>],
        from: usize,
        count: usize,
    ) -> Result<Vec<u32>, QueryError> {
        let by_id = DirectedOrder { order: self.by_id, is_reversed: false };
        let (key, others) = keys.split_first().map_or((by_id, keys), |(key, rest)| (*key, rest));
        // A code of 32 bits fits one number with its row: half the bytes to move, and one comparison.
        if key.order.no_code() <= u64::from(u32::MAX) {
            let mut numbered: Vec<u64> = Vec::with_capacity(rows.len());
            key.order.each_code(rows, |row, code| {
                numbered.push(key.sort_number(code) << 32 | u64::from(row));
            })?;
            return self.select_numbered(numbered, others, from, count);
        }
        let mut numbered: Vec<(u64, u32)> = Vec::with_capacity(rows.len());
        key.order.each_code(rows, |row, code| numbered.push((key.sort_number(code), row)))?;
        self.select_numbered(numbered, others, from, count)
    }

    fn select_numbered<N: Numbered>(
        &self,
        mut numbered: Vec<N>,
        others: &[DirectedOrder<'s>],
        from: usize,
        count: usize,
    ) -> Result<Vec<u32>, QueryError> {
        self.deadline.check()?;
        let to = (from + count).min(numbered.len());
        if to < numbered.len() {
            numbered.select_nth_unstable(to);
        }
        if from < to {
            numbered[..to].select_nth_unstable(from);
        }
        numbered[from..to].sort_unstable();
        let (Some(first), Some(last)) = (numbered[from..to].first(), numbered[from..to].last())
        else {
            return Ok(Vec::new());
        };
        let (first, last) = (first.number(), last.number());
        let mut page = Vec::with_capacity(to - from);
        for run in numbered[from..to].chunk_by(|one, other| one.number() == other.number()) {
            let number = run[0].number();
            // The first and the last run may go on outside the page.
            let of_run = |part: &[N]| -> Vec<u32> {
                let same = part.iter().filter(|other| other.number() == number);
                same.map(|other| other.row()).collect()
            };
            let mut rows = if number == first { of_run(&numbered[..from]) } else { Vec::new() };
            let before = rows.len();
            rows.extend(run.iter().map(|numbered| numbered.row()));
            if number == last {
                rows.extend(of_run(&numbered[to..]));
            }
            match rows[..] {
                [row] => page.push(row),
                _ => page.extend(self.select(&rows, others, before, run.len())?),
            }
        }
        Ok(page)
    }

    fn by_one_key(
        &self,
        set: &CountedSet,
        key: DirectedOrder<'s>,
        from: u64,
        count: usize,
    ) -> Result<Vec<u32>, QueryError> {
        let walk = OrderWalk::new(set, key.order, self.ids, self.deadline);
        self.walk_page(&walk, key, from, count)
    }

    fn walk_page(
        &self,
        walk: &OrderWalk<'_, 's>,
        key: DirectedOrder<'s>,
        from: u64,
        count: usize,
    ) -> Result<Vec<u32>, QueryError> {
        if !key.is_reversed {
            return walk.rows_forward(from, count);
        }
        let valued = walk.count_before(key.order.valued())?;
        let end = (from + count as u64).min(valued);
        let mut page = if from < end { walk.rows_backward(from..end, valued)? } else { Vec::new() };
        if page.len() < count {
            page.extend(walk.rows_forward(from.max(valued), count - page.len())?);
        }
        Ok(page)
    }

    /// Takes the first rows of the page from the run of equal values in which it begins, and the others by the
    /// first key. The last run of these others may go on after the page.
    fn by_more_keys(
        &self,
        named: NamedSet<'_>,
        key: DirectedOrder<'s>,
        others: &[DirectedOrder<'s>],
        from: u64,
        count: usize,
    ) -> Result<Vec<u32>, QueryError> {
        let walk = OrderWalk::new(named.set, key.order, self.ids, self.deadline);
        let valued = if key.is_reversed { walk.count_before(key.order.valued())? } else { 0 };
        let is_mirrored = from < valued;
        let ranks = walk.run_at(if is_mirrored { valued - 1 - from } else { from })?;
        let run = self.run(named, key.order, ranks.clone())?;
        let before = walk.count_before(ranks.start)?;
        let first = match is_mirrored {
            true => valued.checked_sub(before + run.set.rows.count()),
            false => Some(before),
        };
        let within = first.and_then(|first| from.checked_sub(first));
        let within = within.ok_or(ReadError::corrupt("orders", "a run does not hold its rows"))?;
        let mut page = self.page(run.named(), others, within, count)?;
        let left = count - page.len();
        if left == 0 {
            return Ok(page);
        }
        let rows = self.walk_page(&walk, key, from + page.len() as u64, left)?;
        let codes: Result<Vec<u64>, ReadError> =
            rows.iter().map(|row| key.order.code_of(*row)).collect();
        let codes = codes?;
        let Some(last) = codes.last() else { return Ok(page) };
        let in_last = codes.iter().rev().take_while(|code| *code == last).count();
        // The runs before the last lie on the page as a whole.
        let whole = &rows[..rows.len() - in_last];
        let all: Vec<DirectedOrder<'s>> = [key].into_iter().chain(others.iter().copied()).collect();
        page.extend(self.select(whole, &all, 0, whole.len())?);
        let ranks = key.order.ranks_of(codes_of_value(key.order, *last))?;
        let run = self.run(named, key.order, ranks)?;
        page.extend(self.page(run.named(), others, 0, in_last)?);
        Ok(page)
    }

    /// Finds the rows of a set in a run of equal values. A long run of a set with a name is kept, and has a name.
    fn run(
        &self,
        NamedSet { set, name }: NamedSet<'_>,
        order: Order<'s>,
        ranks: Range<u32>,
    ) -> Result<MatchingSet, QueryError> {
        let name = name.filter(|_| ranks.len() >= KEPT_RANKS_MIN);
        let Some(name) = name.map(|name| name.of_run(order.number(), ranks.start)) else {
            let rows = set.rows.run(order, ranks, self.deadline)?;
            return Ok(MatchingSet { set: Arc::new(CountedSet::new(rows)), name: None });
        };
        let run = self.kept.set(name.bytes(), || set.rows.run(order, ranks, self.deadline))?;
        Ok(MatchingSet { set: run, name: Some(name) })
    }
}
