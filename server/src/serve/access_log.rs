//! The access log: one line for each request, with client, target, status and duration.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{StatusCode, header, request::Parts};
use pinakes_answer::truncate;

use crate::admission::gate::Admission;
use crate::net::reply_body::BodyEnd;
use crate::serve::line_budget::LineBudget;
use crate::serve::line_form::{Fields, LineForm};

/// The `tracing` target of access-log lines; log filters select or drop the lines by this name.
pub const TARGET: &str = "access";
/// Bytes of the request target that a line shows; of a request whose line needs the budget, fewer.
const TARGET_BYTES_MAX: usize = 512;
const BUDGETED_TARGET_BYTES_MAX: usize = 128;
/// Bytes of the method, and of the `User-Agent` header, that a line shows.
const AGENT_BYTES_MAX: usize = 128;
/// The status shown when the client disconnects before the reply; no reply has this status.
const STATUS_LEFT: u16 = 499;
/// The smallest status of a refused request.
const STATUS_REFUSED_MIN: u16 = 400;

/// Takes a whole line.
pub type PushLine = dyn Fn(&[u8]) + Send + Sync;

/// Where the lines of requests go, and their form.
pub struct LineSink {
    pub form: LineForm,
    pub push: Box<PushLine>,
}

static SINK: OnceLock<LineSink> = OnceLock::new();

/// Sends the lines of this process to a sink; only the first call counts. Without a sink, no line is written.
pub fn send_lines_to(sink: LineSink) {
    let _ = SINK.set(sink);
}

/// An id that is unique across requests and restarts of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    /// Start of the server, in seconds since 1970.
    started: u64,
    number: u64,
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}-{}", self.started, self.number)
    }
}

/// Generates request ids.
#[derive(Debug)]
pub struct RequestIds {
    started: u64,
    next: AtomicU64,
}

impl RequestIds {
    /// Starts with number 1.
    pub fn new() -> RequestIds {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        RequestIds { started: since_1970.as_secs(), next: AtomicU64::new(1) }
    }

    /// Generates the next id.
    pub fn next(&self) -> RequestId {
        RequestId { started: self.started, number: self.next.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Default for RequestIds {
    fn default() -> RequestIds {
        RequestIds::new()
    }
}

/// The log line of a request; written with the response, or when dropped because the client disconnected.
/// Lines of refused requests and of requests that no limit counts need room in a budget.
pub struct AccessLine {
    head: Arc<Parts>,
    client: IpAddr,
    id: RequestId,
    begun: Instant,
    budget: Arc<LineBudget>,
    /// Whether no limit counts the request.
    is_free: bool,
    is_written: bool,
}

impl AccessLine {
    /// Starts the clock of a request.
    pub fn begin(
        head: Arc<Parts>,
        admission: &Admission,
        id: RequestId,
        budget: Arc<LineBudget>,
        is_free: bool,
    ) -> AccessLine {
        let client = admission.client.address;
        let begun = Instant::now();
        AccessLine { head, client, id, begun, budget, is_free, is_written: false }
    }

    /// Writes the line with the response's status.
    pub fn end(mut self, response: &http::Response<Bytes>) {
        self.is_written = true;
        self.write(response.status().as_u16(), response.body().len() as u64, None);
    }

    /// Writes the line of a response whose body in pieces has ended.
    pub fn end_pieces(mut self, status: StatusCode, end: BodyEnd, body_bytes: u64) {
        self.is_written = true;
        self.write(status.as_u16(), body_bytes, Some(end));
    }

    /// Writes the line.
    fn write(&self, status: u16, body_bytes: u64, end: Option<BodyEnd>) {
        let Some(sink) = SINK.get() else { return };
        if !tracing::enabled!(target: TARGET, tracing::Level::INFO) {
            return;
        }
        // No limit counts these requests, or a limit refused them: without a budget their lines could fill the disk.
        let is_budgeted = self.is_free || status >= STATUS_REFUSED_MIN;
        if is_budgeted && !self.budget.admit() {
            return;
        }
        let target = self.head.uri.path_and_query().map_or("*", |target| target.as_str());
        let target_bytes_max =
            if is_budgeted { BUDGETED_TARGET_BYTES_MAX } else { TARGET_BYTES_MAX };
        let agent = self.head.headers.get(header::USER_AGENT);
        let agent = agent.map(|value| String::from_utf8_lossy(value.as_bytes()));
        let (method, url) = (
            shorten(self.head.method.as_str(), AGENT_BYTES_MAX),
            shorten(target, target_bytes_max),
        );
        let agent = agent.as_deref().map(|agent| shorten(agent, AGENT_BYTES_MAX));
        let fields = Fields {
            request: self.id,
            client: self.client,
            method: &method,
            url: &url,
            protocol: self.head.version,
            status,
            body_bytes,
            end: end.map(|end| match end {
                BodyEnd::Complete => "complete",
                BodyEnd::CutOff => "cut_off",
                BodyEnd::Reset => "reset",
                BodyEnd::ClientLeft => "client_left",
            }),
            micros: self.begun.elapsed().as_micros() as u64,
            agent: agent.as_deref(),
        };
        // The buffer of a thread keeps its memory from line to line.
        thread_local! {
            static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        LINE.with_borrow_mut(|line| {
            line.clear();
            sink.form.write(SystemTime::now(), &fields, line);
            (sink.push)(line);
        });
    }
}

impl Drop for AccessLine {
    fn drop(&mut self) {
        if !self.is_written {
            self.write(STATUS_LEFT, 0, None);
        }
    }
}

fn shorten(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(truncate(text, bytes_max))
    }
}
