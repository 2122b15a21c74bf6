//! Progress of one connection: bytes the client took, requests under way, and the length of its heads.
//!
//! [`MonitoredStream`] and [`PacedBody`] record progress in a [`ConnectionState`]; the timers of
//! [`crate::net::connection`] read it.

use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use rustix::net::sockopt::set_socket_linger;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time;

use crate::admission::reply_memory::{ReplyConnection, Reservation};
use crate::net::limiter::{ConnectionLimiter, ConnectionPermit, IdleConnection, now_millis};
use crate::net::write_through::{WriteThrough, write_through};

/// A head longer than this needs a permit of the limiter of long heads.
const LONG_HEAD_BYTES: u64 = 16 << 10;
/// How long a client may take to read the last reply and to close its side.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes that the server still reads and discards meanwhile.
const LINGER_BYTES_MAX: usize = 256 << 10;
/// Bytes of a reply handed to HTTP/2 in one frame.
const FRAME_BYTES_MAX: usize = 16 << 10;

/// Progress of one connection, shared by its stream, its requests and its timers.
#[derive(Debug, Default)]
pub struct ConnectionState {
    /// Bytes the socket accepted.
    written: AtomicU64,
    /// Whether the socket accepted less than the last write offered.
    is_blocked: AtomicBool,
    /// Bytes of replies that the connection still holds.
    unsent: AtomicU64,
    /// Requests started.
    started: AtomicU64,
    /// Requests under way.
    open: AtomicU32,
    /// Whether a request started since the last read.
    has_started: AtomicBool,
    /// Number of the request to refuse for its framing; 0 for none.
    refused: AtomicU64,
    /// Number of the request that has a transfer coding; 0 for none.
    coded: AtomicU64,
    /// Bytes of replies that an HTTP/2 client opened its window for.
    pulled: AtomicU64,
    /// Permit for a long head, held until the request starts.
    long_head: Mutex<Option<ConnectionPermit>>,
    /// Whether the stream is reset when it is dropped.
    is_reset: AtomicBool,
    /// Notified when the connection is to be reset, to free its memory or its place.
    evicted: Notify,
    /// When the client last made a request that counts towards a limit, or connected.
    renewed: AtomicU64,
}

/// A request under way; ends when dropped.
#[derive(Debug)]
pub struct OpenRequest {
    state: Arc<ConnectionState>,
    /// Its number on the connection, from 1.
    number: u64,
}

impl OpenRequest {
    pub fn state(&self) -> &Arc<ConnectionState> {
        &self.state
    }

    /// Whether the connection must end with the reply, because the end of the body is unknown.
    pub fn is_last(&self) -> bool {
        self.state.coded.load(Relaxed) == self.number
    }

    /// Whether the request is to be refused for its framing.
    pub fn is_refused(&self) -> bool {
        self.state.refused.load(Relaxed) == self.number
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.state.open.fetch_sub(1, Relaxed);
    }
}

/// A byte stream that can be reset.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Closes at once and discards unsent bytes, which the system would otherwise keep for a client
    /// that does not read.
    fn reset(self);
}

impl Socket for TcpStream {
    fn reset(self) {
        // If the option cannot be set, the close only takes longer.
        let _ = set_socket_linger(&self, Some(Duration::ZERO));
    }
}

/// An in-process pipe, which holds nothing once closed.
impl Socket for DuplexStream {
    fn reset(self) {}
}

/// Bytes of a reply, counted as unsent until dropped.
struct UnsentBytes {
    bytes: Bytes,
    state: Arc<ConnectionState>,
    _reservation: Option<Reservation>,
}

impl AsRef<[u8]> for UnsentBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for UnsentBytes {
    fn drop(&mut self) {
        self.state.unsent.fetch_sub(self.bytes.len() as u64, Relaxed);
    }
}

impl ConnectionState {
    /// Counts a request as started and under way.
    pub fn start_request(self: &Arc<Self>) -> OpenRequest {
        let number = self.started.fetch_add(1, Relaxed) + 1;
        self.open.fetch_add(1, Relaxed);
        self.has_started.store(true, Relaxed);
        *self.long_head.lock().unwrap_or_else(PoisonError::into_inner) = None;
        OpenRequest { state: Arc::clone(self), number }
    }

