//! The admin address: metrics, health and readiness for operators.
//!
//! The admin address has its own thread, connection limits and timeouts. It therefore answers while all
//! public connections are taken or wait for a disk. Each connection carries one request. At a limit, a new
//! connection closes the longest idle one.

pub(crate) mod connections;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use bytes::Bytes;
use chrono::Utc;
use http::{Method, Request, Response, StatusCode, header, uri::Authority};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use pinakes_answer::{Reply, echo_path, health_of, method_word, ready};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time;

use crate::net::limiter::ConnectionPermit;
use crate::ops::admin::connections::{AdminConnections, IdleGuard};
use crate::ops::metrics::Metrics;

/// Most open connections.
const CONNECTIONS_MAX: u32 = 64;
/// Most open connections of one client.
const CLIENT_CONNECTIONS_MAX: u32 = 32;
/// Time for a client to send a head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time from the accept of a connection to its end.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Most bytes of a head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Most headers of a head.
const HEADERS_MAX: usize = 64;
/// Time for open replies once the server ends.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause before the next accept when files or memory are short.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(200);
/// Allowed methods.
const METHODS: &str = "GET, HEAD";
/// Media type of metrics.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Serves the admin address until dropped.
pub struct Admin {
    ending: watch::Sender<bool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Admin {
    /// Starts the thread that serves a bound address.
    pub fn begin(
        listener: std::net::TcpListener,
        metrics: Metrics,
        hosts: AdminHosts,
    ) -> io::Result<Admin> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (ending, ended) = watch::channel(false);
        let serve = move || {
            let (metrics, hosts) = (Arc::new(metrics), Arc::new(hosts));
            if let Err(error) = runtime.block_on(accept(listener, metrics, hosts, ended)) {
                tracing::error!(%error, "stopped serving the admin address; restart the server");
            }
        };
        let thread = thread::Builder::new().name("admin".to_owned()).spawn(serve)?;
        Ok(Admin { ending, thread: Some(thread) })
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.ending.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // The log has the panic of a thread that panicked.
            let _ = thread.join();
        }
    }
}

/// Binds the admin address, and warns if other machines may reach the address.
pub fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    if !address.ip().to_canonical().is_loopback() {
        tracing::warn!(
            %address,
            "all hosts that reach the admin address can read the metrics, without encryption or password; \
             restrict access with a firewall"
        );
    }
    Ok(listener)
}

async fn accept(
    listener: std::net::TcpListener,
    metrics: Arc<Metrics>,
    hosts: Arc<AdminHosts>,
    mut ended: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let connections = AdminConnections::new(CONNECTIONS_MAX, CLIENT_CONNECTIONS_MAX);
    let connections = Arc::new(connections);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    if let Some(permit) = connections.admit(peer.ip()).await {
                        let (metrics, hosts) = (Arc::clone(&metrics), Arc::clone(&hosts));
                        connections.spawn(peer.ip(), |idle| {
                            serve(stream, permit, idle, metrics, hosts)
                        });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection at the admin address; trying again");
                    time::sleep(SHORTAGE_PAUSE).await;
                }
            },
            // Also ends when the sender is dropped.
            _ = ended.wait_for(|is_ended| *is_ended) => break,
        }
    }
    drop(listener);
    let _ = time::timeout(DRAIN_TIMEOUT, connections.all_closed()).await;
    Ok(())
}

/// Serves one connection to its end.
async fn serve(
    stream: TcpStream,
    permit: ConnectionPermit,
    idle: IdleGuard,
    metrics: Arc<Metrics>,
    hosts: Arc<AdminHosts>,
) {
    let idle = Mutex::new(Some(idle));
    let respond = service_fn(|request: Request<Incoming>| {
        idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let response = match hosts.admits(&request) {
            true => answer(request.method(), request.uri().path(), &metrics),
            false => refuse_host(request.method(), &metrics),
        };
        let response = response.map(Full::new);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), respond);
    // An error or a timeout concerns only the client.
    let _ = time::timeout(CONNECTION_TIMEOUT, connection).await;
    drop(permit);
}

/// The names under which clients may address the admin address, besides IP addresses and `localhost`. A web
/// page that an operator visits could otherwise read the address through a name of its own that leads here.
#[derive(Clone, Debug, Default)]
pub struct AdminHosts(pub Vec<String>);

impl AdminHosts {
    /// Whether the `Host` of a request is known. HTTP/1.0 has none.
    fn admits<B>(&self, request: &Request<B>) -> bool {
        let Some(host) = request.headers().get(header::HOST) else { return true };
        let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
        let host = authority.host();
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        address.unwrap_or(host).parse::<IpAddr>().is_ok()
            || host.eq_ignore_ascii_case("localhost")
            || self.0.iter().any(|known| known.eq_ignore_ascii_case(host))
    }
}

/// The reply to a request for an unknown host.
fn refuse_host(method: &Method, metrics: &Metrics) -> Response<Bytes> {
    let message = "this Host is not known here; name it with --admin-host";
    let served = metrics.service().snapshots().served();
    Reply::error(StatusCode::MISDIRECTED_REQUEST, message)
        .into_response(method, served.reply_headers())
}

/// Answers a request at the admin address.
pub fn answer(method: &Method, path: &str, metrics: &Metrics) -> Response<Bytes> {
    let served = metrics.service().snapshots().served();
    let mut response =
        reply_to(method, path, metrics).into_response(method, served.reply_headers());
    // Without these headers, no web page in an operator's browser can read the admin address.
    response.headers_mut().remove(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    response.headers_mut().remove(header::ACCESS_CONTROL_EXPOSE_HEADERS);
    response
}

fn reply_to(method: &Method, path: &str, metrics: &Metrics) -> Reply {
    let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    let find: fn(&Metrics) -> Reply = match path {
        "/metrics" => |metrics| Reply::text(StatusCode::OK, TEXT_FORMAT, metrics.text().into()),
        "/health" => |metrics| {
            let of = metrics.service();
            let served = of.snapshots().served();
            let (now, licence) = (Utc::now(), of.settings().answers.data_licence());
            health_of(&served, &of.snapshots().health().issues(&served, now), now, licence)
        },
        "/ready" => |metrics| {
            let served = metrics.service().snapshots().served();
            if served.is_poisoned() {
                return Reply::unavailable();
            }
            ready(&served.snapshot)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_known_hosts_are_admitted() {
        let hosts = AdminHosts(vec!["metrics.example".to_owned()]);
        let admits = |host: &str| {
            hosts.admits(&Request::builder().header(header::HOST, host).body(()).unwrap())
        };
        for host in
            ["127.0.0.1:9464", "[::1]:9464", "LOCALHOST:9464", "Metrics.example", "10.1.2.3"]
        {
            assert!(admits(host), "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1.evil.example:9464", "", "a b", "metrics.example.evil"]
        {
            assert!(!admits(host), "{host}");
        }
        assert!(hosts.admits(&Request::new(())));
    }
}
