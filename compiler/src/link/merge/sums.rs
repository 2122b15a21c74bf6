//! Sums of outputs and citations by id, carried up the taxonomy.

use std::collections::BTreeMap;

use pinakes_format::entity::NO_ID;

use crate::object::Key;
use crate::object::key::count_of;
use crate::read::lenient::COUNT_MAX;

/// Outputs and citations by the id of a topic or of a node above topics.
pub(crate) type Sums = BTreeMap<u64, (u64, u64)>;

/// Adds two pairs of counts; each sum is capped at [`COUNT_MAX`].
pub(crate) fn add_up(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    let add = |one: u64, other: u64| one.saturating_add(other).min(COUNT_MAX);
    (add(one.0, other.0), add(one.1, other.1))
}

/// Moves each id's sum to the id that `to` returns, and drops sums without one.
pub(crate) fn passed_on(sums: &Sums, to: impl Fn(u64) -> Option<u64>) -> Sums {
    let mut passed = Sums::new();
    for (id, own) in sums {
        if let Some(to) = to(*id) {
            let sum = passed.entry(to).or_default();
            *sum = add_up(*sum, *own);
        }
    }
    passed
}

/// Counts an output and its citations for its primary topic.
pub(crate) fn add_to_sums(sums: &mut Sums, key: &Key) {
    if key.group != NO_ID {
        let sum = sums.entry(key.group).or_default();
        let citations = count_of(key.rank).unwrap_or(0);
        *sum = add_up(*sum, (1, citations));
    }
}
