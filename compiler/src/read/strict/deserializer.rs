//! The deserializer that wraps serde_json's, and passes every value through itself.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer,
    de::{
        DeserializeSeed, MapAccess, SeqAccess, Visitor,
        value::{BorrowedStrDeserializer, StrDeserializer},
    },
};

use crate::read::strict::keys::{FEW, KeySeed, Keys};
use crate::read::strict::level::{Level, StrictError};
use crate::read::strict::unread::Unread;

/// Wraps the deserializer of one value.
pub(super) struct StrictDeserializer<'m, 's, 'de, D> {
    pub(super) deserializer: D,
    pub(super) level: Level<'s>,
    /// The keys of the enclosing object, where the value is a member.
    pub(super) member: Option<&'m mut MemberKeys<'de>>,
}

/// The current key of an object, and the object's keys so far that no type read.
#[derive(Default)]
pub(super) struct MemberKeys<'de> {
    current: Option<Cow<'de, str>>,
    unread: Keys<'de, FEW>,
}

/// Wraps a visitor, seed or sequence, so that each value passes through a [`StrictDeserializer`].
struct Strict<'s, T> {
    inner: T,
    level: Level<'s>,
}

impl<'s> Level<'s> {
    fn wrap<T>(self, inner: T) -> Strict<'s, T> {
        Strict { inner, level: self }
    }
}

/// Forwards calls with a wrapped visitor.
macro_rules! forward {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            let visitor = self.level.wrap(visitor);
            self.deserializer.$method(visitor).map_err(StrictError::Inner)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for StrictDeserializer<'_, '_, 'de, D> {
    type Error = StrictError<D::Error>;

    forward! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32
        deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_option deserialize_unit deserialize_seq
        deserialize_map deserialize_identifier
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let level = self.level;
        if !level.state.checks_unread {
            return self.deserializer.deserialize_ignored_any(visitor).map_err(StrictError::Inner);
        }
        if let Some(member) = self.member
            && let Some(key) = member.current.take()
        {
            member.unread.insert(key)?;
        }
        let unread = Unread { keys: &mut Vec::new(), level };
        self.deserializer.deserialize_any(unread).map_err(StrictError::Inner)?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let visitor = self.level.wrap(visitor);
        self.deserializer.deserialize_unit_struct(name, visitor).map_err(StrictError::Inner)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let visitor = self.level.wrap(visitor);
        self.deserializer.deserialize_newtype_struct(name, visitor).map_err(StrictError::Inner)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let visitor = self.level.wrap(visitor);
        self.deserializer.deserialize_tuple(length, visitor).map_err(StrictError::Inner)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let visitor = self.level.wrap(visitor);
        self.deserializer
            .deserialize_tuple_struct(name, length, visitor)
            .map_err(StrictError::Inner)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let visitor = self.level.wrap(visitor);
        self.deserializer.deserialize_struct(name, fields, visitor).map_err(StrictError::Inner)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.deserializer.deserialize_enum(name, variants, visitor).map_err(StrictError::Inner)
    }
}

/// Forwards scalars to the inner visitor.
macro_rules! visit {
    ($($method:ident $type:ty),*) => {
        $(fn $method<E: serde::de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool bool, visit_i64 i64, visit_u64 u64, visit_f64 f64, visit_str &str,
        visit_borrowed_str &'de str, visit_string String
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let level = self.level;
        let value = StrictDeserializer { deserializer, level, member: None };
        self.inner.visit_some(value).map_err(|error| error.record(level))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        let level = self.level;
        let value = StrictDeserializer { deserializer, level, member: None };
        self.inner.visit_newtype_struct(value).map_err(|error| error.record(level))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        let level = self.level.descend()?;
        self.inner.visit_seq(level.wrap(seq)).map_err(|error| error.record(level))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let level = self.level.descend()?;
        let map = StrictMap { map, level, keys: MemberKeys::default() };
        self.inner.visit_map(map).map_err(|error| error.record(level))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let level = self.level;
        let value = StrictDeserializer { deserializer, level, member: None };
        self.inner.deserialize(value).map_err(|error| error.record(level))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<'_, A> {
    type Error = StrictError<A::Error>;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Self::Error> {
        let seed = self.level.wrap(seed);
        self.inner.next_element_seed(seed).map_err(StrictError::Inner)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The members of an object. The type that reads a member refuses its second occurrence;
/// [`MemberKeys`] refuses the second occurrence of any other.
struct StrictMap<'s, 'de, A> {
    map: A,
    level: Level<'s>,
    keys: MemberKeys<'de>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for StrictMap<'_, 'de, A> {
    type Error = StrictError<A::Error>;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Self::Error> {
        let key = self.map.next_key_seed(KeySeed).map_err(StrictError::Inner)?;
        let Some(key) = key else { return Ok(None) };
        let read = match &key {
            Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
            Cow::Owned(key) => seed.deserialize(StrDeserializer::new(key)),
        };
        self.keys.current = Some(key);
        read.map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, Self::Error> {
        let seed = MemberSeed { seed, level: self.level, keys: &mut self.keys };
        self.map.next_value_seed(seed).map_err(StrictError::Inner)
    }

    fn size_hint(&self) -> Option<usize> {
        self.map.size_hint()
    }
}

/// Reads the value of a member.
struct MemberSeed<'m, 's, 'de, S> {
    seed: S,
    level: Level<'s>,
    keys: &'m mut MemberKeys<'de>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for MemberSeed<'_, '_, 'de, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let level = self.level;
        let value = StrictDeserializer { deserializer, level, member: Some(self.keys) };
        self.seed.deserialize(value).map_err(|error| error.record(level))
    }
}
