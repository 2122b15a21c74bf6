//! Requests for records by Zipf's law, of a mirror whose disk has room for a part of the snapshot.

use std::time::Duration;

use pinakes_tests::slow_link::SlowLink;

use crate::{Result, mirror::publication::Published, serve::Client, served::workloads::Workload};

/// Requests of both groups.
pub const REQUESTS: usize = 20_000;
/// The room of the mirror, in percent of the snapshot.
const CACHE_PERCENT: u64 = 5;
/// A link that only counts.
const BYTES_PER_SECOND: u64 = 1 << 40;

/// Sends the requests one after another, and prints the share that needed nothing from the host.
pub fn run(published: &Published, workload: &Workload) -> Result<()> {
    let snapshot_bytes = published.bytes()?;
    let cache_bytes = snapshot_bytes * CACHE_PERCENT / 100;
    let link = SlowLink::new(&published.host.url(), Duration::ZERO, BYTES_PER_SECOND);
    let mirror = published.empty_mirror(&link.url(), &["--cache", &cache_bytes.to_string()])?;
    let mut client = Client::connect(&mirror.address)?;
    println!(
        "records by popularity, {:.0} MB on the disk, {CACHE_PERCENT} % of the snapshot",
        cache_bytes as f64 / 1e6
    );
    for (paths, which) in workload.paths.chunks(REQUESTS / 2).zip(["first", "next"]) {
        link.take_counts();
        let (mut answered, mut bytes) = (0, 0);
        for path in paths {
            client.get(path)?;
            let counts = link.take_counts();
            answered += usize::from(counts.requests == 0);
            bytes += counts.bytes;
            // The log of the host.
            published.host.take_sent_bytes();
        }
        println!(
            "  {which} {} requests: {:.1} % without a fetch, {:.0} MB fetched",
            paths.len(),
            answered as f64 / paths.len() as f64 * 100.0,
            bytes as f64 / 1e6
        );
    }
    Ok(())
}
