//! Compares the server's lists with the oracle: filters, sorts and pages, by random queries from a fixed seed.
//!
//! To test programs that are already built, name their directory:
//! `PINAKES_PROGRAMS=target/release cargo test -p pinakes-tests --test answers queries::`.

mod filter;
mod filter_refused;
mod filter_values;
mod page;
mod site;
mod sort;
mod sort_refused;
mod wrong;

use pinakes_tests::query_generator as asking;
use std::{
    collections::BTreeSet,
    path::PathBuf,
    time::{Duration, Instant},
};

use pinakes_oracle::Lists;
use pinakes_tests::{SeededRng, library, times};

use page::Reply;
use pinakes_tests::client::Connection;
use pinakes_tests::query_generator::{Coverage, QueryGenerator};
use pinakes_tests::server::{Server, Snapshots};

const MISMATCHES_SHOWN: usize = 20;
const IDS_SHOWN: usize = 5;
/// After an answer of the oracle that took longer, the connection is a new one: the server closes idle connections.
const SLOW_ANSWER: Duration = Duration::from_secs(1);

/// Sends queries to the server, counts them, and collects the differences from the oracle.
struct Comparison<'l> {
    lists: &'l Lists<'static>,
    server: &'l Server,
    connection: Connection,
    asked: usize,
    refused: usize,
    matched: usize,
    mismatches: Vec<String>,
}

impl Comparison<'_> {
    fn check(&mut self, route: &str, query: &str) {
        let begun = Instant::now();
        let expected = match self.lists.answer(route, query) {
            Ok(answer) => Reply::Page { count: answer.count, ids: answer.ids },
            Err(_) => Reply::Refused,
        };
        if begun.elapsed() > SLOW_ANSWER {
            self.connection = self.server.connect();
        }
        let target = format!("/{route}?{query}");
        let response = self.connection.get(&target);
        let found = Reply::of(&response);
        self.asked += 1;
        match &expected {
            Reply::Refused => self.refused += 1,
            Reply::Page { count, .. } => self.matched += usize::from(*count > 0),
        }
        if found != expected {
            let why = match (&expected, &found) {
                (Reply::Refused, _) => self.lists.answer(route, query).unwrap_err().0,
                (_, Reply::Refused) => response.text(),
                _ => "",
            };
            let mismatch = format!(
                "{target}\n  expected {}\n  found    {}\n  {why}",
                shown(&expected),
                shown(&found)
            );
            self.mismatches.push(mismatch);
            assert!(self.mismatches.len() < MISMATCHES_SHOWN, "{}", self.report());
        }
    }

    fn report(&self) -> String {
        let (wrong, asked) = (self.mismatches.len(), self.asked);
        format!("{wrong} of {asked} answers are wrong:\n{}", self.mismatches.join("\n"))
    }
}

/// Describes a reply with its first ids.
fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Refused => "400".to_owned(),
        Reply::Page { count, ids } => {
            let first = ids.iter().take(IDS_SHOWN).cloned().collect::<Vec<_>>().join(" ");
            format!("count {count}, {} ids: {first}", ids.len())
        }
    }
}

/// Compares this number of queries to a server with a snapshot of these inputs.
fn compare(inputs: &[PathBuf], queries: usize, seed: u64) {
    compare_snapshot(&Snapshots::from_inputs(inputs), inputs, queries, seed);
}

/// Compares this number of queries to a server with a snapshot made from these inputs in any way.
fn compare_snapshot(snapshots: &Snapshots, inputs: &[PathBuf], queries: usize, seed: u64) {
    let library = library(inputs);
    let lists = pinakes_tests::lists(inputs);
    let generators = QueryGenerator::all(library, lists);
    let (mut rng, mut coverage) = (SeededRng(seed), Coverage::default());
    let server = Server::serve(snapshots);
    let connection = server.connect();
    let mut comparison = Comparison {
        lists,
        server: &server,
        connection,
        asked: 0,
        refused: 0,
        matched: 0,
        mismatches: Vec::new(),
    };
    for generator in &generators {
        for query in wrong::queries(generator) {
            comparison.check(generator.route, &query);
        }
        for query in generator.every_operation(&mut rng, &mut coverage) {
            comparison.check(generator.route, &query);
        }
    }
    for _ in 0..times(queries / 3) {
        comparison.check("outputs", &asking::counted_query(&mut rng));
    }
    let all = comparison.asked + times(queries);
    while comparison.asked < all {
        let generator = pick_generator(&generators, &mut rng);
        let query = generator.query(&mut rng, &mut coverage, lists);
        comparison.check(generator.route, &query);
    }
    assert!(comparison.mismatches.is_empty(), "{}", comparison.report());
    check_covered(&generators, &coverage);
    let Comparison { asked, refused, matched, .. } = comparison;
    println!("{asked} queries: {refused} refused, {matched} matched something");
    assert!(matched * 2 > asked, "of {asked} queries only {matched} match anything");
    assert!(refused * 20 > asked, "of {asked} queries only {refused} are refused");
    server.end(&[]);
}

