//! Tests of the metrics: they count every event, and promtool accepts them.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::Write,
    net::SocketAddr,
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::Instant,
};

use pinakes_format::entity::CATALOG;
use pinakes_format::snapshot::Snapshot;
use pinakes_tests::client::{Connection, REPLY_TIMEOUT};
use pinakes_tests::server::{Server, Snapshots, command, make_writable};
use pinakes_tests::skip;

/// Samples by name with labels, as written.
pub type Samples = BTreeMap<String, f64>;

/// Starts a server with an admin address and more arguments; returns also the admin address.
pub fn watched(snapshots: &Snapshots, args: &[&str]) -> (Server, SocketAddr) {
    let mut server = Server::start(&mut started(snapshots, args));
    let admin = server.read_admin_address();
    (server, admin)
}

fn started(snapshots: &Snapshots, args: &[&str]) -> Command {
    let path = snapshots.path().to_str().unwrap();
    command(&[&["--snapshots", path, "--admin", "127.0.0.1:0"], args].concat())
}

/// The text of `/metrics`.
pub fn text(admin: SocketAddr) -> String {
    let response = Connection::open(admin).get("/metrics");
    assert_eq!(response.status, 200);
    let media_type = response.header("content-type");
    assert_eq!(media_type, Some("text/plain; version=0.0.4; charset=utf-8"));
    response.text().to_owned()
}

pub fn samples(text: &str) -> Samples {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let parsed = lines.map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    });
    let samples: Samples = parsed.collect();
    let count = text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(samples.len(), count, "a sample occurs twice");
    samples
}

/// Runs promtool with arguments and an input; `None` if promtool is not installed.
pub fn promtool(args: &[&str], input: &str) -> Option<Output> {
    // CI unpacks promtool in `target`.
    let own = pinakes_tests::root().join("target/prometheus/usr/bin/promtool");
    let program = if own.exists() { own } else { PathBuf::from("promtool") };
    let spawned = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.ok()?;
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().ok()
}

/// The samples with a non-zero value and one of these prefixes, as lines.
fn non_zero(samples: &Samples, prefixes: &[&str]) -> Vec<String> {
    let is_listed = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let listed = samples.iter().filter(|(name, value)| **value != 0.0 && is_listed(name));
    listed.map(|(name, value)| format!("{name} {value}")).collect()
}

