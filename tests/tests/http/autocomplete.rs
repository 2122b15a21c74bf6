//! Autocomplete: refused queries with their errors, and unusual texts that are accepted.

use pinakes_oracle::Autocomplete;

use pinakes_tests::client::{Connection, Response, error_body};
use pinakes_tests::expect::check_head;
use pinakes_tests::server::{Server, Snapshots};

const REQUIRED: &str = "Query parameter 'query' is required";
const INVALID: &str = "Bad Request - Invalid query parameters";
const NOTHING: &str = r#"{"meta":{"count":0},"results":[]}"#;

/// Query strings without a `query`, sent to each entity type and to all.
const WITHOUT_QUERY: &[&str] = &[
    "",
    "?",
    "?&&",
    "?query",
    "?query=",
    "?&query=&",
    "?query=+",
    "?query=%20%20",
    "?query=%E3%80%80",
    "?query=%C2%A0%E2%80%83",
    "?query=%09%0A",
    "?query=&query=",
    "?query=&query=%20&page=1",
    "?mailto=a@b.c",
    // Other errors give way to the missing `query`.
    "?q=smith",
    "?page=1&per_page=10",
    "?query=&filter=id:HX_A1",
    "?api_key=x&query=",
];

/// Invalid queries, and the first detail: the parameter and, if exact, the value.
const REFUSED: &[(&str, &str, Option<&str>)] = &[
    ("/autocomplete?query=%ED%A0%80", "query", Some("%ED%A0%80")),
    ("/autocomplete?query=%F5%80%80%80", "query", Some("%F5%80%80%80")),
    ("/autocomplete?query=%C0%80", "query", Some("%C0%80")),
    ("/autocomplete?query=%E6%9D", "query", Some("%E6%9D")),
    ("/autocomplete?query=%zz", "query", Some("%zz")),
    ("/autocomplete/authors?query=100%", "query", Some("100%")),
    ("/autocomplete/authors?query=%ff", "query", Some("%ff")),
    ("/autocomplete?query=%00", "query", Some("\0")),
    ("/autocomplete?query=a%00b", "query", Some("a\0b")),
    ("/autocomplete?query=%7F", "query", Some("\u{7f}")),
    ("/autocomplete?query=%1B[31m", "query", Some("\u{1b}[31m")),
    ("/autocomplete/outputs?query=a%0D%0AX:%20b", "query", Some("a\r\nX: b")),
    ("/autocomplete?query=a&query=b", "query", Some("b")),
    ("/autocomplete?query=a&query=a", "query", Some("a")),
    ("/autocomplete?query=&query=a", "query", Some("a")),
    ("/autocomplete/topics?query=a&query=b", "query", Some("b")),
    ("/autocomplete?query=a&page=1", "page", Some("1")),
    ("/autocomplete?query=a&per_page=10", "per_page", Some("10")),
    ("/autocomplete?query=a&filter=id:HX_A1", "filter", Some("id:HX_A1")),
    ("/autocomplete?query=a&Query=b", "Query", Some("b")),
    ("/autocomplete?query=a&query[]=b", "query[]", Some("b")),
    ("/autocomplete?query=a&entity_type=author", "entity_type", Some("author")),
    ("/autocomplete?query=a&=", "", Some("")),
    ("/autocomplete/foo?query=a", "entity_type", Some("foo")),
    ("/autocomplete/foo", "entity_type", Some("foo")),
    ("/autocomplete/foo?query=", "entity_type", Some("foo")),
    ("/autocomplete/domains?query=a", "entity_type", Some("domains")),
    ("/autocomplete/fields?query=a", "entity_type", Some("fields")),
    ("/autocomplete/subfields?query=a", "entity_type", Some("subfields")),
    ("/autocomplete/Authors?query=a", "entity_type", Some("Authors")),
    ("/autocomplete/author?query=a", "entity_type", Some("author")),
    ("/autocomplete/works?query=a", "entity_type", Some("works")),
    ("/autocomplete/institution-types?query=a", "entity_type", Some("institution-types")),
];

/// Texts that fold to nothing and match nothing.
const EMPTY: &[&str] = &[
    "*",
    "^",
    "%5E",
    "\\",
    "%5C",
    "%25",
    "%3F%21",
    "%F0%9F%98%80",
    "%F0%9F%91%A9%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7",
    "%CC%81",
    "%E2%80%AE",
    "%3Ci%3E",
    "%27",
];

/// Pairs of texts that fold to the same text.
const SAME: &[(&str, &str)] = &[
    ("%C3%A9", "e"),
    ("e%CC%81", "e"),
    ("%C3%89", "%C3%A9"),
    ("stra%C3%9Fe", "strasse"),
    ("STRA%E1%BA%9EE", "strasse"),
    ("%C4%B0", "i"),
    ("%EF%AC%81", "fi"),
    ("a%7Cb", "a+b"),
    ("a|b", "a+b"),
    ("a%2Bb", "a%20b"),
    ("%E2%80%AEab", "ab"),
    ("univ%E2%80%8B", "univ"),
    ("%EF%BC%A1", "a"),
    ("++a++", "a"),
    // Control characters of library catalogues, which names in dumps contain.
    ("%C2%98a%C2%9C", "a"),
    ("%3Cb%3Ea%3C/b%3E", "a"),
    ("A", "a"),
];

/// Returns the autocomplete paths of each entity type and of all types.
pub fn paths() -> impl Iterator<Item = String> {
    let of_types = Autocomplete::routes().into_iter().map(|of| format!("/autocomplete/{of}"));
    of_types.chain(["/autocomplete".to_owned()])
}

