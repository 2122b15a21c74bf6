//! Resolves a search against a snapshot: the tree to a matcher, and which records a plain search lists.
//!
//! ```text
//! plain search "synovitsi of the knee"     no record has synovitsi and knee
//! synovitsi stands in no record            → synovitis, one exchange away
//! of, the                                  → not required beside others
//! 3 records have synovitis and knee        fewer than ten: records with half of the weight of both follow, or with any word
//! words: most, all: 3, corrected: synovitsi → synovitis
//! ```

use std::time::Duration;

use crate::index::full_text::{NO_ROW, VALUE_GAP};
use crate::query::parse::search::{Leaf, LeafKind, Node, PhrasePart, Search, Unit};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::search::group::{Group, SearchWord};
use crate::query::search::matcher::{Matcher, PlacedMatcher};
use crate::query::search::most::Most;
use crate::query::search::phrase::Phrase;
use crate::query::search::required::required;
use crate::query::search::scoring::{Scoring, words_of};
use crate::query::search::summary::{SearchSummary, SearchedWords};
use crate::query::search::terms::TrueTerms;
use crate::query::search::word_terms::WordTerms;
use crate::query::search::words::Words;
use crate::schema::texts::ANY_FIELD;
use crate::text::analyzer::{Languages, is_function_word, is_stop_word};

/// A plain search that fewer records match lists records with most of its words too.
pub const ALL_RECORDS_MIN: u64 = 10;
/// Where fewer records than this have half of the weight of the words, any word suffices.
const MOST_RECORDS_MIN: usize = 100;
/// Records with most words do not follow those with all words if finding them takes longer: 125 million postings. A constant,
/// so that all servers list the same records.
const MOST_NANOSECONDS_MAX: u64 = 250_000_000;

/// All of what was found, or the first error. Everything is looked up first, so that one attempt notes all chunks that are
/// not on this disk.
fn all<T>(found: Vec<Result<T, QueryError>>) -> Result<Vec<T>, QueryError> {
    found.into_iter().collect()
}

/// A search in a snapshot: its matching records, within its limits.
pub(super) struct Resolver<'s, 'q> {
    search: &'q Search,
    words: Words<'s, 'q>,
    rows: u32,
    /// Ascending.
    suppressed: &'s [u32],
    deadline: Deadline<'s>,
    /// The records with all words that come before those with most words; `None` if all words are required.
    first: Option<Vec<u32>>,
}

impl<'s, 'q> Resolver<'s, 'q> {
    pub fn new(
        search: &'q Search,
        index: TrueTerms<'s>,
        languages: Languages,
        rows: u32,
        suppressed: &'s [u32],
        deadline: Deadline<'s>,
    ) -> Resolver<'s, 'q> {
        let records = u64::from(rows) - suppressed.len() as u64;
        let words = Words::new(search, index, languages, records, deadline);
        Resolver { search, words, rows, suppressed, deadline, first: None }
    }

