//! The server process: listens, accepts connections, handles signals, and ends after open requests.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{future, io};

use pinakes_store::files::raise_open_files;
use rustix::net::sockopt::set_socket_send_buffer_size;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::time;
use tokio::time::MissedTickBehavior;

use crate::net::connection::{ConnectionSettings, Connections};
use crate::net::handler::Handler;
use crate::net::limiter::ConnectionLimiter;
use crate::net::tls::Certificate;
use crate::ops::admin;
use crate::ops::admin::{Admin, AdminHosts};
use crate::ops::log::DroppedLines;
use crate::ops::metrics::Metrics;
use crate::serve::{DialectAlone, Service};
use crate::upstream::cache::Hand;
use crate::upstream::follow::Upstream;

/// Timeout of open requests after SIGINT or SIGTERM.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of abandoned work after [`DRAIN_TIMEOUT`].
const ABANDON_TIMEOUT: Duration = Duration::from_secs(1);
/// An idle thread of the blocking pool ends after this time, and frees its memory.
const IDLE_THREAD_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause before the next accept when files or memory are short.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(60);
/// Send buffer of a connection; Linux allocates twice this size.
const SEND_BUFFER_BYTES: usize = 384 << 10;
/// Bytes that the system takes of a reply before it can send them.
const NOT_SENT_BYTES_MAX: u32 = 32 << 10;
/// How often the server checks `current` for another snapshot, the served snapshot's files for changes, and
/// whether the disk is busy.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);
/// How often the disk space of a mirror is looked at.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(1);
/// The pause between two removals of chunks.
const UPKEEP_PAUSE: Duration = Duration::from_millis(20);
/// File descriptors reserved for other uses than connections: a snapshot keeps about 100, and several may be
/// open during a change of snapshot.
const FILES_RESERVED: u64 = 512;

/// Addresses, limits and TLS of the server.
pub struct ListenOptions {
    /// Address of the HTTP interface.
    pub address: SocketAddr,
    /// Address of OpenAlex's dialect alone, if any.
    pub openalex: Option<SocketAddr>,
    /// Maximum of open connections.
    pub connections: u32,
    /// Maximum of open connections of one client.
    pub client_connections: u32,
    pub settings: ConnectionSettings,
    /// Admin address, if any.
    pub admin: Option<SocketAddr>,
    /// Names of the admin address.
    pub admin_hosts: AdminHosts,
    /// TLS handshakes per second.
    pub handshakes: u32,
    /// Seconds for which browsers use no plain HTTP after a reply over TLS.
    pub hsts_seconds: u32,
    /// Certificate; `None` serves plain HTTP.
    pub certificate: Option<Arc<Certificate>>,
}

/// Advice when file descriptors are short.
const FILES_ADVICE: &str = "raise the limit of open files (`ulimit -n`, or LimitNOFILE= of a unit)";

/// Serves until SIGINT or SIGTERM. SIGHUP reloads the certificate and checks `current` at once.
///
/// # Errors
///
/// The server cannot bind an address; the message names the address and its option.
pub fn run(
    service: Service,
    listen_options: ListenOptions,
    dropped_lines: DroppedLines,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(IDLE_THREAD_TIMEOUT)
        .build()
        .map_err(with_advice)?;
    let service = Arc::new(service);
    let outcome = runtime.block_on(accept(Arc::clone(&service), listen_options, dropped_lines));
    let outcome = outcome.map_err(with_advice);
    runtime.shutdown_timeout(ABANDON_TIMEOUT);
    service.gate().save();
    outcome
}

