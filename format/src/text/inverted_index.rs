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
const NONE: usize = usize::MAX;

/// A word with its first and its last position.
struct Word<'t> {
    text: &'t str,
    first: usize,
    last: usize,
}

/// Appends the words of a text, each with its positions, in the order of their first.
pub fn write(text: &str, out: &mut Vec<u8>) {
    let expected = text.len() / BYTES_PER_WORD;
    let mut words: Vec<Word<'_>> = Vec::with_capacity(expected);
    let mut numbers: HashMap<&str, usize> = HashMap::with_capacity(expected);
    // For each position, the next of the same word.
    let mut next = Vec::with_capacity(expected);
    for (at, word) in text.split(' ').enumerate() {
        let number = *numbers.entry(word).or_insert(words.len());
        match words.get_mut(number) {
            Some(word) => next[std::mem::replace(&mut word.last, at)] = at,
            None => words.push(Word { text: word, first: at, last: at }),
        }
        next.push(NONE);
    }
    out.push(b'{');
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        json::string(out, word.text);
        out.extend_from_slice(b":[");
        let mut position = word.first;
        loop {
            json::unsigned(out, position as u64);
            position = next[position];
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
mod tests {
    use super::*;

    #[test]
    fn words_have_their_positions_in_the_order_of_the_first() {
        let check = |text: &str, expected: &str| {
            let mut out = Vec::new();
            write(text, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
        };
        check("to be or not to be", r#"{"to":[0,4],"be":[1,5],"or":[2],"not":[3]}"#);
        check("a  \"b\" a", r#"{"a":[0,3],"":[1],"\"b\"":[2]}"#);
        check("", r#"{"":[0]}"#);
    }
}
