//! Text members.

use std::borrow::Cow;

use crate::read::lenient::columnar::Wanted;
use crate::read::lenient::diagnostics::Diagnostics;
use crate::read::lenient::seed::Lenient;

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

impl<'a> Lenient<'a> for MaybeText<'a> {
    const WANTED: Wanted = Wanted::Scalar;

    fn other(diagnostics: &Diagnostics) -> MaybeText<'a> {
        diagnostics.warn("not_a_text");
        MaybeText(None)
    }

    fn of_text(text: &str, diagnostics: &Diagnostics) -> MaybeText<'a> {
        clean(Cow::Owned(text.to_owned()), diagnostics)
    }

    fn of_borrowed(text: &'a str, diagnostics: &Diagnostics) -> MaybeText<'a> {
        clean(Cow::Borrowed(text), diagnostics)
    }
}

/// An identifier: a text, an integer that becomes a text, or null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaybeId<'a>(pub MaybeText<'a>);

impl<'a> Lenient<'a> for MaybeId<'a> {
    const WANTED: Wanted = Wanted::Scalar;

    fn other(diagnostics: &Diagnostics) -> MaybeId<'a> {
        MaybeId(MaybeText::other(diagnostics))
    }

    fn of_integer(integer: i64, _: &Diagnostics) -> MaybeId<'a> {
        MaybeId(MaybeText(Some(Cow::Owned(integer.to_string()))))
    }

    fn of_huge(integer: u64, _: &Diagnostics) -> MaybeId<'a> {
        MaybeId(MaybeText(Some(Cow::Owned(integer.to_string()))))
    }

    fn of_text(text: &str, diagnostics: &Diagnostics) -> MaybeId<'a> {
        MaybeId(MaybeText::of_text(text, diagnostics))
    }

    fn of_borrowed(text: &'a str, diagnostics: &Diagnostics) -> MaybeId<'a> {
        MaybeId(MaybeText::of_borrowed(text, diagnostics))
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
