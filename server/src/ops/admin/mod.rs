//! The admin address: metrics, and whether the server lives, for whoever runs it.
//!
//! It has a thread, connections and times of its own, so that it answers also where the public ones are
//! all taken or wait for a disk. Each connection is of one request and ends after it. Those that ask
//! nothing keep nobody out: the newest callers have room.

pub(crate) mod callers;

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time,
};

use crate::api::handlers;
use crate::http::head::method_word;
use crate::http::path::echo_path;
use crate::http::reply::Reply;
use crate::net::limiter::ConnectionPermit;
use crate::ops::metrics::Metrics;

use crate::ops::admin::callers::{Callers, Silence};

/// Connections at a time, of all and of each client.
const CONNECTIONS_MAX: u32 = 64;
const CLIENT_CONNECTIONS_MAX: u32 = 32;
/// How long a client may take to send a head, and how long until it has its reply.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes and headers of a head.
const HEAD_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// How long replies under way may take once the server ends.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait where a connection cannot be accepted for want of files or memory.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(200);
/// The methods it takes.
const METHODS: &str = "GET, HEAD";
/// What metrics are sent as.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The admin address, served for as long as this lives.
pub struct Admin {
    ending: watch::Sender<bool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Admin {
    /// Serves an address that is listened on already.
    ///
    /// # Errors
    ///
    /// Where the system gives no thread.
    pub fn begin(listener: std::net::TcpListener, metrics: Metrics) -> io::Result<Admin> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (ending, ended) = watch::channel(false);
        let serving = move || {
            if let Err(error) = runtime.block_on(accept(listener, Arc::new(metrics), ended)) {
                tracing::error!(%error, "the admin address is not served any more");
            }
        };
        let thread = thread::Builder::new().name("admin".to_owned()).spawn(serving)?;
        Ok(Admin { ending, thread: Some(thread) })
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.ending.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // One that panicked said so in the log.
            let _ = thread.join();
        }
    }
}

/// Listens at an address, and says so where others than this machine may reach it.
///
/// # Errors
///
/// Where it cannot be listened on.
pub fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    if !address.ip().to_canonical().is_loopback() {
        tracing::warn!(
            %address,
            "whoever reaches the admin address reads the metrics, unencrypted and without a \
             password; let a firewall see to who does"
        );
    }
    Ok(listener)
}

async fn accept(
    listener: std::net::TcpListener,
    metrics: Arc<Metrics>,
    mut ended: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let callers = Arc::new(Callers::new(CONNECTIONS_MAX, CLIENT_CONNECTIONS_MAX));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    if let Some(place) = callers.place(peer.ip()).await {
                        let metrics = Arc::clone(&metrics);
                        callers.serve(peer.ip(), |silence| serve(stream, place, silence, metrics));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept at the admin address; trying again");
                    time::sleep(SHORTAGE_PAUSE).await;
                }
            },
            // Also where whoever would say so is gone.
            _ = ended.wait_for(|is_ended| *is_ended) => break,
        }
    }
    drop(listener);
    let _ = time::timeout(DRAIN_TIMEOUT, callers.all_gone()).await;
    Ok(())
}

/// Serves one connection, whose place this is, to its end.
async fn serve(
    stream: TcpStream,
    place: ConnectionPermit,
    silence: Silence,
    metrics: Arc<Metrics>,
) {
    let silence = Mutex::new(Some(silence));
    let answering = service_fn(|request: Request<Incoming>| {
        silence.lock().unwrap_or_else(PoisonError::into_inner).take();
        let response = answer(request.method(), request.uri().path(), &metrics).map(Full::new);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answering);
    // What became of it is its client's to know.
    let _ = time::timeout(CONNECTION_TIMEOUT, connection).await;
    drop(place);
}

/// The response to a request at the admin address.
pub fn answer(method: &Method, path: &str, metrics: &Metrics) -> Response<Bytes> {
    let served = metrics.service().library().served();
    let mut response =
        reply_to(method, path, metrics).into_response(method, served.reply_headers());
    // No page that is open in the browser of whoever may reach this address is to read it.
    response.headers_mut().remove(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    response.headers_mut().remove(header::ACCESS_CONTROL_EXPOSE_HEADERS);
    response
}

fn reply_to(method: &Method, path: &str, metrics: &Metrics) -> Reply {
    let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    let find: fn(&Metrics) -> Reply = match path {
        "/metrics" => |metrics| Reply::Body {
            status: StatusCode::OK,
            media_type: TEXT_FORMAT,
            body: metrics.text().into(),
            headers: Vec::new(),
        },
        "/health" => |metrics| {
            let service = metrics.service();
            let served = service.library().served();
            handlers::health(&served, service.settings().data_licence.as_deref())
        },
        "/ready" => |metrics| {
            let served = metrics.service().library().served();
            if served.is_poisoned() {
                return Reply::unavailable();
            }
            handlers::ready(&served.snapshot)
        },
        path => {
            let message = format!("Cannot {} {}", method_word(method), echo_path(path));
            return Reply::error(StatusCode::NOT_FOUND, message);
        }
    };
    match *method {
        Method::GET | Method::HEAD => find(metrics),
        _ => Reply::method_not_allowed(METHODS),
    }
}
