//! How full the limits are: clients that are known, and what of the pools is used.

use crate::admission::gate::Gate;
use crate::admission::limits::Usage;
use crate::ops::metrics::family::Families;

/// All of it; nothing where there are no limits.
pub fn collect(gate: &Gate, families: &mut Families) {
    let Some(usage) = gate.usage() else { return };
    let Usage { clients, clients_max, clients_replaced, pool, pool_max } = usage;
    families.gauge("pinakes_limit_clients", "Clients that are counted exactly.", clients.into());
    families.gauge(
        "pinakes_limit_clients_max",
        "Clients that may be; beyond, the one seen longest ago is forgotten.",
        clients_max.into(),
    );
    families.counter(
        "pinakes_limit_clients_forgotten_total",
        "Clients forgotten for others; they begin anew.",
        clients_replaced,
    );
    let of = |[list, search]: [u64; 2]| [("list", list as f64), ("search", search as f64)];
    families.gauges(
        "pinakes_limit_pool_used",
        "Requests that count today, of all clients together.",
        "daily",
        of(pool),
    );
    families.gauges("pinakes_limit_pool_max", "What may be in a day.", "daily", of(pool_max));
}
