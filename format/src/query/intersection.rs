//! The rows that every side of a filter holds, chunk by chunk.

use crate::index::bitset::{CHUNK_ROWS, ChunkBits, EMPTY_CHUNK, count_bits, each_bit, intersect};
use crate::index::postings::{ARRAY_ROWS_MAX, ChunkView};
use crate::query::clause::{Side, clear, fill, points_of};
use crate::query::{AnswerError, Deadline};
use crate::storage::error::ReadError;

/// Rows looked up in an array one by one at most; for more, its bits are set first.
const PROBES_MAX: usize = 64;

/// The sides of a filter, the smallest first.
pub(super) struct Filter<'s> {
    sides: Vec<Side<'s>>,
    /// How many rows each holds at most.
    counts_max: Vec<u64>,
    /// Rows there are.
    rows: u32,
    /// Those that match nothing, ascending.
    withheld: &'s [u32],
}

/// The matching rows of one chunk.
pub(super) enum Chunk {
    /// Few: each, ascending.
    Array(Vec<u16>),
    /// Many: a bit each.
    Bits(Box<ChunkBits>),
}

impl Chunk {
    /// How many.
    pub fn count(&self) -> u32 {
        match self {
            Chunk::Array(lows) => lows.len() as u32,
            Chunk::Bits(bits) => count_bits(&**bits) as u32,
        }
    }

    /// Shows `visit` each, ascending, until it returns false.
    pub fn each(&self, mut visit: impl FnMut(u16) -> bool) {
        match self {
            Chunk::Array(lows) => {
                let _ = lows.iter().try_for_each(|low| visit(*low).then_some(()));
            }
            Chunk::Bits(bits) => each_bit(bits, visit),
        }
    }
}

