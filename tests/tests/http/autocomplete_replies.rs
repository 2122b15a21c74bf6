//! Autocomplete as an HTTP resource: paths, methods, headers and members.

use serde_json::Value;

use crate::http::autocomplete::{accepted, paths};
use pinakes_tests::client::error_body;
use pinakes_tests::expect::check_head;
use pinakes_tests::server::{Server, Snapshots};

const METHODS: &str = "GET, HEAD, OPTIONS";

#[test]
fn equivalent_targets_have_the_same_reply() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for path in paths() {
        let plain = accepted(&mut connection, &format!("{path}?query=uni"));
        let encoded = path.replacen('a', "%61", 1);
        for target in [
            format!("{path}/?query=uni"),
            format!("{encoded}?query=uni"),
            format!("{path}?q%75ery=%75ni"),
            format!("{path}?&query=uni&&"),
            format!("{path}?query=uni#fragment"),
            format!("{path}?mailto=a@b.c&query=uni"),
            format!("{path}?query=uni&api_key=x&mailto=a&mailto=b&api_key"),
            format!("http://evil.example{path}?query=uni"),
        ] {
            assert_eq!(accepted(&mut connection, &target), plain, "{target}");
        }
    }
    server.end(&[]);
}

#[test]
fn autocomplete_replies_are_cacheable_like_lists() {
    let snapshots = Snapshots::from_sample();
    let id = snapshots.open().manifest().id.clone();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for target in
        paths().flat_map(|path| ["uni", "zzz", "*"].map(|query| format!("{path}?query={query}")))
    {
        let got = connection.get(&target);
        assert_eq!(got.status, 200, "{target}");
        check_head(&mut connection, &target, &got);
        for (name, value) in [
            ("content-type", "application/json"),
            ("cache-control", "public, no-cache"),
            ("x-content-type-options", "nosniff"),
            ("access-control-allow-origin", "*"),
            ("x-snapshot-id", id.as_str()),
        ] {
            assert_eq!(got.header(name), Some(value), "{target}: {name}");
        }
        let tag = got.header("etag").unwrap();
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2, "{target}: {tag}");
        for (value, status) in [
            (tag.to_owned(), 304),
            (format!("W/{tag}"), 304),
            ("*".to_owned(), 304),
            (format!("\"x\", {tag}"), 304),
            ("\"x\"".to_owned(), 200),
        ] {
            for method in ["GET", "HEAD"] {
                let header = format!("If-None-Match: {value}");
                let response = connection.request(method, &target, &[&header]);
                assert_eq!(response.status, status, "{method} {target} {value}");
                assert_eq!(response.header("etag"), Some(tag), "{method} {target} {value}");
                assert_eq!(response.header("cache-control"), Some("public, no-cache"), "{target}");
            }
        }
    }
    // `If-None-Match` does not apply to other statuses than 200.
    for target in [
        "/autocomplete",
        "/autocomplete?query=%00",
        "/autocomplete/foo?query=a",
        "/autocomplete?query=a&x",
    ] {
        let response = connection.request("GET", target, &["If-None-Match: *"]);
        assert_eq!(response.status, 400, "{target}");
    }
    server.end(&[]);
}

#[test]
fn autocomplete_is_read_only() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let targets = paths().flat_map(|path| [format!("{path}?query=a"), path.clone()]);
    for target in targets.chain(["/autocomplete/foo".to_owned()]) {
        let mut connection = server.connect();
        for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO", "get"] {
            let response = connection.request(method, &target, &[]);
            let expected = error_body(405, "Method Not Allowed");
            assert_eq!(
                (response.status, response.text()),
                (405, expected.as_str()),
                "{method} {target}"
            );
            assert_eq!(response.header("allow"), Some(METHODS), "{method} {target}");
        }
        let mut connection = server.connect();
        let response = connection.request("OPTIONS", &target, &["Origin: https://example.org"]);
        assert_eq!((response.status, response.body.len()), (204, 0), "{target}");
        assert_eq!(response.header("allow"), Some(METHODS), "{target}");
        assert_eq!(response.header("access-control-allow-methods"), Some(METHODS), "{target}");
        assert_eq!(response.header("access-control-allow-origin"), Some("*"), "{target}");
    }
    server.end(&[]);
}

/// Compares the members of each candidate and their order.
#[test]
fn a_candidate_has_six_members() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for path in paths() {
        let body: Value = connection.get(&format!("{path}?query=s")).json();
        let results = body["results"].as_array().unwrap();
        assert!(!results.is_empty(), "{path}");
        for candidate in results {
            let members: Vec<&String> = candidate.as_object().unwrap().keys().collect();
            let expected =
                ["id", "name", "cited_by_count", "entity_type", "external_id", "outputs_count"];
            assert_eq!(members, expected, "{path}: {candidate}");
            let of_type =
                path.strip_prefix("/autocomplete/").map(|plural| plural.trim_end_matches('s'));
            let found = candidate["entity_type"].as_str().unwrap();
            assert!(of_type.is_none_or(|of_type| of_type == found), "{path}: {candidate}");
        }
    }
    server.end(&[]);
}
