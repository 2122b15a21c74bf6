//! Decides which author a name means, by an ORCID iD, a work or an affiliation.

use std::sync::LazyLock;

use crate::autocomplete::Identifier;
use crate::entity::Entity;
use crate::matching::names::first_rows;
use crate::matching::words::Word;
use crate::matching::{CANDIDATES_MAX, Candidate, Evidence, Question, institutions, outputs};
use crate::query::{Deadline, QueryError, is_long, rows_of_words};
use crate::record::{Author, Gather, Gathered, Output, PathTree, tree_of};
use crate::schema::Scheme;
use crate::snapshot::Snapshot;
use crate::storage::ReadError;
use crate::text::fold::fold;

/// People of one name whose affiliations are compared.
const NAMESAKES_MAX: usize = 400;

static AUTHORS: LazyLock<PathTree> = LazyLock::new(|| tree_of(Entity::Output, &["authors.id"]));
static INSTITUTIONS: LazyLock<PathTree> =
    LazyLock::new(|| tree_of(Entity::Author, &["last_known_institutions.id", "affiliations.id"]));
static NAMES: LazyLock<PathTree> =
    LazyLock::new(|| tree_of(Entity::Author, &["name", "display_name_alternatives"]));

/// Finds the authors that a name with a hint may mean.
pub(super) fn find(
    snapshot: &Snapshot,
    question: &Question,
    deadline: Deadline<'_>,
) -> Result<Vec<Candidate>, QueryError> {
    let words = words_of(question.text().unwrap_or_default());
    let (mut found, mut hint) = (Vec::new(), "");
    if let Some(orcid) = question.get("orcid").and_then(|orcid| Scheme::Orcid.parse(orcid.trim())) {
        let identifier = Identifier::External(Scheme::Orcid, orcid);
        for (_, rows) in identifier.find_rows(snapshot, &[Entity::Author])? {
            found.extend(rows);
        }
        hint = "orcid";
    }
    if found.is_empty() && question.get("title").is_some() {
        found = of_work(snapshot, question, deadline)?;
        hint = "title";
    }
    if found.is_empty()
        && let Some(affiliation) = question.get("affiliation")
    {
        found = of_affiliation(snapshot, affiliation, &words, deadline)?;
        hint = "affiliation";
    }
    found.sort_unstable();
    found.dedup();
    let mut candidates = Vec::new();
    for row in found {
        let has_name = snapshot.or_noted(has_name(snapshot, row, &words))?;
        // A work has many authors; an ORCID iD has one, whatever the name.
        if has_name || hint == "orcid" {
            let score = if has_name { 0.95 } else { 0.3 };
            let why = vec![
                Evidence { what: hint, agrees: true },
                Evidence { what: "name", agrees: has_name },
            ];
            candidates.push(Candidate { row, score, is_match: has_name, why });
        }
    }
    // Two people of the name at one place: nothing decides.
    if candidates.iter().filter(|of| of.is_match).count() > 1 {
        candidates.iter_mut().for_each(|of| (of.is_match, of.score) = (false, 0.6));
    }
    candidates.truncate(CANDIDATES_MAX);
    Ok(candidates)
}

/// The words of a name; a word of one letter is an initial.
fn words_of(name: &str) -> Vec<Word> {
    fold(name).split(' ').filter(|word| !word.is_empty()).map(Word::new).collect()
}

/// Whether a record has a name with each of the words, an initial as the beginning of one.
fn has_name(snapshot: &Snapshot, row: u32, words: &[Word]) -> Result<bool, ReadError> {
    let mut has = false;
    let Some(mut from) = snapshot.reader(Entity::Author, row)? else { return Ok(false) };
    Author::gather(&mut from, &NAMES, &mut |_, value| {
        if let Gathered::Text(name) = value {
            has = has || agrees(words, &words_of(name));
        }
    })?;
    Ok(has && !words.is_empty())
}

/// Whether two names may be those of one person: each word of the shorter one is a word of the other or its initial, and one word of
/// more than two letters is equal.
fn agrees(a: &[Word], b: &[Word]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let is_like = |word: &Word, of: &Word| {
        word.text == of.text
            || word.text.chars().count() == 1 && of.text.starts_with(&word.text)
            || of.text.chars().count() == 1 && word.text.starts_with(&of.text)
    };
    short.iter().all(|word| long.iter().any(|of| is_like(word, of)))
        && short
            .iter()
            .any(|word| word.text.len() > 2 && long.iter().any(|of| of.text == word.text))
}

/// The authors of the work whose title is given, if the work is sure.
fn of_work(
    snapshot: &Snapshot,
    question: &Question,
    deadline: Deadline<'_>,
) -> Result<Vec<u32>, QueryError> {
    let mut work = Question::new(Entity::Output);
    let given = [("title", question.get("title")), ("author", question.text())];
    for (name, value) in given {
        // Both were checked as parts of the question about the author.
        let _ = work.set(name, value.unwrap_or_default());
    }
    let mut rows = Vec::new();
    let found = outputs::find(snapshot, &work, deadline)?;
    for work in found.iter().filter(|work| work.is_match) {
        let Some(mut from) = snapshot.reader(Entity::Output, work.row)? else { continue };
        Output::gather(&mut from, &AUTHORS, &mut |_, value| {
            if let Gathered::Reference(Entity::Author, row) = value {
                rows.push(row);
            }
        })?;
    }
    // A reference may have no record.
    rows.retain(|row| *row < snapshot.count(Entity::Author));
    Ok(rows)
}

/// The people of a name who were at an institution that an affiliation surely names.
fn of_affiliation(
    snapshot: &Snapshot,
    affiliation: &str,
    words: &[Word],
    deadline: Deadline<'_>,
) -> Result<Vec<u32>, QueryError> {
    let mut place = Question::new(Entity::Institution);
    // The affiliation was checked as a part of the question about the author.
    let _ = place.set("text", affiliation);
    let found = institutions::find(snapshot, &place, deadline)?;
    let places: Vec<u32> = found.iter().filter(|of| of.is_match).map(|of| of.row).collect();
    // The index has no longer words; `has_name` compares these with the names of each author found.
    let words: Vec<String> =
        words.iter().map(|word| word.text.clone()).filter(|word| !is_long(word)).collect();
    if places.is_empty() || words.is_empty() {
        return Ok(Vec::new());
    }
    let set = rows_of_words(snapshot, Entity::Author, &words, deadline)?;
    // The first rows are the most used records: the limit leaves out the least known namesakes.
    let rows = first_rows(&set, snapshot.count(Entity::Author), NAMESAKES_MAX);
    let mut at_place = Vec::new();
    for row in rows {
        deadline.check()?;
        let mut is_there = false;
        if let Some(mut from) = snapshot.or_noted(snapshot.reader(Entity::Author, row))? {
            Author::gather(&mut from, &INSTITUTIONS, &mut |_, value| {
                if let Gathered::Reference(_, place) = value {
                    is_there |= places.contains(&place);
                }
            })?;
        }
        if is_there {
            at_place.push(row);
        }
    }
    Ok(at_place)
}
