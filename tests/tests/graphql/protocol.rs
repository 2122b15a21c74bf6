//! GraphQL as an HTTP resource: methods, media types, bodies and limits.

use pinakes_tests::client::{Connection, Response};
use pinakes_tests::graphql::post_body;
use pinakes_tests::server::{Server, Snapshots, command};

const QUESTION: &[u8] = br#"{"query":"{__typename}"}"#;
const ANSWER: &str = r#"{"data":{"__typename":"Query"}}"#;
const JSON: &str = "Content-Type: application/json";

#[track_caller]
fn check_error(response: &Response, status: u16, error: &str, message: &str) {
    let expected = format!(r#"{{"statusCode":{status},"error":"{error}","message":"{message}"}}"#);
    assert_eq!((response.status, response.text()), (status, expected.as_str()));
    assert_eq!(response.header("cache-control"), Some("no-store"));
}

#[test]
fn queries_are_posted_and_the_resources_beside_the_endpoint_are_read() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for path in ["/graphql", "/graphql/"] {
        for method in ["GET", "PUT", "PATCH", "DELETE", "FOO"] {
            let response = connection.request(method, path, &[]);
            check_error(&response, 405, "Method Not Allowed", "Method Not Allowed");
            assert_eq!(response.header("allow"), Some("POST, OPTIONS"), "{method}");
        }
        let head = connection.request("HEAD", path, &[]);
        assert_eq!((head.status, head.header("allow")), (405, Some("POST, OPTIONS")));
        let options = connection.request("OPTIONS", path, &[]);
        assert_eq!((options.status, options.header("allow")), (204, Some("POST, OPTIONS")));
        assert_eq!(options.header("access-control-allow-methods"), Some("POST, OPTIONS"));
        assert_eq!(options.header("access-control-allow-headers"), Some("*"));
    }
    for path in ["/graphql/schema", "/graphiql", "/graphiql/page.js"] {
        let response = server.connect().request("POST", path, &[]);
        check_error(&response, 405, "Method Not Allowed", "Method Not Allowed");
        assert_eq!(response.header("allow"), Some("GET, HEAD, OPTIONS"), "{path}");
        let (get, head) = (connection.get(path), connection.request("HEAD", path, &[]));
        assert_eq!(head.headers_without_date(), get.headers_without_date(), "{path}");
    }
    for path in
        ["/graphql/nope", "/graphql/schema/x", "/GraphQL", "/graphiql/nope", "/graphiql/../x"]
    {
        assert_eq!(connection.get(path).status, 404, "{path}");
    }
    server.end(&[]);
}

#[test]
fn a_body_is_uncompressed_json() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    for header in
        [JSON, "Content-Type: application/json; charset=utf-8", "CONTENT-TYPE:Application/Json"]
    {
        let response = post_body(&mut server.connect(), &[header], QUESTION);
        assert_eq!((response.status, response.text()), (200, ANSWER), "{header}");
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
        assert!(response.header("x-snapshot-id").is_some() && response.header("etag").is_none());
    }
    let refused: [&[&str]; 7] = [
        &[],
        &["Content-Type: text/plain"],
        &["Content-Type: application/x-www-form-urlencoded"],
        &["Content-Type: multipart/form-data; boundary=a"],
        &["Content-Type: application/graphql"],
        &["Content-Type: application/json; charset=latin1"],
        &[JSON, JSON],
    ];
    for headers in refused {
        let response = post_body(&mut server.connect(), headers, QUESTION);
        check_error(
            &response,
            415,
            "Unsupported Media Type",
            "Content-Type must be application/json",
        );
    }
    for coding in ["gzip", "zstd", "br", "identity, gzip"] {
        let headers = [JSON, &format!("Content-Encoding: {coding}")];
        let response = post_body(&mut server.connect(), &headers, QUESTION);
        check_error(&response, 415, "Unsupported Media Type", "Content-Encoding is not supported");
    }
    server.end(&[]);
}

#[test]
fn the_reply_has_the_media_type_that_the_client_accepts() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let own = "application/graphql-response+json";
    let invalid = br#"{"query":"{nope}"}"#;
    let null = br#"{"query":"{author(id:\"1\"){id}}"}"#;
    for (accept, body, status, media_type) in [
        ("*/*", QUESTION, 200, "application/json"),
        ("application/json", &invalid[..], 200, "application/json"),
        (own, QUESTION, 200, own),
        (own, &invalid[..], 400, own),
        (own, &null[..], 200, own),
        ("application/graphql-response+json, application/json;q=0.9", &invalid[..], 400, own),
    ] {
        let accept = format!("Accept: {accept}");
        let response = post_body(&mut connection, &[JSON, &accept], body);
        let found = (response.status, response.header("content-type"));
        assert_eq!(found, (status, Some(media_type)), "{accept}");
        assert!(response.json().is_object());
    }
    server.end(&[]);
}

/// Encodes spaces as a chunked body with these chunk sizes.
fn chunked(sizes: &[usize]) -> Vec<u8> {
    let mut body = Vec::new();
    for size in sizes {
        body.extend_from_slice(format!("{size:x}\r\n").as_bytes());
        body.resize(body.len() + size, b' ');
        body.extend_from_slice(b"\r\n");
    }
    body
}

