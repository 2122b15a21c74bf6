//! Word → place: the distinct words of an entity's names, as fst maps.
//!
//! ```text
//! header | shards… | directory
//! shard:     an fst map from words to their places among all, ascending
//! directory: for each shard, where it begins: u64; and where the last ends: u64
//!            | how many shards there are: u64
//! ```
//!
//! A map is opened only behind its hash, so it has to be verified whole before its first use. So
//! that this stays quick the words are split into shards of at most 16 MiB or so by their order.

mod verify;

pub(crate) use verify::LastWord;

use std::{
    io::{self, Write},
    ops::Range,
    path::Path,
};

use fst::{IntoStreamer, Map, MapBuilder, Streamer};

use crate::{
    archive::{Archive, ArchiveError},
    file::{FileWriter, HEADER_BYTES, Header, Written},
    render::RenderError,
};

/// Bytes at which a shard is closed.
const SHARD_BYTES: u64 = 15 << 20;

/// Writes a `words` file.
pub struct WordsWriter {
    file: FileWriter,
    shard: MapBuilder<Vec<u8>>,
    is_empty: bool,
    places: Vec<u64>,
    count: u64,
}

fn other(error: fst::Error) -> io::Error {
    io::Error::other(error)
}

impl WordsWriter {
    /// Creates `path` with its header.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn create(path: &Path, header: Header) -> io::Result<WordsWriter> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        let shard = MapBuilder::new(Vec::new()).map_err(other)?;
        Ok(WordsWriter { file, shard, is_empty: true, places: Vec::new(), count: 0 })
    }

    /// Appends a word, which comes after all before it; its place.
    ///
    /// # Errors
    ///
    /// Where it does not come after them, or the system refuses.
    pub fn push(&mut self, word: &[u8]) -> io::Result<u64> {
        if self.shard.bytes_written() >= SHARD_BYTES {
            self.close_shard()?;
        }
        let place = self.count;
        self.shard.insert(word, place).map_err(other)?;
        self.is_empty = false;
        self.count += 1;
        Ok(place)
    }

    fn close_shard(&mut self) -> io::Result<()> {
        let fresh = MapBuilder::new(Vec::new()).map_err(other)?;
        let shard = std::mem::replace(&mut self.shard, fresh).into_inner().map_err(other)?;
        self.is_empty = true;
        self.places.push(self.file.position_bytes());
        self.file.write_all(&shard)
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn finish(mut self) -> io::Result<Written> {
        if !self.is_empty {
            self.close_shard()?;
        }
        let shards = self.places.len() as u64;
        self.places.push(self.file.position_bytes());
        for place in self.places.iter().chain([&shards]) {
            self.file.write_all(&place.to_le_bytes())?;
        }
        self.file.finish()
    }
}

/// A mapped `words` file.
pub struct WordsFile {
    archive: Archive,
    /// Where each shard begins, and where the last ends.
    places: Vec<usize>,
}

impl WordsFile {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// Where its directory is damaged or none.
    pub fn open(archive: Archive) -> Result<WordsFile, ArchiveError> {
        let length = archive.len();
        let refused = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: length as u64,
        };
        let count_at = length.checked_sub(8).filter(|at| *at >= HEADER_BYTES + 8);
        let count_at = count_at.ok_or_else(|| refused(HEADER_BYTES + 16))?;
        let shards = archive.number_at(count_at)?;
        let directory_bytes = shards.checked_add(1).and_then(|places| places.checked_mul(8));
        let from = directory_bytes.and_then(|bytes| count_at.checked_sub(bytes));
        let from = from.filter(|from| *from >= HEADER_BYTES);
        let from = from.ok_or_else(|| refused(directory_bytes.unwrap_or(usize::MAX)))?;
        let places: Result<Vec<usize>, ArchiveError> =
            (0..=shards).map(|at| archive.number_at(from + at * 8)).collect();
        let places = places?;
        let is_sound = places.first() == Some(&HEADER_BYTES)
            && places.last() == Some(&from)
            && places.is_sorted();
        if is_sound { Ok(WordsFile { archive, places }) } else { Err(refused(from)) }
    }

    /// The archive beneath.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// How many shards there are.
    pub fn shards(&self) -> usize {
        self.places.len() - 1
    }

    /// A shard's map, whose bytes have been checked, all of them.
    ///
    /// # Errors
    ///
    /// Where there is no such shard, or it is damaged.
    pub fn shard(&self, shard: usize) -> Result<Map<&[u8]>, RenderError> {
        let [from, to] = *self.places.get(shard..shard + 2).ok_or(RenderError::Record)? else {
            return Err(RenderError::Record);
        };
        Map::new(self.archive.bytes(from, to)?).map_err(|_| RenderError::Record)
    }

    /// The place of the first word that is not before this one; `None` where all are.
    fn lower_bound(&self, word: &[u8]) -> Result<Option<u64>, RenderError> {
        // The shard before the first whose words all come after it.
        let (mut low, mut high) = (0, self.shards());
        while low < high {
            let middle = low + (high - low) / 2;
            let shard = self.shard(middle)?;
            let is_before = shard.stream().next().is_some_and(|(first, _)| first <= word);
            if is_before { low = middle + 1 } else { high = middle }
        }
        for shard in low.saturating_sub(1)..self.shards() {
            let shard = self.shard(shard)?;
            if let Some((_, place)) = shard.range().ge(word).into_stream().next() {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// The places of the words that begin so.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: two look-ups.
    pub fn beginning(&self, prefix: &str, words: u64) -> Result<Range<u64>, RenderError> {
        let bound = |word: &[u8]| self.lower_bound(word).map(|at| at.unwrap_or(words).min(words));
        let from = bound(prefix.as_bytes())?;
        // UTF-8 has no byte 0xff, so that this comes after every word with the prefix.
        let to = bound(&[prefix.as_bytes(), &[0xff]].concat())?;
        Ok(from..to.max(from))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs::File, sync::Arc};

    use super::*;
    use crate::{entity::Entity, file::Kind, integrity::Verifier, map::Map as Mapped};

    #[test]
    fn words_with_a_beginning_stand_together() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("words");
        let words = ["a", "ab", "abc", "b", "smith", "smithson", "é", "東京"];
        let kind = Kind::Words;
        let count = words.len() as u64;
        let header = Header { kind, entity: Some(Entity::Author), published: count, rows: count };
        let mut writer = WordsWriter::create(&path, header).unwrap();
        for (place, word) in (0..).zip(words) {
            assert_eq!(writer.push(word.as_bytes()).unwrap(), place);
            if place % 3 == 2 {
                writer.close_shard().unwrap();
            }
        }
        assert!(writer.push(b"a").is_err());
        writer.finish().unwrap();
        let map = Mapped::open(&File::open(&path).unwrap()).unwrap();
        let verifier = Verifier::trusting("words".into(), map.len() as u64);
        let hashes = Arc::new(Mapped::empty());
        let archive = Archive::open(map, hashes, verifier, kind, Some(Entity::Author)).unwrap();
        let file = WordsFile::open(archive).unwrap();
        for prefix in ["", "a", "ab", "abcd", "b", "s", "smithson", "t", "é", "東", "z", "龍"] {
            let from = words.iter().filter(|word| **word < prefix).count() as u64;
            let length = words.iter().filter(|word| word.starts_with(prefix)).count() as u64;
            assert_eq!(file.beginning(prefix, count).unwrap(), from..from + length, "{prefix}");
        }
    }
}
