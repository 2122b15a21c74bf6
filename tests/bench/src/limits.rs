//! What counting a request costs, in this process, and what memory it takes.

use std::time::Instant;

use pinakes_server::limits::{Counters, Limits, System};

use crate::{Result, process::anonymous_bytes};

/// Clients that are counted exactly.
const CLIENTS_MAX: u32 = 1_000_000;
/// Requests of a round.
const REQUESTS: u64 = 10_000_000;
/// The ceiling of the gate, in nanoseconds a request.
const CEILING_NANOS: f64 = 1_000.0;

/// Counts requests of one client, of as many as fit, and of ten times as many.
pub fn run() -> Result<()> {
    let limits =
        Limits { minute: 30, daily: [500, 50], pool: [10_000, 1_000], clients_max: CLIENTS_MAX };
    let before = anonymous_bytes()?;
    let counters = Counters::new(limits, Box::new(System::new()));
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
    Ok(())
}
