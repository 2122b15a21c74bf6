//! Damaged snapshots: whatever happens to their files, no answer but the true one is ever given.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "integrity/promises.rs"]
mod promises;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    os::unix::fs::{FileExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use pinakes_format::{
    autocomplete::autocomplete,
    entity::Entity,
    file::FORMAT_VERSION,
    manifest::{MANIFEST, Manifest},
    query::Deadline,
    render::{Page, Shape},
    snapshot::{Found, OpenError, Snapshot},
};
use pinakes_tests::{Seeded, TINY_DUMP, build, files_below, publish, sample, write_files};

const SHAPES: [Shape; 2] = [Shape::Single, Shape::List];
const TINY_BYTES_MAX: usize = 64 << 10;
const SAMPLE_FLIPS: usize = 2_000;
const THREADS: usize = 2;

type Files = BTreeMap<String, Vec<u8>>;

/// The files of a snapshot of the tiny dump.
fn tiny_files() -> Files {
    files_of(&TINY_DUMP)
}

fn files_of(dump: &[(&str, &str)]) -> Files {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("dump");
    write_files(&input, dump.iter().copied());
    files_below(&build(&[input], &dir.path().join("out"), &["--quiet"]))
}

/// A writable copy of a snapshot, one file of which is damaged at a time.
struct Copy<'f> {
    dir: tempfile::TempDir,
    files: &'f Files,
}

impl<'f> Copy<'f> {
    fn of(files: &'f Files) -> Copy<'f> {
        let dir = tempfile::tempdir().unwrap();
        write_files(dir.path(), files);
        Copy { dir, files }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn open(&self) -> Result<Snapshot, OpenError> {
        Snapshot::open(self.dir.path())
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn restore(&self, name: &str) {
        self.write(name, &self.files[name]);
    }

    fn flip(&self, name: &str, at: usize, mask: u8) {
        let file = File::options().write(true).open(self.path(name)).unwrap();
        file.write_all_at(&[self.files[name][at] ^ mask], at as u64).unwrap();
    }

    /// Demands that opening refuses, and says which file is at fault.
    fn demand_refusal(&self, name: &str, what: &str) -> String {
        let Err(error) = self.open() else { panic!("`{name}` {what}: opened all the same") };
        assert_eq!(error.file, name, "`{name}` {what}: {error}");
        let message = error.to_string();
        assert!(message.contains(&format!("`{name}`")), "`{name}` {what}: {message}");
        message
    }
}

fn render(snapshot: &Snapshot, entity: Entity, row: u32, shape: Shape) -> Option<Vec<u8>> {
    let mut page = Page::new(snapshot, shape);
    snapshot.render(entity, row, &mut page).ok().map(|()| page.out)
}

/// Every answer of an undamaged snapshot.
struct Truth {
    records: BTreeMap<(Entity, u32), [Vec<u8>; 2]>,
    found: BTreeMap<(Entity, u64), Found>,
}

impl Truth {
    fn of(snapshot: &Snapshot) -> Truth {
        let mut truth = Truth { records: BTreeMap::new(), found: BTreeMap::new() };
        for entity in Entity::all() {
            for row in 0..snapshot.count(entity) {
                let shapes = SHAPES.map(|shape| render(snapshot, entity, row, shape).unwrap());
                truth.records.insert((entity, row), shapes);
                let id = snapshot.row_id(entity, row).unwrap();
                truth.found.insert((entity, id), Found::Row(row));
            }
            for id in [2, 404, 2_900_009_001, 2_900_009_002, 5_900_009_001] {
                truth.found.insert((entity, id), snapshot.find(entity, id).unwrap());
            }
        }
        truth
    }

    /// Asks everything of the entities; how many answers were refused. None may differ.
    fn ask(&self, snapshot: &Snapshot, asked: &BTreeSet<Entity>, what: &str) -> usize {
        let mut refused = 0;
        for ((entity, row), expected) in &self.records {
            if !asked.contains(entity) {
                continue;
            }
            for (shape, expected) in SHAPES.into_iter().zip(expected) {
                match render(snapshot, *entity, *row, shape) {
                    None => refused += 1,
                    Some(text) => assert!(text == *expected, "{what}: {entity} row {row} differs"),
                }
            }
        }
        for ((entity, id), expected) in &self.found {
            if !asked.contains(entity) {
                continue;
            }
            match snapshot.find(*entity, *id) {
                Err(_) => refused += 1,
                Ok(found) => assert_eq!(found, *expected, "{what}: {entity} id {id}"),
            }
        }
        refused
    }
}

/// What a set of flips came to.
#[derive(Debug, Default)]
struct Outcome {
    refused_at_open: usize,
    refused_at_touch: usize,
    untouched: usize,
}

/// Flips one byte after another and holds every answer against the truth.
fn check_flips(files: &Files, flips: &[(&str, usize, u8)], of_file: bool) -> Outcome {
    let truth = Truth::of(&Copy::of(files).open().unwrap());
    let outcome = Mutex::new(Outcome::default());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (truth, outcome) = (&truth, &outcome);
            scope.spawn(move || {
                let copy = Copy::of(files);
                for (name, at, mask) in flips.iter().skip(thread).step_by(THREADS) {
                    copy.flip(name, *at, *mask);
                    let what = format!("`{name}` byte {at} xor {mask:#04x}");
                    check_flip(&copy, name, &what, truth, of_file, outcome);
                    copy.flip(name, *at, 0);
                }
                copy.open().unwrap().verify().unwrap();
            });
        }
    });
    outcome.into_inner().unwrap()
}

