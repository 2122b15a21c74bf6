//! Finds the ten best of the records that match a text.
//!
//! Tiers are searched from the best down, and the search ends once ten rows are found:
//!
//! ```text
//! text "ma"
//! Equals        names equal to "ma"              a range of the name order
//! Begins        names that begin with "ma"       the range that follows
//! Alternative   alternative names with "ma"      a range of the dictionary `alternatives`
//! Words         every other match                the most cited rows of the set
//! ```
//!
//! A range or set of many rows is not ranked row by row: the order by citations is read from its
//! first rank until ten matches are found.

use crate::entity::Entity;
use crate::index::doc_set::DocSet;
use crate::index::kept_sets::CountedSet;
use crate::index::orders::Order;
use crate::index::prefix_stats::{BEST_MAX, Tier};
use crate::query::{
    Deadline, NamesBegun, QueryError, first_rows, rows_of_alternatives, rows_with_codes,
};
use crate::schema::keys_of;
use crate::snapshot::Snapshot;
use crate::storage::{Ids, ReadError};
use crate::text::fold::fold;

/// Names up to which each one is ranked; of more names, the most cited are searched for.
const RANKED_ROWS_MAX: usize = 4_096;
/// Rows of a set up to which the name of each is folded. A search in the order of names folds about as many.
const FOLDED_ROWS_MAX: usize = 16;
/// Rows of a set that take as long to rank as one rank of the citation order takes to test.
const ROWS_PER_RANK: u64 = 4;
/// The scan of the citation order stops after 4 times the ranks expected to hold ten matches.
const SCAN_FACTOR: u64 = 4;
/// Rows read between two checks of the deadline.
const ROWS_PER_CHECK: u32 = 4_096;

/// Ranks the records of a tier: by citations, then by id.
#[derive(Clone, Copy)]
pub enum Ranking<'s> {
    /// The rows themselves are in this order.
    Rows,
    /// By the order of [`Keys::ranking`](crate::schema::Keys::ranking), and the ids of the records.
    Cited(Order<'s>, &'s Ids),
}

impl<'s> Ranking<'s> {
    /// Ranks by the order of [`Keys::ranking`](crate::schema::Keys::ranking).
    pub fn new(cited: Order<'s>, ids: &'s Ids) -> Ranking<'s> {
        if cited.is_row_order() { Ranking::Rows } else { Ranking::Cited(cited, ids) }
    }
}

/// A top row with its sort key; better rows compare as less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TopRow {
    tier: Tier,
    /// The code of the count of citations; 0, as `id`, where the rows themselves are ranked.
    cited: u64,
    id: u64,
    row: u32,
}

/// The best of the rows offered so far, at most [`BEST_MAX`], best first.
#[derive(Clone, Debug, Default)]
pub struct TopRows(Vec<TopRow>);

impl TopRows {
    /// Keeps a row if it is among the top. Each row may be offered once.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged.
    pub fn offer(&mut self, ranking: &Ranking<'_>, tier: Tier, row: u32) -> Result<(), ReadError> {
        let (cited, ids) = match ranking {
            Ranking::Rows => (0, None),
            Ranking::Cited(cited, ids) => (cited.code_of(row)?, Some(ids)),
        };
        let is_worse = |last: &TopRow| match ids {
            None => (last.tier, last.row) < (tier, row),
            Some(_) => (last.tier, last.cited) < (tier, cited),
        };
        if self.is_full() && self.0.last().is_some_and(is_worse) {
            return Ok(());
        }
        let id = ids.map_or(Ok(0), |ids| ids.id(row as usize))?;
        self.insert(TopRow { tier, cited, id, row });
        Ok(())
    }

    fn insert(&mut self, top_row: TopRow) {
        let at = self.0.partition_point(|known| *known < top_row);
        self.0.insert(at, top_row);
        self.0.truncate(BEST_MAX);
    }

    /// Adds the rows of another list; a row in both keeps its better tier.
    pub fn merge(&mut self, others: &TopRows) {
        if self.0.is_empty() {
            return self.0.extend_from_slice(&others.0);
        }
        for top_row in &others.0 {
            // The rows that follow are worse still.
            if self.is_full() && self.0.last().is_some_and(|last| last < top_row) {
                return;
            }
            match self.0.iter().position(|known| known.row == top_row.row) {
                Some(at) if self.0[at] <= *top_row => continue,
                Some(at) => drop(self.0.remove(at)),
                None => {}
            }
            self.insert(*top_row);
        }
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The rows, best first.
    pub fn rows(&self) -> Vec<(Tier, u32)> {
        self.0.iter().map(|top_row| (top_row.tier, top_row.row)).collect()
    }

    fn is_full(&self) -> bool {
        self.0.len() == BEST_MAX
    }

    /// Removes the rows of a tier.
    fn remove_tier(&mut self, tier: Tier) {
        self.0.retain(|top_row| top_row.tier != tier);
    }
}

/// A search in the names of one entity.
pub(super) struct NameSearch<'s> {
    pub snapshot: &'s Snapshot,
    pub entity: Entity,
    /// The order by citations, or that of the rows.
    cited: Order<'s>,
    pub ranking: Ranking<'s>,
    pub deadline: Deadline<'s>,
}

