//! Writes JSON strings and numbers, byte for byte as `serde_json` does.

use std::convert::Infallible;

/// The number of bytes that one vector instruction examines.
const BLOCK_BYTES: usize = 16;

/// The number of bytes that [`is_word_plain`] examines.
const WORD_BYTES: usize = 8;

/// Whether a byte needs no escape.
fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

/// Whether none of eight bytes needs an escape.
///
/// `x - 1 & !x` has the top bit of a byte set if the byte is zero, and `x - 0x20 & !x` if it is below 0x20.
/// A borrow from a lower byte may set further top bits, but only above a byte that needs an escape.
fn is_word_plain(word: [u8; WORD_BYTES]) -> bool {
    const EVERY: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(word);
    let zero_in = |word: u64| word.wrapping_sub(EVERY) & !word;
    let control = word.wrapping_sub(EVERY * 0x20) & !word;
    let quote = zero_in(word ^ (EVERY * u64::from(b'"')));
    let backslash = zero_in(word ^ (EVERY * u64::from(b'\\')));
    (control | quote | backslash) & (EVERY * 0x80) == 0
}

/// Appends `text` as a JSON string.
pub fn string(out: &mut Vec<u8>, text: &str) {
    string_of_bytes(out, text.as_bytes());
}

/// Appends `text` as a JSON string, or null.
pub fn string_or_null(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => string(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

/// As [`string`], for bytes that were UTF-8 when the snapshot was written. Other bytes stay as they are.
#[inline]
pub fn string_of_bytes(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    if is_all_plain(text) {
        out.extend_from_slice(text);
    } else {
        escaped(out, text);
    }
    out.push(b'"');
}

/// Appends a text that needs escapes.
#[cold]
fn escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    loop {
        let plain = plain_bytes(rest);
        out.extend_from_slice(&rest[..plain]);
        let Some(byte) = rest.get(plain) else { break };
        escape(out, *byte);
        rest = &rest[plain + 1..];
    }
}

/// Whether a text needs no escape. Most texts of a record are shorter than 32 bytes.
fn is_all_plain(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk() else { return text.iter().all(|byte| is_plain(*byte)) };
    if text.len() >= 2 * BLOCK_BYTES {
        return plain_bytes(text) == text.len();
    }
    // The last word overlaps the one before it.
    text.as_chunks().0.iter().all(|word| is_word_plain(*word)) && is_word_plain(*last)
}

/// The number of bytes before the first that needs an escape.
fn plain_bytes(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks_exact(BLOCK_BYTES);
    // The fold has no early exit: an exit would prevent vectorisation.
    let is_block_plain = |block: &&[u8]| block.iter().fold(true, |all, byte| all & is_plain(*byte));
    let from = blocks.take_while(is_block_plain).count() * BLOCK_BYTES;
    from + bytes[from..].iter().take_while(|byte| is_plain(**byte)).count()
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x0a => out.extend_from_slice(b"\\n"),
        0x0c => out.extend_from_slice(b"\\f"),
        0x0d => out.extend_from_slice(b"\\r"),
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        }
    }
}

/// Appends an unsigned integer.
pub fn unsigned(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a signed integer.
pub fn signed(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a number in its shortest form that parses back to the same value; an integral value has
/// no `.0`.
///
/// A value that is not finite becomes `null`; the compiler stores no such value.
pub fn number(out: &mut Vec<u8>, value: f64) {
    /// The largest value below which every integer is a float: 2^53.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if !value.is_finite() {
        out.extend_from_slice(b"null");
    } else if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
        // The cast is exact: the value is integral and within 2^53.
        signed(out, value as i64);
    } else {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    }
}

/// Appends a list of what `write` appends of each element.
pub fn list<T>(
    out: &mut Vec<u8>,
    elements: impl IntoIterator<Item = T>,
    mut write: impl FnMut(T, &mut Vec<u8>),
) {
    let Ok(()) = try_list(out, elements, |element, out| {
        write(element, out);
        Ok::<(), Infallible>(())
    });
}

/// As [`list`], for elements that may fail.
///
/// # Errors
///
/// The first error of `write`.
pub fn try_list<T, E>(
    out: &mut Vec<u8>,
    elements: impl IntoIterator<Item = T>,
    mut write: impl FnMut(T, &mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    out.push(b'[');
    for (at, element) in elements.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(element, out)?;
    }
    out.push(b']');
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn strings_equal_those_of_serde_json() {
        let every_ascii: String = (0..128u8).map(char::from).collect();
        for text in ["", "plain", "\"\\/", "é 東京 \u{7f}\u{2028}", &every_ascii] {
            let mut out = Vec::new();
            string(&mut out, text);
            assert_eq!(out, serde_json::to_vec(text).unwrap());
        }
        // Escapes at every position relative to the blocks.
        for escaped in ["\"", "\\", "\n", "\u{0}\u{1f}", "\"\u{1f}\u{7f}é\\"] {
            for before in 0..3 * BLOCK_BYTES {
                for after in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, 2 * BLOCK_BYTES + 1] {
                    let text = format!("{}{escaped}{}", "a".repeat(before), "b".repeat(after));
                    let mut out = Vec::new();
                    string(&mut out, &text);
                    assert_eq!(out, serde_json::to_vec(&text).unwrap(), "{text}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_shortest_and_integral_values_have_no_point() {
        let check = |value: f64, expected: &str| {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check(0.0, "0");
        check(-0.0, "0");
        check(12.0, "12");
        check(-3.0, "-3");
        check(0.1, "0.1");
        check(2.33809456465375, "2.33809456465375");
        check(f64::NAN, "null");
        for value in [4.92e-5, 1e300, 1.5e-300, 9_007_199_254_740_994.0, f64::MIN_POSITIVE] {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap().parse::<f64>().unwrap(), value);
        }
    }
}
