//! Content codings: negotiation, entity tags of each coding, and replies that are never coded.

use std::{collections::BTreeMap, thread};

use pinakes_format::entity::CATALOG;

use pinakes_tests::client::{Connection, Response, decode};
use pinakes_tests::server::{Server, Snapshots};

const AUTHOR: &str = "/authors/HX_A5900000001";
const MERGED: &str = "/authors/HX_A5900009002";
/// Bodies shorter than this are sent uncoded.
const CODED_BYTES_MIN: usize = 768;
const CODINGS: [&str; 3] = ["zstd", "br", "gzip"];

/// Lines of `Accept-Encoding`, and the expected coding of an author.
const NEGOTIATED: &[(&[&str], Option<&str>)] = &[
    (&[], None),
    (&[""], None),
    (&["identity"], None),
    (&["deflate"], None),
    (&["gzip, deflate, br, zstd"], Some("zstd")),
    (&["gzip, deflate, br"], Some("br")),
    (&["gzip, deflate"], Some("gzip")),
    (&["GZIP;Q=0.1"], Some("gzip")),
    (&["x-gzip"], Some("gzip")),
    (&["gzip;q=1.0, zstd;q=0.9"], Some("gzip")),
    (&["gzip", "br"], Some("br")),
    (&["br;q=0.5", "gzip;q=0.6"], Some("gzip")),
    (&["*"], Some("zstd")),
    (&["*, zstd;q=0"], Some("br")),
    (&["identity, gzip;q=0.5"], None),
    (&["identity;q=0.5, gzip;q=0.5"], Some("gzip")),
    (&["identity;q=0, gzip"], Some("gzip")),
    // If every coding is refused, the server sends identity.
    (&["identity;q=0"], None),
    (&["*;q=0"], None),
    (&["gzip;q=0, br;q=0, zstd;q=0"], None),
    // Malformed elements are ignored.
    (&["zstd;q=2, gzip"], Some("gzip")),
    (&["zstd;q=0.0001, br;level=3, gzip"], Some("gzip")),
    (&["zstd;;q=1, \"br\", gz ip, ,;,=, gzip;q=0.001"], Some("gzip")),
];

/// `Accept-Encoding`, the coding of the tag in `If-None-Match`, and whether the reply is 304.
const CONDITIONAL: &[(&str, Option<&str>, bool)] = &[
    ("", None, true),
    ("", Some("zstd"), false),
    ("", Some("gzip"), false),
    ("zstd, br, gzip", None, true),
    ("zstd, br, gzip", Some("zstd"), true),
    ("zstd, br, gzip", Some("br"), true),
    ("zstd, br, gzip", Some("gzip"), true),
    ("gzip", None, true),
    ("gzip", Some("gzip"), true),
    ("gzip", Some("br"), false),
    ("gzip, br;q=0", Some("br"), false),
    ("*", Some("br"), true),
    ("*;q=0", Some("br"), false),
    ("identity;q=0, gzip", None, true),
    ("x-gzip;q=0.1", Some("gzip"), true),
    ("gzip", Some("identity"), false),
    ("gzip", Some("deflate"), false),
];

/// Sends a request with an `Accept-Encoding` and further headers.
fn ask(connection: &mut Connection, method: &str, target: &str, headers: &[String]) -> Response {
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    connection.request(method, target, &headers)
}

fn accepting(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| format!("Accept-Encoding: {line}")).collect()
}

/// Returns the entity tag of the same reply in a coding.
fn tag_in(coding: Option<&str>, identity: &str) -> String {
    let bare = identity.strip_suffix('"').unwrap();
    coding.map_or(identity.to_owned(), |coding| format!("{bare}.{coding}\""))
}

/// Lists targets with cacheable replies: all records, pages of all lists, and candidates.
fn targets(snapshots: &Snapshots) -> Vec<String> {
    let snapshot = snapshots.open();
    let mut targets = Vec::new();
    for facts in &CATALOG {
        for query in ["", "?per_page=10", "?per_page=100", "?page=2", "?page=99"] {
            targets.push(format!("/{}{query}", facts.route));
        }
        for row in 0..snapshot.count(facts.entity) {
            let mut target = format!("/{}/", facts.route).into_bytes();
            facts.entity.write_id(snapshot.row_id(facts.entity, row).unwrap(), &mut target);
            if facts.has_single {
                targets.push(String::from_utf8(target).unwrap());
            }
        }
    }
    for query in ["un", "uni ver", "zzz", "a"] {
        targets.push(format!("/autocomplete?query={}", query.replace(' ', "%20")));
        targets.push(format!("/autocomplete/authors?query={}", query.replace(' ', "%20")));
    }
    targets
}

