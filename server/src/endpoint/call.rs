//! A request to an endpoint, and the plan of the endpoint: a finished reply, or work.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, Method, header, request::Parts};
use pinakes_format::entity::Facts;
use pinakes_format::query::QueryError;
use pinakes_format::snapshot::{Reads, Snapshot};
use pinakes_format::storage::error::ReadError;
use pinakes_format::storage::integrity::thread_time_working;

use crate::admission::gate::Admission;
use crate::endpoint::routes::Matched;
use crate::endpoint::site::Site;
use crate::endpoint::work_limits::WorkLimits;
use crate::http::body;
use crate::http::body::RequestBody;
use crate::http::named_snapshot::NamedSnapshot;
use crate::reply::Reply;
use crate::reply::detail::Detail;
use crate::snapshots::served::ServedSnapshot;

/// The thread that works on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// One that reads requests of many clients, and must not wait: work that is long, or that would wait for a busy
    /// disk, ends with [`Failure::WouldWait`] and is repeated on the other kind.
    Shared,
    /// One that has this work alone, and waits for the disk.
    Own,
}

impl Thread {
    /// How the thread reads a snapshot. While the disk is idle, every thread reads directly.
    pub fn reads(self, is_disk_busy: bool) -> Reads {
        match self {
            _ if !is_disk_busy => Reads::OneByOne,
            Thread::Shared => Reads::MemoryOnly,
            Thread::Own => Reads::Together,
        }
    }
}

/// A request to an endpoint, with the snapshot that answers it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub method: &'a Method,
    /// The path of the endpoint as sent: not decoded, not normalized.
    pub path: &'a str,
    /// The path as sent, with the snapshot that it names.
    pub sent_path: &'a str,
    /// The text after the `?` as sent; empty without a `?`.
    pub query: &'a str,
    /// Bytes of path and query, including the `?`.
    pub uri_bytes: usize,
    pub headers: &'a HeaderMap,
    /// The body; `None` for endpoints that take no body.
    pub posted: Option<&'a RequestBody>,
    /// The client's address and its use of the limits.
    pub admission: &'a Admission,
    pub site: &'a Site,
    pub served: &'a Arc<ServedSnapshot>,
    /// A handle of the served snapshot, for the thread.
    pub snapshot: &'a Snapshot,
    pub thread: Thread,
    /// The processor time of an own thread when the call began.
    pub cpu_at_start: Option<Duration>,
}

impl<'a> Call<'a> {
    /// Reads a head for a thread, with a snapshot whose handle suits the state of the disk.
    pub fn new(
        head: &'a Parts,
        admission: &'a Admission,
        site: &'a Site,
        served: &'a Arc<ServedSnapshot>,
        thread: Thread,
    ) -> Call<'a> {
        let uri = &head.uri;
        let (_, path) = NamedSnapshot::split(uri.path());
        Call {
            method: &head.method,
            path,
            sent_path: uri.path(),
            query: uri.query().unwrap_or_default(),
            uri_bytes: uri.path_and_query().map_or(0, |sent| sent.as_str().len()),
            headers: &head.headers,
            posted: body::from_head(head).map(|posted| &**posted),
            admission,
            site,
            served,
            snapshot: served.handle(thread.reads(site.disk_activity.is_busy())),
            thread,
            cpu_at_start: (thread == Thread::Own).then(thread_time_working),
        }
    }

    /// The same call, with another handle of its snapshot.
    pub fn with_snapshot(self, snapshot: &'a Snapshot) -> Call<'a> {
        Call { snapshot, ..self }
    }

    /// The limits of the call's work, whose parts share the processor time.
    pub fn limits(&self) -> WorkLimits {
        let settings = &self.site.settings;
        WorkLimits {
            timeout: settings.list_timeout,
            cpu: settings.list_cpu,
            thread: self.thread,
            cpu_at_start: self.cpu_at_start,
        }
    }

    /// Scheme, host and named snapshot of the service as the client addresses it, for addresses that other hosts use.
    pub fn origin(&self) -> String {
        let text = |name| self.headers.get(name).and_then(|value| value.to_str().ok());
        let is_forwarded_https =
            self.admission.is_proxied && text("x-forwarded-proto") == Some("https");
        let is_https = is_forwarded_https || self.site.settings.is_https;
        let scheme = if is_https { "https" } else { "http" };
        // A named snapshot stays named.
        let prefix = self.sent_path.strip_suffix(self.path).unwrap_or_default();
        let host = text(header::HOST.as_str()).unwrap_or_default();
        format!("{scheme}://{host}{prefix}")
    }

    /// The reply 304, if the client has the current reply.
    pub fn not_modified(&self) -> Option<Reply> {
        self.served.reply_headers().matching_coding(self.headers).map(Reply::not_modified)
    }
}

