//! Strict JSON parsing: the members that no type reads are checked like the members that are read.
//!
//! serde skips a member that the target type does not declare. Inside a skipped member, serde_json
//! accepts a duplicate key, half a surrogate pair, an overlong number and any nesting. Then whether
//! a line is good would depend on the members that today's types declare. [`from_str`] wraps the
//! deserializer, so that skipped values are parsed too. A member that is read costs one more copy
//! of its key's address.
//!
//! Every failure carries a [`JsonFault`], so a caller never inspects the text of a message.

use std::{borrow::Cow, cell::Cell, fmt, hash::BuildHasher};

use hashbrown::HashTable;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, MapAccess, SeqAccess, Visitor,
        value::{BorrowedStrDeserializer, StrDeserializer},
    },
};

/// Arrays and objects that may enclose a value; serde_json's own limit is the same.
const DEPTH_MAX: u8 = 127;

/// Why a JSON text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFault {
    /// The text breaks the syntax of JSON.
    Syntax,
    /// The JSON is well-formed and has not the shape of a record.
    Shape,
    /// An object holds one key twice.
    DuplicateKey,
    /// More than [`DEPTH_MAX`] arrays and objects enclose a value.
    TooDeep,
}

impl JsonFault {
    /// The code of the fault in a report.
    pub fn code(self) -> &'static str {
        match self {
            JsonFault::Syntax => "not_json",
            JsonFault::Shape => "not_a_record",
            JsonFault::DuplicateKey => "duplicate_key",
            JsonFault::TooDeep => "too_deep",
        }
    }
}

/// A refused JSON text.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct JsonError {
    pub fault: JsonFault,
    message: serde_json::Error,
}

/// Parses a JSON text, and checks the members that `T` does not declare as strictly as the others.
///
/// # Errors
///
/// Where the text has a [`JsonFault`].
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    parse(text, true)
}

/// Parses a JSON text; members that `T` does not declare are skipped as serde_json skips them.
///
/// # Errors
///
/// Where a part of the text that `T` reads has a [`JsonFault`].
pub fn from_str_skipping_unread<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    parse(text, false)
}

fn parse<'de, T: Deserialize<'de>>(text: &'de str, checks_unread: bool) -> Result<T, JsonError> {
    let mut json = serde_json::Deserializer::from_str(text);
    // `Level::descend` holds the limit, and records that it was passed.
    json.disable_recursion_limit();
    let state = ParseState { fault: Cell::new(None), checks_unread };
    let level = Level { state: &state, depth: 0 };
    let parsed =
        T::deserialize(StrictDeserializer { deserializer: &mut json, level, member: None })
            .map_err(|error| error.record(level))
            .and_then(|value| json.end().map(|()| value));
    parsed.map_err(|message| {
        let by_category = if message.is_data() { JsonFault::Shape } else { JsonFault::Syntax };
        JsonError { fault: state.fault.get().unwrap_or(by_category), message }
    })
}

/// State that one parse shares between its values.
struct ParseState {
    /// A fault that serde_json's error categories do not name.
    fault: Cell<Option<JsonFault>>,
    checks_unread: bool,
}

/// The state of the parse and the number of arrays and objects around a value.
#[derive(Clone, Copy)]
struct Level<'s> {
    state: &'s ParseState,
    depth: u8,
}

impl<'s> Level<'s> {
    fn wrap<T>(self, inner: T) -> Strict<'s, T> {
        Strict { inner, level: self }
    }

    /// The level of the elements or members of an array or object at this level.
    fn descend<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH_MAX {
            self.state.fault.set(Some(JsonFault::TooDeep));
            return Err(E::custom(format_args!("nested deeper than {DEPTH_MAX} levels")));
        }
        Ok(Level { depth: self.depth + 1, ..self })
    }
}

/// The error of a wrapped access: serde_json's error type cannot tell a duplicate key from other
/// errors in the data, so this type keeps the difference until [`StrictError::record`] stores it.
#[derive(Debug)]
enum StrictError<E> {
    DuplicateKey,
    Inner(E),
}

impl<E: serde::de::Error> StrictError<E> {
    /// Stores a duplicate key as the fault of the parse, and returns the error of the inner access.
    fn record(self, level: Level<'_>) -> E {
        match self {
            StrictError::DuplicateKey => {
                level.state.fault.set(Some(JsonFault::DuplicateKey));
                E::custom("duplicate key in an object")
            }
            StrictError::Inner(error) => error,
        }
    }
}

impl<E: serde::de::Error> serde::de::Error for StrictError<E> {
    fn custom<T: fmt::Display>(message: T) -> Self {
        StrictError::Inner(E::custom(message))
    }

    fn duplicate_field(_: &'static str) -> Self {
        StrictError::DuplicateKey
    }
}