#[test]
fn metrics_count_every_event() {
    let snapshots = Snapshots::from_sample();
    let mut limited = started(&snapshots, &["--minute-limit", "12", "--daily-search", "1"]);
    limited.env_remove("PINAKES_NO_LIMITS");
    let mut server = Server::start(&mut limited);
    let admin = server.read_admin_address();
    let mut connection = server.connect();
    let mut bytes = 0;
    let mut ask = |method: &str, target: &str, headers: &[&str], status: u16| {
        let response = connection.request(method, target, headers);
        assert_eq!(response.status, status, "{method} {target}");
        bytes += response.body.len();
        response
    };
    let list = ask("GET", "/authors?per_page=10", &[], 200);
    let kept = format!("If-None-Match: {}", list.header("etag").unwrap());
    ask("GET", "/authors?per_page=10", &[&kept], 304);
    ask("GET", "/authors?per_page=10&page=x", &[], 400);
    ask("GET", "/authors/HX_A5900000001", &["Accept-Encoding: gzip"], 200);
    ask("GET", "/authors/HX_A0", &[], 404);
    ask("GET", "/authors/HX_A1%20x/%7Bid%7D\"", &[], 404);
    ask("GET", "/autocomplete/authors?query=a", &[], 200);
    ask("GET", "/autocomplete?query=a", &[], 429);
    ask("GET", "/browse/authors", &[], 200);
    ask("GET", "/browse/complete?query=a", &[], 200);
    ask("DELETE", "/", &[], 405);
    ask("GET", "/legacy/topics", &[], 200);
    ask("OPTIONS", "/legacy/topics/x", &[], 204);
    ask("GET", "/health", &[], 200);
    ask("GET", "/metrics", &[], 404);
    let question = |text: &str| {
        let json = "Content-Type: application/json";
        let body = format!(r#"{{"query":"{text}"}}"#);
        format!(
            "POST /graphql HTTP/1.1\r\nHost: x\r\n{json}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    for text in ["{authors{meta{count}}}", "{nothing}"] {
        connection.send(question(text).as_bytes()).unwrap();
        let response = connection.receive().unwrap();
        assert_eq!(response.status, 200);
        bytes += response.body.len();
    }
    let refused = connection.get("/outputs");
    assert_eq!(refused.status, 429);
    bytes += refused.body.len();
    let text = text(admin);
    let samples = samples(&text);
    let prefixes = [
        "pinakes_http_requests_",
        "pinakes_http_response",
        "pinakes_limit_",
        "pinakes_graphql_",
        "pinakes_connections_open",
        "pinakes_overloads_",
        "pinakes_clients_late_",
        "pinakes_ready",
    ];
    let body_bytes = format!("pinakes_http_response_body_bytes_total {bytes}");
    let expected = [
        "pinakes_connections_open 1",
        r#"pinakes_graphql_questions_total{outcome="answered"} 1"#,
        r#"pinakes_graphql_questions_total{outcome="invalid"} 1"#,
        r#"pinakes_http_requests_total{route="/",status="405"} 1"#,
        r#"pinakes_http_requests_total{route="/authors",status="200"} 1"#,
        r#"pinakes_http_requests_total{route="/authors",status="304"} 1"#,
        r#"pinakes_http_requests_total{route="/authors",status="400"} 1"#,
        r#"pinakes_http_requests_total{route="/authors/{id}",status="200"} 1"#,
        r#"pinakes_http_requests_total{route="/authors/{id}",status="404"} 1"#,
        r#"pinakes_http_requests_total{route="/autocomplete",status="429"} 1"#,
        r#"pinakes_http_requests_total{route="/autocomplete/{entity_type}",status="200"} 1"#,
        r#"pinakes_http_requests_total{route="/browse/complete",status="200"} 1"#,
        r#"pinakes_http_requests_total{route="/browse/{list}",status="200"} 1"#,
        r#"pinakes_http_requests_total{route="/graphql",status="200"} 2"#,
        r#"pinakes_http_requests_total{route="/health",status="200"} 1"#,
        r#"pinakes_http_requests_total{route="/legacy/topics",status="200"} 1"#,
        r#"pinakes_http_requests_total{route="/legacy/topics/{id}",status="204"} 1"#,
        r#"pinakes_http_requests_total{route="/outputs",status="429"} 1"#,
        r#"pinakes_http_requests_total{route="none",status="404"} 2"#,
        &body_bytes,
        r#"pinakes_http_responses_coded_total{coding="gzip"} 1"#,
        r#"pinakes_http_responses_coded_total{coding="identity"} 8"#,
        "pinakes_limit_clients 1",
        "pinakes_limit_clients_max 1000000",
        r#"pinakes_limit_pool_max{daily="browse"} 12000"#,
        r#"pinakes_limit_pool_max{daily="list"} 10000"#,
        r#"pinakes_limit_pool_max{daily="search"} 1000"#,
        r#"pinakes_limit_pool_used{daily="browse"} 1.1"#,
        r#"pinakes_limit_pool_used{daily="list"} 3"#,
        r#"pinakes_limit_pool_used{daily="search"} 1"#,
        r#"pinakes_limit_refusals_total{limit="day_search"} 1"#,
        r#"pinakes_limit_refusals_total{limit="minute"} 1"#,
        "pinakes_ready 1",
    ];
    assert_eq!(non_zero(&samples, &prefixes), expected);
    // The histogram counts every reply.
    let count = r#"pinakes_http_request_duration_seconds_count{route="/authors"}"#;
    let below = r#"pinakes_http_request_duration_seconds_bucket{route="/authors",le="+Inf"}"#;
    assert_eq!((samples[count], samples[below]), (3.0, 3.0));
    drop(connection);
    server.end(&[]);
}

#[test]
fn metrics_of_the_snapshot_equal_its_manifest_and_expiry() {
    let snapshots = Snapshots::from_sample();
    let path = snapshots.path().join("current").canonicalize().unwrap();
    let opened = Snapshot::open(&path).unwrap();
    let manifest = opened.manifest();
    let (server, admin) = watched(&snapshots, &[]);
    let before = samples(&text(admin));
    let newest = manifest.source.newest_updated_date.clone().unwrap();
    let info = format!(
        r#"pinakes_snapshot_info{{format_version="{}",id="{}",newest_updated_date="{newest}"}}"#,
        manifest.format_version, manifest.id
    );
    assert_eq!(before[&info], 1.0);
    for facts in &CATALOG {
        let name = format!(r#"pinakes_snapshot_records{{entity="{}"}}"#, facts.plural);
        assert_eq!(before[&name], f64::from(opened.count(facts.entity)), "{name}");
    }
    let bytes: u64 = manifest.files.iter().map(|file| file.size_bytes).sum();
    assert_eq!(before["pinakes_snapshot_size_bytes"], bytes as f64);
    assert!(
        before["pinakes_snapshot_age_seconds"]
            < before["pinakes_snapshot_newest_record_age_seconds"]
    );
    let records = |samples: &Samples, of: &str| samples[&format!(r#"{of}{{kind="records"}}"#)];
    let all = records(&before, "pinakes_snapshot_chunks");
    let first = records(&before, "pinakes_snapshot_chunks_verified");
    for facts in CATALOG.iter() {
        for page in 1..=3 {
            server.get(&format!("/{}?per_page=100&page={page}", facts.route));
        }
    }
    let read = samples(&text(admin));
    assert!(first < all, "{first} of {all} are verified by opening");
    assert_eq!(
        records(&read, "pinakes_snapshot_chunks_verified"),
        all,
        "reading every record verifies every chunk"
    );
    make_writable(&path);
    OpenOptions::new().write(true).open(path.join("outputs/ids")).unwrap().set_len(0).unwrap();
    let begun = Instant::now();
    let after = loop {
        let after = samples(&text(admin));
        if after["pinakes_ready"] == 0.0 {
            break after;
        }
        assert!(begun.elapsed() < REPLY_TIMEOUT);
        pinakes_tests::pause();
    };
    assert_eq!(
        non_zero(&after, &["pinakes_snapshots_poisoned_"]),
        [r#"pinakes_snapshots_poisoned_total{cause="fault"} 1"#]
    );
    assert_eq!(Connection::open(admin).get("/ready").status, 503);
    assert_eq!(Connection::open(admin).get("/health").json()["snapshot_id"], manifest.id);
    server.end(&["snapshot poisoned", "no other snapshot"]);
}

#[test]
fn prometheus_accepts_the_metrics() {
    let snapshots = Snapshots::from_sample();
    let (server, admin) = watched(&snapshots, &[]);
    for target in ["/", "/outputs", "/outputs/HX_W1", "/nope", "/autocomplete?query=a"] {
        server.get(target);
    }
    let text = text(admin);
    server.end(&[]);
    let Some(checked) = promtool(&["check", "metrics"], &text) else {
        skip("prometheus_accepts_the_metrics", "promtool is not there");
        return;
    };
    let output = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && output.trim().is_empty(), "{output}");
}
