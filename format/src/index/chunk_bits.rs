//! Sets and clears bits of one chunk: all rows, an interval, or sorted rows.

use std::ops::Range;

use crate::index::bitset::{CHUNK_ROWS, ChunkBits};

/// Sets the bits of all rows of a chunk; the last chunk of `rows` rows may have fewer than 65,536.
pub(crate) fn set_all(bits: &mut ChunkBits, rows: u32, chunk: u32) {
    set_range(bits, 0..(rows - (chunk << 16)).min(CHUNK_ROWS as u32));
}

pub(crate) fn set_range(bits: &mut ChunkBits, lows: Range<u32>) {
    for (at, word) in bits.iter_mut().enumerate() {
        let first = at as u32 * 64;
        let from = lows.start.clamp(first, first + 64) - first;
        let to = lows.end.clamp(first, first + 64) - first;
        if from < to {
            let below = |bit: u32| if bit == 64 { u64::MAX } else { (1 << bit) - 1 };
            *word |= below(to) & !below(from);
        }
    }
}

/// The slice of `sorted` that lies in a chunk.
pub(crate) fn rows_in_chunk(sorted: &[u32], chunk: u32) -> &[u32] {
    let from = sorted.partition_point(|row| row >> 16 < chunk);
    let to = sorted.partition_point(|row| row >> 16 <= chunk);
    &sorted[from..to]
}

/// Sets the bits of those sorted rows that lie in a chunk.
pub(crate) fn set_rows(bits: &mut ChunkBits, sorted: &[u32], chunk: u32) {
    for low in rows_in_chunk(sorted, chunk).iter().map(|row| row & 0xffff) {
        bits[low as usize / 64] |= 1 << (low % 64);
    }
}

/// Clears the bits of rows that all lie in the chunk.
pub(crate) fn clear_rows(bits: &mut ChunkBits, rows: &[u32]) {
    for low in rows.iter().map(|row| row & 0xffff) {
        bits[low as usize / 64] &= !(1 << (low % 64));
    }
}
