//! Compares FORMAT.md with the code: generated blocks, numbers, and a reader written from FORMAT.md.
//!
//! With `PINAKES_BLESS=1` the generated blocks are rewritten in place.

#![allow(clippy::unwrap_used, missing_docs)]

mod asked;
mod asked_names;
mod blocks;
mod document;
mod dumps;
mod example;
mod files;
mod index;
mod indexes;
mod names;
mod reader;

use std::{fs, path::Path};

use blake3::hazmat::ChainingValue;
use pinakes_format::entity::{Entity, ID_MAX, NO_ID};
use pinakes_format::index::bitset::CHUNK_ROWS;
use pinakes_format::index::citations::{BLOCK_LISTS, CODED_ROWS_MAX};
use pinakes_format::index::crossings::{
    BLOCK_RANKS, RARITY_MAX, STRETCH_RANKS, TERM_ROWS_MIN, TERMS_MAX,
};
use pinakes_format::index::dictionary::BLOCK_ROWS_MAX;
use pinakes_format::index::postings::{ARRAY_ROWS_MAX, BITSET_BYTES};
use pinakes_format::index::prefix_stats::{BEST_MAX, SUMMARY_BYTES};
use pinakes_format::index::targets::BLOCK_RECORDS;
use pinakes_format::index::term_lists::HASH_BITS;
use pinakes_format::record::value::{NO_CODE, TABLE_FIRST};
use pinakes_format::record::{
    Author, Domain, Field, Funder, Institution, InstitutionType, Output, Publisher, Record, Source,
    Subfield, Topic,
};
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::{STRINGS_PREFIX_BYTES, Snapshot};
use pinakes_format::storage::header::{
    FORMAT_VERSION, FileKind, HEADER_BYTES, Header, LAYOUT, MAGIC,
};
use pinakes_format::storage::ids::{FENCE_IDS, LAST_LAYER_FENCES_MAX, LAYER_FENCES};
use pinakes_format::storage::integrity::{CHUNK_BYTES, RUN_VALUES, TreeWriter, VALUE_BYTES};
use pinakes_format::storage::long_text::{DICTIONARY, POOL_BYTES_MAX};
use pinakes_format::storage::manifest::{ID_DIGITS, MANIFEST_BYTES_MAX};
use pinakes_format::storage::names::{LONG_NAME, NO_NAME, SLOT_BYTES, SLOT_NAME_BYTES};
use pinakes_format::text::fold::WORD_BYTES_MAX;

use document::Document;
use example::LONG_NAME_BYTES;
use files::Archive;
use reader::{Layouts, Reader, Trace, Value};

fn with_example<T>(then: impl FnOnce(&Path) -> T) -> T {
    let directory = tempfile::tempdir().unwrap();
    example::write(directory.path());
    then(directory.path())
}

/// Reads a record by its layout in FORMAT.md; the trace notes the bytes of each value.
fn read(document: &Document, entity: &str, packed: &[u8], base: usize) -> (Value, Trace) {
    let layouts = Layouts::parse(document.block(&format!("layout {entity}")));
    Reader::read(packed, &layouts, base)
}

/// The ranges of the packed record and of the long texts in a stored record, by its last 16 bytes.
fn parts(stored: &[u8]) -> [std::ops::Range<usize>; 2] {
    [16, 8].map(|before| {
        let at = stored.len() - before;
        let distance = i32::from_le_bytes(stored[at..at + 4].try_into().unwrap());
        let length = u32::from_le_bytes(stored[at + 4..at + 8].try_into().unwrap()) as usize;
        let from = if length == 0 { at } else { at.wrapping_add_signed(distance as isize) };
        from..from + length
    })
}

#[test]
fn the_generated_blocks_equal_what_the_code_generates() {
    let document = Document::read();
    let layouts = document.names().filter(|name| name.starts_with("layout "));
    assert_eq!(layouts.count(), Entity::COUNT);
    with_example(|directory| {
        for name in document.names() {
            let expected = blocks::generate(name, &document, directory);
            let found = document.block(name);
            assert_eq!(found, expected, "block `{name}`; re-record it with PINAKES_BLESS=1");
        }
    });
}

