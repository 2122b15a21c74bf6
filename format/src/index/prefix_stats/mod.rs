//! Prefix statistics: precomputed results of the prefixes that many names share.
//!
//! ```text
//! header | summaries: 48 bytes each | row sets… | offset of each set and end of the last: (sets + 1) × u64
//!        | shards: prefix → number of its summary | shards: prefix → number of its row set
//!        | directory: seven u64
//! summary: count: u32 | of the best rows, how many have tier 1, tier 1 or 2, tier 1 to 3, any tier: u8 each
//!          | the best rows, best first: ten u32
//! ```
//!
//! A prefix has a *summary* if the words that start with it have more than 256 rows. Autocomplete
//! answers from the summary alone. A prefix has a *row set*, its rows as postings, if gathering its
//! rows from `words` and from the sets of longer prefixes would be slow; the writer decides.
//!
//! ```text
//! "gra"  →  summary: 1,500 records match, the best are the rows 17, 4, 902, …
//! "g"    →  row set: 40,000 rows; a filter reads it instead of the words from "g" to "h"
//! ```
//!
//! Cost of a look-up: the length of the prefix in the shards, and one read.

mod verify;

use std::io;
use std::io::Write;
use std::path::Path;

use crate::index::fst_shards::{FstShards, FstShardsWriter};
use crate::index::postings::{Postings, PostingsBuilder};
use crate::storage::{
    Archive, ArchiveError, FileWriter, HEADER_BYTES, Header, InArchive, ReadError, Spool, Written,
};

/// The most rows that a summary lists.
pub const BEST_MAX: usize = 10;
/// Size of a summary, in bytes.
pub const SUMMARY_BYTES: usize = 8 + BEST_MAX * 4;
/// Set in an offset whose postings are in the long form.
const LONG: u64 = 1 << 63;

/// How well a record's names match a text. Results are ordered by tier first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Tier {
    /// The name equals the text.
    Equals = 1,
    /// The name starts with the text.
    Begins = 2,
    /// An alternative name starts with the text.
    Alternative = 3,
    /// The names contain the words of the text.
    Words = 4,
}

impl Tier {
    /// All tiers, best first.
    pub const ALL: [Tier; 4] = [Tier::Equals, Tier::Begins, Tier::Alternative, Tier::Words];
}

/// The precomputed autocomplete result of a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PrefixSummary {
    /// Number of matching records.
    pub count: u32,
    /// The best ten matches, or all if there are fewer, best first: tier and row.
    pub best: Vec<(Tier, u32)>,
}

impl PrefixSummary {
    /// Encodes the summary as stored.
    pub fn encode(&self) -> [u8; SUMMARY_BYTES] {
        let mut bytes = [0; SUMMARY_BYTES];
        bytes[..4].copy_from_slice(&self.count.to_le_bytes());
        for (at, tier) in Tier::ALL.into_iter().enumerate() {
            let within = self.best.iter().filter(|(of, _)| *of <= tier).count();
            // At most ten rows.
            bytes[4 + at] = within as u8;
        }
        for (bytes, (_, row)) in bytes[8..].as_chunks_mut::<4>().0.iter_mut().zip(&self.best) {
            *bytes = row.to_le_bytes();
        }
        bytes
    }

    /// Decodes a summary. Returns `None` for bytes that are no summary.
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

/// Writes a `prefixes` file: first every summary, then every row set.
pub struct PrefixStatsWriter {
    file: FileWriter,
    summaries: u64,
    summary_shards: FstShardsWriter,
    sets: u64,
    set_shards: FstShardsWriter,
    set_offsets: Spool,
    list: Vec<u8>,
}

impl PrefixStatsWriter {
    /// Creates `path` and writes the header.
    pub fn create(path: &Path, header: Header) -> io::Result<PrefixStatsWriter> {
        let (file, directory) = FileWriter::create_archive(path, header)?;
        Ok(PrefixStatsWriter {
            file,
            summaries: 0,
            summary_shards: FstShardsWriter::new(directory)?,
            sets: 0,
            set_shards: FstShardsWriter::new(directory)?,
            set_offsets: Spool::new(directory),
            list: Vec::new(),
        })
    }

    /// Appends the summary of a prefix. Prefixes must ascend; all summaries come before the row sets.
    ///
    /// # Errors
    ///
    /// Fails if the prefix does not ascend, a row set was written, or writing fails.
    pub fn push_summary(&mut self, prefix: &[u8], summary: &PrefixSummary) -> io::Result<()> {
        if self.sets > 0 || summary.best.len() > BEST_MAX {
            return Err(io::Error::other("a summary follows a row set, or has more than ten rows"));
        }
        self.summary_shards.push(prefix, self.summaries)?;
        self.summaries += 1;
        self.file.write_all(&summary.encode())
    }

