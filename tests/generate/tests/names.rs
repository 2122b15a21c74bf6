//! Tests of a plan of names: the form of the names, and the distribution of their words and counts.
#![allow(clippy::unwrap_used)]

use std::collections::{HashMap, HashSet};

use pinakes_generate::{Entity, Plan, record, write_dump};
use serde_json::Value;

/// Number of authors in the sample.
const AUTHORS: u64 = 50_000;

/// All authors of a plan of names, and the bytes of their lines.
fn authors(vocabulary: u32) -> (Vec<Value>, usize) {
    let plan = Plan::names(AUTHORS, vocabulary, 1);
    let (mut authors, mut bytes) = (Vec::new(), 0);
    let mut line = Vec::new();
    for ordinal in 0..AUTHORS {
        line.clear();
        record(&plan, Entity::Authors, ordinal, &mut line);
        authors.push(serde_json::from_slice(&line).unwrap());
        bytes += line.len();
    }
    (authors, bytes)
}

fn words(author: &Value) -> Vec<&str> {
    author["display_name"].as_str().unwrap().split(' ').collect()
}

fn share(authors: &[Value], holds: impl Fn(&Value) -> bool) -> f64 {
    authors.iter().filter(|author| holds(author)).count() as f64 / authors.len() as f64
}

#[test]
fn names_are_short_lines_of_three_words() {
    let (authors, bytes) = authors(300_000);
    assert!(bytes / authors.len() < 200, "{bytes} bytes");
    for author in &authors {
        let words = words(author);
        assert_eq!(words.len(), 3);
        assert!(words.iter().all(|word| (4..=10).contains(&word.len())), "{words:?}");
    }
    let near = |share: f64, expected: f64| assert!((share - expected).abs() < 0.02, "{share}");
    near(share(&authors, |author| author["display_name_alternatives"].is_array()), 0.2);
    assert!(share(&authors, |author| author["cited_by_count"] == 0) > 0.3);
    assert!(authors.iter().any(|author| author["cited_by_count"].as_u64() > Some(10_000)));
}

#[test]
fn about_one_name_in_a_hundred_has_the_commonest_word() {
    let (authors, _) = authors(300_000);
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for author in &authors {
        for word in words(author).into_iter().collect::<HashSet<_>>() {
            *counts.entry(word).or_default() += 1;
        }
    }
    let commonest = *counts.values().max().unwrap() as f64 / AUTHORS as f64;
    assert!((0.007..0.013).contains(&commonest), "{commonest}");
    assert!(counts.len() > 30_000, "{}", counts.len());
}

#[test]
fn alternative_names_have_the_words_of_the_name() {
    let (authors, _) = authors(1_000);
    let mut shapes = HashSet::new();
    for author in &authors {
        let words = words(author);
        let [first, middle, last] = words[..] else { panic!("{words:?}") };
        let initials = format!("{}. {}. {last}", &first[..1], &middle[..1]);
        let reversed = format!("{last}, {first} {middle}");
        let alternatives = author["display_name_alternatives"].as_array();
        for alternative in alternatives.into_iter().flatten() {
            assert!(*alternative == *initials || *alternative == *reversed, "{alternative}");
        }
        shapes.insert(alternatives.map(Vec::len));
    }
    assert_eq!(shapes, HashSet::from([None, Some(1), Some(2)]));
}

#[test]
fn names_use_only_the_words_of_the_vocabulary() {
    let (authors, _) = authors(1_000);
    let distinct: HashSet<&str> = authors.iter().flat_map(words).collect();
    assert_eq!(distinct.len(), 1_000);
}

#[test]
fn a_dump_of_names_holds_only_authors() {
    let dir = tempfile::tempdir().unwrap();
    let summary = write_dump(&Plan::names(3_000, 500, 7), dir.path(), 2).unwrap();
    for row in &summary.entities {
        let expected = if row.entity == Entity::Authors { 3_000 } else { 0 };
        assert_eq!(row.records, expected, "{:?}", row.entity);
    }
    let folders = std::fs::read_dir(dir.path().join("data/jsonl")).unwrap();
    let mut names: Vec<_> = folders.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["authors", "manifest.json"]);
}

#[test]
fn the_names_of_a_seed_do_not_change() {
    let plan = Plan::names(2_000, 5_000, 42);
    let mut hasher = blake3::Hasher::new();
    let mut line = Vec::new();
    for ordinal in 0..plan.count(Entity::Authors) {
        line.clear();
        record(&plan, Entity::Authors, ordinal, &mut line);
        hasher.update(&line);
    }
    assert_eq!(hasher.finalize().to_hex().as_str()[..32], *"c06ea771c87c472bb34f74f80812b500");
}
