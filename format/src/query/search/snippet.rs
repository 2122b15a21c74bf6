//! Finds the words of a search in a text that a record shows, to mark them.
//!
//! ```text
//! search    learning synovitsi           corrected: synovitsi → synovitis
//! text      Learned models of synovitis in children
//! marks     ^^^^^^^              ^^^^^^^^^
//! ```
//!
//! A word is marked where the search finds it: by its stem in the language of the record, by its pattern, or as the corrected
//! word. A word of a phrase is marked at each occurrence, not in the phrase alone.

use std::{collections::BTreeSet, ops::Range};

use crate::query::parse::search::{Leaf, LeafKind, Node, PhrasePart, Search};
use crate::query::search::summary::SearchSummary;
use crate::query::search::word_test::WordTest;
use crate::schema::texts::Field;
use crate::text::analyzer::{Compound, Languages, Stemmer, each_compound, is_stop_word};

/// The words of a search that texts are marked by.
#[derive(Debug)]
pub struct Marker {
    is_exact: bool,
    words: Vec<MarkedWord>,
}

/// A word of a search, and the fields in which it counts.
#[derive(Debug)]
struct MarkedWord {
    fields: u8,
    /// Whether the word is very frequent, and marked only if there is no other.
    is_frequent: bool,
    test: WordTest,
}

/// A part of a text, with the ranges of its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The bytes of the text.
    pub range: Range<usize>,
    /// The words to mark, as bytes of the text, ascending.
    pub marks: Vec<Range<usize>>,
}

impl Search {
    /// Collects the words to mark: those of the search, and the corrections of its summary.
    pub fn marker(&self, summary: Option<&SearchSummary>) -> Marker {
        let mut marker = Marker { is_exact: self.is_exact, words: Vec::new() };
        marker.add(&self.tree);
        if marker.words.iter().any(|word| !word.is_frequent) {
            marker.words.retain(|word| !word.is_frequent);
        }
        let corrected = summary.iter().flat_map(|summary| &summary.corrected);
        for (word, corrections) in corrected {
            let terms = Languages::ALL.terms(word);
            for known in &mut marker.words {
                if let WordTest::Terms(known) = &mut known.test
                    && terms.iter().any(|term| known.contains(term))
                {
                    known.extend(
                        corrections.iter().flat_map(|correction| Languages::ALL.terms(correction)),
                    );
                }
            }
        }
        marker
    }
}

impl Marker {
    fn add(&mut self, node: &Node) {
        match node {
            Node::Or(nodes) | Node::And { nodes, .. } => {
                nodes.iter().for_each(|node| self.add(node));
            }
            Node::Leaf(Leaf { fields, kind }) => match kind {
                LeafKind::Word(unit) => {
                    let all = unit.parts.iter().chain(&unit.joined);
                    all.for_each(|word| self.add_word(*fields, word));
                }
                LeafKind::Fuzzy(word, edits) => {
                    self.add_word(*fields, word);
                    self.push(*fields, WordTest::Near(word.clone(), *edits));
                }
                LeafKind::Pattern(pattern) => self.add_pattern(*fields, pattern),
                LeafKind::Phrase { parts, .. } => parts.iter().for_each(|part| match part {
                    PhrasePart::Word(word) => self.add_word(*fields, word),
                    PhrasePart::Pattern(pattern) => self.add_pattern(*fields, pattern),
                }),
            },
        }
    }

    fn add_word(&mut self, fields: u8, word: &str) {
        let (is_frequent, test) = (is_stop_word(word), WordTest::of_word(word, self.is_exact));
        self.words.push(MarkedWord { fields, is_frequent, test });
    }

    fn add_pattern(&mut self, fields: u8, pattern: &str) {
        self.push(fields, WordTest::of_pattern(pattern));
    }

    fn push(&mut self, fields: u8, test: WordTest) {
        self.words.push(MarkedWord { fields, is_frequent: false, test });
    }

