//! Parses strict JSON text into [`Value`] and rejects the same text as the compiler must reject.
//!
//! The parser is written by hand because a common parser hides three rules:
//!
//! - a repeated key is an error at any depth, in used and in ignored members;
//! - a number becomes exactly the nearest double;
//! - NUL is removed from every text.

use serde_json::{Map, Number, Value};

/// Deepest accepted nesting of lists and objects.
pub const DEPTH_MAX: usize = 127;

/// Parses one JSON value that only white space may follow.
///
/// # Errors
///
/// Says at which byte the text stops being JSON.
pub fn parse(text: &str) -> Result<Value, String> {
    let mut reader = Reader { bytes: text.as_bytes(), text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < reader.bytes.len() {
        return Err(format!("something after the value at byte {}", reader.at));
    }
    Ok(value)
}

/// Parses a JSON number literal; `None` if `text` is anything else or exceeds the doubles.
pub fn parse_number(text: &str) -> Option<Number> {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let exponent_digits = exponent.map(|e| e.strip_prefix(['+', '-']).unwrap_or(e));
    let well_formed = digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent_digits.is_none_or(digits);
    if !well_formed {
        return None;
    }
    if fraction.is_none() && exponent.is_none() {
        if let Ok(number) = text.parse::<u64>() {
            return Some(number.into());
        }
        if let Ok(number) = text.parse::<i64>() {
            return Some(number.into());
        }
    }
    Number::from_f64(text.parse().ok()?)
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn wrong(&self, expected: &str) -> String {
        format!("expected {expected} at byte {}", self.at)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        self.skip_space();
        match self.bytes.get(self.at) {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.list(depth + 1),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, String> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.wrong(word));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        while matches!(
            self.bytes.get(self.at),
            Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
        ) {
            self.at += 1;
        }
        parse_number(&self.text[start..self.at])
            .map(Value::Number)
            .ok_or_else(|| format!("expected a value at byte {start}"))
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return Err(format!("nested deeper than {DEPTH_MAX}"));
        }
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.skip_space();
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            if !self.take(b',') {
                return Err(self.wrong("`,` or `]`"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return Err(format!("nested deeper than {DEPTH_MAX}"));
        }
        self.at += 1;
        let mut members = Map::new();
        self.skip_space();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.skip_space();
            let key = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return Err(self.wrong("`:`"));
            }
            let value = self.value(depth)?;
            if members.insert(key, value).is_some() {
                return Err(self.wrong("no repeated key"));
            }
            self.skip_space();
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.take(b',') {
                return Err(self.wrong("`,` or `}`"));
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        if !self.take(b'"') {
            return Err(self.wrong("`\"`"));
        }
        let mut text = String::new();
        loop {
            let start = self.at;
            while !matches!(self.bytes.get(self.at), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            text.push_str(&self.text[start..self.at]);
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    let escaped = self.escape()?;
                    if escaped != '\0' {
                        text.push(escaped);
                    }
                }
                _ => return Err(self.wrong("the end of a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let letter = self.bytes.get(self.at).copied();
        self.at += 1;
        Ok(match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.four_hex()?;
                let code = if (0xd800..0xdc00).contains(&first) {
                    if !(self.take(b'\\') && self.take(b'u')) {
                        return Err(self.wrong("the second half of a surrogate pair"));
                    }
                    let second = self.four_hex()?;
                    if !(0xdc00..0xe000).contains(&second) {
                        return Err(self.wrong("the second half of a surrogate pair"));
                    }
                    0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                } else {
                    first
                };
                char::from_u32(code).ok_or_else(|| self.wrong("no lone surrogate"))?
            }
            _ => return Err(self.wrong("an escape")),
        })
    }

    fn four_hex(&mut self) -> Result<u32, String> {
        let digits = self
            .bytes
            .get(self.at..self.at + 4)
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .ok_or_else(|| self.wrong("four hex digits"))?;
        self.at += 4;
        Ok(digits
            .iter()
            .fold(0, |code, digit| code * 16 + char::from(*digit).to_digit(16).unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_parsed_and_written_unchanged() {
        for text in [
            "null",
            "true",
            "[]",
            "{}",
            "[1,-2,0.5,1e-7]",
            r#"{"b":1,"a":[{"é":"\n\"\\"}]}"#,
            "0.23931623931623933",
            "18446744073709551615",
        ] {
            let value = parse(text).expect(text);
            assert_eq!(value.to_string(), text);
        }
        assert_eq!(parse(r#""a\u0000b\ud83d\ude00""#), Ok("ab😀".into()));
    }

    #[test]
    fn text_that_is_not_json_is_rejected() {
        for text in [
            "",
            "nul",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "+1",
            "1.",
            ".5",
            "NaN",
            "Infinity",
            "1e400",
            "1 2",
            "\u{feff}{}",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"a\u{1}\"",
            "\"open",
            "{\"a\":1,\"a\":1}",
            "{\"x\":{\"a\":1,\"a\":2}}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(&nested(DEPTH_MAX)).is_ok());
        assert!(parse(&nested(100_000)).is_err());
    }
}
