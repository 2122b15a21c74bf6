//! `verify --since`: the chunks that differ from a snapshot verified before are read, and no others.

use std::{ffi::OsStr, fs};

use pinakes_format::storage::integrity::CHUNK_BYTES;
use pinakes_format::storage::manifest::{HASHES, MANIFEST};
use pinakes_tests::{TINY_DUMP, compiler, files_below, publish, sample, write_files};

use crate::integrity::{Copy, sample_files};

#[test]
fn verify_since_reads_what_differs_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    write_files(&dir.path().join("tiny"), TINY_DUMP);
    let inputs = [sample(), dir.path().join("tiny")];
    let path = publish(&inputs, &dir.path().join("out"), &["--quiet"]);
    let (before, after) = (sample_files(), files_below(&path));
    let (earlier, copy) = (Copy::new(&before), Copy::new(&after));
    let earlier = earlier.open().unwrap();
    let verify = || copy.open().and_then(|snapshot| snapshot.verify_since(&earlier));
    let chunks = verify().unwrap();
    let is_checked = |name: &&String| ![HASHES, MANIFEST].contains(&name.as_str());
    let (mut differ, mut same) = (0, 0);
    for name in after.keys().filter(is_checked) {
        for (at, chunk) in after[name].chunks(CHUNK_BYTES).enumerate() {
            let known = before.get(name).and_then(|file| file.chunks(CHUNK_BYTES).nth(at));
            // The hash of a whole file is not that of the same bytes in a larger one.
            let is_whole = |files: &crate::integrity::Files| files[name].len() <= CHUNK_BYTES;
            let is_same = known == Some(chunk) && is_whole(&before) == is_whole(&after);
            if is_same {
                same += 1
            } else {
                differ += 1
            }
            copy.flip(name, at * CHUNK_BYTES + chunk.len() - 1, 1);
            let found = verify();
            // Opening reads the first chunk, and some files to their end.
            let is_read = |error: &pinakes_format::snapshot::OpenError| error.file == *name;
            assert!(is_same || found.as_ref().is_err_and(is_read), "{name}, chunk {at}: {found:?}");
            let is_opened = copy.open().is_ok();
            assert!(!is_same || !is_opened || found.is_ok(), "{name}, chunk {at}: {found:?}");
            copy.flip(name, at * CHUNK_BYTES + chunk.len() - 1, 0);
        }
    }
    assert_eq!((chunks.read, chunks.skipped), (differ, same));
    assert!(differ > 20 && same > 20, "{chunks:?}");
    copy.flip(HASHES, after[HASHES].len() / 2, 1);
    assert!(verify().is_err());
}

#[test]
fn the_command_says_how_many_chunks_it_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    write_files(&dir.path().join("tiny"), TINY_DUMP);
    publish(&[sample()], &out, &["--quiet"]);
    let earlier = fs::read_link(out.join("current")).unwrap();
    publish(&[sample(), dir.path().join("tiny")], &out, &["--quiet"]);
    let verify = |since: &OsStr| {
        let output = compiler(&["verify".as_ref(), out.as_os_str(), "--since".as_ref(), since]);
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), text)
    };
    let (code, text) = verify(earlier.as_os_str());
    let said = format!(" verified since {}: ", earlier.display());
    assert!(code == Some(0) && text.contains(&said) && text.contains(" skipped, "), "{text}");
    for (since, expected, reason) in
        [("../current", 2, "is no id of a snapshot"), ("0123456789abcdef", 3, "No such file")]
    {
        let (code, text) = verify(since.as_ref());
        assert!(code == Some(expected) && text.contains(reason), "{since}: {text}");
    }
}
