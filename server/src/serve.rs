//! Connections: accepted here, timed and bounded by hyper, handed through warp to the routes.

use std::{
    convert::Infallible,
    io::{self, Write},
    net::SocketAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use hyper::{
    body::Incoming,
    service::{Service as _, service_fn},
};
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
use warp::{Filter, Reply as _, filters::path::FullPath};

use crate::{
    head::{self, HEADERS_MAX},
    library::Library,
    reply::Reply,
    routes::{self, Request},
};

/// How long a client may take to send its headers.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection may take to end when the server does.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a request's head that are read; enough to answer 414 and 431 to what is too long.
const HEAD_BYTES_MAX: usize = 96 << 10;
/// Connections served at a time.
const CONNECTIONS_MAX: usize = 8_192;
/// Lists rendered at a time, for each thread.
const LISTS_PER_THREAD: usize = 4;

/// What every request needs.
struct Service {
    library: Library,
    lists: Semaphore,
    requests: AtomicU64,
}

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
///
/// Where the address cannot be listened on.
pub fn run(library: Library, address: SocketAddr) -> io::Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let service = Arc::new(Service {
        library,
        lists: Semaphore::new(threads * LISTS_PER_THREAD),
        requests: AtomicU64::new(0),
    });
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(accept(service, address))
}

async fn accept(service: Arc<Service>, address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    println!("listening on http://{}", listener.local_addr()?);
    io::stdout().flush()?;
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // A connection beyond the cap is closed at once: to wait is to be attacked.
                    if let Ok(permit) = Arc::clone(&connections).try_acquire_owned() {
                        let connection = connect(Arc::clone(&service), stream, &graceful);
                        tokio::spawn(async move {
                            let _ = connection.await;
                            drop(permit);
                        });
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept; trying again");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    drop(listener);
    tracing::info!("ending; open requests are finished first");
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await;
    Ok(())
}

/// One connection, as the future that serves it.
fn connect(
    service: Arc<Service>,
    stream: TcpStream,
    graceful: &GracefulShutdown,
) -> impl Future<Output = hyper::Result<()>> + Send + 'static {
    let _ = stream.set_nodelay(true);
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX + 64)
        .serve_connection(TokioIo::new(stream), guarded(service));
    graceful.watch(connection)
}

/// warp's service behind a look at the head: what HTTP forbids never gets to a route.
fn guarded(
    service: Arc<Service>,
) -> impl hyper::service::Service<
    http::Request<Incoming>,
    Response = warp::reply::Response,
    Error = Infallible,
    Future: Send,
> {
    let routes = TowerToHyperService::new(warp::service(routes_filter(Arc::clone(&service))));
    service_fn(move |request: http::Request<Incoming>| {
        let (head, body) = request.into_parts();
        let answered = match head::refusal(&head) {
            None => Ok(routes.call(http::Request::from_parts(head, body))),
            Some((status, message)) => {
                let served = service.library.served();
                let snapshot_id = &served.snapshot.manifest().id;
                let mut response =
                    Reply::error(status, message).into_response(&head.method, snapshot_id);
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
                Err(response.into_response())
            }
        };
        async move {
            match answered {
                Ok(answered) => answered.await,
                Err(refused) => Ok(refused),
            }
        }
    })
}

/// The one filter: whatever comes goes to the route table, and every outcome is a reply.
fn routes_filter(
    service: Arc<Service>,
) -> impl Filter<Extract = (http::Response<Bytes>,), Error = Infallible> + Clone {
    let query = warp::query::raw().or_else(|_| async { Ok::<_, Infallible>((String::new(),)) });
    warp::method().and(warp::path::full()).and(query).and(warp::header::headers_cloned()).then(
        move |method: Method, path: FullPath, query: String, headers: HeaderMap| {
            let service = Arc::clone(&service);
            async move { answer(service, method, path, query, headers).await }
        },
    )
}

async fn answer(
    service: Arc<Service>,
    method: Method,
    path: FullPath,
    query: String,
    headers: HeaderMap,
) -> http::Response<Bytes> {
    let request =
        Request { method: &method, path: path.as_str(), query: &query, headers: &headers };
    // A record is a few pages of the map and is rendered where it was asked for; a list may be
    // hundreds, each of which the disk may be asked for, and goes where waiting holds up nobody.
    if !routes::may_block(&request) {
        return answer_now(&service, &request);
    }
    let Ok(_permit) = service.lists.acquire().await else {
        return Reply::unavailable().into_response(&method, "");
    };
    let owned = (Arc::clone(&service), method.clone());
    let answered = tokio::task::spawn_blocking(move || {
        let (service, method) = owned;
        let request =
            Request { method: &method, path: path.as_str(), query: &query, headers: &headers };
        answer_now(&service, &request)
    });
    answered.await.unwrap_or_else(|_| Reply::internal().into_response(&method, ""))
}

/// Answers a request from the snapshot served now, whatever happens on the way.
fn answer_now(service: &Service, request: &Request<'_>) -> http::Response<Bytes> {
    let served = service.library.served();
    let number = service.requests.fetch_add(1, Ordering::Relaxed);
    let snapshot_id = served.snapshot.manifest().id.as_str();
    let reply = match catch_unwind(AssertUnwindSafe(|| routes::answer(request, &served))) {
        Ok(Ok(reply)) => reply,
        Ok(Err(error)) => {
            tracing::error!(request = number, path = ?request.path, %error, "cannot answer");
            service.library.poison(&served, &error);
            Reply::unavailable()
        }
        Err(_) => {
            tracing::error!(request = number, path = ?request.path, "a handler panicked");
            Reply::internal()
        }
    };
    reply.into_response(request.method, snapshot_id)
}
