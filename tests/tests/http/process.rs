//! The server process: refused starts, too few file descriptors, and shutdown.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use pinakes_tests::client::request;
use pinakes_tests::server::{Server, Snapshots, command, make_writable};

/// A change of a directory with one snapshot, and words of the refusal.
type Refusal = (&'static str, fn(&Path), &'static [&'static str]);

const REFUSALS: &[Refusal] = &[
    ("no such directory", |at| remove(at), &["current", "No such file"]),
    ("no `current`", |at| remove_link(at), &["current", "No such file"]),
    ("`current` is a directory", |at| relink(at, None), &["current", "expected a symbolic link"]),
    ("`current` leads upwards", |at| relink(at, Some("../x")), &["current", "`../x`"]),
    ("`current` is absolute", |at| relink(at, Some("/etc")), &["current", "`/etc`"]),
    ("`current` leads deeper", |at| relink(at, Some("a/b")), &["current", "`a/b`"]),
    ("`current` leads to itself", |at| relink(at, Some("current")), &["current"]),
    ("`current` leads to nothing", |at| relink(at, Some("nope")), &["nope", "No such file"]),
    (
        "no manifest",
        |at| fs::remove_file(at.join("current/manifest.json")).unwrap(),
        &["manifest.json", "No such file"],
    ),
    (
        "an empty manifest",
        |at| fs::write(at.join("current/manifest.json"), "").unwrap(),
        &["manifest.json", "no manifest"],
    ),
    (
        "a manifest of another version",
        |at| replace(at, "\"format_version\": ", "7"),
        &["manifest.json", "format version 7", "this program reads"],
    ),
    (
        "a manifest with a wrong root",
        |at| replace(at, "\"root\": \"", "zz"),
        &["manifest.json", "expected"],
    ),
    (
        "a manifest with a wrong size",
        |at| replace(at, "\"size_bytes\": ", "1"),
        &["manifest.json", "root hash", "expected"],
    ),
    (
        "a file cut short",
        |at| cut(at, "authors/records"),
        &["authors/records", "bytes, expected", "by the manifest"],
    ),
    (
        "a small file changed",
        |at| flip_first(at, "strings"),
        &["strings", "chunk 0", "the hash the manifest promises"],
    ),
    (
        "a file gone",
        |at| fs::remove_file(at.join("current/topics/ids")).unwrap(),
        &["topics/ids", "No such file"],
    ),
    (
        "a directory for a file",
        |at| {
            fs::remove_file(at.join("current/topics/ids")).unwrap();
            fs::create_dir(at.join("current/topics/ids")).unwrap();
        },
        &["topics/ids", "no regular file"],
    ),
    (
        "a pipe for a file",
        |at| {
            let path = at.join("current/topics/ids");
            fs::remove_file(&path).unwrap();
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        },
        &["topics/ids", "no regular file"],
    ),
    (
        "a link for a file",
        |at| {
            fs::rename(at.join("current/topics/ids"), at.join("ids")).unwrap();
            symlink(at.join("ids"), at.join("current/topics/ids")).unwrap();
        },
        &["topics/ids"],
    ),
];

fn remove(at: &Path) {
    fs::remove_dir_all(at).unwrap();
}

fn remove_link(at: &Path) {
    fs::remove_file(at.join("current")).unwrap();
}

fn relink(at: &Path, to: Option<&str>) {
    remove_link(at);
    match to {
        Some(to) => symlink(to, at.join("current")).unwrap(),
        None => fs::create_dir(at.join("current")).unwrap(),
    }
}

/// Replaces the bytes after the first occurrence of a text in the manifest.
fn replace(at: &Path, after: &str, with: &str) {
    let path = at.join("current/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let from = text.find(after).unwrap_or_else(|| panic!("{after} in {text}")) + after.len();
    fs::write(&path, format!("{}{with}{}", &text[..from], &text[from + with.len()..])).unwrap();
}

fn cut(at: &Path, file: &str) {
    let path = at.join("current").join(file);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
}

fn flip_first(at: &Path, file: &str) {
    let path = at.join("current").join(file);
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::write(&path, &bytes).unwrap();
}

#[test]
fn an_invalid_snapshot_refuses_the_start_with_the_reason() {
    for (name, spoil, words) in REFUSALS {
        let snapshots = Snapshots::from_sample();
        make_writable(snapshots.path());
        spoil(snapshots.path());
        let args = ["--snapshots".as_ref(), snapshots.path().as_os_str()];
        let output = command(&args).output().unwrap();
        let (printed, errors) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(1), "{name}: {errors}");
        assert_eq!(printed, "", "{name}");
        let errors: Vec<&str> = errors.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{name}: {errors:?}");
        let place = snapshots.path().to_str().unwrap();
        for word in words.iter().chain([&place]) {
            assert!(errors[0].contains(word), "{name}: `{word}` is not in `{}`", errors[0]);
        }
        if !snapshots.path().exists() {
            fs::create_dir(snapshots.path()).unwrap();
        }
    }
}

#[test]
fn exactly_one_snapshot_option_is_required() {
    for args in [&[][..], &["--snapshots", "a", "--snapshot", "b"]] {
        let output = command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn an_address_in_use_refuses_the_start() {
    let snapshots = Snapshots::from_sample();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = Command::new(pinakes_tests::program("pinakes-server"));
    command.arg("--snapshots").arg(snapshots.path()).args(["--listen", &address]);
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains(&format!("error: cannot listen on {address}")), "{errors}");
}

#[test]
fn sigterm_stops_the_server_at_once_with_success() {
    let snapshots = Snapshots::from_sample();
    Server::serve(&snapshots).end(&[]);
    let server = Server::serve(&snapshots);
    let mut idle = server.connect();
    assert_eq!(idle.get("/health").status, 200);
    server.end(&[]);
    assert!(idle.is_closed());
}

#[test]
fn a_snapshot_deleted_while_served_still_answers() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let good = server.get("/domains/3").body;
    make_writable(snapshots.path());
    for entry in fs::read_dir(snapshots.path()).unwrap() {
        let path = entry.unwrap().path();
        let is_directory = path.is_dir() && !path.is_symlink();
        let removed = if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.unwrap();
    }
    let mut connection = server.connect();
    assert_eq!(connection.get("/domains/3").body, good);
    for page in 1..=3 {
        let target = format!("/outputs?per_page=100&page={page}");
        assert_eq!(connection.get(&target).status, 200, "{target}");
    }
    drop(connection);
    server.end(&[]);
}

#[test]
fn a_server_without_free_file_descriptors_closes_connections_and_recovers() {
    let snapshots = Snapshots::from_sample();
    let mut limited = Command::new("sh");
    let script = "ulimit -n 300; exec \"$0\" --snapshots \"$1\" --listen 127.0.0.1:0 --client-connections 200";
    limited.args(["-c", script]).arg(pinakes_tests::program("pinakes-server"));
    limited
        .arg(snapshots.path())
        .env("NO_COLOR", "1")
        .env_remove("PINAKES_LOG")
        .env("PINAKES_NO_LIMITS", "true");
    let server = Server::start(&mut limited);
    // The system accepts 200 connections; the server serves half as many as it may open files.
    let mut connections: Vec<_> = (0..200).map(|_| server.connect()).collect();
    let alive = request("GET", "/health", &[]);
    let answered = connections.iter_mut().filter_map(|connection| {
        connection.send(alive.as_bytes()).ok()?;
        connection.receive().ok()
    });
    let answered = answered.filter(|response| response.status == 200).count();
    // Few idle connections leave for new ones.
    assert!((150..160).contains(&answered), "{answered}");
    drop(connections);
    // The server accepts connections again after it has noticed the closed ones.
    let is_back = (0..1_000_000).any(|_| {
        pinakes_tests::pause();
        let mut connection = server.connect();
        connection.send(alive.as_bytes()).is_ok() && connection.receive().is_ok()
    });
    assert!(is_back, "{}", server.log());
    server.end(&[]);
}
