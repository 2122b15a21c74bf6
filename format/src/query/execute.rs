//! Answering: the plan that is chosen, and the rows of the page.

use std::fmt;

use crate::entity::Entity;
use crate::index::bitset::Bitset;
use crate::query::clause::{Atom, Side};
use crate::query::doc_set::Set;
use crate::query::intersection::Filter;
use crate::query::resolve::resolve;
use crate::query::sorted_page::{Sort, Sorter};
use crate::query::{AnswerError, Deadline, Query};
use crate::snapshot::Snapshot;

/// Sets of a bit for each row that one question holds beside what it is finding.
const ROW_SETS_MAX: usize = 4;

/// What a question comes to.
#[derive(Clone, Debug)]
pub struct Answer {
    /// How many records match, on all pages together.
    pub count: u64,
    /// The rows on the page, in its order.
    pub rows: Vec<u32>,
    /// How it was found.
    pub plan: Plan,
}

/// How an answer was found, for whoever wonders at its cost.
#[derive(Clone, Debug)]
pub struct Plan {
    entity: Entity,
    /// Each expression with the sets it became: how many, of what kind, and rows at most.
    sides: Vec<(String, usize, &'static str, u64)>,
    chunks: u32,
    ordering: &'static str,
    count: u64,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.entity)?;
        for (at, (text, sets, kind, rows)) in self.sides.iter().enumerate() {
            let and = if at == 0 { "" } else { " and" };
            match sets {
                0 => write!(f, "{and} `{text}` (nothing)")?,
                1 => write!(f, "{and} `{text}` ({kind}, at most {rows} rows)")?,
                _ => {
                    write!(f, "{and} `{text}` ({sets} sets such as a {kind}, at most {rows} rows)")?
                }
            }
        }
        if !self.sides.is_empty() {
            write!(f, " over {} chunks,", self.chunks)?;
        }
        write!(f, " {} rows, {}", self.count, self.ordering)
    }
}

impl Query {
    /// Answers from a snapshot.
    ///
    /// Cost: a pass over the containers of the sets the filter names, none over records; see
    /// [`Plan`] for the choice made.
    ///
    /// # Errors
    ///
    /// Where the snapshot is damaged, or the deadline passes.
    pub fn answer(
        &self,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Answer, AnswerError> {
        let filter = self.matches(snapshot, deadline)?;
        let keys: Result<Vec<Sort<'_>>, AnswerError> = self
            .orders()
            .into_iter()
            .map(|(order, is_reversed)| {
                Ok(Sort { order: snapshot.order(self.entity, order)?, is_reversed })
            })
            .collect();
        let keys = keys?;
        // The order of the rows alone needs no order.
        let is_default =
            keys.first().is_none_or(|key| key.order.is_row_order() && !key.is_reversed)
                && keys.len() <= 1;
        let (count, rows, ordering) = if is_default {
            let (count, rows) = self.in_row_order(&filter, deadline)?;
            (count, rows, "in row order")
        } else {
            let set = Set::of(&filter, deadline)?;
            let ids = snapshot.ids(self.entity);
            let sorter = Sorter { ids, by_id: snapshot.id_order(self.entity)?, deadline };
            let rows = sorter.page(&set, &keys, self.first(), self.per_page as usize)?;
            let ordering = match set {
                Set::All(_) | Set::AllBut(..) => "read from the order",
                Set::Few(_) => "selected by their keys",
                Set::Many(..) => "found by the order's ladder",
            };
            (set.count(), rows, ordering)
        };
        let sides = filter.sides().iter().zip(filter.counts_max()).map(|(side, count_max)| {
            let kind = side.atoms.first().map_or("", |atom| atom.name());
            (side.text.clone(), side.atoms.len(), kind, *count_max)
        });
        let plan = Plan {
            entity: self.entity,
            sides: sides.collect(),
            chunks: filter.chunks(),
            ordering,
            count,
        };
        Ok(Answer { count, rows, plan })
    }

    /// The rows that match, chunk by chunk.
    pub(super) fn matches<'s>(
        &self,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<Filter<'s>, AnswerError> {
        let filter = Filter::new(self.sides(snapshot, deadline)?, snapshot.count(self.entity));
        Ok(filter.but(snapshot.suppressed().rows(self.entity)))
    }

