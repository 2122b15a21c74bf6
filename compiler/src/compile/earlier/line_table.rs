//! A table on disk from the hash of a line to the places of its records.
//!
//! ```text
//! entries, ascending by hash: first 8 bytes of the hash, big-endian | segment u32 | key u32
//! ```
//!
//! The first bits of a hash number its bucket, a range of about 64 entries. Finding a hash so reads one or two
//! pages, whatever the number of lines. Two hashes may begin alike: whoever finds a place compares the whole hash.

use std::io;
use std::io::{Read, Write};
use std::path::Path;

use pinakes_format::storage::mmap::Map;

use crate::external_sort::{Sorter, Spill, read_array};

/// The bytes of an entry, which is one line.
pub(crate) const ENTRY_BYTES: usize = 16;
/// Entries of a bucket, on average.
const BUCKET_ENTRIES: u64 = 64;
/// Memory of the sorter. The largest table is sorted in pieces of this size.
const SORTER_BYTES: usize = 64 << 20;

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinePlace {
    /// The number of the segment, as the maker of the table counts them.
    pub segment: u32,
    /// The index of the record's key in the segment.
    pub key: u32,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    hash: u64,
    place: LinePlace,
}

impl Spill for Entry {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.hash.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.place.segment.to_be_bytes());
        bytes[12..].copy_from_slice(&self.place.key.to_be_bytes());
        out.write_all(&bytes)
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Entry>> {
        Ok(read_array(input)?.map(Entry::decode))
    }
}

impl Entry {
    fn decode(bytes: [u8; ENTRY_BYTES]) -> Entry {
        let entry = u128::from_be_bytes(bytes);
        // The casts cut the number into its fields.
        let place = LinePlace { segment: (entry >> 32) as u32, key: entry as u32 };
        Entry { hash: (entry >> 64) as u64, place }
    }
}

fn first_bytes(line_hash: [u8; 16]) -> u64 {
    (u128::from_be_bytes(line_hash) >> 64) as u64
}

/// Takes the places of all lines.
pub(crate) struct LineTableBuilder {
    sorter: Sorter<Entry>,
    count: u64,
}

impl LineTableBuilder {
    /// The files of the table lie in `directory`, without a name.
    pub(crate) fn new(directory: &Path) -> LineTableBuilder {
        LineTableBuilder { sorter: Sorter::new(directory, SORTER_BYTES), count: 0 }
    }

    pub(crate) fn push(&mut self, line_hash: [u8; 16], place: LinePlace) -> io::Result<()> {
        self.count += 1;
        self.sorter.push(Entry { hash: first_bytes(line_hash), place })
    }

    pub(crate) fn finish(self) -> io::Result<LineTable> {
        let bucket_bits = (self.count / BUCKET_ENTRIES).checked_ilog2().unwrap_or(0);
        let mut file = self.sorter.write_sorted()?;
        file.flush()?;
        let entries = Map::open(file.get_ref())?;
        let mut table = LineTable { entries, bucket_bits, bucket_ends: Vec::new() };
        table.bucket_ends.reserve_exact(1 << bucket_bits);
        let mut count = 0;
        while let Some(entry) = table.entry(count) {
            let bucket = table.bucket_of(entry.hash);
            table.bucket_ends.resize(bucket, count);
            count += 1;
        }
        table.bucket_ends.resize(1 << bucket_bits, count);
        Ok(table)
    }
}

/// A table of all lines, sorted.
pub(crate) struct LineTable {
    entries: Map,
    /// The number of bits that number a bucket.
    bucket_bits: u32,
    /// For each bucket, the number of entries up to its end.
    bucket_ends: Vec<usize>,
}

impl LineTable {
    /// The places of lines whose hashes begin like `line_hash`.
    pub(crate) fn find(&self, line_hash: [u8; 16]) -> impl Iterator<Item = LinePlace> {
        let hash = first_bytes(line_hash);
        let bucket = self.bucket_of(hash);
        let end = |bucket: usize| self.bucket_ends.get(bucket).copied().unwrap_or(0);
        let range = bucket.checked_sub(1).map_or(0, end)..end(bucket);
        let entries = range.filter_map(|at| self.entry(at));
        entries
            .skip_while(move |entry| entry.hash < hash)
            .take_while(move |entry| entry.hash == hash)
            .map(|entry| entry.place)
    }

    fn bucket_of(&self, hash: u64) -> usize {
        // At most 2^32 buckets: the shift by all bits leaves bucket 0.
        hash.checked_shr(u64::BITS - self.bucket_bits).unwrap_or(0) as usize
    }

    fn entry(&self, at: usize) -> Option<Entry> {
        let from = at.checked_mul(ENTRY_BYTES)?;
        let bytes = self.entries.get(from..from.checked_add(ENTRY_BYTES)?)?;
        Some(Entry::decode(bytes.try_into().ok()?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::object::key::hash_line;

    #[test]
    fn every_line_is_found_and_no_other() {
        let directory = tempfile::tempdir().unwrap();
        for count in [0, 1, 63, 64, 65, 10_000u32] {
            let hash = |number: u32| hash_line(&number.to_le_bytes());
            let mut builder = LineTableBuilder::new(directory.path());
            let place = |number| LinePlace { segment: number / 7, key: number };
            for number in 0..count {
                builder.push(hash(number), place(number)).unwrap();
            }
            // A second line whose hash begins alike.
            let mut alike = hash(0);
            alike[15] ^= 1;
            builder.push(alike, place(count)).unwrap();
            let table = builder.finish().unwrap();
            for number in 1..count {
                assert_eq!(table.find(hash(number)).collect::<Vec<_>>(), [place(number)]);
            }
            let first = if count == 0 { vec![place(0)] } else { vec![place(0), place(count)] };
            assert_eq!(table.find(hash(0)).collect::<Vec<_>>(), first);
            assert_eq!(table.find(hash(count + 1)).next(), None);
        }
    }
}
