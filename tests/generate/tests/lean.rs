//! Tests of lean works: size, and the distribution of the values by which lists filter and sort.
#![allow(clippy::unwrap_used)]

use pinakes_generate::{Entity, Plan, record};
use serde_json::Value;

/// Number of works in the sample.
const WORKS: u64 = 20_000;

/// All works of a lean plan, and the bytes of their lines.
fn works() -> (Vec<Value>, usize) {
    let plan = Plan::lean(WORKS, 1);
    let (mut works, mut bytes) = (Vec::new(), 0);
    let mut line = Vec::new();
    for ordinal in 0..WORKS {
        line.clear();
        record(&plan, Entity::Works, ordinal, &mut line);
        works.push(serde_json::from_slice(&line).unwrap());
        bytes += line.len();
    }
    (works, bytes)
}

fn share(works: &[Value], holds: impl Fn(&Value) -> bool) -> f64 {
    works.iter().filter(|work| holds(work)).count() as f64 / works.len() as f64
}

#[test]
fn lean_works_are_short_and_as_skewed_as_real_works() {
    let (works, bytes) = works();
    assert!(bytes / works.len() < 2_100, "{bytes} bytes");
    let near = |share: f64, expected: f64| assert!((share - expected).abs() < 0.02, "{share}");
    near(share(&works, |work| work["cited_by_count"] == 0), 0.4);
    near(share(&works, |work| work["type"] == "article"), 0.7);
    near(share(&works, |work| work["doi"].is_null()), 0.25);
    near(share(&works, |work| work["fwci"].is_null()), 0.2);
    near(share(&works, |work| work["publication_year"].as_u64() > Some(2006)), 0.5);
    assert!(works.iter().any(|work| work["cited_by_count"].as_u64() > Some(2_000)));
    for work in &works {
        assert!((1950..=2026).contains(&work["publication_year"].as_u64().unwrap()));
        assert!((1..=4).contains(&work["authorships"].as_array().unwrap().len()));
        assert_eq!(work["primary_topic"], work["topics"].get(0).cloned().unwrap_or_default());
        assert_eq!(work["title"], work["display_name"]);
        let references = work["referenced_works"].as_array().unwrap().len();
        assert_eq!(work["referenced_works_count"], references);
    }
}

#[test]
fn a_lean_dump_has_few_other_records() {
    let (full, lean) = (Plan::new(10_000_000, 1), Plan::lean(10_000_000, 1));
    assert_eq!(lean.count(Entity::Works), full.count(Entity::Works));
    assert_eq!(lean.count(Entity::Topics), full.count(Entity::Topics));
    assert_eq!(lean.count(Entity::Authors), 20_000);
    assert_eq!(lean.count(Entity::Sources), 2_000);
    assert_eq!(lean.count(Entity::Institutions), 2_000);
}
