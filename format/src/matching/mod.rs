//! Matching: decides which record a text that people wrote means, or that none does.
//!
//! ```text
//! Question     what is asked: a text, or parts such as title and year
//! candidates   rows that share rare words with the text
//! Evidence     what of a candidate's record the text states, and what the text contradicts
//! Candidate    a row, with a score, and whether the decision is sure
//! ```
//!
//! - `words` compares words: equal, mistyped, abbreviated.
//! - `citation` reads a citation, `outputs` decides which output it cites.
//!
//! Imports `autocomplete`, `entity`, `index`, `json`, `query`, `record`, `schema`, `snapshot`, `storage`, `text`.

mod citation;
mod outputs;
mod words;

use crate::entity::Entity;
use crate::query::{Deadline, QueryError};
use crate::snapshot::Snapshot;

/// The most candidates of an answer.
pub const CANDIDATES_MAX: usize = 10;

/// What is asked: a text, or parts of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    pub text: Option<String>,
    pub title: Option<String>,
    pub author: Option<String>,
    pub year: Option<String>,
    pub venue: Option<String>,
    pub volume: Option<String>,
    pub first_page: Option<String>,
    pub doi: Option<String>,
}

/// Something of a record that the text states, or contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What it is, such as `year`.
    pub what: &'static str,
    /// Whether the text states it.
    pub agrees: bool,
}

/// A record that a text may mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub row: u32,
    /// From 0 to 1.
    pub score: f32,
    /// Whether the decision is sure.
    pub is_match: bool,
    pub why: Vec<Evidence>,
}

/// Finds the records that a question may mean, the best first, at most [`CANDIDATES_MAX`].
///
/// # Errors
///
/// If the snapshot is damaged or the deadline passes.
pub fn find_matches(
    snapshot: &Snapshot,
    entity: Entity,
    question: &Question,
    deadline: Deadline<'_>,
) -> Result<Vec<Candidate>, QueryError> {
    match entity {
        Entity::Output => outputs::find(snapshot, question, deadline),
        _ => Ok(Vec::new()),
    }
}
