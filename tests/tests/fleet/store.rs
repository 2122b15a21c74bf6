//! A Redis server on a Unix socket.

use std::{
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Instant,
};

use pinakes_tests::client::REPLY_TIMEOUT;
use pinakes_tests::skip;
use rustix::process::{Pid, Signal, kill_process};

/// A store of counters; dropping it kills the process.
pub struct Store {
    directory: tempfile::TempDir,
    process: Child,
}

impl Store {
    /// Starts a store; `None`, with a message, if there is no `redis-server`.
    pub fn start(test: &str) -> Option<Store> {
        let directory = tempfile::tempdir().unwrap();
        let Some(process) = run(&directory) else {
            skip(test, "no redis-server; .ci/run installs it");
            return None;
        };
        Some(Store { directory, process })
    }

    pub fn url(&self) -> String {
        format!("unix://{}", socket(&self.directory).display())
    }

    /// Kills the store, which keeps nothing on disk.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts the store again, without its former memory.
    pub fn start_again(&mut self) {
        self.process = run(&self.directory).unwrap();
    }

    /// Makes the store answer nothing, with open connections.
    pub fn stall(&self) {
        self.signal(Signal::STOP);
    }

    /// Ends a stall.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn socket(directory: &tempfile::TempDir) -> PathBuf {
    directory.path().join("store")
}

/// Runs `redis-server` and waits until it listens; `None` if there is no such program.
fn run(directory: &tempfile::TempDir) -> Option<Child> {
    let socket = socket(directory);
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(&socket);
    command.arg("--dir").arg(directory.path());
    let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let begun = Instant::now();
    while UnixStream::connect(&socket).is_err() {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "redis-server does not listen");
        pinakes_tests::pause();
    }
    Some(process)
}
