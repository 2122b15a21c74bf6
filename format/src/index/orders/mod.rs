//! Rows by value: for each key that sorts or compares, the values, the ranks and the rank checkpoints.
//!
//! ```text
//! header | orders… | directory: eleven numbers for each order
//! order: values, ascending: u64 each | first rank of each value: u32 each | rows by rank: u32 each
//!        | codes by row: 1, 2 or 4 bytes each | bits of the interval numbers, chunk by chunk | ranks of the checkpoints: u32 each
//! ```
//!
//! The *rank* of a row is its position when all rows are sorted by value, then by id; rows without a
//! value come last. The *code* of a row is the index of its value among the distinct values, or
//! `distinct` without a value. A descending order stores inverted values, so values always ascend.
//!
//! ```text
//! row         0     1     2     3          values  [1999, 2020]      distinct = 2
//! year     2020  1999     –  2020          codes   [1, 0, 2, 1]
//! rank        1     0     3     2          rows    [1, 0, 3, 2]
//! ```
//!
//! *Rank checkpoints* divide the ranks into intervals, numbered from 0. For each chunk of rows and each bit of
//! these numbers, a bitmap stores the bit of every row:
//!
//! ```text
//! checkpoints at ranks 8,000 and 16,000; a row of rank 9,120 lies in interval 1: bit 0 set, bit 1 clear
//! rows of the ranks 7,000..17,000 = rows with bit 0 set and bit 1 clear
//!                                   + ranks 7,000..8,000 + ranks 16,000..17,000
//! ```
//!
//! The rows of any intervals follow from all bitmaps of a chunk. A search for a position in a set of rows
//! counts the rows on one side of a bit, and keeps one side, bit by bit.
//!
//! Checkpoints lie at least 8,192 ranks apart, about 128 in an order, and at both ends of every frequent
//! value. Space: one byte for each row. A bitmap of the rows before each checkpoint would take seven times as
//! much, and a search would read other bitmaps for each position. Cost: log2(distinct) reads to find the
//! codes of a range, two to find its ranks, eight bitmaps per chunk to list its rows. Where an order has more than 65,535
//! values, first ranks are not stored, and its ranks are searched in log2(rows) reads.

mod layout;
mod verify;
mod write;

use std::ops::Range;

use crate::index::bitset::{CHUNK_ROWS, ChunkBits, EMPTY_CHUNK, count_set_bits};
use crate::index::orders::layout::{DIRECTORY_FIELDS, OrderLayout, interval_bits};
use crate::index::postings::BITSET_BYTES;
use crate::schema::keys;
use crate::storage::{
    Archive, ArchiveError, CHUNK_BYTES, HEADER_BYTES, Ids, InArchive, ReadError, little_endian,
    search_steps,
};

pub use crate::index::orders::write::{
    FirstPass, OrderParts, OrdersWriter, PassBuilder, RankedRow, RankedValue,
};

