//! Compares the examples and media types of the document with real replies.

use serde_json::Value;

use crate::openapi::document::{document, resolved};
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
    // A path that takes POST too has the parameters at its GET.
    let parameters = [&item["parameters"], &item["get"]["parameters"]];
    let parameters =
        parameters.iter().find_map(|all| all.as_array()).map_or(&[][..], Vec::as_slice);
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
    // A citation is a text or its parts, none of which is required.
    let needs_query =
        path == "/match/outputs" || of("query").any(|parameter| parameter["required"] == true);
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
            // Records that one record refers to may not match the example of a filter. The served snapshot equals
            // itself. A word may mean no record.
            let is_empty =
                path.contains("{id}/") || path == "/changes" || path.starts_with("/match/");
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

/// The bytes of an example of a body.
fn body_of(media_type: &str, example: &Value) -> String {
    match example {
        Value::String(text) => text.clone(),
        Value::Object(fields) if media_type.ends_with("urlencoded") => {
            let pairs = fields.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
            pairs.collect::<Vec<_>>().join("&")
        }
        other => other.to_string(),
    }
}

#[test]
fn every_example_of_a_body_gets_its_documented_reply() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let document = document(&mut connection);
    let mut posted = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let media_types = item["post"]["requestBody"]["content"].as_object();
        for (media_type, content) in media_types.into_iter().flatten() {
            for (name, example) in content["examples"].as_object().unwrap() {
                let body = body_of(media_type, &example["value"]);
                let head = format!(
                    "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                connection.send((head + &body).as_bytes()).unwrap();
                let response = connection.receive().unwrap();
                assert_eq!(response.status, 200, "{path} {name}: {}", response.text());
                let sent = response.header("content-type").unwrap().split(';').next().unwrap();
                let known = &item["post"]["responses"]["200"]["content"];
                assert!(known[sent].is_object(), "{path} {name}: {sent}");
                posted += 1;
            }
        }
    }
    assert!(posted > 20, "{posted}");
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
