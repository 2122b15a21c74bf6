//! Decompression of a part: plain, gzip with any number of members, zstd with any number of frames.

use std::io;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;
use rustix::fs::Advice;

use crate::error::{Error, Result};
use crate::read::lenient::Diagnostics;
use crate::read::limits::ReadLimits;
use crate::read::part_file::PartFile;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The first and the last bytes of a Parquet file.
pub(crate) const PARQUET_MAGIC: [u8; 4] = *b"PAR1";
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes 2 to 4 of a skippable zstd frame; byte 1 is 0x50 to 0x5f.
const SKIPPABLE_MAGIC: [u8; 3] = [0x2a, 0x4d, 0x18];
/// The bit of a zstd frame descriptor that announces a checksum.
const ZSTD_CHECKSUM: u8 = 1 << 2;

/// The compression of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    Plain,
    Gzip,
    Zstd,
    /// A Parquet file, which has no lines.
    Parquet,
}

impl Container {
    fn from_magic(beginning: &[u8]) -> Container {
        let is_skippable = beginning.first().is_some_and(|first| first & 0xf0 == 0x50)
            && beginning.get(1..4) == Some(&SKIPPABLE_MAGIC);
        match () {
            () if beginning.starts_with(&GZIP_MAGIC) => Container::Gzip,
            () if beginning.starts_with(&PARQUET_MAGIC) => Container::Parquet,
            () if beginning.starts_with(&ZSTD_MAGIC) || is_skippable => Container::Zstd,
            () => Container::Plain,
        }
    }

    /// The container that the extension of a file announces.
    pub fn from_extension(path: &Path) -> Container {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Container::Gzip,
            Some("zst") => Container::Zstd,
            Some("parquet") => Container::Parquet,
            _ => Container::Plain,
        }
    }

    /// Detects the container by the first four bytes of a file. A damaged Parquet file is known by its name
    /// and its last bytes.
    pub fn detect(path: &Path) -> Result<Container> {
        let mut beginning = Vec::with_capacity(4);
        let mut file = PartFile::open(path, Advice::Random).map_err(Error::input(path))?;
        file.by_ref().take(4).read_to_end(&mut beginning).map_err(Error::input(path))?;
        let container = Container::from_magic(&beginning);
        if container == Container::Plain && Container::from_extension(path) == Container::Parquet {
            let mut end = [0; PARQUET_MAGIC.len()];
            let from = file.size_bytes().map_err(Error::input(path))?;
            let from = from.checked_sub(end.len() as u64);
            let is_read = from.is_some_and(|from| file.read_exact_at(&mut end, from).is_ok());
            if is_read && end == PARQUET_MAGIC {
                return Ok(Container::Parquet);
            }
        }
        Ok(container)
    }
}

/// Bytes that are read from a part at once.
const PART_BYTES: usize = 1 << 17;
/// The same where the first line is enough.
const LOOK_BYTES: usize = 1 << 14;

/// A reader of the uncompressed bytes of a part.
pub(crate) type PartReader<'d> = BufReader<Box<dyn Read + 'd>>;

/// Opens a part for reading uncompressed bytes. The first bytes determine the container; the
/// extension is ignored.
pub(crate) fn open<'d>(
    path: &Path,
    limits: &ReadLimits,
    diagnostics: &'d Diagnostics,
) -> Result<PartReader<'d>> {
    let file = PartFile::open(path, limits.advice()).map_err(Error::input(path))?;
    let bytes_at_once = if limits.is_look { LOOK_BYTES } else { PART_BYTES };
    let mut file = BufReader::with_capacity(bytes_at_once, file);
    let beginning = file.fill_buf().map_err(Error::input(path))?;
    let inner: Box<dyn Read + 'd> = match Container::from_magic(beginning) {
        Container::Gzip => {
            Box::new(GzipMembers { decoder: Some(GzDecoder::new(file)), diagnostics })
        }
        Container::Zstd => {
            if lacks_checksum(beginning) {
                diagnostics.warn("zstd_without_checksum");
            }
            let mut decoder = zstd::Decoder::with_buffer(file).map_err(Error::input(path))?;
            decoder.window_log_max(limits.zstd_window_log_max).map_err(Error::input(path))?;
            Box::new(decoder)
        }
        // A Parquet file in place of lines: its bytes are no lines, and the reader of the lines says so.
        Container::Plain | Container::Parquet => Box::new(file),
    };
    let limited = SizeLimit { inner, left: limits.inflated_bytes_max };
    Ok(BufReader::with_capacity(1 << 18, Box::new(limited)))
}

/// Whether the first frame with data announces no checksum.
fn lacks_checksum(mut bytes: &[u8]) -> bool {
    while let Some((head, rest)) = bytes.split_first_chunk::<8>() {
        if head.starts_with(&ZSTD_MAGIC) {
            return head[4] & ZSTD_CHECKSUM == 0;
        }
        let skipped = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        bytes = rest.get(skipped as usize..).unwrap_or_default();
    }
    false
}

/// Decompresses the members of a gzip file in turn.
///
/// Tapes and some downloads pad files with zeros: zeros after the last member are a warning. Other
/// bytes there are an error.
struct GzipMembers<'d, R> {
    /// `None` after the last member.
    decoder: Option<GzDecoder<R>>,
    diagnostics: &'d Diagnostics,
}

impl<R: BufRead> Read for GzipMembers<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let read = decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let mut rest =
                self.decoder.take().map(GzDecoder::into_inner).ok_or_else(unexpected_end)?;
            match rest.fill_buf()?.first() {
                None => {}
                Some(0) => {
                    skip_zeros(rest)?;
                    self.diagnostics.warn("gzip_zero_padding");
                }
                Some(byte) if *byte == GZIP_MAGIC[0] => self.decoder = Some(GzDecoder::new(rest)),
                Some(_) => return Err(trailing_garbage()),
            }
        }
        Ok(0)
    }
}

fn unexpected_end() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

fn trailing_garbage() -> io::Error {
    let reason = "bytes after the last gzip member that are neither a member nor zeros";
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn skip_zeros(mut rest: impl BufRead) -> io::Result<()> {
    loop {
        let bytes = rest.fill_buf()?;
        let count = bytes.len();
        if count == 0 {
            return Ok(());
        }
        if bytes.iter().any(|byte| *byte != 0) {
            return Err(trailing_garbage());
        }
        rest.consume(count);
    }
}

/// The cause of the error that [`SizeLimit`] returns.
#[derive(Debug, thiserror::Error)]
#[error("more uncompressed bytes than `--max-inflated` allows")]
pub(crate) struct TooManyBytes;

/// Fails when `inner` yields more than `left` further bytes.
struct SizeLimit<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for SizeLimit<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or(io::Error::other(TooManyBytes))?;
        Ok(read)
    }
}
