//! Sums of outputs and citations by id, carried up the taxonomy.

use std::collections::BTreeMap;

use pinakes_format::entity::NO_ID;

use crate::link::taxonomy::Sum;
use crate::object::RecordKey;
use crate::object::key::count_of;

/// The sums by the id of a topic or of a node above topics.
pub(crate) type Sums = BTreeMap<u64, Sum>;

/// Moves each id's sum to the id that `to` returns, and drops sums without one.
pub(crate) fn passed_on(sums: &Sums, to: impl Fn(u64) -> Option<u64>) -> Sums {
    let mut passed = Sums::new();
    for (id, own) in sums {
        if let Some(to) = to(*id) {
            passed.entry(to).or_default().add(*own);
        }
    }
    passed
}

/// Counts an output and its citations for its primary topic.
pub(crate) fn add_to_sums(sums: &mut Sums, key: &RecordKey) {
    if key.group != NO_ID {
        let citations = count_of(key.rank).unwrap_or(0);
        sums.entry(key.group).or_default().add(Sum { outputs: 1, citations });
    }
}
