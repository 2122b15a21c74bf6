//! A set of rows that an order is asked about.

use crate::index::bitset::{
    Bitset, CHUNK_ROWS, ChunkBits, EMPTY_CHUNK, count_bits, each_bit, intersect,
};
use crate::index::orders::Order;
use crate::query::clause::{Atom, Side, add_points, clear, points_of};
use crate::query::intersection::{Chunk, Filter};
use crate::query::range::ValueRange;
use crate::query::walk::run_of;
use crate::query::{AnswerError, Deadline};
use crate::storage::error::ReadError;

/// Rows beyond which a set is bits, and its page found in the order rather than selected.
const FEW_ROWS: usize = 16_384;

/// A set of rows.
pub(crate) enum Set {
    /// All of so many.
    All(u32),
    /// All of so many but these, which are not many: ascending.
    AllBut(u32, Box<[u32]>),
    /// These, ascending.
    Few(Vec<u32>),
    /// A bit for each row of whole chunks, and how many are set.
    Many(Bitset, u64),
}

impl Set {
    /// The matches of a filter.
    pub(super) fn of(filter: &Filter<'_>, deadline: Deadline<'_>) -> Result<Set, AnswerError> {
        if filter.sides().is_empty() {
            return Ok(match filter.withheld() {
                [] => Set::All(filter.rows()),
                withheld => Set::AllBut(filter.rows(), withheld.into()),
            });
        }
        let mut building = SetBuilder::new(filter.chunks());
        for chunk in 0..filter.chunks() {
            deadline.check()?;
            match filter.chunk(chunk)? {
                Chunk::Bits(bits) => building.push_bits(chunk, &bits),
                Chunk::Array(lows) => building.push_rows(chunk, &lows),
            }
        }
        Ok(building.finish())
    }

    /// Those of its rows whose value of an order has a code.
    pub fn with_code(
        &self,
        order: Order<'_>,
        code: u64,
        deadline: Deadline<'_>,
    ) -> Result<Set, AnswerError> {
        let atom = ValueRange::new(order, run_of(order, code))?.into_atom();
        let chunks = order.rows().div_ceil(CHUNK_ROWS as u32);
        let mut building = SetBuilder::new(chunks);
        for chunk in 0..chunks {
            deadline.check()?;
            let mut bits = EMPTY_CHUNK;
            self.with_atom(&atom, order.rows(), chunk, &mut bits)?;
            building.push_bits(chunk, &bits);
        }
        Ok(building.finish())
    }

    fn with_atom(
        &self,
        atom: &Atom<'_>,
        rows: u32,
        chunk: u32,
        bits: &mut ChunkBits,
    ) -> Result<(), ReadError> {
        let mut own = EMPTY_CHUNK;
        match self {
            Set::All(_) => own.fill(u64::MAX),
            Set::AllBut(_, others) => {
                own.fill(u64::MAX);
                clear(points_of(others, chunk), &mut own);
            }
            Set::Many(words, _) => words.add_to(chunk, &mut own),
            Set::Few(few) => add_points(few, chunk, &mut own),
        }
        atom.add_to(rows, chunk, bits)?;
        intersect(bits, &own);
        Ok(())
    }