#[test]
fn the_header_grid_describes_the_header() {
    let document = Document::read();
    let header = Header {
        kind: FileKind::Names,
        entity: Some(Entity::Funder),
        published: 1 << 20,
        rows: 3 << 20,
        schema_hash: schema_hash(),
    };
    let bytes = header.encode();
    let mut end = 0;
    for (offset, size, field) in document.header_grid() {
        assert_eq!(offset, end, "{field}");
        end = offset + size;
        let expected = match field.as_str() {
            "magic" => MAGIC.to_vec(),
            "version" => FORMAT_VERSION.to_le_bytes().to_vec(),
            "layout" => LAYOUT.to_le_bytes().to_vec(),
            "schema" => schema_hash().to_le_bytes().to_vec(),
            "kind" => (FileKind::Names as u32).to_le_bytes().to_vec(),
            "entity" => (Entity::Funder as u32).to_le_bytes().to_vec(),
            "published" => header.published.to_le_bytes().to_vec(),
            "rows" => header.rows.to_le_bytes().to_vec(),
            "reserved" => vec![0; 16],
            other => panic!("field `{other}`"),
        };
        assert_eq!(bytes[offset..end], expected, "{field}");
    }
    assert_eq!(end, HEADER_BYTES);
    let of_strings = Header { kind: FileKind::Strings, entity: None, ..header }.encode();
    assert_eq!(of_strings[28..32], [0xff; 4]);
}

#[test]
fn the_schema_is_the_hash_of_the_layouts_and_keys_as_printed() {
    let document = Document::read();
    let mut hasher = blake3::Hasher::new();
    for entity in Entity::all() {
        hasher.update(document.block(&format!("layout {entity}")).as_bytes());
    }
    hasher.update(document.block("keys").as_bytes());
    let first = hasher.finalize().as_bytes()[..8].try_into().unwrap();
    assert_eq!(u64::from_le_bytes(first), schema_hash());
}

#[test]
fn the_default_orders_sort_by_the_counts_in_the_text() {
    let output = Output { cited_by_count: Some(7), ..Output::default() };
    assert_eq!(output.order_count(), Some(7));
    macro_rules! by_outputs_count {
        ($($record:ident)*) => {
            $(let record = $record { outputs_count: Some(7), ..$record::default() };
            assert_eq!(record.order_count(), Some(7), "{}", $record::ENTITY);)*
        };
    }
    by_outputs_count!(Author Source Institution Publisher Funder Topic Domain Field Subfield);
    let kind = InstitutionType { outputs_count: Some(7), ..InstitutionType::default() };
    assert_eq!(kind.order_count(), None);
}

