//! Rows by value: for each key that sorts or compares, the values, their order and its ladder.
//!
//! ```text
//! header | orders… | directory: for each ten numbers
//! order:  values ascending: distinct × u64 | rows by rank: rows × u32 | codes by row: rows × 1, 2 or 4
//!         | the ladder's containers, chunk by chunk | their layouts: chunks × steps × (u64, u32)
//!         | steps: the ranks they stand at, u32 each
//! ```
//!
//! A *rank* is a row's layout in an order: by value, then by id, those without a value last. A *code*
//! is a value's layout among the distinct ones, and `distinct` where there is none; so ranks ascend
//! with codes. Values are written so that they ascend with the order, whichever way that goes.
//!
//! The *ladder* tells, for some ranks and each chunk of rows, which rows stand before that rank. Rows
//! whose values lie in a range are then two steps' difference and what lies between the steps and
//! the ends of the range. Steps stand around every value that many rows have.

mod verify;
mod write;

use std::ops::Range;

use crate::index::bitset::CHUNK_ROWS;
use crate::index::postings::{ChunkView, container_bytes};
use crate::schema::keys;
use crate::storage::archive::{Archive, ArchiveError};
use crate::storage::error::ReadError;
use crate::storage::header::HEADER_BYTES;
use crate::storage::ids::Ids;

pub use crate::index::orders::write::{OrderParts, OrdersWriter, RankedRow, RankedValue};

/// Numbers in a directory entry.
const FIELDS: usize = 10;
/// Bytes of a container's layout.
const PLACE_BYTES: usize = 12;
/// Steps a ladder has about.
const STEPS: usize = 64;
/// The fewest rows between two steps.
const STEP_ROWS_MIN: usize = CHUNK_ROWS;

