//! Tests of the ROR table of organisations.

use std::io::Read;

use pinakes_format::entity::Entity;
use pinakes_format::json::render::Shape;
use pinakes_format::snapshot::Snapshot;
use serde_json::{Value, json};

use super::Setup;

const SILENT: &str = r#"{"id":"https://ror.org/013meh722","names":[{"value":"Silent University","types":["ror_display","label"],"lang":"en"},{"value":"Universität der Stille","types":["label"],"lang":"de"},{"value":"SU","types":["acronym"],"lang":null},{"value":"The Silent","types":["alias"],"lang":null}],"locations":[{"geonames_id":2643743,"geonames_details":{"name":"London","country_code":"GB","country_name":"United Kingdom","country_subdivision_name":"England","lat":51.5,"lng":-0.125}}],"relationships":[{"type":"child","id":"https://ror.org/052gg0110","label":"Told"},{"type":"Parent","id":"https://ror.org/0aaaaaa00","label":"Nowhere"}],"status":"active","types":["education"],"admin":{"last_modified":{"date":"2024-05-06"}}}"#;

const TELLING: &str = r#"{"id":"https://ror.org/052gg0110","names":[{"value":"Other name","types":["ror_display"]},{"value":"ON","types":["acronym"]},{"value":"Alias","types":["alias"]}],"locations":[{"geonames_id":7,"geonames_details":{"name":"Elsewhere","country_code":"FR","country_name":"France","lat":1,"lng":2}}],"relationships":[{"type":"parent","id":"https://ror.org/013meh722"}]}"#;

const STRANGER: &str =
    r#"{"id":"https://ror.org/0bbbbbb00","names":[{"value":"Stranger","types":["ror_display"]}]}"#;

/// An institution whose members all come from ROR.
fn silent() -> Value {
    let mut institution = json!({
        "id": "HX_I1", "ror": "https://ror.org/013meh722", "name": "Silent University",
        "country": {"code": "GB", "name": "United Kingdom"}, "outputs_count": 3,
        "display_name_acronyms": ["SU"],
        "display_name_alternatives": ["Universität der Stille", "The Silent"],
        "associated_institutions": [
            {"id": "HX_I2", "name": "Telling University", "relationship": "child"}
        ],
        "geo": {
            "city": "London", "geonames_city_id": "2643743", "region": "England",
            "country_code": "GB", "country": "United Kingdom", "latitude": 51.5, "longitude": -0.125
        },
        "international": {
            "display_name": {"en": "Silent University", "de": "Universität der Stille"}
        },
        "ids": {"grid": null, "wikipedia": null, "openalex": "https://openalex.org/I1"},
    });
    for member in [
        "type",
        "homepage_url",
        "image_url",
        "image_thumbnail_url",
        "repositories",
        "cited_by_count",
        "summary_stats",
        "counts_by_year",
        "roles",
        "updated_date",
        "created_date",
        "topics",
    ] {
        institution[member] = Value::Null;
    }
    institution
}

#[test]
fn ror_fills_only_members_that_the_dump_lacks() {
    let setup = Setup::new();
    let lines = [SILENT, TELLING, STRANGER].join("\n");
    let array = format!("[\n  {}\n]\n", [SILENT, TELLING, STRANGER].join(",\n  "));
    for (name, bytes) in [("ror.jsonl", lines), ("ror.json", array)] {
        setup.write(name, bytes);
        let run = setup.build(&[name]);
        assert_eq!(run.tally("ror"), [3, 2, 1, 0]);
        let institution = |id| run.record(Entity::Institution, id, Shape::Single);
        assert_eq!(institution(1), silent(), "{name}");
        let telling = institution(2);
        assert_eq!(telling["name"], json!("Telling University"));
        assert_eq!(telling["country"], json!({"code": "GB", "name": "United Kingdom"}));
        assert_eq!(telling["display_name_acronyms"], json!(["TU"]));
        assert_eq!(telling["display_name_alternatives"], json!(["Other name", "Alias"]));
        assert_eq!(
            telling["geo"],
            json!({
                "city": "Oxford", "geonames_city_id": null, "region": null, "country_code": null,
                "country": null, "latitude": 51.75, "longitude": null
            })
        );
        assert_eq!(
            telling["associated_institutions"],
            json!([{"id": "HX_I9", "name": "Gone", "relationship": "child"}])
        );
        assert_eq!(telling["international"], json!({"display_name": {"en": "Telling University"}}));
        let unknown = institution(3);
        assert_eq!(unknown["geo"], Value::Null);
    }
}

