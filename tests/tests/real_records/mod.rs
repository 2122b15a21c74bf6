//! Searches the real files for unusual records, builds a snapshot of the lines that were found, and checks the
//! served record for each line.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::PathBuf,
};

use flate2::read::MultiGzDecoder;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::snapshot::{LookupResult, Snapshot};
use serde_json::{Value, json};

/// One way in which real records are unusual, with the check of the served record.
struct Unusual {
    /// The behaviour, for failure messages.
    name: &'static str,
    /// The folder of the entity's files.
    folder: &'static str,
    /// Whether a line of the file is unusual in this way.
    is_unusual: fn(&Value) -> bool,
    /// Checks the served record against the line.
    check: fn(&Value, &Value),
}

/// Maximum number of checked lines of each kind.
const LINES_MAX: usize = 20;

fn items<'v>(record: &'v Value, member: &str) -> &'v [Value] {
    record[member].as_array().map_or(&[], Vec::as_slice)
}

/// The words of an abstract with their positions, ascending.
fn words(record: &Value) -> Vec<(u64, &str)> {
    let index = record["abstract_inverted_index"].as_object();
    let mut words: Vec<(u64, &str)> = index
        .into_iter()
        .flatten()
        .flat_map(|(word, positions)| {
            positions.as_array().unwrap().iter().map(|at| (at.as_u64().unwrap(), &**word))
        })
        .collect();
    words.sort_unstable();
    words
}

fn author_ids(record: &Value) -> Vec<&str> {
    let authors = items(record, "authorships").iter();
    authors.filter_map(|authorship| authorship["author"]["id"].as_str()).collect()
}

fn length_of(record: &Value, member: &str) -> usize {
    record[member].as_array().map_or(0, Vec::len)
}

