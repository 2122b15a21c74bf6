//! Names in many spellings: comparison, order, and search of long words.

use pinakes_tests::client::Connection;
use pinakes_tests::expect::{check_accepted, ids};
use pinakes_tests::server::{Server, Snapshots};

/// Names of the works with the ids from 1.
const NAMES: [Option<&str>; 19] = [
    Some("Éa"),
    Some("E\u{301}a"),
    Some("ea"),
    Some("😀"),
    None,
    Some(""),
    Some(" \u{3000} "),
    Some("eb"),
    Some("Zeta"),
    Some("<i>ea</i>"),
    Some("👩\u{200d}👩\u{200d}👧"),
    Some("ea"),
    Some("EA"),
    Some("日本"),
    Some("ß"),
    Some("ﬁ"),
    Some("fi"),
    Some("\u{202e}abc"),
    Some("SS"),
];

/// Ids by folded name (empty for emoji), then by bytes, then by id; without a name last.
const ASCENDING: [u32; 19] = [11, 4, 18, 10, 13, 2, 3, 12, 1, 8, 17, 16, 19, 15, 9, 14, 5, 6, 7];
/// The reverse, except for equal names and records without a name.
const DESCENDING: [u32; 19] = [14, 9, 15, 19, 16, 17, 8, 1, 3, 12, 2, 13, 10, 18, 4, 11, 5, 6, 7];

/// Filters of names, the expected count, and the first ids.
const FILTERS: &[(&str, u64, &[&str])] = &[
    ("/outputs?filter=name:ea", 6, &["HX_W1", "HX_W2", "HX_W3", "HX_W10", "HX_W12", "HX_W13"]),
    ("/outputs?filter=name:%C3%A9A", 6, &["HX_W1"]),
    ("/outputs?filter=name:e%CC%81a", 6, &["HX_W1"]),
    ("/outputs?filter=name:\"<b>ea</b>\"", 6, &["HX_W1"]),
    ("/outputs?filter=name:%E1%BA%9E", 2, &["HX_W15", "HX_W19"]),
    ("/outputs?filter=name:FI", 2, &["HX_W16", "HX_W17"]),
    ("/outputs?filter=name:%E6%97%A5%E6%9C%AC", 1, &["HX_W14"]),
    ("/outputs?filter=name:abc|zeta", 2, &["HX_W9", "HX_W18"]),
    ("/outputs?filter=name:null", 3, &["HX_W5", "HX_W6", "HX_W7"]),
    ("/outputs?filter=name:!null", 16, &["HX_W1", "HX_W2"]),
    ("/outputs?filter=name:\"null\"", 0, &[]),
    // A name that folds to nothing matches nothing, not even itself.
    ("/outputs?filter=name:%F0%9F%98%80", 0, &[]),
    ("/outputs?filter=name:!%F0%9F%98%80", 19, &["HX_W1"]),
    ("/outputs?filter=name:***", 0, &[]),
];

/// Publishes the names; the order of the lines and the number of parts vary.
fn snapshots(order: impl Iterator<Item = usize>, parts: usize) -> Snapshots {
    let lines: Vec<String> = order
        .map(|at| {
            let record = serde_json::json!({
                "id": format!("https://openalex.org/W{}", at + 1),
                "title": NAMES[at],
                "display_name": NAMES[at],
                "cited_by_count": 1,
                "updated_date": "2026-01-10",
            });
            format!("{record}\n")
        })
        .collect();
    let dump = tempfile::tempdir().unwrap();
    let files = lines.chunks(lines.len().div_ceil(parts)).enumerate();
    let files = files.map(|(at, lines)| (format!("works/part_{at:04}.jsonl"), lines.concat()));
    pinakes_tests::write_files(dump.path(), files);
    Snapshots::from_inputs(&[dump.path().to_path_buf()])
}

fn both_pages(connection: &mut Connection, query: &str) -> Vec<String> {
    let page = |page: u32| format!("/outputs?{query}&per_page=10&page={page}");
    (1..=2).flat_map(|number| ids(&connection.get(&page(number)))).collect()
}

