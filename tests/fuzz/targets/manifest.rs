//! Target: manifests beside a valid part. A manifest may refuse the part, but not name other files.

#![no_main]

use libfuzzer_sys::fuzz_target;

const PART: (&str, &[u8]) = (
    "data/works/updated_date=2023-05-16/part_000.gz",
    br#"{"id":"https://openalex.org/W1","updated_date":"2023-05-16"}"#,
);

fuzz_target!(|bytes: &[u8]| {
    let Some((first, manifest)) = bytes.split_first() else { return };
    let places = ["data/works/manifest", "data/manifest.json", "data/works/manifest.json"];
    let place = places[usize::from(*first) % places.len()];
    pinakes_fuzz::compile(&[PART, (place, manifest)]);
});
