//! A request to an endpoint, with the snapshot that answers it.

use std::{net::IpAddr, sync::Arc, time::Duration};

use http::{HeaderMap, Method, StatusCode, header};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::define::charge::Quotas;
use crate::define::failure::{Answer, Failure};
use crate::define::host::Host;
use crate::define::served::ServedSnapshot;
use crate::define::settings::Settings;
use crate::define::work_limits::{Thread, WorkLimits};
use crate::openapi::Document;
use crate::reply::pieces::{PieceBudget, PieceSource};
use crate::reply::{Detail, Reply};
use crate::request::body::Posted;
use crate::request::method_word;
use crate::request::named_snapshot::NamedSnapshot;
use crate::request::path::echo_path;

/// First parts of paths that other services have, and the lists that have their records here.
const OTHER_LISTS: [(&str, &str); 8] = [
    ("articles", "outputs"),
    ("journals", "sources"),
    ("organizations", "institutions"),
    ("papers", "outputs"),
    ("people", "authors"),
    ("publications", "outputs"),
    ("venues", "sources"),
    ("works", "outputs"),
];

/// The client of a request, as the host knows it.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The client's address.
    pub address: IpAddr,
    /// Whether a trusted proxy passed the request on, so that its forwarding headers count.
    pub is_proxied: bool,
    /// The rest of the client's limits; `None` for a client without limits.
    pub quotas: Option<Quotas>,
}

/// A request, as a host read it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// `GET`, or another method.
    pub method: &'a Method,
    /// The path as sent, with the snapshot that it may name.
    pub path: &'a str,
    /// The text after the `?` as sent; empty without a `?`.
    pub query: &'a str,
    /// Bytes of path and query, including the `?`.
    pub uri_bytes: usize,
    /// The headers as sent.
    pub headers: &'a HeaderMap,
    /// The body; `None` for endpoints that take no body.
    pub posted: Option<Posted<'a>>,
    /// The client, and its use of the limits.
    pub caller: &'a Caller,
}

/// All endpoints, for those that answer by way of others.
pub trait Interface: Sync {
    /// Answers a request within the work of another.
    fn answer(&self, call: &Call<'_>) -> Answer;

    /// Adds each path to the document.
    ///
    /// # Errors
    ///
    /// The records of an example cannot be read.
    fn describe(&self, document: &mut Document<'_>) -> Result<(), ReadError>;
}

/// A request to an endpoint, with the snapshot that answers it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// `GET`, or another method.
    pub method: &'a Method,
    /// The path of the endpoint as sent: not decoded, not normalized.
    pub path: &'a str,
    /// The path as sent, with the snapshot that it names.
    pub sent_path: &'a str,
    /// The text after the `?` as sent; empty without a `?`.
    pub query: &'a str,
    /// Bytes of path and query, including the `?`.
    pub uri_bytes: usize,
    /// The headers as sent.
    pub headers: &'a HeaderMap,
    /// The body; `None` for endpoints that take no body.
    pub posted: Option<Posted<'a>>,
    /// The client's address and its use of the limits.
    pub caller: &'a Caller,
    /// Options of the host.
    pub settings: &'a Settings,
    /// The program that the answers are made in.
    pub host: &'a dyn Host,
    /// All endpoints, for those that answer by way of others.
    pub interface: &'static dyn Interface,
    /// The snapshot that answers.
    pub served: &'a Arc<ServedSnapshot>,
    /// A handle of the served snapshot, for the thread.
    pub snapshot: &'a Snapshot,
    /// The thread that works on the request.
    pub thread: Thread,
    /// The processor time of an own thread when the call began.
    pub cpu_at_start: Option<Duration>,
}

impl<'a> Call<'a> {
    /// A request for a thread, with a snapshot whose handle suits the state of the disk.
    pub(crate) fn new(
        asked: Asked<'a>,
        settings: &'a Settings,
        host: &'a dyn Host,
        interface: &'static dyn Interface,
        served: &'a Arc<ServedSnapshot>,
        thread: Thread,
    ) -> Call<'a> {
        let (_, path) = NamedSnapshot::split(asked.path);
        Call {
            method: asked.method,
            path,
            sent_path: asked.path,
            query: asked.query,
            uri_bytes: asked.uri_bytes,
            headers: asked.headers,
            posted: asked.posted,
            caller: asked.caller,
            settings,
            host,
            interface,
            served,
            snapshot: served.handle(thread.reads(host.is_disk_busy())),
            thread,
            cpu_at_start: (thread == Thread::Own).then(|| host.clock().cpu()),
        }
    }

