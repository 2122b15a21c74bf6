//! Text members.

use std::{borrow::Cow, fmt};

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::read::lenient::columnar::{ColumnarValue, Scalar, Wanted};
use crate::read::lenient::diagnostics::Diagnostics;
use crate::read::lenient::seed::{Lenient, drain};

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
pub(crate) fn clean<'a>(text: Cow<'a, str>, diagnostics: &Diagnostics) -> MaybeText<'a> {
    // Nearly every text begins with a letter of ASCII.
    if !text.starts_with(|first: char| first.is_ascii_graphic()) && text.trim_start().is_empty() {
        return MaybeText(None);
    }
    if is_too_long(text.len() as u64, diagnostics) {
        return MaybeText(None);
    }
    // No early exit: the compiler turns the loop into vector instructions.
    if text.bytes().fold(false, |found, byte| found | (byte == 0)) {
        diagnostics.warn("nul_removed");
        return clean(Cow::Owned(text.replace('\0', "")), diagnostics);
    }
    MaybeText(Some(text))
}

/// Whether a text of `bytes` is over the limit, which is a warning.
pub(crate) fn is_too_long(bytes: u64, diagnostics: &Diagnostics) -> bool {
    let is_too_long = diagnostics.limits().text_bytes_max.is_some_and(|max| bytes > max);
    if is_too_long {
        diagnostics.warn("text_too_long");
    }
    is_too_long
}

struct TextVisitor<'d, const NUMBERS: bool> {
    diagnostics: &'d Diagnostics,
}

impl<'de, const NUMBERS: bool> Visitor<'de> for TextVisitor<'_, NUMBERS> {
    type Value = MaybeText<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(clean(Cow::Borrowed(text), self.diagnostics))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(clean(Cow::Owned(text.to_owned()), self.diagnostics))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        self.number(number)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        self.number(number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        self.diagnostics.warn("not_a_text");
        Ok(MaybeText(None))
    }

    drain!(bool "not_a_text");
    drain!(null);
    drain!("not_a_text");
}

impl<const NUMBERS: bool> TextVisitor<'_, NUMBERS> {
    /// The text of a scalar; `None` for [`Scalar::Other`].
    fn scalar<'de>(self, scalar: Scalar<'de>) -> Option<MaybeText<'de>> {
        match scalar {
            Scalar::Null => Some(MaybeText(None)),
            Scalar::Text(text) => Some(clean(Cow::Borrowed(text), self.diagnostics)),
            Scalar::Integer(number) if NUMBERS => {
                Some(MaybeText(Some(Cow::Owned(number.to_string()))))
            }
            Scalar::Integer(_) | Scalar::Fraction(_) | Scalar::Bool(_) => {
                self.diagnostics.warn("not_a_text");
                Some(MaybeText(None))
            }
            Scalar::Other => None,
        }
    }

    fn number<'de, E>(self, number: impl fmt::Display) -> Result<MaybeText<'de>, E> {
        if NUMBERS {
            return Ok(MaybeText(Some(Cow::Owned(number.to_string()))));
        }
        self.diagnostics.warn("not_a_text");
        Ok(MaybeText(None))
    }
}

impl<'a> Lenient<'a> for MaybeText<'a> {
    const WANTED: Wanted = Wanted::Scalar;

    fn read<D: Deserializer<'a>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor::<false> { diagnostics })
    }

    fn read_columnar<V: ColumnarValue<'a>>(
        value: V,
        diagnostics: &Diagnostics,
    ) -> Result<Self, V::Error> {
        let text = TextVisitor::<false> { diagnostics }.scalar(value.scalar()?);
        text.map_or_else(|| Self::read(value, diagnostics), Ok)
    }
}

/// An identifier: a text, an integer that becomes a text, or null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaybeId<'a>(pub MaybeText<'a>);

impl<'a> Lenient<'a> for MaybeId<'a> {
    const WANTED: Wanted = Wanted::Scalar;

    fn read<D: Deserializer<'a>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor::<true> { diagnostics }).map(MaybeId)
    }

    fn read_columnar<V: ColumnarValue<'a>>(
        value: V,
        diagnostics: &Diagnostics,
    ) -> Result<Self, V::Error> {
        let id = MaybeId::from_scalar(value.scalar()?, diagnostics);
        id.map_or_else(|| Self::read(value, diagnostics), Ok)
    }
}

impl<'a> MaybeId<'a> {
    /// The id of a scalar; `None` for [`Scalar::Other`].
    pub(crate) fn from_scalar(
        scalar: Scalar<'a>,
        diagnostics: &Diagnostics,
    ) -> Option<MaybeId<'a>> {
        TextVisitor::<true> { diagnostics }.scalar(scalar).map(MaybeId)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::read::lenient::list::MaybeList;
    use crate::read::limits::{MemberLimits, ReadLimits};

    fn text(json: &str, diagnostics: &Diagnostics) -> Option<String> {
        let mut json = serde_json::Deserializer::from_str(json);
        MaybeText::read(&mut json, diagnostics).unwrap().to_owned()
    }

    fn texts(json: &str, diagnostics: &Diagnostics) -> Option<Vec<String>> {
        let mut json = serde_json::Deserializer::from_str(json);
        let list = MaybeList::<MaybeText<'_>>::read(&mut json, diagnostics).unwrap();
        list.filter_map(MaybeText::to_owned)
    }

    #[test]
    fn blank_texts_are_null_and_nul_is_removed() {
        let diagnostics = Diagnostics::default();
        assert_eq!(text("\" \\u3000\"", &diagnostics), None);
        assert_eq!(text("\"a\\u0000b\"", &diagnostics), Some("ab".into()));
        assert_eq!(text("7", &diagnostics), None);
        let list = texts(r#"["a",null," ",3]"#, &diagnostics);
        assert_eq!(list, Some(vec!["a".to_string()]));
        assert_eq!(diagnostics.counts(), [("not_a_text", 2), ("nul_removed", 1)].into());
    }

    #[test]
    fn a_member_over_its_limit_is_null_and_a_warning() {
        let members = MemberLimits { array_elements_max: Some(2), text_bytes_max: Some(3) };
        let diagnostics = Diagnostics::new(&ReadLimits { members, ..ReadLimits::default() });
        assert_eq!(text("\"abc\"", &diagnostics), Some("abc".into()));
        assert_eq!(text("\"abcd\"", &diagnostics), None);
        let length = |json: &str| texts(json, &diagnostics).map(|list| list.len());
        assert_eq!(length(r#"["a", "b", null]"#), Some(2));
        assert_eq!(length(r#"["a", "b", "c", "d"]"#), None);
        assert_eq!(diagnostics.counts(), [("array_too_long", 1), ("text_too_long", 1)].into());
    }
}
