//! One request from its head to its response: limits, endpoint, thread, reply.
//!
//! ```text
//! head ─► route, limits ─► plan ─┬─► finished reply: 400, 304, a page that the binary holds
//!                                └─► work ─► shared thread, if the work is short and its bytes are in memory
//!                                        └─► own thread, with a permit
//! ```
//!
//! [`Cost`] decides the thread:
//!
//! ```text
//! work                            thread
//! a record, one word              the one that read the request, if everything is in memory
//! the same, with reads from disk  a blocking thread, with one of --disk-reads permits
//! a short list, several words     the one that read the request, for at most 200 µs
//! a long list, GraphQL            a blocking thread, with one of four work permits for each core
//! ```
//!
//! A record is rendered on the thread that read the request, since another thread costs more than the record:
//! on two shared cores with 32 connections, in one run, a record took 26 µs of processor time there and 45 µs
//! with `spawn_blocking`. These threads are one for each core, and must never wait: a client that asks for
//! records on disk would delay every other. Blocking threads yield the processor to them.
//!
//! - [`threads`] has the permits and the blocking threads, `own_thread` does work there, and `pieces` sends bodies in pieces.
//! - [`host`] is what the server gives to answers.
//! - [`access_log`] writes a line for each request, [`traffic`] counts requests, and [`popular`] the addresses that warm a
//!   new snapshot of a mirror.
//!
//! Imports `admission`, `event_counts`, `http`, `net`, `process_clock`, `snapshots`, `upstream`.

pub(crate) mod access_log;
pub(crate) mod host;
pub(crate) mod line_budget;
pub(crate) mod line_form;
mod own_thread;
mod pieces;
mod popular;
pub(crate) mod threads;
pub(crate) mod traffic;

use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use pinakes_answer::{
    Answerer, Asked, Call, Caller, Charge, Cost, Failure, Matched, NamedSnapshot, Planned, Reply,
    SURROGATE_KEY, ServedSnapshot, Settings, Thread, Work, charge, entered, find, not_open,
};
use pinakes_format::storage::ReadError;
use pinakes_format::storage::absent::Wanted;

use crate::admission::gate::{Admission, Gate, Peer, StreamCharge};
use crate::admission::reply_memory::ReplyMemory;
use crate::event_counts::{OVERLOADS, Overload};
use crate::http::body;
use crate::http::client_address::ClientResolver;
use crate::http::head;
use crate::net::handler::{Handler, ReservedResponse};
use crate::serve::access_log::{AccessLine, RequestId, RequestIds};
use crate::serve::host::ServerHost;
use crate::serve::line_budget::LineBudget;
use crate::serve::popular::Popular;
use crate::serve::threads::Permits;
use crate::serve::traffic::Traffic;
use crate::snapshots::disk_activity::DiskActivity;
use crate::snapshots::manager::SnapshotManager;

/// Header that links a 500 or 503 to the log lines of the request.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Bytes of a reply up to which the reply needs no reservation of memory.
const SMALL_BYTES: usize = 16 << 10;

/// Answers requests from the served snapshot.
pub struct Service {
    settings: ServiceSettings,
    host: ServerHost,
    gate: Gate,
    permits: Permits,
    memory: Arc<ReplyMemory>,
    requests: RequestIds,
    traffic: Traffic,
    /// For log lines of refused requests and of requests that no limit counts.
    lines: Arc<LineBudget>,
    /// The addresses that clients of a mirror ask; not counted without mirrors.
    popular: Popular,
}

/// A request on its way to its response.
struct Request {
    head: Arc<Parts>,
    /// `None` for an unknown path.
    matched: Option<Matched>,
    admission: Admission,
    caller: Caller,
    id: RequestId,
}

impl Request {
    /// The snapshot that the path names.
    fn named(&self) -> Option<NamedSnapshot<'_>> {
        NamedSnapshot::split(self.head.uri.path()).0
    }

    /// The request as answers see it.
    fn asked(&self) -> Asked<'_> {
        let uri = &self.head.uri;
        Asked {
            method: &self.head.method,
            path: uri.path(),
            query: uri.query().unwrap_or_default(),
            uri_bytes: uri.path_and_query().map_or(0, |sent| sent.as_str().len()),
            headers: &self.head.headers,
            posted: body::from_head(&self.head).map(|posted| posted.posted()),
            caller: &self.caller,
        }
    }
}