    /// Records the numbers, from 1, of a request to refuse for its framing and of one with a transfer
    /// coding.
    pub fn record_framing(&self, refused: Option<u64>, coded: Option<u64>) {
        if let Some(number) = refused {
            self.refused.store(number, Relaxed);
        }
        if let Some(number) = coded {
            self.coded.store(number, Relaxed);
        }
    }

    /// Counts bytes of a reply that an HTTP/2 client opened its window for.
    pub fn count_pulled(&self, bytes: usize) {
        self.pulled.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts the bytes of a reply as unsent, and keeps the reservation, until the connection drops
    /// the bytes.
    pub fn track_unsent(self: &Arc<Self>, bytes: Bytes, reservation: Option<Reservation>) -> Bytes {
        if bytes.is_empty() {
            return bytes;
        }
        self.unsent.fetch_add(bytes.len() as u64, Relaxed);
        if let Some(reservation) = &reservation {
            let connection: Weak<dyn ReplyConnection> = Arc::<ConnectionState>::downgrade(self);
            reservation.attach(connection);
        }
        let state = Arc::clone(self);
        Bytes::from_owner(UnsentBytes { bytes, state, _reservation: reservation })
    }

    /// Bytes of replies that the client took since the connection began.
    ///
    /// Over HTTP/2 bytes written to the socket do not count: they may be frames of the protocol that
    /// the client asked for.
    pub fn taken(&self) -> u64 {
        match self.pulled.load(Relaxed) {
            0 => self.written.load(Relaxed),
            pulled => pulled,
        }
    }

    /// Whether bytes wait for the client to take them.
    pub fn is_behind(&self) -> bool {
        self.is_blocked.load(Relaxed) || self.unsent.load(Relaxed) > 0
    }

    /// Requests started, and requests under way.
    pub fn requests(&self) -> (u64, u32) {
        (self.started.load(Relaxed), self.open.load(Relaxed))
    }

    /// Notes a request that counts towards a limit, or a new connection.
    pub fn renew(&self) {
        self.renewed.store(now_millis(), Relaxed);
    }

    /// Waits until the connection is to be reset.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Whether the server resets the connection.
    pub fn is_reset(&self) -> bool {
        self.is_reset.load(Relaxed)
    }

    /// Makes the stream reset the connection when it is dropped.
    pub fn reset_on_drop(&self) {
        self.is_reset.store(true, Relaxed);
    }
}

impl ReplyConnection for ConnectionState {
    fn taken(&self) -> u64 {
        ConnectionState::taken(self)
    }

    fn evict(&self) {
        // Stays until the connection looks, if it does not wait now.
        self.evicted.notify_one();
    }
}

impl IdleConnection for ConnectionState {
    fn idle_since(&self) -> Option<u64> {
        let is_idle = self.open.load(Relaxed) == 0 && !self.is_behind();
        is_idle.then(|| self.renewed.load(Relaxed))
    }

    fn close(&self) {
        ReplyConnection::evict(self);
    }
}

/// A socket that records its progress, and lingers when it is dropped.
///
/// Closing a socket that holds unread bytes makes the peer discard the last reply. So the stream closes
/// its sending half first and reads for up to one second.
pub struct MonitoredStream<S: Socket> {
    /// `None` once the stream was dropped.
    socket: Option<S>,
    state: Arc<ConnectionState>,
    /// Released with the socket.
    permit: Option<ConnectionPermit>,
    /// Bytes read since the last request started.
    head_bytes: u64,
    long_heads: Arc<ConnectionLimiter>,
}

impl<S: Socket> MonitoredStream<S> {
    /// Wraps the socket of a connection that holds `permit`.
    pub fn new(
        socket: S,
        state: Arc<ConnectionState>,
        permit: ConnectionPermit,
        long_heads: Arc<ConnectionLimiter>,
    ) -> MonitoredStream<S> {
        let (socket, permit) = (Some(socket), Some(permit));
        MonitoredStream { socket, state, permit, head_bytes: 0, long_heads }
    }

