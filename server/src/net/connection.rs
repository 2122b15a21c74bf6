//! One connection, from accepted socket to close: PROXY header, TLS, HTTP/1.1 or HTTP/2, and timeouts.
//!
//! ```text
//! socket ─► PROXY header? ─► MonitoredStream ─► TLS? ─► LenientStream (HTTP/1.1) ─► hyper ─► warp ─► Handler
//! ```

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderValue, Method, Version, header, request::Parts};
use http_body_util::{Either, Empty};
use hyper::{body::Incoming, ext::ReasonPhrase, server::conn, service::Service as _};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use hyper_util::service::TowerToHyperService;
use pinakes_answer::{Reply, SnapshotHeaders, reason_phrase};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time;
use tokio::time::{Instant, MissedTickBehavior};
use warp::Filter;

use crate::admission::gate::Peer;
use crate::event_counts::{SLOW_CLIENTS, SlowClient};
use crate::http::body::{self, ReceivedBody};
use crate::http::client_address::{Client, network_key};
use crate::http::head::{HEADER_BYTES_MAX, TwoLengths};
use crate::net::frame_meter::FrameMeter;
use crate::net::handler::{Handler, ReservedResponse};
use crate::net::limiter::{ConnectionLimiter, ConnectionPermit, IdleConnection};
use crate::net::proxy_protocol;
use crate::net::reply_body::{Pieces, PiecesBody};
use crate::net::request_target::{HEAD_BYTES_MAX, HEAD_HEADERS_MAX, LenientStream};
use crate::net::state::{ConnectionState, MonitoredStream, PacedBody, Socket};
use crate::net::tls::Handshakes;

/// Heads over 16 KiB that the server reads concurrently, in total and for each client.
const LONG_HEADS_MAX: u32 = 128;
const CLIENT_LONG_HEADS_MAX: u32 = 4;
/// How long, and how many bytes of, an unread HTTP/2 body the server discards before it replies. Some
/// clients take the end of the stream, which comes with the reply, for a failure.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(1);
const UNREAD_BYTES_MAX: usize = STREAM_WINDOW_BYTES as usize;
/// Concurrent requests of one HTTP/2 connection.
const STREAMS_MAX: u32 = 32;
/// Bytes of bodies that an HTTP/2 client may send before the server reads them.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;
/// Interval of HTTP/2 pings, and the time a client has to answer one.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for a PROXY header, which a proxy knows when it connects.
const PREFACE_TIMEOUT: Duration = Duration::from_secs(4);
/// How often the timers of a connection run.
const TIMER_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes that a client with unsent replies must take within the write timeout.
const TAKEN_BYTES_MIN: u64 = 16 << 10;
/// How long an idle connection stays open once the server is ending.
const ENDING_GRACE: Duration = Duration::from_millis(500);

/// Timeouts of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To send the head of a request, from the last reply or the start of the connection; also for the
    /// TLS handshake and the PROXY header.
    pub head: Duration,
    /// To take 16 KiB of a reply.
    pub write: Duration,
    /// To start another request over HTTP/2; and again as long to close afterwards.
    pub idle: Duration,
}

/// The bytes that precede those of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preface {
    /// Nothing.
    None,
    /// A PROXY header of a trusted proxy, which names the client.
    Proxy,
}

/// Settings of all connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionSettings {
    /// How long a client may take.
    pub timeouts: Timeouts,
    /// What precedes the bytes of a client.
    pub preface: Preface,
    /// HTTP/2 frames per second of a connection, besides requests and bodies.
    pub control_frames: u32,
}

/// Serves connections: their common settings, service and state.
pub struct Connections<H> {
    service: Arc<H>,
    settings: ConnectionSettings,
    tls: Option<Handshakes>,
    long_heads: Arc<ConnectionLimiter>,
    /// `true` once the server is ending.
    ending: watch::Sender<bool>,
}

impl<H: Handler> Connections<H> {
    /// Serves connections to a service, over TLS if `tls` is given.
    pub fn new(
        service: Arc<H>,
        settings: ConnectionSettings,
        tls: Option<Handshakes>,
    ) -> Connections<H> {
        let long_heads = Arc::new(ConnectionLimiter::new(LONG_HEADS_MAX, CLIENT_LONG_HEADS_MAX));
        Connections { service, settings, tls, long_heads, ending: watch::Sender::new(false) }
    }

    /// Makes every connection close after its current request.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }

    /// Acquires a permit for a new connection of a peer; `None` closes the connection.
    ///
    /// With PROXY headers only a trusted proxy may connect.
    pub fn admit(
        &self,
        limiter: &Arc<ConnectionLimiter>,
        peer: IpAddr,
    ) -> Option<ConnectionPermit> {
        let permit = limiter.acquire()?;
        match self.settings.preface {
            Preface::None => self.permit_for(permit, peer),
            Preface::Proxy => self.service.clients().is_trusted(peer).then_some(permit),
        }
    }

