//! The maps between rows and ids of one entity, and the map of merged ids.
//!
//! ```text
//! ids:        header | id of each row: rows × u64 | by id: published × (id u64, row u32) | fences
//! redirects:  header | by merged id: rows × (merged id u64, id it was merged into u64) | fences
//! ```
//!
//! A *fence* is the first id of 256 ascending pairs. A search reads the fences, which are dense, and
//! then one block of 256 pairs, instead of a page for each step through the ids.
//!
//! The rows from `published` on are unresolved references: ids and names that records refer to and
//! no record has, ascending by (id, name). Each spelling of a name has its own row. Without an id, a
//! row has [`NO_ID`](crate::entity::NO_ID).

use std::{
    io::{self, Write},
    ops::Range,
    path::Path,
};

use crate::storage::archive::{Archive, ArchiveError, InArchive, little_endian};
use crate::storage::blobs::Spool;
use crate::storage::error::ReadError;
use crate::storage::file_writer::{FileWriter, Written};
use crate::storage::header::{HEADER_BYTES, Header};

/// The number of pairs for each fence.
pub const FENCE_IDS: usize = 256;
/// The size of an id and its row.
const ID_ROW_BYTES: usize = 12;
/// The size of a merged id and the id it was merged into.
const REDIRECT_BYTES: usize = 16;

/// Writes an `ids` or a `redirects` file: a column, pairs, and the fences of the pairs.
pub struct ColumnsWriter {
    file: FileWriter,
    pairs: usize,
    fences: Spool,
}

impl ColumnsWriter {
    /// Creates a file that starts with a header.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn create(path: &Path, header: Header) -> io::Result<ColumnsWriter> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        let fences = Spool::new(path.parent().unwrap_or(Path::new(".")));
        Ok(ColumnsWriter { file, pairs: 0, fences })
    }

    /// Appends a value to the column.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn push(&mut self, value: u64) -> io::Result<()> {
        self.file.write_all(&value.to_le_bytes())
    }

    /// Appends a pair with a greater id than the one before. Call after the last [`ColumnsWriter::push`].
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn push_pair(&mut self, id: u64, other: &[u8]) -> io::Result<()> {
        if self.pairs.is_multiple_of(FENCE_IDS) {
            self.fences.write_all(&id.to_le_bytes())?;
        }
        self.pairs += 1;
        self.file.write_all(&id.to_le_bytes())?;
        self.file.write_all(other)
    }

    /// Appends the fences, and finishes the file.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn finish(mut self) -> io::Result<Written> {
        self.fences.move_to(&mut self.file)?;
        self.file.finish()
    }
}

/// The size of the fences of a number of pairs.
pub fn fences_bytes(pairs: u64) -> u64 {
    pairs.div_ceil(FENCE_IDS as u64) * 8
}

/// Searches `count` pairs of `PAIR` bytes from the offset `base`, whose fences end the file; returns
/// what stands after the id.
fn find_by_fences<const PAIR: usize>(
    archive: &Archive,
    base: usize,
    count: usize,
    id: u64,
) -> Result<Option<&[u8]>, ReadError> {
    let fences = count.div_ceil(FENCE_IDS);
    let fences_from = archive.len() - fences * 8;
    // The last block that begins with the id or one below it.
    let above = match id.checked_add(1) {
        Some(next) => archive.lower_bound(fences_from, fences, next)?,
        None => fences,
    };
    let Some(block) = above.checked_sub(1) else { return Ok(None) };
    let from = block * FENCE_IDS;
    let pairs = archive.bytes(base + from * PAIR, base + count.min(from + FENCE_IDS) * PAIR)?;
    let (pairs, _) = pairs.as_chunks::<PAIR>();
    let found = pairs.binary_search_by_key(&id, |pair| little_endian(&pair[..8]));
    Ok(found.ok().map(|at| &pairs[at][8..]))
}

/// Checks each fence against the id it repeats.
fn verify_fences<const PAIR: usize>(
    archive: &Archive,
    base: usize,
    count: usize,
) -> Result<(), ReadError> {
    let fences_from = archive.len() - count.div_ceil(FENCE_IDS) * 8;
    for fence in 0..count.div_ceil(FENCE_IDS) {
        let first = archive.u64_at(base + fence * FENCE_IDS * PAIR)?;
        if archive.u64_at(fences_from + fence * 8)? != first {
            let file = archive.header().kind.file_name();
            return Err(ReadError::corrupt(file, "a fence is not the first id of its block"));
        }
    }
    Ok(())
}