    fn socket(&mut self) -> io::Result<Pin<&mut S>> {
        // Nobody polls a dropped stream.
        self.socket.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Counts bytes read; fails when the head is long and the limiter of long heads is full.
    fn count_read(&mut self, bytes: usize) -> io::Result<()> {
        if self.state.has_started.swap(false, Relaxed) {
            self.head_bytes = 0;
        }
        // During a request the bytes belong to its body.
        if self.state.open.load(Relaxed) > 0 {
            return Ok(());
        }
        self.head_bytes += bytes as u64;
        if self.head_bytes <= LONG_HEAD_BYTES {
            return Ok(());
        }
        let mut long_head = self.state.long_head.lock().unwrap_or_else(PoisonError::into_inner);
        if long_head.is_none() {
            let permit = self.permit.as_ref();
            *long_head = permit.and_then(|permit| permit.acquire_from(&self.long_heads));
        }
        long_head.as_ref().map(drop).ok_or_else(|| io::ErrorKind::QuotaExceeded.into())
    }

    /// Counts the outcome of a write that offered `offered` bytes.
    fn count_written(&self, outcome: &Poll<io::Result<usize>>, offered: usize) {
        let written = match outcome {
            Poll::Ready(Ok(written)) => *written,
            Poll::Ready(Err(_)) => return,
            Poll::Pending => 0,
        };
        self.state.written.fetch_add(written as u64, Relaxed);
        self.state.is_blocked.store(written < offered, Relaxed);
    }
}

impl<S: Socket> Drop for MonitoredStream<S> {
    fn drop(&mut self) {
        let (Some(socket), Ok(runtime)) = (self.socket.take(), Handle::try_current()) else {
            return;
        };
        let permit = self.permit.take();
        if self.state.is_reset.load(Relaxed) {
            return socket.reset();
        }
        runtime.spawn(async move {
            let _ = time::timeout(LINGER_TIMEOUT, linger(socket)).await;
            drop(permit);
        });
    }
}

/// Closes the sending half, and reads until the client closes its own.
async fn linger(mut socket: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    socket.shutdown().await?;
    let mut bytes = [0; 4 << 10];
    let mut total = 0;
    loop {
        match socket.read(&mut bytes).await? {
            0 => return Ok(()),
            count => total += count,
        }
        if total > LINGER_BYTES_MAX {
            return Ok(());
        }
    }
}

impl<S: Socket> AsyncRead for MonitoredStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = out.filled().len();
        let outcome = self.socket()?.poll_read(context, out);
        if let Poll::Ready(Ok(())) = outcome {
            self.count_read(out.filled().len() - before)?;
        }
        outcome
    }
}

impl<S: Socket> WriteThrough for MonitoredStream<S> {
    type Inner = S;

    fn inner(&mut self) -> io::Result<&mut S> {
        self.socket().map(Pin::into_inner)
    }

    fn is_vectored(&self) -> bool {
        self.socket.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn note_written(&mut self, outcome: &Poll<io::Result<usize>>, offered: usize) {
        self.count_written(outcome, offered);
    }
}

write_through!(MonitoredStream<S: Socket>);

/// The body of an HTTP/2 reply, handed on in frames of at most 16 KiB as the client's window opens.
///
/// The frames show whether the client takes a reply: the socket alone does not, since a client may make
/// the server send other frames.
pub struct PacedBody<B> {
    body: B,
    /// Bytes taken from the body and not handed on yet.
    rest: Bytes,
    state: Arc<ConnectionState>,
}

impl<B> PacedBody<B> {
    pub fn new(body: B, state: Arc<ConnectionState>) -> PacedBody<B> {
        PacedBody { body, rest: Bytes::new(), state }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for PacedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => this.rest = bytes,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                other => return Poll::Ready(other),
            }
        }
        let frame = this.rest.split_to(this.rest.len().min(FRAME_BYTES_MAX));
        this.state.count_pulled(frame.len());
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.body.size_hint().exact() {
            Some(bytes) => SizeHint::with_exact(bytes + self.rest.len() as u64),
            None => SizeHint::default(),
        }
    }
}
