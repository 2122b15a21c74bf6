//! The file that keeps the counts while the server is down.
//!
//! Layout, all numbers little-endian:
//!
//! ```text
//! MAGIC                               8 bytes
//! day, time of writing                u32 days and u64 milliseconds since 1970
//! units used of the three pools       3 × u64
//! number of clients                   u32
//! each client: key                    u64
//!   start of its minute               u64, milliseconds since 1970
//!   requests of the minute            u32, 0 without an open minute
//!   units of the day                  3 × u32: lists, searches, pages for people
//! BLAKE3 of all bytes before          32 bytes
//! ```

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use pinakes_answer::QuotaClass;

use crate::admission::limits::local::{Counts, LocalWindows};
use crate::admission::limits::table::ClientCounts;
use crate::admission::limits::{CLIENTS_MAX, ClockReading};
use crate::http::client_address::network_key;

/// First bytes of the file; the last byte is the version.
const MAGIC: &[u8; 8] = b"PNKLIM\x00\x02";
/// Bytes before the clients, of each client, and after the clients.
const HEAD_BYTES: usize = 8 + 4 + 8 + 8 * QuotaClass::COUNT + 4;
const CLIENT_BYTES: usize = 8 + 8 + 4 + 4 * QuotaClass::COUNT;
const HASH_BYTES: usize = 32;
/// Clients encoded under one lock, which takes some microseconds.
const CLIENTS_PER_LOCK: u32 = 4_096;

/// Why the counts could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read or written.
    #[error("cannot {what} `{}`: {error}", path.display())]
    Io {
        /// `read` or `write`.
        what: &'static str,
        /// `--limits-file`.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file has another format or is damaged.
    #[error("`{}` has another format or is damaged; the server will overwrite the file", path.display())]
    Damaged {
        /// `--limits-file`.
        path: PathBuf,
    },
}

impl LocalWindows {
    /// Writes the counts to a temporary file beside `path` and renames it.
    ///
    /// Requests wait at most for the encoding of [`CLIENTS_PER_LOCK`] clients.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        let failed = |error| FileError::Io { what: "write", path: path.to_owned(), error };
        let bytes = self.encode();
        let temporary = path.with_added_extension("tmp");
        // Left by a killed process. The new file is created, so that no symbolic link is followed.
        if let Err(error) = fs::remove_file(&temporary)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(failed(error));
        }
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create_new(true).mode(0o600).open(&temporary).map_err(failed)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(&temporary, path).map_err(failed)
    }

    /// Loads the counts of a file and returns the number of clients; 0 if there is no such file.
    ///
    /// On an error the counts do not change.
    pub fn load(&self, path: &Path) -> Result<u32, FileError> {
        let damaged = || FileError::Damaged { path: path.to_owned() };
        let failed = |error| FileError::Io { what: "read", path: path.to_owned(), error };
        // The file may hold more clients than the table; the table replaces the surplus one by one.
        let bytes_max = HEAD_BYTES + HASH_BYTES + CLIENT_BYTES * CLIENTS_MAX as usize;
        let mut bytes = Vec::new();
        match File::open(path) {
            Ok(file) => file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(failed(error)),
        };
        self.decode(&bytes).ok_or_else(damaged)
    }

    fn encode(&self) -> Vec<u8> {
        let (mut bytes, day, at) = {
            let (counts, at) = self.lock_now();
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&counts.day.to_le_bytes());
            bytes.extend_from_slice(&at.utc.to_le_bytes());
            bytes.extend(counts.pool.iter().flat_map(|used| used.to_le_bytes()));
            bytes.extend_from_slice(&[0; 4]);
            (bytes, counts.day, at)
        };
        let mut clients = 0;
        for from in (0..self.limits.clients_max).step_by(CLIENTS_PER_LOCK as usize) {
            let counts = self.lock();
            if from >= counts.clients.clients() {
                break;
            }
            for (key, of_client) in
                counts.clients.slots(from..from.saturating_add(CLIENTS_PER_LOCK))
            {
                clients += u32::from(write_client(key, of_client, day, at, &mut bytes));
            }
        }
        bytes[HEAD_BYTES - 4..HEAD_BYTES].copy_from_slice(&u32::to_le_bytes(clients));
        let hash = blake3::hash(&bytes);
        bytes.extend_from_slice(hash.as_bytes());
        bytes
    }

    /// Applies the bytes of a file; `None` if they are invalid.
    fn decode(&self, bytes: &[u8]) -> Option<u32> {
        let (bytes, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH_BYTES)?)?;
        if *blake3::hash(bytes).as_bytes() != *hash || !bytes.starts_with(MAGIC) {
            return None;
        }
        let (head, clients) = bytes.split_at_checked(HEAD_BYTES)?;
        let mut head = Numbers(&head[MAGIC.len()..]);
        let (day, _written) = (head.u32()?, head.u64()?);
        let (pool, count) = ([head.u64()?, head.u64()?, head.u64()?], head.u32()?);
        if clients.len() != count as usize * CLIENT_BYTES {
            return None;
        }
        let (mut counts, at) = self.lock_now();
        let Counts { clients: table, pool: used, networks, day: today, .. } = &mut *counts;
        let is_today = day == *today;
        if is_today {
            *used = pool;
        }
        for client in clients.chunks_exact(CLIENT_BYTES) {
            let (key, mut of_client) = read_client(Numbers(client), day, at)?;
            of_client.refresh(*today, at);
            *table.touch(key).0 = of_client;
            // The file has no counts by network. The counts of the network's clients are at least as high.
            let (of_network, _) = networks.touch(network_key(key));
            of_network.refresh(*today, at);
            for (sum, count) in of_network.daily.iter_mut().zip(of_client.daily) {
                *sum = sum.saturating_add(count);
            }
        }
        Some(count)
    }
}

