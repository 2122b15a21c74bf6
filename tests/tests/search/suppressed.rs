//! Suppressed records in searches: no result, no count, no correction, and no part in the scores of others.

use std::cell::Cell;
use std::fs;

use pinakes_format::entity::Entity;
use pinakes_format::index::kept_sets::KeptSets;
use pinakes_format::query::{Deadline, Query, QueryError};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::snapshot::suppression_list::SuppressionList;
use pinakes_tests::server::{Server, command, make_writable};
use serde_json::json;

use crate::search::{encoded, numbers, titled, with_abstract};

/// Records 1, 2 and 5 are suppressed: only these have `zyzzyva`, only 5 is German, and `synovitis` is frequent through others.
/// Both ways of suppression still stem words as German.
fn lines() -> String {
    let mut works = vec![
        with_abstract(titled((1, "en", "Zyzzyva among the weevils")), "A zyzzyva and its graphene"),
        titled((2, "en", "More zyzzyva and graphene")),
        titled((3, "en", "Graphene sheets")),
        titled((4, "en", "Thin graphene in many other words")),
        titled((5, "de", "Netzwerke")),
        titled((6, "en", "The word netzwerk")),
    ];
    works.extend((10..30).map(|id| titled((id, "en", "Synovitis of the knee"))));
    works.iter().map(|work| format!("{work}\n")).collect()
}

#[test]
fn a_suppressed_text_is_not_findable() {
    let (dump, out, own) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    pinakes_tests::write_files(dump.path(), [("works.jsonl", lines())]);
    let inputs = [dump.path().to_path_buf()];
    let list = own.path().join("suppressed.txt");
    fs::write(&list, "HX_W1\nHX_W2\nHX_W5\n").unwrap();
    let listed = list.to_str().unwrap();
    let whole = pinakes_tests::build(&inputs, &out.path().join("whole"), &[]);
    let linked = pinakes_tests::build(&inputs, &out.path().join("linked"), &["--suppress", listed]);
    let options = ["--suppress".as_ref(), list.as_os_str(), "--snapshot".as_ref()];
    let serving = Server::start(&mut command(&[&options[..], &[whole.as_os_str()]].concat()));
    let linking = Server::serve_one(&linked);
    let id = whole.file_name().unwrap().to_str().unwrap();
    for (server, roots) in
        [(&serving, vec![String::new(), format!("/@{id}")]), (&linking, vec![String::new()])]
    {
        let mut connection = server.connect();
        for root in roots {
            for text in
                ["zyzzyva", "zyzzyva~1", "\"zyzzyva among\"", "zyz*", "zyzyva", "title:zyzzyva"]
            {
                let target = |end: &str| format!("{root}/outputs?search={}{end}", encoded(text));
                let found = connection.get(&target("")).json();
                assert_eq!(found["meta"]["count"], 0, "{text}: {found}");
                assert_eq!(found["meta"]["search"]["corrected"], json!({}), "{text}");
                let groups = connection.get(&target("&group_by=type")).json();
                assert_eq!(groups["group_by"], json!([]), "{text}");
                let sorted = connection.get(&target("&sort=id")).json();
                assert_eq!(sorted["meta"]["count"], 0, "{text}");
                assert_eq!(connection.get(&target("&format=ndjson")).text(), "");
                let sums = format!("{root}/statistics/outputs?search={}", encoded(text));
                assert_eq!(connection.get(&sums).json()["count"], 0, "{text}");
            }
            let found = connection.get(&format!("{root}/outputs?search=graphene")).json();
            assert_eq!((&found["meta"]["count"], numbers(&found)), (&json!(2), vec![3, 4]));
        }
    }
    // The scores of others are those of a snapshot that never had the suppressed records.
    let [mut one, mut other] = [serving.connect(), linking.connect()];
    for text in ["graphene", "synovitis knee", "synovitsi", "graphene sheets zyzzyva", "netzwerken"]
    {
        let target = format!("/outputs?search={}", encoded(text));
        let (served, linked) = (one.get(&target).json(), other.get(&target).json());
        assert_eq!(served["meta"], linked["meta"], "{text}");
        assert_eq!(served["results"], linked["results"], "{text}");
    }
    serving.end(&[]);
    linking.end(&[]);
}

/// Authors 1 and 2 are Smiths, and suppressed; author 3 is another. Each work has some of them, some have a Smith in the title.
fn works_of_smiths() -> String {
    let work = |at: u64| {
        let title = if at.is_multiple_of(5) { "Smith numbers" } else { "Numbers" };
        let mut work = titled((at, "en", title));
        let people = [&[1][..], &[2, 3], &[1, 2], &[3]][at as usize % 4];
        let authors = people.iter().map(|who| {
            let name = ["Ada Smith", "Bo Smith", "Cy Smith"][who - 1];
            json!({ "author": { "id": format!("https://openalex.org/A{who}"), "display_name": name } })
        });
        work["authorships"] = authors.collect();
        format!("{work}\n")
    };
    (1..400).map(work).collect()
}

#[test]
fn a_search_for_a_suppressed_name_goes_on_where_its_deadline_stopped_another() {
    let (dump, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    pinakes_tests::write_files(dump.path(), [("works.jsonl", works_of_smiths())]);
    let path = pinakes_tests::build(&[dump.path().to_path_buf()], out.path(), &[]);
    let list = SuppressionList::parse(b"A1\nA2\n").unwrap();
    let open = || Snapshot::open(&path).unwrap();
    let mut query = Query::new(Entity::Output);
    query.add_search("smith").unwrap();
    let page = |snapshot: &Snapshot, deadline: Deadline<'_>| {
        query.execute(snapshot, deadline).map(|page| (page.count, page.rows, page.scores))
    };
    let expected = page(&open().without(&list).unwrap(), Deadline::NEVER).unwrap();
    let has_smith = |at: &u64| at.is_multiple_of(5) || at % 4 == 1 || at % 4 == 3;
    assert_eq!(expected.0, (1..400).filter(has_smith).count() as u64);
    let kept = open().keeping(&KeptSets::new(1 << 20)).without(&list).unwrap();
    let mut attempts = 0;
    loop {
        attempts += 1;
        let checks = Cell::new(0);
        let is_over = || {
            checks.set(checks.get() + 1);
            checks.get() > 50
        };
        match page(&kept, Deadline::when(&is_over)) {
            Ok(found) => break assert_eq!(found, expected),
            Err(error) => assert!(matches!(error, QueryError::Deadline), "{error}"),
        }
        assert!(attempts < 50);
    }
    // Each attempt looks at fifty outputs at most.
    assert!(attempts > 3, "{attempts}");
    make_writable(out.path());
}
