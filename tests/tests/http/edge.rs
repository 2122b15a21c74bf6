//! Connection limits, the access log, signals and restarts.

use std::{fs, process::Command};

use pinakes_format::snapshot::Snapshot;
use serde_json::Value;

use crate::http::limits::limited;
use pinakes_tests::client::{Connection, request};
use pinakes_tests::server::{Server, Snapshots, command};

const AUTHOR: &str = "/authors/HX_A5900000001";

/// Prepares a server of the snapshots with further arguments.
fn with(snapshots: &Snapshots, more: &[&str]) -> Command {
    let mut args = vec!["--snapshots", snapshots.path().to_str().unwrap()];
    args.extend(more);
    command(&args)
}

/// Sends a request and returns whether the server answers it.
fn is_answered(connection: &mut Connection) -> bool {
    let alive = request("GET", "/health", &[]);
    connection.send(alive.as_bytes()).is_ok() && connection.receive().is_ok()
}

#[test]
fn a_client_has_at_most_64_connections_and_other_clients_have_their_own() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connections: Vec<_> = (0..300).map(|_| server.connect()).collect();
    let answered =
        connections.iter_mut().map(is_answered).filter(|is_answered| *is_answered).count();
    assert_eq!(answered, 64);
    assert!(is_answered(&mut Connection::open_from("127.0.0.2", server.address())));
    drop(connections);
    drop(server);

    let arguments = ["--client-connections", "3", "--connections", "5"];
    let server = Server::start(&mut with(&snapshots, &arguments));
    let from = |hosts: &[&str]| -> Vec<bool> {
        let open = |host: &&str| Connection::open_from(host, server.address());
        let mut connections: Vec<_> = hosts.iter().map(open).collect();
        connections.iter_mut().map(is_answered).collect()
    };
    let (a, b, c) = ("127.0.0.1", "127.0.0.2", "127.0.0.3");
    assert_eq!(from(&[a, a, a, a, b, b, c]), [true, true, true, false, true, true, false]);
}

#[test]
fn an_exempt_client_may_use_every_connection() {
    let snapshots = Snapshots::from_sample();
    for option in ["--exempt", "--trusted-proxy"] {
        let arguments = ["--client-connections", "3", option, "127.0.0.0/8"];
        let server = Server::start(&mut with(&snapshots, &arguments));
        let mut connections: Vec<_> = (0..20).map(|_| server.connect()).collect();
        assert!(connections.iter_mut().all(is_answered), "{option}");
        drop(connections);
        server.end(&[]);
    }
}

#[test]
fn a_thousand_pipelined_requests_are_answered_in_order_and_thirty_are_accepted() {
    let snapshots = Snapshots::from_sample();
    let server = limited(&snapshots, &[]);
    let mut connection = server.connect();
    connection.send(request("GET", AUTHOR, &[]).repeat(1_000).as_bytes()).unwrap();
    for at in 0..1_000 {
        let response = connection.receive().unwrap();
        assert_eq!(response.status, if at < 30 { 200 } else { 429 }, "{at}");
    }
}

/// Returns the lines of the access log.
fn lines(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains(" access: ")).collect()
}

