//! One connection, from its socket to its end: who it is from, what is spoken on it, and for how long.

use std::{convert::Infallible, io, net::IpAddr, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Version, header, request::Parts};
use http_body_util::{Either, Empty};
use hyper::{body::Incoming, server::conn, service::Service as _};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::watch,
    time::{self, Instant, MissedTickBehavior},
};
use tokio_rustls::TlsAcceptor;
use warp::Filter;

use crate::admission::gate::Peer;
use crate::event_counts::{LATE, Late};
use crate::http::body;
use crate::http::body::Left;
use crate::http::etag::Stamp;
use crate::http::head::{HEADER_BYTES_MAX, TwoLengths};
use crate::http::reply::Reply;
use crate::net::handler::{Answer, Handler};
use crate::net::limiter::{Place, Places};
use crate::net::request_target::{HEAD_BYTES_MAX, HEAD_HEADERS_MAX, Lenient};
use crate::net::state::{Pieces, Pulse, Socket, Watched};

/// Long heads that are read at a time, and of those of one client.
const LONG_HEADS_MAX: u32 = 128;
const CLIENT_LONG_HEADS_MAX: u32 = 4;
/// How long a client over HTTP/2 is listened to before it is answered without its body being read, and
/// to how much: some take the end of the stream, which comes with the reply, for a failure.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(1);
const UNREAD_BYTES_MAX: usize = STREAM_WINDOW_BYTES as usize;
/// Requests of one HTTP/2 connection that are answered at a time.
const STREAMS_MAX: u32 = 32;
/// Bytes of bodies that an HTTP/2 client may send unasked.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;
/// How often it is asked whether it is still there, and how long it may take to say so.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a proxy may take for its word at the most; it has it when it connects.
const PREFACE_TIMEOUT: Duration = Duration::from_secs(4);
/// How often connections are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes a client that is behind must take within its time.
const TAKEN_BYTES_MIN: u64 = 16 << 10;
/// The same time where many are behind.
const PRESSED_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a connection that waits for a request is kept once the server is ending.
const FAREWELL: Duration = Duration::from_millis(500);

/// How long a client may take for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To send the head of a request, from the last reply or the connection's beginning on; also the
    /// handshakes before it.
    pub head: Duration,
    /// To take [`TAKEN_BYTES_MIN`] of a reply.
    pub write: Duration,
    /// To begin another request over HTTP/2, and then to end.
    pub idle: Duration,
}

/// Whose word on its clients is taken before the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preface {
    /// Nobody's.
    None,
    /// That of a trusted proxy, by the PROXY protocol.
    Proxy,
}

/// What connections have in common.
pub struct Connections<H> {
    service: Arc<H>,
    timeouts: Timeouts,
    preface: Preface,
    tls: Option<TlsAcceptor>,
    long_heads: Arc<Places>,
    /// True once the server is ending.
    ending: watch::Sender<bool>,
}

impl<H: Handler> Connections<H> {
    /// Connections to a service, over TLS where there is a certificate.
    pub fn new(
        service: Arc<H>,
        timeouts: Timeouts,
        preface: Preface,
        tls: Option<TlsAcceptor>,
    ) -> Connections<H> {
        let long_heads = Arc::new(Places::new(LONG_HEADS_MAX, CLIENT_LONG_HEADS_MAX));
        Connections {
            service,
            timeouts,
            preface,
            tls,
            long_heads,
            ending: watch::Sender::new(false),
        }
    }

    /// Lets every connection end with the request it is at.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }

    /// A place for a connection of a peer's; `None` where there is none for it. Found before anything
    /// else is done, so that what is refused takes no place from others for a moment.
    pub fn place(&self, places: &Arc<Places>, peer: IpAddr) -> Option<Place> {
        let place = places.take()?;
        match self.preface {
            Preface::None => self.place_of(place, peer),
            // Whoever is not trusted has nothing to say on its clients.
            Preface::Proxy => self.service.clients().is_trusted(peer).then_some(place),
        }
    }

    /// The same place as a client's own; a proxy's connections are of many clients.
    fn place_of(&self, place: Place, client: IpAddr) -> Option<Place> {
        let clients = self.service.clients();
        let is_of_many = clients.is_trusted(client) || clients.is_exempt(client);
        if is_of_many { Some(place) } else { place.of_client(client) }
    }

    /// Serves one connection, whose place this is, to its end.
    pub async fn serve(self: Arc<Self>, stream: impl Socket, peer: IpAddr, place: Place) {
        if let Err(error) = self.greet(stream, peer, place).await {
            if is_late_head(&error) {
                LATE.count(Late::Head);
            }
            tracing::debug!(%peer, %error, "connection ended");
        }
    }