/// Encodes an integer as a number that sorts as the integer does.
pub fn sortable_integer(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

/// Encodes a finite number as an integer that sorts as the number does. Both zeros encode alike.
pub fn sortable_number(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// Decodes [`sortable_integer`], of an order that descends after inversion.
pub fn integer_of(number: u64, is_descending: bool) -> i64 {
    let number = if is_descending { !number } else { number };
    (number ^ 1 << 63).cast_signed()
}

/// Decodes [`sortable_number`], of an order that descends after inversion.
pub fn number_of(number: u64, is_descending: bool) -> f64 {
    let number = if is_descending { !number } else { number };
    f64::from_bits(if number >> 63 == 1 { number & !(1 << 63) } else { !number })
}

/// A mapped `orders` file.
#[derive(Clone)]
pub struct OrdersFile {
    archive: Archive,
    rows: usize,
    layouts: Vec<OrderLayout>,
}

impl InArchive for OrdersFile {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl OrdersFile {
    /// Opens a file that must hold these orders of `rows` rows.
    ///
    /// # Errors
    ///
    /// Fails if the directory is damaged or describes other orders.
    pub fn open(
        archive: Archive,
        expected: &[keys::Order],
        rows: usize,
    ) -> Result<OrdersFile, ArchiveError> {
        let directory_bytes = expected.len() * DIRECTORY_FIELDS * 8;
        let refused = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: archive.len() as u64,
        };
        // The directory ends the file, and its length follows from the number of orders.
        let from = archive.len().checked_sub(directory_bytes);
        let from = from.filter(|from| *from >= HEADER_BYTES);
        let from = from.ok_or_else(|| refused(HEADER_BYTES + directory_bytes))?;
        // It may lie in several chunks.
        archive.fetch(from, archive.len());
        let mut layouts = Vec::with_capacity(expected.len());
        let mut begin = HEADER_BYTES;
        for (at, order) in expected.iter().enumerate() {
            let field =
                |number: usize| archive.number_at(from + (at * DIRECTORY_FIELDS + number) * 8);
            let layout = OrderLayout::read(field)?;
            // A section that begins elsewhere would share bytes with another order, or leave bytes without a reader.
            if !layout.is_sound(order, rows, begin, from) {
                return Err(refused(layout.to));
            }
            begin = layout.to;
            layouts.push(layout);
        }
        if begin != from {
            return Err(refused(begin + directory_bytes));
        }
        Ok(OrdersFile { archive, rows, layouts })
    }

    /// The mapped file and its integrity checks.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// An order by its number. `ids` are the ids of the same entity.
    ///
    /// # Errors
    ///
    /// Fails if the file has no such order.
    pub fn order<'s>(
        &'s self,
        number: usize,
        spec: &'s keys::Order,
        ids: &'s Ids,
    ) -> Result<Order<'s>, ReadError> {
        let layout = self
            .layouts
            .get(number)
            .copied()
            .ok_or(ReadError::corrupt("orders", "the file has no order of this number"))?;
        let source = match spec.values {
            keys::Values::Ids => RankSource::Ids(ids),
            _ if spec.is_row_order => RankSource::Rows,
            _ => RankSource::File,
        };
        Ok(Order { number, archive: &self.archive, rows: self.rows, layout, spec, source })
    }

    /// The size of an order, in bytes.
    ///
    /// # Errors
    ///
    /// Fails if the file has no such order.
    pub fn bytes(&self, number: usize) -> Result<u64, ReadError> {
        let end = |at: usize| {
            self.layouts
                .get(at)
                .map(|layout| layout.to)
                .ok_or(ReadError::corrupt("orders", "the file has no order of this number"))
        };
        let from = if number == 0 { HEADER_BYTES } else { end(number - 1)? };
        Ok((end(number)? - from) as u64)
    }
}

/// Where the rows of ranks and the codes of rows are stored.
#[derive(Clone, Copy)]
enum RankSource<'s> {
    /// In the `orders` file.
    File,
    /// Nowhere: ranks equal rows.
    Rows,
    /// In the `ids` file. Codes equal ids.
    Ids(&'s Ids),
}

/// An order in a mapped file.
#[derive(Clone, Copy)]
pub struct Order<'s> {
    number: usize,
    archive: &'s Archive,
    rows: usize,
    layout: OrderLayout,
    spec: &'s keys::Order,
    source: RankSource<'s>,
}

