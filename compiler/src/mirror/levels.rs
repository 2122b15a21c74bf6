//! Fetches the file of hash-tree levels. One hash verifies the file; the levels verify all other files.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use pinakes_format::storage::mmap::Map;
use pinakes_remote::host::{Extent, Failure, Host};
use pinakes_store::files::{hash_of, open_regular};

use crate::error::{Error, Result};

/// Size of the read buffer in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Fetches the file of all levels, unless `place` already holds it, and maps it.
///
/// # Errors
///
/// The host does not send the file, or the file does not have the hash `blake3`.
pub fn fetch(host: &Host, path: &str, place: &Path, size_bytes: u64, blake3: &str) -> Result<Map> {
    if let Ok(file) = open_regular(place)
        && hash_of(&file).is_ok_and(|found| found == blake3)
    {
        return Map::open(&file).map_err(Error::input(place));
    }
    let mut levels = Download::create(place).map_err(Error::output(place))?;
    if size_bytes > 0 {
        host.retry(|| levels.fetch_rest(host, path, size_bytes))
            .map_err(|failure| host.error(path, failure))?;
    }
    let found = levels.hasher.finalize().to_hex().to_string();
    if found != blake3 {
        let _ = fs::remove_file(place);
        let reason = format!("hash {found}, expected the published {blake3}");
        return Err(Error::Damaged { path: host.display(path).into(), reason });
    }
    levels.file.sync_all().map_err(Error::output(place))?;
    let file = open_regular(place).map_err(Error::input(place))?;
    Map::open(&file).map_err(Error::input(place))
}

/// The file, as far as it was received.
struct Download<'p> {
    place: &'p Path,
    file: File,
    hasher: blake3::Hasher,
    done_bytes: u64,
}

impl<'p> Download<'p> {
    fn create(place: &'p Path) -> io::Result<Download<'p>> {
        // An existing file has the wrong hash, or is a link.
        let _ = fs::remove_file(place);
        let file = File::create_new(place)?;
        Ok(Download { place, file, hasher: blake3::Hasher::new(), done_bytes: 0 })
    }

    fn fetch_rest(
        &mut self,
        host: &Host,
        path: &str,
        size: u64,
    ) -> std::result::Result<(), Failure> {
        let can_continue = self.done_bytes > 0 && !host.ignores_ranges();
        let mut reply = match can_continue {
            true => host.request(path, &Extent::Range(self.done_bytes..size, size))?,
            false => host.request(path, &Extent::Whole(size))?,
        };
        if !reply.is_range && self.done_bytes > 0 {
            *self = Download::create(self.place).map_err(Failure::write(self.place))?;
        }
        let mut buffer = vec![0; PIECE_BYTES];
        while self.done_bytes < size {
            // At most `PIECE_BYTES`, so that the cast is exact.
            let buffer = &mut buffer[..(size - self.done_bytes).min(PIECE_BYTES as u64) as usize];
            host.read(&mut reply, buffer)?;
            self.file.write_all(buffer).map_err(Failure::write(self.place))?;
            self.hasher.update(buffer);
            self.done_bytes += buffer.len() as u64;
        }
        host.expect_end(reply)
    }
}
