//! Tests of health issues: `/health` and the metrics report the same issues in every state.

use std::{
    ffi::OsStr,
    fs,
    net::SocketAddr,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Instant,
};

use pinakes_tests::{TINY_DUMP, write_files};
use serde_json::{Value, json};

use crate::operations::metrics::{samples, text};
use pinakes_tests::client::{Connection, REPLY_TIMEOUT};
use pinakes_tests::server::{Server, Snapshots, command, make_writable};

/// All health issues, the most severe first.
const ISSUES: [&str; 11] = [
    "unavailable",
    "fallback",
    "takedowns_refused",
    "disk_damaged",
    "disk_refused",
    "mirror_away",
    "mirror_damaged",
    "publication_refused",
    "stale",
    "counters_away",
    "clock_jumped",
];

/// Builds two snapshots and returns their paths, the older first; `current` leads to the newer.
fn two() -> (Snapshots, [PathBuf; 2]) {
    let dump = tempfile::tempdir().unwrap();
    write_files(dump.path(), TINY_DUMP);
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let older = fs::canonicalize(snapshots.path().join("current")).unwrap();
    let dump = tempfile::tempdir().unwrap();
    write_files(
        dump.path(),
        TINY_DUMP.into_iter().filter(|(name, _)| !name.starts_with("funders")),
    );
    let newer = snapshots.add(&[dump.path().to_path_buf()]);
    let newer = fs::canonicalize(newer).unwrap();
    assert_ne!(older, newer);
    make_writable(snapshots.path());
    (snapshots, [older, newer])
}

fn id(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Starts a server with more arguments; returns also its admin address.
fn started(snapshots: &Snapshots, args: &[&OsStr]) -> (Server, SocketAddr) {
    let own: [&OsStr; 4] = [
        "--snapshots".as_ref(),
        snapshots.path().as_os_str(),
        "--admin".as_ref(),
        "127.0.0.1:0".as_ref(),
    ];
    let mut server = Server::start(&mut command(&[&own[..], args].concat()));
    let admin = server.read_admin_address();
    (server, admin)
}

/// Waits until `/health` reports these issues and this snapshot, and asserts that the metrics agree.
#[track_caller]
fn check(server: &Server, admin: SocketAddr, expected: &[&str], snapshot: &Path) {
    let state =
        |health: Value| ["status", "troubles", "snapshot_id"].map(|name| health[name].clone());
    let status = expected.first().unwrap_or(&"ok");
    let right = [json!(status), json!(expected), json!(id(snapshot))];
    let begun = Instant::now();
    while state(server.get("/health").json()) != right {
        let found = server.get("/health").json();
        assert!(begun.elapsed() < REPLY_TIMEOUT, "{found}, expected {right:?}:\n{}", server.log());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(state(Connection::open(admin).get("/health").json()), right);
    let samples = samples(&text(admin));
    for issue in ISSUES {
        let name = format!("pinakes_trouble{{kind=\"{issue}\"}}");
        let value = f64::from(u8::from(expected.contains(&issue)));
        assert_eq!(samples[&name], value, "{issue}, expected {expected:?}");
    }
    let is_ready = !expected.contains(&"unavailable");
    assert_eq!(samples["pinakes_ready"], f64::from(u8::from(is_ready)));
    assert_eq!(server.get("/ready").status, if is_ready { 200 } else { 503 });
}

/// Replaces the link `current`, as the compiler does.
fn point(snapshots: &Snapshots, to: &str) {
    let fresh = snapshots.path().join(".fresh");
    symlink(to, &fresh).unwrap();
    fs::rename(&fresh, snapshots.path().join("current")).unwrap();
}

#[test]
fn a_fallback_snapshot_is_reported_until_the_current_one_is_intact() {
    let (snapshots, [older, newer]) = two();
    let (server, admin) = started(&snapshots, &[]);
    check(&server, admin, &[], &newer);
    // The new target is rejected, and the served snapshot stays.
    point(&snapshots, "nowhere");
    check(&server, admin, &["fallback"], &newer);
    point(&snapshots, id(&newer));
    check(&server, admin, &[], &newer);
    // The link or its target is missing, and the server notices without a signal.
    for gone in [snapshots.path().join("current"), newer.clone()] {
        let aside = snapshots.path().join(".aside");
        fs::rename(&gone, &aside).unwrap();
        check(&server, admin, &["fallback"], &newer);
        fs::rename(&aside, &gone).unwrap();
        check(&server, admin, &[], &newer);
    }
    // The current snapshot is damaged, later the fallback too.
    let file = newer.join("outputs/records");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..10]).unwrap();
    check(&server, admin, &["fallback"], &older);
    let other = older.join("outputs/records");
    let other_bytes = fs::read(&other).unwrap();
    fs::write(&other, &other_bytes[..10]).unwrap();
    check(&server, admin, &["unavailable"], &older);
    fs::write(&file, &bytes).unwrap();
    server.send_hangup();
    check(&server, admin, &[], &newer);
    server.end(&["snapshot poisoned", "no other snapshot", "keeping the served snapshot"]);
}

