//! Lists and their lengths.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::read::lenient::{ARRAY_ELEMENTS_MAX, IdText, Number, Object, Text, drain, warn};

/// Values of a list's elements: whether an element is null, and so dropped.
pub trait Element {
    /// Whether it is null.
    fn is_null(&self) -> bool;
}

impl Element for Text<'_> {
    fn is_null(&self) -> bool {
        self.0.is_none()
    }
}

impl Element for IdText<'_> {
    fn is_null(&self) -> bool {
        self.0.0.is_none()
    }
}

impl Element for Number {
    fn is_null(&self) -> bool {
        *self == Number::Null
    }
}

impl<T> Element for Object<T> {
    fn is_null(&self) -> bool {
        self.0.is_none()
    }
}

/// A list without its nulls; null where there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T>(pub Option<Vec<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        List(None)
    }
}

impl<T> List<T> {
    /// Each element that `map` keeps; null stays null.
    pub fn filter_map<U>(&self, map: impl FnMut(&T) -> Option<U>) -> Option<Vec<U>> {
        self.0.as_ref().map(|list| list.iter().filter_map(map).collect())
    }

    /// The elements; none where there is no list.
    pub fn as_slice(&self) -> &[T] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<T> List<Object<T>> {
    /// The objects in it.
    pub fn objects(&self) -> impl Iterator<Item = &T> {
        self.as_slice().iter().filter_map(|object| object.0.as_ref())
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Element> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = seq.next_element::<T>()? {
            if element.is_null() {
                continue;
            }
            if list.len() as u64 == ARRAY_ELEMENTS_MAX.get() {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                warn("array_too_long");
                return Ok(List(None));
            }
            list.push(element);
        }
        Ok(List(Some(list)))
    }

    drain!(map "not_an_array");
    drain!(scalars "not_an_array");
    drain!(null);
}

impl<'de, T: Deserialize<'de> + Element> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

/// How many elements a list has, without keeping them; null where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Length(pub Option<u64>);

struct LengthVisitor;

impl<'de> Visitor<'de> for LengthVisitor {
    type Value = Length;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Length, A::Error> {
        let mut length = 0;
        while let Some(element) = seq.next_element::<Option<IgnoredAny>>()? {
            length += u64::from(element.is_some());
        }
        Ok(Length(Some(length)))
    }

    drain!(map "not_an_array");
    drain!(scalars "not_an_array");
    drain!(null);
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LengthVisitor)
    }
}
