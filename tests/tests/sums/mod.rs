//! Compares groups and statistics with the oracle, over every key that has them and random filters.

mod refused;

use std::path::PathBuf;

use pinakes_oracle::{Key, Kind, Lists};
use pinakes_tests::client::Connection;
use pinakes_tests::query_generator::{Coverage, QueryGenerator};
use pinakes_tests::server::{Server, Snapshots, command};
use pinakes_tests::values::{percent_encode, pick};
use pinakes_tests::{SeededRng, library, real_sample, sample, times};
use serde_json::Value;

/// A stream holds at least this many groups of texts with numbers.
const STREAMED_MIN: usize = 20_000;
/// Parameters of a page of groups.
const PAGE: &str = "per_page=10";

fn get(connection: &mut Connection, target: &str) -> Value {
    let response = connection.get(target);
    assert_eq!(response.status, 200, "{target}: {}", response.text());
    response.json()
}

/// All groups of a list, read in pages of ten.
fn all_groups(connection: &mut Connection, target: &str) -> (Vec<Value>, u64) {
    let (mut groups, mut page) = (Vec::new(), 1);
    loop {
        let mut body = get(connection, &format!("{target}&{PAGE}&page={page}"));
        let Value::Array(found) = body["group_by"].take() else { panic!("{target}: no groups") };
        assert_eq!(body["results"], Value::Array(Vec::new()), "{target}");
        let is_last = found.len() < 10;
        groups.extend(found);
        assert_eq!(body["meta"]["page"], page, "{target}");
        if is_last {
            assert_eq!(body["meta"]["groups_count"], groups.len(), "{target}");
            return (groups, body["meta"]["count"].as_u64().unwrap());
        }
        page += 1;
    }
}

struct Comparison<'l> {
    lists: &'l Lists<'static>,
    server: &'l Server,
    connection: Connection,
    groups: usize,
}

