//! Tests with files of a snapshot that are truncated, overwritten or touched while they are mapped.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant, SystemTime},
};

use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::snapshot::{Snapshot, archive_path, archives};

use pinakes_tests::client::{REPLY_TIMEOUT, Response};
use pinakes_tests::server::{Server, Snapshots, command, make_writable};

/// Maximum time until another snapshot is served, with a large margin for a busy machine.
const FALLBACK_MAX: Duration = Duration::from_secs(5);
/// Number of concurrent clients.
const CLIENTS: usize = 4;
/// Number of requests per target before a file is truncated.
const ROUNDS_BEFORE: usize = 2;

/// Targets whose replies read files of every kind.
pub fn targets(snapshot: &Snapshot) -> Vec<String> {
    let lists = CATALOG.iter().flat_map(|facts| {
        let queries =
            ["per_page=100", "sort=name:desc&filter=name:!x", "search=a", "sort=id&page=2"];
        queries.map(|query| format!("/{}?{query}", facts.route))
    });
    let id = |row| snapshot.row_id(Entity::Output, row).unwrap();
    let rows = 0..snapshot.count(Entity::Output).min(20);
    let records = rows.map(|row| format!("/outputs/HX_W{}", id(row)));
    let texts =
        ["a", "the", "of s"].map(|text| format!("/autocomplete?query={}", text.replace(' ', "+")));
    lists.chain(records).chain(texts).chain(["/".to_owned()]).collect()
}

/// Status and body of replies, by snapshot id and target.
pub type Answers = BTreeMap<(String, String), (u16, Vec<u8>)>;

fn id_of(response: &Response) -> String {
    response.header("x-snapshot-id").unwrap().to_owned()
}

/// The replies of an intact snapshot.
pub fn answers(path: &Path, targets: &[String]) -> Answers {
    let server = Server::serve_one(path);
    let mut connection = server.connect();
    let answers = targets.iter().map(|target| {
        let response = connection.get(target);
        ((id_of(&response), target.clone()), (response.status, response.body))
    });
    let answers = answers.collect();
    drop(connection);
    server.end(&[]);
    answers
}

/// Asserts that a reply is correct or 503, and returns whether it is correct.
#[track_caller]
pub fn judge(known: &Answers, target: &str, response: &Response) -> bool {
    let expected = &known[&(id_of(response), target.to_owned())];
    let is_right = (response.status, &response.body) == (expected.0, &expected.1);
    assert!(is_right || response.status == 503, "{target}: {response:?}");
    is_right
}

fn cut(file: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(file).unwrap().set_len(bytes).unwrap();
}

/// Builds two snapshots and returns their paths, the older first; `current` leads to the newer.
fn two() -> (Snapshots, [PathBuf; 2]) {
    let snapshots = Snapshots::from_sample();
    let older = fs::canonicalize(snapshots.path().join("current")).unwrap();
    // The sample without its merged ids is another snapshot.
    let newer = snapshots.add(&[pinakes_tests::sample().join("data/jsonl")]);
    let newer = fs::canonicalize(newer).unwrap();
    make_writable(&newer);
    (snapshots, [older, newer])
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Waits until a snapshot is served, and returns the waiting time.
#[track_caller]
fn await_snapshot(server: &Server, id: &str, begun: Instant) -> Duration {
    while server.get("/ready").header("x-snapshot-id") != Some(id) {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "{id} is not served:\n{}", server.log());
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed()
}

/// Ends a server that logged these errors. It also logged `cannot answer` if a request found the damage before
/// the server's own check.
#[track_caller]
fn end(server: Server, errors: &[&str]) -> String {
    let asked = server.log().contains("cannot answer").then_some("cannot answer");
    let errors: Vec<&str> = errors.iter().copied().chain(asked).collect();
    server.end(&errors)
}

#[test]
fn truncating_a_file_under_load_causes_no_wrong_answer_and_a_fallback() {
    // Truncate to zero bytes, or in the middle of bytes that were already read.
    for (file, is_half) in
        [("outputs/records", false), ("outputs/records", true), ("outputs/words", false)]
    {
        let (snapshots, [older, newer]) = two();
        let targets = targets(&snapshots.open());
        let mut known = answers(&newer, &targets);
        known.extend(answers(&older, &targets));
        let server = Server::serve(&snapshots);
        let (is_done, asked, refused) =
            (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        let fallback = std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (server, known, targets) = (&server, &known, &targets);
                let (is_done, asked, refused) = (&is_done, &asked, &refused);
                scope.spawn(move || {
                    let mut connection = server.connect();
                    for target in targets.iter().cycle().skip(client * targets.len() / CLIENTS) {
                        let response = connection.get(target);
                        let is_right = judge(known, target, &response);
                        refused.fetch_add(usize::from(!is_right), Relaxed);
                        asked.fetch_add(1, Relaxed);
                        if response.header("connection") == Some("close") {
                            connection = server.connect();
                        }
                        if is_done.load(Relaxed) {
                            break;
                        }
                    }
                });
            }
            let begun = Instant::now();
            while asked.load(Relaxed) < ROUNDS_BEFORE * targets.len() {
                assert!(begun.elapsed() < REPLY_TIMEOUT, "{} asked", asked.load(Relaxed));
                std::thread::yield_now();
            }
            let path = newer.join(file);
            let bytes = fs::metadata(&path).unwrap().len();
            cut(&path, if is_half { bytes / 2 } else { 0 });
            let fallback = await_snapshot(&server, &name(&older), Instant::now());
            let after = asked.load(Relaxed);
            while asked.load(Relaxed) < after + targets.len() {
                std::thread::yield_now();
            }
            is_done.store(true, Relaxed);
            fallback
        });
        let (asked, refused) = (asked.load(Relaxed), refused.load(Relaxed));
        println!("{file}: {asked} asked, {refused} refused, another snapshot after {fallback:?}");
        assert!(fallback < FALLBACK_MAX, "{fallback:?}");
        let log = end(server, &["snapshot poisoned"]);
        assert!(log.lines().any(|line| line.contains("ERROR") && line.contains(file)), "{log}");
        assert!(log.contains("serving another snapshot in its place"), "{log}");
    }
}

