//! Sends bodies that are made in pieces.
//!
//! ```text
//! first piece     made by the work that answered the request; without memory for it, the client gets 503
//! further pieces  each when the client has taken the piece before the last: memory, work permit, work
//! long work       each --list-cpu of processor time is one more request of the client's minute, and waits for it
//! failure         the body ends before its end, and the client sees an incomplete reply
//! ```

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use pinakes_answer::{CodedPieces, Cost, Host, PieceError, ServedSnapshot, Thread};
use pinakes_format::storage::{ReadError, thread_time_working};
use tokio::sync::mpsc;
use tokio::time;

use crate::admission::gate::Admission;
use crate::admission::reply_memory::Reservation;
use crate::event_counts::{OVERLOADS, Overload};
use crate::net::reply_body::Pieces;
use crate::serve::Service;
use crate::serve::access_log::RequestId;
use crate::serve::host::ServerHost;
use crate::serve::threads::spawn_work;

/// The reaction of the server to a shortage during a reply, for the log.
const CUT_OFF: &str = "cutting a reply off";

/// A piece of a body, and what is left of the body.
pub(super) struct NextPiece {
    source: CodedPieces,
    piece: Option<Result<Bytes, PieceError>>,
    /// About the bytes of the piece after it.
    further_bytes: usize,
    /// The processor time of the piece.
    pub cpu: Duration,
}

impl NextPiece {
    /// Makes the next piece.
    pub fn new(mut source: CodedPieces, served: &ServedSnapshot, host: &ServerHost) -> NextPiece {
        let begun = thread_time_working();
        let snapshot = served.waiting_handle(Thread::Own.reads(host.is_disk_busy()));
        let _reading = host.snapshots.upstream().and_then(|upstream| upstream.attempt());
        let mut piece = match served.is_poisoned() {
            true => Some(Err(PieceError::Poisoned)),
            false => source.next_piece(snapshot, host.clock()),
        };
        // Checked last: a read past the end of a truncated file gives zeros and sets the fault.
        if let Some(fault) = snapshot.fault().filter(|_| !served.is_poisoned()) {
            piece = Some(Err(ReadError::Fault(fault).into()));
        }
        let further_bytes = source.next_bytes(snapshot);
        let cpu = thread_time_working().saturating_sub(begun);
        NextPiece { source, piece, further_bytes, cpu }
    }
}

/// Why a body in pieces does not begin.
pub(super) enum Shortage {
    Overload(Overload),
    /// The snapshot is damaged.
    Damaged,
}

/// The processor time of a request, of which each --list-cpu counts as a request of the minute.
pub(super) struct CountedWork {
    pub admission: Admission,
    spent: Duration,
    counted: u32,
}

impl CountedWork {
    /// The work of an admitted request, which is counted once.
    pub fn new(admission: Admission) -> CountedWork {
        CountedWork { admission, spent: Duration::ZERO, counted: 1 }
    }

    /// Adds processor time.
    pub fn add(&mut self, cpu: Duration) {
        self.spent += cpu;
    }

    /// The requests that are still to be counted, where a request has this much processor time.
    fn due(&self, of_request: Duration) -> u32 {
        // A request that is begun counts.
        let requests = self.spent.as_nanos() / of_request.as_nanos().max(1) + 1;
        u32::try_from(requests).unwrap_or(u32::MAX).saturating_sub(self.counted)
    }
}

/// A body in pieces, and what the server holds for it.
pub(super) struct Production {
    /// The whole list has a time for each piece, a page one for all pieces.
    pub is_stream: bool,
    pub served: Arc<ServedSnapshot>,
    pub id: RequestId,
    pub work: CountedWork,
}

impl Service {
    /// Starts to send a body in pieces. The first piece waits for memory as a whole reply does, so that a client
    /// may still get 503.
    pub(super) async fn begin_pieces(
        self: &Arc<Self>,
        next: NextPiece,
        production: Production,
    ) -> Result<Pieces, Shortage> {
        let Production { served, id, work, .. } = &production;
        let client = work.admission.client;
        let first = match next.piece {
            Some(Err(error)) => {
                self.give_up(served, &error, *id);
                return Err(Shortage::Damaged);
            }
            Some(Ok(first)) => first,
            None => Bytes::new(),
        };
        let no_memory = || Shortage::Overload(Overload::UnsentReplies);
        let held = self.memory.reserve(client, next.source.held_bytes()).await;
        let held = held.ok_or_else(no_memory)?;
        let reservation = self.memory.reserve_finished(client, first.len()).await;
        let first = (first, reservation.ok_or_else(no_memory)?);
        Ok(self.produce(first, next.source, next.further_bytes, held, production))
    }

