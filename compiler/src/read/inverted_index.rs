//! Abstracts: dumps hold them as inverted indexes from word to positions.

use std::{borrow::Cow, fmt};

use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

use crate::read::index_text::{join_plain, join_words};
use crate::read::json::{Keys, MANY};
use crate::read::lenient::{Diagnostics, Lenient, MaybeNumber, MemberName};

/// The text of an abstract, joined from its inverted index.
///
/// Dumps use three encodings: `{word: [position…]}`, the same object in `InvertedIndex` beside an
/// `IndexLength`, and either object as a JSON string. Example:
///
/// ```text
/// {"show":[1],"we":[0,7],"can":[9]}    we show we can
/// ```
///
/// Joining costs O(n) for n words, and O(n log n) if words share a position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Abstract(pub Option<String>);

/// Words for which an index takes memory from the start.
const WORDS_EXPECTED: usize = 128;

/// The words of an index, each once, and the positions with the number of the word.
struct Words<'a> {
    words: Keys<'a, MANY>,
    positions: Vec<(u64, u32)>,
}

impl Words<'_> {
    fn join(self, diagnostics: &Diagnostics) -> Option<String> {
        join_words(self.words.as_slice(), self.positions, diagnostics)
    }
}

struct WordsVisitor<'d> {
    diagnostics: &'d Diagnostics,
}

impl<'de> Visitor<'de> for WordsVisitor<'_> {
    type Value = Words<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an inverted index")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Words<'de>, A::Error> {
        let diagnostics = self.diagnostics;
        let mut outer = Words {
            words: Keys::with_capacity(WORDS_EXPECTED),
            positions: Vec::with_capacity(WORDS_EXPECTED),
        };
        let mut inner = None;
        while let Some(MemberName(word)) = map.next_key::<MemberName<'de>>()? {
            let is_wrapper = word == "InvertedIndex";
            // The cast is exact: a line has fewer than 2^32 bytes, so fewer keys.
            let number = outer.words.as_slice().len() as u32;
            diagnostics.hold(size_of::<Cow<'_, str>>())?;
            outer.words.insert(word)?;
            let positions = &mut outer.positions;
            match map.next_value_seed(IndexValue { diagnostics, number, positions })? {
                Some(index) if is_wrapper => inner = Some(index),
                Some(_) => diagnostics.warn("not_positions"),
                None => {}
            }
        }
        Ok(inner.map_or(outer, |index| *index))
    }
}

/// Reads the value of one key: adds the positions of a word, or returns the index in a wrapper.
struct IndexValue<'d, 'p> {
    diagnostics: &'d Diagnostics,
    /// The number of the word.
    number: u32,
    positions: &'p mut Vec<(u64, u32)>,
}

impl<'de> DeserializeSeed<'de> for IndexValue<'_, '_> {
    type Value = Option<Box<Words<'de>>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for IndexValue<'_, '_> {
    type Value = Option<Box<Words<'de>>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("positions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while let Some(position) = seq.next_element_seed(self.diagnostics.seed::<MaybeNumber>())? {
            self.diagnostics.hold(size_of::<(u64, u32)>())?;
            let position = position.count(self.diagnostics);
            self.positions.extend(position.map(|at| (at, self.number)));
        }
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let words = WordsVisitor { diagnostics: self.diagnostics };
        words.visit_map(map).map(|words| Some(Box::new(words)))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Joins the words of an index that is a JSON text.
fn join_text(text: &str, diagnostics: &Diagnostics) -> serde_json::Result<Option<String>> {
    let mut json = serde_json::Deserializer::from_str(text);
    let words = json.deserialize_map(WordsVisitor { diagnostics })?;
    json.end()?;
    Ok(words.join(diagnostics))
}

impl<'de> Lenient<'de> for Abstract {
    fn other(diagnostics: &Diagnostics) -> Abstract {
        diagnostics.warn("not_an_abstract");
        Abstract(None)
    }

    fn of_object<A: MapAccess<'de>>(
        object: A,
        diagnostics: &Diagnostics,
    ) -> Result<Self, A::Error> {
        let words = WordsVisitor { diagnostics }.visit_map(object)?;
        Ok(Abstract(words.join(diagnostics)))
    }

    fn of_text(text: &str, diagnostics: &Diagnostics) -> Abstract {
        if let Some(joined) = join_plain(text, diagnostics) {
            return Abstract(joined);
        }
        let joined = join_text(text, diagnostics).or_else(|error| {
            // OpenAlex cuts long indexes in Parquet files after the positions of a word.
            if !(error.is_eof() && text.ends_with(']')) {
                return Err(error);
            }
            let joined = join_text(&format!("{text}}}"), diagnostics)?;
            diagnostics.warn("abstract_cut");
            Ok(joined)
        });
        joined.map_or_else(|_| Abstract::other(diagnostics), Abstract)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::read::limits::{LINE_BYTES_MAX, ReadLimits};

    #[test]
    fn an_abstract_is_read_from_its_three_encodings() {
        let diagnostics = Diagnostics::default();
        let read = |json: &str| {
            let mut json = serde_json::Deserializer::from_str(json);
            Abstract::read(&mut json, &diagnostics).unwrap().0
        };
        let expected = Some("we show we can".to_string());
        assert_eq!(read(r#"{"show":[1],"we":[0,7],"can":[9]}"#), expected);
        let wrapped = r#"{"IndexLength":4,"InvertedIndex":{"show":[1],"we":[0,2],"can":[3]}}"#;
        assert_eq!(read(wrapped), expected);
        assert_eq!(read(&serde_json::to_string(wrapped).unwrap()), expected);
        let cut = r#"{"show":[1],"we":[0,2],"can":[3]"#;
        assert_eq!(read(&serde_json::to_string(cut).unwrap()), expected);
        assert_eq!(read("\"no index\""), None);
        assert_eq!(read("{}"), None);
        assert_eq!(diagnostics.counts(), [("abstract_cut", 1), ("not_an_abstract", 1)].into());
    }

    #[test]
    fn words_are_joined_by_position_with_gaps_and_shared_positions() {
        let diagnostics = Diagnostics::default();
        for (json, expected) in [
            (r#"{"c":[2],"a":[0],"b":[1]}"#, "a b c"),
            (r#"{"c":[3],"a":[0],"b":[1]}"#, "a b c"),
            (r#"{"c":[9007199254740991],"a":[7]}"#, "a c"),
            (r#"{"c":[0],"a":[1,0],"b":[1]}"#, "a c a b"),
            (r#"{"c":[0,0],"":[1]}"#, "c c"),
        ] {
            let mut json_reader = serde_json::Deserializer::from_str(json);
            let text = Abstract::read(&mut json_reader, &diagnostics).unwrap().0;
            assert_eq!(text.as_deref(), Some(expected), "{json}");
        }
    }

    #[test]
    fn an_abstract_longer_than_the_longest_line_is_null_and_a_warning() {
        let read = |word: &str, positions: usize| {
            let positions = vec!["0"; positions].join(",");
            let json = format!("{{\"\\u0061{word}\":[{positions}]}}");
            let diagnostics = Diagnostics::new(&ReadLimits::default());
            let mut json = serde_json::Deserializer::from_str(&json);
            let text = Abstract::read(&mut json, &diagnostics).unwrap().0;
            (text.map(|text| text.len()), diagnostics.counts())
        };
        let word = "x".repeat((1 << 20) - 2);
        assert_eq!(read(&word, 16), (Some(LINE_BYTES_MAX - 1), [].into()));
        for positions in [17, 1 << 20] {
            assert_eq!(read(&word, positions), (None, [("text_too_long", 1)].into()));
        }
    }
}
