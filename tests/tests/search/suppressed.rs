//! Suppressed records in searches: no result, no count, no correction, and no part in the scores of others.

use std::fs;

use pinakes_tests::server::{Server, command};
use serde_json::{Value, json};

use crate::{encoded, numbers, titled, with_abstract};

/// Records 1 and 2 are suppressed: only these have `zyzzyva`, and `synovitis` is frequent through others.
fn lines() -> String {
    let mut works = vec![
        with_abstract(titled((1, "en", "Zyzzyva among the weevils")), "A zyzzyva and its graphene"),
        titled((2, "en", "More zyzzyva and graphene")),
        titled((3, "en", "Graphene sheets")),
        titled((4, "en", "Thin graphene in many other words")),
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
    fs::write(&list, "HX_W1\nHX_W2\n").unwrap();
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
    let score = |found: &Value| -> Vec<f64> {
        let results = found["results"].as_array().unwrap();
        results.iter().map(|record| record["relevance_score"].as_f64().unwrap()).collect()
    };
    for text in ["graphene", "synovitis knee", "synovitsi", "graphene sheets zyzzyva"] {
        let target = format!("/outputs?search={}", encoded(text));
        let (served, linked) = (one.get(&target).json(), other.get(&target).json());
        assert_eq!(served["meta"], linked["meta"], "{text}");
        assert_eq!(numbers(&served), numbers(&linked), "{text}");
        // A record's place among all rows adds less than 0.02 to its score, and suppressed records keep their rows.
        let pairs = score(&served).into_iter().zip(score(&linked));
        for (served, linked) in pairs {
            assert!((served - linked).abs() < 0.02, "{text}: {served} {linked}");
        }
    }
    serving.end(&[]);
    linking.end(&[]);
}
