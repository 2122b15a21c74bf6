//! Finds a page near the beginning of a sorted list without the set of all matching rows.
//!
//! This serves snapshots whose chunks a host has to send. Where all bytes are here, sets that are kept take less time.
//! An order is walked from its first rank on, and each row is looked up in the posting lists of the filter. A long run of
//! equal values of the first key becomes one more clause, and the order of the next key is walked; a short run is sorted:
//!
//! ```text
//! filter type:article, sort=year:desc,fwci:desc, first page of 25
//! 2027        3 rows: 2 are articles, and sorted by fwci
//! 2026        380,000 rows, one in 50: ranks 0, 1, 2, … of fwci, until 23 rows are articles of 2026
//! ```
//!
//! Cost: the ranks that hold the page, about the rows up to its end divided by the fraction of rows that match. Where
//! that is too much, [`sorted_page`](crate::query::sorted_page) takes over: it reads the whole set, for a page at any position.

use crate::index::orders::Order;
use crate::index::postings::Postings;
use crate::index::term_lists::{Term, TermListsFile};
use crate::query::page::sorted_page::{DirectedOrder, PageFinder};
use crate::query::rows::clause::{Clause, Leaf};
use crate::query::rows::deadline::QueryError;
use crate::query::rows::intersection::Intersection;
use crate::schema::Values;
use crate::storage::ReadError;

/// The most ranks of a walk: 1 MiB. With more, the set of the filter takes less time.
const RANKS_MAX: u32 = 1 << 18;
/// The most steps of a walk, each of as many ranks as are expected to hold the page.
const STEPS_MAX: u32 = 4;
/// The most rows of a run that are sorted.
const SORTED_RUN_MAX: u32 = 256;
/// The most runs of a page.
const RUNS_MAX: u64 = 32;
/// Rows behind a page among which the run of its last row must end.
const ROWS_BEHIND: usize = 15;
/// The most lookups of rows in the codes of a range, each of which may fetch a chunk.
const CODES_MAX: f64 = 256.0;

/// A clause with the upper bound of its rows.
type CountedClause<'a, 's> = (u64, &'a Clause<'s>);

/// Finds first pages of the rows that match a filter.
pub(in crate::query) struct FirstPage<'q, 's> {
    pub finder: PageFinder<'s>,
    pub matches: &'q Intersection<'s>,
    /// The lists of orders' values; `None` where the entity has none.
    pub lists: Option<&'s TermListsFile>,
}

