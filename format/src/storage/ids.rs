//! The maps between rows and ids of one entity, and the map of merged ids.
//!
//! ```text
//! ids:        header | id of each row: rows × u64 | by id: published × (id u64, row u32) | fences
//! redirects:  header | by merged id: rows × (merged id u64, id it was merged into u64) | fences
//! ```
//!
//! A *fence* is the first id of 256 ascending pairs. More than 4,096 fences have fences of their own, of 1,024
//! each, in a layer behind them, and so on. A search reads the last layer, one stretch of each layer before and one
//! block of 256 pairs, instead of a page for each step through the ids:
//!
//! ```text
//! pairs           20,000,000   12 bytes each; a block has 3 KiB
//! layer 0             78,125   8 bytes each; the fences below one of layer 1 have 8 KiB
//! layer 1                 77   read as a whole, at most 32 KiB
//! ```
//!
//! The rows from `published` on are unresolved references: ids and names that records refer to and
//! no record has, ascending by (id, name). Each spelling of a name has its own row. Without an id, a
//! row has [`NO_ID`](crate::entity::NO_ID).

use std::io;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use crate::storage::archive::{Archive, ArchiveError, InArchive, little_endian};
use crate::storage::blobs::Spool;
use crate::storage::error::ReadError;
use crate::storage::file_writer::{FileWriter, Written};
use crate::storage::header::{HEADER_BYTES, Header};

/// The number of pairs for each fence.
pub const FENCE_IDS: usize = 256;
/// The number of fences for each fence of the next layer.
pub const LAYER_FENCES: usize = 1_024;
/// The most fences of the last layer.
pub const LAST_LAYER_FENCES_MAX: usize = 4_096;
/// The size of an id and its row.
const ID_ROW_BYTES: usize = 12;
/// The size of a merged id and the id it was merged into.
const REDIRECT_BYTES: usize = 16;

/// Writes an `ids` or a `redirects` file: a column, pairs, and the fences of the pairs.
pub struct ColumnsWriter {
    file: FileWriter,
    pairs: usize,
    fences: Spool,
    /// Every 1,024th fence: 15 KiB for 480 million pairs.
    next_layer: Vec<u64>,
}

impl ColumnsWriter {
    /// Creates a file that starts with a header.
    pub fn create(path: &Path, header: Header) -> io::Result<ColumnsWriter> {
        let (file, directory) = FileWriter::create_archive(path, header)?;
        let fences = Spool::new(directory);
        Ok(ColumnsWriter { file, pairs: 0, fences, next_layer: Vec::new() })
    }

    /// Appends a value to the column.
    pub fn push(&mut self, value: u64) -> io::Result<()> {
        self.file.write_all(&value.to_le_bytes())
    }

    /// Appends a pair with a greater id than the one before. Call after the last [`ColumnsWriter::push`].
    pub fn push_pair(&mut self, id: u64, other: &[u8]) -> io::Result<()> {
        if self.pairs.is_multiple_of(FENCE_IDS) {
            self.fences.write_all(&id.to_le_bytes())?;
            if self.pairs.is_multiple_of(FENCE_IDS * LAYER_FENCES) {
                self.next_layer.push(id);
            }
        }
        self.pairs += 1;
        self.file.write_all(&id.to_le_bytes())?;
        self.file.write_all(other)
    }

    /// Appends the layers of fences, and finishes the file.
    pub fn finish(mut self) -> io::Result<Written> {
        self.fences.move_to(&mut self.file)?;
        for _ in 1..layer_lengths(self.pairs as u64).len() {
            self.next_layer.iter().try_for_each(|id| self.file.write_all(&id.to_le_bytes()))?;
            self.next_layer = self.next_layer.iter().step_by(LAYER_FENCES).copied().collect();
        }
        self.file.finish()
    }
}

/// The number of fences in each layer above a number of pairs.
pub fn layer_lengths(pairs: u64) -> Vec<u64> {
    let mut length = pairs.div_ceil(FENCE_IDS as u64);
    let mut lengths = vec![length];
    while length > LAST_LAYER_FENCES_MAX as u64 {
        length = length.div_ceil(LAYER_FENCES as u64);
        lengths.push(length);
    }
    lengths
}

/// The size of the fences of a number of pairs.
fn fences_bytes(pairs: u64) -> u64 {
    layer_lengths(pairs).iter().sum::<u64>() * 8
}

