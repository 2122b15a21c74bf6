//! Text of XML.

/// Appends a character of text or of an attribute. Returns whether XML can hold the character.
pub fn push(letter: char, out: &mut Vec<u8>) -> bool {
    match letter {
        '&' => out.extend_from_slice(b"&amp;"),
        '<' => out.extend_from_slice(b"&lt;"),
        '>' => out.extend_from_slice(b"&gt;"),
        '"' => out.extend_from_slice(b"&quot;"),
        '\t' | '\n' => out.push(letter as u8),
        '\0'..' ' | '\u{fffe}' | '\u{ffff}' => return false,
        _ => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
    }
    true
}

/// A text with a space in place of each character that XML cannot hold.
pub fn escaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    for letter in text.chars() {
        if !push(letter, &mut out) {
            out.push(b' ');
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_escaped_and_control_characters_become_spaces() {
        assert_eq!(escaped("a<b> & \"c\"\u{1}\n\u{fffe}é"), "a&lt;b&gt; &amp; &quot;c&quot; \n é");
    }
}
