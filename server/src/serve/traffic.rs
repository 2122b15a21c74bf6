//! Request metrics: counts by route and status, durations, bytes, codings and refusals by limits.
//!
//! Looking up a labelled counter in `prometheus` takes a lock. A table keeps each counter after its first
//! request, so that later requests only add to an atomic.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{StatusCode, header};
use pinakes_answer::{Coding, Matched, QuotaClass, Route, routes};
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    proto::MetricFamily,
};

use crate::admission::limits::Refusal;

/// Statuses with their own label, including [`STATUS_LEFT`]; other statuses share the label `other`.
const STATUSES: [u16; 18] =
    [200, 304, 404, 400, 429, 503, 300, 301, 303, 204, 405, 408, 413, 414, 415, 431, 499, 500];
/// The status counted when the client disconnects before the reply.
const STATUS_LEFT: u16 = 499;
/// Upper bounds of the buckets of the duration histogram, in seconds.
const SECONDS: [f64; 18] = [
    10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3,
    250e-3, 500e-3, 1.0, 2.5, 5.0,
];
/// Labels of the limits, indexed by [`limit_number`].
const LIMITS: [&str; 9] = [
    "minute",
    "day_list",
    "day_search",
    "day_browse",
    "pool_list",
    "pool_search",
    "pool_browse",
    "free",
    "minute_browse",
];

/// Counters of all requests.
pub struct Traffic {
    registry: Registry,
    requests: IntCounterVec,
    /// Cached counters by route, unknown paths first, and by status; the last is `other`.
    by_status: Vec<[OnceLock<IntCounter>; STATUSES.len() + 1]>,
    seconds: HistogramVec,
    /// Cached histograms by route.
    by_route: Vec<OnceLock<Histogram>>,
    in_flight: IntGauge,
    body_bytes: IntCounter,
    codings: [IntCounter; Coding::COUNT],
    limited: [IntCounter; LIMITS.len()],
}

/// A request without a reply yet; dropping this before [`RequestInProgress::end`] counts a disconnected client.
pub struct RequestInProgress<'t> {
    traffic: &'t Traffic,
    route: Option<&'static Route>,
    begun: Instant,
    is_ended: bool,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic::new()
    }
}

impl Traffic {
    /// Registers all metrics, with zero counts.
    pub fn new() -> Traffic {
        const UNIQUE: &str = "names and labels are constants, each used once";
        let registry = Registry::new();
        let requests = IntCounterVec::new(
            Opts::new("pinakes_http_requests_total", "Requests, by route and status."),
            &["route", "status"],
        );
        let seconds = HistogramVec::new(
            HistogramOpts::new(
                "pinakes_http_request_duration_seconds",
                "Seconds from a request's head to its reply, by route; without clients that disconnected.",
            )
            .buckets(SECONDS.to_vec()),
            &["route"],
        );
        let in_flight = IntGauge::new("pinakes_http_requests_in_flight", "Requests in progress.");
        let body_bytes = IntCounter::new(
            "pinakes_http_response_body_bytes_total",
            "Bytes of reply bodies, as sent.",
        );
        let codings = IntCounterVec::new(
            Opts::new("pinakes_http_responses_coded_total", "Replies with status 200, by coding."),
            &["coding"],
        );
        let limited = IntCounterVec::new(
            Opts::new("pinakes_limit_refusals_total", "Requests answered 429, by limit."),
            &["limit"],
        );
        let (requests, seconds) = (requests.expect(UNIQUE), seconds.expect(UNIQUE));
        let (in_flight, body_bytes) = (in_flight.expect(UNIQUE), body_bytes.expect(UNIQUE));
        let (codings, limited) = (codings.expect(UNIQUE), limited.expect(UNIQUE));
        registry.register(Box::new(requests.clone())).expect(UNIQUE);
        registry.register(Box::new(seconds.clone())).expect(UNIQUE);
        registry.register(Box::new(in_flight.clone())).expect(UNIQUE);
        registry.register(Box::new(body_bytes.clone())).expect(UNIQUE);
        registry.register(Box::new(codings.clone())).expect(UNIQUE);
        registry.register(Box::new(limited.clone())).expect(UNIQUE);
        // The first number counts the paths without a route.
        let routes = 1 + routes().len();
        Traffic {
            registry,
            requests,
            by_status: (0..routes).map(|_| [const { OnceLock::new() }; _]).collect(),
            seconds,
            by_route: (0..routes).map(|_| OnceLock::new()).collect(),
            in_flight,
            body_bytes,
            codings: Coding::ALL.map(|coding| codings.with_label_values(&[coding.name()])),
            limited: LIMITS.map(|limit| limited.with_label_values(&[limit])),
        }
    }