/// A mapped `ids` file.
#[derive(Clone)]
pub struct Ids {
    archive: Archive,
    published: usize,
    rows: usize,
}

impl InArchive for Ids {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl Ids {
    /// Opens an `ids` archive.
    ///
    /// # Errors
    ///
    /// Where the file does not have the size of its columns.
    pub fn open(archive: Archive) -> Result<Ids, ArchiveError> {
        let Header { published, rows, .. } = archive.header();
        let fences = fences_bytes(published);
        archive.expect_length(HEADER_BYTES as u64 + rows * 8 + published * 12 + fences)?;
        // Both casts fit: the columns are mapped.
        Ok(Ids { archive, published: published as usize, rows: rows as usize })
    }

    /// The archive with the columns.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The number of rows with a record.
    pub fn published(&self) -> usize {
        self.published
    }

    /// The number of rows, unresolved references included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The id of a row.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or its bytes are damaged.
    #[inline]
    pub fn id(&self, row: usize) -> Result<u64, ReadError> {
        if row >= self.rows {
            return Err(ReadError::Row { table: "ids", row: row as u64, rows: self.rows as u64 });
        }
        self.archive.u64_at(HEADER_BYTES + row * 8)
    }

    /// The row of the record with the n-th smallest id, from 0.
    ///
    /// # Errors
    ///
    /// Where `rank` or the row is too large, or the bytes are damaged.
    #[inline]
    pub fn row_at(&self, rank: usize) -> Result<u32, ReadError> {
        if rank >= self.published {
            return Err(self.beyond(rank as u64));
        }
        self.checked_row(self.archive.u32_at(self.pairs_from() + rank * ID_ROW_BYTES + 8)?)
    }

    /// Calls `visit` with the rows of the records with the n-th to m-th smallest ids, in order, until
    /// `visit` returns false.
    ///
    /// # Errors
    ///
    /// Where a rank is too large, or the bytes are damaged.
    pub fn each_row(
        &self,
        ranks: Range<usize>,
        mut visit: impl FnMut(u32) -> bool,
    ) -> Result<(), ReadError> {
        if ranks.end > self.published || ranks.start > ranks.end {
            return Err(self.beyond(ranks.end as u64));
        }
        let at = |rank: usize| self.pairs_from() + rank * ID_ROW_BYTES;
        let pairs = self.archive.bytes(at(ranks.start), at(ranks.end))?;
        for pair in pairs.as_chunks::<ID_ROW_BYTES>().0 {
            if !visit(self.checked_row(little_endian(&pair[8..]) as u32)?) {
                break;
            }
        }
        Ok(())
    }

    /// The n-th smallest id of a record, from 0, and the record's row.
    ///
    /// # Errors
    ///
    /// As [`Ids::row_at`].
    #[inline]
    pub fn pair(&self, rank: usize) -> Result<(u64, u32), ReadError> {
        if rank >= self.published {
            return Err(self.beyond(rank as u64));
        }
        let from = self.pairs_from() + rank * ID_ROW_BYTES;
        let (id, row) = self.archive.bytes(from, from + ID_ROW_BYTES)?.split_at(8);
        Ok((little_endian(id), self.checked_row(little_endian(row) as u32)?))
    }

    /// The offset of the pairs.
    fn pairs_from(&self) -> usize {
        HEADER_BYTES + self.rows * 8
    }

    fn checked_row(&self, row: u32) -> Result<u32, ReadError> {
        if (row as usize) < self.published { Ok(row) } else { Err(self.beyond(u64::from(row))) }
    }

    fn beyond(&self, row: u64) -> ReadError {
        ReadError::Row { table: "ids", row, rows: self.published as u64 }
    }

    /// The rows of the unresolved references with an id: one for each spelling of the name.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(unresolved references) reads.
    pub fn unresolved_rows(&self, id: u64) -> Result<Range<u32>, ReadError> {
        let base = HEADER_BYTES + self.published * 8;
        let count = self.rows - self.published;
        let bound = |id| self.archive.lower_bound(base, count, id);
        let place = |at: usize| (self.published + at) as u32;
        Ok(place(bound(id)?)..place(bound(id.saturating_add(1))?))
    }

