//! List requests with their complete expected reply.

use serde_json::Value;

use crate::{
    client::{Connection, Response},
    server::{Server, Snapshots},
};

/// A target, the expected count of matching records, and the ids of the first records.
pub type AcceptedQuery<'a> = (&'a str, u64, &'a [&'a str]);
/// A target and every detail of its refusal.
pub type RefusedQuery<'a> = (&'a str, &'a [Detail<'a>]);
/// A parameter, its value, and the reason of the refusal.
pub type Detail<'a> = (&'a str, &'a str, &'a str);

/// Reads the ids of a page; numeric ids become text.
pub fn ids(response: &Response) -> Vec<String> {
    let body = response.json();
    let items = body["results"].as_array().unwrap().iter();
    items.map(|item| item["id"].to_string().trim_matches('"').to_owned()).collect()
}

/// Starts a server with the sample and checks each accepted query.
pub fn check_all_accepted(cases: &[AcceptedQuery<'_>]) {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    cases.iter().for_each(|case| check_accepted(&mut connection, *case));
    server.end(&[]);
}

/// Starts a server with the sample and checks each refused query.
pub fn check_all_refused(cases: &[RefusedQuery<'_>]) {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    cases.iter().for_each(|case| check_refused(&mut connection, *case));
    server.end(&[]);
}

/// Requests a page and compares the count and the first ids.
#[track_caller]
pub fn check_accepted(connection: &mut Connection, (target, count, first): AcceptedQuery<'_>) {
    let response = connection.get(target);
    assert_eq!(response.status, 200, "{target}: {}", response.text());
    let ids = ids(&response);
    let shown: Vec<&str> = ids.iter().take(first.len().max(1)).map(String::as_str).collect();
    let found = (response.json()["meta"]["count"].as_u64().unwrap(), shown.as_slice());
    assert_eq!(found, (count, first), "{target}");
    let tag = response.header("etag").unwrap();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2, "{target}: {tag}");
    check_head(connection, target, &response);
}

/// Sends an invalid query and compares the complete body of the refusal.
#[track_caller]
pub fn check_refused(connection: &mut Connection, (target, details): RefusedQuery<'_>) {
    let response = connection.get(target);
    let json = |text: &str| Value::from(text).to_string();
    let details: Vec<String> = details
        .iter()
        .map(|(parameter, value, reason)| {
            let (parameter, value, reason) = (json(parameter), json(value), json(reason));
            format!(r#"{{"parameter":{parameter},"value":{value},"reason":{reason}}}"#)
        })
        .collect();
    let expected = format!(
        r#"{{"statusCode":400,"error":"Bad Request","message":"{}","details":[{}]}}"#,
        "Bad Request - Invalid query parameters",
        details.join(",")
    );
    assert_eq!((response.status, response.text()), (400, expected.as_str()), "{target}");
    assert_eq!(response.header("etag"), None, "{target}");
    assert_eq!(response.header("cache-control"), Some("no-store"), "{target}");
    check_head(connection, target, &response);
}

/// Asserts that the reply to HEAD has the status and headers of the reply to GET.
#[track_caller]
pub fn check_head(connection: &mut Connection, target: &str, got: &Response) {
    let head = connection.request("HEAD", target, &[]);
    assert_eq!(head.status, got.status, "HEAD {target}");
    assert_eq!(head.headers_without_date(), got.headers_without_date(), "HEAD {target}");
    let length = got.header("content-length").unwrap();
    assert_eq!(length, got.body.len().to_string(), "{target}");
}
