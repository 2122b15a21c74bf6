//! The server on what was pulled: it says so where that has expired.

use serde_json::{Value, json};

use crate::{
    client::PATIENCE,
    place::{Edition, Place},
    server::{Server, command},
};

/// What `/health` says of the state, and since when.
fn health(server: &Server) -> [Value; 2] {
    let health = server.get("/health").json();
    ["status", "expired"].map(|name| health.get(name).cloned().unwrap_or_default())
}

#[test]
fn the_server_says_what_has_expired_until_it_is_published_anew() {
    let place = Place::with(Edition::Tiny);
    let host = place.host();
    let expires = "2026-02-01T00:00:00Z";
    place.edit(|publication| publication.expires = expires.into());
    place.demand(Edition::Tiny, &place.pull(&host.url(), &[]));
    let server = Server::start(&mut command(&["--snapshots".as_ref(), place.out().as_os_str()]));
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(health(&server), [json!("stale"), json!(expires)]);
    assert_eq!(server.get("/ready").status, 200);
    server.await_log(&["WARN", "stale", expires]);

    // The same snapshot, for longer.
    place.publish(Edition::Tiny, &[]);
    place.demand(Edition::Tiny, &place.pull(&host.url(), &[]));
    let begun = std::time::Instant::now();
    while health(&server) != [json!("ok"), Value::Null] {
        assert!(begun.elapsed() < PATIENCE, "{}", server.log());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let log = server.end(&[]);
    assert_eq!(log.matches("stale").count(), 1, "{log}");

    // By the snapshot itself it is known as well.
    place.edit(|publication| publication.expires = expires.into());
    place.demand(Edition::Tiny, &place.pull(&host.url(), &[]));
    let path = place.out().join(Edition::Tiny.id());
    let server = Server::start(&mut command(&["--snapshot".as_ref(), path.as_os_str()]));
    assert_eq!(health(&server), [json!("stale"), json!(expires)]);
    server.end(&[]);
    // What was built here does not expire.
    let server =
        Server::start(&mut command(&["--snapshot".as_ref(), Edition::Tiny.snapshot().as_os_str()]));
    assert_eq!(health(&server), [json!("ok"), Value::Null]);
    server.end(&[]);
}
