//! Streams hold a reference to each record of the list, in the order of the list.

use std::collections::HashSet;
use std::path::PathBuf;

use pinakes_tests::client::{Connection, Response};
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

use crate::references::{FORMATS, hostile_snapshots, one_line, records, text};

#[track_caller]
fn stream(connection: &mut Connection, target: &str, format: &str) -> Response {
    let and = if target.contains('?') { '&' } else { '?' };
    let reply = connection.get(&format!("{target}{and}format={format}"));
    assert_eq!(reply.status, 200, "{target}: {}", reply.text());
    let (_, extension, media_type) =
        FORMATS.into_iter().find(|(name, ..)| *name == format).unwrap();
    assert_eq!(reply.header("content-type"), Some(media_type));
    let disposition = format!("attachment; filename=\"outputs.{extension}\"");
    assert_eq!(reply.header("content-disposition"), Some(disposition.as_str()));
    assert_eq!(reply.header("cache-control"), Some("public, no-cache"));
    reply
}

/// An entry of BibTeX.
struct Entry {
    key: String,
    /// Names and values.
    members: Vec<(String, String)>,
}

/// Reads a file of BibTeX, which counts all braces.
#[track_caller]
fn entries(text: &str) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(entry) = rest.strip_prefix('@') {
        let mut open = 0_i32;
        let end = entry.bytes().position(|byte| {
            open += i32::from(byte == b'{') - i32::from(byte == b'}');
            open == 0 && byte == b'}'
        });
        let end = end.unwrap_or_else(|| panic!("no end of {entry:.200}"));
        let (_, body) = entry[..end].split_once('{').unwrap();
        let mut lines = body.lines();
        let key = lines.next().unwrap().strip_suffix(',').unwrap().to_owned();
        assert!(key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{key}");
        let members = lines.map(|line| {
            let (name, value) = line.trim_end_matches(',').split_once(" = ").unwrap();
            (name.trim().to_owned(), value.trim_start_matches('{').trim_end_matches('}').to_owned())
        });
        found.push(Entry { key, members: members.collect() });
        rest = entry[end..].strip_prefix("}\n\n").unwrap();
    }
    assert_eq!(rest, "");
    found
}

#[track_caller]
fn check_bibtex(connection: &mut Connection, target: &str, records: &[Value]) {
    let reply = stream(connection, target, "bibtex");
    let entries = entries(reply.text());
    assert_eq!(entries.len(), records.len(), "{target}");
    let keys: HashSet<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys.len(), records.len(), "{target}: two entries have one key");
    for (Entry { members, .. }, record) in entries.iter().zip(records) {
        let of = |name: &str| {
            members.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let year = record["year"].as_i64().map(|year| year.to_string());
        assert_eq!(of("year"), year, "{record}");
        let authors = of("author").map_or(0, |authors| authors.split(" and ").count());
        let named = record["authors"].as_array().map_or(0, |authors| {
            authors.iter().filter(|author| !text(author, "/name").is_empty()).count()
        });
        assert!(authors >= named, "{record}");
        let plain = |text: &str| text.bytes().filter(u8::is_ascii_alphanumeric).count();
        let title = crate::references::plain(&text(record, "/title"));
        assert!(plain(&of("title").unwrap_or_default()) >= plain(&title), "{record}");
    }
}

#[track_caller]
fn check_ris(connection: &mut Connection, target: &str, records: &[Value]) {
    let reply = stream(connection, target, "ris");
    let mut lines = reply.text().split("\r\n");
    for record in records {
        let mut found: Vec<(String, String)> = Vec::new();
        loop {
            let line = lines.next().unwrap();
            let (tag, value) = line.split_once("  - ").unwrap_or_else(|| panic!("{line}"));
            if tag == "ER" {
                assert_eq!(lines.next(), Some(""));
                break;
            }
            assert!(tag.len() == 2 && !value.is_empty() && value == one_line(value), "{line}");
            found.push((tag.to_owned(), value.to_owned()));
        }
        assert_eq!(found[0].0, "TY");
        let of = |tag: &str| -> Vec<&str> {
            found
                .iter()
                .filter(|(known, _)| known == tag)
                .map(|(_, value)| value.as_str())
                .collect()
        };
        let title = record["title"].as_str().or(record["name"].as_str()).unwrap_or_default();
        let doi = text(record, "/doi").replace("https://doi.org/", "");
        let year = record["year"].as_i64().map_or(String::new(), |year| year.to_string());
        for (tag, expected) in [
            ("ID", text(record, "/id")),
            ("TI", crate::references::plain(title)),
            ("PY", year),
            ("VL", text(record, "/biblio/volume")),
            ("IS", text(record, "/biblio/issue")),
            ("SP", text(record, "/biblio/first_page")),
            ("EP", text(record, "/biblio/last_page")),
            ("DO", doi),
            ("LA", text(record, "/language/code")),
        ] {
            let expected: Vec<&str> =
                Some(&*expected).filter(|text| !text.is_empty()).into_iter().collect();
            assert_eq!(of(tag), expected, "{tag} of {record}");
        }
        let venue = [of("T2"), of("PB")].concat().join("|");
        assert_eq!(venue, text(record, "/primary_venue/source/name"), "{record}");
        let authors = record["authors"].as_array().into_iter().flatten();
        let names: Vec<String> = authors.map(|author| text(author, "/name")).collect();
        let letters = |name: &str| {
            let mut letters: Vec<char> =
                name.chars().filter(|letter| letter.is_alphanumeric()).collect();
            letters.sort_unstable();
            letters
        };
        let names: Vec<_> =
            names.iter().filter(|name| !name.is_empty()).map(|name| letters(name)).collect();
        assert_eq!(of("AU").into_iter().map(letters).collect::<Vec<_>>(), names, "{record}");
    }
    assert_eq!(lines.collect::<Vec<_>>(), [""]);
}

