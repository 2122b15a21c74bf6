//! A small snapshot made with the library's writers.

use std::{collections::BTreeMap, fs, path::Path};

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::record::value::{Code, Date, Id, LongText, ParentRef, Ref, Timestamp};
use pinakes_format::record::writer::RecordWriter;
use pinakes_format::record::{Authorship, Domain, Output, Record, Topic, TopicIds, pack, store};
use pinakes_format::schema::layout::{schema_digits, schema_hash};
use pinakes_format::snapshot::{Snapshot, archive_path, archives};
use pinakes_format::storage::blobs::BlobsWriter;
use pinakes_format::storage::file_writer::{FileWriter, Written, append_levels};
use pinakes_format::storage::header::{FORMAT_VERSION, FileKind, Header};
use pinakes_format::storage::ids::ColumnsWriter;
use pinakes_format::storage::long_text::Deflater;
use pinakes_format::storage::manifest::{
    Counts, FileEntry, HASHES, MANIFEST, Manifest, REPORT, SourceParts,
};
use pinakes_format::storage::names::NamesWriter;

use crate::index;

/// A name of four chunks, so that a file has levels.
pub const LONG_NAME_BYTES: usize = 25_000;

/// The long texts of the output.
pub const ABSTRACT: &str = "in this paper we show that graphs are drawn in the plane";
pub const AFFILIATION: &str = "Department of Geometry, Lagado";

/// Codes in the order of their tables, with the first code of each table.
pub const CODES: [(&str, Option<&str>); 3] =
    [("en", Some("English")), ("article", None), ("first", None)];
const FIRST_CODES: [u64; 19] = [0, 0, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3];

