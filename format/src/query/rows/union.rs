//! Builds the leaves of a clause from many sets of rows.
//!
//! A clause may name hundreds of posting lists. [`Union`] bounds their memory: it gathers small lists
//! as single rows, and turns gathered rows into one bitmap once they exceed `gathered_max`.

use crate::index::bitset::{Bitset, CHUNK_ROWS};
use crate::index::doc_set::DocSet;
use crate::index::postings::Postings;
use crate::query::rows::clause::Leaf;
use crate::query::rows::range::ValueRange;
use crate::storage::ReadError;

/// Leaves up to which small posting lists stay leaves of their own.
const SMALL_LEAVES_MAX: usize = 8;
/// A list is small if it has at most 4 rows a chunk on average.
const SMALL_LIST_ROWS_PER_CHUNK: u32 = 4;
/// At most one in 512 rows is gathered; beyond, setting bits is quicker than sorting.
const ROWS_PER_GATHERED: u32 = 512;
/// Rows that are gathered in any case.
const GATHERED_MIN: usize = 4_096;
/// Rows up to which a value range is gathered.
const GATHERED_RANGE_ROWS_MAX: usize = 4_096;

/// Builder of a union of rows.
pub(in crate::query) struct Union<'s> {
    /// Rows of the entity.
    rows: u32,
    leaves: Vec<Leaf<'s>>,
    /// Single rows, in any order, repeats included.
    gathered: Vec<u32>,
    gathered_max: usize,
    /// The gathered rows, once they are more than `gathered_max`.
    bitmap: Option<Bitset>,
    has_value_leaf: bool,
}

impl<'s> Union<'s> {
    /// Creates an empty union of rows below `rows`.
    pub fn new(rows: u32) -> Union<'s> {
        let gathered_max = GATHERED_MIN.max((rows / ROWS_PER_GATHERED) as usize);
        let (leaves, gathered) = (Vec::new(), Vec::new());
        Union { rows, leaves, gathered, gathered_max, bitmap: None, has_value_leaf: false }
    }

    pub fn rows(&self) -> u32 {
        self.rows
    }

    pub fn add_leaf(&mut self, leaf: Leaf<'s>) {
        self.leaves.push(leaf);
    }

    /// Adds a set of rows that a search found.
    pub fn add_set(&mut self, set: DocSet) -> Result<(), ReadError> {
        match set {
            DocSet::Sorted(rows) => rows.into_iter().for_each(|row| self.add_row(row)),
            DocSet::Bitmap(bitmap, _) => self.add_bitmap(bitmap),
            // A search intersects or unites lists of rows.
            DocSet::All(_) | DocSet::AllExcept(..) => {
                return Err(ReadError::Internal("a search matched a complemented set of rows"));
            }
        }
        Ok(())
    }

    pub fn add_row(&mut self, row: u32) {
        match &mut self.bitmap {
            Some(bitmap) => {
                bitmap.insert(row);
            }
            None => {
                self.gathered.push(row);
                if self.gathered.len() > self.gathered_max {
                    self.move_gathered_to_bitmap();
                }
            }
        }
    }

    fn move_gathered_to_bitmap(&mut self) {
        let mut bitmap = self.bitmap.take().unwrap_or_else(|| Bitset::new(self.rows));
        self.gathered.drain(..).for_each(|row| _ = bitmap.insert(row));
        self.bitmap = Some(bitmap);
    }

    /// Adds a posting list: as a leaf, or row by row if it is small and there are 8 leaves already.
    pub fn add_list(&mut self, list: Postings<'s>) -> Result<(), ReadError> {
        let chunks = self.rows.div_ceil(CHUNK_ROWS as u32);
        let is_small = list.count() <= chunks.saturating_mul(SMALL_LIST_ROWS_PER_CHUNK);
        if !is_small || self.leaves.len() < SMALL_LEAVES_MAX {
            self.leaves.push(Leaf::Postings(list));
            return Ok(());
        }
        self.gather_list(list)
    }

    /// Adds a posting list: row by row if it has at most `gathered_max` rows, else as a leaf.
    pub fn add_list_rows(&mut self, list: Postings<'s>) -> Result<(), ReadError> {
        if list.count() as usize > self.gathered_max {
            self.leaves.push(Leaf::Postings(list));
            return Ok(());
        }
        self.gather_list(list)
    }

    fn gather_list(&mut self, list: Postings<'s>) -> Result<(), ReadError> {
        list.each(|row| {
            self.add_row(row);
            true
        })
    }

    /// Adds the rows of a value range. The first large range becomes a leaf; later ones share the
    /// bitmap, so that the union holds at most two bitmaps.
    pub fn add_range(&mut self, range: ValueRange<'s>) -> Result<(), ReadError> {
        let is_gathered = range.count() <= GATHERED_RANGE_ROWS_MAX;
        let leaf = match Leaf::from(range) {
            Leaf::Values(range) if is_gathered => {
                return range.each_row(|row| self.add_row(row));
            }
            Leaf::Values(range) if self.has_value_leaf => {
                self.move_gathered_to_bitmap();
                let mut bitmap = self.bitmap.take().unwrap_or_default();
                for (chunk, bits) in (0..).zip(bitmap.chunks_mut()) {
                    range.add_inner(chunk, bits)?;
                }
                range.each_end_row(|row| _ = bitmap.insert(row))?;
                self.bitmap = Some(bitmap);
                return Ok(());
            }
            leaf => leaf,
        };
        self.has_value_leaf |= matches!(leaf, Leaf::Values(_));
        self.leaves.push(leaf);
        Ok(())
    }

    /// Adds the rows of a bitmap with as many chunks as the entity.
    pub fn add_bitmap(&mut self, added: Bitset) {
        match &mut self.bitmap {
            Some(bitmap) => bitmap.union_with(&added),
            None => {
                self.bitmap = Some(added);
                self.move_gathered_to_bitmap();
            }
        }
    }

    pub fn into_leaves(mut self) -> Vec<Leaf<'s>> {
        if !self.gathered.is_empty() {
            self.gathered.sort_unstable();
            self.gathered.dedup();
            self.leaves.push(Leaf::Sorted(self.gathered));
        }
        self.leaves.extend(self.bitmap.map(Leaf::Bitmap));
        self.leaves
    }
}
