//! An in-process service with clients that connect through pipes.

use std::{net::IpAddr, sync::Arc, time::Duration};

use pinakes_answer::Settings;
use pinakes_server::parts::{
    Certificate, ClientResolver, ConnectionLimiter, ConnectionSettings, Connections,
    ForwardingHeader, Gate, Preface, ServiceSettings, Timeouts,
};
use pinakes_server::{Service, SnapshotManager, SnapshotSource};
use pinakes_tests::serving::ANSWER_SETTINGS;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    time::Instant,
};

pub const TIMEOUTS: Timeouts = Timeouts {
    head: Duration::from_secs(8),
    write: Duration::from_secs(10),
    idle: Duration::from_secs(12),
};

/// Seconds of `Strict-Transport-Security`.
pub const HSTS_SECONDS: u32 = 86_400;
/// TLS handshakes per second.
const HANDSHAKES: u32 = 40;
/// Control frames per second of a connection.
pub const CONTROL_FRAMES: u32 = 20;

/// Address of an ordinary client.
pub const PEER: &str = "198.51.100.7";
/// Address of a trusted proxy.
pub const PROXY: &str = "10.0.0.1";

/// A service with the sample, and the parts that its connections share.
pub struct Bench {
    pub connections: Arc<Connections>,
    pub places: Arc<ConnectionLimiter>,
    pub service: Arc<Service>,
    _snapshots: tempfile::TempDir,
}

impl Bench {
    pub fn new(preface: Preface) -> Bench {
        Bench::with(preface, None)
    }

    /// Starts the service, over TLS if a certificate is given.
    pub fn with(preface: Preface, certificate: Option<Arc<Certificate>>) -> Bench {
        let snapshots = tempfile::tempdir().unwrap();
        pinakes_tests::publish(&[pinakes_tests::sample()], snapshots.path(), &["--quiet"]);
        let place = SnapshotSource::Current(snapshots.path().to_owned());
        let manager = SnapshotManager::open(&place, false).unwrap();
        let trusted = vec!["10.0.0.0/8".parse().unwrap()];
        let clients =
            ClientResolver { trusted, header: ForwardingHeader::XForwardedFor, exempt: Vec::new() };
        let gate = Gate::new(clients, None, None);
        let list_timeout = Duration::from_secs(5);
        let bounds = ServiceSettings {
            answers: Settings {
                list_timeout,
                list_cpu: list_timeout,
                held_bytes_max: 8 << 20,
                ..ANSWER_SETTINGS
            },
            disk_reads: 16,
            reply_memory_bytes: 8 << 20,
            reply_timeout: Duration::from_secs(600),
            refused_lines: 20,
        };
        let service = Arc::new(Service::new(manager, gate, bounds));
        let tls =
            certificate.map(|certificate| certificate.acceptor(HANDSHAKES, HSTS_SECONDS).unwrap());
        let settings =
            ConnectionSettings { timeouts: TIMEOUTS, preface, control_frames: CONTROL_FRAMES };
        let connections = Connections::new(Arc::clone(&service), settings, tls);
        let places = Arc::new(ConnectionLimiter::new(1_000, 200));
        Bench { connections: Arc::new(connections), places, service, _snapshots: snapshots }
    }

    /// Connects a client through pipes of this many bytes each way.
    pub fn client(&self, peer: &str, pipe_bytes: usize) -> Client {
        let (near, far) = tokio::io::duplex(pipe_bytes);
        let peer: IpAddr = peer.parse().unwrap();
        if let Some(place) = self.connections.admit(&self.places, peer) {
            tokio::spawn(Arc::clone(&self.connections).serve(far, peer, place));
        }
        Client { pipe: near, begun: Instant::now() }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Snapshots are published read-only.
        let path = self._snapshots.path();
        let _ = std::process::Command::new("chmod").arg("-R").arg("u+w").arg(path).status();
    }
}

/// The client's end of a connection.
pub struct Client {
    pub pipe: DuplexStream,
    begun: Instant,
}

impl Client {
    pub async fn send(&mut self, bytes: &[u8]) {
        self.pipe.write_all(bytes).await.unwrap();
    }

    /// Reads until the server closes; also returns the seconds since the connection started.
    pub async fn read_to_end(&mut self) -> (String, f64) {
        let mut bytes = Vec::new();
        let _ = self.pipe.read_to_end(&mut bytes).await;
        (String::from_utf8(bytes).unwrap(), self.seconds())
    }

    /// Reads the head and the body of a reply with a `Content-Length`.
    pub async fn reply(&mut self) -> (String, String) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.pipe.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.pipe.read_exact(&mut body).await.unwrap();
        (head, String::from_utf8(body).unwrap())
    }

    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// Formats a GET request.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
}
