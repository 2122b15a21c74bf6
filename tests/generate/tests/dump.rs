//! Tests of a small dump that is read back.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use pinakes_generate::{Entity, Error, Plan, record, write_dump};
use serde_json::Value;

/// A dump of 500 outputs, written once.
static DUMP: LazyLock<BTreeMap<PathBuf, Vec<u8>>> = LazyLock::new(|| written(1, 1).1);

fn plan(seed: u64) -> Plan {
    Plan::new(500, seed).with_part_records(100)
}

fn written(seed: u64, threads: usize) -> (tempfile::TempDir, BTreeMap<PathBuf, Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    write_dump(&plan(seed), dir.path(), threads).unwrap();
    let mut files = BTreeMap::new();
    collect(dir.path(), dir.path(), &mut files);
    (dir, files)
}

fn collect(root: &Path, dir: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files
                .insert(path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap());
        }
    }
}

fn unzipped(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

/// The part files of an entity, with the day of their partition.
fn parts(entity: Entity) -> impl Iterator<Item = (String, String)> {
    let prefix = format!("data/jsonl/{}/updated_date=", entity.folder());
    DUMP.iter().filter_map(move |(path, bytes)| {
        let day = path.to_str()?.strip_prefix(&prefix)?.split('/').next()?.to_owned();
        Some((day, unzipped(bytes)))
    })
}

fn records(entity: Entity) -> Vec<Value> {
    parts(entity)
        .flat_map(|(_, text)| {
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>()
        })
        .collect()
}

/// All OpenAlex ids in the strings of a value, without their URL.
fn ids_within<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.extend(text.strip_prefix("https://openalex.org/")),
        Value::Array(items) => items.iter().for_each(|item| ids_within(item, found)),
        Value::Object(members) => members.values().for_each(|member| ids_within(member, found)),
        _ => (),
    }
}

#[test]
fn every_line_is_a_record_of_its_partition() {
    for entity in Entity::ALL {
        let mut ids = HashMap::new();
        for (day, text) in parts(entity) {
            for line in text.lines() {
                let value: Value = serde_json::from_str(line).unwrap();
                let updated = value["updated_date"].as_str().unwrap();
                assert!(updated.starts_with(&day), "{entity:?}: {updated} in {day}");
                *ids.entry(value["id"].as_str().unwrap().to_owned()).or_insert(0) += 1;
            }
        }
        assert_eq!(ids.len() as u64, plan(1).count(entity), "{entity:?}");
        let copies = ids.values().filter(|&&copies| copies == 2).count();
        assert_eq!(copies, if entity == Entity::Works { 5 } else { 0 }, "{entity:?}");
    }
}

#[test]
fn an_older_copy_has_an_older_date_and_other_citations() {
    let mut copies: HashMap<String, Vec<Value>> = HashMap::new();
    for work in records(Entity::Works) {
        copies.entry(work["id"].as_str().unwrap().to_owned()).or_default().push(work);
    }
    let twice: Vec<_> = copies.values().filter(|copies| copies.len() == 2).collect();
    assert!(twice.iter().all(|copies| copies[0]["updated_date"] != copies[1]["updated_date"]));
    assert!(twice.iter().any(|copies| copies[0]["cited_by_count"] != copies[1]["cited_by_count"]));
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    assert!(written(1, 2).1 == *DUMP);
    assert!(written(2, 2).1 != *DUMP);
}

#[test]
fn only_a_share_of_the_author_references_is_unresolved() {
    let all: Vec<Value> = Entity::ALL.into_iter().flat_map(records).collect();
    let known: HashSet<&str> = all
        .iter()
        .map(|value| value["id"].as_str().unwrap().trim_start_matches("https://openalex.org/"))
        .collect();
    let (mut authors, mut unresolved) = (0, 0);
    for value in &all {
        let mut ids = Vec::new();
        ids_within(value, &mut ids);
        for id in ids {
            if id.starts_with(['C', 'G'])
                || id.starts_with("keywords/")
                || id.starts_with("licenses/")
            {
                continue;
            }
            authors += u32::from(id.starts_with('A'));
            if !known.contains(id) {
                assert!(id.starts_with('A'), "`{id}` has no record");
                unresolved += 1;
            }
        }
    }
    assert!(unresolved > 0 && unresolved * 40 < authors, "{unresolved} of {authors}");
}

