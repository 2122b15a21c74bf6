//! Constants that the writer and the readers of a full-text index share.

/// Postings of a block.
pub const BLOCK_POSTINGS: usize = 128;
/// Size of a block's entry in a posting list: last row, offset of the block, offset of its positions, greatest impact.
pub(super) const ENTRY_BYTES: usize = 4 + 5 + 5 + 1;
/// A list of at most this many bytes, positions included, is stored in the dictionary.
pub(super) const INLINE_BYTES_MAX: usize = 96;
/// Size at which the writer closes a block of the dictionary, in bytes.
pub(super) const TEXTS_BLOCK_BYTES: usize = 2_048;
/// Positions between two values of a field, such as two authors. A phrase does not reach across.
pub const VALUE_GAP: u32 = 16;
/// The greatest position in a field. Words after it count, but have no position of their own.
pub const POSITION_MAX: u32 = (1 << 20) - 1;
/// The most forms of a term that are kept apart. Later forms count as the last one.
pub const FORMS_MAX: usize = 1 << 10;
/// The term at the end of each title. The term sorts before all words.
pub const TITLE_END: &str = " ";
/// The most words of a title that the title words of a row tell.
pub(super) const TITLE_WORDS_MAX: u8 = HAS_TITLES - 1;
/// The bit of the title words of a row that has more titles than the shortest.
pub(super) const HAS_TITLES: u8 = 1 << 7;
