//! Bitmaps of rows: one chunk of 65,536 rows, or all rows of an entity.
//!
//! ```text
//! row 65,541 = chunk 1, low 5:  chunks[1][0] = …0010_0000
//! ```
//!
//! A [`ChunkBits`] takes 8 KiB and fits the stack. A [`Bitset`] takes 8 KiB per started chunk: 60 MB
//! for 480 million rows.

/// Rows of a chunk. Row numbers split into a chunk (upper 16 bits) and a low (lower 16 bits).
pub const CHUNK_ROWS: usize = 1 << 16;

const WORD_BITS: usize = 64;

/// One bit for each row of a chunk.
pub type ChunkBits = [u64; CHUNK_ROWS / WORD_BITS];

/// A chunk without a row.
pub const EMPTY_CHUNK: ChunkBits = [0; CHUNK_ROWS / WORD_BITS];

/// Counts the set bits.
pub fn count_bits(words: &[u64]) -> u64 {
    count_set_bits(words.len(), |at| words[at])
}

/// Words that [`count_set_bits`] adds side by side: vector instructions for baseline processors hold two.
const LANES: usize = 4;
type Lanes = [u64; LANES];

/// Counts the set bits of the words from 0 to `words`.
///
/// Adds eight words bit by bit, as full adders do, and counts the bits of the sums only: a third of the
/// operations of counting each word, where the processor's own instruction must not be assumed.
///
/// ```text
/// bits 1, 1, 0 of three words    sum 0, carry 1: one bit of weight two
/// ```
#[inline]
pub fn count_set_bits(words: usize, word: impl Fn(usize) -> u64) -> u64 {
    let ones = |word: u64| u64::from(word.count_ones());
    let ones_of = |lanes: Lanes| lanes.iter().map(|word| ones(*word)).sum::<u64>();
    let (mut one, mut two, mut four, mut eights) = ([0; LANES], [0; LANES], [0; LANES], 0);
    let blocks = words / (8 * LANES);
    for block in 0..blocks {
        let next = |at: usize| -> Lanes {
            let from = (block * 8 + at) * LANES;
            std::array::from_fn(|lane| word(from + lane))
        };
        let (sum, twos_a) = add(one, next(0), next(1));
        let (sum, twos_b) = add(sum, next(2), next(3));
        let (twos, fours_a) = add(two, twos_a, twos_b);
        let (sum, twos_a) = add(sum, next(4), next(5));
        let (sum, twos_b) = add(sum, next(6), next(7));
        let (twos, fours_b) = add(twos, twos_a, twos_b);
        let (fours, carry) = add(four, fours_a, fours_b);
        (one, two, four) = (sum, twos, fours);
        eights += ones_of(carry);
    }
    let rest: u64 = (blocks * 8 * LANES..words).map(|at| ones(word(at))).sum();
    8 * eights + 4 * ones_of(four) + 2 * ones_of(two) + ones_of(one) + rest
}

/// The sums and the carries of three bits, for each bit of the lanes.
#[inline]
fn add(a: Lanes, b: Lanes, c: Lanes) -> (Lanes, Lanes) {
    let half: Lanes = std::array::from_fn(|lane| a[lane] ^ b[lane]);
    let sum = std::array::from_fn(|lane| half[lane] ^ c[lane]);
    (sum, std::array::from_fn(|lane| a[lane] & b[lane] | half[lane] & c[lane]))
}

/// Calls `visit` with each set bit, ascending, until `visit` returns false.
pub fn each_bit(bits: &ChunkBits, mut visit: impl FnMut(u16) -> bool) {
    for (at, word) in bits.iter().enumerate() {
        for low in word_bits(at, *word) {
            // A chunk has 65,536 bits.
            if !visit(low as u16) {
                return;
            }
        }
    }
}

/// Lists the set bits of the word at index `at`, as bit numbers of the whole bitmap.
#[inline]
pub fn word_bits(at: usize, mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        // Row numbers are u32, and so are their bit numbers.
        Some((at * WORD_BITS) as u32 + bit)
    })
}

