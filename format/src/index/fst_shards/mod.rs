//! Text → number, as fst maps within a file.
//!
//! ```text
//! shards… | the first text of each | table: for each, and for the end, where its map and its text begin: u64 each
//! ```
//!
//! A map is opened only behind its hash, so it has to be verified whole before its first use. So
//! that this stays quick the texts are split into shards of at most 16 MiB or so by their order. The
//! first texts are kept in memory, so that a look-up touches one shard.

mod verify;

use std::{
    io::{self, Write},
    path::Path,
};

use fst::{IntoStreamer, Map, MapBuilder, Streamer};

use crate::storage::archive::{Archive, ArchiveError};
use crate::storage::blobs::Spool;
use crate::storage::error::ReadError;
use crate::storage::header::{FileWriter, HEADER_BYTES};

/// Bytes at which a shard is closed.
const SHARD_BYTES: u64 = 15 << 20;
/// Bytes of an entry of the table.
const ENTRY_BYTES: usize = 16;

/// Where shards lie in their file: what opening them takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardTable {
    /// Where the table begins.
    pub table_from: u64,
    /// How many shards there are.
    pub shards: u64,
}

/// FstShards being written.
pub struct FstShardsWriter {
    spool: Spool,
    /// Bytes at which a shard is closed.
    shard_bytes: u64,
    shard: MapBuilder<Vec<u8>>,
    is_empty: bool,
    bytes: u64,
    firsts: Vec<Vec<u8>>,
    /// Where each shard ends among their bytes.
    ends: Vec<u64>,
}

fn other(error: fst::Error) -> io::Error {
    io::Error::other(error)
}

