//! Answers full-text searches of outputs: which records match, and their scores.
//!
//! Every search looks at every word of every record. Words, stems and very frequent words are those of the analyzer of
//! `format`; the syntax, the evaluation and the scores are read from the text of the rules.
//!
//! ```text
//! score = Σ idf(word) × impact(word, record)            words of the search, negated ones excepted
//!       + 4 × (32 - bits of the row + 1)
//! the best 128 records also get
//!       + Σ (31 × idf / 16 + 128)                       words that the record has as typed
//! and of a search without syntax
//!       + 31 × Σ min(idf(a), idf(b)) / 8                neighbours a b of the search, side by side in the title or abstract
//!       + 31 × Σ idf × (1/4 + 3/4 × words of the search / words of the title)
//!                                                       the whole search in a title
//! ```
//!
//! # Where the rules are silent
//!
//! - **Punctuation** where a clause may stand is no clause, and no error.
//! - **A year and four other words** beside quotes make a citation, which has no syntax.
//! - **Compounds** (`COVID-19`) are found joined, or by their parts as a phrase. In a phrase their parts are words.
//! - **Frequency** of a pattern, or of a word with changes, is that of the most frequent stem; of a word and its
//!   corrections, that of the most frequent word.
//! - **Corrections** are the nearest words that more than two records and more than four times as many records as the word
//!   itself have: at most eight, the most frequent ones. A word of no record has the nearest words else.

mod syntax;
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use pinakes_format::text::abbreviations::{is_abbreviation, same_words};
use pinakes_format::text::analyzer::{each_compound, is_function_word, is_stop_word, stem_of};

use crate::Entry;
use crate::query::Refused;
use syntax::{Clause, Leaf, PhraseWord, Read, Word};
use texts::{ABSTRACT, ALL_FIELDS, FIELD_NAMES, Record, TITLE, Texts, idf};

/// The records whose score depends on the order of words.
const ORDERED_RECORDS: usize = 128;
/// The most words that patterns and changes stand for.
const EXPANDED_WORDS_MAX: usize = 10_000;

/// The searchable words of the outputs.
#[derive(Debug)]
pub struct Search {
    texts: Texts,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// The matching rows and their scores, the best first.
    pub rows: Vec<(usize, u64)>,
    /// The number of records with all words, if records with most words follow these.
    pub all: Option<u64>,
    /// The words that also stand for other words, with these.
    pub corrected: BTreeMap<String, Vec<String>>,
}

/// A word that makes records relevant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Relevant {
    Word(String, Option<String>),
    Pattern(Vec<char>),
    Near(String, usize),
}

/// A word and its weight.
struct Weighed {
    /// The word as typed, and its compound without hyphens; nothing of patterns and changes.
    typed: Vec<String>,
    stems: BTreeSet<usize>,
    /// For each spelling whether it is the word.
    spellings: Vec<bool>,
    weight: u64,
}

/// One evaluation.
struct Evaluation<'t> {
    texts: &'t Texts,
    is_exact: bool,
    /// The words that corrected words stand for.
    corrected: BTreeMap<String, Vec<String>>,
}

impl Search {
    /// Splits the texts of all outputs into words.
    pub fn new(outputs: &[Entry]) -> Search {
        Search { texts: Texts::new(outputs) }
    }

    /// The numbers of the fields with these names; of all fields without names.
    ///
    /// # Panics
    ///
    /// If a name is unknown.
    pub fn fields(names: &[&str]) -> Vec<usize> {
        let number = |name| FIELD_NAMES.iter().position(|known| known == name);
        let named = names.iter().map(|name| number(name).expect("a field of outputs"));
        if names.is_empty() { ALL_FIELDS.to_vec() } else { named.collect() }
    }

