//! Runs a query: chooses how to find the page, and finds its rows.

use std::{cmp::Reverse, fmt, sync::Arc};

use crate::entity::Entity;
use crate::index::doc_set::DocSet;
use crate::index::kept_sets::CountedSet;
use crate::query::page::counted_page::CountedPage;
use crate::query::page::first_page::FirstPage;
use crate::query::page::scan::is_scanned;
use crate::query::page::set_key::SetKey;
use crate::query::page::sorted_page::{DirectedOrder, MatchingSet, NamedSet, PageFinder};
use crate::query::parse::query::Query;
use crate::query::parse::search::Search;
use crate::query::parse::sort::RELEVANCE;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::query::search::{RankedPage, RankedRow, SearchSummary};
use crate::schema::keys_of;
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

/// The most records that are sorted by relevance among other keys.
const RANKED_AMONG_KEYS_MAX: usize = 100_000;

/// The result of a query.
#[derive(Clone, Debug)]
pub struct RowPage {
    /// Matching records on all pages.
    pub count: u64,
    /// The rows of the page, sorted.
    pub rows: Vec<u32>,
    /// The score of each row, if relevance is a key of the sort.
    pub scores: Option<Vec<RankedRow>>,
    /// The summary of the list's search; `None` for lists without one.
    pub search: Option<SearchSummary>,
    /// How the rows were found.
    pub plan: QueryPlan,
}

/// How a query was executed, as text for logs: clauses, chunks read, ordering method.
#[derive(Clone, Debug)]
pub struct QueryPlan {
    entity: Entity,
    clauses: Vec<ClausePlan>,
    chunks: u32,
    ordering: &'static str,
    count: u64,
}

#[derive(Clone, Debug)]
struct ClausePlan {
    /// The expression as the client wrote it.
    text: String,
    leaves: usize,
    /// The form of the first leaf.
    form: &'static str,
    rows_max: u64,
}

impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.entity)?;
        for (at, ClausePlan { text, leaves, form, rows_max }) in self.clauses.iter().enumerate() {
            let and = if at == 0 { "" } else { " and" };
            match leaves {
                0 => write!(f, "{and} `{text}` (empty)")?,
                1 => write!(f, "{and} `{text}` ({form}, at most {rows_max} rows)")?,
                _ => write!(
                    f,
                    "{and} `{text}` (union of {leaves}, first a {form}, at most {rows_max} rows)"
                )?,
            }
        }
        if !self.clauses.is_empty() {
            write!(f, " over {} chunks,", self.chunks)?;
        }
        write!(f, " {} rows, {}", self.count, self.ordering)
    }
}

/// A part of an ordered list.
#[derive(Clone, Copy)]
pub(in crate::query) struct ListPart {
    /// Position of the first row.
    pub from: u64,
    pub rows_max: usize,
}

