//! Position of an order in its file, shared by the writer and the reader.

use crate::index::bitset::CHUNK_ROWS;
use crate::index::postings::BITSET_BYTES;
use crate::schema::keys;

/// Number of fields of an order in the directory.
pub(super) const DIRECTORY_FIELDS: usize = 11;

/// Number of bits of an interval's number, where there are so many checkpoints and one more interval.
pub(super) fn interval_bits(checkpoints: usize) -> usize {
    (usize::BITS - checkpoints.leading_zeros()) as usize
}

/// Position of one order in its file, as the directory stores it. Offsets are from the file's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OrderLayout {
    pub values_from: usize,
    /// Number of distinct values.
    pub distinct: usize,
    /// Number of rows with a value.
    pub valued: usize,
    /// The first rank of each value, if codes take at most two bytes.
    pub starts_from: usize,
    pub rows_from: usize,
    pub codes_from: usize,
    /// Size of a code, in bytes.
    pub code_width: usize,
    /// The bits of the rows' interval numbers.
    pub slices_from: usize,
    pub checkpoint_ranks_from: usize,
    /// Number of rank checkpoints.
    pub checkpoints: usize,
    /// The end of the order.
    pub to: usize,
}

impl OrderLayout {
    /// Reads the fields of a directory entry by their number.
    pub fn read<E>(field: impl Fn(usize) -> Result<usize, E>) -> Result<OrderLayout, E> {
        Ok(OrderLayout {
            values_from: field(0)?,
            distinct: field(1)?,
            valued: field(2)?,
            starts_from: field(3)?,
            rows_from: field(4)?,
            codes_from: field(5)?,
            code_width: field(6)?,
            slices_from: field(7)?,
            checkpoint_ranks_from: field(8)?,
            checkpoints: field(9)?,
            to: field(10)?,
        })
    }

    /// The fields of the directory entry, in their order.
    pub fn fields(&self) -> [usize; DIRECTORY_FIELDS] {
        [
            self.values_from,
            self.distinct,
            self.valued,
            self.starts_from,
            self.rows_from,
            self.codes_from,
            self.code_width,
            self.slices_from,
            self.checkpoint_ranks_from,
            self.checkpoints,
            self.to,
        ]
    }

    /// Whether the first rank of each value is stored.
    pub fn has_starts(&self) -> bool {
        matches!(self.code_width, 1 | 2)
    }

    /// Tells whether all sections are contiguous from `begin` on and end at or before `end`.
    pub fn is_sound(&self, order: &keys::Order, rows: usize, begin: usize, end: usize) -> bool {
        let chunks = rows.div_ceil(CHUNK_ROWS);
        // An order by id reads rows and codes from the ids, and rows in row order are ranks.
        let is_ids = order.values == keys::Values::Ids;
        let has_rows = !is_ids && !order.is_row_order;
        let has_values =
            !matches!(order.values, keys::Values::Texts | keys::Values::Codes | keys::Values::Ids);
        // The numbers come from the file, so their products may overflow.
        let section_end = |from: usize, count: usize, width: usize| {
            count.checked_mul(width).and_then(|bytes| bytes.checked_add(from))
        };
        let ends = [
            (
                self.values_from,
                section_end(self.values_from, if has_values { self.distinct } else { 0 }, 8),
            ),
            (
                self.starts_from,
                section_end(self.starts_from, if self.has_starts() { self.distinct } else { 0 }, 4),
            ),
            (self.rows_from, section_end(self.rows_from, if has_rows { rows } else { 0 }, 4)),
            (
                self.codes_from,
                section_end(self.codes_from, if is_ids { 0 } else { rows }, self.code_width),
            ),
        ];
        let mut at = begin;
        for (from, to) in ends {
            match to {
                Some(to) if from == at && to <= end => at = to,
                _ => return false,
            }
        }
        let slices_to = chunks
            .checked_mul(interval_bits(self.checkpoints))
            .and_then(|slices| section_end(self.slices_from, slices, BITSET_BYTES));
        let are_checkpoints_contiguous = self.slices_from == at
            && slices_to == Some(self.checkpoint_ranks_from)
            && section_end(self.checkpoint_ranks_from, self.checkpoints, 4) == Some(self.to)
            && self.to <= end;
        let is_code_width_valid =
            matches!(self.code_width, 1 | 2 | 4) || is_ids && self.code_width == 0;
        let are_counts_valid = self.valued <= rows && (is_ids || self.distinct <= self.valued);
        are_checkpoints_contiguous && is_code_width_valid && are_counts_valid
    }
}
