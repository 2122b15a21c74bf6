//! Matching: decides which record a text that people wrote means, or that none does.
//!
//! ```text
//! Question     what is asked: a text, or parts such as title and year
//! candidates   rows that share rare words with the text
//! Evidence     what of a candidate's record the text states, and what the text contradicts
//! Candidate    a row, with a score, and whether the decision is sure
//! ```
//!
//! - `question` checks what a client gives.
//! - `words` compares words: equal, mistyped, abbreviated.
//! - `citation` reads a citation, `outputs` decides which output it cites.
//! - `institutions` decides which institutions an affiliation names, with the names of `countries`.
//! - `authors` decides by a hint beside the name, `names` for all other entities.
//!
//! Imports `autocomplete`, `entity`, `index`, `query`, `record`, `schema`, `snapshot`, `storage`, `text`.

mod authors;
mod citation;
mod countries;
mod institutions;
mod names;
mod outputs;
mod question;
mod words;

use crate::autocomplete::Identifier;
use crate::entity::Entity;
use crate::query::{Deadline, QueryError};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;
use crate::text::json;

/// The most candidates of an answer.
pub const CANDIDATES_MAX: usize = 10;

pub use crate::matching::question::{Question, QuestionError, TEXT_BYTES_MAX};

/// Something of a record that the text states, or contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The name of the member, such as `year`.
    pub what: &'static str,
    /// Whether the text states it.
    pub agrees: bool,
}

/// A record that a text may mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The row of the record.
    pub row: u32,
    /// From 0 to 1.
    pub score: f32,
    /// Whether the decision is sure.
    pub is_match: bool,
    /// Members that the text states or contradicts.
    pub why: Vec<Evidence>,
}

/// The records with an identifier, or `None` if there are none. One record alone is sure.
fn identified(
    snapshot: &Snapshot,
    entity: Entity,
    identifier: &Identifier,
) -> Result<Option<Vec<Candidate>>, ReadError> {
    let found = identifier.find_rows(snapshot, &[entity])?;
    Ok(found.into_iter().next().map(|(_, rows)| {
        let is_match = rows.len() == 1;
        let why = vec![Evidence { what: "identifier", agrees: true }];
        let candidate = |row| Candidate { row, score: 1.0, is_match, why: why.clone() };
        rows.into_iter().map(candidate).take(CANDIDATES_MAX).collect()
    }))
}

/// Finds the records that a question may mean, the best first, at most [`CANDIDATES_MAX`].
pub fn find_matches(
    snapshot: &Snapshot,
    question: &Question,
    deadline: Deadline<'_>,
) -> Result<Vec<Candidate>, QueryError> {
    match question.entity() {
        Entity::Output => outputs::find(snapshot, question, deadline),
        Entity::Institution => institutions::find(snapshot, question, deadline),
        Entity::Author => authors::find(snapshot, question, deadline),
        _ => names::find(snapshot, question, deadline),
    }
}

impl Candidate {
    /// The score with two digits behind the point, rounded down: a score of 1 is certain.
    pub fn score_text(&self) -> String {
        format!("{:.2}", (self.score * 100.0).floor() / 100.0)
    }

    /// Appends the members of the candidate in JSON, without braces.
    ///
    /// # Errors
    ///
    /// If there is no such row, or the bytes are damaged.
    pub fn write_members(
        &self,
        snapshot: &Snapshot,
        entity: Entity,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let mut id = Vec::new();
        entity.write_id(snapshot.or_noted(snapshot.row_id(entity, self.row))?, &mut id);
        out.extend_from_slice(b"\"id\":\"");
        out.extend_from_slice(&id);
        out.extend_from_slice(b"\",\"name\":");
        json::string_or_null(out, snapshot.or_noted(snapshot.name(entity, self.row))?);
        out.extend_from_slice(b",\"score\":");
        out.extend_from_slice(self.score_text().as_bytes());
        let is_match: &[u8] = if self.is_match { b"true" } else { b"false" };
        out.extend_from_slice(b",\"match\":");
        out.extend_from_slice(is_match);
        out.extend_from_slice(b",\"why\":");
        json::list(out, &self.why, |evidence, out| {
            out.extend_from_slice(b"{\"what\":");
            json::string(out, evidence.what);
            let agrees: &[u8] = if evidence.agrees { b"true" } else { b"false" };
            out.extend_from_slice(b",\"agrees\":");
            out.extend_from_slice(agrees);
            out.push(b'}');
        });
        Ok(())
    }
}
