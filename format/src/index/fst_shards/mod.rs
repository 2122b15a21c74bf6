//! A sorted map from text to number, split into finite-state transducers (FSTs) inside another file.
//!
//! ```text
//! shards… | the first text of each shard
//! | table, an entry for each shard and for the end: offset of the FST, offset of the first text (u64)
//! ```
//!
//! An FST can be read only after all its bytes were checked against their hashes. Shards of about
//! 64 KiB bound the bytes that a first look-up checks. The first text of each shard stays in memory, so
//! a look-up touches one shard:
//!
//! ```text
//! first texts:  "a"  "graph"  "quantum"
//! get("gravity")  →  shard 1, since "graph" ≤ "gravity" < "quantum"
//! ```
//!
//! Cost of a look-up: log2(shards) comparisons and the length of the text.

mod verify;

use std::io;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use fst::raw::{Fst, Output};
use fst::{Map, MapBuilder};

use crate::storage::{Archive, ArchiveError, FileWriter, HEADER_BYTES, ReadError, Spool};

/// Size at which the writer closes a shard, in bytes.
const SHARD_BYTES: u64 = 64 << 10;
/// Size of a table entry, in bytes.
const ENTRY_BYTES: usize = 16;

/// Position of a shard table in its file, needed to open the shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardTable {
    /// Offset of the table.
    pub table_from: u64,
    /// Number of shards.
    pub shards: u64,
}

/// Writes shards.
pub struct FstShardsWriter {
    spool: Spool,
    /// Size at which a shard is closed, in bytes.
    shard_bytes: u64,
    shard: MapBuilder<Vec<u8>>,
    is_empty: bool,
    bytes: u64,
    firsts: Vec<Vec<u8>>,
    /// The end of each shard, relative to the first.
    ends: Vec<u64>,
}

fn other(error: fst::Error) -> io::Error {
    io::Error::other(error)
}

impl FstShardsWriter {
    /// Creates a writer without texts. It keeps the shards in `directory` until
    /// [`FstShardsWriter::finish`].
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

    /// Appends a text with its number. Texts must ascend.
    ///
    /// # Errors
    ///
    /// Fails if the text does not sort after the last one, or if writing fails.
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

    /// Appends the shards and their table to a file.
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

/// Bytes before the table that are read with it: most of the first texts.
const FIRSTS_FETCHED_BYTES: usize = 4 << 10;

/// Shards in a mapped file.
#[derive(Clone)]
pub struct FstShards {
    /// The offset of each shard, and the end of the last.
    offsets: Arc<[usize]>,
    /// The first text of each shard.
    firsts: Arc<[Vec<u8>]>,
    /// The end of the table.
    to: usize,
}

impl FstShards {
    /// Opens `count` shards whose table lies at `table_from`.
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
        // The first texts end where the table begins.
        archive.fetch(table_from.saturating_sub(FIRSTS_FETCHED_BYTES), to);
        let (mut offsets, mut texts) = (Vec::new(), Vec::new());
        for at in 0..=count {
            offsets.push(archive.number_at(table_from + at * ENTRY_BYTES)?);
            texts.push(archive.number_at(table_from + at * ENTRY_BYTES + 8)?);
        }
        let is_sound = offsets.is_sorted()
            && texts.is_sorted()
            && offsets[0] >= HEADER_BYTES
            && offsets.last() == texts.first()
            && texts.last() == Some(&table_from);
        if !is_sound {
            return Err(refused());
        }
        archive.fetch(texts[0], table_from);
        let firsts: Result<Vec<Vec<u8>>, ReadError> = texts
            .array_windows()
            .map(|[from, to]| archive.bytes(*from, *to).map(<[u8]>::to_vec))
            .collect();
        let firsts = firsts.map_err(|error| match error {
            ReadError::Corrupt { .. } => refused(),
            error => error.into(),
        })?;
        Ok(FstShards { offsets: offsets.into(), firsts: firsts.into(), to })
    }

    /// The offset of the first shard.
    pub fn from(&self) -> usize {
        self.offsets[0]
    }

    /// The end of the table.
    pub fn to(&self) -> usize {
        self.to
    }

    /// The number of shards.
    pub fn count(&self) -> usize {
        self.firsts.len()
    }

