//! Requests that are refused, and what the server says about them.

use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

use crate::reconcile::{encoded, post};

#[test]
fn wrong_requests_are_refused_with_a_reason() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let batch = |count: usize| -> String {
        let queries: Value =
            (0..count).map(|at| (at.to_string(), json!({ "query": "x" }))).collect();
        format!("queries={}", encoded(&queries.to_string()))
    };
    let queries = |value: Value| format!("queries={}", encoded(&value.to_string()));
    let extend = |value: Value| format!("extend={}", encoded(&value.to_string()));
    let many: Vec<String> = (0..101).map(|at| format!("HX_W{at}")).collect();
    for (form, parameter, reason) in [
        (String::new(), "queries", "is missing"),
        ("queries=".to_owned(), "queries", "is no JSON"),
        ("queries=%7B%22q0%22".to_owned(), "queries", "is no JSON, at column 5"),
        ("queries=%5B%5D".to_owned(), "queries", "must be a JSON object"),
        ("queries=%7B%7D".to_owned(), "queries", "has no query"),
        (batch(51), "queries", "has 51 queries; send at most 50"),
        (
            queries(json!({ "q": { "type": "outputs" } })),
            "queries.q",
            "neither `query` nor `properties`",
        ),
        (queries(json!({ "q": { "query": 7 } })), "queries.q", "is no query"),
        (
            queries(json!({ "q": { "query": "x", "type": "output" } })),
            "queries.q",
            "did you mean `outputs`?",
        ),
        (
            queries(json!({ "q": { "query": "x", "type": ["Q5"] } })),
            "queries.q",
            "unknown type `Q5`",
        ),
        (
            queries(json!({ "q": { "query": ("x".repeat(9_000)) } })),
            "queries.q",
            "is 9000 bytes long",
        ),
        (format!("{}&callback=f", batch(1)), "callback", "JSONP"),
        (format!("{0}&{0}", batch(1)), "queries", "is given twice"),
        ("query=x".to_owned(), "query", "it takes `queries` or `extend`"),
        (extend(json!({ "ids": [] })), "extend", "`properties`"),
        (extend(json!({ "ids": many, "properties": [] })), "extend", "more than 100 ids"),
        (
            extend(json!({ "ids": [], "properties": [{ "id": "yaer" }] })),
            "extend",
            "did you mean `year`?",
        ),
    ] {
        let reply = post(&mut connection, &form);
        assert_eq!(reply.status, 400, "{form:.200}: {}", reply.text());
        let detail = &reply.json()["details"][0];
        assert_eq!(detail["parameter"], parameter, "{form:.200}");
        let found = detail["reason"].as_str().unwrap();
        assert!(found.contains(reason), "{form:.200}: {found}");
        if !form.is_empty() && form.len() < 4_000 {
            assert_eq!(server.get(&format!("/reconcile?{form}")).status, 400, "{form}");
        }
    }
    let json = connection.request(
        "POST",
        "/reconcile",
        &["Content-Type: application/json", "Content-Length: 0"],
    );
    assert_eq!(json.status, 415);
    server.end(&[]);
}

#[test]
fn a_text_that_asks_for_nothing_has_an_empty_result() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let queries = json!({
        "blank": { "query": "  " },
        "name alone": { "query": "Wei Wang", "type": "authors" },
        "no such record": { "query": "zzzz qqqq", "type": "outputs" },
    });
    let answer = crate::reconcile::reconcile(&mut connection, &queries);
    for result in answer.as_object().unwrap().values() {
        assert_eq!(result["result"], json!([]));
    }
    server.end(&[]);
}
