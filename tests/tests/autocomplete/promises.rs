//! What must hold of the server's answers whatever the records: typing on narrows, an exact name stands
//! first, and lists find as many.

use std::collections::BTreeSet;

use pinakes_oracle::{Autocomplete, fold};
use pinakes_tests::SeededRng;
use serde_json::Value;

use crate::Both;
use crate::asking::{Asker, QUERY_BYTES_MAX};
use crate::target;
use pinakes_tests::client::Connection;
use pinakes_tests::values::{percent_encode, pick};

/// Most candidates that one reply shows.
const SHOWN_MAX: u64 = 10;
/// Longest text that is typed letter by letter.
const TYPED_MAX: usize = 24;
/// Texts of each asker that are typed.
const TYPED: usize = 8;
/// Names of each asker that are asked for as they are.
const NAMES: usize = 50;
/// Texts that each list is searched for.
const SEARCHED: usize = 50;

/// The lists that are searched, and the entity type of their candidates.
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

/// The server, and what is known beforehand of what it is asked.
struct Asked<'l> {
    autocomplete: Autocomplete<'l>,
    connection: Connection,
    rng: SeededRng,
}

impl Asked<'_> {
    fn body(&mut self, target: &str) -> Value {
        let response = self.connection.get(target);
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        response.json()
    }

    /// A query that is searched as text and taken at all, as it is sent.
    fn raw(&mut self, entity_type: Option<&str>, query: &str) -> Option<String> {
        let raw = format!("query={}", percent_encode(&mut self.rng, query));
        let answer = self.autocomplete.answer(entity_type, &raw);
        answer.is_ok_and(|answer| !answer.is_by_id).then_some(raw)
    }

    /// Types a text letter by letter; what is shown of the longer was found by the shorter.
    fn narrows(&mut self, entity_type: Option<&str>, text: &str) {
        let mut before: Option<(String, Value)> = None;
        let ends = text.char_indices().map(|(at, letter)| (at + letter.len_utf8(), letter));
        for (end, letter) in ends.take(TYPED_MAX) {
            let typed = &text[..end];
            let Some(raw) = self.raw(entity_type, typed).filter(|_| !fold(typed).is_empty()) else {
                before = None;
                continue;
            };
            let body = self.body(&target(entity_type, &raw));
            // A `>` may end a tag, and thereby take a word back.
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

    /// Asks for a name as it is: one that is called so stands first.
    fn stands_first(&mut self, entity_type: Option<&str>, name: &str) {
        let folded = fold(name);
        if folded.is_empty() || name.len() > QUERY_BYTES_MAX {
            return;
        }
        let Some(raw) = self.raw(entity_type, name) else { return };
        let body = self.body(&target(entity_type, &raw));
        let first = body["results"][0]["name"].as_str();
        assert_eq!(first.map(fold), Some(folded), "{entity_type:?}: {name:?}: {body}");
    }

    /// Searches a list for what autocomplete is asked: as many are found.
    fn finds_as_many(&mut self, route: &str, entity_type: &str, query: &str) {
        // Domains have no route of their own; they are counted where all that is found is shown.
        let of = Autocomplete::routes().contains(&route).then_some(route);
        let Some(raw) = self.raw(of, query) else { return };
        let suggested = self.body(&target(of, &raw));
        let found = match of {
            Some(_) => count(&suggested),
            None if count(&suggested) > SHOWN_MAX => return,
            None => {
                let results = suggested["results"].as_array().unwrap();
                results.iter().filter(|shown| shown["entity_type"] == entity_type).count() as u64
            }
        };
        let list = format!("/{route}?per_page=10&search={}", &raw["query=".len()..]);
        assert_eq!(count(&self.body(&list)), found, "{list}: {query:?}");
    }
}

/// Holds the server to all of it.
pub fn check(both: &Both, seed: u64) {
    let autocomplete = Autocomplete::new(both.library);
    let askers = Asker::all(both.library, &autocomplete);
    let connection = both.server.connect();
    let mut asked = Asked { autocomplete, connection, rng: SeededRng(seed) };
    let mut chosen = SeededRng(seed + 1);
    for asker in &askers {
        for _ in 0..TYPED {
            asked.narrows(asker.entity_type, &asker.text(&mut chosen));
        }
        for _ in 0..NAMES {
            asked.stands_first(asker.entity_type, asker.name(&mut chosen));
        }
    }
    for (route, entity_type) in LISTS {
        for _ in 0..SEARCHED {
            let text = pick(&mut chosen, &askers).text(&mut chosen);
            asked.finds_as_many(route, entity_type, &text);
        }
        for asker in askers.iter().filter(|asker| asker.entity_type == Some(route)) {
            for _ in 0..SEARCHED {
                asked.finds_as_many(route, entity_type, &asker.text(&mut chosen));
            }
        }
    }
}
