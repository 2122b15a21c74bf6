//! Answers a request from its head to its response: admission, routing, the choice of a thread, failures.
//!
//! The folder may import every folder of the server except `ops`.
//!
//! [`dispatch::plan`] checks a request on the thread that read it, and finishes replies that need no work,
//! such as 400 and 304. [`Job::cost`] decides where the other work is done:
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

pub(crate) mod access_log;
pub(crate) mod disk_activity;
pub(crate) mod dispatch;
pub(crate) mod line_budget;
pub(crate) mod line_form;
mod pieces;
pub(crate) mod traffic;

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, StatusCode, request::Parts};
use pinakes_format::storage::error::ReadError;
use pinakes_format::storage::waiting;
use rustix::process::nice;
use tokio::task::{self, JoinHandle};

use crate::admission::fair_queue::{FairQueue, PermitLimits};
use crate::admission::gate::{Admission, Charge, Gate, StreamCharge};
use crate::admission::reply_memory::ReplyMemory;
use crate::api::changes::Damaged;
use crate::api::request::Request;
use crate::api::route;
use crate::api::route::{GraphqlRoute, Route};
use crate::api::route_template::Template;
use crate::browse;
use crate::event_counts::{OVERLOADS, Overload};
use crate::http::body::RequestBody;
use crate::http::client_address::{Client, ClientResolver};
use crate::http::named_snapshot::{NamedSnapshot, SURROGATE_KEY};
use crate::http::pieces::PendingBody;
use crate::http::reply::Reply;
use crate::http::{body, head};
use crate::net::handler::{Handler, ReservedResponse};
use crate::service::access_log::{RequestId, RequestIds};
use crate::service::disk_activity::DiskActivity;
use crate::service::dispatch::{Cost, Job, ServiceSettings};
use crate::service::line_budget::LineBudget;
use crate::service::pieces::NextPiece;
use crate::service::traffic::Traffic;
use crate::snapshots::manager::{ServedSnapshot, SnapshotManager};

/// Header that links a 500 or 503 to the log lines of the request.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Lists and autocompletes of several words computed concurrently, for each core.
const LISTS_PER_CORE: usize = 4;
/// Of these, how many one client may have under way.
const CLIENT_LISTS_MAX: usize = 4;
/// Reads from disk of one client: all permits but one of this many.
const SPARED_READS: usize = 4;
/// Requests of one client that wait for a work permit: as many as connections of one client.
const CLIENT_WAITING_MAX: usize = 64;
/// Requests of one client that wait for a permit to read from disk, which takes a millisecond.
const CLIENT_READS_WAITING_MAX: usize = 1_024;
/// Default of `--disk-reads` for each core.
const DISK_READS_PER_CORE: usize = 8;
/// How far blocking threads yield the processor to threads that read requests.
const WORK_NICE: i32 = 10;
/// Bytes of a reply up to which the reply needs no reservation of memory.
const SMALL_BYTES: usize = 16 << 10;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Default of `--disk-reads`: enough that a solid-state disk is always at work.
pub fn default_disk_reads() -> usize {
    cores() * DISK_READS_PER_CORE
}

/// Answers requests from the served snapshot.
pub struct Service {
    snapshots: SnapshotManager,
    gate: Gate,
    settings: ServiceSettings,
    work: Arc<FairQueue>,
    disk: Arc<FairQueue>,
    disk_activity: DiskActivity,
    memory: Arc<ReplyMemory>,
    requests: RequestIds,
    traffic: Traffic,
    /// For log lines of refused requests and of requests that no limit counts.
    lines: Arc<LineBudget>,
}

impl Service {
    /// Makes a service; its work permits are four for each core.
    pub fn new(snapshots: SnapshotManager, gate: Gate, settings: ServiceSettings) -> Service {
        let work = Arc::new(FairQueue::new(PermitLimits {
            total: cores() * LISTS_PER_CORE,
            held: CLIENT_LISTS_MAX,
            waiting: CLIENT_WAITING_MAX,
        }));
        let total = settings.disk_reads.max(1);
        let disk = Arc::new(FairQueue::new(PermitLimits {
            total,
            held: total - (total - 1) / SPARED_READS,
            waiting: CLIENT_READS_WAITING_MAX,
        }));
        let memory = Arc::new(ReplyMemory::new(settings.reply_memory_bytes));
        let (requests, traffic) = (RequestIds::new(), Traffic::new());
        let lines = Arc::new(LineBudget::new(settings.refused_lines));
        let disk_activity = DiskActivity::new();
        Service {
            snapshots,
            gate,
            settings,
            work,
            disk,
            disk_activity,
            memory,
            requests,
            traffic,
            lines,
        }
    }

