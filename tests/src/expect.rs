//! A question to a list, and the whole of the reply that is expected.

use serde_json::Value;

use crate::{
    client::{Connection, Response},
    server::{Server, Snapshots},
};

/// A target, how many records it matches, and the first of them.
pub type Taken<'a> = (&'a str, u64, &'a [&'a str]);
/// A target, and every detail of its refusal: parameter, value, reason.
pub type Refused<'a> = (&'a str, &'a [Detail<'a>]);
/// A parameter, its value, and the reason it is refused.
pub type Detail<'a> = (&'a str, &'a str, &'a str);

/// The ids on a page; numbers as text.
pub fn ids(response: &Response) -> Vec<String> {
    let body = response.json();
    let items = body["results"].as_array().unwrap().iter();
    items.map(|item| item["id"].to_string().trim_matches('"').to_owned()).collect()
}

/// Asks a server of the sample for each page of a table.
pub fn check_all_taken(cases: &[Taken<'_>]) {
    let snapshots = Snapshots::of_sample();
    let server = Server::of_snapshots(&snapshots);
    let mut connection = server.connect();
    cases.iter().for_each(|case| check_taken(&mut connection, *case));
    server.end(&[]);
}

/// Asks it for each refusal of a table.
pub fn check_all_refused(cases: &[Refused<'_>]) {
    let snapshots = Snapshots::of_sample();
    let server = Server::of_snapshots(&snapshots);
    let mut connection = server.connect();
    cases.iter().for_each(|case| check_refused(&mut connection, *case));
    server.end(&[]);
}

/// Asks for a page, which must hold these first and count so many on all pages.
#[track_caller]
pub fn check_taken(connection: &mut Connection, (target, count, first): Taken<'_>) {
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

/// Asks for what is refused, to the letter and for no other reason.
#[track_caller]
pub fn check_refused(connection: &mut Connection, (target, details): Refused<'_>) {
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

/// HEAD is GET without its body.
#[track_caller]
pub fn check_head(connection: &mut Connection, target: &str, got: &Response) {
    let head = connection.request("HEAD", target, &[]);
    assert_eq!(head.status, got.status, "HEAD {target}");
    assert_eq!(head.lasting_headers(), got.lasting_headers(), "HEAD {target}");
    let length = got.header("content-length").unwrap();
    assert_eq!(length, got.body.len().to_string(), "{target}");
}
