//! Codes a body piece by piece, in bounded memory.
//!
//! The coded bytes depend only on the pieces and the encoder's version: the strong ETag promises equal bytes.

use std::io::{self, Write};

use brotli::{CompressorWriter, enc::BrotliEncoderParams};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

use crate::reply::coding::Coding;
use crate::reply::coding::encode::level;

/// Base-2 logarithm of the window, which bounds the memory of an encoder: 128 KiB.
const WINDOW_LOG2: u8 = 17;
/// Size of brotli's internal buffer.
const BROTLI_BUFFER_BYTES: usize = 4 << 10;
/// About the memory of an encoder, as allocated for a body of 1 MiB.
const ZSTD_BYTES: usize = 1 << 20;
const BROTLI_BYTES: usize = 1 << 20;
const GZIP_BYTES: usize = 512 << 10;

/// The encoder of one body.
pub enum StreamEncoder {
    Identity,
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl StreamEncoder {
    /// Starts to code a body of at least this length.
    ///
    /// # Errors
    ///
    /// The encoder failed, which none does while there is memory.
    pub fn new(coding: Coding, body_bytes_min: usize) -> io::Result<StreamEncoder> {
        let level = level(coding, body_bytes_min);
        Ok(match coding {
            Coding::Identity => StreamEncoder::Identity,
            Coding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level.into())?;
                encoder.window_log(WINDOW_LOG2.into())?;
                StreamEncoder::Zstd(encoder)
            }
            Coding::Brotli => {
                let parameters = BrotliEncoderParams {
                    quality: level.into(),
                    lgwin: WINDOW_LOG2.into(),
                    ..BrotliEncoderParams::default()
                };
                let writer =
                    CompressorWriter::with_params(Vec::new(), BROTLI_BUFFER_BYTES, &parameters);
                StreamEncoder::Brotli(Box::new(writer))
            }
            Coding::Gzip => {
                let level = Compression::new(level.into());
                StreamEncoder::Gzip(GzEncoder::new(Vec::new(), level))
            }
        })
    }

    /// About the bytes that the encoder holds between two pieces.
    pub fn held_bytes(&self) -> usize {
        match self {
            StreamEncoder::Identity => 0,
            StreamEncoder::Zstd(_) => ZSTD_BYTES,
            StreamEncoder::Brotli(_) => BROTLI_BYTES,
            StreamEncoder::Gzip(_) => GZIP_BYTES,
        }
    }

    /// Codes a piece; returns the bytes that are coded by now.
    pub fn push(&mut self, piece: Vec<u8>) -> io::Result<Vec<u8>> {
        let out = match self {
            StreamEncoder::Identity => return Ok(piece),
            StreamEncoder::Zstd(encoder) => {
                encoder.write_all(&piece)?;
                encoder.get_mut()
            }
            StreamEncoder::Brotli(encoder) => {
                encoder.write_all(&piece)?;
                encoder.get_mut()
            }
            StreamEncoder::Gzip(encoder) => {
                encoder.write_all(&piece)?;
                encoder.get_mut()
            }
        };
        Ok(std::mem::take(out))
    }

    /// Codes a piece with the encoder that a body has left. Ends the body, and takes its encoder, after the last piece.
    pub fn next(
        left: &mut Option<StreamEncoder>,
        piece: Vec<u8>,
        is_last: bool,
    ) -> io::Result<Bytes> {
        let Some(encoder) = left else { return Ok(Bytes::new()) };
        let mut coded = encoder.push(piece)?;
        if is_last && let Some(encoder) = left.take() {
            coded.extend(encoder.finish()?);
        }
        // A slow client does not keep the spare capacity allocated.
        coded.shrink_to_fit();
        Ok(coded.into())
    }

    /// Ends the body; returns the last bytes.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            StreamEncoder::Identity => Ok(Vec::new()),
            StreamEncoder::Zstd(encoder) => encoder.finish(),
            StreamEncoder::Brotli(encoder) => Ok(encoder.into_inner()),
            StreamEncoder::Gzip(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn pieces_decode_to_the_body_and_equal_pieces_give_equal_bytes() {
        let pieces: Vec<Vec<u8>> = (0..40u32)
            .map(|at| (0..50_000u32).map(|byte| (byte * at / 7) as u8 | 32).collect())
            .collect();
        let code = |coding: Coding| {
            let mut encoder = StreamEncoder::new(coding, 1 << 20).unwrap();
            let mut coded = Vec::new();
            for piece in &pieces {
                coded.extend(encoder.push(piece.clone()).unwrap());
            }
            coded.extend(encoder.finish().unwrap());
            coded
        };
        for coding in Coding::ALL {
            let coded = code(coding);
            assert!(coded == code(coding), "{coding:?}");
            let mut body = Vec::new();
            match coding {
                Coding::Identity => body = coded,
                Coding::Zstd => body = zstd::decode_all(&*coded).unwrap(),
                Coding::Brotli => {
                    brotli::Decompressor::new(&*coded, 4_096)
                        .read_to_end(&mut body)
                        .map(drop)
                        .unwrap();
                }
                Coding::Gzip => {
                    flate2::read::GzDecoder::new(&*coded).read_to_end(&mut body).map(drop).unwrap();
                }
            }
            assert!(body == pieces.concat(), "{coding:?}");
        }
    }
}
