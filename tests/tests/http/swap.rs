//! Other snapshots put in place while the server answers: followed, refused, and let go.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use crate::{
    client::PATIENCE,
    server::{Server, Snapshots},
};

/// Times another snapshot is put in place under load.
const SWAPS: usize = 20;

/// Two snapshots that differ in all they answer with; their ids, the one `current` leads to last.
fn two() -> (Snapshots, [String; 2]) {
    let snapshots = Snapshots::of_sample();
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
        assert!(begun.elapsed() < PATIENCE, "{id} is not served:\n{}", server.log());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether files of a snapshot are mapped by a process.
fn is_mapped(process: u32, id: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/maps")).unwrap().contains(&format!("/{id}/"))
}

#[test]
fn a_snapshot_put_in_place_is_served_without_a_signal() {
    let (snapshots, [whole, part]) = two();
    let server = Server::of_snapshots(&snapshots);
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

#[test]
fn no_answer_fails_or_mixes_snapshots_while_they_are_exchanged() {
    let (snapshots, ids) = two();
    let server = Server::of_snapshots(&snapshots);
    let is_done = AtomicBool::new(false);
    let asked: usize = std::thread::scope(|scope| {
        let ask = || {
            let mut connection = server.connect();
            let mut asked = 0;
            while !is_done.load(Relaxed) {
                let index = connection.get("/");
                let id = index.header("x-snapshot-id").unwrap().to_owned();
                assert_eq!(index.json()["snapshot_id"], id, "an answer of two snapshots");
                let list = connection.get("/outputs?per_page=10");
                let is_whole = list.header("x-snapshot-id") == Some(&*ids[0]);
                let count = list.json()["meta"]["count"].as_u64().unwrap();
                assert_eq!((list.status, count > 0), (200, is_whole), "{}", list.text());
                asked += 2;
            }
            asked
        };
        let asking = [scope.spawn(ask), scope.spawn(ask)];
        for at in 0..SWAPS {
            let id = &ids[at % 2];
            point(snapshots.path(), id);
            server.hang_up();
            await_snapshot(&server, id);
        }
        is_done.store(true, Relaxed);
        asking.into_iter().map(|asking| asking.join().unwrap()).sum()
    });
    assert!(asked > 2 * SWAPS, "{asked} answers");
    let begun = Instant::now();
    while is_mapped(server.process(), &ids[0]) {
        assert!(begun.elapsed() < PATIENCE, "the snapshot of before is still mapped");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_mapped(server.process(), &ids[1]));
    server.end(&[]);
}

#[test]
fn a_bad_snapshot_is_refused_each_time_in_one_line_and_changes_nothing() {
    let (snapshots, [whole, part]) = two();
    let server = Server::of_snapshots(&snapshots);
    let manifest = fs::read_to_string(snapshots.path().join(&whole).join("manifest.json")).unwrap();
    let bad = snapshots.path().join("bad");
    fs::create_dir(&bad).unwrap();
    fs::write(bad.join("manifest.json"), manifest).unwrap();
    for at in 1..=SWAPS {
        point(snapshots.path(), if at % 2 == 0 { "bad" } else { "absent" });
        let begun = Instant::now();
        let refused = || server.log().matches("the snapshot served before stays").count();
        while refused() < at {
            assert!(begun.elapsed() < PATIENCE, "refused {} of {at} times", refused());
            assert_eq!(server.get("/ready").header("x-snapshot-id"), Some(&*part));
            server.hang_up();
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let log = server.end(&["the snapshot served before stays"]);
    assert!(log.contains("`hashes`: No such file"), "it does not say what is missing:\n{log}");
}

#[test]
fn a_snapshot_that_is_served_is_not_removed_before_it_is_let_go() {
    let (snapshots, [whole, part]) = two();
    let served = Server::of_snapshots(&snapshots);
    let fixed = Server::of_snapshot(&snapshots.path().join(&whole));
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
        assert!(begun.elapsed() < PATIENCE, "one that nobody serves any more is still there");
        build(&[]);
    }
    fixed.end(&[]);
    build(&[]);
    assert!(!is_there(&whole) && is_there(third));
    served.end(&[]);
}
