//! Work on a blocking thread, and again after each fetch of chunks that it lacked.
//!
//! ```text
//! body ─► permit ─► attempt ─┬─► reply, whole or with its first piece
//!            ▲               └─► chunks are absent
//!            └── fetched ◄───────┘
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use pinakes_answer::{BODY_BYTES_MAX, Reply, ServedSnapshot, Thread, Work};
use pinakes_format::storage::absent::{FetchedStretches, Missing, Wanted};
use pinakes_format::storage::thread_time_working;
use tokio::time;

use crate::admission::gate::StreamCharge;
use crate::admission::reply_memory::Reservation;
use crate::event_counts::Overload;
use crate::http::body::{self, RequestBody};
use crate::net::handler::ReservedResponse;
use crate::serve::pieces::{CountedWork, NextPiece, Production, Shortage};
use crate::serve::threads::spawn_work;
use crate::serve::{Charged, Ran, Request, Service};
use crate::upstream::cache::Turn;
use crate::upstream::transfers::Unsent;

/// Attempts of a request whose chunks are fetched.
const ROUNDS_MAX: u32 = 200;

/// A request whose chunks are fetched.
#[derive(Default)]
struct Fetching {
    /// Nothing of what the request has fetched is removed before it is read.
    reading: Option<Arc<()>>,
    turn: Option<Turn>,
    rounds: u32,
    fetched: FetchedStretches,
    deadline: Option<time::Instant>,
}

/// The reply of an attempt.
struct Made {
    reply: Reply,
    charge: Option<StreamCharge>,
    /// Of a reply in pieces.
    first: Option<NextPiece>,
    served: Arc<ServedSnapshot>,
    cpu: Duration,
}

impl Service {
    /// Reads the body if the request has one, waits for a permit, and does the work on a blocking thread.
    ///
    /// Answers from the `named` snapshot, or else from the one served when the permit comes.
    pub(super) async fn run_elsewhere(
        self: Arc<Self>,
        request: Arc<Request>,
        work: Arc<Work>,
        named: Option<Arc<ServedSnapshot>>,
    ) -> Charged {
        let client = request.admission.client;
        // Dropped with this future: after the reply, or when the client leaves.
        let _leaving = body::from_head(&request.head).map(RequestBody::client_gone_guard);
        // Held until the reply is made.
        let _reserved = match self.take_body(&request).await {
            Ok(reserved) => reserved,
            Err(refused) => return (refused, None),
        };
        let upstream = self.host.snapshots.upstream();
        let reading = upstream.and_then(|upstream| upstream.attempt());
        let mut fetching = Fetching { reading, ..Fetching::default() };
        let mut counted_work = CountedWork::new(request.admission);
        let made = loop {
            let permit = match self.permits.acquire(work.cost, client).await {
                Ok(permit) => permit,
                Err(overload) => return (self.overloaded_by(overload, &request), None),
            };
            let (service, asked) = (Arc::clone(&self), Arc::clone(&request));
            let (work, named) = (Arc::clone(&work), named.clone());
            let has_turn = fetching.turn.is_some();
            let done = spawn_work(move || {
                let served = named.unwrap_or_else(|| service.host.snapshots.served());
                let made = service.attempt(&asked, &work, served, has_turn);
                // The work owns its permit: a client that leaves does not free the permit.
                drop(permit);
                made
            });
            match done.await {
                Ok(Ok(made)) => break made,
                Ok(Err(wanted)) => {
                    if let Err(pause) = self.fetch_for(&request, &wanted, &mut fetching).await {
                        self.note_overload(Overload::Upstream, "answering 503", request.id);
                        let reply = pause.map_or_else(Reply::unavailable, Reply::unavailable_for);
                        return (self.small(reply, &request), None);
                    }
                }
                Err(_) => return (self.small(Reply::internal(), &request), None),
            }
        };
        counted_work.add(made.cpu);
        // The reply is made; the minute says what it cost.
        self.count_work(&mut counted_work).await;
        self.send(made, &request, counted_work).await
    }

    /// Reads the body of a request, if it has one. A body longer than those of queries reserves its memory first.
    async fn take_body(&self, request: &Request) -> Result<Option<Reservation>, ReservedResponse> {
        let Some(posted) = body::from_head(&request.head) else { return Ok(None) };
        let bytes_max = request.matched.map_or(0, |at| at.route.endpoint.body_bytes_max);
        let mut reserved = None;
        if bytes_max > BODY_BYTES_MAX {
            let bytes = body::announced_bytes(&request.head).unwrap_or(bytes_max as u64);
            let bytes = bytes.min(bytes_max as u64) as usize;
            reserved = self.memory.reserve(request.admission.client, bytes).await;
            if reserved.is_none() {
                return Err(self.overloaded_by(Overload::UnsentReplies, request));
            }
        }
        match posted.read(&request.head, bytes_max).await {
            Ok(()) => Ok(reserved),
            Err(reply) => Err(self.small(reply, request)),
        }
    }

