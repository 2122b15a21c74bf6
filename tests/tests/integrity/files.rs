//! Files cut, grown, gone, swapped or no regular ones: opening refuses them by name.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use pinakes_format::storage::manifest::MANIFEST;
use pinakes_tests::{SeededRng, TINY_DUMP};

use crate::Copy;
use crate::THREADS;
use crate::files_of;
use crate::sample_files;
use crate::tiny_files;

/// Every length to cut a file to, or many of them where it is long.
fn cuts(length: usize) -> Vec<usize> {
    if length <= 4 << 10 {
        return (0..length).collect();
    }
    let mut rng = SeededRng(length as u64);
    let mut cuts: Vec<usize> = (0..200).map(|_| rng.below(length)).collect();
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
    let files = sample_files();
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
