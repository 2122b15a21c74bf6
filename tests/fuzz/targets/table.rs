//! Target: CSV tables with arbitrary columns, beside a source that a row may join.

#![no_main]

use libfuzzer_sys::fuzz_target;

const SOURCE: &[u8] =
    br#"{"id":"https://openalex.org/S1","display_name":"A","issn":["1234-5679"]}"#;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, table)) = bytes.split_first() else { return };
    let path = if first % 4 == 0 { "merged_ids/sources/1.csv" } else { "table.csv" };
    pinakes_fuzz::compile(&[("sources.jsonl", SOURCE), (path, table)]);
});
