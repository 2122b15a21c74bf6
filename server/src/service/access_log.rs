//! One line of the log for each request: who asked what, what it got, and how long that took.

use std::{
    borrow::Cow,
    fmt,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use http::{header, request::Parts};

use crate::http::path::truncate;

/// The target of these events, by which they are chosen or left out.
pub const TARGET: &str = "access";
/// Bytes of a request's target that are shown.
const TARGET_BYTES_MAX: usize = 512;
/// Bytes of a client's own name that are shown.
const AGENT_BYTES_MAX: usize = 128;
/// The status shown where the client left before there was one; no reply has it.
const STATUS_LEFT: u16 = 499;

/// What tells one request from all others, also those before the server was last started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    /// Seconds since 1970 when the server started.
    started: u64,
    number: u64,
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}-{}", self.started, self.number)
    }
}

/// Gives out the ids.
#[derive(Debug)]
pub struct RequestIds {
    started: u64,
    next: AtomicU64,
}

impl RequestIds {
    /// From 1 on.
    pub fn new() -> RequestIds {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        RequestIds { started: since_1970.as_secs(), next: AtomicU64::new(1) }
    }

    /// Another one.
    pub fn next(&self) -> RequestId {
        RequestId { started: self.started, number: self.next.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Default for RequestIds {
    fn default() -> RequestIds {
        RequestIds::new()
    }
}

/// A request's line, written once there is a response, or the client has left.
pub struct Line {
    head: Arc<Parts>,
    client: IpAddr,
    id: RequestId,
    begun: Instant,
    is_written: bool,
}

impl Line {
    /// The request comes in.
    pub fn begin(head: Arc<Parts>, client: IpAddr, id: RequestId) -> Line {
        Line { head, client, id, begun: Instant::now(), is_written: false }
    }

    /// The response goes out.
    pub fn end(mut self, response: &http::Response<Bytes>) {
        self.is_written = true;
        self.write(response.status().as_u16(), response.body().len());
    }

    /// Whatever a client may have chosen is written as a text, so that it is quoted and escaped.
    fn write(&self, status: u16, body_bytes: usize) {
        if !tracing::enabled!(target: TARGET, tracing::Level::INFO) {
            return;
        }
        let target = self.head.uri.path_and_query().map_or("*", |target| target.as_str());
        let agent = self.head.headers.get(header::USER_AGENT);
        let agent = agent.map(|value| String::from_utf8_lossy(value.as_bytes()));
        tracing::info!(
            target: TARGET,
            request = %self.id,
            client = %self.client,
            method = shown(self.head.method.as_str(), AGENT_BYTES_MAX).as_ref(),
            target = shown(target, TARGET_BYTES_MAX).as_ref(),
            protocol = ?self.head.version,
            status,
            body_bytes,
            micros = self.begun.elapsed().as_micros() as u64,
            agent = agent.as_deref().map(|agent| shown(agent, AGENT_BYTES_MAX)).as_deref(),
        );
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.is_written {
            self.write(STATUS_LEFT, 0);
        }
    }
}

fn shown(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(truncate(text, bytes_max))
    }
}
