//! Feeds: the newest records of a list, as valid Atom.

use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots};
use quick_xml::Reader;
use quick_xml::events::Event;

/// The texts of the elements of a feed, by name, in order. Fails for XML that is not well formed.
fn elements(text: &str) -> Vec<(String, String)> {
    let mut reader = Reader::from_str(text);
    let (mut open, mut found): (Vec<String>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    let mut content = String::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                open.push(String::from_utf8_lossy(start.name().as_ref()).into_owned());
                content.clear();
            }
            Event::Text(part) => content.push_str(&part.decode().unwrap()),
            Event::GeneralRef(name) => content.push_str(match &*name.decode().unwrap() {
                "amp" => "&",
                "lt" => "<",
                "gt" => ">",
                "quot" => "\"",
                other => panic!("&{other};"),
            }),
            Event::End(_) => found.push((open.pop().unwrap(), content.trim().to_owned())),
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    found
}

#[track_caller]
fn feed(connection: &mut Connection, target: &str) -> Vec<(String, String)> {
    let reply = connection.get(target);
    assert_eq!(reply.status, 200, "{target}: {}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/atom+xml; charset=utf-8"));
    elements(reply.text())
}

#[test]
fn a_feed_has_the_newest_records_of_the_list() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (list, query) in [
        ("outputs", ""),
        ("outputs", "filter=year:>1900&"),
        ("outputs", "search=structure&"),
        ("sources", "search=a&"),
        ("topics", ""),
        ("fields", ""),
    ] {
        let found = feed(&mut connection, &format!("/{list}?{query}format=atom"));
        let newest = format!("/{list}?{query}sort=created_date:desc&per_page=50");
        let records = connection.get(&newest).json();
        let ids: Vec<&String> =
            found.iter().filter(|(name, _)| name == "id").map(|(_, text)| text).collect();
        let expected: Vec<String> = records["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["id"].as_str().map_or(record["id"].to_string(), str::to_owned))
            .collect();
        // The first id is that of the feed.
        assert!(!expected.is_empty());
        assert_eq!(ids.len(), expected.len() + 1, "{newest}");
        for (id, expected) in ids[1..].iter().zip(&expected) {
            assert!(id.ends_with(&format!("/{list}/{expected}")), "{id} {expected}");
        }
        assert_eq!(found.iter().filter(|(name, _)| name == "entry").count(), expected.len());
        let updated = found.iter().filter(|(name, _)| name == "updated");
        assert!(updated.clone().count() > expected.len());
        for (_, time) in updated {
            assert!(chrono::DateTime::parse_from_rfc3339(time).is_ok(), "{time}");
        }
    }
    let page = connection.get("/browse/outputs?filter=year:%3E1900");
    let linked = "type=\"application/atom+xml\"";
    assert!(page.text().contains(linked));
    assert!(page.text().contains("/outputs?filter=year:&#62;1900&#38;format=atom"));
    let tag = connection.get("/outputs?format=atom").header("etag").unwrap().to_owned();
    let again =
        connection.request("GET", "/outputs?format=atom", &[&format!("If-None-Match: {tag}")]);
    assert_eq!(again.status, 304);
    let empty = feed(&mut connection, "/outputs?filter=year:2999&format=atom");
    assert_eq!(empty.iter().filter(|(name, _)| name == "entry").count(), 0);
    server.end(&[]);
}

#[test]
fn texts_of_a_feed_are_escaped() {
    let work = serde_json::json!({
        "id": "https://openalex.org/W1", "title": "A <b>&lt;script&gt;</b> & \"x\" \u{1}",
        "display_name": "A", "created_date": "2026-01-10", "updated_date": "2026-01-11T01:02:03.000004",
        "authorships": [{ "author": { "id": null, "display_name": "A & <B>" } }],
    });
    let dump = tempfile::tempdir().unwrap();
    pinakes_tests::write_files(dump.path(), [("works.jsonl", format!("{work}\n"))]);
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let server = Server::serve(&snapshots);
    let found = feed(&mut server.connect(), "/outputs?format=atom");
    let of = |name: &str| {
        found
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, text)| text.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("name"), ["A & <B>"]);
    assert_eq!(of("updated"), ["2026-01-11T01:02:03Z"; 2]);
    assert_eq!(of("published"), ["2026-01-10T00:00:00Z"]);
    assert!(of("title")[1].starts_with("A <script> & \"x\""), "{:?}", of("title"));
    server.end(&[]);
}
