//! A union of sets under way: small sets become rows, many rows become bits, so that what a question
//! holds does not grow with the number of sets it names.

use crate::index::bitset::{Bitset, CHUNK_ROWS};
use crate::index::postings::Postings;
use crate::query::clause::Atom;
use crate::query::range::ValueRange;
use crate::storage::error::ReadError;

/// Lists beyond which small ones are gathered.
const LISTS_MAX: usize = 8;
/// Rows a list has in a chunk, on average, to be asked chunk by chunk rather than gathered.
const CHUNK_ROWS_FEW: u32 = 4;
/// Of so many rows there are, one is kept by itself; more become bits, which is quicker than sorting.
const ROWS_PER_POINT: u32 = 512;
/// Rows kept one by one at the least.
const POINTS_MIN: usize = 4_096;
/// Rows of a range of values that are kept one by one.
const RANGE_ROWS_FEW: usize = 4_096;

/// A union under way.
pub(super) struct Union<'s> {
    /// Rows there are.
    rows: u32,
    atoms: Vec<Atom<'s>>,
    points: Vec<u32>,
    points_max: usize,
    /// A bit for each row of whole chunks.
    bits: Option<Bitset>,
    has_values: bool,
}

impl<'s> Union<'s> {
    /// No row, of so many.
    pub fn new(rows: u32) -> Union<'s> {
        let points_max = POINTS_MIN.max((rows / ROWS_PER_POINT) as usize);
        let (atoms, points) = (Vec::new(), Vec::new());
        Union { rows, atoms, points, points_max, bits: None, has_values: false }
    }

    /// Rows there are.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Adds a set as it is.
    pub fn atom(&mut self, atom: Atom<'s>) {
        self.atoms.push(atom);
    }

    /// Adds a row.
    pub fn row(&mut self, row: u32) {
        match &mut self.bits {
            Some(bits) => {
                bits.insert(row);
            }
            None => {
                self.points.push(row);
                if self.points.len() > self.points_max {
                    self.turn_to_bits();
                }
            }
        }
    }

    fn turn_to_bits(&mut self) {
        let mut bits = self.bits.take().unwrap_or_else(|| Bitset::new(self.rows));
        self.points.drain(..).for_each(|row| _ = bits.insert(row));
        self.bits = Some(bits);
    }

    /// Adds the rows of a list.
    pub fn list(&mut self, list: Postings<'s>) -> Result<(), ReadError> {
        let chunks = self.rows.div_ceil(CHUNK_ROWS as u32);
        let is_small = list.count() <= chunks.saturating_mul(CHUNK_ROWS_FEW);
        if !is_small || self.atoms.len() < LISTS_MAX {
            self.atoms.push(Atom::List(list));
            return Ok(());
        }
        list.each(|row| {
            self.row(row);
            true
        })
    }

    /// Adds the rows of a list one by one where there are not many, and the list itself otherwise.
    pub fn list_or_rows(&mut self, list: Postings<'s>) -> Result<(), ReadError> {
        if list.count() as usize > self.points_max {
            self.atoms.push(Atom::List(list));
            return Ok(());
        }
        list.each(|row| {
            self.row(row);
            true
        })
    }

    /// Adds the rows with values in a range. The first such range keeps its own set of rows; others
    /// share one.
    pub fn values(&mut self, range: ValueRange<'s>) -> Result<(), ReadError> {
        let is_few = range.count() <= RANGE_ROWS_FEW;
        let atom = match range.into_atom() {
            Atom::Values(range) if is_few => {
                return range.each_row(|row| self.row(row));
            }
            Atom::Values(range) if self.has_values => {
                self.turn_to_bits();
                let mut bits = self.bits.take().unwrap_or_default();
                for (chunk, words) in (0..).zip(bits.chunks_mut()) {
                    range.add_inner(chunk, words)?;
                }
                range.each_end(|row| _ = bits.insert(row))?;
                self.bits = Some(bits);
                return Ok(());
            }
            atom => atom,
        };
        self.has_values |= matches!(atom, Atom::Values(_));
        self.atoms.push(atom);
        Ok(())
    }

    /// Adds the rows whose bits are set, of whole chunks.
    pub fn bits(&mut self, more: Bitset) {
        match &mut self.bits {
            Some(bits) => bits.union_with(&more),
            None => {
                self.bits = Some(more);
                self.turn_to_bits();
            }
        }
    }

    /// Ends the union.
    pub fn into_atoms(mut self) -> Vec<Atom<'s>> {
        if !self.points.is_empty() {
            self.points.sort_unstable();
            self.points.dedup();
            self.atoms.push(Atom::Points(self.points));
        }
        self.atoms.extend(self.bits.map(Atom::Bits));
        self.atoms
    }
}