#[track_caller]
fn check_csl(connection: &mut Connection, target: &str, records: &[Value]) {
    let reply = stream(connection, target, "csl-json");
    let items = reply.json();
    let items = items.as_array().unwrap();
    assert_eq!(items.len(), records.len(), "{target}");
    for (item, record) in items.iter().zip(records) {
        assert_eq!(item["id"], record["id"]);
        let title = record["title"].as_str().or(record["name"].as_str());
        // The only tags that CSL has.
        let own = item["title"]
            .as_str()
            .map(|title| crate::references::without(title, &["i", "sub", "sup"]));
        assert_eq!(own, title.map(crate::references::plain).filter(|text| !text.is_empty()));
        let year = item["issued"]["date-parts"][0].get(0).unwrap_or(&Value::Null);
        assert_eq!(year, &record["year"], "{record}");
        let authors = record["authors"].as_array().map_or(0, Vec::len);
        assert_eq!(item["author"].as_array().map_or(0, Vec::len), authors, "{record}");
        let doi = record["doi"].as_str().map(|doi| doi.replace("https://doi.org/", ""));
        assert_eq!(item["DOI"].as_str(), doi.as_deref());
    }
}

fn check_all(snapshots: &Snapshots, targets: &[&str]) {
    let server = Server::serve(snapshots);
    let mut connection = server.connect();
    for target in targets {
        let records = records(&mut connection, target);
        check_bibtex(&mut connection, target, &records);
        check_ris(&mut connection, target, &records);
        check_csl(&mut connection, target, &records);
    }
    server.end(&[]);
}

#[test]
fn streams_hold_a_reference_to_each_record_of_the_list() {
    let targets = [
        "/outputs",
        "/outputs?filter=type:article&sort=year:desc",
        "/outputs?sample=40&seed=3",
        "/outputs?search=learning",
        "/outputs?filter=year:1",
    ];
    check_all(&Snapshots::from_sample(), &targets);
}

#[test]
fn hostile_texts_break_no_stream() {
    let snapshots = hostile_snapshots();
    check_all(&snapshots, &["/outputs", "/outputs?sort=id"]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let bibtex = stream(&mut connection, "/outputs?filter=type:book&sort=id", "bibtex");
    let keys: Vec<String> = entries(bibtex.text()).into_iter().map(|entry| entry.key).collect();
    assert_eq!(keys, ["berg2022on", "berg2022ona", "berg2022onaa"]);
    let csl =
        stream(&mut connection, "/outputs?filter=type:book&sort=id&sample=3", "csl-json").json();
    assert_eq!(csl[0]["author"], json!([{ "family": "Berg", "given": "Ada" }]));
    server.end(&[]);
}

#[test]
fn keys_of_a_long_list_are_different() {
    let dump = tempfile::tempdir().unwrap();
    let plan = pinakes_generate::Plan::new(10_001, 5);
    pinakes_generate::write_dump(&plan, dump.path(), 2).unwrap();
    let snapshots = Snapshots::from_inputs(&[PathBuf::from(dump.path())]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (target, is_long) in [("/outputs", true), ("/outputs?sample=10000", false)] {
        let bibtex = stream(&mut connection, target, "bibtex");
        let keys: Vec<String> = entries(bibtex.text()).into_iter().map(|entry| entry.key).collect();
        assert_eq!(keys.len(), if is_long { 10_001 } else { 10_000 });
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len(), "{target}");
        assert!(keys.iter().all(|key| key.contains('_') == is_long), "{target}");
    }
    server.end(&[]);
}

#[test]
fn formats_of_references_are_of_outputs_and_have_fixed_members() {
    let snapshots = hostile_snapshots();
    let server = Server::serve(&snapshots);
    let check = |target: &str, parameter: &str, reason: &str| {
        let reply = server.get(target);
        assert_eq!(reply.status, 400, "{target}");
        let detail = &reply.json()["details"][0];
        assert_eq!(detail["parameter"], parameter, "{target}");
        let found = detail["reason"].as_str().unwrap();
        assert!(found.contains(reason), "{target}: {found}");
    };
    for (format, ..) in FORMATS {
        check(&format!("/authors?format={format}"), "format", "is a format of outputs");
        check(&format!("/outputs?format={format}&select=id"), "select", "members are fixed");
        check(&format!("/outputs?group_by=year&format={format}"), "group_by", "has no groups");
        check(&format!("/outputs?format={format}&page=1"), "page", "sends the whole list");
    }
    let names = "must be `ndjson`, `csv`, `xlsx`, `bibtex`, `ris`, `csl-json` or `atom`";
    check("/outputs?format=bib", "format", names);
    check("/authors?format=bib", "format", "must be `ndjson`, `csv` or `xlsx`; without");
    server.end(&[]);
}
