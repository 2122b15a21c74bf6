//! Damage that the server finds while it serves a snapshot.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::integrity::CHUNK_BYTES;

use crate::http::limits::{limited, numbers};
use pinakes_tests::client::{Response, error_body};
use pinakes_tests::server::{Server, Snapshots, command, make_writable};

/// Number of the damaged chunk.
const CHUNK: usize = 2;

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// Damages a chunk of the outputs; returns an output in the chunk and the last output before it.
fn damage(snapshot: &Path) -> (String, String) {
    make_writable(snapshot);
    let records = snapshot.join("outputs/records");
    flip(&records, CHUNK * CHUNK_BYTES + CHUNK_BYTES / 2);
    let opened = Snapshot::open(snapshot).unwrap();
    let rows = 0..opened.count(Entity::Output);
    let is_whole = |row: u32| {
        let mut page = JsonWriter::new(&opened, Shape::Single);
        opened.render(Entity::Output, row, &mut page).is_ok()
    };
    let path = |row: u32| format!("/outputs/HX_W{}", opened.row_id(Entity::Output, row).unwrap());
    let touched = rows.clone().find(|row| !is_whole(*row)).expect("the chunk contains a record");
    let whole = rows.rev().find(|row| is_whole(*row)).expect("another chunk contains a record");
    (path(touched), path(whole))
}

#[track_caller]
fn check_unavailable(response: &Response) {
    let expected = error_body(503, "Service temporarily unavailable");
    assert_eq!((response.status, response.text()), (503, expected.as_str()));
    let seconds: u32 = response.header("retry-after").unwrap().parse().unwrap();
    assert!(seconds > 0);
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert_eq!(response.header("content-type"), Some("application/json"));
}

#[test]
fn a_damaged_chunk_makes_the_snapshot_unavailable_at_its_first_read() {
    // Single records and items of lists are rendered by different code.
    for is_list in [false, true] {
        let snapshots = Snapshots::from_sample();
        let path = fs::canonicalize(snapshots.path().join("current")).unwrap();
        let (touched, whole) = damage(&path);
        let server = Server::serve_one(&path);
        assert_eq!(server.get(&whole).status, 200, "what is whole is answered");
        assert_eq!(server.get("/ready").status, 200);
        let pages: Vec<String> =
            (1..=3).map(|page| format!("/outputs?per_page=100&page={page}")).collect();
        let asked = if is_list { pages } else { vec![touched.clone()] };
        let reply = asked.iter().map(|target| server.get(target)).find(|reply| reply.status != 200);
        check_unavailable(&reply.expect("a request reads the damaged chunk"));
        let mut connection = server.connect();
        for target in [&touched, &whole, "/authors", "/domains/3", "/", "/ready", "/authors?page=0"]
        {
            check_unavailable(&connection.get(target));
        }
        assert_eq!(connection.get("/health").status, 200);
        assert_eq!(connection.get("/nope").status, 404);
        assert_eq!(connection.request("HEAD", "/ready", &[]).status, 503);
        server.await_log(&["ERROR", "outputs/records", &format!("chunk {CHUNK} ")]);
        drop(connection);
        server.end(&["cannot answer", "snapshot poisoned", "no other snapshot"]);
    }
}

#[test]
fn a_reply_503_counts_against_the_limit_and_has_its_headers() {
    let snapshots = Snapshots::from_sample();
    let (touched, _) = damage(&snapshots.path().join("current").canonicalize().unwrap());
    let server = limited(&snapshots, &[]);
    let response = server.get(&touched);
    check_unavailable(&response);
    let [limit, remaining, ..] = numbers(&response);
    assert_eq!((limit, remaining), (30, 29));
    let status = server.get("/rate-limit");
    assert_eq!(status.status, 200);
    assert_eq!(status.json()["minute_rate_limit"]["remaining"], 29);
}

