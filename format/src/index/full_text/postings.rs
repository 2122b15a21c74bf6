//! The posting list of a term: ascending rows, each with the impact of the term in its record.
//!
//! ```text
//! blocks of 128 postings | rest of fewer than 128 | entries, one for each block and one for the rest
//! block: width of rows | width of impacts | packed differences of rows, less one | packed impacts
//! rest:  for each posting, (difference of rows, less one) × 32 + impact, as LEB128
//! entry: last row u32 | offset u40 | offset of the positions u40 | greatest impact u8
//! ```
//!
//! Differences and impacts of a block are packed by `bitpacking`, four lanes side by side. Offsets count from the
//! beginning of the list and of its positions.
//!
//! An entry tells whether its block can hold a row, or a record that is good enough. So a reader passes over most
//! blocks of a frequent term:
//!
//! ```text
//! entries: (row ≤ 510, impact ≤ 9)  (row ≤ 1,270, impact ≤ 31)  (row ≤ 2,000, impact ≤ 4)
//! seek(1,300)  →  third block
//! ```

use bitpacking::{BitPacker, BitPacker4x};

use crate::index::full_text::impact::IMPACT_MAX;
use crate::index::full_text::layout::{BLOCK_POSTINGS, ENTRY_BYTES};
use crate::storage::archive::Archive;
use crate::storage::error::ReadError;
use crate::storage::leb128;

/// The row of a cursor beyond its last posting.
pub const NO_ROW: u32 = u32::MAX;

/// Differences of at most this many bits: those of a block add up to less than 2^31.
const WIDTH_CHECKED_BY_ENDS: u8 = 23;

/// Bits of an impact.
const IMPACT_BITS: u32 = 5;

fn corrupt(what: &'static str) -> ReadError {
    ReadError::corrupt("full_text", what)
}

/// Postings that are not yet a block.
#[derive(Default)]
pub(super) struct Pending {
    pub rows: Vec<u32>,
    pub impacts: Vec<u32>,
}

impl Pending {
    /// Appends a whole block, and leaves no postings. `before` is the last row of the block before.
    pub fn write_block(&mut self, before: Option<u32>, out: &mut Vec<u8>) {
        let packer = BitPacker4x::new();
        let row_width = packer.num_bits_strictly_sorted(before, &self.rows);
        let impact_width = packer.num_bits(&self.impacts);
        out.extend_from_slice(&[row_width, impact_width]);
        let mut packed = [0; BLOCK_POSTINGS * 4];
        let bytes = packer.compress_strictly_sorted(before, &self.rows, &mut packed, row_width);
        out.extend_from_slice(&packed[..bytes]);
        let bytes = packer.compress(&self.impacts, &mut packed, impact_width);
        out.extend_from_slice(&packed[..bytes]);
        self.rows.clear();
        self.impacts.clear();
    }

    /// Appends the rest of a list, and leaves no postings.
    pub fn write_rest(&mut self, before: Option<u32>, out: &mut Vec<u8>) {
        let mut next = before.map_or(0, |row| row + 1);
        for (row, impact) in self.rows.drain(..).zip(self.impacts.drain(..)) {
            leb128::push(u64::from(row - next) << IMPACT_BITS | u64::from(impact), out);
            next = row + 1;
        }
    }
}

/// An entry of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub last_row: u32,
    pub from: u64,
    pub positions_from: u64,
    pub impact_max: u8,
}

impl Entry {
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.last_row.to_le_bytes());
        out.extend_from_slice(&self.from.to_le_bytes()[..5]);
        out.extend_from_slice(&self.positions_from.to_le_bytes()[..5]);
        out.push(self.impact_max);
    }

    #[inline]
    pub fn read(bytes: &[u8; ENTRY_BYTES]) -> Entry {
        let [a, b, c, d, from @ .., e, f, g, h, i, impact_max] = *bytes;
        let u40 = |[a, b, c, d, e]: [u8; 5]| u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
        Entry {
            last_row: u32::from_le_bytes([a, b, c, d]),
            from: u40(from),
            positions_from: u40([e, f, g, h, i]),
            impact_max,
        }
    }
}