/// Appends a client with counts above zero; returns whether there were any.
fn write_client(
    key: u64,
    mut counts: ClientCounts,
    day: u32,
    at: ClockReading,
    bytes: &mut Vec<u8>,
) -> bool {
    counts.refresh(day, at);
    if counts.minute == 0 && counts.daily == [0; QuotaClass::COUNT] {
        return false;
    }
    let ago = at.monotonic.saturating_sub(counts.minute_started);
    bytes.extend_from_slice(&key.to_le_bytes());
    bytes.extend_from_slice(&at.utc.saturating_sub(ago).to_le_bytes());
    bytes.extend_from_slice(&counts.minute.to_le_bytes());
    bytes.extend(counts.daily.iter().flat_map(|count| count.to_le_bytes()));
    true
}

/// Parses a client that was written on `day`, relative to the current clocks.
fn read_client(mut client: Numbers<'_>, day: u32, at: ClockReading) -> Option<(u64, ClientCounts)> {
    let (key, began, minute) = (client.u64()?, client.u64()?, client.u32()?);
    let daily = [client.u32()?, client.u32()?, client.u32()?];
    // A minute in the future, because the clock was set back, starts now.
    let minute_started = at.monotonic.saturating_sub(at.utc.saturating_sub(began));
    Some((key, ClientCounts { minute_started, minute, day, daily }))
}