impl<E: fmt::Display> fmt::Display for StrictError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrictError::DuplicateKey => f.write_str("duplicate key in an object"),
            StrictError::Inner(error) => error.fmt(f),
        }
    }
}

impl<E: serde::de::Error> std::error::Error for StrictError<E> {}

/// Keys for which the table of a large object has room from the start.
const KEYS_EXPECTED: usize = 400;

/// The keys of one object, where each key may occur once. `WORDS` as in [`KeyIndex`].
#[derive(Default)]
pub(crate) struct Keys<'de, const WORDS: usize> {
    keys: Vec<Cow<'de, str>>,
    index: KeyIndex<WORDS>,
}

impl<'de, const WORDS: usize> Keys<'de, WORDS> {
    /// Adds a key; fails with serde's `duplicate_field` where the object has the key already.
    pub(crate) fn insert<E: serde::de::Error>(&mut self, key: Cow<'de, str>) -> Result<(), E> {
        if self.index.insert(&self.keys, &key) {
            return Err(E::duplicate_field("key"));
        }
        self.keys.push(key);
        Ok(())
    }
}

/// `WORDS` for an object of tens of keys.
pub(crate) const FEW: usize = 1;
/// `WORDS` for an object of hundreds of keys, such as an abstract, which has one key per word.
pub(crate) const MANY: usize = 32;

/// Finds duplicate keys of one object.
///
/// A filter of `WORDS` × 64 bits proves that most keys are new. A key whose bit is already set is
/// compared with every earlier key. From [`KeyIndex::FILTERED_MAX`] keys on, a hash table replaces
/// the filter. Example with 64 bits: `id` sets bit 12, `name` sets bit 40, and a second `id` finds
/// bit 12 set, so the index compares it with `id` and `name`.
struct KeyIndex<const WORDS: usize> {
    filter: [u64; WORDS],
    table: HashTable<u32>,
    /// Seeded at random, so that nobody can construct keys that share one bucket.
    hasher: Option<foldhash::fast::RandomState>,
}

impl<const WORDS: usize> Default for KeyIndex<WORDS> {
    fn default() -> Self {
        KeyIndex { filter: [0; WORDS], table: HashTable::new(), hasher: None }
    }
}

impl<const WORDS: usize> KeyIndex<WORDS> {
    const FILTERED_MAX: usize = 16 + 8 * WORDS;

    /// Adds a key and returns whether `keys` held it already. The caller appends a new key to `keys`.
    #[inline]
    fn insert(&mut self, keys: &[Cow<'_, str>], key: &str) -> bool {
        if keys.len() >= Self::FILTERED_MAX {
            return self.insert_in_table(keys, key);
        }
        let bit = bit_of(key);
        let word = &mut self.filter[bit / 64 % WORDS];
        let mask = 1 << (bit % 64);
        let may_be_known = *word & mask != 0;
        *word |= mask;
        may_be_known && keys.iter().any(|known| known == key)
    }

    fn insert_in_table(&mut self, keys: &[Cow<'_, str>], key: &str) -> bool {
        let hasher = self.hasher.get_or_insert_default();
        let table = &mut self.table;
        let hash_of = |at: &u32| hasher.hash_one(keys[*at as usize].as_ref());
        if table.is_empty() {
            table.reserve(KEYS_EXPECTED, hash_of);
            for at in 0..keys.len() as u32 {
                table.insert_unique(hash_of(&at), at, hash_of);
            }
        }
        let hash = hasher.hash_one(key);
        if table.find(hash, |at| keys[*at as usize] == key).is_some() {
            return true;
        }
        // The cast is exact: a line has fewer than 2^32 bytes, so fewer keys.
        table.insert_unique(hash, keys.len() as u32, hash_of);
        false
    }
}

/// Hashes a key's length, first four and last four bytes to a number below 2,048.
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

/// Parses and drops a value that no type reads. One stack holds the keys of the enclosing objects.
struct Unread<'k, 's, 'de> {
    keys: &'k mut Vec<Cow<'de, str>>,
    level: Level<'s>,
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

/// Reads a key; borrows it from the text where it holds no escape.
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

/// Wraps the deserializer of one value.
struct StrictDeserializer<'m, 's, 'de, D> {
    deserializer: D,
    level: Level<'s>,
    /// The keys of the enclosing object, where the value is a member.
    member: Option<&'m mut MemberKeys<'de>>,
}

/// The current key of an object, and the object's keys so far that no type read.
#[derive(Default)]
struct MemberKeys<'de> {
    current: Option<Cow<'de, str>>,
    unread: Keys<'de, FEW>,
}

