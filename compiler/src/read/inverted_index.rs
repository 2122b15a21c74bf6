//! Abstracts: dumps hold them as inverted indexes from word to positions.

use std::fmt;

use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::read::index_text::{join_plain, join_words};
use crate::read::lenient::{Diagnostics, Key, Lenient, MaybeNumber, drain};
use crate::read::strict::{Keys, MANY};

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

/// The value of one key of the index.
#[derive(Default)]
enum IndexValue<'a> {
    Positions(Vec<u64>),
    Index(Box<Words<'a>>),
    #[default]
    Other,
}

/// The words of an index, each once, and the positions with the number of the word.
#[derive(Default)]
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
        let mut outer = Words::default();
        let mut inner = None;
        while let Some(Key(word)) = map.next_key::<Key<'de>>()? {
            let is_wrapper = word == "InvertedIndex";
            // The cast is exact: a line has fewer than 2^32 bytes, so fewer keys.
            let number = outer.words.as_slice().len() as u32;
            outer.words.insert(word)?;
            match map.next_value_seed(self.diagnostics.seed())? {
                IndexValue::Positions(positions) => {
                    outer.positions.extend(positions.into_iter().map(|at| (at, number)));
                }
                IndexValue::Index(index) if is_wrapper => inner = Some(index),
                IndexValue::Index(_) => self.diagnostics.warn("not_positions"),
                IndexValue::Other => {}
            }
        }
        Ok(inner.map_or(outer, |index| *index))
    }
}

impl<'de> Lenient<'de> for IndexValue<'de> {
    fn read<D: Deserializer<'de>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        struct IndexValueVisitor<'d> {
            diagnostics: &'d Diagnostics,
        }

        impl<'de> Visitor<'de> for IndexValueVisitor<'_> {
            type Value = IndexValue<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("positions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut positions = Vec::with_capacity(2);
                while let Some(position) =
                    seq.next_element_seed(self.diagnostics.seed::<MaybeNumber>())?
                {
                    positions.extend(position.count(self.diagnostics));
                }
                Ok(IndexValue::Positions(positions))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let words = WordsVisitor { diagnostics: self.diagnostics };
                words.visit_map(map).map(|words| IndexValue::Index(Box::new(words)))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(IndexValue::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(IndexValue::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(IndexValue::Other)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(IndexValue::Other)
            }

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(IndexValue::Other)
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(IndexValue::Other)
            }
        }
        deserializer.deserialize_any(IndexValueVisitor { diagnostics })
    }
}

struct AbstractVisitor<'d> {
    diagnostics: &'d Diagnostics,
}

/// Joins the words of an index that is a JSON text.
fn join_text(text: &str, diagnostics: &Diagnostics) -> serde_json::Result<Option<String>> {
    let mut json = serde_json::Deserializer::from_str(text);
    let words = json.deserialize_map(WordsVisitor { diagnostics })?;
    json.end()?;
    Ok(words.join(diagnostics))
}

impl<'de> Visitor<'de> for AbstractVisitor<'_> {
    type Value = Abstract;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an inverted index")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Abstract, A::Error> {
        let words = WordsVisitor { diagnostics: self.diagnostics }.visit_map(map)?;
        Ok(Abstract(words.join(self.diagnostics)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Abstract, E> {
        if let Some(joined) = join_plain(text, self.diagnostics) {
            return Ok(Abstract(joined));
        }
        let joined = join_text(text, self.diagnostics).or_else(|error| {
            // OpenAlex cuts long indexes in Parquet files after the positions of a word.
            if !(error.is_eof() && text.ends_with(']')) {
                return Err(error);
            }
            let joined = join_text(&format!("{text}}}"), self.diagnostics)?;
            self.diagnostics.warn("abstract_cut");
            Ok(joined)
        });
        Ok(Abstract(joined.unwrap_or_else(|_| {
            self.diagnostics.warn("not_an_abstract");
            None
        })))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.diagnostics.warn("not_an_abstract");
        Ok(Abstract(None))
    }

    drain!(numbers "not_an_abstract");
    drain!(bool "not_an_abstract");
    drain!(null);
}

impl<'de> Lenient<'de> for Abstract {
    fn read<D: Deserializer<'de>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AbstractVisitor { diagnostics })
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
