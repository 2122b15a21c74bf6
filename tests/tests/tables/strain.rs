//! Streams under strain: damage in the middle, clients that do not read, and the memory of long streams.

use std::{fs, io::Read, net::TcpStream, time::Instant};

use pinakes_format::storage::integrity::CHUNK_BYTES;
use pinakes_tests::client::{Connection, REPLY_TIMEOUT, request};
use pinakes_tests::server::{Server, command, make_writable};

use crate::tables::generated;

/// Growth of the server's anonymous memory during a stream.
const GROWTH_BYTES_MAX: u64 = 8 << 20;

#[test]
fn a_stream_of_a_damaged_snapshot_ends_with_an_error() {
    for (format, query) in [("ndjson", ""), ("csv", ""), ("ndjson", "&sort=title")] {
        let snapshots = generated(2_000);
        let path = fs::canonicalize(snapshots.path().join("current")).unwrap();
        make_writable(&path);
        let records = path.join("outputs/records");
        let mut bytes = fs::read(&records).unwrap();
        // The last quarter, so that the stream has begun when it meets the damage.
        let chunks = bytes.len() / CHUNK_BYTES;
        bytes[chunks * 3 / 4 * CHUNK_BYTES + 7] ^= 0x10;
        fs::write(&records, bytes).unwrap();
        let server = Server::serve_one(&path);
        let mut connection = server.connect();
        let target = format!("/outputs?format={format}{query}");
        connection.send(request("GET", &target, &[]).as_bytes()).unwrap();
        match connection.receive() {
            // Sorted, the first piece may meet the damage.
            Ok(response) => assert_eq!((response.status, query), (503, "&sort=title")),
            Err(_) => server.await_log(&["ERROR", "cannot complete a reply"]),
        }
        server.await_log(&["ERROR", "snapshot poisoned"]);
        assert_eq!(server.get("/outputs?format=csv").status, 503);
    }
}

/// Anonymous memory of a process.
fn anonymous_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() << 10
}

#[test]
fn a_stream_takes_the_same_memory_whatever_its_length() {
    let snapshots = generated(12_000);
    let server = Server::serve(&snapshots);
    // Buffers and tables of the first stream stay.
    assert_eq!(server.get("/outputs?format=csv&sample=2000").status, 200);
    let before = anonymous_bytes(server.process_id());
    for target in ["/outputs?format=ndjson", "/outputs?format=csv&sort=title&filter=year:!null"] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(REPLY_TIMEOUT)).unwrap();
        let raw = request("GET", target, &["Connection: close"]);
        std::io::Write::write_all(&mut stream, raw.as_bytes()).unwrap();
        let (mut received, mut most) = (0, 0);
        let mut buffer = vec![0; 1 << 20];
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => break,
                bytes => received += bytes,
            }
            most = most.max(anonymous_bytes(server.process_id()));
        }
        assert!(received as u64 > GROWTH_BYTES_MAX, "{target}: only {received} bytes");
        let growth = most.saturating_sub(before);
        println!("{target}: {received} bytes, memory grew by {growth}");
        assert!(growth < GROWTH_BYTES_MAX, "{target}: memory grew by {growth}");
    }
    server.end(&[]);
}

#[test]
fn a_client_that_does_not_read_its_stream_is_disconnected() {
    let snapshots = generated(3_000);
    let path = snapshots.path().to_str().unwrap().to_owned();
    let args = ["--snapshots", &path, "--admin", "127.0.0.1:0", "--write-timeout", "1"];
    let mut server = Server::start(&mut command(&args));
    let admin = server.read_admin_address();
    let mut lazy = server.connect();
    lazy.send(request("GET", "/outputs?format=ndjson", &[]).as_bytes()).unwrap();
    let begun = Instant::now();
    let late = "pinakes_clients_late_total{reason=\"reply\"} 1";
    let is_counted = |text: &str| text.lines().any(|line| line == late);
    while !is_counted(Connection::open(admin).get("/metrics").text()) {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "the client is still connected");
        pinakes_tests::pause();
    }
    assert!(lazy.receive().is_err(), "the reply is complete");
    // Others are answered.
    assert_eq!(server.get("/outputs?format=csv&sample=10").status, 200);
    server.end(&[]);
}

#[test]
fn a_client_that_leaves_ends_its_stream() {
    let snapshots = generated(3_000);
    let server = Server::serve(&snapshots);
    for _ in 0..20 {
        let mut leaving = server.connect();
        leaving.send(request("GET", "/outputs?format=ndjson", &[]).as_bytes()).unwrap();
        drop(leaving);
    }
    assert_eq!(server.get("/outputs?format=csv&sample=10").status, 200);
    server.end(&[]);
}

#[test]
fn a_stream_goes_on_when_the_snapshot_is_replaced() {
    let snapshots = generated(3_000);
    let server = Server::serve(&snapshots);
    let whole = server.get("/outputs?format=ndjson&select=id,title");
    let mut reading = server.connect();
    reading.send(request("GET", "/outputs?format=ndjson&select=id,title", &[]).as_bytes()).unwrap();
    let before = whole.header("x-snapshot-id").unwrap().to_owned();
    snapshots.add(&[pinakes_tests::sample()]);
    server.send_hangup();
    let begun = Instant::now();
    while server.get("/ready").json()["snapshot_id"] == before.as_str() {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "the snapshot is not replaced");
    }
    let response = reading.receive().unwrap();
    assert_eq!(response.header("x-snapshot-id"), Some(before.as_str()));
    assert!(response.body == whole.body, "the stream changed with the snapshot");
    server.end(&[]);
}
