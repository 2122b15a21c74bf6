//! Resolves a search against a snapshot: words to terms, the tree to a matcher, and the words that score.
//!
//! ```text
//! plain search "synovitsi of the knee"     no record has synovitsi and knee
//! synovitsi stands in no record            → synovitis, one exchange away
//! of, the                                  → not required beside others
//! words: most, corrected: synovitsi → synovitis
//! ```

use std::{collections::BTreeMap, str, time::Duration};

use crate::index::full_text::{
    FormCursor, FormOf, FullText, NO_ROW, Postings, TITLE_END, Term, VALUE_GAP, idf,
};
use crate::query::parse::search::{Leaf, LeafKind, Node, PhrasePart, Search, Unit};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::search::forms::{Found, near, with_pattern};
use crate::query::search::group::{Group, GroupTerm, SearchWord};
use crate::query::search::matcher::Matcher;
use crate::query::search::most::Most;
use crate::query::search::phrase::Phrase;
use crate::query::search::terms::TrueTerms;
use crate::schema::texts::{ANY_FIELD, Field};
use crate::storage::error::ReadError;
use crate::text::analyzer::{Languages, is_function_word, is_stop_word};

/// The most words that the patterns and the mistyped words of a search stand for.
const EXPANSIONS_MAX: usize = 10_000;
/// Letters from which on a word may be mistyped, and from which on in two places.
const MISTYPED_LETTERS: [usize; 2] = [4, 8];
/// A mistyped word stands for words in more records than this, and in more than four times as many as itself.
const FREQUENT_RECORDS: u64 = 2;
/// The most words that a mistyped word stands for.
const CORRECTIONS_MAX: usize = 8;
/// Where fewer records than this have half of the weight of the words, any word suffices.
const MOST_RECORDS_MIN: usize = 100;
/// A longer search is no title, and its words are not compared with the order of words in records.
const SEQUENCE_WORDS_MAX: usize = 31;

/// Which words of a search the matching records have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchedWords {
    /// All that are required.
    All,
    /// Most of them, by weight.
    Most,
}

impl SearchedWords {
    /// The name in answers.
    pub fn name(self) -> &'static str {
        match self {
            SearchedWords::All => "all",
            SearchedWords::Most => "most",
        }
    }
}

/// Which words of a search match, and which words were corrected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchSummary {
    /// Which words the matching records have.
    pub words: SearchedWords,
    /// The words that also stand for other words, with these.
    pub corrected: BTreeMap<String, Vec<String>>,
}

/// Where the postings of a word that scores are read.
pub(super) enum ScoreSource<'s> {
    /// In the matcher, which reads them too: the place of the group among its required words.
    Matcher(usize),
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
    /// Moves the words of the sequence and the ends of titles to their first records.
    pub fn rewind(&mut self, matcher: &mut Matcher<'s>) -> Result<(), QueryError> {
        for (_, source) in &mut self.sequence {
            source.group(matcher).map_or(Ok(()), Group::rewind)?;
        }
        self.title_end.iter_mut().try_for_each(Postings::rewind)?;
        Ok(())
    }

    /// Reads where the titles of a record end. Rows ascend.
    pub fn title_ends(&mut self, row: u32) -> Result<Vec<u32>, ReadError> {
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
}

/// All of what was found, or the first error. Everything is looked up first, so that one attempt notes all chunks that are
/// not on this disk.
fn all<T>(found: Vec<Result<T, QueryError>>) -> Result<Vec<T>, QueryError> {
    found.into_iter().collect()
}

/// The words that patterns and mistyped words stand for: by the pattern, or by the word and its changes.
type Expansions = BTreeMap<(String, Option<u32>), Vec<Found>>;

