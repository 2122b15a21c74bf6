//! What many names have in common: the beginnings of words that stand in many of them.
//!
//! ```text
//! header | summaries: prefixes × 48 bytes | sets… | places of the sets, and where the last ends: (sets + 1) × u64
//!        | shards: prefix → the number of its answer | shards: prefix → the number of its set
//!        | directory: seven u64
//! answer: how many records match, u32 | how many of the best are of the first tier, of the first two, of the first
//!         three, and how many there are, u8 each | the rows of the best, best first, ten u32
//! ```
//!
//! A prefix has an *answer*, all that autocomplete says of it, where more rows than a block of words
//! holds have words that begin so. It has a *set*, its rows as postings, where gathering them from
//! `words` and from the sets of longer prefixes would take long; what that is the writer decides.

mod verify;

use std::{
    io::{self, Write},
    path::Path,
};

use crate::index::fst_shards::{FstShards, FstShardsWriter};
use crate::index::postings::{Postings, PostingsBuilder};
use crate::storage::archive::{Archive, ArchiveError};
use crate::storage::blobs::Spool;
use crate::storage::error::ReadError;
use crate::storage::header::{FileWriter, HEADER_BYTES, Header, Written};

/// The best that an answer holds at most.
pub const BEST_MAX: usize = 10;
/// Bytes of an answer.
pub const SUMMARY_BYTES: usize = 8 + BEST_MAX * 4;
/// Marks a place whose postings are in the long form.
const LONG: u64 = 1 << 63;

/// How well a record's names match a text: what results are ordered by first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Tier {
    /// The name is the text.
    Equals = 1,
    /// The name begins with it.
    Begins = 2,
    /// An alternative name is it or begins with it.
    Alternative = 3,
    /// The words stand somewhere in the names.
    Words = 4,
}

impl Tier {
    /// All, best first.
    pub const ALL: [Tier; 4] = [Tier::Equals, Tier::Begins, Tier::Alternative, Tier::Words];
}

/// What is known of a prefix beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PrefixSummary {
    /// How many records match.
    pub count: u32,
    /// The best ten of them, or all, best first.
    pub best: Vec<(Tier, u32)>,
}

impl PrefixSummary {
    /// The answer as it is written.
    pub fn encode(&self) -> [u8; SUMMARY_BYTES] {
        let mut bytes = [0; SUMMARY_BYTES];
        bytes[..4].copy_from_slice(&self.count.to_le_bytes());
        for (at, tier) in Tier::ALL.into_iter().enumerate() {
            let within = self.best.iter().filter(|(of, _)| *of <= tier).count();
            // At most ten.
            bytes[4 + at] = within as u8;
        }
        for (bytes, (_, row)) in bytes[8..].as_chunks_mut::<4>().0.iter_mut().zip(&self.best) {
            *bytes = row.to_le_bytes();
        }
        bytes
    }

    /// An answer from its bytes; `None` where they are none.
    pub fn decode(bytes: &[u8]) -> Option<PrefixSummary> {
        let (count, bytes) = bytes.split_first_chunk::<4>()?;
        let (ends, bytes) = bytes.split_first_chunk::<4>()?;
        let rows = bytes.as_chunks::<4>().0.iter().map(|row| u32::from_le_bytes(*row));
        let best = rows.take(ends[3].into()).enumerate().map(|(at, row)| {
            let better = ends.iter().filter(|end| usize::from(**end) <= at).count();
            Some((*Tier::ALL.get(better)?, row))
        });
        Some(PrefixSummary {
            count: u32::from_le_bytes(*count),
            best: best.collect::<Option<_>>()?,
        })
    }
}

/// Writes a `prefixes` file: every answer, then every set.
pub struct PrefixStatsWriter {
    file: FileWriter,
    summaries: u64,
    summary_shards: FstShardsWriter,
    sets: u64,
    set_shards: FstShardsWriter,
    places: Spool,
    list: Vec<u8>,
}

impl PrefixStatsWriter {
    /// Creates `path` with its header.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn create(path: &Path, header: Header) -> io::Result<PrefixStatsWriter> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        let directory = path.parent().unwrap_or(Path::new("."));
        Ok(PrefixStatsWriter {
            file,
            summaries: 0,
            summary_shards: FstShardsWriter::new(directory)?,
            sets: 0,
            set_shards: FstShardsWriter::new(directory)?,
            places: Spool::new(directory),
            list: Vec::new(),
        })
    }

    /// Appends the answer of a prefix, which comes after those before, and before every set.
    ///
    /// # Errors
    ///
    /// Where it does not, or the system refuses.
    pub fn push_summary(&mut self, prefix: &[u8], answer: &PrefixSummary) -> io::Result<()> {
        if self.sets > 0 || answer.best.len() > BEST_MAX {
            return Err(io::Error::other("an answer comes after sets, or has too many rows"));
        }
        self.summary_shards.push(prefix, self.summaries)?;
        self.summaries += 1;
        self.file.write_all(&answer.encode())
    }

    /// Appends the set of a prefix, which comes after those before; its rows are taken.
    ///
    /// # Errors
    ///
    /// Where it does not, or the system refuses.
    pub fn push_set(&mut self, prefix: &[u8], rows: &mut PostingsBuilder) -> io::Result<()> {
        self.set_shards.push(prefix, self.sets)?;
        self.sets += 1;
        self.list.clear();
        let mark = if rows.finish(&mut self.list) { LONG } else { 0 };
        self.places.write_all(&(self.file.position_bytes() | mark).to_le_bytes())?;
        self.file.write_all(&self.list)
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn finish(mut self) -> io::Result<Written> {
        let places_from = self.file.position_bytes();
        self.places.write_all(&places_from.to_le_bytes())?;
        self.places.move_to(&mut self.file)?;
        let summary_shards = self.summary_shards.finish(&mut self.file)?;
        let set_shards = self.set_shards.finish(&mut self.file)?;
        let fields = [
            self.summaries,
            self.sets,
            places_from,
            summary_shards.table_from,
            summary_shards.shards,
            set_shards.table_from,
            set_shards.shards,
        ];
        for field in fields {
            self.file.write_all(&field.to_le_bytes())?;
        }
        self.file.finish()
    }
}

