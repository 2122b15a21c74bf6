//! Autocomplete of the server compared with the oracle.
//!
//! The tests send seeded random queries, compare complete bodies and check general rules.
//!
//! `PINAKES_PROGRAMS=target/release cargo test -p pinakes-tests --test answers autocomplete::` tests programs
//! that are already built.

mod bodies;
mod cases;
mod dump;
mod edges;
mod invariants;
mod random_queries;

use pinakes_tests::similar_names;
use pinakes_tests::values;
use std::path::PathBuf;

use pinakes_oracle::{Autocomplete, Library};
use pinakes_tests::{SeededRng, times};

use crate::autocomplete::random_queries::{TextGenerator, WRONG};
use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots};

const MISMATCHES_SHOWN: usize = 20;

/// A server, and the oracle with the same inputs.
struct ServerAndOracle {
    library: &'static Library,
    autocomplete: &'static Autocomplete<'static>,
    server: Server,
    _snapshots: Snapshots,
}

impl ServerAndOracle {
    fn from_inputs(inputs: &[PathBuf]) -> ServerAndOracle {
        ServerAndOracle::new(Snapshots::from_inputs(inputs), inputs)
    }

    fn new(snapshots: Snapshots, inputs: &[PathBuf]) -> ServerAndOracle {
        let server = Server::serve(&snapshots);
        ServerAndOracle {
            library: pinakes_tests::library(inputs),
            autocomplete: pinakes_tests::autocomplete(inputs),
            server,
            _snapshots: snapshots,
        }
    }
}

/// Makes the target of a query for one entity type, or for all.
fn target(entity_type: Option<&str>, raw: &str) -> String {
    let path = entity_type.map_or("/autocomplete".to_owned(), |of| format!("/autocomplete/{of}"));
    if raw.is_empty() { path } else { format!("{path}?{raw}") }
}

/// Compares replies of the server with the oracle and counts the queries.
struct Comparison<'l> {
    autocomplete: &'l Autocomplete<'l>,
    connection: Connection,
    asked: usize,
    refused: usize,
    matched: usize,
    by_id: usize,
    mismatches: Vec<String>,
}

impl Comparison<'_> {
    fn ask(&mut self, entity_type: Option<&str>, raw: &str) {
        let expected = self.autocomplete.answer(entity_type, raw);
        self.asked += 1;
        let (status, body) = match &expected {
            Ok(suggestions) => {
                self.matched += usize::from(suggestions.count > 0);
                self.by_id += usize::from(suggestions.is_by_id);
                (200, suggestions.body().to_string())
            }
            Err(unanswered) => {
                self.refused += 1;
                (400, unanswered.message().to_owned())
            }
        };
        let target = target(entity_type, raw);
        let response = self.connection.get(&target);
        // Parsing normalises the text, so the comparison covers members, their order and values.
        let found = match (response.status, status) {
            (400, 400) => response.json()["message"].as_str().unwrap_or_default().to_owned(),
            (200, 200) => {
                let mut body = response.json();
                // Which lists take the place of missing records is tested with references without a record.
                body["meta"].as_object_mut().unwrap().shift_remove("lists");
                body.to_string()
            }
            _ => response.text().to_owned(),
        };
        if (response.status, &found) != (status, &body) {
            let mismatch = format!(
                "{target}\n  expected {status} {body}\n  found    {} {found}",
                response.status
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

/// Compares this many replies of a server with the oracle, and checks the invariants.
fn check(inputs: &[PathBuf], queries: usize, seed: u64) {
    check_pair(ServerAndOracle::from_inputs(inputs), queries, seed);
}

fn check_pair(pair: ServerAndOracle, queries: usize, seed: u64) {
    compare(&pair, queries, seed);
    invariants::check(&pair, seed + 10);
    pair.server.end(&[]);
}

fn compare(pair: &ServerAndOracle, queries: usize, seed: u64) {
    let generators = TextGenerator::all(pair.library, pair.autocomplete);
    let mut rng = SeededRng(seed);
    let mut comparison = Comparison {
        autocomplete: pair.autocomplete,
        connection: pair.server.connect(),
        asked: 0,
        refused: 0,
        matched: 0,
        by_id: 0,
        mismatches: Vec::new(),
    };
    for generator in &generators {
        WRONG.iter().for_each(|raw| comparison.ask(generator.entity_type, raw));
        for raw in generator.id_queries(&mut rng) {
            comparison.ask(generator.entity_type, &raw);
        }
    }
    for entity_type in random_queries::UNSUPPORTED {
        comparison.ask(Some(entity_type), "query=a");
        comparison.ask(Some(entity_type), "");
    }
    let all = comparison.asked + times(queries);
    while comparison.asked < all {
        let generator = values::pick(&mut rng, &generators);
        let query = generator.query(&mut rng);
        comparison.ask(generator.entity_type, &query);
    }
    assert!(comparison.mismatches.is_empty(), "{}", comparison.report());
    let Comparison { asked, refused, matched, by_id, .. } = comparison;
    println!("{asked} queries: {refused} refused, {matched} matched, {by_id} of them by an id");
    assert!(matched * 2 > asked, "of {asked} queries only {matched} match anything");
    assert!(refused * 50 * times(1) > asked, "of {asked} queries only {refused} are refused");
    assert!(by_id * 20 > asked, "of {asked} queries only {by_id} match by an id");
}

#[test]
fn the_server_answers_random_queries_of_the_sample_like_the_oracle() {
    check(&[pinakes_tests::sample()], 1_200, 1);
}

#[test]
fn the_server_answers_random_queries_of_the_real_sample_like_the_oracle() {
    let test = "the_server_answers_random_queries_of_the_real_sample_like_the_oracle";
    let Some(sample) = pinakes_tests::real_sample(test) else { return };
    check(&sample, 300, 2);
}

#[test]
fn the_server_answers_random_queries_of_the_current_and_2023_dumps_like_the_oracle() {
    let test = "the_server_answers_random_queries_of_the_current_and_2023_dumps_like_the_oracle";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    check(&every, 300, 3);
}

#[test]
fn a_snapshot_of_an_export_answers_like_the_oracle() {
    let check_rebuilt = |inputs: &[PathBuf], queries, seed| {
        check_pair(ServerAndOracle::new(Snapshots::from_export(inputs), inputs), queries, seed);
    };
    check_rebuilt(&[pinakes_tests::sample()], 500, 7);
    check_rebuilt(&[edges::write().path().to_path_buf()], 500, 8);
    check_rebuilt(&[dump::write().path().to_path_buf()], 500, 9);
    let test = "a_snapshot_of_an_export_answers_like_the_oracle";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    check_rebuilt(&every, 300, 10);
}

#[test]
fn the_server_answers_random_queries_of_edge_cases_like_the_oracle() {
    let dump = edges::write();
    check(&[dump.path().to_path_buf()], 300, 5);
}

#[test]
fn the_server_answers_random_queries_of_similar_names_like_the_oracle() {
    let dump = similar_names::write_dump();
    let pair = ServerAndOracle::from_inputs(&[dump.path().to_path_buf()]);
    compare(&pair, 200, 6);
    pair.server.end(&[]);
}

#[test]
fn the_server_answers_random_queries_of_many_scripts_like_the_oracle() {
    let dump = dump::write();
    check(&[dump.path().to_path_buf()], 400, 4);
}
