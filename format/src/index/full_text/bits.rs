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
        while bits >= 8 {
            out.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(held as u8);
    }
}

/// Reads `count` numbers of a width of at most 32 bits. Numbers beyond the end of `bytes` are 0.
pub(super) fn unpack(bytes: &[u8], count: usize, width: u32, out: &mut Vec<u32>) {
    let mask = (1u64 << width) - 1;
    out.reserve(count);
    let mut bit = 0;
    for _ in 0..count {
        let from = bit / 8;
        let word = match bytes.get(from..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                let rest = bytes.get(from..).unwrap_or_default();
                rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
            }
        };
        out.push((word >> (bit % 8) & mask) as u32);
        bit += width as usize;
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
            let (mut bytes, mut found) = (vec![7], Vec::new());
            pack(&numbers, width, &mut bytes);
            assert_eq!(bytes.len(), 1 + packed_bytes(numbers.len(), width));
            unpack(&bytes[1..], numbers.len(), width, &mut found);
            assert_eq!(found, numbers, "{width}");
        }
    }
}