    /// Evaluates a search in some fields. Of the matching rows only those that `selects` accepts are found.
    ///
    /// # Errors
    ///
    /// If the server must reply 400.
    pub fn find(
        &self,
        text: &str,
        is_exact: bool,
        fields: &[usize],
        selects: impl Fn(usize) -> bool,
    ) -> Result<Searched, Refused> {
        let Read { clause, plain } = syntax::read(text, fields)?;
        let mut evaluation =
            Evaluation { texts: &self.texts, is_exact, corrected: BTreeMap::new() };
        if evaluation.expanded_words(&clause) > EXPANDED_WORDS_MAX {
            return Err(Refused("patterns that stand for too many words"));
        }
        let mut rows = evaluation.matching(&clause);
        let mut first = None;
        if let Some(words) = plain.as_ref().filter(|_| rows.len() < 10) {
            if rows.is_empty() {
                evaluation.correct(words, &capitals(text));
                rows = evaluation.matching(&clause);
            }
            let most = evaluation.matching_most(words);
            if rows.len() < 10 && most.len() > rows.len() {
                first = Some(std::mem::replace(&mut rows, most));
            }
        }
        rows.retain(|row| selects(*row));
        let words = evaluation.relevant_words(&clause, first.is_some());
        let score = |row: usize| {
            let record = &self.texts.records[row];
            let bits = (row + 1).ilog2() as u64 + 1;
            let words = words.iter().map(|word| word.weight * word.impact(record));
            words.sum::<u64>() + 4 * (32 - bits)
        };
        let in_order = plain.as_ref().map(|plain| evaluation.in_order(plain)).unwrap_or_default();
        let all_weights: u64 = words.iter().map(|word| word.weight).sum();
        let typed: Vec<u64> = words.iter().map(|word| evaluation.typed_bonus(word)).collect();
        // No record without all words has a greater score than those with all words.
        let pairs: u64 = in_order.windows(2).map(|pair| pair[0].weight.min(pair[1].weight)).sum();
        let of_first = 31 * (2 * all_weights + pairs / 8) + typed.iter().sum::<u64>() + 128;
        let is_first = |row| first.as_ref().is_some_and(|first| first.contains(&row));
        let score = |row| score(row) + if is_first(row) { of_first } else { 0 };
        let mut rows: Vec<(usize, u64)> = rows.into_iter().map(|row| (row, score(row))).collect();
        let by_score = |(row, score): &(usize, u64)| (u64::MAX - score, *row);
        rows.sort_by_key(by_score);
        let best = rows.len().min(ORDERED_RECORDS);
        evaluation.reward_order(&in_order, all_weights, &mut rows[..best]);
        for (row, score) in &mut rows[..best] {
            let record = &self.texts.records[*row];
            let has = |word: &Weighed| evaluation.has_typed(word, record);
            let found = words.iter().zip(&typed).filter(|(word, _)| has(word));
            *score += found.map(|(_, bonus)| bonus).sum::<u64>();
        }
        rows[..best].sort_by_key(by_score);
        let corrected = evaluation.corrected;
        Ok(Searched { rows, all: first.map(|first| first.len() as u64), corrected })
    }
}

impl Weighed {
    /// The greatest impact of the word's stems, in a record that has the word.
    fn impact(&self, record: &Record) -> u64 {
        let mut words = record.words.iter().flatten();
        if !words.any(|(_, spelling)| self.spellings[*spelling]) {
            return 0;
        }
        let impacts = record.impacts.iter().filter(|(stem, _)| self.stems.contains(stem));
        impacts.map(|(_, impact)| *impact).max().unwrap_or(0)
    }
}

