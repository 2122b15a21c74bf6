//! Answers a request from its head to its response: admission, routing, the choice of a thread, failures.
//!
//! [`dispatch::cost`] decides once per request where the work is done. A record is rendered on the thread
//! that read the request. On two shared cores with 32 connections, in one run, a record took 26 µs of
//! processor time there, 45 µs with `spawn_blocking` and 50 µs with `block_in_place`. The server has more
//! of these threads than cores, so that a page fault delays few other requests: with 16 threads a record
//! took 27.5 µs in that run. A list reads hundreds of records, and goes to the blocking pool after a turn.

pub(crate) mod access_log;
pub(crate) mod dispatch;
pub(crate) mod traffic;

use std::{
    net::IpAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, request::Parts};
use pinakes_format::storage::error::ReadError;
use tokio::{sync::Semaphore, task};

use crate::admission::concurrency::{Turn, Turns};
use crate::admission::gate::{Admission, Gate};
use crate::api::request::Request;
use crate::api::route;
use crate::api::route::{GraphqlRoute, Route};
use crate::api::route_template::Template;
use crate::event_counts::{OVERLOADS, Overload};
use crate::http::body::Posted;
use crate::http::buffer_pool::capacity_of;
use crate::http::client_address::Clients;
use crate::http::reply::Reply;
use crate::http::{body, head};
use crate::net::handler::{Answer, Handler};
use crate::service::access_log::{RequestId, RequestIds};
use crate::service::dispatch::{Bounds, Cost};
use crate::service::traffic::Traffic;
use crate::snapshots::library::Library;

/// What tells the log's lines of a request that was answered 500 or 503.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Threads that read requests and render records, for each core.
const WORKERS_PER_CORE: usize = 8;
/// The most of them, however many cores there are.
const WORKERS_MAX: usize = 256;
/// Lists and texts of several words answered at a time, for each core.
const LISTS_PER_CORE: usize = 4;
/// Bytes of a reply up to which the reply needs no reservation.
const SMALL_BYTES: usize = 16 << 10;
/// Kilobytes of large inline replies that wait for a reservation; the server drops further such replies.
const WAITING_KILOBYTES_MAX: usize = 8 << 10;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How many threads read requests and render records; so many records are rendered at a time.
pub fn worker_count() -> usize {
    (cores() * WORKERS_PER_CORE).min(WORKERS_MAX).max(cores())
}

/// What every request needs.
pub struct Service {
    library: Library,
    gate: Gate,
    bounds: Bounds,
    turns: Arc<Turns>,
    /// Kilobytes of inline replies that may still wait for a reservation.
    waiting: Semaphore,
    requests: RequestIds,
    traffic: Traffic,
}

impl Service {
    /// A service that answers from a library, and gives up on a question beyond its bounds.
    pub fn new(library: Library, gate: Gate, bounds: Bounds) -> Service {
        let turns = Arc::new(Turns::new(cores() * LISTS_PER_CORE));
        let (requests, traffic) = (RequestIds::new(), Traffic::new());
        let waiting = Semaphore::new(WAITING_KILOBYTES_MAX);
        Service { library, gate, bounds, turns, waiting, requests, traffic }
    }

    /// What is served.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// What stands before the routes.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// How far answers may go.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// What is counted of requests.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Bytes of large replies that are held for clients to take.
    pub fn held_bytes(&self) -> u64 {
        self.turns.held_bytes()
    }

    /// Answers a request that the limits let through.
    async fn find(
        self: Arc<Self>,
        head: Arc<Parts>,
        route: Option<Route>,
        admission: Admission,
        id: RequestId,
    ) -> Answer {
        let (target, cost) = self.decide(&head, route, &admission, id);
        match cost {
            Cost::Inline => {
                let response = self.respond(&head, route, target, &admission, id);
                self.reserve_inline(response, admission.client, &head.method, id).await
            }
            Cost::Blocking => self.find_blocking(head, route, target, admission, id).await,
        }
    }

