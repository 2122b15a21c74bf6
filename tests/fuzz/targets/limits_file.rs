//! Target: the file of client counts. A damaged file never stops counting.

#![no_main]

use std::{
    fs,
    future::Future,
    path::PathBuf,
    pin::pin,
    sync::LazyLock,
    task::{Context, Poll, Waker},
};

use libfuzzer_sys::fuzz_target;
use pinakes_answer::QuotaClass;
use pinakes_server::parts::{Clock, ClockReading, FileError, Limits, RateLimiter};
use tempfile::TempDir;

const LIMITS: Limits = Limits {
    minute: 3,
    pages: 3,
    free: 3,
    daily: [4, 2, 30],
    pool: [9, 5, 70],
    network_pool: [9, 5, 70],
    clients_max: 8,
};
/// The target compares the counts of clients 0 to 11. The seeds use these clients.
const CLIENTS: u64 = 12;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    folder.expect("a directory can be made")
});

/// 2026-01-31T20:48:00.250Z, and it stays.
struct Still;

impl Clock for Still {
    fn now(&self) -> ClockReading {
        ClockReading { monotonic: 90_000_000, utc: 1_769_892_480_250 }
    }
}

fn counters() -> RateLimiter {
    RateLimiter::new(LIMITS, Box::new(Still))
}

/// The value of a future of one server's counts, which is ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the counts of one server wait for nothing"),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let path = FOLDER.path().join("counts");
    let mut file = bytes.to_vec();
    if first % 4 != 0 {
        // A fuzzer cannot guess the checksum.
        file.extend_from_slice(blake3::hash(bytes).as_bytes());
    }
    fs::write(&path, &file).expect("the directory is there");
    let read = counters();
    match read.load(&path) {
        Ok(clients) => assert!(clients <= LIMITS.clients_max),
        Err(FileError::Damaged { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    // Writing and reading again keeps every count that is still valid.
    read.save(&path).expect("the directory is there");
    let again = counters();
    again.load(&path).expect("a file that was just written");
    for client in 0..CLIENTS {
        let quotas = [&read, &again].map(|counters| ready(counters.client_quotas(client)));
        assert_eq!(quotas[0], quotas[1], "client {client}");
    }
    // The file does not keep the order in which clients are evicted, so only one client is counted.
    for daily in
        [None, Some(QuotaClass::List), Some(QuotaClass::Search), Some(QuotaClass::Browse), None]
    {
        let verdict = ready(read.count(0, daily));
        assert_eq!(verdict, ready(again.count(0, daily)));
        assert!(verdict.quotas.minute.remaining < LIMITS.minute);
    }
});
