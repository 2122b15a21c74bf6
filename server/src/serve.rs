//! Connections: accepted here, timed and bounded by hyper, handed through warp to the service.

use std::{
    convert::Infallible,
    io::{self, Write},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{Method, request::Parts};
use hyper::{body::Incoming, service::Service as _};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    signal::unix::{SignalKind, signal},
    sync::Semaphore,
};
use warp::Filter;

use crate::{
    gate::Peer,
    head::HEADERS_MAX,
    reply::{Reply, Stamp},
    service::{Service, worker_count},
    target::Lenient,
};

/// How long a client may take to send its headers, and to begin another request.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long requests under way may take to end when the server does.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long work whose client is gone may take after that.
const ABANDON_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait where a connection cannot be accepted for want of files or memory.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);
/// Bytes of a request's head that are read; enough to answer 414 and 431 to what is too long.
const HEAD_BYTES_MAX: usize = 96 << 10;
/// Connections served at a time.
const CONNECTIONS_MAX: usize = 8_192;

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
///
/// Where the address cannot be listened on.
pub fn run(service: Service, address: SocketAddr) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(worker_count())
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(accept(Arc::new(service), address));
    runtime.shutdown_timeout(ABANDON_TIMEOUT);
    outcome
}

async fn accept(service: Arc<Service>, address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    announce(listener.local_addr()?)?;
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    // A connection beyond the cap is closed at once: to wait is to be attacked.
                    if let Ok(permit) = Arc::clone(&connections).try_acquire_owned() {
                        let connection = connect(Arc::clone(&service), stream, peer, &graceful);
                        tokio::spawn(async move {
                            let _ = connection.await;
                            drop(permit);
                        });
                    }
                }
                // The client's doing, and over.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept; trying again");
                    tokio::time::sleep(SHORTAGE_PAUSE).await;
                }
            },
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    drop(listener);
    tracing::info!("ending; open requests are finished first");
    if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!(
            seconds = DRAIN_TIMEOUT.as_secs(),
            "requests were still open; ending anyway"
        );
    }
    Ok(())
}

/// Says where, on standard output, for whoever started the server on port 0.
fn announce(address: SocketAddr) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "listening on http://{address}")?;
    out.flush()
}

/// One connection, as the future that serves it.
fn connect(
    service: Arc<Service>,
    stream: TcpStream,
    peer: SocketAddr,
    graceful: &GracefulShutdown,
) -> impl Future<Output = hyper::Result<()>> + Send + 'static {
    let _ = stream.set_nodelay(true);
    let warp = TowerToHyperService::new(warp::service(every_request(service)));
    let by_head = hyper::service::service_fn(move |request| warp.call(bear_head(request, peer)));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        // Enough to be answered here; beyond, the HTTP layer answers bare.
        .max_headers(HEADERS_MAX * 2)
        .serve_connection(TokioIo::new(Lenient::new(stream)), by_head);
    graceful.watch(connection)
}

/// Puts a request's head where the filter finds it whole: URI as sent, version, peer, no copies.
fn bear_head(request: http::Request<Incoming>, peer: SocketAddr) -> http::Request<Incoming> {
    let (mut head, body) = request.into_parts();
    head.extensions.insert(Peer(peer.ip()));
    let mut request = http::Request::new(body);
    request.extensions_mut().insert(Arc::new(head));
    request
}

/// The one filter: whatever comes goes to the route table, and every outcome is a reply.
fn every_request(
    service: Arc<Service>,
) -> impl Filter<Extract = (http::Response<Bytes>,), Error = Infallible> + Clone {
    warp::ext::optional().then(move |head: Option<Arc<Parts>>| {
        let service = Arc::clone(&service);
        async move {
            match head {
                Some(head) => service.answer(head).await,
                // Every request comes by `bear_head`.
                None => Reply::internal().into_response(&Method::GET, &Stamp::new("")),
            }
        }
    })
}
