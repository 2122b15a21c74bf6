//! Compares the legacy variant of the server with the oracle, by complete bodies and headers: every record
//! in both shapes, every page, and random queries from a fixed seed.

mod edges;
mod links;

use pinakes_tests::query_generator as asking;
use std::{collections::BTreeSet, path::PathBuf};

use pinakes_oracle::{LEGACY_ROUTES, Legacy, LegacyAnswer, same};
use pinakes_tests::{SeededRng, times};
use serde_json::Value;

use edges::edges;
use links::{Link, others};
use pinakes_tests::client::{Connection, Response};
use pinakes_tests::query_generator::{Coverage, FilterKey, QueryGenerator};
use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::values::{chance, percent_encode, pick};

const MISMATCHES_SHOWN: usize = 20;

/// The number of expected answers of each kind.
#[derive(Default)]
struct Tally {
    asked: usize,
    refused: usize,
    matched: usize,
    grouped: usize,
    linked: usize,
}

/// Sends queries to the server and collects the differences from the oracle.
struct Comparison<'l> {
    legacy: &'l Legacy<'l>,
    connection: Connection,
    tally: Tally,
    mismatches: Vec<String>,
}

impl Comparison<'_> {
    fn check(&mut self, route: &str, query: &str) {
        let target = format!("/legacy/{route}?{query}");
        let response = self.connection.get(&target);
        let expected = self.legacy.answer(route, query);
        let tally = &mut self.tally;
        tally.asked += 1;
        let difference = match &expected {
            Err(refused) => {
                tally.refused += 1;
                compare_refusal(&response).map_err(|found| format!("{}: {found}", refused.0))
            }
            Ok(answer) => {
                tally.matched += usize::from(answer.total > 0);
                tally.grouped += usize::from(answer.total > 0 && query.contains("group_by="));
                tally.linked += usize::from(!answer.links.is_empty());
                compare_answer(answer, query, &response)
            }
        };
        if let Err(difference) = difference {
            self.mismatches.push(format!("{target}\n  {difference}"));
            assert!(self.mismatches.len() < MISMATCHES_SHOWN, "{}", self.mismatches.join("\n"));
        }
    }
}

fn compare_refusal(response: &Response) -> Result<(), String> {
    let is_expected = response.status == 400
        && response.json()["details"].as_array().is_some_and(|details| !details.is_empty())
        && response.header("x-total-count").is_none()
        && response.header("link").is_none();
    if is_expected { Ok(()) } else { Err(format!("{} {}", response.status, response.text())) }
}

fn compare_answer(expected: &LegacyAnswer, query: &str, response: &Response) -> Result<(), String> {
    if response.status != 200 {
        return Err(format!("{} {}", response.status, response.text()));
    }
    same(&expected.body, &response.json())?;
    let total = response.header("x-total-count");
    if total != Some(expected.total.to_string().as_str()) {
        return Err(format!("total {total:?}, expected {}", expected.total));
    }
    let link = |(relation, page): &(&str, u64)| Link {
        relation: (*relation).to_owned(),
        page: *page,
        others: others(query),
    };
    let links: Vec<Link> = expected.links.iter().map(link).collect();
    let found = links::read(response);
    if found != links {
        return Err(format!("links {found:?}, expected {links:?}"));
    }
    Ok(())
}

/// A generator of queries for each route.
fn generators(legacy: &Legacy<'_>) -> Vec<QueryGenerator> {
    let filter = |route: &'static str, key: pinakes_oracle::Key| {
        FilterKey::new(key, legacy.values(route, &key))
    };
    let generator = |route: &'static str| {
        let keys = legacy.keys(route).into_iter();
        QueryGenerator::from_filters(route, keys.map(|key| filter(route, key)).collect())
    };
    LEGACY_ROUTES.into_iter().map(generator).collect()
}

