//! Numbers of a fixed width, one after another, the lowest bit first.
//!
//! ```text
//! width 3, numbers 1, 2, 7  →  bits 001 010 111  →  bytes 0b11010001 0b00000001
//! ```

/// The bits that a number takes.
pub(super) fn width_of(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}

/// The bytes that `count` numbers of a width take.
pub(super) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends numbers of at most `width` bits.
pub(super) fn pack(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    let (mut held, mut bits) = (0u64, 0);
    for number in numbers {
        held |= u64::from(*number) << bits;
        bits += width;
        if bits >= 32 {
            out.extend_from_slice(&(held as u32).to_le_bytes());
            held >>= 32;
            bits -= 32;
        }
    }
    out.extend_from_slice(&held.to_le_bytes()[..packed_bytes(1, bits)]);
}

/// Reads the number at a place, of a width of at most 32 bits. Numbers beyond the end of `bytes` are 0.
#[inline]
pub(super) fn unpack_one(bytes: &[u8], at: usize, width: u32) -> u32 {
    let bit = at * width as usize;
    let mask = (1u64 << width) - 1;
    (word_at(bytes, bit / 8) >> (bit % 8) & mask) as u32
}

/// Whether the bit at a place is set. Bits beyond the end of `bytes` are not.
#[inline]
pub(super) fn is_set(bytes: &[u8], at: usize) -> bool {
    bytes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
}

/// The number of set bits.
pub(super) fn count_ones(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let of_words = words.iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum::<u32>();
    (of_words + word_at(rest, 0).count_ones()) as usize
}

/// The place after the n-th set bit of `bytes`, counting from 0.
///
/// ```text
/// bits 0 1 1 0 0 1   n 0 → 2   n 2 → 6
/// ```
pub(super) fn bit_after(bytes: &[u8], n: usize) -> Option<usize> {
    let mut ones = Ones::default();
    ones.pass(bytes, n + 1)?;
    Some(ones.after)
}

/// A walk over the set bits of some bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Ones {
    /// The bits of the current word that are not passed.
    word: u64,
    /// The words that were read.
    words: usize,
    /// The place after the last bit that was passed; 0 before the first.
    pub after: usize,
}

/// Set bits to pass from which on the bits of a word are counted first.
const COUNTED_FROM: usize = 8;

impl Ones {
    /// Passes the next `n` set bits; `None` if there are fewer.
    #[inline]
    pub fn pass(&mut self, bytes: &[u8], mut n: usize) -> Option<()> {
        while n > 0 {
            if n >= COUNTED_FROM {
                let ones = self.word.count_ones() as usize;
                // At least one bit is left to pass.
                if ones < n {
                    (n, self.word) = (n - ones, 0);
                }
            }
            while self.word == 0 {
                if self.words * 8 >= bytes.len() {
                    return None;
                }
                self.word = word_at(bytes, self.words * 8);
                self.words += 1;
            }
            n -= 1;
            if n == 0 {
                self.after = (self.words - 1) * 64 + self.word.trailing_zeros() as usize + 1;
            }
            self.word &= self.word - 1;
        }
        Some(())
    }
}

/// Eight bytes from a place on, with zeros beyond the end.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(word) => u64::from_le_bytes(*word),
        None => last_word(bytes, at),
    }
}

/// The same of a place less than eight bytes before the end.
#[inline]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    match bytes.last_chunk::<8>() {
        Some(word) => {
            let passed = (at + 8 - bytes.len()) * 8;
            u64::from_le_bytes(*word).checked_shr(passed as u32).unwrap_or(0)
        }
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unpacked_as_they_were_packed() {
        for width in 0..=32 {
            let mask = ((1u64 << width) - 1) as u32;
            let numbers: Vec<u32> =
                (0..77u32).map(|at| at.wrapping_mul(2_654_435_761) & mask).collect();
            let mut bytes = vec![7];
            pack(&numbers, width, &mut bytes);
            assert_eq!(bytes.len(), 1 + packed_bytes(numbers.len(), width));
            let found = (0..numbers.len()).map(|at| unpack_one(&bytes[1..], at, width));
            assert!(found.eq(numbers.iter().copied()), "{width}");
        }
    }

    #[test]
    fn set_bits_are_passed_from_any_place() {
        let bits: Vec<u32> = (0..300u32).map(|at| u32::from(at * at % 7 == 2)).collect();
        let mut bytes = Vec::new();
        pack(&bits, 1, &mut bytes);
        let places: Vec<usize> = (0..bits.len()).filter(|at| bits[*at] == 1).collect();
        assert_eq!(count_ones(&bytes), places.len());
        for first in 0..places.len() {
            assert_eq!(bit_after(&bytes, first), Some(places[first] + 1), "{first}");
            for n in 1..90 {
                let mut ones = Ones::default();
                ones.pass(&bytes, first).unwrap();
                let passed = ones.pass(&bytes, n).map(|()| ones.after);
                assert_eq!(passed, places.get(first + n - 1).map(|at| at + 1), "{first} {n}");
            }
        }
    }
}