/// A list of at most this many bytes is fetched as a whole where its chunks are not on this disk.
const FETCHED_WHOLE_BYTES: usize = 192 << 10;

/// A list in a mapped file, or in the entry of a dictionary.
#[derive(Clone, Copy)]
pub(super) struct List<'s> {
    /// The number of postings.
    pub count: u32,
    pub place: Place<'s>,
}

#[derive(Clone, Copy)]
pub(super) enum Place<'s> {
    /// The rest alone, since the list has no whole block.
    Inline(&'s [u8]),
    /// Where the list begins, and its entries.
    Region {
        archive: &'s Archive,
        from: usize,
        entries_from: usize,
        entries: &'s [[u8; ENTRY_BYTES]],
    },
}

impl<'s> List<'s> {
    /// Opens the list in the bytes `from..to` of an archive.
    pub fn open(
        archive: &'s Archive,
        from: usize,
        to: usize,
        count: u32,
    ) -> Result<List<'s>, ReadError> {
        let entries = (count as usize / BLOCK_POSTINGS + 1) * ENTRY_BYTES;
        let entries_from = to.checked_sub(entries).filter(|at| *at >= from);
        let entries_from =
            entries_from.ok_or(corrupt("a posting list is shorter than its entries"))?;
        if archive.is_collecting() && to - from <= FETCHED_WHOLE_BYTES {
            archive.fetch(from, to);
        }
        let entries = archive.bytes(entries_from, to)?.as_chunks().0;
        Ok(List { count, place: Place::Region { archive, from, entries_from, entries } })
    }

    /// The number of whole blocks; the rest has this number.
    fn blocks(&self) -> usize {
        self.count as usize / BLOCK_POSTINGS
    }

    pub fn entry(&self, block: usize) -> Option<Entry> {
        match self.place {
            Place::Inline(_) => None,
            Place::Region { entries, .. } => entries.get(block).map(Entry::read),
        }
    }

    /// The last row of a block. Inline lists have a single block.
    fn last_row(&self, block: usize) -> u32 {
        match self.place {
            Place::Inline(_) => NO_ROW,
            Place::Region { entries, .. } => entries.get(block).map_or(NO_ROW, |entry| {
                let [a, b, c, d, ..] = *entry;
                u32::from_le_bytes([a, b, c, d])
            }),
        }
    }

    fn impact_max(&self, block: usize) -> u8 {
        match self.place {
            Place::Inline(_) => IMPACT_MAX,
            Place::Region { entries, .. } => {
                entries.get(block).map_or(0, |entry| entry[ENTRY_BYTES - 1])
            }
        }
    }

    /// The bytes of a block or of the rest.
    fn bytes(&self, block: usize) -> Result<&'s [u8], ReadError> {
        match self.place {
            Place::Inline(bytes) => Ok(bytes),
            Place::Region { archive, from, entries_from, .. } => {
                let this =
                    self.entry(block).ok_or_else(|| corrupt("a posting list has no such block"))?;
                // The entries follow the rest.
                let to = match self.entry(block + 1) {
                    Some(next) => from.saturating_add(next.from as usize),
                    None => entries_from,
                };
                archive.bytes(from.saturating_add(this.from as usize), to)
            }
        }
    }
}

/// Walks the postings of a list in row order.
pub(super) struct Cursor<'s> {
    list: List<'s>,
    /// The decoded block; the number of blocks for the rest.
    block: usize,
    rows: [u32; BLOCK_POSTINGS],
    impacts: [u32; BLOCK_POSTINGS],
    /// The impacts of a block, until they are needed.
    packed_impacts: Option<(&'s [u8], u8)>,
    /// The place of the current posting in the block.
    at: usize,
    /// The block of the last bound.
    bound_block: usize,
}

