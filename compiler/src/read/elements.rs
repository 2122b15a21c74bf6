//! The elements of a part that is JSON lines or one JSON array. Memory holds one element.

use std::io;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::read::lenient::Diagnostics;
use crate::read::limits::ReadLimits;
use crate::read::lines::container::PartReader;
use crate::read::lines::{Line, Lines, RAW_BYTES_MAX};

const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

pub enum Elements<'d> {
    /// One object per line.
    Lines(Lines<'d>),
    /// One array of objects.
    Array(ArrayReader<'d>),
}

impl<'d> Elements<'d> {
    /// Opens a part and decodes UTF-16. A part whose first character is `[` is an array.
    pub fn open(
        path: &Path,
        limits: &ReadLimits,
        diagnostics: &'d Diagnostics,
    ) -> Result<Elements<'d>> {
        let mut array = ArrayReader {
            path: path.to_path_buf(),
            diagnostics,
            reader: Lines::open_decoded(path, limits, diagnostics)?.into_reader()?,
            buffer: Vec::new(),
            line: 1,
            offset_bytes: 0,
            element_bytes_max: limits.line_bytes_max,
        };
        let is_array = array.open_array().map_err(|error| array.damaged(&error.to_string()))?;
        Ok(match is_array {
            true => Elements::Array(array),
            false => Elements::Lines(Lines::open_decoded(path, limits, diagnostics)?),
        })
    }

    pub fn is_array(&self) -> bool {
        matches!(self, Elements::Array(_))
    }

    /// Returns the next element as a line; fails where the part is truncated or damaged.
    pub fn next_element(&mut self) -> Result<Option<Line<'_>>> {
        match self {
            Elements::Lines(lines) => lines.next_line(),
            Elements::Array(array) => array.next_element(),
        }
    }
}

/// Splits an array into elements by its brackets and strings, without parsing the elements.
pub struct ArrayReader<'d> {
    path: PathBuf,
    diagnostics: &'d Diagnostics,
    reader: PartReader<'d>,
    buffer: Vec<u8>,
    line: u64,
    offset_bytes: u64,
    element_bytes_max: usize,
}

impl ArrayReader<'_> {
    /// Consumes the opening bracket; returns whether there is one.
    fn open_array(&mut self) -> io::Result<bool> {
        if self.reader.fill_buf()?.starts_with(&BOM) {
            self.consume(BOM.len());
        }
        let is_array = self.peek_non_blank()? == Some(b'[');
        if is_array {
            self.consume(1);
        }
        Ok(is_array)
    }

    fn consume(&mut self, count: usize) {
        let taken = self.reader.buffer().get(..count).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', taken).count() as u64;
        self.reader.consume(count);
        self.offset_bytes += count as u64;
    }

    /// Skips white space and returns the next byte without consuming it.
    fn peek_non_blank(&mut self) -> io::Result<Option<u8>> {
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() {
                return Ok(None);
            }
            let blank = available.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let next = available.get(blank).copied();
            self.consume(blank);
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    fn next_element(&mut self) -> Result<Option<Line<'_>>> {
        match self.fill() {
            Err(error) => Err(self.damaged(&error.to_string())),
            Ok(FillOutcome::End) => Ok(None),
            Ok(FillOutcome::Truncated) => Err(self.damaged("its array does not end")),
            Ok(FillOutcome::Element { number, byte_offset, is_kept }) => {
                let (bytes, is_too_long) = (&*self.buffer, !is_kept);
                self.diagnostics.at(number, byte_offset);
                Ok(Some(Line { number, byte_offset, bytes, is_too_long }))
            }
        }
    }

    fn fill(&mut self) -> io::Result<FillOutcome> {
        // A comma too many is passed over, as the comma between elements.
        while self.peek_non_blank()? == Some(b',') {
            self.consume(1);
        }
        match self.peek_non_blank()? {
            None => return Ok(FillOutcome::Truncated),
            Some(b']') => return Ok(FillOutcome::End),
            Some(_) => {}
        }
        self.buffer.clear();
        let (number, byte_offset) = (self.line, self.offset_bytes);
        let mut is_kept = true;
        let mut scan = ElementScan::default();
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() {
                return Ok(FillOutcome::Truncated);
            }
            let end = available.iter().position(|byte| scan.ends_before(*byte));
            let piece = &available[..end.unwrap_or(available.len())];
            if is_kept && self.buffer.len() + piece.len() <= self.element_bytes_max {
                self.buffer.extend_from_slice(piece);
            } else {
                // The quarantine shows the beginning of an element that is too long; the memory of the rest is given
                // back.
                is_kept = false;
                self.buffer.truncate(RAW_BYTES_MAX);
                self.buffer.shrink_to(RAW_BYTES_MAX);
            }
            let count = piece.len();
            self.consume(count);
            if end.is_some() {
                let trimmed = self.buffer.trim_ascii_end().len();
                self.buffer.truncate(trimmed);
                return Ok(FillOutcome::Element { number, byte_offset, is_kept });
            }
        }
    }

    fn damaged(&self, reason: &str) -> Error {
        let at = self.offset_bytes;
        let reason = format!("{reason}, after {at} uncompressed bytes; fetch it again");
        Error::Damaged { path: self.path.clone(), reason }
    }
}