/// Reads numbers in sequence.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*number)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::admission::limits::Limits;
    use crate::admission::limits::Refusal;
    use crate::admission::limits::clock::manual::{ManualClock, START_MILLIS};
    use crate::admission::limits::tests::Counters;

    const LIMITS: Limits = Limits {
        minute: 30,
        pages: 30,
        free: 30,
        daily: [500, 50, 6_000],
        pool: [10_000, 60, 120_000],
        network_pool: [10_000, 60, 120_000],
        clients_max: 10_000,
    };

    /// Counters of another server, started this many milliseconds after [`START_MILLIS`].
    fn later(millis: u64) -> (Counters, ManualClock) {
        let clock = ManualClock::at(START_MILLIS + millis);
        (Counters::new(LIMITS, &clock), clock)
    }

    fn used(counters: &Counters) -> (Counters, tempfile::TempDir, PathBuf) {
        for _ in 0..10 {
            counters.count(7, Some(QuotaClass::List));
        }
        counters.count(7, Some(QuotaClass::Browse));
        counters.count_completion(7);
        for client in 0..5_000 {
            counters.count(client, (client < 50).then_some(QuotaClass::Search));
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("limits");
        counters.save(&path).unwrap();
        (later(20_000).0, directory, path)
    }

    #[test]
    fn loaded_counts_continue() {
        let (counters, _) = later(0);
        let (after, _directory, path) = used(&counters);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(after.load(&path).unwrap(), 5_000);
        let quotas = after.client_quotas(7);
        assert_eq!((quotas.minute.remaining, quotas.minute.reset_seconds()), (19, 40));
        assert_eq!(quotas.daily.map(|left| left.remaining), [490, 49, 5_989]);
        assert_eq!(after.usage().pool, [10, 50, 11]);
        // Ten requests of the pool are left.
        for client in 100..110 {
            assert_eq!(after.count(client, Some(QuotaClass::Search)).refusal, None);
        }
        let refused = after.count(110, Some(QuotaClass::Search)).refusal;
        assert_eq!(refused, Some(Refusal::Pool(QuotaClass::Search)));
        // Another server overwrites the file.
        after.save(&path).unwrap();
        assert_eq!(later(40_000).0.load(&path).unwrap(), 5_000);
    }

    #[test]
    fn ended_windows_start_at_zero_after_loading() {
        let (counters, clock) = later(0);
        let (_, _directory, path) = used(&counters);
        let (minute_later, _) = later(60_000);
        minute_later.load(&path).unwrap();
        assert_eq!(minute_later.client_quotas(7).minute.remaining, 30);
        assert_eq!(minute_later.client_quotas(7).daily[0].remaining, 490);
        let (day_later, _) = later(86_400_000);
        day_later.load(&path).unwrap();
        let quotas = day_later.client_quotas(7);
        assert_eq!((quotas.minute.remaining, quotas.daily[0].remaining), (30, 500));
        // After the clock was set back, at most the whole minute is counted again.
        let (earlier, _) = later(0);
        clock.set_utc(START_MILLIS + 5_000);
        counters.save(&path).unwrap();
        earlier.load(&path).unwrap();
        assert_eq!(earlier.client_quotas(7).minute.reset_seconds(), 60);
        // Clients without counts are not written.
        clock.advance(86_400_000);
        counters.count(1, None);
        counters.save(&path).unwrap();
        assert!(fs::metadata(&path).unwrap().len() < 5_000 * CLIENT_BYTES as u64);
    }

    #[test]
    fn the_file_is_private_and_a_symbolic_link_beside_it_is_not_followed() {
        let (counters, _directory, path) = used(&later(0).0);
        let beside = path.with_added_extension("tmp");
        let victim = path.with_file_name("victim");
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, &beside).unwrap();
        counters.save(&path).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
        fs::write(&beside, "left by a killed process").unwrap();
        counters.save(&path).unwrap();
        let metadata = fs::symlink_metadata(&path).unwrap();
        assert!(metadata.is_file() && !beside.exists());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_file_is_refused_and_a_missing_file_is_empty() {
        let (counters, _) = later(0);
        let (after, directory, path) = used(&counters);
        let bytes = fs::read(&path).unwrap();
        let untouched = |what: &str| {
            assert!(matches!(after.load(&path), Err(FileError::Damaged { .. })), "{what}");
            assert_eq!(after.client_quotas(7).daily[0].remaining, 500, "{what}");
        };
        for at in (0..bytes.len()).step_by(97).chain(bytes.len() - 40..bytes.len()) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).unwrap();
            untouched(&format!("byte {at}"));
        }
        for length in (0..bytes.len()).step_by(1_001) {
            fs::write(&path, &bytes[..length]).unwrap();
            untouched(&format!("{length} bytes"));
        }
        fs::write(&path, vec![0; 1 << 20]).unwrap();
        untouched("too many bytes");
        assert_eq!(after.load(&directory.path().join("absent")).unwrap(), 0);
        assert!(matches!(after.load(directory.path()), Err(FileError::Io { .. })));
        let absent = directory.path().join("no/such");
        let error = counters.save(&absent).unwrap_err().to_string();
        assert!(error.starts_with("cannot write `") && error.contains("No such file"), "{error}");
    }
}