fn check_flip(
    copy: &Copy<'_>,
    name: &str,
    what: &str,
    truth: &Truth,
    of_file: bool,
    outcome: &Mutex<Outcome>,
) {
    let snapshot = match copy.open() {
        Err(error) => {
            // A damaged level of the tree is found in the file it belongs to.
            assert!(error.file == name || name == "hashes", "{what}: {error}");
            outcome.lock().unwrap().refused_at_open += 1;
            return;
        }
        Ok(snapshot) => snapshot,
    };
    let own = Entity::all().filter(|entity| name.starts_with(entity.facts().plural));
    let asked: BTreeSet<Entity> = if of_file { own.collect() } else { Entity::all().collect() };
    let asked = if asked.is_empty() { Entity::all().collect() } else { asked };
    let refused = truth.ask(&snapshot, &asked, what);
    let error = snapshot.verify().expect_err(what);
    assert!(error.to_string().contains(&format!("`{name}`")), "{what}: {error}");
    let mut outcome = outcome.lock().unwrap();
    if refused > 0 { outcome.refused_at_touch += 1 } else { outcome.untouched += 1 }
}

#[test]
fn every_single_byte_flip_of_every_file_is_refused_or_never_served() {
    let files = tiny_files();
    let bytes: usize = files.values().map(Vec::len).sum();
    assert!(bytes <= TINY_BYTES_MAX, "{bytes} bytes");
    let flips: Vec<_> = files
        .iter()
        .flat_map(|(name, bytes)| (0..bytes.len()).map(move |at| (name.as_str(), at)))
        .map(|(name, at)| (name, at, 1u8 << (at % 8)))
        .collect();
    assert_eq!(flips.len(), bytes);
    let outcome = check_flips(&files, &flips, false);
    // Each of these files is one chunk, which opening checks.
    assert_eq!(outcome.refused_at_open, bytes, "{outcome:?}");
}

#[test]
fn flips_all_over_the_sample_are_refused_or_never_served() {
    let out = tempfile::tempdir().unwrap();
    let files = files_below(&publish(&[sample()], out.path(), &["--quiet"]));
    let total: usize = files.values().map(Vec::len).sum();
    let mut seeded = Seeded(20_260_201);
    let flips: Vec<_> = (0..SAMPLE_FLIPS)
        .map(|_| {
            let mut at = seeded.below(total);
            let (name, _) = files
                .iter()
                .find(|(_, bytes)| {
                    let is_here = at < bytes.len();
                    at -= if is_here { 0 } else { bytes.len() };
                    is_here
                })
                .unwrap();
            (name.as_str(), at, 1 + seeded.below(255) as u8)
        })
        .collect();
    let outcome = check_flips(&files, &flips, true);
    assert!(outcome.refused_at_open > 100, "{outcome:?}");
    assert!(outcome.refused_at_touch > 100, "{outcome:?}");
    assert_eq!(outcome.untouched, 0, "every chunk is touched: {outcome:?}");
}

