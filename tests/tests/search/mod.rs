//! The full-text search of outputs over HTTP: words, languages, operators, corrections, identifiers, scores, limits, the form,
//! and suppressed records.

mod form;
mod hostile;
mod identifiers;
mod languages;
mod operators;
mod order;
mod suppressed;
mod words;

use pinakes_tests::client::{Connection, Response};
use pinakes_tests::server::Snapshots;
use serde_json::{Value, json};

/// A work of a dump: its number, its language, and its title.
type TitledWork = (u64, &'static str, &'static str);

/// A line of a dump with a title alone.
fn titled((id, language, title): TitledWork) -> Value {
    json!({
        "id": format!("https://openalex.org/W{id}"),
        "display_name": title,
        "title": title,
        "language": language,
        "updated_date": "2026-01-10",
    })
}

/// Adds an abstract to a work.
fn with_abstract(mut work: Value, text: &str) -> Value {
    let mut words = serde_json::Map::new();
    for (at, word) in text.split(' ').enumerate() {
        let positions = words.entry(word).or_insert_with(|| json!([]));
        positions.as_array_mut().unwrap().push(json!(at));
    }
    work["abstract_inverted_index"] = Value::Object(words);
    work
}

/// Publishes works.
fn snapshots(works: &[Value]) -> Snapshots {
    let dump = tempfile::tempdir().unwrap();
    let lines: String = works.iter().map(|work| format!("{work}\n")).collect();
    pinakes_tests::write_files(dump.path(), [("works.jsonl", lines)]);
    Snapshots::from_inputs(&[dump.path().to_path_buf()])
}

/// A text as the value of a parameter.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Requests the list of a search, with further parameters.
#[track_caller]
fn search(connection: &mut Connection, text: &str, more: &str) -> Value {
    let target = format!("/outputs?per_page=100&search={}{more}", encoded(text));
    let response = connection.get(&target);
    assert_eq!(response.status, 200, "{text}: {}", response.text());
    response.json()
}

/// The numbers of the works that a list shows, in its order.
fn numbers(list: &Value) -> Vec<u64> {
    let records = list["results"].as_array().unwrap().iter();
    records
        .map(|record| record["id"].as_str().unwrap().strip_prefix("HX_W").unwrap().parse().unwrap())
        .collect()
}

/// The numbers of the works that a search finds, ascending; their count must be exact.
#[track_caller]
fn found(connection: &mut Connection, text: &str) -> Vec<u64> {
    let list = search(connection, text, "");
    let mut numbers = numbers(&list);
    numbers.sort_unstable();
    assert_eq!(list["meta"]["count"].as_u64(), Some(numbers.len() as u64), "{text}");
    numbers
}

/// The reason of the one detail of a refusal.
#[track_caller]
fn reason(response: &Response, parameter: &str) -> String {
    assert_eq!(response.status, 400, "{}", response.text());
    let body = response.json();
    let details = body["details"].as_array().unwrap();
    assert_eq!(details.len(), 1, "{body}");
    assert_eq!(details[0]["parameter"], parameter, "{body}");
    details[0]["reason"].as_str().unwrap().to_owned()
}
