//! The server as a process of its own, and the snapshots it is given.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

pub use crate::make_writable;
use pinakes_format::snapshot::Snapshot;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::{Connection, PATIENCE, Response};

/// How long an idle server may take to end: half of what it allows requests that are under way.
const ENDING_MAX: Duration = Duration::from_secs(5);

/// A directory of published snapshots, removed with the test.
pub struct Snapshots(tempfile::TempDir);

impl Snapshots {
    /// One snapshot, of the whole sample.
    pub fn of_sample() -> Snapshots {
        Snapshots::of(&[crate::sample()])
    }

    /// One snapshot, of these inputs.
    pub fn of(inputs: &[PathBuf]) -> Snapshots {
        let snapshots = Snapshots(tempfile::tempdir().unwrap());
        crate::publish(inputs, snapshots.path(), &["--quiet", "--allow-shrink"]);
        snapshots
    }

    /// A snapshot of these inputs, and another, which is current, of what that one exports.
    #[allow(dead_code, reason = "of the tests that ask for all that an export has")]
    pub fn of_export(inputs: &[PathBuf]) -> Snapshots {
        let snapshots = Snapshots(tempfile::tempdir().unwrap());
        crate::republish(inputs, snapshots.path());
        snapshots
    }

    /// Publishes another, to which `current` then leads.
    pub fn add(&self, inputs: &[PathBuf]) -> PathBuf {
        crate::build(inputs, self.path(), &["--quiet", "--allow-shrink"])
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn open(&self) -> Snapshot {
        Snapshot::open(&self.path().join("current")).unwrap()
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        make_writable(self.path());
    }
}

/// Whether a line of the log is an error's, whatever a request's target holds.
fn is_error(line: &str) -> bool {
    line.split_ascii_whitespace().nth(1) == Some("ERROR")
}

/// The server with arguments, and nothing of the environment's.
pub fn command<A: AsRef<OsStr>>(args: &[A]) -> Command {
    let mut command = Command::new(crate::program("pinakes-server"));
    command.args(args).args(["--listen", "127.0.0.1:0"]);
    for name in ["SNAPSHOTS", "SNAPSHOT", "LISTEN", "VERIFY", "LOG", "SUPPRESS"] {
        command.env_remove(format!("PINAKES_{name}"));
    }
    // Tests ask more than any client may; those of limits say so.
    command.env("PINAKES_NO_LIMITS", "true");
    command.env("NO_COLOR", "1").env("RUST_BACKTRACE", "0");
    command
}

/// A server that listens; killed where a test does not come to its end.
pub struct Server {
    address: SocketAddr,
    pid: Pid,
    log: tempfile::NamedTempFile,
    child: Option<Child>,
    stdout: BufReader<ChildStdout>,
}

impl Server {
    pub fn of_snapshots(snapshots: &Snapshots) -> Server {
        Server::start(&mut command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]))
    }

    pub fn of_snapshot(path: &Path) -> Server {
        Server::start(&mut command(&["--snapshot".as_ref(), path.as_os_str()]))
    }

    pub fn start(command: &mut Command) -> Server {
        let log = tempfile::NamedTempFile::new().unwrap();
        command.stdout(Stdio::piped()).stderr(log.reopen().unwrap());
        let mut child = command.spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on ").unwrap_or_else(|| {
            let _ = child.wait();
            panic!("it does not listen: {line}{}", fs::read_to_string(log.path()).unwrap())
        });
        let (_, address) = address.trim_end().split_once("://").unwrap();
        let address = address.parse().unwrap();
        Server { address, pid, log, child: Some(child), stdout }
    }

    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Where its metrics are; to be asked once, of one that was started with `--admin`.
    #[allow(dead_code, reason = "of the tests of what is seen from outside")]
    #[track_caller]
    pub fn admin(&mut self) -> SocketAddr {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("admin on http://");
        address.expect("it says where its metrics are").parse().unwrap()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its number among the processes.
    pub fn process(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Has it look for another snapshot and another certificate.
    pub fn hang_up(&self) {
        kill_process(self.pid, Signal::HUP).unwrap();
    }

    /// Answers one request on a connection of its own.
    #[track_caller]
    pub fn get(&self, target: &str) -> Response {
        self.connect().get(target)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.log.path()).unwrap()
    }

    /// Waits until a line of the log holds all these words: it is written beside the requests.
    #[track_caller]
    pub fn await_log(&self, words: &[&str]) {
        let begun = Instant::now();
        let is_there = |line: &str| words.iter().all(|word| line.contains(word));
        while !self.log().lines().any(is_there) {
            assert!(begun.elapsed() < PATIENCE, "{words:?} in\n{}", self.log());
            std::thread::yield_now();
        }
    }

    /// Ends it as a service manager does. It must exit at once and well, having logged each of
    /// these errors, no other and no panic, one event a line. The log, whole.
    #[track_caller]
    pub fn end(mut self, errors: &[&str]) -> String {
        let status = self.terminate();
        let log = self.log();
        assert!(status.is_some_and(|status| status.success()), "{status:?}\n{log}");
        for line in log.lines() {
            assert!(line.starts_with("20") && !line.contains('\x1b'), "a line of its own: {line}");
            let is_expected = errors.iter().any(|error| line.contains(error));
            assert!(!is_error(line) || is_expected, "unexpected: {line}");
        }
        for error in errors {
            let is_logged = log.lines().any(|line| is_error(line) && line.contains(error));
            assert!(is_logged, "{error} is not logged:\n{log}");
        }
        log
    }

    fn terminate(&mut self) -> Option<ExitStatus> {
        let mut child = self.child.take()?;
        let _ = kill_process(self.pid, Signal::TERM);
        let (sender, ended) = mpsc::channel();
        let waiting = std::thread::spawn(move || sender.send(child.wait()));
        let status = ended.recv_timeout(ENDING_MAX).ok();
        if status.is_none() {
            let _ = kill_process(self.pid, Signal::KILL);
        }
        let _ = waiting.join();
        status?.ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
