//! The blocks of FORMAT.md that are made from the code.

use std::{fmt::Write, path::Path};

use pinakes_format::{
    cold::{DICTIONARY, POOL_BYTES_MAX},
    entity::{Entity, ID_MAX, NO_ID},
    file::{FORMAT_VERSION, HEADER_BYTES, Kind, LAYOUT, MAGIC},
    integrity::{CHUNK_BYTES, RUN_VALUES, VALUE_BYTES, level_lengths},
    layout::{describe, schema_hash},
    manifest::{ID_DIGITS, MANIFEST_BYTES_MAX},
    record::value::{NO_CODE, TABLE_FIRST, TABLE_NAMES, Table},
    snapshot::{STRINGS_PREFIX_BYTES, archives},
};

use crate::{document::Document, files::Archive, reader::Trace};

/// What a block must hold.
pub fn generate(name: &str, document: &Document, directory: &Path) -> String {
    match name.split_once(' ') {
        Some(("layout", plural)) => {
            let entity = Entity::all().find(|entity| entity.facts().plural == plural);
            describe(entity.expect(plural))
        }
        Some(("dump", "topics/records")) => dump_of_record(document, directory),
        Some(("dump", path)) => dump_of(path, directory),
        _ => match name {
            "numbers" => numbers(),
            "entities" => entities(),
            "kinds" => kinds(),
            "tables" => tables(),
            "levels" => levels(),
            _ => panic!("nothing makes the block `{name}`"),
        },
    }
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
        let has_names = archives().any(|archive| archive == (Kind::Names, Some(entity)));
        let names = if has_names { "yes" } else { "no" };
        let number = entity as u8;
        writeln!(text, "{number:>6}  {:<17}  {prefix:<6}  {names}", facts.plural).unwrap();
    }
    text
}

fn kinds() -> String {
    let kinds = [Kind::Records, Kind::Ids, Kind::Names, Kind::Redirects, Kind::Strings];
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
        ("64 KiB", 65_536),
        ("64 KiB + 1", 65_537),
        ("128 MiB", 128 * mib),
        ("128 MiB + 1", 128 * mib + 1),
        ("256 GiB", (256 << 10) * mib),
        ("1 TiB", mib * mib),
    ] {
        assert_eq!(level_lengths(size), crate::files::level_lengths(size));
        let lengths: Vec<String> = level_lengths(size).iter().map(u64::to_string).collect();
        let lengths = if lengths.is_empty() { "none".into() } else { lengths.join(", ") };
        writeln!(text, "{what:<12}  {lengths}").unwrap();
    }
    text
}

/// Lines of at most 12 bytes, the note beside the first.
fn dump(bytes: &[u8], trace: &Trace) -> String {
    let mut text = String::new();
    let mut end = trace.keys().next().copied().unwrap();
    for (from, (length, note)) in trace {
        assert_eq!(*from, end, "{note}");
        end = from + length;
        for (at, line) in bytes[*from..end].chunks(12).enumerate() {
            let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            let note = if at == 0 { note.as_str() } else { "" };
            let line = format!("{:04x}  {:<35}  {note}", from + at * 12, hex.join(" "));
            writeln!(text, "{}", line.trim_end()).unwrap();
        }
    }
    assert_eq!(end, bytes.len());
    text
}

fn note_offsets(archive: &Archive, count: usize, trace: &mut Trace) {
    let offsets = archive.0.len() - 8 * (count + 1);
    for at in 0..count {
        let null = if archive.blob_place(at, count, 0).is_none() { ": null" } else { "" };
        trace.insert(offsets + 8 * at, (8, format!("offset of blob {at}{null}")));
    }
    trace.insert(offsets + 8 * count, (8, "offset of the end".to_string()));
}

fn dump_of_record(document: &Document, directory: &Path) -> String {
    let archive = Archive::open(directory, "topics/records");
    let mut trace = Trace::new();
    for (offset, size, field) in document.header_grid() {
        trace.insert(offset, (size, field));
    }
    let (from, to) = archive.blob_place(0, 1, 0).unwrap();
    let archived = archive.u32(from) as usize;
    assert_eq!(from + 4 + archived, to);
    trace.insert(from, (4, format!("length of the archived part: {archived}")));
    let (_, of_record) = crate::read(document, "topics", &archive.0[from + 4..to], from + 4);
    trace.extend(of_record.into_iter().map(|(at, read)| (from + 4 + at, read)));
    note_offsets(&archive, 1, &mut trace);
    dump(&archive.0, &trace)
}

fn dump_of(path: &str, directory: &Path) -> String {
    let archive = Archive::open(directory, path);
    let (published, rows) = (archive.published(), archive.rows());
    let mut trace = Trace::new();
    let mut at = HEADER_BYTES;
    let mut note = |size: usize, note: String| {
        trace.insert(at, (size, note));
        at += size;
    };
    match path.rsplit('/').next().unwrap() {
        "ids" => {
            (0..rows).for_each(|row| note(8, format!("id of row {row}: {}", archive.id(row))));
            (0..published).for_each(|at| note(8, format!("id {at}, ascending")));
            (0..published).for_each(|at| note(4, format!("its row: {at}")));
        }
        "redirects" => {
            (0..rows).for_each(|at| note(8, format!("merged id {at}")));
            (0..rows).for_each(|at| note(8, format!("where it lives {at}")));
        }
        blobs => {
            let (count, prefix) = match blobs {
                "strings" => (2 * rows, STRINGS_PREFIX_BYTES),
                _ => (rows, 0),
            };
            (0..prefix / 8).for_each(|table| {
                let name = TABLE_NAMES.get(table);
                note(8, name.map_or("codes".into(), |name| format!("first code of {name}")));
            });
            for at in 0..count {
                if let Some(blob) = archive.blob(at, count, prefix).filter(|blob| !blob.is_empty())
                {
                    note(blob.len(), format!("blob {at}: {}", String::from_utf8_lossy(blob)));
                }
            }
            note_offsets(&archive, count, &mut trace);
        }
    }
    dump(&archive.0, &trace)
}
