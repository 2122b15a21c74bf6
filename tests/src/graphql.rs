//! GraphQL requests over HTTP POST.

use serde_json::{Value, json};

use crate::client::{Connection, Response};

/// Posts a body with these headers and its `Content-Length`.
#[track_caller]
pub fn post_body(connection: &mut Connection, headers: &[&str], body: &[u8]) -> Response {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "POST /graphql HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    let mut raw = head.into_bytes();
    raw.extend_from_slice(body);
    connection.send(&raw).unwrap();
    connection.receive_to("POST").unwrap_or_else(|error| panic!("{error}"))
}

/// Posts a query with variables and returns the body, which must be JSON with status 200.
#[track_caller]
pub fn ask_with(connection: &mut Connection, query: &str, variables: Value) -> Value {
    let body = json!({ "query": query, "variables": variables }).to_string();
    let response = post_body(connection, &["Content-Type: application/json"], body.as_bytes());
    assert_eq!(response.status, 200, "{query}: {}", response.text());
    assert_eq!(response.header("content-type"), Some("application/json"), "{query}");
    response.json()
}

/// Posts a query without variables.
#[track_caller]
pub fn ask(connection: &mut Connection, query: &str) -> Value {
    ask_with(connection, query, Value::Null)
}

/// Posts a query that must succeed and returns its data.
#[track_caller]
pub fn data(connection: &mut Connection, query: &str) -> Value {
    let mut answer = ask(connection, query);
    assert!(answer.get("errors").is_none(), "{query}: {}", answer["errors"]);
    answer["data"].take()
}

/// Returns the messages of a body's errors.
pub fn messages(answer: &Value) -> Vec<&str> {
    let errors = answer["errors"].as_array().map_or(&[][..], Vec::as_slice);
    errors.iter().map(|error| error["message"].as_str().unwrap()).collect()
}