    /// Counts the permit for a client, unless the client is a proxy of many clients or exempt.
    fn permit_for(&self, permit: ConnectionPermit, client: IpAddr) -> Option<ConnectionPermit> {
        let clients = self.service.clients();
        let is_unlimited = clients.is_trusted(client) || clients.is_exempt(Client::known(client));
        if is_unlimited { Some(permit) } else { permit.for_client(client) }
    }

    /// Serves one connection until it closes.
    pub async fn serve(
        self: Arc<Self>,
        socket: impl Socket,
        peer: IpAddr,
        permit: ConnectionPermit,
    ) {
        if let Err(error) = self.start(socket, peer, permit).await {
            if is_late_head(&error) {
                SLOW_CLIENTS.count(SlowClient::Head);
            }
            tracing::debug!(%peer, %error, "connection ended");
        }
    }

    /// Reads the PROXY header, if one is expected, and starts TLS or HTTP.
    async fn start(
        &self,
        mut socket: impl Socket,
        peer: IpAddr,
        permit: ConnectionPermit,
    ) -> io::Result<()> {
        let (client, permit) = match self.settings.preface {
            Preface::None => (Peer::Known(peer), Some(permit)),
            Preface::Proxy => {
                let timeout = self.settings.timeouts.head.min(PREFACE_TIMEOUT);
                match time::timeout(timeout, proxy_protocol::read_header(&mut socket)).await?? {
                    Some(client) => (Peer::Known(client), self.permit_for(permit, client)),
                    None => (Peer::Unknown { proxy: peer }, Some(permit)),
                }
            }
        };
        let Some(mut permit) = permit else { return Ok(()) };
        let state = Arc::new(ConnectionState::default());
        state.renew();
        let idle: Weak<dyn IdleConnection> = Arc::<ConnectionState>::downgrade(&state);
        permit.register(idle);
        let network = permit.client().map(network_key);
        let long_heads = Arc::clone(&self.long_heads);
        let stream = MonitoredStream::new(socket, Arc::clone(&state), permit, long_heads);
        match &self.tls {
            None => self.serve_http1(stream, client, state).await,
            // Boxed: a plain connection, of which there may be thousands, does not need this future.
            Some(tls) => Box::pin(self.serve_tls(tls, network, stream, client, state)).await,
        }
    }

