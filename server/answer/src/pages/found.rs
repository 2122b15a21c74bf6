//! Marked words, excerpts of abstracts, and the note about corrected words on the pages of a full-text search.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use pinakes_format::formats::rich::Rich;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::query::{
    Deadline, Excerpt, Marker, Query, QueryError, SearchSummary, SearchedWords, parse_select,
    search_hint,
};
use pinakes_format::record::{Members, View};
use pinakes_format::schema::Field;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::analyzer::{Stemmer, each_compound};

use crate::pages::address::Address;
use crate::pages::html::{marked, styled};
use crate::pages::labels::thousands;
use crate::pages::preview::Preview;

/// Bytes of an excerpt, about.
const EXCERPT_BYTES: usize = 240;

/// Marks the words of a search in records.
pub struct Highlighter {
    marker: Marker,
    /// The members that excerpts are made of.
    abstracts: Option<Members>,
}

impl Highlighter {
    /// The highlighter of a list's search; `None` of a list without a full-text search.
    pub fn new(query: &Query, summary: Option<&SearchSummary>) -> Option<Highlighter> {
        let marker = query.search()?.marker(summary);
        let abstracts = parse_select(query.entity, View::Single, "abstract").ok();
        Some(Highlighter { marker, abstracts })
    }

    /// The HTML of a name.
    pub fn name(&self, name: &str, language: Option<&str>) -> String {
        let stemmer = Stemmer::of_language(language);
        let name = Rich::of(name);
        styled(&name, &self.marker.marks(Field::Title, &name.text(), stemmer))
    }

    /// The HTML of the part of a record's abstract that has the most words of the search.
    pub fn excerpt(
        &self,
        row: u32,
        language: Option<&str>,
        snapshot: &Snapshot,
    ) -> Result<Option<String>, ReadError> {
        let Some(members) = &self.abstracts else { return Ok(None) };
        let mut writer: JsonWriter<'_> = members.writer(snapshot);
        members.render(row, &mut writer)?;
        let Some(text) = Preview::parse(&writer.out).get("abstract").text() else {
            return Ok(None);
        };
        let text = Rich::of(&text).text();
        let stemmer = Stemmer::of_language(language);
        let found = self.marker.excerpt(Field::Abstract, &text, stemmer, EXCERPT_BYTES);
        Ok(found.map(|Excerpt { range, marks }| {
            let before = if range.start > 0 { "… " } else { "" };
            let after = if range.end < text.len() { " …" } else { "" };
            format!("{before}{}{after}", marked(&text, range, &marks))
        }))
    }
}

/// The note above the results of a search that stands for other words than those typed.
#[derive(Debug, PartialEq, Eq)]
pub struct SearchNote {
    /// The search with the words that were found; `None` if no word was corrected.
    pub corrected: Option<String>,
    /// The records that have all words, if those with most of them are shown too.
    pub with_all: Option<u64>,
    /// How to write what the search has of the syntax of another database.
    pub hint: Option<String>,
    /// The search as typed, and its page.
    pub typed: String,
    pub href: String,
}

impl SearchNote {
    /// The note about a search; `None` if it found its words as they were typed.
    pub fn new(typed: &str, summary: &SearchSummary, href: String) -> Option<SearchNote> {
        let corrected = corrected_search(typed, &summary.corrected);
        let with_all = match summary.words {
            SearchedWords::All => None,
            SearchedWords::Most { all } => Some(all),
        };
        let hint = search_hint(typed);
        let is_note = with_all.is_some() || hint.is_some() || corrected.is_some();
        is_note.then(|| SearchNote { corrected, with_all, hint, typed: typed.to_owned(), href })
    }
}

/// A search with the first of the words that each of its words is taken for; `None` if no word is.
fn corrected_search(typed: &str, words: &BTreeMap<String, Vec<String>>) -> Option<String> {
    let (mut corrected, mut end) = (String::new(), 0);
    each_compound(typed, |compound| {
        let correction = compound.parts().find_map(|part| words.get(part));
        if let Some(correction) = correction.and_then(|all| all.first()) {
            let source = compound.source();
            corrected.push_str(&typed[end..source.start]);
            corrected.push_str(correction);
            end = source.end;
        }
    });
    (end > 0).then(|| corrected + &typed[end..])
}

