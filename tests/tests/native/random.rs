//! Generates random records from the declared schemas and compares them after a build.

use std::{collections::BTreeMap, fs};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::record::schema::{MemberSchema, ObjectSchema, Schema, Shown};
use pinakes_format::record::schema_of;
use pinakes_format::record::value::Table;
use pinakes_tests::SeededRng;
use serde_json::{Map, Value, json};

use crate::native::build;
use crate::native::opened;
use crate::native::rendered_by;

const RECORDS: u64 = 150;
/// Ids from this number on have no record, so that the name in a reference stays unchanged.
const ABSENT_FROM: usize = 1_000_000_000;

const TEXTS: &[&str] = &[
    "a",
    " with space ",
    "\u{1}\u{1f}\"\\/\u{7f}",
    "\u{2028}\u{feff}",
    "東京 é e\u{301} ß",
    "<i>x</i> &amp; y",
    "https://example.org/?a=b&c=%20",
    "null",
    "5",
    "HX_A1",
    "👩\u{200d}👧 \u{202e}rtl",
    "'; --",
];
const NUMBERS: &[&str] =
    &["0", "1", "-3", "0.1", "2.33809456465375", "1e300", "5e-324", "9007199254740992", "-90.5"];
const MOMENTS: &[&str] = &[
    "1970-01-01T00:00:00",
    "2026-01-10T08:15:30.123456",
    "2026-01-10T08:15:30.1",
    "2026-01-10T08:15:30.120",
    "0001-01-01T00:00:00",
    "9999-12-31T23:59:59.999999",
];
const COUNTRIES: &[(&str, Option<&str>)] =
    &[("DE", Some("Germany")), ("de", Some("Germany")), ("ZZ", None), ("?", None)];
const LANGUAGES: &[(&str, Option<&str>)] = &[("en", Some("English")), ("xx", None)];

fn one<T: Copy>(rng: &mut SeededRng, values: &[T]) -> T {
    values[rng.below(values.len())]
}

fn text(rng: &mut SeededRng) -> Value {
    let pieces = 1 + rng.below(3);
    Value::from((0..pieces).map(|_| one(rng, TEXTS)).collect::<String>())
}

/// An id without a record, or null.
fn absent_id(rng: &mut SeededRng, entity: Entity, is_text: bool) -> Value {
    if rng.below(5) == 0 {
        return Value::Null;
    }
    let number = ABSENT_FROM + rng.below(20);
    let mut id = Vec::new();
    entity.write_id(number as u64, &mut id);
    match is_text || entity.facts().letter.is_some() {
        true => Value::from(String::from_utf8(id).unwrap()),
        false => Value::from(number),
    }
}

fn reference(rng: &mut SeededRng, entity: Entity, is_text: bool) -> Value {
    let name = if rng.below(5) == 0 { Value::Null } else { text(rng) };
    json!({"id": absent_id(rng, entity, is_text), "name": name})
}

/// A random value that a member accepts.
fn value(rng: &mut SeededRng, schema: &Schema) -> Value {
    match schema {
        Schema::Nullable(_) if rng.below(4) == 0 => Value::Null,
        Schema::Nullable(inner) | Schema::ByShape { single: inner, .. } => value(rng, inner),
        Schema::List(inner) => (0..rng.below(4)).map(|_| value(rng, inner)).collect(),
        Schema::Integer { bits: 32, .. } => Value::from(1 + rng.below(9_999)),
        Schema::Integer { signed: true, .. } => {
            Value::from(one(rng, &[0, -5, 7, i64::MAX, i64::MIN]))
        }
        Schema::Integer { .. } => Value::from(one(rng, &[0u64, 1, 12, (1 << 53) - 1])),
        Schema::Number => serde_json::from_str(one(rng, NUMBERS)).unwrap(),
        Schema::Boolean => Value::from(rng.below(2) == 0),
        Schema::Text | Schema::LongText | Schema::Code(_) => text(rng),
        Schema::Reference(entity) => reference(rng, *entity, false),
        Schema::ParentReference(entity) => reference(rng, *entity, true),
        Schema::AnyReference => {
            Value::from(one(rng, &["HX_F1000000000", "HX_I1000000001", "HX_P1000000002"]))
        }
        Schema::NamedCode(table) => {
            let known = if *table == Table::Country { COUNTRIES } else { LANGUAGES };
            let (code, name) = one(rng, known);
            json!({"code": code, "name": name})
        }
        Schema::Date => Value::from(one(rng, &["2024-02-29", "0001-01-01", "9999-12-31"])),
        Schema::Timestamp => Value::from(one(rng, MOMENTS)),
        Schema::OrcidUrl => Value::from("https://orcid.org/0000-0002-1825-009X"),
        Schema::Json => match rng.below(3) {
            0 => json!({"display_name": null}),
            1 => json!({"display_name": {}}),
            _ => json!({"display_name": {"zh": text(rng), "": null, "en": "x"}}),
        },
        // The metrics come from the record of the source, which is absent.
        Schema::Object(object) if object.name == "MetricsCut" => Value::Null,
        Schema::Object(object) => Value::Object(members(rng, object)),
        Schema::Id(_) | Schema::UtcTimestamp | Schema::YearMap(_) => {
            unreachable!("{schema:?} is not a member of a generated object")
        }
    }
}

