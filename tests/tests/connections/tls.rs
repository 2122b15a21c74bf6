//! TLS: HTTP/1.1 and HTTP/2, certificate changes, and slow clients.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use pinakes_server::parts::{Certificate, Preface};
use pinakes_tests::certificates::{LOCALHOST, LOCALHOST_RENEWED, Pair};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    time,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::connections::bench::{Bench, CONTROL_FRAMES, HSTS_SECONDS, PEER, get};

/// A certificate for `localhost` and its key, in temporary files.
struct Files {
    _directory: tempfile::TempDir,
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new() -> (Files, CertificateDer<'static>) {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) =
            (directory.path().join("cert.pem"), directory.path().join("key.pem"));
        let files = Files { _directory: directory, certificate, key };
        let der = files.write(&LOCALHOST);
        (files, der)
    }

    /// Writes a certificate and its key into the files.
    fn write(&self, pair: &Pair) -> CertificateDer<'static> {
        fs::write(&self.certificate, pair.certificate).unwrap();
        fs::write(&self.key, pair.key).unwrap();
        CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()
    }

    fn open(&self) -> Arc<Certificate> {
        Arc::new(Certificate::open(&self.certificate, &self.key).unwrap())
    }
}

/// Does the TLS handshake of a client that trusts one certificate and offers these protocols.
async fn handshake(
    pipe: DuplexStream,
    believed: &CertificateDer<'static>,
    protocols: &[&str],
) -> std::io::Result<TlsStream<DuplexStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(believed.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, pipe).await
}

type Sender = http2::SendRequest<Empty<Bytes>>;