#[test]
fn each_request_is_one_line_of_the_access_log_with_any_content() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    connection.request("GET", "/authors?page=0", &["User-Agent: a \"b\" \u{202e}c"]);
    connection.get("/authors/HX_A1%0d%0aSet-Cookie:x=1");
    connection.get(&format!("/nope/{}", "x".repeat(2_000)));
    connection.request("HEAD", AUTHOR, &[&format!("User-Agent: {}", "y".repeat(8_000))]);
    connection.request("FOO", "/", &[]);
    let mut connection = server.connect();
    connection.send(b"GET /\xc3\xa9 HTTP/1.1\r\nHost: x\r\nUser-Agent: \xff\r\n\r\n").unwrap();
    connection.receive().unwrap();
    let log = server.end(&[]);
    let lines = lines(&log);
    let mut ids = Vec::new();
    for (line, words) in
        lines.iter().zip([
            &[
                r#"method="GET" url="/authors?page=0""#,
                "status=400",
                r#"agent="a \"b\" \u{202e}c""#,
            ][..],
            &[r#"url="/authors/HX_A1%0d%0aSet-Cookie:x=1""#, "status=404"],
            &["xxx…\"", "status=404"],
            &[r#"method="HEAD""#, "status=200", "body_bytes=0", "yyy…\""],
            &[r#"method="FOO" url="/""#, "status=405"],
            &["url=\"/é\"", "status=404", "agent=\"\u{fffd}\""],
        ])
    {
        for word in ["client=127.0.0.1", "protocol=HTTP/1.1", " micros=", " body_bytes="] {
            assert!(line.contains(word), "{word} in {line}");
        }
        for word in words {
            assert!(line.contains(word), "{word} in {line}");
        }
        assert!(line.len() < 900, "{line}");
        let (_, rest) = line.split_once("request=").unwrap();
        ids.push(rest.split_once(' ').unwrap().0);
    }
    assert_eq!(lines.len(), 6, "{log}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6, "{ids:?}");
}

#[test]
fn the_log_can_be_json_and_without_requests() {
    let snapshots = Snapshots::from_sample();
    let server = Server::start(&mut with(&snapshots, &["--log-format", "json"]));
    let agent = "a\tb\"\\\u{9b}\u{202e}\u{2028}";
    server.connect().request("GET", "/nope", &[&format!("User-Agent: {agent}")]);
    server.await_log(&["\"access\""]);
    for line in server.log().lines() {
        assert!(!line.contains(['\u{9b}', '\u{202e}', '\u{2028}']), "{line}");
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["timestamp"].is_string() && event["level"] == "INFO", "{line}");
        if event["target"] == "access" {
            assert_eq!(line.matches("\"target\"").count(), 1, "{line}");
            assert_eq!(event["url"], "/nope", "{line}");
            assert_eq!((&event["status"], &event["agent"]), (&404.into(), &agent.into()), "{line}");
            assert!(event["micros"].is_u64() && event["body_bytes"].is_u64(), "{line}");
        }
    }
    drop(server);
    let server = Server::start(with(&snapshots, &[]).env("PINAKES_LOG", "info,access=off"));
    assert_eq!(server.get("/nope").status, 404);
    assert_eq!(lines(&server.end(&[])), [""; 0]);
}

#[test]
fn a_flood_of_refused_and_free_requests_writes_a_bounded_log() {
    let snapshots = Snapshots::from_sample();
    let started = std::time::Instant::now();
    let server = Server::start(&mut with(&snapshots, &["--no-limits", "--refused-lines", "7"]));
    let mut connection = server.connect();
    let nope = format!("/nope?{}", "a".repeat(8_000));
    let flood = [request("GET", &nope, &[]), request("HEAD", "/docs/swagger-ui.js", &[])];
    for _ in 0..20 {
        connection.send(flood.concat().repeat(100).as_bytes()).unwrap();
        for at in 0..200 {
            let method = if at % 2 == 0 { "GET" } else { "HEAD" };
            connection.receive_to(method).unwrap();
        }
    }
    assert_eq!(connection.get(AUTHOR).status, 200);
    drop(connection);
    let log = server.end(&[]);
    let seconds = started.elapsed().as_secs() as usize + 1;
    let found = lines(&log);
    let refused = found.iter().filter(|line| !line.contains(AUTHOR)).count();
    assert!((7..=7 * seconds).contains(&refused), "{refused} lines in {seconds} s");
    assert_eq!(found.len(), refused + 1, "a request that a limit counts has its line");
    assert!(found.iter().all(|line| line.len() < 500), "{found:?}");
    let summary = log.lines().find(|line| line.contains("left out lines")).unwrap();
    assert!(summary.contains(&format!("lines={}", 4_000 - refused)), "{summary}");
}

#[test]
fn a_failed_request_is_logged_with_its_request_id() {
    let snapshots = Snapshots::from_sample();
    let mut slow = with(&snapshots, &["--list-timeout", "0.000001"]);
    let server = Server::start(&mut slow);
    let response = server.get("/outputs?filter=is_oa:true,year:>2000");
    assert_eq!(response.status, 503);
    let id = response.header("x-request-id").unwrap().to_owned();
    assert_eq!(server.get("/nope").header("x-request-id"), None);
    let log = server.end(&[]);
    assert!(lines(&log).iter().any(|line| line.contains(&format!("request={id} "))), "{log}");
}

#[test]
fn limit_counters_survive_a_reload_and_with_a_file_a_restart() {
    let snapshots = Snapshots::from_sample();
    let first = snapshots.open().manifest().id.clone();
    let file = snapshots.path().join("limits");
    let arguments = ["--limits-file", file.to_str().unwrap()];
    let server = limited(&snapshots, &arguments);
    let left = |server: &Server| {
        let quotas = server.get("/rate-limit").json();
        let list = &quotas["daily_quota"]["list_filter"]["remaining"];
        (quotas["minute_rate_limit"]["remaining"].as_u64().unwrap(), list.as_u64().unwrap())
    };
    for _ in 0..3 {
        assert_eq!(server.get("/authors").header("x-snapshot-id"), Some(first.as_str()));
    }
    assert_eq!(left(&server), (27, 497));
    let second = snapshots.add(&[pinakes_tests::sample().join("data/jsonl")]);
    let second = Snapshot::open(&fs::canonicalize(second).unwrap()).unwrap().manifest().id.clone();
    server.send_hangup();
    server.await_log(&["snapshot opened", &second]);
    let is_served = |id: &str| (0..1_000).any(|_| server.get("/ready").json()["snapshot_id"] == id);
    assert!(is_served(&second));
    assert_eq!(left(&server), (27, 497));
    server.send_hangup();
    server.await_log(&["`current` still points to the served snapshot"]);
    server.end(&[]);

    let server = limited(&snapshots, &arguments);
    assert_eq!(left(&server), (27, 497));
    assert_eq!(server.get("/authors").status, 200);
    server.end(&[]);
    let server = limited(&snapshots, &arguments);
    assert_eq!(left(&server), (26, 496));
    server.end(&[]);
    fs::write(&file, "no counts").unwrap();
    let server = limited(&snapshots, &arguments);
    assert_eq!(left(&server), (30, 500));
    let log = server.end(&[]);
    assert!(log.contains("WARN") && log.contains("rate-limit counts start at zero"), "{log}");
}

#[test]
fn invalid_options_are_refused_at_the_start() {
    let snapshots = Snapshots::from_sample();
    for (arguments, words) in [
        (&["--tls-cert", "/nowhere/cert.pem"][..], "--tls-key"),
        (
            &["--tls-cert", "/nowhere/cert.pem", "--tls-key", "/nowhere/key.pem"],
            "/nowhere/cert.pem",
        ),
        (&["--proxy-protocol"], "--trusted-proxy"),
        (&["--connections", "0"], "--connections"),
        (&["--client-connections", "0"], "--client-connections"),
        (&["--head-timeout", "0"], "--head-timeout"),
    ] {
        let output = with(&snapshots, arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(words), "{arguments:?}: {errors}");
    }
}
