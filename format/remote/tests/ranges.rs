//! Ranges of a file on an honest host, and on hosts that send something else.
#![allow(clippy::unwrap_used)]

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use pinakes_remote::host::{Failure, Host, RetryPolicy};

/// Size of each file of the host.
const SIZE_BYTES: u64 = 100;

/// Starts a host whose byte at place `n` is `n`. Returns its client, and the number of connections so far.
fn host() -> (Host, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counter.fetch_add(1, Ordering::SeqCst);
            // The thread ends with its connection.
            thread::spawn(move || while answer(&stream).is_some() {});
        }
    });
    let host = Host::new(&url, "pinakes-tests/1", RetryPolicy::default(), None).unwrap();
    (host, connections)
}

/// Answers one request as its path says; `None` closes the connection.
fn answer(mut stream: &TcpStream) -> Option<()> {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let path = head.first()?.split(' ').nth(1)?;
    assert!(head.iter().any(|line| line.eq_ignore_ascii_case("user-agent: pinakes-tests/1")));
    let range = head.iter().find_map(|line| line.split_once("bytes="))?.1;
    let (from, to) = range.split_once('-')?;
    let (from, to): (u8, u8) = (from.parse().unwrap(), to.parse().unwrap());
    let body: Vec<u8> = (from..=to).collect();
    let part = format!("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {range}/{SIZE_BYTES}");
    let mut send = |head: &str, body: &[u8]| {
        stream.write_all(&[head.as_bytes(), b"\r\n\r\n", body].concat()).ok()
    };
    match path {
        "/file" => send(&format!("{part}\r\nContent-Length: {}", body.len()), &body),
        // The body never comes.
        "/whole" => {
            send("HTTP/1.1 200 OK\r\nContent-Length: 100", &[])?;
            loop {
                thread::park();
            }
        }
        "/endless" => {
            send(&format!("{part}\r\nTransfer-Encoding: chunked"), &[])?;
            while stream.write_all(b"4\r\nabcd\r\n").is_ok() {}
            None
        }
        "/short" => {
            send(&format!("{part}\r\nTransfer-Encoding: chunked"), b"4\r\nabcd\r\n0\r\n\r\n")
        }
        "/shifted" => send("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-9/100", &body),
        "/busy" => send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0", &[]),
        _ => send("HTTP/1.1 404 Not Found\r\nContent-Length: 0", &[]),
    }
}

#[test]
fn ranges_come_over_one_connection() {
    let (host, connections) = host();
    for range in [10..20, 0..1, 99..100, 0..100] {
        let expected: Vec<u8> = (range.start as u8..range.end as u8).collect();
        assert_eq!(host.read_range("file", range, SIZE_BYTES).unwrap(), expected);
    }
    assert_eq!(host.fetched(), (112, 4));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[test]
fn threads_share_a_client() {
    let (host, connections) = host();
    thread::scope(|scope| {
        for from in 0..8 {
            let host = &host;
            scope.spawn(move || {
                for _ in 0..50 {
                    let read = host.read_range("file", from..from + 2, SIZE_BYTES).unwrap();
                    assert_eq!(read, [from as u8, from as u8 + 1]);
                }
            });
        }
    });
    assert_eq!(host.fetched(), (800, 400));
    assert!(connections.load(Ordering::SeqCst) <= 8);
}

#[test]
fn other_replies_fail_after_one_request() {
    let check = |path: &str, expected: Failure, expected_bytes: u64| {
        let (host, _) = host();
        let failure = host.read_range(path, 10..20, SIZE_BYTES).unwrap_err();
        assert_eq!(format!("{failure:?}"), format!("{expected:?}"), "{path}");
        assert_eq!(host.fetched(), (expected_bytes, 1), "{path}");
    };
    let too_long = "the reply continues after the expected 10 bytes";
    let shifted = "sends `bytes 0-9/100`, expected `bytes 10-19/100`";
    check("whole", Failure::Permanent("the host ignores ranges".into()), 0);
    check("endless", Failure::Mismatch(too_long.into()), 11);
    check("short", Failure::Temporary("the reply ends after 4 bytes".into()), 4);
    check("shifted", Failure::Mismatch(shifted.into()), 0);
    check("busy", Failure::Temporary("503 Service Unavailable".into()), 0);
    check("missing", Failure::NotFound, 0);
}
