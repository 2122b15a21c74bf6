//! Evaluates a search against the texts of one record, where no index exists yet.
//!
//! The words of the record are made as the compiler makes them for the index, so that both agree. Whether a search matches most
//! words depends on all records, which are not known here: a plain search matches the records with all words.

use std::collections::BTreeMap;

use crate::index::full_text::WordPlaces;
use crate::query::parse::search::{Leaf, LeafKind, Node, PhrasePart, Search, Unit};
use crate::query::search::phrase::{stand_in_order, stand_near};
use crate::query::search::required::required;
use crate::query::search::word_test::WordTest;
use crate::schema::texts::Field;
use crate::text::analyzer::Stemmer;

/// The words of a record.
pub struct RecordTexts {
    stemmer: Stemmer,
    /// For each form: its term and its places.
    words: BTreeMap<String, Places>,
    places: WordPlaces,
}

struct Places {
    term: String,
    /// Field and position.
    at: Vec<(u8, u32)>,
}

impl RecordTexts {
    /// The texts of a record in a language, none so far.
    pub fn new(language: Option<&str>) -> RecordTexts {
        let stemmer = Stemmer::of_language(language);
        RecordTexts { stemmer, words: BTreeMap::new(), places: WordPlaces::default() }
    }

    /// Adds a text.
    pub fn add(&mut self, field: Field, text: &str) {
        let RecordTexts { stemmer, words, places } = self;
        places.each(field, text, |form, position| {
            let of_form = words.entry(form.to_owned()).or_insert_with(|| Places {
                term: stemmer.term(form).into_owned(),
                at: Vec::new(),
            });
            of_form.at.push((field as u8, position));
        });
    }

    /// The positions in a field of the words that a test accepts.
    fn positions(&self, field: Field, test: &WordTest) -> Vec<u32> {
        let words = self.words.iter().filter(|(form, places)| test.accepts(form, &places.term));
        let at = words.flat_map(|(_, places)| &places.at);
        let mut positions: Vec<u32> =
            at.filter(|(of, _)| *of == field as u8).map(|(_, position)| *position).collect();
        positions.sort_unstable();
        positions
    }
}

impl Search {
    /// Whether the texts of a record match.
    pub fn matches(&self, texts: &RecordTexts) -> bool {
        self.has(&self.tree, texts)
    }

    fn has(&self, node: &Node, texts: &RecordTexts) -> bool {
        match node {
            Node::Or(nodes) => nodes.iter().any(|node| self.has(node, texts)),
            Node::And { nodes, negated } => {
                !(nodes.is_empty() && negated.is_empty())
                    && required(nodes).all(|node| self.has(node, texts))
                    && !negated.iter().any(|node| self.has(node, texts))
            }
            Node::Leaf(Leaf { fields, kind }) => self.has_leaf(*fields, kind, texts),
        }
    }

    fn has_leaf(&self, fields: u8, kind: &LeafKind, texts: &RecordTexts) -> bool {
        let word = |word: &String| WordTest::of_word(word, self.is_exact);
        match kind {
            LeafKind::Word(Unit { parts, joined }) => {
                let has_joined = joined.iter().any(|joined| stands(fields, &word(joined), texts));
                let tests: Vec<WordTest> = parts.iter().map(word).collect();
                has_joined
                    || match tests.as_slice() {
                        [only] => stands(fields, only, texts),
                        tests => stands_as_phrase(fields, tests, None, texts),
                    }
            }
            LeafKind::Pattern(pattern) => stands(fields, &WordTest::of_pattern(pattern), texts),
            LeafKind::Fuzzy(text, edits) => {
                let near = WordTest::Near(text.clone(), *edits);
                stands(fields, &word(text), texts) || stands(fields, &near, texts)
            }
            LeafKind::Phrase { parts, distance } => {
                let test = |part: &PhrasePart| match part {
                    PhrasePart::Word(text) => word(text),
                    PhrasePart::Pattern(pattern) => WordTest::of_pattern(pattern),
                };
                let tests: Vec<WordTest> = parts.iter().map(test).collect();
                stands_as_phrase(fields, &tests, *distance, texts)
            }
        }
    }
}

fn stands(fields: u8, test: &WordTest, texts: &RecordTexts) -> bool {
    Field::of_set(fields).any(|field| !texts.positions(field, test).is_empty())
}

fn stands_as_phrase(
    fields: u8,
    tests: &[WordTest],
    distance: Option<u32>,
    texts: &RecordTexts,
) -> bool {
    Field::of_set(fields).any(|field| {
        let positions: Vec<Vec<u32>> =
            tests.iter().map(|test| texts.positions(field, test)).collect();
        positions.iter().all(|of_word| !of_word.is_empty())
            && match distance {
                None => stand_in_order(&positions),
                Some(distance) => stand_near(&positions, distance),
            }
    })
}
