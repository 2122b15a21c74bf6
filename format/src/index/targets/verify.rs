//! Verifies the rows of records.

use crate::index::check::{CheckError, ensure};
use crate::index::targets::{BLOCK_RECORDS, DIRECTORY_FIELDS, TargetsFile, row_width};
use crate::storage::leb128;

impl TargetsFile {
    /// Checks the blocks of a path, whose rows are below `rows`. Calls `visit` with each record and row.
    pub(crate) fn verify(
        &self,
        path: usize,
        rows: u32,
        mut visit: impl FnMut(u32, u32) -> Result<(), CheckError>,
    ) -> Result<(), CheckError> {
        let layout = self.layout(path)?;
        ensure(layout.width == row_width(rows), "the rows have another width")?;
        let (mut at, mut count) = (0, 0);
        for block in 0..self.records.div_ceil(BLOCK_RECORDS) {
            let offset = self.archive.u64_at(layout.to + block * 8)?;
            ensure(offset == at, "the blocks are not contiguous")?;
            let found = self.block(path, block as u32)?;
            let records = (self.records - block * BLOCK_RECORDS).min(BLOCK_RECORDS) as u32;
            let mut lengths = Vec::with_capacity(BLOCK_RECORDS);
            for record in 0..records {
                let (mut length, mut next, mut outcome) = (0, 0, Ok(()));
                // A mask of one record: `each` visits the records of a block by their bits.
                found.each(1 << record, |record, row| {
                    let Some(row) = row else { return };
                    length += 1;
                    if outcome.is_ok() {
                        outcome = ensure(
                            next <= u64::from(row) && row < rows,
                            "the rows of a record do not ascend",
                        )
                        .and_then(|()| visit((block * BLOCK_RECORDS) as u32 + record, row));
                    }
                    next = u64::from(row) + 1;
                });
                outcome?;
                count += length;
                leb128::push(length, &mut lengths);
            }
            let from = layout.from + at as usize;
            // The same lengths have one form in every snapshot.
            let is_same = self.archive.bytes(from, from + lengths.len())? == lengths;
            ensure(is_same, "the lengths of a block are not in their shortest form")?;
            at += (lengths.len() + found.rows.len()) as u64;
        }
        ensure(at == (layout.to - layout.from) as u64, "the offsets do not follow the blocks")?;
        ensure(count == layout.rows, "the number of rows is another")?;
        // The last path ends where the directory begins: no byte is left between.
        if path + 1 == self.layouts.len() {
            let directory = self.archive.len() - self.layouts.len() * DIRECTORY_FIELDS * 8;
            let end = layout.to + self.records.div_ceil(BLOCK_RECORDS) * 8;
            ensure(end == directory, "the directory does not follow the paths")?;
        }
        Ok(())
    }
}
