//! Tests that the server reports an expired pulled snapshot.

use serde_json::{Value, json};

use crate::mirror::setup::{Edition, Setup};
use pinakes_tests::client::{Connection, REPLY_TIMEOUT};
use pinakes_tests::server::{Server, command};

/// `status` and `expired` of `/health`.
fn health(server: &Server) -> [Value; 2] {
    let health = server.get("/health").json();
    ["status", "expired"].map(|name| health.get(name).cloned().unwrap_or_default())
}

#[test]
fn the_server_reports_an_expired_publication_until_it_is_renewed() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    let expires = "2026-02-01T00:00:00Z";
    setup.edit(|publication| publication.expires = expires.into());
    setup.assert_current(Edition::Tiny, &setup.pull(&host.url(), &["--allow-stale"]));
    let args = ["--admin".as_ref(), "127.0.0.1:0".as_ref(), "--snapshots".as_ref()];
    let out = setup.out();
    let args = [&args[..], &[out.as_os_str()]].concat();
    let mut server = Server::start(&mut command(&args));
    let admin = server.read_admin_address();
    let metric = || {
        let response = Connection::open(admin).get("/metrics");
        let text = response.text();
        let metric = text.lines().find(|line| line.starts_with("pinakes_trouble{kind=\"stale\"}"));
        metric.map(|line| line.rsplit_once(' ').unwrap().1.to_owned())
    };
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(health(&server), [json!("stale"), json!(expires)]);
    assert_eq!(server.get("/health").json()["troubles"], json!(["stale"]));
    assert_eq!(metric().as_deref(), Some("1"));
    assert_eq!(server.get("/ready").status, 200);
    server.await_log(&["WARN", "stale", expires]);

    // The same snapshot is published with a later expiry.
    setup.publish(Edition::Tiny, &[]);
    setup.assert_current(Edition::Tiny, &setup.pull(&host.url(), &[]));
    let begun = std::time::Instant::now();
    while health(&server) != [json!("ok"), Value::Null] {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "{}", server.log());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(metric().as_deref(), Some("0"));
    let log = server.end(&[]);
    assert_eq!(log.matches("stale").count(), 1, "{log}");

    // A server started with `--snapshot` knows the expiry too.
    setup.edit(|publication| publication.expires = expires.into());
    setup.assert_current(Edition::Tiny, &setup.pull(&host.url(), &["--allow-stale"]));
    let path = setup.out().join(Edition::Tiny.id());
    let server = Server::start(&mut command(&["--snapshot".as_ref(), path.as_os_str()]));
    assert_eq!(health(&server), [json!("stale"), json!(expires)]);
    server.end(&[]);
    // A locally built snapshot does not expire.
    let server =
        Server::start(&mut command(&["--snapshot".as_ref(), Edition::Tiny.snapshot().as_os_str()]));
    assert_eq!(health(&server), [json!("ok"), Value::Null]);
    server.end(&[]);
}
