//! From a request's head to its response: where the work is done, and what becomes of failures.
//!
//! A record is rendered on the thread that read the request. Measured on two shared cores over 32
//! connections, in one run, it costs 26 µs of processor time there, 45 by way of `spawn_blocking`
//! and 50 by way of `block_in_place`. So that pages read from disk hold up few others there are more
//! such threads than cores: 16 cost 27.5 µs a record in that run. A list is hundreds of such reads,
//! and autocomplete of several words meets as many rows, so they go to the blocking pool, so many at a
//! time. One word is a look-up.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Method, StatusCode, request::Parts};
use tokio::{sync::Semaphore, task, time};

use crate::{
    gate::{Admission, Gate},
    head,
    library::Library,
    reply::Reply,
    routes::{self, READ_METHODS, Request, Route},
};

/// Threads that read requests and render records, for each core.
const WORKERS_PER_CORE: usize = 8;
/// The most of them, however many cores there are.
const WORKERS_MAX: usize = 256;
/// Lists and texts of several words answered at a time, for each core.
const LISTS_PER_CORE: usize = 4;
/// How long they may wait for their turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(5);

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
    /// How long finding a page of a list, or candidates, may take.
    list_timeout: Duration,
    lists: Arc<Semaphore>,
    failures: AtomicU64,
}

impl Service {
    /// A service that answers from a library, and gives up on a question after a time.
    pub fn new(library: Library, gate: Gate, list_timeout: Duration) -> Service {
        let lists = Arc::new(Semaphore::new(cores() * LISTS_PER_CORE));
        Service { library, gate, list_timeout, lists, failures: AtomicU64::new(0) }
    }

    /// Answers a request, whatever happens on the way.
    pub async fn answer(self: Arc<Self>, head: Arc<Parts>) -> http::Response<Bytes> {
        let admission = self.gate.admit(&head);
        let mut response = match admission.refusal {
            Some(verdict) => self.respond(Reply::TooMany(verdict), &head.method),
            None => Arc::clone(&self).find(head, admission).await,
        };
        admission.write(response.headers_mut());
        response
    }

    /// Answers a request that was let through.
    async fn find(
        self: Arc<Self>,
        head: Arc<Parts>,
        admission: Admission,
    ) -> http::Response<Bytes> {
        if let Some(response) = self.attempt(&head, &admission, false) {
            return response;
        }
        let method = head.method.clone();
        let turn = time::timeout(TURN_TIMEOUT, Arc::clone(&self.lists).acquire_owned());
        let Ok(Ok(permit)) = turn.await else {
            tracing::warn!(path = ?head.uri.path(), "no question could be begun in time; answering 503");
            return self.respond(Reply::unavailable(), &method);
        };
        let service = Arc::clone(&self);
        // The work holds the permit, not the request: a client that leaves frees no turn.
        let rendering = task::spawn_blocking(move || {
            let _permit = permit;
            service.attempt(&head, &admission, true)
        });
        match rendering.await {
            Ok(Some(response)) => response,
            Ok(None) | Err(_) => self.respond(Reply::internal(), &method),
        }
    }

    fn respond(&self, reply: Reply, method: &Method) -> http::Response<Bytes> {
        reply.into_response(method, self.library.served().stamp())
    }

    /// Answers from the snapshot served now; `None` where that might wait and must not.
    fn attempt(
        &self,
        head: &Parts,
        admission: &Admission,
        may_wait: bool,
    ) -> Option<http::Response<Bytes>> {
        let served = self.library.served();
        let request = Request::new(head, admission);
        let outcome = catch_unwind(AssertUnwindSafe(|| match resolve(head, &request) {
            Err(reply) => Ok(Some(reply)),
            Ok(route) => routes::run(route, &request, &served, self.list_timeout, may_wait),
        }));
        let reply = match outcome {
            Ok(Ok(reply)) => reply?,
            Ok(Err(error)) => {
                let number = self.failures.fetch_add(1, Ordering::Relaxed);
                tracing::error!(request = number, path = ?request.path, %error, "cannot answer");
                self.library.poison(&served, &error);
                Reply::unavailable()
            }
            Err(_) => {
                let number = self.failures.fetch_add(1, Ordering::Relaxed);
                tracing::error!(request = number, path = ?request.path, "a handler panicked");
                Reply::internal()
            }
        };
        Some(reply.into_response(request.method, served.stamp()))
    }
}

/// What HTTP demands of a request comes before where it leads.
fn resolve<'a>(head: &Parts, request: &Request<'a>) -> Result<Route<'a>, Reply> {
    match head::refusal(head) {
        None => routes::resolve(request),
        Some((StatusCode::METHOD_NOT_ALLOWED, _)) => {
            Err(Reply::method_not_allowed(READ_METHODS).closing())
        }
        Some((status, message)) => Err(Reply::error(status, message).closing()),
    }
}
