//! What a socket tells of its client: how much it took, whether it takes more, how much of a head it
//! sent.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use rustix::net::sockopt::set_socket_linger;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf},
    net::TcpStream,
    runtime::Handle,
    time,
};

use crate::admission::concurrency::Share;
use crate::net::limiter::{Place, Places};

/// Bytes read since the last request began beyond which a head is a long one.
const LONG_HEAD_BYTES: u64 = 16 << 10;
/// How long a client may take to close a connection the server has ended, and to read the last reply
/// before it does.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes such a client may still send.
const LINGER_BYTES_MAX: usize = 256 << 10;
/// Bytes of a reply that are handed to HTTP/2 at a time.
const PIECE_BYTES: usize = 16 << 10;

/// What is known of a connection by those who serve it.
#[derive(Debug, Default)]
pub struct Pulse {
    /// Bytes the socket took.
    written: AtomicU64,
    /// Whether it had no room for the last that were to be written.
    is_blocked: AtomicBool,
    /// Bytes of replies that are still held for it.
    unsent: AtomicU64,
    /// Requests that began, ever.
    begun: AtomicU64,
    /// Requests under way.
    open: AtomicU32,
    /// Whether a request began since bytes were last read.
    has_begun: AtomicBool,
    /// The request that is refused for its framing, by its number; 0 where none is.
    refused: AtomicU64,
    /// The request that has a transfer coding, by its number; 0 where none has.
    coded: AtomicU64,
    /// Bytes of replies that an HTTP/2 client made room for.
    pulled: AtomicU64,
    /// The place among the long heads, until the request begins.
    long_head: Mutex<Option<Place>>,
    /// Whether the connection is ended without a word.
    is_dropped: AtomicBool,
}

/// A request under way, for as long as this lives.
#[derive(Debug)]
pub struct Open {
    pulse: Arc<Pulse>,
    number: u64,
}

impl Open {
    /// Whether nothing is known of what follows the request on its connection.
    pub fn is_last(&self) -> bool {
        self.pulse.coded.load(Relaxed) == self.number
    }

    /// Whether the request is refused for its framing.
    pub fn is_refused(&self) -> bool {
        self.pulse.refused.load(Relaxed) == self.number
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.pulse.open.fetch_sub(1, Relaxed);
    }
}

/// What bytes are read from and written to.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Closes at once, and what was written and not yet taken is thrown away: else the system would
    /// go on holding it for a client that takes nothing.
    fn reset(self);
}

impl Socket for TcpStream {
    fn reset(self) {
        // Without it the close is only slower.
        let _ = set_socket_linger(&self, Some(Duration::ZERO));
    }
}

/// A pipe within the process, which holds nothing once it is closed.
impl Socket for DuplexStream {
    fn reset(self) {}
}

/// Bytes of a reply, counted as unsent until the last of them is let go.
struct Unsent {
    bytes: Bytes,
    pulse: Arc<Pulse>,
    _share: Option<Share>,
}

impl AsRef<[u8]> for Unsent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.pulse.unsent.fetch_sub(self.bytes.len() as u64, Relaxed);
    }
}

impl Pulse {
    /// A request begins.
    pub fn begin(self: &Arc<Self>) -> Open {
        let number = self.begun.fetch_add(1, Relaxed) + 1;
        self.open.fetch_add(1, Relaxed);
        self.has_begun.store(true, Relaxed);
        *self.long_head.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Open { pulse: Arc::clone(self), number }
    }

    /// Requests, by their numbers from 1 on, that are to be refused for their framing, or have a transfer
    /// coding.
    pub fn frame(&self, refused: Option<u64>, coded: Option<u64>) {
        if let Some(number) = refused {
            self.refused.store(number, Relaxed);
        }
        if let Some(number) = coded {
            self.coded.store(number, Relaxed);
        }
    }

    /// An HTTP/2 client made room for so many bytes of a reply.
    pub fn pull(&self, bytes: usize) {
        self.pulled.fetch_add(bytes as u64, Relaxed);
    }

    /// A reply is handed to the connection, with its share of what all may hold.
    pub fn hold(self: &Arc<Self>, bytes: Bytes, share: Option<Share>) -> Bytes {
        if bytes.is_empty() {
            return bytes;
        }
        self.unsent.fetch_add(bytes.len() as u64, Relaxed);
        Bytes::from_owner(Unsent { bytes, pulse: Arc::clone(self), _share: share })
    }

    /// Bytes of replies the client took, ever. The socket's are no measure over HTTP/2, where a client
    /// may be sent much that is no reply.
    pub fn taken(&self) -> u64 {
        match self.pulled.load(Relaxed) {
            0 => self.written.load(Relaxed),
            pulled => pulled,
        }
    }

