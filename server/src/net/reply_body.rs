//! The body of a reply in pieces, as its producer sends them.

use std::{
    fmt, io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;

use crate::admission::reply_memory::Reservation;
use crate::net::state::ConnectionState;

/// Bytes of a piece handed to hyper in one frame.
const FRAME_BYTES_MAX: usize = 16 << 10;

/// A piece of a body and its memory; `None` for the end of the body.
pub type Piece = Option<(Bytes, Reservation)>;

/// The pieces of a body, in the extensions of its response, which must be cloneable.
#[derive(Clone)]
pub struct Pieces(Arc<Mutex<Option<mpsc::Receiver<Piece>>>>);

impl Pieces {
    /// Wraps the receiving end of a producer's channel.
    pub fn new(pieces: mpsc::Receiver<Piece>) -> Pieces {
        Pieces(Arc::new(Mutex::new(Some(pieces))))
    }

    /// Takes the pieces; the first to ask gets them.
    pub fn take(&self) -> Option<mpsc::Receiver<Piece>> {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces").finish_non_exhaustive()
    }
}

/// A body that receives its pieces. The producer makes a piece when the client has taken the one before. A
/// producer that stops before the end aborts the reply.
pub struct PiecesBody {
    pieces: mpsc::Receiver<Piece>,
    /// Bytes of the current piece that are not handed on yet.
    rest: Bytes,
    state: Arc<ConnectionState>,
    is_http2: bool,
}

impl PiecesBody {
    /// A body of a reply on a connection.
    pub fn new(
        pieces: mpsc::Receiver<Piece>,
        state: Arc<ConnectionState>,
        is_http2: bool,
    ) -> PiecesBody {
        PiecesBody { pieces, rest: Bytes::new(), state, is_http2 }
    }
}

impl Body for PiecesBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        while this.rest.is_empty() {
            match ready!(this.pieces.poll_recv(context)) {
                Some(Some((bytes, reservation))) => {
                    this.rest = this.state.track_unsent(bytes, Some(reservation));
                }
                Some(None) => return Poll::Ready(None),
                // The producer stopped: the client must not take what it has for the whole.
                None => {
                    let error = io::Error::other("the reply cannot be completed");
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        let frame = this.rest.split_to(this.rest.len().min(FRAME_BYTES_MAX));
        if this.is_http2 {
            this.state.count_pulled(frame.len());
        }
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }
}
