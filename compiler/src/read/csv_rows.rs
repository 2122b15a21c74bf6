//! The rows of a CSV table: cells separated by comma, semicolon or tab. Quoted cells may span lines;
//! the line limit applies to a row.

use std::{collections::VecDeque, path::Path};

use csv::StringRecord;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::error::Result;
use crate::read::lenient::Diagnostics;
use crate::read::limits::ReadLimits;
use crate::read::lines::{Line, Lines};

/// Reads a table row by row.
///
/// After a quote that never closes, only the row's first line is bad: the reader puts the other
/// lines back and reads them again as rows. Example:
///
/// ```text
/// 1,"open     unclosed_quote
/// 2,3         read again, and good
/// ```
///
/// The line limit bounds the bytes that one open quote puts back.
pub struct CsvRows<'d> {
    diagnostics: &'d Diagnostics,
    lines: Lines<'d>,
    /// Lines that were put back, to be read before the part's next line.
    pending: VecDeque<PendingLine>,
    core: Reader,
    delimiter: Option<u8>,
    width: Option<usize>,
    row_bytes_max: usize,
}

pub struct CsvRow {
    /// The number of the row's first line, from 1.
    pub number: u64,
    /// The offset in the uncompressed part.
    pub byte_offset: u64,
    /// The row's bytes; of a row that is too long, only the beginning.
    pub raw: Vec<u8>,
    /// The cells, or the report code of a bad row.
    pub cells: std::result::Result<StringRecord, &'static str>,
}

/// A line, or the rest of a line in which a row has ended.
struct PendingLine {
    number: u64,
    byte_offset: u64,
    is_too_long: bool,
    bytes: Vec<u8>,
    /// The start of the rest in `bytes`.
    from: usize,
}

/// The output buffers of the CSV parser for one row.
#[derive(Default)]
struct RowCells {
    /// The text of all cells; the first `text_bytes` are in use.
    text: Vec<u8>,
    text_bytes: usize,
    /// The end of each cell in `text`; the first `count` are in use.
    ends: Vec<usize>,
    count: usize,
}

/// The outcome of feeding a line to the CSV parser.
enum LineOutcome {
    /// The row ended after this number of bytes of the line.
    RowEnded(usize),
    /// A quote is still open.
    QuoteOpen,
    /// The row has more than [`CELLS_MAX`] cells.
    TooManyCells,
}

/// The approximate memory of a pending line beside its bytes.
const PENDING_LINE_BYTES: usize = 64;
/// The largest number of cells in a row; real tables have tens.
const CELLS_MAX: usize = 1 << 14;

