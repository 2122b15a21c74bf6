//! Escapes paths and foreign text, so that they stay on one line and cannot control a terminal.

use std::{fmt::Write, os::unix::ffi::OsStrExt, path::Path};

use pinakes_format::text::unseen::is_unseen;

/// Escapes control characters, backslashes and bytes that are not UTF-8 (as `\xff`) in a path.
pub fn escape_path(path: &Path) -> String {
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

/// Longest escaped foreign text, in characters.
const TEXT_CHARS_MAX: usize = 200;

/// Escapes one line of foreign text, such as a host's reply, and cuts it after 200 characters.
pub fn escape_text(text: &str) -> String {
    let mut start: String = text.chars().take(TEXT_CHARS_MAX).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    escape(&start, |_| false)
}

/// Escapes a message of several lines; line feeds stay.
pub fn escape_message(text: &str) -> String {
    escape(text, |character| character == '\n')
}

fn escape(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match is_unseen(character) && !is_kept(character) {
            true => escaped.extend(character.escape_default()),
            false => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn paths_are_escaped_onto_one_line() {
        for (bytes, expected) in [
            (&b"a b/\xc3\xa9.gz"[..], "a b/é.gz"),
            (b"a\nb", "a\\nb"),
            (b"a\\nb", "a\\\\nb"),
            (b"a\x1b[0m", "a\\u{1b}[0m"),
            (b"\xffx\xc3", "\\xffx\\xc3"),
        ] {
            assert_eq!(escape_path(Path::new(OsStr::from_bytes(bytes))), expected);
        }
    }

    #[test]
    fn foreign_text_is_cut_and_cannot_control_a_terminal() {
        let long = "é".repeat(201);
        for (text, expected) in [
            ("404 Not Found", "404 Not Found"),
            ("\x1b]0;title\x07\x1b[2J", "\\u{1b}]0;title\\u{7}\\u{1b}[2J"),
            ("a\r\nerror: b\u{9b}1m", "a\\r\\nerror: b\\u{9b}1m"),
            ("\u{202e}gnp.exe\u{2028}", "\\u{202e}gnp.exe\\u{2028}"),
            (&long, &format!("{}…", "é".repeat(200))),
        ] {
            assert_eq!(escape_text(text), expected);
        }
        assert_eq!(escape_message("a\n  b\x1b[0m"), "a\n  b\\u{1b}[0m");
    }
}
