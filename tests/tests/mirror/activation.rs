//! Tests that the servers of several mirrors switch to a published snapshot at the time that it states.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use crate::mirror::setup::{Edition, Run, Setup, command, run};
use pinakes_tests::client::{Connection, REPLY_TIMEOUT};
use pinakes_tests::server::{Server, command as server_command, make_writable};
use pinakes_tests::static_host::Host;

/// How late a reply of the earlier snapshot may begin; a loaded machine delays threads.
const LATE_MAX: TimeDelta = TimeDelta::milliseconds(250);
/// How long before its activation a snapshot is published: longer than two pulls take.
const AHEAD: TimeDelta = TimeDelta::seconds(6);
/// An activation that no test reaches.
const FAR: TimeDelta = TimeDelta::days(30);

/// A mirror's directory of snapshots.
struct Mirror(PathBuf);

impl Drop for Mirror {
    fn drop(&mut self) {
        make_writable(&self.0);
    }
}

impl Mirror {
    fn new(setup: &Setup, name: &str) -> Mirror {
        Mirror(setup.path().join(name))
    }

    #[track_caller]
    fn pull(&self, setup: &Setup, host: &Host, more: &[&str]) -> Run {
        let (pubkey, url) = (setup.pubkey("ours"), host.url());
        let mut args: Vec<&OsStr> = vec!["pull".as_ref(), url.as_ref(), "--out".as_ref()];
        args.extend([self.0.as_os_str(), "--pubkey".as_ref(), pubkey.as_os_str()]);
        args.extend(more.iter().map(OsStr::new));
        let output = command(&args).output().unwrap();
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        Run { code: Some(0), stdout, stderr }
    }

    fn run(&self, command: &str, more: &[&str]) -> Run {
        let mut args: Vec<&OsStr> = vec![command.as_ref(), self.0.as_os_str()];
        args.extend(more.iter().map(OsStr::new));
        run(&args)
    }

    fn link(&self, name: &str) -> Option<String> {
        let target = fs::read_link(self.0.join(name)).ok()?;
        Some(target.into_os_string().into_string().unwrap())
    }

    /// Asserts where `current` and `next` lead.
    #[track_caller]
    fn assert_links(&self, current: Edition, next: Option<Edition>) {
        let expected = (Some(current.id()), next.map(Edition::id));
        assert_eq!((self.link("current"), self.link("next")), expected);
    }

    fn serve(&self) -> Server {
        Server::start(&mut server_command(&["--snapshots".as_ref(), self.0.as_os_str()]))
    }
}

