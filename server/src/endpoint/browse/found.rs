//! Marked words, excerpts of abstracts, and the note about corrected words on the pages of a full-text search.

use pinakes_format::json::render::JsonWriter;
use pinakes_format::query::{Excerpt, Marker, Query, SearchSummary, SearchedWords, parse_select};
use pinakes_format::record::members::{Members, View};
use pinakes_format::schema::texts::Field;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use pinakes_format::text::analyzer::{Stemmer, each_compound};

use crate::endpoint::browse::html::{emphasized_with, marked};
use crate::endpoint::browse::preview::Preview;

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
        emphasized_with(name, &self.marker.marks(Field::Title, name, &stemmer))
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
        let found = self.marker.excerpt(Field::Abstract, &text, &stemmer, EXCERPT_BYTES);
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
    /// Whether no record has all words, and those with most of them are shown.
    pub has_most: bool,
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
        let has_most = summary.words == SearchedWords::Most;
        let corrected = (end > 0).then(|| corrected + &typed[end..]);
        let is_note = has_most || corrected.is_some();
        is_note.then(|| SearchNote { corrected, has_most, typed: typed.to_owned(), href })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_note_shows_the_corrected_search() {
        let note = |typed: &str, words: SearchedWords| {
            let corrected =
                BTreeMap::from([("synovitsi".to_owned(), vec!["synovitis".to_owned()])]);
            SearchNote::new(typed, &SearchSummary { words, corrected }, String::new())
        };
        let found = note("Synovitsi of the knee!", SearchedWords::Most);
        let found = found.and_then(|note| note.corrected);
        assert_eq!(found.as_deref(), Some("synovitis of the knee!"));
        let found = note("knee", SearchedWords::Most).map(|note| (note.corrected, note.has_most));
        assert_eq!(found, Some((None, true)));
        assert_eq!(note("knee", SearchedWords::All), None);
    }
}
