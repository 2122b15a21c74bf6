//! The lines of a part, each with its number and offset. Memory is bounded by the line limit.

pub(crate) mod container;
pub(crate) mod utf16;

use std::io;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::read::lenient::Diagnostics;
use crate::read::limits::ReadLimits;
pub use crate::read::lines::container::Container;
use crate::read::lines::container::PartReader;
use crate::read::lines::utf16::ByteOrder;

const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];
/// A line longer than this gets a buffer of the largest line at once.
const LONG_BYTES: usize = 1 << 20;
/// Bytes kept of a quarantined line.
pub const RAW_BYTES_MAX: usize = 64 << 10;

/// Reads a part line by line.
pub struct Lines<'d> {
    path: PathBuf,
    diagnostics: &'d Diagnostics,
    reader: PartReader<'d>,
    /// The current line, unless `lent_bytes` is set.
    buffer: Vec<u8>,
    /// The length of the current line in the reader's own buffer, where it lies there as a whole.
    /// [`Lines::fill`] consumes the line when it looks for the next.
    lent_bytes: Option<usize>,
    line: u64,
    offset_bytes: u64,
    line_bytes_max: usize,
    allow_truncated: bool,
    /// The error of reading the first bytes, returned for the first line.
    open_error: Option<io::Error>,
}

/// One line, without the line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line number, from 1.
    pub number: u64,
    /// The offset in the uncompressed part.
    pub byte_offset: u64,
    /// The bytes; of a line that is too long, the first [`RAW_BYTES_MAX`].
    pub bytes: &'a [u8],
    /// Whether the line exceeds the limit.
    pub is_too_long: bool,
}

/// The current line, without its bytes.
#[derive(Clone, Copy)]
struct CurrentLine {
    byte_offset: u64,
    is_too_long: bool,
}

/// The outcome of [`Lines::fill`].
enum FillOutcome {
    Line,
    TooLong,
    End,
}