/// Starts HTTP/2 on a connection; `window` is the initial flow-control window of each reply.
async fn start_http2(stream: TlsStream<DuplexStream>, window: u32) -> Sender {
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(window)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

fn ask(method: &str, path: &str) -> http::Request<Empty<Bytes>> {
    let uri = format!("https://localhost{path}");
    http::Request::builder().method(method).uri(uri).body(Empty::new()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn only_replies_over_tls_tell_browsers_to_use_no_plain_http() {
    let (files, der) = Files::new();
    let request = get("/health");
    let mut plain = Bench::with(Preface::None, None).client(PEER, 64 << 10).pipe;
    let bench = Bench::with(Preface::None, Some(files.open()));
    let mut secure =
        handshake(bench.client(PEER, 64 << 10).pipe, &der, &["http/1.1"]).await.unwrap();
    let header = format!("strict-transport-security: max-age={HSTS_SECONDS}\r\n");
    let (mut of_plain, mut of_secure) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    plain.write_all(request.as_bytes()).await.unwrap();
    let length = plain.read(&mut of_plain).await.unwrap();
    let text = String::from_utf8_lossy(&of_plain[..length]);
    assert!(text.contains("\r\n\r\n") && !text.contains("strict-transport"), "{text}");
    secure.write_all(request.as_bytes()).await.unwrap();
    let length = secure.read(&mut of_secure).await.unwrap();
    let text = String::from_utf8_lossy(&of_secure[..length]);
    assert!(text.contains(&header), "{text}");
}

#[tokio::test(start_paused = true)]
async fn tls_serves_http1_and_http2() {
    let (files, der) = Files::new();
    let bench = Bench::with(Preface::None, Some(files.open()));
    for protocols in [&["http/1.1"][..], &[]] {
        let mut stream =
            handshake(bench.client(PEER, 64 << 10).pipe, &der, protocols).await.unwrap();
        stream.write_all(get("/health").as_bytes()).await.unwrap();
        let mut received = [0; 12];
        stream.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"HTTP/1.1 200");
    }
    let stream =
        handshake(bench.client(PEER, 64 << 10).pipe, &der, &["h2", "http/1.1"]).await.unwrap();
    let mut sender = start_http2(stream, 1 << 20).await;
    let long = format!("/authors?a={}", "1".repeat(20_000));
    for (method, path, status) in [
        ("GET", "/health", 200),
        ("GET", "/outputs?per_page=100", 200),
        ("HEAD", "/domains/3", 200),
        ("OPTIONS", "/domains/3", 204),
        ("POST", "/domains/3", 405),
        ("GET", "/nope", 404),
        ("GET", "/authors?page=0", 400),
        ("GET", &long, 414),
    ] {
        let response = sender.send_request(ask(method, path)).await.unwrap();
        assert_eq!(response.status(), status, "{method} {path:.40}");
        assert!(response.headers().get("connection").is_none());
        assert!(response.headers().get("x-snapshot-id").is_some());
        let transport_security = response.headers().get("strict-transport-security");
        assert_eq!(transport_security.unwrap(), &format!("max-age={HSTS_SECONDS}"));
        let length = response.headers().get("content-length").cloned();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        if method == "GET" {
            assert_eq!(length.unwrap(), body.len().to_string().as_str(), "{path:.40}");
        }
    }
    let mut large = ask("GET", "/health");
    large.headers_mut().insert("x", "y".repeat(20 << 10).parse().unwrap());
    assert_eq!(sender.send_request(large).await.unwrap().status(), 431);
    // A plain-text request gets no reply.
    let mut plain = bench.client(PEER, 1 << 10);
    plain.send(get("/health").as_bytes()).await;
    let (received, _) = plain.read_to_end().await;
    assert!(!received.contains("HTTP"), "{received}");
}

#[tokio::test(start_paused = true)]
async fn a_certificate_reload_keeps_open_connections_and_a_bad_certificate_is_not_loaded() {
    let (files, old) = Files::new();
    let certificate = files.open();
    let bench = Bench::with(Preface::None, Some(Arc::clone(&certificate)));
    let mut before = handshake(bench.client(PEER, 64 << 10).pipe, &old, &[]).await.unwrap();
    let new = files.write(&LOCALHOST_RENEWED);
    assert!(handshake(bench.client(PEER, 64 << 10).pipe, &new, &[]).await.is_err());
    certificate.reload().unwrap();
    assert!(handshake(bench.client(PEER, 64 << 10).pipe, &old, &[]).await.is_err());
    assert!(handshake(bench.client(PEER, 64 << 10).pipe, &new, &[]).await.is_ok());
    before.write_all(get("/health").as_bytes()).await.unwrap();
    let mut received = [0; 12];
    before.read_exact(&mut received).await.unwrap();
    assert_eq!(&received, b"HTTP/1.1 200");

    let pem = fs::read_to_string(&files.certificate).unwrap();
    for (text, words) in [
        ("", "holds no certificate"),
        ("nonsense", "holds no certificate"),
        ("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", "cert.pem"),
    ] {
        fs::write(&files.certificate, text).unwrap();
        let error = certificate.reload().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    fs::write(&files.certificate, &pem).unwrap();
    for text in ["", "nonsense", &pem] {
        fs::write(&files.key, text).unwrap();
        let error = certificate.reload().unwrap_err().to_string();
        assert!(error.contains("a private key") && error.contains("key.pem"), "{error}");
    }
    fs::write(&files.key, LOCALHOST.key).unwrap();
    let error = certificate.reload().unwrap_err().to_string();
    assert!(error.contains("cert.pem") && error.contains("key.pem"), "{error}");
    assert!(handshake(bench.client(PEER, 64 << 10).pipe, &new, &[]).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_stalled_handshake_times_out() {
    let (files, _) = Files::new();
    let bench = Bench::with(Preface::None, Some(files.open()));
    for hello in [&b""[..], b"\x16\x03\x01\x00\xa5\x01"] {
        let mut client = bench.client(PEER, 1 << 10);
        client.send(hello).await;
        let (received, seconds) = client.read_to_end().await;
        assert_eq!(received, "");
        assert!((8.0..=10.0).contains(&seconds), "{seconds}");
    }
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_http2_connection_is_closed() {
    let (files, der) = Files::new();
    let bench = Bench::with(Preface::None, Some(files.open()));
    let stream = handshake(bench.client(PEER, 64 << 10).pipe, &der, &["h2"]).await.unwrap();
    let mut sender = start_http2(stream, 1 << 20).await;
    for _ in 0..3 {
        let response = sender.send_request(ask("GET", "/health")).await.unwrap();
        assert_eq!(response.status(), 200);
        time::sleep(Duration::from_secs(6)).await;
    }
    time::sleep(Duration::from_secs(9)).await;
    assert!(sender.send_request(ask("GET", "/health")).await.is_err());
    drop(sender);
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn an_http2_client_that_reads_nothing_is_disconnected() {
    let (files, der) = Files::new();
    let bench = Bench::with(Preface::None, Some(files.open()));
    let stream = handshake(bench.client(PEER, 64 << 10).pipe, &der, &["h2"]).await.unwrap();
    let mut sender = start_http2(stream, 0).await;
    let mut replies = Vec::new();
    for _ in 0..4 {
        replies.push(sender.send_request(ask("GET", "/outputs?per_page=100")).await.unwrap());
    }
    for reply in replies {
        // A complete body would mean that the server waited for the client.
        assert!(reply.into_body().collect().await.is_err());
    }
    drop(sender);
    bench.places.all_closed().await;
}

/// A frame of HTTP/2 on stream 0.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, 0, 0, 0, 0, 0], payload].concat()
}

/// What a client sends first: the preface and empty settings.
fn opening() -> Vec<u8> {
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frame(4, &[])[..]].concat()
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_control_frames_ends_the_connection() {
    let (files, der) = Files::new();
    let bench = Bench::with(Preface::None, Some(files.open()));
    let priority = [&[0, 0, 5, 2, 0, 0, 0, 0, 1][..], &[0, 0, 0, 0, 7]].concat();
    let floods =
        [frame(6, &[7; 8]), frame(4, &[]), frame(8, &[0, 0, 0, 1]), priority, frame(200, &[1])];
    for flood in floods {
        let pipe = bench.client(PEER, 1 << 20).pipe;
        let mut stream = handshake(pipe, &der, &["h2"]).await.unwrap();
        stream.write_all(&opening()).await.unwrap();
        // Those of ten seconds are allowed, less the settings; some more would be earned by the replies.
        let allowed = flood.repeat(CONTROL_FRAMES as usize * 10 - 2);
        stream.write_all(&allowed).await.unwrap();
        time::sleep(Duration::from_millis(1)).await;
        let ping = frame(6, b"are you ");
        stream.write_all(&ping).await.unwrap();
        let mut received = Vec::new();
        while !received.windows(8).any(|bytes| bytes == b"are you ") {
            assert!(stream.read_buf(&mut received).await.unwrap() > 0, "closed too early");
        }
        stream.write_all(&flood.repeat(50)).await.unwrap();
        let begun = time::Instant::now();
        // The server closes the connection at once, without an answer to all of the frames.
        let _ = stream.read_to_end(&mut received).await;
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        let answers = received.windows(17).filter(|bytes| bytes[3..5] == [6, 1]).count();
        assert!(answers < CONTROL_FRAMES as usize * 10 + 10, "{answers}");
    }
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn an_honest_client_never_meets_the_limit_of_control_frames() {
    let (files, der) = Files::new();
    let bench = Bench::with(Preface::None, Some(files.open()));
    let stream = handshake(bench.client(PEER, 64 << 10).pipe, &der, &["h2"]).await.unwrap();
    // Small windows: a WINDOW_UPDATE of the connection and of the stream for every 2 KiB.
    let mut sender = start_http2(stream, 4 << 10).await;
    for _ in 0..30 {
        let response = sender.send_request(ask("GET", "/outputs?per_page=100")).await.unwrap();
        assert!(response.into_body().collect().await.unwrap().to_bytes().len() > 100_000);
    }
}

#[tokio::test(start_paused = true)]
async fn one_network_delays_only_its_own_handshakes() {
    let (files, der) = Files::new();
    let bench = Bench::with(Preface::None, Some(files.open()));
    let flood: Vec<_> = (0..300)
        .map(|at| {
            let pipe = bench.client(&format!("203.0.113.{}", at % 250), 64 << 10).pipe;
            let der = der.clone();
            tokio::spawn(async move { handshake(pipe, &der, &[]).await.is_ok() })
        })
        .collect();
    time::sleep(Duration::from_millis(50)).await;
    for _ in 0..10 {
        let begun = time::Instant::now();
        let pipe = bench.client(PEER, 64 << 10).pipe;
        assert!(handshake(pipe, &der, &[]).await.is_ok());
        assert!(begun.elapsed() < Duration::from_millis(150), "{:?}", begun.elapsed());
        time::sleep(Duration::from_millis(100)).await;
    }
    // A quarter of 40 handshakes a second, for 5 seconds.
    let mut done = 0;
    for client in flood {
        done += u32::from(client.await.unwrap());
    }
    assert!((45..=55).contains(&done), "{done}");
    bench.places.all_closed().await;
}
