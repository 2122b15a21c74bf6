//! A server under clients that hold on to it, and what an honest one notices.
//!
//! All of them at once, from loopback addresses of their own: heads and bodies sent byte by byte, and
//! pages asked for that are never read. Each is watched until the server lets it go.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time,
};

use crate::{Result, process::bytes_of, serve::Server};

/// How long the attackers are watched, and the honest client asks.
const WATCHED: Duration = Duration::from_secs(40);
/// Attackers of one address; the server takes 64 connections of one.
const PER_ADDRESS: u32 = 60;
/// Bytes a client that reads nothing has room for.
const ROOM_BYTES: u32 = 4 << 10;
/// Files the honest client and the server itself may have open beside those before.
const FILES_SPARE: usize = 8;
/// What the bounds are.
const HONEST_MILLIS_MAX: f64 = 100.0;
const GONE_SECONDS_MAX: f64 = 30.0;
const HEAP_BYTES_MAX: u64 = 64 << 20;

/// What an attacker does.
#[derive(Clone, Copy, Debug)]
enum Attack {
    SlowHead,
    SlowBody,
    NeverReads,
}

/// How many there are of each.
const ATTACKERS: [(Attack, u32); 3] =
    [(Attack::SlowHead, 2_000), (Attack::SlowBody, 500), (Attack::NeverReads, 500)];

/// Attacks a server of these snapshots and prints what became of all; an error where a bound broke.
pub fn run(snapshots: &Path) -> Result<()> {
    let server = Server::ours(snapshots)?;
    let address: SocketAddr = server.address.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let broken = runtime.block_on(attack(address, server.pid()))?;
    if broken > 0 { Err(format!("{broken} bounds broken").into()) } else { Ok(()) }
}

async fn attack(address: SocketAddr, pid: u32) -> Result<u32> {
    // What a quiet server serves, so that nothing is new to it.
    let warm = honest(address, Duration::from_secs(3)).await?;
    let before = bytes_of(pid, "RssAnon:")?;
    let files_before = open_files(pid)?;
    let mut attackers = JoinSet::new();
    let mut number = 0;
    for (attack, count) in ATTACKERS {
        for _ in 0..count {
            attackers.spawn(async move { (attack, hold(attack, address, number).await) });
            number += 1;
        }
    }
    let begun = Instant::now();
    let honest = tokio::spawn(honest(address, WATCHED));
    let (mut heap, mut files_max, mut quiet_after) = (0, 0, f64::MAX);
    while begun.elapsed() < WATCHED {
        heap = heap.max(bytes_of(pid, "RssAnon:")?);
        let files = open_files(pid)?;
        if files > files_before + FILES_SPARE {
            files_max = files_max.max(files);
            quiet_after = f64::MAX;
        } else if quiet_after == f64::MAX {
            quiet_after = begun.elapsed().as_secs_f64();
        }
        time::sleep(Duration::from_millis(100)).await;
    }
    let asked = honest.await??;
    let mut gone: [Vec<f64>; 2] = Default::default();
    while let Some(outcome) = attackers.join_next().await {
        if let (attack @ (Attack::SlowHead | Attack::SlowBody), held) = outcome? {
            gone[attack as usize].push(held.map_or(f64::MAX, |held| held.as_secs_f64()));
        }
    }
    let mut broken = 0;
    let mut check = |what: String, is_kept: bool| {
        println!("  {what}{}", if is_kept { "" } else { " OVER" });
        broken += u32::from(!is_kept);
    };
    println!("\n3,000 clients that hold on, watched for {} s", WATCHED.as_secs());
    for (attack, _) in &ATTACKERS[..2] {
        let held = &mut gone[*attack as usize];
        held.sort_by(f64::total_cmp);
        let (first, last) = (percentile(held, 0), percentile(held, 100));
        let what = format!(
            "{attack:?}: {} gone after {first:.1} to {last:.1} s, ceiling {GONE_SECONDS_MAX:.0}",
            held.len()
        );
        check(what, last <= GONE_SECONDS_MAX);
    }
    let what = format!(
        "open files of the server: {files_before} before, {files_max} at most, as before after \
         {quiet_after:.1} s, ceiling {GONE_SECONDS_MAX:.0}"
    );
    check(what, files_max > 2_000 && quiet_after <= GONE_SECONDS_MAX);
    let (quiet, p99) = (percentile(&warm.millis, 99), percentile(&asked.millis, 99));
    let what = format!(
        "honest client: {} requests, {} failed, p50 {:.1} ms, p99 {p99:.1} ms, worst {:.1} ms, ceiling \
         {HONEST_MILLIS_MAX:.0}; p99 {quiet:.1} ms before",
        asked.millis.len(),
        asked.failed,
        percentile(&asked.millis, 50),
        percentile(&asked.millis, 100),
    );
    check(what, asked.failed == 0 && p99 <= HONEST_MILLIS_MAX);
    let grown = heap.saturating_sub(before);
    let what =
        format!("heap: {before} bytes before, {grown} more at most, ceiling {HEAP_BYTES_MAX}");
    check(what, grown <= HEAP_BYTES_MAX);
    Ok(broken)
}

