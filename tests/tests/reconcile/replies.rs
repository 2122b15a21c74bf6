//! The manifest, matched texts, suggestions, extensions and previews.

use pinakes_tests::server::{Server, Snapshots, command};
use serde_json::{Value, json};

use crate::reconcile::{encoded, post, reconcile};

#[test]
fn the_manifest_names_the_types_and_addresses_that_answer() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let reply = server.get("/reconcile");
    assert_eq!(reply.status, 200);
    let manifest = reply.json();
    assert_eq!(manifest["versions"], json!(["0.2"]));
    for member in ["name", "identifierSpace", "schemaSpace"] {
        assert!(manifest[member].is_string(), "{member}");
    }
    let types: Vec<&str> = manifest["defaultTypes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["id"].as_str().unwrap())
        .collect();
    assert_eq!(types.len(), 10);
    assert!(types.contains(&"outputs") && types.contains(&"subfields"));
    let id = server.get("/institutions?per_page=10").json()["results"][0]["id"].clone();
    let id = id.as_str().unwrap();
    for place in [&manifest["view"]["url"], &manifest["preview"]["url"]] {
        let address = place.as_str().unwrap();
        let (_, path) = address.split_once("://").unwrap().1.split_once('/').unwrap();
        let path = format!("/{}", path.replace("{{id}}", id));
        // The view of an identifier is the page of its record.
        let status = if path.starts_with("/browse/search") { 303 } else { 200 };
        assert_eq!(server.get(&path).status, status, "{path}");
    }
    let named = reply.header("x-snapshot-id").unwrap();
    let of_named = server.get(&format!("/@{named}/reconcile")).json();
    let preview = of_named["preview"]["url"].as_str().unwrap();
    assert!(preview.ends_with(&format!("/@{named}/reconcile/preview?id={{{{id}}}}")), "{preview}");
    for kind in ["entity", "type", "property"] {
        let path = manifest["suggest"][kind]["service_path"].as_str().unwrap();
        let found = server.get(&format!("{path}?prefix=in")).json();
        assert!(!found["result"].as_array().unwrap().is_empty(), "{kind}");
    }
    server.end(&[]);
}

#[test]
fn texts_are_matched_as_the_match_endpoint_matches_them() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let list = connection.get("/outputs?per_page=25").json();
    let mut sure = 0;
    for output in list["results"].as_array().unwrap() {
        let title = output["title"].as_str().unwrap();
        let year = &output["year"];
        let queries = json!({
            "alone": { "query": title, "type": "outputs", "limit": 3 },
            "typed": { "query": title, "type": ["outputs"], "properties": [{ "pid": "year", "v": year }] },
            "parts": { "properties": [{ "pid": "title", "v": [title] }, { "pid": "year", "v": year }], "type": "outputs" },
        });
        let answer = reconcile(&mut connection, &queries);
        let target = format!("/match/outputs?text={}", encoded(title));
        let matched = connection.get(&target).json();
        let matched = matched["results"].as_array().unwrap();
        let found = answer["alone"]["result"].as_array().unwrap();
        assert_eq!(found.len(), matched.len().min(3));
        assert_eq!(found[0]["id"], matched[0]["id"], "{title}");
        for found in found {
            let same = matched.iter().find(|matched| matched["id"] == found["id"]).unwrap();
            assert_eq!(found["match"], same["match"]);
            let score = same["score"].as_f64().unwrap() * 100.0;
            assert!((found["score"].as_f64().unwrap() - score).abs() < 0.01, "{found} {same}");
        }
        for key in ["typed", "parts"] {
            let best = &answer[key]["result"][0];
            sure += usize::from(best["id"] == output["id"] && best["match"] == true);
        }
    }
    assert!(sure >= 40, "{sure} of 50 are sure and right");
    server.end(&[]);
}

#[test]
fn a_batch_of_fifty_counts_as_fifty_searches() {
    let snapshots = Snapshots::from_sample();
    let arguments = ["--snapshots", snapshots.path().to_str().unwrap()];
    let server = Server::start(command(&arguments).env_remove("PINAKES_NO_LIMITS"));
    let mut connection = server.connect();
    let queries: Value =
        (0..50).map(|at| (at.to_string(), json!({ "query": "x", "type": "topics" }))).collect();
    let reply = post(&mut connection, &format!("queries={}", encoded(&queries.to_string())));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json().as_object().unwrap().len(), 50);
    let left = |name: &str| reply.header(name).unwrap().parse::<u64>().unwrap();
    assert_eq!(left("x-ratelimit-daily-limit") - left("x-ratelimit-daily-remaining"), 50);
    server.end(&[]);
}

