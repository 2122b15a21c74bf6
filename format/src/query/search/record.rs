//! Evaluates a search against the texts of one record, where no index exists yet.
//!
//! The words of the record are made as the compiler makes them for the index, so that both agree. Whether a search matches most
//! words depends on all records, which are not known here: a plain search matches the records with all words.

use std::collections::BTreeMap;

use rapidfuzz::distance::osa;

use crate::index::full_text::VALUE_GAP;
use crate::query::search::forms::has_pattern;
use crate::query::search::matcher::{stand_in_order, stand_near};
use crate::query::search::plan::required;
use crate::query::search::syntax::{Leaf, LeafKind, Node, PhrasePart, Search, Unit};
use crate::schema::texts::{ANY_FIELD, FIELDS, Field};
use crate::text::analyzer::{Stemmer, all_stems, each_compound};

/// The words of a record.
pub struct RecordTexts {
    stemmer: Stemmer,
    /// For each form: its stem and its places.
    words: BTreeMap<String, Places>,
    next: [u32; FIELDS],
}

struct Places {
    stem: String,
    /// Field and position.
    at: Vec<(u8, u32)>,
}

impl RecordTexts {
    /// The texts of a record in a language, none so far.
    pub fn new(language: Option<&str>) -> RecordTexts {
        let stemmer = Stemmer::of_language(language);
        RecordTexts { stemmer, words: BTreeMap::new(), next: [0; FIELDS] }
    }

    /// Adds a text.
    pub fn add(&mut self, field: Field, text: &str) {
        let number = field as usize;
        if self.next[number] > 0 {
            self.next[number] += VALUE_GAP;
        }
        let RecordTexts { stemmer, words, next } = self;
        let mut add = |form: &str, position: u32| {
            let places = words.entry(form.to_owned()).or_insert_with(|| Places {
                stem: stemmer.stem(form).into_owned(),
                at: Vec::new(),
            });
            places.at.push((field as u8, position));
        };
        each_compound(text, |compound| {
            if let Some(joined) = compound.joined() {
                add(joined, next[number]);
            }
            for part in compound.parts() {
                add(part, next[number]);
                next[number] += 1;
            }
        });
    }

    /// The positions in a field of the words that a test accepts, by form and stem.
    fn positions(&self, field: Field, accepts: &dyn Fn(&str, &str) -> bool) -> Vec<u32> {
        let words = self.words.iter().filter(|(form, places)| accepts(form, &places.stem));
        let at = words.flat_map(|(_, places)| &places.at);
        let mut positions: Vec<u32> =
            at.filter(|(of, _)| *of == field as u8).map(|(_, position)| *position).collect();
        positions.sort_unstable();
        positions
    }
}

/// A test of a word by its form and its stem.
type WordTest = Box<dyn Fn(&str, &str) -> bool>;

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
        match kind {
            LeafKind::Word(Unit { parts, joined }) => {
                let has_joined =
                    joined.iter().any(|joined| stands(fields, &self.word(joined), texts));
                let tests: Vec<WordTest> = parts.iter().map(|part| self.word(part)).collect();
                has_joined
                    || match tests.as_slice() {
                        [only] => stands(fields, only, texts),
                        tests => stands_as_phrase(fields, tests, None, texts),
                    }
            }
            LeafKind::Pattern(pattern) => stands(fields, &word_with(pattern), texts),
            LeafKind::Fuzzy(word, edits) => {
                let (wanted, edits) = (word.clone(), *edits as usize);
                let is_near =
                    move |form: &str| osa::distance(wanted.chars(), form.chars()) <= edits;
                let exact = self.word(word);
                let is_short = word.chars().count() <= super::forms::FUZZY_LETTERS_MAX;
                let test =
                    move |form: &str, stem: &str| exact(form, stem) || is_short && is_near(form);
                stands(fields, &(Box::new(test) as WordTest), texts)
            }
            LeafKind::Phrase { parts, distance } => {
                let test = |part: &PhrasePart| match part {
                    PhrasePart::Word(word) => self.word(word),
                    PhrasePart::Pattern(pattern) => word_with(pattern),
                };
                let tests: Vec<WordTest> = parts.iter().map(test).collect();
                stands_as_phrase(fields, &tests, *distance, texts)
            }
        }
    }

    fn word(&self, word: &str) -> WordTest {
        if self.is_exact {
            let word = word.to_owned();
            return Box::new(move |form, _| form == word);
        }
        let stems = all_stems(word);
        Box::new(move |_, stem| stems.iter().any(|own| own == stem))
    }
}

/// The test of a pattern.
fn word_with(pattern: &str) -> WordTest {
    let letters: Vec<char> = pattern.chars().collect();
    Box::new(move |form, _| has_pattern(form, &letters))
}

fn in_set(fields: u8) -> impl Iterator<Item = Field> {
    Field::ALL.into_iter().filter(move |field| fields & field.bit() != 0)
}

fn stands(fields: u8, test: &WordTest, texts: &RecordTexts) -> bool {
    in_set(fields).any(|field| !texts.positions(field, test).is_empty())
}

fn stands_as_phrase(
    fields: u8,
    tests: &[WordTest],
    distance: Option<u32>,
    texts: &RecordTexts,
) -> bool {
    let offsets: Vec<u32> = (0..tests.len() as u32).collect();
    in_set(fields & ANY_FIELD).any(|field| {
        let positions: Vec<Vec<u32>> =
            tests.iter().map(|test| texts.positions(field, test)).collect();
        positions.iter().all(|of_word| !of_word.is_empty())
            && match distance {
                None => stand_in_order(&positions, &offsets),
                Some(distance) => stand_near(&positions, distance),
            }
    })
}