impl<'s> Filter<'s> {
    /// Puts the sides in the order they are asked.
    pub fn new(sides: Vec<Side<'s>>, rows: u32) -> Filter<'s> {
        let mut counted: Vec<(u64, Side<'s>)> =
            sides.into_iter().map(|side| (side.count_max(rows), side)).collect();
        counted.sort_by_key(|(count_max, _)| *count_max);
        let (counts_max, sides) = counted.into_iter().unzip();
        Filter { sides, counts_max, rows, withheld: &[] }
    }

    /// The same, but for rows that match nothing whatever the sides hold: ascending.
    pub fn but(self, withheld: &'s [u32]) -> Filter<'s> {
        Filter { withheld, ..self }
    }

    /// Rows that match nothing, ascending.
    pub fn withheld(&self) -> &'s [u32] {
        self.withheld
    }

    /// How many rows each side holds at most.
    pub fn counts_max(&self) -> &[u64] {
        &self.counts_max
    }

    /// The sides in the order they are asked.
    pub fn sides(&self) -> &[Side<'s>] {
        &self.sides
    }

    /// Rows there are.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Chunks there are.
    pub fn chunks(&self) -> u32 {
        self.rows.div_ceil(CHUNK_ROWS as u32)
    }

    /// The matches of a chunk.
    pub fn chunk(&self, chunk: u32) -> Result<Chunk, ReadError> {
        let mut found = self.held(chunk)?;
        let withheld = points_of(self.withheld, chunk);
        if !withheld.is_empty() {
            match &mut found {
                Chunk::Array(lows) => lows.retain(|low| {
                    withheld.binary_search(&(chunk << 16 | u32::from(*low))).is_err()
                }),
                Chunk::Bits(bits) => clear(withheld, bits),
            }
        }
        Ok(found)
    }

    /// The rows of a chunk that every side holds.
    fn held(&self, chunk: u32) -> Result<Chunk, ReadError> {
        let Some((first, others)) = self.sides.split_first() else {
            let mut bits = Box::new(EMPTY_CHUNK);
            fill(&mut bits, self.rows, chunk);
            return Ok(Chunk::Bits(bits));
        };
        let mut found = self.whole(first, chunk)?;
        for side in others {
            found = match found {
                Chunk::Array(lows) if lows.is_empty() => return Ok(Chunk::Array(lows)),
                Chunk::Array(lows) => Chunk::Array(self.pick(side, chunk, lows)?),
                Chunk::Bits(bits) => self.intersect(side, chunk, bits)?,
            };
        }
        Ok(found)
    }

    /// The rows of one side.
    fn whole(&self, side: &Side<'s>, chunk: u32) -> Result<Chunk, ReadError> {
        if let ([atom], false) = (side.atoms.as_slice(), side.is_negated) {
            if let crate::query::clause::Atom::Points(points) = atom {
                let points = points_of(points, chunk);
                if points.len() <= ARRAY_ROWS_MAX {
                    return Ok(Chunk::Array(points.iter().map(|row| *row as u16).collect()));
                }
            }
            if let Some(view) = atom.view(chunk)?.filter(ChunkView::is_array) {
                return Ok(Chunk::Array(view.to_vec()));
            }
        }
        let mut bits = Box::new(EMPTY_CHUNK);
        side.add_to(self.rows, chunk, &mut bits)?;
        Ok(Chunk::Bits(bits))
    }

    /// Those of a few rows that a side holds.
    fn pick(&self, side: &Side<'s>, chunk: u32, lows: Vec<u16>) -> Result<Vec<u16>, ReadError> {
        if lows.len() > PROBES_MAX && side.is_listed() {
            let mut bits = EMPTY_CHUNK;
            // What a negated side holds is left out of them already.
            side.add_to(self.rows, chunk, &mut bits)?;
            return Ok(kept_in(lows, &bits));
        }
        let views: Result<Vec<_>, ReadError> =
            side.atoms.iter().map(|atom| atom.view(chunk)).collect();
        let views = views?;
        let mut kept = Vec::with_capacity(lows.len());
        for low in lows {
            let row = chunk << 16 | u32::from(low);
            let mut is_held = false;
            for (atom, view) in side.atoms.iter().zip(&views) {
                if atom.contains(view.as_ref(), row)? {
                    is_held = true;
                    break;
                }
            }
            if is_held != side.is_negated {
                kept.push(low);
            }
        }
        Ok(kept)
    }

    /// Those of many rows that a side holds.
    fn intersect(
        &self,
        side: &Side<'s>,
        chunk: u32,
        mut bits: Box<ChunkBits>,
    ) -> Result<Chunk, ReadError> {
        if let [atom] = side.atoms.as_slice()
            && let Some(view) = atom.view(chunk)?
        {
            if side.is_negated {
                view.remove_from(&mut bits);
            } else if view.is_array() {
                return Ok(Chunk::Array(kept_in(view.to_vec(), &bits)));
            } else {
                view.retain_in(&mut bits);
            }
            return Ok(Chunk::Bits(bits));
        }
        let mut other = EMPTY_CHUNK;
        side.add_to(self.rows, chunk, &mut other)?;
        intersect(&mut *bits, &other);
        Ok(Chunk::Bits(bits))
    }

    /// How many rows of each chunk match.
    ///
    /// # Errors
    ///
    /// Where the snapshot is damaged, or the deadline passes.
    pub fn counts(&self, deadline: Deadline<'_>) -> Result<Vec<u32>, AnswerError> {
        if let [side] = self.sides.as_slice()
            && let ([crate::query::clause::Atom::List(list)], false) =
                (side.atoms.as_slice(), side.is_negated)
        {
            let counts = (0..self.chunks()).map(|chunk| {
                let view = list.view(chunk)?;
                let withheld = points_of(self.withheld, chunk).iter();
                let listed = withheld.filter(|row| view.contains(**row as u16)).count();
                Ok(view.count() - listed as u32)
            });
            return counts.collect();
        }
        let mut counts = Vec::with_capacity(self.chunks() as usize);
        for chunk in 0..self.chunks() {
            deadline.check()?;
            counts.push(self.chunk(chunk)?.count());
        }
        Ok(counts)
    }
}

/// Those of a chunk's rows whose bits are set.
///
/// Without a branch on the bits, which would be foreseen badly: measured on sets of a few thousand
/// rows a chunk, that took five times as long.
fn kept_in(mut lows: Vec<u16>, bits: &ChunkBits) -> Vec<u16> {
    let mut kept = 0;
    for at in 0..lows.len() {
        let low = lows[at];
        lows[kept] = low;
        kept += (bits[usize::from(low / 64)] >> (low % 64) & 1) as usize;
    }
    lows.truncate(kept);
    lows
}
