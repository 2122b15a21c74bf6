//! Constants that the writer and the reader of a dictionary share.

/// The most rows of a text that its block holds inline. A text with more rows has postings.
pub const BLOCK_ROWS_MAX: usize = 256;
/// Size at which the writer closes a block, in bytes.
pub(super) const BLOCK_BYTES: usize = 1_024;
/// Size of a mark, in bits.
pub(super) const MARK_BITS: u32 = 2;