impl Evaluation<'_> {
    /// For each spelling whether a test accepts its form and stem.
    fn spellings(&self, accepts: impl Fn(&str, usize) -> bool) -> Vec<bool> {
        let all = self.texts.spellings.iter();
        all.map(|spelling| accepts(&spelling.form, spelling.stem)).collect()
    }

    /// The spellings of a word: all inflections, or the word as it is written.
    fn word(&self, word: &str) -> Vec<bool> {
        if self.is_exact {
            return self.spellings(|form, _| form == word);
        }
        let stems: BTreeSet<usize> = self.alternatives(word).into_iter().flatten().collect();
        self.spellings(|_, stem| stems.contains(&stem))
    }

    /// The stems of a word, of its long forms and abbreviations, and of each correction: one set each.
    fn alternatives(&self, word: &str) -> Vec<BTreeSet<usize>> {
        if self.is_exact {
            return vec![self.stems_of(&self.spellings(|form, _| form == word))];
        }
        let others = same_words(word).map(|other| self.stems(other));
        let corrected = self.corrected.get(word).into_iter().flatten();
        let corrected =
            corrected.map(|word| self.stems_of(&self.spellings(|form, _| form == word)));
        [self.stems(word)].into_iter().chain(others).chain(corrected).collect()
    }

    fn stems(&self, word: &str) -> BTreeSet<usize> {
        let stems = self.texts.languages.terms(word);
        stems.iter().filter_map(|stem| self.texts.stems.get(stem).copied()).collect()
    }

    /// The spellings within some changes of a word. Longer words than 32 letters have none.
    fn near(&self, word: &str, edits: usize) -> Vec<bool> {
        let letters: Vec<char> = word.chars().collect();
        self.spellings(|form, _| letters.len() <= 32 && distance(&letters, form) <= edits)
    }

    fn with_pattern(&self, pattern: &[char]) -> Vec<bool> {
        self.spellings(|form, _| has_pattern(&form.chars().collect::<Vec<_>>(), pattern))
    }

    fn part(&self, part: &PhraseWord) -> Vec<bool> {
        match part {
            PhraseWord::Word(word) => self.word(word),
            PhraseWord::Pattern(pattern) => self.with_pattern(pattern),
        }
    }

    /// Counts the words that patterns and changes stand for.
    fn expanded_words(&self, clause: &Clause) -> usize {
        let count = |spellings: Vec<bool>, but: &str| {
            let all = self.texts.spellings.iter().zip(spellings);
            let forms = all.filter(|(_, is_one)| *is_one).map(|(spelling, _)| &spelling.form);
            forms.filter(|form| *form != but).collect::<BTreeSet<_>>().len()
        };
        match clause {
            Clause::Any(clauses) => clauses.iter().map(|clause| self.expanded_words(clause)).sum(),
            Clause::All(wanted, unwanted) => {
                wanted.iter().chain(unwanted).map(|clause| self.expanded_words(clause)).sum()
            }
            Clause::Leaf(_, Leaf::Pattern(pattern)) => count(self.with_pattern(pattern), ""),
            Clause::Leaf(_, Leaf::Near(word, edits)) => count(self.near(word, *edits), word),
            Clause::Leaf(_, Leaf::Phrase(parts, _)) => {
                let patterns = parts.iter().filter_map(|part| match part {
                    PhraseWord::Pattern(pattern) => Some(count(self.with_pattern(pattern), "")),
                    PhraseWord::Word(_) => None,
                });
                patterns.sum()
            }
            Clause::Leaf(_, Leaf::Word(_)) => 0,
        }
    }

    /// The matching rows, ascending.
    fn matching(&self, clause: &Clause) -> BTreeSet<usize> {
        let all = 0..self.texts.records.len();
        match clause {
            Clause::Any(clauses) => {
                clauses.iter().flat_map(|clause| self.matching(clause)).collect()
            }
            Clause::All(wanted, unwanted) if wanted.is_empty() && unwanted.is_empty() => {
                BTreeSet::new()
            }
            Clause::All(wanted, unwanted) => {
                let mut rows: BTreeSet<usize> = all.collect();
                let has_other = wanted.iter().any(|clause| !is_frequent(clause));
                for clause in wanted {
                    if !has_other || !is_frequent(clause) {
                        let matching = self.matching(clause);
                        rows.retain(|row| matching.contains(row));
                    }
                }
                for clause in unwanted {
                    let matching = self.matching(clause);
                    rows.retain(|row| !matching.contains(row));
                }
                rows
            }
            Clause::Leaf(fields, leaf) => {
                let looked_for = self.looked_for(leaf);
                let has = |row: &usize| {
                    let record = &self.texts.records[*row];
                    looked_for.iter().any(|words| words.stands_in(record, fields))
                };
                all.filter(has).collect()
            }
        }
    }

    /// The alternatives of a clause. A record with one alternative matches.
    fn looked_for(&self, leaf: &Leaf) -> Vec<Words> {
        let one = |spellings| Words { spellings: vec![spellings], distance: None };
        match leaf {
            Leaf::Word(Word { parts, joined }) => {
                let joined = joined.iter().map(|joined| one(self.word(joined)));
                let parts = parts.iter().map(|part| self.word(part)).collect();
                joined.chain([Words { spellings: parts, distance: None }]).collect()
            }
            Leaf::Near(word, edits) => vec![one(self.word(word)), one(self.near(word, *edits))],
            Leaf::Pattern(pattern) => vec![one(self.with_pattern(pattern))],
            Leaf::Phrase(parts, distance) => {
                let spellings = parts.iter().map(|part| self.part(part)).collect();
                vec![Words { spellings, distance: *distance }]
            }
        }
    }

    /// Finds what words stand for that no record has, or hardly one.
    fn correct(&mut self, words: &[Word], capitals: &BTreeSet<String>) {
        let records = self.texts.records.len() as u64;
        for word in words.iter().flat_map(|word| &word.parts) {
            let letters = word.chars().count();
            let edits = usize::from(letters >= 4) + usize::from(letters >= 8);
            let own = self.count(&self.stems(word));
            if is_function_word(word)
                || is_abbreviation(word)
                || capitals.contains(word)
                || self.is_exact
                || edits == 0
                || own > 1 + records / 1_000_000
            {
                continue;
            }
            let letters: Vec<char> = word.chars().collect();
            let mut candidates: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
            let near = self.near(word, edits);
            for (spelling, is_near) in self.texts.spellings.iter().zip(near) {
                if is_near && spelling.form != *word {
                    candidates.entry(&spelling.form).or_default().insert(spelling.stem);
                }
            }
            // Frequent words come first, however far they are.
            let mut candidates: Vec<(bool, usize, u64, &str)> = candidates
                .iter()
                .map(|(form, stems)| (distance(&letters, form), self.count(stems), *form))
                .map(|(distance, count, form)| {
                    (count <= 2.max(4 * own), distance, u64::MAX - count, form)
                })
                .filter(|(is_rare, ..)| !is_rare || own == 0)
                .collect();
            candidates.sort_unstable();
            let nearest = candidates.first().map(|candidate| (candidate.0, candidate.1));
            candidates.retain(|candidate| Some((candidate.0, candidate.1)) == nearest);
            candidates.truncate(8);
            if !candidates.is_empty() {
                let forms = candidates.iter().map(|(.., form)| (*form).to_owned());
                self.corrected.insert(word.clone(), forms.collect());
            }
        }
    }

    /// The sum of the numbers of records of these stems. A record in one language has at most one of them.
    fn count(&self, stems: &BTreeSet<usize>) -> u64 {
        stems.iter().map(|stem| self.texts.counts[*stem]).sum()
    }

    /// The number of records with the most frequent stem of these terms, in all languages.
    fn greatest_count(&self, stems: &BTreeSet<usize>) -> u64 {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (term, number) in self.texts.stems.iter().filter(|(_, number)| stems.contains(number)) {
            *counts.entry(stem_of(term)).or_default() += self.texts.counts[*number];
        }
        counts.into_values().max().unwrap_or(0)
    }

    fn idf(&self, count: u64) -> u64 {
        let records = self.texts.records.len() as u64;
        if count == 0 { 0 } else { idf(records, count.min(records)) }
    }

    /// A word of a search without syntax, with all that it stands for.
    fn weighed(&self, word: &str, joined: Option<&str>) -> Weighed {
        let words = [Some(word), joined].into_iter().flatten();
        let alternatives: Vec<BTreeSet<usize>> =
            words.clone().flat_map(|word| self.alternatives(word)).collect();
        let count = alternatives.iter().map(|stems| self.count(stems)).max().unwrap_or(0);
        let of_words: Vec<Vec<bool>> = words.clone().map(|word| self.word(word)).collect();
        let number = 0..self.texts.spellings.len();
        Weighed {
            typed: if self.is_exact { Vec::new() } else { words.map(str::to_owned).collect() },
            stems: alternatives.into_iter().flatten().collect(),
            spellings: number.map(|at| of_words.iter().any(|of_word| of_word[at])).collect(),
            weight: self.idf(count),
        }
    }

    /// The points of a record that has the word exactly as typed.
    fn typed_bonus(&self, word: &Weighed) -> u64 {
        if word.typed.is_empty() || word.weight == 0 { 0 } else { 31 * word.weight / 16 + 128 }
    }

    fn has_typed(&self, word: &Weighed, record: &Record) -> bool {
        let mut words = record.words.iter().flatten();
        words.any(|(_, spelling)| word.typed.contains(&self.texts.spellings[*spelling].form))
    }

    /// The stems of some spellings.
    fn stems_of(&self, spellings: &[bool]) -> BTreeSet<usize> {
        let all = self.texts.spellings.iter().zip(spellings);
        all.filter(|(_, is_one)| **is_one).map(|(spelling, _)| spelling.stem).collect()
    }

    fn weigh(&self, spellings: Vec<bool>) -> Weighed {
        let stems = self.stems_of(&spellings);
        let weight = self.idf(self.greatest_count(&stems));
        Weighed { typed: Vec::new(), stems, spellings, weight }
    }

    /// The rows that have at least half of the weight of the words; any word where these are few.
    fn matching_most(&self, words: &[Word]) -> BTreeSet<usize> {
        let mut distinct: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        for Word { parts, joined } in words {
            for part in parts {
                // Of equal words, the one outside of a compound counts.
                let known = distinct.entry(part).or_insert(joined.as_deref());
                *known = (*known).min(joined.as_deref());
            }
        }
        let has_other = distinct.keys().any(|word| !is_function_word(word));
        distinct.retain(|word, _| !has_other || !is_function_word(word));
        let words: Vec<Weighed> =
            distinct.into_iter().map(|(word, joined)| self.weighed(word, joined)).collect();
        let all: u64 = words.iter().map(|word| word.weight).sum();
        let weight = |row: &usize| -> u64 {
            let record = &self.texts.records[*row];
            let has = |word: &&Weighed| word.impact(record) > 0;
            words.iter().filter(has).map(|word| word.weight).sum()
        };
        let rows = 0..self.texts.records.len();
        let weights: Vec<(usize, u64)> = rows.map(|row| (row, weight(&row))).collect();
        let with = |least: u64| -> BTreeSet<usize> {
            let found = weights.iter().filter(|(_, weight)| *weight >= least.max(1));
            found.map(|(row, _)| *row).collect()
        };
        let half = with(all.div_ceil(2));
        if half.len() >= 100 { half } else { with(1) }
    }

    /// The words that score: all but the negated ones. Very frequent words score in a search of such words alone; where
    /// records match that have most words, so do the function words.
    fn relevant_words(&self, clause: &Clause, is_most: bool) -> Vec<Weighed> {
        let mut all = Vec::new();
        collect_relevant(clause, &mut all);
        let is_left_out = if is_most { is_function_word } else { is_stop_word };
        let is_frequent =
            |word: &Relevant| matches!(word, Relevant::Word(word, _) if is_left_out(word));
        if all.iter().any(|word| !is_frequent(word)) {
            all.retain(|word| !is_frequent(word));
        }
        let mut times: BTreeMap<Relevant, u64> = BTreeMap::new();
        all.into_iter().for_each(|word| *times.entry(word).or_default() += 1);
        let weighed = |(word, times): (&Relevant, &u64)| {
            let weighed = match word {
                Relevant::Word(word, joined) => self.weighed(word, joined.as_deref()),
                Relevant::Pattern(pattern) => self.whole_stems(&self.with_pattern(pattern)),
                Relevant::Near(word, edits) => self.whole_stems(&self.near(word, *edits)),
            };
            Weighed { weight: weighed.weight * times, ..weighed }
        };
        times.iter().map(weighed).collect()
    }

    /// Adds to some spellings all others with their stems.
    fn whole_stems(&self, spellings: &[bool]) -> Weighed {
        let stems = self.stems_of(spellings);
        self.weigh(self.spellings(|_, stem| stems.contains(&stem)))
    }

    /// The words of a search without syntax in order; none of a search that is too long for a title.
    fn in_order(&self, words: &[Word]) -> Vec<Weighed> {
        let words = words.iter().flat_map(|word| &word.parts);
        let words: Vec<Weighed> = words.map(|word| self.weighed(word, None)).collect();
        if words.len() > 31 { Vec::new() } else { words }
    }

    /// Adds to the scores what the order of the words is worth.
    fn reward_order(&self, words: &[Weighed], all_weights: u64, rows: &mut [(usize, u64)]) {
        if words.is_empty() {
            return;
        }
        let pair_of = |pair: &[Weighed]| Words {
            spellings: pair.iter().map(|word| word.spellings.clone()).collect(),
            distance: None,
        };
        let pairs: Vec<(Words, u64)> = words
            .windows(2)
            .map(|pair| (pair_of(pair), pair[0].weight.min(pair[1].weight)))
            .collect();
        let whole = pair_of(words);
        for (row, score) in rows {
            let record = &self.texts.records[*row];
            let found = pairs.iter().filter(|(pair, _)| pair.stands_in(record, &[TITLE, ABSTRACT]));
            let of_pairs = found.map(|(_, weight)| weight).sum::<u64>() / 8;
            let in_title = |(begin, end): &(u64, u64)| {
                let in_title: Vec<(u32, usize)> = record.words[TITLE]
                    .iter()
                    .copied()
                    .filter(|(at, _)| (*begin..*end).contains(&u64::from(*at)))
                    .collect();
                let title = Record {
                    words: [in_title, vec![], vec![], vec![], vec![], vec![]],
                    ..Record::default()
                };
                whole.stands_in(&title, &[TITLE])
            };
            let titles =
                record.titles.iter().map(|(begin, end)| (u64::from(*begin), u64::from(*end)));
            // In 256ths: a quarter, and three quarters of the share of the title.
            let shares = titles
                .filter(in_title)
                .map(|(begin, end)| 64 + 192 * words.len() as u64 / (end - begin));
            let share = shares.max().unwrap_or(0);
            *score += 31 * (of_pairs + all_weights * share / 256);
        }
    }
}

