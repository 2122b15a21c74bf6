//! The server as a process: it listens, accepts, heeds signals, and ends without cutting a reply.

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use rustix::{
    net::sockopt::set_socket_send_buffer_size,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use tokio::{
    net::{TcpListener, TcpStream},
    signal::unix::{SignalKind, signal},
    sync::Notify,
    time::{self, MissedTickBehavior},
};

use crate::net::connection::{Connections, Preface, Timeouts};
use crate::net::limiter::Places;
use crate::net::tls::Certificate;
use crate::ops::admin;
use crate::ops::admin::Admin;
use crate::ops::log::DroppedLines;
use crate::ops::metrics::Metrics;
use crate::service::{Service, worker_count};

/// How long requests under way may take to end when the server does.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long work whose client is gone may take after that.
const ABANDON_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait where a connection cannot be accepted for want of files or memory.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);
/// How often what was refused is told, and counters are written to their file.
const ROUND_INTERVAL: Duration = Duration::from_secs(60);
/// Bytes of a reply that the system holds for a connection; it takes twice that for its own needs.
const SEND_BUFFER_BYTES: usize = 384 << 10;
/// How often it is looked whether `current` leads to another snapshot, and whether the files of the one
/// served are what they were.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);
/// Files that are kept for other things than connections.
const FILES_KEPT: u64 = 64;

/// How the server listens.
pub struct Listening {
    /// Where.
    pub address: SocketAddr,
    /// Connections at a time, of all clients.
    pub connections: u32,
    /// Connections at a time, of each.
    pub client_connections: u32,
    /// How long clients may take.
    pub timeouts: Timeouts,
    /// What is read before HTTP.
    pub preface: Preface,
    /// Where metrics are; `None` where nobody wants them.
    pub admin: Option<SocketAddr>,
    /// Shown to clients; without one there is no TLS.
    pub certificate: Option<Arc<Certificate>>,
}

/// What helps where files are short.
const FILES_ADVICE: &str = "raise the limit of open files (`ulimit -n`, or LimitNOFILE= of a unit)";

/// Serves until SIGINT or SIGTERM. Whatever snapshot `current` comes to lead to is served; SIGHUP has
/// it and the certificate looked at again at once.
///
/// # Errors
///
/// Where an address cannot be listened on, naming it and the option it is from.
pub fn run(service: Service, listening: Listening, lost: DroppedLines) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(worker_count())
        .enable_all()
        .build()
        .map_err(with_advice)?;
    let service = Arc::new(service);
    let outcome = runtime.block_on(accept(Arc::clone(&service), listening, lost));
    let outcome = outcome.map_err(with_advice);
    runtime.shutdown_timeout(ABANDON_TIMEOUT);
    service.gate().save();
    outcome
}

async fn accept(service: Arc<Service>, listening: Listening, lost: DroppedLines) -> io::Result<()> {
    let Listening { address, admin, timeouts, preface, certificate, .. } = listening;
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| cannot_listen(address, "--listen", &error))?;
    let admin_listener = admin.map(|address| {
        admin::listen(address).map_err(|error| cannot_listen(address, "--admin", &error))
    });
    let admin_listener = admin_listener.transpose()?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let total = listening.connections.min(files_for_connections());
    let places = Arc::new(Places::new(total, listening.client_connections));
    let acceptor = certificate.clone().map(Certificate::acceptor).transpose();
    let acceptor = acceptor.map_err(io::Error::other)?;
    let scheme = if acceptor.is_some() { "https" } else { "http" };
    let connections = Connections::new(Arc::clone(&service), timeouts, preface, acceptor);
    let connections = Arc::new(connections);
    let mut rounds = Rounds::new(Arc::clone(&places), Arc::clone(&lost));
    let told = follow(Arc::clone(&service));
    let admin_address =
        admin_listener.as_ref().map(|listener| listener.local_addr()).transpose()?;
    let metrics = Metrics::new(Arc::clone(&service), Arc::clone(&places), lost);
    // Kept until the last public connection has ended.
    let _admin = admin_listener.map(|listener| Admin::begin(listener, metrics)).transpose()?;
    announce(scheme, listener.local_addr()?, admin_address)?;
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => begin(&connections, &places, stream, peer),
                // The client's doing, and over.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept; trying again");
                    time::sleep(SHORTAGE_PAUSE).await;
                }
            },
            () = rounds.due() => rounds.make(&service),
            _ = hangup.recv() => {
                renew(certificate.as_deref());
                told.notify_one();
            }
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    drop(listener);
    tracing::info!("ending; open requests are finished first");
    connections.end();
    if time::timeout(DRAIN_TIMEOUT, places.all_free()).await.is_err() {
        tracing::warn!(
            seconds = DRAIN_TIMEOUT.as_secs(),
            "requests were still open; ending anyway"
        );
    }
    Ok(())
}