/// A number with commas between groups of three digits, as FORMAT.md writes numbers.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[test]
fn the_sentences_hold_the_numbers_of_the_code() {
    let document = Document::read();
    // Line breaks within a sentence do not matter.
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = one_line(document.text());
    for sentence in [
        format!("\nVersion {FORMAT_VERSION}. "),
        format!("\"format_version\": {FORMAT_VERSION},"),
        format!("demand format_version = {FORMAT_VERSION}\n"),
        format!("a header of {HEADER_BYTES} bytes"),
        format!("*chunks* of\n{} bytes", grouped(CHUNK_BYTES)),
        format!("chunk × {}.", grouped(CHUNK_BYTES)),
        format!("A *run* is {} consecutive", grouped(RUN_VALUES)),
        format!("at most {} values. Merging", grouped(RUN_VALUES)),
        format!("one value of {VALUE_BYTES} bytes"),
        format!("Always {LAYOUT}."),
        format!("of {FENCE_IDS} consecutive pairs"),
        format!("A layer of more than {} fences", grouped(LAST_LAYER_FENCES_MAX)),
        format!("the at most {} fences", grouped(LAYER_FENCES)),
        format!("| {SLOT_BYTES} × rows |"),
        format!("0 to {SLOT_NAME_BYTES} bytes"),
        format!("{NO_NAME}: the row has no name"),
        format!("{LONG_NAME}: the name"),
        format!("prefix of {} × u64", STRINGS_PREFIX_BYTES / 8),
        format!("prefix[t − {TABLE_FIRST}] up to, not\nincluding, prefix[t − {}]", TABLE_FIRST - 1),
        format!("at most {} bytes, compressed", grouped(POOL_BYTES_MAX)),
        format!("{} bytes in zstd's dictionary format", grouped(DICTIONARY.len())),
        format!("of more than {} MiB", MANIFEST_BYTES_MAX >> 20),
        format!("first {ID_DIGITS} digits of `root`"),
        format!("{}\n(`NO_ID`)", grouped(NO_ID as usize)),
        format!("at most {}. A", grouped(ID_MAX as usize)),
        format!("\n{} (`NO_CODE`)", grouped(NO_CODE as usize)),
        format!("the rows from {0} × c up to, not including, {0} × (c + 1)", grouped(CHUNK_ROWS)),
        format!("1 to {} rows ", grouped(ARRAY_ROWS_MAX)),
        format!("{} to {} rows ", grouped(ARRAY_ROWS_MAX + 1), grouped(CHUNK_ROWS - 1)),
        format!("   {} bytes: row r is there", grouped(BITSET_BYTES)),
        format!("The hash is the first {} bytes", HASH_BITS / 8),
        format!("A word of more than {WORD_BYTES_MAX} bytes is"),
        format!("\nmany whole characters as {WORD_BYTES_MAX} bytes"),
        format!("part of more than {WORD_BYTES_MAX} bytes"),
        format!("n from 2 to {}", grouped(BLOCK_ROWS_MAX)),
        format!("n above {}", grouped(BLOCK_ROWS_MAX)),
        format!("more than {} postings have one", grouped(BLOCK_ROWS_MAX)),
        format!("| {SUMMARY_BYTES} × summaries |"),
        format!("{BEST_MAX} × u32"),
        format!("A block holds {BLOCK_LISTS} consecutive"),
        format!("at most {} rows: their", grouped(CODED_ROWS_MAX)),
        format!("A block holds {BLOCK_RECORDS} consecutive records"),
        format!("each stretch of {} ranks", grouped(STRETCH_RANKS)),
        format!("each block of {BLOCK_RANKS} ranks"),
        format!("more than {TERMS_MAX}, those with most rows"),
        format!("if at least {TERM_ROWS_MIN} rows have it, and at least one in {RARITY_MAX} of"),
    ] {
        assert!(text.contains(&one_line(&sentence)), "no sentence with `{sentence}`");
    }
}

#[test]
fn runs_are_covered_as_the_text_says() {
    let chunk = vec![7; CHUNK_BYTES];
    let (mut writer, mut whole) = (TreeWriter::default(), blake3::Hasher::new());
    let mut level = Vec::<ChainingValue>::new();
    for at in 0..=RUN_VALUES {
        writer.chunk(&chunk);
        whole.update(&chunk);
        level.push(files::chunk_value(at, &chunk));
    }
    let (root, above) = writer.finish(&chunk);
    let expected = (above.concat(), root);
    assert_eq!(files::levels_above(level), expected);
    assert_eq!(root, whole.finalize());
    assert_eq!(expected.0.len(), 2);
}

#[test]
fn the_example_is_a_snapshot() {
    with_example(|directory| {
        let snapshot = Snapshot::open(directory).unwrap();
        snapshot.verify().unwrap();
        let (root, entries) = files::manifest(directory);
        assert_eq!(root, snapshot.manifest().root);
        assert_eq!(entries.len(), snapshot.manifest().files.len());
        let text = Document::read();
        assert!(text.text().contains(&format!("directory of {} files", entries.len() + 1)));
        files::verify(directory, &entries);
        // The funder's long name takes its file seven chunks, and so seven values.
        assert_eq!(fs::metadata(directory.join("hashes")).unwrap().len(), 7 * 32);
    });
}