    /// Does the work, and makes the first piece of a reply in pieces. The error is what is not on this disk.
    fn attempt(
        &self,
        request: &Request,
        work: &Work,
        served: Arc<ServedSnapshot>,
        has_turn: bool,
    ) -> Result<Made, Arc<Wanted>> {
        let begun = thread_time_working();
        let reply = match self.run(request, work, &served, Thread::Own) {
            Ran::Reply(reply) => reply,
            Ran::Absent(wanted) => return Err(wanted),
            // Only a shared thread gives up.
            Ran::Elsewhere => Reply::internal(),
        };
        // The first piece may fetch. The work waits for no turn, because it holds a permit: it is done again.
        let upstream = self.host.snapshots.upstream();
        let upstream = upstream.filter(|_| !has_turn && reply.has_pieces());
        let turn = upstream.map(|upstream| upstream.try_turn().ok_or(()));
        let Ok(turn) = turn.transpose() else { return Err(Arc::default()) };
        let (mut reply, charge) = self.charge_stream(reply, request);
        let has_body = request.head.method != Method::HEAD;
        let source = if has_body { reply.take_pieces() } else { None };
        let first = source.map(|source| NextPiece::new(source, &served, &self.host));
        drop(turn);
        let cpu = thread_time_working().saturating_sub(begun);
        Ok(Made { reply, charge, first, served, cpu })
    }

    /// Waits for a turn and a permit to fetch, and fetches what an attempt lacked. If that fails, returns the time until
    /// another request may succeed, where it is known.
    async fn fetch_for(
        &self,
        request: &Request,
        wanted: &Wanted,
        fetching: &mut Fetching,
    ) -> Result<(), Option<Duration>> {
        let upstream = self.host.snapshots.upstream().ok_or(None)?;
        if fetching.turn.is_none() {
            // A request that waits for its turn keeps nothing: others may remove chunks meanwhile.
            drop(fetching.reading.take());
            fetching.turn = upstream.turn().await;
            fetching.reading = upstream.attempt();
        }
        let permit = self.permits.acquire_fetch(request.admission.client).await;
        let _permit = permit.filter(|_| fetching.turn.is_some()).ok_or(None)?;
        self.fetch(wanted, fetching).await
    }

    /// Fetches what an attempt lacked, or a part of it. If the mirrors send nothing of it while the request has time,
    /// returns the time until another request may succeed.
    async fn fetch(
        &self,
        wanted: &Wanted,
        fetching: &mut Fetching,
    ) -> Result<(), Option<Duration>> {
        let upstream = self.host.snapshots.upstream().ok_or(None)?;
        if fetching.rounds == ROUNDS_MAX {
            return Err(None);
        }
        let deadline = *fetching
            .deadline
            .get_or_insert_with(|| time::Instant::now() + upstream.transfers.timeout);
        let missing = wanted.take(&mut fetching.fetched);
        fetching.rounds += 1;
        tracing::debug!(round = fetching.rounds, transfers = missing.len(), "fetching");
        // A request that compares two snapshots may lack chunks of both.
        let mut missing_of: BTreeMap<PathBuf, Vec<Missing>> = BTreeMap::new();
        for part in missing {
            missing_of.entry(part.snapshot().to_owned()).or_default().push(part);
        }
        let batches: Vec<_> = missing_of
            .into_iter()
            .map(|(place, missing)| {
                let source = upstream.snapshot_source(&place);
                upstream.transfers.begin(&source, missing, deadline.into_std())
            })
            .collect();
        for batch in batches {
            match time::timeout_at(deadline, batch).await {
                Ok(Ok(Ok(()))) => {}
                // Pieces that were fetched in advance may be lacking, and the request does not need these yet.
                Ok(Ok(Err(Unsent { has_progress: true, .. }))) => {}
                ended => {
                    let unsent = ended.ok().and_then(Result::ok).and_then(Result::err);
                    return Err(Some(upstream.transfers.let_down(unsent)));
                }
            }
        }
        Ok(())
    }

    /// The response with the reply of an attempt. The first piece of a reply in pieces waits for memory.
    async fn send(self: &Arc<Self>, made: Made, request: &Request, work: CountedWork) -> Charged {
        let Made { reply, charge, first, served, .. } = made;
        let Some(first) = first else {
            return (self.reserve(reply, request, &served).await, charge);
        };
        let is_stream = reply.stream().is_some();
        let response = self.to_response(reply, request, &served);
        let production = Production { is_stream, served, id: request.id, work };
        let response = match self.begin_pieces(first, production).await {
            Ok(pieces) => {
                ReservedResponse { pieces: Some(pieces), ..ReservedResponse::unreserved(response) }
            }
            Err(shortage) => {
                charge.into_iter().for_each(|of| self.gate.take_back(&request.admission, of));
                match shortage {
                    Shortage::Overload(overload) => self.overloaded_by(overload, request),
                    Shortage::Damaged => self.small(Reply::unavailable(), request),
                }
            }
        };
        (response, charge)
    }
}
