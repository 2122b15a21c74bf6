//! The reconciliation service: what its specification asks of every reply, and what OpenRefine sends.

mod openrefine;
mod refused;
mod replies;

use pinakes_tests::client::{Connection, Response};
use serde_json::Value;

/// Percent-encodes every byte but letters and digits.
pub fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Posts a form to `/reconcile`.
#[track_caller]
pub fn post(connection: &mut Connection, form: &str) -> Response {
    let head = format!(
        "POST /reconcile HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{form}",
        form.len()
    );
    connection.send(head.as_bytes()).unwrap();
    connection.receive().unwrap()
}

/// Posts a batch of queries, checks the reply against the specification, and returns it.
#[track_caller]
pub fn reconcile(connection: &mut Connection, queries: &Value) -> Value {
    let reply = post(connection, &format!("queries={}", encoded(&queries.to_string())));
    assert_eq!(reply.status, 200, "{queries}: {}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    assert_eq!(reply.header("content-disposition"), None);
    let answer = reply.json();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&answer), keys(queries));
    for answer in answer.as_object().unwrap().values() {
        let candidates = answer["result"].as_array().unwrap();
        assert!(candidates.len() <= 10);
        let scores: Vec<f64> =
            candidates.iter().map(|candidate| candidate["score"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
        for candidate in candidates {
            assert!(candidate["id"].is_string() && candidate["name"].is_string(), "{candidate}");
            assert!(candidate["match"].is_boolean(), "{candidate}");
            assert!(
                candidate["type"][0]["id"].is_string() && candidate["type"][0]["name"].is_string()
            );
            for feature in candidate["features"].as_array().unwrap() {
                assert!(feature["id"].is_string() && feature["value"].is_boolean(), "{candidate}");
            }
        }
    }
    answer
}
