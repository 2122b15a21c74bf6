//! Matching of texts with records: decisions over HTTP, posted lines, and the command line.
//!
//! The dump is written by hand, so that each test knows which record a text means.

mod command;
mod decisions;
mod lines;
mod names;

use pinakes_tests::client::{Connection, Response};
use pinakes_tests::server::Snapshots;
use serde_json::{Value, json};

/// A work: number, title, first author, year, volume, first page.
type Work = (u64, &'static str, &'static str, u32, &'static str, &'static str);

const WORKS: [Work; 9] = [
    (1, "The theory of planned behavior", "Icek Ajzen", 1991, "50", "179"),
    (
        2,
        "Coefficient alpha and the internal structure of tests",
        "Lee J. Cronbach",
        1951,
        "16",
        "297",
    ),
    (3, "Thermal vents of the deep ocean. Part I: Chemistry", "Maria Silva", 2001, "12", "33"),
    (4, "Thermal vents of the deep ocean. Part II: Fauna", "Maria Silva", 2001, "12", "51"),
    (5, "Editorial", "Ana Costa", 2010, "7", "1"),
    (6, "Editorial", "Ana Costa", 2010, "8", "1"),
    (7, "Migration of juvenile salmon in regulated rivers", "Per Berg", 1999, "4", "100"),
    (8, "Migration of juvenile salmon in regulated rivers: a reply", "Ola Lund", 2000, "5", "20"),
    (9, "Data from: Shape of a wave at the shore", "Jane Roe", 2012, "", ""),
];

fn line(work: Work) -> Value {
    let (id, title, author, year, volume, page) = work;
    let source = json!({
        "id": "https://openalex.org/S1",
        "display_name": "Journal of Careful Studies",
        "type": "journal",
    });
    json!({
        "id": format!("https://openalex.org/W{id}"),
        "doi": format!("https://doi.org/10.1000/w{id}"),
        "display_name": title,
        "title": title,
        "publication_year": year,
        "authorships": [{
            "author_position": "first",
            "author": { "id": format!("https://openalex.org/A{id}"), "display_name": author },
        }],
        "primary_location": { "source": source },
        "biblio": { "volume": volume, "issue": "1", "first_page": page, "last_page": null },
        "updated_date": "2026-01-10",
    })
}

/// Publishes the works, and works that share their words.
fn snapshots() -> Snapshots {
    let dump = tempfile::tempdir().unwrap();
    let mut works: Vec<Value> = WORKS.into_iter().map(line).collect();
    for id in 100..160 {
        let mut other =
            line((id, "Notes on rivers, tests and the ocean", "Jo Doe", 2005, "1", "9"));
        other["display_name"] = format!("Notes on rivers, tests and the ocean, series {id}").into();
        other["title"] = other["display_name"].clone();
        works.push(other);
    }
    let lines: String = works.iter().map(|work| format!("{work}\n")).collect();
    pinakes_tests::write_files(dump.path(), [("works.jsonl", lines)]);
    Snapshots::from_inputs(&[dump.path().to_path_buf()])
}

/// A text as the value of a parameter.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The candidates for parameters.
#[track_caller]
fn candidates(connection: &mut Connection, entity: &str, parameters: &[(&str, &str)]) -> Value {
    let parameters: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let response = connection.get(&format!("/match/{entity}?{}", parameters.join("&")));
    assert_eq!(response.status, 200, "{}", response.text());
    let page = response.json();
    let count = page["results"].as_array().unwrap().len();
    assert_eq!(page["meta"]["count"], count, "{page}");
    page["results"].clone()
}

/// The number of the sure record, if there is one.
#[track_caller]
fn sure(candidates: &Value) -> Option<u64> {
    let mut sure = candidates.as_array().unwrap().iter().filter(|of| of["match"] == true);
    let first = sure.next()?;
    assert!(sure.next().is_none(), "{candidates}");
    Some(first["id"].as_str().unwrap()[4..].parse().unwrap())
}

/// Sends lines of a media type.
fn post(connection: &mut Connection, entity: &str, media_type: &str, body: &[u8]) -> Response {
    let head = format!(
        "POST /match/{entity} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.send(&[head.as_bytes(), body].concat()).unwrap();
    connection.receive_to("POST").unwrap()
}
