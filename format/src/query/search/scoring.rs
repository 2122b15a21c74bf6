//! The words that order the records of a search, with their weights.

use std::collections::BTreeMap;

use crate::index::full_text::{FullText, IMPACT_MAX, Postings, TITLE_END, Term};
use crate::query::parse::search::{Leaf, LeafKind, Node, PhrasePart, Unit};
use crate::query::rows::deadline::QueryError;
use crate::query::search::forms::Found;
use crate::query::search::group::{Group, SearchWord};
use crate::query::search::matcher::{Matcher, WordPlace};
use crate::query::search::word_terms::WordTerms;
use crate::query::search::words::Words;
use crate::schema::texts::{ANY_FIELD, Field};
use crate::storage::error::ReadError;

/// A longer search is no title, and its words are not compared with the order of words in records.
const SEQUENCE_WORDS_MAX: usize = 31;
/// Positions of at most this many bytes are fetched as a whole: the titles of 128 records lie in about as many bytes of chunks.
const FETCHED_POSITIONS_BYTES: usize = 384 << 10;

/// Where the postings of a word that scores are read.
pub(super) enum ScoreSource<'s> {
    /// In the matcher, which reads them too.
    Matcher(WordPlace),
    /// Apart from the matcher.
    Group(Box<Group<'s>>),
}

impl<'s> ScoreSource<'s> {
    #[inline]
    pub fn group<'m>(&'m mut self, matcher: &'m mut Matcher<'s>) -> Option<&'m mut Group<'s>> {
        match self {
            ScoreSource::Matcher(place) => matcher.at_place(*place),
            ScoreSource::Group(group) => Some(group),
        }
    }
}

/// A word that scores.
pub(super) struct ScoredWord<'s> {
    pub source: ScoreSource<'s>,
    /// Inverse document frequency, times the occurrences in the search.
    pub weight: u64,
    /// Whether records with the form of the search precede those with other forms.
    pub has_typed: bool,
}

/// The words and weights that order the records of a search.
pub(super) struct Scoring<'s> {
    pub words: Vec<ScoredWord<'s>>,
    /// Of a plain search, its words in order, to be found side by side; each with its inverse document frequency.
    pub sequence: Vec<(u64, ScoreSource<'s>)>,
    /// The ends of titles, once they are read.
    title_end: Option<Postings<'s>>,
    pub index: &'s FullText,
}

impl<'s> Scoring<'s> {
    /// Resolves what orders the records that a matcher finds. `is_left_out` are words that score only in a search of such
    /// words alone.
    pub fn new(
        words: &mut Words<'s, '_>,
        matcher: &Matcher<'s>,
        is_left_out: fn(&str) -> bool,
    ) -> Result<Scoring<'s>, QueryError> {
        let search = words.search;
        let scored = scored_words(words, matcher, is_left_out)?;
        let sequence = match search.is_plain {
            true => sequence(words, matcher)?,
            false => Vec::new(),
        };
        Ok(Scoring { words: scored, sequence, title_end: None, index: words.index.index })
    }

    /// Moves the words and the ends of titles to their first records.
    pub fn rewind(&mut self, matcher: &mut Matcher<'s>) -> Result<(), QueryError> {
        let words = self.words.iter_mut().map(|word| &mut word.source);
        for source in words.chain(self.sequence.iter_mut().map(|(_, source)| source)) {
            source.group(matcher).map_or(Ok(()), Group::rewind)?;
        }
        self.title_end.iter_mut().try_for_each(Postings::rewind)?;
        Ok(())
    }

    /// Asks for the positions of all words in order at once, where chunks are fetched and these are few. Tells whether it did.
    pub fn fetch_positions(&mut self, matcher: &mut Matcher<'s>) -> bool {
        let Scoring { sequence, index, .. } = self;
        if !index.archive().is_collecting() {
            return false;
        }
        let sources = sequence.iter_mut().map(|(_, source)| source);
        let bytes = sources.filter_map(|source| Some(source.group(matcher)?.positions_bytes()));
        let is_whole = bytes.sum::<usize>() <= FETCHED_POSITIONS_BYTES;
        for (_, source) in sequence.iter_mut().filter(|_| is_whole) {
            if let Some(group) = source.group(matcher) {
                group.fetch_positions();
            }
        }
        is_whole
    }

    /// Reads where the titles of a record end. Rows ascend.
    pub fn title_ends(&mut self, row: u32) -> Result<Vec<u32>, ReadError> {
        // Most records have one title, which ends after its words.
        if let Some(words) = self.index.titles(row)?.words_of_only() {
            return Ok(vec![words.into()]);
        }
        let mut ends = Vec::new();
        if self.title_end.is_none() {
            self.title_end = self.index.term(TITLE_END)?.map(Term::postings).transpose()?;
        }
        if let Some(postings) = &mut self.title_end {
            postings.seek(row)?;
            if postings.row() == row {
                postings.each_occurrence(Field::Title, |end, _| ends.push(end))?;
            }
        }
        Ok(ends)
    }

    /// The greatest score that words can give a record.
    pub fn words_max(&self) -> u64 {
        self.words.iter().map(|word| word.weight * u64::from(IMPACT_MAX)).sum()
    }
}