impl Comparison<'_> {
    fn check_groups(&mut self, route: &str, query: &str, keys: &[&Key]) {
        let Ok(expected) = self.lists.groups(route, query, keys) else { return };
        // The server closes connections that are idle, and the oracle takes its time.
        self.connection = self.server.connect();
        let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
        let target = format!("/{route}?{query}&group_by={}", names.join(","));
        let pages_max = 40;
        if expected.len() > 10 * pages_max {
            return self.check_first_page(&target, &expected);
        }
        let (found, _) = all_groups(&mut self.connection, &target);
        let found = found.iter().map(|group| in_order(group, keys.len()));
        let found: Vec<(Vec<Value>, u64)> = found.collect();
        self.groups += found.len();
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{target}: group {at}");
        }
        assert_eq!(found.len(), expected.len(), "{target}");
    }

    fn check_first_page(&mut self, target: &str, expected: &[(Vec<Value>, u64)]) {
        let keys = expected[0].0.len();
        let pages = expected.len().div_ceil(10);
        for page in [1, 2, pages / 2, pages, pages + 1] {
            let body = get(&mut self.connection, &format!("{target}&{PAGE}&page={page}"));
            assert_eq!(body["meta"]["groups_count"], expected.len(), "{target}");
            let found = body["group_by"].as_array().unwrap().iter();
            let found: Vec<_> = found.map(|group| in_order(group, keys)).collect();
            let from = (10 * (page - 1)).min(expected.len());
            let to = (from + 10).min(expected.len());
            assert_eq!(found, expected[from..to], "{target} page {page}");
        }
        self.groups += 50;
    }

    /// Compares the numbers of groups, and the page of groups with the streams of all.
    fn check_group_numbers(&mut self, route: &str, query: &str, key: &Key, of: &Key) {
        let Ok(expected) = self.lists.groups(route, query, &[key]) else { return };
        self.connection = self.server.connect();
        let target = format!("/{route}?{query}&group_by={}&of={}", key.name, of.name);
        let response = self.connection.get(&format!("{target}&format=ndjson"));
        if expected.len() > STREAMED_MIN && response.status == 400 {
            assert!(response.text().contains("fit into the memory"), "{}", response.text());
            return;
        }
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        let lines: Vec<Value> =
            response.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let page = get(&mut self.connection, &format!("{target}&per_page=100"));
        let on_page = page["group_by"].as_array().unwrap();
        assert_eq!(&lines[..on_page.len()], on_page, "{target}");
        assert_eq!(page["meta"]["groups_count"], lines.len(), "{target}");
        for group in lines.iter().take(20) {
            let found = &group["of"][of.name];
            let expected =
                self.lists.group_numbers(route, query, (key, &group["key"]), of).unwrap();
            let counts = (&found["count"], &found["null"]);
            assert_eq!(counts, (&expected.count.into(), &expected.null.into()), "{target} {group}");
            if expected.count == 0 {
                assert!(found["sum"].is_null() && found["median"].is_null(), "{target}");
                continue;
            }
            let mean = expected.sum / expected.count as f64;
            let numbers =
                [("sum", expected.sum), ("mean", mean), ("median", expected.quantiles[1])];
            for (name, expected) in numbers {
                let error = (found[name].as_f64().unwrap() - expected).abs();
                assert!(error <= 1e-9 * expected.abs().max(1.0), "{target} {group}: {expected}");
            }
        }
        let table = self.connection.get(&format!("{target}&format=csv"));
        let mut rows = csv::Reader::from_reader(table.text().as_bytes());
        let counted = rows.headers().unwrap().iter().position(|name| name == "count").unwrap();
        let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), lines.len(), "{target}");
        for (row, line) in rows.iter().zip(&lines) {
            let key = line["key"].as_str().map_or_else(
                || Some(line["key"].to_string()).filter(|text| text != "null").unwrap_or_default(),
                str::to_owned,
            );
            assert_eq!((&row[0], &row[counted]), (&*key, &*line["count"].to_string()), "{target}");
        }
        self.groups += lines.len();
    }

    fn check_statistics(&mut self, route: &str, query: &str, keys: &[&Key]) {
        let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
        let target = format!("/statistics/{route}?{query}&of={}", names.join(","));
        for key in keys {
            let Ok(expected) = self.lists.numbers(route, query, key) else { return };
            let body = get(&mut self.connection, &target);
            let found = &body["of"][key.name];
            assert_eq!(body["count"], expected.count + expected.null, "{target}");
            assert_eq!(
                (&found["count"], &found["null"]),
                (&expected.count.into(), &expected.null.into())
            );
            if expected.count == 0 {
                assert!(found["sum"].is_null() && found["quartiles"][1].is_null(), "{target}");
                continue;
            }
            let quartiles = &found["quartiles"];
            let quantiles =
                [&quartiles[0], &quartiles[1], &quartiles[2], &found["p90"], &found["p99"]];
            let mean = expected.sum / expected.count as f64;
            let pairs = [
                ("sum", expected.sum),
                ("mean", mean),
                ("min", expected.min),
                ("max", expected.max),
            ];
            let pairs = pairs.map(|(name, expected)| (&found[name], expected));
            for (found, expected) in
                pairs.into_iter().chain(quantiles.into_iter().zip(expected.quantiles))
            {
                let found = found.as_f64().unwrap();
                let error = (found - expected).abs();
                assert!(
                    error <= 1e-9 * expected.abs().max(1.0),
                    "{target} {}: {found}, not {expected}",
                    key.name
                );
            }
        }
        if route == "outputs" {
            self.check_outputs(query);
        }
    }

    fn check_outputs(&mut self, query: &str) {
        let target = format!("/statistics/outputs?{query}");
        let body = get(&mut self.connection, &target);
        let [h, i10, g] = self.lists.citation_indexes(query).unwrap();
        let found = ["h_index", "i10_index", "g_index"].map(|name| body[name].as_u64().unwrap());
        assert_eq!(found, [h, i10, g], "{target}");
        let key = |name| self.lists.keys("outputs").iter().find(|key| key.name == name).unwrap();
        let mut by_year = self.lists.groups("outputs", query, &[key("year")]).unwrap();
        by_year.sort_by_key(|(year, _)| (year[0].is_null(), year[0].as_i64()));
        let found = body["by_year"].as_array().unwrap().iter();
        let found: Vec<_> =
            found.map(|of| (vec![of["year"].clone()], of["count"].as_u64().unwrap())).collect();
        assert_eq!(found, by_year, "{target}");
        let by_status =
            self.lists.groups("outputs", query, &[key("open_access.oa_status")]).unwrap();
        let mut found: Vec<(String, u64)> = body["open_access"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| (of["oa_status"].to_string(), of["count"].as_u64().unwrap()))
            .collect();
        let mut expected: Vec<(String, u64)> =
            by_status.iter().map(|(status, count)| (status[0].to_string(), *count)).collect();
        assert!(found.is_sorted_by_key(|(_, count)| std::cmp::Reverse(*count)), "{target}");
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{target}");
    }
}

