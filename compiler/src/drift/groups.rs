//! The number of records for each value of a filter key, in two snapshots.
//!
//! ```text
//! type       before           now
//! article    800   80 %       850   42.5 %     distance: half the sum of the differences
//! book       200   20 %       150    7.5 %               (37.5 + 12.5 + 50) / 2 = 50 %
//! null         0    0 %      1000   50 %
//! ```
//!
//! The lengths of posting lists are the numbers: one read a value, none a record.

use std::collections::BTreeMap;

use pinakes_format::entity::Entity;
use pinakes_format::index::term_lists::{Term, text_term};
use pinakes_format::schema::{Terms, keys_of};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::drift::Example;

/// A filter key of few values: a code, a boolean, a year, or a node of the taxonomy.
pub(super) struct Grouped {
    /// The path below the entity, such as `primary_topic.field.id`.
    pub path: &'static str,
    lists: usize,
    terms: Terms,
}

/// The records by value; `None` stands for null.
pub(super) type Counts = BTreeMap<Option<Term>, u64>;

/// The filter keys of few values of an entity.
pub(super) fn grouped_keys(entity: Entity) -> impl Iterator<Item = Grouped> {
    let lists = keys_of(entity).lists.iter().enumerate();
    lists.filter_map(|(lists, of)| {
        let has_few = match of.terms {
            Terms::Codes | Terms::Values => true,
            Terms::Rows(target) => target.facts().taxonomy_level.is_some(),
            _ => false,
        };
        has_few.then_some(Grouped { path: &of.path, lists, terms: of.terms })
    })
}

impl Grouped {
    /// Counts the records of a snapshot by value. A record with several values counts for each.
    pub(super) fn count(&self, snapshot: &Snapshot, entity: Entity) -> Result<Counts, ReadError> {
        let file = snapshot.term_lists(entity)?;
        let mut counts = Counts::new();
        for at in 0..file.terms(self.lists)? {
            let mut term = file.term_at(self.lists, at)?;
            if let Terms::Rows(target) = self.terms {
                // Rows are others in each snapshot.
                term = snapshot.row_id(target, term as u32)?.into();
            }
            *counts.entry(Some(term)).or_default() +=
                u64::from(file.postings(self.lists, at)?.count());
        }
        let present = file.presence(self.lists)?.count();
        counts.insert(None, snapshot.count(entity).saturating_sub(present).into());
        Ok(counts)
    }

    /// The values whose shares differ most, the greatest difference first.
    pub(super) fn examples(
        &self,
        snapshots: [&Snapshot; 2],
        [before, now]: [&Counts; 2],
        most: usize,
    ) -> Result<Vec<Example>, ReadError> {
        let mut differences: Vec<_> = shares(before, now).collect();
        differences.sort_by(|(_, a), (_, b)| (b[0] - b[1]).abs().total_cmp(&(a[0] - a[1]).abs()));
        differences.truncate(most);
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let example = |(term, [before, now]): (Option<Term>, [f64; 2])| {
            let id = term.map_or_else(|| Ok("null".to_owned()), |term| self.text(snapshots, term));
            Ok(Example { id: id?, before: percent(before), now: percent(now) })
        };
        differences.into_iter().map(example).collect()
    }

    /// The text of a value.
    fn text(&self, snapshots: [&Snapshot; 2], term: Term) -> Result<String, ReadError> {
        match self.terms {
            // Booleans are 0 and 1, and integers have another highest bit.
            Terms::Values if term < 2 => Ok((term == 1).to_string()),
            Terms::Values => Ok(((term as u64) ^ (1 << 63)).cast_signed().to_string()),
            Terms::Rows(target) => Ok(target.id_text(term as u64)),
            _ => {
                for snapshot in snapshots {
                    for code in 0..snapshot.codes() {
                        let text = snapshot.code(code)?.to_ascii_lowercase();
                        if text_term(&text) == term {
                            return Ok(text);
                        }
                    }
                }
                Ok("a code".to_owned())
            }
        }
    }
}

/// The shares of each value before and now.
fn shares(before: &Counts, now: &Counts) -> impl Iterator<Item = (Option<Term>, [f64; 2])> {
    let totals = [before, now].map(|counts| counts.values().sum::<u64>().max(1) as f64);
    let mut all: BTreeMap<Option<Term>, [f64; 2]> = BTreeMap::new();
    for (at, counts) in [before, now].into_iter().enumerate() {
        for (term, count) in counts {
            all.entry(*term).or_default()[at] = *count as f64 / totals[at];
        }
    }
    all.into_iter()
}

/// Half the sum of the differences of the shares: 0 for equal distributions, 1 for distributions without a common
/// value.
pub(super) fn distance(before: &Counts, now: &Counts) -> f64 {
    shares(before, now).map(|(_, [before, now])| (before - now).abs()).sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_what_moved_whatever_the_totals() {
        let counts = |counts: &[(Option<Term>, u64)]| counts.iter().copied().collect::<Counts>();
        let before = counts(&[(Some(1), 800), (Some(2), 200), (None, 0)]);
        let check = |now: &[(Option<Term>, u64)], expected: f64| {
            let found = distance(&before, &counts(now));
            assert!((found - expected).abs() < 1e-9, "{now:?}: {found}");
        };
        check(&[(Some(1), 850), (Some(2), 150), (None, 1_000)], 0.5);
        check(&[(Some(1), 8_000), (Some(2), 2_000)], 0.0);
        check(&[(Some(3), 7)], 1.0);
    }
}
