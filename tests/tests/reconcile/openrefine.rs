//! A transcript of a session of OpenRefine 3: the requests in their order, as its browser and its backend send them.

use pinakes_tests::server::{Server, Snapshots};
use serde_json::json;

use crate::reconcile::{encoded, post};

#[test]
fn a_session_of_openrefine_is_answered() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    // The browser adds the service, from a page of another origin.
    let origin = "Origin: http://127.0.0.1:3333";
    let manifest = connection.request("GET", "/reconcile", &[origin]);
    assert_eq!(manifest.header("access-control-allow-origin"), Some("*"));
    assert!(manifest.json()["extend"]["propose_properties"]["service_path"].is_string());
    // The backend asks for types of the first cells, without a type.
    let titles: Vec<String> = connection.get("/outputs?per_page=10").json()["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|output| output["title"].as_str().unwrap().to_owned())
        .collect();
    let guess: serde_json::Map<_, _> = (0..)
        .zip(&titles)
        .map(|(at, title)| (format!("q{at}"), json!({ "query": title, "limit": 3 })))
        .collect();
    let form = format!("queries={}", encoded(&serde_json::Value::from(guess).to_string()));
    let guessed = post(&mut connection, &form).json();
    let types = (0..10).map(|at| &guessed[format!("q{at}")]["result"][0]["type"][0]["id"]);
    assert!(types.filter(|of| **of == "outputs").count() >= 8, "{guessed}");
    // The backend reconciles the column with the values of another column.
    let query = json!({ "q0": {
        "query": (titles[0]), "type": "outputs", "type_strict": "should",
        "properties": [{ "pid": "year", "v": "2016" }],
    } });
    let form = format!("queries={}", encoded(&query.to_string()));
    let found = post(&mut connection, &form).json();
    let id = found["q0"]["result"][0]["id"].as_str().unwrap().to_owned();
    // The browser shows a preview, searches for another match, and proposes properties.
    let preview = connection.request("GET", &format!("/reconcile/preview?id={id}"), &[origin]);
    assert_eq!(preview.status, 200);
    let typed = "/reconcile/suggest/entity?prefix=deep%20res&type=outputs&type_strict=should";
    assert_eq!(connection.request("GET", typed, &[origin]).status, 200);
    let proposed =
        connection.request("GET", "/reconcile/properties?type=outputs", &[origin]).json();
    let properties = proposed["properties"].as_array().unwrap();
    assert!(properties.iter().any(|property| property["id"] == "cited_by_count"));
    // The backend adds a column.
    let extend = json!({ "ids": [id], "properties": [{ "id": "cited_by_count", "settings": {} }] });
    let added = post(&mut connection, &format!("extend={}", encoded(&extend.to_string()))).json();
    let record = connection.get(&format!("/outputs/{id}")).json();
    let expected = json!([{ "int": (record["cited_by_count"]) }]);
    assert_eq!(added["rows"][&id]["cited_by_count"], expected);
    server.end(&[]);
}
