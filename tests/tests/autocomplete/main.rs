//! The real server's autocomplete against the oracle's: at random but the same on every run, in whole
//! bodies, and by what must hold of any answers.
//!
//! To hold programs built elsewhere to it, name their directory:
//! `PINAKES_PROGRAMS=target/release cargo test -p pinakes-tests --test autocomplete`.

#![allow(clippy::unwrap_used, missing_docs)]

mod asking;
mod bodies;
mod cases;
mod dump;
mod edges;
mod promises;

use pinakes_tests::similar_names;
use pinakes_tests::values;
use std::path::PathBuf;

use pinakes_oracle::{Autocomplete, Library};
use pinakes_tests::SeededRng;

use crate::asking::{Asker, WRONG};
use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots};

const MISMATCHES_SHOWN: usize = 20;

/// A server of a snapshot of some inputs, and the oracle's reading of the same.
struct Both {
    library: &'static Library,
    server: Server,
    _snapshots: Snapshots,
}

impl Both {
    fn of(inputs: &[PathBuf]) -> Both {
        Both::of_snapshots(Snapshots::from_inputs(inputs), inputs)
    }

    fn of_snapshots(snapshots: Snapshots, inputs: &[PathBuf]) -> Both {
        let server = Server::serve(&snapshots);
        Both { library: pinakes_tests::library(inputs), server, _snapshots: snapshots }
    }
}

/// The address of a query to one entity type, or to all.
fn target(entity_type: Option<&str>, raw: &str) -> String {
    let path = entity_type.map_or("/autocomplete".to_owned(), |of| format!("/autocomplete/{of}"));
    if raw.is_empty() { path } else { format!("{path}?{raw}") }
}

/// Questions to the server that are counted, each held to the oracle.
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
        // Parsed and written again, so that only the order of members and what they say is compared.
        let found = match (response.status, status) {
            (400, 400) => response.json()["message"].as_str().unwrap_or_default().to_owned(),
            (200, 200) => response.json().to_string(),
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

/// Holds the server of a snapshot of these inputs to the oracle, with this many queries, and to what it
/// promises.
fn check(inputs: &[PathBuf], queries: usize, seed: u64) {
    check_both(Both::of(inputs), queries, seed);
}

fn check_both(both: Both, queries: usize, seed: u64) {
    compare(&both, queries, seed);
    promises::check(&both, seed + 10);
    both.server.end(&[]);
}

fn compare(both: &Both, queries: usize, seed: u64) {
    let autocomplete = Autocomplete::new(both.library);
    let askers = Asker::all(both.library, &autocomplete);
    let mut rng = SeededRng(seed);
    let mut comparison = Comparison {
        autocomplete: &autocomplete,
        connection: both.server.connect(),
        asked: 0,
        refused: 0,
        matched: 0,
        by_id: 0,
        mismatches: Vec::new(),
    };
    for asker in &askers {
        WRONG.iter().for_each(|raw| comparison.ask(asker.entity_type, raw));
        for raw in asker.each_id(&mut rng) {
            comparison.ask(asker.entity_type, &raw);
        }
    }
    for entity_type in asking::UNSUPPORTED {
        comparison.ask(Some(entity_type), "query=a");
        comparison.ask(Some(entity_type), "");
    }
    while comparison.asked < queries {
        let asker = values::pick(&mut rng, &askers);
        let query = asker.query(&mut rng);
        comparison.ask(asker.entity_type, &query);
    }
    assert!(comparison.mismatches.is_empty(), "{}", comparison.report());
    let Comparison { asked, refused, matched, by_id, .. } = comparison;
    println!("{asked} queries: {refused} refused, {matched} matched, {by_id} of them by an id");
    assert!(matched * 2 > asked, "of {asked} queries only {matched} match anything");
    assert!(refused * 50 > asked, "of {asked} queries only {refused} are refused");
    assert!(by_id * 20 > asked, "of {asked} queries only {by_id} match by an id");
}

#[test]
fn random_queries_of_the_projects_own_sample_are_answered_as_the_oracle_does() {
    check(&[pinakes_tests::sample()], 6_000, 1);
}

#[test]
fn random_queries_of_the_real_sample_are_answered_as_the_oracle_does() {
    let test = "random_queries_of_the_real_sample_are_answered_as_the_oracle_does";
    let Some(sample) = pinakes_tests::real_sample(test) else { return };
    check(&sample, 3_000, 2);
}

#[test]
fn random_queries_of_every_vintage_are_answered_as_the_oracle_does() {
    let test = "random_queries_of_every_vintage_are_answered_as_the_oracle_does";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    check(&every, 3_000, 3);
}

#[test]
fn a_snapshot_made_of_an_export_is_asked_the_same_and_answers_as_the_oracle_does() {
    let check_rebuilt = |inputs: &[PathBuf], queries, seed| {
        check_both(Both::of_snapshots(Snapshots::from_export(inputs), inputs), queries, seed);
    };
    check_rebuilt(&[pinakes_tests::sample()], 3_000, 7);
    check_rebuilt(&[edges::written().path().to_path_buf()], 1_500, 8);
    check_rebuilt(&[dump::written().path().to_path_buf()], 2_000, 9);
    let test = "a_snapshot_made_of_an_export_is_asked_the_same_and_answers_as_the_oracle_does";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    check_rebuilt(&every, 2_000, 10);
}

#[test]
fn random_queries_of_names_at_the_edges_are_answered_as_the_oracle_does() {
    let dump = edges::written();
    check(&[dump.path().to_path_buf()], 3_000, 5);
}

#[test]
fn random_queries_of_a_crowd_are_answered_as_the_oracle_does() {
    let dump = similar_names::write_dump();
    let both = Both::of(&[dump.path().to_path_buf()]);
    compare(&both, 500, 6);
    both.server.end(&[]);
}

#[test]
fn random_queries_of_names_in_many_scripts_are_answered_as_the_oracle_does() {
    let dump = dump::written();
    check(&[dump.path().to_path_buf()], 4_000, 4);
}
