//! Attacks a server with slow clients, and measures the effect on an honest client.
//!
//! All attackers connect at once, at most 60 from each loopback address. They send heads and bodies one
//! byte a second, or request pages and never read the replies. The benchmark measures how long the
//! server keeps each slow sender, its open files and its heap.

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

use crate::{Result, process::status_bytes, serve::Server};

/// Duration of the attack and of the honest client.
const ATTACK_TIME: Duration = Duration::from_secs(40);
/// Attackers that share an address; the server accepts 64 connections from one address.
const ATTACKERS_PER_ADDRESS: u32 = 60;
/// Receive buffer of an attacker.
const RECEIVE_BUFFER_BYTES: u32 = 4 << 10;
/// Open files that the honest client and the server may add during the attack.
const FILES_SPARE: usize = 8;
/// Limits on the measured figures.
const HONEST_MILLIS_MAX: f64 = 100.0;
const DISCONNECT_SECONDS_MAX: f64 = 30.0;
const HEAP_BYTES_MAX: u64 = 64 << 20;

#[derive(Clone, Copy, Debug)]
enum Attack {
    SlowHead,
    SlowBody,
    NeverReads,
}

/// Number of attackers of each kind.
const ATTACKERS: [(Attack, u32); 3] =
    [(Attack::SlowHead, 2_000), (Attack::SlowBody, 500), (Attack::NeverReads, 500)];

/// Attacks a server and prints the measurements; fails if a limit is exceeded.
pub fn run(snapshots: &Path) -> Result<()> {
    let server = Server::pinakes(snapshots)?;
    let address: SocketAddr = server.address.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exceeded = runtime.block_on(attack(address, server.pid()))?;
    if exceeded > 0 { Err(format!("{exceeded} limits exceeded").into()) } else { Ok(()) }
}

async fn attack(address: SocketAddr, pid: u32) -> Result<u32> {
    // Measures the server before the attack, and warms its caches.
    let quiet = run_honest_client(address, Duration::from_secs(3)).await?;
    let before = status_bytes(pid, "RssAnon:")?;
    let files_before = open_files(pid)?;
    let mut attackers = JoinSet::new();
    let mut number = 0;
    for (attack, count) in ATTACKERS {
        for _ in 0..count {
            attackers.spawn(async move { (attack, run_attacker(attack, address, number).await) });
            number += 1;
        }
    }
    let begun = Instant::now();
    let honest = tokio::spawn(run_honest_client(address, ATTACK_TIME));
    let (mut heap, mut files_max, mut normal_after) = (0, 0, f64::MAX);
    while begun.elapsed() < ATTACK_TIME {
        heap = heap.max(status_bytes(pid, "RssAnon:")?);
        let files = open_files(pid)?;
        if files > files_before + FILES_SPARE {
            files_max = files_max.max(files);
            normal_after = f64::MAX;
        } else if normal_after == f64::MAX {
            normal_after = begun.elapsed().as_secs_f64();
        }
        time::sleep(Duration::from_millis(100)).await;
    }
    let attacked = honest.await??;
    let mut durations: [Vec<f64>; 2] = Default::default();
    while let Some(outcome) = attackers.join_next().await {
        if let (attack @ (Attack::SlowHead | Attack::SlowBody), duration) = outcome? {
            durations[attack as usize]
                .push(duration.map_or(f64::MAX, |duration| duration.as_secs_f64()));
        }
    }
    let mut exceeded = 0;
    let mut check = |what: String, is_within: bool| {
        println!("  {what}{}", if is_within { "" } else { " OVER" });
        exceeded += u32::from(!is_within);
    };
    println!("\n3,000 slow clients for {} s", ATTACK_TIME.as_secs());
    for (attack, _) in &ATTACKERS[..2] {
        let duration = &mut durations[*attack as usize];
        duration.sort_by(f64::total_cmp);
        let (first, last) = (percentile(duration, 0), percentile(duration, 100));
        let what = format!(
            "{attack:?}: {} disconnected after {first:.1} to {last:.1} s, ceiling {DISCONNECT_SECONDS_MAX:.0}",
            duration.len()
        );
        check(what, last <= DISCONNECT_SECONDS_MAX);
    }
    let what = format!(
        "open files of the server: {files_before} before, peak {files_max}, back to normal after \
         {normal_after:.1} s, ceiling {DISCONNECT_SECONDS_MAX:.0}"
    );
    check(what, files_max > 2_000 && normal_after <= DISCONNECT_SECONDS_MAX);
    let (quiet_p99, p99) = (percentile(&quiet.millis, 99), percentile(&attacked.millis, 99));
    let what = format!(
        "honest client: {} requests, {} failed, p50 {:.1} ms, p99 {p99:.1} ms, worst {:.1} ms, ceiling \
         {HONEST_MILLIS_MAX:.0}; p99 {quiet_p99:.1} ms before",
        attacked.millis.len(),
        attacked.failed,
        percentile(&attacked.millis, 50),
        percentile(&attacked.millis, 100),
    );
    check(what, attacked.failed == 0 && p99 <= HONEST_MILLIS_MAX);
    let grown = heap.saturating_sub(before);
    let what =
        format!("heap: {before} bytes before, peak growth {grown}, ceiling {HEAP_BYTES_MAX}");
    check(what, grown <= HEAP_BYTES_MAX);
    Ok(exceeded)
}

/// Connects from the loopback address of an attacker's group.
async fn connect(address: SocketAddr, number: u32) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    let source =
        Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 1)) + number / ATTACKERS_PER_ADDRESS);
    socket.bind((source, 0).into())?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    socket.connect(address).await
}

/// Runs one attacker; the time until the server closed the connection, `None` if it never did.
async fn run_attacker(attack: Attack, address: SocketAddr, number: u32) -> Option<Duration> {
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
    while begun.elapsed() < ATTACK_TIME {
        time::sleep(Duration::from_secs(1)).await;
        let is_open = match attack {
            Attack::SlowHead | Attack::SlowBody => stream.write_all(b"a").await.is_ok(),
            // An attacker that never reads cannot see the close; the server's open files show the close.
            Attack::NeverReads => true,
        };
        if !is_open {
            return Some(begun.elapsed());
        }
    }
    None
}

/// Number of open files of a process, including its connections.
fn open_files(pid: u32) -> Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}

/// Measurements of the honest client.
struct HonestStats {
    /// Duration of each request in milliseconds, sorted.
    millis: Vec<f64>,
    failed: usize,
}

/// Requests records, lists and autocompletion in turn, with pauses of 10 ms. Every second request opens a new
/// connection.
async fn run_honest_client(address: SocketAddr, duration: Duration) -> Result<HonestStats> {
    let targets =
        ["/domains/3", "/authors?per_page=10", "/autocomplete?query=a", "/outputs?per_page=10"];
    let begun = Instant::now();
    let (mut millis, mut failed) = (Vec::new(), 0);
    let mut stream = TcpStream::connect(address).await?;
    for at in 0.. {
        if begun.elapsed() > duration {
            break;
        }
        let started = Instant::now();
        let outcome = async {
            if at % 2 == 0 {
                stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
            }
            let target = targets[at / 2 % targets.len()];
            stream
                .write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
                .await?;
            read_reply(&mut stream).await
        };
        let is_ok = matches!(outcome.await, Ok(true));
        failed += usize::from(!is_ok);
        millis.push(started.elapsed().as_secs_f64() * 1e3);
        time::sleep(Duration::from_millis(10)).await;
    }
    millis.sort_by(f64::total_cmp);
    Ok(HonestStats { millis, failed })
}

/// Reads a complete reply; whether its status is 200.
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