fn members(rng: &mut SeededRng, object: &ObjectSchema) -> Map<String, Value> {
    let mut made = Map::new();
    for MemberSchema { name, shown, schema, .. } in &object.members {
        let value = match schema {
            Schema::Id(_) => Value::Null,
            _ => value(rng, schema),
        };
        match (shown, value) {
            (Shown::Flat, Value::Object(flat)) => made.extend(flat),
            // Exports leave these out.
            (Shown::KeyOnly, Value::Null | Value::Bool(false)) => {}
            (_, value) => {
                made.insert((*name).to_owned(), value);
            }
        }
    }
    made
}

/// A random record with this id. Its siblings and children are never null, since the linker derives null
/// ones.
fn record(rng: &mut SeededRng, entity: Entity, id: u64) -> Value {
    let Schema::Object(object) = schema_of(entity) else { unreachable!("records are objects") };
    let mut record = members(rng, &object);
    let mut id_text = Vec::new();
    entity.write_id(id, &mut id_text);
    let id_text = String::from_utf8(id_text).unwrap();
    record["id"] =
        if entity.facts().letter.is_some() { Value::from(id_text) } else { Value::from(id) };
    if record["name"].is_null() && entity.facts().is_referenced {
        record["name"] = text(rng);
    }
    // A topic with parents without a record is quarantined.
    for parent in ["subfield", "field", "domain"].into_iter().filter(|_| entity == Entity::Topic) {
        record[parent] = Value::Null;
    }
    let relatives = ["siblings", "topics", "subfields", "fields"];
    let is_level = record.contains_key("siblings");
    for relative in relatives.into_iter().filter(|_| is_level) {
        if let Some(null) = record.get_mut(relative).filter(|value| value.is_null()) {
            *null = json!([]);
        }
    }
    Value::Object(record)
}

#[test]
fn random_records_survive_export_and_rebuild() {
    let directory = tempfile::tempdir().unwrap();
    let dump = directory.path().join("dump");
    fs::create_dir(&dump).unwrap();
    let mut rng = SeededRng(11);
    let mut written: BTreeMap<Entity, BTreeMap<String, Value>> = BTreeMap::new();
    for entity in Entity::all().filter(|entity| entity.facts().has_single) {
        let of_entity = written.entry(entity).or_default();
        let mut lines = String::new();
        for id in 1..=RECORDS {
            let record = record(&mut rng, entity, id);
            lines.push_str(&format!("{record}\n"));
            of_entity.insert(record["id"].to_string(), record);
        }
        fs::write(dump.join(format!("{entity}.jsonl")), lines).unwrap();
    }
    let input = format!("native:{}", dump.display());
    let run = build(&[&input], &directory.path().join("out"));
    let snapshot = opened(&run);
    // Some records of each entity have an update date in the year 9999.
    let warnings = json!({"future_updated_date": written.len()});
    assert_eq!((&run.report["warnings"], &run.report["bad_records"]), (&warnings, &json!({})));
    for (entity, mut written) in written {
        for line in rendered_by(&snapshot, entity, JsonWriter::for_export) {
            let found: Value = serde_json::from_str(&line).unwrap();
            let expected = written.remove(&found["id"].to_string()).unwrap();
            assert_eq!(found, expected, "{entity}");
            // Members have the order of the declaration.
            let order = |value: &Value| -> Vec<String> {
                value.as_object().unwrap().keys().cloned().collect()
            };
            assert_eq!(order(&found), order(&expected), "{entity}");
        }
        assert!(written.is_empty(), "{entity}");
    }
}
