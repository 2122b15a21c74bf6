//! HTTP syntax: methods, headers and framing.

use pinakes_format::entity::CATALOG;

use pinakes_tests::client::{Connection, Response, error_body, request};
use pinakes_tests::server::{Server, Snapshots};

const TOO_LARGE: &str = "Request header fields too large";
const METHODS: &str = "GET, HEAD, OPTIONS";
const AUTHOR: &str = "/authors/HX_A5900000001";
const MERGED: &str = "/authors/HX_A5900009002";

/// State of a connection after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Stays,
    Closes,
}
use After::{Closes, Stays};

/// Unusual but valid heads of `GET /health`.
const ALIVE_HEADS: &[(&str, After)] = &[
    ("GET /health HTTP/1.1\r\nHost: x\r\n\r\n", Stays),
    ("GET /health/ HTTP/1.1\r\nHost: x\r\n\r\n", Stays),
    ("GET /health?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n", Stays),
    ("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", Closes),
    ("GET /health HTTP/1.0\r\n\r\n", Closes),
    ("GET /health HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n", Stays),
    ("GET http://evil.example/health HTTP/1.1\r\nHost: x\r\n\r\n", Stays),
    ("GET /health HTTP/1.1\nHost: x\n\n", Stays),
    ("GET /health HTTP/1.1\r\nhOsT: x\r\nCONNECTION: CLOSE\r\n\r\n", Closes),
    ("\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n", Stays),
    ("GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", Stays),
    // The server ignores a body and does not wait for it.
    ("GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n", Closes),
    ("GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", Closes),
    ("GET /health HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n", Stays),
    ("GET /health HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n", Stays),
    // Upgrades to other protocols are ignored.
    (
        "GET /health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
         HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
        Stays,
    ),
    (
        "GET /health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        Stays,
    ),
];

/// Requests that the HTTP layer refuses with a bare 400 and a closed connection.
const BROKEN: &[&[u8]] = &[
    b"GET /authors/HX_A1\0 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /authors/HX_A1\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /authors/HX_A1 HX_A2 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET authors HTTP/1.1 x\r\nHost: x\r\n\r\n",
    b"GET  HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /health\r\n\r\n",
    b"GET /health HTTP/2.0\r\nHost: x\r\n\r\n",
    b"GET /health HTTP/1.2\r\nHost: x\r\n\r\n",
    b"GET /health HTTX/1.1\r\nHost: x\r\n\r\n",
    b"G\x01T /health HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nX-A: a\r\n b\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost : x\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nX\0A: a\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\x0bchunked\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\x0c\r\n\r\n",
    // A TLS ClientHello.
    b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\r\n\r\n",
];

/// Headers that do not change the reply to GET of an author.
const IGNORED: &[&str] = &[
    "Host-Override: evil",
    "X-HTTP-Method-Override: DELETE",
    "X-Method-Override: POST",
    "X-Original-URL: /nope",
    "X-Rewrite-URL: /nope",
    "X-Forwarded-Host: evil.example",
    "X-Forwarded-Proto: gopher",
    "Forwarded: host=evil.example",
    "Range: bytes=0-0",
    "If-Range: \"x\"",
    "If-Match: \"x\"",
    "If-Modified-Since: Sat, 01 Jan 2050 00:00:00 GMT",
    "If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT",
    "If-None-Match: ",
    "If-None-Match: \"another\"",
    "Accept: text/html",
    "Accept: image/png;q=0",
    "Accept: */*;q=nonsense",
    "Accept-Charset: utf-16",
    "Accept-Language: de",
    "Cookie: a=b",
    "Authorization: Basic YTpi",
    "Content-Type: text/xml",
    "Origin: https://evil.example",
    "Referer: https://evil.example/",
    "TE: trailers",
    "User-Agent: ${jndi:ldap://evil.example}",
    "User-Agent: \x1b[31ma\rb\x7f",
];

#[track_caller]
fn check_after(connection: &mut Connection, after: After, what: &str) {
    match after {
        Closes => assert!(connection.is_closed(), "{what}"),
        Stays => check_alive(&connection.get("/health"), what),
    }
}

/// Checks the complete reply of `/health`.
#[track_caller]
fn check_alive(response: &Response, what: &str) {
    let alive = response.json();
    let expected = serde_json::json!({
        "data_licence": "CC0-1.0",
        "newest_updated_date": alive["newest_updated_date"].as_str().unwrap(),
        "snapshot_id": response.header("x-snapshot-id").unwrap(),
        "status": "ok", "troubles": [],
    });
    assert_eq!((response.status, alive), (200, expected), "{what}");
}