fn as_text(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Publishes `New` for a time.
fn schedule(setup: &Setup, ahead: TimeDelta) -> DateTime<Utc> {
    let at = Utc::now() + ahead;
    setup.publish(Edition::New, &["--activate-at", &as_text(at)]);
    setup.publication().activates_at().unwrap()
}

/// A publisher of `Old`, and a mirror that has pulled it.
fn with_old() -> (Setup, Host, Mirror) {
    let setup = Setup::with(Edition::Old);
    let host = setup.host();
    let mirror = Mirror::new(&setup, "mirror");
    mirror.pull(&setup, &host, &["--quiet"]);
    (setup, host, mirror)
}

fn served(server: &Server) -> String {
    let ready = server.get("/ready");
    assert_eq!(ready.status, 200);
    ready.header("x-snapshot-id").unwrap().to_owned()
}

/// Waits until the server answers from a snapshot.
#[track_caller]
fn await_served(server: &Server, id: &str) {
    let begun = std::time::Instant::now();
    while served(server) != id {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "{}", server.log());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn sleep_until(time: DateTime<Utc>) {
    std::thread::sleep((time - Utc::now()).to_std().unwrap_or_default());
}

/// Asks a server until done. Every reply must succeed, and none may be of `New` before its time.
///
/// Returns the number of replies, and when the last request that got `Old` and the first that got `New` began.
fn ask_until(
    server: &Server,
    is_done: &AtomicBool,
    activates_at: DateTime<Utc>,
) -> (usize, [DateTime<Utc>; 2]) {
    let (old, new) = (Edition::Old.id(), Edition::New.id());
    let mut connection = server.connect();
    let (mut replies, mut last_old, mut first_new) = (0, Utc::now(), None);
    while !is_done.load(Relaxed) {
        let begun = Utc::now();
        let reply = connection.get("/");
        let id = reply.header("x-snapshot-id").unwrap().to_owned();
        assert_eq!((reply.status, reply.json()["snapshot_id"].as_str()), (200, Some(&*id)));
        if id == new {
            assert!(Utc::now() >= activates_at, "{new} is served before its time");
            first_new.get_or_insert(begun);
        } else {
            assert_eq!((&id, first_new), (&old, None), "a switch back");
            last_old = begun;
        }
        replies += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    (replies, [last_old, first_new.expect("the server switches")])
}

#[test]
fn the_servers_of_two_mirrors_switch_at_one_instant() {
    let (setup, host, early) = with_old();
    let late = Mirror::new(&setup, "late");
    late.pull(&setup, &host, &["--quiet"]);
    let servers = [early.serve(), late.serve()];
    let at = schedule(&setup, AHEAD);
    let pulled = early.pull(&setup, &host, &[]);
    let switch = format!(", servers switch at {}; ", setup.publication().activate_at.unwrap());
    assert!(pulled.stderr.contains(&switch), "{}", pulled.stderr);
    std::thread::sleep(Duration::from_millis(700));
    late.pull(&setup, &host, &["--quiet"]);
    assert!(Utc::now() < at - TimeDelta::seconds(1), "the pulls took too long for this test");
    // A server that starts between the pull and the activation switches as well.
    let servers = servers.into_iter().chain([late.serve()]).collect::<Vec<Server>>();
    let is_done = AtomicBool::new(false);
    let measured: Vec<_> = std::thread::scope(|scope| {
        let is_done = &is_done;
        let ask = |server| scope.spawn(move || ask_until(server, is_done, at));
        let asking: Vec<_> = servers.iter().map(ask).collect();
        sleep_until(at + TimeDelta::milliseconds(700));
        is_done.store(true, Relaxed);
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    for (replies, times) in &measured {
        let [last_old, first_new] = times.map(|time| (time - at).num_microseconds().unwrap());
        println!(
            "{replies} replies; the last of the earlier snapshot began {last_old} µs after the activation, \
             the first of the new one {first_new} µs"
        );
        assert!(times[0] - at <= LATE_MAX, "{last_old} µs");
    }

    // `current` still leads to the earlier snapshot; nothing switches back.
    early.assert_links(Edition::Old, Some(Edition::New));
    for server in &servers {
        server.send_hangup();
        server.await_log(&["`current` still points"]);
        assert_eq!(served(server), Edition::New.id());
    }
    assert!(early.run("inspect", &[]).stdout.contains(&Edition::New.id()));
    // A server that starts now serves the scheduled snapshot.
    let restarted = early.serve();
    assert_eq!(served(&restarted), Edition::New.id());
    restarted.end(&[]);
    // The next run makes it current, and no server opens it again.
    early.pull(&setup, &host, &["--quiet"]);
    early.assert_links(Edition::New, None);
    assert_eq!(late.run("rollback", &["--to", &Edition::New.id()]).code, Some(0));
    late.assert_links(Edition::New, None);
    for (server, opened) in servers.into_iter().zip([2, 2, 2]) {
        server.send_hangup();
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(served(&server), Edition::New.id());
        assert_eq!(server.end(&[]).matches("snapshot opened;").count(), opened);
    }
    // The instant that both take part in leads back as after any publication.
    assert_eq!(early.run("rollback", &[]).code, Some(0));
    early.assert_links(Edition::Old, None);
}

#[test]
fn a_rollback_withdraws_a_scheduled_snapshot() {
    let (setup, host, mirror) = with_old();
    let args = ["--admin".as_ref(), "127.0.0.1:0".as_ref(), "--snapshots".as_ref()];
    let args = [&args[..], &[mirror.0.as_os_str()]].concat();
    let mut server = Server::start(&mut server_command(&args));
    let admin = server.read_admin_address();
    let metric = || {
        let response = Connection::open(admin).get("/metrics");
        let name = "pinakes_activation_timestamp_seconds ";
        let value = response.text().lines().find_map(|line| line.strip_prefix(name)).unwrap();
        value.parse::<f64>().unwrap()
    };
    let await_metric = |is_expected: &dyn Fn(f64) -> bool| {
        let begun = std::time::Instant::now();
        while !is_expected(metric()) {
            assert!(begun.elapsed() < REPLY_TIMEOUT, "{}\n{}", metric(), server.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let at = schedule(&setup, FAR);
    mirror.pull(&setup, &host, &["--quiet"]);
    await_metric(&|value| (value - at.timestamp_millis() as f64 / 1_000.0).abs() < 0.01);
    // The second pull replaces the link; the server keeps the open snapshot.
    let at = schedule(&setup, FAR);
    mirror.pull(&setup, &host, &["--quiet"]);
    await_metric(&|value| (value - at.timestamp_millis() as f64 / 1_000.0).abs() < 0.01);
    let (old, new) = (Edition::Old.id(), Edition::New.id());
    assert_eq!(served(&server), old);

    let rolled = mirror.run("rollback", &[]);
    let place = mirror.0.display();
    assert!(rolled.stderr.contains(&format!("withdrew {new}, which was scheduled\n")));
    let again = format!("to do so, run `rollback {place} --to {new}`");
    assert!(rolled.stderr.contains(&again), "{}", rolled.stderr);
    assert_eq!(rolled.stdout, format!("{}\n", mirror.0.join(&old).display()));
    mirror.assert_links(Edition::Old, None);
    await_metric(&|value| value == 0.0);
    let pulled = mirror.pull(&setup, &host, &["--quiet"]);
    let warning = format!("{new} was rolled back from, and `current` still points at {old}");
    assert!(pulled.stderr.contains(&warning), "{}", pulled.stderr);
    mirror.assert_links(Edition::Old, None);
    assert_eq!(served(&server), old);
    // The operator may serve it at once.
    assert_eq!(mirror.run("rollback", &["--to", &new]).code, Some(0));
    mirror.assert_links(Edition::New, None);
    await_served(&server, &new);
    assert_eq!(server.end(&[]).matches("snapshot opened;").count(), 3);
}

#[test]
fn a_later_publication_replaces_a_scheduled_snapshot() {
    let (setup, host, mirror) = with_old();
    schedule(&setup, FAR);
    // A scheduled snapshot counts as kept, and outlives `--keep 1`.
    mirror.pull(&setup, &host, &["--quiet", "--keep", "1"]);
    mirror.assert_links(Edition::Old, Some(Edition::New));
    // `current` that is changed by hand is a later decision than the link.
    fs::remove_file(mirror.0.join("current")).unwrap();
    symlink(Edition::Old.id(), mirror.0.join("current")).unwrap();
    mirror.pull(&setup, &host, &["--quiet", "--keep", "1"]);
    mirror.assert_links(Edition::Old, Some(Edition::New));
    setup.publish(Edition::Tiny, &["--activate-at", &as_text(Utc::now() + FAR)]);
    mirror.pull(&setup, &host, &["--quiet", "--keep", "2"]);
    mirror.assert_links(Edition::Old, Some(Edition::Tiny));
    assert!(!mirror.0.join(Edition::New.id()).exists(), "`--keep` removes what is not scheduled");
    setup.publish(Edition::New, &[]);
    mirror.pull(&setup, &host, &["--quiet"]);
    mirror.assert_links(Edition::New, None);
    // The current snapshot is never scheduled.
    schedule(&setup, FAR);
    mirror.pull(&setup, &host, &["--quiet"]);
    mirror.assert_links(Edition::New, None);
}

#[test]
fn an_unusable_next_is_refused_and_current_stays_in_force() {
    let (setup, host, mirror) = with_old();
    let server = mirror.serve();
    let next = mirror.0.join("next");
    let refuse = |target: Option<&str>, reason: &str| {
        match target {
            Some(target) => symlink(target, &next).unwrap(),
            None => fs::write(&next, "22").unwrap(),
        }
        server.await_log(&["ERROR", "refused the scheduled snapshot", "`current` stays", reason]);
        assert_eq!(served(&server), Edition::Old.id());
        assert_eq!(mirror.run("inspect", &[]).code, Some(0));
        fs::remove_file(&next).unwrap();
        // The server notices the removal before the next link, which may have the same inode.
        std::thread::sleep(Duration::from_millis(700));
    };
    refuse(Some("../elsewhere"), "the target is `../elsewhere`");
    refuse(Some("/etc"), "the target is `/etc`");
    refuse(Some("2222222222222222"), "No such file or directory");
    refuse(Some("publications"), "publications.json` is no publication of that snapshot");
    let old = Edition::Old.id();
    refuse(
        Some(&old),
        &format!("{old}.json` is no publication of that snapshot with `activate_at`"),
    );
    refuse(None, "Invalid argument");
    assert_eq!(server.log().matches("refused the scheduled snapshot").count(), 6);

    // A damaged snapshot is refused ahead of its time, and again when the time has come.
    let at = schedule(&setup, AHEAD);
    let id = Edition::New.id();
    mirror.pull(&setup, &host, &["--quiet"]);
    let manifest = mirror.0.join(&id).join("manifest.json");
    make_writable(&mirror.0);
    let text = fs::read(&manifest).unwrap();
    fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    // Another link, so that the server opens the damaged snapshot.
    fs::remove_file(&next).unwrap();
    std::thread::sleep(Duration::from_millis(700));
    symlink(&id, &next).unwrap();
    server.await_log(&["ERROR", "trying again at its time", &id]);
    assert!(Utc::now() < at, "the pull took too long for this test");
    sleep_until(at);
    server.await_log(&["ERROR", "cannot load the snapshot"]);
    assert_eq!(served(&server), Edition::Old.id());
    assert_eq!(server.get("/health").json()["status"], "fallback");
    let restarted = mirror.serve();
    assert_eq!(served(&restarted), Edition::Old.id());
    restarted.await_log(&["ERROR", "cannot load the snapshot"]);
    restarted.end(&["cannot load the snapshot"]);
    // Repaired, it is served without another run.
    fs::write(&manifest, &text).unwrap();
    await_served(&server, &id);
    assert_eq!(server.get("/health").json()["status"], "ok");
    server.end(&["refused the scheduled snapshot", "cannot load the snapshot"]);
}

#[test]
fn publish_refuses_what_is_no_time_before_the_expiry() {
    let setup = Setup::new();
    for time in
        ["tomorrow", "2026-12-01", "2026-12-01T06:00:00", "1768111200", "2026-13-01T06:00:00Z"]
    {
        let refused = setup.try_publish(Edition::Tiny, &["--activate-at", time]);
        assert_eq!(refused.code, Some(2), "{time}: {}", refused.stderr);
        assert!(refused.stderr.contains("expected a time with its zone"), "{}", refused.stderr);
    }
    let late = as_text(Utc::now() + TimeDelta::days(61));
    let refused = setup.try_publish(Edition::Tiny, &["--activate-at", &late]);
    let error = format!(
        "error: `activate_at` is `{late}`, expected a moment before `expires`, as `2026-01-31T00:00:00Z`\n"
    );
    assert_eq!((refused.code, refused.stderr), (Some(2), error));
    assert!(!setup.tree().join("publication.json").exists());
    // Another zone is written in UTC.
    setup.publish(
        Edition::Tiny,
        &["--valid-days", "36500", "--activate-at", "2098-12-01T07:00:00+01:00"],
    );
    assert_eq!(setup.publication().activate_at.as_deref(), Some("2098-12-01T06:00:00Z"));
    // A time that has passed activates at once.
    let passed = setup.try_publish(Edition::Tiny, &["--activate-at", "2026-01-01T00:00:00Z"]);
    let warning = "warning: `--activate-at` 2026-01-01T00:00:00Z has passed; servers switch as soon as they pull\n";
    assert_eq!((passed.code, passed.stderr.as_str()), (Some(0), warning));
    let host = setup.host();
    setup.assert_current(Edition::Tiny, &setup.pull(&host.url(), &["--quiet"]));
    assert!(!setup.out().join("next").exists());
}
