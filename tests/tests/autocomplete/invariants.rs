//! Rules that hold for every dump: a longer text narrows the result, an exact name ranks first, and
//! a list search finds as many records.

use std::collections::BTreeSet;

use pinakes_oracle::{Autocomplete, fold};
use pinakes_tests::SeededRng;
use serde_json::Value;

use crate::autocomplete::ServerAndOracle;
use crate::autocomplete::random_queries::{QUERY_BYTES_MAX, TextGenerator};
use crate::autocomplete::target;
use pinakes_tests::client::Connection;
use pinakes_tests::values::{percent_encode, pick};

/// Most candidates in one reply.
const SHOWN_MAX: u64 = 10;
/// Most letters typed of one text.
const TYPED_MAX: usize = 24;
/// Typed texts for each generator.
const TYPED: usize = 8;
/// Exact names for each generator.
const NAMES: usize = 50;
/// Searches in each list.
const SEARCHED: usize = 50;

/// Lists with a search, and the entity type of their candidates.
const LISTS: [(&str, &str); 8] = [
    ("outputs", "output"),
    ("authors", "author"),
    ("sources", "source"),
    ("institutions", "institution"),
    ("publishers", "publisher"),
    ("funders", "funder"),
    ("topics", "topic"),
    ("domains", "domain"),
];

fn count(body: &Value) -> u64 {
    body["meta"]["count"].as_u64().unwrap()
}

fn ids(body: &Value) -> BTreeSet<&str> {
    let results = body["results"].as_array().unwrap();
    results.iter().map(|shown| shown["id"].as_str().unwrap()).collect()
}

/// A connection, and the oracle that predicts which queries the server accepts.
struct Checker<'l> {
    autocomplete: &'l Autocomplete<'l>,
    connection: Connection,
    rng: SeededRng,
}

impl Checker<'_> {
    fn get(&mut self, target: &str) -> Value {
        let response = self.connection.get(target);
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        response.json()
    }

    /// Encodes a query if the server accepts it as a text; `None` for ids and invalid queries.
    fn raw(&mut self, entity_type: Option<&str>, query: &str) -> Option<String> {
        let raw = format!("query={}", percent_encode(&mut self.rng, query));
        let answer = self.autocomplete.answer(entity_type, &raw);
        answer.is_ok_and(|answer| !answer.is_by_id).then_some(raw)
    }

    /// Types a text letter by letter; each longer text may only narrow the result.
    fn check_narrowing(&mut self, entity_type: Option<&str>, text: &str) {
        let mut before: Option<(String, Value)> = None;
        let ends = text.char_indices().map(|(at, letter)| (at + letter.len_utf8(), letter));
        for (end, letter) in ends.take(TYPED_MAX) {
            let typed = &text[..end];
            let Some(raw) = self.raw(entity_type, typed).filter(|_| !fold(typed).is_empty()) else {
                before = None;
                continue;
            };
            let body = self.get(&target(entity_type, &raw));
            // A `>` may complete a tag, which removes a word.
            let is_letter = letter.is_alphabetic() || letter.is_numeric();
            if let Some((shorter, found)) = before.filter(|_| is_letter) {
                let what = format!("{entity_type:?}: {shorter:?}, then {typed:?}");
                assert!(count(&body) <= count(&found), "{what}: {body}\nafter {found}");
                if count(&found) <= SHOWN_MAX {
                    assert!(ids(&body).is_subset(&ids(&found)), "{what}: {body}\nafter {found}");
                }
            }
            before = Some((typed.to_owned(), body));
        }
    }

    /// Searches an exact name, which must rank first.
    fn check_exact_name_first(&mut self, entity_type: Option<&str>, name: &str) {
        let folded = fold(name);
        if folded.is_empty() || name.len() > QUERY_BYTES_MAX {
            return;
        }
        let Some(raw) = self.raw(entity_type, name) else { return };
        let body = self.get(&target(entity_type, &raw));
        let first = body["results"][0]["name"].as_str();
        assert_eq!(first.map(fold), Some(folded), "{entity_type:?}: {name:?}: {body}");
    }

    /// Compares the counts of a list search and of autocomplete.
    fn check_list_count(&mut self, route: &str, entity_type: &str, query: &str) {
        // Domains have no route, so their candidates are counted if one reply shows all.
        let of = Autocomplete::routes().contains(&route).then_some(route);
        let Some(raw) = self.raw(of, query) else { return };
        let suggested = self.get(&target(of, &raw));
        let found = match of {
            Some(_) => count(&suggested),
            None if count(&suggested) > SHOWN_MAX => return,
            None => {
                let results = suggested["results"].as_array().unwrap();
                results.iter().filter(|shown| shown["entity_type"] == entity_type).count() as u64
            }
        };
        // Outputs have a search of all their texts; the key searches their names.
        let value = percent_encode(&mut self.rng, &query.replace('"', "\"\""));
        let list = format!("/{route}?per_page=10&filter=name.search:%22{value}%22");
        assert_eq!(count(&self.get(&list)), found, "{list}: {query:?}");
    }
}

/// Checks all rules.
pub fn check(pair: &ServerAndOracle, seed: u64) {
    let generators = TextGenerator::all(pair.library, pair.autocomplete);
    let connection = pair.server.connect();
    let mut asked = Checker { autocomplete: pair.autocomplete, connection, rng: SeededRng(seed) };
    let mut chosen = SeededRng(seed + 1);
    for generator in &generators {
        for _ in 0..TYPED {
            asked.check_narrowing(generator.entity_type, &generator.text(&mut chosen));
        }
        for _ in 0..NAMES {
            asked.check_exact_name_first(generator.entity_type, generator.name(&mut chosen));
        }
    }
    for (route, entity_type) in LISTS {
        for _ in 0..SEARCHED {
            let text = pick(&mut chosen, &generators).text(&mut chosen);
            asked.check_list_count(route, entity_type, &text);
        }
        for generator in generators.iter().filter(|generator| generator.entity_type == Some(route))
        {
            for _ in 0..SEARCHED {
                asked.check_list_count(route, entity_type, &generator.text(&mut chosen));
            }
        }
    }
}