#[test]
fn the_server_falls_back_from_a_damaged_snapshot_to_the_previous_one() {
    let snapshots = Snapshots::from_sample();
    let older = snapshots.open().manifest().id.clone();
    // Without merged ids, the sample is a different snapshot.
    let newer = snapshots.add(&[pinakes_tests::sample().join("data/jsonl")]);
    let newer = fs::canonicalize(newer).unwrap();
    let (touched, whole) = damage(&newer);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let before = connection.get(&whole);
    let newer_id = Snapshot::open(&newer).unwrap().manifest().id.clone();
    assert_ne!(newer_id, older);
    assert_eq!((before.status, before.header("x-snapshot-id")), (200, Some(newer_id.as_str())));
    let refused = connection.get(&touched);
    check_unavailable(&refused);
    assert_eq!(refused.header("x-snapshot-id"), Some(newer_id.as_str()));
    for target in [touched.as_str(), whole.as_str(), "/outputs", "/ready", "/health", "/"] {
        let after = connection.get(target);
        assert_eq!((after.status, after.header("x-snapshot-id")), (200, Some(older.as_str())));
    }
    assert_ne!(connection.get(&whole).header("etag"), before.header("etag"));
    assert_eq!(connection.get("/ready").json()["snapshot_id"], older.as_str());
    // The tag of the damaged snapshot does not match the other snapshot.
    let kept = format!("If-None-Match: {}", before.header("etag").unwrap());
    assert_eq!(connection.request("GET", &whole, &[&kept]).status, 200);
    drop(connection);
    server.end(&["cannot answer", "snapshot poisoned"]);
}

/// Lists the files below a directory.
fn files(at: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(at)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect();
    found.sort();
    found
}

#[test]
fn a_flipped_byte_in_any_file_never_changes_a_reply() {
    let snapshots = Snapshots::from_sample();
    let path = fs::canonicalize(snapshots.path().join("current")).unwrap();
    make_writable(&path);
    let lists = CATALOG
        .iter()
        .flat_map(|facts| (1..=3).map(|page| format!("/{}?per_page=100&page={page}", facts.route)));
    // Filters and sorts read files that records and pages do not.
    let questions = ["sort=name:desc", "sort=updated_date,id:desc", "filter=name:!x&sort=id"]
        .into_iter()
        .chain(["filter=type:!article&page=2", "filter=updated_date:>2026-01,name:!null"])
        .chain(["search=a", "filter=name.search:e&sort=id"])
        .flat_map(|query| CATALOG.iter().map(move |facts| format!("/{}?{query}", facts.route)));
    let singles = ["/outputs/HX_W2900009002", "/outputs/HX_W2900000096", "/authors/HX_A5900000001"];
    let singles = singles.map(str::to_owned);
    let targets: Vec<String> = lists.chain(questions).chain(singles).collect();
    let server = Server::serve_one(&path);
    let mut connection = server.connect();
    let good: Vec<(u16, Vec<u8>)> = targets
        .iter()
        .map(|target| connection.get(target))
        .map(|response| (response.status, response.body))
        .collect();
    let is_search = |target: &str| target.contains("?search=");
    let searched = targets.iter().zip(&good).filter(|(target, _)| is_search(target));
    // Fields, subfields and institution types have no search.
    assert_eq!(searched.filter(|(_, (status, _))| *status == 200).count(), CATALOG.len() - 3);
    drop(connection);
    server.end(&[]);
    let (mut refused, mut found_later) = (0, 0);
    for file in files(&path) {
        let name = file.strip_prefix(&path).unwrap().display().to_string();
        let bytes = fs::read(&file).unwrap();
        let places: &[usize] = &[0, bytes.len() / 2, bytes.len() - 1];
        for at in places {
            flip(&file, *at);
            let place = format!("{name} at {at} of {}", bytes.len());
            let args = ["--snapshot".as_ref(), path.as_os_str(), "--verify".as_ref()];
            let verified = command(&args).output().unwrap();
            let errors = String::from_utf8(verified.stderr).unwrap();
            assert_eq!(verified.status.code(), Some(1), "{place}: {errors}");
            assert!(errors.contains(&format!("`{name}`")), "{place}: {errors}");
            match unavailable(&path, &targets, &good, &place) {
                None => refused += 1,
                Some(replies) => found_later += usize::from(replies > 0),
            }
            flip(&file, *at);
        }
    }
    assert!(refused > 0, "no damage was found at opening");
    assert!(found_later > 0, "no damage was found by a request");
}

/// Serves without `--verify` and counts replies with 503; `None` if the server refuses to start.
///
/// Every other reply must equal the reply of the undamaged snapshot.
#[track_caller]
fn unavailable(
    path: &Path,
    targets: &[String],
    good: &[(u16, Vec<u8>)],
    place: &str,
) -> Option<usize> {
    Snapshot::open(path).ok()?;
    let server = Server::serve_one(path);
    let mut connection = server.connect();
    let mut replies = 0;
    for (target, (status, body)) in targets.iter().zip(good) {
        let response = connection.get(target);
        let is_good = response.status == *status && response.body == *body;
        assert!(is_good || response.status == 503, "{place}: {target}: {response:?}");
        replies += usize::from(response.status == 503);
    }
    Some(replies)
}