impl Handler for Service {
    fn clients(&self) -> &ClientResolver {
        self.gate.clients()
    }

    fn takes_body(&self, head: &Parts) -> bool {
        let matched = || find(NamedSnapshot::split(head.uri.path()).1);
        head.method == Method::POST
            && matched().is_some_and(|found| found.route.endpoint.takes(&Method::POST))
    }

    fn overloaded(&self) -> http::Response<Bytes> {
        OVERLOADS.count(Overload::LongHeads);
        let served = self.host.snapshots.served();
        Reply::unavailable().closing().into_response(&Method::GET, served.reply_headers())
    }

    async fn answer(self: Arc<Self>, head: Arc<Parts>) -> ReservedResponse {
        let head = entered(&head, false).map_or(head, Arc::new);
        let id = self.requests.next();
        let matched = find(NamedSnapshot::split(head.uri.path()).1);
        let charge = charge(&head.method, matched);
        let admission = self.gate.admit(&head, charge).await;
        // From here on the request is counted and logged, also when the client leaves.
        let is_free = matches!(charge, Charge::None | Charge::Free);
        let lines = Arc::clone(&self.lines);
        let line = AccessLine::begin(Arc::clone(&head), &admission, id, lines, is_free);
        let underway = self.traffic.begin(matched);
        let caller = admission.caller();
        let request = Arc::new(Request { head, matched, admission, caller, id });
        let (mut answer, stream) = match admission.refusal {
            Some(verdict) => {
                verdict.refusal.into_iter().for_each(|refusal| self.traffic.refuse(refusal));
                (self.small(verdict.reply(), &request), None)
            }
            None => Arc::clone(&self).find(&request).await,
        };
        // A stream of a whole list counts as many requests, which the headers of its reply show.
        let mut shown = admission;
        if let Some(charge) = stream {
            shown.quotas = Some(charge.verdict.quotas);
            charge.verdict.refusal.into_iter().for_each(|refusal| self.traffic.refuse(refusal));
        }
        let status = answer.response.status();
        if status == StatusCode::OK
            && self.host.snapshots.upstream().is_some()
            && self.popular.is_sampled()
        {
            self.count_popular(&request.head);
        }
        answer.renews = !is_free && admission.refusal.is_none();
        self.gate.settle(&admission, status);
        let headers = answer.response.headers_mut();
        // All clients of a network get the same reply.
        if !headers.contains_key(SURROGATE_KEY) {
            shown.write(headers);
        }
        if status.is_server_error()
            && let Ok(id) = HeaderValue::try_from(id.to_string())
        {
            headers.insert(X_REQUEST_ID, id);
        }
        underway.end(&answer.response);
        match &answer.pieces {
            None => line.end(&answer.response),
            Some(pieces) => {
                let service = Arc::clone(&self);
                pieces.on_end(move |end, bytes| {
                    service.traffic.count_body_bytes(bytes);
                    line.end_pieces(status, end, bytes);
                });
            }
        }
        answer
    }
}

/// A service whose paths are those of OpenAlex's dialect, for clients that know only a host.
pub struct DialectAlone(pub Arc<Service>);

impl DialectAlone {
    fn entered(head: &Parts) -> Option<Parts> {
        entered(head, true)
    }
}

impl Handler for DialectAlone {
    fn clients(&self) -> &ClientResolver {
        self.0.clients()
    }

    fn takes_body(&self, head: &Parts) -> bool {
        DialectAlone::entered(head).is_some_and(|head| self.0.takes_body(&head))
    }

    fn overloaded(&self) -> http::Response<Bytes> {
        self.0.overloaded()
    }