#[track_caller]
fn check_error(response: &Response, status: u16, message: &str, what: &str) {
    let expected = error_body(status, message);
    assert_eq!((response.status, response.text()), (status, expected.as_str()), "{what}");
    assert_eq!(response.header("content-type"), Some("application/json"), "{what}");
}

#[test]
fn unusual_heads_are_accepted_and_broken_heads_get_a_bare_400() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    for (head, after) in ALIVE_HEADS {
        let mut connection = server.connect();
        connection.send(head.as_bytes()).unwrap();
        let response = connection.receive().unwrap();
        check_alive(&response, head);
        let version = if head.contains("HTTP/1.0") { "HTTP/1.0" } else { "HTTP/1.1" };
        assert_eq!(response.version, version, "{head}");
        check_after(&mut connection, *after, head);
    }
    for head in BROKEN {
        let what = head.escape_ascii().to_string();
        let mut connection = server.connect();
        connection.send(head).unwrap();
        let response = connection.receive().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((response.status, response.text()), (400, ""), "{what}");
        assert_eq!(response.header("connection"), Some("close"), "{what}");
        assert!(connection.is_closed(), "{what}");
    }
    // Two `Content-Length` headers are refused even if they are equal.
    let mut connection = server.connect();
    let twice = "GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n";
    connection.send(twice.as_bytes()).unwrap();
    assert_eq!(connection.receive().unwrap().status, 400);
    assert!(connection.is_closed());
    // HTTP/2 without TLS closes the connection without a reply.
    let mut connection = server.connect();
    connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    assert!(connection.is_closed());
    // Header values may contain other bytes.
    let mut connection = server.connect();
    connection.send(b"GET /health HTTP/1.1\r\nHost: x\r\nX-A: \xff\xfe\r\n\r\n").unwrap();
    check_alive(&connection.receive().unwrap(), "a request after another");
    server.end(&[]);
}

#[test]
fn heads_have_at_most_64_headers_and_16_kib() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    // The client adds `Host`.
    let many = |count: usize| (1..count).map(|at| format!("X-{at}: y")).collect::<Vec<_>>();
    let long = |bytes: usize| vec![format!("X: {}", "y".repeat(bytes))];
    for (headers, status) in [
        (many(64), 200),
        (many(65), 431),
        (many(101), 431),
        (long(8 << 10), 200),
        (long(15 << 10), 200),
        (long(16 << 10), 431),
        (long(64 << 10), 431),
    ] {
        let what = format!("{} headers, {} bytes", headers.len(), headers[0].len());
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        for target in ["/health", "/authors", AUTHOR] {
            let response = server.connect().request("GET", target, &headers);
            assert_eq!(response.status, status, "{target} with {what}");
            if status == 431 {
                check_error(&response, 431, TOO_LARGE, &what);
            }
        }
    }
    // Beyond its read limit, the HTTP layer answers and closes; the client may lose the reply.
    for head in [
        request("GET", "/health", &[&format!("X: {}", "y".repeat(380_000))]),
        request("GET", "/health", &[&format!("X: {}", "y".repeat(500_000))]),
        request("GET", "/health", &["X: y"; 300]),
        request("GET", &format!("/{}", "y".repeat(500_000)), &[]),
    ] {
        let mut connection = server.connect();
        let received = connection.send(head.as_bytes()).and_then(|()| connection.receive());
        if let Ok(response) = received {
            assert!(matches!(response.status, 431 | 414), "{response:?}");
            assert!(connection.is_closed());
        }
    }
    check_alive(&server.get("/health"), "after all of them");
    server.end(&[]);
}

#[test]
fn irrelevant_headers_do_not_change_the_reply() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let plain = connection.get(AUTHOR);
    let ranges = format!("Range: bytes={}", vec!["0-0"; 1_000].join(","));
    let agent = format!("User-Agent: {}", "a".repeat(8 << 10));
    for header in IGNORED.iter().copied().chain([ranges.as_str(), agent.as_str()]) {
        let response = connection.request("GET", AUTHOR, &[header]);
        assert_eq!(response.status, 200, "{header}");
        assert_eq!(response.body, plain.body, "{header}");
        assert_eq!(response.headers_without_date(), plain.headers_without_date(), "{header}");
    }
    // No reply contains the `Host` of the request.
    for target in [AUTHOR, MERGED, "/nope", "/authors?page=0", "/"] {
        for host in ["evil.example", "evil.example:99", "[::1]"] {
            let raw = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            connection.send(raw.as_bytes()).unwrap();
            let response = connection.receive().unwrap();
            assert!(!format!("{:?}{}", response.headers, response.text()).contains(host));
        }
    }
    server.end(&[]);
}