#[test]
fn damage_after_opening_is_found_at_the_first_touch_and_names_file_and_chunk() {
    let out = tempfile::tempdir().unwrap();
    let files = files_below(&publish(&[sample()], out.path(), &["--quiet"]));
    let copy = Copy::of(&files);
    let truth = Truth::of(&copy.open().unwrap());
    let snapshot = copy.open().unwrap();
    copy.flip("outputs/records", 70_000, 0xff);
    let asked = BTreeSet::from([Entity::Output]);
    assert!(truth.ask(&snapshot, &asked, "flipped while open") > 0);
    let error = snapshot.verify().unwrap_err().to_string();
    assert!(error.contains("`outputs/records`"), "{error}");
    let mut page = Page::new(&snapshot, Shape::Single);
    let refused = (0..snapshot.count(Entity::Output))
        .find_map(|row| snapshot.render(Entity::Output, row, &mut page).err());
    let message = refused.unwrap().to_string();
    assert!(message.starts_with("`outputs/records` is damaged: chunk 1 "), "{message}");
}

#[test]
fn damage_in_the_middle_of_words_is_found_when_they_are_searched() {
    let mut seeded = Seeded(77);
    let mut word = || (0..10).map(|_| char::from(b'a' + seeded.below(26) as u8)).collect();
    let words: Vec<String> = (0..40_000).map(|_| word()).collect();
    let names = words.chunks(100).map(|names| format!("\"{}\"", names.join(" ")));
    let names = names.collect::<Vec<_>>().join(",");
    let source = format!(
        "{{\"id\":\"https://openalex.org/S1\",\"display_name\":\"J\",\"works_count\":1,\
         \"issn_l\":null,\"alternate_titles\":[{names}],\"updated_date\":\"2026-01-10\"}}\n"
    );
    let files = files_of(&[("sources.jsonl", &source)]);
    let name = "sources/words";
    // Opening checks the chunk of the header and that of the directory.
    assert!(files[name].len() > 3 * 65_536, "{} bytes", files[name].len());
    let copy = Copy::of(&files);
    let ask = |snapshot: &Snapshot, word: &str| {
        autocomplete(snapshot, &[Entity::Source], word, Deadline::NEVER)
    };
    let whole = copy.open().unwrap();
    assert!(words.iter().all(|word| ask(&whole, word).unwrap().count == 1));
    for at in [65_536, 100_000, 131_072] {
        copy.flip(name, at, 1);
        let snapshot = copy.open().unwrap();
        let mut refused = 0;
        for word in &words {
            match ask(&snapshot, word) {
                Ok(found) => assert_eq!(found.count, 1, "{word}"),
                Err(error) => {
                    let expected = format!("`{name}` is damaged: chunk {} ", at / 65_536);
                    assert!(error.to_string().starts_with(&expected), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 1_000, "{refused} of {} words are in the chunk", words.len());
        copy.flip(name, at, 0);
    }
}

/// Every length to cut a file to, or many of them where it is long.
fn cuts(length: usize) -> Vec<usize> {
    if length <= 4 << 10 {
        return (0..length).collect();
    }
    let mut seeded = Seeded(length as u64);
    let mut cuts: Vec<usize> = (0..200).map(|_| seeded.below(length)).collect();
    cuts.extend([0, 1, 63, 64, length - 8, length - 1]);
    cuts
}

#[test]
fn a_file_cut_to_any_length_or_grown_is_refused_by_name() {
    let files = tiny_files();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let files = &files;
            scope.spawn(move || {
                let copy = Copy::of(files);
                for (name, bytes) in files.iter().skip(thread).step_by(THREADS) {
                    for length in cuts(bytes.len()) {
                        copy.write(name, &bytes[..length]);
                        copy.demand_refusal(name, &format!("cut to {length} bytes"));
                    }
                    for more in [0u8, b'\n', b' '] {
                        copy.write(name, &[bytes.as_slice(), &[more]].concat());
                        copy.demand_refusal(name, "grown by a byte");
                    }
                    copy.restore(name);
                }
                copy.open().unwrap();
            });
        }
    });
}

#[test]
fn a_file_of_the_sample_cut_at_many_lengths_is_refused_by_name() {
    let out = tempfile::tempdir().unwrap();
    let files = files_below(&publish(&[sample()], out.path(), &["--quiet"]));
    let copy = Copy::of(&files);
    for name in ["hashes", "outputs/records", "authors/records"] {
        for length in cuts(files[name].len()) {
            copy.write(name, &files[name][..length]);
            copy.demand_refusal(name, &format!("cut to {length} bytes"));
        }
        copy.restore(name);
    }
    copy.open().unwrap();
}