    /// Opens a shard. The archive checks all its bytes first.
    fn shard<'s>(&self, archive: &'s Archive, shard: usize) -> Result<Map<&'s [u8]>, ReadError> {
        let [from, to] = *self
            .offsets
            .get(shard..shard + 2)
            .ok_or(ReadError::corrupt("fst_shards", "there is no shard of this number"))?
        else {
            return Err(ReadError::corrupt("fst_shards", "there is no shard of this number"));
        };
        Map::new(archive.bytes(from, to)?).map_err(|_| {
            ReadError::corrupt("fst_shards", "a shard is not a finite-state transducer")
        })
    }

    /// The only shard that may hold a text, or `None` for a text before the first one.
    fn shard_of(&self, text: &[u8]) -> Option<usize> {
        self.firsts.partition_point(|first| first.as_slice() <= text).checked_sub(1)
    }

    /// The number of a text, or `None` if the map does not hold the text.
    pub fn get(&self, archive: &Archive, text: &[u8]) -> Result<Option<u64>, ReadError> {
        match self.shard_of(text) {
            Some(shard) => Ok(self.shard(archive, shard)?.get(text)),
            None => Ok(None),
        }
    }

    /// The first text at or after `text`, with its number. Cost: a look-up in one or two shards.
    pub fn first_from(
        &self,
        archive: &Archive,
        text: &[u8],
    ) -> Result<Option<(Vec<u8>, u64)>, ReadError> {
        for shard in self.shard_of(text).unwrap_or_default()..self.count() {
            let shard = self.shard(archive, shard)?;
            if let Some(found) = first_in(shard.as_fst(), text) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// The first text of a shard at or after `text`, with its number. A stream of the `fst` crate takes eight times as many
/// instructions.
///
/// ```text
/// texts "graph" "gravity"    first_in("grasp")   gra leads to p and v, not to s: v is the first later one, and leads to gravity
/// ```
fn first_in(fst: &Fst<&[u8]>, text: &[u8]) -> Option<(Vec<u8>, u64)> {
    let (mut node, mut number) = (fst.root(), Output::zero());
    // The last branch to texts after `text`: the length that these share with it, the node, its number, and the transition.
    let mut later = None;
    let mut is_followed = true;
    for (shared, byte) in text.iter().enumerate() {
        let same = node.find_input(*byte);
        let after = match same {
            Some(same) => Some(same + 1).filter(|after| *after < node.len()),
            None => (0..node.len()).find(|at| node.transition(*at).inp > *byte),
        };
        if let Some(after) = after {
            later = Some((shared, node, number, after));
        }
        let Some(same) = same else {
            is_followed = false;
            break;
        };
        let transition = node.transition(same);
        (node, number) = (fst.node(transition.addr), number.cat(transition.out));
    }
    let mut found = text.to_vec();
    let mut next = 0;
    if !is_followed {
        let (shared, branch, of_branch, after) = later?;
        found.truncate(shared);
        (node, number, next) = (branch, of_branch, after);
    }
    // From the branch on, the first text below.
    while !is_followed || !node.is_final() {
        if node.is_empty() {
            return None;
        }
        let transition = node.transition(next);
        found.push(transition.inp);
        (node, number) = (fst.node(transition.addr), number.cat(transition.out));
        (next, is_followed) = (0, true);
    }
    Some((found, number.cat(node.final_output()).value()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::entity::Entity;
    use crate::index::check::archive;
    use crate::schema::layout::schema_hash;
    use crate::storage::header::{FileKind, Header};

    fn header() -> Header {
        Header {
            kind: FileKind::Words,
            entity: Some(Entity::Field),
            published: 1,
            rows: 1,
            schema_hash: schema_hash(),
        }
    }

    /// Writes a file that holds shards of `shard_bytes` bytes and nothing else.
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
        let archive = archive(path, FileKind::Words);
        let shards =
            FstShards::open(&archive, table_from, count).map_err(|error| error.to_string());
        (archive, shards)
    }

    /// Texts of one and of many scripts; some are prefixes of others.
    fn texts() -> BTreeMap<Vec<u8>, u64> {
        let texts = (0..900u32).map(|at| match at % 3 {
            0 => format!("word{at}"),
            1 => format!("word{at}{at}"),
            _ => format!("東京{at}"),
        });
        texts.map(String::into_bytes).zip((0..).map(|at| at * at % 1_009)).collect()
    }

    #[test]
    fn a_look_up_finds_texts_in_every_shard() {
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
        // Each text, its direct successor, and a text just before it: for the first text of a shard,
        // the greatest text that the shard before it may hold.
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
    fn the_writer_refuses_texts_that_do_not_ascend() {
        let directory = tempfile::tempdir().unwrap();
        let mut shards = FstShardsWriter::with_shards_of(300, directory.path()).unwrap();
        shards.push(b"b", 0).unwrap();
        assert!(shards.push(b"b", 1).is_err());
        assert!(shards.push(b"a", 1).is_err());
    }

    #[test]
    fn an_empty_map_has_no_shards() {
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
        // Offsets of shards and of texts that do not ascend, lie in the header, or end too early.
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