/// Whether a record may have several values of a key.
fn has_several(key: &Key) -> bool {
    let lists = [
        "authors",
        "topics",
        "funders",
        "references",
        "referenced_by",
        "additional_venues",
        "indexed_in",
        "issn",
        "affiliations",
        "last_known_institutions",
        "repositories",
        "roles",
        "associated_institutions",
        "lineage",
        "venues",
        "open_venues",
        "corresponding_authors",
        "corresponding_institutions",
        "keywords",
        "countries",
        "fields",
        "apc_prices",
        "sustainable_development_goals",
    ];
    let is_list = lists.contains(&key.name.split('.').next().unwrap());
    let is_one = [".count", ".is_global_south"].iter().any(|end| key.name.ends_with(end));
    is_list && key.kind != Kind::Presence && !is_one
}

/// The values of a group, and its count.
fn in_order(group: &Value, keys: usize) -> (Vec<Value>, u64) {
    let values = ["key", "key2"].iter().take(keys).map(|key| group[*key].clone()).collect();
    (values, group["count"].as_u64().unwrap())
}

fn compare(inputs: &[PathBuf], random: usize, seed: u64) {
    let library = library(inputs);
    let lists = pinakes_tests::lists(inputs);
    let generators = QueryGenerator::all(library, lists);
    let (mut rng, mut coverage) = (SeededRng(seed), Coverage::default());
    let snapshots = Snapshots::from_inputs(inputs);
    // Programs of the tests are slow, and a busy machine slower: the limits of a list's time are not tested here.
    let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
    let slow = command.env("PINAKES_LIST_CPU", "60000").env("PINAKES_LIST_TIMEOUT", "60");
    let server = Server::start(slow);
    let connection = server.connect();
    let mut comparison = Comparison { lists, server: &server, connection, groups: 0 };
    for generator in generators.iter().filter(|generator| !generator.filters.is_empty()) {
        let route = generator.route;
        let keys = lists.keys(route);
        let grouping: Vec<&Key> = keys.iter().filter(|key| key.is_grouping()).collect();
        let is_number = |key: &&Key| matches!(key.kind, Kind::Integer | Kind::Fraction);
        let has_order = |key: &&Key| {
            // Of lists, and of numbers that nothing is sorted by.
            let is_other = [
                "affiliations.years",
                "sustainable_development_goals.id",
                "sustainable_development_goals.score",
                "apc_prices.price",
                "concepts.id",
                "concepts_count",
            ];
            !is_other.contains(&key.name)
                && !key.name.starts_with("apc_list")
                && (!key.name.ends_with(".count") || key.name == "references.count")
        };
        let numbers: Vec<&Key> = keys.iter().filter(is_number).filter(has_order).collect();
        for key in &grouping {
            comparison.check_groups(route, "", &[key]);
        }
        for keys in numbers.chunks(10) {
            comparison.check_statistics(route, "", keys);
        }
        for _ in 0..times(random) {
            let filter = generator.expressions(&mut rng, &mut coverage);
            let query = format!("filter={}", percent_encode(&mut rng, &filter));
            comparison.check_groups(route, &query, &[*pick(&mut rng, &grouping)]);
            comparison.check_statistics(route, &query, &[*pick(&mut rng, &numbers)]);
            let pair: [&Key; 2] = [*pick(&mut rng, &grouping), *pick(&mut rng, &grouping)];
            if pair[0].name != pair[1].name || has_several(pair[0]) {
                comparison.check_groups(route, &query, &pair);
            }
            let several: Vec<&Key> =
                grouping.iter().copied().filter(|key| has_several(key)).collect();
            if !several.is_empty() {
                let key = *pick(&mut rng, &several);
                comparison.check_groups(route, &query, &[key, key]);
            }
            let (key, of) = (*pick(&mut rng, &grouping), *pick(&mut rng, &numbers));
            comparison.check_group_numbers(route, &query, key, of);
        }
    }
    println!("{} groups are equal", comparison.groups);
    assert!(comparison.groups > 500, "only {} groups were compared", comparison.groups);
    server.end(&[]);
}

#[test]
fn groups_and_statistics_of_the_sample_equal_the_oracle() {
    compare(&[sample()], 25, 1);
}

#[test]
fn groups_and_statistics_of_real_records_equal_the_oracle() {
    let Some(inputs) = real_sample("groups_and_statistics_of_real_records_equal_the_oracle") else {
        return;
    };
    compare(&inputs, 5, 2);
}

#[test]
fn groups_and_statistics_of_a_generated_dump_equal_the_oracle() {
    let dump = tempfile::tempdir().unwrap();
    let plan = pinakes_generate::Plan::new(4_000, 7).with_part_records(1_000);
    pinakes_generate::write_dump(&plan, dump.path(), 2).unwrap();
    compare(&[dump.path().to_path_buf()], 4, 3);
}