#[test]
fn every_coding_of_every_reply_decodes_to_the_uncoded_reply() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let (mut coded, mut short) = (0, 0);
    for target in targets(&snapshots) {
        let plain = connection.get(&target);
        assert_eq!(plain.status, 200, "{target}");
        assert_eq!(plain.header("content-encoding"), None, "{target}");
        // Other formats of an output have the same address.
        let is_output = target.starts_with("/outputs/");
        let vary = if is_output { "Accept-Encoding, Accept" } else { "Accept-Encoding" };
        assert_eq!(plain.header("vary"), Some(vary), "{target}");
        let is_short = plain.body.len() < CODED_BYTES_MIN;
        *(if is_short { &mut short } else { &mut coded }) += 1;
        for coding in CODINGS {
            let what = format!("{target} in {coding}");
            let headers = accepting(&[coding]);
            let got = ask(&mut connection, "GET", &target, &headers);
            let expected = if is_short { None } else { Some(coding) };
            assert_eq!(got.status, 200, "{what}");
            assert_eq!(got.header("content-encoding"), expected, "{what}");
            assert_eq!(decode(expected, &got.body), plain.body, "{what}");
            assert!(is_short || got.body.len() < plain.body.len(), "{what}");
            let tag = tag_in(expected, plain.header("etag").unwrap());
            assert_eq!(got.header("etag"), Some(tag.as_str()), "{what}");
            // All other headers are equal.
            let rest = |response: &Response| {
                let mut headers = response.headers_without_date();
                headers.retain(|(name, _)| {
                    !["content-encoding", "content-length", "etag"].contains(&name.as_str())
                });
                headers
            };
            assert_eq!(rest(&got), rest(&plain), "{what}");
            let head = ask(&mut connection, "HEAD", &target, &headers);
            assert_eq!(head.headers_without_date(), got.headers_without_date(), "HEAD of {what}");
        }
    }
    assert!(coded > 500 && short > 20, "the sample has both: {coded} and {short}");
    server.end(&[]);
}

#[test]
fn the_coding_is_the_most_preferred_by_the_request() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (lines, expected) in NEGOTIATED {
        // Records and lists are coded by different code.
        for target in [AUTHOR, "/authors?per_page=100"] {
            let got = ask(&mut connection, "GET", target, &accepting(lines));
            assert_eq!(got.status, 200, "{target} {lines:?}");
            assert_eq!(got.header("content-encoding"), *expected, "{target} {lines:?}");
        }
    }
    server.end(&[]);
}

#[test]
fn long_and_unusual_preferences_are_read_and_ranges_are_ignored() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let plain = connection.get(AUTHOR);
    let many = |item: &dyn Fn(usize) -> String, last: &str| {
        let items: Vec<String> = (0..1_000).map(item).collect();
        vec![format!("Accept-Encoding: {},{last}", items.join(","))]
    };
    for (headers, expected) in [
        (many(&|_| "br;q=0".into(), "gzip"), Some("gzip")),
        (many(&|at| format!("x{at}"), "gzip"), Some("gzip")),
        (many(&|_| "gzip;q=0.001".into(), "br;q=0.002"), Some("br")),
        (many(&|_| "*;q=0.5".into(), "zstd;q=0"), Some("br")),
        (many(&|_| String::new(), "gzip"), Some("gzip")),
        (many(&|_| "zstd;q=9".into(), "gzip"), Some("gzip")),
        (vec![format!("Accept-Encoding: {}gzip", " ".repeat(15_000))], Some("gzip")),
        (vec![format!("Accept-Encoding: {}, gzip", ";".repeat(15_000))], Some("gzip")),
        (vec![format!("Accept-Encoding: zstd;q=0.{}, gzip", "0".repeat(15_000))], Some("gzip")),
        // The first weight of a coding counts; zero refuses gzip.
        ((0..60).map(|at| format!("Accept-Encoding: gzip;q=0.{at}, y")).collect(), None),
        (vec!["Accept-Encoding: gzip".into(), "Range: bytes=0-0".into()], Some("gzip")),
        (
            vec![
                "Accept-Encoding: br".into(),
                format!("Range: bytes={}", vec!["0-0"; 1_000].join(",")),
            ],
            Some("br"),
        ),
    ] {
        let what = format!("{:.80}", headers[0]);
        let got = ask(&mut connection, "GET", AUTHOR, &headers);
        assert_eq!(got.status, 200, "{what}");
        assert_eq!(got.header("content-encoding"), expected, "{what}");
        assert_eq!(got.header("accept-ranges"), None, "{what}");
        assert_eq!(decode(expected, &got.body), plain.body, "{what}");
    }
    // Bytes that are not text.
    let head =
        b"HTTP/1.1\r\nHost: x\r\nAccept-Encoding: \xff\xfe, zstd\xff, gzip;q=\xb9, br\r\n\r\n";
    connection.send(&[b"GET ", AUTHOR.as_bytes(), b" ", head].concat()).unwrap();
    assert_eq!(connection.receive().unwrap().header("content-encoding"), Some("br"));
    server.end(&[]);
}