#[test]
fn truncating_any_file_is_reported_and_does_not_end_the_server() {
    let snapshots = Snapshots::from_sample();
    let path = fs::canonicalize(snapshots.path().join("current")).unwrap();
    make_writable(&path);
    let targets = targets(&snapshots.open());
    let known = answers(&path, &targets);
    let mut kinds: BTreeMap<&str, String> = BTreeMap::new();
    for (kind, entity) in archives() {
        kinds.entry(kind.file_name()).or_insert_with(|| archive_path(kind, entity));
    }
    let files = kinds.into_values().chain(["hashes".to_owned()]);
    for file in files {
        let server = Server::serve_one(&path);
        let mut connection = server.connect();
        targets.iter().for_each(|target| assert!(judge(&known, target, &connection.get(target))));
        let bytes = fs::read(path.join(&file)).unwrap();
        cut(&path.join(&file), 0);
        targets.iter().for_each(|target| {
            judge(&known, target, &connection.get(target));
        });
        // The server detects the damage without a request.
        let begun = Instant::now();
        while server.get("/ready").status != 503 {
            assert!(begun.elapsed() < REPLY_TIMEOUT, "{file}:\n{}", server.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        for target in &targets {
            assert_eq!(connection.get(target).status, 503, "{file}: {target}");
        }
        assert_eq!(connection.get("/health").status, 200);
        server.await_log(&["ERROR", "snapshot poisoned", &file]);
        drop(connection);
        end(server, &["snapshot poisoned", "no other snapshot"]);
        fs::write(path.join(&file), bytes).unwrap();
    }
}

/// Waits until `/ready` has this status: 200 with a snapshot, 503 without one.
#[track_caller]
fn await_status(server: &Server, status: u16) {
    let begun = Instant::now();
    while server.get("/ready").status != status {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "{}", server.log());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_damaged_snapshot_is_served_again_after_rebuild_or_repair() {
    let snapshots = Snapshots::from_sample();
    let path = fs::canonicalize(snapshots.path().join("current")).unwrap();
    let file = path.join("authors/records");
    let intact = fs::read(&file).unwrap();
    let server = Server::serve(&snapshots);
    make_writable(&path);
    cut(&file, 10);
    await_status(&server, 503);
    assert_eq!(snapshots.add(&[pinakes_tests::sample()]), path);
    await_status(&server, 200);
    assert_eq!(server.get("/authors?per_page=100").status, 200);

    make_writable(&path);
    cut(&file, 10);
    await_status(&server, 503);
    server.send_hangup();
    server.await_log(&["ERROR", "keeping the served snapshot", "authors/records"]);
    fs::write(&file, intact).unwrap();
    server.send_hangup();
    await_status(&server, 200);
    end(server, &["snapshot poisoned", "no other snapshot", "keeping the served snapshot"]);
}

#[test]
fn a_fallback_never_shows_suppressed_records() {
    let snapshots = Snapshots::from_sample();
    let list = snapshots.path().with_extension("suppressed");
    fs::write(&list, "HX_A5900000001\n").unwrap();
    let more = ["--quiet", "--suppress", list.to_str().unwrap()];
    let less = pinakes_tests::build(&[pinakes_tests::sample()], snapshots.path(), &more);
    fs::remove_file(&list).unwrap();
    let server = Server::serve(&snapshots);
    assert_eq!(server.get("/authors/HX_A5900000001").status, 404);
    make_writable(&less);
    cut(&less.join("authors/records"), 10);
    await_status(&server, 503);
    assert_eq!(server.get("/authors/HX_A5900000001").status, 503);
    end(server, &["snapshot poisoned", "no other snapshot"]);
}

#[test]
fn a_fallback_suppresses_at_least_the_records_of_the_lost_snapshot() {
    const SHOWN: &str = "/authors/HX_A5900000001";
    let (one, other) = ("HX_A5900000001\n", "HX_A5900000036\n");
    for (older, newer, has_fallback) in [
        // Equal numbers of other records.
        (other.to_owned(), one.to_owned(), false),
        (format!("{one}{other}"), one.to_owned(), true),
    ] {
        let snapshots = Snapshots::empty();
        let build = |list: &str| {
            let path = snapshots.path().with_extension("suppressed");
            fs::write(&path, list).unwrap();
            let options = ["--quiet", "--allow-unsuppress", "--suppress", path.to_str().unwrap()];
            let built =
                pinakes_tests::build(&[pinakes_tests::sample()], snapshots.path(), &options);
            fs::remove_file(&path).unwrap();
            built
        };
        let (_, lost) = (build(&older), build(&newer));
        let server = Server::serve(&snapshots);
        assert_eq!(server.get(SHOWN).status, 404);
        make_writable(&lost);
        cut(&lost.join("authors/records"), 10);
        let expected = if has_fallback { 404 } else { 503 };
        let begun = Instant::now();
        // The record is never shown meanwhile.
        loop {
            let status = server.get("/authors?per_page=100").status;
            let shown = server.get(SHOWN).status;
            assert!(matches!(shown, 404 | 503), "{shown}");
            let is_settled = status == if has_fallback { 200 } else { 503 };
            if shown == expected && is_settled && begun.elapsed() > Duration::from_secs(1) {
                break;
            }
            assert!(begun.elapsed() < REPLY_TIMEOUT, "{shown} {status} {}", server.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        let errors: &[&str] = match has_fallback {
            true => &["snapshot poisoned"],
            false => &["snapshot poisoned", "no other snapshot"],
        };
        end(server, errors);
    }
}

#[test]
fn overwritten_bytes_are_verified_again() {
    let (snapshots, [older, newer]) = two();
    let server = Server::serve(&snapshots);
    let opened = Snapshot::open(&newer).unwrap();
    let target = format!("/outputs/HX_W{}", opened.row_id(Entity::Output, 0).unwrap());
    let before = server.get(&target);
    assert_eq!((before.status, id_of(&before)), (200, name(&newer)));
    let records = OpenOptions::new().write(true).open(newer.join("outputs/records")).unwrap();
    records.write_all_at(&[0x5a; 512], 2_048).unwrap();
    drop(records);
    server.await_log(&["WARN", "written to or touched", "outputs/records"]);
    let refused = server.get(&target);
    assert_eq!((refused.status, id_of(&refused)), (503, name(&newer)));
    let after = server.get(&target);
    assert_eq!((after.status, id_of(&after)), (200, name(&older)));
    server.end(&["cannot answer", "snapshot poisoned"]);
}

#[test]
fn a_touched_file_is_still_served() {
    let snapshots = Snapshots::from_sample();
    let path = fs::canonicalize(snapshots.path().join("current")).unwrap();
    make_writable(&path);
    let targets = targets(&snapshots.open());
    let known = answers(&path, &targets);
    let server = Server::serve_one(&path);
    let mut connection = server.connect();
    for file in ["outputs/records", "hashes"] {
        targets.iter().for_each(|target| assert!(judge(&known, target, &connection.get(target))));
        let touched = File::options().write(true).open(path.join(file)).unwrap();
        touched.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        server.await_log(&["WARN", "written to or touched", file]);
    }
    targets.iter().for_each(|target| assert!(judge(&known, target, &connection.get(target))));
    drop(connection);
    server.end(&[]);
}

#[test]
fn a_snapshot_in_memory_survives_changes_of_its_files() {
    let snapshots = Snapshots::from_sample();
    let path = fs::canonicalize(snapshots.path().join("current")).unwrap();
    make_writable(&path);
    let targets = targets(&snapshots.open());
    let known = answers(&path, &targets);
    let args = ["--pin".as_ref(), "--snapshots".as_ref(), snapshots.path().as_os_str()];
    let server = Server::start(&mut command(&args));
    let maps = fs::read_to_string(format!("/proc/{}/maps", server.process_id())).unwrap();
    assert!(!maps.contains(&name(&path)), "its files are mapped: {maps}");
    // Half of the targets are requested before the files are truncated.
    let mut connection = server.connect();
    let (before, _) = targets.split_at(targets.len() / 2);
    before.iter().for_each(|target| assert!(judge(&known, target, &connection.get(target))));
    for (kind, entity) in archives() {
        cut(&path.join(archive_path(kind, entity)), 0);
    }
    cut(&path.join("hashes"), 0);
    targets.iter().for_each(|target| assert!(judge(&known, target, &connection.get(target))));
    std::thread::sleep(Duration::from_millis(1_500));
    targets.iter().for_each(|target| assert!(judge(&known, target, &connection.get(target))));
    drop(connection);
    server.end(&[]);
}
