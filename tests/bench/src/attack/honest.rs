//! A client that asks for little, each time from another address and over a new connection.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
    time,
};

use crate::Result;

/// Pause between two requests.
const PAUSE: Duration = Duration::from_millis(250);
/// Longest time for a reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);
/// A record, lists, autocompletion, and what a load balancer asks.
const TARGETS: [&str; 5] =
    ["/outputs/HX_W1000", "/authors?per_page=25", "/health", "/autocomplete?query=ma", "/ready"];

/// Measurements of the honest client.
pub struct HonestStats {
    /// Duration of each request in milliseconds, sorted.
    pub millis: Vec<f64>,
    /// Requests that failed, with the reason.
    pub failed: Vec<String>,
}

impl HonestStats {
    pub fn percentile(&self, percent: usize) -> f64 {
        percentile(&self.millis, percent)
    }
}

/// Sends requests for some time.
pub async fn run(address: SocketAddr, duration: Duration) -> Result<HonestStats> {
    let begun = Instant::now();
    let (mut millis, mut failed) = (Vec::new(), Vec::new());
    for at in 0u32.. {
        if begun.elapsed() > duration {
            break;
        }
        let target = TARGETS[at as usize % TARGETS.len()];
        let source = Ipv4Addr::new(127, 9, (at / 200 % 200) as u8, (at % 200) as u8 + 1);
        let started = Instant::now();
        let outcome = time::timeout(REPLY_TIMEOUT, request(address, source, target)).await;
        match outcome.map_err(|_| "no reply".to_owned()) {
            Ok(Ok(line)) if line.starts_with("HTTP/1.1 200 ") => {}
            Ok(Ok(line)) => failed.push(format!("{target}: {line}")),
            Ok(Err(error)) => failed.push(format!("{target}: {error}")),
            Err(reason) => failed.push(format!("{target}: {reason}")),
        }
        millis.push(started.elapsed().as_secs_f64() * 1e3);
        time::sleep(PAUSE).await;
    }
    millis.sort_by(f64::total_cmp);
    Ok(HonestStats { millis, failed })
}

/// Reads a whole reply over a new connection; returns its status line.
async fn request(address: SocketAddr, source: Ipv4Addr, target: &str) -> std::io::Result<String> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((source, 0).into())?;
    let mut stream = socket.connect(address).await?;
    let head = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    let line = reply.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}

/// The value that this share of the sorted values do not exceed.
pub fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(at).copied().unwrap_or(f64::MAX)
}
