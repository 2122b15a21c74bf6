//! Snapshot swaps: the server follows `current`, refuses bad snapshots and closes old snapshots.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use pinakes_tests::client::REPLY_TIMEOUT;
use pinakes_tests::server::{Server, Snapshots};

/// Default number of snapshot changes under load.
///
/// If `PINAKES_SWAPS` sets the number, the test also checks the slowest reply.
const SWAPS: usize = 20;
/// Longest time of a reply during changes.
const REPLY_TIME_MAX: Duration = Duration::from_millis(250);
/// Number of signals, sent as fast as possible.
const HANGUPS: usize = 1_000;

/// Returns the number of changes, and whether replies are timed.
fn swaps() -> (usize, bool) {
    let given = std::env::var("PINAKES_SWAPS").ok();
    (given.as_ref().map_or(SWAPS, |count| count.parse().unwrap()), given.is_some())
}

/// Publishes two snapshots that differ in every reply; `current` links to the second id.
fn two() -> (Snapshots, [String; 2]) {
    let snapshots = Snapshots::from_sample();
    let jsonl = pinakes_tests::sample().join("data/jsonl");
    let whole = snapshots.open().manifest().id.clone();
    snapshots.add(&[jsonl.join("topics"), jsonl.join("domains")]);
    let part = snapshots.open().manifest().id.clone();
    assert_ne!(whole, part);
    (snapshots, [whole, part])
}

/// Replaces the link `current`, as the compiler does.
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

/// Returns whether a process maps a file of a snapshot.
fn is_mapped(process: u32, id: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/maps")).unwrap().contains(&format!("/{id}/"))
}

/// Counts the snapshots that a process has open, by their manifests.
fn open_count(process: u32) -> usize {
    let files = fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
    let leads = files.filter_map(|file| fs::read_link(file.path()).ok());
    leads.filter(|path| path.ends_with("manifest.json")).count()
}

#[test]
fn a_new_current_snapshot_is_served_without_a_signal() {
    let (snapshots, [whole, part]) = two();
    let server = Server::serve(&snapshots);
    await_snapshot(&server, &part);
    point(snapshots.path(), &whole);
    await_snapshot(&server, &whole);
    // While `current` is missing, the served snapshot stays.
    fs::remove_file(snapshots.path().join("current")).unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    await_snapshot(&server, &whole);
    point(snapshots.path(), &part);
    await_snapshot(&server, &part);
    assert_eq!(server.end(&[]).matches("snapshot opened").count(), 3);
}

/// Sends requests until done; every reply must succeed and come from one snapshot.
///
/// Returns the number of replies and the longest time of a reply.
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
fn no_reply_fails_or_mixes_snapshots_during_swaps() {
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
    assert!(asked > 2 * swaps, "{asked} replies");
    assert!(!is_measured || longest <= REPLY_TIME_MAX, "{longest:?}, ceiling {REPLY_TIME_MAX:?}");
    await_one_open(&server, &ids[(swaps - 1) % 2], &ids[swaps % 2]);
    server.end(&[]);
}

/// Waits until one snapshot is open and mapped, and the other snapshot is neither.
#[track_caller]
fn await_one_open(server: &Server, id: &str, other: &str) {
    let begun = Instant::now();
    while is_mapped(server.process_id(), other) || open_count(server.process_id()) > 1 {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "the previous snapshot is still mapped");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_mapped(server.process_id(), id));
}

#[test]
fn many_hangup_signals_swap_the_snapshot_and_keep_at_most_two_open() {
    let (snapshots, ids) = two();
    let server = Server::serve(&snapshots);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask_until(&server, &is_done, &ids[0]));
        for at in 0..HANGUPS {
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
        let last = &ids[(HANGUPS - 1) / 50 % 2];
        await_snapshot(&server, last);
        is_done.store(true, Relaxed);
        assert!(asking.join().unwrap().0 > 0);
    });
    await_one_open(&server, &ids[1], &ids[0]);
    let log = server.end(&[]);
    let opened = log.matches("snapshot opened").count();
    assert!(opened <= HANGUPS / 50 + 1, "{opened} opened");
    // The access log is excluded: its length depends on the speed of the machine.
    let lines = log.lines().filter(|line| !line.contains(" access: ")).count();
    assert!(lines <= HANGUPS + 2 * opened + 100, "{lines} lines");
}

#[test]
fn a_bad_snapshot_swap_is_refused_with_one_line_each_and_the_served_one_stays() {
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
    assert!(
        log.contains("`hashes`: No such file"),
        "the log does not name the missing file:\n{log}"
    );
}

#[test]
fn after_a_swap_a_snapshot_is_pruned_only_when_no_server_uses_it() {
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
    assert!(is_there(&whole), "a snapshot in use was removed");
    await_snapshot(&served, third);
    await_snapshot(&fixed, &whole);
    assert_eq!(fixed.get("/outputs?per_page=100").status, 200);
    let begun = Instant::now();
    while is_there(&part) {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "an unused snapshot was not removed");
        build(&[]);
    }
    fixed.end(&[]);
    build(&[]);
    assert!(!is_there(&whole) && is_there(third));
    served.end(&[]);
}