#[test]
fn a_reader_written_from_the_text_reads_a_topic() {
    let document = Document::read();
    with_example(|directory| {
        let ids = Archive::open(directory, "topics/ids");
        let redirects = Archive::open(directory, "topics/redirects");
        assert_eq!(ids.row(9_999), None);
        let id = redirects.target(9_999).unwrap();
        let row = ids.row(id).unwrap() as usize;
        assert_eq!((row, ids.id(0), ids.id(1), ids.id(2)), (0, 10_017, 10_020, NO_ID));
        let names = Archive::open(directory, "topics/names");
        assert_eq!(names.name(0), (10_017, Some("Graph drawing")));
        assert_eq!(names.name(1), (10_020, None));
        assert_eq!(names.name(2), (NO_ID, Some("Planarity")));
        let funders = Archive::open(directory, "funders/names");
        let (id, name) = funders.name(0);
        assert_eq!((id, name.unwrap().len()), (1, LONG_NAME_BYTES));

        let records = Archive::open(directory, "topics/records");
        let blob = records.blob(row, records.published(), 0).unwrap();
        let [packed, frame] = parts(blob);
        assert_eq!(packed, 0..blob.len() - 16);
        assert!(frame.is_empty());
        let packed = &blob[packed];
        let (topic, trace) = read(&document, "topics", packed, 0);
        assert_eq!(topic.at("id"), &Value::Integer(10_017));
        assert_eq!(topic.at("name").text(), "Graph drawing");
        assert_eq!(topic.at("description"), &Value::Null);
        assert_eq!(topic.at("keywords.0").text(), "layout");
        assert_eq!(topic.at("keywords.1").text(), "planarity testing");
        assert_eq!(topic.at("ids.wikipedia").text(), "Q1");
        assert_eq!(topic.at("subfield"), &Value::Integer(0));
        let rows = vec![Value::Integer(1), Value::Integer(2)];
        assert_eq!(topic.at("siblings"), &Value::List(rows));
        let moment = Value::Numbers(vec![1_769_990_145_819_873, 6]);
        assert_eq!(topic.at("updated_date"), &moment);
        // Every byte of the packed record was read, once.
        let end = trace.iter().fold(0, |end, (at, (length, _))| {
            assert_eq!(*at, end);
            end + length
        });
        assert_eq!(end, packed.len());
    });
}

#[test]
fn a_reader_written_from_the_text_reads_an_output_with_long_texts() {
    let document = Document::read();
    with_example(|directory| {
        let records = Archive::open(directory, "outputs/records");
        let blob = records.blob(0, records.published(), 0).unwrap();
        let [packed, frame] = parts(blob);
        let (packed, frame) = (&blob[packed], &blob[frame]);
        let (output, _) = read(&document, "outputs", packed, 0);
        assert_eq!(output.at("title").text(), "7 bytes".repeat(10));
        assert_eq!(output.at("name").text(), "");
        assert_eq!(output.at("year"), &Value::Integer(-44));
        assert_eq!(output.at("date"), &Value::Numbers(vec![1_999, 12, 31]));
        assert_eq!(output.at("fwci"), &Value::Number(0.5));
        assert_eq!(output.at("is_retracted"), &Value::Bool(true));
        assert_eq!(output.at("is_paratext"), &Value::Null);
        assert_eq!(output.at("authors.1.author"), &Value::Integer(1));
        assert_eq!(output.at("authors.0.affiliations"), &Value::List(Vec::new()));

        let dictionary = fs::read("src/storage/long_text.dict").unwrap();
        assert_eq!(dictionary, DICTIONARY);
        // zstd's dictionary format; a frame with no checksum, no id.
        assert_eq!(dictionary[..4], [0x37, 0xa4, 0x30, 0xec]);
        assert_eq!(frame[4] & 0b111, 0);
        let pool_bytes = example::ABSTRACT.len() + example::AFFILIATION.len();
        let content_bytes = zstd::zstd_safe::get_frame_content_size(frame).unwrap();
        assert_eq!(content_bytes, Some(pool_bytes as u64));
        let mut inflater = zstd::bulk::Decompressor::with_dictionary(&dictionary).unwrap();
        let pool = inflater.decompress(frame, pool_bytes).unwrap();
        let text = |value: &Value| {
            let Value::LongText(from, length) = *value else { panic!("{value:?}") };
            String::from_utf8(pool[from..from + length].to_vec()).unwrap()
        };
        assert_eq!(text(output.at("abstract")), example::ABSTRACT);
        let affiliation = output.at("authors.1.raw_affiliation_strings.0");
        assert_eq!(text(affiliation), example::AFFILIATION);

        let strings = Archive::open(directory, "strings");
        let code = |value: &Value| {
            let Value::Integer(code) = *value else { panic!("{value:?}") };
            strings.blob(2 * code as usize, 2 * strings.rows(), STRINGS_PREFIX_BYTES).unwrap()
        };
        assert_eq!(code(output.at("type")), b"article");
        assert_eq!(code(output.at("authors.0.author_position")), b"first");
        let first_of = |table: usize| strings.u64(HEADER_BYTES + 8 * (table - 64));
        assert_eq!((first_of(66), first_of(67)), (1, 2));
    });
}
