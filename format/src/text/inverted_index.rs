//! An inverted index of one text, as OpenAlex prints abstracts: word → positions.
//!
//! ```text
//! "to be or not to be"  →  {"to":[0,4],"be":[1,5],"or":[2],"not":[3]}
//! ```

use hashbrown::HashMap;

use crate::text::json;

/// About the bytes of a word with the space behind it.
const BYTES_PER_WORD: usize = 6;
/// The position after the last.
const NONE: u32 = u32::MAX;

/// A word with its first and its last position.
struct Word<'t> {
    text: &'t [u8],
    first: u32,
    last: u32,
}

/// Appends the words of a text, each with its positions, in the order of their first. The text is escaped as in JSON, and so
/// are its words.
pub fn write(escaped: &[u8], out: &mut Vec<u8>) {
    let expected = escaped.len() / BYTES_PER_WORD;
    let mut words: Vec<Word<'_>> = Vec::with_capacity(expected);
    let mut numbers: HashMap<&[u8], u32> = HashMap::with_capacity(expected);
    // For each position, the next of the same word.
    let mut next: Vec<u32> = Vec::with_capacity(expected);
    // No escape of JSON has a space. Long texts of records have less than 2^32 bytes.
    for (at, text) in (0..).zip(escaped.split(|byte| *byte == b' ')) {
        let number = *numbers.entry(text).or_insert(words.len() as u32);
        match words.get_mut(number as usize) {
            Some(word) => next[std::mem::replace(&mut word.last, at) as usize] = at,
            None => words.push(Word { text, first: at, last: at }),
        }
        next.push(NONE);
    }
    out.push(b'{');
    for (number, word) in words.iter().enumerate() {
        out.extend_from_slice(if number > 0 { b",\"" } else { b"\"" });
        out.extend_from_slice(word.text);
        out.extend_from_slice(b"\":[");
        let mut position = word.first;
        loop {
            json::unsigned(out, position.into());
            position = next[position as usize];
            if position == NONE {
                break;
            }
            out.push(b',');
        }
        out.push(b']');
    }
    out.push(b'}');
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_positions_in_the_order_of_the_first() {
        let check = |text: &str, expected: &str| {
            let mut out = Vec::new();
            let escaped = serde_json::to_string(text).unwrap();
            write(&escaped.as_bytes()[1..escaped.len() - 1], &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
        };
        check("to be or not to be", r#"{"to":[0,4],"be":[1,5],"or":[2],"not":[3]}"#);
        check("a  \"b\" a", r#"{"a":[0,3],"":[1],"\"b\"":[2]}"#);
        check("a\n \\ \u{1}", r#"{"a\n":[0],"\\":[1],"\u0001":[2]}"#);
        check("", r#"{"":[0]}"#);
    }
}