    /// Logs why a body in pieces ends early, and stops serving a damaged snapshot.
    fn give_up(&self, served: &Arc<ServedSnapshot>, error: &PieceError, id: RequestId) {
        match error {
            PieceError::Damaged(ReadError::Absent { .. }) => {
                self.note_overload(Overload::Upstream, CUT_OFF, id);
            }
            PieceError::Damaged(damage) => {
                tracing::error!(request = %id, %error, "cannot complete a reply");
                self.host.snapshots.poison(served, damage);
            }
            PieceError::Poisoned => {
                tracing::error!(request = %id, %error, "cannot complete a reply");
            }
            PieceError::Deadline => {
                OVERLOADS.count(Overload::Deadline);
                tracing::warn!(request = %id, %error, "cannot complete a reply");
            }
        }
    }

    /// Counts the work of a request as further requests of the client's minute, as far as the minute has room. Returns the
    /// time until the next minute if it has too little.
    pub(super) async fn count_work(&self, work: &mut CountedWork) -> Option<Duration> {
        let due = work.due(self.settings.answers.list_cpu);
        let (counted, wait) = self.gate.charge_work(&work.admission, due).await;
        work.counted = work.counted.saturating_add(counted);
        wait
    }

    /// Sends a body in pieces. A piece is made when the client has taken the piece before the last, with memory
    /// that is reserved first, and with a work permit. The client has --reply-timeout for all pieces of a page,
    /// and for each piece of a whole list.
    fn produce(
        self: &Arc<Self>,
        first: (Bytes, Reservation),
        mut source: CodedPieces,
        mut bytes: usize,
        held: Reservation,
        production: Production,
    ) -> Pieces {
        let Production { is_stream, served, id, mut work } = production;
        let client = work.admission.client;
        let (sender, receiver) = mpsc::channel(1);
        let service = Arc::clone(self);
        let timeout = self.settings.reply_timeout;
        let pieces = async move {
            // Until the body ends.
            let _held = held;
            sender.send(Some(first)).await.ok()?;
            let mut deadline = time::Instant::now() + timeout;
            loop {
                let next = async {
                    // Resolves when the client has taken a piece, and fails when it leaves.
                    let place = sender.reserve().await.ok()?;
                    while let Some(wait) = service.count_work(&mut work).await {
                        time::sleep(wait).await;
                    }
                    let Some(reservation) = service.memory.reserve(client, bytes).await else {
                        service.note_overload(Overload::UnsentReplies, CUT_OFF, id);
                        return None;
                    };
                    // Before the permit, for which requests with a turn wait.
                    let turn = match service.host.snapshots.upstream() {
                        Some(upstream) => upstream.turn().await,
                        None => None,
                    };
                    if turn.is_none() && service.host.snapshots.upstream().is_some() {
                        service.note_overload(Overload::Upstream, CUT_OFF, id);
                        return None;
                    }
                    let permit = match service.permits.acquire(Cost::Large, client).await {
                        Ok(permit) => permit,
                        Err(overload) => {
                            service.note_overload(overload, CUT_OFF, id);
                            return None;
                        }
                    };
                    let (served, service) = (Arc::clone(&served), Arc::clone(&service));
                    let work = move || {
                        let next = NextPiece::new(source, &served, &service.host);
                        drop((permit, turn));
                        next
                    };
                    Some((place, reservation, spawn_work(work).await.ok()?))
                };
                let (place, reservation, next) = time::timeout_at(deadline, next).await.ok()??;
                (source, bytes) = (next.source, next.further_bytes);
                work.add(next.cpu);
                if is_stream {
                    deadline = time::Instant::now() + timeout;
                }
                match next.piece {
                    None => {
                        place.send(None);
                        return Some(());
                    }
                    Some(Ok(bytes)) if bytes.is_empty() => {}
                    Some(Ok(bytes)) => {
                        reservation.resize_to(bytes.len());
                        place.send(Some((bytes, reservation)));
                    }
                    Some(Err(error)) => {
                        service.give_up(&served, &error, id);
                        return None;
                    }
                }
            }
        };
        // A producer that stops before the end aborts the reply.
        tokio::spawn(pieces);
        Pieces::new(receiver)
    }
}