    /// The same call, with another handle of its snapshot.
    pub fn with_snapshot(self, snapshot: &'a Snapshot) -> Call<'a> {
        Call { snapshot, ..self }
    }

    /// The limits of the call's work, whose parts share the processor time.
    pub fn limits(&self) -> WorkLimits {
        WorkLimits {
            timeout: self.settings.list_timeout,
            cpu: self.settings.list_cpu,
            thread: self.thread,
            cpu_at_start: self.cpu_at_start,
            clock: self.host.clock(),
        }
    }

    /// Makes the first piece of a body on a mirror, and throws its text away: what the piece needs is fetched together.
    pub fn prepare(&self, source: &(impl PieceSource + Clone)) -> Result<(), Failure> {
        if self.snapshot.is_fetched() {
            let budget = PieceBudget::of_piece(self.host.clock());
            source.clone().next_piece(self.snapshot, &budget, &mut Vec::new())?;
        }
        Ok(())
    }

    /// The time of the host's clock.
    pub fn now(&self) -> Duration {
        self.host.clock().elapsed()
    }

    /// Microseconds since a time of the clock, for the log.
    pub fn micros_since(&self, begun: Duration) -> u64 {
        self.now().saturating_sub(begun).as_micros() as u64
    }

    /// Scheme, host and named snapshot of the service as the client addresses it, for addresses that other hosts use.
    pub fn origin(&self) -> String {
        let text = |name| self.headers.get(name).and_then(|value| value.to_str().ok());
        let is_forwarded_https =
            self.caller.is_proxied && text("x-forwarded-proto") == Some("https");
        let is_https = is_forwarded_https || self.settings.is_https;
        let scheme = if is_https { "https" } else { "http" };
        // A named snapshot stays named.
        let prefix = self.sent_path.strip_suffix(self.path).unwrap_or_default();
        let host = text(header::HOST.as_str()).unwrap_or_default();
        format!("{scheme}://{host}{prefix}")
    }

    /// The reply to a path that does not exist, or that an option turns off.
    pub fn not_found(&self) -> Reply {
        let message = format!("Cannot {} {}", method_word(self.method), echo_path(self.sent_path));
        let reply = Reply::error(StatusCode::NOT_FOUND, message);
        reply.with_details(self.other_list().into_iter().collect())
    }

    /// Where the records are that other services have at this path.
    fn other_list(&self) -> Option<Detail> {
        let (root, rest) = match self.path.strip_prefix("/browse/") {
            Some(rest) => ("/browse/", rest),
            None => ("/", self.path.strip_prefix('/')?),
        };
        let first = rest.split('/').next()?;
        let (_, list) = OTHER_LISTS.iter().find(|(other, _)| *other == first)?;
        let has_dialect = root == "/" && first == "works" && self.settings.has_openalex;
        let dialect = if has_dialect { "; `/openalex/works` answers as OpenAlex does" } else { "" };
        let reason = format!("is `{root}{list}` here{dialect}");
        Some(Detail::new("path", &format!("{root}{first}"), reason))
    }

    /// The reply 304, if the client has the current reply.
    pub fn not_modified(&self) -> Option<Reply> {
        self.served.reply_headers().matching_coding(self.headers).map(Reply::not_modified)
    }
}