impl FstShardsWriter {
    /// None, kept in `directory` until their place in a file comes.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn new(directory: &Path) -> io::Result<FstShardsWriter> {
        FstShardsWriter::with_shards_of(SHARD_BYTES, directory)
    }

    fn with_shards_of(shard_bytes: u64, directory: &Path) -> io::Result<FstShardsWriter> {
        Ok(FstShardsWriter {
            spool: Spool::new(directory),
            shard_bytes,
            shard: MapBuilder::new(Vec::new()).map_err(other)?,
            is_empty: true,
            bytes: 0,
            firsts: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// Appends a text, which comes after all before it, with its number.
    ///
    /// # Errors
    ///
    /// Where it does not come after them, or the system refuses.
    pub fn push(&mut self, text: &[u8], number: u64) -> io::Result<()> {
        if self.shard.bytes_written() >= self.shard_bytes {
            self.close_shard()?;
        }
        self.shard.insert(text, number).map_err(other)?;
        if std::mem::take(&mut self.is_empty) {
            self.firsts.push(text.to_vec());
        }
        Ok(())
    }

    fn close_shard(&mut self) -> io::Result<()> {
        let fresh = MapBuilder::new(Vec::new()).map_err(other)?;
        let shard = std::mem::replace(&mut self.shard, fresh).into_inner().map_err(other)?;
        self.is_empty = true;
        self.spool.write_all(&shard)?;
        self.bytes += shard.len() as u64;
        self.ends.push(self.bytes);
        Ok(())
    }

    /// Appends the shards to a file.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn finish(mut self, file: &mut FileWriter) -> io::Result<ShardTable> {
        if !self.is_empty {
            self.close_shard()?;
        }
        let maps_from = file.position_bytes();
        self.spool.move_to(file)?;
        let mut text_from = file.position_bytes();
        self.firsts.iter().try_for_each(|first| file.write_all(first))?;
        let place =
            ShardTable { table_from: file.position_bytes(), shards: self.firsts.len() as u64 };
        let begins = [0].iter().chain(&self.ends);
        let lengths = self.firsts.iter().map(Vec::len).chain([0]);
        for (begin, length) in begins.zip(lengths) {
            file.write_all(&(maps_from + begin).to_le_bytes())?;
            file.write_all(&text_from.to_le_bytes())?;
            text_from += length as u64;
        }
        Ok(place)
    }
}

/// Mapped shards.
pub struct FstShards {
    /// Where each map begins, and where the last ends.
    places: Vec<usize>,
    /// The first text of each.
    firsts: Vec<Vec<u8>>,
    /// Where the table ends.
    to: usize,
}

impl FstShards {
    /// Opens shards at a place of an archive.
    ///
    /// # Errors
    ///
    /// Where their table is damaged or none.
    pub fn open(
        archive: &Archive,
        table_from: usize,
        count: usize,
    ) -> Result<FstShards, ArchiveError> {
        let refused =
            || ArchiveError::Length { expected: table_from as u64, found: archive.len() as u64 };
        let to = count
            .checked_add(1)
            .and_then(|entries| entries.checked_mul(ENTRY_BYTES))
            .and_then(|bytes| bytes.checked_add(table_from))
            .filter(|to| *to <= archive.len() && table_from >= HEADER_BYTES)
            .ok_or_else(refused)?;
        let (mut places, mut texts) = (Vec::new(), Vec::new());
        for at in 0..=count {
            places.push(archive.number_at(table_from + at * ENTRY_BYTES)?);
            texts.push(archive.number_at(table_from + at * ENTRY_BYTES + 8)?);
        }
        let is_sound = places.is_sorted()
            && texts.is_sorted()
            && places[0] >= HEADER_BYTES
            && places.last() == texts.first()
            && texts.last() == Some(&table_from);
        if !is_sound {
            return Err(refused());
        }
        let firsts: Result<Vec<Vec<u8>>, ReadError> = texts
            .array_windows()
            .map(|[from, to]| archive.bytes(*from, *to).map(<[u8]>::to_vec))
            .collect();
        let firsts = firsts.map_err(|error| match error {
            ReadError::Damage(damage) => damage.into(),
            _ => refused(),
        })?;
        Ok(FstShards { places, firsts, to })
    }

    /// Where the maps begin.
    pub fn from(&self) -> usize {
        self.places[0]
    }

    /// Where the table ends.
    pub fn to(&self) -> usize {
        self.to
    }

    /// How many shards there are.
    pub fn count(&self) -> usize {
        self.firsts.len()
    }

    /// A shard's map, whose bytes have been checked, all of them.
    fn shard<'s>(&self, archive: &'s Archive, shard: usize) -> Result<Map<&'s [u8]>, ReadError> {
        let [from, to] = *self
            .places
            .get(shard..shard + 2)
            .ok_or(ReadError::corrupt("fst_shards", "there is no shard of this number"))?
        else {
            return Err(ReadError::corrupt("fst_shards", "there is no shard of this number"));
        };
        Map::new(archive.bytes(from, to)?).map_err(|_| {
            ReadError::corrupt("fst_shards", "a shard is not a finite-state transducer")
        })
    }

    /// The shard a text is in, if it is in any.
    fn of(&self, text: &[u8]) -> Option<usize> {
        self.firsts.partition_point(|first| first.as_slice() <= text).checked_sub(1)
    }

    /// The number of a text; `None` where it has none.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: the text's length.
    pub fn get(&self, archive: &Archive, text: &[u8]) -> Result<Option<u64>, ReadError> {
        match self.of(text) {
            Some(shard) => Ok(self.shard(archive, shard)?.get(text)),
            None => Ok(None),
        }
    }

    /// The first text that is not before this one, with its number; `None` where all are.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: the text's length, in one shard or two.
    pub fn first_from(
        &self,
        archive: &Archive,
        text: &[u8],
    ) -> Result<Option<(Vec<u8>, u64)>, ReadError> {
        for shard in self.of(text).unwrap_or_default()..self.count() {
            let shard = self.shard(archive, shard)?;
            if let Some((found, number)) = shard.range().ge(text).into_stream().next() {
                return Ok(Some((found.to_vec(), number)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::entity::Entity;
    use crate::index::check::archive;
    use crate::schema::layout::schema_hash;
    use crate::storage::header::{Header, Kind};

    fn header() -> Header {
        Header {
            kind: Kind::Words,
            entity: Some(Entity::Field),
            published: 1,
            rows: 1,
            schema_hash: schema_hash(),
        }
    }

    /// A file of nothing but shards of so many bytes, and where they lie in it.
    fn write(texts: &BTreeMap<Vec<u8>, u64>, shard_bytes: u64, path: &Path) -> ShardTable {
        let mut file = FileWriter::create(path).unwrap();
        file.write_all(&header().encode()).unwrap();
        let directory = path.parent().unwrap();
        let mut shards = FstShardsWriter::with_shards_of(shard_bytes, directory).unwrap();
        texts.iter().for_each(|(text, number)| shards.push(text, *number).unwrap());
        let place = shards.finish(&mut file).unwrap();
        file.finish().unwrap();
        place
    }

    fn open(path: &Path, table_from: usize, count: usize) -> (Archive, Result<FstShards, String>) {
        let archive = archive(path, Kind::Words);
        let shards =
            FstShards::open(&archive, table_from, count).map_err(|error| error.to_string());
        (archive, shards)
    }

    /// Some of many characters, some the beginning of others.
    fn texts() -> BTreeMap<Vec<u8>, u64> {
        let texts = (0..900u32).map(|at| match at % 3 {
            0 => format!("word{at}"),
            1 => format!("word{at}{at}"),
            _ => format!("東京{at}"),
        });
        texts.map(String::into_bytes).zip((0..).map(|at| at * at % 1_009)).collect()
    }

    #[test]
    fn texts_are_found_in_any_of_several_shards() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shards");
        let texts = texts();
        let place = write(&texts, 300, &path);
        let (archive, shards) = open(&path, place.table_from as usize, place.shards as usize);
        let shards = shards.unwrap();
        assert!(shards.count() > 4, "{} shards", shards.count());
        assert_eq!((shards.from(), shards.to()), (HEADER_BYTES, archive.len()));
        let mut all = BTreeMap::new();
        let outcome = shards.verify(&archive, |text, number| {
            all.insert(text.to_vec(), number);
            Ok(())
        });
        outcome.unwrap();
        assert_eq!(all, texts);
        let check = |asked: &[u8]| {
            let expected = texts.range(asked.to_vec()..).next();
            let expected = expected.map(|(text, number)| (text.clone(), *number));
            assert_eq!(shards.first_from(&archive, asked).unwrap(), expected, "{asked:?}");
            assert_eq!(shards.get(&archive, asked).unwrap(), texts.get(asked).copied());
        };
        // Each, what comes right after it, and what right before: for the first of a shard, the last
        // of what the shard before it might have.
        for text in texts.keys() {
            check(text);
            check(&[text, &[0][..]].concat());
            let (last, head) = text.split_last().unwrap();
            check(&[head, &[last - 1, 0xff]].concat());
        }
        for text in ["", "a", "word", "z", "龍"] {
            check(text.as_bytes());
        }
        assert!(texts.contains_key(&shards.firsts[1]));
    }

    #[test]
    fn texts_that_do_not_ascend_are_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let mut shards = FstShardsWriter::with_shards_of(300, directory.path()).unwrap();
        shards.push(b"b", 0).unwrap();
        assert!(shards.push(b"b", 1).is_err());
        assert!(shards.push(b"a", 1).is_err());
    }

    #[test]
    fn without_texts_there_are_no_shards() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shards");
        let place = write(&BTreeMap::new(), SHARD_BYTES, &path);
        assert_eq!(place, ShardTable { table_from: HEADER_BYTES as u64, shards: 0 });
        let (archive, shards) = open(&path, HEADER_BYTES, 0);
        let shards = shards.unwrap();
        assert_eq!(shards.get(&archive, b"a").unwrap(), None);
        assert_eq!(shards.first_from(&archive, b"").unwrap(), None);
    }

    #[test]
    fn a_damaged_table_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shards");
        let place = write(&texts(), 300, &path);
        let (table_from, count) = (place.table_from as usize, place.shards as usize);
        let whole = std::fs::read(&path).unwrap();
        for (table_from, count) in [
            (table_from, count + 1),
            (table_from, usize::MAX),
            (table_from + 1, count),
            (usize::MAX, count),
            (HEADER_BYTES - 1, count),
            (table_from + ENTRY_BYTES, count - 1),
        ] {
            assert!(open(&path, table_from, count).1.is_err(), "{table_from}, {count}");
        }
        // A place of a shard, a place of a text: swapped with the next; the first, within the header;
        // the last, beyond what follows.
        let number = |entry: usize, half: usize| table_from + entry * ENTRY_BYTES + half * 8;
        let damaged = |at: usize, value: u64| {
            let mut damaged = whole.clone();
            damaged[at..at + 8].copy_from_slice(&value.to_le_bytes());
            std::fs::write(&path, damaged).unwrap();
            open(&path, table_from, count).1.is_err()
        };
        for half in [0, 1] {
            assert!(damaged(number(1, half), u64::MAX), "half {half}");
            assert!(damaged(number(2, half), HEADER_BYTES as u64), "half {half}");
            assert!(damaged(number(count, half), HEADER_BYTES as u64), "half {half}");
        }
        assert!(damaged(number(0, 0), HEADER_BYTES as u64 - 1));
        assert!(damaged(number(0, 1), HEADER_BYTES as u64));
        assert!(!damaged(number(0, 0), HEADER_BYTES as u64));
    }
}
