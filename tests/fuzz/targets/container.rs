//! Target: compressed parts, both arbitrary bytes and damaged gzip and zstd containers.

#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;

/// Compresses bytes as `kind` selects, then may cut the container or change a byte at `harm`.
fn contain(kind: u8, harm: u16, bytes: &[u8]) -> Vec<u8> {
    let mut whole = match kind % 3 {
        0 => return bytes.to_vec(),
        1 => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
        }
        _ => zstd::encode_all(bytes, 1).unwrap_or_default(),
    };
    let at = usize::from(harm) % (whole.len() * 4).max(1);
    match kind / 3 % 3 {
        1 => whole.truncate(at),
        2 => whole.get_mut(at).into_iter().for_each(|byte| *byte ^= 0x10),
        _ => {}
    }
    whole
}

fuzz_target!(|bytes: &[u8]| {
    let Some(([kind, low, high], rest)) = bytes.split_first_chunk() else { return };
    let harm = u16::from_le_bytes([*low, *high]);
    pinakes_fuzz::compile(&[("works.jsonl.gz", &contain(*kind, harm, rest))]);
});