#[test]
fn resources_allow_get_head_and_options_only() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let lists = CATALOG.iter().map(|facts| format!("/{}", facts.route));
    let legacy = ["/legacy/topics", "/legacy/domains", "/legacy/domains/OA:3", "/legacy/topics/1"];
    let others =
        ["/", "/health", "/ready", AUTHOR, MERGED, "/authors/A1", "/domains/9", "/authors/"];
    let targets: Vec<String> =
        lists.chain(others.into_iter().chain(legacy).map(str::to_owned)).collect();
    let refused =
        ["POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO", "get", "Get", "PROPFIND", "PURGE"];
    for target in &targets {
        let mut connection = server.connect();
        for method in refused {
            let what = format!("{method} {target}");
            let response = connection.request(method, target, &["X-Secret: echoed"]);
            check_error(&response, 405, "Method Not Allowed", &what);
            assert_eq!(response.header("allow"), Some(METHODS), "{what}");
            assert!(!format!("{response:?}").contains("echoed"), "{what}");
        }
        let overridden = ["X-HTTP-Method-Override: GET", "Content-Length: 2"];
        let raw = format!("{}{{}}", request("POST", target, &overridden));
        connection.send(raw.as_bytes()).unwrap();
        check_error(&connection.receive().unwrap(), 405, "Method Not Allowed", target);

        let mut connection = server.connect();
        let response = connection.request("OPTIONS", target, &["Origin: https://example.org"]);
        assert_eq!(response.status, 204, "{target}");
        assert_eq!(response.header("allow"), Some(METHODS), "{target}");
        assert_eq!(response.header("access-control-allow-methods"), Some(METHODS), "{target}");
        assert_eq!(response.header("access-control-allow-origin"), Some("*"), "{target}");
        assert_eq!(response.header("content-type"), None, "{target}");
        check_after(&mut connection, Stays, target);

        let got = connection.get(target);
        pinakes_tests::expect::check_head(&mut connection, target, &got);
    }
    for method in refused {
        let response = server.connect().request(method, "/nope", &[]);
        check_error(&response, 404, &format!("Cannot {method} /nope"), method);
    }
    server.end(&[]);
}

/// A method, a target, headers, the status, and the `Cache-Control` of a cacheable reply.
type Kind<'a> = (&'a str, &'a str, &'a [&'a str], u16, Option<&'a str>);

/// One request for each kind of reply.
const KINDS: &[Kind<'_>] = &[
    ("GET", "/authors", &[], 200, Some("public, no-cache")),
    ("GET", "/references/institution-types", &[], 200, Some("public, no-cache")),
    ("GET", AUTHOR, &[], 200, Some("public, no-cache")),
    ("GET", "/domains/3", &[], 200, Some("public, no-cache")),
    ("GET", "/legacy/topics", &[], 200, Some("public, no-cache")),
    ("GET", "/legacy/domains/OA:3", &[], 200, Some("public, no-cache")),
    ("GET", AUTHOR, &["If-None-Match: *"], 304, Some("public, no-cache")),
    ("GET", "/authors", &["If-None-Match: *"], 304, Some("public, no-cache")),
    ("GET", "/", &[], 200, None),
    ("GET", "/health", &[], 200, None),
    ("GET", "/ready", &[], 200, None),
    ("OPTIONS", AUTHOR, &[], 204, None),
    ("GET", MERGED, &[], 301, Some("no-store")),
    ("GET", "/authors?page=0", &[], 400, Some("no-store")),
    ("GET", "/authors/A1", &[], 400, Some("no-store")),
    ("GET", "/authors/HX_A9", &[], 404, Some("no-store")),
    ("GET", "/nope", &[], 404, Some("no-store")),
    ("POST", "/authors", &[], 405, Some("no-store")),
];

#[test]
fn every_kind_of_reply_has_the_common_headers() {
    let snapshots = Snapshots::from_sample();
    let id = snapshots.open().manifest().id.clone();
    let server = Server::serve(&snapshots);
    let long = format!("/authors?a={}", "1".repeat(20_000));
    let large = format!("X: {}", "y".repeat(20_000));
    let (long_headers, large_headers): (&[&str], &[&str]) = (&[], &[&large]);
    let more = [
        ("GET", long.as_str(), long_headers, 414, Some("no-store")),
        ("GET", AUTHOR, large_headers, 431, Some("no-store")),
    ];
    for (method, target, headers, status, kept) in KINDS.iter().copied().chain(more) {
        let what = format!("{method} {:.40} {status}", target);
        let response = server.connect().request(method, target, headers);
        assert_eq!(response.status, status, "{what}");
        let has_body = !matches!(status, 204 | 304);
        let content_type = has_body.then_some("application/json");
        assert_eq!(response.header("content-type"), content_type, "{what}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{what}");
        assert_eq!(response.header("access-control-allow-origin"), Some("*"), "{what}");
        let exposed = response.header("access-control-expose-headers").unwrap();
        for name in
            ["ETag", "Link", "Retry-After", "X-Snapshot-Id", "X-Request-Id", "X-Total-Count"]
        {
            assert!(exposed.split(", ").any(|known| known == name), "{what}: {exposed}");
        }
        assert_eq!(response.header("x-snapshot-id"), Some(id.as_str()), "{what}");
        if let Some(kept) = kept {
            assert_eq!(response.header("cache-control"), Some(kept), "{what}");
            let has_tag = kept != "no-store";
            assert_eq!(response.header("etag").is_some(), has_tag, "{what}");
        }
        assert!(response.header("date").is_some(), "{what}");
        assert_eq!(response.header("server"), None, "{what}");
    }
    server.end(&[]);
}