/// A connection from an address of the attacker's own.
async fn connect(address: SocketAddr, number: u32) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    let own = Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 1)) + number / PER_ADDRESS);
    socket.bind((own, 0).into())?;
    socket.set_recv_buffer_size(ROOM_BYTES)?;
    socket.connect(address).await
}

/// How long the server let an attacker stay; `None` where it still does.
async fn hold(attack: Attack, address: SocketAddr, number: u32) -> Option<Duration> {
    let mut stream = connect(address, number).await.ok()?;
    let begun = Instant::now();
    let head = match attack {
        Attack::SlowHead => "GET /outputs HTTP/1.1\r\nHost: x\r\nX-A: ".to_owned(),
        Attack::SlowBody => {
            "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             Content-Length: 60000\r\n\r\n{"
                .to_owned()
        }
        Attack::NeverReads => "GET /outputs?per_page=100 HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20),
    };
    let _ = stream.write_all(head.as_bytes()).await;
    while begun.elapsed() < WATCHED {
        time::sleep(Duration::from_secs(1)).await;
        let is_open = match attack {
            Attack::SlowHead | Attack::SlowBody => stream.write_all(b"a").await.is_ok(),
            // Who does not read does not see the end either; the server's files tell.
            Attack::NeverReads => true,
        };
        if !is_open {
            return Some(begun.elapsed());
        }
    }
    None
}

/// Files a process has open, its connections among them.
fn open_files(pid: u32) -> Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}

/// What an honest client saw.
struct Asked {
    /// Milliseconds of each request, sorted.
    millis: Vec<f64>,
    failed: usize,
}

/// Asks records, lists and names by turns, every ten milliseconds, on a connection kept and on new ones.
async fn honest(address: SocketAddr, long: Duration) -> Result<Asked> {
    let targets =
        ["/domains/3", "/authors?per_page=10", "/autocomplete?query=a", "/outputs?per_page=10"];
    let begun = Instant::now();
    let (mut millis, mut failed) = (Vec::new(), 0);
    let mut kept = TcpStream::connect(address).await?;
    for at in 0.. {
        if begun.elapsed() > long {
            break;
        }
        let one = Instant::now();
        let outcome = async {
            if at % 2 == 0 {
                kept = TcpStream::connect(address).await?;
                kept.set_nodelay(true)?;
            }
            let target = targets[at / 2 % targets.len()];
            kept.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await?;
            read_reply(&mut kept).await
        };
        let is_good = matches!(outcome.await, Ok(true));
        failed += usize::from(!is_good);
        millis.push(one.elapsed().as_secs_f64() * 1e3);
        time::sleep(Duration::from_millis(10)).await;
    }
    millis.sort_by(f64::total_cmp);
    Ok(Asked { millis, failed })
}

/// Reads a reply whole; whether it is 200.
async fn read_reply(stream: &mut TcpStream) -> std::io::Result<bool> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    Ok(head.starts_with("http/1.1 200"))
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(at).copied().unwrap_or(f64::MAX)
}