/// Why the server does not start, for whoever chose the address.
fn cannot_listen(address: SocketAddr, option: &str, error: &io::Error) -> io::Error {
    let advice = match error.raw_os_error() {
        Some(code) if is_shortage(code) => FILES_ADVICE.to_owned(),
        _ => format!("choose another with {option}"),
    };
    io::Error::new(error.kind(), format!("cannot listen on {address}: {error}; {advice}"))
}

/// Says what helps where files are short, which is all the system says of it.
fn with_advice(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) if is_shortage(code) => {
            io::Error::new(error.kind(), format!("{error}; {FILES_ADVICE}"))
        }
        _ => error,
    }
}

fn is_shortage(code: i32) -> bool {
    [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE].map(|of| of.raw_os_error()).contains(&code)
}

/// Serves a connection, if there is a place for it.
fn begin(
    connections: &Arc<Connections<Service>>,
    places: &Arc<Places>,
    stream: TcpStream,
    peer: SocketAddr,
) {
    let peer = peer.ip().to_canonical();
    let Some(place) = connections.place(places, peer) else { return };
    let _ = stream.set_nodelay(true);
    // So that it is soon seen whether a client takes what is sent.
    let _ = set_socket_send_buffer_size(&stream, SEND_BUFFER_BYTES);
    tokio::spawn(Arc::clone(connections).serve(stream, peer, place));
}

/// Looks for another certificate; where it is bad, what there is stays.
fn renew(certificate: Option<&Certificate>) {
    match certificate.map(Certificate::reload) {
        Some(Ok(())) => tracing::info!("certificate read again"),
        Some(Err(error)) => tracing::error!(%error, "the certificate served before stays"),
        None => {}
    }
}

/// Serves whatever `current` comes to lead to, and looks at it at once when told.
///
/// One look at a time: however often it is told meanwhile, one more follows.
fn follow(service: Arc<Service>) -> Arc<Notify> {
    let told = Arc::new(Notify::new());
    let listening = Arc::clone(&told);
    tokio::spawn(async move {
        let mut looks = time::interval(FOLLOW_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_told = tokio::select! {
                () = listening.notified() => true,
                _ = looks.tick() => false,
            };
            let service = Arc::clone(&service);
            let look = move || {
                service.library().look();
                match is_told {
                    true => service.library().reload(),
                    false => service.library().follow(),
                }
            };
            // To open a snapshot reads files. A look that panics is in the log; the next is none of it.
            let _ = tokio::task::spawn_blocking(look).await;
        }
    });
    told
}

/// As many files as may be open, less those that other things need; the limit is raised first as
/// far as it goes.
fn files_for_connections() -> u32 {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let left = files.saturating_sub(FILES_KEPT).max(files / 2);
    u32::try_from(left).unwrap_or(u32::MAX).max(1)
}

/// Says where, on standard output, for whoever started the server on port 0.
fn announce(scheme: &str, address: SocketAddr, admin: Option<SocketAddr>) -> io::Result<()> {
    let mut text = format!("listening on {scheme}://{address}\n");
    if let Some(admin) = admin {
        text.push_str(&format!("admin on http://{admin}\n"));
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| {
        let message = format!("cannot say on standard output where it listens: {error}");
        io::Error::new(error.kind(), message)
    })
}

/// What is done every so often.
struct Rounds {
    interval: time::Interval,
    places: Arc<Places>,
    lost: DroppedLines,
    /// Connections whose refusal was told, and lines of the log whose loss was.
    told: ([u64; 2], u64),
}

impl Rounds {
    fn new(places: Arc<Places>, lost: DroppedLines) -> Rounds {
        let mut interval = time::interval(ROUND_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        interval.reset();
        Rounds { interval, places, lost, told: ([0; 2], 0) }
    }

    async fn due(&mut self) {
        self.interval.tick().await;
    }

    fn make(&mut self, service: &Arc<Service>) {
        let (refused, lost) = (self.places.refused(), (self.lost)());
        let (refused_before, lost_before) = std::mem::replace(&mut self.told, (refused, lost));
        let seconds = ROUND_INTERVAL.as_secs();
        if refused != refused_before {
            let [in_all, of_client] = [0, 1].map(|at| refused[at] - refused_before[at]);
            tracing::warn!(
                in_all,
                of_client,
                seconds,
                "connections were closed at once: the server, or their client, had enough"
            );
        }
        if lost != lost_before {
            tracing::warn!(lines = lost - lost_before, seconds, "lines of the log were lost");
        }
        let service = Arc::clone(service);
        tokio::task::spawn_blocking(move || service.gate().save());
    }
}