    /// Takes what comes before HTTP.
    async fn greet(&self, mut stream: impl Socket, peer: IpAddr, place: Place) -> io::Result<()> {
        let (client, place) = match self.preface {
            Preface::None => (Peer::Named(peer), Some(place)),
            Preface::Proxy => {
                let timeout = self.timeouts.head.min(PREFACE_TIMEOUT);
                match time::timeout(timeout, crate::net::proxy_protocol::read(&mut stream))
                    .await??
                {
                    Some(named) => (Peer::Named(named), self.place_of(place, named)),
                    None => (Peer::Unnamed(peer), Some(place)),
                }
            }
        };
        let Some(place) = place else { return Ok(()) };
        let pulse = Arc::new(Pulse::default());
        let stream = Watched::new(stream, Arc::clone(&pulse), place, Arc::clone(&self.long_heads));
        match &self.tls {
            None => self.speak_http1(stream, client, pulse).await,
            // Boxed, as all is that a plain connection, of which there may be thousands, has no need of.
            Some(tls) => Box::pin(self.speak_tls(tls, stream, client, pulse)).await,
        }
    }

    async fn speak_tls(
        &self,
        tls: &TlsAcceptor,
        stream: Watched<impl Socket>,
        client: Peer,
        pulse: Arc<Pulse>,
    ) -> io::Result<()> {
        let stream = time::timeout(self.timeouts.head, tls.accept(stream)).await??;
        if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            self.speak_http2(stream, client, pulse).await
        } else {
            self.speak_http1(stream, client, pulse).await
        }
    }

    async fn speak_http1<S>(&self, stream: S, client: Peer, pulse: Arc<Pulse>) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut stream = Lenient::new(stream, Arc::clone(&pulse));
        tokio::select! {
            biased;
            head = time::timeout(self.timeouts.head, stream.first_head()) => match head? {
                Err(error) if error.kind() == io::ErrorKind::QuotaExceeded => {
                    return self.refuse(stream).await;
                }
                head => head?,
            },
            () = self.farewell() => return Ok(()),
        }
        // Boxed: a client that has yet to ask something costs its socket and little else.
        Box::pin(self.answer_http1(stream, client, pulse)).await
    }

    /// Answers a client whose head there is no room for.
    async fn refuse(&self, mut stream: impl AsyncWrite + Unpin) -> io::Result<()> {
        let reply = self.service.overloaded();
        let mut bytes = format!("HTTP/1.1 {}\r\n", reply.status()).into_bytes();
        for (name, value) in reply.headers() {
            bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(reply.body());
        time::timeout(self.timeouts.head, stream.write_all(&bytes)).await?
    }

    async fn answer_http1<S>(
        &self,
        stream: Lenient<S>,
        client: Peer,
        pulse: Arc<Pulse>,
    ) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (service, ending) = (Arc::clone(&self.service), self.ending.subscribe());
        let answering = answering(service, ending, client, Arc::clone(&pulse));
        let connection = conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.timeouts.head)
            .max_buf_size(HEAD_BYTES_MAX)
            .max_headers(HEAD_HEADERS_MAX)
            .serve_connection(TokioIo::new(stream), answering);
        self.watch(connection, &pulse).await
    }

    async fn speak_http2<S>(&self, stream: S, client: Peer, pulse: Arc<Pulse>) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (service, ending) = (Arc::clone(&self.service), self.ending.subscribe());
        let answering = answering(service, ending, client, Arc::clone(&pulse));
        let connection = conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .max_concurrent_streams(STREAMS_MAX)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(STREAM_WINDOW_BYTES)
            // As over HTTP/1.1: enough to be answered here.
            .max_header_list_size(3 * HEADER_BYTES_MAX as u32)
            .serve_connection(TokioIo::new(stream), answering);
        self.watch(connection, &pulse).await
    }

    /// Waits for the server's end, and for what a client that does not know of it may just have sent.
    async fn farewell(&self) {
        // Without a sender there is nobody to end it either.
        let _ = self.ending.subscribe().wait_for(|is_ending| *is_ending).await;
        time::sleep(FAREWELL).await;
    }

    /// Serves a connection for as long as its client keeps to its times.
    async fn watch<C>(&self, connection: C, pulse: &Pulse) -> io::Result<()>
    where
        C: GracefulConnection,
        C::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut connection = pin!(connection);
        let mut farewell = pin!(self.farewell());
        let mut is_bid_farewell = false;
        let mut looks = time::interval_at(Instant::now() + LOOK_INTERVAL, LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut patience = Patience::new(self.timeouts);
        loop {
            tokio::select! {
                biased;
                ended = &mut connection => return ended.map_err(io::Error::other),
                now = looks.tick() => match patience.look(pulse, self.service.is_pressed(), now) {
                    Look::Well => {}
                    Look::Idle => connection.as_mut().graceful_shutdown(),
                    Look::Gone => {
                        let is_behind = pulse.is_behind();
                        LATE.count(if is_behind { Late::Reply } else { Late::Idle });
                        pulse.drop_client();
                        return Err(io::Error::other("its client took too long"));
                    }
                },
                () = &mut farewell, if !is_bid_farewell => {
                    is_bid_farewell = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Whether a connection ended since what was to come before a reply did not.
fn is_late_head(error: &io::Error) -> bool {
    let of_http = error.get_ref().and_then(|inner| inner.downcast_ref::<hyper::Error>());
    error.kind() == io::ErrorKind::TimedOut || of_http.is_some_and(hyper::Error::is_timeout)
}

/// How long a client has kept another waiting, as far as that was looked at.
struct Patience {
    timeouts: Timeouts,
    /// Since when a client has been behind, and what it had taken then.
    behind: Option<(Instant, u64)>,
    /// When the last request was under way, and how many had begun.
    idle: Option<(Instant, u64)>,
}

/// What to make of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// It goes on.
    Well,
    /// It has asked nothing for a while.
    Idle,
    /// Its client is not waited for.
    Gone,
}

impl Patience {
    fn new(timeouts: Timeouts) -> Patience {
        Patience { timeouts, behind: None, idle: None }
    }

    fn look(&mut self, pulse: &Pulse, is_pressed: bool, now: Instant) -> Look {
        let taken = pulse.taken();
        match self.behind {
            _ if !pulse.is_behind() => self.behind = None,
            Some((since, before)) if taken < before + TAKEN_BYTES_MIN => {
                let timeout = self.timeouts.write;
                let timeout = if is_pressed { timeout.min(PRESSED_TIMEOUT) } else { timeout };
                if now - since >= timeout {
                    return Look::Gone;
                }
            }
            _ => self.behind = Some((now, taken)),
        }
        let (begun, open) = pulse.requests();
        match self.idle {
            Some((since, of)) if open == 0 && of == begun && !pulse.is_behind() => {
                match now - since {
                    idle if idle >= self.timeouts.idle * 2 => Look::Gone,
                    idle if idle >= self.timeouts.idle => Look::Idle,
                    _ => Look::Well,
                }
            }
            _ => {
                self.idle = Some((now, begun));
                Look::Well
            }
        }
    }
}

/// What answers a connection's requests, by way of warp.
fn answering<H: Handler>(
    service: Arc<H>,
    ending: watch::Receiver<bool>,
    client: Peer,
    pulse: Arc<Pulse>,
) -> impl hyper::service::Service<
    http::Request<Incoming>,
    Response = http::Response<Either<ReplyBody, Pieces<ReplyBody>>>,
    Error = Infallible,
    Future = impl Future<Output = Answered> + Send + 'static,
> {
    let warp = TowerToHyperService::new(warp::service(every_request(Arc::clone(&service))));
    hyper::service::service_fn(move |mut request: http::Request<Incoming>| {
        let is_http2 = request.version() == Version::HTTP_2;
        let open = pulse.begin();
        request.extensions_mut().insert(client);
        if open.is_refused() {
            request.extensions_mut().insert(TwoLengths);
        }
        // Boxed: the HTTP layer keeps room for it from a connection's first byte on.
        let (request, left) = bear_head(request, &*service, &pulse);
        let answer = Box::pin(warp.call(request));
        let (ending, pulse) = (ending.clone(), Arc::clone(&pulse));
        async move {
            let Ok(mut response) = answer.await;
            let headers = response.headers_mut();
            let unread = left.unread();
            if is_http2 {
                headers.remove(header::CONNECTION);
                if let Some(body) = unread {
                    body::pass_over(body, UNREAD_TIMEOUT, UNREAD_BYTES_MAX).await;
                }
            } else if unread.is_some() || open.is_last() || *ending.borrow() {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            drop(open);
            Ok(response.map(|body| match is_http2 {
                true => Either::Right(Pieces::of(body, pulse)),
                false => Either::Left(body),
            }))
        }
    })
}

/// What warp makes of a reply's body.
type ReplyBody = <warp::reply::Response as Bodied>::Body;
type Answered = Result<http::Response<Either<ReplyBody, Pieces<ReplyBody>>>, Infallible>;

/// Names the body of a response whose type has no public name.
trait Bodied {
    type Body;
}

impl<B> Bodied for http::Response<B> {
    type Body = B;
}

/// Puts a request's head where the filter finds it whole: URI as sent, version, extensions, no copies.
fn bear_head(
    request: http::Request<Incoming>,
    service: &impl Handler,
    pulse: &Arc<Pulse>,
) -> (http::Request<Empty<Bytes>>, Left) {
    let (mut head, body) = request.into_parts();
    let left = match service.takes_body(&head) {
        true => body::take_along(&mut head, body),
        false => Left::Body(body),
    };
    let mut request = http::Request::new(Empty::new());
    request.extensions_mut().insert(Arc::new(head));
    request.extensions_mut().insert(Arc::clone(pulse));
    (request, left)
}

/// The one filter: whatever comes goes to the route table, and every outcome is a reply.
fn every_request<H: Handler>(
    service: Arc<H>,
) -> impl Filter<Extract = (http::Response<Bytes>,), Error = Infallible> + Clone {
    let head = warp::ext::optional::<Arc<Parts>>();
    head.and(warp::ext::optional::<Arc<Pulse>>()).then(move |head, pulse: Option<Arc<Pulse>>| {
        let service = Arc::clone(&service);
        async move {
            let (Some(head), Some(pulse)) = (head, pulse) else {
                // Every request comes by `bear_head`.
                return Reply::internal().into_response(&Method::GET, &Stamp::new(""));
            };
            let Answer { response, share } = service.answer(head).await;
            response.map(|body| pulse.hold(body, share))
        }
    })
}
