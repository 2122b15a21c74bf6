//! Slow clients: limits on the time for heads, bodies, replies and idle connections.

use std::time::Duration;

use pinakes_server::parts::Preface;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time,
};

use crate::connections::bench::{Bench, Client, PEER, get};

const LARGE: &str = "/outputs?per_page=100";

/// Checks the status in the body of `/health`.
#[track_caller]
fn check_alive(body: &str) {
    let alive: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(alive["status"], "ok", "{body}");
}

#[tokio::test(start_paused = true)]
async fn a_head_sent_byte_by_byte_hits_the_head_timeout() {
    let bench = Bench::new(Preface::None);
    for sent in ["", "GET /health HTTP/1.1\r\nHost: x\r\nX-A: ", "G"] {
        let mut client = bench.client(PEER, 1 << 10);
        client.send(sent.as_bytes()).await;
        while client.seconds() < 60.0 && client.pipe.write_all(b"a").await.is_ok() {
            time::sleep(Duration::from_secs(1)).await;
        }
        assert!((8.0..=10.0).contains(&client.seconds()), "{sent:?}: {}", client.seconds());
    }
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed() {
    let bench = Bench::new(Preface::None);
    let mut client = bench.client(PEER, 1 << 10);
    for _ in 0..3 {
        client.send(get("/health").as_bytes()).await;
        check_alive(&client.reply().await.1);
        // Each request restarts the idle timeout.
        time::sleep(Duration::from_secs(6)).await;
    }
    let (rest, seconds) = client.read_to_end().await;
    assert_eq!(rest, "");
    assert!((18.0..=27.0).contains(&seconds), "{seconds}");
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn an_unread_body_does_not_keep_the_connection_open() {
    let bench = Bench::new(Preface::None);
    for (method, status) in [("POST", "405"), ("GET", "200")] {
        let mut client = bench.client(PEER, 1 << 10);
        let head =
            format!("{method} /domains/3 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
        client.send(head.as_bytes()).await;
        let (head, _) = client.reply().await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
        while client.seconds() < 60.0 && client.pipe.write_all(b"a").await.is_ok() {
            time::sleep(Duration::from_millis(100)).await;
        }
        assert!(client.seconds() <= 2.0, "{}", client.seconds());
    }
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_body_sent_byte_by_byte_is_answered_408() {
    let bench = Bench::new(Preface::None);
    for framing in ["Content-Length: 60000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n8000\r\n"] {
        let mut client = bench.client(PEER, 1 << 10);
        let head = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
        client.send(format!("{head}{framing}{{").as_bytes()).await;
        while client.seconds() < 60.0 && client.pipe.write_all(b" ").await.is_ok() {
            time::sleep(Duration::from_secs(1)).await;
        }
        assert!((5.0..=10.0).contains(&client.seconds()), "{}", client.seconds());
        let (head, body) = client.reply().await;
        assert!(head.starts_with("HTTP/1.1 408") && head.contains("connection: close"), "{head}");
        assert!(body.contains("Request timed out"), "{body}");
    }
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_is_disconnected_and_a_slow_reader_is_not() {
    let bench = Bench::new(Preface::None);
    let mut idle = bench.client(PEER, 1 << 10);
    idle.send(get(LARGE).as_bytes()).await;
    let mut slow = bench.client(PEER, 1 << 10);
    slow.send(get(LARGE).as_bytes()).await;
    // The minimum rate is 16 KiB in ten seconds; this client reads slightly faster.
    let mut bytes = Vec::new();
    let mut read = [0; 400];
    let head = "\r\n\r\n";
    let length = loop {
        let count = slow.pipe.read(&mut read).await.unwrap();
        assert!(count > 0, "after {} bytes", bytes.len());
        bytes.extend_from_slice(&read[..count]);
        time::sleep(Duration::from_millis(200)).await;
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let announced = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let Some(body) = text.find(head) else { continue };
        let length: usize = announced.unwrap().parse().unwrap();
        if bytes.len() == body + head.len() + length {
            break length;
        }
    };
    assert!(length > 30 << 10 && slow.seconds() > 15.0, "{length} bytes, {}", slow.seconds());
    // The idle client received only the bytes that the pipe holds.
    let (taken, _) = idle.read_to_end().await;
    assert!(taken.len() <= 1 << 10, "{}", taken.len());
    drop((idle, slow));
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn clients_that_read_nothing_leave_when_the_memory_for_replies_is_used_up() {
    let bench = Bench::new(Preface::None);
    let memory = bench.service.reply_memory();
    let mut idle = Vec::new();
    let mut used = 0;
    loop {
        assert!(idle.len() < 900, "900 unsent replies exceed the budget");
        // Each from a network of its own: clients of one network share a quarter.
        let peer = format!("10.{}.{}.1", idle.len() / 200, idle.len() % 200);
        let mut client = bench.client(&peer, 1 << 10);
        client.send(get(LARGE).as_bytes()).await;
        idle.push(client);
        for _ in 0..3 {
            time::sleep(Duration::from_millis(1)).await;
        }
        if memory.used_bytes() == used {
            break;
        }
        used = memory.used_bytes();
    }
    // A large reply to another client waits until an idle client is disconnected.
    let mut other = bench.client(PEER, 1 << 10);
    other.send(get(LARGE).as_bytes()).await;
    let (head, _) = other.reply().await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(other.seconds() < 4.0, "{}", other.seconds());
    assert!(memory.evicted() >= 1);
    drop((other, idle));
    bench.places.all_closed().await;
    assert_eq!(memory.used_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn one_network_cannot_use_up_the_memory_for_replies() {
    let bench = Bench::new(Preface::None);
    let memory = bench.service.reply_memory();
    let mut idle = Vec::new();
    for at in 0..200 {
        let mut client = bench.client(&format!("203.0.113.{at}"), 1 << 10);
        client.send(get(LARGE).as_bytes()).await;
        idle.push(client);
        time::sleep(Duration::from_millis(1)).await;
    }
    assert!(memory.used_bytes() <= memory.bytes_max() / 4, "{}", memory.used_bytes());
    let before = idle.len();
    for _ in 0..5 {
        let mut other = bench.client(PEER, 1 << 20);
        other.send(get(LARGE).as_bytes()).await;
        let (head, _) = other.reply().await;
        assert!(head.starts_with("HTTP/1.1 200") && other.seconds() < 0.5, "{head}");
    }
    assert_eq!((memory.evicted(), idle.len()), (0, before));
    drop(idle);
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn an_invalid_request_and_a_304_of_a_list_wait_for_no_work_permit() {
    let bench = Bench::new(Preface::None);
    let mut unread = Vec::new();
    for _ in 0..5 {
        let mut client = bench.client(PEER, 1 << 10);
        client.send(get(LARGE).as_bytes()).await;
        time::sleep(Duration::from_millis(1)).await;
        unread.push(client);
    }
    let lists = ["/outputs", "/legacy/topics", "/autocomplete"];
    let cases = [
        (lists.map(|list| get(&format!("{list}?query=two+words&page=0"))), "400 Bad Request"),
        (
            lists.map(|list| {
                let query = if list == "/autocomplete" { "?query=two+words" } else { "" };
                format!("GET {list}{query} HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n\r\n")
            }),
            "304 Not Modified",
        ),
    ];
    for (requests, status) in cases {
        for request in requests {
            let mut client = bench.client(PEER, 4 << 10);
            client.send(request.as_bytes()).await;
            let mut reply = [0; 64];
            client.pipe.read_exact(&mut reply).await.unwrap();
            let reply = String::from_utf8_lossy(&reply);
            assert!(reply.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}{reply}");
            assert!(client.seconds() < 0.1, "{request}: {}", client.seconds());
        }
    }
    // A valid list of the client waits for its share of the memory, which the unread replies hold.
    let mut client = bench.client(PEER, 4 << 10);
    client.send(get(LARGE).as_bytes()).await;
    let (head, _) = client.reply().await;
    assert!(head.starts_with("HTTP/1.1 503") && client.seconds() >= 5.0, "{head}");
    drop((unread, client));
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn concurrent_long_heads_are_limited_globally_and_per_client() {
    let bench = Bench::new(Preface::None);
    let long = format!("GET / HTTP/1.1\r\nHost: x\r\nX-A: {}", "a".repeat(20 << 10));
    let begin = async |peer: &str| {
        let mut client = bench.client(peer, 64 << 10);
        client.send(long.as_bytes()).await;
        tokio::task::yield_now().await;
        client
    };
    let refused = async |mut client: Client| {
        let (reply, seconds) = client.read_to_end().await;
        assert!(reply.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{reply}");
        assert!(reply.contains("retry-after: ") && reply.contains("connection: close"), "{reply}");
        assert!(reply.ends_with(r#""message":"Service temporarily unavailable"}"#), "{reply}");
        assert_eq!(seconds, 0.0);
    };
    let mut clients = Vec::new();
    for of_one in 0..4 {
        clients.push(begin("192.0.2.1").await);
        assert_eq!(clients.len(), of_one + 1);
    }
    refused(begin("192.0.2.1").await).await;
    // The limit per client does not apply to a trusted proxy, which speaks for many clients.
    for _ in 4..128 {
        clients.push(begin("10.0.0.1").await);
    }
    refused(begin("192.0.2.2").await).await;
    // Heads of usual length are not refused. A long head that ends is answered.
    let mut usual = bench.client(PEER, 1 << 10);
    usual.send(get("/health").as_bytes()).await;
    check_alive(&usual.reply().await.1);
    clients[0].send(b"\r\n\r\n").await;
    assert!(clients[0].reply().await.0.starts_with("HTTP/1.1 431"));
    drop((clients, usual));
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_reply_before_the_body_is_read_announces_the_close() {
    let bench = Bench::new(Preface::None);
    let body = "Host: x\r\nContent-Length: 50\r\n";
    for (head, status) in [
        (format!("GET /health HTTP/1.1\r\n{body}\r\n"), "200 OK"),
        (format!("POST /authors HTTP/1.1\r\n{body}\r\n"), "405 Method Not Allowed"),
        (format!("POST /graphql HTTP/1.1\r\n{body}\r\n"), "415 Unsupported Media Type"),
        (
            format!("POST /graphql HTTP/1.1\r\n{body}Expect: 100-continue\r\n\r\n"),
            "415 Unsupported Media Type",
        ),
    ] {
        let mut client = bench.client(PEER, 4 << 10);
        client.send(head.as_bytes()).await;
        let (reply, _) = client.reply().await;
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{head}{reply}");
        assert!(reply.contains("connection: close\r\n"), "{head}{reply}");
        assert_eq!(client.read_to_end().await.0, "");
    }
    let mut client = bench.client(PEER, 4 << 10);
    let ask = "{\"query\":\"{__typename}\"}";
    let head = format!(
        "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Expect: 100-continue\r\n\r\n",
        ask.len()
    );
    client.send(head.as_bytes()).await;
    let mut go_on = [0; 25];
    client.pipe.read_exact(&mut go_on).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&go_on), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send(ask.as_bytes()).await;
    let (reply, body) = client.reply().await;
    assert_eq!(body, "{\"data\":{\"__typename\":\"Query\"}}", "{reply}");
    assert!(!reply.contains("connection: close"), "{reply}");
}

#[tokio::test(start_paused = true)]
async fn a_server_shutdown_completes_every_reply() {
    let bench = Bench::new(Preface::None);
    let mut waiting = bench.client(PEER, 1 << 10);
    waiting.send(get("/health").as_bytes()).await;
    waiting.reply().await;
    let mut reading = bench.client(PEER, 1 << 10);
    reading.send(get(LARGE).as_bytes()).await;
    let mut asking = bench.client(PEER, 1 << 10);
    asking.send(get("/health").as_bytes()).await;
    asking.reply().await;
    bench.connections.end();
    // This client sends its request before it can notice the shutdown.
    time::sleep(Duration::from_millis(100)).await;
    asking.send(get("/health").as_bytes()).await;
    let (head, body) = asking.reply().await;
    check_alive(&body);
    assert!(head.contains("connection: close\r\n"), "{head}");
    let (_, body) = reading.reply().await;
    assert!(body.ends_with("]}"));
    let (rest, _) = waiting.read_to_end().await;
    assert_eq!(rest, "");
    assert!(waiting.seconds() <= 1.0, "{}", waiting.seconds());
    drop((asking, reading, waiting));
    bench.places.all_closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_with_two_lengths_is_refused_and_an_earlier_request_is_not() {
    let bench = Bench::new(Preface::None);
    let two = "GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\
               \r\n0\r\n\r\nGET /nope HTTP/1.1\r\nHost: x\r\n\r\n";
    // Two `Content-Length` headers refuse all requests of the same write.
    let same = "GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n";
    for requests in
        [same.repeat(2), format!("{same}{two}"), format!("{same}{}{same}", get("/health"))]
    {
        let mut client = bench.client(PEER, 4 << 10);
        client.send(requests.as_bytes()).await;
        let (replies, _) = client.read_to_end().await;
        assert!(replies.starts_with("HTTP/1.1 400"), "{replies}");
        assert_eq!(replies.matches("HTTP/1.1").count(), 1, "{replies}");
    }
    let mut client = bench.client(PEER, 4 << 10);
    client.send(format!("{}{two}", get("/health")).as_bytes()).await;
    check_alive(&client.reply().await.1);
    let (head, body) = client.reply().await;
    assert!(head.starts_with("HTTP/1.1 400") && head.contains("connection: close"), "{head}");
    assert!(body.contains("Bad Request - Invalid query parameters"), "{body}");
    assert!(body.contains(r#""parameter":"Transfer-Encoding""#), "{body}");
    assert_eq!(client.read_to_end().await.0, "", "bytes after a refused request get no reply");
}
