//! The server's HTTP stack inside the test process: pipes replace sockets, and a paused clock
//! replaces time.

use std::{
    net::IpAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use pinakes_answer::{GraphqlSettings, Settings};
use pinakes_server::parts::{
    ClientResolver, Clock, ClockReading, ConnectionLimiter, ConnectionSettings, Connections,
    ForwardingHeader, Gate, Limits, Preface, RateLimiter, ServiceSettings, Timeouts,
};
use pinakes_server::{Service, SnapshotManager, SnapshotSource};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::{Builder, Runtime},
    task, time,
};

/// Most bytes in flight in each direction.
const PIPE_BYTES: usize = 64 << 10;
/// Longest duration of a connection in simulated time; longer than every timer of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(600);
const SETTINGS: ConnectionSettings = ConnectionSettings {
    timeouts: Timeouts {
        head: Duration::from_secs(5),
        write: Duration::from_secs(10),
        idle: Duration::from_secs(10),
    },
    preface: Preface::None,
    control_frames: 100,
};
/// Time limit of a list request in real time; no test reaches it.
const LIST_TIMEOUT: Duration = Duration::from_secs(120);
/// Start of the simulated clock, 2026-01-31T00:00:00Z, in milliseconds since 1970.
const START_MILLIS: u64 = 1_769_817_600_000;
/// Milliseconds between two readings of the clock.
const STEP_MILLIS: u64 = 700;

/// When a client closes its sending half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client waits until the server closes.
    Waits,
    /// The client closes its sending half at once.
    Closes,
}

/// A server without sockets.
pub struct InProcessServer {
    connections: Arc<Connections>,
    service: Arc<Service>,
    places: Arc<ConnectionLimiter>,
}

/// Answers of all kinds, within bounds that no test of a whole answer reaches.
pub const ANSWER_SETTINGS: Settings = Settings {
    list_timeout: LIST_TIMEOUT,
    list_cpu: Duration::from_secs(60),
    held_bytes_max: 64 << 20,
    graphql: GraphqlSettings::DEFAULT,
    ..Settings::ALL
};

/// A clock that each reading advances.
struct SteppingClock(AtomicU64);

impl Clock for SteppingClock {
    fn now(&self) -> ClockReading {
        let passed = self.0.fetch_add(STEP_MILLIS, Relaxed);
        ClockReading { monotonic: passed, utc: START_MILLIS + passed }
    }
}

impl InProcessServer {
    /// Serves the snapshot in a directory, with or without limits.
    pub fn new(snapshot: &Path, limits: Option<Limits>) -> InProcessServer {
        let source = SnapshotSource::Fixed(snapshot.to_owned());
        let manager = SnapshotManager::open(&source, false).expect("a built snapshot opens");
        let network = |text: &str| text.parse().expect("a network");
        let clients = ClientResolver {
            trusted: vec![network("10.0.0.0/8"), network("2001:db8:1::/48")],
            header: ForwardingHeader::XForwardedFor,
            exempt: Vec::new(),
        };
        let counters = limits
            .map(|limits| RateLimiter::new(limits, Box::new(SteppingClock(AtomicU64::new(0)))));
        let gate = Gate::new(clients, counters, None);
        let bounds = ServiceSettings {
            answers: ANSWER_SETTINGS,
            disk_reads: 16,
            reply_memory_bytes: 64 << 20,
            reply_timeout: Duration::from_secs(600),
            refused_lines: 20,
        };
        let service = Arc::new(Service::new(manager, gate, bounds));
        let connections = Connections::new(Arc::clone(&service), SETTINGS, None).into();
        InProcessServer {
            connections,
            service,
            places: Arc::new(ConnectionLimiter::new(1_024, 512)),
        }
    }

    /// Builds a single-threaded runtime with a paused clock.
    ///
    /// Time advances only while all tasks are idle, so no timer takes real time. `name` is the name
    /// of the runtime's threads.
    pub fn runtime(name: &str) -> Runtime {
        let mut builder = Builder::new_current_thread();
        builder
            .thread_name(name)
            .enable_time()
            .start_paused(true)
            .build()
            .expect("the runtime starts")
    }

    /// Sends bytes over a new connection in pieces of `piece_bytes`.
    ///
    /// Returns the bytes received until the server closes the connection.
    pub async fn exchange(
        &self,
        peer: IpAddr,
        bytes: &[u8],
        piece_bytes: usize,
        ending: Ending,
    ) -> Vec<u8> {
        let place = self.places.acquire().expect("the connection limit is not reached");
        let (client, server) = tokio::io::duplex(PIPE_BYTES);
        let serving = task::spawn(Arc::clone(&self.connections).serve(server, peer, place));
        let (mut reading, mut writing) = tokio::io::split(client);
        let sending = async {
            // The server may close before it has read all pieces.
            for piece in bytes.chunks(piece_bytes) {
                let _ = writing.write_all(piece).await;
                task::yield_now().await;
            }
            if ending == Ending::Closes {
                let _ = writing.shutdown().await;
            }
        };
        let mut received = Vec::new();
        let receiving = reading.read_to_end(&mut received);
        let both = async { tokio::join!(sending, receiving) };
        let ((), outcome) =
            time::timeout(CONNECTION_TIMEOUT, both).await.expect("every connection ends");
        outcome.expect("the pipe is readable");
        drop((reading, writing));
        serving.await.expect("a connection's task does not panic");
        received
    }

    /// Returns the id of the served snapshot.
    pub fn snapshot_id(&self) -> String {
        self.service.snapshots().served().snapshot.manifest().id.clone()
    }

    /// Returns whether the server found the snapshot damaged.
    pub fn is_poisoned(&self) -> bool {
        self.service.snapshots().served().is_poisoned()
    }
}
