//! Makes the coded forms of a body, whole: bodies stand in memory, and so `Content-Length` is known.
//!
//! The bytes are those of the body, the encoder's version and its level alone, whichever thread
//! made them and whatever it made before: the strong tag of a reply promises as much. Levels are
//! chosen by `pinakes-bench codings`.

use std::{
    io::{self, Write},
    sync::{Mutex, PoisonError},
};

use brotli::{CompressorWriter, enc::BrotliEncoderParams};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use zstd::{bulk::Compressor, zstd_safe::compress_bound};

use crate::http::coding::Coding;

/// A shorter body is sent as it is: with its head, of 672 bytes where there are limits, it fits one
/// packet anyway, which over Ethernet has room for 1,448.
pub const CODED_BYTES_MIN: usize = 768;

/// Bodies up to this are records, for the most part, and coded on the threads that read requests;
/// longer ones are pages of lists, whose rendering takes longer too.
const RECORD_BYTES_MAX: usize = 32 << 10;

/// zstd's encoders kept for the next body; so many are at work at once at the most seen. One holds 0.2
/// to 0.8 MB by the longest body of late, and making it costs as much time as coding a record.
const IDLE_ENCODERS_MAX: usize = 16;

/// More room than that is not kept; most of it is never written to.
const KEPT_ROOM_BYTES_MAX: usize = 4 << 20;

/// Room for what an encoder hands on at a time.
const BROTLI_BUFFER_BYTES: usize = 4 << 10;

/// Encoders with the room they write to. They are shared: an allocator that keeps what each of many
/// threads freed, of any size, would hold far more.
static IDLE_ENCODERS: Mutex<Vec<(Compressor<'static>, Vec<u8>)>> = Mutex::new(Vec::new());

/// A body in a coding; `None` where it is better sent as it is: short, or no smaller when coded.
pub fn encode(coding: Coding, body: &[u8]) -> Option<Bytes> {
    if coding == Coding::Identity || body.len() < CODED_BYTES_MIN {
        return None;
    }
    // Writing to memory fails only where there is none left.
    let coded = encode_at(coding, level(coding, body.len()), body).ok()?;
    // Boxed, it holds no more memory than it has bytes for as long as it takes to send.
    (coded.len() < body.len()).then(|| Bytes::from(coded.into_boxed_slice()))
}

/// The level a body of so many bytes is coded at.
pub fn level(coding: Coding, body_bytes: usize) -> u8 {
    let [of_records, of_lists] = match coding {
        Coding::Identity => [0, 0],
        Coding::Zstd => [1, 2],
        Coding::Brotli => [1, 2],
        Coding::Gzip => [1, 3],
    };
    if body_bytes <= RECORD_BYTES_MAX { of_records } else { of_lists }
}

/// A body in a coding at a level of its encoder, whatever its length.
///
/// # Errors
///
/// Where the encoder fails, which none does while there is memory.
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
    let kept = idle().pop();
    let (mut encoder, mut room) = match kept {
        Some(kept) => kept,
        None => (Compressor::new(i32::from(level))?, Vec::new()),
    };
    encoder.set_compression_level(i32::from(level))?;
    room.clear();
    room.reserve(compress_bound(body.len()));
    encoder.compress_to_buffer(body, &mut room)?;
    let coded = room.as_slice().to_vec();
    let mut idle = idle();
    if idle.len() < IDLE_ENCODERS_MAX && room.capacity() <= KEPT_ROOM_BYTES_MAX {
        idle.push((encoder, room));
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
        CompressorWriter::with_params(room(body.len()), BROTLI_BUFFER_BYTES, &parameters);
    encoder.write_all(body)?;
    Ok(encoder.into_inner())
}

/// Room to begin with for a coded body: of few sizes, so that what is freed is used again.
fn room(body_bytes: usize) -> Vec<u8> {
    Vec::with_capacity((body_bytes / 4).next_power_of_two())
}

/// The least window, as a power of two, that reaches over a body: neither side then holds more. From
/// level 5 on, one below 2^17 takes an encoder that is tens of times slower.
fn brotli_window(body_bytes: usize) -> i32 {
    // A window of 2^n reaches back 16 bytes less (RFC 7932, 9.1).
    ((body_bytes + 16).next_power_of_two().trailing_zeros() as i32).clamp(10, 22)
}

fn gzip(level: u8, body: &[u8]) -> io::Result<Vec<u8>> {
    // Neither a name nor a time goes into the header.
    let mut encoder = GzEncoder::new(room(body.len()), Compression::new(u32::from(level)));
    encoder.write_all(body)?;
    encoder.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{io::Read, thread};

    use super::*;

    /// So many bytes of something like JSON, of which no two lines are alike.
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

    /// Bytes that nothing makes smaller.
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
    fn what_is_coded_is_smaller_and_decodes_to_the_body() {
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
    fn short_bodies_and_those_that_would_not_shrink_stay_as_they_are() {
        for coding in Coding::BY_PREFERENCE {
            for body in
                [text(0), text(1), text(CODED_BYTES_MIN - 1), noise(1 << 10), noise(100_000)]
            {
                assert_eq!(encode(coding, &body), None, "{coding:?} {}", body.len());
            }
        }
    }

    #[test]
    fn the_same_body_is_coded_to_the_same_bytes_after_any_others_and_on_any_thread() {
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
    fn a_window_reaches_over_the_body() {
        let check = |bytes: usize, expected: i32| assert_eq!(brotli_window(bytes), expected);
        check(0, 10);
        check((1 << 12) - 16, 12);
        check((1 << 12) - 15, 13);
        check((1 << 22) - 16, 22);
        check(1 << 30, 22);
    }
}