#[test]
fn extensions_have_the_members_of_records() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let record = connection.get("/outputs/HX_W2900000096").json();
    let names =
        ["year", "authors.name", "primary_topic", "biblio.volume", "fwci", "is_retracted", "ror"];
    let properties: Vec<Value> = names.iter().map(|name| json!({ "id": name })).collect();
    let extend = json!({ "ids": ["HX_W2900000096", "HX_W1", "x"], "properties": properties });
    let reply = post(&mut connection, &format!("extend={}", encoded(&extend.to_string())));
    assert_eq!(reply.status, 200, "{}", reply.text());
    let answer = reply.json();
    let meta: Vec<&str> =
        answer["meta"].as_array().unwrap().iter().map(|of| of["id"].as_str().unwrap()).collect();
    assert_eq!(meta, names);
    let cells = &answer["rows"]["HX_W2900000096"];
    assert_eq!(cells["year"], json!([{ "int": (record["year"]) }]));
    let authors = record["authors"].as_array().unwrap();
    let authors: Vec<Value> =
        authors.iter().map(|author| json!({ "str": (author["name"]) })).collect();
    assert_eq!(cells["authors.name"], json!(authors));
    let topic = &record["primary_topic"];
    assert_eq!(cells["primary_topic"], json!([{ "id": (topic["id"]), "name": (topic["name"]) }]));
    assert_eq!(cells["biblio.volume"], json!([{ "str": (record["biblio"]["volume"]) }]));
    assert_eq!(cells["ror"], json!([]), "outputs have no such member");
    for id in ["HX_W1", "x"] {
        assert_eq!(answer["rows"][id]["year"], json!([]));
    }
    server.end(&[]);
}

#[test]
fn suggestions_find_entities_types_and_properties() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let ids = |target: &str| -> Vec<String> {
        let reply = server.get(target);
        assert_eq!(reply.status, 200, "{target}: {}", reply.text());
        let found = reply.json()["result"].clone();
        found.as_array().unwrap().iter().map(|of| of["id"].as_str().unwrap().to_owned()).collect()
    };
    let found = ids("/reconcile/suggest/entity?prefix=massachusetts%20inst");
    let completed = server.get("/autocomplete?query=massachusetts%20inst").json();
    assert_eq!(found[0], completed["results"][0]["id"].as_str().unwrap());
    assert!(ids("/reconcile/suggest/entity?prefix=massachusetts&type=topics").is_empty());
    assert!(ids("/reconcile/suggest/entity?prefix=").is_empty());
    assert_eq!(ids("/reconcile/suggest/type?prefix=SUBF"), ["subfields"]);
    assert!(
        ids("/reconcile/suggest/property?prefix=authors.name").contains(&"authors.name".to_owned())
    );
    assert_eq!(ids("/reconcile/suggest/type?prefix=&cursor=9").len(), 1);
    assert_eq!(server.get("/reconcile/suggest/other?prefix=a").status, 404);
    let proposed = server.get("/reconcile/properties?type=sources&limit=3").json();
    assert_eq!(proposed["type"], "sources");
    assert_eq!(proposed["properties"].as_array().unwrap().len(), 3);
    server.end(&[]);
}

#[test]
fn a_preview_is_a_page_that_others_may_frame() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let reply = server.get("/reconcile/preview?id=HX_W2900000096");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("frame-ancestors"));
    assert!(reply.text().contains("Molecular Structure of Nucleic Acids"));
    // The taxonomy has bare numbers.
    assert_eq!(server.get("/reconcile/preview?id=domains/3").status, 200);
    let missing = server.get("/reconcile/preview?id=%3Cscript%3E");
    assert_eq!(missing.status, 404);
    assert!(!missing.text().contains("<script>"));
    server.end(&[]);
}

#[test]
fn equal_ids_and_properties_are_answered_once_and_each_id_is_charged() {
    let snapshots = Snapshots::from_sample();
    let arguments = ["--snapshots".as_ref(), snapshots.path().as_os_str()];
    let server = Server::start(command(&arguments).env_remove("PINAKES_NO_LIMITS"));
    let mut connection = server.connect();
    let ids = ["HX_W2900000096", "HX_W1"].repeat(50);
    let properties = vec![json!({ "id": "year" }); 20];
    let extend = json!({ "ids": ids, "properties": properties });
    let reply = post(&mut connection, &format!("extend={}", encoded(&extend.to_string())));
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.text().matches("HX_W").count(), 2, "{}", reply.text());
    assert_eq!(reply.json()["meta"].as_array().unwrap().len(), 1);
    let left = |name: &str| reply.header(name).unwrap().parse::<u64>().unwrap();
    assert_eq!(left("x-ratelimit-daily-limit") - left("x-ratelimit-daily-remaining"), 2);
    server.end(&[]);
}
