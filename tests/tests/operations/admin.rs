//! Tests of the admin address: its routes, and its independence of the public address.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::operations::metrics::{samples, text, watched};
use pinakes_tests::client::{Connection, error_body};
use pinakes_tests::server::{Server, Snapshots, command};

#[test]
fn the_admin_address_serves_no_route_of_the_interface() {
    let snapshots = Snapshots::from_sample();
    let (server, admin) = watched(&snapshots, &["--data-licence", "ODbL-1.0"]);
    let ask = |method: &str, target: &str| Connection::open(admin).request(method, target, &[]);
    let id = snapshots.open().manifest().id.clone();
    for target in ["/health", "/ready"] {
        let (own, public) = (ask("GET", target), server.get(target));
        assert_eq!((own.status, own.json()), (200, public.json()), "{target}");
    }
    let health = ask("GET", "/health").json();
    assert_eq!((&health["snapshot_id"], &health["data_licence"]), (&id.into(), &"ODbL-1.0".into()));
    assert_eq!(health["newest_updated_date"], server.get("/").json()["newest_updated_date"]);
    assert_eq!(server.get("/").json()["data_licence"], "ODbL-1.0");
    for target in ["/", "/outputs", "/graphql", "/metrics/x", "/openapi.json"] {
        let response = ask("GET", target);
        let expected = error_body(404, &format!("Cannot GET {target}"));
        assert_eq!((response.status, response.text()), (404, expected.as_str()));
    }
    for method in ["POST", "DELETE", "OPTIONS"] {
        let response = ask(method, "/metrics");
        let expected = error_body(405, "Method Not Allowed");
        assert_eq!((response.status, response.text()), (405, expected.as_str()), "{method}");
        assert_eq!(response.header("allow"), Some("GET, HEAD"));
    }
    let head = ask("HEAD", "/metrics/");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(head.header("content-length").unwrap().parse::<usize>().unwrap() > 1_000);
    // Pages in browsers may not read the metrics, and the public address does not serve them.
    assert_eq!(head.header("access-control-allow-origin"), None);
    assert_eq!(head.header("connection"), Some("close"));
    assert_eq!(server.get("/metrics").status, 404);
    server.end(&[]);
}

#[test]
fn the_admin_address_answers_known_hosts_alone() {
    let snapshots = Snapshots::from_sample();
    let (server, admin) = watched(&snapshots, &["--admin-host", "metrics.example"]);
    let ask = |host: &str| {
        let mut connection = Connection::open(admin);
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n");
        connection.send(request.as_bytes()).unwrap();
        connection.receive().unwrap().status
    };
    for host in ["127.0.0.1:9464", "localhost", "metrics.example:80"] {
        assert_eq!(ask(host), 200, "{host}");
    }
    assert_eq!(ask("evil.example"), 421);
    server.end(&[]);
}

#[test]
fn the_admin_address_has_connections_of_its_own() {
    let snapshots = Snapshots::from_sample();
    let (server, admin) = watched(&snapshots, &["--connections", "2"]);
    // Open admin connections do not count as public connections.
    let holding: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(admin).unwrap()).collect();
    let mut public = [server.connect(), server.connect()];
    for connection in &mut public {
        assert_eq!(connection.get("/health").status, 200);
    }
    let mut refused = TcpStream::connect(server.address()).unwrap();
    assert_eq!(refused.read(&mut [0; 1]).unwrap_or(0), 0, "the third connection stays open");
    let found = samples(&text(admin));
    assert_eq!(found["pinakes_connections_open"], 2.0);
    assert_eq!(found["pinakes_connections_max"], 2.0);
    assert_eq!(found[r#"pinakes_connections_refused_total{cap="server"}"#], 1.0);
    drop((public, holding));
    server.end(&[]);
}

#[test]
fn idle_admin_connections_block_neither_clients_nor_shutdown() {
    let snapshots = Snapshots::from_sample();
    let (server, admin) = watched(&snapshots, &[]);
    // Use all 32 admin connections; half of them send an incomplete head.
    let begin = |at: usize| {
        let mut stream = TcpStream::connect(admin).unwrap();
        if at < 16 {
            stream.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
        }
        stream
    };
    let mut holding: Vec<TcpStream> = (0..32).map(begin).collect();
    // Each new connection replaces the oldest one.
    for (at, oldest) in holding.iter_mut().take(8).enumerate() {
        let begun = std::time::Instant::now();
        assert_eq!(Connection::open(admin).get("/ready").status, 200);
        assert!(begun.elapsed() < HEAD_TIMEOUT, "{:?}", begun.elapsed());
        assert_eq!(oldest.read(&mut [0; 1]).unwrap_or(0), 0, "connection {at} stays open");
        // Use the freed connection again.
        let mut held = TcpStream::connect(admin).unwrap();
        held.write_all(b"GET /").unwrap();
        *oldest = held;
    }
    server.await_log(&["WARN", "closed=1 client=127.0.0.1", "closed for newer ones"]);
    let log = server.end(&[]);
    assert_eq!(log.matches("closed for newer ones").count(), 1, "{log}");
}

/// Timeout of the admin address for a request head.
const HEAD_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

#[test]
fn the_server_logs_who_can_reach_the_admin_address_and_bind_errors() {
    let snapshots = Snapshots::from_sample();
    let path = snapshots.path().to_str().unwrap();
    let mut server = Server::start(&mut command(&["--snapshots", path, "--admin", "0.0.0.0:0"]));
    let admin = server.read_admin_address();
    let log = server.end(&[]);
    assert!(log.contains("WARN") && log.contains("reach the admin address"), "{log}");
    let taken = std::net::TcpListener::bind(("127.0.0.1", admin.port())).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = command(&["--snapshots", path, "--admin", &address]).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let expected = format!("error: cannot listen on {address}: ");
    let last = errors.lines().last().unwrap();
    assert!(
        last.starts_with(&expected) && last.ends_with("choose another with --admin"),
        "{errors}"
    );
    assert_eq!(output.status.code(), Some(1));
}
