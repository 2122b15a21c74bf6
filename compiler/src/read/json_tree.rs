//! A JSON line as a tree that borrows from the line.
//!
//! The parser reads every key and value, also those that no record declares. So a syntax error
//! anywhere makes the line bad.

use std::{borrow::Cow, cell::Cell, fmt, marker::PhantomData};

use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use crate::read::json::{self, JsonFault};
use crate::read::lenient::{Diagnostics, MemberName};

/// Up to this number of members, the search for a duplicate compares pairs; above, it sorts.
const FEW_MEMBERS: usize = 48;

#[derive(Debug)]
pub(crate) enum JsonValue<'a> {
    Null,
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Fraction(f64),
    Text(Cow<'a, str>),
    List(Vec<JsonValue<'a>>),
    Object(JsonMembers<'a>),
}

/// The members of an object, in the order of the line.
#[derive(Debug, Default)]
pub(crate) struct JsonMembers<'a> {
    members: Vec<JsonMember<'a>>,
    /// The member after the last one found. Lines mostly have their members in the order of the
    /// requests, so the search begins here.
    next: Cell<usize>,
}

#[derive(Debug)]
struct JsonMember<'a> {
    key: Cow<'a, str>,
    value: JsonValue<'a>,
    is_requested: Cell<bool>,
}

impl<'a> JsonValue<'a> {
    /// Parses a JSON text.
    ///
    /// # Errors
    ///
    /// Where the text has a [`JsonFault`].
    pub(crate) fn parse(
        text: &'a str,
        diagnostics: &Diagnostics,
    ) -> Result<JsonValue<'a>, JsonFault> {
        json::parse(text, TreeVisitor(diagnostics))
    }

    /// Reads a value of any input.
    pub(crate) fn read<D: Deserializer<'a>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<JsonValue<'a>, D::Error> {
        TreeVisitor(diagnostics).deserialize(deserializer)
    }

    /// The members; `None` for anything but an object.
    pub(crate) fn members(&self) -> Option<&JsonMembers<'a>> {
        match self {
            JsonValue::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The text; `None` for anything but a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            JsonValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'a> JsonMembers<'a> {
    /// The value of a member. Marks the member as requested.
    pub(crate) fn get(&self, name: &str) -> Option<&JsonValue<'a>> {
        let next = self.next.get();
        let (before, after) = self.members.split_at_checked(next)?;
        let found = |member: &&JsonMember<'_>| member.key == name;
        let at = match after.iter().position(|member| found(&member)) {
            Some(at) => next + at,
            None => before.iter().position(|member| found(&member))?,
        };
        let member = &self.members[at];
        self.next.set(at + 1);
        member.is_requested.set(true);
        Some(&member.value)
    }

    /// The keys, in the order of the line.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.key.as_ref())
    }

    /// The number of members that were never requested; 0 where no member was requested.
    pub(crate) fn unrequested_count(&self) -> usize {
        let requested = self.members.iter().filter(|member| member.is_requested.get()).count();
        if requested == 0 { 0 } else { self.members.len() - requested }
    }

    fn has_duplicate(&self) -> bool {
        if self.members.len() > FEW_MEMBERS {
            let mut keys: Vec<&str> = self.keys().collect();
            keys.sort_unstable();
            return keys.windows(2).any(|pair| pair[0] == pair[1]);
        }
        let is_double =
            |at: usize| self.members[..at].iter().any(|member| member.key == self.members[at].key);
        (1..self.members.len()).any(is_double)
    }
}

/// The memory that an object in a list takes, with the part of the record that is built from it.
const OBJECT_BYTES: usize = 256;

#[derive(Clone, Copy)]
struct TreeVisitor<'d>(&'d Diagnostics);

impl<'de> DeserializeSeed<'de> for TreeVisitor<'_> {
    type Value = JsonValue<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TreeVisitor<'_> {
    type Value = JsonValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(JsonValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(JsonValue::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(JsonValue::Signed(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(JsonValue::Unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(JsonValue::Fraction(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(JsonValue::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(JsonValue::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = seq.next_element_seed(self)? {
            let is_object = matches!(element, JsonValue::Object(_));
            let bytes = if is_object { OBJECT_BYTES } else { size_of::<JsonValue<'_>>() };
            self.0.hold(bytes)?;
            list.push(element);
        }
        Ok(JsonValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut object = JsonMembers::default();
        while let Some((MemberName(key), value)) =
            map.next_entry_seed(PhantomData::<MemberName<'de>>, self)?
        {
            self.0.hold(size_of::<JsonMember<'_>>())?;
            object.members.push(JsonMember { key, value, is_requested: Cell::new(false) });
        }
        if object.has_duplicate() {
            return Err(A::Error::duplicate_field("key"));
        }
        Ok(JsonValue::Object(object))
    }
}

#[cfg(test)]
impl<'de> serde::Deserialize<'de> for JsonValue<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        TreeVisitor(&Diagnostics::default()).deserialize(deserializer)
    }
}

/// Lets the types of [`crate::read::lenient`] read from a tree as from a line.
impl<'de> Deserializer<'de> for &'de JsonValue<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            JsonValue::Null => visitor.visit_unit(),
            JsonValue::Boolean(value) => visitor.visit_bool(*value),
            JsonValue::Signed(value) => visitor.visit_i64(*value),
            JsonValue::Unsigned(value) => visitor.visit_u64(*value),
            JsonValue::Fraction(value) => visitor.visit_f64(*value),
            JsonValue::Text(text) => visitor.visit_borrowed_str(text),
            JsonValue::List(list) => visitor.visit_seq(SeqDeserializer::new(list.iter())),
            JsonValue::Object(object) => {
                let members = object.members.iter();
                let pairs = members.map(|member| (member.key.as_ref(), &member.value));
                visitor.visit_map(MapDeserializer::new(pairs))
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de> for &'de JsonValue<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_any_order_and_unrequested_members_are_counted() {
        let value: JsonValue<'_> = serde_json::from_str(r#"{"a":1,"b":{"x":2},"c":"3"}"#).unwrap();
        let members = value.members().unwrap();
        assert_eq!(members.unrequested_count(), 0);
        assert!(matches!(members.get("b"), Some(JsonValue::Object(_))));
        assert_eq!(members.unrequested_count(), 2);
        assert!(matches!(members.get("a"), Some(JsonValue::Unsigned(1))));
        assert!(members.get("d").is_none());
        assert!(matches!(members.get("c"), Some(JsonValue::Text(text)) if text == "3"));
        assert_eq!(members.unrequested_count(), 0);
        assert_eq!(members.get("b").unwrap().members().unwrap().unrequested_count(), 0);
    }

    #[test]
    fn a_duplicate_key_is_an_error_in_small_and_large_objects() {
        let object = |members: usize, last: usize| {
            let mut keys: Vec<String> = (0..members).map(|at| format!("\"{at}\":0")).collect();
            keys.push(format!("\"{last}\":0"));
            format!("{{\"in\":[{{{}}}]}}", keys.join(","))
        };
        for members in [1, FEW_MEMBERS, 1_000] {
            let text = object(members, 0);
            let error = serde_json::from_str::<JsonValue<'_>>(&text).unwrap_err();
            assert!(error.to_string().starts_with("duplicate"), "{error}");
            let text = object(members, members);
            assert!(serde_json::from_str::<JsonValue<'_>>(&text).is_ok());
        }
    }
}
