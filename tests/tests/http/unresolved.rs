//! References without a record: what the routes of their ids offer, and searches of their names.

use pinakes_tests::client::Connection;
use pinakes_tests::expect::{check_accepted, ids};
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

/// Two works by authors of whom one has a record; one work refers to works without a record.
fn snapshots() -> Snapshots {
    let author = |id: &str, name: &str, orcid: Value| {
        let affiliation =
            json!({ "id": "https://openalex.org/I7", "display_name": "Harvard University" });
        json!({
            "author": { "id": format!("https://openalex.org/{id}"), "display_name": name, "orcid": orcid },
            "institutions": [affiliation],
        })
    };
    let ada = || author("A5", "Ada B. Lovelace", "https://orcid.org/0000-0003-4237-824X".into());
    let works = [
        json!({
            "id": "https://openalex.org/W1",
            "display_name": "First",
            "cited_by_count": 9,
            "authorships": [ada(), author("A6", "John Smith", Value::Null)],
            "referenced_works": ["https://openalex.org/W2", "https://openalex.org/W8", "https://openalex.org/W9"],
        }),
        json!({
            "id": "https://openalex.org/W2",
            "display_name": "Second",
            "cited_by_count": 1,
            "authorships": [author("A6", "John Smith", Value::Null)],
        }),
    ];
    let john = json!({
        "id": "https://openalex.org/A6",
        "display_name": "John Smith",
        "display_name_alternatives": ["Jonathan Smithson", "東京太郎"],
    });
    let source = json!({
        "id": "https://openalex.org/S1",
        "display_name": "Journal",
        "host_organization_name": "Oxford University Press",
    });
    let lines = |records: &[Value]| records.iter().map(|of| format!("{of}\n")).collect::<String>();
    let dump = tempfile::tempdir().unwrap();
    pinakes_tests::write_files(
        dump.path(),
        [
            ("works.jsonl", lines(&works)),
            ("authors.jsonl", lines(&[john])),
            ("sources.jsonl", lines(&[source])),
        ],
    );
    Snapshots::from_inputs(&[dump.path().to_path_buf()])
}

/// The reason of the first detail.
fn reason(connection: &mut Connection, target: &str) -> String {
    let response = connection.get(target);
    assert_eq!(response.status, 404, "{target}");
    response.json()["details"][0]["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_id_without_a_record_offers_the_lists_of_the_records_that_refer_to_it() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let (by_id, by_orcid) =
        ("/outputs?filter=authors.id:HX_A5", "/outputs?filter=authors.orcid:0000-0003-4237-824x");
    for (target, list) in [
        ("/authors/HX_A5", by_id),
        ("/resolve/A5", by_id),
        ("/resolve/https://orcid.org/0000-0003-4237-824X", by_orcid),
        ("/institutions/HX_I7", "/outputs?filter=authors.affiliations.id:HX_I7"),
        ("/outputs/HX_W9", "/outputs?filter=references:HX_W9"),
        ("/outputs/HX_W9/citations", "/outputs?filter=references:HX_W9"),
    ] {
        let reason = reason(&mut connection, target);
        assert!(reason.contains(&format!("`{list}` lists ")), "{target}: {reason}");
        assert!(!ids(&connection.get(list)).is_empty(), "{list}");
    }
    // Nothing refers to these.
    for target in ["/authors/HX_A7", "/resolve/0000-0003-4237-8241", "/outputs/HX_W7"] {
        assert_eq!(reason(&mut connection, target), "", "{target}");
    }
    for (query, lists) in [
        ("0000-0003-4237-824X", json!([by_orcid])),
        ("https://openalex.org/A5", json!([by_id])),
        ("0000-0003-4237-8241", Value::Null),
        ("A6", Value::Null),
    ] {
        let body = connection.get(&format!("/autocomplete?query={query}")).json();
        assert_eq!(body["meta"]["lists"], lists, "{query}");
    }
    server.end(&[]);
}

#[test]
fn words_of_names_in_references_are_searched() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let both = &["HX_W1", "HX_W2"][..];
    for (filter, expected) in [
        ("authors.name.search:love ada", &["HX_W1"][..]),
        ("authors.name.search:LOVELÁCE", &["HX_W1"]),
        ("authors.name.search:smith", both),
        ("authors.name.search:smithson jo", both),
        ("authors.name.search:京太", both),
        ("authors.name.search:!love", &["HX_W2"]),
        ("authors.name.search:love|smith", both),
        // The words of two authors are no name.
        ("authors.name.search:ada smith", &[]),
        ("authors.name.search:ovelace", &[]),
        ("authors.affiliations.name.search:harv", both),
        ("authors.affiliations.name:harvard university", both),
    ] {
        let count = expected.len() as u64;
        let filter = filter.replace(' ', "%20");
        check_accepted(&mut connection, (&format!("/outputs?filter={filter}"), count, expected));
    }
    let host = "/sources?filter=host_organization_name.search:";
    for (words, count) in [("press%20oxf", 1), ("cambridge", 0), ("!oxford", 0)] {
        let first = if count > 0 { &["HX_S1"][..] } else { &[] };
        check_accepted(&mut connection, (&format!("{host}{words}"), count, first));
    }
    server.end(&[]);
}

#[test]
fn an_empty_list_names_the_key_that_finds_words() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut hint = |query: &str| connection.get(query).json()["meta"]["hint"].clone();
    let expected = "`authors.affiliations.name` compares the whole value; \
                    `authors.affiliations.name.search` finds words of it";
    assert_eq!(hint("/outputs?filter=authors.affiliations.name:harvard"), expected);
    assert!(hint("/sources?filter=host_organization_name:oxford").is_string());
    assert!(hint("/outputs?filter=name:firs").is_string());
    for without in [
        "/outputs?filter=authors.affiliations.name:harvard%20university",
        "/outputs?filter=type:book",
        "/outputs?filter=name:!first|second",
        "/outputs?filter=authors.affiliations.name:null",
        "/outputs?filter=keywords:nothing",
    ] {
        assert_eq!(hint(without), Value::Null, "{without}");
    }
    server.end(&[]);
}

#[test]
fn pages_link_to_records_alone_and_offer_the_lists_of_other_names() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut page = |target: &str, status: u16| {
        let response = connection.get(target);
        assert_eq!(response.status, status, "{target}");
        response.text().to_owned()
    };
    let by_ada = "href=\"/browse/outputs?filter=authors.id:HX_A5\"";
    for target in ["/browse/outputs/HX_W1", "/browse/outputs"] {
        let html = page(target, 200);
        assert!(html.contains("href=\"/browse/authors/HX_A6\""), "{target}");
        assert!(!html.contains("href=\"/browse/authors/HX_A5\""), "{target}");
        assert!(html.contains(by_ada) && html.contains("Ada B. Lovelace"), "{target}");
    }
    let html = page("/browse/outputs/HX_W1", 200);
    assert!(html.contains("It lists 3; this snapshot lacks 2 of them."), "{html}");
    let html = page("/browse/authors/HX_A5", 404);
    assert!(html.contains(by_ada), "{html}");
    let html = page("/browse/search?query=0000-0003-4237-824X", 200);
    assert!(html.contains("/browse/outputs?filter=authors.orcid:0000-0003-4237-824x"), "{html}");
    // A chip has the name, as groups have.
    let html = page("/browse/outputs?filter=authors.id:HX_A5", 200);
    assert!(html.contains("Ada B. Lovelace <span class=\"cross\""), "{html}");
    server.end(&[]);
}
