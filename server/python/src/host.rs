//! The Python process as a host of answers: one snapshot, one caller, no limits of requests.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, LazyLock, OnceLock, atomic::AtomicBool},
    time::{Duration, Instant},
};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, Method, Response};
use pinakes_answer::{
    Answerer, Asked, Call, Caller, Clock, CodedPieces, Event, Failure, GraphqlSettings,
    HealthIssue, Host, HostClock, Planned, Posted, Reply, ServedSnapshot, Settings, Thread, find,
};
use pinakes_format::storage::absent::FetchedStretches;

use crate::errors::Raised;
use crate::opened::Opened;

/// Attempts at a request whose chunks are fetched.
const ROUNDS_MAX: usize = 200;

/// All answers, and no limit of their time: the caller has the process for itself.
static SETTINGS: LazyLock<Settings> = LazyLock::new(|| Settings {
    list_timeout: Duration::MAX,
    list_cpu: Duration::MAX,
    held_bytes_max: usize::MAX,
    graphql: GraphqlSettings { cpu: Duration::MAX, ..GraphqlSettings::DEFAULT },
    has_docs: true,
    has_browse: true,
    has_mcp: true,
    has_openalex: true,
    is_https: false,
    is_behind_network: false,
    base_path: None,
    site: None,
    data_licence: None,
});

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
            uri_bytes: asking.target.len(),
            headers: &asking.headers,
            posted: (asking.method == Method::POST).then_some(posted),
            caller: &caller,
        };
        let matched = find(path);
        let mut reply = match answerer.plan(asked, matched, &self.served) {
            Ok(Planned::Reply(reply)) | Err(reply) => answerer.readable(reply, asked, matched),
            Ok(Planned::Work(work)) => {
                let attempt = |call: &Call<'_>| match (work.run)(call) {
                    Ok(reply) => {
                        Ok(answerer.readable(reply, asked, matched).coded(&asking.headers))
                    }
                    Err(Failure::Refused(reply)) => Ok(answerer.readable(*reply, asked, matched)),
                    Err(failure) => Err(failure),
                };
                let call = || answerer.call(asked, &self.served, Thread::Own);
                self.attempts(&call, &attempt)?
            }
        };
        self.check_readable()?;
        let pieces = reply.take_pieces();
        Ok(Answered { response: answerer.response(reply, asked, &self.served), pieces })
    }

    /// Attempts an answer until no chunk of it is absent.
    fn attempts<'c>(
        &'c self,
        call: &dyn Fn() -> Call<'c>,
        attempt: &dyn Fn(&Call<'_>) -> Result<Reply, Failure>,
    ) -> Result<Reply, Raised> {
        let mut fetched = FetchedStretches::default();
        for _ in 0..ROUNDS_MAX {
            match attempt(&call()) {
                Ok(reply) => return Ok(reply),
                Err(Failure::Absent) => {}
                Err(Failure::Damaged(error) | Failure::OtherDamaged(_, error)) => {
                    return Err(self.raise(&error));
                }
                Err(Failure::Refused(reply)) => return Ok(*reply),
                Err(Failure::Deadline | Failure::WouldWait) => {
                    let message = "an answer without limits reached one".to_owned();
                    return Err(Raised::Internal(message));
                }
            }
            let wanted = Arc::default();
            let call = call();
            let snapshot = call.snapshot.collecting(&wanted);
            // With chunks missing, the reply may lack names.
            let answer = attempt(&call.with_snapshot(&snapshot));
            if wanted.is_empty()
                && let Ok(reply) = answer
            {
                return Ok(reply);
            }
            self.fetch(wanted.take(&mut fetched))?;
        }
        Err(Raised::Fetch(format!("the answer needs more than {ROUNDS_MAX} rounds of transfers")))
    }
}
