//! The Python process as a host of answers: one snapshot, one caller, no limits of requests.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, Method, Response};
use pinakes_answer::{
    Answerer, Asked, Attempt, Caller, Clock, CodedPieces, Event, Failure, HealthIssue, Host,
    HostClock, Posted, Reply, ServedSnapshot, Settings,
};
use pinakes_format::storage::absent::FetchedStretches;

use crate::errors::Raised;
use crate::opened::Opened;

/// Attempts at a request whose chunks are fetched.
const ROUNDS_MAX: usize = 200;

static SETTINGS: Settings = Settings::ALL;

/// A clock that measures no processor time, which nothing limits.
#[derive(Debug)]
struct PlainClock;

/// The clock of all answers.
pub static CLOCK: HostClock = &PlainClock;

impl Clock for PlainClock {
    fn elapsed(&self) -> Duration {
        static BEGUN: OnceLock<Instant> = OnceLock::new();
        BEGUN.get_or_init(Instant::now).elapsed()
    }

    fn cpu(&self) -> Duration {
        Duration::ZERO
    }

    fn queued(&self) -> Duration {
        Duration::ZERO
    }

    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

impl Host for Opened {
    fn clock(&self) -> HostClock {
        CLOCK
    }

    fn is_disk_busy(&self) -> bool {
        false
    }

    fn named(&self, id: &str) -> Option<Arc<ServedSnapshot>> {
        (self.served.id() == id).then(|| Arc::clone(&self.served))
    }

    fn issues(&self, _: &ServedSnapshot) -> Vec<HealthIssue> {
        Vec::new()
    }

    fn count(&self, _: Event) {}
}

/// A request of a Python program.
pub struct Asking {
    /// `GET` or `POST`.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// Whether the target has the length of a server's at most.
    pub is_limited: bool,
    /// The headers; none is needed.
    pub headers: HeaderMap,
    /// The body of a POST.
    pub body: Vec<u8>,
}

/// A response, and its body if it comes in pieces.
pub struct Answered {
    /// Status, headers and body.
    pub response: Response<Bytes>,
    /// The body in place of that of the response.
    pub pieces: Option<CodedPieces>,
}

impl Opened {
    /// Answers a request. Chunks that are absent are fetched, all chunks of an attempt together, and the work is done again.
    pub fn answer(&self, asking: &Asking) -> Result<Answered, Raised> {
        let answerer = Answerer { settings: &SETTINGS, host: self };
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let caller = Caller { address, is_proxied: false, quotas: None };
        let (path, query) = asking.target.split_once('?').unwrap_or((&asking.target, ""));
        let is_client_gone = AtomicBool::new(false);
        let posted = Posted { text: &asking.body, is_client_gone: &is_client_gone };
        let asked = Asked {
            method: &asking.method,
            path,
            query,
            uri_bytes: if asking.is_limited { asking.target.len() } else { 0 },
            headers: &asking.headers,
            posted: (asking.method == Method::POST).then_some(posted),
            caller: &caller,
        };
        let mut reply = self.attempts(answerer, asked)?;
        self.check_readable()?;
        let pieces = reply.take_pieces();
        Ok(Answered { response: answerer.response(reply, asked, &self.served), pieces })
    }

    /// Attempts an answer until no chunk of it is absent.
    fn attempts(&self, answerer: Answerer<'_>, asked: Asked<'_>) -> Result<Reply, Raised> {
        let mut fetched = FetchedStretches::default();
        for _ in 0..ROUNDS_MAX {
            match answerer.attempt(asked, &self.served, &mut fetched) {
                Ok(Attempt::Reply(reply)) => return Ok(*reply),
                Ok(Attempt::Missing(missing)) => self.fetch(missing)?,
                Err(Failure::Damaged(error) | Failure::OtherDamaged(_, error)) => {
                    return Err(self.raise(&error));
                }
                Err(_) => {
                    let message = "an answer without limits reached one".to_owned();
                    return Err(Raised::Internal(message));
                }
            }
        }
        Err(Raised::Fetch(format!("the answer needs more than {ROUNDS_MAX} rounds of transfers")))
    }
}
