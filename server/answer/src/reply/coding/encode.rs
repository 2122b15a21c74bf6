//! Codes whole bodies in memory, so that `Content-Length` is known.
//!
//! The strong ETag of a reply promises equal bytes. So the coded bytes depend only on the body, the
//! encoder's version and the level, not on the thread or on bodies coded before. `pinakes-bench codings`
//! chose the levels.

use std::io;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use brotli::{CompressorWriter, enc::BrotliEncoderParams};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use zstd::{bulk::Compressor, zstd_safe::compress_bound};

use crate::reply::coding::Coding;

/// Shortest body to code. With its head of 672 bytes, a shorter body fits one Ethernet packet of 1,448
/// bytes anyway.
pub const CODED_BYTES_MIN: usize = 768;

/// Longest body coded at the level of records. Most such bodies are records, which the threads that read
/// requests code; longer bodies are pages of lists, whose rendering takes longer too.
const RECORD_BYTES_MAX: usize = 32 << 10;

/// Idle zstd encoders kept for reuse; no measurement saw more at work. An encoder holds 0.2 to 0.8 MB, and
/// making one takes as long as coding a record.
const IDLE_ENCODERS_MAX: usize = 16;

/// Largest output buffer kept with an idle encoder.
const KEPT_OUTPUT_BYTES_MAX: usize = 4 << 20;

/// Size of the encoder's internal buffer.
const BROTLI_BUFFER_BYTES: usize = 4 << 10;

