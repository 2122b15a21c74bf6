//! `/changes` says what `pinakes-compiler diff` says, part by part.

use std::{collections::BTreeSet, process::Command};

use pinakes_tests::program;
use pinakes_tests::server::{Server, Snapshots, command};
use serde_json::Value;

/// Two snapshots, the later one current and without some of the records, and their ids.
fn two() -> (Snapshots, [String; 2]) {
    let snapshots = Snapshots::from_sample();
    let before = snapshots.open().manifest().id.clone();
    let jsonl = pinakes_tests::sample().join("data/jsonl");
    snapshots.add(&["topics", "domains", "authors", "works"].map(|of| jsonl.join(of)));
    let after = snapshots.open().manifest().id.clone();
    (snapshots, [before, after])
}

/// Follows `next` from a path; returns all changes and the number of parts.
fn walk(server: &Server, first: String) -> (BTreeSet<String>, usize) {
    let (mut changes, mut parts, mut next) = (BTreeSet::new(), 0, Some(first));
    while let Some(path) = next {
        let reply = server.get(&path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let part = reply.json();
        for change in part["results"].as_array().unwrap() {
            assert!(changes.insert(sorted(change)), "{change} twice");
        }
        next = part["meta"]["next"].as_str().map(str::to_owned);
        parts += 1;
    }
    (changes, parts)
}

/// The change as text, with its members in order.
fn sorted(change: &Value) -> String {
    let sorted: std::collections::BTreeMap<_, _> = change.as_object().unwrap().iter().collect();
    serde_json::to_string(&sorted).unwrap()
}

/// What `diff` prints.
fn diff(snapshots: &Snapshots, ids: [&str; 2]) -> BTreeSet<String> {
    let output = Command::new(program("pinakes-compiler"))
        .arg("diff")
        .args(ids.map(|id| snapshots.path().join(id)))
        .args(["--format", "ndjson", "--quiet"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| sorted(&serde_json::from_str(line).unwrap())).collect()
}

#[test]
fn all_parts_together_are_what_diff_prints() {
    let (snapshots, [before, after]) = two();
    let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
    let server = Server::start(command.args(["--keep-open", "1"]));
    let expected = diff(&snapshots, [&before, &after]);
    for change in ["changed", "removed"] {
        let word = format!("\"change\":\"{change}\"");
        assert!(expected.iter().any(|line| line.contains(&word)), "no {change}");
    }
    let (found, parts) = walk(&server, format!("/changes?since={before}"));
    assert_eq!(found, expected);
    assert!(parts > 1, "{parts} parts");
    let (backwards, _) = walk(&server, format!("/@{before}/changes?since={after}"));
    assert_eq!(backwards, diff(&snapshots, [&after, &before]));
    let (authors, _) = walk(&server, format!("/changes?since={before}&entity=authors"));
    let is_author = |line: &&String| line.contains("\"entity\":\"authors\"");
    assert_eq!(authors, expected.iter().filter(is_author).cloned().collect());
    let (none, parts) = walk(&server, format!("/changes?since={after}"));
    assert_eq!((none.len(), parts), (0, 1));
    server.end(&[]);
}

#[test]
fn a_part_is_of_two_open_snapshots() {
    let (snapshots, [before, after]) = two();
    let server = Server::serve(&snapshots);
    assert_eq!(server.get(&format!("/changes?since={before}")).status, 404);
    assert_eq!(server.get("/changes").status, 400);
    let misspelt = server.get(&format!("/changes?sinse={after}"));
    assert!(misspelt.text().contains("did you mean `since`?"), "{}", misspelt.text());
    let past = server.get(&format!("/changes?since={after}&from=outputs:999999999999"));
    assert_eq!(past.status, 200);
    let again = format!("If-None-Match: {}", past.header("etag").unwrap());
    let target = format!("/changes?since={after}");
    assert_eq!(server.connect().request("GET", &target, &[&again]).status, 304);
    server.end(&[]);
}