impl<'s> Order<'s> {
    /// The number of the order in its file.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The key of the order.
    pub fn spec(&self) -> &'s keys::Order {
        self.spec
    }

    /// Whether reads that fail note the chunks that they lack.
    pub(crate) fn notes_failures(&self) -> bool {
        self.archive.notes_failures()
    }

    /// The number of rows.
    pub fn rows(&self) -> u32 {
        self.rows as u32
    }

    /// The number of rows with a value. Their ranks come first.
    pub fn valued(&self) -> u32 {
        self.layout.valued as u32
    }

    /// Tells whether ranks equal rows.
    pub fn is_row_order(&self) -> bool {
        matches!(self.source, RankSource::Rows)
    }

    /// The row at a rank. Cost: one read.
    ///
    /// # Errors
    ///
    /// Fails if the rank does not exist or the bytes are damaged.
    #[inline]
    pub fn row_at(&self, rank: u32) -> Result<u32, ReadError> {
        if rank as usize >= self.rows {
            return Err(self.beyond(rank));
        }
        let row = match self.source {
            RankSource::Rows => rank,
            RankSource::Ids(ids) => ids.row_at(rank as usize)?,
            RankSource::File => self.archive.u32_at(self.layout.rows_from + rank as usize * 4)?,
        };
        if (row as usize) < self.rows { Ok(row) } else { Err(self.beyond(row)) }
    }

    fn beyond(&self, row: u32) -> ReadError {
        beyond(row, self.rows)
    }

    /// The code of a row's value, or [`Order::no_code`] for a row without a value. Cost: one read.
    ///
    /// # Errors
    ///
    /// Fails if the row does not exist or the bytes are damaged.
    #[inline]
    pub fn code_of(&self, row: u32) -> Result<u64, ReadError> {
        if row as usize >= self.rows {
            return Err(self.beyond(row));
        }
        if let RankSource::Ids(ids) = self.source {
            return ids.id(row as usize);
        }
        let width = self.layout.code_width;
        let from = self.layout.codes_from + row as usize * width;
        Ok(little_endian(self.archive.bytes(from, from + width)?))
    }

    /// Calls `visit` with each of these rows and the code of its value. Fastest for ascending rows.
    ///
    /// # Errors
    ///
    /// Fails if a row does not exist or the bytes are damaged.
    pub fn each_code(
        &self,
        rows: &[u32],
        mut visit: impl FnMut(u32, u64),
    ) -> Result<(), ReadError> {
        if let RankSource::Ids(ids) = self.source {
            let mut visited = Ok(());
            for row in rows {
                match ids.id(*row as usize) {
                    Ok(id) => visit(*row, id),
                    // An attempt notes all absent chunks, not only the first.
                    Err(error) if self.notes_failures() => visited = Err(error),
                    Err(error) => return Err(error),
                }
            }
            return visited;
        }
        match self.layout.code_width {
            1 => self.each_code_of::<1>(rows, visit),
            2 => self.each_code_of::<2>(rows, visit),
            _ => self.each_code_of::<4>(rows, visit),
        }
    }

    /// As [`Order::each_code`], of codes of `WIDTH` bytes in the file.
    fn each_code_of<const WIDTH: usize>(
        &self,
        mut rows: &[u32],
        mut visit: impl FnMut(u32, u64),
    ) -> Result<(), ReadError> {
        let at = |row: u32| self.layout.codes_from + row as usize * WIDTH;
        let mut visited = Ok(());
        while let Some(first) = rows.first() {
            // The ascending rows whose codes lie in the same chunk of the file are read together.
            let end = (at(*first) / CHUNK_BYTES + 1) * CHUNK_BYTES;
            let mut last = *first;
            let is_next = |row: &&u32| {
                **row >= last && at(**row) < end && {
                    last = **row;
                    true
                }
            };
            let count = rows.iter().take_while(is_next).count();
            let (together, rest) = rows.split_at(count);
            if last as usize >= self.rows {
                return Err(self.beyond(last));
            }
            match self.archive.bytes(at(*first), at(last) + WIDTH) {
                Ok(codes) => {
                    let codes = codes.as_chunks::<WIDTH>().0;
                    for row in together {
                        visit(*row, little_endian(&codes[(row - first) as usize]));
                    }
                }
                // An attempt notes all absent chunks, not only the first.
                Err(error) if self.notes_failures() => visited = Err(error),
                Err(error) => return Err(error),
            }
            rows = rest;
        }
        visited
    }

    /// How many rows have each code; `None` where first ranks are not stored. Cost: one read.
    pub fn counts(&self) -> Result<Option<Vec<u64>>, ReadError> {
        if !self.layout.has_starts() {
            return Ok(None);
        }
        let from = self.layout.starts_from;
        let starts = self.archive.bytes(from, from + self.layout.distinct * 4)?;
        let starts = starts.as_chunks::<4>().0.iter().map(|start| u32::from_le_bytes(*start));
        let ends = starts.clone().skip(1).chain([self.valued()]);
        Ok(Some(starts.zip(ends).map(|(from, to)| u64::from(to.saturating_sub(from))).collect()))
    }

    /// The code of rows without a value.
    pub fn no_code(&self) -> u64 {
        match self.source {
            RankSource::Ids(_) => u64::MAX,
            _ => self.layout.distinct as u64,
        }
    }

    /// The value of a code, as stored: values ascend with the order. `None` for [`Order::no_code`].
    ///
    /// # Errors
    ///
    /// Fails if the code does not exist, the order stores no values, or the bytes are damaged.
    pub fn value(&self, code: u64) -> Result<Option<u64>, ReadError> {
        if code == self.no_code() {
            return Ok(None);
        }
        let has_values = matches!(
            self.spec.values,
            keys::Values::Integers
                | keys::Values::Numbers
                | keys::Values::Days
                | keys::Values::Moments
        );
        if !has_values || code > self.no_code() {
            return Err(ReadError::corrupt("orders", "a value code exceeds the table of values"));
        }
        self.archive.u64_at(self.layout.values_from + code as usize * 8).map(Some)
    }

    /// Calls `visit` with the row of each rank, in order, until `visit` returns false.
    ///
    /// # Errors
    ///
    /// Fails if the ranks do not exist or the bytes are damaged.
    pub fn each_row(
        &self,
        ranks: Range<u32>,
        mut visit: impl FnMut(u32) -> bool,
    ) -> Result<(), ReadError> {
        match self.source {
            RankSource::Rows => {
                if ranks.end as usize > self.rows {
                    return Err(self.beyond(ranks.end));
                }
                // In row order a rank is a row.
                let _ = ranks.into_iter().try_for_each(|row| visit(row).then_some(()));
                Ok(())
            }
            RankSource::Ids(ids) => ids.each_row(ranks.start as usize..ranks.end as usize, visit),
            RankSource::File => {
                each_ranked(self.archive, self.layout.rows_from, self.rows, ranks, visit)
            }
        }
    }

    /// Binary-searches the codes of the values from `low` to `high`, both included. Cost:
    /// 2 × log2(distinct) reads.
    pub fn codes_between(&self, low: u64, high: u64) -> Result<Range<u64>, ReadError> {
        let (low, high) = if self.spec.is_descending() { (!high, !low) } else { (low, high) };
        if low > high {
            return Ok(0..0);
        }
        let bound = |value| {
            let (from, distinct) = (self.layout.values_from, self.layout.distinct);
            self.archive.lower_bound(from, distinct, value).map(|code| code as u64)
        };
        let to = match high.checked_add(1) {
            Some(above) => bound(above),
            None => Ok(self.layout.distinct as u64),
        };
        Ok(bound(low)?..to?)
    }

    /// The ranks of the rows with these codes. Cost: two reads, or 4 × log2(rows) where first ranks are not stored.
    pub fn ranks_of(&self, codes: Range<u64>) -> Result<Range<u32>, ReadError> {
        let from = self.first_rank(codes.start);
        if codes.end <= codes.start {
            return from.map(|from| from..from);
        }
        // Both searches note what is absent before one fails.
        let to = self.first_rank(codes.end);
        Ok(from?..to?)
    }

    /// The first rank whose code is at least `code`.
    fn first_rank(&self, code: u64) -> Result<u32, ReadError> {
        if code == 0 {
            return Ok(0);
        }
        if code == self.no_code() {
            return Ok(self.valued());
        }
        if self.layout.has_starts() {
            return match code < self.no_code() {
                true => self.start_of(code),
                false => Ok(self.rows()),
            };
        }
        search_steps(0..self.rows(), self.notes_failures(), |rank| {
            Ok(self.code_of(self.row_at(rank)?)? < code)
        })
    }

    /// The stored first rank of a code.
    fn start_of(&self, code: u64) -> Result<u32, ReadError> {
        let start = self.archive.u32_at(self.layout.starts_from + code as usize * 4)?;
        match start < self.valued() {
            true => Ok(start),
            false => Err(ReadError::corrupt("orders", "a first rank lies beyond the values")),
        }
    }

    /// The ranks with the same value as a rank. Cost: two reads, or a search outwards of 4 × log2(ranks found) reads where
    /// first ranks are not stored.
    ///
    /// # Errors
    ///
    /// Fails if the rank does not exist or the bytes are damaged.
    pub fn run_of(&self, rank: u32) -> Result<Range<u32>, ReadError> {
        let code = self.code_of(self.row_at(rank)?)?;
        // The steps outwards depend on each other, so that an attempt notes few of them.
        if self.layout.has_starts() || self.notes_failures() {
            return match code == self.no_code() {
                true => Ok(self.valued()..self.rows()),
                false => self.ranks_of(code..code + 1),
            };
        }
        let is_same = |rank| Ok(self.code_of(self.row_at(rank)?)? == code);
        let before = steps_while(rank, |step| is_same(rank - step))?;
        let after = steps_while(self.rows() - 1 - rank, |step| is_same(rank + step))?;
        Ok(rank - before..rank + after + 1)
    }

    /// The number of rank checkpoints.
    pub fn checkpoints(&self) -> usize {
        self.layout.checkpoints
    }

    /// The rank of a checkpoint.
    ///
    /// # Errors
    ///
    /// Fails if the checkpoint does not exist or the bytes are damaged.
    pub fn checkpoint_rank(&self, checkpoint: usize) -> Result<u32, ReadError> {
        if checkpoint >= self.layout.checkpoints {
            return Err(ReadError::corrupt("orders", "a rank checkpoint lies beyond the table"));
        }
        self.archive.u32_at(self.layout.checkpoint_ranks_from + checkpoint * 4)
    }

    /// Binary-searches the number of checkpoints whose rank is below `rank`. Cost:
    /// log2(checkpoints) reads.
    pub fn checkpoints_below(&self, rank: u32) -> Result<usize, ReadError> {
        let at = |checkpoint| {
            let from = self.layout.checkpoint_ranks_from + checkpoint * 4;
            from..from + 4
        };
        self.archive.partition_point(self.layout.checkpoints, at, |checkpoint| {
            Ok(self.checkpoint_rank(checkpoint)? < rank)
        })
    }

    /// The number of bits of an interval's number.
    pub fn interval_bits(&self) -> usize {
        interval_bits(self.layout.checkpoints)
    }

    /// Whether the interval numbers of all rows were read before.
    pub(crate) fn has_read_intervals(&self) -> bool {
        self.archive.is_verified(self.layout.slices_from..self.layout.checkpoint_ranks_from)
    }

    /// The interval numbers of a chunk's rows. Interval n ends before checkpoint n. Cost: one read.
    ///
    /// # Errors
    ///
    /// Fails if the chunk does not exist or the bytes are damaged.
    pub fn intervals(&self, chunk: u32) -> Result<IntervalSlices<'s>, ReadError> {
        if chunk as usize >= self.rows.div_ceil(CHUNK_ROWS) {
            return Err(ReadError::corrupt("orders", "a chunk of intervals lies beyond the table"));
        }
        let slices_bytes = self.interval_bits() * BITSET_BYTES;
        let from = self.layout.slices_from + chunk as usize * slices_bytes;
        Ok(IntervalSlices(self.archive.bytes(from, from + slices_bytes)?))
    }

    /// Notes the bitmaps of all chunks, as far as they are few bytes, where a host sends them.
    pub(crate) fn note_intervals(&self) {
        if self.notes_failures() {
            let chunks = self.rows.div_ceil(CHUNK_ROWS);
            let bytes = chunks * self.interval_bits() * BITSET_BYTES;
            let from = self.layout.slices_from;
            self.archive.fetch(from, from + bytes.min(NOTED_BYTES_MAX));
        }
    }
}