/// An integer as a number that ascends with it.
pub fn sortable_integer(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

/// A finite number as one that ascends with it; zero has one form.
pub fn sortable_number(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// How one order lies in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OrderLayout {
    values_from: usize,
    distinct: usize,
    /// Rows that have a value.
    valued: usize,
    rows_from: usize,
    codes_from: usize,
    width: usize,
    places_from: usize,
    steps_from: usize,
    steps: usize,
    /// Where the order ends.
    to: usize,
}

/// A mapped `orders` file.
pub struct OrdersFile {
    archive: Archive,
    rows: usize,
    layouts: Vec<OrderLayout>,
}

impl OrdersFile {
    /// Opens the file, which must hold these orders of so many rows.
    ///
    /// # Errors
    ///
    /// Where its directory is damaged, or is no directory of such orders.
    pub fn open(
        archive: Archive,
        expected: &[keys::Order],
        rows: usize,
    ) -> Result<OrdersFile, ArchiveError> {
        let directory_bytes = expected.len() * FIELDS * 8;
        let refused = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: archive.len() as u64,
        };
        let from = archive.len().checked_sub(directory_bytes);
        let from = from.filter(|from| *from >= HEADER_BYTES);
        let from = from.ok_or_else(|| refused(HEADER_BYTES + directory_bytes))?;
        let mut layouts = Vec::with_capacity(expected.len());
        let mut begin = HEADER_BYTES;
        for (at, order) in expected.iter().enumerate() {
            let field = |number: usize| archive.number_at(from + (at * FIELDS + number) * 8);
            let layout = OrderLayout {
                values_from: field(0)?,
                distinct: field(1)?,
                valued: field(2)?,
                rows_from: field(3)?,
                codes_from: field(4)?,
                width: field(5)?,
                places_from: field(6)?,
                steps_from: field(7)?,
                steps: field(8)?,
                to: field(9)?,
            };
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

    /// The archive beneath.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// One order of the entity whose ids these are.
    ///
    /// # Errors
    ///
    /// Where there is no such order.
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
        Ok(Order { archive: &self.archive, rows: self.rows, layout, spec, source })
    }

    /// The bytes an order takes.
    ///
    /// # Errors
    ///
    /// Where there is no such order.
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

impl OrderLayout {
    /// Whether every part lies in the order's own bytes, one after another.
    fn is_sound(&self, order: &keys::Order, rows: usize, begin: usize, end: usize) -> bool {
        let chunks = rows.div_ceil(CHUNK_ROWS);
        let is_ids = order.values == keys::Values::Ids;
        let has_rows = !is_ids && !order.is_row_order;
        let has_values =
            !matches!(order.values, keys::Values::Texts | keys::Values::Codes | keys::Values::Ids);
        let part = |from: usize, count: usize, width: usize| {
            count.checked_mul(width).and_then(|bytes| bytes.checked_add(from))
        };
        let ends = [
            (
                self.values_from,
                part(self.values_from, if has_values { self.distinct } else { 0 }, 8),
            ),
            (self.rows_from, part(self.rows_from, if has_rows { rows } else { 0 }, 4)),
            (self.codes_from, part(self.codes_from, if is_ids { 0 } else { rows }, self.width)),
        ];
        let mut at = begin;
        for (from, to) in ends {
            match to {
                Some(to) if from == at && to <= end => at = to,
                _ => return false,
            }
        }
        // Between the codes and the layouts lie the containers.
        let places_to = chunks
            .checked_mul(self.steps)
            .and_then(|layouts| part(self.places_from, layouts, PLACE_BYTES));
        let is_ladder = self.places_from >= at
            && places_to == Some(self.steps_from)
            && part(self.steps_from, self.steps, 4) == Some(self.to)
            && self.to <= end;
        let is_width = matches!(self.width, 1 | 2 | 4) || is_ids && self.width == 0;
        let is_counted = self.valued <= rows && (is_ids || self.distinct <= self.valued);
        is_ladder && is_width && is_counted
    }
}

/// Where an order's rows and values come from.
#[derive(Clone, Copy)]
enum RankSource<'s> {
    /// Its own file.
    File,
    /// The rows themselves: rank and row are one.
    Rows,
    /// The map from ids to rows; codes are ids.
    Ids(&'s Ids),
}

/// One order, mapped.
#[derive(Clone, Copy)]
pub struct Order<'s> {
    archive: &'s Archive,
    rows: usize,
    layout: OrderLayout,
    spec: &'s keys::Order,
    source: RankSource<'s>,
}

impl<'s> Order<'s> {
    /// What it orders by.
    pub fn spec(&self) -> &'s keys::Order {
        self.spec
    }

    /// How many rows it orders.
    pub fn rows(&self) -> u32 {
        self.rows as u32
    }

    /// How many of them have a value; those come first.
    pub fn valued(&self) -> u32 {
        self.layout.valued as u32
    }

    /// Whether ranks are rows.
    pub fn is_row_order(&self) -> bool {
        matches!(self.source, RankSource::Rows)
    }

    /// The row at a rank.
    ///
    /// # Errors
    ///
    /// Where there is none, or the bytes are damaged.
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
        ReadError::Row { table: "orders", row: u64::from(row), rows: self.rows as u64 }
    }

    /// The code of a row's value; see [`Order::no_code`].
    ///
    /// # Errors
    ///
    /// Where there is no such row, or the bytes are damaged.
    #[inline]
    pub fn code_of(&self, row: u32) -> Result<u64, ReadError> {
        if row as usize >= self.rows {
            return Err(self.beyond(row));
        }
        if let RankSource::Ids(ids) = self.source {
            return ids.id(row as usize);
        }
        let width = self.layout.width;
        let from = self.layout.codes_from + row as usize * width;
        Ok(little_endian(self.archive.bytes(from, from + width)?))
    }

    /// The code of rows without a value.
    pub fn no_code(&self) -> u64 {
        match self.source {
            RankSource::Ids(_) => u64::MAX,
            _ => self.layout.distinct as u64,
        }
    }

    /// The value that has a code, as a number that ascends with the order; `None` where it is that of
    /// no value.
    ///
    /// # Errors
    ///
    /// Where there is no such code, the values are not kept, or the bytes are damaged.
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

    /// Shows `visit` the rows at some ranks, in their order, until it returns false.
    ///
    /// # Errors
    ///
    /// Where there are no such ranks, or the bytes are damaged.
    pub fn each_row(
        &self,
        ranks: Range<u32>,
        mut visit: impl FnMut(u32) -> bool,
    ) -> Result<(), ReadError> {
        let rows = match self.source {
            RankSource::Rows => {
                let _ = ranks.into_iter().try_for_each(|row| visit(row).then_some(()));
                return Ok(());
            }
            RankSource::Ids(ids) => ids.rows_at(ranks.start as usize..ranks.end as usize)?,
            RankSource::File => {
                let at = |rank: u32| self.layout.rows_from + rank as usize * 4;
                if ranks.end as usize > self.rows {
                    return Err(self.beyond(ranks.end));
                }
                self.archive.bytes(at(ranks.start), at(ranks.end).max(at(ranks.start)))?
            }
        };
        for row in rows.as_chunks::<4>().0 {
            let row = u32::from_le_bytes(*row);
            if row as usize >= self.rows {
                return Err(self.beyond(row));
            }
            if !visit(row) {
                break;
            }
        }
        Ok(())
    }

    /// The codes of the values between two, both included.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(distinct) reads.
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
            Some(above) => bound(above)?,
            None => self.layout.distinct as u64,
        };
        Ok(bound(low)?..to)
    }

    /// The ranks of the rows with these codes.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(rows) reads.
    pub fn ranks_of(&self, codes: Range<u64>) -> Result<Range<u32>, ReadError> {
        let from = self.first_rank(codes.start)?;
        let to = if codes.end > codes.start { self.first_rank(codes.end)? } else { from };
        Ok(from..to)
    }

    /// The first rank whose code is not below this one.
    fn first_rank(&self, code: u64) -> Result<u32, ReadError> {
        if code == 0 {
            return Ok(0);
        }
        if code == self.no_code() {
            return Ok(self.valued());
        }
        let (mut low, mut high) = (0, self.rows());
        while low < high {
            let middle = low + (high - low) / 2;
            let below = self.code_of(self.row_at(middle)?)? < code;
            if below { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// How many steps the ladder has.
    pub fn checkpoints(&self) -> usize {
        self.layout.steps
    }

    /// The rank a step stands at.
    ///
    /// # Errors
    ///
    /// Where there is no such step, or the bytes are damaged.
    pub fn checkpoint_rank(&self, step: usize) -> Result<u32, ReadError> {
        if step >= self.layout.steps {
            return Err(ReadError::corrupt("orders", "a rank checkpoint lies beyond the table"));
        }
        self.archive.u32_at(self.layout.steps_from + step * 4)
    }

    /// How many steps stand at ranks below this one.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
    pub fn checkpoints_below(&self, rank: u32) -> Result<usize, ReadError> {
        let (mut low, mut high) = (0, self.layout.steps);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.checkpoint_rank(middle)? < rank { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The rows of a chunk that stand before a step.
    ///
    /// # Errors
    ///
    /// Where there is no such step or chunk, or the bytes are damaged.
    pub fn rows_before_checkpoint(
        &self,
        checkpoint: usize,
        chunk: u32,
    ) -> Result<ChunkView<'s>, ReadError> {
        let chunks = self.rows.div_ceil(CHUNK_ROWS);
        if checkpoint >= self.layout.steps || chunk as usize >= chunks {
            return Err(ReadError::corrupt(
                "orders",
                "a rank checkpoint or chunk lies beyond the table",
            ));
        }
        let layout = chunk as usize * self.layout.steps + checkpoint;
        let at = self.layout.places_from + layout * PLACE_BYTES;
        let from = self.archive.u64_at(at)?;
        let count = self.archive.u32_at(at + 8)?;
        let from = usize::try_from(from)
            .map_err(|_| ReadError::corrupt("orders", "a bitmap lies outside the file"))?;
        let to = from
            .checked_add(container_bytes(count))
            .ok_or(ReadError::corrupt("orders", "a bitmap lies outside the file"))?;
        if count as usize > CHUNK_ROWS || from < HEADER_BYTES || to > self.layout.places_from {
            return Err(ReadError::corrupt("orders", "a bitmap lies outside the file"));
        }
        Ok(ChunkView::new(self.archive.bytes(from, to)?, count))
    }
}

/// A number of at most eight bytes.
#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_with_the_values_they_stand_for() {
        let integers = [i64::MIN, -2, -1, 0, 1, i64::MAX];
        assert!(integers.map(sortable_integer).is_sorted());
        let numbers = [f64::MIN, -1.5, -1e-310, 0.0, 1e-310, 0.1, 1.0, f64::MAX];
        assert!(numbers.map(sortable_number).is_sorted());
        assert_eq!(sortable_number(-0.0), sortable_number(0.0));
    }
}
