//! Metrics of rare events, by their reasons.

use crate::event_counts::{
    GRAPHQL_OUTCOMES, GraphqlOutcome, LOADS, Load, OVERLOADS, Overload, POISONED, Poison,
    SLOW_CLIENTS, SlowClient,
};
use crate::ops::metrics::family::Families;

/// All of them.
pub fn collect(families: &mut Families) {
    families.counters(
        "pinakes_overloads_total",
        "Requests answered 503 for want of time or room, by what was short.",
        "reason",
        OVERLOADS.samples::<Overload>(),
    );
    families.counters(
        "pinakes_clients_late_total",
        "Connections ended since their client took too long, by what for.",
        "reason",
        SLOW_CLIENTS.samples::<SlowClient>(),
    );
    families.counters(
        "pinakes_graphql_questions_total",
        "Questions of GraphQL, by what became of them.",
        "outcome",
        GRAPHQL_OUTCOMES.samples::<GraphqlOutcome>(),
    );
    families.counters(
        "pinakes_snapshot_loads_total",
        "Snapshots that were to be served, by what became of them.",
        "outcome",
        LOADS.samples::<Load>(),
    );
    families.counters(
        "pinakes_snapshots_poisoned_total",
        "Snapshots that nothing more was answered from, by why.",
        "cause",
        POISONED.samples::<Poison>(),
    );
}
