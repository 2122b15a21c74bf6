//! Decides which source, funder, publisher or topic a name means.
//!
//! ```text
//! text    "J Biol Chem"
//! rows    whose names have words that begin with each of `biol`, `chem`; one word left out if there are none
//! names   word by word: "journal biological chemistry", each word whole, mistyped or abbreviated; "of" does not count
//! ```
//!
//! The decision is sure if one record alone has a name that agrees so well. Where no record does, the names that others
//! give what has no record are asked in the same way: a subset knows journals by their articles alone.

use std::sync::LazyLock;

use crate::autocomplete::Identifier;
use crate::entity::{Entity, with_record};
use crate::index::doc_set::DocSet;
use crate::index::term_lists::text_term;
use crate::matching::countries::country_code;
use crate::matching::words::{Word, abbreviates, likeness};
use crate::matching::{CANDIDATES_MAX, Candidate, Evidence, Question, identified};
use crate::query::{Deadline, QueryError, is_long, rows_of_prefixes, rows_of_words};
use crate::record::gather::find_path;
use crate::record::{Gather, Gathered, PathTree, schema_of};
use crate::schema::keys_of;
use crate::snapshot::Snapshot;
use crate::storage::ReadError;
use crate::text::fold::{cut_word, fold};

/// Rows whose names are compared.
const ROWS_MAX: usize = 400;
/// Words of a name up to which each is left out in turn.
const LEFT_OUT_MAX: usize = 8;
/// Agreement from which on a name is sure.
const SURE: f32 = 0.88;
/// Agreement by which a sure name precedes all others: less than what an own name has before the same alternative name.
const LEAD: f32 = 0.019;
/// Agreement from which on a record is a candidate.
const LEAST: f32 = 0.4;
/// Weight of an alternative name; the own name has 1.
const ALTERNATIVE: f32 = 0.98;

/// Words that abbreviations leave out. `am` is none: `J Am Chem Soc`.
const BETWEEN: [&str; 28] = [
    "and", "at", "da", "de", "del", "der", "des", "di", "die", "do", "du", "e", "et", "for", "fur",
    "in", "la", "le", "les", "of", "on", "the", "to", "und", "van", "von", "voor", "y",
];

const NAME: usize = 0;
const OTHER_NAME: usize = 1;
const COUNTRY: usize = 2;

/// The tree of names and countries, by entity.
static TREES: LazyLock<Vec<PathTree>> = LazyLock::new(|| {
    let tree_of = |entity: Entity| {
        let mut tree = PathTree::default();
        let others = entity.facts().other_names.iter().map(|name| (*name, OTHER_NAME));
        let countries = ["country.code", "countries.code"].map(|path| (path, COUNTRY));
        for (path, end) in [("name", NAME)].into_iter().chain(others).chain(countries) {
            if let Some(found) = find_path(&schema_of(entity), path) {
                tree.add(&found.path, end);
            }
        }
        tree
    };
    Entity::all().map(tree_of).collect()
});

/// Finds the records that a name may mean.
pub(super) fn find(
    snapshot: &Snapshot,
    question: &Question,
    deadline: Deadline<'_>,
) -> Result<Vec<Candidate>, QueryError> {
    let (entity, text) = (question.entity(), question.text().unwrap_or_default());
    // An identifier decides without the name, as one of the words or as the whole text: `Nature 0028-0836`.
    for chunk in text.split_whitespace().chain([text.trim()]) {
        let bare = chunk.trim_matches(|c: char| ",;()[]".contains(c));
        if let Some(identifier) = Identifier::parse(bare)
            && let Some(found) = identified(snapshot, entity, &identifier)?
        {
            return Ok(found);
        }
    }
    let words = words_of_name(text);
    let country = question.get("country").and_then(country_code);
    let mut found = Vec::new();
    for row in rows(&words, &OfRecords { snapshot, entity, deadline })? {
        deadline.check()?;
        // On a mirror, the attempt goes on without an absent record, and notes what all records lack.
        if let Some((agreement, has_country)) =
            snapshot.or_noted(agreement_of(snapshot, entity, row, &words, country))?
        {
            found.push((agreement, has_country, row));
        }
    }
    if !found.iter().any(|(agreement, ..)| *agreement >= SURE) {
        found.extend(unresolved(snapshot, entity, &words)?);
    }
    found.retain(|(agreement, ..)| *agreement >= LEAST);
    // Of records that agree equally, the most used one comes first.
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
    found.truncate(CANDIDATES_MAX);
    let best = found.first().map_or(0.0, |found| found.0);
    let second = found.get(1).map_or(0.0, |found| found.0);
    // A second record that agrees almost as well has the same name: the name does not tell which record is meant.
    let is_sure = best >= SURE && best - second >= LEAD;
    let candidates = found.into_iter().enumerate().map(|(at, (agreement, has_country, row))| {
        let why = [
            Some(Evidence { what: "name", agrees: agreement >= SURE }),
            has_country.map(|agrees| Evidence { what: "country", agrees }),
        ];
        let is_match = at == 0 && is_sure;
        Candidate { row, score: agreement, is_match, why: why.into_iter().flatten().collect() }
    });
    Ok(candidates.collect())
}

