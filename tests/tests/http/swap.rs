//! Other snapshots put in place while the server answers: followed, refused, and let go.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use pinakes_tests::client::REPLY_TIMEOUT;
use pinakes_tests::server::{Server, Snapshots};

/// Times another snapshot is put in place under load; `PINAKES_SWAPS` says how often in place of that,
/// and has the slowest answer measured, too.
const SWAPS: usize = 20;
/// The slowest answer there may be meanwhile.
const ANSWER_MAX: Duration = Duration::from_millis(250);
/// Signals to look again, as fast as they can be sent.
const HANG_UPS: usize = 1_000;

/// How often snapshots are exchanged, and whether answers are measured.
fn swaps() -> (usize, bool) {
    let given = std::env::var("PINAKES_SWAPS").ok();
    (given.as_ref().map_or(SWAPS, |count| count.parse().unwrap()), given.is_some())
}

/// Two snapshots that differ in all they answer with; their ids, the one `current` leads to last.
fn two() -> (Snapshots, [String; 2]) {
    let snapshots = Snapshots::from_sample();
    let jsonl = pinakes_tests::sample().join("data/jsonl");
    let whole = snapshots.open().manifest().id.clone();
    snapshots.add(&[jsonl.join("topics"), jsonl.join("domains")]);
    let part = snapshots.open().manifest().id.clone();
    assert_ne!(whole, part);
    (snapshots, [whole, part])
}

/// Has `current` lead elsewhere, as the compiler does: another link in its place.
fn point(snapshots: &Path, to: &str) {
    let fresh = snapshots.join(".fresh");
    symlink(to, &fresh).unwrap();
    fs::rename(&fresh, snapshots.join("current")).unwrap();
}

/// Waits until the server answers from a snapshot.
#[track_caller]
fn await_snapshot(server: &Server, id: &str) {
    let begun = Instant::now();
    while server.get("/ready").header("x-snapshot-id") != Some(id) {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "{id} is not served:\n{}", server.log());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether files of a snapshot are mapped by a process.
fn is_mapped(process: u32, id: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/maps")).unwrap().contains(&format!("/{id}/"))
}

/// How many snapshots a process has open, each by its manifest.
fn open_count(process: u32) -> usize {
    let files = fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
    let leads = files.filter_map(|file| fs::read_link(file.path()).ok());
    leads.filter(|path| path.ends_with("manifest.json")).count()
}

#[test]
fn a_snapshot_put_in_place_is_served_without_a_signal() {
    let (snapshots, [whole, part]) = two();
    let server = Server::serve(&snapshots);
    await_snapshot(&server, &part);
    point(snapshots.path(), &whole);
    await_snapshot(&server, &whole);
    // Between two links there may be none; what is served stays.
    fs::remove_file(snapshots.path().join("current")).unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    await_snapshot(&server, &whole);
    point(snapshots.path(), &part);
    await_snapshot(&server, &part);
    assert_eq!(server.end(&[]).matches("snapshot opened").count(), 3);
}

/// Asks one answer after another, none of which may fail or be of two snapshots; how many, and the
/// longest that one took.
fn ask_until(server: &Server, is_done: &AtomicBool, whole: &str) -> (usize, Duration) {
    let mut connection = server.connect();
    let (mut asked, mut longest) = (0, Duration::ZERO);
    while !is_done.load(Relaxed) {
        let begun = Instant::now();
        let index = connection.get("/");
        longest = longest.max(begun.elapsed());
        let id = index.header("x-snapshot-id").unwrap().to_owned();
        assert_eq!(index.json()["snapshot_id"], id, "an answer of two snapshots");
        let begun = Instant::now();
        let list = connection.get("/outputs?per_page=10");
        longest = longest.max(begun.elapsed());
        let is_whole = list.header("x-snapshot-id") == Some(whole);
        let count = list.json()["meta"]["count"].as_u64().unwrap();
        assert_eq!((list.status, count > 0), (200, is_whole), "{}", list.text());
        asked += 2;
    }
    (asked, longest)
}

#[test]
fn no_answer_fails_or_mixes_snapshots_while_they_are_exchanged() {
    let (snapshots, ids) = two();
    let (swaps, is_measured) = swaps();
    let server = Server::serve(&snapshots);
    let is_done = AtomicBool::new(false);
    let (asked, longest) = std::thread::scope(|scope| {
        let ask = || ask_until(&server, &is_done, &ids[0]);
        let asking = [scope.spawn(ask), scope.spawn(ask)];
        for at in 0..swaps {
            let id = &ids[at % 2];
            point(snapshots.path(), id);
            server.send_hangup();
            await_snapshot(&server, id);
            assert!(
                open_count(server.process_id()) <= 2,
                "{} open",
                open_count(server.process_id())
            );
        }
        is_done.store(true, Relaxed);
        let asked = asking.into_iter().map(|asking| asking.join().unwrap());
        asked.fold((0, Duration::ZERO), |(sum, longest), (asked, its_longest)| {
            (sum + asked, longest.max(its_longest))
        })
    });
    println!("{swaps} snapshots exchanged, {asked} answers, the slowest in {longest:?}");
    assert!(asked > 2 * swaps, "{asked} answers");
    assert!(!is_measured || longest <= ANSWER_MAX, "{longest:?}, ceiling {ANSWER_MAX:?}");
    await_one_open(&server, &ids[(swaps - 1) % 2], &ids[swaps % 2]);
    server.end(&[]);
}

/// Waits until one snapshot is open and mapped, and the other is neither.
#[track_caller]
fn await_one_open(server: &Server, id: &str, other: &str) {
    let begun = Instant::now();
    while is_mapped(server.process_id(), other) || open_count(server.process_id()) > 1 {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "the snapshot of before is still mapped");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_mapped(server.process_id(), id));
}

