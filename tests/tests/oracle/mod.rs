//! Compares every record and merged id of a snapshot with the oracle's reading of the same dump.

use std::path::PathBuf;

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_oracle::{Library, same};
use serde_json::Value;

fn rendered(snapshot: &Snapshot, entity: Entity, row: u32, shape: Shape) -> Value {
    rendered_by(JsonWriter::new(snapshot, shape), snapshot, entity, row)
}

fn rendered_by<'s>(
    mut page: JsonWriter<'s>,
    snapshot: &'s Snapshot,
    entity: Entity,
    row: u32,
) -> Value {
    snapshot.render(entity, row, &mut page).unwrap();
    serde_json::from_slice(&page.out).unwrap()
}

/// Whether a record has the members that no reply shows. A record without one has null or false.
fn has_unshown(expected: &Value, record: &Value) -> bool {
    match (expected, record) {
        (Value::Object(expected), record) => expected.iter().all(|(name, expected)| {
            ["references", "referenced_by", "is_version_of"].contains(&name.as_str())
                || has_unshown(expected, &record[name])
        }),
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found).all(|(expected, found)| has_unshown(expected, found))
        }
        (expected, found) => expected == found || *expected == false && found.is_null(),
    }
}

fn compare_lists(snapshot: &Snapshot, library: &Library, differences: &mut Vec<String>) {
    for (name, entries) in &library.entities {
        let entity = Entity::from_dump_name(name).unwrap();
        let count = snapshot.count(entity) as usize;
        if entries.len() != count {
            differences.push(format!("{name}: {count} records, expected {}", entries.len()));
        }
        for (row, entry) in (0..snapshot.count(entity)).zip(entries) {
            for (shape, expected) in [(Shape::Single, &entry.single), (Shape::List, &entry.list)] {
                let actual = rendered(snapshot, entity, row, shape);
                if let Err(difference) = same(expected, &actual) {
                    differences
                        .push(format!("{name} row {row} {} {shape:?}: {difference}", entry.id));
                }
            }
            let line = rendered_by(JsonWriter::for_export(snapshot), snapshot, entity, row);
            if !has_unshown(&entry.unshown, &line) {
                differences
                    .push(format!("{name} row {row}: expected {}, found {line}", entry.unshown));
            }
        }
    }
    let types = 0..snapshot.count(Entity::InstitutionType);
    let types: Vec<Value> =
        types.map(|row| rendered(snapshot, Entity::InstitutionType, row, Shape::List)).collect();
    assert_eq!(types.len(), library.institution_types.len());
    for (expected, actual) in library.institution_types.iter().zip(&types) {
        if let Err(difference) = same(expected, actual) {
            differences.push(format!("institution type: {difference}"));
        }
    }
}

fn compare(inputs: &[PathBuf]) {
    let out = tempfile::tempdir().unwrap();
    let snapshot =
        Snapshot::open(&pinakes_tests::publish(inputs, out.path(), &["--quiet"])).unwrap();
    snapshot.verify().unwrap();
    let library = pinakes_tests::library(inputs);
    let mut differences = Vec::new();
    compare_lists(&snapshot, library, &mut differences);
    for redirect in &library.redirects {
        let entity = Entity::from_dump_name(redirect.entity).unwrap();
        let from = entity.parse_id(&redirect.from).unwrap();
        let found = snapshot.find(entity, from).unwrap();
        match redirect.to.as_ref().map(|to| entity.parse_id(to).unwrap()) {
            Some(to) => assert_eq!(found, LookupResult::Merged(to), "{}", redirect.from),
            // A cycle of merges, or a merge into an id without a record.
            None => {
                let is_record =
                    |to| matches!(snapshot.find(entity, to).unwrap(), LookupResult::Row(_));
                let leads = matches!(found, LookupResult::Merged(to) if is_record(to));
                assert!(!leads && !matches!(found, LookupResult::Row(_)), "{}", redirect.from);
            }
        }
    }
    assert_ne!(snapshot.row_id(Entity::Output, 0).unwrap(), NO_ID);
    if let Some(path) = std::env::var_os("PINAKES_DIFFERENCES") {
        std::fs::write(path, differences.join("\n")).unwrap();
    }
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences:\n{shown}", differences.len());
}

#[test]
fn every_record_of_the_sample_equals_the_oracle() {
    compare(&[pinakes_tests::sample()]);
}

#[test]
fn every_record_of_the_real_sample_with_its_taxonomy_equals_the_oracle() {
    let test = "every_record_of_the_real_sample_with_its_taxonomy_equals_the_oracle";
    let Some(sample) = pinakes_tests::real_sample(test) else { return };
    compare(&sample);
}

#[test]
fn real_records_of_every_vintage_equal_the_oracle() {
    let test = "real_records_of_every_vintage_equal_the_oracle";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    compare(&every);
}