    async fn answer(self: Arc<Self>, head: Arc<Parts>) -> ReservedResponse {
        let head = DialectAlone::entered(&head).map_or(head, Arc::new);
        Arc::clone(&self.0).answer(head).await
    }
}

/// A response, and what a stream of a whole list was charged.
type Charged = (ReservedResponse, Option<StreamCharge>);

impl Service {
    /// Answers a request that the limits let through: plans it, and does its work on the thread that suits it.
    async fn find(self: Arc<Self>, request: &Arc<Request>) -> Charged {
        let named = match request.named() {
            None => None,
            Some(named) => match self.host.snapshots.named(named.id) {
                Some(served) => Some(served),
                None => return (self.small(not_open(StatusCode::GONE, named.id), request), None),
            },
        };
        let served = named.clone().unwrap_or_else(|| self.host.snapshots.served());
        let reply = match self.plan(request, &served) {
            Ok(Planned::Work(work)) => match self.run_here(request, &work, &served) {
                Some(reply) => reply,
                None => return self.run_elsewhere(Arc::clone(request), work.into(), named).await,
            },
            Ok(Planned::Reply(reply)) | Err(reply) => self.readable(reply, request),
        };
        (self.reserve(reply, request, &served).await, None)
    }

    /// Checks a request, and finishes the reply to one that needs no work.
    fn plan(&self, request: &Request, served: &Arc<ServedSnapshot>) -> Result<Planned, Reply> {
        if let Some(refusal) = head::refuse(&request.head) {
            return Err(refusal);
        }
        let planned =
            guard(request.id, || self.answerer().plan(request.asked(), request.matched, served));
        planned.and_then(|planned| planned)
    }

    /// Does short work on the thread that read the request; `None` if the thread would have to wait.
    fn run_here(
        &self,
        request: &Request,
        work: &Work,
        served: &Arc<ServedSnapshot>,
    ) -> Option<Reply> {
        let is_tried = match work.cost {
            Cost::Small => true,
            Cost::Short => !self.host.disk_activity.is_busy(),
            Cost::Large => false,
        };
        if !is_tried {
            return None;
        }
        let begun = Instant::now();
        let ran = self.run(request, work, served, Thread::Shared);
        self.host.disk_activity.note_small_work(begun.elapsed());
        match ran {
            Ran::Reply(reply) => Some(reply),
            Ran::Elsewhere | Ran::Absent(_) => None,
        }
    }

    /// Counts what warms the next snapshot: addresses that name no snapshot.
    fn count_popular(&self, head: &Parts) {
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let (named, path) = NamedSnapshot::split(head.uri.path());
        let needs_snapshot = || find(path).is_some_and(|at| at.route.endpoint.needs_snapshot);
        if head.method == Method::GET && named.is_none() && needs_snapshot() {
            self.popular.count(target);
        }
    }

    /// Answers from a snapshot what clients ask most, and throws the answers away: what they need is here then.
    pub(crate) async fn warm(self: Arc<Self>, served: Arc<ServedSnapshot>) {
        for target in self.popular.most() {
            let peer = Peer::Known(Ipv4Addr::LOCALHOST.into());
            let asked =
                http::Request::get(&*target).header(header::HOST, "").extension(peer).body(());
            let Ok(asked) = asked else { continue };
            let head = Arc::new(asked.into_parts().0);
            let matched = find(head.uri.path());
            let admission = self.gate.admit(&head, Charge::None).await;
            let (caller, id) = (admission.caller(), self.requests.next());
            let request = Arc::new(Request { head, matched, admission, caller, id });
            if let Ok(Planned::Work(work)) = self.plan(&request, &served) {
                let named = Some(Arc::clone(&served));
                Arc::clone(&self).run_elsewhere(request, work.into(), named).await;
            }
        }
    }

