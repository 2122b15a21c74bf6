//! Compares the served OpenAPI document with the reviewed one, which `make bless` records.

use pinakes_format::entity::CATALOG;
use pinakes_format::record::legacy::LEGACY;
use pinakes_format::schema::keys::{keys_of, keys_of_legacy};
use serde_json::Value;

use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots};

#[track_caller]
pub fn document(connection: &mut Connection) -> Value {
    let response = connection.get("/openapi.json");
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    response.json()
}

/// The value in the document that a reference names, or the value itself.
pub fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(at) => {
            document.pointer(at.strip_prefix('#').unwrap()).unwrap_or_else(|| panic!("{at}"))
        }
        None => value,
    }
}

#[test]
fn the_document_served_is_the_one_that_was_reviewed() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let served = document(&mut server.connect());
    let path = pinakes_tests::root().join("tests/tests/openapi/openapi.json");
    let text = serde_json::to_string_pretty(&served).unwrap() + "\n";
    if std::env::var_os("PINAKES_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    assert!(text == recorded, "the served document differs; run `make bless` and review it");
    server.end(&[]);
}

#[test]
fn the_document_describes_the_served_snapshot() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let first = connection.get("/openapi.json");
    let tag = format!("If-None-Match: {}", first.header("etag").unwrap());
    assert_eq!(connection.request("GET", "/openapi.json", &[&tag]).status, 304);
    let head = connection.request("HEAD", "/openapi.json", &[]);
    assert_eq!(head.header("content-length"), first.header("content-length"));
    let dump = tempfile::tempdir().unwrap();
    pinakes_tests::write_files(dump.path(), pinakes_tests::TINY_DUMP);
    let tiny = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let other = Server::serve(&tiny);
    let second = other.get("/openapi.json");
    assert_ne!(second.header("etag"), first.header("etag"));
    let example =
        |document: &Value| document["paths"]["/outputs/{id}"]["parameters"][0]["example"].clone();
    assert_eq!(example(&second.json()), "HX_W1");
    assert_ne!(example(&first.json()), "HX_W1");
    server.end(&[]);
    other.end(&[]);
}

#[test]
fn every_reference_resolves_and_every_schema_is_used() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let document = document(&mut server.connect());
    let mut used = Vec::new();
    collect_references(&document, &mut used);
    for at in &used {
        assert!(document.pointer(at.strip_prefix('#').unwrap()).is_some(), "{at}");
    }
    for (kind, components) in document["components"].as_object().unwrap() {
        for name in components.as_object().unwrap().keys() {
            let at = format!("#/components/{kind}/{name}");
            assert!(used.contains(&at.as_str()), "{at}");
        }
    }
    server.end(&[]);
}

fn collect_references<'d>(value: &'d Value, used: &mut Vec<&'d str>) {
    match value {
        Value::Object(members) => {
            used.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| collect_references(member, used));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, used)),
        _ => {}
    }
}

#[test]
fn every_list_names_its_keys_with_their_types() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let document = document(&mut server.connect());
    let doc = |path: &str, name: &str| {
        let parameters = document["paths"][path]["parameters"].as_array().unwrap();
        let found = parameters.iter().find(|parameter| parameter["name"] == name);
        found.map(|found| found["description"].as_str().unwrap().to_owned())
    };
    let lists = CATALOG.iter().map(|facts| (keys_of(facts.entity), true));
    for (keys, is_sorted_by_key) in
        lists.chain(LEGACY.iter().map(|legacy| (keys_of_legacy(legacy), false)))
    {
        let path = format!("/{}", keys.route);
        let (filter, sort) = (doc(&path, "filter"), doc(&path, "sort"));
        assert_eq!(filter.is_some(), keys.filters().next().is_some(), "{path}");
        assert_eq!(sort.is_some(), keys.sorts().next().is_some(), "{path}");
        let is_named = |doc: &Option<String>, key: &pinakes_format::schema::keys::Key| {
            let line = format!("- {}: ", key.kind.name());
            let name = format!("`{}`", key.name);
            let mut lines = doc.as_deref().unwrap_or_default().lines();
            lines.any(|found| found.starts_with(&line) && found.contains(&name))
        };
        for key in &keys.keys {
            assert_eq!(is_named(&filter, key), key.filter.is_some(), "{path} {}", key.name);
            let is_sorted = is_sorted_by_key && key.sort.is_some();
            assert_eq!(is_named(&sort, key), is_sorted, "{path} {}", key.name);
        }
    }
    server.end(&[]);
}