/// Tests places in the dump, in ROR, and in the served record.
#[test]
fn ror_completes_a_place_only_with_data_of_the_same_place() {
    let ror = |city: &str, country: &str| {
        json!({"geonames_id": 7, "geonames_details": {"name": city, "country_code": country,
            "country_name": "Country", "country_subdivision_name": "Region", "lat": 1.5, "lng": 2.5}})
    };
    let complete = json!({"city": "Bath", "geonames_city_id": "7", "region": "Region",
        "country_code": "GB", "country": "Country", "latitude": 1.5, "longitude": 2.5});
    let only = |members: Value| {
        let mut geo = json!({"city": null, "geonames_city_id": null, "region": null,
            "country_code": null, "country": null, "latitude": null, "longitude": null});
        for (member, value) in members.as_object().unwrap() {
            geo[member] = value.clone();
        }
        geo
    };
    let with = |members: Value| {
        let mut geo = complete.clone();
        for (member, value) in members.as_object().unwrap() {
            geo[member] = value.clone();
        }
        geo
    };
    let cases = [
        (json!({}), ror("Bath", "GB"), complete.clone()),
        (json!({"city": "Bath"}), ror("Bath", "GB"), complete.clone()),
        (json!({"city": "Bath"}), ror("Wells", "GB"), only(json!({"city": "Bath"}))),
        (json!({"city": "Bath"}), ror("Bath", "US"), only(json!({"city": "Bath"}))),
        (
            json!({"city": "Aquae Sulis", "geonames_city_id": "7"}),
            ror("Bath", "GB"),
            with(json!({"city": "Aquae Sulis"})),
        ),
        (json!({"country": "Britain"}), ror("Bath", "GB"), with(json!({"country": "Britain"}))),
        (
            json!({"latitude": 3, "longitude": 4}),
            ror("Bath", "GB"),
            only(json!({"latitude": 3, "longitude": 4})),
        ),
        (
            json!({"city": "Bath", "latitude": 3, "longitude": 4}),
            ror("Bath", "GB"),
            with(json!({"latitude": 3, "longitude": 4})),
        ),
        (json!({}), ror("Bath", "US"), Value::Null),
    ];
    let (mut lines, mut table) = (String::new(), String::new());
    for ((geo, location, _), at) in cases.iter().zip(10..) {
        let ror = format!("https://ror.org/0aaaaaa{at}");
        let line = json!({"id": format!("I{at}"), "ror": ror, "display_name": "Named",
            "country_code": "GB", "geo": geo});
        lines.push_str(&format!("{line}\n"));
        let line = json!({"id": ror, "names": [], "locations": [location]});
        table.push_str(&format!("{line}\n"));
    }
    let setup = Setup::new();
    setup.write("dump/institutions.jsonl", lines).write("ror.jsonl", table);
    let run = setup.build(&["ror.jsonl"]);
    for ((geo, location, expected), at) in cases.iter().zip(10..) {
        let found = run.record(Entity::Institution, at, Shape::Single);
        assert_eq!(found["geo"], *expected, "{geo} and {location}");
    }
}

#[test]
fn names_from_ror_are_searchable() {
    let setup = Setup::new();
    setup.write("ror.jsonl", SILENT);
    let run = setup.build(&["ror.jsonl"]);
    let snapshot: &Snapshot = run.snapshot.as_ref().unwrap();
    let words = snapshot.words(Entity::Institution).unwrap();
    let found = words.seek(b"stille").unwrap();
    assert_eq!(found.current().map(|(word, _)| word), Some(b"stille".as_slice()));
}

/// Real records with a ROR id gain members, and no record loses one.
#[test]
fn real_ror_records_complete_real_institutions() {
    let test = "real_ror_records_complete_real_institutions";
    let Some(large) = pinakes_tests::real_data("large", test) else { return };
    let institutions = large.join("openalex/institutions");
    let table = large.join("ror/ror-schema-v2.jsonl.gz");
    let out = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let without =
        pinakes_tests::build(std::slice::from_ref(&institutions), out[0].path(), &["--quiet"]);
    let with = pinakes_tests::build(&[institutions, table.clone()], out[1].path(), &["--quiet"]);
    let [without, with] = [without, with].map(|path| Snapshot::open(&path).unwrap());
    with.verify().unwrap();
    let mut lines = String::new();
    let file = std::fs::File::open(table).unwrap();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut lines).unwrap();
    let known: std::collections::BTreeMap<String, Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|record| (record["id"].as_str().unwrap().to_owned(), record))
        .collect();
    let mut joined = 0;
    for row in 0..with.count(Entity::Institution) {
        let [before, after] = [&without, &with].map(|snapshot| {
            let mut page = pinakes_format::json::render::JsonWriter::new(snapshot, Shape::Single);
            snapshot.render(Entity::Institution, row, &mut page).unwrap();
            serde_json::from_slice::<Value>(&page.out).unwrap()
        });
        let Some(organisation) = after["ror"].as_str().and_then(|ror| known.get(ror)) else {
            assert_eq!(before, after);
            continue;
        };
        joined += 1;
        for (member, value) in before.as_object().unwrap() {
            let was_silent = value.is_null() || value == &json!([]);
            assert!(was_silent || member == "geo" || after[member] == *value, "{member}: {after}");
        }
        let city = before["geo"]["city"].as_str();
        let given = organisation["locations"][0]["geonames_details"]["name"].as_str();
        assert_eq!(after["geo"]["city"].as_str(), city.or(given));
    }
    assert!(joined > 50, "{joined} joined");
}
