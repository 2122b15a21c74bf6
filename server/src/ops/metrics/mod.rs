//! Metrics in Prometheus' text format.
//!
//! [`crate::serve::traffic`] counts requests, and [`crate::event_counts`] counts rare events. All other
//! values are read when an operator asks for metrics. Label values come from closed sets; no label holds
//! text of a client.

pub(crate) mod family;
pub(crate) mod process;
pub(crate) mod snapshot;

use std::{sync::Arc, time::SystemTime};

use pinakes_answer::{GraphqlOutcome, QuotaClass};
use prometheus::TextEncoder;

use crate::admission::gate::Gate;
use crate::admission::limits::Usage;
use crate::admission::limits::fleet::store::StoreCalls;
use crate::event_counts::{
    EXCESSES, Excess, GRAPHQL_OUTCOMES, LOADS, Load, OVERLOADS, Overload, POISONED, Poison,
    SLOW_CLIENTS, SlowClient,
};
use crate::net::limiter::ConnectionLimiter;
use crate::ops::log::DroppedLines;
use crate::ops::metrics::family::Families;
use crate::serve::Service;

/// Sources of all metrics.
pub struct Metrics {
    service: Arc<Service>,
    limiter: Arc<ConnectionLimiter>,
    dropped_lines: DroppedLines,
    started: SystemTime,
}

impl Metrics {
    /// Metrics of a process that starts now.
    pub fn new(
        service: Arc<Service>,
        limiter: Arc<ConnectionLimiter>,
        dropped_lines: DroppedLines,
    ) -> Metrics {
        Metrics { service, limiter, dropped_lines, started: SystemTime::now() }
    }

    /// The service that the metrics describe.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Writes all metric families, ordered by name.
    ///
    /// Cost: under a millisecond; reads 8 bytes for each 4 MiB of the snapshot.
    pub fn text(&self) -> String {
        let families = Families::default();
        families.info(
            "pinakes_build_info",
            "Version of the program; the value is 1.",
            [("version", env!("CARGO_PKG_VERSION"))],
        );
        self.connections(&families);
        collect_events(&families);
        collect_limits(self.service.gate(), &families);
        snapshot::collect(self.service.snapshots(), &families);
        process::collect(self.started, &families);
        let all = families.with(self.service.traffic().gather());
        // The encoder rejects only families without a name or without samples.
        TextEncoder::new().encode_to_string(&all).unwrap_or_default()
    }

    fn connections(&self, families: &Families) {
        let (open, max) = self.limiter.usage();
        families.gauge("pinakes_connections_open", "Open connections.", open.into());
        families.gauge("pinakes_connections_max", "Most open connections.", max.into());
        let [by_server, by_client] = self.limiter.refused();
        families.counters(
            "pinakes_connections_refused_total",
            "Connections closed at a connection limit: of the server, or of the client.",
            "cap",
            [("server", by_server), ("client", by_client)],
        );
        families.gauge(
            "pinakes_replies_held_bytes",
            "Bytes of large replies that clients have yet to read.",
            self.service.reply_memory().used_bytes() as f64,
        );
        families.gauge(
            "pinakes_replies_held_bytes_max",
            "Memory for such replies, a quarter of --memory.",
            self.service.reply_memory().bytes_max() as f64,
        );
        families.gauge(
            "pinakes_kept_sets_bytes",
            "Bytes of the rows of recent filters, at most a quarter of --memory.",
            self.service.snapshots().kept_sets_bytes() as f64,
        );
        families.counter(
            "pinakes_log_lines_lost_total",
            "Log lines dropped because standard error was read too slowly or a write failed.",
            (self.dropped_lines)() as f64,
        );
        families.counter(
            "pinakes_log_lines_left_out_total",
            "Log lines of refused and uncounted requests beyond --refused-lines.",
            self.service.left_out_lines() as f64,
        );
    }
}

/// Adds the counters of all event kinds.
fn collect_events(families: &Families) {
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

/// Adds the use of the limits; adds nothing if limits are off.
fn collect_limits(gate: &Gate, families: &Families) {
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