    /// Checks the head of a request, finds its target and decides where to answer it. The target is the
    /// reply itself for a request that no handler answers.
    fn decide(
        &self,
        head: &Parts,
        route: Option<Route>,
        admission: &Admission,
        id: RequestId,
    ) -> (Result<Route, Reply>, Cost) {
        let request = Request::new(head, admission);
        let decided = guard(id, || {
            let target = resolve(head, &request, route)?;
            Ok((target, dispatch::cost(target, &request, &self.library.served())))
        });
        match decided.and_then(|decided| decided) {
            Ok((target, cost)) => (Ok(target), cost),
            Err(reply) => (Err(reply), Cost::Inline),
        }
    }

    /// Reserves the bytes of an inline reply. A large reply without a free reservation waits for a turn and
    /// keeps its bytes; all such replies together hold at most [`WAITING_KILOBYTES_MAX`].
    async fn reserve_inline(
        &self,
        response: http::Response<Bytes>,
        client: IpAddr,
        method: &Method,
        id: RequestId,
    ) -> Answer {
        let Some(bytes) = large(&response) else { return Answer { response, share: None } };
        if let Some(share) = self.turns.try_share(client, bytes) {
            return Answer { response, share: Some(share) };
        }
        let kilobytes = bytes.div_ceil(1 << 10).min(WAITING_KILOBYTES_MAX) as u32;
        let Ok(_waiting) = self.waiting.try_acquire_many(kilobytes) else {
            return self.overloaded_by(Overload::Room, method, id);
        };
        match self.turns.take(client).await {
            Some(turn) => self.reserve(turn, response, method, id).await,
            None => self.overloaded_by(Overload::Turn, method, id),
        }
    }

    /// Reads the body if the request has one, waits for a turn, and answers on a blocking thread.
    async fn find_blocking(
        self: Arc<Self>,
        head: Arc<Parts>,
        route: Option<Route>,
        target: Result<Route, Reply>,
        admission: Admission,
        id: RequestId,
    ) -> Answer {
        let (method, client) = (head.method.clone(), admission.client);
        // Dropped with this future: when the client is gone, or has its answer.
        let _leaving = body::of(&head).map(Posted::leaving);
        if let Some(posted) = body::of(&head)
            && let Err(reply) = posted.read(&head).await
        {
            return self.small(reply, &method);
        }
        let Some(turn) = self.turns.take(client).await else {
            return self.overloaded_by(Overload::Turn, &method, id);
        };
        let service = Arc::clone(&self);
        // The work owns its turn: a client that leaves does not free the turn.
        let work = move || (service.respond(&head, route, target, &admission, id), turn);
        let Ok((response, turn)) = task::spawn_blocking(work).await else {
            return self.small(Reply::internal(), &method);
        };
        self.reserve(turn, response, &method, id).await
    }

    /// Exchanges a turn for the reservation of a reply's bytes.
    async fn reserve(
        &self,
        turn: Turn,
        response: http::Response<Bytes>,
        method: &Method,
        id: RequestId,
    ) -> Answer {
        let Some(bytes) = large(&response) else { return Answer { response, share: None } };
        match turn.share(bytes).await {
            Some(share) => Answer { response, share: Some(share) },
            None => self.overloaded_by(Overload::Room, method, id),
        }
    }

    fn overloaded_by(&self, overload: Overload, method: &Method, id: RequestId) -> Answer {
        OVERLOADS.count(overload);
        let missing = match overload {
            Overload::Turn => "turn to make a reply",
            _ => "room to hold a large reply",
        };
        tracing::warn!(request = %id, "no {missing} in time; answering 503");
        self.small(Reply::unavailable().closing(), method)
    }

    fn small(&self, reply: Reply, method: &Method) -> Answer {
        Answer { response: reply.into_response(method, self.library.served().stamp()), share: None }
    }