    /// Finds the words in a text of a field, ascending, as bytes of the text.
    pub fn marks(&self, field: Field, text: &str, stemmer: Stemmer) -> Vec<Range<usize>> {
        self.found(field, text, stemmer).into_iter().map(|(range, _)| range).collect()
    }

    /// Finds the words in a text of a field, each with the number of the word of the search.
    fn found(&self, field: Field, text: &str, stemmer: Stemmer) -> Vec<(Range<usize>, usize)> {
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        each_compound(text, |compound| {
            let parts = compound.parts().enumerate().map(|(at, part)| (Some(at), part));
            for (at, form) in parts.chain(compound.joined().map(|joined| (None, joined))) {
                let Some(word) = self.word_of(field, form, stemmer) else { continue };
                let range = part_range(text, compound, at);
                match found.last_mut() {
                    // Pairs of characters overlap.
                    Some((last, _)) if range.start < last.end => last.end = last.end.max(range.end),
                    _ => found.push((range, word)),
                }
            }
        });
        found
    }

    /// The number of the first word of the search that a form of a text is.
    fn word_of(&self, field: Field, form: &str, stemmer: Stemmer) -> Option<usize> {
        let term = stemmer.term(form);
        self.words
            .iter()
            .position(|word| word.fields & field.bit() != 0 && word.test.accepts(form, &term))
    }

    /// Finds the part of a text of at most about `length` bytes that has the most different words of the search; `None` if
    /// the text has none.
    ///
    /// Cost: the words of the text, and for each found word those within `length` bytes after it.
    pub fn excerpt(
        &self,
        field: Field,
        text: &str,
        stemmer: Stemmer,
        length: usize,
    ) -> Option<Excerpt> {
        let found = self.found(field, text, stemmer);
        let mut best: Option<(usize, Range<usize>)> = None;
        for (at, (first, _)) in found.iter().enumerate() {
            let within =
                found[at..].iter().take_while(|(range, _)| range.end <= first.start + length);
            let different: BTreeSet<usize> = within.clone().map(|(_, word)| *word).collect();
            let end = within.last().map_or(first.end, |(range, _)| range.end);
            if best.as_ref().is_none_or(|(words, _)| different.len() > *words) {
                best = Some((different.len(), first.start..end));
            }
        }
        let (_, core) = best?;
        // The words stand in the middle, or as near to it as the ends of the text allow.
        let spare = length.saturating_sub(core.len());
        let start = core.start.saturating_sub(spare / 2);
        let end = (start + length).max(core.end).min(text.len());
        let start = start.min(end.saturating_sub(length));
        let range = word_begin(text, start, core.start)..word_end(text, end, core.end);
        let marks = found.into_iter().map(|(mark, _)| mark);
        let is_inside = |mark: &Range<usize>| range.start <= mark.start && mark.end <= range.end;
        Some(Excerpt { marks: marks.filter(is_inside).collect(), range })
    }
}

/// Where a part of a compound stands in the text: the whole compound, except in scripts without spaces.
fn part_range(text: &str, compound: &Compound, part: Option<usize>) -> Range<usize> {
    let source = compound.source();
    let Some(part) = part.filter(|_| compound.is_unspaced()) else { return source };
    let starts: Vec<usize> = text[source.clone()].char_indices().map(|(at, _)| at).collect();
    // Folding changed the number of characters.
    if starts.len() != compound.part_count() + 1 {
        return source;
    }
    let end = starts.get(part + 2).map_or(source.end, |end| source.start + end);
    source.start + starts[part]..end
}

/// The first begin of a word from a byte on, at most a byte.
fn word_begin(text: &str, from: usize, at_most: usize) -> usize {
    if from == 0 {
        return 0;
    }
    let from = (from..=at_most).find(|at| text.is_char_boundary(*at)).unwrap_or(at_most);
    let space = text[from..at_most].find(char::is_whitespace);
    space.map_or(from, |space| {
        let rest = &text[from + space..at_most];
        at_most - rest.trim_start().len()
    })
}

