//! JSON taken strictly, whatever of it is read.
//!
//! A record's type names the members it reads, and serde passes over all others leniently: a key
//! given twice, half a surrogate pair, a number beyond any double or a nesting without end goes
//! unseen there. Whether a line is good must not depend on which of its members are read today, so
//! [`Strict`] stands before a deserializer and reads what is ignored as thoroughly as the rest.
//! Members that are read cost nothing more but a note of their key.

use std::{borrow::Cow, fmt, hash::BuildHasher};

use hashbrown::HashTable;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor,
        value::{BorrowedStrDeserializer, StrDeserializer},
    },
};

/// Reads a value from a JSON text, all of it strictly.
///
/// # Errors
///
/// Where the text is no JSON, nests deeper than 128, or gives a key twice in an object; or where
/// the value cannot be read from it.
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Value { deserializer: &mut json, member: None })?;
    json.end()?;
    Ok(value)
}

/// Room made at once when keys are looked up.
const KEYS_EXPECTED: usize = 400;

/// The keys of one object, each of which may stand there once. `WORDS` as in [`Places`].
#[derive(Default)]
pub(crate) struct Keys<'de, const WORDS: usize> {
    keys: Vec<Cow<'de, str>>,
    places: Places<WORDS>,
}

impl<'de, const WORDS: usize> Keys<'de, WORDS> {
    /// Takes a key; an error where it was there already.
    pub(crate) fn take<E: serde::de::Error>(&mut self, key: Cow<'de, str>) -> Result<(), E> {
        if self.places.knows(&self.keys, &key) {
            return Err(E::custom("duplicate key in an object"));
        }
        self.keys.push(key);
        Ok(())
    }
}

/// `WORDS` for an object of some tens of keys.
pub(crate) const FEW: usize = 1;
/// `WORDS` for an object of some hundreds: an abstract has a key a word.
pub(crate) const MANY: usize = 32;

/// Tells the keys of an object apart: a filter of `WORDS` times 64 bits knows of most that they are
/// new, and others are compared with all before them; once they are too many for it, each is
/// looked up in a table.
struct Places<const WORDS: usize> {
    filter: [u64; WORDS],
    table: HashTable<u32>,
    /// Not the same twice, so that no dump can be made to fill one bucket.
    hasher: Option<foldhash::fast::RandomState>,
}

impl<const WORDS: usize> Default for Places<WORDS> {
    fn default() -> Self {
        Places { filter: [0; WORDS], table: HashTable::new(), hasher: None }
    }
}

impl<const WORDS: usize> Places<WORDS> {
    const FILTERED_MAX: usize = 16 + 8 * WORDS;

