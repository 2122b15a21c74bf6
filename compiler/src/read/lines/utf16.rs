//! UTF-16: detection, and decoding to UTF-8 while it is read.

use std::io::{BufReader, Read};

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use encoding_rs_io::DecodeReaderBytesBuilder;

/// Bytes examined to detect UTF-16.
const PROBED_BYTES: usize = 4 << 10;

/// Detects UTF-16 by its byte order mark, or by NUL in at least every fourth byte.
pub(crate) fn detect(beginning: &[u8]) -> Option<&'static Encoding> {
    let probed = &beginning[..beginning.len().min(PROBED_BYTES)];
    let nul_count = probed.iter().filter(|byte| **byte == 0).count();
    match probed {
        [0xff, 0xfe, ..] => Some(UTF_16LE),
        [0xfe, 0xff, ..] => Some(UTF_16BE),
        _ if nul_count == 0 || nul_count * 4 < probed.len() => None,
        // The first byte of an ASCII character is NUL if the greater byte comes first.
        [0, ..] => Some(UTF_16BE),
        _ => Some(UTF_16LE),
    }
}

/// Decodes to UTF-8. Half a surrogate pair becomes U+FFFD.
pub(crate) fn decode<'r>(
    reader: impl Read + 'r,
    encoding: &'static Encoding,
) -> BufReader<Box<dyn Read + 'r>> {
    let decoded = DecodeReaderBytesBuilder::new().encoding(Some(encoding)).build(reader);
    BufReader::with_capacity(1 << 18, Box::new(decoded))
}
