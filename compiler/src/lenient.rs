//! JSON values read with forbearance: a bad optional member becomes null and is counted; it never
//! costs its record.
//!
//! serde's derived code has no place for a context, so what was bad is counted in the thread that
//! parses, and [`take_warnings`] collects it after each part.

use std::{borrow::Cow, cell::RefCell, collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

/// The largest count kept: every JSON reader can hold it exactly.
pub const COUNT_MAX: u64 = (1 << 53) - 1;

thread_local! {
    static WARNINGS: RefCell<BTreeMap<&'static str, u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// Counts one more bad optional value under `code`.
pub fn warn(code: &'static str) {
    WARNINGS.with_borrow_mut(|warnings| *warnings.entry(code).or_default() += 1);
}

/// What this thread counted since it was last asked.
pub fn take_warnings() -> BTreeMap<&'static str, u64> {
    WARNINGS.with_borrow_mut(std::mem::take)
}

/// Empties whatever a visitor was handed that it has no use for, so that parsing can go on.
macro_rules! drain {
    ($code:literal) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            warn($code);
            Ok(Default::default())
        }

        drain!(map $code);
    };
    (map $code:literal) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            warn($code);
            Ok(Default::default())
        }
    };
    (scalars $code:literal) => {
        drain!(numbers $code);
        drain!(bool $code);

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            warn($code);
            Ok(Default::default())
        }
    };
    (numbers $code:literal) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            warn($code);
            Ok(Default::default())
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            warn($code);
            Ok(Default::default())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            warn($code);
            Ok(Default::default())
        }
    };
    (bool $code:literal) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            warn($code);
            Ok(Default::default())
        }
    };
    (null) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
}

pub(crate) use drain;

/// A text; null where it is white space alone. NUL is removed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

impl Text<'_> {
    /// The text, if there is one.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The text as the record keeps it.
    pub fn to_owned(&self) -> Option<String> {
        self.0.as_deref().map(str::to_owned)
    }
}

/// The text a dump's text stands for: null if it is blank, without NUL.
pub(crate) fn clean<'a>(text: Cow<'a, str>) -> Text<'a> {
    if text.bytes().all(|byte| byte.is_ascii_whitespace()) || text.chars().all(char::is_whitespace)
    {
        return Text(None);
    }
    if text.contains('\0') {
        warn("nul_removed");
        return clean(Cow::Owned(text.replace('\0', "")));
    }
    Text(Some(text))
}

struct TextVisitor<const NUMBERS: bool>;

impl<'de, const NUMBERS: bool> Visitor<'de> for TextVisitor<NUMBERS> {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(clean(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(clean(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        self.number(number)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        self.number(number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        warn("not_a_text");
        Ok(Text(None))
    }

    drain!(bool "not_a_text");
    drain!(null);
    drain!("not_a_text");
}

impl<const NUMBERS: bool> TextVisitor<NUMBERS> {
    fn number<'de, E>(self, number: impl fmt::Display) -> Result<Text<'de>, E> {
        if NUMBERS {
            return Ok(Text(Some(Cow::Owned(number.to_string()))));
        }
        warn("not_a_text");
        Ok(Text(None))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor::<false>)
    }
}

/// An identifier elsewhere: a text, or an integer that becomes one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdText<'a>(pub Text<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for IdText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor::<true>).map(IdText)
    }
}

/// A boolean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bool(pub Option<bool>);

struct BoolVisitor;

impl<'de> Visitor<'de> for BoolVisitor {
    type Value = Bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a boolean")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Bool, E> {
        Ok(Bool(Some(value)))
    }

    fn visit_str<E>(self, _: &str) -> Result<Bool, E> {
        warn("not_a_boolean");
        Ok(Bool(None))
    }

    drain!(numbers "not_a_boolean");
    drain!(null);
    drain!("not_a_boolean");
}

impl<'de> Deserialize<'de> for Bool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BoolVisitor)
    }
}

/// A number as a dump gives it, before it is known what it must be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Number {
    /// None.
    #[default]
    Null,
    /// An integer.
    Integer(i64),
    /// An integer beyond `i64`.
    Huge(u64),
    /// A fraction, finite.
    Fraction(f64),
}

