//! `sample` draws different matching records, the same for the same seed, and lists them in pages.

use std::collections::{BTreeMap, BTreeSet};

use pinakes_tests::client::Connection;
use pinakes_tests::expect::ids;
use pinakes_tests::query_generator::{Coverage, QueryGenerator};
use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::values::percent_encode;
use pinakes_tests::{SeededRng, library, sample};

use crate::tables::generated;

/// All ids of a sample in their order, from pages of a size; checks `meta.count` on each page.
#[track_caller]
fn drawn(connection: &mut Connection, target: &str, per_page: usize) -> Vec<String> {
    let mut found = Vec::new();
    for page in 1.. {
        let response = connection.get(&format!("{target}&per_page={per_page}&page={page}"));
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        let on_page = ids(&response);
        let count = response.json()["meta"]["count"].as_u64().unwrap() as usize;
        let rest = count.saturating_sub((page - 1) * per_page).min(per_page);
        assert_eq!(on_page.len(), rest, "{target} page {page}");
        if on_page.is_empty() {
            break;
        }
        found.extend(on_page);
    }
    found
}

#[test]
fn random_samples_equal_the_rules() {
    let snapshots = Snapshots::from_sample();
    let library = library(&[sample()]);
    let lists = pinakes_tests::lists(&[sample()]);
    let generators = QueryGenerator::all(library, lists);
    let (mut rng, mut coverage) = (SeededRng(1), Coverage::default());
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut compared = 0;
    for generator in generators.iter().filter(|generator| !generator.filters.is_empty()) {
        let route = generator.route;
        for at in 0..40 {
            let mut query = String::new();
            if at > 4 {
                let filter = generator.expressions(&mut rng, &mut coverage);
                query = format!("filter={}", percent_encode(&mut rng, &filter));
            }
            let Ok(matching) = lists.all(route, &query) else { continue };
            let records = [1, 5, 30, 100, 10_000][rng.below(5)];
            let seed = rng.below(3);
            let target = format!("/{route}?{query}&sample={records}&seed={seed}");
            let found = drawn(&mut connection, &target, [10, 25, 100][rng.below(3)]);
            assert_eq!(found.len(), records.min(matching.len()), "{target}");
            let different: BTreeSet<&String> = found.iter().collect();
            assert_eq!(different.len(), found.len(), "{target}");
            assert!(found.iter().all(|id| matching.contains(id)), "{target}");
            // A smaller sample is the beginning of a larger one.
            let more =
                format!("/{route}?{query}&sample={}&seed={seed}", records + records % 10_000);
            assert!(drawn(&mut connection, &more, 100).starts_with(&found), "{more}");
            // A sort orders the records of the same sample.
            let sort = generator.sorts[rng.below(generator.sorts.len())];
            let sort = format!("sort={sort}:{}", ["asc", "desc"][rng.below(2)]);
            let ordered = lists.all(route, &format!("{query}&{sort}")).unwrap();
            let ordered: Vec<&String> =
                ordered.iter().filter(|id| different.contains(id)).collect();
            let sorted = drawn(&mut connection, &format!("{target}&{sort}"), 25);
            assert_eq!(sorted.iter().collect::<Vec<_>>(), ordered, "{target}&{sort}");
            compared += found.len();
        }
    }
    assert!(compared > 2_000, "only {compared} records were drawn");
    server.end(&[]);
}

#[test]
fn seeds_draw_different_samples_and_each_record_about_equally_often() {
    let snapshots = generated(3_000);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut firsts = BTreeSet::new();
    for seed in 0..200 {
        let target =
            format!("/outputs?filter=year:!null&sample=100&seed={seed}&per_page=100&select=id");
        let found = ids(&connection.get(&target));
        assert_eq!(found.len(), 100);
        firsts.insert(found[..3].join(" "));
        found.into_iter().for_each(|id| *counts.entry(id).or_default() += 1);
    }
    assert!(firsts.len() > 190, "{} of 200 seeds differ", firsts.len());
    // 20,000 draws from about 3,000 records: 6.7 each on average.
    assert!(counts.len() > 2_900, "only {} records were drawn", counts.len());
    assert!(counts.values().all(|count| *count < 25), "a record was drawn too often");
    let default = connection.get("/outputs?sample=10");
    assert_eq!(default.text(), connection.get("/outputs?sample=10&seed=0").text());
    server.end(&[]);
}