    /// Appends the row set of a prefix, and empties `rows`. Prefixes must ascend.
    ///
    /// # Errors
    ///
    /// Fails if the prefix does not ascend or writing fails.
    pub fn push_set(&mut self, prefix: &[u8], rows: &mut PostingsBuilder) -> io::Result<()> {
        self.set_shards.push(prefix, self.sets)?;
        self.sets += 1;
        self.list.clear();
        let mark = if rows.finish(&mut self.list) { LONG } else { 0 };
        self.set_offsets.write_all(&(self.file.position_bytes() | mark).to_le_bytes())?;
        self.file.write_all(&self.list)
    }

    /// Writes the shards and the directory, and closes the file.
    pub fn finish(mut self) -> io::Result<Written> {
        let offsets_from = self.file.position_bytes();
        self.set_offsets.write_all(&offsets_from.to_le_bytes())?;
        self.set_offsets.move_to(&mut self.file)?;
        let summary_shards = self.summary_shards.finish(&mut self.file)?;
        let set_shards = self.set_shards.finish(&mut self.file)?;
        let fields = [
            self.summaries,
            self.sets,
            offsets_from,
            summary_shards.table_from,
            summary_shards.shards,
            set_shards.table_from,
            set_shards.shards,
        ];
        self.file.finish_archive(fields)
    }
}

/// A mapped `prefixes` file.
#[derive(Clone)]
pub struct PrefixStats {
    archive: Archive,
    summaries: usize,
    summary_shards: FstShards,
    sets: usize,
    set_shards: FstShards,
    offsets_from: usize,
}

impl InArchive for PrefixStats {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl PrefixStats {
    /// Opens the file.
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
                offsets_from,
                summary_table_from,
                summary_shard_count,
                set_table_from,
                set_shards,
            ],
        ) = archive.directory()?;
        let summary_shards = FstShards::open(&archive, summary_table_from, summary_shard_count)?;
        let set_shards = FstShards::open(&archive, set_table_from, set_shards)?;
        // The numbers come from the file, so their products and sums may overflow.
        let summaries_to =
            summaries.checked_mul(SUMMARY_BYTES).and_then(|bytes| bytes.checked_add(HEADER_BYTES));
        let offsets_to = sets
            .checked_add(1)
            .and_then(|offsets| offsets.checked_mul(8))
            .and_then(|bytes| bytes.checked_add(offsets_from));
        // The row sets fill the bytes between summaries and offsets; each set is checked when it is opened.
        let is_sound = summaries_to.is_some_and(|to| to <= offsets_from)
            && offsets_to == Some(summary_shards.from())
            && summary_shards.to() == set_shards.from()
            && set_shards.to() == directory_from;
        if !is_sound {
            return Err(refused(offsets_to.unwrap_or(usize::MAX)));
        }
        Ok(PrefixStats { archive, summaries, summary_shards, sets, set_shards, offsets_from })
    }

    /// The mapped file and its integrity checks.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The number of summaries and the number of row sets.
    pub fn counts(&self) -> (usize, usize) {
        (self.summaries, self.sets)
    }

    /// The summary of a prefix, or `None` for a rare prefix.
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

    /// The first prefix at or after `text` that has a row set, and the set.
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
        let at = self.offsets_from + number * 8;
        let (this, next) = (self.archive.u64_at(at)?, self.archive.u64_at(at + 8)?);
        let (from, to) = ((this & !LONG) as usize, (next & !LONG) as usize);
        if from < HEADER_BYTES || to > self.offsets_from {
            return Err(ReadError::corrupt("prefix_stats", "a row set lies outside its region"));
        }
        Postings::open(&self.archive, from, to, this & LONG != 0)
    }
}

/// Where in a record's names a word stands. Where several apply, the dictionary keeps the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum NamePart {
    /// The word is the record's whole own name.
    Whole = 0,
    /// The word is the first of the record's own name.
    First = 1,
    /// The word is the first of an alternative name.
    FirstOfAlternative = 2,
    /// The word stands anywhere else.
    Other = 3,
}

impl NamePart {
    /// Decodes a mark. An unknown mark counts as [`NamePart::Other`].
    pub fn from_mark(mark: u8) -> NamePart {
        match mark {
            0 => NamePart::Whole,
            1 => NamePart::First,
            2 => NamePart::FirstOfAlternative,
            _ => NamePart::Other,
        }
    }

    /// The tier of a record with a word in this place, for a search text that is the word
    /// (`is_word`) or the word's beginning.
    pub fn tier(self, is_word: bool) -> Tier {
        match self {
            NamePart::Whole if is_word => Tier::Equals,
            NamePart::Whole | NamePart::First => Tier::Begins,
            NamePart::FirstOfAlternative => Tier::Alternative,
            NamePart::Other => Tier::Words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_decodes_to_what_was_encoded() {
        for tiers in [&[][..], &[1], &[4; 10], &[1, 1, 2, 2, 3, 4, 4], &[2, 3]] {
            let best: Vec<(Tier, u32)> =
                tiers.iter().zip(7..).map(|(tier, row)| (Tier::ALL[tier - 1], row)).collect();
            let summary = PrefixSummary { count: 5_000, best };
            assert_eq!(PrefixSummary::decode(&summary.encode()), Some(summary));
        }
    }
}
