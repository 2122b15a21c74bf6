//! A computed set of rows: the matches of a filter, before an order selects a page of them.

use crate::index::bitset::{Bitset, ChunkBits, EMPTY_CHUNK, count_bits, each_bit};
use crate::index::chunk_bits::{clear_rows, rows_in_chunk, set_rows};

/// Rows up to which a set is sorted rows. A page of a larger set is found by walking an order.
pub(crate) const SORTED_ROWS_MAX: usize = 16_384;

/// A set of rows.
#[derive(Clone)]
pub(crate) enum DocSet {
    /// All rows of an entity with this many.
    All(u32),
    /// All rows of an entity with this many, except a few ascending ones.
    AllExcept(u32, Box<[u32]>),
    /// At most 16,384 ascending rows.
    Sorted(Vec<u32>),
    /// A bitmap and its count.
    Bitmap(Bitset, u64),
}

impl DocSet {
    /// The set's bits in a chunk. In the last chunk, `All` and `AllExcept` also set bits of rows that
    /// do not exist.
    pub fn chunk_bits(&self, chunk: u32) -> ChunkBits {
        let mut bits = EMPTY_CHUNK;
        match self {
            DocSet::All(_) => bits.fill(u64::MAX),
            DocSet::AllExcept(_, others) => {
                bits.fill(u64::MAX);
                clear_rows(&mut bits, rows_in_chunk(others, chunk));
            }
            DocSet::Bitmap(bitmap, _) => bitmap.add_to(chunk, &mut bits),
            DocSet::Sorted(sorted) => set_rows(&mut bits, sorted, chunk),
        }
        bits
    }

    pub fn count(&self) -> u64 {
        match self {
            DocSet::All(rows) => u64::from(*rows),
            DocSet::AllExcept(rows, others) => u64::from(*rows) - others.len() as u64,
            DocSet::Sorted(sorted) => sorted.len() as u64,
            DocSet::Bitmap(_, count) => *count,
        }
    }

    pub fn contains(&self, row: u32) -> bool {
        match self {
            DocSet::All(_) => true,
            DocSet::AllExcept(_, others) => others.binary_search(&row).is_err(),
            DocSet::Sorted(sorted) => sorted.binary_search(&row).is_ok(),
            DocSet::Bitmap(bitmap, _) => bitmap.contains(row),
        }
    }
}

/// Builder of a set from ascending chunks: sorted rows up to [`SORTED_ROWS_MAX`], a bitmap beyond.
pub(crate) struct DocSetBuilder {
    sorted: Vec<u32>,
    bitmap: Option<Bitset>,
    chunks: u32,
}

impl DocSetBuilder {
    pub fn new(chunks: u32) -> DocSetBuilder {
        DocSetBuilder { sorted: Vec::new(), bitmap: None, chunks }
    }

    pub fn push_bits(&mut self, chunk: u32, bits: &ChunkBits) {
        if self.bitmap.is_none() && self.sorted.len() + count_bits(bits) as usize > SORTED_ROWS_MAX
        {
            self.move_sorted_to_bitmap();
        }
        if let Some(bitmap) = &mut self.bitmap {
            bitmap.chunks_mut()[chunk as usize] = *bits;
            return;
        }
        each_bit(bits, |low| {
            self.sorted.push(chunk << 16 | u32::from(low));
            true
        });
    }

    pub fn push_rows(&mut self, chunk: u32, lows: &[u16]) {
        if self.bitmap.is_none() && self.sorted.len() + lows.len() > SORTED_ROWS_MAX {
            self.move_sorted_to_bitmap();
        }
        let rows = lows.iter().map(|low| chunk << 16 | u32::from(*low));
        match &mut self.bitmap {
            None => self.sorted.extend(rows),
            Some(bitmap) => rows.for_each(|row| _ = bitmap.insert(row)),
        }
    }

    fn move_sorted_to_bitmap(&mut self) {
        let mut bitmap = Bitset::with_chunks(self.chunks);
        self.sorted.drain(..).for_each(|row| _ = bitmap.insert(row));
        self.bitmap = Some(bitmap);
    }

    pub fn finish(self) -> DocSet {
        match self.bitmap {
            None => DocSet::Sorted(self.sorted),
            Some(bitmap) => {
                let count = bitmap.count();
                DocSet::Bitmap(bitmap, count)
            }
        }
    }
}
