//! The words of all records.

use std::collections::BTreeMap;

use pinakes_format::text::analyzer::{Languages, Stemmer, each_compound};
use serde_json::Value;

use crate::Entry;

/// The names of the fields in searches, by their numbers. The field after them has no name.
pub(super) const FIELD_NAMES: [&str; 5] = ["title", "abstract", "author", "venue", "subject"];
pub(super) const TITLE: usize = 0;
pub(super) const ABSTRACT: usize = 1;
pub(super) const IMPRINT: usize = 5;
pub(super) const ALL_FIELDS: [usize; 6] = [0, 1, 2, 3, 4, 5];

/// The members of each field.
const MEMBERS: [(usize, &[&str]); 13] = [
    (0, &["title"]),
    (0, &["name"]),
    (1, &["abstract"]),
    (2, &["authors", "name"]),
    (3, &["primary_venue", "source", "name"]),
    (3, &["additional_venues", "source", "name"]),
    (4, &["keywords"]),
    (4, &["topics", "name"]),
    (5, &["year"]),
    (5, &["biblio", "volume"]),
    (5, &["biblio", "issue"]),
    (5, &["biblio", "first_page"]),
    (5, &["biblio", "last_page"]),
];

/// The least distance between the words of two values, such as two authors.
const GAP: u32 = 16;

/// A word as records spell it, and its term: the stem in the language of a record, with the mark of the language.
#[derive(Debug)]
pub(super) struct Spelling {
    pub form: String,
    pub stem: usize,
}

/// The words of a record.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// For each field, where a spelling stands: the position, and the number of the spelling.
    pub words: [Vec<(u32, usize)>; 6],
    /// For each title, where it begins and ends.
    pub titles: Vec<(u32, u32)>,
    /// For each stem of the record, how much it weighs there, up to 31.
    pub impacts: BTreeMap<usize, u64>,
}

/// The words of all records.
#[derive(Debug)]
pub(super) struct Texts {
    /// The languages of the records, by which words of searches are stemmed.
    pub languages: Languages,
    pub records: Vec<Record>,
    pub spellings: Vec<Spelling>,
    pub stems: BTreeMap<String, usize>,
    /// For each term, the number of records that have the term.
    pub counts: Vec<u64>,
    known: BTreeMap<(String, usize), usize>,
}

impl Texts {
    pub fn new(entries: &[Entry]) -> Texts {
        let codes = entries.iter().filter_map(|entry| entry.single["language"]["code"].as_str());
        let mut texts = Texts {
            languages: Languages::of_codes(codes),
            records: Vec::new(),
            spellings: Vec::new(),
            stems: BTreeMap::new(),
            counts: Vec::new(),
            known: BTreeMap::new(),
        };
        let mut stemmers: BTreeMap<Option<&str>, Stemmer> = BTreeMap::new();
        for entry in entries {
            let language = entry.single["language"]["code"].as_str();
            let stemmer =
                stemmers.entry(language).or_insert_with(|| Stemmer::of_language(language));
            let record = texts.record(&entry.single, stemmer);
            record.impacts.keys().for_each(|stem| texts.counts[*stem] += 1);
            texts.records.push(record);
        }
        texts
    }

    fn record(&mut self, single: &Value, stemmer: &Stemmer) -> Record {
        let mut record = Record::default();
        let (mut next, mut counts) = ([0; 6], [0; 6]);
        for (field, path) in MEMBERS {
            for text in values(single, path) {
                // Most names repeat the title.
                if path == ["name"] && (single["title"] == text || single["name"].is_null()) {
                    continue;
                }
                if counts[field] > 0 {
                    next[field] += GAP;
                }
                let begin = next[field];
                each_compound(&text, |compound| {
                    if let Some(joined) = compound.joined() {
                        let spelling = self.spelling(joined, stemmer);
                        record.words[field].push((next[field], spelling));
                    }
                    for part in compound.parts() {
                        let spelling = self.spelling(part, stemmer);
                        record.words[field].push((next[field], spelling));
                        next[field] += 1;
                        counts[field] += 1;
                    }
                });
                if field == TITLE && next[field] > begin {
                    record.titles.push((begin, next[field]));
                }
            }
        }
        // Each word of a title weighs as much as three others, and an author as much as two.
        let weight = |field: usize| if field == TITLE { 3 } else { 1 };
        let authors = single["authors"].as_array().map_or(0, Vec::len) as u64;
        let length = 3 * counts[TITLE] + counts[ABSTRACT] + 2 * authors;
        let mut weights: BTreeMap<usize, u64> = BTreeMap::new();
        for field in ALL_FIELDS {
            for (_, spelling) in &record.words[field] {
                *weights.entry(self.spellings[*spelling].stem).or_default() += weight(field);
            }
        }
        record.impacts = weights.into_iter().map(|(stem, n)| (stem, impact(n, length))).collect();
        record
    }

    fn spelling(&mut self, form: &str, stemmer: &Stemmer) -> usize {
        let stem = stemmer.term(form).into_owned();
        let stems = self.stems.len();
        let stem = *self.stems.entry(stem).or_insert(stems);
        if stem == self.counts.len() {
            self.counts.push(0);
        }
        let spellings = &mut self.spellings;
        *self.known.entry((form.to_owned(), stem)).or_insert_with(|| {
            spellings.push(Spelling { form: form.to_owned(), stem });
            spellings.len() - 1
        })
    }
}

/// The texts at the end of a path.
fn values(value: &Value, path: &[&str]) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(|value| self::values(value, path)).collect(),
        Value::Object(members) => match path.split_first() {
            // A reference without a name is an empty text.
            Some((&"name", [])) if members["name"].is_null() => vec![String::new()],
            Some((name, rest)) => members.get(*name).map_or(Vec::new(), |of| values(of, rest)),
            None => Vec::new(),
        },
        Value::String(text) if path.is_empty() => vec![text.clone()],
        Value::Number(number) if path.is_empty() => vec![number.to_string()],
        _ => Vec::new(),
    }
}

/// `n / (n + 1.2 × (¼ + ¾ × length / 120))` in 31sts, rounded, at least 1. Numerator and denominator are multiplied by 400.
fn impact(n: u64, length: u64) -> u64 {
    let (found, all) = (400 * n, 400 * n + 120 + 3 * length);
    ((62 * found + all) / (2 * all)).clamp(1, 31)
}

/// `log2((2 × records + 2) / (2 × found + 1))` in 256ths. Each logarithm is rounded down.
pub(super) fn idf(records: u64, found: u64) -> u64 {
    let log2 = |number: u64| ((number as f64).log2() * 256.0).floor() as u64;
    log2(2 * records + 2).saturating_sub(log2(2 * found + 1))
}
