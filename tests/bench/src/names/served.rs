//! Queries of each group over keep-alive connections, against a bare warp handler with the same bytes.

use std::{path::Path, time::Instant};

use super::{
    engine::ROUTE,
    questions::{Group, sample},
    times::median,
};
use crate::{
    Result,
    serve::{Client, Server, bare_path},
};

/// Rounds of each, in turn.
const ROUNDS: usize = 7;
/// Connections of a round, all at once.
const CONNECTIONS: usize = 4;
/// Requests over each in a round.
const REQUESTS: usize = 5_000;
/// Queries of a group.
const QUERIES: usize = 16;

/// A path, and how many bytes its answer has.
type Target = (String, usize);

/// Measures both in turn, group by group, and prints the medians.
pub fn run(snapshots: &Path, groups: &[Group], dir: &Path) -> Result<()> {
    println!(
        "\nGET {ROUTE}… in requests/s, {CONNECTIONS} keep-alive connections, median of {ROUNDS} rounds"
    );
    let ours = Server::ours(snapshots)?;
    for group in groups {
        run_group(&ours, group, dir)?;
    }
    Ok(())
}

fn run_group(ours: &Server, group: &Group, dir: &Path) -> Result<()> {
    let mut client = Client::connect(&ours.address)?;
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
    let (mut own, mut ceiling) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        own.push(round(&ours.address, &targets)?);
        ceiling.push(round(&bare.address, &bare_targets)?);
    }
    let (own, ceiling) = (median(&mut own), median(&mut ceiling));
    let bytes: usize = targets.iter().map(|(_, bytes)| bytes).sum();
    println!(
        "  {:<24} {} queries, {} bytes on average: pinakes-server {own:.0}, bare warp handler \
         {ceiling:.0}, ratio {:.2}",
        group.title,
        targets.len(),
        bytes / targets.len().max(1),
        own / ceiling
    );
    Ok(())
}

/// Requests a second over all connections.
fn round(address: &str, targets: &[Target]) -> Result<f64> {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|number| scope.spawn(move || ask(address, targets, number)))
            .collect();
        clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked")?)
    })?;
    Ok((CONNECTIONS * REQUESTS) as f64 / begun.elapsed().as_secs_f64())
}

/// One connection's requests, beginning at another target than the others.
fn ask(address: &str, targets: &[Target], number: usize) -> Result<()> {
    let mut client = Client::connect(address)?;
    let from = number * targets.len() / CONNECTIONS;
    for (path, bytes) in targets.iter().cycle().skip(from).take(REQUESTS) {
        if client.get(path)?.len() != *bytes {
            return Err(format!("{path}: an answer of another length").into());
        }
    }
    Ok(())
}