#[test]
fn names_have_the_same_order_and_matches_in_every_build() {
    let builds = [snapshots(0..NAMES.len(), 1), snapshots((0..NAMES.len()).rev(), 3)];
    for snapshots in &builds {
        let server = Server::serve(snapshots);
        let mut connection = server.connect();
        for (query, expected) in [
            ("sort=name", ASCENDING),
            ("sort=name:asc", ASCENDING),
            ("sort=name:desc", DESCENDING),
            ("sort=title:desc", DESCENDING),
            ("sort=cited_by_count,name", ASCENDING),
            ("sort=name:desc&filter=cited_by_count:1", DESCENDING),
        ] {
            let expected = expected.map(|id| format!("HX_W{id}"));
            assert_eq!(both_pages(&mut connection, query), expected, "{query}");
        }
        for case in FILTERS {
            check_accepted(&mut connection, *case);
        }
        drop(connection);
        server.end(&[]);
    }
}

/// The authors have no records, and one author is merged into another.
#[test]
fn a_merged_id_matches_references_to_its_target() {
    let dump = tempfile::tempdir().unwrap();
    let work = |id: u32, author: u32| {
        let authorships =
            serde_json::json!([{ "author": { "id": format!("A{author}"), "display_name": "N" } }]);
        let record = serde_json::json!({
            "id": format!("https://openalex.org/W{id}"),
            "display_name": format!("{} work", "x".repeat(200 + id as usize * 50)),
            "authorships": authorships,
            "updated_date": "2026-01-10",
        });
        format!("{record}\n")
    };
    let merged = "merge_date,id,merge_into_id\n2026-01-15,A50,A51\n";
    pinakes_tests::write_files(
        dump.path(),
        [
            ("works.jsonl", [work(1, 50), work(2, 51), work(3, 52)].concat()),
            ("merged_ids/authors/2026-01-15.csv", merged.to_owned()),
        ],
    );
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (target, count, first) in [
        ("/outputs?filter=authors.id:HX_A50", 2, &["HX_W1", "HX_W2"][..]),
        ("/outputs?filter=authors.id:HX_A51", 2, &["HX_W1", "HX_W2"]),
        ("/outputs?filter=authors.id:HX_A52", 1, &["HX_W3"]),
        ("/outputs?filter=authors.name:n", 3, &["HX_W1"]),
        ("/outputs?filter=name.search:work+xxx", 3, &["HX_W1"]),
    ] {
        check_accepted(&mut connection, (target, count, first));
    }
    // The target of the merged id has no record.
    assert_eq!(server.get("/authors/HX_A50").status, 404);
    server.end(&[]);
}

#[test]
fn words_longer_than_the_index_keeps_are_found_exactly() {
    let dump = tempfile::tempdir().unwrap();
    let long = |count| "x".repeat(count);
    let han: String = (0..200).filter_map(|at| char::from_u32(0x4e00 + at)).collect();
    let titles = [
        (1, format!("{} {}", long(300), long(257))),
        (2, format!("{} Late", long(256))),
        (3, format!("Before {}y", long(300))),
        (4, han.clone()),
        (5, format!("{han}一")),
    ];
    let line = |(id, title)| {
        let work = serde_json::json!({"id": format!("W{id}"), "display_name": title, "cited_by_count": 9 - id});
        format!("{work}\n")
    };
    let lines: String = titles.into_iter().map(line).collect();
    pinakes_tests::write_files(dump.path(), [("works.jsonl", lines)]);
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let all = encoded(&han);
    let within = &all[20 * 9..199 * 9];
    for (asked, count, first) in [
        (format!("filter=name.search:{}", long(256)), 3, &["HX_W1", "HX_W2", "HX_W3"][..]),
        (format!("filter=name.search:{}", long(257)), 2, &["HX_W1", "HX_W3"]),
        (format!("filter=name.search:{}+{}", long(300), long(257)), 2, &["HX_W1", "HX_W3"]),
        (format!("filter=name.search:{}+before", long(257)), 1, &["HX_W3"]),
        (format!("filter=name.search:{}Y", long(300)), 1, &["HX_W3"]),
        (format!("filter=name.search:{}", long(301)), 0, &[]),
        (format!("filter=name.search:!{}", long(257)), 3, &["HX_W2", "HX_W4", "HX_W5"]),
        (format!("filter=name.search:{}|late", long(301)), 1, &["HX_W2"]),
        (format!("filter=name.search:{},id:HX_W3", long(257)), 1, &["HX_W3"]),
        (format!("filter=name.search:{all}"), 2, &["HX_W4", "HX_W5"]),
        (format!("filter=name.search:{within}"), 2, &["HX_W4", "HX_W5"]),
        (format!("filter=name.search:{all}{}", encoded("一")), 1, &["HX_W5"]),
    ] {
        check_accepted(&mut connection, (&format!("/outputs?{asked}"), count, first));
    }
    server.end(&[]);
}
