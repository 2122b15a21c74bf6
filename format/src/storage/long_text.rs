//! The long texts of a record: one pool for each record, compressed as a whole.
//!
//! A pool is decompressed only when a long text is rendered. The frame is zstd's, with
//! [`DICTIONARY`]. The compiler makes the frame when it parses the record; the linker copies the frame.

use std::{cell::RefCell, sync::LazyLock};

use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::DecoderDictionary;

use crate::storage::error::ReadError;

/// The zstd dictionary of every frame. A change of it changes the format version.
///
/// It is a list of frequent phrases, which lets even a short abstract compress well, after entropy
/// tables of scholarly English. With these tables, zstd need not make tables for each record.
pub static DICTIONARY: &[u8] = include_bytes!("long_text.dict");

/// The largest pool of a record, in bytes.
pub const POOL_BYTES_MAX: usize = 256 << 20;

/// zstd's compression level.
const LEVEL: i32 = 1;

/// Compresses pools, and keeps zstd's working memory between them. Each thread has its own.
pub struct Deflater(Compressor<'static>);

impl Deflater {
    /// Allocates zstd's working memory.
    ///
    /// # Errors
    ///
    /// Where the allocation fails.
    pub fn new() -> std::io::Result<Deflater> {
        let mut compressor = Compressor::with_dictionary(LEVEL, DICTIONARY)?;
        compressor.include_checksum(false)?;
        compressor.include_dictid(false)?;
        compressor.include_contentsize(true)?;
        Ok(Deflater(compressor))
    }

    /// Replaces `out` by the frame of `pool`. The frame of an empty pool is empty.
    ///
    /// # Errors
    ///
    /// Where the pool exceeds [`POOL_BYTES_MAX`].
    pub fn deflate(&mut self, pool: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
        out.clear();
        if pool.is_empty() {
            return Ok(());
        }
        if pool.len() > POOL_BYTES_MAX {
            return Err(std::io::Error::other("the long texts of a record exceed 256 MiB"));
        }
        out.reserve(zstd::zstd_safe::compress_bound(pool.len()));
        self.0.compress_to_buffer(pool, out).map(|_| ())
    }
}

/// The bytes of a text in its pool.
///
/// # Errors
///
/// If the text lies outside the pool.
pub fn bytes_in(pool: &[u8], offset: u32, length: u32) -> Result<&[u8], ReadError> {
    let from = offset as usize;
    from.checked_add(length as usize)
        .and_then(|to| pool.get(from..to))
        .ok_or(ReadError::corrupt("records", "a long text lies outside its pool"))
}

/// A text in its pool.
///
/// # Errors
///
/// If the text lies outside the pool, or is not UTF-8.
pub fn text_in(pool: &[u8], offset: u32, length: u32) -> Result<&str, ReadError> {
    let text = str::from_utf8(bytes_in(pool, offset, length)?);
    text.map_err(|_| ReadError::corrupt("records", "a long text is not UTF-8"))
}

/// Decompresses a frame. The pool of an empty frame is empty.
///
/// # Errors
///
/// Where the bytes are no zstd frame, or the frame states more than [`POOL_BYTES_MAX`] bytes.
pub fn inflate(frame: &[u8]) -> Result<Vec<u8>, ReadError> {
    static DICTIONARY_DECODER: LazyLock<DecoderDictionary<'static>> =
        LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));
    thread_local! {
        // zstd's working memory is expensive to allocate.
        static INFLATER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }
    let corrupt = || ReadError::corrupt("records", "a long text does not decompress");
    if frame.is_empty() {
        return Ok(Vec::new());
    }
    let size = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten();
    let size = size.and_then(|size| usize::try_from(size).ok()).ok_or_else(corrupt)?;
    if size > POOL_BYTES_MAX {
        return Err(corrupt());
    }
    INFLATER.with_borrow_mut(|inflater| {
        let inflater = match inflater {
            Some(inflater) => inflater,
            none => none.insert(
                Decompressor::with_prepared_dictionary(&DICTIONARY_DECODER)
                    .map_err(|_| corrupt())?,
            ),
        };
        inflater.decompress(frame, size).map_err(|_| corrupt())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_round_trips() {
        let mut deflater = Deflater::new().unwrap();
        for pool in ["", "short", &"in this paper we show that ".repeat(100)] {
            let mut frame = Vec::new();
            deflater.deflate(pool.as_bytes(), &mut frame).unwrap();
            assert_eq!(inflate(&frame).unwrap(), pool.as_bytes());
        }
    }

    #[test]
    fn a_damaged_frame_does_not_panic() {
        let mut frame = Vec::new();
        Deflater::new().unwrap().deflate(&b"abstract ".repeat(50), &mut frame).unwrap();
        for at in 0..frame.len() {
            for bit in 0..8 {
                let mut damaged = frame.clone();
                damaged[at] ^= 1 << bit;
                let _ = inflate(&damaged);
            }
        }
        assert!(inflate(b"no frame").is_err());
    }
}
