//! A server with `--from` writes its directory by the rules that hold for the compiler.

use std::{
    fs::{self, Permissions},
    io::{BufRead, BufReader, Read},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Stdio,
    time::Duration,
};

use chrono::{DateTime, SecondsFormat, Utc};
use pinakes_tests::static_host::Host;
use pinakes_tests::{compiler, make_writable};

use crate::upstream::follow::served;
use crate::upstream::setup::{ChangingTree, Edition, Mirror, pubkey, publish_at, run};

/// An address at which nobody listens.
const AWAY: &str = "http://127.0.0.1:9/";

/// Starts a server that must refuse to start, and returns the errors.
#[track_caller]
fn refused(mirror: &Mirror, url: &str) -> String {
    let mut command = mirror.command_from(&[url], &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A server that starts prints its address.
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if !line.is_empty() {
        child.kill().unwrap();
    }
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((status.code(), line.as_str()), (Some(1), ""), "{errors}");
    errors
}

/// The snapshot of `current`.
fn current(mirror: &Mirror) -> String {
    fs::read_link(mirror.path().join("current")).unwrap().into_os_string().into_string().unwrap()
}

#[test]
fn a_directory_that_somebody_may_redirect_is_refused() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let mode = |mode| fs::set_permissions(mirror.path(), Permissions::from_mode(mode)).unwrap();
    fs::create_dir(mirror.path()).unwrap();
    mode(0o777);
    let errors = refused(&mirror, &host.url());
    assert!(errors.contains("may be written by everybody"), "{errors}");
    mode(0o755);
    let link = Mirror::at(mirror.path().with_file_name("link"));
    symlink(mirror.path(), link.path()).unwrap();
    let errors = refused(&link, &host.url());
    assert!(errors.contains("is a symbolic link; give the directory"), "{errors}");
    assert_eq!(fs::read_dir(mirror.path()).unwrap().count(), 0);
    mirror.start(&host.url(), &[]).end(&[]);
}

#[test]
fn what_killed_runs_left_is_removed_and_a_due_snapshot_becomes_current() {
    let tree = ChangingTree::of(Edition::Old);
    let host = Host::new(tree.path());
    let mirror = Mirror::pulled(&host.url());
    // Whole seconds, as the publication has.
    let activates_at = DateTime::from_timestamp(Utc::now().timestamp() + 4, 0).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let newer = directory.path().join("tree");
    publish_at(Edition::New, &newer, &activates_at.to_rfc3339_opts(SecondsFormat::Secs, true));
    tree.leads_to(&newer);
    mirror.pull(&host.url());
    assert_eq!(current(&mirror), Edition::Old.id(), "publishing took too long");
    while Utc::now() < activates_at {
        std::thread::sleep(Duration::from_millis(20));
    }
    // A snapshot that has its name and was never current, and a directory of a run.
    let at = |name: &str| mirror.path().join(name);
    fs::create_dir(at("0123456789abcdef")).unwrap();
    symlink("0123456789abcdef", at(".tmp-placed-7")).unwrap();
    fs::create_dir(at(".tmp-7")).unwrap();

    let server = mirror.start(AWAY, &[]);
    assert_eq!((current(&mirror), served(&server)), (Edition::New.id(), Edition::New.id()));
    let history = fs::read_to_string(at(".history")).unwrap();
    assert_eq!(history, format!("{}\n{}\n", Edition::Old.id(), Edition::New.id()));
    for name in ["next", ".tmp-placed-7", ".tmp-7", "0123456789abcdef"] {
        assert!(fs::symlink_metadata(at(name)).is_err(), "{name}");
    }
    server.end(&[]);
}

/// Runs `rollback` on a mirror.
fn roll_back(mirror: &Mirror, more: &[&str]) {
    let path = mirror.path();
    run(&[&["rollback", path.to_str().unwrap()], more].concat());
}

#[test]
fn a_snapshot_that_was_rolled_back_does_not_come_back() {
    let tree = ChangingTree::of(Edition::Old);
    let host = Host::new(tree.path());
    let mirror = Mirror::pulled(&host.url());
    tree.becomes(Edition::New);
    mirror.pull(&host.url());
    roll_back(&mirror, &[]);
    let server = mirror.start(&host.url(), &["--from-interval", "1"]);
    server.await_log(&[&Edition::New.id(), "was rolled back from"]);
    let looks = || host.asked().iter().filter(|asked| asked.path == "publication.json").count();
    let (begun, before) = (std::time::Instant::now(), looks());
    while looks() < before + 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the server does not look");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((current(&mirror), served(&server)), (Edition::Old.id(), Edition::Old.id()));
    assert_eq!(server.get("/health").json()["troubles"].to_string(), "[]");
    server.end(&[]);
    assert_eq!(current(&mirror), Edition::Old.id());

    roll_back(&mirror, &["--to", &Edition::New.id()]);
    let server = mirror.start(&host.url(), &[]);
    assert_eq!(served(&server), Edition::New.id());
    server.end(&[]);
}

/// Leaves only the file of seen publications in a directory of snapshots.
fn forget_all_but_seen(path: &Path) {
    make_writable(path);
    let seen = path.join("publications/seen.json");
    let text = fs::read(&seen).unwrap();
    fs::remove_dir_all(path).unwrap();
    fs::create_dir_all(seen.parent().unwrap()).unwrap();
    fs::write(seen, text).unwrap();
}

#[test]
fn a_publication_older_than_one_that_was_seen_is_refused() {
    let tree = ChangingTree::of(Edition::New);
    let host = Host::new(tree.path());
    // A pull saw the newer one.
    let mirror = Mirror::pulled(&host.url());
    forget_all_but_seen(&mirror.path());
    tree.becomes(Edition::Old);
    // The key counts, whatever the address.
    let other = Host::new(tree.path());
    for url in [host.url(), other.url()] {
        let errors = refused(&mirror, &url);
        assert!(errors.contains("is older than version"), "{errors}");
    }

    // A server saw the newer one.
    tree.becomes(Edition::New);
    let mirror = Mirror::empty();
    mirror.start(&host.url(), &[]).end(&[]);
    forget_all_but_seen(&mirror.path());
    tree.becomes(Edition::Old);
    let (out, pubkey, url) = (mirror.path(), pubkey(), host.url());
    let pull = ["pull".as_ref(), url.as_ref(), "--out".as_ref(), out.as_os_str()];
    let pulled = compiler(&[&pull[..], &["--pubkey".as_ref(), pubkey.as_os_str()]].concat());
    let errors = String::from_utf8_lossy(&pulled.stderr);
    assert_eq!(pulled.status.code(), Some(9), "{errors}");
    assert!(errors.contains("is older than version"), "{errors}");
}
