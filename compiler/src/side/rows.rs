//! The rows of a table in a part, bounded in memory, each with its place.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use csv_core::ReadRecordResult;

use crate::{
    error::{Error, Result},
    lines::Lines,
    reading::Reading,
};

/// The most cells a row may have; lists have some tens.
const CELLS_MAX: usize = 1 << 14;
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Reads a table row by row. A quote that is never closed costs the lines it swallows, at most
/// as many bytes as a line may have, and reading goes on at the next line.
pub struct Rows {
    path: PathBuf,
    reader: BufReader<Box<dyn Read + Send>>,
    core: csv_core::Reader,
    delimiter: u8,
    text: Vec<u8>,
    ends: Vec<usize>,
    line: u64,
    offset_bytes: u64,
    row_bytes_max: u64,
}

/// One row.
pub struct Row<'a> {
    /// The number of the line it begins in, from 1.
    pub number: u64,
    /// Where it begins in the uncompressed part.
    pub byte_offset: u64,
    /// Its cells, or the code of what is wrong with it.
    pub cells: std::result::Result<Cells<'a>, &'static str>,
    /// What could be read of it, cells apart by the delimiter, for the list of bad records.
    pub excerpt: Vec<u8>,
}

/// The cells of a row.
#[derive(Clone, Copy)]
pub struct Cells<'a> {
    text: &'a str,
    ends: &'a [usize],
}

impl<'a> Cells<'a> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The cell at a place, without the white space around it; blank where there is none.
    pub fn get(&self, at: usize) -> &'a str {
        let from = if at == 0 { Some(0) } else { self.ends.get(at - 1).copied() };
        let range = from.zip(self.ends.get(at).copied());
        range.and_then(|(from, to)| self.text.get(from..to)).unwrap_or_default().trim()
    }

    /// Every cell.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> {
        let cells = *self;
        (0..self.count()).map(move |at| cells.get(at))
    }
}

impl Rows {
    /// Opens a table whose cells are apart by `delimiter`.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    pub fn open(path: &Path, delimiter: u8, reading: &Reading) -> Result<Rows> {
        let mut rows = Rows {
            path: path.to_path_buf(),
            reader: Lines::open(path, reading)?.into_reader()?,
            core: csv_core::ReaderBuilder::new().delimiter(delimiter).build(),
            delimiter,
            text: vec![0; 1 << 12],
            ends: vec![0; 1 << 7],
            line: 1,
            offset_bytes: 0,
            row_bytes_max: reading.line_bytes_max as u64,
        };
        let has_bom = rows.reader.fill_buf().is_ok_and(|start| start.starts_with(&BOM));
        if has_bom {
            rows.take(BOM.len());
        }
        Ok(rows)
    }

    /// How many uncompressed bytes were read.
    pub fn bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// The next row that has a cell that is not blank; `None` at the end.
    ///
    /// # Errors
    ///
    /// Where the part is cut short or damaged.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        loop {
            let found = self.fill().map_err(|error| self.damaged(&error))?;
            let Some(Filled { number, byte_offset, text, ends, fault }) = found else {
                return Ok(None);
            };
            let is_blank = self.text[..text].iter().all(u8::is_ascii_whitespace);
            if fault.is_none() && is_blank {
                continue;
            }
            let cells = match fault {
                Some(code) => Err(code),
                None => cells(&self.text[..text], &self.ends[..ends]),
            };
            let excerpt = match cells {
                Ok(_) => Vec::new(),
                Err(_) => self.excerpt(text, ends),
            };
            return Ok(Some(Row { number, byte_offset, cells, excerpt }));
        }
    }

    /// The beginning of a row as it may have been written.
    fn excerpt(&self, text: usize, ends: usize) -> Vec<u8> {
        let mut excerpt = Vec::new();
        let mut from = 0;
        for end in self.ends[..ends].iter().copied().chain([text]) {
            if from > 0 && from < text {
                excerpt.push(self.delimiter);
            }
            excerpt.extend_from_slice(&self.text[from..end]);
            from = end;
        }
        excerpt
    }

    fn take(&mut self, count: usize) {
        self.reader.consume(count);
        self.offset_bytes += count as u64;
    }

    /// Skips line ends; whether anything follows.
    fn skip_line_ends(&mut self) -> io::Result<bool> {
        loop {
            let available = self.available()?;
            if available.is_empty() {
                return Ok(false);
            }
            let ends = available.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let (is_done, lines) = (ends < available.len(), count_lines(&available[..ends]));
            self.line += lines;
            self.take(ends);
            if is_done {
                return Ok(true);
            }
        }
    }

    fn available(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.reader.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.reader.buffer())
    }

    /// Reads the next row into the buffers.
    fn fill(&mut self) -> io::Result<Option<Filled>> {
        if !self.skip_line_ends()? {
            return Ok(None);
        }
        let mut row = Filled {
            number: self.line,
            byte_offset: self.offset_bytes,
            text: 0,
            ends: 0,
            fault: None,
        };
        loop {
            self.available()?;
            let input = self.reader.buffer();
            let is_end = input.is_empty();
            // A last line without an end gets one: what is still open then is an open quote.
            let input = if is_end { b"\n" } else { input };
            let (result, used, text, ends) = self.core.read_record(
                input,
                &mut self.text[row.text..],
                &mut self.ends[row.ends..],
            );
            self.line += count_lines(&input[..used]);
            row.text += text;
            row.ends += ends;
            if !is_end {
                self.take(used);
            }
            let is_long = self.offset_bytes - row.byte_offset > self.row_bytes_max;
            row.fault = match result {
                ReadRecordResult::Record => {
                    row.fault = is_long.then_some("line_too_long");
                    return Ok(Some(row));
                }
                ReadRecordResult::End => return Ok(None),
                _ if is_end && used > 0 => Some("unclosed_quote"),
                _ if is_long && self.line > row.number => Some("unclosed_quote"),
                _ if is_long => Some("line_too_long"),
                ReadRecordResult::OutputEndsFull if self.ends.len() >= CELLS_MAX => {
                    Some("ragged_row")
                }
                ReadRecordResult::InputEmpty => None,
                ReadRecordResult::OutputFull => {
                    self.text.resize(self.text.len() * 2, 0);
                    None
                }
                ReadRecordResult::OutputEndsFull => {
                    self.ends.resize(self.ends.len() * 2, 0);
                    None
                }
            };
            if row.fault.is_some() {
                self.core.reset();
                self.skip_line()?;
                return Ok(Some(row));
            }
        }
    }

    /// Skips what is left of a line.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let available = self.available()?;
            let end = memchr::memchr(b'\n', available);
            let count = end.unwrap_or(available.len());
            if count == 0 {
                return Ok(());
            }
            self.take(count);
        }
    }

    fn damaged(&self, error: &io::Error) -> Error {
        let at = self.offset_bytes;
        let reason = format!("{error}, after {at} uncompressed bytes; fetch it again");
        Error::Damaged { path: self.path.clone(), reason }
    }
}

