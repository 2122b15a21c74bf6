//! Searches at and beyond their limits, and texts that no reader would type.

use std::time::{Duration, Instant};

use pinakes_format::entity::Entity;
use pinakes_format::query::{Deadline, Query, QueryError};
use pinakes_tests::client::{Connection, REPLY_TIMEOUT};
use pinakes_tests::server::Server;

use crate::search::{encoded, reason, search, snapshots, titled, with_abstract};

#[track_caller]
fn status(connection: &mut Connection, text: &str) -> u16 {
    let begun = Instant::now();
    let status = connection.get(&format!("/outputs?search={}", encoded(text))).status;
    assert!(begun.elapsed() < REPLY_TIMEOUT / 2, "{text}");
    status
}

#[test]
fn clauses_bytes_and_parentheses_have_limits() {
    let snapshots = snapshots(&[titled((1, "en", "a b graphene"))]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let clauses = |count: usize| format!("a OR {}", vec!["b"; count - 1].join(" "));
    let nested = |depth: usize| format!("{}a{} OR b", "(".repeat(depth), ")".repeat(depth));
    for (text, expected) in [
        (clauses(1_000), 200),
        (clauses(1_001), 400),
        (nested(20), 200),
        (nested(21), 400),
        ("a".repeat(4_096), 200),
        (format!("{}~2", "a".repeat(4_096)), 200),
        (format!("\"{}\"", vec!["a"; 64].join(" ")), 200),
        (format!("\"{}\"", vec!["a"; 65].join(" ")), 400),
        ("\"a b\"~1000".to_owned(), 200),
        ("\"a b\"~1000000".to_owned(), 400),
        (vec!["fuzzy~2"; 50].join(" "), 200),
    ] {
        assert_eq!(status(&mut connection, &text), expected, "{text}");
    }
    let words = |bytes: usize| "graphene ".repeat(bytes / 9 + 1)[..bytes].replace(' ', "+");
    let mut post = |body: String| {
        let length = body.len();
        let head = format!(
            "POST /outputs/search HTTP/1.1\r\nHost: a\r\nContent-Type: \
             application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        connection.send(head.as_bytes()).unwrap();
        connection.receive_to("POST").unwrap()
    };
    assert_eq!(post(format!("search={}", words(16_384))).status, 200);
    let longer = post(format!("search={}", words(16_385)));
    assert!(reason(&longer, "search").contains("at most 16384 bytes"));
    server.end(&[]);
}

#[test]
fn a_search_of_too_many_records_is_refused_before_it_begins() {
    let works: Vec<_> = (1..=200).map(|id| titled((id, "en", "deep graphene"))).collect();
    let snapshots = snapshots(&works);
    let snapshot = snapshots.open();
    let search = |text: &str, nanoseconds: u64| {
        let mut query = Query::new(Entity::Output);
        query.add_search(text).unwrap();
        query.execute(&snapshot, Deadline::NEVER.allowing(Duration::from_nanos(nanoseconds)))
    };
    for text in
        ["deep graphene", "deep OR graphene", "\"deep graphene\"", "deep -rare", "deep rare"]
    {
        match search(text, 100) {
            Err(QueryError::Refused { parameter, error }) => {
                assert_eq!((parameter, error.text.as_str()), ("search", text));
                assert!(error.reason.contains("of work where"), "{}", error.reason);
            }
            other => panic!("{text}: {other:?}"),
        }
        assert!(search(text, 1_000_000).is_ok(), "{text}");
    }
    assert!(search("rare", 100).is_ok());
}

#[test]
fn patterns_of_a_search_share_a_budget_of_words() {
    // 12,000 words with one beginning.
    let words = |from: u32| -> String {
        (from..from + 3_000).map(|at| format!("abc{at:05}")).collect::<Vec<_>>().join(" ")
    };
    let works: Vec<_> = (0..4)
        .map(|at| with_abstract(titled((u64::from(at) + 1, "en", "Words")), &words(at * 3_000)))
        .collect();
    let snapshots = snapshots(&works);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut refusal = |text: &str| {
        reason(&connection.get(&format!("/outputs?search={}", encoded(text))), "search")
    };
    assert!(refusal("abc*").contains("stands for 12000 words"));
    assert!(
        refusal("abc00* abc01* abc02* abc03* abc04* abc05* abc06* abc07* abc08* abc09* abc10*")
            .contains("at most 10000")
    );
    for text in ["a*", "ab*", "th* OR b"] {
        assert!(refusal(text).contains("at least 3 letters"), "{text}");
    }
    assert_eq!(search(&mut connection, "abc00*", "")["meta"]["count"], 1);
    server.end(&[]);
}

#[test]
fn no_text_ends_in_an_error_of_the_server() {
    let snapshots = snapshots(&[titled((1, "en", "a b graphene"))]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for text in [
        "unbalanced (a",
        "\" quote",
        "& - ~ ^ | ! a",
        "\u{0}graphene\u{0}",
        "\u{202e}enehparg",
        "\u{301}\u{301}\u{301}",
        "\u{feff}\u{200b}",
        "?",
        "!!!",
        "()",
        "\"\"",
        "*",
        "-",
        "~2",
        ":",
        "title:",
        "\u{10ffff}",
        "👩\u{200d}👩\u{200d}👧",
    ] {
        let found = status(&mut connection, text);
        assert!([200, 400].contains(&found), "{text:?}: {found}");
    }
    // Nothing of a plain search is an error, and punctuation finds nothing.
    for text in ["unbalanced (a", "a \" quote", "?!", "&"] {
        assert_eq!(status(&mut connection, text), 200, "{text}");
    }
    for text in ["?!", "&", "\u{301}"] {
        assert_eq!(search(&mut connection, text, "")["meta"]["count"], 0, "{text}");
    }
    // A surrogate is no UTF-8.
    let response = connection.get("/outputs?search=%ED%A0%80");
    assert!(reason(&response, "search").contains("UTF-8"));
    server.end(&[]);
}

#[test]
fn a_snapshot_without_the_index_says_so() {
    let dump = tempfile::tempdir().unwrap();
    let line = format!("{}\n", titled((1, "en", "Graphene sheets")));
    pinakes_tests::write_files(dump.path(), [("works.jsonl", line)]);
    let out = tempfile::tempdir().unwrap();
    let path = pinakes_tests::build(&[dump.path().to_path_buf()], out.path(), &["--no-search"]);
    let server = Server::serve_one(&path);
    let mut connection = server.connect();
    let refused = connection.get("/outputs?search=graphene");
    assert!(reason(&refused, "search").contains("without a full-text index"));
    let named = connection.get("/outputs?filter=name.search:graph").json();
    assert_eq!(named["meta"]["count"], 1);
    let page = connection.get("/browse/search?query=graphene");
    assert_eq!(page.status, 200);
    assert!(!page.text().contains("Outputs by relevance"));
    server.end(&[]);
}
