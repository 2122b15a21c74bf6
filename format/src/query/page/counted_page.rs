//! Finds a page at any position of a list that frequent terms filter, by the counts of a snapshot's crossings.
//!
//! ```text
//! filter                          sort                     order                     ranks
//! type:article                    year:desc,fwci:desc      by year, then by fwci     all
//! year:2020,type:article          fwci:desc                the same                  those of 2020
//! language:en|de                  date:desc                by date                   all
//! ```
//!
//! Cost: log2 of the rows to find a block of 64 ranks, then a lookup in the posting lists for each rank that holds the page. Up to 1,000 suppressed records are placed among the ranks, at a read or two each.

use std::ops::Range;

use crate::entity::Entity;
use crate::index::crossings::{BLOCK_RANKS, CountedOrder, CrossingsFile, STRETCH_BLOCKS};
use crate::query::page::sorted_page::DirectedOrder;
use crate::query::rows::clause::{Clause, Leaf};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::schema;
use crate::schema::Keys;
use crate::snapshot::Snapshot;
use crate::storage::{ReadError, search_steps};

/// The most suppressed records that are placed among the ranks.
const SUPPRESSED_MAX: usize = 1_000;
/// The most ranks that a page is expected to need.
const RANKS_MAX: f64 = 65_536.0;
/// Ranks that a page may need even if the filter has fewer rows.
const RANKS_MIN: f64 = 1_024.0;

/// The codes of both keys and the id of a row: they ascend with the ranks.
type Place = (u64, u64, u64);

/// Finds pages of the rows that match a filter.
pub(in crate::query) struct CountedPage<'q, 's> {
    order: CountedOrder<'s>,
    /// The ranks of the list.
    ranks: Range<u32>,
    members: Members<'q, 's>,
    /// The places of the suppressed members, ascending.
    suppressed: Vec<Place>,
    suppressed_rows: &'s [u32],
    snapshot: &'s Snapshot,
    entity: Entity,
    deadline: Deadline<'s>,
}

/// The rows that a clause of frequent terms matches; all rows without one.
struct Members<'q, 's> {
    clause: Option<&'q Clause<'s>>,
    /// The frequent terms, no two of which a row has.
    terms: Vec<usize>,
    /// Whether the members are the rows that have none of the terms.
    is_complement: bool,
    count: u64,
}

impl<'q, 's> Members<'q, 's> {
    fn all(rows: u32) -> Members<'q, 's> {
        Members { clause: None, terms: Vec::new(), is_complement: true, count: rows.into() }
    }

    /// The rows of a clause; `None` if its terms are not counted, or if a row may have two of them.
    fn of(
        clause: &'q Clause<'s>,
        file: &CrossingsFile,
        keys: &Keys,
        rows: u32,
    ) -> Option<Members<'q, 's>> {
        let (mut terms, mut is_complement) = (Vec::new(), clause.is_negated);
        let mut count = 0;
        for leaf in &clause.leaves {
            let list = match leaf {
                Leaf::Postings(list) => list,
                Leaf::NotPostings(list) if clause.leaves.len() == 1 => {
                    is_complement = !is_complement;
                    list
                }
                _ => return None,
            };
            count += u64::from(list.count());
            terms.push(file.find(list)?);
        }
        terms.sort_unstable();
        let lists = |term: &usize| file.terms()[*term].lists;
        let first = lists(terms.first()?);
        let is_disjoint = keys.has_one_term(first as usize)
            && terms.iter().all(|term| lists(term) == first)
            && terms.is_sorted_by(|one, next| one < next);
        let count = if is_complement { u64::from(rows).checked_sub(count)? } else { count };
        let members = Members { clause: Some(clause), terms, is_complement, count };
        (members.terms.len() == 1 || is_disjoint).then_some(members)
    }

    fn contains(&self, row: u32) -> Result<bool, ReadError> {
        self.clause.map_or(Ok(true), |clause| clause.contains(row))
    }
}

