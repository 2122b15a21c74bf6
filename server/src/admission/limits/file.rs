//! Counts in a file, for the time the server is down.
//!
//! All numbers little-endian: [`MAGIC`]; the day and the moment of writing (u32, u64 milliseconds
//! since 1970); what the pools have used (two u64); how many clients follow (u32), and of each its key
//! (u64), when its minute began (u64, milliseconds since 1970) and how many requests are in it (u32,
//! 0 where none is open), and its lists and searches of that day (two u32). At the end BLAKE3 of all
//! that.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::admission::limits::{CLIENTS_MAX, Counters, Counts, Moment, State};

/// What the file begins with; the last byte is its version.
const MAGIC: &[u8; 8] = b"PNKLIM\x00\x01";
/// Bytes before the clients, of each of them, and after them.
const HEAD_BYTES: usize = 8 + 4 + 8 + 16 + 4;
const CLIENT_BYTES: usize = 28;
const HASH_BYTES: usize = 32;
/// Clients looked at while others wait: some microseconds.
const CLIENTS_PER_LOOK: u32 = 4_096;

/// Why counts could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read or written.
    #[error("cannot {what} `{}`: {error}", path.display())]
    Io {
        /// What was to be done.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It is none of these files, or damaged.
    #[error("`{}` holds no counts of this version, or is damaged; it is written anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

impl Counters {
    /// Writes what is counted, by way of another file beside it, and tells nobody who waits longer than
    /// it takes to look at [`CLIENTS_PER_LOOK`] clients.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        let failed = |error| FileError::Io { what: "write", path: path.to_owned(), error };
        let bytes = self.encode();
        let temporary = path.with_added_extension("tmp");
        // Of a run that was killed; a file of its own is made, and no link is followed.
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

    /// Goes on from what a file holds; how many clients that were. None where there is no such file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, or is no file of counts. Nothing is counted then.
    pub fn load(&self, path: &Path) -> Result<u32, FileError> {
        let damaged = || FileError::Damaged { path: path.to_owned() };
        let failed = |error| FileError::Io { what: "read", path: path.to_owned(), error };
        // As many clients as any option allows, whatever it was then: too many are forgotten one by one.
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
            let state = self.lock();
            let at = self.clock.now();
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&state.day.to_le_bytes());
            bytes.extend_from_slice(&at.utc.to_le_bytes());
            bytes.extend(state.pool.iter().flat_map(|used| used.to_le_bytes()));
            bytes.extend_from_slice(&[0; 4]);
            (bytes, state.day, at)
        };
        let mut clients = 0;
        for from in (0..self.limits.clients_max).step_by(CLIENTS_PER_LOOK as usize) {
            let state = self.lock();
            if from >= state.table.clients() {
                break;
            }
            for (key, counts) in state.table.slots(from..from.saturating_add(CLIENTS_PER_LOOK)) {
                clients += u32::from(write_client(key, counts, day, at, &mut bytes));
            }
        }
        bytes[HEAD_BYTES - 4..HEAD_BYTES].copy_from_slice(&u32::to_le_bytes(clients));
        let hash = blake3::hash(&bytes);
        bytes.extend_from_slice(hash.as_bytes());
        bytes
    }

    /// `None` where the bytes are no such file's.
    fn decode(&self, bytes: &[u8]) -> Option<u32> {
        let (bytes, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH_BYTES)?)?;
        if *blake3::hash(bytes).as_bytes() != *hash || !bytes.starts_with(MAGIC) {
            return None;
        }
        let (head, clients) = bytes.split_at_checked(HEAD_BYTES)?;
        let mut head = Numbers(&head[MAGIC.len()..]);
        let (day, _written, pool, count) =
            (head.u32()?, head.u64()?, [head.u64()?, head.u64()?], head.u32()?);
        if clients.len() != count as usize * CLIENT_BYTES {
            return None;
        }
        let mut state = self.lock();
        let at = self.clock.now();
        state.begin_day(at);
        let State { table, pool: used, day: today, .. } = &mut *state;
        let is_today = day == *today;
        if is_today {
            *used = pool;
        }
        for client in clients.chunks_exact(CLIENT_BYTES) {
            let (key, mut counts) = read_client(Numbers(client), day, at)?;
            counts.refresh(*today, at);
            *table.see(key).0 = counts;
        }
        Some(count)
    }
}

/// Writes a client of whom anything is counted; whether it was one.
fn write_client(key: u64, mut counts: Counts, day: u32, at: Moment, bytes: &mut Vec<u8>) -> bool {
    counts.refresh(day, at);
    if counts.minute == 0 && counts.of_day == [0; 2] {
        return false;
    }
    let ago = at.monotonic.saturating_sub(counts.minute_from);
    bytes.extend_from_slice(&key.to_le_bytes());
    bytes.extend_from_slice(&at.utc.saturating_sub(ago).to_le_bytes());
    bytes.extend_from_slice(&counts.minute.to_le_bytes());
    bytes.extend(counts.of_day.iter().flat_map(|count| count.to_le_bytes()));
    true
}