/// Searches `count` pairs of `PAIR` bytes from the offset `base`, whose fences end the file, the last layer last.
/// Returns the bytes of the pair behind the id.
fn find_by_fences<const PAIR: usize>(
    archive: &Archive,
    base: usize,
    count: usize,
    id: u64,
) -> Result<Option<&[u8]>, ReadError> {
    // The greatest number is no id.
    let Some(above) = id.checked_add(1) else { return Ok(None) };
    let fences = count.div_ceil(FENCE_IDS);
    let block = last_fence_below(archive, base + count * PAIR, fences, above)?;
    let Some(block) = block else { return Ok(None) };
    let from = block * FENCE_IDS;
    let pairs = archive.bytes(base + from * PAIR, base + count.min(from + FENCE_IDS) * PAIR)?;
    let (pairs, _) = pairs.as_chunks::<PAIR>();
    let found = pairs.binary_search_by_key(&id, |pair| little_endian(&pair[..8]));
    Ok(found.ok().map(|at| &pairs[at][8..]))
}

/// Searches a layer of `count` fences at an offset, and the layers behind it, for the last fence below an id; `None`
/// where there is none.
fn last_fence_below(
    archive: &Archive,
    from: usize,
    count: usize,
    id: u64,
) -> Result<Option<usize>, ReadError> {
    let searched = if count <= LAST_LAYER_FENCES_MAX {
        0..count
    } else {
        let next = last_fence_below(archive, from + count * 8, count.div_ceil(LAYER_FENCES), id)?;
        let Some(next) = next else { return Ok(None) };
        next * LAYER_FENCES..count.min((next + 1) * LAYER_FENCES)
    };
    let below = archive.lower_bound(from + searched.start * 8, searched.len(), id)?;
    Ok((searched.start + below).checked_sub(1))
}

/// Checks each fence against the id it repeats.
fn verify_fences<const PAIR: usize>(
    archive: &Archive,
    base: usize,
    count: usize,
) -> Result<(), ReadError> {
    let mut fence_at = base + count * PAIR;
    let mut pairs = FENCE_IDS;
    for length in layer_lengths(count as u64) {
        for fence in 0..length as usize {
            if archive.u64_at(fence_at)? != archive.u64_at(base + fence * pairs * PAIR)? {
                let file = archive.header().kind.file_name();
                return Err(ReadError::corrupt(file, "a fence is not the first id of its block"));
            }
            fence_at += 8;
        }
        pairs *= LAYER_FENCES;
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

    fn check(pairs: u64) {
        let (kind, entity, rows) = (FileKind::Redirects, Some(Entity::Field), pairs);
        let header = Header { kind, entity, published: 0, rows, schema_hash: schema_hash() };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("redirects");
        let mut writer = ColumnsWriter::create(&path, header).unwrap();
        // Every third number from 2 on is an id.
        let id = |at: u64| at * 3 + 2;
        (0..pairs).for_each(|at| writer.push_pair(id(at), &(at + 7).to_le_bytes()).unwrap());
        writer.finish().unwrap();
        let redirects = Redirects::open(archive(&path, kind)).unwrap();
        redirects.verify().unwrap();
        let block = FENCE_IDS as u64;
        let stretch = block * LAYER_FENCES as u64;
        let near = [0, block, 2 * block, stretch, 2 * stretch, pairs]
            .map(|at| at.saturating_sub(2)..at + 2);
        for at in near.into_iter().flatten() {
            let expected = (at < pairs).then_some(at + 7);
            assert_eq!(redirects.target(id(at)).unwrap(), expected, "{at} of {pairs}");
            assert_eq!(redirects.target(id(at) + 1).unwrap(), None, "{at} of {pairs}");
        }
        assert_eq!(redirects.target(0).unwrap(), None);
        assert_eq!(redirects.target(u64::MAX).unwrap(), None);
    }

    #[test]
    fn ids_are_found_below_one_layer_of_fences_and_below_two() {
        let most = (FENCE_IDS * LAST_LAYER_FENCES_MAX) as u64;
        assert_eq!(layer_lengths(most), [4_096]);
        assert_eq!(layer_lengths(most + 1), [4_097, 5]);
        // The outputs of OpenAlex.
        assert_eq!(layer_lengths(480_000_000), [1_875_000, 1_832]);
        for pairs in [0, 1, 255, 256, 257, 2_000, most, most + 1, most + 70_000] {
            check(pairs);
        }
    }
}
