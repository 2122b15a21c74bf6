//! Paths as they are shown: on one line, and every one told from every other.

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
}
