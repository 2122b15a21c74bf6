//! Compares the examples and media types of the document with real replies.

use serde_json::Value;

use crate::document::{document, resolved};
use pinakes_tests::client::error_body;
use pinakes_tests::server::{Server, Snapshots};

/// Percent-encodes a value for a URL.
fn escaped(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let escape = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-' | b'.' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// The targets of a path: one without parameters, unless one is required, and one per example.
fn targets(path: &str, item: &Value) -> Vec<String> {
    let parameters = item["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    let of =
        |place: &'static str| parameters.iter().filter(move |parameter| parameter["in"] == place);
    let path = of("path").fold(path.to_owned(), |path, parameter| {
        let name = parameter["name"].as_str().unwrap();
        assert!(!parameter["example"].is_null(), "{path} {name}");
        path.replace(&format!("{{{name}}}"), &escaped(&parameter["example"]))
    });
    let examples = of("query").flat_map(|parameter| {
        let examples = parameter["examples"].as_object().into_iter().flatten();
        examples.map(|(_, example)| {
            format!("{path}?{}={}", parameter["name"].as_str().unwrap(), escaped(&example["value"]))
        })
    });
    let needs_query = of("query").any(|parameter| parameter["required"] == true);
    let bare = (!needs_query).then(|| path.clone());
    bare.into_iter().chain(examples).collect()
}

#[test]
fn every_example_gets_its_documented_reply() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let document = document(&mut connection);
    let mut asked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        if item["get"].is_null() {
            continue;
        }
        let responses = item["get"]["responses"].as_object().unwrap();
        let Some(success) = responses.get("200") else {
            // The one route that leads to another.
            assert_eq!(path, "/resolve/{identifier}");
            let statuses: Vec<u16> =
                targets(path, item).iter().map(|target| connection.get(target).status).collect();
            assert_eq!(statuses, [303]);
            continue;
        };
        let media_types: Vec<&String> = success["content"].as_object().unwrap().keys().collect();
        for target in targets(path, item) {
            let response = connection.get(&target);
            assert_eq!(response.status, 200, "{target}: {}", response.text());
            let media_type = response.header("content-type").unwrap().split(';').next().unwrap();
            let is_stream = target.contains("?format=");
            let is_known = media_types.iter().any(|known| *known == media_type);
            assert!(is_known && (is_stream || media_types[0] == media_type), "{target}");
            for (name, header) in success["headers"].as_object().unwrap() {
                let is_required = resolved(&document, header)["required"] == true;
                assert!(
                    !is_required || response.header(&name.to_ascii_lowercase()).is_some(),
                    "{target} {name}"
                );
            }
            // What one record refers to may not match the example of a filter, and the served snapshot does not
            // differ from itself.
            let is_empty = path.contains("{id}/") || path == "/changes";
            let is_page = response.text().starts_with("{\"meta\"") && !is_empty;
            assert!(
                !is_page || response.json()["results"][0].is_object(),
                "{target} finds nothing"
            );
            asked += 1;
        }
    }
    assert!(asked > 70, "{asked}");
    server.end(&[]);
}

#[test]
fn documented_errors_equal_real_errors() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let document = document(&mut connection);
    let example = |response: &str, name: &str| {
        let content = &document["components"]["responses"][response]["content"];
        content["application/json"]["examples"][name]["value"].to_string()
    };
    for (target, response, name) in [
        ("/outputs?perpage=50", "BadRequest", "query"),
        ("/authors/A1", "BadRequest", "prefix"),
        ("/autocomplete", "BadRequest", "text"),
        ("/nope", "NotFound", "path"),
        ("/authors/HX_A404", "NotFound", "record"),
    ] {
        assert_eq!(connection.get(target).text(), example(response, name), "{target}");
    }
    let posted = connection.request("DELETE", "/authors", &[]);
    assert_eq!(posted.text(), example("MethodNotAllowed", "method"));
    for (response, name, status, message) in [
        ("URITooLong", "long", 414, "URI exceeds 16384 bytes"),
        ("RequestHeaderFieldsTooLarge", "headers", 431, "Request header fields too large"),
        ("ServiceUnavailable", "busy", 503, "Service temporarily unavailable"),
    ] {
        assert_eq!(example(response, name), error_body(status, message));
    }
    server.end(&[]);
}