/// The contents of one entity's archives.
#[derive(Default)]
struct Content {
    records: Vec<(u64, Option<&'static str>, Vec<u8>)>,
    unresolved: Vec<(u64, Option<String>)>,
    redirects: Vec<(u64, u64)>,
}

/// A record's blob as the compiler stores it.
fn blob<R: Record>(record: &R, pool: &str) -> Vec<u8> {
    let mut frame = Vec::new();
    Deflater::new().unwrap().deflate(pool.as_bytes(), &mut frame).unwrap();
    let packed = pack(record, &mut RecordWriter::default());
    let mut stored = Vec::new();
    store(&packed, &frame, &mut rkyv::ser::allocator::Arena::new(), &mut stored).unwrap();
    stored
}

fn topic() -> Topic {
    Topic {
        id: Id(10_017),
        name: Some("Graph drawing".into()),
        keywords: Some(vec!["layout".into(), "planarity testing".into()]),
        ids: TopicIds { wikipedia: Some("Q1".into()) },
        subfield: Some(ParentRef(0)),
        siblings: Some(vec![Ref(1), Ref(2)]),
        outputs_count: Some(7),
        updated_date: Some(Timestamp { micros: 1_769_990_145_819_873, fraction_digits: 6 }),
        ..Topic::default()
    }
}

fn output() -> Output {
    let cold = |from: usize, length: usize| LongText {
        offset_bytes: u32::try_from(from).unwrap(),
        length_bytes: u32::try_from(length).unwrap(),
    };
    let author = Authorship {
        author_position: Some(Code(2)),
        author: Ref(0),
        affiliations: Some(Vec::new()),
        raw_affiliation_strings: Some(vec![cold(ABSTRACT.len(), AFFILIATION.len())]),
        ..Authorship::default()
    };
    Output {
        id: Id(12),
        // 70 bytes: the length needs more than its six low bits.
        title: Some("7 bytes".repeat(10)),
        name: Some(String::new()),
        year: Some(-44),
        date: Some(Date { year: 1_999, month: 12, day: 31 }),
        kind: Some(Code(1)),
        fwci: Some(0.5),
        is_retracted: Some(true),
        authors: Some(vec![author.clone(), Authorship { author: Ref(1), ..author }]),
        topics: Some(vec![Ref(0), Ref(2)]),
        abstract_text: Some(cold(0, ABSTRACT.len())),
        ..Output::default()
    }
}

/// Outputs beside the first, for orders, lists and words with something in them.
fn later_outputs() -> [Output; 2] {
    let output = |id, title: &str, year| Output {
        id: Id(id),
        name: Some(format!("{title} (東京大学)")),
        doi: Some(format!("https://doi.org/10.5555/{id}A")),
        title: Some(title.into()),
        year,
        ..Output::default()
    };
    [output(13, "Über <i>graphs</i>", Some(2_020)), output(14, "On Drawing", None)]
}

/// The rows that each output refers to: records, and the unresolved reference in row 3.
pub const REFERENCES: [&[u32]; 3] = [&[1, 3], &[0], &[]];

/// A record with alternative names; one of them folds to nothing.
fn domain() -> Domain {
    let alternatives = ["Physical Sciences", "***", "PHYSICS"];
    Domain {
        id: Id(3),
        name: Some("Physics".into()),
        display_name_alternatives: Some(alternatives.map(Into::into).into()),
        ..Domain::default()
    }
}

fn content(entity: Entity) -> Content {
    let reference = |id, name: &str| (id, Some(name.to_string()));
    match entity {
        Entity::Output => Content {
            records: [(12, None, blob(&output(), &format!("{ABSTRACT}{AFFILIATION}")))]
                .into_iter()
                .chain(later_outputs().map(|output| (output.id.0, None, blob(&output, ""))))
                .collect(),
            unresolved: vec![(15, None)],
            ..Content::default()
        },
        Entity::Topic => Content {
            records: vec![(10_017, Some("Graph drawing"), blob(&topic(), ""))],
            unresolved: vec![(10_020, None), reference(NO_ID, "Planarity")],
            redirects: vec![(9_999, 10_017)],
        },
        Entity::Author => Content {
            unresolved: vec![reference(5, "J. Swift"), reference(5, "Jonathan Swift")],
            ..Content::default()
        },
        Entity::Domain => Content {
            records: vec![(3, Some("Physics"), blob(&domain(), ""))],
            ..Content::default()
        },
        Entity::Subfield => {
            Content { unresolved: vec![reference(1_704, "Graphics")], ..Content::default() }
        }
        Entity::Funder => {
            let name = "0123456789".repeat(LONG_NAME_BYTES / 10);
            Content { unresolved: vec![reference(1, &name)], ..Content::default() }
        }
        _ => Content::default(),
    }
}

fn write_archive(directory: &Path, kind: FileKind, entity: Option<Entity>) -> Written {
    let path = directory.join(archive_path(kind, entity));
    let Content { records, unresolved, redirects } = entity.map(content).unwrap_or_default();
    let published = records.len() as u64;
    let rows = published + unresolved.len() as u64;
    let header = Header { kind, entity, published, rows, schema_hash: schema_hash() };
    let blobs = |header, prefix: &[u8]| BlobsWriter::create(&path, header, prefix).unwrap();
    let columns = |header| ColumnsWriter::create(&path, header).unwrap();
    match kind {
        FileKind::Records => {
            let mut writer = blobs(header, &[]);
            records.iter().for_each(|(_, _, blob)| writer.push(Some(blob)).unwrap());
            writer.finish().unwrap()
        }
        FileKind::Names => {
            let mut writer = NamesWriter::create(&path, header).unwrap();
            let of_records = records.iter().map(|(id, name, _)| (*id, *name));
            let of_others = unresolved.iter().map(|(id, name)| (*id, name.as_deref()));
            for (id, name) in of_records.chain(of_others) {
                writer.push(id, name).unwrap();
            }
            writer.finish().unwrap()
        }
        FileKind::Ids => {
            let mut writer = columns(header);
            let ids = records.iter().map(|(id, ..)| *id);
            ids.clone().chain(unresolved.iter().map(|(id, _)| *id)).for_each(|id| {
                writer.push(id).unwrap();
            });
            for (row, id) in (0u32..).zip(ids) {
                writer.push_pair(id, &row.to_le_bytes()).unwrap();
            }
            writer.finish().unwrap()
        }
        FileKind::Redirects => {
            let count = redirects.len() as u64;
            let mut writer = columns(Header { published: count, rows: count, ..header });
            for (from, to) in redirects {
                writer.push_pair(from, &to.to_le_bytes()).unwrap();
            }
            writer.finish().unwrap()
        }
        FileKind::Strings => {
            let count = CODES.len() as u64;
            let prefix: Vec<u8> = FIRST_CODES.iter().flat_map(|code| code.to_le_bytes()).collect();
            let mut writer = blobs(Header { published: count, rows: count, ..header }, &prefix);
            for (text, name) in CODES {
                writer.push(Some(text.as_bytes())).unwrap();
                writer.push(name.map(str::as_bytes)).unwrap();
            }
            writer.finish().unwrap()
        }
        FileKind::Citations => {
            let lists = REFERENCES.map(|rows| rows.iter().copied().collect());
            index::write_citations(&path, header, &lists)
        }
        _ => panic!("{path:?} is made of the others"),
    }
}

/// Writes the whole snapshot.
pub fn write(directory: &Path) {
    let mut files = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for entity in Entity::all() {
        fs::create_dir(directory.join(entity.facts().plural)).unwrap();
        let Content { records, unresolved, redirects } = content(entity);
        let published = records.len() as u64;
        let rows = published + unresolved.len() as u64;
        let redirects = redirects.len() as u64;
        counts.insert(entity.facts().plural.to_string(), Counts { published, rows, redirects });
    }
    let is_index = |kind: FileKind| kind >= FileKind::TermLists && kind != FileKind::Citations;
    for (kind, entity) in archives().filter(|(kind, _)| !is_index(*kind)) {
        files.insert(archive_path(kind, entity), write_archive(directory, kind, entity));
    }
    let draft = Snapshot::open_draft(directory, counts.clone()).unwrap();
    for (kind, entity) in
        archives().filter(|(kind, _)| is_index(*kind) && *kind != FileKind::FullText)
    {
        let path = archive_path(kind, entity);
        let written = index::write(&draft, kind, entity.unwrap(), &directory.join(&path));
        files.insert(path, written);
    }
    let mut report = FileWriter::create(&directory.join(REPORT)).unwrap();
    std::io::Write::write_all(&mut report, b"{}\n").unwrap();
    files.insert(REPORT.to_string(), report.finish().unwrap());

    let entry = |path: &str, size_bytes, root: blake3::Hash| {
        let archive = archives().find(|(kind, entity)| archive_path(*kind, *entity) == path);
        let header = archive.map(|(kind, entity)| {
            let bytes = fs::read(directory.join(path)).unwrap();
            Header::decode(&bytes, kind, entity, schema_hash()).unwrap()
        });
        FileEntry::new(path, size_bytes, root, header)
    };
    let mut entries: Vec<FileEntry> =
        files.iter().map(|(path, file)| entry(path, file.size_bytes, file.root)).collect();
    let mut hashes = Vec::new();
    files.into_values().for_each(|written| append_levels(written, &mut hashes).unwrap());
    fs::write(directory.join(HASHES), &hashes).unwrap();
    entries.push(entry(HASHES, hashes.len() as u64, blake3::hash(&hashes)));
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let mut manifest = Manifest {
        format_version: FORMAT_VERSION,
        id: String::new(),
        root: String::new(),
        schema: schema_digits(),
        source: SourceParts { newest_updated_date: None, parts: Vec::new() },
        selection: None,
        suppressed: BTreeMap::new(),
        suppression: None,
        counts,
        files: entries,
    };
    manifest.set_root();
    fs::write(directory.join(MANIFEST), manifest.text()).unwrap();
}
