//! Paths and texts of others as they are shown: on one line, and nothing that a terminal takes for an order.

use std::{fmt::Write, os::unix::ffi::OsStrExt, path::Path};

/// A path as text: control characters and backslashes escaped, bytes that are not UTF-8 as `\xff`.
pub fn shown(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            match character.is_control() || character == '\\' {
                true => text.extend(character.escape_default()),
                false => text.push(character),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// The most characters that are shown of a text of others.
const TEXT_CHARS_MAX: usize = 200;

/// A text that others wrote, as a host's, on one line: what a terminal takes for an order is escaped, and it is
/// cut where it is long.
pub fn shown_text(text: &str) -> String {
    let mut shown: String = text.chars().take(TEXT_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    escaped(&shown, |_| false)
}

/// A message of several lines as it reaches a terminal, whoever's words are in it.
pub fn shown_message(text: &str) -> String {
    escaped(text, |character| character == '\n')
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match is_order(character) && !is_kept(character) {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown
}

/// Whether a character does something to a terminal in place of being seen: controls of either set, and
/// those that turn the direction of writing, part lines or take no room.
fn is_order(character: char) -> bool {
    let is_unseen = |character| {
        matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    character.is_control() || is_unseen(character)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_path_is_one_line_and_none_other() {
        for (bytes, expected) in [
            (&b"a b/\xc3\xa9.gz"[..], "a b/é.gz"),
            (b"a\nb", "a\\nb"),
            (b"a\\nb", "a\\\\nb"),
            (b"a\x1b[0m", "a\\u{1b}[0m"),
            (b"\xffx\xc3", "\\xffx\\xc3"),
        ] {
            assert_eq!(shown(Path::new(OsStr::from_bytes(bytes))), expected);
        }
    }

    #[test]
    fn a_text_of_others_is_one_line_and_orders_nothing() {
        let long = "é".repeat(201);
        for (text, expected) in [
            ("404 Not Found", "404 Not Found"),
            ("\x1b]0;title\x07\x1b[2J", "\\u{1b}]0;title\\u{7}\\u{1b}[2J"),
            ("a\r\nerror: b\u{9b}1m", "a\\r\\nerror: b\\u{9b}1m"),
            ("\u{202e}gnp.exe\u{2028}", "\\u{202e}gnp.exe\\u{2028}"),
            (&long, &format!("{}…", "é".repeat(200))),
        ] {
            assert_eq!(shown_text(text), expected);
        }
        assert_eq!(shown_message("a\n  b\x1b[0m"), "a\n  b\\u{1b}[0m");
    }
}
