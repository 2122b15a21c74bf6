//! What the server tells of itself to whoever watches it, in Prometheus' text format.
//!
//! The service counts requests as they come; [`crate::event_counts`] counts rare events. All else is
//! looked at when it is asked for. Labels are of closed sets: nothing a client sent is among them.

pub(crate) mod events;
pub(crate) mod family;
pub(crate) mod limits;
pub(crate) mod process;
pub(crate) mod snapshot;

use std::{sync::Arc, time::SystemTime};

use prometheus::TextEncoder;

use crate::net::limiter::ConnectionLimiter;
use crate::ops::log::DroppedLines;
use crate::ops::metrics::family::{Families, Kind};
use crate::service::Service;

/// All there is to look at.
pub struct Metrics {
    service: Arc<Service>,
    places: Arc<ConnectionLimiter>,
    lost: DroppedLines,
    started: SystemTime,
}

impl Metrics {
    /// Those of a server that starts now.
    pub fn new(
        service: Arc<Service>,
        places: Arc<ConnectionLimiter>,
        lost: DroppedLines,
    ) -> Metrics {
        Metrics { service, places, lost, started: SystemTime::now() }
    }

    /// What is served.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// All of them as text, each family after its name.
    ///
    /// Cost: under a millisecond; a word is read for each 4 MiB of the snapshot.
    pub fn text(&self) -> String {
        let mut families = Families::default();
        families.one(
            "pinakes_build_info",
            "The version of the program; always 1.",
            Kind::Gauge,
            &[("version", env!("CARGO_PKG_VERSION"))],
            1.0,
        );
        self.connections(&mut families);
        events::collect(&mut families);
        limits::collect(self.service.gate(), &mut families);
        snapshot::collect(self.service.library(), &mut families);
        process::collect(self.started, &mut families);
        let all = families.with(self.service.traffic().gather());
        // Each has a name and samples of its own kind, which is all that could be wrong.
        TextEncoder::new().encode_to_string(&all).unwrap_or_default()
    }

    fn connections(&self, families: &mut Families) {
        let places = &self.places;
        let (open, max) = places.usage();
        families.gauge("pinakes_connections_open", "Connections that are open.", open.into());
        families.gauge("pinakes_connections_max", "Connections at a time.", max.into());
        let [of_all, of_client] = places.refused();
        families.counters(
            "pinakes_connections_refused_total",
            "Connections closed at once: the server, or their client, had enough.",
            "cap",
            [("server", of_all), ("client", of_client)],
        );
        families.gauge(
            "pinakes_replies_held_bytes",
            "Bytes of large replies that wait for their clients to take them.",
            self.service.unsent_bytes() as f64,
        );
        families.counter(
            "pinakes_log_lines_lost_total",
            "Lines of the log that nobody took in time.",
            (self.lost)(),
        );
    }
}
