//! Marked words, excerpts of abstracts, and the note about corrected words on the pages of a full-text search.

use std::num::NonZeroU32;

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
use crate::pages::html::{emphasized_with, marked};
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
        emphasized_with(name, &self.marker.marks(Field::Title, name, stemmer))
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
        let (mut corrected, mut end) = (String::new(), 0);
        each_compound(typed, |compound| {
            let correction = compound.parts().find_map(|part| summary.corrected.get(part));
            if let Some(correction) = correction.and_then(|all| all.first()) {
                let source = compound.source();
                corrected.push_str(&typed[end..source.start]);
                corrected.push_str(correction);
                end = source.end;
            }
        });
        let with_all = match summary.words {
            SearchedWords::All => None,
            SearchedWords::Most { all } => Some(all),
        };
        let hint = search_hint(typed);
        let corrected = (end > 0).then(|| corrected + &typed[end..]);
        let is_note = with_all.is_some() || hint.is_some() || corrected.is_some();
        is_note.then(|| SearchNote { corrected, with_all, hint, typed: typed.to_owned(), href })
    }
}

/// Words of a search that are tried alone when nothing was found.
const WORDS_TRIED: usize = 12;

/// Why a search found nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct NothingFound {
    /// Words and phrases that no record has, or none that the filter leaves.
    pub words: Vec<String>,
    /// The search without these, and its page.
    pub without: Option<(String, String)>,
    /// The name of the identifier that the search is, and the page of its system.
    pub identifier: Option<(&'static str, Option<String>)>,
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
    /// Tries each word of a search alone; `None` of a list without a search.
    ///
    /// Cost: a list for each word.
    pub fn explain(
        query: &Query,
        summary: Option<&SearchSummary>,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Option<NothingFound>, QueryError> {
        if let Some(found) = summary.and_then(|of| of.identifier.as_ref()) {
            let name = IDENTIFIERS.iter().find(|(kind, _)| *kind == found.kind);
            let name = name.map_or(found.kind, |(_, name)| *name);
            let identifier = Some((name, found.address.clone()));
            return Ok(Some(NothingFound { words: Vec::new(), without: None, identifier }));
        }
        let address = Address::new(query);
        let Some(typed) = &address.search else { return Ok(None) };
        let (mut words, mut rest): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
        for (at, part) in parts(typed).enumerate() {
            if at < WORDS_TRIED && !OPERATORS.contains(&part) {
                let mut alone = query.clone();
                // The other filters stay: the word may be in records that these leave out.
                alone.filter.retain(|expression| expression.searched().is_none());
                alone.page = NonZeroU32::MIN;
                if alone.add_search(part).is_ok() && alone.execute(snapshot, deadline)?.count == 0 {
                    words.push(part.to_owned());
                    continue;
                }
            }
            rest.push(part);
        }
        let has_words = rest.iter().any(|part| !OPERATORS.contains(part));
        let without = (!words.is_empty() && has_words).then(|| {
            let rest = rest.iter().filter(|part| !OPERATORS.contains(*part));
            let rest = rest.copied().collect::<Vec<&str>>().join(" ");
            let href = address.searching(&rest).page_url();
            (rest, href)
        });
        Ok(Some(NothingFound { words, without, identifier: None }))
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
    use std::collections::BTreeMap;

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