/// Words to be found in a record.
struct Words {
    /// For each word, its spellings.
    spellings: Vec<Vec<bool>>,
    /// `None` for words side by side in this order.
    distance: Option<u32>,
}

impl Words {
    /// Whether the words stand in one of some fields.
    fn stands_in(&self, record: &Record, fields: &[usize]) -> bool {
        fields.iter().any(|field| {
            let words = &record.words[*field];
            let positions = |spellings: &Vec<bool>| -> BTreeSet<u32> {
                words
                    .iter()
                    .filter(|(_, spelling)| spellings[*spelling])
                    .map(|(at, _)| *at)
                    .collect()
            };
            let Some(first) = self.spellings.first() else { return false };
            if self.spellings.len() == 1 {
                return words.iter().any(|(_, spelling)| first[*spelling]);
            }
            let all: Vec<BTreeSet<u32>> = self.spellings.iter().map(positions).collect();
            match self.distance {
                None => {
                    all[0].iter().any(|at| (*at..).zip(&all).all(|(at, word)| word.contains(&at)))
                }
                // Some word has a position, and each word has one within the distance behind that.
                Some(distance) => all.iter().flatten().any(|first| {
                    all.iter().all(|word| word.range(*first..=first + distance).next().is_some())
                }),
            }
        })
    }
}