impl Number {
    fn parse(text: &str) -> Number {
        let text = text.trim();
        if let Ok(integer) = text.parse() {
            return Number::Integer(integer);
        }
        match text.parse::<f64>() {
            Ok(fraction) if fraction.is_finite() && !text.starts_with('+') => {
                Number::Fraction(fraction)
            }
            _ => {
                warn("not_a_number");
                Number::Null
            }
        }
    }

    /// The integer it is, if it is one.
    pub fn integer(self) -> Option<i64> {
        match self {
            Number::Integer(integer) => Some(integer),
            // The cast is exact: integral and within 2^53.
            Number::Fraction(value) if value.fract() == 0.0 && value.abs() < COUNT_MAX as f64 => {
                Some(value as i64)
            }
            Number::Null => None,
            Number::Fraction(_) | Number::Huge(_) => {
                warn("not_an_integer");
                None
            }
        }
    }

    /// The count it is: not negative, at most [`COUNT_MAX`].
    pub fn count(self) -> Option<u64> {
        if let Number::Huge(_) = self {
            warn("count_too_large");
            return None;
        }
        let integer = self.integer()?;
        match u64::try_from(integer) {
            Ok(count) if count <= COUNT_MAX => Some(count),
            Ok(_) => {
                warn("count_too_large");
                None
            }
            Err(_) => {
                warn("negative_count");
                None
            }
        }
    }

    /// The year it is: 1 to 9999.
    pub fn year(self) -> Option<i32> {
        let integer = self.integer()?;
        if (1..=9_999).contains(&integer) {
            return i32::try_from(integer).ok();
        }
        warn("impossible_year");
        None
    }

    /// The finite number it is, `-0` as `0`.
    pub fn fraction(self) -> Option<f64> {
        match self {
            Number::Null => None,
            Number::Integer(integer) => Some(integer as f64),
            Number::Huge(integer) => Some(integer as f64),
            Number::Fraction(value) => Some(value + 0.0),
        }
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
        Ok(Number::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
        Ok(i64::try_from(value).map_or(Number::Huge(value), Number::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
        Ok(Number::Fraction(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Number, E> {
        Ok(Number::parse(text))
    }

    drain!(bool "not_a_number");
    drain!(null);
    drain!("not_a_number");
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// An object; null where there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Object<T>(pub Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Object(None)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Object(Some(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        warn("not_an_object");
        Ok(Object(None))
    }

    drain!(scalars "not_an_object");
    drain!(null);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData))
    }
}

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
            if !element.is_null() {
                list.push(element);
            }
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

/// An object's key.
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

/// An object from text to text, in the order of the dump.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs<'a>(pub Option<Vec<(Cow<'a, str>, Text<'a>)>>);

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs: Vec<(Cow<'de, str>, Text<'de>)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<Key<'de>, Text<'de>>()? {
            if pairs.iter().any(|(known, _)| *known == key.0) {
                return Err(A::Error::custom("duplicate key in an object"));
            }
            pairs.push((key.0, value));
        }
        Ok(Pairs(Some(pairs)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        warn("not_an_object");
        Ok(Pairs(None))
    }

    drain!(scalars "not_an_object");
    drain!(null);
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PairsVisitor)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn count(json: &str) -> Option<u64> {
        serde_json::from_str::<Number>(json).unwrap().count()
    }

    #[test]
    fn counts_are_read_from_whatever_spells_one() {
        for (json, expected) in [
            ("5", Some(5)),
            ("\"5\"", Some(5)),
            ("5.0", Some(5)),
            ("-1", None),
            ("5.5", None),
            ("true", None),
            ("[]", None),
            ("{}", None),
            ("null", None),
            ("9007199254740991", Some(COUNT_MAX)),
            ("9007199254740992", None),
            ("18446744073709551615", None),
            ("\"NaN\"", None),
        ] {
            assert_eq!(count(json), expected, "{json}");
        }
        assert!(!take_warnings().is_empty());
    }

    #[test]
    fn texts_of_white_space_are_null_and_nul_is_removed() {
        let text = |json: &str| serde_json::from_str::<Text<'_>>(json).unwrap().to_owned();
        assert_eq!(text("\" \\u3000\""), None);
        assert_eq!(text("\"a\\u0000b\""), Some("ab".into()));
        assert_eq!(text("7"), None);
        let list = serde_json::from_str::<List<Text<'_>>>(r#"["a",null," ",3]"#).unwrap();
        assert_eq!(list.filter_map(Text::to_owned), Some(vec!["a".to_string()]));
        take_warnings();
    }
}