#[test]
fn a_file_that_is_gone_or_no_regular_one_is_refused_by_name() {
    let test = "a_file_that_is_gone_or_no_regular_one_is_refused_by_name";
    let files = tiny_files();
    let elsewhere = Copy::of(&files);
    let copy = Copy::of(&files);
    for name in files.keys() {
        let path = copy.path(name);
        fs::remove_file(&path).unwrap();
        copy.demand_refusal(name, "deleted");

        fs::create_dir(&path).unwrap();
        copy.demand_refusal(name, "replaced by a directory");
        fs::remove_dir(&path).unwrap();

        for (what, target) in [
            ("a link to its own bytes", elsewhere.path(name).as_path()),
            ("a link to nothing", Path::new("nothing")),
            ("a link to itself", &path),
            ("a link to a device", Path::new("/dev/zero")),
        ] {
            symlink(target, &path).unwrap();
            copy.demand_refusal(name, &format!("replaced by {what}"));
            fs::remove_file(&path).unwrap();
        }

        match Command::new("mkfifo").arg(&path).status() {
            Ok(status) if status.success() => {
                copy.demand_refusal(name, "replaced by a pipe");
                fs::remove_file(&path).unwrap();
            }
            _ => eprintln!("skipped: {test}: pipes: no `mkfifo` here"),
        }
        copy.restore(name);
    }
    copy.open().unwrap();
}

#[test]
fn files_swapped_between_two_valid_snapshots_are_refused() {
    let files = tiny_files();
    // As many bytes, another content.
    let other: Vec<_> = TINY_DUMP
        .iter()
        .map(|(name, text)| (*name, text.replace("Example", "Elpmaxe").replace("/A1\"", "/A3\"")))
        .map(|(name, text)| (name, text.replace("A2,A1", "A2,A3").replace("\"/I1\"", "\"/I3\"")))
        .collect();
    let other: Vec<(&str, &str)> =
        other.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let other = files_of(&other);
    let copy = Copy::of(&files);
    let mut swapped = 0;
    for (name, bytes) in &other {
        if *bytes == files[name] {
            continue;
        }
        copy.write(name, bytes);
        let Err(error) = copy.open() else { panic!("`{name}` of another snapshot was taken") };
        // Another manifest is whole in itself; it is the files that then do not have its hashes.
        assert!(error.file == *name || name == MANIFEST, "{name}: {error}");
        copy.restore(name);
        swapped += 1;
    }
    assert!(swapped >= 5, "only {swapped} files differ");
    for (name, bytes) in &files {
        let (_, others) = other.iter().find(|(other, _)| *other != name).unwrap();
        if others != bytes {
            copy.write(name, others);
            copy.demand_refusal(name, "replaced by another file of a snapshot");
            copy.restore(name);
        }
    }
    copy.open().unwrap();
}

/// Changes the manifest and seals it again, as a forger would.
fn reseal(copy: &Copy<'_>, change: impl FnOnce(&mut Manifest)) {
    let mut manifest = Manifest::read(&copy.files[MANIFEST]).unwrap();
    change(&mut manifest);
    manifest.seal();
    copy.write(MANIFEST, &manifest.text());
}

#[test]
fn another_format_version_is_refused_with_both_versions_named() {
    let files = tiny_files();
    let copy = Copy::of(&files);
    for version in [0, FORMAT_VERSION - 1, FORMAT_VERSION + 1, u32::MAX] {
        reseal(&copy, |manifest| manifest.format_version = version);
        let message = copy.demand_refusal(MANIFEST, "of another version");
        let expected =
            format!("format version {version}, this program reads {FORMAT_VERSION}; recompile");
        assert!(message.contains(&expected), "{message}");
    }
    copy.restore(MANIFEST);
    copy.open().unwrap();
}

#[test]
fn a_header_of_another_version_layout_schema_or_place_is_refused_though_all_hashes_agree() {
    let files = tiny_files();
    let copy = Copy::of(&files);
    let reads = format!("this program reads {FORMAT_VERSION}; recompile");
    let cases: [(usize, &[u8], &str); 7] = [
        (0, b"SEKANIP", "no Pinakes archive"),
        (8, &[9], &format!("format version 9, {reads}")),
        (8, &[0], &format!("format version 0, {reads}")),
        (12, &[0b101], "archive layout 0b101, this program reads 0b111"),
        (16, &[0; 8], "record schema 0000000000000000, this program reads "),
        (24, &[99], "header field `kind` is 99, expected "),
        (28, &[77], "header field `entity` is "),
    ];
    let is_archive = |name: &&String| !["hashes", MANIFEST, "report.json"].contains(&name.as_str());
    for name in files.keys().filter(is_archive) {
        for (at, field, expected) in cases {
            let mut bytes = files[name].clone();
            bytes[at..at + field.len()].copy_from_slice(field);
            copy.write(name, &bytes);
            reseal(&copy, |manifest| {
                let entry = manifest.files.iter_mut().find(|entry| entry.path == *name).unwrap();
                entry.blake3 = blake3::hash(&bytes).to_hex().to_string();
            });
            let message = copy.demand_refusal(name, expected);
            assert!(message.contains(expected), "{message}");
        }
        copy.restore(name);
    }
    copy.restore(MANIFEST);
    copy.open().unwrap();
}