    /// Resolves the clauses. Decides which records a plain search lists besides those with all words, and corrects its words.
    pub fn matcher(&mut self) -> Result<Matcher<'s>, QueryError> {
        let search = self.search;
        let mut matcher = self.checked_node(&search.tree)?;
        if !search.is_plain || search.requires_all {
            return Ok(matcher);
        }
        let only = matcher.groups().filter(|groups| groups.len() == 1);
        let known = only.and_then(|groups| groups.first()?.exact_count());
        if known.is_some_and(|count| count >= ALL_RECORDS_MIN) {
            return Ok(matcher);
        }
        let mut first = self.first_rows(ALL_RECORDS_MIN as usize, |row| matcher.seek(row))?;
        // A search without records may be mistyped. Looking for near words is dear, and a search with records needs none.
        let words = words_of(&search.tree);
        if first.is_empty() && self.words.correct(words.iter().map(|(word, _)| &**word))? {
            matcher = self.checked_node(&search.tree)?;
            first = self.first_rows(ALL_RECORDS_MIN as usize, |row| matcher.seek(row))?;
        }
        // Most of one word is all of the word.
        let is_one_word = matcher.groups().is_some_and(|groups| groups.len() == 1)
            && subject_words(&search.tree).len() == 1;
        if (first.len() as u64) < ALL_RECORDS_MIN
            && !is_one_word
            && let Some(most) = self.most_besides(&first)?
        {
            self.first = Some(first);
            return Ok(most);
        }
        if let Some(groups) = matcher.groups() {
            groups.into_iter().try_for_each(Group::rewind)?;
            return Ok(matcher);
        }
        self.checked_node(&search.tree)
    }

    /// The matcher of records with most words, if these are more than the `first` ones, which have all words.
    fn most_besides(&mut self, first: &[u32]) -> Result<Option<Matcher<'s>>, QueryError> {
        let mut most = self.most(&self.search.tree)?;
        let half = self.first_rows(MOST_RECORDS_MIN, |row| most.seek(row))?;
        if half.len() < MOST_RECORDS_MIN {
            most.require_any();
        }
        most.rewind()?;
        // A search that has found something is not refused because of what follows.
        if !first.is_empty() && most.nanoseconds() > MOST_NANOSECONDS_MAX {
            return Ok(None);
        }
        self.check_cost(most.nanoseconds())?;
        // Records with all words have most of them.
        let found = self.first_rows(first.len() + 1, |row| most.seek(row))?;
        most.rewind()?;
        Ok((found.len() > first.len()).then_some(Matcher::Most(most)))
    }

    /// The records with all words of the search, ascending, if records with most words follow these.
    pub fn first(&self) -> Option<&[u32]> {
        self.first.as_deref()
    }

    /// Refuses a search that would surely take longer than it may.
    fn check_cost(&self, nanoseconds: u64) -> Result<(), QueryError> {
        let Some(allowed) = self.deadline.allowed() else { return Ok(()) };
        let needed = Duration::from_nanos(nanoseconds);
        if needed <= allowed {
            return Ok(());
        }
        let reason = format!(
            "takes about {:.1} s of work where {:.1} s are allowed, since its words stand in too many records: {}",
            needed.as_secs_f64(),
            allowed.as_secs_f64(),
            "add a rarer word, or leave out frequent ones"
        );
        Err(QueryError::refused(self.search.parameter, &self.search.text, reason))
    }

    /// Resolves what orders the records that the matcher finds. Very frequent words score in a search of such words alone; where
    /// records match that have most words, so do function words.
    pub fn scoring(&mut self, matcher: &Matcher<'s>) -> Result<Scoring<'s>, QueryError> {
        let is_left_out = if self.first.is_some() { is_function_word } else { is_stop_word };
        Scoring::new(&mut self.words, matcher, is_left_out)
    }

    /// Which words match, and which were corrected.
    pub fn summary(&self) -> SearchSummary {
        let corrected = self.words.corrections.iter().map(|(word, found)| {
            (word.clone(), found.iter().map(|found| found.form.clone()).collect())
        });
        let words = match &self.first {
            Some(first) => SearchedWords::Most { all: first.len() as u64 },
            None => SearchedWords::All,
        };
        SearchSummary { words, corrected: corrected.collect(), identifier: None }
    }

    /// The first rows that are not suppressed, at most `max`. `seek` moves to the first matching row at or after a row.
    fn first_rows(
        &self,
        max: usize,
        mut seek: impl FnMut(u32) -> Result<u32, QueryError>,
    ) -> Result<Vec<u32>, QueryError> {
        let mut rows = Vec::new();
        let mut row = seek(0)?;
        while row != NO_ROW && rows.len() < max {
            if self.suppressed.binary_search(&row).is_err() {
                rows.push(row);
            }
            row = seek(row + 1)?;
        }
        Ok(rows)
    }

    fn checked_node(&mut self, node: &Node) -> Result<Matcher<'s>, QueryError> {
        let matcher = self.node(node)?;
        self.check_cost(matcher.nanoseconds())?;
        Ok(matcher)
    }

    fn node(&mut self, node: &Node) -> Result<Matcher<'s>, QueryError> {
        self.deadline.check()?;
        match node {
            Node::Leaf(leaf) => self.leaf(leaf),
            Node::Or(nodes) => {
                let nodes: Vec<_> = nodes.iter().map(|node| self.node(node)).collect();
                Ok(Matcher::or(all(nodes)?))
            }
            Node::And { nodes, negated } => {
                let required = required(nodes);
                let found: Vec<_> = required.map(|node| self.node(node)).collect();
                let negated: Vec<_> = negated.iter().map(|node| self.node(node)).collect();
                let (mut found, negated) = (all(found)?, all(negated)?);
                found.sort_by_key(Matcher::count_max);
                // A search of punctuation alone finds nothing.
                let rows = if negated.is_empty() { 0 } else { self.rows };
                let negated = PlacedMatcher::all(negated);
                Ok(Matcher::And { nodes: found, negated, rows, pace: self.deadline.paced() })
            }
        }
    }

    fn leaf(&mut self, Leaf { fields, kind }: &Leaf) -> Result<Matcher<'s>, QueryError> {
        match kind {
            LeafKind::Word(Unit { parts, joined }) => match (parts.as_slice(), joined) {
                ([only], None) => {
                    let terms = self.words.terms(only)?;
                    let mut group = self.group(terms, *fields)?;
                    // Scoring counts the word in all fields, so only a group of all fields can serve both.
                    if *fields == ANY_FIELD {
                        group = group.of_word((only.clone(), None));
                    }
                    Ok(Matcher::Group(Box::new(group)))
                }
                (parts, joined) => {
                    // The parts of a compound match side by side, or joined: `covid-19` and `covid19`.
                    let parts: Vec<PhrasePart> =
                        parts.iter().cloned().map(PhrasePart::Word).collect();
                    let phrase = self.phrase(&parts, None, *fields)?;
                    let Some(joined) = joined else { return Ok(phrase) };
                    let terms = self.words.terms(joined)?;
                    let joined = Matcher::Group(Box::new(self.group(terms, *fields)?));
                    Ok(Matcher::or(vec![joined, phrase]))
                }
            },
            LeafKind::Fuzzy(word, edits) => {
                let terms = self.words.fuzzy_terms(word, *edits)?;
                Ok(Matcher::Group(Box::new(self.group(terms, *fields)?)))
            }
            LeafKind::Pattern(pattern) => {
                let found = self.words.pattern(pattern)?;
                let terms = self.words.terms_of_forms(found)?;
                Ok(Matcher::Group(Box::new(self.group(terms, *fields)?)))
            }
            LeafKind::Phrase { parts, distance } => self.phrase(parts, *distance, *fields),
        }
    }

    fn phrase(
        &mut self,
        parts: &[PhrasePart],
        distance: Option<u32>,
        fields: u8,
    ) -> Result<Matcher<'s>, QueryError> {
        let groups: Vec<_> = parts
            .iter()
            .map(|part| {
                let terms = self.words.part_terms(part)?;
                let group = self.group(terms, ANY_FIELD)?;
                Ok(match part {
                    PhrasePart::Word(word) => group.of_word((word.clone(), None)),
                    PhrasePart::Pattern(_) => group,
                })
            })
            .collect();
        let groups = all(groups)?;
        let phrase = Phrase::new(groups, distance, fields, self.deadline);
        // Only words of different values are so far apart, and a suppressed name may stand between the values.
        let may_be_nearer = distance.is_some_and(|distance| distance >= VALUE_GAP);
        Ok(Matcher::Phrase(Box::new(match may_be_nearer && self.words.index.has_names() {
            true => phrase.moving(self.words.index.referring()?),
            false => phrase,
        })))
    }

    fn group(&self, terms: WordTerms<'s>, fields: u8) -> Result<Group<'s>, QueryError> {
        Group::new(terms, fields, self.deadline)
    }

    /// The records with half of the weight of all words.
    fn most(&mut self, tree: &Node) -> Result<Most<'s>, QueryError> {
        let mut words = Vec::new();
        for word in subject_words(tree) {
            let terms = self.words.terms_with_joined(&word.0, word.1.as_deref())?;
            let weight = self.words.idf(terms.records);
            if weight > 0 {
                words.push((weight, self.group(terms, ANY_FIELD)?.of_word(word)));
            }
        }
        Ok(Most::new(words, self.deadline))
    }
}

/// The distinct words of a plain search, without function words. A search of function words alone keeps them.
fn subject_words(tree: &Node) -> Vec<SearchWord> {
    let mut words = words_of(tree);
    words.sort();
    words.dedup_by(|a, b| a.0 == b.0);
    if words.iter().any(|(word, _)| !is_function_word(word)) {
        words.retain(|(word, _)| !is_function_word(word));
    }
    words
}
