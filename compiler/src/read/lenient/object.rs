//! Objects and their keys.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use crate::read::lenient::diagnostics::{drain, warn};
use crate::read::lenient::text::MaybeText;
use crate::read::strict::{Keys, MANY};

/// An object, or null.
#[derive(Clone, Debug, PartialEq)]
pub struct MaybeObject<T>(pub Option<T>);

impl<T> Default for MaybeObject<T> {
    fn default() -> Self {
        MaybeObject(None)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = MaybeObject<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| MaybeObject(Some(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        warn("not_an_object");
        Ok(MaybeObject(None))
    }

    drain!(scalars "not_an_object");
    drain!(null);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for MaybeObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData))
    }
}

/// A key, borrowed from the line where it holds no escape.
pub(crate) struct Key<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// An object that maps strings to strings, in the order of the dump; or null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaybePairs<'a>(pub Option<Vec<(Cow<'a, str>, MaybeText<'a>)>>);

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = MaybePairs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs: Vec<(Cow<'de, str>, MaybeText<'de>)> = Vec::new();
        let mut keys = Keys::<MANY>::default();
        while let Some((key, value)) = map.next_entry::<Key<'de>, MaybeText<'de>>()? {
            keys.insert(key.0.clone())?;
            pairs.push((key.0, value));
        }
        Ok(MaybePairs(Some(pairs)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        warn("not_an_object");
        Ok(MaybePairs(None))
    }

    drain!(scalars "not_an_object");
    drain!(null);
}

impl<'de: 'a, 'a> Deserialize<'de> for MaybePairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PairsVisitor)
    }
}
