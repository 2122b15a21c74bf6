//! The hashes of an entity's records, sorted by id.

use rayon::prelude::*;

use crate::diff::members::ComparedRecords;
use crate::error::{Error, Result};
use crate::external_sort::{Sorted, Sorter, spill_numbers};
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

spill_numbers!(RecordHash { id: u64, hash: u128, row: u32 });

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
    use crate::external_sort::Spill;

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