#[test]
fn a_wrong_size_is_named_with_what_was_expected_and_what_was_found() {
    let files = tiny_files();
    let copy = Copy::of(&files);
    let size = files["outputs/records"].len();
    copy.write("outputs/records", &files["outputs/records"][..size - 1]);
    let message = copy.demand_refusal("outputs/records", "one byte short");
    let expected =
        format!("`outputs/records`: {} bytes, expected {size} by the manifest", size - 1);
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn a_resealed_manifest_may_list_no_other_file_and_miss_none() {
    let files = tiny_files();
    let copy = Copy::of(&files);
    for path in ["../../etc/passwd", "/etc/passwd", "outputs/../strings", "strings\0", "", "x"] {
        reseal(&copy, |manifest| manifest.files[0].path = path.to_string());
        assert!(copy.open().is_err(), "{path:?}");
    }
    reseal(&copy, |manifest| manifest.files.swap(0, 1));
    assert!(copy.open().is_err(), "out of order");
    reseal(&copy, |manifest| manifest.files.insert(0, manifest.files[0].clone()));
    assert!(copy.open().is_err(), "one twice");
    for at in 0..files.len() - 1 {
        reseal(&copy, |manifest| drop(manifest.files.remove(at)));
        assert!(copy.open().is_err(), "without entry {at}");
        let own = Manifest::read(&files[MANIFEST]).unwrap().files[at].size_bytes;
        for size_bytes in [0, own + 1, u64::MAX, u64::MAX / 2, 1 << 40] {
            if size_bytes == own {
                continue;
            }
            reseal(&copy, |manifest| manifest.files[at].size_bytes = size_bytes);
            assert!(copy.open().is_err(), "entry {at} of {size_bytes} bytes");
        }
    }
    for count in [0, 1 << 20, u64::from(u32::MAX), 1 << 33, 1 << 50] {
        for entity in Entity::all().map(|entity| entity.facts().plural) {
            reseal(&copy, |manifest| {
                let counts = manifest.counts.get_mut(entity).unwrap();
                counts.published = if counts.published == count { count + 1 } else { count };
            });
            assert!(copy.open().is_err(), "{count} published {entity}");
            reseal(&copy, |manifest| {
                let counts = manifest.counts.get_mut(entity).unwrap();
                counts.rows = if counts.rows == count { count + 1 } else { count };
            });
            assert!(copy.open().is_err(), "{count} rows of {entity}");
        }
    }
    copy.restore(MANIFEST);
    copy.open().unwrap();
}

#[test]
fn forged_counts_in_a_header_are_refused_or_lead_to_errors_but_to_no_panic() {
    let files = tiny_files();
    let copy = Copy::of(&files);
    let is_archive = |name: &&String| !["hashes", MANIFEST, "report.json"].contains(&name.as_str());
    for name in files.keys().filter(is_archive) {
        for (published, rows) in [
            (0, 0),
            (0, u64::from(u32::MAX)),
            (u64::from(u32::MAX), u64::from(u32::MAX)),
            (1, 0),
            (0, u64::MAX),
            (u64::MAX, u64::MAX),
            (1 << 20, 1 << 20),
            (3, 3),
        ] {
            let mut bytes = files[name].clone();
            bytes[32..40].copy_from_slice(&published.to_le_bytes());
            bytes[40..48].copy_from_slice(&rows.to_le_bytes());
            copy.write(name, &bytes);
            reseal(&copy, |manifest| {
                let entry = manifest.files.iter_mut().find(|entry| entry.path == *name).unwrap();
                entry.blake3 = blake3::hash(&bytes).to_hex().to_string();
            });
            if rows > u64::from(u32::MAX) || published > rows {
                copy.demand_refusal(name, "with impossible counts");
            } else if let Ok(snapshot) = copy.open() {
                let _ = snapshot.verify();
            }
        }
        copy.restore(name);
    }
    copy.restore(MANIFEST);
    copy.open().unwrap();
}