    /// Does work on one snapshot. The reply is readable and coded.
    fn run(
        &self,
        request: &Request,
        work: &Work,
        served: &Arc<ServedSnapshot>,
        thread: Thread,
    ) -> Ran {
        if served.is_poisoned() {
            return Ran::Reply(self.readable(Reply::unavailable(), request));
        }
        let _reading = self.host.snapshots.upstream().and_then(|upstream| upstream.attempt());
        let call = self.answerer().call(request.asked(), served, thread);
        let attempt = |call: &Call<'_>| {
            guard(request.id, || {
                // Links are changed before the body is coded.
                (work.run)(call).map(|reply| self.readable(reply, request).coded(call.headers))
            })
        };
        let mut answer = attempt(&call);
        if thread == Thread::Own && matches!(answer, Ok(Err(Failure::Absent))) {
            let wanted = Arc::default();
            let snapshot = call.snapshot.collecting(&wanted);
            answer = attempt(&call.with_snapshot(&snapshot));
            // With chunks missing, the reply may lack names.
            if !wanted.is_empty() {
                return Ran::Absent(wanted);
            }
        }
        let damaged = |snapshot: &Arc<ServedSnapshot>, error: &ReadError| {
            tracing::error!(request = %request.id, path = ?call.path, %error, "cannot answer");
            self.host.snapshots.poison(snapshot, error);
            Reply::unavailable()
        };
        // Checked last: a read past the end of a truncated file gives zeros and sets the fault.
        let reply = match (served.snapshot.fault(), answer) {
            (Some(fault), _) => damaged(served, &ReadError::Fault(fault)),
            (None, Ok(Ok(reply))) => return Ran::Reply(reply),
            (None, Err(panicked)) => panicked,
            (None, Ok(Err(failure))) => match failure {
                Failure::WouldWait | Failure::Absent => return Ran::Elsewhere,
                Failure::Deadline if thread == Thread::Shared => return Ran::Elsewhere,
                Failure::Deadline => {
                    OVERLOADS.count(Overload::Deadline);
                    tracing::warn!(
                        path = ?call.path,
                        query = ?call.query,
                        "a query reached --list-timeout or --list-cpu; answering 503"
                    );
                    Reply::unavailable()
                }
                Failure::Damaged(error) => damaged(served, &error),
                Failure::OtherDamaged(other, error) => damaged(&other, &error),
                Failure::Refused(reply) => *reply,
            },
        };
        Ran::Reply(self.readable(reply, request))
    }

    /// Counts a stream of a whole list towards the limits of its client; the reply 429 if a limit refuses the
    /// stream. Other replies pass.
    fn charge_stream(&self, reply: Reply, request: &Request) -> (Reply, Option<StreamCharge>) {
        let charge = reply.stream().and_then(|stream| {
            self.gate.charge_stream(&request.admission, stream.records, stream.weight)
        });
        let reply = match &charge {
            Some(charge) if charge.verdict.refusal.is_some() => {
                self.readable(charge.verdict.reply_saying(charge.message()), request)
            }
            _ => reply,
        };
        (reply, charge)
    }

    fn answerer(&self) -> Answerer<'_> {
        Answerer { settings: &self.settings.answers, host: &self.host }
    }

    /// The reply as a client of its path reads it.
    fn readable(&self, reply: Reply, request: &Request) -> Reply {
        self.answerer().readable(reply, request.asked(), request.matched)
    }

    /// The response with a readable reply from one snapshot.
    fn to_response(
        &self,
        reply: Reply,
        request: &Request,
        served: &ServedSnapshot,
    ) -> http::Response<Bytes> {
        self.answerer().response(reply, request.asked(), served)
    }

    /// The response with a readable reply, and its memory. A large reply without free memory waits and keeps its
    /// bytes.
    async fn reserve(
        &self,
        reply: Reply,
        request: &Request,
        served: &ServedSnapshot,
    ) -> ReservedResponse {
        let is_shared = reply.is_shared();
        let response = self.to_response(reply, request, served);
        let bytes = response.body().len();
        if is_shared || bytes <= SMALL_BYTES {
            return ReservedResponse::unreserved(response);
        }
        match self.memory.reserve_finished(request.admission.client, bytes).await {
            Some(reservation) => ReservedResponse {
                reservation: Some(reservation),
                ..ReservedResponse::unreserved(response)
            },
            None => self.overloaded_by(Overload::UnsentReplies, request),
        }
    }

    /// The response with a short reply, which needs no memory of its own.
    fn small(&self, reply: Reply, request: &Request) -> ReservedResponse {
        let reply = self.readable(reply, request);
        let served = self.host.snapshots.served();
        let response = reply.into_response(&request.head.method, served.reply_headers());
        ReservedResponse::unreserved(response)
    }

    fn overloaded_by(&self, overload: Overload, request: &Request) -> ReservedResponse {
        self.note_overload(overload, "answering 503", request.id);
        self.small(Reply::unavailable().closing(), request)
    }

    /// Counts and logs that something is short, and what the server does.
    fn note_overload(&self, overload: Overload, what: &str, id: RequestId) {
        OVERLOADS.count(overload);
        let missing = match overload {
            Overload::Concurrency => "work permit",
            Overload::Disk => "permit to read from disk",
            Overload::Upstream => "chunk from a mirror",
            _ => "reservation for a large reply",
        };
        if self.lines.admit() {
            tracing::warn!(request = %id, "no {missing} in time; {what}");
        }
    }
}