/// The folded words that a text has in capitals.
fn capitals(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    each_compound(text, |compound| {
        let source = &text[compound.source()];
        let is_word = source.chars().any(char::is_uppercase);
        if is_word && !source.chars().any(char::is_lowercase) {
            words.extend(compound.parts().map(str::to_owned));
        }
    });
    words
}

/// Whether a clause is a very frequent word.
fn is_frequent(clause: &Clause) -> bool {
    let Clause::Leaf(_, Leaf::Word(Word { parts, joined: None })) = clause else { return false };
    matches!(parts.as_slice(), [only] if is_stop_word(only))
}

fn collect_relevant(clause: &Clause, into: &mut Vec<Relevant>) {
    match clause {
        Clause::All(clauses, _) | Clause::Any(clauses) => {
            clauses.iter().for_each(|clause| collect_relevant(clause, into));
        }
        Clause::Leaf(_, Leaf::Word(Word { parts, joined })) => {
            into.extend(parts.iter().map(|part| Relevant::Word(part.clone(), joined.clone())));
        }
        Clause::Leaf(_, Leaf::Near(word, edits)) => into.push(Relevant::Near(word.clone(), *edits)),
        Clause::Leaf(_, Leaf::Pattern(pattern)) => into.push(Relevant::Pattern(pattern.clone())),
        Clause::Leaf(_, Leaf::Phrase(parts, _)) => {
            into.extend(parts.iter().map(|part| match part {
                PhraseWord::Word(word) => Relevant::Word(word.clone(), None),
                PhraseWord::Pattern(pattern) => Relevant::Pattern(pattern.clone()),
            }))
        }
    }
}

/// Whether letters have a pattern: `*` stands for any letters, `?` for one.
fn has_pattern(letters: &[char], pattern: &[char]) -> bool {
    match (pattern.first(), letters.first()) {
        (None, None) => true,
        (Some('*'), _) => {
            (0..=letters.len()).any(|skipped| has_pattern(&letters[skipped..], &pattern[1..]))
        }
        (Some(wanted), Some(letter)) if *wanted == '?' || wanted == letter => {
            has_pattern(&letters[1..], &pattern[1..])
        }
        _ => false,
    }
}

/// The letters missing, added, changed, or exchanged with a neighbour.
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    if a.len().abs_diff(b.len()) > 2 {
        return usize::MAX;
    }
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let changed = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = changed.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(table[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    table[a.len()][b.len()]
}