    /// The owner of the served snapshot, which opens and follows snapshots.
    pub fn snapshots(&self) -> &SnapshotManager {
        &self.snapshots
    }

    /// The gate that applies the request limits before routing.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Options and limits that handlers apply.
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
        &self.disk_activity
    }

    /// Log lines left out since the start, because refused requests wrote too many.
    pub fn left_out_lines(&self) -> u64 {
        self.lines.left_out()
    }

    /// Answers a request that the limits let through.
    async fn find(
        self: Arc<Self>,
        head: Arc<Parts>,
        route: Option<Route>,
        admission: Admission,
        id: RequestId,
    ) -> ReservedResponse {
        let (named, _) = NamedSnapshot::split(head.uri.path());
        let served = match named.map(|named| self.snapshots.named(named.id).ok_or(named)) {
            None => self.snapshots.served(),
            Some(Ok(served)) => served,
            Some(Err(named)) => {
                return self.small(dispatch::not_open(StatusCode::GONE, named.id), &head);
            }
        };
        let planned = self.plan(&head, route, &admission, &served, id);
        let response = match planned.map_err(|reply| self.readable(reply, &head)) {
            Ok(job) => {
                let response = job
                    .is_tried_at_once(&served.snapshot)
                    .then(|| self.respond_from_memory(&head, &job, &admission, &served, id));
                match response.flatten() {
                    Some(response) => response,
                    None => {
                        let named = named.map(|_| served);
                        return self
                            .find_elsewhere(Arc::clone(&head), job, admission, named, id)
                            .await;
                    }
                }
            }
            Err(reply) if reply.is_shared() => {
                return ReservedResponse::unreserved(self.to_response(reply, &head, &served));
            }
            Err(reply) => self.to_response(reply, &head, &served),
        };
        self.reserve(response, admission.client, &head, id).await
    }

    /// Answers on the thread that read the request; `None` if the thread would have to wait.
    fn respond_from_memory(
        &self,
        head: &Parts,
        job: &Job,
        admission: &Admission,
        served: &Arc<ServedSnapshot>,
        id: RequestId,
    ) -> Option<http::Response<Bytes>> {
        let begun = Instant::now();
        let response = waiting::from_memory(|| self.respond(head, job, admission, served, id));
        self.disk_activity.note_small_work(begun.elapsed());
        response
    }

    /// Checks a request; the error is the finished reply to a request that needs no work.
    fn plan(
        &self,
        head: &Parts,
        route: Option<Route>,
        admission: &Admission,
        served: &ServedSnapshot,
        id: RequestId,
    ) -> Result<Job, Reply> {
        if let Some(refusal) = head::refuse(head) {
            return Err(refusal);
        }
        let request = Request::new(head, admission);
        guard(id, || dispatch::plan(route, &request, served, &self.snapshots, &self.settings))
            .and_then(|plan| plan)
    }

    /// The reply as a client of this path reads it: an error below `/browse` is a page. Other methods than
    /// those of browsers get the error of the interface.
    fn readable(&self, reply: Reply, head: &Parts) -> Reply {
        let is_read = matches!(head.method, Method::GET | Method::HEAD);
        let (named, path) = NamedSnapshot::split(head.uri.path());
        let reply = match self.settings.has_browse && is_read && browse::is_below(path) {
            true => browse::as_page(reply, self.settings.other_pages()),
            false => reply,
        };
        match named {
            Some(named) => named.keep_in(reply),
            None => reply,
        }
    }

    /// The response with a readable reply from one snapshot.
    fn to_response(
        &self,
        reply: Reply,
        head: &Parts,
        served: &ServedSnapshot,
    ) -> http::Response<Bytes> {
        let mut response = reply.into_response(&head.method, served.reply_headers());
        if let (Some(named), _) = NamedSnapshot::split(head.uri.path()) {
            named.make_immutable(response.headers_mut(), self.settings.is_behind_network);
        }
        response
    }

    /// Reserves the memory of a finished reply. A large reply without free memory waits and keeps its bytes.
    async fn reserve(
        &self,
        response: http::Response<Bytes>,
        client: Client,
        head: &Parts,
        id: RequestId,
    ) -> ReservedResponse {
        let Some(bytes) = large(&response) else { return ReservedResponse::unreserved(response) };
        let reservation = self.memory.reserve_finished(client, bytes).await;
        match reservation {
            Some(reservation) => ReservedResponse {
                reservation: Some(reservation),
                ..ReservedResponse::unreserved(response)
            },
            None => self.overloaded_by(Overload::UnsentReplies, head, id),
        }
    }

    /// Reads the body if the request has one, waits for a permit, and answers on a blocking thread.
    ///
    /// Answers from the `named` snapshot, or else from the one served when the permit comes.
    async fn find_elsewhere(
        self: Arc<Self>,
        head: Arc<Parts>,
        job: Job,
        admission: Admission,
        named: Option<Arc<ServedSnapshot>>,
        id: RequestId,
    ) -> ReservedResponse {
        let (sent, client) = (Arc::clone(&head), admission.client);
        // Dropped with this future: after the reply, or when the client leaves.
        let _leaving = body::from_head(&head).map(RequestBody::client_gone_guard);
        if let Some(posted) = body::from_head(&head)
            && let Err(reply) = posted.read(&head).await
        {
            return self.small(reply, &sent);
        }
        let (queue, overload) = match job.cost() {
            Cost::Small => (&self.disk, Overload::Disk),
            Cost::Large => (&self.work, Overload::Concurrency),
        };
        let Some(permit) = queue.acquire(client.key()).await else {
            return self.overloaded_by(overload, &sent, id);
        };
        let service = Arc::clone(&self);
        // The work owns its permit: a client that leaves does not free the permit.
        let work = move || {
            let served = named.unwrap_or_else(|| service.snapshots.served());
            // Only a thread that must not wait gives no response.
            let mut response = service.respond(&head, &job, &admission, &served, id)?;
            let pending = response.extensions_mut().remove::<PendingBody>();
            let source = pending.and_then(|pending| pending.take());
            let source = source.map(|source| NextPiece::new(source, &served));
            drop(permit);
            Some((response, source, served))
        };
        let Ok(Some((response, source, served))) = spawn_work(work).await else {
            return self.small(Reply::internal(), &sent);
        };
        let Some(first) = source else {
            return self.reserve(response, client, &sent, id).await;
        };
        let charge = response.extensions().get::<StreamCharge>().copied();
        match self.begin_pieces(first, served, client, id).await {
            Ok(pieces) => {
                ReservedResponse { pieces: Some(pieces), ..ReservedResponse::unreserved(response) }
            }
            Err(overload) => {
                if let Some(charge) = charge {
                    self.gate.take_back(&admission, charge);
                }
                match overload {
                    Some(overload) => self.overloaded_by(overload, &sent, id),
                    None => self.small(Reply::unavailable(), &sent),
                }
            }
        }
    }

    fn overloaded_by(&self, overload: Overload, head: &Parts, id: RequestId) -> ReservedResponse {
        self.note_overload(overload, "answering 503", id);
        self.small(Reply::unavailable().closing(), head)
    }

    /// Counts and logs that something is short, and what the server does.
    fn note_overload(&self, overload: Overload, what: &str, id: RequestId) {
        OVERLOADS.count(overload);
        let missing = match overload {
            Overload::Concurrency => "work permit",
            Overload::Disk => "permit to read from disk",
            _ => "reservation for a large reply",
        };
        if self.lines.admit() {
            tracing::warn!(request = %id, "no {missing} in time; {what}");
        }
    }

    fn small(&self, reply: Reply, head: &Parts) -> ReservedResponse {
        let reply = self.readable(reply, head);
        let served = self.snapshots.served();
        ReservedResponse::unreserved(reply.into_response(&head.method, served.reply_headers()))
    }

    /// Does the work of a request on one snapshot; `None` if the thread would have to wait.
    fn respond(
        &self,
        head: &Parts,
        job: &Job,
        admission: &Admission,
        served: &Arc<ServedSnapshot>,
        id: RequestId,
    ) -> Option<http::Response<Bytes>> {
        let was_poisoned = served.is_poisoned();
        let request = Request::new(head, admission);
        let answered = guard(id, || {
            let reply = dispatch::run(job, &request, served, &self.settings);
            // Links are changed before the body is coded.
            reply.map(|reply| self.readable(reply, head).coded(request.headers))
        });
        // Checked last: a read past the end of a truncated file gives zeros and sets the fault.
        let fault = if was_poisoned { None } else { served.snapshot.fault() };
        let fault = fault
            .map(|fault| Damaged { snapshot: Arc::clone(served), error: ReadError::Fault(fault) });
        let reply = match (fault, answered) {
            (None, Ok(Err(Damaged { error: ReadError::WouldWait, .. }))) => return None,
            (Some(Damaged { snapshot, error }), _)
            | (None, Ok(Err(Damaged { snapshot, error }))) => {
                tracing::error!(request = %id, path = ?request.path, %error, "cannot answer");
                self.snapshots.poison(&snapshot, &error);
                self.readable(Reply::unavailable(), head)
            }
            (None, Ok(Ok(reply))) => reply,
            (None, Err(reply)) => self.readable(reply, head),
        };
        let charge = reply.stream_records();
        let charge = charge.and_then(|records| self.gate.charge_stream(admission, records));
        let reply = match charge {
            Some(charge) if charge.verdict.refusal.is_some() => {
                self.readable(dispatch::refused_stream(&charge), head)
            }
            _ => reply,
        };
        let mut response = self.to_response(reply, head, served);
        charge.map(|charge| response.extensions_mut().insert(charge));
        Some(response)
    }
}

