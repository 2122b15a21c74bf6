//! The best of the records that match.

use std::ops::Range;

use crate::entity::Entity;
use crate::index::orders::Order;
use crate::index::prefix_stats::{BEST_MAX, Tier};
use crate::query::{AnswerError, Deadline, Set, first_of, rows_with_codes};
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;
use crate::storage::ids::Ids;
use crate::text::fold::fold;

/// Names that are offered one by one; of more, the most cited are looked for.
const FEW_ROWS: usize = 4_096;
/// Rows of a set that are looked at in the time one rank of the order by citations is.
const ROWS_PER_RANK: u64 = 4;
/// So many times the ranks expected to be enough are looked at before the set is asked itself.
const PATIENCE: u64 = 4;
/// Rows looked at between two looks at the clock.
const ROWS_PER_LOOK: u32 = 4_096;

/// What tells which of two records comes first within a tier: citations, then the id.
#[derive(Clone, Copy)]
pub struct Ranking<'s> {
    /// The order by `cited_by_count`.
    pub cited: Order<'s>,
    /// The records' ids.
    pub ids: &'s Ids,
}

impl Ranking<'_> {
    /// A row's citations as a number that ascends as they fall; `None` where they are not known.
    pub(super) fn cited_at(&self, row: u32) -> Result<Option<u64>, ReadError> {
        self.cited.value(self.cited.code_of(row)?)
    }
}

/// A record among the best; a lesser one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    tier: Tier,
    cited: u64,
    id: u64,
    row: u32,
}

/// The best records of those offered, [`BEST_MAX`] at most.
#[derive(Clone, Debug, Default)]
pub struct Best(Vec<Placed>);

impl Best {
    /// Offers a record that was not offered before.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
    pub fn offer(&mut self, ranking: &Ranking<'_>, tier: Tier, row: u32) -> Result<(), ReadError> {
        let cited = ranking.cited.code_of(row)?;
        let is_worse = |last: &Placed| (last.tier, last.cited) < (tier, cited);
        if self.is_full() && self.0.last().is_some_and(is_worse) {
            return Ok(());
        }
        let id = ranking.ids.id(row as usize)?;
        self.insert(Placed { tier, cited, id, row });
        Ok(())
    }

    fn insert(&mut self, placed: Placed) {
        let at = self.0.partition_point(|known| *known < placed);
        self.0.insert(at, placed);
        self.0.truncate(BEST_MAX);
    }

    /// Takes the best of others too; of a record that both have, the better tier.
    pub fn merge(&mut self, others: &Best) {
        for placed in &others.0 {
            match self.0.iter().position(|known| known.row == placed.row) {
                Some(at) if self.0[at] <= *placed => continue,
                Some(at) => drop(self.0.remove(at)),
                None => {}
            }
            self.insert(*placed);
        }
    }

    /// The rows, best first.
    pub fn rows(&self) -> Vec<(Tier, u32)> {
        self.0.iter().map(|placed| (placed.tier, placed.row)).collect()
    }

    fn is_full(&self) -> bool {
        self.0.len() == BEST_MAX
    }

    /// Drops those of a tier.
    fn without(&mut self, tier: Tier) {
        self.0.retain(|placed| placed.tier != tier);
    }
}

/// The names of an entity's records.
pub(super) struct Names<'s> {
    pub snapshot: &'s Snapshot,
    pub entity: Entity,
    pub ranking: Ranking<'s>,
    pub deadline: Deadline<'s>,
}

/// The names that begin with a text.
struct Named<'s> {
    by_name: Order<'s>,
    /// Those that are the text.
    equals: NameRange,
    /// Those that go on.
    begins: NameRange,
    /// The rows, ascending, of alternative names that are the text or begin with it.
    alternatives: Vec<u32>,
}

/// Names that follow one another in their order.
struct NameRange {
    ranks: Range<u32>,
    /// Their codes; no other names have them.
    codes: Range<u64>,
}

impl NameRange {
    fn new(by_name: Order<'_>, ranks: Range<u32>) -> Result<NameRange, ReadError> {
        if ranks.is_empty() {
            return Ok(NameRange { ranks, codes: 0..0 });
        }
        let code_at = |rank| by_name.code_of(by_name.row_at(rank)?);
        let codes = code_at(ranks.start)?..code_at(ranks.end - 1)? + 1;
        Ok(NameRange { ranks, codes })
    }
}