/// Wraps a visitor, seed or sequence, so that each value passes through a [`StrictDeserializer`].
struct Strict<'s, T> {
    inner: T,
    level: Level<'s>,
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Record {
        id: u64,
        inner: Option<Box<Record>>,
        list: Vec<Record>,
    }

    /// The refusals of four lines that hold `value` in a member that `Record` does not declare.
    fn refusals(value: &str) -> Vec<Option<(JsonFault, String)>> {
        let lines = [
            format!("{{\"id\":1,\"unread\":{value}}}"),
            format!("{{\"unread\":[{{\"deep\":{value}}}],\"id\":1}}"),
            format!("{{\"id\":1,\"inner\":{{\"unread\":{value}}}}}"),
            format!("{{\"id\":1,\"list\":[{{\"unread\":[[{value}]]}}]}}"),
        ];
        let refusal = |text: &String| {
            from_str::<Record>(text).err().map(|error| (error.fault, error.to_string()))
        };
        lines.iter().map(refusal).collect()
    }

    #[test]
    fn undeclared_members_are_checked_like_declared_ones() {
        for good in
            ["1", "-1.5e3", "\"\\ud83d\\ude00\"", "{\"a\":1,\"b\":{\"a\":1}}", "[null,true]"]
        {
            assert_eq!(refusals(good), [None, None, None, None], "{good}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let keys: String = (0..100).map(|key| format!("\"{key}\":0,")).collect();
        let many = format!("{{{keys}\"7\":1}}");
        use JsonFault::{DuplicateKey, Syntax, TooDeep};
        for (bad, fault, phrase) in [
            ("{\"a\":1,\"b\":2,\"a\":3}", DuplicateKey, "duplicate key"),
            ("{\"a\":1,\"\\u0061\":3}", DuplicateKey, "duplicate key"),
            (many.as_str(), DuplicateKey, "duplicate key"),
            ("1e400", Syntax, "number out of range"),
            ("NaN", Syntax, "expected"),
            ("\"\\ud800\"", Syntax, "hex escape"),
            ("\"\\ud800\\u0041\"", Syntax, "surrogate"),
            ("\"a\tb\"", Syntax, "control character"),
            (deep.as_str(), TooDeep, "nested deeper"),
        ] {
            for refusal in refusals(bad) {
                let (found, message) = refusal.unwrap();
                assert_eq!(found, fault, "{bad}: {message}");
                assert!(message.contains(phrase), "{bad}: {message}");
            }
        }
        for twice in ["{\"u\":1,\"id\":1,\"u\":1}", "{\"id\":1,\"inner\":{\"u\":1,\"u\":1}}"] {
            let refusal = from_str::<Record>(twice).unwrap_err();
            assert_eq!(refusal.fault, DuplicateKey);
            assert!(refusal.to_string().starts_with("duplicate key"), "{refusal}");
        }
        assert_eq!(from_str::<Record>("{\"id\":1} x").unwrap_err().fault, Syntax);
        assert!(from_str::<Record>(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn every_refusal_has_the_fault_that_a_report_names() {
        let fault = |text: &str| from_str::<Record>(text).err().map(|error| error.fault);
        assert_eq!(fault("{\"id\":1,\"id\":1}"), Some(JsonFault::DuplicateKey));
        assert_eq!(fault("{\"list\":[{\"id\":1,\"id\":1}]}"), Some(JsonFault::DuplicateKey));
        assert_eq!(fault("{\"id\":\"1\"}"), Some(JsonFault::Shape));
        assert_eq!(fault("{\"id\":}"), Some(JsonFault::Syntax));
        assert_eq!(fault("{\"id\":1"), Some(JsonFault::Syntax));
        let skipping =
            |text: &str| from_str_skipping_unread::<Record>(text).err().map(|error| error.fault);
        assert_eq!(skipping("{\"id\":1,\"id\":1}"), Some(JsonFault::DuplicateKey));
        assert_eq!(skipping("{\"id\":1,\"u\":1,\"u\":1e400}"), None);
        assert_eq!(skipping("{\"id\":1,\"u\":"), Some(JsonFault::Syntax));
    }

    #[test]
    fn a_value_may_nest_as_deep_as_in_serde_json() {
        let nested = |levels: usize| {
            format!("{{\"unread\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1))
        };
        let depth_max = usize::from(DEPTH_MAX);
        assert!(from_str::<Record>(&nested(depth_max)).is_ok());
        let refusal = from_str::<Record>(&nested(depth_max + 1)).unwrap_err();
        assert_eq!(refusal.fault, JsonFault::TooDeep);
        for (levels, is_good) in [(depth_max, true), (depth_max + 1, false)] {
            let value = serde_json::from_str::<serde_json::Value>(&nested(levels));
            assert_eq!(value.is_ok(), is_good);
        }
    }
}