#[test]
fn a_reference_shows_the_name_of_its_record() {
    let mut names: HashMap<String, Value> = HashMap::new();
    for value in Entity::ALL.into_iter().flat_map(records) {
        names.insert(value["id"].as_str().unwrap().to_owned(), value["display_name"].clone());
    }
    let mut checked = 0;
    for work in records(Entity::Works) {
        let mut check = |reference: &Value| {
            if let Some(name) = reference["id"].as_str().and_then(|id| names.get(id)) {
                assert_eq!(&reference["display_name"], name);
                checked += 1;
            }
        };
        for authorship in work["authorships"].as_array().unwrap() {
            check(&authorship["author"]);
            authorship["institutions"].as_array().unwrap().iter().for_each(&mut check);
        }
        for location in work["locations"].as_array().unwrap() {
            check(&location["source"]);
        }
        for topic in work["topics"].as_array().unwrap() {
            check(topic);
            ["subfield", "field", "domain"].iter().for_each(|level| check(&topic[level]));
        }
        work["funders"].as_array().unwrap().iter().for_each(&mut check);
    }
    assert!(checked > 5000, "{checked}");
}

#[test]
fn abstracts_give_each_position_once() {
    for work in records(Entity::Works) {
        let Some(words) = work["abstract_inverted_index"].as_object() else { continue };
        let mut positions: Vec<u64> = words
            .values()
            .flat_map(|places| places.as_array().unwrap())
            .map(|place| place.as_u64().unwrap())
            .collect();
        positions.sort_unstable();
        let count = positions.len() as u64;
        positions.dedup();
        assert_eq!(positions.len() as u64, count);
        let last = positions[positions.len() - 1];
        assert!(last + 1 == count || last == count + 2, "{count} words, last at {last}");
    }
}

#[test]
fn manifests_list_the_parts_with_their_sizes() {
    for entity in Entity::ALL {
        let path = format!("data/jsonl/{}/manifest.json", entity.folder());
        let manifest: Value = serde_json::from_slice(&DUMP[Path::new(&path)]).unwrap();
        let entries = manifest["entries"].as_array().unwrap();
        assert_eq!(entries.len(), parts(entity).count());
        let mut total = (0, 0);
        for entry in entries {
            let file = &DUMP
                [Path::new(entry["url"].as_str().unwrap().strip_prefix("s3://openalex/").unwrap())];
            let lines = unzipped(file).lines().count();
            assert_eq!(entry["meta"]["content_length"], file.len());
            assert_eq!(entry["meta"]["record_count"], lines);
            total = (total.0 + file.len(), total.1 + lines);
        }
        assert_eq!(manifest["meta"]["content_length"], total.0);
        assert_eq!(manifest["meta"]["record_count"], total.1);
    }
}

#[test]
fn merged_authors_have_no_record_and_their_targets_do() {
    let csv = unzipped(&DUMP[Path::new("data/merged_ids/authors/2026-01-15.csv.gz")]);
    let ids: HashSet<String> = records(Entity::Authors)
        .iter()
        .map(|author| author["id"].as_str().unwrap()[21..].to_owned())
        .collect();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("merge_date,id,merge_into_id"));
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        assert!(!ids.contains(cells[1]) && ids.contains(cells[2]), "{line}");
    }
}

#[test]
fn a_directory_with_a_dump_is_refused() {
    let error = write_dump(&plan(1), written(1, 1).0.path(), 1).unwrap_err();
    assert!(matches!(error, Error::Exists(_)));
    assert!(error.to_string().ends_with("already exists; name another directory or remove it"));
}

#[test]
fn the_bytes_of_a_seed_do_not_change() {
    let plan = Plan::new(500, 42);
    let mut hasher = blake3::Hasher::new();
    let mut line = Vec::new();
    for entity in Entity::ALL {
        for ordinal in 0..plan.count(entity) {
            line.clear();
            record(&plan, entity, ordinal, &mut line);
            hasher.update(&line);
        }
    }
    assert_eq!(hasher.finalize().to_hex().as_str()[..32], *"86c9a96b342422cde76dfc65207afbc5");
}
