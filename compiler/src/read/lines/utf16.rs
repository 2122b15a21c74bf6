//! UTF-16: detection, and decoding to UTF-8 while it is read.

use std::char::{REPLACEMENT_CHARACTER, decode_utf16};
use std::io;
use std::io::{BufRead, BufReader, Read};

/// Bytes examined to detect UTF-16.
const PROBED_BYTES: usize = 4 << 10;
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The order of the two bytes of a UTF-16 unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    LittleEndian,
    BigEndian,
}

/// Detects UTF-16 by its byte order mark, or by NUL in at least every fourth byte.
pub(crate) fn detect(beginning: &[u8]) -> Option<ByteOrder> {
    let probed = &beginning[..beginning.len().min(PROBED_BYTES)];
    let nul_count = probed.iter().filter(|byte| **byte == 0).count();
    match probed {
        [0xff, 0xfe, ..] => Some(ByteOrder::LittleEndian),
        [0xfe, 0xff, ..] => Some(ByteOrder::BigEndian),
        _ if nul_count == 0 || nul_count * 4 < probed.len() => None,
        // The first byte of an ASCII character is NUL if the greater byte comes first.
        [0, ..] => Some(ByteOrder::BigEndian),
        _ => Some(ByteOrder::LittleEndian),
    }
}

/// Decodes to UTF-8, without the byte order mark. Half a surrogate pair or half a unit becomes U+FFFD.
pub(crate) fn decode<'r>(
    reader: impl BufRead + 'r,
    order: ByteOrder,
) -> BufReader<Box<dyn Read + 'r>> {
    let decoder = Decoder {
        reader,
        order,
        encoded: Vec::new(),
        decoded: String::new(),
        taken_bytes: 0,
        is_at_start: true,
    };
    BufReader::with_capacity(1 << 18, Box::new(decoder))
}

/// Reads UTF-16 and gives UTF-8.
struct Decoder<R> {
    reader: R,
    order: ByteOrder,
    /// The beginning of a character whose other bytes are not read yet.
    encoded: Vec<u8>,
    decoded: String,
    /// Bytes of `decoded` that the caller has.
    taken_bytes: usize,
    is_at_start: bool,
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken_bytes == self.decoded.len() && self.decode_step()? {}
        let bytes = (&self.decoded.as_bytes()[self.taken_bytes..]).read(buffer)?;
        self.taken_bytes += bytes;
        Ok(bytes)
    }
}

impl<R: BufRead> Decoder<R> {
    /// Decodes the bytes that `reader` holds next; returns false at the end.
    fn decode_step(&mut self) -> io::Result<bool> {
        let read = self.reader.fill_buf()?;
        let (read_bytes, is_end) = (read.len(), read.is_empty());
        self.encoded.extend_from_slice(read);
        self.reader.consume(read_bytes);
        let order = self.order;
        let unit = |bytes: [u8; 2]| match order {
            ByteOrder::LittleEndian => u16::from_le_bytes(bytes),
            ByteOrder::BigEndian => u16::from_be_bytes(bytes),
        };
        let (pairs, half) = self.encoded.as_chunks();
        let mut units: Vec<u16> = pairs.iter().copied().map(unit).collect();
        let mut rest_bytes = half.len();
        // The second half of a surrogate pair may follow in the next step.
        if !is_end && units.pop_if(|unit| matches!(*unit, 0xd800..0xdc00)).is_some() {
            rest_bytes += 2;
        }
        self.taken_bytes = 0;
        self.decoded.clear();
        let characters =
            decode_utf16(units).map(|decoded| decoded.unwrap_or(REPLACEMENT_CHARACTER));
        self.decoded.extend(characters);
        self.encoded.drain(..self.encoded.len() - rest_bytes);
        if is_end && !std::mem::take(&mut self.encoded).is_empty() {
            self.decoded.push(REPLACEMENT_CHARACTER);
        }
        let is_at_start = self.is_at_start;
        self.is_at_start &= self.decoded.is_empty();
        if is_at_start && self.decoded.starts_with(BYTE_ORDER_MARK) {
            self.taken_bytes = BYTE_ORDER_MARK.len_utf8();
        }
        Ok(!is_end)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const STEP_BYTES: usize = 7;

    fn decoded(units: &[u16], end: &[u8], order: ByteOrder) -> String {
        let bytes = |unit: &u16| match order {
            ByteOrder::LittleEndian => unit.to_le_bytes(),
            ByteOrder::BigEndian => unit.to_be_bytes(),
        };
        let encoded: Vec<u8> = units.iter().flat_map(bytes).chain(end.iter().copied()).collect();
        let mut text = String::new();
        let steps = BufReader::with_capacity(STEP_BYTES, encoded.as_slice());
        decode(steps, order).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_surrogate_pair_across_two_steps_is_one_character() {
        for before in 0..2 * STEP_BYTES {
            let text = format!("\u{feff}{}\u{1f600}é", "a".repeat(before));
            let units: Vec<u16> = text.encode_utf16().collect();
            for order in [ByteOrder::LittleEndian, ByteOrder::BigEndian] {
                assert_eq!(decoded(&units, &[], order), text[3..], "{before}, {order:?}");
            }
        }
    }

    #[test]
    fn half_a_pair_and_half_a_unit_become_replacement_characters() {
        let order = ByteOrder::LittleEndian;
        assert_eq!(decoded(&[0x61, 0xd83d, 0x62, 0xde00], &[], order), "a\u{fffd}b\u{fffd}");
        assert_eq!(decoded(&[0x61, 0xd83d], &[], order), "a\u{fffd}");
        assert_eq!(decoded(&[0x61], &[0x62], order), "a\u{fffd}");
        assert_eq!(decoded(&[], &[], order), "");
    }
}