/// Words of a search that are tried alone when nothing was found.
const WORDS_TRIED: usize = 12;
/// Expressions of a filter that are left out in turn when nothing was found.
const FILTERS_TRIED: usize = 8;

/// Why a list has no records, and lists that have some.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NothingFound {
    /// Words and phrases that no record has, or none that the filter leaves.
    pub words: Vec<String>,
    /// Whether a filter is in use beside the search.
    pub is_filtered: bool,
    /// Whether there are words, and each is found.
    pub has_each_word: bool,
    /// The name of the identifier that the search is, and the page of its system.
    pub identifier: Option<(&'static str, Option<String>)>,
    /// Lists that differ a little and have records: words for them, number of records, address.
    pub ways: Vec<(String, String, String)>,
    /// For each expression of the filter, the number of records of the list without the expression.
    pub without: Vec<u64>,
}

/// The names of identifiers on pages.
const IDENTIFIERS: [(&str, &str); 9] = [
    ("doi", "DOI"),
    ("arxiv", "arXiv id"),
    ("pmid", "PMID"),
    ("pmcid", "PMCID"),
    ("orcid", "ORCID iD"),
    ("ror", "ROR id"),
    ("issn", "ISSN"),
    ("openalex", "OpenAlex id"),
    ("id", "id"),
];

impl NothingFound {
    /// Tries each word of a search alone, other searches, and the list without each expression of its filter.
    ///
    /// Cost: the count of a list for each.
    pub fn explain(
        query: &Query,
        summary: Option<&SearchSummary>,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<NothingFound, QueryError> {
        let tries = Tries { query, snapshot, deadline };
        let mut nothing = NothingFound {
            is_filtered: query.filter.iter().any(|of| of.searched().is_none()),
            ..NothingFound::default()
        };
        if let Some(found) = summary.and_then(|of| of.identifier.as_ref()) {
            let name = IDENTIFIERS.iter().find(|(kind, _)| *kind == found.kind);
            let name = name.map_or(found.kind, |(_, name)| *name);
            nothing.identifier = Some((name, found.address.clone()));
        } else if let Some(typed) = Address::new(query).search {
            nothing.try_words(&typed, tries)?;
        }
        for at in 0..query.filter.len().min(FILTERS_TRIED) {
            let count = match query.filter.len() {
                // The whole list is no way on.
                1 => 0,
                _ => tries.count(|list| {
                    list.filter.remove(at);
                })?,
            };
            nothing.without.push(count);
        }
        Ok(nothing)
    }

    /// Finds the words that find nothing, and searches for the nearest words, without these words, and for any word.
    fn try_words(&mut self, typed: &str, tries: Tries<'_>) -> Result<(), QueryError> {
        // The words that find something; with the nearest word of each other; the nearest words.
        let (mut rest, mut near, mut nearest) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (at, part) in parts(typed).filter(|part| !OPERATORS.contains(part)).enumerate() {
            let alone = match at < WORDS_TRIED {
                true => tries.search(part)?,
                false => None,
            };
            // A word that stands for others is in no record, or hardly any.
            match alone {
                Some((count, corrected)) if count == 0 || !corrected.is_empty() => {
                    self.words.push(part.to_owned());
                    near.extend(corrected_search(part, &corrected));
                    nearest.extend(corrected);
                }
                _ => {
                    rest.push(part.to_owned());
                    near.push(part.to_owned());
                }
            }
        }
        self.has_each_word = self.words.is_empty() && rest.len() > 1;
        let mut others: Vec<String> = Vec::new();
        if self.has_each_word {
            others.push(rest.join(" OR "));
        } else if !self.words.is_empty() {
            // With all words in place, the operators and the phrases stay.
            let is_whole = near.len() == rest.len() + self.words.len();
            others.extend(corrected_search(typed, &nearest).filter(|_| is_whole));
            others.extend([near.join(" "), rest.join(" ")].into_iter().skip(usize::from(is_whole)));
        }
        others.dedup();
        for words in others.into_iter().filter(|words| !words.is_empty()) {
            let count = tries.search(&words)?.map_or(0, |(count, _)| count);
            if count > 0 {
                let href = Address::new(tries.query).searching(&words).page_url();
                self.ways.push((format!("Search for {words}"), thousands(count), href));
            }
        }
        Ok(())
    }
}

/// Lists that differ from a list without records.
#[derive(Clone, Copy)]
struct Tries<'a> {
    query: &'a Query,
    snapshot: &'a Snapshot,
    deadline: Deadline<'a>,
}

