//! The words of a search that records have.

use std::collections::BTreeMap;

use crate::query::parse::SearchedIdentifier;

/// Which words of a search the matching records have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchedWords {
    /// All that are required.
    All,
    /// All, or most of them by weight.
    Most {
        /// The number of records that have all.
        all: u64,
    },
}

impl SearchedWords {
    /// The names in answers.
    pub const NAMES: [&str; 2] = ["all", "most"];

    /// The name in answers.
    pub fn name(self) -> &'static str {
        match self {
            SearchedWords::All => SearchedWords::NAMES[0],
            SearchedWords::Most { .. } => SearchedWords::NAMES[1],
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
    /// The identifier that the search is as a whole.
    pub identifier: Option<SearchedIdentifier>,
}

impl SearchSummary {
    /// The summary of a search that is one identifier.
    pub fn of_identifier(identifier: SearchedIdentifier) -> SearchSummary {
        let (words, corrected) = (SearchedWords::All, BTreeMap::new());
        SearchSummary { words, corrected, identifier: Some(identifier) }
    }
}
