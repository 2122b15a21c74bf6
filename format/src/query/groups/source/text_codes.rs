//! Numbers of texts.

use std::collections::HashMap;

use crate::index::term_lists::{Term, text_term};

/// Bytes that a text takes beside itself.
const BESIDE_TEXT_BYTES: usize = 96;

/// Texts as codes: each new text gets the next number.
#[derive(Default)]
pub(super) struct TextCodes {
    /// The numbers by the form that is compared, as terms: two texts of different forms have different terms.
    numbers: HashMap<Term, u64>,
    /// The first spelling of each text.
    texts: Vec<String>,
    bytes: usize,
}

impl TextCodes {
    /// The code of a text, by the form in which texts are compared; `None` if the texts take more than `bytes_max` bytes.
    pub fn code(
        &mut self,
        normal: &str,
        text: impl FnOnce() -> String,
        bytes_max: usize,
    ) -> Option<u64> {
        let next = self.texts.len() as u64;
        let code = *self.numbers.entry(text_term(normal)).or_insert(next);
        if code == next {
            let text = text();
            self.bytes += text.len() + BESIDE_TEXT_BYTES;
            self.texts.push(text);
        }
        (self.bytes <= bytes_max).then_some(code)
    }

    /// The first spelling of the text with a code.
    pub fn text(&self, code: u64) -> Option<&str> {
        self.texts.get(code as usize).map(String::as_str)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbered_by_their_form_until_they_take_too_much_memory() {
        let mut codes = TextCodes::default();
        let mut code = |normal: &str, text: &str| codes.code(normal, || text.to_owned(), 250);
        assert_eq!(code("a", "A"), Some(0));
        assert_eq!(code("b", "b"), Some(1));
        assert_eq!(code("a", "a"), Some(0));
        assert_eq!(code("c", "c"), None);
        assert_eq!((codes.text(0), codes.text(1)), (Some("A"), Some("b")));
    }
}
