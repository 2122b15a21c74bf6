//! Tests of `read` on small dumps.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{Library, read};

/// Reads a dump with these files, each given by path and content.
pub(crate) fn library(name: &str, files: &[(&str, &str)]) -> Library {
    let root = std::env::temp_dir().join(format!("pinakes-oracle-{}-{name}", std::process::id()));
    for (path, text) in files {
        let path = root.join(path);
        let parent = path.parent().expect("a file below the root");
        fs::create_dir_all(parent).expect("a writable temporary directory");
        fs::write(path, text).expect("a writable temporary directory");
    }
    let library = read(&[PathBuf::from(&root)]).expect("readable files");
    fs::remove_dir_all(root).expect("the directory made above");
    library
}

fn ids(library: &Library, entity: &str) -> Vec<String> {
    library.entities[entity].iter().map(|entry| entry.id.clone()).collect()
}

fn single<'a>(library: &'a Library, entity: &str, id: &str) -> &'a Value {
    let found = library.entities[entity].iter().find(|entry| entry.id == id);
    &found.expect("a published record").single
}

#[test]
fn the_newest_copy_wins_and_every_line_is_counted() {
    let library = library(
        "newest",
        &[
            (
                "funders/a.jsonl",
                "{\"id\":\"F1\",\"display_name\":\"new\",\"updated_date\":\"2024-01-01T00:00:00.000002\"}\r\n\
                 {\"id\":\"F2\",\"display_name\":\"only\",\"works_count\":\"5\"}\n\n\
                 {\"id\":\"F3\"}\n{\"id\":\"A4\",\"display_name\":\"x\"}\n[]\n\
                 {\"id\":\"F1\",\"display_name\":\"dateless\"}",
            ),
            (
                "old/funders.jsonl",
                "{\"id\":\"https://openalex.org/F1\",\"display_name\":\"old\",\"updated_date\":\"2024-01-01\"}\n\
                 {\"id\":\"F1\",\"display_name\":\"new\",\"updated_date\":\"2024-01-01T00:00:00.000002\"}\n",
            ),
        ],
    );
    assert_eq!(ids(&library, "funders"), ["HX_F2", "HX_F1"]);
    assert_eq!(single(&library, "funders", "HX_F1")["name"], "new");
    assert_eq!(single(&library, "funders", "HX_F2")["outputs_count"], 5);
    let tallies = library.tallies["funders"];
    assert_eq!(
        (tallies.read, tallies.published, tallies.duplicates, tallies.superseded),
        (8, 2, 1, 2)
    );
    assert_eq!((tallies.quarantined, tallies.conflicts), (3, 0));
}

#[test]
fn references_follow_merges_and_a_newer_record_keeps_its_merged_id() {
    let library = library(
        "merges",
        &[
            (
                "institutions.jsonl",
                "{\"id\":\"I1\",\"display_name\":\"one\",\"updated_date\":\"2020-01-01\",\
                  \"associated_institutions\":[{\"id\":\"I2\",\"display_name\":\"two\"},\
                  {\"id\":\"I6\",\"display_name\":\"six\"}]}\n\
                 {\"id\":\"I2\",\"display_name\":\"two\",\"updated_date\":\"2020-01-01\"}\n\
                 {\"id\":\"I3\",\"display_name\":\"three\",\"updated_date\":\"2024-01-01\"}",
            ),
            (
                "merged_ids/institutions/2021-01-01.csv",
                "merge_date,id,merge_into_id\n2021-01-01,I2,I9\n2021-01-01,I9,I1\n2021-01-01,I3,I1\n\
                 2021-01-01,I4,I5\n2021-01-01,I5,I4\n2021-01-01,I6,I7\n",
            ),
        ],
    );
    let redirects: Vec<(&str, Option<&str>)> = library
        .redirects
        .iter()
        .map(|redirect| (redirect.from.as_str(), redirect.to.as_deref()))
        .collect();
    assert_eq!(
        redirects,
        [
            ("HX_I2", Some("HX_I1")),
            ("HX_I4", None),
            ("HX_I5", None),
            ("HX_I6", None),
            ("HX_I9", Some("HX_I1")),
        ]
    );
    assert_eq!(ids(&library, "institutions"), ["HX_I1", "HX_I3"]);
    assert_eq!(
        single(&library, "institutions", "HX_I1")["associated_institutions"],
        json!([
            {"id": "HX_I1", "name": "one", "relationship": null},
            {"id": "HX_I7", "name": "six", "relationship": null},
        ])
    );
    let tallies = library.tallies["institutions"];
    assert_eq!((tallies.merged, tallies.dangling), (1, 1));
}