/// The words that score: of all clauses but the negated ones.
fn scored_words<'s>(
    words: &mut Words<'s, '_>,
    matcher: &Matcher<'s>,
    is_left_out: fn(&str) -> bool,
) -> Result<Vec<ScoredWord<'s>>, QueryError> {
    let mut all = Vec::new();
    scored_leaves(&words.search.tree, &mut all);
    let is_frequent = |part: &Scored| matches!(part, Scored::Word(word, _) if is_left_out(word));
    let has_other = all.iter().any(|part| !is_frequent(part));
    // A word that the search has twice weighs twice.
    let mut counts: BTreeMap<Scored, u64> = BTreeMap::new();
    for part in all.into_iter().filter(|part| !has_other || !is_frequent(part)) {
        *counts.entry(part).or_default() += 1;
    }
    let mut scored = Vec::new();
    for (part, times) in counts {
        let (weight, source) = match &part {
            Scored::Word(word, joined) => word_source(words, word, joined.as_deref(), matcher)?,
            Scored::Pattern(pattern) => {
                let found = words.pattern(pattern)?;
                expanded_source(words, found)?
            }
            Scored::Fuzzy(word, edits) => {
                let mut found = words.fuzzy(word, *edits)?;
                // Records may have the word as it was typed.
                found.push(Found { form: word.clone(), terms: words.index.forms(word)? });
                expanded_source(words, found)?
            }
        };
        // No record has a word without weight.
        if weight > 0 {
            // Patterns and mistyped words have no form that the client typed.
            let has_typed = matches!(part, Scored::Word(..)) && !words.search.is_exact;
            scored.push(ScoredWord { source, weight: weight * times, has_typed });
        }
    }
    Ok(scored)
}

/// The terms of some words, whole.
fn expanded_source<'s>(
    words: &Words<'s, '_>,
    found: Vec<Found>,
) -> Result<(u64, ScoreSource<'s>), QueryError> {
    let mut terms = words.terms_of_forms(found)?;
    terms.terms.iter_mut().for_each(|term| term.forms = None);
    source(words, terms)
}

/// All words of a plain search in order.
fn sequence<'s>(
    words: &mut Words<'s, '_>,
    matcher: &Matcher<'s>,
) -> Result<Vec<(u64, ScoreSource<'s>)>, QueryError> {
    let in_order = words_of(&words.search.tree);
    if in_order.len() > SEQUENCE_WORDS_MAX {
        return Ok(Vec::new());
    }
    in_order.iter().map(|(word, _)| word_source(words, word, None, matcher)).collect()
}

/// The inverse document frequency of a word, and its postings: of the matcher if it reads them.
fn word_source<'s>(
    words: &mut Words<'s, '_>,
    word: &str,
    joined: Option<&str>,
    matcher: &Matcher<'s>,
) -> Result<(u64, ScoreSource<'s>), QueryError> {
    let terms = words.terms_with_joined(word, joined)?;
    match matcher.place_of(&(word.to_owned(), joined.map(str::to_owned))) {
        Some(place) => Ok((words.idf(terms.records), ScoreSource::Matcher(place))),
        None => source(words, terms),
    }
}

fn source<'s>(
    words: &Words<'s, '_>,
    terms: WordTerms<'s>,
) -> Result<(u64, ScoreSource<'s>), QueryError> {
    let idf = words.idf(terms.records);
    Ok((idf, ScoreSource::Group(Box::new(Group::new(terms, ANY_FIELD, words.deadline)?))))
}

/// The words of a plain search in order, each with the joined form of its compound.
pub(super) fn words_of(tree: &Node) -> Vec<SearchWord> {
    let Node::And { nodes, .. } = tree else { return Vec::new() };
    let mut words = Vec::new();
    for node in nodes {
        if let Node::Leaf(Leaf { kind: LeafKind::Word(Unit { parts, joined }), .. }) = node {
            words.extend(parts.iter().map(|part| (part.clone(), joined.clone())));
        }
    }
    words
}

/// A word, pattern or mistyped word that scores.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Scored {
    Word(String, Option<String>),
    Pattern(String),
    Fuzzy(String, u32),
}

fn scored_leaves(node: &Node, into: &mut Vec<Scored>) {
    match node {
        Node::Or(nodes) | Node::And { nodes, .. } => {
            nodes.iter().for_each(|node| scored_leaves(node, into));
        }
        Node::Leaf(Leaf { kind, .. }) => match kind {
            LeafKind::Word(Unit { parts, joined }) => {
                into.extend(parts.iter().map(|part| Scored::Word(part.clone(), joined.clone())));
            }
            LeafKind::Fuzzy(word, edits) => into.push(Scored::Fuzzy(word.clone(), *edits)),
            LeafKind::Pattern(pattern) => into.push(Scored::Pattern(pattern.clone())),
            LeafKind::Phrase { parts, .. } => into.extend(parts.iter().map(|part| match part {
                PhrasePart::Word(word) => Scored::Word(word.clone(), None),
                PhrasePart::Pattern(pattern) => Scored::Pattern(pattern.clone()),
            })),
        },
    }
}