#[test]
fn a_rejected_suppression_list_is_reported_and_logged_again_on_each_reload() {
    let (snapshots, [_, newer]) = two();
    let list = snapshots.path().join(".suppressed");
    fs::write(&list, "HX_A1\n").unwrap();
    let (server, admin) = started(&snapshots, &["--suppress".as_ref(), list.as_os_str()]);
    check(&server, admin, &[], &newer);
    let mut seen = 0;
    let mut await_line = |why: &str| {
        let logged = || server.log().matches("keeping the previous list").count();
        let begun = Instant::now();
        while logged() == seen {
            assert!(begun.elapsed() < REPLY_TIMEOUT, "{why} is not logged:\n{}", server.log());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        seen = logged();
    };
    for bad in ["Ada Example\n", ""] {
        fs::write(&list, bad).unwrap();
        check(&server, admin, &["takedowns_refused"], &newer);
        await_line(bad);
        server.send_hangup();
        await_line("a reload");
    }
    fs::write(&list, "HX_A1\nHX_A404\n").unwrap();
    check(&server, admin, &[], &newer);
    server.end(&["keeping the previous list"]);
}

/// Damages a snapshot.
type Damage = fn(&Path);

/// Damage with which the server still starts: name, action, and words in the log.
const DAMAGES: &[(&str, Damage, &str)] = &[
    ("a file cut short", |at| cut(at, "authors/records"), "`authors/records`"),
    ("a file gone", |at| fs::remove_file(at.join("topics/ids")).unwrap(), "`topics/ids`"),
    ("a small file changed", |at| flip_first(at, "strings"), "`strings`"),
];

fn cut(at: &Path, file: &str) {
    let bytes = fs::read(at.join(file)).unwrap();
    fs::write(at.join(file), &bytes[..bytes.len() - 1]).unwrap();
}

fn flip_first(at: &Path, file: &str) {
    let mut bytes = fs::read(at.join(file)).unwrap();
    bytes[0] ^= 1;
    fs::write(at.join(file), &bytes).unwrap();
}

#[test]
fn starting_with_a_damaged_snapshot_serves_and_reports_the_previous_one() {
    for (name, damage, words) in DAMAGES {
        let (snapshots, [older, newer]) = two();
        damage(&newer);
        let (server, admin) = started(&snapshots, &[]);
        check(&server, admin, &["fallback"], &older);
        assert_eq!(server.get("/funders/HX_F1").status, 200, "{name}");
        server.await_log(&["ERROR", "refused the snapshot of `current`", words, id(&newer)]);
        server.await_log(&["WARN", "serving another snapshot in its place", id(&older)]);
        // The damaged snapshot is rejected again on reload; a rebuilt one is served.
        server.send_hangup();
        server.await_log(&["ERROR", "keeping the served snapshot", words]);
        check(&server, admin, &["fallback"], &older);
        let dump = tempfile::tempdir().unwrap();
        let files = TINY_DUMP.into_iter().filter(|(name, _)| !name.starts_with("funders"));
        write_files(dump.path(), files);
        assert_eq!(fs::canonicalize(snapshots.add(&[dump.path().to_path_buf()])).unwrap(), newer);
        check(&server, admin, &[], &newer);
        server.end(&["refused the snapshot of `current`", "keeping the served snapshot"]);
    }
}

/// Asserts that the server refuses to start, with these words in the error.
#[track_caller]
fn check_refused(snapshots: &Snapshots, args: &[&OsStr], words: &[&str]) {
    let own = ["--snapshots".as_ref(), snapshots.path().as_os_str()];
    let output = command(&[&own[..], args].concat()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{errors}");
    let error = errors.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    assert!(words.iter().all(|word| error.contains(word)), "{errors}");
}

#[test]
fn starting_never_falls_back_to_a_less_suppressed_or_rolled_back_snapshot() {
    // Without the manifest, the suppressed records of the snapshot are unknown.
    let (snapshots, [_, newer]) = two();
    fs::write(newer.join("manifest.json"), "").unwrap();
    check_refused(&snapshots, &[], &["manifest.json", "no manifest"]);
    // The other snapshot shows records that the current one suppresses.
    let (snapshots, _) = two();
    let (dump, list) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
    write_files(dump.path(), TINY_DUMP);
    fs::write(list.path(), "HX_A1\n").unwrap();
    let more = ["--quiet", "--allow-shrink", "--suppress", list.path().to_str().unwrap()];
    let less = pinakes_tests::build(&[dump.path().to_path_buf()], snapshots.path(), &more);
    make_writable(&less);
    cut(&less, "authors/records");
    check_refused(&snapshots, &[], &["authors/records", "bytes, expected"]);
    // The other snapshot was rolled back.
    let (snapshots, [older, newer]) = two();
    let led = [OsStr::new("rollback"), snapshots.path().as_os_str()];
    assert!(pinakes_tests::compiler(&led).status.success());
    cut(&older, "authors/records");
    check_refused(&snapshots, &[], &["authors/records", "bytes, expected"]);
    assert!(newer.exists());
    // With `--verify` the other snapshot is verified completely, and it is damaged too.
    let (snapshots, [older, newer]) = two();
    cut(&newer, "authors/records");
    let mut bytes = fs::read(older.join("outputs/records")).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(older.join("outputs/records"), bytes).unwrap();
    check_refused(&snapshots, &["--verify".as_ref()], &["authors/records", "bytes, expected"]);
}
