//! Full-text search: from the text of `search=` to rows by relevance.
//!
//! ```text
//! text        "deep learning" -review          what the client wrote
//! Search      parse/search.rs: a tree of clauses, checked
//! Words       words.rs: words as terms of the index (terms.rs), with corrections (correct.rs)
//! Resolver    plan.rs: the tree as a matcher; which records a plain search lists; scoring.rs: which words score
//! Matcher     matcher.rs: rows that match, ascending; of words (group.rs), phrases, and most words
//! RankedRow   rank.rs: rows by descending score; bonus.rs: what the places of words add
//! ```
//!
//! `record` evaluates a search against one record. `forms` finds the words that patterns and mistyped words stand for.
//! `snippet` marks the words of a search in the texts of a record; `word_test` serves both.

mod bonus;
mod common_rows;
mod correct;
mod forms;
mod group;
mod matcher;
mod most;
mod phrase;
mod plan;
mod rank;
mod record;
mod required;
mod score;
mod scoring;
mod snippet;
mod summary;
mod terms;
mod word_terms;
mod word_test;
mod words;

use crate::entity::Entity;
use crate::index::doc_set::DocSet;
use crate::query::parse::search::Search;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::search::plan::Resolver;
use crate::query::search::rank::{Ranking, SuppressedBefore, matching_rows};
use crate::record::value::Table;
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;
use crate::text::analyzer::Languages;

pub use crate::query::search::plan::ALL_RECORDS_MIN;
pub use crate::query::search::record::RecordTexts;
pub use crate::query::search::score::{RELEVANCE_SCORE, RankedRow};
pub use crate::query::search::snippet::{Excerpt, Marker};
pub use crate::query::search::summary::{SearchSummary, SearchedWords};
pub(crate) use crate::query::search::terms::{TrueTerm, TrueTerms};

/// A page of a list by relevance.
pub(super) struct RankedPage {
    /// Matching records on all pages.
    pub count: u64,
    /// The rows of the page, the best first.
    pub rows: Vec<RankedRow>,
    /// Which words match, and which were corrected.
    pub summary: SearchSummary,
}

impl Search {
    /// Collects the rows that match, suppressed ones included, and says what was found of the words.
    pub(super) fn rows(
        &self,
        snapshot: &Snapshot,
        entity: Entity,
        deadline: Deadline<'_>,
    ) -> Result<(DocSet, SearchSummary), QueryError> {
        let mut resolver = self.resolver(snapshot, entity, deadline)?;
        let rows = matching_rows(&mut resolver.matcher()?, snapshot.count(entity), deadline)?;
        Ok((rows, resolver.summary()))
    }

    /// Counts the matching rows of a filter, and finds those of a page by relevance.
    pub(super) fn ranked_page(
        &self,
        snapshot: &Snapshot,
        entity: Entity,
        filter: Option<&DocSet>,
        page: (u64, usize),
        deadline: Deadline<'_>,
    ) -> Result<RankedPage, QueryError> {
        let suppressed = SuppressedBefore::new(snapshot.suppressed().rows(entity));
        let rows = snapshot.count(entity);
        let ranking = Ranking::new(rows, filter, suppressed, deadline);
        let mut resolver = self.resolver(snapshot, entity, deadline)?;
        let (count, rows) = ranking.page(&mut resolver, page)?;
        Ok(RankedPage { count, rows, summary: resolver.summary() })
    }

    fn resolver<'s>(
        &self,
        snapshot: &'s Snapshot,
        entity: Entity,
        deadline: Deadline<'s>,
    ) -> Result<Resolver<'s, '_>, QueryError> {
        if snapshot.is_collecting() {
            // Notes what is absent of them; an error comes again below.
            let _ = languages_of(snapshot);
        }
        let Some(index) = snapshot.full_text(entity)? else {
            let reason = "cannot be searched: this snapshot was built without a full-text index; `name.search` finds names";
            return Err(QueryError::refused(self.parameter, &self.text, reason.to_owned()));
        };
        let languages = index.languages(|| languages_of(snapshot))?;
        let (rows, suppressed) = (snapshot.count(entity), snapshot.suppressed().rows(entity));
        let terms = TrueTerms::new(snapshot, index, deadline);
        Ok(Resolver::new(self, terms, languages, rows, suppressed, deadline))
    }
}

/// The languages of a snapshot's records.
fn languages_of(snapshot: &Snapshot) -> Result<Languages, ReadError> {
    let codes = snapshot.codes_of(Table::Language as u8)?;
    let codes: Vec<&str> = codes.map(|code| snapshot.code(code)).collect::<Result<_, _>>()?;
    Ok(Languages::of_codes(codes.into_iter()))
}
