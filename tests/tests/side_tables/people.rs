//! Tests of ORCID summaries.

use pinakes_format::entity::Entity;
use pinakes_format::json::render::Shape;
use serde_json::{Value, json};

use super::Setup;

const RECORD: &str = r#"{"orcid-identifier":{"uri":"https://orcid.org/0000-0002-1825-0097","path":"0000-0002-1825-0097","host":"orcid.org"},"history":{"last-modified-date":{"value":1700000000000}},"person":{"name":{"given-names":{"value":"Ada"},"family-name":{"value":"Example"},"credit-name":null,"visibility":"public"},"biography":{"content":"Tests things.","visibility":"public"},"emails":{"email":[{"email":"ada@tests.example","primary":true}]},"researcher-urls":{"researcher-url":[{"url-name":"Home","url":{"value":"https://ada.example"}}]},"external-identifiers":{"external-identifier":[{"external-id-type":"Scopus Author ID","external-id-value":"123","external-id-url":{"value":"https://scopus.example/123"}}]}},"activities-summary":{"works":{"group":[{"work-summary":[]},{"work-summary":[]}]}}}"#;

fn profile() -> Value {
    json!({
        "id": "0000-0002-1825-0097", "name": "Ada Example", "biography": "Tests things.",
        "emails": ["ada@tests.example"],
        "externalIdentifiers": [
            {"id": "123", "name": "Scopus Author ID", "url": "https://scopus.example/123"}
        ],
        "websites": [{"url": "https://ada.example", "name": "Home"}],
        "outputs_count": 2
    })
}

#[test]
fn an_orcid_summary_becomes_the_orcid_of_an_author() {
    let setup = Setup::new();
    let person: Value = serde_json::from_str(RECORD).unwrap();
    let mut alone = person["person"].clone();
    alone["path"] = json!("/0000-0002-1825-0097/person");
    let mut alone_profile = profile();
    alone_profile["outputs_count"] = Value::Null;
    for (line, expected) in [
        (RECORD.to_owned(), profile()),
        (alone.to_string(), alone_profile),
        (profile().to_string(), profile()),
        (
            r#"{"orcid":"https://orcid.org/0000-0002-1825-0097","name":{"credit-name":{"value":"A. E."}},"emails":7}"#
                .to_owned(),
            json!({
                "id": "0000-0002-1825-0097", "name": "A. E.", "biography": null, "emails": null,
                "externalIdentifiers": null, "websites": null, "outputs_count": null
            }),
        ),
    ] {
        setup.write("people.jsonl", format!("{line}\n"));
        let run = setup.build(&["people.jsonl"]);
        assert_eq!(run.tally("orcid"), [1, 1, 0, 0], "{line}");
        assert_eq!(
            run.record(Entity::Author, 1, Shape::Single),
            json!({
                "id": "HX_A1", "orcid": expected, "name": "Ada Example", "full_name": null,
                "outputs_count": 3, "cited_by_count": null, "last_known_institutions": null,
                "updated_date": null, "created_date": null, "affiliations": null,
                "summary_stats": null, "topics": null, "counts_by_year": null,
                "display_name_alternatives": null
            })
        );
        let listed = run.record(Entity::Author, 1, Shape::List);
        assert_eq!(listed["orcid"], json!("https://orcid.org/0000-0002-1825-0097"));
        let other = run.record(Entity::Author, 2, Shape::Single);
        assert_eq!(other["orcid"]["id"], json!("0000-0002-1694-233X"));
        assert_eq!(other["orcid"]["name"], Value::Null);
        assert_eq!(run.record(Entity::Author, 3, Shape::Single)["orcid"], Value::Null);
    }
}

#[test]
fn the_newest_orcid_summary_wins_and_bad_ones_are_quarantined() {
    let setup = Setup::new();
    let older = RECORD.replace("1700000000000", "1600000000000").replace("Tests", "Tested");
    let lines = [
        &older,
        RECORD,
        &older.replace("1600000000000", "\"never\"").replace("Tested", "Zzz"),
        r#"{"orcid-identifier":{"path":"0000-0002-1825-009"}}"#,
        r#"{"orcid-identifier":{}}"#,
        "[]",
        "{",
        r#"{"orcid":"0000-0002-1825-0097","orcid":"0000-0002-1825-0097"}"#,
        r#"{"orcid":"0000-0009-9999-9999"}"#,
    ];
    setup.write("people.jsonl", lines.join("\n"));
    let run = setup.build(&["orcid:people.jsonl"]);
    assert_eq!(run.tally("orcid"), [9, 3, 1, 5]);
    let author = run.record(Entity::Author, 1, Shape::Single);
    assert_eq!(author["orcid"], profile());
    assert_eq!(
        run.report["bad_records"],
        json!({"bad_id": 1, "duplicate_key": 1, "no_id": 1, "not_a_record": 1, "not_json": 1})
    );
}