    /// Answers from the snapshot that is served now.
    fn respond(
        &self,
        head: &Parts,
        route: Option<Route>,
        target: Result<Route, Reply>,
        admission: &Admission,
        id: RequestId,
    ) -> http::Response<Bytes> {
        let served = self.library.served();
        let was_poisoned = served.is_poisoned();
        let request = Request::new(head, admission);
        let answered = guard(id, || match target {
            Err(reply) => Ok(reply),
            Ok(target) => dispatch::run(target, &request, &served, &self.bounds)
                .map(|reply| reply.coded(request.headers)),
        });
        // Checked last: a read past the end of a truncated file gives zeros and sets the fault.
        let fault = if was_poisoned { None } else { served.snapshot.fault() };
        let fault = fault.filter(|_| !matches!(route, Some(Route::Health)));
        let reply = match (fault.map(ReadError::Fault), answered) {
            (Some(error), _) | (None, Ok(Err(error))) => {
                tracing::error!(request = %id, path = ?request.path, %error, "cannot answer");
                self.library.poison(&served, &error);
                Reply::unavailable()
            }
            (None, Ok(Ok(reply)) | Err(reply)) => reply,
        };
        reply.into_response(request.method, served.stamp())
    }
}

impl Handler for Service {
    fn clients(&self) -> &Clients {
        self.gate.clients()
    }

    fn takes_body(&self, head: &Parts) -> bool {
        let route = || route::find(head.uri.path());
        head.method == Method::POST
            && matches!(route(), Some(Route::Graphql(GraphqlRoute::Questions)))
    }

    fn overloaded(&self) -> http::Response<Bytes> {
        OVERLOADS.count(Overload::Head);
        self.small(Reply::unavailable().closing(), &Method::GET).response
    }

    fn is_pressed(&self) -> bool {
        self.turns.is_pressed()
    }

    async fn answer(self: Arc<Self>, head: Arc<Parts>) -> Answer {
        let id = self.requests.next();
        let route = route::find(head.uri.path());
        let admission = self.gate.admit(&head, route::charge(&head.method, route));
        let line = access_log::Line::begin(Arc::clone(&head), admission.client, id);
        let underway = self.traffic.begin(Template::of(route));
        if let Some(refusal) = admission.refusal.and_then(|verdict| verdict.refusal) {
            self.traffic.refuse(refusal);
        }
        let mut answer = match admission.refusal {
            Some(verdict) => self.small(dispatch::refused(route, verdict), &head.method),
            None => Arc::clone(&self).find(head, route, admission, id).await,
        };
        let is_ours = answer.response.status().is_server_error();
        let headers = answer.response.headers_mut();
        admission.write(headers);
        if is_ours && let Ok(id) = HeaderValue::try_from(id.to_string()) {
            headers.insert(X_REQUEST_ID, id);
        }
        underway.end(&answer.response);
        line.end(&answer.response);
        answer
    }
}

/// Does a request's work; a panic in it is the request's, and the reply says no more of it.
fn guard<T>(id: RequestId, work: impl FnOnce() -> T) -> Result<T, Reply> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        // What panicked and where is in the log already, by the hook.
        tracing::error!(request = %id, "a handler panicked; answering 500");
        Reply::internal()
    })
}

/// The bytes that a response holds which has to have a share of what all may; `None` where it is small.
fn large(response: &http::Response<Bytes>) -> Option<usize> {
    let bytes = response.body().len();
    (bytes > SMALL_BYTES).then(|| capacity_of(bytes))
}

/// What HTTP demands of a request comes before where it leads.
fn resolve(head: &Parts, request: &Request<'_>, route: Option<Route>) -> Result<Route, Reply> {
    match head::refusal(head) {
        None => dispatch::resolve(request, route),
        Some(reply) => Err(reply),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error_and_the_next_request_is_none() {
        let ids = RequestIds::new();
        let reply = guard(ids.next(), || -> u32 { panic!("out of bounds") }).unwrap_err();
        let response = reply.into_response(&Method::GET, &crate::http::etag::Stamp::new("0123"));
        assert_eq!(response.status(), 500);
        let body = r#"{"statusCode":500,"error":"Internal Server Error","message":"Internal server error"}"#;
        assert_eq!(response.body(), body);
        assert_eq!(guard(ids.next(), || 7).unwrap(), 7);
    }
}