impl<'d> Lines<'d> {
    /// Opens a part; fails where it cannot be read or looks like UTF-16.
    pub fn open(
        path: &Path,
        limits: &ReadLimits,
        diagnostics: &'d Diagnostics,
    ) -> Result<Lines<'d>> {
        match Lines::detect_encoding(path, limits, diagnostics)? {
            (lines, None) => Ok(lines),
            (lines, Some(_)) => {
                let reason = "not UTF-8 but UTF-16; convert it (`iconv -t UTF-8`)".into();
                Err(Error::Damaged { path: lines.path, reason })
            }
        }
    }

    /// Opens a part and decodes UTF-16; fails where the part cannot be read. Offsets count the decoded
    /// bytes.
    pub fn open_decoded(
        path: &Path,
        limits: &ReadLimits,
        diagnostics: &'d Diagnostics,
    ) -> Result<Lines<'d>> {
        Ok(match Lines::detect_encoding(path, limits, diagnostics)? {
            (lines, None) => lines,
            (lines, Some(encoding)) => {
                Lines { reader: utf16::decode(lines.reader, encoding), ..lines }
            }
        })
    }

    /// Opens a part, and detects UTF-16.
    fn detect_encoding(
        path: &Path,
        limits: &ReadLimits,
        diagnostics: &'d Diagnostics,
    ) -> Result<(Lines<'d>, Option<ByteOrder>)> {
        let mut lines = Lines {
            path: path.to_path_buf(),
            diagnostics,
            reader: container::open(path, limits, diagnostics)?,
            buffer: Vec::new(),
            lent_bytes: None,
            line: 0,
            offset_bytes: 0,
            line_bytes_max: limits.line_bytes_max,
            allow_truncated: limits.allow_truncated,
            open_error: None,
        };
        match lines.reader.fill_buf().map(utf16::detect) {
            Ok(encoding) => Ok((lines, encoding)),
            // Kept, because a reader that failed once may report the end of the file next.
            Err(error) => Ok((Lines { open_error: Some(error), ..lines }, None)),
        }
    }

    /// Returns the next line that is not blank; fails where the part is truncated or damaged.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        loop {
            self.skip_blank_lines();
            let Some(found) = self.find_line()? else { return Ok(None) };
            let line = self.line(found);
            if line.is_too_long || !line.bytes.iter().all(u8::is_ascii_whitespace) {
                self.diagnostics.at(line.number, line.byte_offset);
                return Ok(Some(self.line(found)));
            }
        }
    }

    /// Passes over the blank lines at the front of the reader's buffer together: a part may have gigabytes of them.
    fn skip_blank_lines(&mut self) {
        if let Some(count) = self.lent_bytes.take() {
            self.reader.consume(count + 1);
        }
        let buffered = self.reader.buffer();
        let blank = buffered.iter().position(|byte| !byte.is_ascii_whitespace());
        let blank = &buffered[..blank.unwrap_or(buffered.len())];
        // A blank line may be too long, too.
        let lines = memchr::memrchr(b'\n', blank).filter(|_| blank.len() <= self.line_bytes_max);
        let bytes = lines.map_or(0, |last| last + 1);
        self.line += memchr::memchr_iter(b'\n', &blank[..bytes]).count() as u64;
        self.offset_bytes += bytes as u64;
        self.reader.consume(bytes);
    }

    /// Returns the next line, blank or not, including a trailing carriage return.
    pub fn next_raw_line(&mut self) -> Result<Option<Line<'_>>> {
        let Some(found) = self.find_line()? else { return Ok(None) };
        Ok(Some(Line { bytes: self.text(found), ..self.line(found) }))
    }

    fn find_line(&mut self) -> Result<Option<CurrentLine>> {
        let byte_offset = self.offset_bytes;
        let is_too_long = match self.fill() {
            Ok(FillOutcome::End) => return Ok(None),
            Ok(FillOutcome::TooLong) => true,
            Ok(FillOutcome::Line) => false,
            Err(error) if self.allow_truncated && is_cut_short(&error) => {
                self.diagnostics.warn("truncated_part");
                return Ok(None);
            }
            Err(error) => return Err(self.damaged(&error)),
        };
        self.line += 1;
        Ok(Some(CurrentLine { byte_offset, is_too_long }))
    }

    /// The bytes of the current line, without a byte order mark.
    fn text(&self, found: CurrentLine) -> &[u8] {
        let bytes = match self.lent_bytes {
            Some(count) => &self.reader.buffer()[..count],
            None => &self.buffer,
        };
        let has_bom = found.byte_offset == 0 && bytes.starts_with(&BOM);
        if has_bom { &bytes[BOM.len()..] } else { bytes }
    }

    fn line(&self, found: CurrentLine) -> Line<'_> {
        let text = self.text(found);
        Line {
            number: self.line,
            byte_offset: found.byte_offset,
            bytes: text.strip_suffix(b"\r").unwrap_or(text),
            is_too_long: found.is_too_long,
        }
    }

    /// Returns the reader of the uncompressed part, from its first byte.
    pub fn into_reader(mut self) -> Result<PartReader<'d>> {
        match self.open_error.take() {
            Some(error) => Err(self.damaged(&error)),
            None => Ok(self.reader),
        }
    }

    /// The number of uncompressed bytes read so far.
    pub fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// Finds the next line and stores it, or its beginning where it is too long.
    fn fill(&mut self) -> io::Result<FillOutcome> {
        self.buffer.clear();
        if let Some(count) = self.lent_bytes.take() {
            self.reader.consume(count + 1);
        }
        if let Some(error) = self.open_error.take() {
            return Err(error);
        }
        let mut seen = 0u64;
        let mut is_too_long = false;
        let filled =
            |is_too_long| if is_too_long { FillOutcome::TooLong } else { FillOutcome::Line };
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                self.offset_bytes += seen;
                return Ok(if seen > 0 { filled(is_too_long) } else { FillOutcome::End });
            }
            let end = memchr::memchr(b'\n', available);
            let piece = &available[..end.unwrap_or(available.len())];
            if seen == 0 && end.is_some() && piece.len() <= self.line_bytes_max {
                self.lent_bytes = Some(piece.len());
                self.offset_bytes += piece.len() as u64 + 1;
                return Ok(FillOutcome::Line);
            }
            if !is_too_long && self.buffer.len() + piece.len() > self.line_bytes_max {
                is_too_long = true;
                let kept = piece.len().min(RAW_BYTES_MAX);
                self.buffer.extend_from_slice(&piece[..kept]);
                self.buffer.truncate(RAW_BYTES_MAX);
                self.buffer.shrink_to(RAW_BYTES_MAX);
            } else if !is_too_long {
                if self.buffer.len() + piece.len() > LONG_BYTES {
                    // One exact reservation: growth by doubling would take up to 50 % more.
                    self.buffer.reserve_exact(self.line_bytes_max - self.buffer.len());
                }
                self.buffer.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            seen += used as u64;
            self.reader.consume(used);
            if end.is_some() {
                self.offset_bytes += seen;
                return Ok(filled(is_too_long));
            }
        }
    }

    fn damaged(&self, error: &io::Error) -> Error {
        let at = self.offset_bytes;
        let text = error.to_string();
        let reason = match () {
            () if is_cut_short(error) => format!(
                "truncated after {at} uncompressed bytes of whole lines; fetch it again, or take \
                 those lines with `--allow-truncated`"
            ),
            () if error.get_ref().is_some_and(|cause| cause.is::<container::TooManyBytes>()) => {
                format!("{text}; raise the limit if the part is really that large")
            }
            () if text.contains("too much memory") => {
                format!("{text}; if you trust the file, raise `--zstd-window-max`")
            }
            () => format!("{text}, after {at} uncompressed bytes of whole lines; fetch it again"),
        };
        Error::Damaged { path: self.path.clone(), reason }
    }
}

