//! The rows of a table in a part: comma, semicolon or tab between cells, quoted cells over any number
//! of lines, each row with its place and bounded like a line.

use std::collections::VecDeque;

use csv::StringRecord;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::{
    error::Result,
    lenient::warn,
    lines::{Line, Lines},
};

/// Reads a table row by row.
pub struct Rows {
    lines: Lines,
    /// Lines to be read again: those after one whose quote is never closed.
    held: VecDeque<HeldLine>,
    core: Reader,
    width: Option<usize>,
    row_bytes_max: usize,
}

/// One row.
pub struct Row {
    /// The number of its first line, from 1.
    pub number: u64,
    /// Where it begins in the uncompressed part.
    pub byte_offset: u64,
    /// Its bytes as they stand there; the first of them where it is too long.
    pub raw: Vec<u8>,
    /// Its cells, as many as the header has; or the code under which it is set aside.
    pub cells: std::result::Result<StringRecord, &'static str>,
}

#[derive(Clone)]
struct HeldLine {
    number: u64,
    byte_offset: u64,
    is_too_long: bool,
    bytes: Vec<u8>,
}

/// The cells of a row under way, as the parser lays them down.
#[derive(Default)]
struct Cells {
    text: Vec<u8>,
    text_bytes: usize,
    ends: Vec<usize>,
    count: usize,
}

/// What a held line takes beside its bytes, more or less.
const HELD_LINE_BYTES: usize = 64;

impl Rows {
    /// The rows of an opened part. A row over `row_bytes_max` is set aside.
    pub fn new(lines: Lines, row_bytes_max: usize) -> Rows {
        Rows { lines, held: VecDeque::new(), core: Reader::new(), width: None, row_bytes_max }
    }

    /// The next row that is not blank; the first is the header, which tells what stands between
    /// cells and how many there are. `None` at the end.
    ///
    /// # Errors
    ///
    /// Where the part is cut short or damaged.
    pub fn next_row(&mut self) -> Result<Option<Row>> {
        loop {
            let Some(first) = self.next_held()? else { return Ok(None) };
            if first.is_too_long {
                return Ok(Some(row(&first, Err("line_too_long"))));
            }
            if first.bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if self.width.is_none() {
                let delimiter = delimiter_of(&first.bytes);
                self.core = ReaderBuilder::new().delimiter(delimiter).build();
            }
            return self.finish_row(first).map(Some);
        }
    }

    /// Reads on from a row's first line until its last quote is closed.
    fn finish_row(&mut self, first: HeldLine) -> Result<Row> {
        self.core.reset();
        let mut cells = Cells::default();
        let mut bytes = first.bytes.len();
        let mut taken = vec![first];
        loop {
            if taken.last().is_some_and(|line| cells.feed(&mut self.core, &line.bytes)) {
                break;
            }
            let next = match bytes <= self.row_bytes_max {
                true => self.next_held()?.filter(|line| !line.is_too_long),
                false => None,
            };
            let Some(next) = next else {
                // The lines after it may be good rows: only its first is lost.
                let mut taken = taken.into_iter();
                let first = taken.next().map(|line| row(&line, Err("unclosed_quote")));
                for line in taken.rev() {
                    self.held.push_front(line);
                }
                return first
                    .ok_or_else(|| crate::error::Error::Internal("a row of no line".into()));
            };
            bytes += next.bytes.len() + HELD_LINE_BYTES;
            taken.push(next);
        }
        let cells = match cells.record() {
            None => Err("not_utf8"),
            Some(record) if self.width.is_some_and(|width| width != record.len()) => {
                Err("ragged_row")
            }
            Some(record) => Ok(record),
        };
        if let (None, Ok(header)) = (self.width, &cells) {
            self.width = Some(header.len());
            let repeats = |(at, name): (usize, &str)| header.iter().take(at).any(|of| of == name);
            if header.iter().enumerate().any(repeats) {
                warn("duplicate_column");
            }
        }
        let mut whole = row(&taken[0], cells);
        for line in &taken[1..] {
            whole.raw.push(b'\n');
            whole.raw.extend_from_slice(&line.bytes);
        }
        Ok(whole)
    }

    fn next_held(&mut self) -> Result<Option<HeldLine>> {
        if let Some(line) = self.held.pop_front() {
            return Ok(Some(line));
        }
        let line = self.lines.next_raw_line()?;
        Ok(line.map(|Line { number, byte_offset, bytes, is_too_long }| HeldLine {
            number,
            byte_offset,
            is_too_long,
            bytes: bytes.to_vec(),
        }))
    }

    /// Uncompressed bytes read so far.
    pub fn offset_bytes(&self) -> u64 {
        self.lines.offset_bytes()
    }
}