    /// Whether a key is among those of its object; if not, it is to be put behind them.
    #[inline]
    fn knows(&mut self, keys: &[Cow<'_, str>], key: &str) -> bool {
        if keys.len() >= Self::FILTERED_MAX {
            return self.finds(keys, key);
        }
        let bit = bit_of(key);
        let word = &mut self.filter[bit / 64 % WORDS];
        let mask = 1 << (bit % 64);
        let may_be_known = *word & mask != 0;
        *word |= mask;
        may_be_known && keys.iter().any(|known| known == key)
    }

    fn finds(&mut self, keys: &[Cow<'_, str>], key: &str) -> bool {
        let hasher = self.hasher.get_or_insert_default();
        let table = &mut self.table;
        let hash_of = |place: &u32| hasher.hash_one(keys[*place as usize].as_ref());
        if table.is_empty() {
            table.reserve(KEYS_EXPECTED, hash_of);
            for place in 0..keys.len() as u32 {
                table.insert_unique(hash_of(&place), place, hash_of);
            }
        }
        let hash = hasher.hash_one(key);
        if table.find(hash, |place| keys[*place as usize] == key).is_some() {
            return true;
        }
        // A line has fewer keys than 2^32: it has fewer bytes.
        table.insert_unique(hash, keys.len() as u32, hash_of);
        false
    }
}

/// A number below 2,048 that most keys do not share: of a key's length, beginning and end.
#[inline]
fn bit_of(key: &str) -> usize {
    let bytes = key.as_bytes();
    let ends = match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => bytes.iter().fold(0, |ends, byte| ends << 8 | u64::from(*byte)),
    };
    // Fibonacci hashing: the upper bits of a product with the golden ratio depend on all below.
    ((ends ^ bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as usize
}

/// A value that nothing reads, taken strictly. The keys of the objects around it lie on one stack.
struct Ignored<'k, 'de>(&'k mut Vec<Cow<'de, str>>);

impl<'de> DeserializeSeed<'de> for Ignored<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Ignored<'_, 'de> {
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
        while seq.next_element_seed(Ignored(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let from = self.0.len();
        let mut places = Places::<FEW>::default();
        while let Some(key) = map.next_key_seed(KeySeed)? {
            if places.knows(&self.0[from..], &key) {
                return Err(A::Error::custom("duplicate key in an object"));
            }
            self.0.push(key);
            map.next_value_seed(Ignored(self.0))?;
        }
        self.0.truncate(from);
        Ok(())
    }
}

/// A key, borrowed where it holds no escape.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

/// A value on its way to whoever reads it, if anybody does.
struct Value<'m, 'de, D> {
    deserializer: D,
    /// The member it is of, where it is one.
    member: Option<&'m mut MemberKeys<'de>>,
}

/// The key of the member under way, and of those before it that nothing read.
#[derive(Default)]
struct MemberKeys<'de> {
    current: Option<Cow<'de, str>>,
    ignored: Keys<'de, FEW>,
}

/// A visitor, seed or sequence whose values are [`Value`]s.
struct Strict<T>(T);

/// Passes calls on, with a strict visitor.
macro_rules! forward {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.deserializer.$method(Strict(visitor))
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Value<'_, 'de, D> {
    type Error = D::Error;

    forward! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32
        deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_option deserialize_unit deserialize_seq
        deserialize_map deserialize_identifier
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        if let Some(member) = self.member
            && let Some(key) = member.current.take()
        {
            member.ignored.take(key)?;
        }
        self.deserializer.deserialize_any(Ignored(&mut Vec::new()))?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_unit_struct(name, Strict(visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_newtype_struct(name, Strict(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_tuple(length, Strict(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_tuple_struct(name, length, Strict(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_struct(name, fields, Strict(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_enum(name, variants, visitor)
    }
}

/// Passes scalars on to the visitor behind.
macro_rules! visit {
    ($($method:ident $type:ty),*) => {
        $(fn $method<E: serde::de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.0.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    visit! {
        visit_bool bool, visit_i64 i64, visit_u64 u64, visit_f64 f64, visit_str &str,
        visit_borrowed_str &'de str, visit_string String
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Value { deserializer, member: None })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Value { deserializer, member: None })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Strict(seq))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(StrictMap { map, keys: MemberKeys::default() })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Value { deserializer, member: None })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

/// An object's members. The keys of those that are read are told apart by whoever reads them: a
/// type that is given one twice refuses it. The others' are told apart here.
struct StrictMap<'de, A> {
    map: A,
    keys: MemberKeys<'de>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for StrictMap<'de, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Some(key) = self.map.next_key_seed(KeySeed)? else { return Ok(None) };
        let read = match &key {
            Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
            Cow::Owned(key) => seed.deserialize(StrDeserializer::new(key)),
        };
        self.keys.current = Some(key);
        read.map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(MemberSeed { seed, keys: &mut self.keys })
    }

    fn size_hint(&self) -> Option<usize> {
        self.map.size_hint()
    }
}

/// Reads a member's value.
struct MemberSeed<'m, 'de, S> {
    seed: S,
    keys: &'m mut MemberKeys<'de>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for MemberSeed<'_, 'de, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(Value { deserializer, member: Some(self.keys) })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Read {
        id: u64,
        inner: Option<Box<Read>>,
        list: Vec<Read>,
    }

    /// What is wrong with a line, wherever in it a value stands.
    fn refusals(value: &str) -> Vec<Option<String>> {
        let places = [
            format!("{{\"id\":1,\"unread\":{value}}}"),
            format!("{{\"unread\":[{{\"deep\":{value}}}],\"id\":1}}"),
            format!("{{\"id\":1,\"inner\":{{\"unread\":{value}}}}}"),
            format!("{{\"id\":1,\"list\":[{{\"unread\":[[{value}]]}}]}}"),
        ];
        let refusal = |text: &String| from_str::<Read>(text).err().map(|error| error.to_string());
        places.iter().map(refusal).collect()
    }

    #[test]
    fn what_nothing_reads_is_as_good_as_what_is_read() {
        for good in
            ["1", "-1.5e3", "\"\\ud83d\\ude00\"", "{\"a\":1,\"b\":{\"a\":1}}", "[null,true]"]
        {
            assert_eq!(refusals(good), [None, None, None, None], "{good}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let keys: String = (0..100).map(|key| format!("\"{key}\":0,")).collect();
        let many = format!("{{{keys}\"7\":1}}");
        for (bad, phrase) in [
            ("{\"a\":1,\"b\":2,\"a\":3}", "duplicate key"),
            ("{\"a\":1,\"\\u0061\":3}", "duplicate key"),
            (many.as_str(), "duplicate key"),
            ("1e400", "number out of range"),
            ("NaN", "expected"),
            ("\"\\ud800\"", "hex escape"),
            ("\"\\ud800\\u0041\"", "surrogate"),
            ("\"a\tb\"", "control character"),
            (deep.as_str(), "recursion limit"),
        ] {
            for refusal in refusals(bad) {
                let refusal = refusal.unwrap_or_default();
                assert!(refusal.contains(phrase), "{bad}: {refusal}");
            }
        }
        for twice in ["{\"u\":1,\"id\":1,\"u\":1}", "{\"id\":1,\"inner\":{\"u\":1,\"u\":1}}"] {
            let refusal = from_str::<Read>(twice).unwrap_err().to_string();
            assert!(refusal.starts_with("duplicate key"), "{refusal}");
        }
        assert!(from_str::<Read>("{\"id\":1} x").is_err());
        assert!(from_str::<Read>(&"[".repeat(100_000)).is_err());
    }
}
