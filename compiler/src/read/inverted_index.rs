//! Abstracts: dumps hold them as inverted indexes from word to positions.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::read::lenient::{Diagnostics, Key, Lenient, MaybeNumber, clean, drain};
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
/// Joining sorts the positions: O(n log n) for n words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Abstract(pub Option<String>);

/// The value of one key of the index.
#[derive(Default)]
enum IndexValue<'a> {
    Positions(Vec<u64>),
    Index(Words<'a>),
    #[default]
    Other,
}

/// The words of an index, each with its position.
#[derive(Default)]
struct Words<'a>(Vec<(u64, Cow<'a, str>)>);

impl Words<'_> {
    /// Joins the words in the order of their positions with single spaces.
    fn join(mut self, diagnostics: &Diagnostics) -> Option<String> {
        // Dumps sort an index by word, so the positions are unordered.
        self.0.sort_unstable_by(|(a, one), (b, other)| (a, one).cmp(&(b, other)));
        let mut text = String::with_capacity(self.0.iter().map(|(_, word)| word.len() + 1).sum());
        for (_, word) in self.0.iter().filter(|(_, word)| !word.is_empty()) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        clean(Cow::Owned(text), diagnostics).to_owned()
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
        let mut words = Words::default();
        let mut keys = Keys::<MANY>::default();
        while let Some(word) = map.next_key::<Key<'de>>()? {
            keys.insert(word.0.clone())?;
            match map.next_value_seed(self.diagnostics.seed())? {
                IndexValue::Positions(positions) => {
                    words.0.extend(positions.into_iter().map(|at| (at, word.0.clone())));
                }
                IndexValue::Index(inner) if word.0 == "InvertedIndex" => words = inner,
                IndexValue::Index(_) => self.diagnostics.warn("not_positions"),
                IndexValue::Other => {}
            }
        }
        Ok(words)
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
                words.visit_map(map).map(IndexValue::Index)
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
        let mut json = serde_json::Deserializer::from_str(text);
        let words = json.deserialize_map(WordsVisitor { diagnostics: self.diagnostics }).and_then(
            |words| {
                json.end()?;
                Ok(words.join(self.diagnostics))
            },
        );
        Ok(Abstract(words.unwrap_or_else(|_: serde_json::Error| {
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
        assert_eq!(read("\"no index\""), None);
        assert_eq!(read("{}"), None);
        assert_eq!(diagnostics.counts(), [("not_an_abstract", 1)].into());
    }
}