/// Checks a refusal: the shape of lists' refusals, with the reasons of autocomplete.
#[track_caller]
fn check_invalid(connection: &mut Connection, target: &str, parameter: &str, value: Option<&str>) {
    let what = format!("{target:.80}");
    let response = connection.get(target);
    assert_eq!(response.status, 400, "{what}: {}", response.text());
    let start = format!(
        r#"{{"statusCode":400,"error":"Bad Request","message":"{INVALID}","details":[{{"parameter":"#
    );
    assert!(response.text().starts_with(&start), "{what}: {}", response.text());
    let body = response.json();
    assert_eq!(body.as_object().unwrap().len(), 4, "{what}: {body}");
    for detail in body["details"].as_array().unwrap() {
        let members: Vec<&String> = detail.as_object().unwrap().keys().collect();
        assert_eq!(members, ["parameter", "value", "reason"], "{what}: {body}");
        assert!(
            detail["reason"].as_str().is_some_and(|reason| !reason.is_empty()),
            "{what}: {body}"
        );
    }
    let first = &body["details"][0];
    assert_eq!(first["parameter"], parameter, "{what}: {body}");
    if let Some(value) = value {
        assert_eq!(first["value"], value, "{what}: {body}");
    }
    check_uncacheable(connection, target, &response);
}

/// Checks the headers of an error, which is not cacheable.
#[track_caller]
fn check_uncacheable(connection: &mut Connection, target: &str, response: &Response) {
    assert_eq!(response.header("content-type"), Some("application/json"), "{target}");
    assert_eq!(response.header("etag"), None, "{target}");
    assert_eq!(response.header("cache-control"), Some("no-store"), "{target}");
    check_head(connection, target, response);
}

/// Sends an accepted query and returns the body.
#[track_caller]
pub fn accepted(connection: &mut Connection, target: &str) -> String {
    let response = connection.get(target);
    assert_eq!(response.status, 200, "{target:.80}: {}", response.text());
    let body = response.json();
    let shown = body["results"].as_array().unwrap().len() as u64;
    assert_eq!(shown, body["meta"]["count"].as_u64().unwrap().min(10), "{target:.80}: {body}");
    response.text().to_owned()
}

#[test]
fn a_missing_query_is_required() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let expected = format!(r#"{{"statusCode":400,"error":"Bad Request","message":"{REQUIRED}"}}"#);
    for path in paths() {
        for query in WITHOUT_QUERY {
            let target = format!("{path}{query}");
            let response = connection.get(&target);
            assert_eq!((response.status, response.text()), (400, expected.as_str()), "{target}");
            check_uncacheable(&mut connection, &target, &response);
        }
    }
    server.end(&[]);
}

#[test]
fn an_invalid_query_is_refused_in_the_shape_of_lists() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (target, parameter, value) in REFUSED {
        check_invalid(&mut connection, target, parameter, *value);
    }
    for path in paths() {
        // The length counts decoded bytes.
        for whole in ["a".repeat(256), "%61".repeat(256), format!("{}%C3%A9", "a".repeat(254))] {
            assert_eq!(accepted(&mut connection, &format!("{path}?query={whole}")), NOTHING);
        }
        let long = [257, 4_096].map(|bytes| "a".repeat(bytes));
        let long =
            long.into_iter().chain([format!("{}%C3%A9", "a".repeat(255)), "%E4%BA%AC".repeat(86)]);
        for query in long {
            // A detail quotes up to 64 bytes of a value.
            let shown = format!("{}…", &query[..64]);
            let shown = query.starts_with('a').then_some(shown.as_str());
            check_invalid(&mut connection, &format!("{path}?query={query}"), "query", shown);
        }
        let response = connection.get(&format!("{path}?query={}", "a".repeat(60_000)));
        let too_long = error_body(414, "URI exceeds 16384 bytes");
        assert_eq!((response.status, response.text()), (414, too_long.as_str()), "{path}");
    }
    for path in [
        "/autocomplete/authors/x",
        "/autocomplete/x/authors",
        "/Autocomplete",
        "/autocomplete.json",
    ] {
        let response = connection.get(&format!("{path}?query=a"));
        let expected = error_body(404, &format!("Cannot GET {path}"));
        assert_eq!((response.status, response.text()), (404, expected.as_str()), "{path}");
    }
    server.end(&[]);
}

#[test]
fn unusual_text_finds_the_matches_of_its_folded_form() {
    let snapshots = Snapshots::from_sample();
    let autocomplete = pinakes_tests::autocomplete(&[pinakes_tests::sample()]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let marked = format!("a{}", "%CC%81".repeat(64));
    let same = SAME.iter().copied().chain([(marked.as_str(), "a")]);
    for path in paths() {
        let route = path.strip_prefix("/autocomplete/");
        for query in EMPTY {
            let target = format!("{path}?query={query}");
            assert_eq!(accepted(&mut connection, &target), NOTHING, "{target}");
        }
        // 126 bytes of a script without spaces.
        let unspaced = "%E6%9D%B1%E4%BA%AC".repeat(21);
        assert_eq!(accepted(&mut connection, &format!("{path}?query={unspaced}")), NOTHING);
        for (unusual, plain) in same.clone() {
            let [unusual, found] = [unusual, plain]
                .map(|query| accepted(&mut connection, &format!("{path}?query={query}")));
            let expected = autocomplete.answer(route, &format!("query={plain}")).unwrap().body();
            assert_eq!(found, expected.to_string(), "{path}: {plain}");
            assert_eq!(unusual, found, "{path}: {unusual}");
        }
    }
    let one = connection.get("/autocomplete?query=a").json();
    assert!(one["meta"]["count"].as_u64().unwrap() > 10, "one letter finds many: {one}");
    server.end(&[]);
}