/// Whether a container ended early.
fn is_cut_short(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, u64, Option<String>)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let diagnostics = Diagnostics::default();
        let mut lines = Lines::open(file.path(), &ReadLimits::default(), &diagnostics).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            let text = String::from_utf8(line.bytes.to_vec()).unwrap();
            found.push((line.number, line.byte_offset, (!line.is_too_long).then_some(text)));
        }
        found
    }

    #[test]
    fn lines_may_end_in_lf_crlf_or_the_end_of_the_file() {
        let expected = vec![(1, 0, Some("a".into())), (3, 6, Some("b".into()))];
        assert_eq!(lines(b"a\r\n \r\nb"), expected);
        assert_eq!(lines(b"a\n \n \n").len(), 1);
        assert_eq!(lines(b"\xef\xbb\xbfa\n"), vec![(1, 0, Some("a".into()))]);
        assert!(lines(b"").is_empty());
        // More than one buffer of blank lines.
        let blank = [&b"a\n"[..], &b"\n \r\n".repeat(100_000), b"b\n\nc"].concat();
        let (from, number) = (2 + 400_000, 2 + 200_000);
        let expected = [(1, 0, "a"), (number, from, "b"), (number + 2, from + 3, "c")];
        assert_eq!(
            lines(&blank),
            expected.map(|(number, at, text)| (number, at, Some(text.into())))
        );
    }

    #[test]
    fn a_line_too_long_is_skipped_and_the_next_is_read() {
        let mut bytes = vec![b'x'; ReadLimits::default().line_bytes_max + 1];
        bytes.extend_from_slice(b"\nb\n");
        let found = lines(&bytes);
        assert_eq!(found[0], (1, 0, None));
        assert_eq!(found[1].2.as_deref(), Some("b"));
    }

    #[test]
    fn every_gzip_member_is_read_and_a_truncated_one_is_an_error() {
        let gzip = |text: &[u8]| {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        };
        let mut bytes = gzip(b"a\n");
        bytes.extend(gzip(b"b\n"));
        assert_eq!(lines(&bytes).len(), 2);
        for cut in [4, 8, 20] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&bytes[..bytes.len() - cut]).unwrap();
            let diagnostics = Diagnostics::default();
            let limits = ReadLimits::default();
            let mut lines = Lines::open(file.path(), &limits, &diagnostics).unwrap();
            let end = loop {
                match lines.next_line() {
                    Ok(Some(_)) => {}
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                }
            };
            assert_eq!(end.unwrap().exit_code(), 5, "cut by {cut}");
        }
    }
}