/// A mapped `prefixes` file.
pub struct PrefixStats {
    archive: Archive,
    summaries: usize,
    summary_shards: FstShards,
    sets: usize,
    set_shards: FstShards,
    places_from: usize,
}

impl PrefixStats {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// Where its directory is damaged or none.
    pub fn open(archive: Archive) -> Result<PrefixStats, ArchiveError> {
        let refused = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: archive.len() as u64,
        };
        let (
            directory_from,
            [
                summaries,
                sets,
                places_from,
                table_of_answers,
                summary_shard_count,
                table_of_sets,
                set_shards,
            ],
        ) = archive.directory()?;
        let summary_shards = FstShards::open(&archive, table_of_answers, summary_shard_count)?;
        let set_shards = FstShards::open(&archive, table_of_sets, set_shards)?;
        let answers_to =
            summaries.checked_mul(SUMMARY_BYTES).and_then(|bytes| bytes.checked_add(HEADER_BYTES));
        let places_to = sets
            .checked_add(1)
            .and_then(|places| places.checked_mul(8))
            .and_then(|bytes| bytes.checked_add(places_from));
        let is_sound = answers_to.is_some_and(|to| to <= places_from)
            && places_to == Some(summary_shards.from())
            && summary_shards.to() == set_shards.from()
            && set_shards.to() == directory_from;
        if !is_sound {
            return Err(refused(places_to.unwrap_or(usize::MAX)));
        }
        Ok(PrefixStats { archive, summaries, summary_shards, sets, set_shards, places_from })
    }

    /// The archive beneath.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// How many prefixes have an answer, and how many a set.
    pub fn counts(&self) -> (usize, usize) {
        (self.summaries, self.sets)
    }

    /// The answer of a prefix; `None` where it has none.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: the prefix's length.
    pub fn summary(&self, prefix: &[u8]) -> Result<Option<PrefixSummary>, ReadError> {
        let number = self.summary_shards.get(&self.archive, prefix)?;
        number.map(|number| self.summary_at(number as usize)).transpose()
    }

    fn summary_at(&self, number: usize) -> Result<PrefixSummary, ReadError> {
        PrefixSummary::decode(self.summary_bytes(number)?)
            .ok_or(ReadError::corrupt("prefix_stats", "the statistics of a prefix do not decode"))
    }

    fn summary_bytes(&self, number: usize) -> Result<&[u8], ReadError> {
        if number >= self.summaries {
            return Err(ReadError::corrupt(
                "prefix_stats",
                "a prefix has statistics beyond the table",
            ));
        }
        let from = HEADER_BYTES + number * SUMMARY_BYTES;
        self.archive.bytes(from, from + SUMMARY_BYTES)
    }

    /// The first prefix that is not before this text and has a set, with the set.
    ///
    /// # Errors
    ///
    /// As [`PrefixStats::answer`].
    pub fn next_set(&self, text: &[u8]) -> Result<Option<(Vec<u8>, Postings<'_>)>, ReadError> {
        let found = self.set_shards.first_from(&self.archive, text)?;
        found.map(|(prefix, number)| Ok((prefix, self.set_at(number as usize)?))).transpose()
    }

    fn set_at(&self, number: usize) -> Result<Postings<'_>, ReadError> {
        if number >= self.sets {
            return Err(ReadError::corrupt(
                "prefix_stats",
                "a prefix has a row set beyond the table",
            ));
        }
        let at = self.places_from + number * 8;
        let (this, next) = (self.archive.u64_at(at)?, self.archive.u64_at(at + 8)?);
        let (from, to) = ((this & !LONG) as usize, (next & !LONG) as usize);
        if from < HEADER_BYTES || to > self.places_from {
            return Err(ReadError::corrupt("prefix_stats", "a row set lies outside its region"));
        }
        Postings::open(&self.archive, from, to, this & LONG != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back_from_its_bytes() {
        for tiers in [&[][..], &[1], &[4; 10], &[1, 1, 2, 2, 3, 4, 4], &[2, 3]] {
            let best: Vec<(Tier, u32)> =
                tiers.iter().zip(7..).map(|(tier, row)| (Tier::ALL[tier - 1], row)).collect();
            let answer = PrefixSummary { count: 5_000, best };
            assert_eq!(PrefixSummary::decode(&answer.encode()), Some(answer));
        }
    }
}
