//! The lines of a part: whatever holds them, bounded in memory, each with its place.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, Result};

/// The longest line kept, in bytes.
pub const LINE_BYTES_MAX: usize = 16 << 20;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Reads a part line by line.
pub struct Lines {
    path: PathBuf,
    reader: BufReader<Box<dyn Read + Send>>,
    buffer: Vec<u8>,
    line: u64,
    offset_bytes: u64,
}

/// One line, without its end.
#[derive(Debug)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Where it begins in the uncompressed part.
    pub byte_offset: u64,
    /// Its bytes; `None` where it is longer than [`LINE_BYTES_MAX`].
    pub bytes: Option<&'a [u8]>,
}

impl Lines {
    /// Opens a part; what holds it is known by its first bytes, whatever its name.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    pub fn open(path: &Path) -> Result<Lines> {
        let file = File::open(path).map_err(Error::input(path))?;
        let mut file = BufReader::with_capacity(1 << 17, file);
        let magic = file.fill_buf().map_err(Error::input(path))?;
        let inner: Box<dyn Read + Send> = if magic.starts_with(&GZIP_MAGIC) {
            Box::new(MultiGzDecoder::new(file))
        } else if magic.starts_with(&ZSTD_MAGIC) {
            Box::new(zstd::Decoder::with_buffer(file).map_err(Error::input(path))?)
        } else {
            Box::new(file)
        };
        Ok(Lines {
            path: path.to_path_buf(),
            reader: BufReader::with_capacity(1 << 18, inner),
            buffer: Vec::new(),
            line: 0,
            offset_bytes: 0,
        })
    }

    /// The next line that is not blank; `None` at the end.
    ///
    /// # Errors
    ///
    /// Where the part is cut short or damaged.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        loop {
            let byte_offset = self.offset_bytes;
            let too_long = match self.fill() {
                Ok(None) => return Ok(None),
                Ok(Some(too_long)) => too_long,
                Err(error) => return Err(self.damaged(&error)),
            };
            self.line += 1;
            if too_long {
                return Ok(Some(Line { number: self.line, byte_offset, bytes: None }));
            }
            let has_bom = byte_offset == 0 && self.buffer.starts_with(&BOM);
            let from = if has_bom { BOM.len() } else { 0 };
            let to = self.buffer.len() - usize::from(self.buffer.last() == Some(&b'\r'));
            if self.buffer[from..to].iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let bytes = Some(&self.buffer[from..to]);
            return Ok(Some(Line { number: self.line, byte_offset, bytes }));
        }
    }

    /// The rest of the part, uncompressed, for a reader that knows its rows itself.
    pub fn into_reader(self) -> Box<dyn Read> {
        Box::new(self.reader)
    }

    /// Fills the buffer with the next line; whether it was too long and so left out.
    fn fill(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        let mut seen = 0u64;
        let mut too_long = false;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                self.offset_bytes += seen;
                return Ok((seen > 0).then_some(too_long));
            }
            let end = memchr::memchr(b'\n', available);
            let piece = &available[..end.unwrap_or(available.len())];
            if too_long || self.buffer.len() + piece.len() > LINE_BYTES_MAX {
                too_long = true;
                self.buffer.clear();
            } else {
                self.buffer.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            seen += used as u64;
            self.reader.consume(used);
            if end.is_some() {
                self.offset_bytes += seen;
                return Ok(Some(too_long));
            }
        }
    }

    fn damaged(&self, error: &io::Error) -> Error {
        let at = self.offset_bytes;
        let reason = if error.kind() == io::ErrorKind::UnexpectedEof {
            format!("truncated after {at} uncompressed bytes of whole lines; fetch it again")
        } else {
            format!("{error}, after {at} uncompressed bytes of whole lines; fetch it again")
        };
        Error::Damaged { path: self.path.clone(), reason }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, u64, Option<String>)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut lines = Lines::open(file.path()).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            let text = line.bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            found.push((line.number, line.byte_offset, text));
        }
        found
    }

    #[test]
    fn lines_are_found_whatever_ends_them() {
        let expected = vec![(1, 0, Some("a".into())), (3, 6, Some("b".into()))];
        assert_eq!(lines(b"a\r\n \r\nb"), expected);
        assert_eq!(lines(b"a\n \n \n").len(), 1);
        assert_eq!(lines(b"\xef\xbb\xbfa\n"), vec![(1, 0, Some("a".into()))]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn a_line_too_long_is_left_out_and_the_next_is_read() {
        let mut bytes = vec![b'x'; LINE_BYTES_MAX + 1];
        bytes.extend_from_slice(b"\nb\n");
        let found = lines(&bytes);
        assert_eq!(found[0], (1, 0, None));
        assert_eq!(found[1].2.as_deref(), Some("b"));
    }

    #[test]
    fn every_member_of_a_gzip_file_is_read_and_a_cut_one_is_damaged() {
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
            let mut lines = Lines::open(file.path()).unwrap();
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
