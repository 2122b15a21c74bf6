//! The server as a child process, and directories of snapshots to serve.

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

use pinakes_format::snapshot::Snapshot;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::{Connection, REPLY_TIMEOUT, Response};

pub use crate::make_writable;

/// Longest time an idle server may take to exit: half of its grace period for open requests.
const EXIT_TIME_MAX: Duration = Duration::from_secs(5);

/// A temporary directory of published snapshots.
pub struct Snapshots(tempfile::TempDir);

impl Snapshots {
    /// No snapshot yet.
    pub fn empty() -> Snapshots {
        Snapshots(tempfile::tempdir().unwrap())
    }

    /// Publishes one snapshot of the sample.
    pub fn from_sample() -> Snapshots {
        Snapshots::from_inputs(&[crate::sample()])
    }

    /// Publishes one snapshot of the inputs.
    pub fn from_inputs(inputs: &[PathBuf]) -> Snapshots {
        let snapshots = Snapshots(tempfile::tempdir().unwrap());
        crate::publish(inputs, snapshots.path(), &["--quiet", "--allow-shrink"]);
        snapshots
    }

    /// Publishes a snapshot of the inputs and then, as `current`, a snapshot of its export.
    #[allow(dead_code, reason = "only some test programs rebuild exports")]
    pub fn from_export(inputs: &[PathBuf]) -> Snapshots {
        let snapshots = Snapshots(tempfile::tempdir().unwrap());
        crate::republish(inputs, snapshots.path());
        snapshots
    }

    /// Publishes a snapshot of the inputs, which may be other data, as `current`.
    pub fn add(&self, inputs: &[PathBuf]) -> PathBuf {
        crate::build(inputs, self.path(), &["--quiet", "--allow-shrink", "--allow-drift", "all"])
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

/// Tests the level of a log line; a request target in the line does not count.
fn is_error(line: &str) -> bool {
    line.split_ascii_whitespace().nth(1) == Some("ERROR")
}

/// Prepares a server command; six options that the environment may set are ignored.
pub fn command<A: AsRef<OsStr>>(args: &[A]) -> Command {
    let mut command = Command::new(crate::program("pinakes-server"));
    command.args(args).args(["--listen", "127.0.0.1:0"]);
    for name in ["SNAPSHOTS", "SNAPSHOT", "LISTEN", "VERIFY", "LOG", "SUPPRESS"] {
        command.env_remove(format!("PINAKES_{name}"));
    }
    // Tests send more requests than the limits allow; tests of limits turn them on.
    command.env("PINAKES_NO_LIMITS", "true");
    command.env("NO_COLOR", "1").env("RUST_BACKTRACE", "0");
    command
}

/// A listening server; dropping it kills the process.
pub struct Server {
    address: SocketAddr,
    pid: Pid,
    log: tempfile::NamedTempFile,
    child: Option<Child>,
    stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a server that follows `current` in a directory of snapshots.
    pub fn serve(snapshots: &Snapshots) -> Server {
        Server::start(&mut command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]))
    }

    /// Starts a server of one snapshot, which does not follow `current`.
    pub fn serve_one(path: &Path) -> Server {
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
            panic!("the server does not listen: {line}{}", fs::read_to_string(log.path()).unwrap())
        });
        let (_, address) = address.trim_end().split_once("://").unwrap();
        let address = address.parse().unwrap();
        Server { address, pid, log, child: Some(child), stdout }
    }

    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Reads the admin address of a server started with `--admin`; works once.
    #[allow(dead_code, reason = "only some test programs use the admin address")]
    #[track_caller]
    pub fn read_admin_address(&mut self) -> SocketAddr {
        self.read_address("admin")
    }

    /// Reads the next address that the server prints, which has this name.
    #[track_caller]
    pub fn read_address(&mut self, name: &str) -> SocketAddr {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let address = line.strip_prefix(name).and_then(|line| line.trim_end().split_once("://"));
        let (_, address) = address.expect("the server prints its other addresses");
        address.parse().unwrap()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn process_id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Sends SIGHUP: the server looks for another snapshot and another certificate.
    pub fn send_hangup(&self) {
        kill_process(self.pid, Signal::HUP).unwrap();
    }

    /// Sends one request on a new connection.
    #[track_caller]
    pub fn get(&self, target: &str) -> Response {
        self.connect().get(target)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.log.path()).unwrap()
    }

    /// Waits until one log line contains all the words; the server writes the log asynchronously.
    #[track_caller]
    pub fn await_log(&self, words: &[&str]) {
        let begun = Instant::now();
        let is_there = |line: &str| words.iter().all(|word| line.contains(word));
        while !self.log().lines().any(is_there) {
            assert!(begun.elapsed() < REPLY_TIMEOUT, "{words:?} in\n{}", self.log());
            crate::pause();
        }
    }

    /// Stops the server with SIGTERM and returns the log.
    ///
    /// The server must exit with success, must have logged each of these errors and no other, and
    /// must have written one event a line.
    #[track_caller]
    pub fn end(mut self, errors: &[&str]) -> String {
        let status = self.terminate();
        let log = self.log();
        assert!(status.is_some_and(|status| status.success()), "{status:?}\n{log}");
        for line in log.lines() {
            assert!(
                line.starts_with("20") && !line.contains('\x1b'),
                "not one event a line: {line}"
            );
            let is_expected = errors.iter().any(|error| line.contains(error));
            assert!(!is_error(line) || is_expected, "unexpected error: {line}");
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
        let status = ended.recv_timeout(EXIT_TIME_MAX).ok();
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