    /// The set as a side of another filter.
    pub(super) fn into_side(self) -> Side<'static> {
        let (is_negated, atom) = match self {
            Set::All(rows) => (false, Atom::Rows(0..rows)),
            Set::AllBut(_, others) => (true, Atom::Points(others.into_vec())),
            Set::Few(few) => (false, Atom::Points(few)),
            Set::Many(words, _) => (false, Atom::Bits(words)),
        };
        Side { is_negated, atoms: vec![atom], text: String::new() }
    }

    /// Those of its rows that `is_kept` keeps. It is a set of some rows, not of all or all but some.
    ///
    /// # Errors
    ///
    /// The first of `is_kept`.
    pub fn retain(
        self,
        mut is_kept: impl FnMut(u32) -> Result<bool, AnswerError>,
    ) -> Result<Set, AnswerError> {
        let (few, words) = match self {
            Set::Few(few) => (few, Bitset::default()),
            Set::Many(words, _) => (Vec::new(), words),
            Set::All(_) | Set::AllBut(..) => {
                return Err(ReadError::Internal(
                    "a complemented set of rows cannot be filtered row by row",
                )
                .into());
            }
        };
        let mut kept = Vec::new();
        for row in few {
            if is_kept(row)? {
                kept.push(row);
            }
        }
        let chunks = words.chunks().len() as u32;
        let mut building = SetBuilder { few: kept, many: None, chunks };
        for row in words.rows() {
            if is_kept(row)? {
                building.push_rows(row >> 16, &[row as u16]);
            }
        }
        Ok(building.finish())
    }

    /// How many rows.
    pub fn count(&self) -> u64 {
        match self {
            Set::All(rows) => u64::from(*rows),
            Set::AllBut(rows, others) => u64::from(*rows) - others.len() as u64,
            Set::Few(few) => few.len() as u64,
            Set::Many(_, count) => *count,
        }
    }

    /// Whether a row is among them.
    pub fn contains(&self, row: u32) -> bool {
        match self {
            Set::All(_) => true,
            Set::AllBut(_, others) => others.binary_search(&row).is_err(),
            Set::Few(few) => few.binary_search(&row).is_ok(),
            Set::Many(words, _) => words.contains(row),
        }
    }
}

/// A set under way: its rows while they are few, bits once they are many.
struct SetBuilder {
    few: Vec<u32>,
    many: Option<Bitset>,
    chunks: u32,
}

impl SetBuilder {
    fn new(chunks: u32) -> SetBuilder {
        SetBuilder { few: Vec::new(), many: None, chunks }
    }

    fn push_bits(&mut self, chunk: u32, bits: &ChunkBits) {
        if self.many.is_none() && self.few.len() + count_bits(bits) as usize > FEW_ROWS {
            self.turn_to_bits();
        }
        if let Some(words) = &mut self.many {
            words.chunks_mut()[chunk as usize] = *bits;
            return;
        }
        each_bit(bits, |low| {
            self.few.push(chunk << 16 | u32::from(low));
            true
        });
    }

    fn push_rows(&mut self, chunk: u32, lows: &[u16]) {
        if self.many.is_none() && self.few.len() + lows.len() > FEW_ROWS {
            self.turn_to_bits();
        }
        let rows = lows.iter().map(|low| chunk << 16 | u32::from(*low));
        match &mut self.many {
            None => self.few.extend(rows),
            Some(words) => rows.for_each(|row| _ = words.insert(row)),
        }
    }

    fn turn_to_bits(&mut self) {
        let mut words = Bitset::with_chunks(self.chunks);
        self.few.drain(..).for_each(|row| _ = words.insert(row));
        self.many = Some(words);
    }

    fn finish(self) -> Set {
        match self.many {
            None => Set::Few(self.few),
            Some(words) => {
                let count = words.count();
                Set::Many(words, count)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The rows of a set of some, ascending.
    fn rows(set: &Set) -> Vec<u32> {
        (0..1 << 18).filter(|row| set.contains(*row)).collect()
    }

    #[test]
    fn what_is_kept_of_few_rows_and_of_many_is_a_set_of_them() {
        let is_kept = |row: u32| row % 7 < 3;
        for step in [1, 5, 30] {
            let all: Vec<u32> = (0..200_000).step_by(step).collect();
            let mut building = SetBuilder::new(4);
            all.iter().for_each(|row| building.push_rows(row >> 16, &[*row as u16]));
            let set = building.finish();
            assert_eq!(matches!(set, Set::Many(..)), all.len() > FEW_ROWS);
            let kept = set.retain(|row| Ok(is_kept(row))).unwrap();
            let expected: Vec<u32> = all.into_iter().filter(|row| is_kept(*row)).collect();
            assert_eq!(kept.count(), expected.len() as u64);
            assert_eq!(rows(&kept), expected);
        }
        let refused = Set::Few(vec![1, 2]).retain(|_| {
            Err(AnswerError::from(ReadError::corrupt(
                "records",
                "an archived record does not validate",
            )))
        });
        assert!(refused.is_err());
    }
}
