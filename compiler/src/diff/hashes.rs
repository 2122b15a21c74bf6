//! The hashes of an entity's records, sorted by id.

use std::io::{self, Read, Write};

use rayon::prelude::*;

use crate::diff::members::ComparedRecords;
use crate::error::{Error, Result};
use crate::external_sort::{Sorted, Sorter, Spill, read_array};
use crate::terminal::progress::Bar;

/// Records rendered by a thread at a time.
const UNIT_ROWS: u32 = 512;
/// Units made before their hashes are sorted.
const UNITS_PER_WAVE: u32 = 256;

/// The hash of a record. Ordered by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordHash {
    pub(super) id: u64,
    /// XXH3 of the record's line.
    pub(super) hash: u128,
    pub(super) row: u32,
}

impl Spill for RecordHash {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.id.to_le_bytes())?;
        out.write_all(&self.hash.to_le_bytes())?;
        out.write_all(&self.row.to_le_bytes())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<RecordHash>> {
        let Some(id) = read_array(input)? else { return Ok(None) };
        let (mut hash, mut row) = ([0; 16], [0; 4]);
        input.read_exact(&mut hash)?;
        input.read_exact(&mut row)?;
        let (hash, row) = (u128::from_le_bytes(hash), u32::from_le_bytes(row));
        Ok(Some(RecordHash { id: u64::from_le_bytes(id), hash, row }))
    }
}

/// Hashes all records of an entity.
pub(super) fn sorted_hashes(
    records: &ComparedRecords<'_>,
    memory_bytes: u64,
    bar: &Bar,
) -> Result<Sorted<RecordHash>> {
    let directory = std::env::temp_dir();
    let memory_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
    let mut sorter = Sorter::new(&directory, memory_bytes);
    let rows = records.count();
    let wave_rows = UNIT_ROWS * UNITS_PER_WAVE;
    let mut from = 0;
    while from < rows {
        let to = rows.min(from.saturating_add(wave_rows));
        let units: Vec<u32> = (from..to).step_by(UNIT_ROWS as usize).collect();
        let hashes = units
            .into_par_iter()
            .map(|unit| records.hashes(unit..to.min(unit.saturating_add(UNIT_ROWS))))
            .collect::<Result<Vec<Vec<RecordHash>>>>()?;
        for hash in hashes.into_iter().flatten() {
            sorter.push(hash).map_err(Error::output(&directory))?;
        }
        bar.advance(u64::from(to - from));
        from = to;
    }
    sorter.finish().map_err(Error::output(&directory))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_survives_a_temporary_file() {
        let hash = RecordHash { id: u64::MAX - 1, hash: (1 << 127) | 77, row: (1 << 31) | 5 };
        let mut bytes = Vec::new();
        hash.write(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 28);
        let mut input = &bytes[..];
        assert_eq!(RecordHash::read(&mut input).unwrap(), Some(hash));
        assert_eq!(RecordHash::read(&mut input).unwrap(), None);
    }
}
