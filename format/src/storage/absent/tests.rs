use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
};

use blake3::Hash;

use super::cached::REMOVED_CHUNKS;
use super::*;
use crate::storage::archive::{InArchive, Reading};
use crate::storage::header::{FileKind, Header};
use crate::storage::integrity::{VALUE_BYTES, Verifier, levels_of};
use crate::storage::loading::LoadMode;
use crate::storage::mmap::Map;

/// More chunks than one run of values has.
const BYTES: usize = 300 * CHUNK_BYTES + 7;

#[derive(Clone)]
struct Handle(Archive);

impl InArchive for Handle {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.0
    }
}

/// A host with a file, and a directory with holes in its place.
struct Setup {
    directory: tempfile::TempDir,
    bytes: Vec<u8>,
    levels: Vec<u8>,
    root: Hash,
}

impl Setup {
    fn new() -> Setup {
        let bytes: Vec<u8> = (0..BYTES).map(|at| (at / 5 % 251) as u8).collect();
        let (levels, root) = (levels_of(&bytes), blake3::hash(&bytes));
        let directory = tempfile::tempdir().unwrap();
        for (name, size) in [("file", bytes.len()), (HASHES, levels.len())] {
            let file = File::create(directory.path().join(name)).unwrap();
            file.set_len(size as u64).unwrap();
        }
        Setup { directory, bytes, levels, root }
    }

    fn open(&self) -> Archive {
        let map = |name: &str| {
            let file = File::open(self.directory.path().join(name)).unwrap();
            Map::load(file, LoadMode::Sparse).unwrap()
        };
        let verifier = Verifier::new("file".into(), BYTES as u64, self.root, 0);
        let kind = FileKind::Strings;
        let header = Header { kind, entity: None, published: 0, rows: 0, schema_hash: 0 };
        let hashes = Arc::new(map(HASHES));
        Archive::open_fetched(map("file"), hashes, verifier, header, self.directory.path())
    }

    fn send(&self, part: &Missing) -> Vec<u8> {
        let from = if part.is_values() { &self.levels } else { &self.bytes };
        from[part.range().start as usize..part.range().end as usize].to_vec()
    }
}

fn is_absent(read: Result<&[u8], ReadError>) -> bool {
    matches!(read, Err(ReadError::Absent { .. }))
}

#[test]
fn an_attempt_notes_what_is_absent_and_the_next_reads_it() {
    let setup = Setup::new();
    let archive = setup.open();
    let wanted: Arc<Wanted> = Arc::default();
    let Handle(collecting) =
        Handle(archive.clone()).reading(&Reading::Collects(Arc::clone(&wanted)));
    assert!(is_absent(archive.bytes(9, 19)), "a plain handle notes nothing");
    assert!(wanted.is_empty());
    assert!(is_absent(collecting.bytes(270 * CHUNK_BYTES, 270 * CHUNK_BYTES + 1)));
    collecting.fetch(3 * CHUNK_BYTES, 3 * CHUNK_BYTES + 1);
    let missing = wanted.take(&mut FetchedStretches::default());
    let found: Vec<_> = missing.iter().map(|part| (part.is_values(), part.range())).collect();
    let chunks =
        |range: Range<u64>| range.start * CHUNK_BYTES as u64..range.end * CHUNK_BYTES as u64;
    let values = |range: Range<u64>| range.start * 32..range.end * 32;
    // The run of the top level, two runs of level 0, and the chunks.
    assert_eq!(
        found,
        [
            (true, values(301..311)),
            (true, values(0..32)),
            (true, values(256..288)),
            (false, chunks(3..4)),
            (false, chunks(270..271)),
        ]
    );
    for part in &missing {
        part.accept(&setup.send(part)).unwrap();
    }
    let at = 3 * CHUNK_BYTES;
    assert_eq!(archive.bytes(at, at + 10).unwrap(), &setup.bytes[at..at + 10]);
    assert!(is_absent(archive.bytes(0, 1)));
}

#[test]
fn a_reader_that_reads_on_gets_more_each_time() {
    let setup = Setup::new();
    let wanted: Arc<Wanted> = Arc::default();
    let Handle(collecting) = Handle(setup.open()).reading(&Reading::Collects(Arc::clone(&wanted)));
    let (mut fetched, mut rounds) = (FetchedStretches::default(), 0);
    for chunk in 0..300 {
        while is_absent(collecting.bytes(chunk * CHUNK_BYTES, chunk * CHUNK_BYTES + 1)) {
            rounds += 1;
            for part in wanted.take(&mut fetched) {
                part.accept(&setup.send(&part)).unwrap();
            }
        }
    }
    assert!(rounds <= 8, "{rounds} rounds");
}

#[test]
fn wrong_bytes_are_not_written() {
    let setup = Setup::new();
    let wanted: Arc<Wanted> = Arc::default();
    let Handle(collecting) = Handle(setup.open()).reading(&Reading::Collects(Arc::clone(&wanted)));
    assert!(is_absent(collecting.bytes(0, 1)));
    for part in wanted.take(&mut FetchedStretches::default()) {
        let sent = setup.send(&part);
        let mut wrong = sent.clone();
        wrong[7] ^= 1;
        for wrong in [wrong, Vec::new()] {
            let outcome = part.accept(&wrong).unwrap();
            assert!(!outcome.wrong.is_empty() && outcome.unproved.is_empty());
        }
        assert!(is_absent(collecting.bytes(0, 1)));
        part.accept(&sent).unwrap();
    }
    collecting.bytes(0, 1).unwrap();
    let file = fs::read(setup.directory.path().join("file")).unwrap();
    let block = BLOCK_CHUNKS * CHUNK_BYTES;
    assert_eq!(file[..block], setup.bytes[..block]);
    assert!(file[block..].iter().all(|byte| *byte == 0));
}