/// The words of a name that say something, or all if none does.
fn words_of_name(name: &str) -> Vec<Word> {
    let folded = fold(name);
    let all = folded.split(' ').filter(|word| !word.is_empty()).map(Word::new);
    let all: Vec<Word> = all.collect();
    let is_between = |word: &Word| BETWEEN.binary_search(&word.text.as_str()).is_ok();
    let telling: Vec<Word> = all.iter().filter(|word| !is_between(word)).cloned().collect();
    if telling.is_empty() { all } else { telling }
}

/// References without a record whose names agree, by id in the best of its spellings.
fn unresolved(
    snapshot: &Snapshot,
    entity: Entity,
    words: &[Word],
) -> Result<Vec<(f32, Option<bool>, u32)>, QueryError> {
    let Some(lists) = keys_of(entity).unresolved_words else { return Ok(Vec::new()) };
    let (mut best, mut last_id) = (Vec::<(f32, Option<bool>, u32)>::new(), None);
    for row in rows(words, &OfReferences { snapshot, entity, lists })? {
        let Some(name) = snapshot.or_noted(snapshot.row_name(entity, row))? else { continue };
        let (id, agreement) = (snapshot.row_id(entity, row)?, agreement(words, name));
        // The spellings of an id have rows side by side.
        match best.last_mut() {
            Some(known) if last_id == Some(id) => known.0 = known.0.max(agreement),
            _ => best.push((agreement, None, row)),
        }
        last_id = Some(id);
    }
    Ok(best)
}

/// An index of the words of names.
trait NameWords {
    /// Whether a name has a word that begins so.
    fn knows(&self, word: &str) -> Result<bool, ReadError>;
    /// The first rows whose names have words that begin with each of these.
    fn rows(&self, words: &[String]) -> Result<Vec<u32>, QueryError>;
}

/// The names of records.
struct OfRecords<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    deadline: Deadline<'s>,
}

/// The names of references without a record.
struct OfReferences<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    lists: usize,
}

impl NameWords for OfRecords<'_> {
    fn knows(&self, word: &str) -> Result<bool, ReadError> {
        let cursor = self.snapshot.words(self.entity)?.seek(word.as_bytes());
        let cursor = self.snapshot.or_noted(cursor.map(Some))?;
        Ok(cursor.is_some_and(|cursor| cursor.current_with_prefix(word.as_bytes()).is_some()))
    }

    fn rows(&self, words: &[String]) -> Result<Vec<u32>, QueryError> {
        let set = rows_of_words(self.snapshot, self.entity, words, self.deadline)?;
        Ok(first_rows(&set, self.snapshot.count(self.entity), ROWS_MAX))
    }
}

impl NameWords for OfReferences<'_> {
    fn knows(&self, word: &str) -> Result<bool, ReadError> {
        let file = self.snapshot.term_lists(self.entity)?;
        let found = file.find(self.lists, text_term(cut_word(word)));
        Ok(self.snapshot.or_noted(found)?.is_some())
    }

    fn rows(&self, words: &[String]) -> Result<Vec<u32>, QueryError> {
        let file = self.snapshot.term_lists(self.entity)?;
        let mut found = self.snapshot.or_noted(rows_of_prefixes(file, self.lists, words))?;
        found.retain(|row| !self.snapshot.suppressed().has(self.entity, *row));
        found.truncate(ROWS_MAX);
        Ok(found)
    }
}

