//! A record's long texts: one pool a record, compressed as a whole, inflated only when asked for.
//!
//! The frame is zstd's, primed with [`DICTIONARY`], a list of the phrases such texts are made of,
//! so that even a short abstract has something to refer to. The compiler makes the frame once,
//! when a part is parsed; linking copies it.

use std::{cell::RefCell, sync::LazyLock};

use zstd::{
    bulk::{Compressor, Decompressor},
    dict::DecoderDictionary,
};

use crate::storage::error::ReadError;

/// What every frame is primed with. Part of the format: changing it changes the format version.
pub static DICTIONARY: &[u8] = include_bytes!("long_text.dict");

/// The largest pool a record may have, in bytes.
pub const POOL_BYTES_MAX: usize = 256 << 20;

/// zstd's compression level. On a generated dump of 1,000,000 outputs, level 1 made the snapshot
/// 0.2 % larger and the build no faster than the machine's noise.
const LEVEL: i32 = 3;

/// Makes frames. One per thread: it keeps zstd's working memory between records.
pub struct Deflater(Compressor<'static>);

impl Deflater {
    /// # Errors
    ///
    /// Where zstd cannot have its working memory.
    pub fn new() -> std::io::Result<Deflater> {
        let mut compressor = Compressor::with_dictionary(LEVEL, DICTIONARY)?;
        compressor.include_checksum(false)?;
        compressor.include_contentsize(true)?;
        Ok(Deflater(compressor))
    }

    /// Appends the frame of `pool` to `out`; nothing where the pool is empty.
    ///
    /// # Errors
    ///
    /// Where the pool is larger than [`POOL_BYTES_MAX`].
    pub fn deflate(&mut self, pool: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
        if pool.is_empty() {
            return Ok(());
        }
        if pool.len() > POOL_BYTES_MAX {
            return Err(std::io::Error::other("the long texts of a record exceed 256 MiB"));
        }
        out.extend_from_slice(&self.0.compress(pool)?);
        Ok(())
    }
}

/// The pool of a frame; empty where the frame is.
///
/// # Errors
///
/// Where the frame is no frame, or says it holds more than [`POOL_BYTES_MAX`].
pub fn inflate(frame: &[u8]) -> Result<Vec<u8>, ReadError> {
    static DICTIONARY_DECODER: LazyLock<DecoderDictionary<'static>> =
        LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));
    thread_local! {
        // zstd's working memory is dear to make and cheap to keep.
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
    fn a_pool_comes_back_whole() {
        let mut deflater = Deflater::new().unwrap();
        for pool in ["", "short", &"in this paper we show that ".repeat(100)] {
            let mut frame = Vec::new();
            deflater.deflate(pool.as_bytes(), &mut frame).unwrap();
            assert_eq!(inflate(&frame).unwrap(), pool.as_bytes());
        }
    }

    #[test]
    fn a_damaged_frame_is_refused_or_harmless() {
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
