//! What the gate costs a request, in this process: counting alone, and all that stands before the routes;
//! and what is counted of it for whoever watches the server.

use std::{net::IpAddr, time::Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, request::Parts};
use pinakes_server::parts::{
    ClientResolver, ForwardingHeader, Gate, Limits, Peer, RateLimiter, SystemClock, Template,
    Traffic, charge, find,
};

use crate::{Result, process::anonymous_bytes};

/// Clients that are counted exactly.
const CLIENTS_MAX: u32 = 1_000_000;
/// Requests of a round.
const REQUESTS: u64 = 10_000_000;
/// The ceiling of the gate, in nanoseconds a request.
const CEILING_NANOS: f64 = 1_000.0;
/// The ceiling of what is counted for whoever watches.
const WATCHING_CEILING_NANOS: f64 = 200.0;

/// Counts requests of one client, of as many as fit, and of ten times as many.
pub fn run() -> Result<()> {
    let before = anonymous_bytes()?;
    let counters = counters();
    let held = anonymous_bytes()?;
    println!("\nlimits: {} bytes for {CLIENTS_MAX} clients", held.saturating_sub(before));
    for clients in [1, u64::from(CLIENTS_MAX), 10 * u64::from(CLIENTS_MAX)] {
        let begun = Instant::now();
        let mut slowest = 0.0f64;
        for request in 0..REQUESTS {
            // Spread over the keys, as addresses are.
            let client = (request % clients).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if request % 64 == 0 {
                let one = Instant::now();
                counters.count(client, None);
                slowest = slowest.max(one.elapsed().as_secs_f64());
            } else {
                counters.count(client, None);
            }
        }
        let nanos = begun.elapsed().as_nanos() as f64 / REQUESTS as f64;
        let mark = if nanos > CEILING_NANOS { " OVER" } else { "" };
        println!(
            "  {clients:>10} clients: {nanos:.0} ns a request, ceiling {CEILING_NANOS:.0}{mark}; slowest of \
             every 64th {:.0} µs; memory {} bytes more than at first",
            slowest * 1e6,
            anonymous_bytes()?.saturating_sub(held)
        );
    }
    gate()?;
    watching()
}

/// What is counted of each request for whoever watches: by one thread, and by two at the same places.
fn watching() -> Result<()> {
    let traffic = Traffic::new();
    let route = Template::of(find("/outputs/HX_W2741809807"));
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
        let mark = if nanos > WATCHING_CEILING_NANOS { " OVER" } else { "" };
        println!(
            "  metrics, {threads} threads: {nanos:.0} ns a request of each, ceiling \
             {WATCHING_CEILING_NANOS:.0}{mark}"
        );
    }
    Ok(())
}

fn counters() -> RateLimiter {
    let limits =
        Limits { minute: 30, daily: [500, 50], pool: [10_000, 1_000], clients_max: CLIENTS_MAX };
    RateLimiter::new(limits, Box::new(SystemClock::new()))
}

/// Who asks, what it counts as, counting it and telling it: of clients that a proxy names.
fn gate() -> Result<()> {
    let proxy: IpAddr = "10.0.0.1".parse()?;
    let trusted = vec!["10.0.0.0/8".parse()?];
    let clients =
        ClientResolver { trusted, header: ForwardingHeader::XForwardedFor, exempt: Vec::new() };
    let gate = Gate::new(clients, Some(counters()), None);
    for target in ["/outputs/HX_W2741809807", "/outputs?filter=is_oa:true&per_page=100"] {
        let heads: Vec<Parts> = (0..1_000u32)
            .map(|client| {
                let named = format!("192.0.2.1, 198.51.{}.{}", client / 256, client % 256);
                let request = http::Request::get(target).header("x-forwarded-for", named);
                let (mut head, ()) = request.body(())?.into_parts();
                head.extensions.insert(Peer::Known(proxy));
                Ok(head)
            })
            .collect::<Result<_>>()?;
        // What a response has before its limits are told.
        let mut headers = HeaderMap::with_capacity(16);
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let begun = Instant::now();
        for request in 0..REQUESTS / 10 {
            let head = &heads[request as usize % heads.len()];
            let admission = gate.admit(head, charge(&head.method, find(head.uri.path())));
            admission.write(&mut headers);
        }
        let nanos = begun.elapsed().as_nanos() as f64 / (REQUESTS / 10) as f64;
        let mark = if nanos > CEILING_NANOS { " OVER" } else { "" };
        println!("  the gate, {target}: {nanos:.0} ns a request, ceiling {CEILING_NANOS:.0}{mark}");
    }
    Ok(())
}
