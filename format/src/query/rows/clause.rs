//! One expression of a filter as sets of rows that indexes hold.
//!
//! A [`Clause`] is the union of its [`Leaf`]s, or the complement of that union. Each leaf yields its
//! rows one chunk of 65,536 rows at a time.

use std::ops::Range;

use crate::index::bitset::{Bitset, CHUNK_ROWS, ChunkBits, EMPTY_CHUNK, union};
use crate::index::chunk_bits::{set_all, set_range, set_rows};
use crate::index::postings::{ChunkView, Postings};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::range::ValueRange;
use crate::storage::ReadError;

/// A set of rows in the form that an index or an earlier step holds.
pub(in crate::query) enum Leaf<'s> {
    /// Ascending rows.
    Sorted(Vec<u32>),
    Interval(Range<u32>),
    Postings(Postings<'s>),
    /// All rows that a posting list lacks.
    NotPostings(Postings<'s>),
    Values(ValueRange<'s>),
    Bitmap(Bitset),
}

/// One expression of a filter.
pub(in crate::query) struct Clause<'s> {
    pub is_negated: bool,
    pub leaves: Vec<Leaf<'s>>,
    /// The expression as the client wrote it; empty for a clause that no expression made.
    pub text: String,
}

impl<'s> Clause<'s> {
    /// The union of leaves that no expression of the client made.
    pub fn internal(leaves: Vec<Leaf<'s>>) -> Clause<'s> {
        Clause { is_negated: false, leaves, text: String::new() }
    }

    /// The posting list whose rows are those that match; `None` if the clause is anything else.
    pub fn single_list(&self) -> Option<&Postings<'s>> {
        match (self.leaves.as_slice(), self.is_negated) {
            ([Leaf::Postings(list)], false) => Some(list),
            _ => None,
        }
    }

    /// An upper bound of the rows that match, out of `rows`.
    pub fn count_max(&self, rows: u32) -> u64 {
        let union: u64 = self.leaves.iter().map(|leaf| leaf.count_max(rows)).sum();
        match self.is_negated {
            false => union.min(u64::from(rows)),
            // Leaves may overlap, so only the complement of a single leaf has a known size.
            true if self.leaves.len() == 1 => u64::from(rows).saturating_sub(union),
            true => u64::from(rows),
        }
    }

    /// Counts the bitmaps over all rows that the clause holds or may allocate later.
    pub fn bitmaps(&self) -> usize {
        let is_bitmap = |leaf: &&Leaf<'_>| matches!(leaf, Leaf::Bitmap(_) | Leaf::Values(_));
        self.leaves.iter().filter(is_bitmap).count()
    }

    /// Whether setting the bits of a chunk costs no more than the rows the clause has in the chunk.
    pub fn is_stored_by_chunk(&self) -> bool {
        self.leaves.iter().all(|leaf| !matches!(leaf, Leaf::Values(_)))
    }

    /// Tells whether the clause matches a row.
    pub fn contains(&self, row: u32) -> Result<bool, ReadError> {
        for leaf in &self.leaves {
            let is_in = match leaf {
                Leaf::Postings(list) => list.contains(row)?,
                Leaf::NotPostings(list) => !list.contains(row)?,
                leaf => leaf.contains(None, row)?,
            };
            if is_in {
                return Ok(!self.is_negated);
            }
        }
        Ok(self.is_negated)
    }

    /// Asks for all bytes of each posting list at once, unless `lookups` rows touch fewer bytes; of a range, if all rows are
    /// looked at.
    pub fn fetch_for(&self, lookups: f64) {
        for leaf in &self.leaves {
            match leaf {
                Leaf::Postings(list) | Leaf::NotPostings(list) => list.fetch_for(lookups),
                Leaf::Values(range) if lookups.is_infinite() => range.note(),
                _ => {}
            }
        }
    }

    /// Evaluates the clause for all of `rows`.
    pub fn to_bitset(&self, rows: u32, deadline: Deadline<'_>) -> Result<Bitset, QueryError> {
        let mut all = Bitset::new(rows);
        for (chunk, bits) in (0..).zip(all.chunks_mut()) {
            deadline.check()?;
            self.add_to(rows, chunk, bits)?;
        }
        Ok(all)
    }

    /// Sets the bits of the matching rows of a chunk; `bits` must be empty if the clause is negated.
    pub fn add_to(&self, rows: u32, chunk: u32, bits: &mut ChunkBits) -> Result<(), ReadError> {
        self.leaves.iter().try_for_each(|leaf| leaf.add_to(rows, chunk, bits))?;
        if self.is_negated {
            let mut all = EMPTY_CHUNK;
            set_all(&mut all, rows, chunk);
            bits.iter_mut().zip(&all).for_each(|(bit, word)| *bit = word & !*bit);
        }
        Ok(())
    }
}

impl<'s> From<ValueRange<'s>> for Leaf<'s> {
    fn from(range: ValueRange<'s>) -> Leaf<'s> {
        match range.row_interval() {
            Some(rows) => Leaf::Interval(rows),
            None => Leaf::Values(range),
        }
    }
}

impl<'s> Leaf<'s> {
    /// How many of `rows` rows the leaf holds.
    pub fn count_max(&self, rows: u32) -> u64 {
        match self {
            Leaf::Sorted(sorted) => sorted.len() as u64,
            Leaf::Interval(range) => range.len() as u64,
            Leaf::Postings(list) => u64::from(list.count()),
            Leaf::NotPostings(list) => u64::from(rows.saturating_sub(list.count())),
            Leaf::Values(values) => values.count() as u64,
            Leaf::Bitmap(bits) => bits.count(),
        }
    }

    /// The leaf's form, for query plans.
    pub fn form(&self) -> &'static str {
        match self {
            Leaf::Sorted(_) => "sorted rows",
            Leaf::Interval(_) => "row interval",
            Leaf::Postings(_) => "posting list",
            Leaf::NotPostings(_) => "complement of a posting list",
            Leaf::Values(_) => "value range",
            Leaf::Bitmap(_) => "bitmap",
        }
    }

    /// The mapped rows of a chunk; `None` if the leaf has to compute them.
    pub fn view(&self, chunk: u32) -> Result<Option<ChunkView<'s>>, ReadError> {
        match self {
            Leaf::Postings(list) => list.view(chunk).map(Some),
            _ => Ok(None),
        }
    }

    /// Sets the bits of the leaf's rows in a chunk.
    pub fn add_to(&self, rows: u32, chunk: u32, bits: &mut ChunkBits) -> Result<(), ReadError> {
        let first = u64::from(chunk) << 16;
        match self {
            Leaf::Sorted(sorted) => set_rows(bits, sorted, chunk),
            Leaf::Interval(range) => {
                let within = |row: u32| (u64::from(row).max(first) - first).min(CHUNK_ROWS as u64);
                set_range(bits, within(range.start) as u32..within(range.end) as u32);
            }
            Leaf::Postings(list) => list.view(chunk)?.add_to(bits),
            Leaf::NotPostings(list) => {
                let mut others = EMPTY_CHUNK;
                set_all(&mut others, rows, chunk);
                list.view(chunk)?.remove_from(&mut others);
                union(bits, &others);
            }
            Leaf::Values(values) => values.add_to(chunk, bits)?,
            Leaf::Bitmap(bitmap) => bitmap.add_to(chunk, bits),
        }
        Ok(())
    }

    /// Whether the leaf holds a row. `view` must be what [`view`](Self::view) returned for the
    /// row's chunk.
    pub fn contains(&self, view: Option<&ChunkView<'_>>, row: u32) -> Result<bool, ReadError> {
        Ok(match self {
            Leaf::Sorted(sorted) => sorted.binary_search(&row).is_ok(),
            Leaf::Interval(range) => range.contains(&row),
            Leaf::Postings(_) => view.is_some_and(|view| view.contains(row as u16)),
            Leaf::NotPostings(list) => !list.contains(row)?,
            Leaf::Values(values) => values.contains(row)?,
            Leaf::Bitmap(bitmap) => bitmap.contains(row),
        })
    }
}
