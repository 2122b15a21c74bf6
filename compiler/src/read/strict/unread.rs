//! Values that no type reads.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};

use crate::read::strict::keys::{FEW, KeyIndex, KeySeed};
use crate::read::strict::level::{Level, StrictError};

/// Parses and drops a value that no type reads. One stack holds the keys of the enclosing objects.
pub(super) struct Unread<'k, 's, 'de> {
    pub(super) keys: &'k mut Vec<Cow<'de, str>>,
    pub(super) level: Level<'s>,
}

impl<'de> DeserializeSeed<'de> for Unread<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unread<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let level = self.level.descend()?;
        while seq.next_element_seed(Unread { keys: self.keys, level })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let level = self.level.descend()?;
        let from = self.keys.len();
        let mut index = KeyIndex::<FEW>::default();
        while let Some(key) = map.next_key_seed(KeySeed)? {
            if index.insert(&self.keys[from..], &key) {
                return Err(StrictError::DuplicateKey.record(level));
            }
            self.keys.push(key);
            map.next_value_seed(Unread { keys: self.keys, level })?;
        }
        self.keys.truncate(from);
        Ok(())
    }
}