fn post_chunked(connection: &mut Connection, sizes: &[usize]) -> Response {
    let head = format!(
        "POST /graphql HTTP/1.1\r\nHost: a\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let mut raw = head.into_bytes();
    raw.extend(chunked(sizes));
    raw.extend_from_slice(b"18\r\n");
    raw.extend_from_slice(QUESTION);
    raw.extend_from_slice(b"\r\n0\r\n\r\n");
    // The server answers a body that is too long before it has read all of it.
    let _ = connection.send(&raw);
    connection.receive_to("POST").unwrap()
}

#[test]
fn a_body_has_at_most_64_kib_in_any_framing() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let too_long = "Request body exceeds 65536 bytes";
    let padded = |bytes: usize| {
        let mut body = QUESTION.to_vec();
        body.resize(bytes, b' ');
        body
    };
    let response = post_body(&mut server.connect(), &[JSON], &padded(65_536));
    assert_eq!((response.status, response.text()), (200, ANSWER));
    // The announced length alone refuses the request.
    for length in ["65537", "1000000000", "9223372036854775807"] {
        let mut connection = server.connect();
        let head = format!(
            "POST /graphql HTTP/1.1\r\nHost: a\r\n{JSON}\r\nContent-Length: {length}\r\n\r\n"
        );
        connection.send(head.as_bytes()).unwrap();
        let response = connection.receive_to("POST").unwrap();
        check_error(&response, 413, "Content Too Large", too_long);
        assert!(connection.is_closed(), "{length}");
    }
    let response = post_chunked(&mut server.connect(), &[1, 60_000, 5_000]);
    assert_eq!((response.status, response.text()), (200, ANSWER));
    let mut connection = server.connect();
    let response = post_chunked(&mut connection, &[60_000, 6_000]);
    check_error(&response, 413, "Content Too Large", too_long);
    server.end(&[]);
}

#[test]
fn a_body_ends_where_its_framing_says() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    // Two queries and a GET in one write are answered in order.
    let mut connection = server.connect();
    let length = QUESTION.len();
    let head =
        format!("POST /graphql HTTP/1.1\r\nHost: a\r\n{JSON}\r\nContent-Length: {length}\r\n\r\n");
    let mut raw = Vec::new();
    for _ in 0..2 {
        raw.extend_from_slice(head.as_bytes());
        raw.extend_from_slice(QUESTION);
    }
    raw.extend_from_slice(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    connection.send(&raw).unwrap();
    for method in ["POST", "POST"] {
        assert_eq!(connection.receive_to(method).unwrap().text(), ANSWER);
    }
    assert_eq!(connection.receive().unwrap().status, 200);
    // Bytes beyond the announced length are not a request.
    let mut connection = server.connect();
    let short = head.replace(&format!("Length: {length}"), &format!("Length: {}", length - 1));
    let mut raw = short.into_bytes();
    raw.extend_from_slice(QUESTION);
    raw.extend_from_slice(b"\r\n\r\n");
    connection.send(&raw).unwrap();
    assert_eq!(connection.receive_to("POST").unwrap().status, 400);
    assert!(connection.receive().is_ok_and(|reply| reply.status == 400) || connection.is_closed());
    // A client that expects `100 Continue` receives it.
    let mut connection = server.connect();
    let expecting = head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    connection.send(expecting.as_bytes()).unwrap();
    connection.send(QUESTION).unwrap();
    assert_eq!(connection.receive_to("POST").unwrap().text(), ANSWER);
    server.end(&[]);
}

#[test]
fn an_incomplete_body_is_a_bad_request() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let head = format!(
        "POST /graphql HTTP/1.1\r\nHost: a\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let expected = concat!(
        r#"{"statusCode":400,"error":"Bad Request","message":"Bad Request - Invalid query parameters","#,
        r#""details":[{"parameter":"body","value":"","reason":"ended before all that its head announced, "#,
        r#"or is not in chunks as RFC 9112 has them"}]}"#
    );
    for chunks in ["zz\r\n", "5\r\n{\"que5\r\n", "-1\r\n\r\n", "10000000000000000\r\n"] {
        let mut connection = server.connect();
        connection.send(format!("{head}{chunks}").as_bytes()).unwrap();
        let response = connection.receive_to("POST").unwrap();
        assert_eq!((response.status, response.text()), (400, expected), "{chunks}");
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert!(response.header("x-snapshot-id").is_some() && connection.is_closed(), "{chunks}");
    }
    server.end(&[]);
}

#[test]
fn queries_count_against_the_minute_limit_and_resources_beside_do_not() {
    let snapshots = Snapshots::from_sample();
    let mut command = command(&["--snapshots", snapshots.path().to_str().unwrap()]);
    let server = Server::start(command.env_remove("PINAKES_NO_LIMITS"));
    let mut connection = server.connect();
    let left = |response: &Response| {
        let number = |name| response.header(name).unwrap().parse::<u32>().unwrap();
        (number("x-ratelimit-ip-remaining"), number("x-ratelimit-daily-remaining"))
    };
    for at in 1..=15 {
        let response =
            post_body(&mut connection, &[JSON], br#"{"query":"{outputs{meta{count}}}"}"#);
        assert_eq!((response.status, left(&response)), (200, (30 - at, 500)));
    }
    for path in ["/graphql/schema", "/graphiql", "/graphiql/page.js"] {
        let response = connection.get(path);
        assert_eq!((response.status, left(&response)), (200, (15, 500)), "{path}");
    }
    // Refused requests count too, and all requests of a client share one minute.
    assert_eq!(left(&post_body(&mut connection, &[JSON], b"x")), (14, 500));
    assert_eq!(left(&connection.get("/graphql")), (13, 500));
    assert_eq!(left(&connection.request("OPTIONS", "/graphql", &[])), (13, 500));
    for at in 1..=13 {
        assert_eq!(left(&connection.get("/authors/HX_A5900000001")), (13 - at, 500));
    }
    let refused = post_body(&mut server.connect(), &[JSON], QUESTION);
    assert_eq!(refused.status, 429);
    assert!(refused.json()["reset_in_seconds"].is_u64());
    assert_eq!(connection.get("/graphql/schema").status, 200);
    server.end(&[]);
}