/// The last end of a word up to a byte, at least a byte.
fn word_end(text: &str, to: usize, at_least: usize) -> usize {
    if to >= text.len() {
        return text.len();
    }
    let to = (at_least..=to).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(at_least);
    let space = text[at_least..to].rfind(char::is_whitespace);
    space.map_or(to, |space| at_least + text[at_least..at_least + space].trim_end().len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::query::search::summary::SearchedWords;

    fn marked(search: &str, is_exact: bool, text: &str) -> String {
        let marker = Search::parse(search, is_exact).unwrap().marker(None);
        show(text, &marker.marks(Field::Title, text, Stemmer::of_language(Some("en"))))
    }

    fn show(text: &str, marks: &[Range<usize>]) -> String {
        let (mut shown, mut end) = (String::new(), 0);
        for mark in marks {
            shown += &format!("{}[{}]", &text[end..mark.start], &text[mark.clone()]);
            end = mark.end;
        }
        shown + &text[end..]
    }

    #[test]
    fn words_are_marked_where_the_search_finds_them() {
        let check = |search: &str, text: &str, expected: &str| {
            assert_eq!(marked(search, false, text), expected, "{search}");
        };
        check("learning", "Learned models", "[Learned] models");
        check("the learning", "The learned models", "The [learned] models");
        check("the", "The models", "[The] models");
        check("covid19", "On COVID-19: a study", "On [COVID-19]: a study");
        check("genom*", "Genomics of mice", "[Genomics] of mice");
        check("tumor~1", "A tumour", "A [tumour]");
        check("\"deep net*\" -cat", "Deep networks for cats", "[Deep] [networks] for cats");
        check("author:learned", "Learned models", "Learned models");
        check("title:learned", "Learned models", "[Learned] models");
        check("学习", "深度学习方法", "深度[学习]方法");
        check("h2o", "In H<sub>2</sub>O only", "In [H<sub>2</sub>O] only");
        assert_eq!(marked("models", true, "A model of models"), "A model of [models]");
    }

    #[test]
    fn corrected_words_are_marked() {
        let corrected = BTreeMap::from([("synovitsi".into(), vec!["synovitis".into()])]);
        let summary = SearchSummary { words: SearchedWords::All, corrected, identifier: None };
        let marker = Search::parse("synovitsi", false).unwrap().marker(Some(&summary));
        let text = "Synovitis of the knee";
        let marks = marker.marks(Field::Title, text, Stemmer::of_language(None));
        assert_eq!(show(text, &marks), "[Synovitis] of the knee");
    }

    #[test]
    fn an_excerpt_has_the_most_different_words_and_whole_words() {
        let marker = Search::parse("alpha omega", false).unwrap().marker(None);
        let stemmer = Stemmer::of_language(None);
        let filler = "lorem ipsum dolor sit amet ".repeat(20);
        let text = format!("alpha alpha alpha {filler}alpha and omega {filler}omega");
        let excerpt = marker.excerpt(Field::Abstract, &text, stemmer, 100).unwrap();
        let shown = &text[excerpt.range.clone()];
        assert!(shown.contains("alpha and omega") && shown.len() <= 100, "{shown}");
        assert_eq!(excerpt.marks.len(), 2);
        assert!(
            ["lorem", "ipsum", "dolor", "sit", "amet"].iter().any(|word| shown.starts_with(word))
        );
        let whole = marker.excerpt(Field::Abstract, "an omega", stemmer, 100).unwrap();
        assert_eq!((whole.range, whole.marks.as_slice()), (0..8, std::slice::from_ref(&(3..8))));
        assert_eq!(marker.excerpt(Field::Abstract, &filler, stemmer, 100), None);
        // Characters of several bytes are not cut.
        let text = format!("{0}omega{0}", "é".repeat(500));
        assert!(marker.excerpt(Field::Abstract, &text, stemmer, 101).is_none());
        let text = format!("{0} omega {0}", "é".repeat(500));
        let excerpt = marker.excerpt(Field::Abstract, &text, stemmer, 101).unwrap();
        assert!(text[excerpt.range].contains("omega"));
    }
}