async fn accept(
    service: Arc<Service>,
    listen_options: ListenOptions,
    dropped_lines: DroppedLines,
) -> io::Result<()> {
    let ListenOptions { address, openalex, admin, .. } = listen_options;
    let ListenOptions { admin_hosts, settings, certificate, .. } = listen_options;
    let (handshakes, hsts_seconds) = (listen_options.handshakes, listen_options.hsts_seconds);
    let listener = bind(address, "--listen").await?;
    let dialect_listener = match openalex {
        Some(address) => Some(bind(address, "--openalex-listen").await?),
        None => None,
    };
    let admin_listener = admin.map(|address| {
        admin::listen(address).map_err(|error| cannot_listen(address, "--admin", &error))
    });
    let admin_listener = admin_listener.transpose()?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let total = listen_options.connections.min(files_for_connections());
    let limiter = Arc::new(ConnectionLimiter::new(total, listen_options.client_connections));
    let acceptor = || {
        let acceptor =
            certificate.clone().map(|certificate| certificate.acceptor(handshakes, hsts_seconds));
        acceptor.transpose().map_err(io::Error::other)
    };
    let scheme = if certificate.is_some() { "https" } else { "http" };
    let connections = Arc::new(Connections::new(Arc::clone(&service), settings, acceptor()?));
    let dialect = Arc::new(DialectAlone(Arc::clone(&service)));
    let dialect = Arc::new(Connections::new(dialect, settings, acceptor()?));
    let mut housekeeping = Housekeeping::new(Arc::clone(&limiter), Arc::clone(&dropped_lines));
    let check_now = follow(Arc::clone(&service));
    tokio::spawn(activate(Arc::clone(&service)));
    keep_mirror(&service);
    let admin_address =
        admin_listener.as_ref().map(|listener| listener.local_addr()).transpose()?;
    let metrics = Metrics::new(Arc::clone(&service), Arc::clone(&limiter), dropped_lines);
    // Serves until the last public connection has closed.
    let _admin =
        admin_listener.map(|listener| Admin::begin(listener, metrics, admin_hosts)).transpose()?;
    let dialect_address =
        dialect_listener.as_ref().map(|listener| listener.local_addr()).transpose()?;
    announce(scheme, listener.local_addr()?, dialect_address, admin_address)?;
    tracing::info!("{}", service.gate().limits_in_words());
    if let Some(fleet) = service.gate().fleet() {
        let fleet = Arc::clone(fleet);
        tokio::spawn(async move { fleet.keep_store().await });
    }
    // After the server has begun to listen: a start takes milliseconds.
    let counting = Arc::clone(&service);
    tokio::task::spawn_blocking(move || counting.gate().provide_pages());
    loop {
        tokio::select! {
            (stream, peer) = next(Some(&listener)) => serve(&connections, &limiter, stream, peer),
            (stream, peer) = next(dialect_listener.as_ref()) => {
                serve(&dialect, &limiter, stream, peer);
            }
            () = housekeeping.due() => housekeeping.run(&service),
            _ = hangup.recv() => {
                reload(certificate.as_deref());
                check_now.notify_one();
            }
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    drop((listener, dialect_listener));
    tracing::info!("ending after the open requests");
    connections.end();
    dialect.end();
    if time::timeout(DRAIN_TIMEOUT, limiter.all_closed()).await.is_err() {
        tracing::warn!(seconds = DRAIN_TIMEOUT.as_secs(), "ending with open requests");
    }
    housekeeping.report(&service);
    Ok(())
}

async fn bind(address: SocketAddr, option: &str) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| cannot_listen(address, option, &error))
}

/// Accepts the next connection; never without a listener.
async fn next(listener: Option<&TcpListener>) -> (TcpStream, SocketAddr) {
    let Some(listener) = listener else { return future::pending().await };
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            // The client closed the connection before the accept.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection; trying again");
                time::sleep(SHORTAGE_PAUSE).await;
            }
        }
    }
}

/// Adds the address, its option and advice to the error of a bind.
fn cannot_listen(address: SocketAddr, option: &str, error: &io::Error) -> io::Error {
    let advice = match error.raw_os_error() {
        Some(code) if is_shortage(code) => FILES_ADVICE.to_owned(),
        _ => format!("choose another with {option}"),
    };
    io::Error::new(error.kind(), format!("cannot listen on {address}: {error}; {advice}"))
}

/// Adds advice to an error if file descriptors are short.
fn with_advice(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) if is_shortage(code) => {
            io::Error::new(error.kind(), format!("{error}; {FILES_ADVICE}"))
        }
        _ => error,
    }
}