/// A row in the buffers: where it began, how much of each it fills, and what is wrong with it.
struct Filled {
    number: u64,
    byte_offset: u64,
    text: usize,
    ends: usize,
    fault: Option<&'static str>,
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The cells of a row whose every cell is UTF-8.
fn cells<'a>(text: &'a [u8], ends: &'a [usize]) -> std::result::Result<Cells<'a>, &'static str> {
    let text = std::str::from_utf8(text).map_err(|_| "not_utf8")?;
    let is_whole = ends.iter().all(|end| text.is_char_boundary(*end));
    if is_whole { Ok(Cells { text, ends }) } else { Err("not_utf8") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Each row's line, offset, and cells or code.
    fn rows(
        bytes: &[u8],
        delimiter: u8,
    ) -> Vec<(u64, u64, std::result::Result<Vec<String>, String>)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut rows = Rows::open(file.path(), delimiter, &Reading::default()).unwrap();
        let mut found = Vec::new();
        while let Some(row) = rows.next_row().unwrap() {
            let cells = row.cells.map(|cells| cells.iter().map(str::to_owned).collect());
            found.push((row.number, row.byte_offset, cells.map_err(str::to_owned)));
        }
        found
    }

    fn cells(of: &[&str]) -> std::result::Result<Vec<String>, String> {
        Ok(of.iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn rows_are_found_whatever_stands_in_them() {
        assert_eq!(
            rows(b"\xef\xbb\xbfa;b\r\n\r\n\"1;\"\"2\nx\" ; y\n;;\n3;4", b';'),
            [
                (1, 3, cells(&["a", "b"])),
                (3, 10, cells(&["1;\"2\nx", "y"])),
                (6, 27, cells(&["3", "4"])),
            ]
        );
        assert_eq!(rows(b"\n\n", b','), []);
        assert_eq!(rows(b"a\tb\n\xff\tc\nd\te", b'\t')[1], (2, 4, Err("not_utf8".into())));
    }

    #[test]
    fn an_unclosed_quote_costs_what_it_swallows_and_no_more_than_the_longest_line() {
        assert_eq!(
            rows(b"a,b\n\"c,d\ne,f\n", b','),
            [(1, 0, cells(&["a", "b"])), (2, 4, Err("unclosed_quote".into()))]
        );
        let mut bytes = b"a,b\n\"c".to_vec();
        for _ in 0..crate::reading::LINE_BYTES_MAX / 8 + 100 {
            bytes.extend_from_slice(b"ddd,eee\n");
        }
        let found = rows(&bytes, b',');
        assert_eq!(found[1], (2, 4, Err("unclosed_quote".into())));
        assert_eq!(found[2].2, cells(&["ddd", "eee"]));
        let mut long = vec![b'x'; crate::reading::LINE_BYTES_MAX + 1];
        long.extend_from_slice(b"\na,b\n");
        let found = rows(&long, b',');
        assert_eq!(found[0], (1, 0, Err("line_too_long".into())));
        assert_eq!(found[1].2, cells(&["a", "b"]));
    }
}