impl<'s> Cursor<'s> {
    /// Moves to the first posting.
    pub fn open(list: List<'s>) -> Result<Cursor<'s>, ReadError> {
        let mut cursor = Cursor {
            list,
            block: 0,
            rows: [NO_ROW; BLOCK_POSTINGS],
            impacts: [0; BLOCK_POSTINGS],
            packed_impacts: None,
            at: 0,
            bound_block: 0,
        };
        cursor.decode(0)?;
        Ok(cursor)
    }

    /// Moves back to the first posting.
    pub fn rewind(&mut self) -> Result<(), ReadError> {
        self.bound_block = 0;
        if self.block == 0 {
            self.at = 0;
            return Ok(());
        }
        self.decode(0)
    }

    /// The number of postings.
    pub fn count(&self) -> u32 {
        self.list.count
    }

    /// The current row, or [`NO_ROW`].
    #[inline]
    pub fn row(&self) -> u32 {
        self.rows[self.at]
    }

    /// The block of the current posting, and the posting's place in the block.
    pub fn place(&self) -> (usize, usize) {
        (self.block, self.at)
    }

    pub fn list(&self) -> &List<'s> {
        &self.list
    }

    /// The impact of the current posting.
    #[inline]
    pub fn impact(&mut self) -> u32 {
        if let Some((packed, width)) = self.packed_impacts.take() {
            BitPacker4x::new().decompress(packed, &mut self.impacts, width);
        }
        self.impacts[self.at]
    }

    /// Moves to the next posting.
    #[inline]
    pub fn advance(&mut self) -> Result<(), ReadError> {
        self.at += 1;
        if self.at == BLOCK_POSTINGS || self.row() == NO_ROW {
            return self.decode_next();
        }
        Ok(())
    }

    /// Moves to the first posting whose row is at least `row`. Never moves back.
    #[inline]
    pub fn seek(&mut self, row: u32) -> Result<(), ReadError> {
        if self.row() >= row {
            return Ok(());
        }
        if self.rows[BLOCK_POSTINGS - 1] < row {
            self.seek_block(row)?;
        } else if self.rows[self.at + 1] >= row {
            // The last row of the block is not before `row`, so that there is a next one.
            self.at += 1;
            return Ok(());
        }
        self.at = self.at_least(row);
        // Beyond the rest, all rows are `NO_ROW`.
        self.at = self.at.min(BLOCK_POSTINGS - 1);
        Ok(())
    }

    /// The place of the first row of the block that is at least `row`: the number of rows before it. Does not branch on rows.
    #[inline]
    fn at_least(&self, row: u32) -> usize {
        let before = |rows: &[u32]| rows.iter().filter(|other| **other < row).count();
        let (parts, _) = self.rows.as_chunks::<16>();
        let whole: usize = parts.iter().map(|part| usize::from(part[15] < row)).sum();
        16 * whole + parts.get(whole).map_or(0, |part| before(part))
    }

    /// The last row of the decoded block; [`NO_ROW`] of the rest.
    #[inline]
    pub fn block_last(&self) -> u32 {
        self.rows[BLOCK_POSTINGS - 1]
    }

    /// The rows of the decoded block from the current one on.
    #[inline]
    pub fn decoded_rows(&self) -> &[u32] {
        let rows = &self.rows[self.at..];
        // Only the rest has fewer rows than a block.
        match self.block_last() {
            NO_ROW => &rows[..rows.partition_point(|row| *row != NO_ROW)],
            _ => rows,
        }
    }

    /// The rows of the decoded block from the current one on, and their impacts.
    #[inline]
    pub fn decoded(&mut self) -> (&[u32], &[u32]) {
        if self.row() != NO_ROW {
            self.impact();
        }
        let rows = self.decoded_rows();
        (rows, &self.impacts[self.at..][..rows.len()])
    }

    /// Passes over some of the decoded rows.
    #[inline]
    pub fn pass(&mut self, count: usize) -> Result<(), ReadError> {
        self.at += count;
        if self.at >= BLOCK_POSTINGS {
            return self.decode_next();
        }
        Ok(())
    }

