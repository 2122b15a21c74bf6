//! Metrics of rare events, from [`crate::event_counts`].

use pinakes_answer::GraphqlOutcome;

use crate::event_counts::{
    EXCESSES, Excess, GRAPHQL_OUTCOMES, LOADS, Load, OVERLOADS, Overload, POISONED, Poison,
    SLOW_CLIENTS, SlowClient,
};
use crate::ops::metrics::family::Families;

/// Adds the counters of all event kinds.
pub fn collect(families: &Families) {
    families.counters(
        "pinakes_overloads_total",
        "Requests answered 503, and replies cut off, while the server was ready, by the resource that was short.",
        "reason",
        OVERLOADS.samples::<Overload>(),
    );
    families.counters(
        "pinakes_clients_late_total",
        "Connections closed because the client was too slow, by what the client did not do in time.",
        "reason",
        SLOW_CLIENTS.samples::<SlowClient>(),
    );
    families.counters(
        "pinakes_clients_excessive_total",
        "Connections closed beyond --handshakes or --control-frames.",
        "reason",
        EXCESSES.samples::<Excess>(),
    );
    families.counters(
        "pinakes_graphql_questions_total",
        "GraphQL requests, by outcome.",
        "outcome",
        GRAPHQL_OUTCOMES.samples::<GraphqlOutcome>(),
    );
    families.counters(
        "pinakes_snapshot_loads_total",
        "Attempts to load a snapshot, by outcome.",
        "outcome",
        LOADS.samples::<Load>(),
    );
    families.counters(
        "pinakes_snapshots_poisoned_total",
        "Snapshots taken out of service because of damage, by cause.",
        "cause",
        POISONED.samples::<Poison>(),
    );
}