#[test]
fn missing_taxonomy_nodes_come_from_csv_rows_and_references() {
    let library = library(
        "taxonomy",
        &[
            (
                "topics.csv",
                "topic_id,new_topic_label,subfield_id,subfield_name,field_id,field_name,domain_id,domain_name,keywords,summary,wikipedia_url\n\
                 1,Row one,10,Ten,100,Hundred,1,First,a; b,s,\n2,Row two,10,Ten,100,Hundred,1,First,,,\n",
            ),
            (
                "topics.jsonl",
                r#"{"id":"T1","display_name":"One","subfield":{"id":"subfields/10","display_name":"Other"}}"#,
            ),
            (
                "works.jsonl",
                r#"{"id":"W1","cited_by_count":7,"primary_topic":{"id":"T2","display_name":"x"}}"#,
            ),
        ],
    );
    assert_eq!(ids(&library, "topics"), ["HX_T2", "HX_T1"]);
    let two = single(&library, "topics", "HX_T2");
    assert_eq!(two["siblings"], json!([{"id": "HX_T1", "name": "One"}]));
    assert_eq!(two["subfield"], json!({"id": "10", "name": "Ten"}));
    assert_eq!((&two["outputs_count"], &two["cited_by_count"]), (&json!(1), &json!(7)));
    let ten = single(&library, "subfields", "10");
    assert_eq!((&ten["id"], &ten["cited_by_count"]), (&json!(10), &json!(7)));
    assert_eq!(ten["topics"].as_array().map(Vec::len), Some(2));
    assert_eq!(single(&library, "domains", "1")["fields"], json!([{"id": 100, "name": "Hundred"}]));
    let tallies = library.tallies["topics"];
    assert_eq!((tallies.read, tallies.superseded, tallies.derived), (3, 1, 0));
}

#[test]
fn an_output_has_its_venues_funders_and_list_item() {
    let library = library(
        "output",
        &[
            (
                "works.jsonl",
                r#"{"id":"W1","title":" ","language":"en","primary_location":{"id":"b","source":{"id":"S1","display_name":"given"}},"locations":[{"id":"a"},{"id":"b"}],"authorships":[{"author":{"id":null,"display_name":"N"},"raw_affiliation_string":"raw"}],"grants":[{"funder":"F1","funder_display_name":"Fund","award_id":"x, y"},{"funder":"F1","funder_display_name":"Fund","award_id":null}]}"#,
            ),
            ("sources.jsonl", r#"{"id":"S1","display_name":"Journal","type":"journal"}"#),
        ],
    );
    let output = single(&library, "outputs", "HX_W1");
    assert_eq!(output["title"], Value::Null);
    assert_eq!(output["language"], json!({"code": "en", "name": "*"}));
    assert_eq!(
        output["primary_venue"]["source"],
        json!({"id": "HX_S1", "name": "Journal", "type": "journal", "metrics": null})
    );
    assert_eq!(output["additional_venues"][0]["id"], "a");
    assert_eq!(output["venues_count"], 2);
    assert_eq!(output["authors"][0]["raw_affiliation_strings"], json!(["raw"]));
    let award = |id: &str| json!({"id": null, "name": null, "funder_award_id": id, "doi": null});
    assert_eq!(
        output["funders"],
        json!([{"id": "HX_F1", "name": "Fund", "awards": [award("x"), award("y")]}])
    );
    let item = &library.entities["outputs"][0].list;
    assert!(
        item.get("abstract").is_none()
            && item["authors"][0].get("raw_affiliation_strings").is_none()
    );
}