    /// Decodes the first block after the current one that may hold `row`.
    #[cold]
    fn seek_block(&mut self, row: u32) -> Result<(), ReadError> {
        let last = self.list.blocks();
        let (mut low, mut step) = (self.block + 1, 1);
        // Gallops, since the block is often near.
        while low + step <= last && self.list.last_row(low + step - 1) < row {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(last);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.list.last_row(middle) < row { low = middle + 1 } else { high = middle }
        }
        self.decode(low.min(last + 1))
    }

    fn decode_next(&mut self) -> Result<(), ReadError> {
        self.decode(self.block + 1)
    }

    /// Decodes a block, the rest, or nothing behind it, and moves to its first posting.
    fn decode(&mut self, block: usize) -> Result<(), ReadError> {
        (self.block, self.at, self.packed_impacts) = (block, 0, None);
        let blocks = self.list.blocks();
        if block > blocks {
            self.rows = [NO_ROW; BLOCK_POSTINGS];
            return Ok(());
        }
        let before = block.checked_sub(1).map(|before| self.list.last_row(before));
        let mut bytes = self.list.bytes(block)?;
        if block == blocks {
            return self.decode_rest(before, &mut bytes);
        }
        let packer = BitPacker4x::new();
        let lengths = bytes.split_first_chunk().and_then(|([rows, impacts], rest)| {
            let rows_bytes = BLOCK_POSTINGS / 8 * usize::from(*rows);
            let impacts_bytes = BLOCK_POSTINGS / 8 * usize::from(*impacts);
            let is_sound = *rows <= 32
                && u32::from(*impacts) <= IMPACT_BITS
                && rest.len() == rows_bytes + impacts_bytes;
            is_sound.then(|| (rest.split_at(rows_bytes), *rows, *impacts))
        });
        let ((rows, impacts), rows_width, impacts_width) = lengths.ok_or_else(|| {
            corrupt("a block of postings does not have the length of its postings")
        })?;
        packer.decompress_strictly_sorted(before, rows, &mut self.rows, rows_width);
        self.packed_impacts = Some((impacts, impacts_width));
        if self.rows[BLOCK_POSTINGS - 1] != self.list.last_row(block) {
            return Err(corrupt("a block of postings ends with another row than its entry"));
        }
        // Differences of few bits cannot pass the greatest row twice.
        let ascends = match rows_width <= WIDTH_CHECKED_BY_ENDS {
            true => self.rows[0] <= self.rows[BLOCK_POSTINGS - 1],
            false => self.rows.is_sorted(),
        };
        match ascends && before.is_none_or(|before| before < self.rows[0]) {
            true => Ok(()),
            false => Err(corrupt("the rows of a block of postings do not ascend")),
        }
    }

    fn decode_rest(&mut self, before: Option<u32>, bytes: &mut &[u8]) -> Result<(), ReadError> {
        let count = self.list.count as usize % BLOCK_POSTINGS;
        let mut next = before.map_or(0, |row| u64::from(row) + 1);
        for at in 0..count {
            let number = leb128::take(bytes).ok_or_else(|| corrupt("a posting list is cut"))?;
            let row = next.saturating_add(number >> IMPACT_BITS);
            self.rows[at] = u32::try_from(row)
                .ok()
                .filter(|row| *row != NO_ROW)
                .ok_or_else(|| corrupt("a row number exceeds 32 bits"))?;
            self.impacts[at] = (number & ((1 << IMPACT_BITS) - 1)) as u32;
            next = row + 1;
        }
        self.rows[count..].fill(NO_ROW);
        match bytes.is_empty() {
            true => Ok(()),
            false => Err(corrupt("a posting list has bytes after its last posting")),
        }
    }

    /// The greatest impact in the block that may hold `row`, and the last row of the block. Rows do not descend from call
    /// to call.
    pub fn bound(&mut self, row: u32) -> (u8, u32) {
        let last = self.list.blocks();
        let mut block = self.bound_block.max(self.block).min(last);
        while block < last && self.list.last_row(block) < row {
            block += 1;
        }
        self.bound_block = block;
        let to = if block >= last { NO_ROW } else { self.list.last_row(block) };
        (self.list.impact_max(block), to)
    }
}