fn beyond(row: u32, rows: usize) -> ReadError {
    ReadError::Row { table: "orders", row: u64::from(row), rows: rows as u64 }
}

/// Calls `visit` with the row of each rank, in order, until `visit` returns false. The rows of all ranks, u32 each, begin at
/// `from`.
pub(crate) fn each_ranked(
    archive: &Archive,
    from: usize,
    rows: usize,
    ranks: Range<u32>,
    mut visit: impl FnMut(u32) -> bool,
) -> Result<(), ReadError> {
    if ranks.end as usize > rows {
        return Err(beyond(ranks.end, rows));
    }
    let at = |rank: u32| from + rank as usize * 4;
    // A range that ends before it begins reads nothing.
    let found = archive.bytes(at(ranks.start), at(ranks.end).max(at(ranks.start)))?;
    for row in found.as_chunks::<4>().0 {
        let row = u32::from_le_bytes(*row);
        if row as usize >= rows {
            return Err(beyond(row, rows));
        }
        if !visit(row) {
            break;
        }
    }
    Ok(())
}

/// The most bytes of intervals that one attempt notes.
const NOTED_BYTES_MAX: usize = 4 << 20;
/// Words of which [`IntervalSlices::within`] compares all bits before the next.
const LANES: usize = 16;

/// Continues a comparison with a number from its lower bits to the next, for each row: the row's number is less
/// if its next bit is, or if that bit is equal and the lower bits are less.
///
/// `clear` has the rows whose next bit is clear, `is_set` is the next bit of the other number.
#[inline]
fn less(lower: [u64; LANES], clear: [u64; LANES], is_set: bool) -> [u64; LANES] {
    let set = if is_set { u64::MAX } else { 0 };
    std::array::from_fn(|lane| lower[lane] & clear[lane] | (lower[lane] | clear[lane]) & set)
}