/// A random list, weighted by its number of keys.
fn pick_generator<'a>(generators: &'a [QueryGenerator], rng: &mut SeededRng) -> &'a QueryGenerator {
    let weight = |generator: &QueryGenerator| generator.filters.len() + generator.sorts.len();
    let mut at = rng.below(generators.iter().map(weight).sum());
    generators
        .iter()
        .find(|generator| {
            let is_chosen = at < weight(generator);
            at = at.saturating_sub(weight(generator));
            is_chosen
        })
        .unwrap()
}

/// Asserts that queries covered every operation of every filter key and every direction of every sort key.
fn check_covered(generators: &[QueryGenerator], coverage: &Coverage) {
    for generator in generators {
        for filter in &generator.filters {
            for operation in asking::operations(filter.key.kind) {
                let asked = (generator.route, filter.key.name, operation);
                assert!(coverage.operations.contains(&asked), "{asked:?} is not asked");
            }
        }
        for sort in &generator.sorts {
            for direction in ["", ":asc", ":desc"] {
                let asked = (generator.route, *sort, direction);
                assert!(coverage.directions.contains(&asked), "{asked:?} is not asked");
            }
        }
    }
}

#[test]
fn random_queries_of_the_sample_equal_the_oracle() {
    compare(&[pinakes_tests::sample()], 1_200, 1);
}

#[test]
fn random_queries_of_the_real_sample_equal_the_oracle() {
    let test = "random_queries_of_the_real_sample_equal_the_oracle";
    let Some(sample) = pinakes_tests::real_sample(test) else { return };
    compare(&sample, 400, 2);
}

#[test]
fn random_queries_of_every_vintage_equal_the_oracle() {
    let test = "random_queries_of_every_vintage_equal_the_oracle";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    compare(&every, 300, 3);
}

#[test]
fn random_queries_of_a_rebuilt_export_equal_the_oracle() {
    let sample = [pinakes_tests::sample()];
    compare_snapshot(&Snapshots::from_export(&sample), &sample, 500, 4);
    let test = "random_queries_of_a_rebuilt_export_equal_the_oracle";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    compare_snapshot(&Snapshots::from_export(&every), &every, 200, 5);
}

/// Filters of the lists whose pages are all read.
const WALKED: &[(&str, &str)] = &[
    ("outputs", "year:!null"),
    ("outputs", "is_oa:true|null"),
    ("outputs", "authors.countries.code:!null"),
    ("authors", "outputs_count:>=0"),
    ("sources", "type:!repository"),
    ("institutions", "country.code:!null"),
    ("publishers", "id:!null"),
    ("funders", "cited_by_count:!0"),
    ("topics", "updated_date:!1999"),
    ("domains", "name:!null"),
];

#[test]
fn all_pages_of_a_filtered_and_sorted_list_hold_each_record_once() {
    let snapshots = Snapshots::from_sample();
    let lists = pinakes_tests::lists(&[pinakes_tests::sample()]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (route, filter) in WALKED {
        let sorts = lists.keys(route).iter().filter(|key| key.is_sort).map(|key| key.name);
        for sort in sorts.flat_map(|key| [format!("{key}:asc"), format!("{key}:desc")]) {
            let query = format!("filter={}&sort={sort}&per_page=10", filter.replace('|', "%7C"));
            let expected = lists.answer(route, &query).unwrap().count;
            assert!(expected > 0, "{route}?{query}");
            let walked = walk(&mut connection, &format!("/{route}?{query}"), expected);
            let different: BTreeSet<&String> = walked.iter().collect();
            assert_eq!((walked.len(), different.len()), (expected, expected), "{route}?{query}");
        }
    }
    server.end(&[]);
}

/// The ids on all pages up to the first empty page.
fn walk(connection: &mut Connection, target: &str, expected: usize) -> Vec<String> {
    let mut walked = Vec::new();
    for page in 1..=expected + 1 {
        let target = format!("{target}&page={page}");
        match Reply::of(&connection.get(&target)) {
            Reply::Refused => panic!("{target} is refused"),
            Reply::Page { count, ids } => {
                assert_eq!(count, expected, "{target}");
                if ids.is_empty() {
                    return walked;
                }
                walked.extend(ids);
            }
        }
    }
    walked
}
