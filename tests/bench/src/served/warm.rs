//! Warm throughput: every page is in memory, and 32 connections ask as fast as they are answered.
//!
//! The ceiling is a bare warp handler with the same bytes, the peer is nginx with the same bytes as files. The
//! servers take turns, and share the processor with the load generator.

use std::path::{Path, PathBuf};

use crate::{
    Result,
    serve::{Client, Server, bare_path},
    served::{
        nginx::{self, Nginx},
        workloads::Workload,
        wrk::{self, Load},
    },
};

/// Rounds for each server.
const ROUNDS: usize = 3;
const SECONDS: u32 = 3;
/// Paths of a workload whose replies the other servers serve.
const FILES: usize = 300;

/// Measures each workload and prints medians and ratios.
pub fn run(snapshots: &Path, workloads: &[Workload], dir: &Path) -> Result<()> {
    let server = Server::pinakes(snapshots)?;
    let has_nginx = nginx::is_installed();
    println!(
        "\nwarm, {} connections of wrk, {ROUNDS} rounds of {SECONDS} s in turn, median requests/s",
        wrk::CONNECTIONS
    );
    if !has_nginx {
        println!("nginx: skipped, because it is not installed");
    }
    println!(
        "{:<26} {:>7} {:>9} {:>9} {:>9} {:>6} {:>6} {:>8} {:>8}",
        "request", "bytes", "pinakes", "bare", "nginx", "/bare", "/nginx", "p50 ms", "p99 ms"
    );
    for workload in workloads {
        let paths = &workload.paths[..FILES.min(workload.paths.len())];
        let files = dir.join("replies");
        let bytes = save_replies(&server, paths, &files)?;
        let saved: Vec<PathBuf> = (0..paths.len()).map(|at| files.join(at.to_string())).collect();
        let bare = Server::bare(&saved)?;
        let bare_paths: Vec<String> = (0..paths.len()).map(bare_path).collect();
        let nginx = has_nginx.then(|| Nginx::start(&files, dir)).transpose()?;
        let nginx_paths: Vec<String> = (0..paths.len()).map(|at| format!("/{at}")).collect();
        let (mut ours, mut bares, mut nginxes) = (Vec::new(), Vec::new(), Vec::new());
        let script = dir.join("paths.lua");
        for _ in 0..ROUNDS {
            ours.push(wrk::run(&server.address, paths, SECONDS, &script)?);
            bares.push(wrk::run(&bare.address, &bare_paths, SECONDS, &script)?);
            if let Some(nginx) = &nginx {
                nginxes.push(wrk::run(&nginx.address, &nginx_paths, SECONDS, &script)?);
            }
        }
        let (ours, bare) = (median(ours).ok_or("no round")?, median(bares).ok_or("no round")?);
        let nginx = median(nginxes).map_or(f64::NAN, |load| load.requests_per_second);
        let (own, ceiling) = (ours.requests_per_second, bare.requests_per_second);
        println!(
            "{:<26} {bytes:>7} {own:>9.0} {ceiling:>9.0} {nginx:>9.0} {:>6.2} {:>6.2} {:>8.2} {:>8.2}",
            workload.name,
            own / ceiling,
            own / nginx,
            ours.p50,
            ours.p99
        );
    }
    Ok(())
}

/// Saves the reply of each path as a file named by its number; returns the average of their bytes.
fn save_replies(server: &Server, paths: &[String], files: &Path) -> Result<usize> {
    let _ = std::fs::remove_dir_all(files);
    std::fs::create_dir_all(files)?;
    let mut client = Client::connect(&server.address)?;
    let mut bytes = 0;
    for (at, path) in paths.iter().enumerate() {
        let body = client.get(path)?;
        bytes += body.len();
        std::fs::write(files.join(at.to_string()), body)?;
    }
    Ok(bytes / paths.len().max(1))
}

fn median(mut rounds: Vec<Load>) -> Option<Load> {
    rounds.sort_by(|a, b| a.requests_per_second.total_cmp(&b.requests_per_second));
    rounds.get(rounds.len() / 2).copied()
}
