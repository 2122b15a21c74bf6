//! Metrics in Prometheus' text format.
//!
//! [`crate::serve::traffic`] counts requests, and [`crate::event_counts`] counts rare events. All other
//! values are read when an operator asks for metrics. Label values come from closed sets; no label holds
//! text of a client.

pub(crate) mod events;
pub(crate) mod family;
pub(crate) mod limits;
pub(crate) mod process;
pub(crate) mod snapshot;

use std::{sync::Arc, time::SystemTime};

use prometheus::TextEncoder;

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
        events::collect(&families);
        limits::collect(self.service.gate(), &families);
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
