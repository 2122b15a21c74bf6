//! Request paths: split into segments, decoded once, never normalised.

use std::{borrow::Cow, ops::Deref};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str};
use pinakes_format::text::unseen::is_unseen;

use crate::reply::truncate;

/// Longest request target; the server replies 414 to longer ones.
pub const URI_BYTES_MAX: usize = 16_384;
/// Most segments of a path; no route has more.
pub const SEGMENTS_MAX: usize = 4;
/// Characters that no URI contains, and that end a URI in a header.
pub const OUTSIDE_URI: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');
/// Bytes of an identifier that a message repeats.
const ECHO_BYTES_MAX: usize = 64;
/// Bytes of a path that a message repeats.
const PATH_ECHO_BYTES_MAX: usize = 256;

/// The segments of a path.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    parts: [&'a str; SEGMENTS_MAX],
    count: usize,
}

impl<'a> Deref for Segments<'a> {
    type Target = [&'a str];

    fn deref(&self) -> &[&'a str] {
        &self.parts[..self.count]
    }
}

/// One or several segments of a path, as a byte range of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    from: usize,
    to: usize,
}

impl Segment {
    /// The segment with this index, from 0; empty if there is none.
    pub fn nth_in(path: &str, index: usize) -> Segment {
        let mut from = 1;
        for (at, part) in path.strip_prefix('/').unwrap_or_default().split('/').enumerate() {
            if at == index {
                return Segment { from, to: from + part.len() };
            }
            from += part.len() + 1;
        }
        Segment::default()
    }

    /// The path from this byte on, without a trailing slash.
    pub fn rest_of(path: &str, from: usize) -> Segment {
        let to = path.strip_suffix('/').unwrap_or(path).len();
        Segment { from: from.min(to), to }
    }

    /// The segment's text in its path.
    pub fn text_in(self, path: &str) -> &str {
        path.get(self.from..self.to).unwrap_or_default()
    }
}

/// Splits a path into segments; a trailing slash is ignored.
///
/// `None` if a segment is empty or there are more than [`SEGMENTS_MAX`]: no route has such a path.
pub fn segments(path: &str) -> Option<Segments<'_>> {
    let mut segments = Segments { parts: [""; SEGMENTS_MAX], count: 0 };
    let inner = path.strip_prefix('/')?;
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    if inner.is_empty() {
        return (path == "/").then_some(segments);
    }
    for part in inner.split('/') {
        if part.is_empty() {
            return None;
        }
        *segments.parts.get_mut(segments.count)? = part;
        segments.count += 1;
    }
    Some(segments)
}

/// Percent-decodes a segment once; `None` if an escape is malformed or the bytes are not UTF-8.
pub fn decode(text: &str) -> Option<Cow<'_, str>> {
    let bytes = text.as_bytes();
    let is_hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let is_valid = bytes
        .iter()
        .enumerate()
        .all(|(at, byte)| *byte != b'%' || (is_hex(at + 1) && is_hex(at + 2)));
    if !is_valid {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok()
}

/// An identifier as messages repeat it: decoded if printable and short, else as sent and truncated.
pub fn echo(raw: &str) -> String {
    match decode(raw) {
        Some(decoded) if decoded.len() <= ECHO_BYTES_MAX && !decoded.chars().any(is_unseen) => {
            decoded.into_owned()
        }
        _ => truncate(raw, ECHO_BYTES_MAX),
    }
}

/// A path as messages repeat it.
pub fn echo_path(path: &str) -> String {
    truncate(path, PATH_ECHO_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_and_never_normalised() {
        let check = |path: &str, expected: Option<Vec<&str>>| {
            let found = segments(path).map(|found| found.to_vec());
            assert_eq!(found, expected, "{path}");
            for (at, part) in expected.unwrap_or_default().iter().enumerate() {
                assert_eq!(Segment::nth_in(path, at).text_in(path), *part, "{path}");
            }
        };
        check("/", Some(vec![]));
        check("/authors", Some(vec!["authors"]));
        check("/authors/", Some(vec!["authors"]));
        check("/authors/HX_A1/", Some(vec!["authors", "HX_A1"]));
        check("/authors/./HX_A1", Some(vec!["authors", ".", "HX_A1"]));
        check("/1/2/3/4", Some(vec!["1", "2", "3", "4"]));
        check("/1/2/3/4/5", None);
        check("//authors", None);
        check("/authors//", None);
        check("authors", None);
    }

    #[test]
    fn an_id_is_decoded_once_and_repeated_safely() {
        assert_eq!(decode("HX%5FA1").as_deref(), Some("HX_A1"));
        assert_eq!(decode("HX%255FA1").as_deref(), Some("HX%5FA1"));
        for broken in ["%zz", "%", "%4", "%ff%fe", "%C0%AF"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
        assert_eq!(echo("HX%5FA1"), "HX_A1");
        assert_eq!(echo("HX_A1%00"), "HX_A1%00");
        assert_eq!(echo("HX_A1%E2%80%AE"), "HX_A1%E2%80%AE");
        assert_eq!(echo(&"a".repeat(65)), format!("{}…", "a".repeat(64)));
    }
}