/// Does work on a blocking thread, which yields the processor to threads that read requests.
fn spawn_work<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    thread_local! {
        static YIELDS: Cell<bool> = const { Cell::new(false) };
    }
    task::spawn_blocking(|| {
        if !YIELDS.replace(true) {
            // On Linux the niceness is the thread's own. Without it, answers are the same.
            let _ = nice(WORK_NICE);
        }
        work()
    })
}

impl Handler for Service {
    fn clients(&self) -> &ClientResolver {
        self.gate.clients()
    }

    fn takes_body(&self, head: &Parts) -> bool {
        let route = || route::find(NamedSnapshot::split(head.uri.path()).1);
        head.method == Method::POST
            && matches!(route(), Some(Route::Graphql(GraphqlRoute::Questions)))
    }

    fn overloaded(&self) -> http::Response<Bytes> {
        OVERLOADS.count(Overload::LongHeads);
        let served = self.snapshots.served();
        Reply::unavailable().closing().into_response(&Method::GET, served.reply_headers())
    }

    async fn answer(self: Arc<Self>, head: Arc<Parts>) -> ReservedResponse {
        let id = self.requests.next();
        let route = route::find(NamedSnapshot::split(head.uri.path()).1);
        let charge = route::charge(&head.method, route);
        let mut admission = self.gate.admit(&head, charge).await;
        let (lines, is_free) =
            (Arc::clone(&self.lines), matches!(charge, Charge::None | Charge::Free));
        let line = access_log::AccessLine::begin(Arc::clone(&head), &admission, id, lines, is_free);
        let underway = self.traffic.begin(Template::of(route));
        if let Some(refusal) = admission.refusal.and_then(|verdict| verdict.refusal) {
            self.traffic.refuse(refusal);
        }
        let mut answer = match admission.refusal {
            Some(verdict) => self.small(dispatch::refused(route, verdict), &head),
            None => Arc::clone(&self).find(head, route, admission, id).await,
        };
        if let Some(charge) = answer.response.extensions_mut().remove::<StreamCharge>() {
            admission.quotas = Some(charge.verdict.quotas);
            if let Some(refusal) = charge.verdict.refusal {
                self.traffic.refuse(refusal);
            }
        }
        let is_ours = answer.response.status().is_server_error();
        answer.renews = !is_free && admission.refusal.is_none();
        self.gate.settle(&admission, answer.response.status());
        let headers = answer.response.headers_mut();
        // All clients of a network get the same reply.
        if !headers.contains_key(SURROGATE_KEY) {
            admission.write(headers);
        }
        if is_ours && let Ok(id) = HeaderValue::try_from(id.to_string()) {
            headers.insert(X_REQUEST_ID, id);
        }
        underway.end(&answer.response);
        line.end(&answer.response);
        answer
    }
}

/// Runs the work of a request; turns a panic into a 500 reply.
fn guard<T>(id: RequestId, work: impl FnOnce() -> T) -> Result<T, Reply> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        // The panic hook has logged the message and the source line.
        tracing::error!(request = %id, "a handler panicked; answering 500");
        Reply::internal()
    })
}

/// The bytes to reserve for a large response; `None` for a small one.
fn large(response: &http::Response<Bytes>) -> Option<usize> {
    let bytes = response.body().len();
    (bytes > SMALL_BYTES).then_some(bytes)
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
            reply.into_response(&Method::GET, &crate::http::etag::SnapshotHeaders::new("0123"));
        assert_eq!(response.status(), 500);
        let body = r#"{"statusCode":500,"error":"Internal Server Error","message":"Internal server error"}"#;
        assert_eq!(response.body(), body);
        assert_eq!(guard(ids.next(), || 7).unwrap(), 7);
    }
}