/// Converts the ids of a filter into legacy ids, some of them into plain numbers.
fn with_legacy_ids(rng: &mut SeededRng, filter: &str) -> String {
    let mut filter = filter.replace("HX_", "OA:").replace("hx_", "oa:");
    if chance(rng, 20) {
        filter = filter.replace("OA:T", "");
    }
    for key in ["domain.id:", "field.id:", "fields.id:"] {
        if chance(rng, 50) {
            filter = filter.replace(key, &format!("{key}OA:")).replace("OA:!", "!OA:");
        }
    }
    filter
}

fn query(
    rng: &mut SeededRng,
    coverage: &mut Coverage,
    generator: &QueryGenerator,
    legacy: &Legacy<'_>,
) -> String {
    let mut parameters = Vec::new();
    if chance(rng, 85) {
        let filter = generator.expressions(rng, coverage);
        let filter = with_legacy_ids(rng, &filter);
        parameters.push(format!("filter={}", percent_encode(rng, &filter)));
    }
    if chance(rng, 40) {
        parameters.push(format!("sort={}", pick(rng, &["1", "1", "-1", "-1", "0"])));
    }
    if chance(rng, 25) {
        parameters.push(format!("group_by={}", pick(rng, legacy.groupings(generator.route))));
    }
    if chance(rng, 80) {
        let size = *pick(rng, &["1", "2", "3", "7", "10", "25", "50", "199", "200", "201"]);
        parameters.push(format!("{}={size}", pick(rng, &["per_page", "per-page"])));
    }
    if chance(rng, 60) {
        let total =
            legacy.answer(generator.route, &parameters.join("&")).map_or(0, |answer| answer.total);
        let page = *pick(rng, &[1, 2, 3, total, total + 1, 1 + total / 7, 2_147_483_647]);
        parameters.push(format!("page={page}"));
    }
    if chance(rng, 5) {
        parameters.push("mailto=a%40b".to_owned());
    }
    let turns = rng.below(parameters.len() + 1);
    parameters.rotate_left(turns);
    parameters.join("&")
}

/// Compares every record in both shapes, and all pages of several sizes by following links.
fn compare_records(connection: &mut Connection, legacy: &Legacy<'_>) {
    for route in LEGACY_ROUTES {
        let records = legacy.records(route);
        assert!(!records.is_empty(), "{route}");
        for (id, single, _) in &records {
            let response = connection.get(&format!("/legacy/{route}/{id}"));
            assert_eq!(response.status, 200, "{route} {id}");
            same(single, &response.json()).unwrap_or_else(|why| panic!("{route} {id}: {why}"));
        }
        let ids: Vec<&str> = records.iter().map(|(id, ..)| id.as_str()).collect();
        let items: Value = records.iter().map(|(_, _, item)| item.clone()).collect();
        for size in [200, 33] {
            let walked = walk(connection, &format!("/legacy/{route}?per_page={size}"), ids.len());
            same(&items, &walked).unwrap_or_else(|why| panic!("{route} by {size}: {why}"));
        }
        let walked = walk(connection, &format!("/legacy/{route}?sort=1&per_page=50"), ids.len());
        let walked: BTreeSet<&str> =
            walked.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(walked, ids.into_iter().collect());
    }
}

/// Follows `next` links from a page to the last one, and returns all records.
fn walk(connection: &mut Connection, first: &str, expected: usize) -> Value {
    let mut walked = Vec::new();
    let mut target = Some(first.to_owned());
    while let Some(at) = target {
        let response = connection.get(&at);
        assert_eq!(response.header("x-total-count"), Some(expected.to_string().as_str()), "{at}");
        walked.extend(response.json().as_array().unwrap().iter().cloned());
        assert!(walked.len() <= expected, "{at}");
        target = links::target(&response, "next");
    }
    assert_eq!(walked.len(), expected, "{first}");
    walked.into()
}

