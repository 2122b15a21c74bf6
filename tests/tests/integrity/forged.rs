//! Forged snapshots with consistent hashes: opening refuses them or reports an error later.

use std::fs;
use std::time::{Duration, Instant};

use pinakes_format::entity::Entity;
use pinakes_format::query::{Deadline, Query, QueryError};
use pinakes_format::storage::header::FORMAT_VERSION;
use pinakes_format::storage::integrity::{HASHES, levels_of};
use pinakes_format::storage::manifest::{MANIFEST, Manifest};

use crate::integrity::Copy;
use crate::integrity::Files;
use crate::integrity::tiny_files;

/// Changes the manifest and makes it consistent again, as a forger would.
fn rewrite_manifest(copy: &Copy<'_>, change: impl FnOnce(&mut Manifest)) {
    let mut manifest = Manifest::read(&copy.files[MANIFEST]).unwrap();
    change(&mut manifest);
    manifest.set_root();
    copy.write(MANIFEST, &manifest.text());
}

/// Replaces a file, and enters its size and hash into the manifest, and its hash tree into `hashes`.
pub fn forge(copy: &Copy<'_>, name: &str, bytes: &[u8]) {
    copy.write(name, bytes);
    rewrite_manifest(copy, |manifest| {
        enter(manifest, name, bytes);
        let (begins, length) = manifest.levels_from().unwrap();
        let mut hashes = vec![0; length];
        for (name, begin) in begins {
            let levels = levels_of(&fs::read(copy.path(name)).unwrap());
            hashes[begin..begin + levels.len()].copy_from_slice(&levels);
        }
        enter(manifest, HASHES, &hashes);
        copy.write(HASHES, &hashes);
    });
}

fn enter(manifest: &mut Manifest, name: &str, bytes: &[u8]) {
    let entry = manifest.files.iter_mut().find(|entry| entry.path == name).unwrap();
    entry.blake3 = blake3::hash(bytes).to_hex().to_string();
    entry.size_bytes = bytes.len() as u64;
}

/// Returns the names of the files with an archive header.
fn archives(files: &Files) -> impl Iterator<Item = &String> {
    files.keys().filter(|name| !["hashes", MANIFEST, "report.json"].contains(&name.as_str()))
}

#[test]
fn a_version_error_names_the_found_and_the_supported_version() {
    let files = tiny_files();
    let copy = Copy::new(&files);
    for version in [0, FORMAT_VERSION - 1, FORMAT_VERSION + 1, u32::MAX] {
        rewrite_manifest(&copy, |manifest| manifest.format_version = version);
        let message = copy.assert_refused(MANIFEST, "of another version");
        let next = if version > FORMAT_VERSION { "use a newer" } else { "recompile" };
        let expected =
            format!("format version {version}, this program reads {FORMAT_VERSION}; {next}");
        assert!(message.contains(&expected), "{message}");
    }
    copy.restore(MANIFEST);
    copy.open().unwrap();
}

#[test]
fn a_header_with_a_wrong_field_is_refused_despite_valid_hashes() {
    let files = tiny_files();
    let copy = Copy::new(&files);
    let reads = format!("this program reads {FORMAT_VERSION}; ");
    let newer = FORMAT_VERSION + 1;
    let cases: [(usize, &[u8], &str); 7] = [
        (0, b"SEKANIP", "no Pinakes archive"),
        (8, &newer.to_le_bytes(), &format!("format version {newer}, {reads}use a newer version")),
        (8, &[0], &format!("format version 0, {reads}recompile")),
        (12, &[0b101], "archive layout 0b101, this program reads 0b111"),
        (16, &[0; 8], "record schema 0000000000000000, this program reads "),
        (24, &[99], "header field `kind` is 99, expected "),
        (28, &[77], "header field `entity` is "),
    ];
    for name in archives(&files) {
        for (at, field, expected) in cases {
            let mut bytes = files[name].clone();
            bytes[at..at + field.len()].copy_from_slice(field);
            forge(&copy, name, &bytes);
            let message = copy.assert_refused(name, expected);
            assert!(message.contains(expected), "{message}");
        }
        copy.restore(name);
    }
    copy.restore(MANIFEST);
    copy.open().unwrap();
}