/// The interval numbers of a chunk's rows: one bitmap for each bit, the least significant first. Rows
/// beyond the last have the number 0.
#[derive(Clone, Copy)]
pub struct IntervalSlices<'s>(&'s [u8]);

impl<'s> IntervalSlices<'s> {
    /// The bitmap of a bit.
    fn slice(&self, bit: usize) -> &'s [[u8; 8]] {
        self.0[bit * BITSET_BYTES..][..BITSET_BYTES].as_chunks().0
    }

    fn bits(&self) -> usize {
        self.0.len() / BITSET_BYTES
    }

    /// The rows of the intervals with these numbers.
    pub fn within(&self, numbers: Range<usize>) -> ChunkBits {
        let Range { start, end } = numbers;
        let mut within = EMPTY_CHUNK;
        for (at, words) in within.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let (mut before, mut until) = ([0; LANES], [0; LANES]);
            for bit in 0..self.bits() {
                let slice = &self.slice(bit)[at * LANES..][..LANES];
                let clear = std::array::from_fn(|lane| !u64::from_le_bytes(slice[lane]));
                before = less(before, clear, start >> bit & 1 == 1);
                until = less(until, clear, end >> bit & 1 == 1);
            }
            let is_beyond = |number: usize| if number >> self.bits() > 0 { u64::MAX } else { 0 };
            let (all_before, all_until) = (is_beyond(start), is_beyond(end));
            *words = std::array::from_fn(|lane| {
                (until[lane] | all_until) & !(before[lane] | all_before)
            });
        }
        within
    }

    /// Counts the rows of a set whose interval numbers have a bit clear.
    pub fn count_clear(&self, bit: usize, set: &ChunkBits) -> u64 {
        let slice = self.slice(bit);
        count_set_bits(slice.len().min(set.len()), |at| set[at] & !u64::from_le_bytes(slice[at]))
    }

    /// Keeps the rows of a set whose interval numbers have a bit set, or clear.
    pub fn retain(&self, bit: usize, is_set: bool, set: &mut ChunkBits) {
        let flip = if is_set { 0 } else { u64::MAX };
        let words = self.slice(bit).iter().map(|word| u64::from_le_bytes(*word) ^ flip);
        set.iter_mut().zip(words).for_each(|(set, word)| *set &= word);
    }
}