/// Idle encoders with their output buffers, shared by all threads: one encoder for each thread would hold
/// far more memory.
static IDLE_ENCODERS: Mutex<Vec<(Compressor<'static>, Vec<u8>)>> = Mutex::new(Vec::new());

/// Codes a body; `None` if the body is short or would not shrink.
pub fn encode(coding: Coding, body: &[u8]) -> Option<Bytes> {
    if coding == Coding::Identity || body.len() < CODED_BYTES_MIN {
        return None;
    }
    // Writing to memory does not fail.
    let coded = encode_at(coding, level(coding, body.len()), body).ok()?;
    // A boxed slice has no spare capacity while it is sent.
    (coded.len() < body.len()).then(|| Bytes::from(coded.into_boxed_slice()))
}

/// The level for a body of this length.
pub fn level(coding: Coding, body_bytes: usize) -> u8 {
    let [record_level, list_level] = match coding {
        Coding::Identity => [0, 0],
        Coding::Zstd => [1, 2],
        Coding::Brotli => [1, 2],
        Coding::Gzip => [1, 3],
    };
    if body_bytes <= RECORD_BYTES_MAX { record_level } else { list_level }
}

/// Codes a body of any length at a level.
///
/// # Errors
///
/// The encoder failed, which none does while there is memory.
pub fn encode_at(coding: Coding, level: u8, body: &[u8]) -> io::Result<Vec<u8>> {
    match coding {
        Coding::Identity => Ok(body.to_vec()),
        Coding::Zstd => zstd(level, body),
        Coding::Brotli => brotli(level, body),
        Coding::Gzip => gzip(level, body),
    }
}

fn zstd(level: u8, body: &[u8]) -> io::Result<Vec<u8>> {
    let idle = || IDLE_ENCODERS.lock().unwrap_or_else(PoisonError::into_inner);
    let reused = idle().pop();
    let (mut encoder, mut output) = match reused {
        Some(reused) => reused,
        None => (Compressor::new(i32::from(level))?, Vec::new()),
    };
    encoder.set_compression_level(i32::from(level))?;
    output.clear();
    output.reserve(compress_bound(body.len()));
    encoder.compress_to_buffer(body, &mut output)?;
    let coded = output.as_slice().to_vec();
    let mut idle = idle();
    if idle.len() < IDLE_ENCODERS_MAX && output.capacity() <= KEPT_OUTPUT_BYTES_MAX {
        idle.push((encoder, output));
    }
    Ok(coded)
}

fn brotli(level: u8, body: &[u8]) -> io::Result<Vec<u8>> {
    let parameters = BrotliEncoderParams {
        quality: i32::from(level),
        lgwin: brotli_window(body.len()),
        size_hint: body.len(),
        ..BrotliEncoderParams::default()
    };
    let mut encoder =
        CompressorWriter::with_params(output_buffer(body.len()), BROTLI_BUFFER_BYTES, &parameters);
    encoder.write_all(body)?;
    Ok(encoder.into_inner())
}

/// An output buffer whose capacity is a power of two, so that the allocator reuses freed ones.
fn output_buffer(body_bytes: usize) -> Vec<u8> {
    Vec::with_capacity((body_bytes / 4).next_power_of_two())
}

/// The smallest window, as a power of two, that spans a body, so that neither side holds more memory.
///
/// From level 5 on, a window below 2^17 selects an encoder that is tens of times slower.
fn brotli_window(body_bytes: usize) -> i32 {
    // A window of 2^n spans 16 bytes less (RFC 7932, section 9.1).
    ((body_bytes + 16).next_power_of_two().trailing_zeros() as i32).clamp(10, 22)
}

fn gzip(level: u8, body: &[u8]) -> io::Result<Vec<u8>> {
    // The header contains neither name nor time.
    let mut encoder = GzEncoder::new(output_buffer(body.len()), Compression::new(u32::from(level)));
    encoder.write_all(body)?;
    encoder.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{io::Read, thread};

    use super::*;

    /// JSON-like text of this length, without two equal lines.
    fn text(bytes: usize) -> Vec<u8> {
        let mut text = Vec::new();
        let mut state = 1u32;
        while text.len() < bytes {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            write!(text, r#"{{"id":"HX_A{state}","name":null,"outputs_count":{}}},"#, state % 97)
                .unwrap();
        }
        text.truncate(bytes);
        text
    }

    /// Bytes that do not compress.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }

    fn decode(coding: Coding, coded: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        match coding {
            Coding::Identity => body.extend_from_slice(coded),
            Coding::Zstd => body = zstd::decode_all(coded).unwrap(),
            Coding::Brotli => {
                brotli::Decompressor::new(coded, 4096).read_to_end(&mut body).unwrap();
            }
            Coding::Gzip => {
                flate2::read::GzDecoder::new(coded).read_to_end(&mut body).unwrap();
            }
        }
        body
    }

    #[test]
    fn coded_bodies_are_smaller_and_decode_to_the_body() {
        for bytes in
            [CODED_BYTES_MIN, 1024, 4096, RECORD_BYTES_MAX, RECORD_BYTES_MAX + 1, 1 << 20, 5 << 20]
        {
            let body = text(bytes);
            for coding in Coding::BY_PREFERENCE {
                let coded = encode(coding, &body).unwrap();
                assert!(coded.len() < body.len(), "{coding:?} {bytes}");
                assert!(decode(coding, &coded) == body, "{coding:?} {bytes}");
            }
            assert_eq!(encode(Coding::Identity, &body), None);
        }
    }

    #[test]
    fn short_and_incompressible_bodies_stay_uncoded() {
        for coding in Coding::BY_PREFERENCE {
            for body in
                [text(0), text(1), text(CODED_BYTES_MIN - 1), noise(1 << 10), noise(100_000)]
            {
                assert_eq!(encode(coding, &body), None, "{coding:?} {}", body.len());
            }
        }
    }

    #[test]
    fn coded_bytes_depend_on_the_body_alone() {
        let lengths = [1100, 2000, 3000, 20_000, 9000, 32_768, 32_769, 70_000, 1500];
        let code_all = |lengths: &mut dyn Iterator<Item = usize>| {
            let mut coded: Vec<_> = lengths
                .flat_map(|bytes| {
                    let body = text(bytes);
                    Coding::BY_PREFERENCE
                        .map(|coding| (bytes, coding.name(), encode(coding, &body)))
                })
                .collect();
            coded.sort();
            coded
        };
        let expected = code_all(&mut lengths.into_iter());
        assert!(expected.iter().all(|(_, _, coded)| coded.is_some()));
        thread::scope(|scope| {
            for thread in 0..8 {
                let (expected, code_all) = (&expected, &code_all);
                scope.spawn(move || {
                    for round in 0..lengths.len() {
                        let mut order = lengths;
                        order.rotate_left((thread + round) % lengths.len());
                        assert_eq!(&code_all(&mut order.into_iter()), expected, "round {round}");
                    }
                });
            }
        });
        assert!(IDLE_ENCODERS.lock().unwrap().len() <= IDLE_ENCODERS_MAX);
    }

    #[test]
    fn the_window_spans_the_body() {
        let check = |bytes: usize, expected: i32| assert_eq!(brotli_window(bytes), expected);
        check(0, 10);
        check((1 << 12) - 16, 12);
        check((1 << 12) - 15, 13);
        check((1 << 22) - 16, 22);
        check(1 << 30, 22);
    }
}
