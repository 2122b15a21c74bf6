//! Names the rows of a filter among the sets that a snapshot keeps.

use std::hash::{Hash, Hasher};

use crate::query::parse::filter::Expression;
use crate::query::parse::query::Query;

/// The name of a set: what its rows follow from, in bytes. No name is the beginning of another of its kind.
#[derive(Clone)]
pub(in crate::query) struct SetKey(Vec<u8>);

/// Collects the bytes that a value hashes. `derive(Hash)` writes lengths before lists, so that different values
/// give different bytes.
struct Collector(Vec<u8>);

impl Hasher for Collector {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

impl SetKey {
    /// The rows that match the filter of a query, or with `is_counts` their numbers in each chunk.
    pub fn of_filter(query: &Query, is_counts: bool) -> SetKey {
        let Query { entity, filter, one_of_versions, .. } = query;
        let mut bytes = Collector(Vec::with_capacity(64));
        (is_counts, one_of_versions, *entity as u8, filter.len()).hash(&mut bytes);
        for Expression { index, is_negated, operands, key: _, text: _ } in filter {
            (index, is_negated, operands).hash(&mut bytes);
        }
        SetKey(bytes.0)
    }

    /// The rows of the set that have one value in an order. Their ranks begin with `rank`.
    pub fn of_run(&self, order: usize, rank: u32) -> SetKey {
        let mut bytes = Collector(self.0.clone());
        (order, rank).hash(&mut bytes);
        SetKey(bytes.0)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::entity::Entity;

    #[test]
    fn different_filters_and_runs_have_different_keys() {
        let mut keys = BTreeMap::new();
        let mut add = |what: String, key: SetKey| {
            let known = keys.insert(key.0, what.clone());
            assert_eq!(known, None, "{what}");
        };
        for text in [
            "type:article",
            "type:!article",
            "type:article|review",
            "type:review|article",
            "type:article,type:review",
            "language.code:article",
            "year:2020",
            "year:>2020",
            "authors.id:HX_A1",
            "authors.id:HX_A2",
            "authors.name:\"a b\"",
            "name.search:a b",
            "name.search:ab",
            "cites:5",
        ] {
            let mut query = Query::new(Entity::Output);
            query.add_filter(text).unwrap();
            let set = SetKey::of_filter(&query, false);
            add(format!("{text} counts"), SetKey::of_filter(&query, true));
            for (order, rank) in [(0, 0), (0, 1), (1, 0)] {
                add(format!("{text} run {order} {rank}"), set.of_run(order, rank));
                add(format!("{text} runs {order} {rank}"), set.of_run(2, 3).of_run(order, rank));
            }
            add(text.to_owned(), set);
        }
    }
}