/// Searches the number of steps, from 1 on and at most `limit`, before the first at which `holds`
/// returns false. Cost: 2 × log2(steps) calls.
fn steps_while(
    limit: u32,
    holds: impl Fn(u32) -> Result<bool, ReadError>,
) -> Result<u32, ReadError> {
    let (mut inside, mut outside) = (0, limit.saturating_add(1));
    while inside < limit {
        let step = inside.saturating_mul(2).saturating_add(1).min(limit);
        if !holds(step)? {
            outside = step;
            break;
        }
        inside = step;
    }
    while inside + 1 < outside {
        let middle = inside + (outside - inside) / 2;
        if holds(middle)? { inside = middle } else { outside = middle }
    }
    Ok(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_up_to_the_first_that_fails() {
        for limit in [0, 1, 2, 3, 7, 8, 1_000] {
            for last in (0..=limit).take(70) {
                assert_eq!(steps_while(limit, |step| Ok(step <= last)).ok(), Some(last));
            }
        }
    }

    #[test]
    fn encoded_numbers_sort_as_their_values_do() {
        let integers = [i64::MIN, -2, -1, 0, 1, i64::MAX];
        assert!(integers.map(sortable_integer).is_sorted());
        let numbers = [f64::MIN, -1.5, -1e-310, 0.0, 1e-310, 0.1, 1.0, f64::MAX];
        assert!(numbers.map(sortable_number).is_sorted());
        assert_eq!(sortable_number(-0.0), sortable_number(0.0));
    }
}
