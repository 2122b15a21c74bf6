//! The PROXY protocol: trusted and untrusted peers, valid and invalid headers.

use std::time::Duration;

use pinakes_server::parts::Preface;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::connections::bench::{Bench, PEER, PROXY, get};

/// Makes a version 2 header of a command, an address family and the address bytes.
fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    header.extend([0x20 | command, family]);
    header.extend(u16::try_from(rest.len()).unwrap().to_be_bytes());
    header.extend(rest);
    header
}

fn ipv4_addresses() -> Vec<u8> {
    vec![192, 0, 2, 1, 192, 0, 2, 2, 0x12, 0x34, 0, 80]
}

fn ipv6_addresses() -> Vec<u8> {
    let mut rest = vec![0x20, 0x01, 0x0d, 0xb8];
    rest.extend([0; 11]);
    rest.push(1);
    rest.extend([0; 16]);
    rest.extend([0x12, 0x34, 0, 80]);
    rest
}

#[tokio::test(start_paused = true)]
async fn a_trusted_proxy_names_the_client_or_itself() {
    let bench = Bench::new(Preface::Proxy);
    let line = |text: &str| text.as_bytes().to_vec();
    let mut with_more = ipv4_addresses();
    with_more.extend([0x04, 0, 3, 1, 2, 3]);
    for (header, client) in [
        (line("PROXY TCP4 192.0.2.1 192.0.2.2 56324 80\r\n"), "192.0.2.1"),
        (line("PROXY TCP6 2001:db8::1 2001:db8::2 56324 80\r\n"), "2001:db8::1"),
        (line("PROXY TCP6 ::ffff:192.0.2.1 ::1 56324 80\r\n"), "192.0.2.1"),
        (line("PROXY UNKNOWN\r\n"), PROXY),
        (line("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"), PROXY),
        (binary(1, 0x11, &ipv4_addresses()), "192.0.2.1"),
        (binary(1, 0x11, &with_more), "192.0.2.1"),
        (binary(1, 0x21, &ipv6_addresses()), "2001:db8::1"),
        (binary(0, 0x11, &ipv4_addresses()), PROXY),
        (binary(0, 0, &[]), PROXY),
        (binary(1, 0, &[]), PROXY),
        (binary(1, 0x31, &[0; 216]), PROXY),
    ] {
        let what = header.escape_ascii().to_string();
        let mut connection = bench.client(PROXY, 4 << 10);
        connection.send(&header).await;
        // The forwarding header of a request does not count, even if the proxy names no client.
        let forged = get("/rate-limit").replace("\r\n\r\n", "\r\nX-Forwarded-For: 8.8.8.8\r\n\r\n");
        connection.send(forged.as_bytes()).await;
        let (_, body) = connection.reply().await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["ip"], client, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_invalid_or_untrusted_header_closes_the_connection_without_a_reply() {
    let bench = Bench::new(Preface::Proxy);
    let good = b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 80\r\n".to_vec();
    let health = get("/health").into_bytes();
    let too_long = format!("PROXY TCP4 {}\r\n", "1".repeat(200)).into_bytes();
    for (peer, header) in [
        (PEER, good.clone()),
        (PROXY, health.clone()),
        (PROXY, b"PROXY TCP4 192.0.2.1 192.0.2.2 x 80\r\n".to_vec()),
        (PROXY, b"PROXY TCP5 192.0.2.1 192.0.2.2 1 80\r\n".to_vec()),
        (PROXY, b"PROXY TCP4 1.2.3.4.5 192.0.2.2 1 80\r\n".to_vec()),
        (PROXY, b"proxy tcp4 192.0.2.1 192.0.2.2 1 80\r\n".to_vec()),
        (PROXY, too_long),
        (PROXY, binary(2, 0x11, &ipv4_addresses())),
        (PROXY, binary(1, 0x11, &[1, 2, 3])),
        (PROXY, binary(1, 0x11, &vec![0; 5_000])),
    ] {
        let what = header.escape_ascii().to_string();
        let mut connection = bench.client(peer, 16 << 10);
        // The server may close between the two writes.
        let _ = connection.pipe.write_all(&header).await;
        let _ = connection.pipe.write_all(&health).await;
        assert_eq!(connection.read_to_end().await, (String::new(), 0.0), "{peer} {what:.80}");
    }
    // The server waits up to 5 seconds for the rest of a header.
    for header in [&good[..3], &good[..20], &binary(1, 0x11, &ipv4_addresses())[..14]] {
        let mut connection = bench.client(PROXY, 1 << 10);
        connection.send(header).await;
        let (received, seconds) = connection.read_to_end().await;
        assert_eq!(received, "");
        assert!((3.0..=5.0).contains(&seconds), "{seconds}");
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn without_the_proxy_protocol_its_header_is_a_bad_request() {
    let bench = Bench::new(Preface::None);
    let line = b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 80\r\n".to_vec();
    for header in [line, binary(1, 0x11, &ipv4_addresses())] {
        let mut connection = bench.client(PROXY, 4 << 10);
        connection.send(&header).await;
        connection.send(get("/health").as_bytes()).await;
        let (received, _) = connection.read_to_end().await;
        assert!(
            received.starts_with("HTTP/1.1 400") && received.ends_with("\r\n\r\n"),
            "{received}"
        );
    }
}