/// The number of records that a search finds, and the words that others were taken for.
type Tried = (u64, BTreeMap<String, Vec<String>>);

impl Tries<'_> {
    /// Executes another query; `None` if the query would take too long. On a mirror, all tries are fetched together.
    fn execute(self, query: &Query) -> Result<Option<Tried>, QueryError> {
        let found = query.execute(self.snapshot, self.deadline);
        let found = found.map(|answer| {
            (answer.count, answer.search.map(|summary| summary.corrected).unwrap_or_default())
        });
        match self.snapshot.or_noted(found) {
            Ok(found) => Ok(Some(found)),
            Err(QueryError::Refused { .. } | QueryError::Deadline) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Searches for other words under the same filter.
    fn search(self, words: &str) -> Result<Option<Tried>, QueryError> {
        let mut query = Query { page: NonZeroU32::MIN, ..self.query.clone() };
        query.filter.retain(|expression| expression.searched().is_none());
        match query.add_search(words) {
            Ok(()) => self.execute(&query),
            Err(_) => Ok(None),
        }
    }

    /// The number of records of a list that is changed so; none if the count would take too long.
    fn count(self, change: impl FnOnce(&mut Query)) -> Result<u64, QueryError> {
        let mut query = Query { page: NonZeroU32::MIN, ..self.query.clone() };
        change(&mut query);
        if query.search().is_none() {
            query.relevance = None;
        }
        Ok(self.execute(&query)?.map_or(0, |(count, _)| count))
    }
}

/// Words between the clauses of a search.
const OPERATORS: [&str; 3] = ["AND", "OR", "NOT"];

/// The words of a search, and its phrases in quotes, without parentheses around them.
fn parts(typed: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let is_between = move |character: char| {
        is_quoted ^= character == '"';
        !is_quoted && (character.is_whitespace() || matches!(character, '(' | ')'))
    };
    typed.split(is_between).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_parts_of_a_search() {
        let found: Vec<&str> =
            parts("(heart OR \"ejection fraction\"~3) AND title:x \"open").collect();
        assert_eq!(found, ["heart", "OR", "\"ejection fraction\"~3", "AND", "title:x", "\"open"]);
    }

    #[test]
    fn a_note_shows_the_corrected_search() {
        let note = |typed: &str, words: SearchedWords| {
            let corrected =
                BTreeMap::from([("synovitsi".to_owned(), vec!["synovitis".to_owned()])]);
            let summary = SearchSummary { words, corrected, identifier: None };
            SearchNote::new(typed, &summary, String::new())
        };
        let found = note("Synovitsi of the knee!", SearchedWords::Most { all: 0 });
        let found = found.and_then(|note| note.corrected);
        assert_eq!(found.as_deref(), Some("synovitis of the knee!"));
        let found = note("knee", SearchedWords::Most { all: 0 })
            .map(|note| (note.corrected, note.with_all));
        assert_eq!(found, Some((None, Some(0))));
        assert_eq!(note("knee", SearchedWords::All), None);
        let hint = note("knee ADJ3 pain", SearchedWords::All).and_then(|note| note.hint);
        assert!(hint.is_some_and(|hint| hint.contains("`ADJ3`")));
    }
}
