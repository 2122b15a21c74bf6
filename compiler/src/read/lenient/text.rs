//! Text members.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::read::lenient::diagnostics::{TEXT_BYTES_MAX, drain, warn};

/// A text without NUL characters, or null. White space alone is null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaybeText<'a>(pub Option<Cow<'a, str>>);

impl MaybeText<'_> {
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub fn to_owned(&self) -> Option<String> {
        self.0.as_deref().map(str::to_owned)
    }
}

/// Cleans a string: blank or overlong becomes null, NUL characters are removed.
pub(crate) fn clean<'a>(text: Cow<'a, str>) -> MaybeText<'a> {
    if text.bytes().all(|byte| byte.is_ascii_whitespace()) || text.chars().all(char::is_whitespace)
    {
        return MaybeText(None);
    }
    if text.len() as u64 > TEXT_BYTES_MAX.get() {
        warn("text_too_long");
        return MaybeText(None);
    }
    if memchr::memchr(0, text.as_bytes()).is_some() {
        warn("nul_removed");
        return clean(Cow::Owned(text.replace('\0', "")));
    }
    MaybeText(Some(text))
}

struct TextVisitor<const NUMBERS: bool>;

impl<'de, const NUMBERS: bool> Visitor<'de> for TextVisitor<NUMBERS> {
    type Value = MaybeText<'de>;

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
        Ok(MaybeText(None))
    }

    drain!(bool "not_a_text");
    drain!(null);
    drain!("not_a_text");
}

impl<const NUMBERS: bool> TextVisitor<NUMBERS> {
    fn number<'de, E>(self, number: impl fmt::Display) -> Result<MaybeText<'de>, E> {
        if NUMBERS {
            return Ok(MaybeText(Some(Cow::Owned(number.to_string()))));
        }
        warn("not_a_text");
        Ok(MaybeText(None))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for MaybeText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor::<false>)
    }
}

/// An identifier: a text, an integer that becomes a text, or null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaybeId<'a>(pub MaybeText<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for MaybeId<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor::<true>).map(MaybeId)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::read::lenient::diagnostics::{MemberLimits, begin, take_warnings};
    use crate::read::lenient::list::MaybeList;

    #[test]
    fn blank_texts_are_null_and_nul_is_removed() {
        let text = |json: &str| serde_json::from_str::<MaybeText<'_>>(json).unwrap().to_owned();
        assert_eq!(text("\" \\u3000\""), None);
        assert_eq!(text("\"a\\u0000b\""), Some("ab".into()));
        assert_eq!(text("7"), None);
        let list = serde_json::from_str::<MaybeList<MaybeText<'_>>>(r#"["a",null," ",3]"#).unwrap();
        assert_eq!(list.filter_map(MaybeText::to_owned), Some(vec!["a".to_string()]));
        take_warnings();
    }

    #[test]
    fn a_member_over_its_limit_is_null_and_a_warning() {
        begin(MemberLimits { array_elements_max: Some(2), text_bytes_max: Some(3) });
        let text = |json: &str| serde_json::from_str::<MaybeText<'_>>(json).unwrap().to_owned();
        assert_eq!((text("\"abc\""), text("\"abcd\"")), (Some("abc".into()), None));
        let length = |json: &str| {
            let list = serde_json::from_str::<MaybeList<MaybeText<'_>>>(json).unwrap();
            list.0.map(|list| list.len())
        };
        assert_eq!(length(r#"["a", "b", null]"#), Some(2));
        assert_eq!(length(r#"["a", "b", "c", "d"]"#), None);
        let expected = [("array_too_long", 1), ("text_too_long", 1)];
        assert_eq!(take_warnings().into_iter().collect::<Vec<_>>(), expected);
        begin(MemberLimits::default());
    }
}
