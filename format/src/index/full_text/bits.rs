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

/// The place after the n-th set bit of `bytes` at or after the bit `from`, counting from 0.
///
/// ```text
/// bits 0 1 1 0 0 1   from 1, n 1 → 3   from 3, n 0 → 6
/// ```
pub(super) fn bit_after(bytes: &[u8], from: usize, mut n: usize) -> Option<usize> {
    let mut at = from / 8;
    let mut word = word_at(bytes, at) & (u64::MAX << (from % 8));
    loop {
        let ones = word.count_ones() as usize;
        if n < ones {
            for _ in 0..n {
                word &= word - 1;
            }
            return Some(at * 8 + word.trailing_zeros() as usize + 1);
        }
        n -= ones;
        at += 8;
        if at >= bytes.len() {
            return None;
        }
        word = word_at(bytes, at);
    }
}

/// Eight bytes from a place on, with zeros beyond the end.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
        }
    }
}

#[cfg(test)]
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
    fn set_bits_are_found_from_any_place() {
        let bits: Vec<u32> = (0..300u32).map(|at| u32::from(at * at % 7 == 2)).collect();
        let mut bytes = Vec::new();
        pack(&bits, 1, &mut bytes);
        for from in 0..bits.len() {
            let mut places = (from..bits.len()).filter(|at| bits[*at] == 1);
            for n in 0..90 {
                assert_eq!(
                    bit_after(&bytes, from, n),
                    places.next().map(|at| at + 1),
                    "{from} {n}"
                );
            }
        }
    }
}
