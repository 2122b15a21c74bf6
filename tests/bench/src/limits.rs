//! Measures the cost of a request's limits and metrics in this process.
//!
//! Three measurements: the rate limiter alone, the whole gate before the routes, and the request metrics.

use std::{net::IpAddr, time::Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, request::Parts};
use pinakes_answer::{charge, find};
use pinakes_server::parts::{
    ClientResolver, ForwardingHeader, Gate, Limits, Peer, RateLimiter, SystemClock, Traffic,
};

use crate::{Result, process::anonymous_bytes};

/// Clients that the rate limiter counts exactly.
const CLIENTS_MAX: u32 = 1_000_000;
/// Requests in a round.
const REQUESTS: u64 = 10_000_000;
/// Ceiling of the gate, in nanoseconds a request.
const GATE_CEILING_NANOS: f64 = 1_000.0;
/// Ceiling of the request metrics, in nanoseconds a request.
const METRICS_CEILING_NANOS: f64 = 200.0;

/// Measures the rate limiter with 1, 1,000,000 and 10,000,000 clients, then the gate and the metrics.
pub fn run() -> Result<()> {
    let before = anonymous_bytes()?;
    let counters = counters();
    let after = anonymous_bytes()?;
    // The counts of one server are ready at once, so that the runtime polls each future once.
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    println!("\nlimits: {} bytes for {CLIENTS_MAX} clients", after.saturating_sub(before));
    for clients in [1, u64::from(CLIENTS_MAX), 10 * u64::from(CLIENTS_MAX)] {
        let begun = Instant::now();
        let mut slowest = 0.0f64;
        runtime.block_on(async {
            for request in 0..REQUESTS {
                // Spreads the keys as a hash of addresses would.
                let client = (request % clients).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                if request % 64 == 0 {
                    let started = Instant::now();
                    counters.count(client, None).await;
                    slowest = slowest.max(started.elapsed().as_secs_f64());
                } else {
                    counters.count(client, None).await;
                }
            }
        });
        let nanos = begun.elapsed().as_nanos() as f64 / REQUESTS as f64;
        let mark = if nanos > GATE_CEILING_NANOS { " OVER" } else { "" };
        println!(
            "  {clients:>10} clients: {nanos:.0} ns a request, ceiling {GATE_CEILING_NANOS:.0}{mark}; slowest of \
             every 64th {:.0} µs; memory growth {} bytes",
            slowest * 1e6,
            anonymous_bytes()?.saturating_sub(after)
        );
    }
    measure_gate()?;
    measure_metrics()
}

/// Measures the request metrics with one thread, and with two threads that update the same counters.
fn measure_metrics() -> Result<()> {
    let traffic = Traffic::new();
    let route = find("/outputs/HX_W2741809807");
    let mut response = http::Response::new(Bytes::from_static(b"{}"));
    for name in
        ["content-type", "etag", "vary", "cache-control", "x-snapshot-id", "content-encoding"]
    {
        response.headers_mut().insert(name, HeaderValue::from_static("zstd"));
    }
    for threads in [1, 2] {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..REQUESTS / 10 {
                        traffic.begin(route).end(&response);
                    }
                });
            }
        });
        let nanos = begun.elapsed().as_nanos() as f64 / (REQUESTS / 10) as f64;
        let mark = if nanos > METRICS_CEILING_NANOS { " OVER" } else { "" };
        println!(
            "  metrics, {threads} threads: {nanos:.0} ns a request on each thread, ceiling \
             {METRICS_CEILING_NANOS:.0}{mark}"
        );
    }
    Ok(())
}

fn counters() -> RateLimiter {
    let limits = Limits {
        minute: 30,
        pages: u32::MAX,
        free: 1_200,
        daily: [500, 50, 6_000],
        pool: [10_000, 1_000, 120_000],
        network_pool: [2_500, 250, 30_000],
        clients_max: CLIENTS_MAX,
    };
    RateLimiter::new(limits, Box::new(SystemClock::new()))
}

/// Measures the gate: client address from a proxy's header, cost class, counting and the reply's headers.
fn measure_gate() -> Result<()> {
    let proxy: IpAddr = "10.0.0.1".parse()?;
    let trusted = vec!["10.0.0.0/8".parse()?];
    let clients =
        ClientResolver { trusted, header: ForwardingHeader::XForwardedFor, exempt: Vec::new() };
    let gate = Gate::new(clients, Some(counters()), None);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    for target in ["/outputs/HX_W2741809807", "/outputs?filter=is_oa:true&per_page=100"] {
        let heads: Vec<Parts> = (0..1_000u32)
            .map(|client| {
                let forwarded = format!("192.0.2.1, 198.51.{}.{}", client / 256, client % 256);
                let request = http::Request::get(target).header("x-forwarded-for", forwarded);
                let (mut head, ()) = request.body(())?.into_parts();
                head.extensions.insert(Peer::Known(proxy));
                Ok(head)
            })
            .collect::<Result<_>>()?;
        // A reply has a content type before the gate adds its headers.
        let mut headers = HeaderMap::with_capacity(16);
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let begun = Instant::now();
        // Embedded counters are ready at once, so that the runtime polls one future once.
        runtime.block_on(async {
            for request in 0..REQUESTS / 10 {
                let head = &heads[request as usize % heads.len()];
                let charge = charge(&head.method, find(head.uri.path()));
                gate.admit(head, charge).await.write(&mut headers);
            }
        });
        let nanos = begun.elapsed().as_nanos() as f64 / (REQUESTS / 10) as f64;
        let mark = if nanos > GATE_CEILING_NANOS { " OVER" } else { "" };
        println!(
            "  the gate, {target}: {nanos:.0} ns a request, ceiling {GATE_CEILING_NANOS:.0}{mark}"
        );
    }
    Ok(())
}