/// The result of one attempt at a request's work.
enum Ran {
    Reply(Reply),
    /// The thread would have to wait.
    Elsewhere,
    /// Chunks that are not on this disk.
    Absent(Arc<Wanted>),
}

/// Runs the work of a request; turns a panic into a 500 reply.
fn guard<T>(id: RequestId, work: impl FnOnce() -> T) -> Result<T, Reply> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        // The panic hook has logged the message and the source line.
        tracing::error!(request = %id, "a handler panicked; answering 500");
        Reply::internal()
    })
}

impl Service {
    /// Makes a service.
    pub fn new(snapshots: SnapshotManager, gate: Gate, settings: ServiceSettings) -> Service {
        Service {
            permits: Permits::new(settings.disk_reads),
            memory: Arc::new(ReplyMemory::new(settings.reply_memory_bytes)),
            requests: RequestIds::new(),
            traffic: Traffic::new(),
            lines: Arc::new(LineBudget::new(settings.refused_lines)),
            popular: Popular::default(),
            host: ServerHost { snapshots, disk_activity: DiskActivity::new() },
            settings,
            gate,
        }
    }

    /// The owner of the served snapshot, which opens and follows snapshots.
    pub fn snapshots(&self) -> &SnapshotManager {
        &self.host.snapshots
    }

    /// The gate that applies the request limits before routing.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Options and limits that endpoints apply.
    pub fn settings(&self) -> &ServiceSettings {
        &self.settings
    }

    /// Counters of requests, for the metrics.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The memory for replies.
    pub fn reply_memory(&self) -> &ReplyMemory {
        &self.memory
    }

    /// Whether requests wait for the disk.
    pub fn disk_activity(&self) -> &DiskActivity {
        &self.host.disk_activity
    }

    /// Log lines left out since the start, because refused requests wrote too many.
    pub fn left_out_lines(&self) -> u64 {
        self.lines.left_out()
    }
}

/// Options and limits of the service.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// Which answers exist, and the limits of making one.
    pub answers: Settings,
    /// Records and candidates that are read from disk concurrently.
    pub disk_reads: usize,
    /// Memory for replies that clients have not taken.
    pub reply_memory_bytes: usize,
    /// Time for a client to take a reply.
    pub reply_timeout: Duration,
    /// Log lines per second of refused requests and of requests that no limit counts.
    pub refused_lines: u32,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_gives_500_and_the_next_request_succeeds() {
        let ids = RequestIds::new();
        let reply = guard(ids.next(), || -> u32 { panic!("out of bounds") }).unwrap_err();
        let response =
            reply.into_response(&Method::GET, &pinakes_answer::SnapshotHeaders::new("0123"));
        assert_eq!(response.status(), 500);
        let body = r#"{"statusCode":500,"error":"Internal Server Error","message":"Internal server error"}"#;
        assert_eq!(response.body(), body);
        assert_eq!(guard(ids.next(), || 7).unwrap(), 7);
    }
}