const CASES: &[Unusual] = &[
    Unusual {
        name: "an abstract with gaps is closed up",
        folder: "works",
        is_unusual: |raw| {
            words(raw).iter().enumerate().any(|(at, (position, _))| *position != at as u64)
        },
        check: |raw, served| {
            let text: Vec<&str> = words(raw).into_iter().map(|(_, word)| word).collect();
            assert_eq!(served["abstract"], text.join(" "));
        },
    },
    Unusual {
        name: "an output without a title is kept",
        folder: "works",
        is_unusual: |raw| raw["title"].is_null() && raw["display_name"].is_null(),
        check: |_, served| {
            assert_eq!((&served["name"], &served["title"]), (&Value::Null, &Value::Null));
        },
    },
    Unusual {
        name: "an author without an id keeps its place and name",
        folder: "works",
        is_unusual: |raw| author_ids(raw).len() < items(raw, "authorships").len(),
        check: |raw, served| {
            assert_eq!(length_of(raw, "authorships"), length_of(served, "authors"));
            for (raw, served) in items(raw, "authorships").iter().zip(items(served, "authors")) {
                assert_eq!(raw["author"]["id"].is_null(), served["id"].is_null());
                if served["id"].is_null() {
                    assert_eq!(raw["author"]["display_name"], served["name"]);
                }
            }
        },
    },
    Unusual {
        name: "a repeated author is shown twice",
        folder: "works",
        is_unusual: |raw| {
            let mut ids = author_ids(raw);
            let all = ids.len();
            ids.sort_unstable();
            ids.dedup();
            ids.len() < all
        },
        check: |raw, served| {
            let served: Vec<String> = items(served, "authors")
                .iter()
                .filter_map(|author| author["id"].as_str())
                .map(|id| id.replace("HX_", "https://openalex.org/"))
                .collect();
            assert_eq!(author_ids(raw), served);
        },
    },
    Unusual {
        name: "an output that cites itself counts that reference",
        folder: "works",
        is_unusual: |raw| items(raw, "referenced_works").contains(&raw["id"]),
        check: |raw, served| {
            let listed = length_of(raw, "referenced_works") as u64;
            let given = raw["referenced_works_count"].as_u64();
            assert_eq!(served["cites"], given.unwrap_or(listed));
        },
    },
    Unusual {
        name: "an output without a primary location has no primary venue",
        folder: "works",
        is_unusual: |raw| raw["primary_location"].is_null() && raw["host_venue"].is_null(),
        check: |raw, served| {
            assert_eq!(served["primary_venue"], Value::Null);
            assert_eq!(length_of(raw, "locations"), length_of(served, "additional_venues"));
        },
    },
    Unusual {
        name: "a primary location without a source is a venue without one",
        folder: "works",
        is_unusual: |raw| {
            raw["primary_location"].is_object() && raw["primary_location"]["source"].is_null()
        },
        check: |raw, served| {
            let (raw, served) = (&raw["primary_location"], &served["primary_venue"]);
            assert_eq!(served["source"], Value::Null);
            for member in ["landing_page_url", "pdf_url", "version", "is_oa"] {
                assert_eq!(raw[member], served[member], "{member}");
            }
        },
    },
    Unusual {
        name: "an unknown retraction status is null",
        folder: "works",
        is_unusual: |raw| raw.get("is_retracted").is_some_and(Value::is_null),
        check: |_, served| assert_eq!(served["is_retracted"], Value::Null),
    },
    Unusual {
        name: "markup in a title is unchanged",
        folder: "works",
        is_unusual: |raw| raw["title"].as_str().is_some_and(|title| title.contains("<i>")),
        check: |raw, served| assert_eq!(raw["title"], served["title"]),
    },
    Unusual {
        name: "all 249 authors are kept",
        folder: "works",
        is_unusual: |raw| length_of(raw, "authorships") == 249,
        check: |_, served| assert_eq!(length_of(served, "authors"), 249),
    },
    Unusual {
        name: "3,483 references are counted",
        folder: "works",
        is_unusual: |raw| length_of(raw, "referenced_works") == 3_483,
        check: |_, served| assert_eq!(served["cites"], 3_483),
    },
    Unusual {
        name: "61 locations are kept, the first of them as the primary venue",
        folder: "works",
        is_unusual: |raw| length_of(raw, "locations") == 61,
        check: |_, served| {
            assert_eq!(served["venues_count"], 61);
            assert_eq!(length_of(served, "additional_venues"), 60);
        },
    },
    Unusual {
        name: "several awards in one text are split",
        folder: "works",
        is_unusual: |raw| {
            items(raw, "grants")
                .iter()
                .any(|grant| grant["award_id"].as_str().is_some_and(|id| id.contains(", ")))
        },
        check: |raw, served| {
            let mut expected: Vec<&str> = items(raw, "grants")
                .iter()
                .filter_map(|grant| grant["award_id"].as_str())
                .flat_map(|ids| ids.split(", "))
                .collect();
            let mut found: Vec<&str> = items(served, "funders")
                .iter()
                .flat_map(|funder| items(funder, "awards"))
                .map(|award| award["funder_award_id"].as_str().unwrap())
                .collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(expected, found);
        },
    },
    Unusual {
        name: "a `host_venue` of dumps before 2023 is a primary venue without an id",
        folder: "works",
        is_unusual: |raw| raw["host_venue"].is_object() && raw["primary_location"].is_null(),
        check: |raw, served| {
            let (raw, venue) = (&raw["host_venue"], &served["primary_venue"]);
            assert_eq!(venue["id"], Value::Null);
            assert_eq!(venue["license"], raw["license"]);
            assert_eq!(venue["version"], raw["version"]);
        },
    },
    Unusual {
        name: "180 years of counts are kept",
        folder: "sources",
        is_unusual: |raw| length_of(raw, "counts_by_year") == 180,
        check: |_, served| assert_eq!(length_of(served, "counts_by_year"), 180),
    },
    Unusual {
        name: "names in 162 languages are unchanged",
        folder: "institutions",
        is_unusual: |raw| {
            raw["international"]["display_name"].as_object().is_some_and(|of| of.len() == 162)
        },
        check: |raw, served| assert_eq!(raw["international"], served["international"]),
    },
    Unusual {
        name: "1,011 associated institutions are kept",
        folder: "institutions",
        is_unusual: |raw| length_of(raw, "associated_institutions") == 1_011,
        check: |_, served| assert_eq!(length_of(served, "associated_institutions"), 1_011),
    },
    Unusual {
        name: "a predecessor is an associated institution",
        folder: "institutions",
        is_unusual: |raw| {
            items(raw, "associated_institutions")
                .iter()
                .any(|other| other["relationship"] == "predecessor")
        },
        check: |_, served| {
            let mut others = items(served, "associated_institutions").iter();
            assert!(others.any(|other| other["relationship"] == "predecessor"));
        },
    },
    Unusual {
        name: "a funder is a type of institution",
        folder: "institutions",
        is_unusual: |raw| raw["type"] == "funder",
        check: |_, served| assert_eq!(served["type"], "funder"),
    },
    Unusual {
        name: "251 siblings with URLs as ids have integer ids",
        folder: "subfields",
        is_unusual: |raw| length_of(raw, "siblings") == 251,
        check: |raw, served| {
            let expected: Vec<Value> = items(raw, "siblings")
                .iter()
                .map(|sibling| {
                    let url = sibling["id"].as_str().unwrap();
                    json!(url.rsplit('/').next().unwrap().parse::<u64>().unwrap())
                })
                .collect();
            let found: Vec<Value> =
                items(served, "siblings").iter().map(|sibling| sibling["id"].clone()).collect();
            assert_eq!(expected, found);
        },
    },
];