#[test]
fn of_a_range_the_right_chunks_are_written() {
    let setup = Setup::new();
    fs::write(setup.directory.path().join(HASHES), &setup.levels).unwrap();
    let archive = setup.open();
    let part = |chunks| Missing { file: Arc::clone(archive.shared()), part: Part::Chunks(chunks) };
    let mut bytes = setup.send(&part(10..20));
    bytes[4 * CHUNK_BYTES] ^= 1;
    let sent = part(10..20).accept(&bytes).unwrap();
    let wrong: Vec<_> = sent.wrong.iter().map(|of| of.part.clone()).collect();
    assert_eq!(
        (sent.written, &wrong[..], sent.unproved.len()),
        (9, &[Part::Chunks(14..15)][..], 0)
    );
    let range = |chunks: Range<usize>| chunks.start * CHUNK_BYTES..chunks.end * CHUNK_BYTES;
    for (here, is_here) in [(10..14, true), (14..15, false), (15..20, true)] {
        let Range { start, end } = range(here);
        assert_eq!(
            archive.bytes(start, end).is_ok_and(|of| of == &setup.bytes[start..end]),
            is_here
        );
    }
    let is_apart = |of: &Missing| {
        [range(14..15).start as u64, range(17..18).start as u64].contains(&of.range().start)
    };
    let parts: Vec<_> = part(10..20).set_apart(is_apart).into_iter().map(|of| of.part).collect();
    assert_eq!(parts, [10..14, 14..15, 15..17, 17..18, 18..20].map(Part::Chunks));
}

#[test]
fn values_that_are_damaged_here_do_not_make_sent_bytes_wrong() {
    let setup = Setup::new();
    fs::write(setup.directory.path().join(HASHES), &setup.levels).unwrap();
    let archive = setup.open();
    let part = Missing { file: Arc::clone(archive.shared()), part: Part::Chunks(9..10) };
    // The values are verified, and damaged afterwards.
    assert!(is_absent(archive.bytes(0, 1)));
    let hashes = File::options().write(true).open(setup.directory.path().join(HASHES)).unwrap();
    hashes.write_all_at(&[7; 32], 9 * VALUE_BYTES as u64).unwrap();
    let sent = part.accept(&setup.send(&part)).unwrap();
    assert_eq!((sent.written, sent.wrong.len()), (0, 0));
    let unproved: Vec<_> = sent.unproved.iter().map(|of| of.part.clone()).collect();
    assert_eq!(unproved, [Part::Values(0, 0..1), Part::Chunks(9..10)]);
    for missing in &sent.unproved {
        assert_eq!(missing.accept(&setup.send(missing)).unwrap().written, 1);
    }
    assert_eq!(
        archive.bytes(9 * CHUNK_BYTES, 9 * CHUNK_BYTES + 1).unwrap(),
        &setup.bytes[9 * CHUNK_BYTES..][..1]
    );
}

#[test]
fn chunks_in_use_stay_and_others_are_removed() {
    let setup = Setup::new();
    fs::write(setup.directory.path().join("file"), &setup.bytes).unwrap();
    fs::write(setup.directory.path().join(HASHES), &setup.levels).unwrap();
    let archive = setup.open();
    assert_eq!(archive.bytes(0, BYTES).unwrap(), setup.bytes);
    let mut place = StretchPlace::default();
    let mut stretches: Vec<_> =
        std::iter::from_fn(|| CachedStretch::next(&archive, &mut place)).collect();
    let mut mark = || stretches.iter_mut().map(CachedStretch::mark).sum::<u64>();
    assert_eq!(mark(), 0, "all was read");
    let read = |at: usize| assert_eq!(archive.bytes(at, at + 1).unwrap(), &setup.bytes[at..=at]);
    let (before, meanwhile) = (REMOVED_CHUNKS * CHUNK_BYTES + 5, 9 * CHUNK_BYTES);
    read(before);
    assert_eq!(mark(), (BYTES - CHUNK_BYTES) as u64);
    read(meanwhile);
    let removed: u64 = stretches.iter().map(CachedStretch::remove_unused).sum();
    assert_eq!(removed, (BYTES - 2 * CHUNK_BYTES) as u64);
    read(before);
    read(meanwhile);
    assert!(is_absent(archive.bytes(0, 1)));
}

/// Sends what a setup has.
struct Host<'s>(&'s Setup);

impl ChunkSource for Host<'_> {
    fn fetch(&self, missing: Vec<Missing>) -> Result<(), ReadError> {
        for part in &missing {
            part.accept(&self.0.send(part)).unwrap();
        }
        Ok(())
    }
}

#[test]
fn equal_chunks_are_copied_from_an_earlier_file() {
    let earlier = Setup::new();
    fs::write(earlier.directory.path().join("file"), &earlier.bytes).unwrap();
    fs::write(earlier.directory.path().join(HASHES), &earlier.levels).unwrap();
    let mut later = Setup::new();
    later.bytes[2 * CHUNK_BYTES] ^= 1;
    (later.levels, later.root) = (levels_of(&later.bytes), blake3::hash(&later.bytes));
    let (file, other) = (later.open(), earlier.open());
    let copied = take_over(&file, &other, &Host(&later));
    assert_eq!(copied, (BYTES - CHUNK_BYTES) as u64);
    assert!(is_absent(file.bytes(2 * CHUNK_BYTES, 2 * CHUNK_BYTES + 1)));
    assert_eq!(file.bytes(3 * CHUNK_BYTES, BYTES).unwrap(), &later.bytes[3 * CHUNK_BYTES..]);
}
