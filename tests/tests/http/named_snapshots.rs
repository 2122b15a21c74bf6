//! Requests that name a snapshot: `/@{snapshot}/…` answers from it while it is open, and 410 afterwards.

use std::{
    fs,
    os::unix::fs::symlink,
    thread,
    time::{Duration, Instant},
};

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::archive_path;
use pinakes_format::storage::header::FileKind;
use pinakes_tests::client::{REPLY_TIMEOUT, Response};
use pinakes_tests::server::{Server, Snapshots, command};

const AUTHOR: &str = "HX_A5900000001";
const KEPT_BY_CLIENTS: &str = "public, max-age=86400, immutable";
const KEPT_BY_NETWORK: &str = "public, max-age=86400, s-maxage=31536000, immutable";

/// Three snapshots that differ, the last one current, and their ids in that order.
fn three() -> (Snapshots, [String; 3]) {
    let snapshots = Snapshots::from_sample();
    let id = |snapshots: &Snapshots| snapshots.open().manifest().id.clone();
    let whole = id(&snapshots);
    let jsonl = pinakes_tests::sample().join("data/jsonl");
    snapshots.add(&[jsonl.join("topics"), jsonl.join("domains"), jsonl.join("authors")]);
    let authors = id(&snapshots);
    snapshots.add(&[jsonl.join("topics"), jsonl.join("domains")]);
    let topics = id(&snapshots);
    (snapshots, [whole, authors, topics])
}

fn serve(snapshots: &Snapshots, options: &[&str]) -> Server {
    let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
    Server::start(command.args(options))
}

