//! Where an export writes: a directory, a file, or standard output; and what a failure leaves there.

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
    process::{Command, Stdio},
};

use pinakes_tests::files_below;

use crate::export::Setup;

/// Decompresses a file by the ending of its name.
fn inflated(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let mut text = String::new();
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("zst") => text = String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap(),
        Some("gz") => {
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        }
        _ => text = String::from_utf8(bytes).unwrap(),
    }
    text
}

#[test]
fn a_file_a_directory_and_standard_output_get_the_same_lines() {
    let setup = Setup::from_sample();
    let expected = setup.text("fields");
    assert!(!expected.is_empty());
    for name in ["fields.jsonl", "fields.jsonl.gz", "fields.jsonl.zst", "plain"] {
        assert_eq!(inflated(&setup.export(name, "fields")), expected, "{name}");
    }
    let odd = fs::read(setup.export("odd.gz", "fields --compress zst")).unwrap();
    assert_eq!(zstd::decode_all(&odd[..]).unwrap(), expected.into_bytes());
}

#[test]
fn one_entity_goes_to_a_directory_that_exists_or_whose_name_ends_in_a_slash() {
    let setup = Setup::from_sample();
    fs::create_dir(setup.beside("exists")).unwrap();
    for name in ["exists", "new/"] {
        let files: Vec<String> = files_below(&setup.export(name, "fields")).into_keys().collect();
        assert_eq!(files, ["fields.jsonl.zst"], "{name}");
    }
    let tables = setup.export("tables", "outputs --edges --format parquet");
    let files: Vec<String> = files_below(&tables).into_keys().collect();
    let expected = [
        "citations.parquet",
        "merged_ids/outputs.csv",
        "outputs.parquet",
        "outputs_authors.parquet",
        "outputs_funders.parquet",
        "outputs_topics.parquet",
        "outputs_venues.parquet",
    ];
    assert_eq!(files, expected);
}

#[test]
fn several_files_go_to_a_directory_alone() {
    let setup = Setup::from_sample();
    let file = setup.beside("file");
    fs::write(&file, "before").unwrap();
    for (out, options, says) in [
        (file.as_path(), "", "is a file, and the output is several files"),
        (file.as_path(), "fields domains", "is a file, and the output is several files"),
        (Path::new("-"), "", "the output is several files"),
        (Path::new("-"), "outputs --edges --format parquet", "the output is several files"),
        (Path::new("/dev/null"), "fields", "is no regular file"),
    ] {
        let output = setup.run(out, options);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options}: {errors}");
        assert!(errors.contains(says), "{options}: {errors}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
}

#[test]
fn a_file_is_replaced_when_it_is_complete_and_kept_after_a_failure() {
    use std::os::unix::fs::PermissionsExt;
    let setup = Setup::from_sample();
    let directory = setup.beside("out");
    fs::create_dir(&directory).unwrap();
    let file = directory.join("outputs.parquet");
    fs::write(&file, "before").unwrap();
    // A killed run left one file; a run that is alive holds the other.
    fs::write(directory.join(".outputs.parquet.tmp-1"), "half").unwrap();
    let alive = directory.join(".outputs.parquet.tmp-2");
    let lock = File::create(&alive).unwrap();
    lock.lock().unwrap();
    let output = setup.run(&file, "outputs --format parquet");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}\n", file.display()));
    let complete = fs::read(&file).unwrap();
    assert!(complete.starts_with(b"PAR1") && complete.ends_with(b"PAR1"));
    let names: Vec<String> = files_below(&directory).into_keys().collect();
    assert_eq!(names, [".outputs.parquet.tmp-2", "outputs.parquet"]);
    fs::remove_file(alive).unwrap();

    let records = setup.snapshot.join("outputs/records");
    fs::set_permissions(&records, fs::Permissions::from_mode(0o644)).unwrap();
    let mut bytes = fs::read(&records).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&records, bytes).unwrap();
    for options in ["outputs", "outputs --integer-ids", "outputs --format parquet"] {
        let output = setup.run(&file, options);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(8), "{options}: {errors}");
        assert!(errors.contains("; nothing was exported"), "{options}: {errors}");
        assert!(fs::read(&file).unwrap() == complete, "{options}");
        let names: Vec<String> = files_below(&directory).into_keys().collect();
        assert_eq!(names, ["outputs.parquet"], "{options}");
    }
}

#[test]
fn a_reader_that_leaves_ends_the_export_quietly() {
    let setup = Setup::from_sample();
    let mut export = Command::new(pinakes_tests::program("pinakes-compiler"))
        .arg("export")
        .arg(&setup.snapshot)
        .args(["outputs", "--out", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(export.stdout.take());
    let output = export.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("error"), "{}: {said}", output.status);
}