/// A client as it was written on a day, by the clocks of now.
fn read_client(mut client: Numbers<'_>, day: u32, at: Moment) -> Option<(u64, Counts)> {
    let (key, began, minute) = (client.u64()?, client.u64()?, client.u32()?);
    let of_day = [client.u32()?, client.u32()?];
    // A minute that began in the future, by a clock that was set back, begins now.
    let minute_from = at.monotonic.saturating_sub(at.utc.saturating_sub(began));
    Some((key, Counts { minute_from, minute, day, of_day }))
}

/// Numbers, read one after the other.
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
    use crate::admission::limits::clock::by_hand::{BEGUN, ByHand};
    use crate::admission::limits::{Daily, Limits, Refusal};

    const LIMITS: Limits =
        Limits { minute: 30, daily: [500, 50], pool: [10_000, 60], clients_max: 10_000 };

    /// Another server's counters, so many milliseconds after [`BEGUN`].
    fn later(millis: u64) -> (Counters, ByHand) {
        let clock = ByHand::at(BEGUN + millis);
        (Counters::new(LIMITS, Box::new(clock.clone())), clock)
    }

    fn used(counters: &Counters) -> (Counters, tempfile::TempDir, PathBuf) {
        for _ in 0..10 {
            counters.count(7, Some(Daily::List));
        }
        for client in 0..5_000 {
            counters.count(client, (client < 50).then_some(Daily::Search));
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("limits");
        counters.save(&path).unwrap();
        (later(20_000).0, directory, path)
    }

    #[test]
    fn counts_go_on_where_they_were() {
        let (counters, _) = later(0);
        let (after, _directory, path) = used(&counters);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(after.load(&path).unwrap(), 5_000);
        let standing = after.look(7);
        assert_eq!((standing.minute.remaining, standing.minute.reset_seconds()), (19, 40));
        assert_eq!(standing.daily.map(|left| left.remaining), [490, 49]);
        // The pool has ten left.
        for client in 100..110 {
            assert_eq!(after.count(client, Some(Daily::Search)).refusal, None);
        }
        let refused = after.count(110, Some(Daily::Search)).refusal;
        assert_eq!(refused, Some(Refusal::Pool(Daily::Search)));
        // A file written over by another server's counts.
        after.save(&path).unwrap();
        assert_eq!(later(40_000).0.load(&path).unwrap(), 5_000);
    }

    #[test]
    fn what_is_over_is_over() {
        let (counters, clock) = later(0);
        let (_, _directory, path) = used(&counters);
        let (minute_later, _) = later(60_000);
        minute_later.load(&path).unwrap();
        assert_eq!(minute_later.look(7).minute.remaining, 30);
        assert_eq!(minute_later.look(7).daily[0].remaining, 490);
        let (day_later, _) = later(86_400_000);
        day_later.load(&path).unwrap();
        let standing = day_later.look(7);
        assert_eq!((standing.minute.remaining, standing.daily[0].remaining), (30, 500));
        // A clock that was set back gives at most the whole minute again.
        let (earlier, _) = later(0);
        clock.set_utc(BEGUN + 5_000);
        counters.save(&path).unwrap();
        earlier.load(&path).unwrap();
        assert_eq!(earlier.look(7).minute.reset_seconds(), 60);
        // Clients nothing is counted of any more are not written.
        clock.pass(86_400_000);
        counters.count(1, None);
        counters.save(&path).unwrap();
        assert!(fs::metadata(&path).unwrap().len() < 5_000 * CLIENT_BYTES as u64);
    }

    #[test]
    fn a_file_is_its_owners_alone_and_no_link_beside_it_is_followed() {
        let (counters, _directory, path) = used(&later(0).0);
        let beside = path.with_added_extension("tmp");
        let victim = path.with_file_name("victim");
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, &beside).unwrap();
        counters.save(&path).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
        fs::write(&beside, "of a run that was killed").unwrap();
        counters.save(&path).unwrap();
        let metadata = fs::symlink_metadata(&path).unwrap();
        assert!(metadata.is_file() && !beside.exists());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_file_is_refused_and_a_missing_one_is_none() {
        let (counters, _) = later(0);
        let (after, directory, path) = used(&counters);
        let bytes = fs::read(&path).unwrap();
        let untouched = |what: &str| {
            assert!(matches!(after.load(&path), Err(FileError::Damaged { .. })), "{what}");
            assert_eq!(after.look(7).daily[0].remaining, 500, "{what}");
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