/// Waits for a status, because housekeeping looks for changes every second.
#[track_caller]
fn await_status(server: &Server, target: &str, status: u16) -> Response {
    let begun = Instant::now();
    loop {
        let response = server.get(target);
        if response.status == status {
            return response;
        }
        assert!(begun.elapsed() < REPLY_TIMEOUT, "{target} stays {}", response.status);
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_named_snapshot_answers_every_route_as_it_did_when_it_was_current() {
    let (snapshots, [whole, _, topics]) = three();
    let alone = Server::serve_one(&snapshots.path().join(&whole));
    let server = serve(&snapshots, &["--keep-open", "2"]);
    for target in [
        "/authors?per_page=3&sort=works_count:desc",
        &format!("/authors/{AUTHOR}"),
        "/outputs?filter=type:article&group_by=year",
        "/outputs?format=ndjson",
        "/autocomplete?query=a",
        "/health",
        "/nope",
        "/outputs?filter=nothing:1",
        "/openapi.json",
    ] {
        let named = server.get(&format!("/@{whole}{target}"));
        let expected = alone.get(target);
        assert_eq!(named.header("x-snapshot-id"), Some(&*whole), "{target}");
        assert_eq!(named.status, expected.status, "{target}");
        assert_eq!(named.header("etag"), expected.header("etag"), "{target}");
        match target {
            "/nope" => assert!(named.text().contains(&format!("Cannot GET /@{whole}/nope"))),
            "/health" => assert_eq!(named.json()["snapshot_id"], expected.json()["snapshot_id"]),
            _ => assert_eq!(named.text(), expected.text(), "{target}"),
        }
    }
    let root = server.get(&format!("/%40{topics}"));
    assert_eq!(root.header("x-snapshot-id"), Some(&*topics), "the current one has a name, too");
    server.end(&[]);
    alone.end(&[]);
}

#[test]
fn links_and_redirects_keep_the_name() {
    let (snapshots, [whole, ..]) = three();
    let server = serve(&snapshots, &["--keep-open", "2"]);
    let list = server.get(&format!("/@{whole}/legacy/topics?per_page=1"));
    let link = list.header("link").unwrap();
    assert!(link.starts_with(&format!("</@{whole}/legacy/topics?page=2&per_page=1>")), "{link}");
    let found = server.get(&format!("/@{whole}/resolve/{AUTHOR}"));
    assert_eq!(found.header("location"), Some(&*format!("/@{whole}/authors/{AUTHOR}")));
    let page = server.get(&format!("/@{whole}/browse/authors"));
    assert_eq!(page.status, 200);
    assert!(page.text().contains(&format!("href=\"/@{whole}/browse/authors/")));
    assert!(!page.text().contains("href=\"/browse"), "{}", page.text());
    let script = server.get(&format!("/@{whole}/browse/page.js"));
    assert_eq!(script.status, 200);
    server.end(&[]);
}

#[test]
fn only_so_many_stay_open_and_the_others_are_gone() {
    let (snapshots, [whole, authors, topics]) = three();
    let server = serve(&snapshots, &["--keep-open", "1"]);
    let status = |id: &str| server.get(&format!("/@{id}/topics")).status;
    assert_eq!([&whole, &authors, &topics].map(|id| status(id)), [410, 200, 200]);
    let gone = server.get(&format!("/@{whole}/topics"));
    let message = format!("Snapshot {whole} is not served here, or not any more");
    assert_eq!(gone.json()["message"], message);
    assert_eq!(gone.header("cache-control"), Some("no-store"));
    assert_eq!(server.get("/@0123/topics").status, 404);
    // A rollback withdraws the later snapshot and returns to the earlier ones.
    let fresh = snapshots.path().join(".fresh");
    symlink(&authors, &fresh).unwrap();
    fs::rename(&fresh, snapshots.path().join("current")).unwrap();
    await_status(&server, &format!("/@{whole}/topics"), 200);
    assert_eq!([&whole, &authors, &topics].map(|id| status(id)), [200, 200, 410]);
    server.end(&[]);
    // Without the option, only the current snapshot has a name.
    let server = serve(&snapshots, &[]);
    let status = |id: &str| server.get(&format!("/@{id}/topics")).status;
    assert_eq!([&whole, &authors, &topics].map(|id| status(id)), [410, 200, 410]);
    server.end(&[]);
}

#[test]
fn suppressed_records_are_missing_from_every_open_snapshot() {
    let (snapshots, [whole, authors, _]) = three();
    let list = snapshots.path().join("suppressed.txt");
    fs::write(&list, "").unwrap();
    let server = serve(&snapshots, &["--keep-open", "2", "--suppress", list.to_str().unwrap()]);
    let targets = [&whole, &authors].map(|id| format!("/@{id}/authors/{AUTHOR}"));
    let before = targets.each_ref().map(|target| server.get(target));
    assert_eq!(before.each_ref().map(|response| response.status), [200, 200]);
    fs::write(&list, format!("{AUTHOR}\n")).unwrap();
    for (target, before) in targets.iter().zip(&before) {
        let after = await_status(&server, target, 404);
        assert_eq!(after.header("x-snapshot-id"), before.header("x-snapshot-id"));
    }
    let count = |id: &str| {
        server.get(&format!("/@{id}/authors?per_page=1")).json()["meta"]["count"].clone()
    };
    assert_eq!(count(&whole), count(&authors));
    server.end(&[]);
}

#[test]
fn caches_keep_replies_of_named_snapshots_and_a_network_by_its_key() {
    let (snapshots, [whole, ..]) = three();
    for (options, kept, key) in [
        (vec!["--keep-open", "2"], KEPT_BY_CLIENTS, None),
        (vec!["--keep-open", "2", "--behind-cdn"], KEPT_BY_NETWORK, Some(&*whole)),
    ] {
        let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
        let server = Server::start(command.env_remove("PINAKES_NO_LIMITS").args(options));
        let target = format!("/@{whole}/authors/{AUTHOR}");
        let named = server.get(&target);
        let again = format!("If-None-Match: {}", named.header("etag").unwrap());
        let unchanged = server.connect().request("GET", &target, &[&again]);
        assert_eq!((named.status, unchanged.status), (200, 304));
        for response in [named, unchanged] {
            assert_eq!(response.header("cache-control"), Some(kept));
            assert_eq!(response.header("surrogate-key"), key);
            assert_eq!(response.header("x-ratelimit-ip-limit").is_none(), key.is_some());
        }
        for uncached in ["/authors/HX_A404", "/health", "/rate-limit"] {
            let response = server.get(&format!("/@{whole}{uncached}"));
            assert_eq!(response.header("cache-control"), Some("no-store"), "{uncached}");
            assert_eq!(response.header("surrogate-key"), None, "{uncached}");
        }
        let current = server.get("/topics");
        assert_eq!(current.header("cache-control"), Some("public, no-cache"));
        assert_eq!(current.header("surrogate-key"), None);
        server.end(&[]);
    }
}

#[test]
fn a_damaged_named_snapshot_is_let_go_and_the_current_one_stays() {
    let (snapshots, [whole, authors, topics]) = three();
    let server = serve(&snapshots, &["--keep-open", "2"]);
    let directory = snapshots.path().join(&whole);
    pinakes_tests::make_writable(&directory);
    let file = directory.join(archive_path(FileKind::Records, Some(Entity::Author)));
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(4096).unwrap();
    await_status(&server, &format!("/@{whole}/topics"), 410);
    assert_eq!(server.get(&format!("/@{authors}/topics")).status, 200);
    let current = server.get("/topics");
    assert_eq!((current.status, current.header("x-snapshot-id")), (200, Some(&*topics)));
    server.end(&["snapshot poisoned"]);
}
