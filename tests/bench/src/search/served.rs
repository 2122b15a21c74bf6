//! Searches of three words over HTTP: warm with 32 connections, and cold.

use super::{Generated, queries::Draw, speed::Inputs};
use crate::{
    Result,
    serve::Server,
    served::{cold, workloads::Workload, wrk},
};

/// Requests of the workload.
const REQUESTS: usize = 2_000;
/// Number of rounds, and seconds of a round. The benchmark prints the median round.
const ROUNDS: usize = 3;
const SECONDS: u32 = 3;

/// Measures warm throughput: requests a second and latency.
pub fn run(generated: &Generated) -> Result<()> {
    let Generated { outputs, dir, .. } = generated;
    let (inputs, workload) = three_words(generated)?;
    let server = Server::pinakes(&inputs.snapshots)?;
    let script = dir.join("paths.lua");
    let mut loads = (0..ROUNDS)
        .map(|_| wrk::run(&server.address, &workload.paths, SECONDS, &script))
        .collect::<Result<Vec<_>>>()?;
    loads.sort_by(|a, b| a.requests_per_second.total_cmp(&b.requests_per_second));
    let load = loads[ROUNDS / 2];
    println!(
        "\n{outputs} outputs, {}, {} connections: {:.0} requests/s (aim 4,000), p50 {:.1} ms, p99 {:.1} ms (aim 25)",
        workload.name,
        wrk::CONNECTIONS,
        load.requests_per_second,
        load.p50,
        load.p99
    );
    Ok(())
}

/// Counts cold reads of searches (aims: 400 KiB in 40 reads at 1,000,000 outputs).
pub fn run_cold(generated: &Generated) -> Result<()> {
    let (inputs, workload) = three_words(generated)?;
    println!("\n{} outputs", generated.outputs);
    cold::run(&inputs.snapshots, &[workload])
}

/// The searches of the generated outputs, and the snapshot that they search.
pub fn three_words(generated: &Generated) -> Result<(Inputs, Workload)> {
    let Generated { outputs, dir, memory } = generated;
    let inputs = Inputs::generate(*outputs, dir)?;
    let engine = inputs.open(*outputs, memory)?;
    let searches = Draw::new(&inputs.texts, &engine, *outputs).three_words(REQUESTS)?;
    let path = |search: String| format!("/outputs?search={}&per_page=10", search.replace(' ', "+"));
    let paths = searches.into_iter().map(path).collect();
    Ok((inputs, Workload { name: "search, three words", paths }))
}