/// Compares every record of these inputs, every filter key and grouping, and random queries up to this
/// number in total.
fn compare(inputs: &[PathBuf], questions: usize, seed: u64) {
    let snapshots = Snapshots::from_inputs(inputs);
    let legacy = Legacy::new(pinakes_tests::library(inputs));
    let generators = generators(&legacy);
    let (mut rng, mut coverage) = (SeededRng(seed), Coverage::default());
    let server = Server::serve(&snapshots);
    compare_records(&mut server.connect(), &legacy);
    let (connection, tally) = (server.connect(), Tally::default());
    let mut comparison = Comparison { legacy: &legacy, connection, tally, mismatches: Vec::new() };
    for generator in &generators {
        for query in generator.every_operation(&mut rng, &mut coverage) {
            comparison.check(generator.route, &query.replace("HX_", "OA:"));
        }
        for grouping in legacy.groupings(generator.route) {
            comparison.check(generator.route, &format!("group_by={grouping}"));
        }
    }
    while comparison.tally.asked < questions {
        let generator = &generators[usize::from(chance(&mut rng, 25))];
        let query = query(&mut rng, &mut coverage, generator, &legacy);
        comparison.check(generator.route, &query);
    }
    assert!(comparison.mismatches.is_empty(), "{}", comparison.mismatches.join("\n"));
    for generator in &generators {
        for filter in &generator.filters {
            for operation in asking::operations(filter.key.kind) {
                let asked = (generator.route, filter.key.name, operation);
                assert!(coverage.operations.contains(&asked), "no query covers {asked:?}");
            }
        }
    }
    let Tally { asked, refused, matched, grouped, linked } = comparison.tally;
    println!(
        "{asked} asked: {refused} refused, {matched} matched, {grouped} grouped, {linked} linked"
    );
    for count in [refused * 10, matched * 3, grouped * 20, linked * 10] {
        assert!(count > asked, "too few answers of one kind");
    }
    server.end(&[]);
}

#[test]
fn legacy_replies_about_unusual_references_equal_the_oracle() {
    let dump = edges();
    let inputs = [dump.path().to_owned()];
    let all =
        Legacy::new(pinakes_tests::library(&inputs)).answer("topics", "group_by=subfield").unwrap();
    assert!(all.total > 200 && all.body.as_array().unwrap().len() == 200, "{}", all.total);
    compare(&inputs, times(800), 14);
}

#[test]
fn a_merged_legacy_id_redirects_to_its_current_record() {
    let dump = edges();
    let snapshots = Snapshots::from_inputs(&[dump.path().to_owned()]);
    let server = Server::serve(&snapshots);
    for query in ["", "?x=%zz"] {
        let response = server.get(&format!("/legacy/topics/OA:T300{query}"));
        assert_eq!(response.status, 301);
        let location = format!("/legacy/topics/OA:T2{query}");
        assert_eq!(response.header("location"), Some(location.as_str()));
        let message = "Topic with ID OA:T300 was merged into OA:T2";
        assert_eq!(response.json()["message"], message);
        assert_eq!(server.get(&location).json()["id"], "OA:T2");
    }
    let filtered = server.get("/legacy/topics?filter=id:OA:T300").json();
    assert_eq!(filtered[0]["id"], "OA:T2");
    server.end(&[]);
}

#[test]
fn legacy_replies_about_the_sample_equal_the_oracle() {
    compare(&[pinakes_tests::sample()], times(1_500), 11);
}

#[test]
fn legacy_replies_about_the_real_taxonomy_equal_the_oracle() {
    let test = "legacy_replies_about_the_real_taxonomy_equal_the_oracle";
    let Some(sample) = pinakes_tests::real_sample(test) else { return };
    compare(&sample, times(700), 12);
}

#[test]
fn legacy_replies_about_every_vintage_equal_the_oracle() {
    let test = "legacy_replies_about_every_vintage_equal_the_oracle";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    compare(&every, times(500), 13);
}