impl<'q, 's> CountedPage<'q, 's> {
    /// Finds the counted order of a sort and a filter. `None` if the snapshot has none, or if a page of `page_rows` rows would
    /// read too many ranks.
    pub fn find(
        snapshot: &'s Snapshot,
        (entity, keys): (Entity, &Keys),
        matches: &'q Intersection<'s>,
        sort: &[DirectedOrder<'s>],
        page_rows: usize,
        deadline: Deadline<'s>,
    ) -> Result<Option<CountedPage<'q, 's>>, QueryError> {
        let suppressed_rows = matches.suppressed();
        let numbers: Vec<usize> = sort.iter().map(|key| key.order.number()).collect();
        let is_sorted_along = |counted: &schema::CountedOrder| match numbers[..] {
            [order] => order == counted.order,
            [first, order] => Some(first) == counted.first && order == counted.order,
            _ => false,
        };
        let is_possible =
            sort.iter().all(|key| !key.is_reversed) && suppressed_rows.len() <= SUPPRESSED_MAX;
        if !is_possible || !keys.counted.iter().any(is_sorted_along) {
            return Ok(None);
        }
        let Some(file) = snapshot.crossings(entity)? else { return Ok(None) };
        let mut along =
            keys.counted.iter().enumerate().filter(|(_, counted)| is_sorted_along(counted));
        let found = along.find_map(|(number, counted)| {
            let is_whole = sort.len() == 1 + usize::from(counted.first.is_some());
            let of_first = counted.first.and_then(|first| keys.orders[first].lists);
            let (run, clause) = split(matches.clauses(), is_whole, of_first, file)?;
            let members = match clause {
                None => Members::all(matches.rows()),
                Some(clause) => Members::of(clause, file, keys, matches.rows())?,
            };
            Some((number, run, members))
        });
        let Some((number, run, members)) = found else { return Ok(None) };
        let order = snapshot.counted_order(entity, number)?;
        let ranks = match run {
            None => 0..order.rows(),
            Some(clause) => run_of(clause, order)?,
        };
        let suppressed = Vec::new();
        let mut page = CountedPage {
            order,
            ranks,
            members,
            suppressed,
            suppressed_rows,
            snapshot,
            entity,
            deadline,
        };
        let ranks_max = RANKS_MAX.min(page.members.count as f64 + RANKS_MIN);
        if page.expected_ranks(page_rows) > ranks_max {
            return Ok(None);
        }
        page.place_suppressed()?;
        Ok(Some(page))
    }

    /// The ranks after a position among which so many members are expected.
    fn expected_ranks(&self, rows: usize) -> f64 {
        let share = self.members.count as f64 / f64::from(self.order.rows());
        BLOCK_RANKS as f64 / 2.0 + rows as f64 / share
    }

    fn place_of(&self, row: u32) -> Result<Place, ReadError> {
        let first = self.order.first.map(|first| first.code_of(row));
        let (code, id) = (self.order.order.code_of(row), self.snapshot.row_id(self.entity, row));
        Ok((first.transpose()?.unwrap_or_default(), code?, id?))
    }

    fn place_suppressed(&mut self) -> Result<(), QueryError> {
        let mut absent = None;
        for row in self.suppressed_rows {
            let place = self
                .members
                .contains(*row)
                .and_then(|is_member| is_member.then(|| self.place_of(*row)).transpose());
            match place {
                Ok(place) => self.suppressed.extend(place),
                // An attempt notes all absent chunks, not only the first.
                Err(error) if self.order.notes_failures() => absent = Some(error),
                Err(error) => return Err(error.into()),
            }
        }
        self.suppressed.sort_unstable();
        absent.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Counts the matching rows before a block of ranks.
    fn before(&self, block: usize) -> Result<u64, ReadError> {
        let counts = self.members.terms.iter().map(|term| self.order.rows_before(*term, block));
        let counts: Vec<_> = counts.collect();
        let with_term: u64 = counts.into_iter().sum::<Result<u64, ReadError>>()?;
        let ranks = (block * BLOCK_RANKS) as u64;
        let members =
            if self.members.is_complement { ranks - with_term.min(ranks) } else { with_term };
        Ok(members.saturating_sub(self.suppressed_before(ranks as u32)?))
    }

    fn suppressed_before(&self, rank: u32) -> Result<u64, ReadError> {
        if self.suppressed.is_empty() {
            return Ok(0);
        }
        let place = self.place_of(self.order.row_at(rank)?)?;
        Ok(self.suppressed.partition_point(|suppressed| *suppressed < place) as u64)
    }

    /// The rows of some ranks that match.
    fn matching(&self, ranks: Range<u32>) -> Result<Vec<u32>, ReadError> {
        let mut rows = Vec::with_capacity(ranks.len());
        self.order.each_row(ranks, |row| {
            rows.push(row);
            true
        })?;
        if let Some(clause) = self.members.clause {
            clause.fetch_for(rows.len() as f64);
        }
        let mut absent = None;
        rows.retain(|row| match self.members.contains(*row) {
            Ok(is_member) => is_member && self.suppressed_rows.binary_search(row).is_err(),
            Err(error) => {
                absent = absent.take().or(Some(error));
                false
            }
        });
        absent.map_or(Ok(rows), Err)
    }

    /// Counts the matching rows before a rank.
    fn before_rank(&self, rank: u32) -> Result<u64, ReadError> {
        if rank >= self.order.rows() {
            return Ok(self.members.count.saturating_sub(self.suppressed.len() as u64));
        }
        let block = rank as usize / BLOCK_RANKS;
        let (from, to) = ((block * BLOCK_RANKS) as u32, ((block + 1) * BLOCK_RANKS) as u32);
        // The fewer of the ranks on both sides within the block are read.
        if to - rank < rank - from && to < self.order.rows() {
            let (before, within) = (self.before(block + 1), self.matching(rank..to));
            return Ok(before?.saturating_sub(within?.len() as u64));
        }
        let (before, within) = (self.before(block), self.matching(from..rank));
        Ok(before? + within?.len() as u64)
    }

    /// Counts the matching rows.
    pub fn count(&self) -> Result<u64, ReadError> {
        let (from, to) = (self.before_rank(self.ranks.start), self.before_rank(self.ranks.end));
        Ok(to?.saturating_sub(from?))
    }

    /// Collects the `count` rows from a position on, which there must be.
    pub fn rows(&self, position: u64, count: usize) -> Result<Vec<u32>, QueryError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut position = position + self.before_rank(self.ranks.start)?;
        let mut page = Vec::with_capacity(count);
        while page.len() < count {
            self.deadline.check()?;
            let missing = count - page.len();
            let (rank, before) = self.begin(position)?;
            // An eighth more than the expected ranks: one step finds most pages.
            let ranks = self.expected_ranks(missing) as u32 / 8 * 9 + BLOCK_RANKS as u32;
            let rows = self.matching(rank..self.ranks.end.min(rank.saturating_add(ranks)))?;
            let found = rows.get((position - before) as usize..).unwrap_or_default();
            if found.is_empty() {
                return Err(ReadError::corrupt("crossings", "a block has fewer rows of a term"))?;
            }
            page.extend(found.iter().take(missing));
            position += found.len() as u64;
        }
        Ok(page)
    }

    /// Finds the block of ranks that holds the row at a position: its first rank, and the matching rows before it.
    fn begin(&self, position: u64) -> Result<(u32, u64), QueryError> {
        self.members.terms.iter().for_each(|term| self.order.note_sums(*term));
        let search = |blocks: Range<u32>, step: u32| {
            let is_reached = |at: u32| Ok(self.before((at * step) as usize)? <= position);
            search_steps(blocks, self.order.notes_failures(), is_reached)
        };
        let blocks = self.order.rows().div_ceil(BLOCK_RANKS as u32);
        let in_stretch = STRETCH_BLOCKS as u32;
        let first = (search(1..blocks.div_ceil(in_stretch), in_stretch)? - 1) * in_stretch;
        let block = search(first + 1..blocks.min(first + in_stretch), 1)? - 1;
        Ok((block * BLOCK_RANKS as u32, self.before(block as usize)?))
    }
}

/// Splits clauses into the run of the first key that a clause names, and one other clause at most. A list that is sorted by
/// all keys of the order need not name a run.
fn split<'q, 's>(
    clauses: &'q [Clause<'s>],
    is_whole: bool,
    of_first: Option<usize>,
    file: &CrossingsFile,
) -> Option<(Option<&'q Clause<'s>>, Option<&'q Clause<'s>>)> {
    let is_run = |clause: &Clause<'_>| of_first.is_some() && lists_of(clause, file) == of_first;
    match clauses {
        [] if is_whole => Some((None, None)),
        [clause] if is_whole => Some((None, Some(clause))),
        [run] if is_run(run) => Some((Some(run), None)),
        [run, other] | [other, run] if is_run(run) => Some((Some(run), Some(other))),
        _ => None,
    }
}

/// The lists of a clause that is one frequent term.
fn lists_of(clause: &Clause<'_>, file: &CrossingsFile) -> Option<usize> {
    let term = file.find(clause.single_list()?)?;
    Some(file.terms()[term].lists as usize)
}

/// The ranks of the rows of a clause that is one value of the first key.
fn run_of(clause: &Clause<'_>, order: CountedOrder<'_>) -> Result<Range<u32>, ReadError> {
    let mut any = None;
    if let Some(list) = clause.single_list() {
        list.each(|row| {
            any = Some(row);
            false
        })?;
    }
    let (Some(row), Some(first)) = (any, order.first) else {
        return Err(ReadError::Internal("a frequent term has no row"));
    };
    let code = first.code_of(row)?;
    first.ranks_of(code..code + 1)
}
