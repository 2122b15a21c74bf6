//! Throughput of a mirror that has all requested chunks, in turn with a server of the complete snapshot.

use std::path::Path;

use crate::{
    Result,
    mirror::publication::Published,
    serve::{Client, Server},
    served::{workloads::Workload, wrk},
};

/// Pairs of runs, and seconds of a run.
const PAIRS: usize = 7;
const SECONDS: u32 = 2;
/// The workloads that are measured: a record, a page and a completion.
const MEASURED: [usize; 3] = [0, 2, 7];

/// Prints the medians of both servers, and the median of the ratios of the pairs.
pub fn run(published: &Published, workloads: &[Workload], dir: &Path) -> Result<()> {
    println!(
        "warm, {} connections, {PAIRS} pairs of {SECONDS} s in turn: requests/s of the mirror and of the complete \
         snapshot, and the median ratio of the pairs (the least, the greatest)",
        wrk::CONNECTIONS
    );
    let mirror = published.empty_mirror(&published.host.url(), &[])?;
    let complete = Server::pinakes(&published.snapshots)?;
    let script = dir.join("paths.lua");
    for workload in MEASURED.map(|at| &workloads[at]) {
        let paths = &workload.paths;
        for server in [&mirror, &complete] {
            let mut client = Client::connect(&server.address)?;
            paths.iter().try_for_each(|path| client.get(path).map(drop))?;
        }
        published.host.take_sent_bytes();
        let mut pairs = Vec::new();
        for pair in 0..PAIRS {
            let load = |server: &Server| wrk::run(&server.address, paths, SECONDS, &script);
            // Each begins in turn.
            let (mirrored, whole) = if pair % 2 == 0 {
                let mirrored = load(&mirror)?;
                (mirrored, load(&complete)?)
            } else {
                let whole = load(&complete)?;
                (load(&mirror)?, whole)
            };
            pairs.push([mirrored, whole].map(|of| of.requests_per_second));
        }
        if published.host.sent_bytes() > 0 {
            return Err("the warm mirror fetched".into());
        }
        let [mirrored, _, _] = ordered(pairs.iter().map(|[mirrored, _]| *mirrored));
        let [whole, _, _] = ordered(pairs.iter().map(|[_, whole]| *whole));
        let [ratio, least, most] = ordered(pairs.iter().map(|[mirrored, whole]| mirrored / whole));
        println!(
            "  {:<26} {mirrored:>8.0} {whole:>8.0} {ratio:>6.2} ({least:.2}, {most:.2})",
            workload.name
        );
    }
    Ok(())
}

/// The median, the least and the greatest.
fn ordered(numbers: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    [numbers[numbers.len() / 2], numbers[0], numbers[numbers.len() - 1]]
}
