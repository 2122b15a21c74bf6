//! The body of a reply in pieces, as its producer sends them.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::{fmt, io};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;

use crate::admission::reply_memory::Reservation;
use crate::net::state::OpenRequest;

/// Bytes of a piece handed to hyper in one frame.
const FRAME_BYTES_MAX: usize = 16 << 10;

/// A piece of a body and its memory; `None` for the end of the body.
pub type Piece = Option<(Bytes, Reservation)>;

/// Why a body in pieces ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// With its last byte.
    Complete,
    /// The producer stopped: memory, a permit or a mirror was short, or the snapshot proved damaged.
    CutOff,
    /// The server reset the connection: the client was too slow, or its memory was needed.
    Reset,
    /// The client closed the connection.
    ClientLeft,
}

/// Takes the end of a body, and the bytes that were handed to the connection.
type OnEnd = Box<dyn FnOnce(BodyEnd, u64) + Send>;

/// The pieces of a body, in the extensions of its response, which must be cloneable.
#[derive(Clone)]
pub struct Pieces(Arc<Mutex<Option<PiecesInner>>>);

struct PiecesInner {
    pieces: mpsc::Receiver<Piece>,
    on_end: Option<OnEnd>,
}

impl Pieces {
    /// Wraps the receiving end of a producer's channel.
    pub fn new(pieces: mpsc::Receiver<Piece>) -> Pieces {
        Pieces(Arc::new(Mutex::new(Some(PiecesInner { pieces, on_end: None }))))
    }

    /// Calls a function once the body has ended. Drops it if the body never begins.
    pub fn on_end(&self, call: impl FnOnce(BodyEnd, u64) + Send + 'static) {
        if let Some(inner) = &mut *self.lock() {
            inner.on_end = Some(Box::new(call));
        }
    }

    /// Takes the body of an open request; the first to ask gets it.
    pub fn take(&self, open: OpenRequest, is_http2: bool) -> Result<PiecesBody, OpenRequest> {
        match self.lock().take() {
            Some(PiecesInner { pieces, on_end }) => Ok(PiecesBody {
                pieces,
                rest: Bytes::new(),
                open,
                is_http2,
                sent_bytes: 0,
                end: None,
                on_end,
            }),
            None => Err(open),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<PiecesInner>> {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// The request is under way until its body ends, however long the server takes for a piece.
    open: OpenRequest,
    is_http2: bool,
    sent_bytes: u64,
    end: Option<BodyEnd>,
    on_end: Option<OnEnd>,
}

impl Drop for PiecesBody {
    fn drop(&mut self) {
        let Some(on_end) = self.on_end.take() else { return };
        let left = || match self.open.state().is_reset() {
            true => BodyEnd::Reset,
            false => BodyEnd::ClientLeft,
        };
        on_end(self.end.unwrap_or_else(left), self.sent_bytes);
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
                    this.rest = this.open.state().track_unsent(bytes, Some(reservation));
                }
                Some(None) => {
                    this.end = Some(BodyEnd::Complete);
                    return Poll::Ready(None);
                }
                // The producer stopped: the client must not take what it has for the whole.
                None => {
                    this.end = Some(BodyEnd::CutOff);
                    let error = io::Error::other("the reply cannot be completed");
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        let frame = this.rest.split_to(this.rest.len().min(FRAME_BYTES_MAX));
        this.sent_bytes += frame.len() as u64;
        if this.is_http2 {
            this.open.state().count_pulled(frame.len());
        }
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use http::{Response, request::Parts};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::time;

    use super::*;
    use crate::admission::reply_memory::ReplyMemory;
    use crate::http::client_address::{Client, ClientResolver, ForwardingHeader};
    use crate::net::connection::{ConnectionSettings, Connections, Preface, Timeouts};
    use crate::net::handler::{Handler, ReservedResponse};
    use crate::net::limiter::ConnectionLimiter;

    const PIECES: u64 = 4;
    const PIECE_BYTES: u64 = 1_000;

    /// Answers with pieces that each take longer than all timeouts of a client.
    struct Slow {
        clients: ClientResolver,
        memory: Arc<ReplyMemory>,
        ends: mpsc::UnboundedSender<(BodyEnd, u64)>,
    }

    impl Handler for Slow {
        fn clients(&self) -> &ClientResolver {
            &self.clients
        }

        fn takes_body(&self, _: &Parts) -> bool {
            false
        }

        async fn answer(self: Arc<Self>, _: Arc<Parts>) -> ReservedResponse {
            let (sender, receiver) = mpsc::channel(1);
            let pieces = Pieces::new(receiver);
            let ends = self.ends.clone();
            pieces.on_end(move |end, bytes| ends.send((end, bytes)).unwrap());
            tokio::spawn(async move {
                for _ in 0..PIECES {
                    time::sleep(Duration::from_secs(60)).await;
                    let client = Client::known([192, 0, 2, 1].into());
                    let memory = self.memory.reserve(client, PIECE_BYTES as usize).await.unwrap();
                    let piece = Bytes::from(vec![b'x'; PIECE_BYTES as usize]);
                    sender.send(Some((piece, memory))).await.ok()?;
                }
                sender.send(None).await.ok()
            });
            let response = ReservedResponse::unreserved(Response::new(Bytes::new()));
            ReservedResponse { pieces: Some(pieces), ..response }
        }

        fn overloaded(&self) -> Response<Bytes> {
            Response::new(Bytes::new())
        }
    }

    fn connect() -> (DuplexStream, mpsc::UnboundedReceiver<(BodyEnd, u64)>) {
        let (ends, received) = mpsc::unbounded_channel();
        let header = ForwardingHeader::XForwardedFor;
        let clients = ClientResolver { trusted: Vec::new(), header, exempt: Vec::new() };
        let slow = Slow { clients, memory: Arc::new(ReplyMemory::new(1 << 20)), ends };
        let [head, write, idle] = [8, 10, 12].map(Duration::from_secs);
        let timeouts = Timeouts { head, write, idle };
        let settings = ConnectionSettings { timeouts, preface: Preface::None, control_frames: 100 };
        let connections = Arc::new(Connections::new(Arc::new(slow), settings, None));
        let (near, far) = tokio::io::duplex(64 << 10);
        let peer = [192, 0, 2, 1].into();
        let permit = connections.admit(&Arc::new(ConnectionLimiter::new(10, 10)), peer).unwrap();
        tokio::spawn(connections.serve(far, peer, permit));
        (near, received)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_whose_pieces_take_long_arrives_whole() {
        let (mut client, mut ends) = connect();
        let request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        client.write_all(request).await.unwrap();
        let mut reply = Vec::new();
        client.read_to_end(&mut reply).await.unwrap();
        assert!(reply.ends_with(b"0\r\n\r\n"), "{}", String::from_utf8_lossy(&reply));
        let sent = reply.iter().filter(|byte| **byte == b'x').count() as u64;
        // One is in the name of a header.
        assert!(sent >= PIECES * PIECE_BYTES, "{sent}");
        assert_eq!(ends.recv().await, Some((BodyEnd::Complete, PIECES * PIECE_BYTES)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_body_says_that_the_client_left() {
        let (mut client, mut ends) = connect();
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut byte = [0];
        while byte != *b"x" {
            client.read_exact(&mut byte).await.unwrap();
        }
        drop(client);
        assert_eq!(ends.recv().await, Some((BodyEnd::ClientLeft, PIECE_BYTES)));
    }
}