impl<'s> NameSearch<'s> {
    pub fn new(
        snapshot: &'s Snapshot,
        entity: Entity,
        deadline: Deadline<'s>,
    ) -> Result<NameSearch<'s>, ReadError> {
        let no_order = ReadError::Internal("the entity has no order of its names");
        let cited = snapshot.order(entity, keys_of(entity).ranking().ok_or(no_order)?)?;
        let ranking = Ranking::new(cited, snapshot.ids(entity));
        Ok(NameSearch { snapshot, entity, cited, ranking, deadline })
    }

    /// The count of citations as a number that sorts the most cited row first; `None` if the row has
    /// no count.
    pub fn citations_descending(&self, row: u32) -> Result<Option<u64>, ReadError> {
        self.cited.value(self.cited.code_of(row)?)
    }

    fn is_suppressed(&self, row: u32) -> bool {
        self.snapshot.suppressed().has(self.entity, row)
    }

    /// Ranks a few rows by a text that their names need not match.
    pub fn top_of_rows(&self, rows: &[u32], folded: &str) -> Result<TopRows, QueryError> {
        if rows.len() <= FOLDED_ROWS_MAX {
            return self.top_of_few(rows, folded);
        }
        let mut named = self.main_names(folded)?;
        named.alternatives = self.alternatives(folded)?;
        let mut top = TopRows::default();
        for row in rows {
            top.offer(&self.ranking, named.tier(*row)?, *row)?;
        }
        Ok(top)
    }

    /// Finds the best rows of a text; `matches` must be all rows that match the text.
    pub fn top_of_set(&self, matches: &CountedSet, folded: &str) -> Result<TopRows, QueryError> {
        if let DocSet::Sorted(rows) = &matches.rows
            && rows.len() <= FOLDED_ROWS_MAX
        {
            return self.top_of_few(rows, folded);
        }
        let mut named = self.main_names(folded)?;
        let mut top = TopRows::default();
        // A name that begins with the text has all words of the text, so its row is in `matches`.
        self.offer_names(&named, Tier::Equals, &mut top)?;
        self.offer_names(&named, Tier::Begins, &mut top)?;
        if top.is_full() {
            return Ok(top);
        }
        named.alternatives = self.alternatives(folded)?;
        for rows in named.alternatives.chunks(ROWS_PER_CHECK as usize) {
            self.deadline.check()?;
            for row in rows {
                if named.own_tier(*row)?.is_none() {
                    top.offer(&self.ranking, Tier::Alternative, *row)?;
                }
            }
        }
        if top.is_full() {
            return Ok(top);
        }
        let is_other = |row| Ok(matches.rows.contains(row) && named.tier(row)? == Tier::Words);
        if !self.offer_most_cited(Tier::Words, matches.rows.count(), is_other, &mut top)? {
            self.offer_first_of(matches, Tier::Words, &mut top)?;
        }
        Ok(top)
    }

    /// Ranks a few matching rows by their own names.
    fn top_of_few(&self, rows: &[u32], folded: &str) -> Result<TopRows, QueryError> {
        let mut top = TopRows::default();
        let mut others = Vec::new();
        for row in rows.iter().copied() {
            let name = self.snapshot.or_noted(self.snapshot.name(self.entity, row))?;
            let tier = match name.map(fold) {
                Some(name) if name == folded => Tier::Equals,
                Some(name) if name.starts_with(folded) => Tier::Begins,
                _ => {
                    others.push(row);
                    continue;
                }
            };
            self.snapshot.or_noted(top.offer(&self.ranking, tier, row))?;
        }
        if others.is_empty() {
            return Ok(top);
        }
        let alternatives = self.alternatives(folded)?;
        for row in others {
            let is_alternative = alternatives.binary_search(&row).is_ok();
            let tier = if is_alternative { Tier::Alternative } else { Tier::Words };
            self.snapshot.or_noted(top.offer(&self.ranking, tier, row))?;
        }
        Ok(top)
    }

    /// The first rows whose own name is a folded text.
    pub fn rows_of_name(&self, folded: &str, rows_max: usize) -> Result<Vec<u32>, ReadError> {
        let named = self.main_names(folded)?;
        named.equals.ranks.take(rows_max).map(|rank| named.by_name.row_at(rank)).collect()
    }

    /// Finds the main names that begin with a text. `alternatives` of the result stays empty.
    fn main_names(&self, folded: &str) -> Result<NamesBegun<'s>, ReadError> {
        NamesBegun::find(self.snapshot, self.entity, folded)
    }

    /// Finds the ascending rows of alternative names that begin with a text.
    fn alternatives(&self, folded: &str) -> Result<Vec<u32>, QueryError> {
        rows_of_alternatives(self.snapshot, self.entity, folded, self.deadline)
    }

    /// Offers the rows whose main names are of a tier.
    fn offer_names(
        &self,
        named: &NamesBegun<'s>,
        tier: Tier,
        top: &mut TopRows,
    ) -> Result<(), QueryError> {
        let names = if tier == Tier::Equals { &named.equals } else { &named.begins };
        if names.ranks.len() > RANKED_ROWS_MAX {
            let is_match = |row| {
                let is_named = names.codes.contains(&named.by_name.code_of(row)?);
                Ok(is_named && !self.is_suppressed(row))
            };
            if self.offer_most_cited(tier, names.ranks.len() as u64, is_match, top)? {
                return Ok(());
            }
            let suppressed = self.snapshot.suppressed().rows(self.entity);
            let codes = names.codes.clone();
            let set = rows_with_codes(named.by_name, codes, suppressed, self.deadline)?;
            return self.offer_first_of(&CountedSet::new(set), tier, top);
        }
        let mut outcome = Ok(());
        named.by_name.each_row(names.ranks.clone(), |row| {
            if !self.is_suppressed(row) {
                outcome = top.offer(&self.ranking, tier, row);
            }
            outcome.is_ok()
        })?;
        Ok(outcome?)
    }

    /// Offers the most cited rows of a set that no better tier has offered. The better tiers have
    /// fewer than ten rows.
    fn offer_first_of(
        &self,
        set: &CountedSet,
        tier: Tier,
        top: &mut TopRows,
    ) -> Result<(), QueryError> {
        let (ids, by_id) = (self.snapshot.ids(self.entity), self.snapshot.id_order(self.entity)?);
        let known: Vec<u32> = top.0.iter().map(|top_row| top_row.row).collect();
        let count = BEST_MAX + known.len();
        for row in first_rows(set, self.cited, ids, by_id, count, self.deadline)? {
            if !known.contains(&row) {
                top.offer(&self.ranking, tier, row)?;
            }
        }
        Ok(())
    }

    /// Scans the citation order for rows of a tier, most cited first. `count` is the number of rows of
    /// the tier. Returns false, without a row of the tier in `top`, if ranking the rows directly
    /// is likely to be quicker or the scan finds too few.
    ///
    /// ```text
    /// 1,000,000 records, 5,000 in the tier: ten of them are expected in the first 2,000 ranks.
    /// 2,000 ranks cost as much as 8,000 rows of a set, more than the tier has: no scan.
    /// With 50,000 in the tier, 200 ranks are expected and at most 800 ranks are scanned.
    /// ```
    fn offer_most_cited(
        &self,
        tier: Tier,
        count: u64,
        is_match: impl Fn(u32) -> Result<bool, ReadError>,
        top: &mut TopRows,
    ) -> Result<bool, QueryError> {
        let cited = self.cited;
        // The expected rank of the tenth row of the tier, if citations do not depend on the tier.
        let expected = BEST_MAX as u64 * u64::from(cited.rows()) / count.max(1);
        if expected * ROWS_PER_RANK > count {
            return Ok(false);
        }
        let ranks = u32::try_from(expected * SCAN_FACTOR).unwrap_or(u32::MAX).min(cited.rows());
        let mut rank = 0;
        while rank < ranks && !top.is_full() {
            self.deadline.check()?;
            let to = rank.saturating_add(ROWS_PER_CHECK).min(ranks);
            let mut outcome = Ok(());
            cited.each_row(rank..to, |row| {
                outcome = is_match(row).and_then(|is_match| match is_match {
                    true => top.offer(&self.ranking, tier, row),
                    false => Ok(()),
                });
                outcome.is_ok() && !top.is_full()
            })?;
            outcome?;
            rank = to;
        }
        let is_done = top.is_full() || ranks == cited.rows();
        if !is_done {
            top.remove_tier(tier);
        }
        Ok(is_done)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn merged_top_rows_are_the_top_rows_of_everything_offered() {
        let mut random = 7u64;
        let mut below = move |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % bound
        };
        for _ in 0..2_000 {
            let (mut merged, mut all) = (TopRows::default(), BTreeMap::<u32, TopRow>::new());
            for _ in 0..1 + below(4) {
                // A row has the same citations in every list, but its tier may differ.
                let mut part = BTreeMap::new();
                for _ in 0..below(30) {
                    let row = below(40) as u32;
                    let tier = Tier::ALL[1 + below(3) as usize];
                    let id = u64::from(100 - row);
                    part.insert(row, TopRow { tier, cited: u64::from(row % 5), id, row });
                }
                let mut top = TopRows::default();
                part.values().for_each(|top_row| top.insert(*top_row));
                merged.merge(&top);
                for (row, top_row) in part {
                    all.entry(row)
                        .and_modify(|known| *known = top_row.min(*known))
                        .or_insert(top_row);
                }
            }
            let mut expected: Vec<TopRow> = all.into_values().collect();
            expected.sort_unstable();
            expected.truncate(BEST_MAX);
            assert_eq!(merged.0, expected);
        }
    }
}
