//! Truncated, extended, missing, exchanged and special files: opening names the file in its error.

use std::{collections::BTreeSet, fs, os::unix::fs::symlink, path::Path, process::Command};

use pinakes_format::storage::{HEADER_BYTES, manifest::MANIFEST};
use pinakes_tests::{SeededRng, TINY_DUMP, skip, times};

use crate::integrity::{Copy, THREADS, files_of, sample_files, tiny_files};

/// Returns every length of a manifest, whose text states its own length nowhere. Of another file, whose size the manifest
/// states, returns the lengths at its edges and those of its header, and some others.
fn truncated_lengths(name: &str, length: usize) -> BTreeSet<usize> {
    if name == MANIFEST {
        return (0..length).collect();
    }
    let mut rng = SeededRng(length as u64);
    let some = (0..times(8)).map(|_| rng.below(length)).collect::<Vec<_>>();
    let edges = [0, 1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1, length - 2, length - 1];
    edges.into_iter().filter(|edge| *edge < length).chain(some).collect()
}

#[test]
fn opening_names_a_truncated_or_extended_file() {
    let files = tiny_files();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let files = &files;
            scope.spawn(move || {
                let copy = Copy::new(files);
                for (name, bytes) in files.iter().skip(thread).step_by(THREADS) {
                    for length in truncated_lengths(name, bytes.len()) {
                        copy.write(name, &bytes[..length]);
                        copy.assert_refused(name, &format!("cut to {length} bytes"));
                    }
                    for more in [0u8, b'\n', b' '] {
                        copy.write(name, &[bytes.as_slice(), &[more]].concat());
                        copy.assert_refused(name, "grown by a byte");
                    }
                    copy.restore(name);
                }
                copy.open().unwrap();
            });
        }
    });
}

#[test]
fn opening_names_a_truncated_file_of_the_sample() {
    let files = sample_files();
    let copy = Copy::new(&files);
    for name in ["hashes", "outputs/records", "authors/records"] {
        for length in truncated_lengths(name, files[name].len()) {
            copy.write(name, &files[name][..length]);
            copy.assert_refused(name, &format!("cut to {length} bytes"));
        }
        copy.restore(name);
    }
    copy.open().unwrap();
}

#[test]
fn opening_names_a_missing_or_special_file() {
    let test = "opening_names_a_missing_or_special_file";
    let files = tiny_files();
    let elsewhere = Copy::new(&files);
    let copy = Copy::new(&files);
    for name in files.keys() {
        let path = copy.path(name);
        fs::remove_file(&path).unwrap();
        copy.assert_refused(name, "deleted");

        fs::create_dir(&path).unwrap();
        copy.assert_refused(name, "replaced by a directory");
        fs::remove_dir(&path).unwrap();

        for (what, target) in [
            ("a link to its own bytes", elsewhere.path(name).as_path()),
            ("a link to nothing", Path::new("nothing")),
            ("a link to itself", &path),
            ("a link to a device", Path::new("/dev/zero")),
        ] {
            symlink(target, &path).unwrap();
            copy.assert_refused(name, &format!("replaced by {what}"));
            fs::remove_file(&path).unwrap();
        }

        match Command::new("mkfifo").arg(&path).status() {
            Ok(status) if status.success() => {
                copy.assert_refused(name, "replaced by a pipe");
                fs::remove_file(&path).unwrap();
            }
            _ => skip(test, "pipes: no `mkfifo` here"),
        }
        copy.restore(name);
    }
    copy.open().unwrap();
}

#[test]
fn opening_refuses_files_of_another_valid_snapshot() {
    let files = tiny_files();
    // Other content of the same length.
    let other: Vec<_> = TINY_DUMP
        .iter()
        .map(|(name, text)| (*name, text.replace("Example", "Elpmaxe").replace("/A1\"", "/A3\"")))
        .map(|(name, text)| (name, text.replace("A2,A1", "A2,A3").replace("\"/I1\"", "\"/I3\"")))
        .collect();
    let other: Vec<(&str, &str)> =
        other.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let other = files_of(&other);
    let copy = Copy::new(&files);
    let mut swapped = 0;
    for (name, bytes) in &other {
        if *bytes == files[name] {
            continue;
        }
        copy.write(name, bytes);
        let Err(error) = copy.open() else { panic!("`{name}` of another snapshot was accepted") };
        // A foreign manifest is valid in itself; the other files then do not match its hashes.
        assert!(error.file == *name || name == MANIFEST, "{name}: {error}");
        copy.restore(name);
        swapped += 1;
    }
    assert!(swapped >= 5, "only {swapped} files differ");
    for (name, bytes) in &files {
        let (_, others) = other.iter().find(|(other, _)| *other != name).unwrap();
        if others != bytes {
            copy.write(name, others);
            copy.assert_refused(name, "replaced by another file of a snapshot");
            copy.restore(name);
        }
    }
    copy.open().unwrap();
}

#[test]
fn a_size_error_names_the_expected_and_the_found_size() {
    let files = tiny_files();
    let copy = Copy::new(&files);
    let size = files["outputs/records"].len();
    copy.write("outputs/records", &files["outputs/records"][..size - 1]);
    let message = copy.assert_refused("outputs/records", "one byte short");
    let expected =
        format!("`outputs/records`: {} bytes, expected {size} by the manifest", size - 1);
    assert!(message.contains(&expected), "{message}");
}