/// A request that an endpoint plans: the call, and what its path says.
pub struct Planning<'a> {
    pub call: Call<'a>,
    pub matched: Matched,
}

impl<'a> Planning<'a> {
    /// The segment of the path that the client chose, as sent.
    pub fn segment(&self) -> &'a str {
        self.matched.segment.text_in(self.call.path)
    }

    /// The entity whose list the path names.
    pub fn facts(&self) -> &'static Facts {
        self.matched.route.facts()
    }
}

/// The plan for a valid request.
pub enum Planned {
    /// The finished reply to a request that needs no work.
    Reply(Reply),
    Work(Work),
}

impl Planned {
    /// Work of a request.
    pub fn work(cost: Cost, run: impl Fn(&Call<'_>) -> Answer + Send + Sync + 'static) -> Planned {
        Planned::Work(Work { cost, run: Box::new(run) })
    }

    /// Work of a request, unless the client has the current reply.
    pub fn unless_current(
        call: &Call<'_>,
        cost: Cost,
        run: impl Fn(&Call<'_>) -> Answer + Send + Sync + 'static,
    ) -> Planned {
        call.not_modified().map_or_else(|| Planned::work(cost, run), Planned::Reply)
    }
}

/// Checks a request without reading the snapshot's files. The error is the reply to an invalid request.
pub type Plan = fn(&Planning<'_>) -> Result<Planned, Reply>;

/// The work of a request, which may be done more than once: on a shared thread, from the beginning on another, and again
/// when absent chunks were fetched.
pub struct Work {
    pub cost: Cost,
    pub run: Box<dyn Fn(&Call<'_>) -> Answer + Send + Sync>,
}

/// How much work a request is, which decides the threads that do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// At most one record, or one word's candidates. A shared thread tries the work; on another, a permit to read from
    /// disk suffices.
    Small,
    /// A page of a short list, or several words. A shared thread tries the work while the disk is idle: while the
    /// disk is busy, asking for each byte of a list whether it is in memory takes longer than the list.
    Short,
    /// Perhaps hundreds of records, or a request with a body: needs a work permit.
    Large,
}

/// The most rows of an entity whose lists, and completions of several words, are tried on a shared thread: 64
/// containers of rows to intersect. On two cores, lists of 1,000,000 outputs were answered 1.4 times as fast there.
const SHORT_ROWS_MAX: u64 = 64 << 16;

impl Cost {
    /// The cost of intersecting rows of lists with so many rows.
    pub fn of_rows(rows: u64) -> Cost {
        if rows <= SHORT_ROWS_MAX { Cost::Short } else { Cost::Large }
    }
}

/// A reply, or why there is none.
pub type Answer = Result<Reply, Failure>;

/// Why work ends without its reply.
pub enum Failure {
    /// The work is too long for a shared thread, or reads what is not in memory.
    WouldWait,
    /// The work reached --list-timeout or --list-cpu; on a shared thread, the thread's own limit.
    Deadline,
    /// Chunks are not on this disk, which a mirror can send.
    Absent,
    /// The snapshot of the call is damaged.
    Damaged(ReadError),
    /// Another snapshot that the request names is damaged.
    OtherDamaged(Arc<ServedSnapshot>, ReadError),
    /// The query would exceed a limit, or proved invalid.
    Refused(Box<Reply>),
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        match error {
            ReadError::WouldWait => Failure::WouldWait,
            ReadError::Absent { .. } => Failure::Absent,
            error => Failure::Damaged(error),
        }
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Failure {
        match error {
            QueryError::Damaged(error) => error.into(),
            QueryError::Deadline => Failure::Deadline,
            QueryError::Refused { parameter, error } => {
                let detail = Detail::new(parameter, &error.text, error.reason);
                Failure::Refused(Box::new(Reply::bad_query(vec![detail])))
            }
        }
    }
}
