//! Sends bodies that are made in pieces.
//!
//! ```text
//! first piece     made by the work that answered the request; without memory for it, the client gets 503
//! further pieces  each when the client has taken the piece before the last: memory, work permit, work
//! failure         the body ends before its end, and the client sees an incomplete reply
//! ```

use std::sync::Arc;

use bytes::Bytes;
use pinakes_format::storage::error::ReadError;
use tokio::{sync::mpsc, time};

use crate::admission::reply_memory::Reservation;
use crate::endpoint::call::{Cost, Thread};
use crate::endpoint::site::Site;
use crate::event_counts::{OVERLOADS, Overload};
use crate::http::client_address::Client;
use crate::net::reply_body::Pieces;
use crate::reply::pieces::{PieceError, PieceSource};
use crate::serve::Service;
use crate::serve::access_log::RequestId;
use crate::serve::threads::spawn_work;
use crate::snapshots::served::ServedSnapshot;

/// The reaction of the server to a shortage during a reply, for the log.
const CUT_OFF: &str = "cutting a reply off";

/// A piece of a body, and what is left of the body.
pub(super) struct NextPiece {
    source: Box<dyn PieceSource>,
    piece: Option<Result<Bytes, PieceError>>,
    /// About the bytes of the piece after it.
    further_bytes: usize,
}

impl NextPiece {
    /// Makes the next piece.
    pub fn new(
        mut source: Box<dyn PieceSource>,
        served: &ServedSnapshot,
        site: &Site,
    ) -> NextPiece {
        let snapshot = served.waiting_handle(Thread::Own.reads(site.disk_activity.is_busy()));
        let _reading = site.snapshots.upstream().and_then(|upstream| upstream.attempt());
        let mut piece = match served.is_poisoned() {
            true => Some(Err(PieceError::Poisoned)),
            false => source.next_piece(snapshot),
        };
        // Checked last: a read past the end of a truncated file gives zeros and sets the fault.
        if let Some(fault) = snapshot.fault().filter(|_| !served.is_poisoned()) {
            piece = Some(Err(ReadError::Fault(fault).into()));
        }
        let further_bytes = source.next_bytes(snapshot);
        NextPiece { source, piece, further_bytes }
    }
}

/// Why a body in pieces does not begin.
pub(super) enum Shortage {
    Overload(Overload),
    /// The snapshot is damaged.
    Damaged,
}

/// A body after its first piece.
struct Production {
    source: Box<dyn PieceSource>,
    /// About the bytes of the next piece.
    bytes: usize,
    /// The memory of what a stream of a whole list holds between two pieces; `None` for a page.
    held: Option<Reservation>,
    served: Arc<ServedSnapshot>,
    client: Client,
    id: RequestId,
}

impl Service {
    /// Starts to send a body in pieces. The first piece waits for memory as a whole reply does, so that a client
    /// may still get 503.
    pub(super) async fn begin_pieces(
        self: &Arc<Self>,
        NextPiece { source, piece, further_bytes }: NextPiece,
        served: Arc<ServedSnapshot>,
        client: Client,
        id: RequestId,
    ) -> Result<Pieces, Shortage> {
        let first = match piece {
            Some(Err(error)) => {
                self.give_up(&served, &error, id);
                return Err(Shortage::Damaged);
            }
            Some(Ok(first)) => first,
            None => Bytes::new(),
        };
        let held = match source.list_bytes() {
            Some(bytes) => match self.memory.reserve(client, bytes).await {
                Some(held) => Some(held),
                None => return Err(Shortage::Overload(Overload::UnsentReplies)),
            },
            None => None,
        };
        let reservation = self.memory.reserve_finished(client, first.len()).await;
        let reservation = reservation.ok_or(Shortage::Overload(Overload::UnsentReplies))?;
        let production = Production { source, bytes: further_bytes, held, served, client, id };
        Ok(self.produce((first, reservation), production))
    }

    /// Logs why a body in pieces ends early, and stops serving a damaged snapshot.
    fn give_up(&self, served: &Arc<ServedSnapshot>, error: &PieceError, id: RequestId) {
        match error {
            PieceError::Damaged(ReadError::Absent { .. }) => {
                self.note_overload(Overload::Upstream, CUT_OFF, id);
            }
            PieceError::Damaged(damage) => {
                tracing::error!(request = %id, %error, "cannot complete a reply");
                self.site.snapshots.poison(served, damage);
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

    /// Sends a body in pieces. A piece is made when the client has taken the piece before the last, with memory
    /// that is reserved first, and with a work permit. The client has --reply-timeout for all pieces of a page,
    /// and for each piece of a whole list.
    fn produce(self: &Arc<Self>, first: (Bytes, Reservation), production: Production) -> Pieces {
        let Production { mut source, mut bytes, held, served, client, id } = production;
        let (sender, receiver) = mpsc::channel(1);
        let service = Arc::clone(self);
        let timeout = self.site.settings.reply_timeout;
        let pieces = async move {
            sender.send(Some(first)).await.ok()?;
            let mut deadline = time::Instant::now() + timeout;
            loop {
                let next = async {
                    // Resolves when the client has taken a piece, and fails when it leaves.
                    let place = sender.reserve().await.ok()?;
                    let Some(reservation) = service.memory.reserve(client, bytes).await else {
                        service.note_overload(Overload::UnsentReplies, CUT_OFF, id);
                        return None;
                    };
                    let permit = match service.permits.acquire(Cost::Large, client).await {
                        Ok(permit) => permit,
                        Err(overload) => {
                            service.note_overload(overload, CUT_OFF, id);
                            return None;
                        }
                    };
                    let (served, service) = (Arc::clone(&served), Arc::clone(&service));
                    let work = move || {
                        let next = NextPiece::new(source, &served, &service.site);
                        drop(permit);
                        next
                    };
                    Some((place, reservation, spawn_work(work).await.ok()?))
                };
                let (place, reservation, next) = time::timeout_at(deadline, next).await.ok()??;
                (source, bytes) = (next.source, next.further_bytes);
                if held.is_some() {
                    deadline = time::Instant::now() + timeout;
                }
                match next.piece {
                    None => {
                        place.send(None);
                        return Some(());
                    }
                    Some(Ok(bytes)) if bytes.is_empty() => {}
                    Some(Ok(bytes)) => {
                        reservation.shrink_to(bytes.len());
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