fn is_shortage(code: i32) -> bool {
    [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
        .map(|code| code.raw_os_error())
        .contains(&code)
}

/// Serves an accepted connection, or closes it at a limit.
fn serve<H: Handler>(
    connections: &Arc<Connections<H>>,
    limiter: &Arc<ConnectionLimiter>,
    stream: TcpStream,
    peer: SocketAddr,
) {
    let peer = peer.ip().to_canonical();
    let Some(permit) = connections.admit(limiter, peer) else { return };
    let _ = stream.set_nodelay(true);
    // Bounded buffers show soon whether the client reads: the system takes more only once the client has
    // acknowledged what was sent.
    let _ = set_socket_send_buffer_size(&stream, SEND_BUFFER_BYTES);
    let _ = SockRef::from(&stream).set_tcp_notsent_lowat(NOT_SENT_BYTES_MAX);
    tokio::spawn(Arc::clone(connections).serve(stream, peer, permit));
}

/// Reloads the certificate; keeps the current certificate on failure.
fn reload(certificate: Option<&Certificate>) {
    match certificate.map(Certificate::reload) {
        Some(Ok(())) => tracing::info!("reloaded the certificate"),
        Some(Err(error)) => {
            tracing::error!(%error, "cannot reload the certificate; keeping the current one")
        }
        None => {}
    }
}

/// Follows `current` in a task, and checks `current` at once when notified.
///
/// Checks do not overlap; any number of notifications during a check cause one more check.
pub(crate) fn follow(service: Arc<Service>) -> Arc<Notify> {
    let check_now = Arc::new(Notify::new());
    let notified = Arc::clone(&check_now);
    tokio::spawn(async move {
        let mut ticks = time::interval(FOLLOW_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_notified = tokio::select! {
                () = notified.notified() => true,
                _ = ticks.tick() => false,
            };
            if !is_notified {
                service.disk_activity().end_interval();
            }
            let service = Arc::clone(&service);
            let check = move || {
                let is_alone = service.gate().fleet().is_some_and(|fleet| fleet.is_alone());
                service.snapshots().health().set_counters_away(is_alone);
                service.snapshots().check_files();
                match is_notified {
                    true => service.snapshots().reload(),
                    false => service.snapshots().apply_changes(),
                }
            };
            // Blocking, because opening a snapshot reads files. A panic is in the log; checks continue.
            let _ = tokio::task::spawn_blocking(check).await;
        }
    });
    check_now
}

/// Looks for newer publications of the mirrors, fills the snapshot, and bounds its disk space.
pub(crate) fn keep_mirror(service: &Arc<Service>) {
    let Some(upstream) = service.snapshots().upstream() else { return };
    let (follower, keeper) = (Arc::clone(upstream), Arc::clone(upstream));
    tokio::spawn(follow_mirrors(Arc::clone(service), follower));
    let service = Arc::clone(service);
    // A thread of its own, which waits for mirrors and for requests. It ends with the process.
    std::thread::spawn(move || {
        let mut hand = Hand::default();
        loop {
            let served = service.snapshots().served();
            let id = served.id().to_owned();
            if keeper.upkeep.fills && keeper.directory.is_partial(&id) {
                keeper.fill(&served.snapshot, || service.snapshots().served().id() == id);
            }
            keeper.remove_excess(&served.snapshot, &mut hand);
            drop(served);
            keeper.transfers.room.await_excess(UPKEEP_INTERVAL);
            // Requests may use all that is here.
            std::thread::sleep(UPKEEP_PAUSE);
        }
    });
}

/// Switches to each newer publication of the mirrors, once what clients ask most is here.
async fn follow_mirrors(service: Arc<Service>, upstream: Arc<Upstream>) {
    loop {
        time::sleep(upstream.upkeep.interval).await;
        // The search for a publication, the opening and the copying block, so they leave the threads of the runtime.
        let (finder, owner) = (Arc::clone(&upstream), Arc::clone(&service));
        let prepared = tokio::task::spawn_blocking(move || {
            let found = finder.find_newer().inspect_err(|error| {
                tracing::warn!(%error, "cannot look for a newer publication");
            });
            let id = found.ok().flatten()?;
            let earlier = owner.snapshots().served();
            let opened = owner.snapshots().open_served(&finder.directory.place(&id));
            let opened = opened
                .inspect_err(|error| {
                    finder.set_look_refused(true);
                    tracing::error!(%error, "cannot open the newer snapshot");
                })
                .ok()?;
            // Chunks that both snapshots have are copied, and not fetched again.
            finder.take_over(&opened.snapshot, &earlier.snapshot);
            Some((id, opened))
        });
        let Ok(Some((id, opened))) = prepared.await else { continue };
        // The chunks that clients ask most are fetched before the switch: no request waits for them after it.
        Arc::clone(&service).warm(opened).await;
        let (linker, owner) = (Arc::clone(&upstream), Arc::clone(&service));
        let switched = tokio::task::spawn_blocking(move || {
            let linked = linker.directory.make_current(&id);
            linker.set_look_refused(linked.is_err());
            if let Err(error) = linked {
                tracing::error!(%error, "cannot switch to the newer snapshot");
                return;
            }
            // The link has moved, and the server opens the snapshot of the link.
            owner.snapshots().apply_changes();
            // The earlier snapshot is no longer served, but requests may still read it: open ones stay.
            let removed = linker.directory.remove_partial(&owner.snapshots().open_ids());
            if !removed.is_empty() {
                tracing::info!(snapshots = ?removed, "removed earlier snapshots that were here in part");
            }
        });
        let _ = switched.await;
    }
}

/// Switches to scheduled snapshots at their times, by a timer of its own: checks of `current` may take long.
pub(crate) async fn activate(service: Arc<Service>) {
    loop {
        // Looks at the clock again after this time, because the clock may be set.
        service.snapshots().await_activation(FOLLOW_INTERVAL).await;
        if service.snapshots().is_activation_due() {
            let service = Arc::clone(&service);
            // Blocking, because the links are read again.
            let _ = tokio::task::spawn_blocking(move || service.snapshots().activate()).await;
        }
    }
}

/// Raises the limit of open files to its maximum, and returns the limit less the reserved descriptors.
fn files_for_connections() -> u32 {
    let (files, raised) = raise_open_files();
    if let Err(error) = raised {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    let left = files.saturating_sub(FILES_RESERVED).max(files / 2);
    u32::try_from(left).unwrap_or(u32::MAX).max(1)
}

/// Prints the addresses to standard output, for an operator who chose port 0.
fn announce(
    scheme: &str,
    address: SocketAddr,
    openalex: Option<SocketAddr>,
    admin: Option<SocketAddr>,
) -> io::Result<()> {
    let mut text = format!("listening on {scheme}://{address}\n");
    if let Some(openalex) = openalex {
        text.push_str(&format!("openalex on {scheme}://{openalex}\n"));
    }
    if let Some(admin) = admin {
        text.push_str(&format!("admin on http://{admin}\n"));
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| {
        let message = format!("cannot print the address to standard output: {error}");
        io::Error::new(error.kind(), message)
    })
}

/// Periodic work: logs refused connections and dropped lines, and saves the rate-limit counts.
struct Housekeeping {
    interval: time::Interval,
    limiter: Arc<ConnectionLimiter>,
    dropped_lines: DroppedLines,
    /// Time of the last report.
    since: Instant,
    /// Refused connections, dropped lines and lines left out that the log has reported.
    reported: ([u64; 2], u64, u64),
}

impl Housekeeping {
    fn new(limiter: Arc<ConnectionLimiter>, dropped_lines: DroppedLines) -> Housekeeping {
        let mut interval = time::interval(HOUSEKEEPING_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        interval.reset();
        Housekeeping {
            interval,
            limiter,
            dropped_lines,
            since: Instant::now(),
            reported: ([0; 2], 0, 0),
        }
    }

    async fn due(&mut self) {
        self.interval.tick().await;
    }

    fn run(&mut self, service: &Arc<Service>) {
        self.report(service);
        service.reply_memory().evict_older_than(service.settings().reply_timeout);
        let service = Arc::clone(service);
        tokio::task::spawn_blocking(move || service.gate().save());
    }

    /// Logs what was refused, dropped and left out since the last report.
    fn report(&mut self, service: &Service) {
        let (refused, dropped) = (self.limiter.refused(), (self.dropped_lines)());
        let left_out = service.left_out_lines();
        let (refused_before, dropped_before, left_out_before) =
            std::mem::replace(&mut self.reported, (refused, dropped, left_out));
        let seconds = self.since.elapsed().as_secs();
        self.since = Instant::now();
        if refused != refused_before {
            let [total_limit, client_limit] = [0, 1].map(|at| refused[at] - refused_before[at]);
            tracing::warn!(
                total_limit,
                client_limit,
                seconds,
                "closed connections beyond --connections or --client-connections"
            );
        }
        if dropped != dropped_before {
            tracing::warn!(lines = dropped - dropped_before, seconds, "dropped lines of the log");
        }
        if left_out != left_out_before {
            let lines = left_out - left_out_before;
            tracing::warn!(lines, seconds, "left out lines of requests beyond --refused-lines");
        }
    }
}
