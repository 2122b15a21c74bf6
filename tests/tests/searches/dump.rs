//! A dump of few words: most searches match many records, and words stand in every field, order and form.

use std::path::Path;

use pinakes_tests::values::{chance, pick};
use pinakes_tests::{SeededRng, write_files};
use serde_json::{Map, Value, json};

/// Words of titles and abstracts, the frequent ones first.
const WORDS: [&str; 60] = [
    "the",
    "of",
    "and",
    "network",
    "networks",
    "graph",
    "graphs",
    "learning",
    "deep",
    "studies",
    "study",
    "COVID-19",
    "a",
    "networking",
    "graphed",
    "learned",
    "der",
    "la",
    "l'état",
    "dell’arte",
    "d'Arcy",
    "e-mail",
    "email",
    "GPT-4",
    "gpt4",
    "α-synuclein",
    "TNFα",
    "C++",
    "C#",
    ".NET",
    "R&D",
    "H$_2$O",
    "$\\alpha$-helix",
    "<i>in</i>",
    "<b>vitro</b>",
    "学习方法",
    "学",
    "東京大学",
    "การศึกษา",
    "271-280",
    "2019",
    "3.14",
    "Studien",
    "études",
    "étude",
    "évolution",
    "evolution",
    "Ärzte",
    "aerzte",
    "Straße",
    "naïve",
    "x",
    "xy",
    "abcdefgh",
    "abcdefgi",
    "abcdegfh",
    "state-of-the-art",
    "don't",
    "--",
    "?!",
];
const LANGUAGES: [Option<&str>; 8] =
    [Some("en"), Some("en"), Some("en"), None, Some("de"), Some("fr"), Some("it"), Some("zh")];
const NAMES: [&str; 6] =
    ["Ada d'Arcy", "A. Network", "Jean-Luc Étude", "Network, Deep", "李 学", "O'Neill-Graph"];

/// A word, the first ones more often.
fn word(rng: &mut SeededRng) -> String {
    if chance(rng, 3) {
        return format!("word{}", rng.below(5_000));
    }
    let most = 1 + rng.below(WORDS.len());
    WORDS[rng.below(most)].to_owned()
}

fn words(rng: &mut SeededRng, words_max: usize) -> String {
    let words: Vec<String> = (0..1 + rng.below(words_max)).map(|_| word(rng)).collect();
    words.join(" ")
}

/// An abstract as a dump has it.
fn inverted(text: &str) -> Value {
    let mut index: Map<String, Value> = Map::new();
    for (position, word) in text.split(' ').enumerate() {
        let positions = index.entry(word).or_insert_with(|| json!([]));
        positions.as_array_mut().unwrap().push(json!(position));
    }
    Value::Object(index)
}

fn work(rng: &mut SeededRng, id: usize) -> Value {
    let title = if chance(rng, 5) { Value::Null } else { json!(words(rng, 9)) };
    let name = if chance(rng, 70) { title.clone() } else { json!(words(rng, 5)) };
    let mut authors = Vec::new();
    while chance(rng, 60) {
        let name = *pick(rng, &NAMES);
        let id = chance(rng, 50).then(|| format!("https://openalex.org/A{}", 1 + rng.below(3)));
        authors.push(json!({"author": {"id": id, "display_name": name}, "raw_author_name": name}));
    }
    let mut venues = Vec::new();
    while chance(rng, 40) {
        let id = format!("https://openalex.org/S{}", 1 + rng.below(4));
        venues.push(json!({"source": {"id": id, "display_name": pick(rng, &NAMES)}}));
    }
    let mut keywords = Vec::new();
    while chance(rng, 50) {
        keywords.push(json!({"id": "k", "display_name": words(rng, 2), "score": 0.5}));
    }
    let number = |rng: &mut SeededRng| chance(rng, 60).then(|| rng.below(4).to_string());
    json!({
        "id": format!("https://openalex.org/W{id}"),
        "display_name": name,
        "title": title,
        "language": pick(rng, &LANGUAGES),
        "publication_year": 2010 + rng.below(12),
        "cited_by_count": rng.below(300),
        "authorships": authors,
        "primary_location": venues.first(),
        "locations": venues,
        "keywords": keywords,
        "biblio": {"volume": number(rng), "issue": number(rng), "first_page": number(rng), "last_page": number(rng)},
        "abstract_inverted_index": if chance(rng, 50) { inverted(&words(rng, 30)) } else { Value::Null },
        "updated_date": "2026-01-10",
    })
}

/// Writes a dump of works, and of the authors and sources that they refer to.
pub fn write(directory: &Path, works: usize, seed: u64) {
    let mut rng = SeededRng(seed);
    let line = |record: Value| format!("{record}\n");
    let works: String = (1..=works).map(|id| line(work(&mut rng, id))).collect();
    let named = |kind: &str, count: usize, rng: &mut SeededRng| -> String {
        let record = |id| json!({"id": format!("https://openalex.org/{kind}{id}"), "display_name": words(rng, 3)});
        (1..=count).map(record).map(line).collect()
    };
    let sources = named("S", 3, &mut rng);
    let authors = named("A", 2, &mut rng);
    write_files(
        directory,
        [("works.jsonl", works), ("sources.jsonl", sources), ("authors.jsonl", authors)],
    );
}