#[test]
fn a_consistent_manifest_with_wrong_files_or_counts_is_refused() {
    let files = tiny_files();
    let copy = Copy::new(&files);
    for path in ["../../etc/passwd", "/etc/passwd", "outputs/../strings", "strings\0", "", "x"] {
        rewrite_manifest(&copy, |manifest| manifest.files[0].path = path.to_string());
        assert!(copy.open().is_err(), "{path:?}");
    }
    rewrite_manifest(&copy, |manifest| manifest.files.swap(0, 1));
    assert!(copy.open().is_err(), "out of order");
    rewrite_manifest(&copy, |manifest| manifest.files.insert(0, manifest.files[0].clone()));
    assert!(copy.open().is_err(), "one twice");
    for at in 0..files.len() - 1 {
        let entry = Manifest::read(&files[MANIFEST]).unwrap().files.swap_remove(at);
        rewrite_manifest(&copy, |manifest| drop(manifest.files.remove(at)));
        // A snapshot may be built without a full-text index.
        let is_optional = entry.path.ends_with("/full_text");
        assert_eq!(copy.open().is_ok(), is_optional, "without entry {at}");
        let own = entry.size_bytes;
        for size_bytes in [0, own + 1, u64::MAX, u64::MAX / 2, 1 << 40] {
            if size_bytes == own {
                continue;
            }
            rewrite_manifest(&copy, |manifest| manifest.files[at].size_bytes = size_bytes);
            assert!(copy.open().is_err(), "entry {at} of {size_bytes} bytes");
        }
    }
    for count in [0, 1 << 20, u64::from(u32::MAX), 1 << 33, 1 << 50] {
        for entity in Entity::all().map(|entity| entity.facts().plural) {
            rewrite_manifest(&copy, |manifest| {
                let counts = manifest.counts.get_mut(entity).unwrap();
                counts.published = if counts.published == count { count + 1 } else { count };
            });
            assert!(copy.open().is_err(), "{count} published {entity}");
            rewrite_manifest(&copy, |manifest| {
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
fn forged_counts_in_a_header_never_panic() {
    let files = tiny_files();
    let copy = Copy::new(&files);
    for name in archives(&files) {
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
            forge(&copy, name, &bytes);
            if rows > u64::from(u32::MAX) || published > rows {
                copy.assert_refused(name, "with impossible counts");
            } else if let Ok(snapshot) = copy.open() {
                let _ = snapshot.verify();
            }
        }
        copy.restore(name);
    }
    copy.restore(MANIFEST);
    copy.open().unwrap();
}

#[test]
fn searches_of_a_forged_full_text_index_end_without_a_panic() {
    let files = tiny_files();
    let copy = Copy::new(&files);
    let name = "outputs/full_text";
    let searches = [
        "testing byte every",
        "\"every byte\" OR tests~2",
        "NOT byt* title:testing",
        "exampel tset",
    ];
    let (mut refused, mut unnoticed) = (0, 0);
    for at in 0..files[name].len() {
        for mask in [1 << (at % 8), 0xff] {
            let mut bytes = files[name].clone();
            bytes[at] ^= mask;
            forge(&copy, name, &bytes);
            let Ok(snapshot) = copy.open() else {
                refused += 1;
                continue;
            };
            for text in searches {
                let mut query = Query::new(Entity::Output);
                query.add_search(text).unwrap();
                let end = Instant::now() + Duration::from_secs(20);
                if let Err(QueryError::Deadline) = query.execute(&snapshot, Deadline::at(end)) {
                    panic!("byte {at} xor {mask:#04x}: `{text}` does not end");
                }
            }
            match snapshot.verify() {
                Ok(()) => unnoticed += 1,
                Err(error) => {
                    assert!(error.to_string().contains(&format!("`{name}`")), "byte {at}: {error}");
                    refused += 1;
                }
            }
        }
    }
    // Only an impact, a position or a letter that is as good as another passes.
    assert!(refused > unnoticed, "{refused} refused, {unnoticed} unnoticed");
    copy.restore(name);
    copy.restore(MANIFEST);
    copy.open().unwrap().verify().unwrap();
}