/// A search in a snapshot: what its words stand for, within its limits.
pub(super) struct Resolver<'s, 'q> {
    search: &'q Search,
    index: TrueTerms<'s>,
    /// The languages of the records.
    languages: Languages,
    /// The records that are not suppressed.
    records: u64,
    rows: u32,
    /// Ascending.
    suppressed: &'s [u32],
    deadline: Deadline<'s>,
    expansions_left: usize,
    expansions: Expansions,
    /// By word: the terms, once the word is looked up.
    terms: BTreeMap<String, Vec<GroupTerm<'s>>>,
    /// The words of a plain search that stand for others.
    corrections: BTreeMap<String, Vec<Found>>,
    searched_words: SearchedWords,
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
        Resolver {
            search,
            index,
            languages,
            records: u64::from(rows) - suppressed.len() as u64,
            rows,
            suppressed,
            deadline,
            expansions_left: EXPANSIONS_MAX,
            expansions: BTreeMap::new(),
            terms: BTreeMap::new(),
            corrections: BTreeMap::new(),
            searched_words: SearchedWords::All,
        }
    }

    /// Resolves the clauses. Decides whether records match that have most words of a plain search, and corrects its words.
    pub fn matcher(&mut self) -> Result<Matcher<'s>, QueryError> {
        let search = self.search;
        let mut matcher = self.node(&search.tree)?;
        self.check_cost(&matcher)?;
        if search.is_plain && self.first_row(&mut matcher)? == NO_ROW {
            self.searched_words = SearchedWords::Most;
            self.correct(&search.tree)?;
            matcher = self.most(&search.tree)?;
            self.check_cost(&matcher)?;
        }
        Ok(matcher)
    }

    /// Refuses a search that would surely take longer than it may.
    fn check_cost(&self, matcher: &Matcher<'_>) -> Result<(), QueryError> {
        let Some(allowed) = self.deadline.allowed() else { return Ok(()) };
        let needed = Duration::from_nanos(matcher.nanoseconds());
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

    /// Resolves what orders the records that the matcher finds.
    pub fn scoring(&mut self, matcher: &Matcher<'s>) -> Result<Scoring<'s>, QueryError> {
        let search = self.search;
        let words = self.scored_words(&search.tree, matcher)?;
        let sequence = match search.is_plain {
            true => self.sequence(&search.tree, matcher)?,
            false => Vec::new(),
        };
        Ok(Scoring { words, sequence, title_end: None, index: self.index.index })
    }

    /// Which words match, and which were corrected.
    pub fn summary(&self) -> SearchSummary {
        let corrected = self.corrections.iter().map(|(word, found)| {
            (word.clone(), found.iter().map(|found| found.form.clone()).collect())
        });
        SearchSummary { words: self.searched_words, corrected: corrected.collect() }
    }

    /// The first matching row that is not suppressed.
    fn first_row(&self, matcher: &mut Matcher<'_>) -> Result<u32, QueryError> {
        let mut row = matcher.seek(0)?;
        while row != NO_ROW && self.suppressed.binary_search(&row).is_ok() {
            row = matcher.seek(row + 1)?;
        }
        Ok(row)
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
                Ok(Matcher::And { nodes: found, negated, rows, pace: self.deadline.paced() })
            }
        }
    }

    fn leaf(&mut self, Leaf { fields, kind }: &Leaf) -> Result<Matcher<'s>, QueryError> {
        match kind {
            LeafKind::Word(Unit { parts, joined }) => match (parts.as_slice(), joined) {
                ([only], None) => {
                    let terms = self.terms(only)?;
                    let mut group = self.group(terms, *fields)?;
                    if *fields == ANY_FIELD {
                        group = group.of_word((only.clone(), None));
                    }
                    Ok(Matcher::Group(Box::new(group)))
                }
                (parts, joined) => {
                    let parts: Vec<PhrasePart> =
                        parts.iter().cloned().map(PhrasePart::Word).collect();
                    let phrase = self.phrase(&parts, None, *fields)?;
                    let Some(joined) = joined else { return Ok(phrase) };
                    let terms = self.terms(joined)?;
                    let joined = Matcher::Group(Box::new(self.group(terms, *fields)?));
                    Ok(Matcher::or(vec![joined, phrase]))
                }
            },
            LeafKind::Fuzzy(word, edits) => {
                let found = self.fuzzy(word, *edits)?;
                let mut terms = self.terms(word)?;
                terms.extend(self.terms_of_forms(found)?);
                Ok(Matcher::Group(Box::new(self.group(terms, *fields)?)))
            }
            LeafKind::Pattern(pattern) => {
                let found = self.pattern(pattern)?;
                let terms = self.terms_of_forms(found)?;
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
                let terms = self.part_terms(part)?;
                self.group(terms, ANY_FIELD)
            })
            .collect();
        let groups = all(groups)?;
        let phrase = Phrase::new(groups, distance, fields, self.deadline);
        // Only words of different values are so far apart, and a suppressed name may stand between the values.
        let may_be_nearer = distance.is_some_and(|distance| distance >= VALUE_GAP);
        Ok(Matcher::Phrase(Box::new(match may_be_nearer && self.index.has_names() {
            true => phrase.moving(self.index.referring()?),
            false => phrase,
        })))
    }

    fn part_terms(&mut self, part: &PhrasePart) -> Result<Vec<GroupTerm<'s>>, QueryError> {
        match part {
            PhrasePart::Word(word) => Ok(self.terms(word)?),
            PhrasePart::Pattern(pattern) => {
                let found = self.pattern(pattern)?;
                Ok(self.terms_of_forms(found)?)
            }
        }
    }

    /// The words of a pattern. Scans the forms once.
    fn pattern(&mut self, pattern: &str) -> Result<Vec<Found>, QueryError> {
        let key = (pattern.to_owned(), None);
        if let Some(known) = self.expansions.get(&key) {
            return Ok(known.clone());
        }
        let (index, max) = (self.index.index, self.expansions_left + 1);
        let live = |forms: &FormCursor<'_>| self.index.forms_at(forms);
        let (found, count) = with_pattern(index, pattern, max, live, self.deadline)?;
        self.expand(key, found, count)
    }

    /// The words within some changes of a word. Scans the forms once.
    fn fuzzy(&mut self, word: &str, edits: u32) -> Result<Vec<Found>, QueryError> {
        let key = (word.to_owned(), Some(edits));
        if let Some(known) = self.expansions.get(&key) {
            return Ok(known.clone());
        }
        let found = self.near(word, edits)?;
        let found: Vec<Found> = found.into_iter().map(|(_, found)| found).collect();
        let count = found.len() as u64;
        self.expand(key, found, count)
    }

    fn near(&self, word: &str, edits: u32) -> Result<Vec<(u32, Found)>, QueryError> {
        let live = |forms: &FormCursor<'_>| self.index.forms_at(forms);
        near(self.index.index, word, edits, live, self.deadline)
    }

    /// Takes the words that a clause stands for off the budget of the search.
    fn expand(
        &mut self,
        clause: (String, Option<u32>),
        found: Vec<Found>,
        count: u64,
    ) -> Result<Vec<Found>, QueryError> {
        let Some(left) = self.expansions_left.checked_sub(count as usize) else {
            let reason = format!(
                "stands for {count} words; all patterns of a search stand for at most {EXPANSIONS_MAX}: write more \
                 letters"
            );
            return Err(QueryError::refused(self.search.parameter, &clause.0, reason));
        };
        self.expansions_left = left;
        self.expansions.insert(clause, found.clone());
        Ok(found)
    }

    /// The terms of a word: of its stems in the languages of the records, or of the word as it is written. A term counts if one of its
    /// forms may be an inflection of the word: stems of two languages may be equal by chance.
    fn terms(&mut self, word: &str) -> Result<Vec<GroupTerm<'s>>, QueryError> {
        self.deadline.check()?;
        if let Some(known) = self.terms.get(word) {
            return Ok(known.clone());
        }
        let terms = match self.search.is_exact {
            true => self.terms_of_form(&self.index.forms(word)?)?,
            false => {
                let mut terms = Vec::new();
                for stem in self.languages.stems(word) {
                    if let Some(of) = self.index.term(&stem)?
                        && self.has_inflection(of.term, &stem, word)?
                    {
                        terms.push(GroupTerm { of, forms: None });
                    }
                }
                terms
            }
        };
        self.terms.insert(word.to_owned(), terms.clone());
        Ok(terms)
    }

    /// Whether a form of a term may be an inflection of a word.
    fn has_inflection(&self, term: Term<'_>, stem: &str, word: &str) -> Result<bool, QueryError> {
        for (form, number) in term.forms(stem.as_bytes())?.iter().zip(0..) {
            let Ok(form) = str::from_utf8(form) else { continue };
            let is_one = self.languages.have_inflection(word, form);
            if is_one && self.index.has_form(form, &FormOf { stem: stem.to_owned(), number })? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn terms_of_stem(&self, stem: &str) -> Result<Vec<GroupTerm<'s>>, QueryError> {
        let term = self.index.term(stem)?;
        Ok(term.map(|of| GroupTerm { of, forms: None }).into_iter().collect())
    }

    fn terms_of_form(&self, of: &[FormOf]) -> Result<Vec<GroupTerm<'s>>, QueryError> {
        of.iter().filter_map(|of| self.term_of_form(of).transpose()).collect()
    }

    fn term_of_form(&self, of: &FormOf) -> Result<Option<GroupTerm<'s>>, QueryError> {
        let Some(term) = self.index.term(&of.stem)? else { return Ok(None) };
        let forms = (term.term.form_count() > 1).then(|| vec![of.number]);
        Ok(Some(GroupTerm { of: term, forms }))
    }

    /// The terms of words, each once, with the forms of all words.
    fn terms_of_forms(&self, found: Vec<Found>) -> Result<Vec<GroupTerm<'s>>, QueryError> {
        let mut numbers: BTreeMap<String, Vec<u16>> = BTreeMap::new();
        for FormOf { stem, number } in found.into_iter().flat_map(|found| found.terms) {
            numbers.entry(stem).or_default().push(number);
        }
        let mut terms = Vec::with_capacity(numbers.len());
        for (stem, mut forms) in numbers {
            forms.sort_unstable();
            if let Some(of) = self.index.term(&stem)? {
                let forms = (forms.len() < of.term.form_count()).then_some(forms);
                terms.push(GroupTerm { of, forms });
            }
        }
        Ok(terms)
    }

    fn group(&self, terms: Vec<GroupTerm<'s>>, fields: u8) -> Result<Group<'s>, QueryError> {
        Group::new(terms, fields, self.deadline)
    }

    /// The inverse document frequency of a word with these terms: that of its most frequent term.
    fn idf(&self, terms: &[GroupTerm<'_>]) -> u64 {
        match records_with(terms) {
            0 => 0,
            with_word => idf(self.records, with_word.min(self.records)),
        }
    }

    /// The terms of a word of a plain search, of its corrections, and of the joined form of its compound.
    fn word_terms(
        &mut self,
        word: &str,
        joined: Option<&str>,
    ) -> Result<Vec<GroupTerm<'s>>, QueryError> {
        let mut terms = self.terms(word)?;
        if let Some(joined) = joined {
            terms.extend(self.terms(joined)?);
        }
        for found in self.corrections.get(word).into_iter().flatten() {
            for of in &found.terms {
                terms.extend(self.terms_of_stem(&of.stem)?);
            }
        }
        Ok(terms)
    }

    fn word_group(
        &mut self,
        word: &str,
        joined: Option<&str>,
    ) -> Result<(u64, Group<'s>), QueryError> {
        let terms = self.word_terms(word, joined)?;
        Ok((self.idf(&terms), self.group(terms, ANY_FIELD)?))
    }

    /// Corrects the words of a plain search that no record has, or very few records.
    fn correct(&mut self, tree: &Node) -> Result<(), QueryError> {
        for (word, _) in words_of(tree) {
            if is_function_word(&word)
                || self.corrections.contains_key(&word)
                || self.search.is_exact
            {
                continue;
            }
            let letters = word.chars().count();
            let edits = MISTYPED_LETTERS.iter().filter(|least| letters >= **least).count() as u32;
            let own = self.terms(&word)?;
            let own = records_with(&own);
            if edits == 0 || own > 1 + self.records / 1_000_000 {
                continue;
            }
            let mut frequent = Vec::new();
            for (distance, found) in self.near(&word, edits)? {
                let count = records_with(&self.terms_of_form(&found.terms)?);
                if count > FREQUENT_RECORDS.max(4 * own) {
                    frequent.push((distance, u64::MAX - count, found));
                }
            }
            frequent.sort_by(|a, b| (a.0, a.1, &a.2.form).cmp(&(b.0, b.1, &b.2.form)));
            let nearest = frequent.first().map(|(distance, ..)| *distance);
            let found =
                frequent.into_iter().take_while(|(distance, ..)| Some(*distance) == nearest);
            let found: Vec<Found> = found.map(|(.., found)| found).take(CORRECTIONS_MAX).collect();
            if !found.is_empty() {
                self.corrections.insert(word, found);
            }
        }
        Ok(())
    }

    /// The matcher of most words of a plain search.
    fn most(&mut self, tree: &Node) -> Result<Matcher<'s>, QueryError> {
        let mut half = self.with_share(tree, 1)?;
        let (mut row, mut count) = (half.seek(0)?, 0);
        while row != NO_ROW && count < MOST_RECORDS_MIN {
            count += usize::from(self.suppressed.binary_search(&row).is_err());
            row = half.seek(row + 1)?;
        }
        self.with_share(tree, u64::from(count >= MOST_RECORDS_MIN))
    }

    /// The matcher of words with this many halves of the weight of all words, and of at least one word.
    fn with_share(&mut self, tree: &Node, halves: u64) -> Result<Matcher<'s>, QueryError> {
        let mut words = Vec::new();
        for word in subject_words(tree) {
            let (weight, group) = self.word_group(&word.0, word.1.as_deref())?;
            if weight > 0 {
                words.push((weight, group.of_word(word)));
            }
        }
        let all: u64 = words.iter().map(|(weight, _)| weight).sum();
        Ok(Matcher::Most(Most::new(words, (all * halves).div_ceil(2), self.deadline)))
    }

    /// The words that score: of all clauses but the negated ones. Very frequent words score in a search of such words alone;
    /// where records match that have most words, so do function words.
    fn scored_words(
        &mut self,
        tree: &Node,
        matcher: &Matcher<'s>,
    ) -> Result<Vec<ScoredWord<'s>>, QueryError> {
        let mut all = Vec::new();
        scored_leaves(tree, &mut all);
        let is_word: fn(&str) -> bool = match self.searched_words {
            SearchedWords::All => is_stop_word,
            SearchedWords::Most => is_function_word,
        };
        let is_frequent = |part: &Scored| matches!(part, Scored::Word(word, _) if is_word(word));
        let has_other = all.iter().any(|part| !is_frequent(part));
        let mut counts: BTreeMap<Scored, u64> = BTreeMap::new();
        for part in all.into_iter().filter(|part| !has_other || !is_frequent(part)) {
            *counts.entry(part).or_default() += 1;
        }
        let mut words = Vec::new();
        for (part, times) in counts {
            let (weight, source) = match &part {
                Scored::Word(word, joined) => self.word_source(word, joined.as_deref(), matcher)?,
                Scored::Pattern(pattern) => {
                    let found = self.pattern(pattern)?;
                    self.expanded_source(found)?
                }
                Scored::Fuzzy(word, edits) => {
                    let mut found = self.fuzzy(word, *edits)?;
                    found.push(Found { form: word.clone(), terms: self.index.forms(word)? });
                    self.expanded_source(found)?
                }
            };
            if weight > 0 {
                words.push(ScoredWord { source, weight: weight * times });
            }
        }
        Ok(words)
    }

    /// The terms of some words, whole.
    fn expanded_source(&self, found: Vec<Found>) -> Result<(u64, ScoreSource<'s>), QueryError> {
        let mut terms = self.terms_of_forms(found)?;
        terms.iter_mut().for_each(|term| term.forms = None);
        self.source(terms)
    }

    /// All words of a plain search in order.
    fn sequence(
        &mut self,
        tree: &Node,
        matcher: &Matcher<'s>,
    ) -> Result<Vec<(u64, ScoreSource<'s>)>, QueryError> {
        let words = words_of(tree);
        if words.len() > SEQUENCE_WORDS_MAX {
            return Ok(Vec::new());
        }
        words.iter().map(|(word, _)| self.word_source(word, None, matcher)).collect()
    }

    /// The inverse document frequency of a word, and its postings: of the matcher if it reads them.
    fn word_source(
        &mut self,
        word: &str,
        joined: Option<&str>,
        matcher: &Matcher<'s>,
    ) -> Result<(u64, ScoreSource<'s>), QueryError> {
        let terms = self.word_terms(word, joined)?;
        match matcher.place_of(&(word.to_owned(), joined.map(str::to_owned))) {
            Some(place) => Ok((self.idf(&terms), ScoreSource::Matcher(place))),
            None => self.source(terms),
        }
    }

    fn source(&self, terms: Vec<GroupTerm<'s>>) -> Result<(u64, ScoreSource<'s>), QueryError> {
        let idf = self.idf(&terms);
        Ok((idf, ScoreSource::Group(Box::new(self.group(terms, ANY_FIELD)?))))
    }
}

/// The records of the most frequent of some terms.
fn records_with(terms: &[GroupTerm<'_>]) -> u64 {
    terms.iter().map(|term| term.of.records).max().unwrap_or(0)
}

/// The nodes that are required: very frequent words are not, beside others.
pub(super) fn required(nodes: &[Node]) -> impl Iterator<Item = &Node> {
    let is_frequent = |node: &Node| match node {
        Node::Leaf(Leaf { kind: LeafKind::Word(Unit { parts, joined: None }), .. }) => {
            matches!(parts.as_slice(), [only] if is_stop_word(only))
        }
        _ => false,
    };
    let has_other = nodes.iter().any(|node| !is_frequent(node));
    nodes.iter().filter(move |node| !has_other || !is_frequent(node))
}

/// The words of a plain search in order, each with the joined form of its compound.
fn words_of(tree: &Node) -> Vec<SearchWord> {
    let Node::And { nodes, .. } = tree else { return Vec::new() };
    let mut words = Vec::new();
    for node in nodes {
        if let Node::Leaf(Leaf { kind: LeafKind::Word(Unit { parts, joined }), .. }) = node {
            words.extend(parts.iter().map(|part| (part.clone(), joined.clone())));
        }
    }
    words
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