impl<'s> FirstPage<'_, 's> {
    /// Whether a position may lie among the ranks of a walk.
    pub fn is_near(&self, position: u64) -> bool {
        let counts = self.matches.counts_max().iter().copied();
        self.ranks_before(position as f64, counts) <= f64::from(RANKS_MAX)
    }

    /// The ranks before which this many rows match, if clauses of these numbers of rows match independently.
    fn ranks_before(&self, matching: f64, counts: impl Iterator<Item = u64>) -> f64 {
        counts.fold(matching, |ranks, count| ranks * self.share(count).recip())
    }

    /// The fraction of all rows.
    fn share(&self, rows: u64) -> f64 {
        rows as f64 / f64::from(self.matches.rows())
    }

    /// The rows with the first value of an order; `None` if no posting list has them.
    pub fn first_list(
        key: DirectedOrder<'s>,
        lists: &'s TermListsFile,
    ) -> Result<Option<Postings<'s>>, ReadError> {
        let code = if key.is_reversed { key.order.no_code().saturating_sub(1) } else { 0 };
        let number = key.order.spec().lists;
        number.map(|number| list_of_value(key.order, lists, number, code)).transpose()
    }

    /// Collects `count` rows from a position on, by the keys and then by id. `None` if that would take too long, or if so
    /// many do not match.
    pub fn rows(
        &self,
        keys: &[DirectedOrder<'s>],
        from: usize,
        count: usize,
    ) -> Result<Option<Vec<u32>>, QueryError> {
        let counts = self.matches.counts_max().iter().copied();
        let clauses: Vec<_> = counts.zip(self.matches.clauses()).collect();
        self.page(&clauses, keys, from, count)
    }

    fn page(
        &self,
        clauses: &[CountedClause<'_, 's>],
        keys: &[DirectedOrder<'s>],
        from: usize,
        count: usize,
    ) -> Result<Option<Vec<u32>>, QueryError> {
        let by_id = DirectedOrder { order: self.finder.by_id, is_reversed: false };
        let (key, others) = keys.split_first().map_or((by_id, keys), |(key, rest)| (*key, rest));
        let spec = key.order.spec();
        if let (Some(number), Some(lists), false) = (spec.lists, self.lists, others.is_empty()) {
            let list_of = |code| list_of_value(key.order, lists, number, code);
            return self.by_runs(clauses, (key, others), list_of, from, count);
        }
        if key.is_reversed {
            return Ok(None);
        }
        if others.is_empty() || spec.values == Values::Ids {
            let rows = self.walk(clauses, key.order, from + count)?;
            return Ok(rows.map(|rows| rows[from..].to_vec()));
        }
        let Some(rows) = self.walk(clauses, key.order, from + count + ROWS_BEHIND)? else {
            return Ok(None);
        };
        let mut codes = Vec::with_capacity(rows.len());
        key.order.each_code(&rows, |_, code| codes.push(code))?;
        // Rows of one value are side by side, and all of them have to be known.
        let end = codes.iter().rposition(|code| *code == codes[from + count - 1]);
        match end.map_or(rows.len(), |last| last + 1) {
            end if end < rows.len() => {
                self.finder.select(&rows[..end], keys, from, count).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Takes the runs of the first key's values one after another from their posting lists.
    fn by_runs(
        &self,
        clauses: &[CountedClause<'_, 's>],
        (key, others): (DirectedOrder<'s>, &[DirectedOrder<'s>]),
        list_of: impl Fn(u64) -> Result<Postings<'s>, ReadError>,
        from: usize,
        count: usize,
    ) -> Result<Option<Vec<u32>>, QueryError> {
        let (mut page, mut skipped) = (Vec::with_capacity(count), from);
        let values = key.order.no_code();
        // Each run costs the read of a list, also a run without matches.
        for nth in 0..values.min(RUNS_MAX) {
            let list = list_of(if key.is_reversed { values - 1 - nth } else { nth })?;
            let missing = count - page.len();
            // A long run is not sorted: it becomes a clause, and a walk along the next keys finds the rest of the page.
            // `sorted_page` takes a page that the run does not fill.
            if list.count() > SORTED_RUN_MAX {
                let rows = u64::from(list.count());
                let run = Clause::internal(vec![Leaf::Postings(list)]);
                let mut clauses = clauses.to_vec();
                // The rarest clause comes first, because it rules out most rows.
                clauses.insert(clauses.partition_point(|(count, _)| *count < rows), (rows, &run));
                let found = self.page(&clauses, others, skipped, missing)?;
                return Ok(found.map(|found| [page, found].concat()));
            }
            let run = self.matching(clauses, list.to_vec()?.into_iter())?;
            let taken = run.len().saturating_sub(skipped).min(missing);
            page.extend(self.finder.select(&run, others, skipped.min(run.len()), taken)?);
            skipped = skipped.saturating_sub(run.len());
            if page.len() == count {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Finds the first `count` rows of an order that match; `None` if there are not so many among the ranks of a walk.
    fn walk(
        &self,
        clauses: &[CountedClause<'_, 's>],
        order: Order<'s>,
        count: usize,
    ) -> Result<Option<Vec<u32>>, QueryError> {
        let counts = clauses.iter().map(|(count, _)| *count);
        let expected = self.ranks_before(count as f64, counts);
        if expected > f64::from(RANKS_MAX) {
            return Ok(None);
        }
        // A row is looked up in a clause only if the clauses before have it. Each lookup in codes may fetch a chunk.
        let mut lookups = expected;
        for (rows, clause) in clauses {
            if !clause.is_stored_by_chunk() && lookups > CODES_MAX {
                return Ok(None);
            }
            clause.fetch_for(lookups);
            lookups *= self.share(*rows);
        }
        let (mut found, mut rank) = (Vec::with_capacity(count), 0);
        // An eighth more than the expected ranks, and 16 for small pages: one step finds most pages.
        let step = expected as u32 / 8 * 9 + 16;
        let end = order.rows().min(step * STEPS_MAX);
        while rank < end && found.len() < count {
            let ranks = rank..end.min(rank + step);
            rank = ranks.end;
            let mut rows = Vec::with_capacity(ranks.len());
            order.each_row(ranks, |row| {
                rows.push(row);
                true
            })?;
            found.extend(self.matching(clauses, rows.into_iter())?);
            self.finder.deadline.check()?;
        }
        found.truncate(count);
        Ok((found.len() == count).then_some(found))
    }

    /// Keeps the rows that match all clauses.
    fn matching(
        &self,
        clauses: &[CountedClause<'_, 's>],
        rows: impl Iterator<Item = u32>,
    ) -> Result<Vec<u32>, ReadError> {
        let (mut kept, mut absent) = (Vec::new(), None);
        for row in rows {
            let is_in = clauses
                .iter()
                .try_fold(true, |is_in, (_, clause)| Ok(is_in && clause.contains(row)?));
            match is_in {
                Ok(true) if self.matches.suppressed().binary_search(&row).is_err() => {
                    kept.push(row)
                }
                Ok(_) => {}
                // An attempt notes all absent chunks, not only the first.
                Err(error) if self.finder.by_id.notes_failures() => absent = Some(error),
                Err(error) => return Err(error),
            }
        }
        absent.map_or(Ok(kept), Err)
    }
}

/// The rows with a value, by its code.
fn list_of_value<'s>(
    order: Order<'s>,
    lists: &'s TermListsFile,
    number: usize,
    code: u64,
) -> Result<Postings<'s>, ReadError> {
    let damaged = ReadError::corrupt("orders", "a value has no posting list");
    let Some(value) = order.value(code)? else { return Err(damaged) };
    let value = if order.spec().is_descending() { !value } else { value };
    lists.find(number, Term::from(value))?.ok_or(damaged)
}