/// Calls `visit` with each line of a folder's files until `visit` returns `false`.
fn each_line(folder: &str, test: &str, mut visit: impl FnMut(&str, Value) -> bool) -> Option<()> {
    let folder = pinakes_tests::real_data("large/openalex", test)?.join(folder);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    for path in files {
        for line in BufReader::new(MultiGzDecoder::new(File::open(path).unwrap())).lines() {
            let line = line.unwrap();
            if !visit(&line, serde_json::from_str(&line).unwrap()) {
                return Some(());
            }
        }
    }
    Some(())
}

/// The served record for a line.
fn served(snapshot: &Snapshot, entity: Entity, raw: &Value) -> Value {
    let id = raw["id"].as_str().unwrap().rsplit('/').next().unwrap();
    let number = id.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let LookupResult::Row(row) = snapshot.find(entity, number.parse().unwrap()).unwrap() else {
        panic!("the snapshot has no record {id}");
    };
    let mut page = JsonWriter::new(snapshot, Shape::Single);
    snapshot.render(entity, row, &mut page).unwrap();
    serde_json::from_slice(&page.out).unwrap()
}

fn check_folder(folder: &str, test: &str) {
    let cases: Vec<&Unusual> = CASES.iter().filter(|unusual| unusual.folder == folder).collect();
    let mut found: Vec<Vec<(String, Value)>> = cases.iter().map(|_| Vec::new()).collect();
    let read = each_line(folder, test, |line, raw| {
        for (unusual, found) in cases.iter().zip(&mut found) {
            if found.len() < LINES_MAX && (unusual.is_unusual)(&raw) {
                found.push((line.to_owned(), raw.clone()));
            }
        }
        true
    });
    if read.is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let dump = directory.path().join(format!("{folder}.jsonl"));
    let mut file = File::create(&dump).unwrap();
    for (line, _) in found.iter().flatten() {
        writeln!(file, "{line}").unwrap();
    }
    let out = directory.path().join("snapshots");
    let snapshot = Snapshot::open(&pinakes_tests::build(&[dump], &out, &["--quiet"])).unwrap();
    let entity = Entity::from_dump_name(folder).unwrap();
    for (unusual, found) in cases.iter().zip(&found) {
        assert!(!found.is_empty(), "{}: no such record is in the files", unusual.name);
        for (_, raw) in found {
            eprintln!("{}: {}", unusual.name, raw["id"]);
            (unusual.check)(raw, &served(&snapshot, entity, raw));
        }
    }
}

#[test]
fn unusual_real_outputs_have_their_expected_answers() {
    check_folder("works", "unusual_real_outputs_have_their_expected_answers");
}

#[test]
fn unusual_real_sources_have_their_expected_answers() {
    check_folder("sources", "unusual_real_sources_have_their_expected_answers");
}

#[test]
fn unusual_real_institutions_have_their_expected_answers() {
    check_folder("institutions", "unusual_real_institutions_have_their_expected_answers");
}

#[test]
fn unusual_real_subfields_have_their_expected_answers() {
    check_folder("subfields", "unusual_real_subfields_have_their_expected_answers");
}