#[test]
fn a_storm_of_signals_is_heeded_and_opens_no_more_than_two_snapshots() {
    let (snapshots, ids) = two();
    let server = Server::serve(&snapshots);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask_until(&server, &is_done, &ids[0]));
        for at in 0..HANG_UPS {
            if at % 50 == 0 {
                point(snapshots.path(), &ids[at / 50 % 2]);
            }
            server.send_hangup();
            assert!(
                open_count(server.process_id()) <= 2,
                "{} open",
                open_count(server.process_id())
            );
        }
        let last = &ids[(HANG_UPS - 1) / 50 % 2];
        await_snapshot(&server, last);
        is_done.store(true, Relaxed);
        assert!(asking.join().unwrap().0 > 0);
    });
    await_one_open(&server, &ids[1], &ids[0]);
    let log = server.end(&[]);
    let opened = log.matches("snapshot opened").count();
    assert!(opened <= HANG_UPS / 50 + 1, "{opened} opened");
    // But for those of requests, of which there are as many as the machine is quick.
    let lines = log.lines().filter(|line| !line.contains(" access: ")).count();
    assert!(lines <= HANG_UPS + 2 * opened + 100, "{lines} lines");
}

#[test]
fn a_bad_snapshot_is_refused_each_time_in_one_line_and_changes_nothing() {
    let (snapshots, [whole, part]) = two();
    let swaps = swaps().0;
    let server = Server::serve(&snapshots);
    let manifest = fs::read_to_string(snapshots.path().join(&whole).join("manifest.json")).unwrap();
    let bad = snapshots.path().join("bad");
    fs::create_dir(&bad).unwrap();
    fs::write(bad.join("manifest.json"), manifest).unwrap();
    for at in 1..=swaps {
        point(snapshots.path(), if at % 2 == 0 { "bad" } else { "absent" });
        let begun = Instant::now();
        let refused = || server.log().matches("keeping the served snapshot").count();
        while refused() < at {
            assert!(begun.elapsed() < REPLY_TIMEOUT, "refused {} of {at} times", refused());
            assert_eq!(server.get("/ready").header("x-snapshot-id"), Some(&*part));
            server.send_hangup();
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let log = server.end(&["keeping the served snapshot"]);
    assert!(log.contains("`hashes`: No such file"), "it does not say what is missing:\n{log}");
}

#[test]
fn a_snapshot_that_is_served_is_not_removed_before_it_is_let_go() {
    let (snapshots, [whole, part]) = two();
    let served = Server::serve(&snapshots);
    let fixed = Server::serve_one(&snapshots.path().join(&whole));
    let build = |more: &[&str]| {
        let input = pinakes_tests::sample().join("data/jsonl/topics");
        let options = [&["--quiet", "--allow-shrink", "--keep", "1"], more].concat();
        pinakes_tests::build(&[input], snapshots.path(), &options)
    };
    let third = build(&[]);
    let third = third.file_name().unwrap().to_str().unwrap();
    let is_there = |id: &str| snapshots.path().join(id).exists();
    assert!(is_there(&whole), "one that is served for good is gone");
    await_snapshot(&served, third);
    await_snapshot(&fixed, &whole);
    assert_eq!(fixed.get("/outputs?per_page=100").status, 200);
    let begun = Instant::now();
    while is_there(&part) {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "one that nobody serves any more is still there");
        build(&[]);
    }
    fixed.end(&[]);
    build(&[]);
    assert!(!is_there(&whole) && is_there(third));
    served.end(&[]);
}