    /// Whether there is something the client has yet to take.
    pub fn is_behind(&self) -> bool {
        self.is_blocked.load(Relaxed) || self.unsent.load(Relaxed) > 0
    }

    /// Requests that began, ever, and those under way.
    pub fn requests(&self) -> (u64, u32) {
        (self.begun.load(Relaxed), self.open.load(Relaxed))
    }

    /// The connection is to end, and its client not to be waited for.
    pub fn drop_client(&self) {
        self.is_dropped.store(true, Relaxed);
    }
}

/// A socket that tells its pulse, and lingers where it is let go.
///
/// To close a socket that holds unread bytes tells its peer to throw away what it has not read yet,
/// the last reply too. So the sending half is closed, and what still comes is read for a while.
pub struct Watched<S: Socket> {
    /// `None` once it was let go.
    stream: Option<S>,
    pulse: Arc<Pulse>,
    /// Given back with the socket.
    place: Option<Place>,
    /// Bytes read since the last request began.
    head_bytes: u64,
    long_heads: Arc<Places>,
}

impl<S: Socket> Watched<S> {
    /// A socket, its place among the others, and the places there are for long heads.
    pub fn new(stream: S, pulse: Arc<Pulse>, place: Place, long_heads: Arc<Places>) -> Watched<S> {
        Watched { stream: Some(stream), pulse, place: Some(place), head_bytes: 0, long_heads }
    }

    fn stream(&mut self) -> io::Result<Pin<&mut S>> {
        // Only a socket that was let go has none.
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Counts what was read, and refuses a head that is long where there are enough of those.
    fn count(&mut self, bytes: usize) -> io::Result<()> {
        if self.pulse.has_begun.swap(false, Relaxed) {
            self.head_bytes = 0;
        }
        // While a request is under way it is its body that is read.
        if self.pulse.open.load(Relaxed) > 0 {
            return Ok(());
        }
        self.head_bytes += bytes as u64;
        if self.head_bytes <= LONG_HEAD_BYTES {
            return Ok(());
        }
        let mut long_head = self.pulse.long_head.lock().unwrap_or_else(PoisonError::into_inner);
        if long_head.is_none() {
            *long_head = self.place.as_ref().and_then(|place| place.among(&self.long_heads));
        }
        long_head.as_ref().map(drop).ok_or_else(|| io::ErrorKind::QuotaExceeded.into())
    }

    /// Notes what became of a write of so many bytes.
    fn note(&self, outcome: &Poll<io::Result<usize>>, offered: usize) {
        let taken = match outcome {
            Poll::Ready(Ok(taken)) => *taken,
            Poll::Ready(Err(_)) => return,
            Poll::Pending => 0,
        };
        self.pulse.written.fetch_add(taken as u64, Relaxed);
        self.pulse.is_blocked.store(taken < offered, Relaxed);
    }
}

impl<S: Socket> Drop for Watched<S> {
    fn drop(&mut self) {
        let (Some(stream), Ok(runtime)) = (self.stream.take(), Handle::try_current()) else {
            return;
        };
        let place = self.place.take();
        if self.pulse.is_dropped.load(Relaxed) {
            return stream.reset();
        }
        runtime.spawn(async move {
            let _ = time::timeout(LINGER, linger(stream)).await;
            drop(place);
        });
    }
}

/// Closes the sending half, and reads until the client closes its own.
async fn linger(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    stream.shutdown().await?;
    let mut bytes = [0; 4 << 10];
    let mut total = 0;
    loop {
        match stream.read(&mut bytes).await? {
            0 => return Ok(()),
            count => total += count,
        }
        if total > LINGER_BYTES_MAX {
            return Ok(());
        }
    }
}

impl<S: Socket> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = out.filled().len();
        let outcome = self.stream()?.poll_read(context, out);
        if let Poll::Ready(Ok(())) = outcome {
            self.count(out.filled().len() - before)?;
        }
        outcome
    }
}

impl<S: Socket> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = self.stream()?.poll_write(context, bytes);
        self.note(&outcome, bytes.len());
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = self.stream()?.poll_write_vectored(context, slices);
        self.note(&outcome, slices.iter().map(|slice| slice.len()).sum());
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(context)
    }
}

/// A reply's body over HTTP/2, handed on in pieces as its client makes room for them: that is how it is
/// told whether a client takes a reply, which may be asked to be sent much else.
pub struct Pieces<B> {
    body: B,
    /// What was taken from the body and not handed on.
    rest: Bytes,
    pulse: Arc<Pulse>,
}

impl<B> Pieces<B> {
    /// Those of a body.
    pub fn of(body: B, pulse: Arc<Pulse>) -> Pieces<B> {
        Pieces { body, rest: Bytes::new(), pulse }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Pieces<B> {
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
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        this.pulse.pull(piece.len());
        Poll::Ready(Some(Ok(Frame::data(piece))))
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
