//! The same random queries in both dialects give the same records.

use std::collections::HashMap;
use std::path::PathBuf;

use pinakes_tests::query_generator::{Coverage, QueryGenerator};
use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::values::{chance, percent_encode, pick};
use pinakes_tests::{SeededRng, library, times};
use serde_json::Value;

/// The lists of the interface, and OpenAlex's names of them.
const LISTS: [(&str, &str); 8] = [
    ("outputs", "works"),
    ("authors", "authors"),
    ("sources", "sources"),
    ("institutions", "institutions"),
    ("publishers", "publishers"),
    ("funders", "funders"),
    ("topics", "topics"),
    ("domains", "domains"),
];
/// Names whose values read otherwise than those of the key.
const READ_OTHERWISE: [&str; 1] = ["best_open_version"];

/// The names of a list's keys, by the key of the interface.
fn names(tables: &Value, list: &str, of: &str) -> HashMap<String, Vec<String>> {
    let mut names: HashMap<String, Vec<String>> = HashMap::new();
    for (name, key) in tables["lists"][list][of].as_object().unwrap() {
        if READ_OTHERWISE.contains(&name.as_str()) {
            continue;
        }
        names.entry(key.as_str().unwrap().to_owned()).or_default().push(name.clone());
    }
    names
}

/// Replaces the keys of expressions; `None` if one has no name.
fn translated(
    expressions: &str,
    names: &HashMap<String, Vec<String>>,
    rng: &mut SeededRng,
) -> Option<String> {
    let mut is_quoted = false;
    let parts = expressions.split(|c| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    let translated: Option<Vec<String>> = parts
        .map(|part| {
            let (key, value) = part.split_once(':')?;
            let name = pick(rng, names.get(key.trim())?);
            // In the dialect, a space within a code or an id is an `and`, and quotes of a search are phrases.
            // Other quotes are those of the value there.
            let is_quoted = value.trim_start_matches([' ', '!']).starts_with('"');
            let is_alike = !value.trim().contains([' ', '+'])
                && !key.contains("search")
                && (is_quoted || !value.contains('"'));
            is_alike.then(|| format!("{name}:{value}"))
        })
        .collect();
    translated.map(|parts| parts.join(","))
}

/// The count and the ids of a page; `None` of a refusal.
fn page(reply: &pinakes_tests::client::Response) -> Option<(usize, Vec<String>)> {
    match reply.status {
        400 => None,
        200 => {
            let body = reply.json();
            let ids = body["results"].as_array().unwrap().iter();
            let ids = ids.map(|record| record["id"].as_str().unwrap().rsplit('/').next().unwrap());
            let ids = ids.map(str::to_owned).collect();
            Some((body["meta"]["count"].as_u64().unwrap() as usize, ids))
        }
        other => panic!("neither 200 nor 400 but {other}: {}", reply.text()),
    }
}

fn compare(inputs: &[PathBuf], queries: usize, seed: u64) {
    let snapshots = Snapshots::from_inputs(inputs);
    let library = library(inputs);
    let lists = pinakes_tests::lists(inputs);
    let generators = QueryGenerator::all(library, lists);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let tables = connection.get("/openalex").json();
    let (mut rng, mut coverage) = (SeededRng(seed), Coverage::default());
    let (mut asked, mut matched) = (0, 0);
    while asked < times(queries) {
        let generator = pick(&mut rng, &generators);
        let Some((_, list)) = LISTS.into_iter().find(|(route, _)| *route == generator.route) else {
            continue;
        };
        let filters = names(&tables, list, "filter");
        let sorts = names(&tables, list, "sort");
        let expressions = generator.expressions(&mut rng, &mut coverage);
        let Some(dialect) = translated(&expressions, &filters, &mut rng) else { continue };
        let (mut own, mut theirs) = (String::new(), String::new());
        let in_dialect = lists.keys(generator.route).iter().filter(|key| key.is_dialect_sort);
        let in_dialect: Vec<&str> = in_dialect.map(|key| key.name).collect();
        if !generator.sorts.is_empty() && chance(&mut rng, 50) {
            let key = match !in_dialect.is_empty() && chance(&mut rng, 40) {
                true => *pick(&mut rng, &in_dialect),
                false => *pick(&mut rng, &generator.sorts),
            };
            let Some(sort) = sorts.get(key) else { continue };
            let direction = *pick(&mut rng, &[":asc", ":desc", ""]);
            own = format!("&sort={key}{direction}");
            theirs = format!("&sort={}{direction}", pick(&mut rng, sort));
        }
        let query = format!("filter={}{own}&per_page=10", percent_encode(&mut rng, &expressions));
        let expected = lists.answer_in_dialect(generator.route, &query).ok().map(|answer| {
            let ids = answer.ids.iter().map(|id| id.replace("HX_", ""));
            (answer.count, ids.collect::<Vec<String>>())
        });
        let filter = percent_encode(&mut rng, &dialect);
        let target = format!("/openalex/{list}?filter={filter}{theirs}&per_page=10&select=id");
        let reply = connection.get(&target);
        assert_eq!(page(&reply), expected, "{dialect}\n{expressions}\n{}", reply.text());
        asked += 1;
        matched += usize::from(expected.is_some_and(|(count, _)| count > 0));
    }
    println!("{asked} queries, of which {matched} matched something");
    assert!(matched * 2 > asked, "of {asked} queries only {matched} match anything");
    server.end(&[]);
}

#[test]
fn random_queries_of_the_sample_are_answered_alike() {
    compare(&[pinakes_tests::sample()], 1_000, 1);
}

#[test]
fn random_queries_of_every_vintage_are_answered_alike() {
    let test = "random_queries_of_every_vintage_are_answered_alike";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    compare(&every, 300, 2);
}
