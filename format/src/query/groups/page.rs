//! Sorts groups and finds those of a page. Only the groups that may lie on the page are named.

use std::cmp::Ordering;

use crate::query::groups::counter::CodeGroup;
use crate::query::groups::source::{Rank, Source};
use crate::query::parse::grouping::{GroupPart, GroupSort};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

/// The order of groups.
pub(super) struct PageOrder<'a, 's> {
    pub sources: Vec<&'a Source<'s>>,
    pub snapshot: &'a Snapshot,
    pub sort: &'a [GroupSort],
    /// Whether both keys are the same, so that a pair has no order: the lesser value becomes the first.
    pub is_same_key: bool,
    pub deadline: Deadline<'a>,
}

impl PageOrder<'_, '_> {
    /// The groups from a position on, at most `length`.
    pub fn page(
        &self,
        mut groups: Vec<CodeGroup>,
        from: u64,
        length: usize,
    ) -> Result<Vec<CodeGroup>, QueryError> {
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(groups.len());
        let to = from.saturating_add(length).min(groups.len());
        if from == to {
            return Ok(Vec::new());
        }
        let mut before = 0;
        if let Some(GroupSort { by: GroupPart::Count, is_descending }) = self.sort.first().copied()
        {
            // The groups whose counts lie between those of the page's ends.
            let key = |group: &CodeGroup| match is_descending {
                true => u64::MAX - group.count,
                false => group.count,
            };
            let last = key(groups.select_nth_unstable_by_key(to - 1, key).1);
            let first = key(groups[..to].select_nth_unstable_by_key(from, key).1);
            before = groups.iter().filter(|group| key(group) < first).count();
            groups.retain(|group| (first..=last).contains(&key(group)));
        }
        self.deadline.check()?;
        let mut ranked = Vec::with_capacity(groups.len());
        for mut group in groups {
            self.deadline.check()?;
            let mut ranks = self.ranks(&group)?;
            if self.is_same_key && ranks[0] > ranks[1] {
                ranks.reverse();
                group.codes.reverse();
            }
            ranked.push((ranks, group));
        }
        let compare = |one: &(Vec<Rank>, CodeGroup), other: &(Vec<Rank>, CodeGroup)| {
            let by = |sort: &GroupSort| match sort.by {
                GroupPart::Count => directed(sort, &one.1.count, &other.1.count),
                GroupPart::Key(key) => match (&one.0[key], &other.0[key]) {
                    (one, other) if *one == Rank::Null || *other == Rank::Null => one.cmp(other),
                    (one, other) => directed(sort, one, other),
                },
            };
            self.sort.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let (from, to) = (from - before, to - before);
        if to < ranked.len() {
            ranked.select_nth_unstable_by(to, compare);
        }
        ranked.truncate(to);
        ranked.sort_unstable_by(compare);
        Ok(ranked.drain(from..).map(|(_, group)| group).collect())
    }

    fn ranks(&self, group: &CodeGroup) -> Result<Vec<Rank>, ReadError> {
        let rank = |(source, code): (&&Source<'_>, u64)| {
            // On a mirror, the values of all groups are fetched together.
            let rank = self.snapshot.or_noted(source.rank(code, self.snapshot).map(Some))?;
            Ok(rank.unwrap_or(Rank::Null))
        };
        self.sources.iter().zip(group.codes).map(rank).collect()
    }
}

fn directed<T: Ord>(sort: &GroupSort, one: &T, other: &T) -> Ordering {
    let order = one.cmp(other);
    if sort.is_descending { order.reverse() } else { order }
}