#[test]
fn a_matching_tag_is_answered_304() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for target in [
        AUTHOR,
        "/authors",
        "/authors?page=99",
        "/references/institution-types",
        "/fields/19",
        "/legacy/topics",
        "/legacy/topics?group_by=field",
        "/legacy/domains/OA:3",
    ] {
        let got = connection.get(target);
        let tag = got.header("etag").unwrap();
        let is_strong = tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2;
        assert!(is_strong, "{tag}");
        assert_eq!(connection.get(target).header("etag"), Some(tag), "the same each time");
        let bare = tag.trim_matches('"');
        let padding: String = (0..700).map(|at| format!("\"other-{at}\",")).collect();
        for (value, is_current) in [
            (tag.to_owned(), true),
            (format!("W/{tag}"), true),
            ("*".to_owned(), true),
            (format!("\"x\", {tag}, \"y\""), true),
            (format!("\"x\",W/{tag}"), true),
            (format!("{padding}{tag}"), true),
            (format!("{padding}\"last\""), false),
            (bare.to_owned(), false),
            (format!("\"{bare}x\""), false),
            (format!("\"{}\"", &bare[..bare.len() - 1]), false),
            (String::new(), false),
        ] {
            for method in ["GET", "HEAD"] {
                let header = format!("If-None-Match: {value}");
                let response = connection.request(method, target, &[&header]);
                let expected = if is_current { 304 } else { 200 };
                assert_eq!(response.status, expected, "{method} {target} {value:.60}");
                assert_eq!(response.header("etag"), Some(tag), "{target} {value:.60}");
            }
        }
        let lines = ["If-None-Match: \"x\"", &format!("If-None-Match: {tag}")];
        assert_eq!(connection.request("GET", target, &lines).status, 304, "{target}");
    }
    // `If-None-Match` does not apply to other statuses than 200.
    for (method, target, status) in [
        ("GET", "/authors/HX_A9", 404),
        ("GET", "/domains/x", 404),
        ("GET", "/authors/A1", 400),
        ("GET", "/authors?page=0", 400),
        ("GET", "/authors?colour=red", 400),
        ("GET", MERGED, 301),
        ("GET", "/legacy/topics?sort=2", 400),
        ("GET", "/legacy/topics?group_by=x", 400),
        ("GET", "/legacy/domains/OA:9", 404),
        ("GET", "/legacy/domains/3", 400),
        ("GET", "/nope", 404),
        ("POST", AUTHOR, 405),
        ("OPTIONS", AUTHOR, 204),
    ] {
        let response = connection.request(method, target, &["If-None-Match: *"]);
        assert_eq!(response.status, status, "{method} {target}");
    }
    server.end(&[]);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    // Records and lists are rendered by different code.
    let targets: Vec<String> = (0..100)
        .map(|at| match at % 4 {
            0 => format!("/authors?per_page=10&page={}", at + 1),
            1 => format!("/authors/HX_A{at}"),
            2 => format!("/nope/{at}"),
            _ => format!("/outputs?per_page=100&page={at}&x{at}"),
        })
        .collect();
    let raw: String = targets.iter().map(|target| request("GET", target, &[])).collect();
    connection.send(raw.as_bytes()).unwrap();
    for (at, target) in targets.iter().enumerate() {
        let response = connection.receive().unwrap();
        let (status, words) = match at % 4 {
            0 => (200, format!(r#""page":{},"per_page":10"#, at + 1)),
            1 => (404, format!("Author with ID HX_A{at} not found")),
            2 => (404, format!("Cannot GET /nope/{at}")),
            _ => (400, format!(r#""parameter":"x{at}""#)),
        };
        assert_eq!(response.status, status, "{target}");
        assert!(response.text().contains(&words), "{target}: {words}");
    }
    check_after(&mut connection, Stays, "the connection stays open");
    server.end(&[]);
}
