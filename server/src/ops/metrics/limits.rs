//! Metrics of the request limits: known clients, and use of the daily pools.

use pinakes_answer::QuotaClass;

use crate::admission::gate::Gate;
use crate::admission::limits::Usage;
use crate::admission::limits::fleet::store::StoreCalls;
use crate::ops::metrics::family::Families;

/// Adds the use of the limits; adds nothing if limits are off.
pub fn collect(gate: &Gate, families: &Families) {
    let Some(usage) = gate.usage() else { return };
    let Usage { clients, clients_max, clients_replaced, pool, pool_max } = usage;
    families.gauge("pinakes_limit_clients", "Clients with a count of their own.", clients.into());
    families.gauge(
        "pinakes_limit_clients_max",
        "Most clients with a count of their own; a further client replaces the least recently seen one.",
        clients_max.into(),
    );
    families.counter(
        "pinakes_limit_clients_forgotten_total",
        "Clients whose counts were dropped for another client; they start again at zero.",
        clients_replaced as f64,
    );
    // A completion of the pages' search box is a tenth of a request.
    let by_pool = |units: [u64; QuotaClass::COUNT]| {
        QuotaClass::ALL
            .map(|class| (class.label(), units[class as usize] as f64 / f64::from(class.units())))
    };
    families.gauges(
        "pinakes_limit_pool_used",
        "Requests of all clients today (UTC) that count against a daily pool.",
        "daily",
        by_pool(pool),
    );
    families.gauges(
        "pinakes_limit_pool_max",
        "Requests of all clients that a daily pool allows.",
        "daily",
        by_pool(pool_max),
    );
    if let Some(fleet) = gate.fleet() {
        families.gauge(
            "pinakes_counters_reachable",
            "1 if the store of --counters answers; 0 while the server counts alone.",
            f64::from(u8::from(!fleet.is_alone())),
        );
        let StoreCalls { made, failed } = fleet.store_calls();
        families.counters(
            "pinakes_counters_calls_total",
            "Questions of requests to the store of --counters; a failed one had no answer in time.",
            "outcome",
            [("answered", made.saturating_sub(failed)), ("failed", failed)],
        );
    }
}