/// The rows whose names have words that begin with the words of a text.
fn rows(words: &[Word], names: &impl NameWords) -> Result<Vec<u32>, QueryError> {
    // One letter begins too many words, unless there is nothing else.
    let longest = words.iter().map(|word| word.text.chars().count()).max().unwrap_or(0);
    let letters_min = longest.min(3);
    let mut known: Vec<String> = Vec::new();
    for word in words {
        let is_telling = word.text.chars().count() >= letters_min && !is_long(&word.text);
        if is_telling && !known.contains(&word.text) && names.knows(&word.text)? {
            known.push(word.text.clone());
        }
    }
    if known.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = names.rows(&known)?;
    if found.is_empty() && (2..=LEFT_OUT_MAX).contains(&known.len()) {
        for at in 0..known.len() {
            let mut others = known.clone();
            others.remove(at);
            found.extend(names.rows(&others)?);
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(ROWS_MAX);
    }
    Ok(found)
}

/// The first rows of a set: those of the most used records.
pub(super) fn first_rows(set: &DocSet, rows: u32, count: usize) -> Vec<u32> {
    match set {
        DocSet::Sorted(sorted) => sorted.iter().copied().take(count).collect(),
        set => (0..rows).filter(|row| set.contains(*row)).take(count).collect(),
    }
}

/// How well the best name of a record agrees, and whether its country does; `None` without a record.
fn agreement_of(
    snapshot: &Snapshot,
    entity: Entity,
    row: u32,
    words: &[Word],
    country: Option<&str>,
) -> Result<Option<(f32, Option<bool>)>, ReadError> {
    let (mut best, mut countries) = (0.0_f32, Vec::new());
    with_record!(entity, R => {
        let Some(mut from) = snapshot.reader(entity, row)? else { return Ok(None) };
        R::gather(&mut from, &TREES[entity as usize], &mut |end, value| match (end, value) {
            (NAME, Gathered::Text(name)) => best = best.max(agreement(words, name)),
            (OTHER_NAME, Gathered::Text(name)) => {
                best = best.max(ALTERNATIVE * agreement(words, name));
            }
            (COUNTRY, Gathered::Code(code)) => countries.push(code),
            _ => {}
        })?;
    });
    let mut has_country = None;
    if let Some(country) = country {
        for code in countries {
            let is_equal = snapshot.code(code)?.eq_ignore_ascii_case(country);
            has_country = Some(is_equal || has_country == Some(true));
        }
    }
    let other = if has_country == Some(false) { 0.5 } else { 1.0 };
    Ok(Some((best * other, has_country)))
}

/// How well the words of a text agree with a name: all words of both, in order.
fn agreement(words: &[Word], name: &str) -> f32 {
    let of = words_of_name(name);
    let whole = agreement_in_order(words, &of);
    let outside = name.split_once(" (").map(|(outside, _)| words_of_name(outside));
    let outside = outside.map_or(0.0, |of| 0.97 * agreement_in_order(words, &of));
    whole.max(outside)
}

fn agreement_in_order(words: &[Word], of: &[Word]) -> f32 {
    if words.is_empty() || of.is_empty() {
        return 0.0;
    }
    let (mut at, mut sum) = (0, 0.0);
    for word in words {
        let next = (at..of.len()).find_map(|at| {
            let agreement = word_agreement(word, &of[at], of.len() == 1);
            (agreement > 0.0).then_some((at, agreement))
        });
        if let Some((found, agreement)) = next {
            sum += agreement;
            at = found + 1;
        }
    }
    sum / words.len().max(of.len()) as f32
}

/// How well a word of the text agrees with a word of a name. The only word of a name is not abbreviated.
fn word_agreement(word: &Word, of: &Word, is_only: bool) -> f32 {
    if word.text == of.text {
        return 1.0;
    }
    let is_short = word.text.len() < of.text.len() && !word.is_number;
    if !is_only && is_short && of.text.starts_with(&word.text) {
        return 0.96;
    }
    let alike = 0.96 * likeness(word, of);
    let is_contracted = !is_only && is_short && word.text.len() > 2;
    if is_contracted && abbreviates(&word.text, &of.text) { alike.max(0.93) } else { alike }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_word_by_word() {
        let check = |text: &str, name: &str, is_sure: bool| {
            let found = agreement(&words_of_name(text), name);
            assert_eq!(found >= SURE, is_sure, "{text} {name}: {found}");
        };
        check("Nature", "Nature", true);
        check("Nature", "Nature Medicine", false);
        check("J. Biol. Chem.", "Journal of Biological Chemistry", true);
        check("J Biol", "Journal of Biological Chemistry", false);
        check("J Am Chem Soc", "Journal of the American Chemical Society", true);
        check("Proc Natl Acad Sci", "Proceedings of the National Academy of Sciences", true);
        check("Natl Sci Rev", "National Science Review", true);
        check("Spin", "Spinoza", false);
        check("Nederl Tijdschr Geneeskd", "Nederlands tijdschrift voor geneeskunde", true);
        check("Biomaterails Research", "Biomaterials Research", true);
        check("Lancet Haematology", "The Lancet Haematology", true);
        check("Cancer Letters", "Cancer Letters (Print)", true);
    }
}