impl<'d> CsvRows<'d> {
    /// Opens a part and decodes UTF-16. Without a `delimiter`, the first row determines it.
    pub fn open(
        path: &Path,
        delimiter: Option<u8>,
        limits: &ReadLimits,
        diagnostics: &'d Diagnostics,
    ) -> Result<CsvRows<'d>> {
        let core = Reader::new();
        let lines = Lines::open_decoded(path, limits, diagnostics)?;
        let mut rows = CsvRows {
            diagnostics,
            lines,
            pending: VecDeque::new(),
            core,
            delimiter: None,
            width: None,
            row_bytes_max: limits.line_bytes_max,
        };
        if let Some(delimiter) = delimiter {
            rows.set_delimiter(delimiter);
        }
        Ok(rows)
    }

    fn set_delimiter(&mut self, delimiter: u8) {
        self.core = ReaderBuilder::new().delimiter(delimiter).build();
        self.delimiter = Some(delimiter);
    }

    /// Returns the next row as the header. A later row with another number of cells is ragged.
    pub fn header(&mut self) -> Result<Option<CsvRow>> {
        let row = self.next_row()?;
        if let Some(CsvRow { cells: Ok(header), .. }) = &row {
            self.width = Some(header.len());
            let repeats =
                |(at, name): (usize, &str)| header.iter().take(at).any(|other| other == name);
            if header.iter().enumerate().any(repeats) {
                self.diagnostics.warn("duplicate_column");
            }
        }
        Ok(row)
    }

    /// Returns the next row that is not blank; fails where the part is truncated or damaged.
    pub fn next_row(&mut self) -> Result<Option<CsvRow>> {
        loop {
            let Some(first) = self.next_pending()? else { return Ok(None) };
            self.diagnostics.at(first.number, first.byte_offset);
            if first.is_too_long {
                return Ok(Some(first.into_row("line_too_long")));
            }
            if first.text().iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if self.delimiter.is_none() {
                self.set_delimiter(detect_delimiter(first.text()));
            }
            let mut row = self.finish_row(first)?;
            if let Ok(cells) = &row.cells {
                if cells.iter().all(|cell| cell.trim().is_empty()) {
                    continue;
                }
                if self.width.is_some_and(|width| width != cells.len()) {
                    row.cells = Err("ragged_row");
                }
            }
            return Ok(Some(row));
        }
    }

    /// Reads lines from a row's first line until every quote is closed.
    fn finish_row(&mut self, first: PendingLine) -> Result<CsvRow> {
        self.core.reset();
        let mut cells = RowCells::default();
        let (number, byte_offset) = (first.number, first.byte_offset);
        let mut bytes = 0;
        let mut taken = Vec::new();
        let mut line = first;
        let used = loop {
            let outcome = cells.feed(&mut self.core, line.text());
            if let LineOutcome::RowEnded(used) = outcome {
                break used;
            }
            bytes += line.text().len() + PENDING_LINE_BYTES;
            taken.push(line);
            if matches!(outcome, LineOutcome::TooManyCells) {
                return self.put_back(taken, "ragged_row");
            }
            let next = if bytes <= self.row_bytes_max { self.next_pending()? } else { None };
            match next {
                Some(next) if !next.is_too_long => line = next,
                too_long => {
                    self.pending.extend(too_long);
                    return self.put_back(taken, "unclosed_quote");
                }
            }
        };
        let mut raw = Vec::new();
        for line in &taken {
            raw.extend_from_slice(line.text());
            raw.push(b'\n');
        }
        let last = &line.text()[..used];
        raw.extend_from_slice(last.strip_suffix(b"\r").unwrap_or(last));
        if used < line.text().len() {
            // A lone carriage return ended the row within the line.
            line.skip(used);
            self.pending.push_front(line);
        }
        Ok(CsvRow { number, byte_offset, raw, cells: cells.record().ok_or("not_utf8") })
    }

    /// Returns the first line as a bad row and puts the other lines back.
    fn put_back(&mut self, lines: Vec<PendingLine>, code: &'static str) -> Result<CsvRow> {
        let mut lines = lines.into_iter();
        let first = lines.next().map(|line| line.into_row(code));
        for line in lines.rev() {
            self.pending.push_front(line);
        }
        first.ok_or_else(|| crate::error::Error::Internal("a row without a line".into()))
    }

    fn next_pending(&mut self) -> Result<Option<PendingLine>> {
        if let Some(line) = self.pending.pop_front() {
            return Ok(Some(line));
        }
        let line = self.lines.next_raw_line()?;
        Ok(line.map(|Line { number, byte_offset, bytes, is_too_long }| PendingLine {
            number,
            byte_offset,
            is_too_long,
            bytes: bytes.to_vec(),
            from: 0,
        }))
    }

    /// The number of uncompressed bytes read so far.
    pub fn offset_bytes(&self) -> u64 {
        self.lines.offset_bytes()
    }
}

impl PendingLine {
    fn text(&self) -> &[u8] {
        &self.bytes[self.from..]
    }

    fn skip(&mut self, count: usize) {
        self.from += count;
        self.byte_offset += count as u64;
    }

    fn into_row(self, code: &'static str) -> CsvRow {
        let text = self.text();
        let raw = text.strip_suffix(b"\r").unwrap_or(text).to_vec();
        CsvRow { number: self.number, byte_offset: self.byte_offset, raw, cells: Err(code) }
    }
}