fn row(first: &HeldLine, cells: std::result::Result<StringRecord, &'static str>) -> Row {
    let HeldLine { number, byte_offset, bytes, .. } = first;
    let raw = bytes.strip_suffix(b"\r").unwrap_or(bytes).to_vec();
    Row { number: *number, byte_offset: *byte_offset, raw, cells }
}

/// What stands between the cells of a header: of comma, semicolon and tab the one it has most of.
pub fn delimiter_of(header: &[u8]) -> u8 {
    let count = |delimiter: &u8| header.iter().filter(|byte| *byte == delimiter).count();
    // Of equal counts the last stands, so the comma does where there is none of any.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

impl Cells {
    /// Takes one more line; whether the row ends with it.
    fn feed(&mut self, core: &mut Reader, line: &[u8]) -> bool {
        for mut input in [line, b"\n"] {
            loop {
                self.text.resize(self.text.len().max(self.text_bytes + input.len() + 16), 0);
                self.ends.resize(self.ends.len().max(self.count + 16), 0);
                let (result, read, wrote, ended) = core.read_record(
                    input,
                    &mut self.text[self.text_bytes..],
                    &mut self.ends[self.count..],
                );
                input = &input[read..];
                self.text_bytes += wrote;
                self.count += ended;
                match result {
                    ReadRecordResult::InputEmpty if input.is_empty() => break,
                    ReadRecordResult::Record | ReadRecordResult::End => return true,
                    _ => {}
                }
            }
        }
        false
    }

    /// The row; `None` where it is not UTF-8.
    fn record(&self) -> Option<StringRecord> {
        let text = std::str::from_utf8(&self.text[..self.text_bytes]).ok()?;
        let mut record = StringRecord::with_capacity(text.len(), self.count);
        let mut from = 0;
        for end in &self.ends[..self.count] {
            record.push_field(text.get(from..*end)?);
            from = *end;
        }
        Some(record)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::{lenient::take_warnings, reading::Reading};

    /// Each row's line, offset, and its cells or the code it is set aside under.
    fn rows(text: &[u8], row_bytes_max: usize) -> Vec<(u64, u64, String)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        let lines = Lines::open(file.path(), &Reading::default()).unwrap();
        let mut rows = Rows::new(lines, row_bytes_max);
        let mut found = Vec::new();
        while let Some(row) = rows.next_row().unwrap() {
            let shown = match row.cells {
                Ok(cells) => cells.iter().collect::<Vec<_>>().join("|"),
                Err(code) => code.to_string(),
            };
            found.push((row.number, row.byte_offset, shown));
        }
        found
    }

    #[test]
    fn rows_are_read_whatever_stands_between_their_cells() {
        let expected = [(1, 0, "a|b".to_string()), (2, 4, "1|2".to_string())];
        for text in ["a,b\n1,2\n", "a;b\n1;2\n", "a\tb\n1\t2\n", "a,b\n1,2", "a,b\n\"1\",2\n\n"] {
            assert_eq!(rows(text.as_bytes(), 1_000), expected, "{text:?}");
        }
        let quoted = rows(b"a,b\r\n\"1\r\n\r\n, \"\"x\"\"\",=cmd()\r\n3,5\" disk\r\n", 1_000);
        let expected = [(1, 0, "a|b"), (2, 5, "1\r\n\r\n, \"x\"|=cmd()"), (5, 28, "3|5\" disk")];
        assert_eq!(quoted, expected.map(|(line, at, cells)| (line, at, cells.to_string())));
        assert!(take_warnings().is_empty());
        rows(b"a,b,a\n", 1_000);
        assert_eq!(take_warnings().into_keys().collect::<Vec<_>>(), ["duplicate_column"]);
    }

    #[test]
    fn a_bad_row_costs_no_other() {
        let codes = |text: &[u8], max| {
            rows(text, max).into_iter().map(|(line, _, shown)| (line, shown)).collect::<Vec<_>>()
        };
        let shown = |rows: &[(u64, &str)]| {
            rows.iter().map(|(line, cells)| (*line, (*cells).to_string())).collect::<Vec<_>>()
        };
        let text = b"a,b\n1\n2,\"open\n3,4\n5,6,7\n\xff,8\n9,10\n";
        let expected = [
            (1, "a|b"),
            (2, "ragged_row"),
            (3, "unclosed_quote"),
            (4, "3|4"),
            (5, "ragged_row"),
            (6, "not_utf8"),
            (7, "9|10"),
        ];
        assert_eq!(codes(text, 1_000), shown(&expected));
        let mut long = b"a,b\n1,\"".to_vec();
        long.extend(std::iter::repeat_n(&b"x\n"[..], 1_000).flatten());
        long.extend(b"\",2\n3,4\n");
        let read = codes(&long, 10_000);
        assert_eq!(read[1], (2, "unclosed_quote".to_string()));
        assert_eq!(read[2], (3, "ragged_row".to_string()));
        assert_eq!(read.last(), Some(&(1_003, "3|4".to_string())));
    }
}
