//! The server's HTTP stack in this process: bytes go in as from a socket, and come out until it
//! closes.

use std::{
    net::IpAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use pinakes_server::parts::{
    ClientResolver, Clock, ClockReading, ConnectionLimiter, Connections, ForwardingHeader, Gate,
    Limits, Preface, RateLimiter, ServiceSettings, Settings, Timeouts,
};
use pinakes_server::{Service, SnapshotManager, SnapshotSource};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::{Builder, Runtime},
    task, time,
};

/// Bytes that either side sends before the other has to take some.
const PIPE_BYTES: usize = 64 << 10;
/// More than any timer of a connection allows; nobody waits for it, time is made up.
const PATIENCE: Duration = Duration::from_secs(600);
const TIMEOUTS: Timeouts = Timeouts {
    head: Duration::from_secs(5),
    write: Duration::from_secs(10),
    idle: Duration::from_secs(10),
};
/// How long finding a page may take by the clock on the wall; no such question is asked.
const LIST_TIMEOUT: Duration = Duration::from_secs(120);
/// 2026-01-31T00:00:00Z.
const BEGUN_MILLIS: u64 = 1_769_817_600_000;
/// What passes from one look at the clock to the next.
const STEP_MILLIS: u64 = 700;

/// How a client ends what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It waits until the server closes.
    Waits,
    /// It closes its sending half at once.
    Closes,
}

/// A server without a socket, and its snapshot.
pub struct Serving {
    connections: Arc<Connections>,
    service: Arc<Service>,
    places: Arc<ConnectionLimiter>,
}

/// Clocks that go on whenever they are looked at.
struct Steps(AtomicU64);

impl Clock for Steps {
    fn now(&self) -> ClockReading {
        let passed = self.0.fetch_add(STEP_MILLIS, Relaxed);
        ClockReading { monotonic: passed, utc: BEGUN_MILLIS + passed }
    }
}

impl Serving {
    /// Serves the snapshot in a directory, with limits or without.
    pub fn of(snapshot: &Path, limits: Option<Limits>) -> Serving {
        let place = SnapshotSource::Fixed(snapshot.to_owned());
        let manager = SnapshotManager::open(&place, false).expect("the snapshot was just built");
        let network = |text: &str| text.parse().expect("a network");
        let clients = ClientResolver {
            trusted: vec![network("10.0.0.0/8"), network("2001:db8:1::/48")],
            header: ForwardingHeader::XForwardedFor,
            exempt: Vec::new(),
        };
        let counters =
            limits.map(|limits| RateLimiter::new(limits, Box::new(Steps(AtomicU64::new(0)))));
        let gate = Gate::new(clients, counters, None);
        let bounds = ServiceSettings {
            list_timeout: LIST_TIMEOUT,
            graphql: Settings::default(),
            has_docs: true,
            data_licence: None,
        };
        let service = Arc::new(Service::new(manager, gate, bounds));
        let connections =
            Connections::new(Arc::clone(&service), TIMEOUTS, Preface::None, None).into();
        Serving { connections, service, places: Arc::new(ConnectionLimiter::new(1_024, 512)) }
    }

    /// A runtime to serve in, whose time passes only while there is nothing to do: what waits for a
    /// timer waits for nobody. Its threads bear this name.
    pub fn runtime(name: &str) -> Runtime {
        let mut builder = Builder::new_current_thread();
        builder
            .thread_name(name)
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime takes no file")
    }

    /// Sends bytes over a connection of its own, in pieces of so many; what came back until the server
    /// closed it.
    pub async fn exchange(
        &self,
        peer: IpAddr,
        bytes: &[u8],
        piece_bytes: usize,
        ending: Ending,
    ) -> Vec<u8> {
        let place = self.places.acquire().expect("connections end before others begin");
        let (client, server) = tokio::io::duplex(PIPE_BYTES);
        let serving = task::spawn(Arc::clone(&self.connections).serve(server, peer, place));
        let (mut reading, mut writing) = tokio::io::split(client);
        let sending = async {
            // A server that has heard enough closes before it has heard all.
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
        let ((), outcome) = time::timeout(PATIENCE, both).await.expect("no connection is for ever");
        outcome.expect("a pipe can be read");
        drop((reading, writing));
        serving.await.expect("a connection's task does not panic");
        received
    }

    /// The id of the snapshot, which every reply bears.
    pub fn snapshot_id(&self) -> String {
        self.service.snapshots().served().snapshot.manifest().id.clone()
    }

    /// Whether the snapshot was taken for damaged.
    pub fn is_poisoned(&self) -> bool {
        self.service.snapshots().served().is_poisoned()
    }
}
