use super::*;

/// The root and the stored levels of `bytes`.
fn tree(bytes: &[u8]) -> (Hash, Vec<u8>) {
    let mut writer = TreeWriter::default();
    let mut stored = Vec::new();
    let mut last: &[u8] = &[];
    for chunk in bytes.chunks(CHUNK_BYTES) {
        stored.extend_from_slice(&writer.chunk(chunk));
        last = chunk;
    }
    let (root, above) = writer.finish(last);
    if bytes.len() <= CHUNK_BYTES {
        stored.clear();
    }
    stored.extend(above.iter().flatten().flatten());
    (root, stored)
}

#[test]
fn the_root_is_the_plain_blake3_hash_for_every_tree_shape() {
    let run = RUN_VALUES * CHUNK_BYTES;
    let bytes: Vec<u8> = (0..run + CHUNK_BYTES + 7).map(|at| (at / 1_000) as u8).collect();
    for length in [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, run, bytes.len()] {
        let (root, stored) = tree(&bytes[..length]);
        assert_eq!(root, blake3::hash(&bytes[..length]), "{length}");
        assert_eq!(stored.len() as u64, levels_bytes(length as u64));
        let verifier = Verifier::new("f".into(), length as u64, root, 0);
        verifier.verify_top(&stored[..]).unwrap();
        verifier.check(&bytes[..length], &stored[..], 0, length).unwrap();
    }
}

#[test]
fn only_the_first_touch_counts_as_verification_time() {
    let bytes: Vec<u8> = (0..9 * CHUNK_BYTES).map(|at| at as u8).collect();
    let (root, stored) = tree(&bytes);
    let verifier = Verifier::new("f".into(), bytes.len() as u64, root, 0);
    let spent = || {
        let before = thread_time_verifying();
        verifier.check(&bytes[..], &stored[..], 0, 5 * CHUNK_BYTES).unwrap();
        thread_time_verifying() - before
    };
    assert!(spent() > Duration::ZERO);
    assert_eq!(spent(), Duration::ZERO);
    // A run is verified once, not with every chunk below it.
    let torn = vec![0; stored.len()];
    let mut levels = stored.clone();
    levels[5 * VALUE_BYTES..].copy_from_slice(&torn[5 * VALUE_BYTES..]);
    verifier.verify_top(&levels[..]).unwrap();
    assert!(verifier.check(&bytes[..], &levels[..], 5 * CHUNK_BYTES, bytes.len()).is_err());
}

#[test]
fn forgotten_chunks_and_values_are_verified_again() {
    let mut bytes: Vec<u8> = (0..3 * CHUNK_BYTES + 9).map(|at| at as u8).collect();
    let (root, stored) = tree(&bytes);
    let verifier = Verifier::new("f".into(), bytes.len() as u64, root, 0);
    assert_eq!(verifier.progress(), (4, 0));
    verifier.check(&bytes[..], &stored[..], CHUNK_BYTES, 3 * CHUNK_BYTES).unwrap();
    assert_eq!(verifier.progress(), (4, 2));
    bytes[CHUNK_BYTES] ^= 1;
    verifier.check(&bytes[..], &stored[..], CHUNK_BYTES, CHUNK_BYTES + 1).unwrap();
    verifier.forget();
    assert_eq!(verifier.progress(), (4, 0));
    let error = verifier.check(&bytes[..], &stored[..], CHUNK_BYTES, CHUNK_BYTES + 1).unwrap_err();
    assert_eq!((error.file.as_str(), error.chunk), ("f", 1));
    assert!(
        verifier.check(&bytes[..], &vec![0; stored.len()][..], 0, 1).is_err(),
        "the values were not forgotten"
    );
}

#[test]
fn touching_a_chunk_detects_a_bit_flip_in_it_or_in_its_values() {
    let bytes: Vec<u8> = (0..3 * CHUNK_BYTES + 9).map(|at| at as u8).collect();
    let (root, stored) = tree(&bytes);
    let fresh = || Verifier::new("f".into(), bytes.len() as u64, root, 0);
    for at in (0..bytes.len()).step_by(997) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let error = fresh().check(&damaged[..], &stored[..], at, at + 1).unwrap_err();
        assert_eq!(error.chunk as usize, at / CHUNK_BYTES);
    }
    for at in 0..stored.len() {
        let mut damaged = stored.clone();
        damaged[at] ^= 1;
        assert!(fresh().check(&bytes[..], &damaged[..], 0, 1).is_err());
        assert!(fresh().verify_top(&damaged[..]).is_err());
    }
}