impl Query {
    /// Counts the matching records and finds the rows of the page.
    ///
    /// Cost: one pass over the containers of the clauses, unless an earlier query kept the counts or the set.
    /// The page adds a part that depends on the sort, not on the page number. No record is read, unless a search has words longer than the
    /// index keeps, or a filter is by versions.
    pub fn execute(
        &self,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<RowPage, QueryError> {
        if let Some(search) = self.search().filter(|_| self.has_scores()) {
            return self.page_by_relevance(search, snapshot, deadline);
        }
        let resolved = self.resolve_search(snapshot, deadline);
        if resolved.is_err() && snapshot.is_collecting() {
            // This attempt also notes the first chunks of the sort.
            let _ = self.first_page_bytes(snapshot);
            self.note_names(snapshot, deadline);
        }
        let ((matches, search), keys) = (resolved?, self.directed_orders(snapshot)?);
        let part = ListPart { from: self.first_position(), rows_max: self.per_page as usize };
        // Without a sort the page is found while counting. A sort needs the whole set first.
        let (count, rows, ordering) = if let Some(sample) = self.sample {
            let (count, rows) =
                self.sample_page(sample, &matches, &keys, part, snapshot, deadline)?;
            (count, rows, "drawn at random")
        } else if let Some(by) = self.by_values {
            let set = &self.matching_set(&matches, snapshot, deadline)?.set.rows;
            let rows = self.rows_by_values(by, set, part, snapshot, deadline)?;
            (set.count(), rows, "read from the records")
        } else if let Some(folded) = self.ordering_name() {
            let set = &self.matching_set(&matches, snapshot, deadline)?.set.rows;
            let rows = self.rows_by_name(folded, set, part, snapshot, deadline)?;
            (set.count(), rows, "by names")
        } else if is_row_order(&keys) {
            let (count, rows) = self.page_in_row_order(&matches, snapshot, deadline)?;
            (count, rows, "in row order")
        } else if let Some((count, rows)) =
            self.counted_page(&matches, &keys, part, snapshot, deadline)?
        {
            (count, rows, "found by counts of frequent terms")
        } else if let Some((count, rows)) =
            self.first_page(&matches, &keys, part, snapshot, deadline)?
        {
            (count, rows, "looked up from the first rank on")
        } else {
            let matching = self.matching_set(&matches, snapshot, deadline)?;
            let rows = self.sorted_rows(matching.named(), &keys, part, snapshot, deadline)?;
            let ordering = match matching.set.rows {
                DocSet::All(_) | DocSet::AllExcept(..) => "read from the order",
                DocSet::Sorted(_) => "selected by their keys",
                DocSet::Bitmap(..) => "found by rank checkpoints",
            };
            (matching.set.rows.count(), rows, ordering)
        };
        let clauses = matches.clauses().iter().zip(matches.counts_max());
        let clauses = clauses.map(|(clause, rows_max)| ClausePlan {
            text: clause.text.clone(),
            leaves: clause.leaves.len(),
            form: clause.leaves.first().map_or("", |leaf| leaf.form()),
            rows_max: *rows_max,
        });
        let plan = QueryPlan {
            entity: self.entity,
            clauses: clauses.collect(),
            chunks: matches.chunks(),
            ordering,
            count,
        };
        let search =
            search.or_else(|| self.searched_identifier().map(SearchSummary::of_identifier));
        Ok(RowPage { count, rows, scores: None, search, plan })
    }

    /// Counts the matching records, and finds the rows of a page by descending relevance, or by relevance and other keys.
    fn page_by_relevance(
        &self,
        search: &Search,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<RowPage, QueryError> {
        let page = (self.first_position(), self.per_page as usize);
        let found = self.ranked_rows(search, page, snapshot, deadline)?;
        let RankedPage { count, rows: ranked, summary } = found;
        let clause = ClausePlan {
            text: search.text.clone(),
            leaves: 1,
            form: "full-text search",
            rows_max: count,
        };
        let plan = QueryPlan {
            entity: self.entity,
            clauses: vec![clause],
            chunks: 0,
            ordering: "by relevance",
            count,
        };
        let rows = ranked.iter().map(|ranked| ranked.row).collect();
        Ok(RowPage { count, rows, scores: Some(ranked), search: Some(summary), plan })
    }

    /// Counts the matching records, and finds those from a position on by descending relevance, or by relevance and other
    /// keys.
    pub(in crate::query) fn ranked_rows(
        &self,
        search: &Search,
        page: (u64, usize),
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<RankedPage, QueryError> {
        // The search finds and orders the records; the other expressions are a set in which the search looks them up.
        // If records are read, those that the search leaves are few. The versions of a work are compared among the records
        // that the search finds.
        let others = match self.one_of_versions || self.filter.iter().any(is_scanned) {
            true => self.clone(),
            false => self.without_search(),
        };
        let find = |filter: Option<&DocSet>, page| {
            search.ranked_page(snapshot, self.entity, filter, page, deadline)
        };
        let matches = others.resolve(snapshot, deadline)?;
        let matching = match others.filter.is_empty() {
            true => None,
            false => Some(others.matching_set(&matches, snapshot, deadline)?),
        };
        let filter = matching.as_ref().map(|matching| &matching.set.rows);
        if self.sort.is_empty() {
            return find(filter, page);
        }
        // Any match may be on the page, because other keys may precede the relevance: all matches are found and sorted.
        let all = find(filter, (0, RANKED_AMONG_KEYS_MAX))?;
        // With more matches `rows` lacks the least relevant ones, and the page could be wrong.
        if all.count > RANKED_AMONG_KEYS_MAX as u64 {
            let reason = format!(
                "sorts at most {RANKED_AMONG_KEYS_MAX} records among other keys, and {} match; narrow the search, or \
                 sort by `{RELEVANCE}` alone",
                all.count
            );
            return Err(QueryError::refused("sort", RELEVANCE, reason));
        }
        let rows = self.sort_ranked(all.rows, snapshot)?;
        let rows = rows.into_iter().skip(page.0 as usize).take(page.1).collect();
        Ok(RankedPage { rows, ..all })
    }

    /// Sorts records by the keys of the sort, with the descending score at its place among them. Ties are in the order of
    /// ids.
    fn sort_ranked(
        &self,
        ranked: Vec<RankedRow>,
        snapshot: &Snapshot,
    ) -> Result<Vec<RankedRow>, QueryError> {
        let keys = self.directed_orders(snapshot)?;
        let (before, after) = keys.split_at(self.relevance.unwrap_or_default().min(keys.len()));
        let mut numbered = Vec::with_capacity(ranked.len());
        for ranked in ranked {
            let numbers = |keys: &[DirectedOrder<'_>]| -> Result<Vec<u64>, ReadError> {
                let number =
                    |key: &DirectedOrder<'_>| Ok(key.sort_number(key.order.code_of(ranked.row)?));
                keys.iter().map(number).collect()
            };
            let place = (numbers(before)?, Reverse(ranked.score), numbers(after)?);
            numbered.push((place, snapshot.row_id(self.entity, ranked.row)?, ranked));
        }
        numbered.sort_unstable_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
        Ok(numbered.into_iter().map(|(.., ranked)| ranked).collect())
    }

    /// Counts the records of the list: the matching records, or those of the sample.
    ///
    /// Cost: one pass over the containers of the clauses, unless an earlier query kept the counts.
    pub fn count(&self, snapshot: &Snapshot, deadline: Deadline<'_>) -> Result<u64, QueryError> {
        let matches = self.resolve(snapshot, deadline)?;
        let (count, _) = self.counts(&matches, snapshot, deadline)?;
        Ok(self.sample.map_or(count, |sample| count.min(u64::from(sample.records))))
    }

    /// Collects the rows of a part of a set in the order of the sort.
    pub(in crate::query) fn sorted_rows(
        &self,
        set: NamedSet<'_>,
        keys: &[DirectedOrder<'_>],
        part: ListPart,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Vec<u32>, QueryError> {
        let (ids, by_id) = (snapshot.ids(self.entity), snapshot.id_order(self.entity)?);
        PageFinder { ids, by_id, kept: snapshot.kept(), deadline }.page(
            set,
            keys,
            part.from,
            part.rows_max,
        )
    }

    /// Counts the matching rows and finds those of a page by the crossings of frequent terms; `None` if these do not have the
    /// filter and the sort.
    fn counted_page(
        &self,
        matches: &Intersection<'_>,
        keys: &[DirectedOrder<'_>],
        part: ListPart,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Option<(u64, Vec<u32>)>, QueryError> {
        let of = (self.entity, keys_of(self.entity));
        let found = CountedPage::find(snapshot, of, matches, keys, part.rows_max, deadline)?;
        let Some(page) = found else { return Ok(None) };
        let count = page.count()?;
        let left = count.saturating_sub(part.from).min(part.rows_max as u64) as usize;
        Ok(Some((count, page.rows(part.from, left)?)))
    }

    /// Counts the matching rows and finds those of a page near the beginning. `None` if the whole set takes less time, as it
    /// does where the interval numbers of all rows are here.
    fn first_page(
        &self,
        matches: &Intersection<'_>,
        keys: &[DirectedOrder<'_>],
        part: ListPart,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Option<(u64, Vec<u32>)>, QueryError> {
        let has_read = |key: &DirectedOrder<'_>| key.order.has_read_intervals();
        if !snapshot.is_fetched() || keys.last().is_none_or(has_read) {
            return Ok(None);
        }
        let (ids, by_id) = (snapshot.ids(self.entity), snapshot.id_order(self.entity)?);
        let finder = PageFinder { ids, by_id, kept: snapshot.kept(), deadline };
        let has_lists = keys.iter().any(|key| key.order.spec().lists.is_some());
        let lists = has_lists.then(|| snapshot.term_lists(self.entity)).transpose()?;
        let first = FirstPage { finder, matches, lists };
        if !first.is_near(part.from + part.rows_max as u64) {
            return Ok(None);
        }
        let (count, _) = self.counts(matches, snapshot, deadline)?;
        let left = count.saturating_sub(part.from).min(part.rows_max as u64) as usize;
        if left == 0 {
            return Ok(Some((count, Vec::new())));
        }
        let rows = first.rows(keys, part.from as usize, left)?;
        Ok(rows.map(|rows| (count, rows)))
    }

    /// Reads what [`first_page`](Self::first_page) reads first, so that an attempt notes its absent chunks.
    fn first_page_bytes(&self, snapshot: &Snapshot) -> Result<(), QueryError> {
        for key in self.directed_orders(snapshot)? {
            let list = FirstPage::first_list(key, snapshot.term_lists(self.entity)?);
            let row = key.order.each_row(0..1, |_| true);
            list?;
            row?;
        }
        Ok(())
    }

    /// Finds the set of the matching rows, and its name if an earlier query may have kept the set.
    pub(in crate::query) fn matching_set(
        &self,
        matches: &Intersection<'_>,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<MatchingSet, QueryError> {
        let make = || DocSet::from_intersection(matches, deadline);
        if matches.clauses().is_empty() {
            let set = Arc::new(CountedSet::new(make()?));
            return Ok(MatchingSet { set, name: None });
        }
        let name = SetKey::of_filter(self, false);
        let set = snapshot.kept().set(name.bytes(), make)?;
        Ok(MatchingSet { set, name: Some(name) })
    }

    /// Counts the matching rows, and those of each chunk, unless an earlier query kept the counts. Without a
    /// filter, chunks are not counted.
    pub(in crate::query) fn counts(
        &self,
        matches: &Intersection<'_>,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<(u64, Arc<[u32]>), QueryError> {
        if matches.clauses().is_empty() {
            return Ok((matches.count(deadline)?, Arc::default()));
        }
        let name = SetKey::of_filter(self, true);
        let count = || matches.chunk_counts(deadline);
        let counts = snapshot.kept().chunk_counts(name.bytes(), count)?;
        Ok((counts.iter().map(|count| u64::from(*count)).sum(), counts))
    }

    pub(in crate::query) fn directed_orders<'s>(
        &self,
        snapshot: &'s Snapshot,
    ) -> Result<Vec<DirectedOrder<'s>>, QueryError> {
        let directed = self.sort.iter().map(|key| {
            let order = snapshot.order(self.entity, key.order)?;
            let is_stored_descending = self.keys.orders[key.order].is_descending();
            Ok(DirectedOrder { order, is_reversed: is_stored_descending != key.is_descending })
        });
        directed.collect()
    }

    /// Counts the matches of each chunk and computes only the chunks that the page touches.
    fn page_in_row_order(
        &self,
        matches: &Intersection<'_>,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<(u64, Vec<u32>), QueryError> {
        let first = self.first_position();
        let per_page = self.per_page as usize;
        let (count, counts) = self.counts(matches, snapshot, deadline)?;
        if matches.clauses().is_empty() {
            // `count` is at most the number of rows, a u32.
            let rows = unsuppressed_rows_from(matches, first.min(count) as u32);
            return Ok((count, rows.take(per_page).collect()));
        }
        let mut page = Vec::with_capacity(per_page.min(count as usize));
        let mut before = 0;
        for (chunk, in_chunk) in (0u32..).zip(&*counts) {
            let after = before + u64::from(*in_chunk);
            if after > first && page.len() < per_page {
                let skipped = first.saturating_sub(before);
                let missing = per_page - page.len();
                matches.chunk(chunk)?.append_rows(chunk, skipped, missing, &mut page);
            }
            before = after;
        }
        Ok((count, page))
    }
}

/// Whether the order of the sort is the order of the rows.
pub(in crate::query) fn is_row_order(keys: &[DirectedOrder<'_>]) -> bool {
    match keys {
        [] => true,
        [key] => key.order.is_row_order() && !key.is_reversed,
        _ => false,
    }
}

/// Lists the rows that are not suppressed, starting at a position among them.
/// Binary-searches how many suppressed rows precede the position.
///
/// ```text
/// suppressed rows                  3  4  9
/// row minus own index              3  3  7     unsuppressed rows before each
/// position 5: two are at most 5, so the list starts at row 5 + 2 = 7
/// ```
pub(in crate::query) fn unsuppressed_rows_from(
    matches: &Intersection<'_>,
    position: u32,
) -> impl Iterator<Item = u32> {
    let (rows, suppressed) = (matches.rows(), matches.suppressed());
    let (mut low, mut high) = (0, suppressed.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let is_before = suppressed[middle] - middle as u32 <= position;
        if is_before { low = middle + 1 } else { high = middle }
    }
    let mut next = suppressed[low..].iter().copied().peekable();
    (position + low as u32..rows).filter(move |row| next.next_if_eq(row).is_none())
}

#[cfg(test)]
mod tests {
    use super::{Intersection, unsuppressed_rows_from};

    #[test]
    fn rows_from_a_position_skip_every_suppressed_row() {
        for suppressed in
            [&[][..], &[0], &[0, 1, 2], &[3, 4, 9], &[9], &[0, 2, 4, 6, 8], &[5, 6, 7, 8, 9]]
        {
            let expected: Vec<u32> = (0..10).filter(|row| !suppressed.contains(row)).collect();
            for position in 0..=expected.len() {
                let matches = Intersection::new(Vec::new(), 10).without(suppressed);
                let found: Vec<u32> = unsuppressed_rows_from(&matches, position as u32).collect();
                assert_eq!(found, expected[position..], "{suppressed:?} from {position}");
            }
        }
    }
}
