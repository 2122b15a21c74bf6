//! Generates the blocks of FORMAT.md from the code.

use std::{fmt::Write, path::Path};

use pinakes_format::entity::{Entity, ID_MAX, NO_ID};
use pinakes_format::record::value::{NO_CODE, TABLE_FIRST, TABLE_NAMES, Table};
use pinakes_format::schema::layout::{describe, describe_keys, schema_hash};
use pinakes_format::snapshot::{STRINGS_PREFIX_BYTES, archives};
use pinakes_format::storage::header::{FORMAT_VERSION, FileKind, HEADER_BYTES, LAYOUT, MAGIC};
use pinakes_format::storage::integrity::{CHUNK_BYTES, RUN_VALUES, VALUE_BYTES, level_lengths};
use pinakes_format::storage::long_text::{DICTIONARY, POOL_BYTES_MAX};
use pinakes_format::storage::manifest::{ID_DIGITS, MANIFEST_BYTES_MAX};
use pinakes_format::storage::publication::{
    PUBLICATION_VERSION, Publication, PublishedObjects, PublishedSnapshot,
};

use crate::{document::Document, dumps};

/// Generates the text of a block.
pub fn generate(name: &str, document: &Document, directory: &Path) -> String {
    match name.split_once(' ') {
        Some(("layout", plural)) => {
            let entity = Entity::all().find(|entity| entity.facts().plural == plural);
            describe(entity.expect(plural))
        }
        Some(("dump", path)) => dumps::generate(path, document, directory),
        _ => match name {
            "numbers" => numbers(),
            "entities" => entities(),
            "kinds" => kinds(),
            "tables" => tables(),
            "levels" => levels(),
            "keys" => Entity::all().map(describe_keys).collect(),
            "publication" => publication(),
            _ => panic!("nothing makes the block `{name}`"),
        },
    }
}

fn publication() -> String {
    let digits = |count: usize| "0123456789abcdef".repeat(count / 16);
    let publication = Publication {
        publication_version: PUBLICATION_VERSION,
        snapshot: PublishedSnapshot { id: digits(16), root: digits(64), manifest_bytes: 16_812 },
        version: "2026-02-02T06:00:00.000000Z".into(),
        expires: "2026-04-03T06:00:00Z".into(),
        activate_at: Some("2026-02-03T06:00:00Z".into()),
        licence: Some("CC0-1.0".into()),
        objects: Some(PublishedObjects { list_bytes: 3_588, list_blake3: digits(64) }),
    };
    let text = publication.text();
    assert_eq!(Publication::read(&text).unwrap(), publication);
    String::from_utf8(text).unwrap()
}

fn numbers() -> String {
    let mut text = String::new();
    let hex: Vec<String> = MAGIC.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut line = |what: &str, value: String| writeln!(text, "{what:<34}{value}").unwrap();
    line("format version", FORMAT_VERSION.to_string());
    line("magic", hex.join(" "));
    line("header", format!("{HEADER_BYTES} bytes"));
    line("layout", format!("{LAYOUT:#05b}"));
    line("schema", format!("{:#018x}", schema_hash()));
    line("chunk", format!("{CHUNK_BYTES} bytes"));
    line("run", format!("{RUN_VALUES} values"));
    line("value of a level", format!("{VALUE_BYTES} bytes"));
    line("snapshot id", format!("{ID_DIGITS} hex digits"));
    line("largest manifest", format!("{MANIFEST_BYTES_MAX} bytes"));
    line("prefix of strings", format!("{STRINGS_PREFIX_BYTES} bytes"));
    line("largest pool of long texts", format!("{POOL_BYTES_MAX} bytes"));
    line("dictionary of long texts", format!("{} bytes", DICTIONARY.len()));
    line("  BLAKE3", blake3::hash(DICTIONARY).to_hex()[..32].to_string());
    line("", blake3::hash(DICTIONARY).to_hex()[32..].to_string());
    line("largest id", ID_MAX.to_string());
    line("NO_ID", format!("{NO_ID} ({NO_ID:#x})"));
    line("NO_CODE", format!("{NO_CODE} ({NO_CODE:#x})"));
    text
}

fn entities() -> String {
    let mut text = "number  directory          prefix  names\n".to_string();
    for entity in Entity::all() {
        let facts = entity.facts();
        let prefix =
            facts.letter.map_or("none".into(), |letter| format!("HX_{}", char::from(letter)));
        let has_names = archives().any(|archive| archive == (FileKind::Names, Some(entity)));
        let names = if has_names { "yes" } else { "no" };
        let number = entity as u8;
        writeln!(text, "{number:>6}  {:<17}  {prefix:<6}  {names}", facts.plural).unwrap();
    }
    text
}

fn kinds() -> String {
    use FileKind::*;
    let kinds = [
        Records,
        Ids,
        Names,
        Redirects,
        Strings,
        TermLists,
        Orders,
        Words,
        Alternatives,
        PrefixStats,
        Citations,
        Targets,
        FullText,
        Crossings,
    ];
    assert!(archives().all(|(kind, _)| kinds.contains(&kind)));
    let mut text = "number  file\n".to_string();
    for kind in kinds {
        writeln!(text, "{:>6}  {}", kind as u32, kind.file_name()).unwrap();
    }
    text
}

fn tables() -> String {
    use Table::*;
    let tables = [
        Country,
        Language,
        OutputType,
        SourceType,
        InstitutionType,
        License,
        Version,
        OaStatus,
        Index,
        AuthorPosition,
        Currency,
        Provenance,
        Relationship,
        Role,
        CrossrefType,
        RawType,
        FulltextOrigin,
        FundingType,
    ];
    assert_eq!(tables.len(), TABLE_NAMES.len());
    let mut text = "number  name in layouts  contents\n".to_string();
    for ((number, table), name) in (TABLE_FIRST..).zip(tables).zip(TABLE_NAMES) {
        assert_eq!(table as u8, number);
        writeln!(text, "{number:>6}  {:<15}  {name}", format!("{table:?}")).unwrap();
    }
    text
}

fn levels() -> String {
    let mut text = String::new();
    let mib = 1u64 << 20;
    for (what, size) in [
        ("0 bytes", 0),
        ("4 KiB", 4_096),
        ("4 KiB + 1", 4_097),
        ("128 KiB", mib / 8),
        ("128 KiB + 1", mib / 8 + 1),
        ("4 MiB", 4 * mib),
        ("1 TiB", mib * mib),
    ] {
        assert_eq!(level_lengths(size), crate::files::level_lengths(size));
        let lengths: Vec<String> = level_lengths(size).iter().map(u64::to_string).collect();
        let lengths = if lengths.is_empty() { "none".into() } else { lengths.join(", ") };
        writeln!(text, "{what:<12}  {lengths}").unwrap();
    }
    text
}