#[test]
fn a_tag_matches_if_the_request_accepts_its_coding() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for target in [AUTHOR, "/authors?per_page=100", "/autocomplete?query=un"] {
        let plain = connection.get(target);
        assert!(plain.body.len() >= CODED_BYTES_MIN, "{target} is too short to be coded");
        let identity = plain.header("etag").unwrap().to_owned();
        for (accepted, coding, is_enough) in CONDITIONAL {
            let tag = tag_in(*coding, &identity);
            for value in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag},\"y\"")] {
                let what = format!("{target} accepting `{accepted}` with {value}");
                let mut headers = accepting(&[accepted]);
                let full = ask(&mut connection, "GET", target, &headers);
                headers.push(format!("If-None-Match: {value}"));
                for method in ["GET", "HEAD"] {
                    let got = ask(&mut connection, method, target, &headers);
                    assert_eq!(got.header("vary"), Some("Accept-Encoding"), "{what}");
                    if *is_enough {
                        assert_eq!(got.status, 304, "{what}");
                        assert_eq!(got.header("etag"), Some(tag.as_str()), "{what}");
                        assert_eq!(got.header("content-encoding"), None, "{what}");
                        assert_eq!(got.header("content-type"), None, "{what}");
                    } else {
                        assert_eq!(got.status, 200, "{what}");
                        assert_eq!(
                            got.headers_without_date(),
                            full.headers_without_date(),
                            "{what}"
                        );
                        assert!(method == "HEAD" || got.body == full.body, "{what}");
                    }
                }
            }
        }
        // Of several tags, the tag of the preferred coding matches; `*` always matches.
        let all: Vec<String> = [None, Some("gzip"), Some("br"), Some("zstd")]
            .map(|coding| tag_in(coding, &identity))
            .into();
        let padding: String = (0..700).map(|at| format!("\"other-{at}\",")).collect();
        for value in [all.join(", "), "*".into(), format!("{padding}{}", all.join(","))] {
            for coding in CODINGS {
                let headers =
                    [format!("Accept-Encoding: {coding}"), format!("If-None-Match: {value}")];
                let got = ask(&mut connection, "GET", target, &headers);
                assert_eq!(got.status, 304, "{target} {coding} {value:.60}");
                let tag = tag_in(Some(coding), &identity);
                assert_eq!(got.header("etag"), Some(tag.as_str()), "{target} {value:.60}");
            }
        }
    }
    server.end(&[]);
}

#[test]
fn replies_that_are_not_cacheable_are_never_coded() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let wrong: String = (0..20).map(|at| format!("x{at}=y&")).collect();
    let wrong = format!("/authors?{wrong}");
    let missing = format!("/{}", "x".repeat(1_500));
    let mut long = 0;
    for (method, target, status) in [
        ("GET", wrong.as_str(), 400),
        ("GET", missing.as_str(), 404),
        ("GET", "/authors/HX_A9", 404),
        ("GET", MERGED, 301),
        ("OPTIONS", AUTHOR, 204),
        ("GET", "/", 200),
        ("GET", "/health", 200),
        ("GET", "/ready", 200),
        ("GET", "/rate-limit", 200),
    ] {
        let plain = connection.request(method, target, &[]);
        let got = ask(&mut connection, method, target, &accepting(&["zstd, br, gzip"]));
        assert_eq!(got.status, status, "{target:.60}");
        assert_eq!(got.body, plain.body, "{target:.60}");
        assert_eq!(got.headers_without_date(), plain.headers_without_date(), "{target:.60}");
        for name in ["content-encoding", "etag", "vary"] {
            assert_eq!(got.header(name), None, "{target:.60}");
        }
        long += usize::from(got.body.len() >= CODED_BYTES_MIN);
    }
    assert!(long > 0, "no reply is long enough to be coded");
    server.end(&[]);
}

#[test]
fn the_same_request_gets_the_same_bytes_on_every_server_and_connection() {
    let snapshots = Snapshots::from_sample();
    let mut asked = targets(&snapshots);
    asked.retain(|target| target.len() % 3 == 0 || target.contains('?'));
    let get_all = |server: &Server, from: usize| {
        let mut connection = server.connect();
        let mut bodies = BTreeMap::new();
        for at in 0..asked.len() {
            let target = &asked[(at + from) % asked.len()];
            for coding in CODINGS {
                let got = ask(&mut connection, "GET", target, &accepting(&[coding]));
                let tag = got.header("etag").unwrap().to_owned();
                bodies.insert((target.clone(), coding), (tag, got.body));
            }
        }
        bodies
    };
    let first = Server::serve(&snapshots);
    let expected = get_all(&first, 0);
    first.end(&[]);
    let second = Server::serve(&snapshots);
    thread::scope(|scope| {
        for thread in 0..6 {
            let (second, expected, get_all) = (&second, &expected, &get_all);
            scope.spawn(move || assert!(&get_all(second, thread * 37) == expected, "{thread}"));
        }
    });
    second.end(&[]);
}
