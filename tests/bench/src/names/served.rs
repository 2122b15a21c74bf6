//! Measures autocompletion over keep-alive connections, and the same bytes from a bare warp handler.

use std::{path::Path, time::Instant};

use super::{
    engine::ROUTE,
    queries::{Group, sample},
    times::median,
};
use crate::{
    Result,
    serve::{Client, Server, bare_path},
};

/// Rounds for each server; the servers take turns.
const ROUNDS: usize = 7;
/// Concurrent connections of a round.
const CONNECTIONS: usize = 4;
/// Requests over each connection in a round.
const REQUESTS: usize = 5_000;
/// Queries of a group.
const QUERIES: usize = 16;

/// A path, and the length of its reply in bytes.
type Target = (String, usize);

/// Measures both servers in turn, group by group, and prints the medians.
pub fn run(snapshots: &Path, groups: &[Group], dir: &Path) -> Result<()> {
    println!(
        "\nGET {ROUTE}… in requests/s, {CONNECTIONS} keep-alive connections, median of {ROUNDS} rounds"
    );
    let server = Server::pinakes(snapshots)?;
    for group in groups {
        run_group(&server, group, dir)?;
    }
    Ok(())
}

fn run_group(server: &Server, group: &Group, dir: &Path) -> Result<()> {
    let mut client = Client::connect(&server.address)?;
    let (mut targets, mut bare_targets, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for (number, query) in sample(&group.queries, QUERIES).enumerate() {
        let path = format!("{ROUTE}{}", query.replace(' ', "%20"));
        let body = client.get(&path)?;
        let file = dir.join(format!("candidates-{number}.json"));
        std::fs::write(&file, body)?;
        targets.push((path, body.len()));
        bare_targets.push((bare_path(number), body.len()));
        files.push(file);
    }
    drop(client);
    let bare = Server::bare(&files)?;
    let (mut pinakes, mut ceiling) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        pinakes.push(round(&server.address, &targets)?);
        ceiling.push(round(&bare.address, &bare_targets)?);
    }
    let (pinakes, ceiling) = (median(&mut pinakes), median(&mut ceiling));
    let bytes: usize = targets.iter().map(|(_, bytes)| bytes).sum();
    println!(
        "  {:<24} {} queries, {} bytes on average: pinakes-server {pinakes:.0}, bare warp handler \
         {ceiling:.0}, ratio {:.2}",
        group.title,
        targets.len(),
        bytes / targets.len().max(1),
        pinakes / ceiling
    );
    Ok(())
}

/// Runs one round; requests a second over all connections.
fn round(address: &str, targets: &[Target]) -> Result<f64> {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|number| scope.spawn(move || send_requests(address, targets, number)))
            .collect();
        clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked")?)
    })?;
    Ok((CONNECTIONS * REQUESTS) as f64 / begun.elapsed().as_secs_f64())
}

/// Sends one connection's requests; each connection starts at another target.
fn send_requests(address: &str, targets: &[Target], number: usize) -> Result<()> {
    let mut client = Client::connect(address)?;
    let from = number * targets.len() / CONNECTIONS;
    for (path, bytes) in targets.iter().cycle().skip(from).take(REQUESTS) {
        if client.get(path)?.len() != *bytes {
            return Err(format!("{path}: the reply has another length than the first reply").into());
        }
    }
    Ok(())
}