/// Detects the delimiter of a header: the most frequent of comma, semicolon and tab.
fn detect_delimiter(header: &[u8]) -> u8 {
    let count = |delimiter: &u8| header.iter().filter(|byte| *byte == delimiter).count();
    // `max_by_key` returns the last maximum, so the comma wins a tie.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

/// Reads a line as a row of a table; `None` if the line is no row.
pub fn first_record(line: &str) -> Option<StringRecord> {
    let line = line.as_bytes();
    let mut builder = csv::ReaderBuilder::new();
    let mut reader = builder.has_headers(false).delimiter(detect_delimiter(line)).from_reader(line);
    reader.records().next()?.ok()
}

impl RowCells {
    fn feed(&mut self, core: &mut Reader, line: &[u8]) -> LineOutcome {
        for mut input in [line, b"\n"] {
            // An empty input would tell the parser that the table ends.
            while !input.is_empty() {
                if self.count > CELLS_MAX {
                    return LineOutcome::TooManyCells;
                }
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
                if let ReadRecordResult::Record | ReadRecordResult::End = result {
                    return LineOutcome::RowEnded(line.len().saturating_sub(input.len()));
                }
            }
        }
        LineOutcome::QuoteOpen
    }

    /// The cells as a record; `None` where they are not UTF-8.
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
    use crate::read::limits::ReadLimits;

    /// The line number, offset, cells or report code, and bytes of each row.
    fn whole_rows(
        text: &[u8],
        delimiter: Option<u8>,
        row_bytes_max: usize,
        diagnostics: &Diagnostics,
    ) -> Vec<(u64, u64, String, String)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        let limits = ReadLimits { line_bytes_max: row_bytes_max, ..ReadLimits::default() };
        let mut rows = CsvRows::open(file.path(), delimiter, &limits, diagnostics).unwrap();
        let mut found = Vec::new();
        let mut next = rows.header().unwrap();
        while let Some(row) = next {
            let shown = match row.cells {
                Ok(cells) => cells.iter().collect::<Vec<_>>().join("|"),
                Err(code) => code.to_string(),
            };
            let raw = String::from_utf8_lossy(&row.raw).into_owned();
            found.push((row.number, row.byte_offset, shown, raw));
            next = rows.next_row().unwrap();
        }
        found
    }

    fn rows(text: &[u8], row_bytes_max: usize) -> Vec<(u64, u64, String)> {
        let diagnostics = Diagnostics::default();
        let rows = whole_rows(text, None, row_bytes_max, &diagnostics).into_iter();
        rows.map(|(line, at, shown, _)| (line, at, shown)).collect()
    }

    #[test]
    fn a_row_keeps_its_bytes_with_any_line_end() {
        let check = |text: &[u8], delimiter: Option<u8>, expected: &[(u64, u64, &str, &str)]| {
            let found = whole_rows(text, delimiter, 1_000, &Diagnostics::default());
            let found: Vec<(u64, u64, &str, &str)> =
                found.iter().map(|(line, at, cells, raw)| (*line, *at, &**cells, &**raw)).collect();
            assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(text));
        };
        let text = b"\xef\xbb\xbfa;b\r\n\r\n\"1;\"\"2\n\nx\" ; y\n;;\n ; \n3;4";
        let quoted = "1;\"2\n\nx | y";
        let expected =
            [(1, 0, "a|b", "a;b"), (3, 10, quoted, "\"1;\"\"2\n\nx\" ; y"), (8, 32, "3|4", "3;4")];
        check(text, None, &expected);
        check(text, Some(b';'), &expected);
        check(b"a;b\n1;2", Some(b','), &[(1, 0, "a;b", "a;b"), (2, 4, "1;2", "1;2")]);
        let returns = b"a,b\r1,2\r\"3\r\",4";
        let expected = [(1, 0, "a|b", "a,b"), (1, 4, "1|2", "1,2"), (1, 8, "3\r|4", "\"3\r\",4")];
        check(returns, None, &expected);
        check(b"\n\n,,\n", None, &[]);
        let many = vec![b','; CELLS_MAX + 2];
        assert_eq!(rows(&many, 1 << 20), [(1, 0, "ragged_row".to_string())]);
    }

    #[test]
    fn rows_are_read_with_any_delimiter() {
        let expected = [(1, 0, "a|b".to_string()), (2, 4, "1|2".to_string())];
        for text in ["a,b\n1,2\n", "a;b\n1;2\n", "a\tb\n1\t2\n", "a,b\n1,2", "a,b\n\"1\",2\n\n"] {
            assert_eq!(rows(text.as_bytes(), 1_000), expected, "{text:?}");
        }
        let quoted = rows(b"a,b\r\n\"1\r\n\r\n, \"\"x\"\"\",=cmd()\r\n3,5\" disk\r\n", 1_000);
        let expected = [(1, 0, "a|b"), (2, 5, "1\r\n\r\n, \"x\"|=cmd()"), (5, 28, "3|5\" disk")];
        assert_eq!(quoted, expected.map(|(line, at, cells)| (line, at, cells.to_string())));
        for (header, warnings) in
            [("a,b\n", [].into()), ("a,b,a\n", [("duplicate_column", 1)].into())]
        {
            let diagnostics = Diagnostics::default();
            whole_rows(header.as_bytes(), None, 1_000, &diagnostics);
            assert_eq!(diagnostics.counts(), warnings, "{header}");
        }
    }

    #[test]
    fn a_bad_row_does_not_affect_other_rows() {
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
        let mut swallowed = b"a,b\n1,\"open\n".to_vec();
        swallowed.extend(std::iter::repeat_n(b'x', 101));
        swallowed.extend(b"\n3,4\n");
        let expected = [(1, "a|b"), (2, "unclosed_quote"), (3, "line_too_long"), (4, "3|4")];
        assert_eq!(codes(&swallowed, 100), shown(&expected));
    }
}