impl Named<'_> {
    /// The tier of a row by its own name.
    fn own_tier(&self, row: u32) -> Result<Option<Tier>, ReadError> {
        if self.equals.ranks.is_empty() && self.begins.ranks.is_empty() {
            return Ok(None);
        }
        let code = self.by_name.code_of(row)?;
        let begins = || self.begins.codes.contains(&code).then_some(Tier::Begins);
        Ok(if self.equals.codes.contains(&code) { Some(Tier::Equals) } else { begins() })
    }

    /// The tier of a row.
    fn tier(&self, row: u32) -> Result<Tier, ReadError> {
        let is_alternative = || self.alternatives.binary_search(&row).is_ok();
        let other = || if is_alternative() { Tier::Alternative } else { Tier::Words };
        Ok(self.own_tier(row)?.unwrap_or_else(other))
    }
}

impl<'s> Names<'s> {
    pub fn new(
        snapshot: &'s Snapshot,
        entity: Entity,
        deadline: Deadline<'s>,
    ) -> Result<Names<'s>, ReadError> {
        let cited = snapshot.order_by(entity, "cited_by_count")?;
        let ranking = Ranking { cited, ids: snapshot.ids(entity) };
        Ok(Names { snapshot, entity, ranking, deadline })
    }

    /// Whether a record is not to be shown.
    fn is_withheld(&self, row: u32) -> bool {
        self.snapshot.suppressed().has(self.entity, row)
    }

    /// The best of some rows, which need not match the text.
    pub fn best_of_rows(&self, rows: &[u32], folded: &str) -> Result<Best, AnswerError> {
        let mut named = self.named(folded)?;
        named.alternatives = self.alternatives(folded)?;
        let mut best = Best::default();
        for row in rows {
            best.offer(&self.ranking, named.tier(*row)?, *row)?;
        }
        Ok(best)
    }

    /// The best of the rows that match a text, which are all that do.
    pub fn best_of(&self, matches: &Set, folded: &str) -> Result<Best, AnswerError> {
        let mut named = self.named(folded)?;
        let mut best = Best::default();
        // A name that begins with the text holds its words.
        self.by_name(&named, Tier::Equals, &mut best)?;
        self.by_name(&named, Tier::Begins, &mut best)?;
        if best.is_full() {
            return Ok(best);
        }
        named.alternatives = self.alternatives(folded)?;
        for rows in named.alternatives.chunks(ROWS_PER_LOOK as usize) {
            self.deadline.check()?;
            for row in rows {
                if named.own_tier(*row)?.is_none() {
                    best.offer(&self.ranking, Tier::Alternative, *row)?;
                }
            }
        }
        if best.is_full() {
            return Ok(best);
        }
        let is_other = |row| Ok(matches.contains(row) && named.tier(row)? == Tier::Words);
        if !self.most_cited(Tier::Words, matches.count(), is_other, &mut best)? {
            self.first_of(matches, Tier::Words, &mut best)?;
        }
        Ok(best)
    }

    /// Which names begin with a text; of alternative names, none yet.
    fn named(&self, folded: &str) -> Result<Named<'s>, ReadError> {
        let by_name = self.snapshot.order_by(self.entity, "name")?;
        let valued = by_name.valued();
        let first = self.first_rank(by_name, 0..valued, |name| name >= folded)?;
        let goes_on = self.first_after(by_name, first..valued, |name| name != folded)?;
        let to = self.first_after(by_name, goes_on..valued, |name| !name.starts_with(folded))?;
        Ok(Named {
            by_name,
            equals: NameRange::new(by_name, first..goes_on)?,
            begins: NameRange::new(by_name, goes_on..to)?,
            alternatives: Vec::new(),
        })
    }

    /// The rows, ascending, of alternative names that begin with a text.
    fn alternatives(&self, folded: &str) -> Result<Vec<u32>, AnswerError> {
        let Some(alternatives) = self.snapshot.alternatives(self.entity) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        let mut texts = alternatives.seek(folded.as_bytes())?;
        let mut looked = 0u32;
        while let Some((_, rows)) = texts.current_with_prefix(folded.as_bytes()) {
            rows.each(|row| found.push(row))?;
            looked += 1;
            if looked.is_multiple_of(ROWS_PER_LOOK) {
                self.deadline.check()?;
            }
            texts.advance()?;
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|row| !self.is_withheld(*row));
        Ok(found)
    }

    /// Offers the records whose own names are of a tier.
    fn by_name(&self, named: &Named<'s>, tier: Tier, best: &mut Best) -> Result<(), AnswerError> {
        let names = if tier == Tier::Equals { &named.equals } else { &named.begins };
        if names.ranks.len() > FEW_ROWS {
            let is_one = |row| {
                let is_named = names.codes.contains(&named.by_name.code_of(row)?);
                Ok(is_named && !self.is_withheld(row))
            };
            if self.most_cited(tier, names.ranks.len() as u64, is_one, best)? {
                return Ok(());
            }
            let withheld = self.snapshot.suppressed().rows(self.entity);
            let codes = names.codes.clone();
            let set = rows_with_codes(named.by_name, codes, withheld, self.deadline)?;
            return self.first_of(&set, tier, best);
        }
        let mut outcome = Ok(());
        named.by_name.each_row(names.ranks.clone(), |row| {
            if !self.is_withheld(row) {
                outcome = best.offer(&self.ranking, tier, row);
            }
            outcome.is_ok()
        })?;
        Ok(outcome?)
    }

    /// Offers the most cited of a set, but for those of a better tier, of which there are not ten.
    fn first_of(&self, set: &Set, tier: Tier, best: &mut Best) -> Result<(), AnswerError> {
        let by_id = (self.ranking.ids, self.snapshot.id_order(self.entity)?);
        let known: Vec<u32> = best.0.iter().map(|placed| placed.row).collect();
        let count = BEST_MAX + known.len();
        for row in first_of(set, self.ranking.cited, by_id, count, self.deadline)? {
            if !known.contains(&row) {
                best.offer(&self.ranking, tier, row)?;
            }
        }
        Ok(())
    }

    /// Offers those of a tier, of which there are so many, among the most cited records, where that is
    /// likely to be quick; whether the best are found. If not, none of the tier is left.
    fn most_cited(
        &self,
        tier: Tier,
        count: u64,
        is_one: impl Fn(u32) -> Result<bool, ReadError>,
        best: &mut Best,
    ) -> Result<bool, AnswerError> {
        let cited = self.ranking.cited;
        // Were they spread evenly, the tenth would stand near this rank.
        let expected = BEST_MAX as u64 * u64::from(cited.rows()) / count.max(1);
        if expected * ROWS_PER_RANK > count {
            return Ok(false);
        }
        let ranks = u32::try_from(expected * PATIENCE).unwrap_or(u32::MAX).min(cited.rows());
        let mut rank = 0;
        while rank < ranks && !best.is_full() {
            self.deadline.check()?;
            let to = rank.saturating_add(ROWS_PER_LOOK).min(ranks);
            let mut outcome = Ok(());
            cited.each_row(rank..to, |row| {
                outcome = is_one(row).and_then(|is_one| match is_one {
                    true => best.offer(&self.ranking, tier, row),
                    false => Ok(()),
                });
                outcome.is_ok() && !best.is_full()
            })?;
            outcome?;
            rank = to;
        }
        let is_done = best.is_full() || ranks == cited.rows();
        if !is_done {
            best.without(tier);
        }
        Ok(is_done)
    }

    /// The first of some ranks whose folded name `holds`, as those of all after it do; near ones are
    /// tried first.
    fn first_after(
        &self,
        by_name: Order<'s>,
        ranks: Range<u32>,
        holds: impl Fn(&str) -> bool,
    ) -> Result<u32, ReadError> {
        let (mut from, mut step) = (ranks.start, 1);
        while from < ranks.end {
            let to = from.saturating_add(step).min(ranks.end);
            if holds(&self.folded(by_name, to - 1)?) {
                return self.first_rank(by_name, from..to, holds);
            }
            (from, step) = (to, step.saturating_mul(2));
        }
        Ok(ranks.end)
    }

    fn first_rank(
        &self,
        by_name: Order<'s>,
        ranks: Range<u32>,
        holds: impl Fn(&str) -> bool,
    ) -> Result<u32, ReadError> {
        let Range { start: mut low, end: mut high } = ranks;
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(&self.folded(by_name, middle)?) { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }

    fn folded(&self, by_name: Order<'s>, rank: u32) -> Result<String, ReadError> {
        let name = self.snapshot.name(self.entity, by_name.row_at(rank)?)?;
        Ok(fold(
            name.ok_or(ReadError::corrupt("names", "a row in the order of names has no name"))?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_best_of_all_are_among_the_best_of_parts() {
        let mut random = 7u64;
        let mut below = move |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % bound
        };
        for _ in 0..2_000 {
            let (mut merged, mut all) = (Best::default(), BTreeMap::<u32, Placed>::new());
            for _ in 0..1 + below(4) {
                // A row has one count, and a tier in each part that has it.
                let mut part = BTreeMap::new();
                for _ in 0..below(30) {
                    let row = below(40) as u32;
                    let tier = Tier::ALL[1 + below(3) as usize];
                    let id = u64::from(100 - row);
                    part.insert(row, Placed { tier, cited: u64::from(row % 5), id, row });
                }
                let mut best = Best::default();
                part.values().for_each(|placed| best.insert(*placed));
                merged.merge(&best);
                for (row, placed) in part {
                    all.entry(row)
                        .and_modify(|known| *known = placed.min(*known))
                        .or_insert(placed);
                }
            }
            let mut expected: Vec<Placed> = all.into_values().collect();
            expected.sort_unstable();
            expected.truncate(BEST_MAX);
            assert_eq!(merged.0, expected);
        }
    }
}
