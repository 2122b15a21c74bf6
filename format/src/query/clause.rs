//! One expression of a filter as sets of rows that indexes hold.
//!
//! A side is the union of its atoms, or what is left beside it. Each atom can tell the rows of one
//! chunk without touching those of others.

use std::ops::Range;

use crate::index::bitset::{Bitset, CHUNK_ROWS, ChunkBits, EMPTY_CHUNK, union};
use crate::index::postings::{ChunkView, Postings};
use crate::query::range::ValueRange;
use crate::query::{AnswerError, Deadline};
use crate::storage::error::ReadError;

/// Rows that an index holds together.
pub(super) enum Atom<'s> {
    /// These, ascending.
    Points(Vec<u32>),
    /// The rows from one to another.
    Rows(Range<u32>),
    /// A posting list.
    List(Postings<'s>),
    /// All but a posting list.
    Absent(Postings<'s>),
    /// The rows with certain values.
    Values(ValueRange<'s>),
    /// Rows by a bit each, of whole chunks.
    Bits(Bitset),
}

/// One expression.
pub(super) struct Side<'s> {
    pub is_negated: bool,
    pub atoms: Vec<Atom<'s>>,
    /// The expression as it was written.
    pub text: String,
}

impl Side<'_> {
    /// How many rows it holds at most, of so many.
    pub fn count_max(&self, rows: u32) -> u64 {
        let union: u64 = self.atoms.iter().map(|atom| atom.count_max(rows)).sum();
        match self.is_negated {
            false => union.min(u64::from(rows)),
            // One set alone is left out exactly.
            true if self.atoms.len() == 1 => u64::from(rows).saturating_sub(union),
            true => u64::from(rows),
        }
    }

    /// The sets of a bit for each row that it holds or may come to hold.
    pub fn row_sets(&self) -> usize {
        let is_set = |atom: &&Atom<'_>| matches!(atom, Atom::Bits(_) | Atom::Values(_));
        self.atoms.iter().filter(is_set).count()
    }

    /// Whether its rows lie chunk by chunk, so that setting the bits of one costs no more than it has.
    pub fn is_listed(&self) -> bool {
        self.atoms.iter().all(|atom| !matches!(atom, Atom::Values(_)))
    }

    /// Its rows, a bit each, of so many.
    pub fn to_bits(&self, rows: u32, deadline: Deadline<'_>) -> Result<Bitset, AnswerError> {
        let mut all = Bitset::new(rows);
        for (chunk, bits) in (0..).zip(all.chunks_mut()) {
            deadline.check()?;
            self.add_to(rows, chunk, bits)?;
        }
        Ok(all)
    }

    /// Sets the bits of its rows in a chunk.
    pub fn add_to(&self, rows: u32, chunk: u32, bits: &mut ChunkBits) -> Result<(), ReadError> {
        self.atoms.iter().try_for_each(|atom| atom.add_to(rows, chunk, bits))?;
        if self.is_negated {
            let mut all = EMPTY_CHUNK;
            fill(&mut all, rows, chunk);
            bits.iter_mut().zip(&all).for_each(|(bit, word)| *bit = word & !*bit);
        }
        Ok(())
    }
}

/// How many rows a chunk has.
pub(super) fn rows_of(rows: u32, chunk: u32) -> u32 {
    (rows - (chunk << 16)).min(CHUNK_ROWS as u32)
}

/// Sets the bits of all rows a chunk has.
pub(super) fn fill(bits: &mut ChunkBits, rows: u32, chunk: u32) {
    set_range(bits, 0..rows_of(rows, chunk));
}

fn set_range(bits: &mut ChunkBits, range: Range<u32>) {
    for (at, word) in bits.iter_mut().enumerate() {
        let first = at as u32 * 64;
        let from = range.start.clamp(first, first + 64) - first;
        let to = range.end.clamp(first, first + 64) - first;
        if from < to {
            let below = |bit: u32| if bit == 64 { u64::MAX } else { (1 << bit) - 1 };
            *word |= below(to) & !below(from);
        }
    }
}

impl<'s> Atom<'s> {
    /// How many rows it holds, of so many.
    pub fn count_max(&self, rows: u32) -> u64 {
        match self {
            Atom::Points(points) => points.len() as u64,
            Atom::Rows(range) => range.len() as u64,
            Atom::List(list) => u64::from(list.count()),
            Atom::Absent(list) => u64::from(rows.saturating_sub(list.count())),
            Atom::Values(values) => values.count() as u64,
            Atom::Bits(bits) => bits.count(),
        }
    }

    /// What it is, for plans.
    pub fn name(&self) -> &'static str {
        match self {
            Atom::Points(_) => "rows",
            Atom::Rows(_) => "row interval",
            Atom::List(_) => "list",
            Atom::Absent(_) => "all but a list",
            Atom::Values(_) => "value range",
            Atom::Bits(_) => "set of rows",
        }
    }

    /// The rows of a chunk, where they lie as such; `None` where they have to be worked out.
    pub fn view(&self, chunk: u32) -> Result<Option<ChunkView<'s>>, ReadError> {
        match self {
            Atom::List(list) => list.view(chunk).map(Some),
            _ => Ok(None),
        }
    }

    /// Sets the bits of its rows in a chunk.
    pub fn add_to(&self, rows: u32, chunk: u32, bits: &mut ChunkBits) -> Result<(), ReadError> {
        let first = u64::from(chunk) << 16;
        match self {
            Atom::Points(points) => add_points(points, chunk, bits),
            Atom::Rows(range) => {
                let within = |row: u32| (u64::from(row).max(first) - first).min(CHUNK_ROWS as u64);
                set_range(bits, within(range.start) as u32..within(range.end) as u32);
            }
            Atom::List(list) => list.view(chunk)?.add_to(bits),
            Atom::Absent(list) => {
                let mut absent = EMPTY_CHUNK;
                fill(&mut absent, rows, chunk);
                list.view(chunk)?.remove_from(&mut absent);
                union(bits, &absent);
            }
            Atom::Values(values) => values.add_to(chunk, bits)?,
            Atom::Bits(own) => own.add_to(chunk, bits),
        }
        Ok(())
    }

    /// Whether a row is among them. The view is its own of the row's chunk, where it has one.
    pub fn contains(&self, view: Option<&ChunkView<'_>>, row: u32) -> Result<bool, ReadError> {
        Ok(match self {
            Atom::Points(points) => points.binary_search(&row).is_ok(),
            Atom::Rows(range) => range.contains(&row),
            Atom::List(_) => view.is_some_and(|view| view.contains(row as u16)),
            Atom::Absent(list) => !list.view(row >> 16)?.contains(row as u16),
            Atom::Values(values) => values.contains(row)?,
            Atom::Bits(bits) => bits.contains(row),
        })
    }
}

/// Those of ascending rows that lie in a chunk.
pub(super) fn points_of(points: &[u32], chunk: u32) -> &[u32] {
    let from = points.partition_point(|row| row >> 16 < chunk);
    let to = points.partition_point(|row| row >> 16 <= chunk);
    &points[from..to]
}

/// Clears the bits of a chunk's rows.
pub(super) fn clear(points: &[u32], bits: &mut ChunkBits) {
    for low in points.iter().map(|row| row & 0xffff) {
        bits[low as usize / 64] &= !(1 << (low % 64));
    }
}

/// Sets the bits of those of ascending rows that lie in a chunk.
pub(super) fn add_points(points: &[u32], chunk: u32, bits: &mut ChunkBits) {
    for low in points_of(points, chunk).iter().map(|row| row & 0xffff) {
        bits[low as usize / 64] |= 1 << (low % 64);
    }
}
