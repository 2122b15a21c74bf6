//! Requests one record over a keep-alive connection, and the same bytes from a bare warp handler.

use std::{path::Path, time::Instant};

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::Snapshot;

use crate::{
    Result,
    serve::{Client, Server, bare_path},
};

/// Rounds for each server; the servers take turns.
const ROUNDS: usize = 7;
/// Requests in a round.
const REQUESTS: usize = 20_000;

/// Measures three servers in turn and prints the medians: without limits, with limits, bare handler.
pub fn run(snapshots: &Path, dir: &Path) -> Result<()> {
    let snapshot = Snapshot::open(&snapshots.join("current").canonicalize()?)?;
    let mut path = b"/outputs/".to_vec();
    let row = snapshot.count(Entity::Output) / 2;
    Entity::Output.write_id(snapshot.row_id(Entity::Output, row)?, &mut path);
    let path = String::from_utf8(path)?;

    let server = Server::pinakes(snapshots)?;
    let body = Client::connect(&server.address)?.get(&path)?.to_vec();
    let file = dir.join("record.json");
    std::fs::write(&file, &body)?;
    let bare = Server::bare(&[file])?;
    // This server counts every request and refuses none.
    let limited_server =
        Server::pinakes_with(snapshots, &["--minute-limit", &u32::MAX.to_string()])?;

    let (mut unlimited, mut limited, mut ceiling) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        unlimited.push(round(&server.address, &path, body.len())?);
        limited.push(round(&limited_server.address, &path, body.len())?);
        ceiling.push(round(&bare.address, &bare_path(0), body.len())?);
    }
    let [unlimited, limited, ceiling] = [unlimited, limited, ceiling].map(|mut rounds| {
        rounds.sort_by(f64::total_cmp);
        rounds[ROUNDS / 2]
    });
    println!(
        "\nGET {path}, {} bytes, one keep-alive connection, median of {ROUNDS} rounds",
        body.len()
    );
    println!(
        "  pinakes-server {unlimited:.0} requests/s; bare warp handler {ceiling:.0} requests/s; ratio {:.2}",
        unlimited / ceiling
    );
    println!(
        "  with limits {limited:.0} requests/s; ratio to the bare handler {:.2}, to no limits {:.2}",
        limited / ceiling,
        limited / unlimited
    );
    Ok(())
}

/// Runs one round over one connection; requests a second.
fn round(address: &str, path: &str, expected_bytes: usize) -> Result<f64> {
    let mut client = Client::connect(address)?;
    let begun = Instant::now();
    for _ in 0..REQUESTS {
        if client.get(path)?.len() != expected_bytes {
            return Err("a reply has another length than the first reply".into());
        }
    }
    Ok(REQUESTS as f64 / begun.elapsed().as_secs_f64())
}