/// The outcome of [`ArrayReader::fill`].
enum FillOutcome {
    Element { number: u64, byte_offset: u64, is_kept: bool },
    End,
    Truncated,
}

/// The state of the scan for the end of an element.
#[derive(Default)]
struct ElementScan {
    depth: u64,
    is_in_string: bool,
    is_escaped: bool,
}

impl ElementScan {
    /// Feeds the next byte; returns whether the element ended before it.
    fn ends_before(&mut self, byte: u8) -> bool {
        if self.is_in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.is_in_string = true,
            b'{' | b'[' => self.depth += 1,
            b',' | b']' | b'}' if self.depth == 0 => return true,
            b']' | b'}' => self.depth -= 1,
            _ => {}
        }
        false
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    fn elements(bytes: &[u8]) -> Result<Vec<(u64, u64, Option<String>)>> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let diagnostics = Diagnostics::default();
        let mut elements =
            Elements::open(file.path(), &ReadLimits::default(), &diagnostics).unwrap();
        let mut found = Vec::new();
        while let Some(line) = elements.next_element()? {
            let text = (!line.is_too_long).then(|| String::from_utf8(line.bytes.to_vec()).unwrap());
            found.push((line.number, line.byte_offset, text));
        }
        Ok(found)
    }

    #[test]
    fn an_array_and_lines_have_the_same_elements() {
        let expected =
            vec![(1, 0, Some(r#"{"a":"]}\","}"#.into())), (2, 14, Some("[1,[2]]".into()))];
        assert_eq!(elements(b"{\"a\":\"]}\\\",\"}\n[1,[2]]\n").unwrap(), expected);
        let array = b"\xef\xbb\xbf [{\"a\":\"]}\\\",\"} ,\n [1,[2]]\n,7 \n]\n";
        let found = elements(array).unwrap();
        let expected = [(1, r#"{"a":"]}\","}"#), (2, "[1,[2]]"), (3, "7")];
        assert_eq!(found.len(), expected.len());
        for ((line, from, text), (expected_line, expected)) in found.iter().zip(expected) {
            assert_eq!((*line, text.as_deref()), (expected_line, Some(expected)));
            assert!(array[usize::try_from(*from).unwrap()..].starts_with(expected.as_bytes()));
        }
        assert_eq!(elements(b"[]").unwrap(), []);
        assert_eq!(elements(b"").unwrap(), []);
    }

    #[test]
    fn a_truncated_array_is_damaged_and_a_huge_element_is_skipped() {
        for cut in ["[", "[{\"a\":1}", "[{\"a\":1},", "[{\"a\":"] {
            assert_eq!(elements(cut.as_bytes()).unwrap_err().exit_code(), 5, "{cut}");
        }
        let mut bytes = b"[\"".to_vec();
        bytes.resize(crate::read::limits::LINE_BYTES_MAX + 10, b'x');
        bytes.extend_from_slice(b"\",{}]");
        let found = elements(&bytes).unwrap();
        assert_eq!(found[0], (1, 1, None));
        assert_eq!(found[1].2.as_deref(), Some("{}"));
    }
}