    /// Counts a request in progress, and starts its clock.
    pub fn begin(&self, matched: Option<Matched>) -> RequestInProgress<'_> {
        self.in_flight.inc();
        let route = matched.map(|matched| matched.route);
        RequestInProgress { traffic: self, route, begun: Instant::now(), is_ended: false }
    }

    /// Counts the bytes of a body in pieces.
    pub fn count_body_bytes(&self, bytes: u64) {
        self.body_bytes.inc_by(bytes);
    }

    /// Counts a request that a limit refused.
    pub fn refuse(&self, refusal: Refusal) {
        self.limited[limit_number(refusal)].inc();
    }

    /// The metric families with their current values.
    pub fn gather(&self) -> Vec<MetricFamily> {
        self.registry.gather()
    }

    fn count(&self, route: Option<&Route>, status: u16) {
        let at = STATUSES.iter().position(|known| *known == status).unwrap_or(STATUSES.len());
        let counter = self.by_status[number(route)][at].get_or_init(|| {
            let status = STATUSES.get(at).map_or_else(|| "other".to_owned(), u16::to_string);
            self.requests.with_label_values(&[label(route), &status])
        });
        counter.inc();
    }

    fn observe(&self, route: Option<&Route>, taken: Duration) {
        let histogram = self.by_route[number(route)]
            .get_or_init(|| self.seconds.with_label_values(&[label(route)]));
        histogram.observe(taken.as_secs_f64());
    }
}

impl RequestInProgress<'_> {
    /// Counts the reply.
    pub fn end(mut self, response: &http::Response<Bytes>) {
        self.is_ended = true;
        let traffic = self.traffic;
        traffic.count(self.route, response.status().as_u16());
        traffic.observe(self.route, self.begun.elapsed());
        traffic.body_bytes.inc_by(response.body().len() as u64);
        if response.status() == StatusCode::OK {
            let sent = response.headers().get(header::CONTENT_ENCODING);
            let coding = sent.and_then(|sent| {
                Coding::ALL.into_iter().find(|coding| coding.name().as_bytes() == sent.as_bytes())
            });
            traffic.codings[coding.unwrap_or(Coding::Identity) as usize].inc();
        }
    }
}

impl Drop for RequestInProgress<'_> {
    fn drop(&mut self) {
        self.traffic.in_flight.dec();
        if !self.is_ended {
            self.traffic.count(self.route, STATUS_LEFT);
        }
    }
}

/// The number of a route among the labels; unknown paths come first.
fn number(route: Option<&Route>) -> usize {
    route.map_or(0, |route| route.number() + 1)
}

fn label(route: Option<&Route>) -> &str {
    route.map_or("none", Route::label)
}

fn limit_number(refusal: Refusal) -> usize {
    match refusal {
        Refusal::Minute => 0,
        Refusal::Day(class) => 1 + class as usize,
        Refusal::Pool(class) => 1 + QuotaClass::COUNT + class as usize,
        Refusal::Free(_) => 1 + 2 * QuotaClass::COUNT,
        Refusal::Pages(_) => 2 + 2 * QuotaClass::COUNT,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use prometheus::TextEncoder;

    use super::*;
    use pinakes_answer::find;

    fn response(
        status: u16,
        coding: Option<&'static str>,
        body: &'static str,
    ) -> http::Response<Bytes> {
        let mut response = http::Response::builder().status(status);
        if let Some(coding) = coding {
            response = response.header(header::CONTENT_ENCODING, coding);
        }
        response.body(Bytes::from_static(body.as_bytes())).unwrap()
    }

    #[test]
    fn each_request_is_counted_once_under_its_route_and_status() {
        let traffic = Traffic::new();
        let begin = |path: &str| traffic.begin(find(path));
        begin("/authors/HX_A1").end(&response(200, Some("br"), "12"));
        begin("/authors/HX_A2").end(&response(404, None, "345"));
        begin("/a/b/c?d").end(&response(404, None, ""));
        begin("/topics").end(&response(599, None, ""));
        drop(begin("/authors"));
        let open = begin("/");
        traffic.refuse(Refusal::Pool(QuotaClass::Search));
        let text = TextEncoder::new().encode_to_string(&traffic.gather()).unwrap();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.ends_with(" 0"))
            .filter(|line| !line.contains("_bucket") && !line.contains("_sum"))
            .collect();
        let expected = [
            r#"pinakes_http_request_duration_seconds_count{route="/authors/{id}"} 2"#,
            r#"pinakes_http_request_duration_seconds_count{route="/topics"} 1"#,
            r#"pinakes_http_request_duration_seconds_count{route="none"} 1"#,
            r#"pinakes_http_requests_in_flight 1"#,
            r#"pinakes_http_requests_total{route="/authors",status="499"} 1"#,
            r#"pinakes_http_requests_total{route="/authors/{id}",status="200"} 1"#,
            r#"pinakes_http_requests_total{route="/authors/{id}",status="404"} 1"#,
            r#"pinakes_http_requests_total{route="/topics",status="other"} 1"#,
            r#"pinakes_http_requests_total{route="none",status="404"} 1"#,
            r#"pinakes_http_response_body_bytes_total 5"#,
            r#"pinakes_http_responses_coded_total{coding="br"} 1"#,
            r#"pinakes_limit_refusals_total{limit="pool_search"} 1"#,
        ];
        assert_eq!(lines, expected);
        drop(open);
    }
}
