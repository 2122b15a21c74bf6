//! Reads a citation: identifiers, words and years.

use std::ops::Range;

use crate::autocomplete::Identifier;
use crate::entity::Entity;
use crate::matching::Question;
use crate::matching::words::{Word, words_of};
use crate::schema::Scheme;

/// A citation, read once for all candidates.
pub(super) struct Citation {
    /// The identifiers that the citation has.
    pub identifiers: Vec<Identifier>,
    pub words: Vec<Word>,
    /// The words of the title, where the client names them.
    pub title: Option<Range<usize>>,
    /// Whether the client names the author.
    pub has_author: bool,
    /// Whether the text may name a venue: it is whole, or has a part for it.
    pub may_have_venue: bool,
    /// The volume, where its place tells it: `12(3)`, `vol. 12`, or a part of its own.
    pub volume: Option<String>,
}

impl Citation {
    /// Reads the text and the parts of a question.
    pub fn new(question: &Question) -> Citation {
        let (mut identifiers, mut words, mut title) = (Vec::new(), Vec::new(), None);
        for name in ["author", "title", "text", "venue", "volume", "first_page", "year"] {
            let Some(part) = question.get(name) else { continue };
            let (rest, found) = split_identifiers(part);
            let from = words.len();
            words.extend(words_of(&rest));
            identifiers.extend(found);
            if name == "title" {
                title = Some(from..words.len());
            }
        }
        let doi = question.get("doi").and_then(|doi| Scheme::Doi.parse(doi.trim()));
        identifiers.extend(doi.map(|doi| Identifier::External(Scheme::Doi, doi)));
        let has_author = question.get("author").is_some();
        let may_have_venue = ["text", "venue"].iter().any(|name| question.get(name).is_some());
        let given = question.get("volume").map(|volume| volume.trim().to_owned());
        let volume = given.or_else(|| volume_of(question.get("text").unwrap_or_default()));
        Citation { identifiers, words, title, has_author, may_have_venue, volume }
    }
}

/// The volume that a citation states: before the issue in brackets, or behind its name. A year before brackets is none.
///
/// ```text
/// Nature 521(7553), 436        521
/// Nature, vol. 521, no. 7553   521
/// ```
fn volume_of(text: &str) -> Option<String> {
    let number = |digits: &str| {
        let is_number =
            (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| digits.to_owned())
    };
    let before_issue = text.match_indices('(').find_map(|(at, _)| {
        let issue = text[at + 1..].split(')').next()?;
        let is_issue =
            !issue.is_empty() && issue.len() <= 5 && issue.bytes().all(|b| b.is_ascii_digit());
        // A year in brackets follows the volume, or the authors.
        let is_year = issue.len() == 4 && (issue.starts_with("19") || issue.starts_with("20"));
        let before = text[..at].trim_end();
        let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        number(digits).filter(|_| is_issue && !is_year)
    });
    let lower = text.to_ascii_lowercase();
    let behind_name = || {
        ["vol. ", "vol ", "volume "].iter().find_map(|name| {
            let (before, rest) = lower.split_once(name)?;
            let is_word = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            number(digits).filter(|_| is_word)
        })
    };
    before_issue.or_else(behind_name)
}

/// Takes the identifiers and the addresses out of a text.
fn split_identifiers(text: &str) -> (String, Vec<Identifier>) {
    let mut identifiers = Vec::new();
    let mut rest = String::with_capacity(text.len());
    let mut label = "";
    for chunk in text.split_whitespace() {
        // Brackets and quotes surround identifiers, and an identifier may end a sentence.
        let bare = chunk.trim_matches(|c: char| ",;()[]<>\"'".contains(c));
        let bare = bare.trim_end_matches(['.', ',', ';', ':']);
        let lower = bare.to_ascii_lowercase();
        let is_labelled = |name: &str| label.eq_ignore_ascii_case(name);
        // A DOI follows an address, a label or a parameter: `https://doi.org/10.1`, `doi:10.1`, `?id=10.1`.
        let found = if let Some(at) = lower.find("10.").filter(|at| is_doi_start(&lower[..*at])) {
            let doi = doi_of(&lower[at..]);
            Scheme::Doi.parse(doi).map(|doi| Identifier::External(Scheme::Doi, doi))
        } else if is_labelled("pmid") && bare.bytes().all(|byte| byte.is_ascii_digit()) {
            // A bare number is an identifier behind its label alone: `PMID: 12345`.
            Some(Identifier::External(Scheme::Pmid, bare.to_owned()))
        } else {
            // `Identifier::parse` takes eight digits for an ISSN, and `1990-2000` too: numbers of a citation are not
            // tried.
            let is_named = ["pmid:", "hx_w", "http", "openalex", "w", "pubmed."];
            let is_named = is_named.iter().any(|name| lower.starts_with(name));
            // Identifiers of journals and people do not tell which output is cited.
            let is_own = |found: &Identifier| {
                matches!(found, Identifier::Record(Entity::Output, _))
                    || matches!(found, Identifier::External(Scheme::Pmid, _))
            };
            is_named.then(|| Identifier::parse(bare)).flatten().filter(is_own)
        };
        // The label of the next chunk: `PMID: 12345` has a space.
        label = bare.trim_end_matches(':');
        // Identifiers and addresses have no words of a title.
        if found.is_some() {
            identifiers.extend(found);
        } else if !lower.starts_with("http") && !lower.starts_with("www.") {
            rest.push(' ');
            rest.push_str(chunk);
        }
    }
    (rest, identifiers)
}

/// Whether a DOI may follow this beginning of a chunk.
fn is_doi_start(before: &str) -> bool {
    before.is_empty() || before.ends_with('/') || before.ends_with(':') || before.ends_with('=')
}

/// A DOI without the bracket behind it.
fn doi_of(text: &str) -> &str {
    match text.strip_suffix(')') {
        Some(inner) if !inner.contains('(') => inner,
        _ => text,
    }
}