    /// The first of the unresolved references with the id of the one in a row. Steps back from the row, further each
    /// time: the same ids are neighbours.
    ///
    /// # Errors
    ///
    /// Where the row does not exist, or the bytes are damaged. Cost: two reads for an id with one spelling.
    pub(crate) fn first_unresolved_row(&self, row: u32) -> Result<u32, ReadError> {
        let id = self.id(row as usize)?;
        let (mut first, mut step) = (row, 1);
        loop {
            let before = first.saturating_sub(step).max(self.published as u32);
            if before < first && self.id(before as usize)? == id {
                (first, step) = (before, step * 2);
            } else if step == 1 {
                return Ok(first);
            } else {
                step = 1;
            }
        }
    }

    /// The row of the record with an id.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(fences) reads, and one more.
    pub fn row(&self, id: u64) -> Result<Option<u32>, ReadError> {
        let (base, count) = (self.pairs_from(), self.published);
        let found = find_by_fences::<ID_ROW_BYTES>(&self.archive, base, count, id)?;
        found.map(|row| self.checked_row(little_endian(row) as u32)).transpose()
    }

    /// Checks the fences.
    ///
    /// # Errors
    ///
    /// Where a fence is wrong, or the bytes are damaged.
    pub(crate) fn verify(&self) -> Result<(), ReadError> {
        verify_fences::<ID_ROW_BYTES>(&self.archive, self.pairs_from(), self.published)
    }
}

/// A mapped `redirects` file.
#[derive(Clone)]
pub struct Redirects {
    archive: Archive,
    count: usize,
}

impl InArchive for Redirects {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl Redirects {
    /// Opens a `redirects` archive.
    ///
    /// # Errors
    ///
    /// Where the file does not have the size of its columns.
    pub fn open(archive: Archive) -> Result<Redirects, ArchiveError> {
        let count = archive.header().rows;
        archive.expect_length(HEADER_BYTES as u64 + count * 16 + fences_bytes(count))?;
        // The cast fits: the columns are mapped.
        Ok(Redirects { archive, count: count as usize })
    }

    /// The archive with the columns.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The number of merged ids.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The n-th smallest merged id, from 0, and the id it was merged into.
    ///
    /// # Errors
    ///
    /// Where `at` is too large, or the bytes are damaged.
    pub fn pair(&self, at: usize) -> Result<(u64, u64), ReadError> {
        if at >= self.count {
            let (row, rows) = (at as u64, self.count as u64);
            return Err(ReadError::Row { table: "redirects", row, rows });
        }
        let from = HEADER_BYTES + at * REDIRECT_BYTES;
        Ok((self.archive.u64_at(from)?, self.archive.u64_at(from + 8)?))
    }

    /// The id that `id` was finally merged into: the linker has resolved chains of merges.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(fences) reads, and one more.
    pub fn target(&self, id: u64) -> Result<Option<u64>, ReadError> {
        let found = find_by_fences::<REDIRECT_BYTES>(&self.archive, HEADER_BYTES, self.count, id)?;
        Ok(found.map(little_endian))
    }

    /// Checks the fences.
    ///
    /// # Errors
    ///
    /// As [`Ids::verify`].
    pub(crate) fn verify(&self) -> Result<(), ReadError> {
        verify_fences::<REDIRECT_BYTES>(&self.archive, HEADER_BYTES, self.count)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::entity::Entity;
    use crate::index::check::archive;
    use crate::schema::layout::schema_hash;
    use crate::storage::header::FileKind;

    #[test]
    fn the_first_unresolved_row_of_an_id_is_found_from_each_spelling() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ids");
        // Two records, and then ids with 1 to 9 spellings.
        let unresolved = (1..10u64).flat_map(|id| (0..id).map(move |_| id));
        let ids: Vec<u64> = [1, 7].into_iter().chain(unresolved).collect();
        let header = Header {
            kind: FileKind::Ids,
            entity: Some(Entity::Field),
            published: 2,
            rows: ids.len() as u64,
            schema_hash: schema_hash(),
        };
        let mut writer = ColumnsWriter::create(&path, header).unwrap();
        ids.iter().for_each(|id| writer.push(*id).unwrap());
        for row in [0u32, 1] {
            writer.push_pair(ids[row as usize], &row.to_le_bytes()).unwrap();
        }
        writer.finish().unwrap();
        let file = Ids::open(archive(&path, FileKind::Ids)).unwrap();
        for (row, id) in (0..).zip(ids).skip(2) {
            let expected = file.unresolved_rows(id).unwrap().start;
            assert_eq!(file.first_unresolved_row(row).unwrap(), expected, "row {row}");
        }
    }
}
