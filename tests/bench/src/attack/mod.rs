//! Attacks a server in every way at once for a minute, while an honest client sends requests.
//!
//! The server has its default limits. The attackers are on this machine and use its processors as well.

mod attackers;
mod data;
mod honest;

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use tokio::{task::JoinSet, time};

use crate::{
    Result,
    attack::{
        attackers::{ATTACKERS, Attack, attack},
        honest::HonestStats,
    },
    process::status_bytes,
    serve::Server,
};

/// Duration of the attack and of the honest client.
const ATTACK_TIME: Duration = Duration::from_secs(60);
/// After this time the memory of the server is measured again.
const REST_TIME: Duration = Duration::from_secs(10);
/// Limits on the measured figures.
const HONEST_MILLIS_MAX: f64 = 250.0;
const DISCONNECT_SECONDS_MAX: f64 = 30.0;
/// The server's default `--memory`.
const MEMORY_BYTES_MAX: u64 = 256 << 20;
/// Bytes of the log in a minute.
const LOG_BYTES_MAX: u64 = 1 << 20;

/// Attacks a server and prints the measurements; fails if a limit is exceeded.
pub fn run(dir: &Path) -> Result<()> {
    let snapshots = data::prepare(dir)?;
    let log = dir.join("attack.log");
    let server = Server::pinakes_logging(&snapshots, &[], &log)?;
    let address: SocketAddr = server.address.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exceeded = runtime.block_on(measure(address, server.pid(), &log))?;
    if exceeded > 0 { Err(format!("{exceeded} limits exceeded").into()) } else { Ok(()) }
}

/// What the server used while it was attacked.
#[derive(Default)]
struct Peaks {
    memory_bytes: u64,
    files: usize,
}

async fn measure(address: SocketAddr, pid: u32, log: &Path) -> Result<u32> {
    // Measures the server before the attack, and warms its caches.
    let quiet = honest::run(address, Duration::from_secs(5)).await?;
    let memory_before = status_bytes(pid, "RssAnon:")?;
    let log_before = fs::metadata(log)?.len();
    let mut running = JoinSet::new();
    for (kind, count) in ATTACKERS {
        for number in 0..count {
            running.spawn(async move { (kind, attack(kind, address, number, ATTACK_TIME).await) });
        }
    }
    let honest = tokio::spawn(honest::run(address, ATTACK_TIME));
    let mut peaks = Peaks::default();
    let begun = Instant::now();
    while begun.elapsed() < ATTACK_TIME {
        peaks.memory_bytes = peaks.memory_bytes.max(status_bytes(pid, "RssAnon:")?);
        peaks.files = peaks.files.max(fs::read_dir(format!("/proc/{pid}/fd"))?.count());
        time::sleep(Duration::from_millis(100)).await;
    }
    let attacked = honest.await??;
    let mut disconnected: [Vec<f64>; ATTACKERS.len()] = Default::default();
    while let Some(outcome) = running.join_next().await {
        let (kind, after) = outcome?;
        disconnected[kind as usize].push(after.map_or(f64::MAX, |after| after.as_secs_f64()));
    }
    let log_bytes = fs::metadata(log)?.len() - log_before;
    time::sleep(REST_TIME).await;
    let memory_after = status_bytes(pid, "RssAnon:")?;

    println!("\nattacked for {} s by", ATTACK_TIME.as_secs());
    for (kind, count) in ATTACKERS {
        println!("  {count:>5} {}", kind.what());
    }
    let mut exceeded = 0;
    let mut check = |what: String, is_within: bool| {
        println!("  {what}{}", if is_within { "" } else { " OVER" });
        exceeded += u32::from(!is_within);
    };
    check(honest_text(&attacked, &quiet), {
        attacked.failed.is_empty() && attacked.percentile(99) <= HONEST_MILLIS_MAX
    });
    for failure in attacked.failed.iter().take(5) {
        println!("    {failure}");
    }
    for kind in [Attack::SlowHead, Attack::SlowBody] {
        let seconds = &mut disconnected[kind as usize];
        seconds.sort_by(f64::total_cmp);
        let (first, last) = (honest::percentile(seconds, 0), honest::percentile(seconds, 100));
        let what = format!(
            "{}: disconnected after {first:.1} to {last:.1} s, ceiling {DISCONNECT_SECONDS_MAX:.0}",
            kind.what()
        );
        check(what, last <= DISCONNECT_SECONDS_MAX);
    }
    let what = format!(
        "memory: {memory_before} bytes before, peak {}, {memory_after} after {} s, ceiling {MEMORY_BYTES_MAX}",
        peaks.memory_bytes,
        REST_TIME.as_secs()
    );
    check(what, peaks.memory_bytes <= MEMORY_BYTES_MAX);
    println!("  open files: peak {}", peaks.files);
    check(format!("log: {log_bytes} bytes, ceiling {LOG_BYTES_MAX}"), log_bytes <= LOG_BYTES_MAX);
    Ok(exceeded)
}

fn honest_text(attacked: &HonestStats, quiet: &HonestStats) -> String {
    format!(
        "honest client: {} requests over new connections, {} failed, p50 {:.1} ms, p99 {:.1} ms, worst {:.1} ms, \
         ceiling {HONEST_MILLIS_MAX:.0}; p99 {:.1} ms before",
        attacked.millis.len(),
        attacked.failed.len(),
        attacked.percentile(50),
        attacked.percentile(99),
        attacked.percentile(100),
        quiet.percentile(99)
    )
}
