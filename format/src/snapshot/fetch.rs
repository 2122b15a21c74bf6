//! Starts the reads of a page before its records are rendered.
//!
//! Without this, a page of 25 records waits for the disk about 100 times, one time after another:
//! for each record, then for each name that the record refers to. [`Snapshot::fetch_page`] waits
//! three times: for the offsets of the records, for the records, and for the names.
//!
//! Where every record is verified and the handle reads one by one, the page is most likely in memory,
//! and nothing is fetched.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::entity::{Entity, NO_ID};
use crate::json::render::{JsonWriter, RecordBytes, RecordStore, Shape};
use crate::snapshot::{Reads, Snapshot};
use crate::storage::ReadError;

/// Bytes of records that are fetched together. A page of longer records is fetched in parts.
const FETCHED_BYTES_MAX: usize = 1 << 20;
/// References that are fetched together.
const REFERENCES_MAX: usize = 4_096;

/// Renders the record in a row.
pub type RenderRow =
    for<'s> fn(&'s Snapshot, Entity, u32, &mut JsonWriter<'s>) -> Result<(), ReadError>;

impl Snapshot {
    /// Starts the reads that rendering `rows` will need, or the first of them.
    ///
    /// Cost: a bit test for each record where the page is in memory. Otherwise each record is
    /// rendered twice, once to find its references.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or the bytes are damaged.
    pub fn fetch_page(
        &self,
        entity: Entity,
        rows: &[u32],
        shape: Shape,
        render: impl for<'s> Fn(&'s Snapshot, Entity, u32, &mut JsonWriter<'s>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let records = &self.files_of(entity).records;
        let mut is_cold = self.reads != Reads::OneByOne;
        for row in rows {
            is_cold = is_cold || !records.is_verified(*row as usize)?;
        }
        if !is_cold {
            return Ok(());
        }
        // The offsets of all records are asked for before the first is needed.
        rows.iter().for_each(|row| records.fetch_offsets(*row as usize));
        let (mut bytes, mut fetched) = (0, 0);
        while let Some(row) = rows.get(fetched)
            && bytes < FETCHED_BYTES_MAX
        {
            bytes += records.fetch(*row as usize)?;
            fetched += 1;
        }
        // Nothing keeps this rendering: the store starts the read of each name that a record asks for.
        let store = NameFetcher { snapshot: self, left: AtomicUsize::new(REFERENCES_MAX) };
        let mut writer = JsonWriter::new(&store, shape);
        for row in &rows[..fetched] {
            writer.out.clear();
            render(self, entity, *row, &mut writer)?;
        }
        Ok(())
    }
}

/// Fetches the names of the rows that a record refers to, and answers without them.
struct NameFetcher<'s> {
    snapshot: &'s Snapshot,
    /// How many more references are fetched.
    left: AtomicUsize,
}

impl NameFetcher<'_> {
    fn fetch(&self, entity: Entity, row: u32) {
        // The counter is only an effort to stay small; one thread uses it.
        let left = self.left.load(Relaxed);
        if left > 0
            && let Some(names) = &self.snapshot.files_of(entity).names
        {
            self.left.store(left - 1, Relaxed);
            names.fetch(row as usize);
        }
    }
}

impl RecordStore for NameFetcher<'_> {
    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        self.fetch(entity, row);
        Ok(NO_ID)
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        self.fetch(entity, row);
        Ok(None)
    }

    fn reference(&self, entity: Entity, row: u32) -> Result<(u64, Option<&[u8]>), ReadError> {
        self.fetch(entity, row);
        Ok((NO_ID, None))
    }

    fn code(&self, code: u32) -> Result<&[u8], ReadError> {
        RecordStore::code(self.snapshot, code)
    }

    fn code_name(&self, code: u32) -> Result<Option<&[u8]>, ReadError> {
        RecordStore::code_name(self.snapshot, code)
    }

    fn has_record(&self, entity: Entity, row: u32) -> bool {
        RecordStore::has_record(self.snapshot, entity, row)
    }

    fn is_placeholder(&self, _: Entity, _: u32) -> Result<bool, ReadError> {
        // The answer would read the name, whose read is only begun here.
        Ok(false)
    }

    fn record(&self, entity: Entity, row: u32) -> Result<RecordBytes<'_>, ReadError> {
        RecordStore::record(self.snapshot, entity, row)
    }
}
