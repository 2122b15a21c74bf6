//! The names of records that begin with a text.
//!
//! ```text
//! order of names   …  lyon | ma  ma | mab  mad  max | mb  …
//! text "ma"                  equals   begins
//! ```

use std::ops::Range;

use crate::entity::Entity;
use crate::index::orders::Order;
use crate::index::prefix_stats::Tier;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::snapshot::Snapshot;
use crate::storage::{ReadError, search_steps};
use crate::text::fold::fold;

/// Names read between two checks of the deadline.
const NAMES_PER_CHECK: u32 = 4_096;

/// The names of an entity that begin with a text.
pub(crate) struct NamesBegun<'s> {
    pub by_name: Order<'s>,
    /// Names equal to the text.
    pub equals: NameRange,
    /// Longer names that begin with the text.
    pub begins: NameRange,
    /// Ascending rows of alternative names that begin with the text.
    pub alternatives: Vec<u32>,
}

/// Adjacent names in the name order.
pub(crate) struct NameRange {
    pub ranks: Range<u32>,
    /// The codes of the names; no name outside the range has one of them.
    pub codes: Range<u64>,
}

impl NameRange {
    fn new(by_name: Order<'_>, ranks: Range<u32>) -> Result<NameRange, ReadError> {
        if ranks.is_empty() {
            return Ok(NameRange { ranks, codes: 0..0 });
        }
        let code_at = |rank| by_name.code_of(by_name.row_at(rank)?);
        let (first, last) = (code_at(ranks.start), code_at(ranks.end - 1));
        Ok(NameRange { ranks, codes: first?..last? + 1 })
    }
}

impl<'s> NamesBegun<'s> {
    /// Finds the main names that begin with a folded text. `alternatives` stays empty.
    pub fn find(
        snapshot: &'s Snapshot,
        entity: Entity,
        folded: &str,
    ) -> Result<NamesBegun<'s>, ReadError> {
        let by_name = snapshot.order_by(entity, "name")?;
        let names = FoldedNames { snapshot, entity, by_name };
        let valued = by_name.valued();
        let is_longer = |name: &str| name > folded;
        let is_behind = |name: &str| name > folded && !name.starts_with(folded);
        let first = names.first_rank(0..valued, |name| name >= folded);
        let (first, longer, to) = if by_name.notes_failures() {
            // One attempt notes what all three searches lack.
            let longer = names.first_rank(0..valued, is_longer);
            let to = names.first_rank(0..valued, is_behind);
            (first?, longer?, to?)
        } else {
            let first = first?;
            let longer = names.first_rank_from(first..valued, is_longer)?;
            (first, longer, names.first_rank_from(longer..valued, is_behind)?)
        };
        let equals = NameRange::new(by_name, first..longer);
        let begins = NameRange::new(by_name, longer..to);
        Ok(NamesBegun { by_name, equals: equals?, begins: begins?, alternatives: Vec::new() })
    }

    /// The tier of a row by its main name; `None` if the name does not begin with the text.
    pub fn own_tier(&self, row: u32) -> Result<Option<Tier>, ReadError> {
        if self.equals.ranks.is_empty() && self.begins.ranks.is_empty() {
            return Ok(None);
        }
        let code = self.by_name.code_of(row)?;
        let begins = || self.begins.codes.contains(&code).then_some(Tier::Begins);
        Ok(if self.equals.codes.contains(&code) { Some(Tier::Equals) } else { begins() })
    }

    /// The tier of a row by all its names.
    pub fn tier(&self, row: u32) -> Result<Tier, ReadError> {
        let is_alternative = || self.alternatives.binary_search(&row).is_ok();
        let other = || if is_alternative() { Tier::Alternative } else { Tier::Words };
        Ok(self.own_tier(row)?.unwrap_or_else(other))
    }
}

/// Finds the ascending rows of alternative names that begin with a folded text, without the suppressed rows.
pub(crate) fn rows_of_alternatives(
    snapshot: &Snapshot,
    entity: Entity,
    folded: &str,
    deadline: Deadline<'_>,
) -> Result<Vec<u32>, QueryError> {
    let Some(alternatives) = snapshot.alternatives(entity)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let mut texts = alternatives.seek(folded.as_bytes())?;
    let mut names_read = 0u32;
    while let Some((_, rows)) = texts.current_with_prefix(folded.as_bytes()) {
        rows.each(|row| found.push(row))?;
        names_read += 1;
        if names_read.is_multiple_of(NAMES_PER_CHECK) {
            deadline.check()?;
        }
        texts.advance()?;
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|row| !snapshot.suppressed().has(entity, *row));
    Ok(found)
}

/// The names of an entity in their order.
struct FoldedNames<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    by_name: Order<'s>,
}

impl FoldedNames<'_> {
    /// Finds the first of some ranks whose folded name `holds`, by doubling steps and then a binary
    /// search. All later names must hold too. Cost: log2 of the distance to the rank found.
    fn first_rank_from(
        &self,
        ranks: Range<u32>,
        holds: impl Fn(&str) -> bool,
    ) -> Result<u32, ReadError> {
        let (mut from, mut step) = (ranks.start, 1);
        while from < ranks.end {
            let to = from.saturating_add(step).min(ranks.end);
            if holds(&self.folded(to - 1)?) {
                return self.first_rank(from..to, holds);
            }
            (from, step) = (to, step.saturating_mul(2));
        }
        Ok(ranks.end)
    }

    fn first_rank(
        &self,
        ranks: Range<u32>,
        holds: impl Fn(&str) -> bool,
    ) -> Result<u32, ReadError> {
        search_steps(ranks, self.by_name.notes_failures(), |rank| Ok(!holds(&self.folded(rank)?)))
    }

    fn folded(&self, rank: u32) -> Result<String, ReadError> {
        let name = self.snapshot.name(self.entity, self.by_name.row_at(rank)?)?;
        Ok(fold(
            name.ok_or(ReadError::corrupt("names", "a row in the order of names has no name"))?,
        ))
    }
}
