//! LEB128 numbers: seven bits in a byte, the lowest first; the top bit is set if more follow.

/// The most bytes of a number.
pub const BYTES_MAX: usize = 9;

/// Appends a number below 2^63.
pub fn push(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front of `bytes`; `None` if it is cut or too long.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    // Most numbers have one byte.
    if let [byte @ ..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return Some(u64::from(*byte));
    }
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(BYTES_MAX) {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_taken_as_it_was_pushed() {
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 1 << 35, (1 << 63) - 1] {
            let mut bytes = Vec::new();
            push(number, &mut bytes);
            assert!(bytes.len() <= BYTES_MAX);
            let cut = &bytes[..bytes.len() - 1];
            assert_eq!(take(&mut &*cut), None, "{number}");
            bytes.push(7);
            let mut rest = &*bytes;
            assert_eq!((take(&mut rest), rest), (Some(number), &[7][..]));
        }
        assert_eq!(take(&mut &[0xff; 10][..]), None);
    }
}
