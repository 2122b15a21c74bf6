//! The levels of hash trees, fetched whole: all other files are verified by them, and they by one hash.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use pinakes_format::storage::mmap::Map;

use crate::error::{Error, Result};
use crate::mirror::host::{Fault, Host, Part};
use crate::store::files::open_regular;

/// Bytes read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Fetches the file of all levels into its place, unless it is there.
///
/// # Errors
///
/// Where it cannot be had, or does not have its hash.
pub fn fetch(host: &Host, path: &str, place: &Path, size_bytes: u64, blake3: &str) -> Result<Map> {
    if let Ok(file) = open_regular(place)
        && hash_of(&file).is_some_and(|found| found == blake3)
    {
        return Map::open(&file).map_err(Error::input(place));
    }
    let mut levels = Levels::create(place)?;
    if size_bytes > 0 {
        host.patiently(|| levels.fetch_rest(host, path, size_bytes))
            .map_err(|fault| host.error(path, fault))?;
    }
    let found = levels.hasher.finalize().to_hex().to_string();
    if found != blake3 {
        let _ = fs::remove_file(place);
        let reason = format!("hash {found}, expected {blake3} as it was published");
        return Err(Error::Damaged { path: host.shown(path).into(), reason });
    }
    levels.file.sync_all().map_err(Error::output(place))?;
    let file = open_regular(place).map_err(Error::input(place))?;
    Map::open(&file).map_err(Error::input(place))
}

fn hash_of(file: &File) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}

/// The file as far as it came.
struct Levels<'p> {
    place: &'p Path,
    file: File,
    hasher: blake3::Hasher,
    done_bytes: u64,
}

impl<'p> Levels<'p> {
    fn create(place: &'p Path) -> Result<Levels<'p>> {
        // What stands there is not it, or a link.
        let _ = fs::remove_file(place);
        let file = File::create_new(place).map_err(Error::output(place))?;
        Ok(Levels { place, file, hasher: blake3::Hasher::new(), done_bytes: 0 })
    }

    fn fetch_rest(&mut self, host: &Host, path: &str, size: u64) -> std::result::Result<(), Fault> {
        let is_begun = self.done_bytes > 0 && !host.ignores_ranges();
        let mut answer = match is_begun {
            true => host.ask(path, &Part::Range(self.done_bytes..size, size))?,
            false => host.ask(path, &Part::Whole(size))?,
        };
        if !answer.is_part && self.done_bytes > 0 {
            *self = Levels::create(self.place).map_err(Fault::Kept)?;
        }
        let mut room = vec![0; PIECE_BYTES];
        while self.done_bytes < size {
            // A piece is shorter than the address space.
            let room = &mut room[..(size - self.done_bytes).min(PIECE_BYTES as u64) as usize];
            host.read(&mut answer, room)?;
            self.file
                .write_all(room)
                .map_err(|error| Fault::Kept(Error::output(self.place)(error)))?;
            self.hasher.update(room);
            self.done_bytes += room.len() as u64;
        }
        host.end(answer)
    }
}
