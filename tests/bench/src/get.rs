//! One record over a keep-alive connection, against a bare warp handler with the same bytes.

use std::{path::Path, time::Instant};

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::Snapshot;

use crate::{
    Result,
    serve::{Client, Server, bare_path},
};

/// Rounds of each, in turn.
const ROUNDS: usize = 7;
/// Requests in a round.
const REQUESTS: usize = 20_000;

/// Measures both in turn and prints the medians.
pub fn run(snapshots: &Path, dir: &Path) -> Result<()> {
    let snapshot = Snapshot::open(&snapshots.join("current").canonicalize()?)?;
    let mut path = b"/outputs/".to_vec();
    let row = snapshot.count(Entity::Output) / 2;
    Entity::Output.write_id(snapshot.row_id(Entity::Output, row)?, &mut path);
    let path = String::from_utf8(path)?;

    let ours = Server::ours(snapshots)?;
    let body = Client::connect(&ours.address)?.get(&path)?.to_vec();
    let file = dir.join("record.json");
    std::fs::write(&file, &body)?;
    let bare = Server::bare(&[file])?;
    // None is refused, and all are counted.
    let limited = Server::ours_with(snapshots, &["--minute-limit", &u32::MAX.to_string()])?;

    let (mut own, mut counted, mut ceiling) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        own.push(round(&ours.address, &path, body.len())?);
        counted.push(round(&limited.address, &path, body.len())?);
        ceiling.push(round(&bare.address, &bare_path(0), body.len())?);
    }
    let [own, counted, ceiling] = [own, counted, ceiling].map(|mut rounds| {
        rounds.sort_by(f64::total_cmp);
        rounds[ROUNDS / 2]
    });
    println!(
        "\nGET {path}, {} bytes, one keep-alive connection, median of {ROUNDS} rounds",
        body.len()
    );
    println!(
        "  pinakes-server {own:.0} requests/s; bare warp handler {ceiling:.0} requests/s; ratio {:.2}",
        own / ceiling
    );
    println!(
        "  with limits {counted:.0} requests/s; ratio to the bare handler {:.2}, to none {:.2}",
        counted / ceiling,
        counted / own
    );
    Ok(())
}

/// Requests a second over one connection.
fn round(address: &str, path: &str, expected_bytes: usize) -> Result<f64> {
    let mut client = Client::connect(address)?;
    let begun = Instant::now();
    for _ in 0..REQUESTS {
        if client.get(path)?.len() != expected_bytes {
            return Err("an answer of another length".into());
        }
    }
    Ok(REQUESTS as f64 / begun.elapsed().as_secs_f64())
}
