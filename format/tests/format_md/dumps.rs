//! The annotated dumps of FORMAT.md.

use std::{fmt::Write, path::Path};

use pinakes_format::record::value::TABLE_NAMES;
use pinakes_format::snapshot::STRINGS_PREFIX_BYTES;
use pinakes_format::storage::header::HEADER_BYTES;

use crate::{
    document::Document,
    files::Archive,
    indexes::{Keys, Lists},
    names::{Dictionary, PrefixStatsReader},
    reader::Trace,
};

/// Generates the annotated dump of a file of the example snapshot.
pub fn generate(path: &str, document: &Document, directory: &Path) -> String {
    let keys = || Keys::parse(document.block("keys"), "topics");
    match path {
        "topics/records" => of_record(document, directory),
        "topics/term_lists" => of_lists(&keys(), directory),
        "topics/orders" => of_orders(&keys(), directory),
        "topics/words" | "domains/alternatives" => of_dictionary(path, directory),
        "topics/prefix_stats" => of_prefixes(directory),
        _ => of_columns_or_blobs(path, directory),
    }
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

fn of_record(document: &Document, directory: &Path) -> String {
    let archive = Archive::open(directory, "topics/records");
    let mut trace = Trace::new();
    for (offset, size, field) in document.header_grid() {
        trace.insert(offset, (size, field));
    }
    let (from, to) = archive.blob_place(0, 1, 0).unwrap();
    let stored = &archive.0[from..to];
    let [packed, _] = crate::parts(stored);
    let (_, of_record) = crate::read(document, "topics", &stored[packed.clone()], from);
    trace.extend(of_record.into_iter().map(|(at, read)| (from + at, read)));
    trace.insert(from + packed.end, (8, "distance and length of the packed record".into()));
    trace.insert(from + packed.end + 8, (8, "distance and length of the long texts".into()));
    note_offsets(&archive, 1, &mut trace);
    dump(&archive.0, &trace)
}

fn of_columns_or_blobs(path: &str, directory: &Path) -> String {
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
            note(8, "fence 0: id 0".into());
        }
        "names" => (0..rows).for_each(|row| {
            let (id, name) = archive.name(row);
            note(8, format!("row {row}: id {id}"));
            let what =
                name.map_or("no name".into(), |name| format!("{} bytes: {name}", name.len()));
            note(24, what);
        }),
        "redirects" => {
            (0..rows).for_each(|at| note(8, format!("merged id {at}")));
            (0..rows).for_each(|at| note(8, format!("where it lives {at}")));
            note(8, "fence 0: merged id 0".into());
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

/// Notes of consecutive ranges of bytes.
#[derive(Default)]
struct Notes {
    trace: Trace,
    at: usize,
}

impl Notes {
    fn push(&mut self, size: usize, note: String) {
        if size > 0 {
            self.trace.insert(HEADER_BYTES + self.at, (size, note));
        }
        self.at += size;
    }
}

fn of_lists(keys: &Keys, directory: &Path) -> String {
    let archive = Archive::open(directory, "topics/term_lists");
    let mut notes = Notes::default();
    for (number, (path, _)) in keys.lists.iter().enumerate() {
        let lists = Lists::open(&archive, number);
        let what = |at: usize| match at == lists.terms {
            true => "presence".to_string(),
            false => format!("term {at}"),
        };
        for at in 0..=lists.terms {
            let (from, to, is_long) = lists.place(at);
            assert!(!is_long);
            notes.push(to - from, format!("{path}: rows of {}: {:?}", what(at), lists.rows(at)));
        }
        for at in 0..lists.terms {
            notes.push(lists.term(at).len(), format!("{path}: {}", what(at)));
        }
        for at in 0..=lists.terms {
            notes.push(5, format!("{path}: place of {}", what(at)));
        }
        notes.push(5, format!("{path}: the end"));
    }
    for (path, _) in &keys.lists {
        notes.push(8, format!("{path}: where its terms begin"));
        notes.push(8, format!("{path}: terms"));
        notes.push(8, format!("{path}: bytes of a term"));
    }
    dump(&archive.0, &notes.trace)
}

/// Adds the notes of an empty table of shards.
fn note_no_shards(notes: &mut Notes, whose: &str) {
    notes.push(8, format!("{whose}: where the last ends"));
    notes.push(8, format!("{whose}: where the last text ends"));
}

fn of_dictionary(path: &str, directory: &Path) -> String {
    let archive = Archive::open(directory, path);
    let dictionary = Dictionary::open(&archive);
    let block = dictionary.block(0);
    assert_eq!((64 + block.next, dictionary.shards.count), (dictionary.postings_from, 0));
    let mut notes = Notes::default();
    let of_texts = block.texts.into_iter().flat_map(|text| text.notes);
    block.notes.into_iter().chain(of_texts).for_each(|(size, note)| notes.push(size, note));
    note_no_shards(&mut notes, "shards");
    for field in [
        "texts",
        "where the last block begins",
        "where the postings begin",
        "where the table of shards begins",
        "shards",
    ] {
        notes.push(8, field.into());
    }
    dump(&archive.0, &notes.trace)
}

fn of_prefixes(directory: &Path) -> String {
    let archive = Archive::open(directory, "topics/prefix_stats");
    let prefixes = PrefixStatsReader::open(&archive);
    assert_eq!((prefixes.summaries.count, prefixes.sets.count), (0, 0));
    let mut notes = Notes::default();
    notes.push(8, "where the last set ends".into());
    note_no_shards(&mut notes, "shards of summaries");
    note_no_shards(&mut notes, "shards of sets");
    for field in [
        "summaries",
        "sets",
        "where the places begin",
        "where the table of the shards of summaries begins",
        "shards of summaries",
        "where the table of the shards of sets begins",
        "shards of sets",
    ] {
        notes.push(8, field.into());
    }
    dump(&archive.0, &notes.trace)
}

fn of_orders(keys: &Keys, directory: &Path) -> String {
    const FIELDS: [&str; 11] = [
        "where its values begin",
        "distinct values",
        "rows with a value",
        "where the first ranks of its values begin",
        "where its rows begin",
        "where its codes begin",
        "bytes of a code",
        "where the bits of its intervals begin",
        "where the ranks of its checkpoints begin",
        "rank checkpoints",
        "where it ends",
    ];
    let archive = Archive::open(directory, "topics/orders");
    let directory = archive.0.len() - 88 * keys.orders.len();
    let mut notes = Notes::default();
    for (number, (path, _)) in keys.orders.iter().enumerate() {
        let field = |at: usize| archive.u64(directory + 88 * number + 8 * at) as usize;
        let values = (field(0)..field(3)).step_by(8);
        values.for_each(|_| notes.push(8, format!("{path}: a value")));
        let starts = (field(3)..field(4)).step_by(4);
        starts.for_each(|_| notes.push(4, format!("{path}: first rank of a value")));
        let rows = (field(4)..field(5)).step_by(4).enumerate();
        rows.for_each(|(rank, _)| notes.push(4, format!("{path}: row of rank {rank}")));
        let codes = 0..(field(7) - field(5)) / field(6).max(1);
        codes.for_each(|row| notes.push(field(6), format!("{path}: code of row {row}")));
        assert_eq!(field(7), field(10));
    }
    for (path, _) in &keys.orders {
        FIELDS.iter().for_each(|field| notes.push(8, format!("{path}: {field}")));
    }
    dump(&archive.0, &notes.trace)
}