    async fn serve_tls(
        &self,
        tls: &Handshakes,
        network: Option<u64>,
        stream: MonitoredStream<impl Socket>,
        client: Peer,
        state: Arc<ConnectionState>,
    ) -> io::Result<()> {
        let stream =
            time::timeout(self.settings.timeouts.head, tls.accept(stream, network)).await??;
        if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            self.serve_http2(stream, client, state).await
        } else {
            self.serve_http1(stream, client, state).await
        }
    }

    async fn serve_http1<S>(
        &self,
        stream: S,
        client: Peer,
        state: Arc<ConnectionState>,
    ) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut stream = LenientStream::new(stream, Arc::clone(&state));
        tokio::select! {
            // In this order: a connection that has ended needs no timer, and an expired one no farewell.
            biased;
            head = time::timeout(self.settings.timeouts.head, stream.first_head()) => match head? {
                Err(error) if error.kind() == io::ErrorKind::QuotaExceeded => {
                    return self.refuse(stream).await;
                }
                head => head?,
            },
            () = self.ending() => return Ok(()),
        }
        // Boxed: a client without a request costs its socket and little else.
        Box::pin(self.answer_http1(stream, client, state)).await
    }

    /// Replies 503 to a client whose long head exceeds the limiter of long heads.
    async fn refuse(&self, mut stream: impl AsyncWrite + Unpin) -> io::Result<()> {
        let reply = self.service.overloaded();
        let mut bytes = format!("HTTP/1.1 {}\r\n", reply.status()).into_bytes();
        for (name, value) in reply.headers() {
            bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(reply.body());
        time::timeout(self.settings.timeouts.head, stream.write_all(&bytes)).await?
    }

    async fn answer_http1<S>(
        &self,
        stream: LenientStream<S>,
        client: Peer,
        state: Arc<ConnectionState>,
    ) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (service, ending) = (Arc::clone(&self.service), self.ending.subscribe());
        let transport_security = self.tls.as_ref().and_then(Handshakes::transport_security);
        let requests =
            request_service(service, ending, client, Arc::clone(&state), transport_security);
        let connection = conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.settings.timeouts.head)
            .max_buf_size(HEAD_BYTES_MAX)
            .max_headers(HEAD_HEADERS_MAX)
            .serve_connection(TokioIo::new(stream), requests);
        self.run_timers(connection, &state).await
    }

    async fn serve_http2<S>(
        &self,
        stream: S,
        client: Peer,
        state: Arc<ConnectionState>,
    ) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = FrameMeter::new(stream, self.settings.control_frames);
        let (service, ending) = (Arc::clone(&self.service), self.ending.subscribe());
        let transport_security = self.tls.as_ref().and_then(Handshakes::transport_security);
        let requests =
            request_service(service, ending, client, Arc::clone(&state), transport_security);
        let connection = conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .max_concurrent_streams(STREAMS_MAX)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(STREAM_WINDOW_BYTES)
            // Larger than the limit of `http::head`, so that the server itself replies 431.
            .max_header_list_size(3 * HEADER_BYTES_MAX as u32)
            .serve_connection(TokioIo::new(stream), requests);
        self.run_timers(connection, &state).await
    }

    /// Waits until the server is ending, and then for a request that a client may just have sent.
    async fn ending(&self) {
        // The sender lives as long as `self`.
        let _ = self.ending.subscribe().wait_for(|is_ending| *is_ending).await;
        time::sleep(ENDING_GRACE).await;
    }

    /// Serves a connection until it closes or a timer of its client expires.
    async fn run_timers<C>(&self, connection: C, state: &ConnectionState) -> io::Result<()>
    where
        C: GracefulConnection,
        C::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut connection = pin!(connection);
        let mut ending = pin!(self.ending());
        let mut is_ending = false;
        let mut ticks = time::interval_at(Instant::now() + TIMER_INTERVAL, TIMER_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut timer = IdleTimer::new(self.settings.timeouts);
        loop {
            tokio::select! {
                biased;
                ended = &mut connection => return ended.map_err(io::Error::other),
                now = ticks.tick() => match timer.check(state, now) {
                    TimerOutcome::Continue => {}
                    TimerOutcome::Idle => connection.as_mut().graceful_shutdown(),
                    TimerOutcome::Expired => {
                        let is_behind = state.is_behind();
                        SLOW_CLIENTS.count(if is_behind { SlowClient::Reply } else { SlowClient::Idle });
                        state.reset_on_drop();
                        return Err(io::Error::other("the client exceeded a timeout"));
                    }
                },
                // The memory for replies, or the limiter of connections, chose this client.
                () = state.evicted() => {
                    SLOW_CLIENTS.count(SlowClient::Evicted);
                    state.reset_on_drop();
                    return Err(io::Error::other("its memory or its place is needed"));
                }
                () = &mut ending, if !is_ending => {
                    is_ending = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Whether a connection ended because a head or a handshake took too long.
fn is_late_head(error: &io::Error) -> bool {
    let of_http = error.get_ref().and_then(|inner| inner.downcast_ref::<hyper::Error>());
    error.kind() == io::ErrorKind::TimedOut || of_http.is_some_and(hyper::Error::is_timeout)
}

/// Detects clients that stop reading their replies or stop sending requests.
struct IdleTimer {
    timeouts: Timeouts,
    /// When the client last took 16 KiB while bytes were unsent, and how many bytes it had taken then.
    behind: Option<(Instant, u64)>,
    /// When a request was last under way, and how many requests had started then.
    idle: Option<(Instant, u64)>,
}

/// Result of one check of an [`IdleTimer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerOutcome {
    Continue,
    /// No request for the idle timeout: the connection is to shut down gracefully.
    Idle,
    /// The client exceeded a timeout: the connection is to be reset.
    Expired,
}

impl IdleTimer {
    fn new(timeouts: Timeouts) -> IdleTimer {
        IdleTimer { timeouts, behind: None, idle: None }
    }

    fn check(&mut self, state: &ConnectionState, now: Instant) -> TimerOutcome {
        let taken = state.taken();
        match self.behind {
            _ if !state.is_behind() => self.behind = None,
            Some((since, before)) if taken < before + TAKEN_BYTES_MIN => {
                if now - since >= self.timeouts.write {
                    return TimerOutcome::Expired;
                }
            }
            _ => self.behind = Some((now, taken)),
        }
        let (started, open) = state.requests();
        match self.idle {
            Some((since, count)) if open == 0 && count == started && !state.is_behind() => {
                match now - since {
                    idle if idle >= self.timeouts.idle * 2 => TimerOutcome::Expired,
                    idle if idle >= self.timeouts.idle => TimerOutcome::Idle,
                    _ => TimerOutcome::Continue,
                }
            }
            _ => {
                self.idle = Some((now, started));
                TimerOutcome::Continue
            }
        }
    }
}

/// The hyper service of one connection, which passes requests on to warp.
fn request_service<H: Handler>(
    service: Arc<H>,
    ending: watch::Receiver<bool>,
    client: Peer,
    state: Arc<ConnectionState>,
    transport_security: Option<HeaderValue>,
) -> impl hyper::service::Service<
    http::Request<Incoming>,
    Response = http::Response<SentBody>,
    Error = Infallible,
    Future = impl Future<Output = HyperResponse> + Send + 'static,
> {
    let warp = TowerToHyperService::new(warp::service(every_request(Arc::clone(&service))));
    hyper::service::service_fn(move |mut request: http::Request<Incoming>| {
        let is_http2 = request.version() == Version::HTTP_2;
        let open = state.start_request();
        request.extensions_mut().insert(client);
        if open.is_refused() {
            request.extensions_mut().insert(TwoLengths);
        }
        let (request, body) = attach_head(request, &*service, &state);
        // Boxed: hyper reserves memory for the future from the first byte of the connection on.
        let answer = Box::pin(warp.call(request));
        let (ending, state) = (ending.clone(), Arc::clone(&state));
        let transport_security = transport_security.clone();
        async move {
            let Ok(mut response) = answer.await;
            let headers = response.headers_mut();
            if let Some(value) = transport_security {
                headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
            }
            let unread = body.into_unread();
            if is_http2 {
                headers.remove(header::CONNECTION);
                if let Some(body) = unread {
                    body::discard(body, UNREAD_TIMEOUT, UNREAD_BYTES_MAX).await;
                }
            } else if unread.is_some() || open.is_last() || *ending.borrow() {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            if let Some(pieces) = response.extensions_mut().remove::<Pieces>()
                && let Ok(body) = pieces.take(open, is_http2)
            {
                return Ok(response.map(|_| Either::Right(body)));
            }
            Ok(response.map(|body| match is_http2 {
                true => Either::Left(Either::Right(PacedBody::new(body, state))),
                false => Either::Left(Either::Left(body)),
            }))
        }
    })
}

/// The body type of warp's responses.
type ReplyBody = <warp::reply::Response as HasBody>::Body;
/// A whole body, over HTTP/1 or HTTP/2, or a body in pieces.
type SentBody = Either<Either<ReplyBody, PacedBody<ReplyBody>>, PiecesBody>;
type HyperResponse = Result<http::Response<SentBody>, Infallible>;

/// Names the body type of a response, which warp does not export.
trait HasBody {
    type Body;
}

impl<B> HasBody for http::Response<B> {
    type Body = B;
}

/// Moves a request's head into an extension, where the filter finds it unchanged and without copies.
fn attach_head(
    request: http::Request<Incoming>,
    service: &impl Handler,
    state: &Arc<ConnectionState>,
) -> (http::Request<Empty<Bytes>>, ReceivedBody) {
    let (mut head, body) = request.into_parts();
    let body = match service.takes_body(&head) {
        true => body::attach(&mut head, body),
        false => ReceivedBody::Unclaimed(body),
    };
    let mut request = http::Request::new(Empty::new());
    request.extensions_mut().insert(Arc::new(head));
    request.extensions_mut().insert(Arc::clone(state));
    (request, body)
}

/// Adds what the answer leaves to its host: the date, and the reason of a status whose name RFC 9110 changed.
fn complete(response: &mut http::Response<Bytes>) {
    // hyper keeps a date until the clock reaches the next second, which a clock set back takes long to do.
    if let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(SystemTime::now())) {
        response.headers_mut().insert(header::DATE, date);
    }
    let reason = reason_phrase(response.status());
    if response.status().canonical_reason() != Some(reason) {
        response.extensions_mut().insert(ReasonPhrase::from_static(reason.as_bytes()));
    }
}

/// The warp filter that passes every request to the handler, and never rejects.
fn every_request<H: Handler>(
    service: Arc<H>,
) -> impl Filter<Extract = (http::Response<Bytes>,), Error = Infallible> + Clone {
    let head = warp::ext::optional::<Arc<Parts>>();
    head.and(warp::ext::optional::<Arc<ConnectionState>>()).then(
        move |head, state: Option<Arc<ConnectionState>>| {
            let service = Arc::clone(&service);
            async move {
                let (Some(head), Some(state)) = (head, state) else {
                    // `attach_head` sets both extensions.
                    return Reply::internal()
                        .into_response(&Method::GET, &SnapshotHeaders::new(""));
                };
                let ReservedResponse { mut response, reservation, pieces, renews } =
                    service.answer(head).await;
                if renews {
                    state.renew();
                }
                if let Some(pieces) = pieces {
                    response.extensions_mut().insert(pieces);
                }
                complete(&mut response);
                response.map(|body| state.track_unsent(body, reservation))
            }
        },
    )
}