    /// The sets of every expression.
    ///
    /// Those beyond the first few that hold a bit for each row are intersected as they come, so
    /// that what is held does not grow with the number of expressions.
    fn sides<'s>(
        &self,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<Vec<Side<'s>>, AnswerError> {
        let rows = snapshot.count(self.entity);
        let (mut sides, mut row_sets) = (Vec::with_capacity(self.filter.len()), 0);
        let mut folded: Option<(Bitset, String)> = None;
        for expression in &self.filter {
            let side = resolve(snapshot, self.entity, expression, deadline)?;
            row_sets += side.row_sets();
            if side.row_sets() == 0 || row_sets <= ROW_SETS_MAX {
                sides.push(side);
                continue;
            }
            let bits = side.to_bits(rows, deadline)?;
            folded = Some(match folded {
                None => (bits, side.text),
                Some((mut all, text)) => {
                    all.intersect_with(&bits);
                    (all, format!("{text},{}", side.text))
                }
            });
        }
        sides.extend(folded.map(|(bits, text)| Side {
            is_negated: false,
            atoms: vec![Atom::Bits(bits)],
            text,
        }));
        Ok(sides)
    }

    /// The count, and the page in the order of the rows.
    fn in_row_order(
        &self,
        filter: &Filter<'_>,
        deadline: Deadline<'_>,
    ) -> Result<(u64, Vec<u32>), AnswerError> {
        let first = self.first();
        let per_page = self.per_page as usize;
        if filter.sides().is_empty() {
            let all = u64::from(filter.rows()) - filter.withheld().len() as u64;
            // At most the rows there are, a u32.
            let rows = rows_from(first.min(all) as u32, filter.rows(), filter.withheld());
            return Ok((all, rows.take(per_page).collect()));
        }
        let counts = filter.counts(deadline)?;
        let count = counts.iter().map(|count| u64::from(*count)).sum();
        let mut page = Vec::with_capacity(per_page.min(count as usize));
        let mut before = 0;
        for (chunk, matches) in (0u32..).zip(&counts) {
            let after = before + u64::from(*matches);
            if after > first && page.len() < per_page {
                let mut skipped = before;
                filter.chunk(chunk)?.each(|low| {
                    if skipped < first {
                        skipped += 1;
                    } else {
                        page.push(chunk << 16 | u32::from(low));
                    }
                    page.len() < per_page
                });
            }
            before = after;
        }
        Ok((count, page))
    }
}

/// The rows from a place on among so many but those withheld, which ascend.
fn rows_from(place: u32, rows: u32, withheld: &[u32]) -> impl Iterator<Item = u32> {
    // So many of them stand before the row at the place: before the one of them with this number stand
    // as many fewer of the others.
    let (mut low, mut high) = (0, withheld.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if withheld[middle] - middle as u32 <= place { low = middle + 1 } else { high = middle }
    }
    let mut next = withheld[low..].iter().copied().peekable();
    (place + low as u32..rows).filter(move |row| next.next_if_eq(row).is_none())
}

#[cfg(test)]
mod tests {
    use super::rows_from;

    #[test]
    fn a_place_among_all_rows_but_some_is_found_without_counting() {
        for withheld in
            [&[][..], &[0], &[0, 1, 2], &[3, 4, 9], &[9], &[0, 2, 4, 6, 8], &[5, 6, 7, 8, 9]]
        {
            let shown: Vec<u32> = (0..10).filter(|row| !withheld.contains(row)).collect();
            for place in 0..=shown.len() {
                let found: Vec<u32> = rows_from(place as u32, 10, withheld).collect();
                assert_eq!(found, shown[place..], "{withheld:?} from {place}");
            }
        }
    }
}