/// Tells whether a bit is set; bits beyond the words are not.
#[inline]
pub fn has_bit(words: &[u64], bit: u32) -> bool {
    words.get(bit as usize / WORD_BITS).is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

/// Sets the bits of `bits` that are set in `other`.
pub fn union(bits: &mut [u64], other: &[u64]) {
    bits.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

/// Clears the bits of `bits` that are not set in `other`.
pub fn intersect(bits: &mut [u64], other: &[u64]) {
    bits.iter_mut().zip(other).for_each(|(word, other)| *word &= other);
}

/// One bit for each row of an entity, in whole chunks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitset {
    chunks: Vec<ChunkBits>,
}

impl Bitset {
    /// Creates an empty set with space for rows below `rows`.
    pub fn new(rows: u32) -> Bitset {
        Bitset::with_chunks(rows.div_ceil(CHUNK_ROWS as u32))
    }

    /// Creates an empty set with space for the rows of `chunks` chunks.
    pub fn with_chunks(chunks: u32) -> Bitset {
        Bitset { chunks: vec![EMPTY_CHUNK; chunks as usize] }
    }

    fn word(&mut self, row: u32) -> Option<&mut u64> {
        self.chunks.as_flattened_mut().get_mut(row as usize / WORD_BITS)
    }

    /// Adds a row and tells whether the set changed. Ignores a row beyond the last chunk.
    #[inline]
    pub fn insert(&mut self, row: u32) -> bool {
        let Some(word) = self.word(row) else { return false };
        let is_new = *word >> (row % 64) & 1 == 0;
        *word |= 1 << (row % 64);
        is_new
    }

    /// Removes a row.
    pub fn remove(&mut self, row: u32) {
        if let Some(word) = self.word(row) {
            *word &= !(1 << (row % 64));
        }
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.chunks.fill(EMPTY_CHUNK);
    }

    /// Tells whether the set holds a row.
    #[inline]
    pub fn contains(&self, row: u32) -> bool {
        has_bit(self.words(), row)
    }

    /// Counts the rows. Cost: all words.
    pub fn count(&self) -> u64 {
        count_bits(self.words())
    }

    /// Counts the rows below `row`. Cost: the words up to `row`.
    pub fn count_below(&self, row: u32) -> u64 {
        let at = row as usize / WORD_BITS;
        let words = self.words();
        let last = words.get(at).map_or(0, |word| word & ((1 << (row % 64)) - 1));
        count_bits(&words[..at.min(words.len())]) + u64::from(last.count_ones())
    }

    /// The rows, ascending.
    pub fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.words().iter().enumerate().flat_map(|(at, word)| word_bits(at, *word))
    }

    /// The bits of all chunks, 64 to a word.
    pub fn words(&self) -> &[u64] {
        self.chunks.as_flattened()
    }

    /// The chunks, in order.
    pub fn chunks(&self) -> &[ChunkBits] {
        &self.chunks
    }

    /// The chunks, in order, to be changed.
    pub fn chunks_mut(&mut self) -> &mut [ChunkBits] {
        &mut self.chunks
    }

    /// Sets the bits of `bits` whose rows the set holds in a chunk. A chunk beyond the last is empty.
    pub fn add_to(&self, chunk: u32, bits: &mut ChunkBits) {
        if let Some(own) = self.chunks.get(chunk as usize) {
            union(bits, own);
        }
    }

    /// Adds all rows of a set with as many chunks.
    pub fn union_with(&mut self, other: &Bitset) {
        union(self.chunks.as_flattened_mut(), other.words());
    }

    /// Removes the rows that a set with as many chunks does not hold.
    pub fn intersect_with(&mut self, other: &Bitset) {
        intersect(self.chunks.as_flattened_mut(), other.words());
    }

    /// Tells whether a set with as many chunks holds every row of this one.
    pub fn is_subset(&self, other: &Bitset) -> bool {
        self.words().iter().zip(other.words()).all(|(own, other)| own & !other == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [u32; 8] = [0, 1, 63, 64, 65_535, 65_536, 131_000, 131_071];

    fn bitset(rows: &[u32]) -> Bitset {
        let mut set = Bitset::new(131_001);
        rows.iter().for_each(|row| assert!(set.insert(*row)));
        set
    }

    #[test]
    fn a_bitset_returns_the_rows_it_was_given() {
        let mut set = bitset(&ROWS);
        assert_eq!(set.rows().collect::<Vec<_>>(), ROWS);
        assert_eq!(set.count(), ROWS.len() as u64);
        for (below, row) in (0..).zip(ROWS) {
            assert_eq!(set.count_below(row), below, "below {row}");
        }
        assert_eq!(set.count_below(u32::MAX), ROWS.len() as u64);
        assert!(!set.insert(64) && !set.insert(131_072) && !set.contains(131_072));
        set.remove(64);
        assert!(!set.contains(64) && set.contains(63) && set.insert(64));
        set.clear();
        assert_eq!(set, Bitset::new(131_001));
    }

    #[test]
    fn bits_are_counted_in_any_number_of_words() {
        let mut word = 1u64;
        let words: Vec<u64> = std::iter::repeat_with(|| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if word >> 60 == 0 { u64::MAX } else { word & word >> 7 }
        })
        .take(200)
        .collect();
        for length in 0..words.len() {
            let expected: u64 =
                words[..length].iter().map(|word| u64::from(word.count_ones())).sum();
            assert_eq!(count_bits(&words[..length]), expected, "{length}");
        }
    }

    #[test]
    fn each_bit_stops_when_told() {
        let set = bitset(&ROWS);
        let mut lows = Vec::new();
        each_bit(&set.chunks()[1], |low| {
            lows.push(low);
            lows.len() < 2
        });
        assert_eq!(lows, [0, (131_000 - 65_536) as u16]);
    }

    #[test]
    fn unions_and_intersections_hold_the_rows_of_either_and_of_both() {
        let (low, high) = (bitset(&ROWS[..5]), bitset(&ROWS[3..]));
        let (mut either, mut both) = (low.clone(), low.clone());
        either.union_with(&high);
        both.intersect_with(&high);
        assert_eq!(either, bitset(&ROWS));
        assert_eq!(both, bitset(&ROWS[3..5]));
        assert!(both.is_subset(&low) && low.is_subset(&either) && !low.is_subset(&high));
        let mut bits = EMPTY_CHUNK;
        high.add_to(0, &mut bits);
        high.add_to(9, &mut bits);
        assert_eq!(bits, both.chunks()[0]);
    }
}
