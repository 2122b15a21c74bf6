//! Answers posted lines one after the other.

use std::mem;

use pinakes_format::entity::Entity;
use pinakes_format::matching::{Candidate, find_matches};
use pinakes_format::query::QueryError;
use pinakes_format::record::write_line;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;

use crate::define::WorkLimits;
use crate::matching::lines::{KEY, Line, LineFormat};
use crate::reply::pieces::{PieceBudget, PieceError, PieceSource};

/// Lines answered together, so that a client sees the first ones soon.
const LINES_TOGETHER: usize = 50;

/// The lines of a body, answered in pieces.
#[derive(Clone)]
pub struct MatchedLines {
    entity: Entity,
    format: LineFormat,
    lines: Vec<Line>,
    /// About the bytes of the lines.
    held_bytes: usize,
    limits: WorkLimits,
    next: usize,
    has_begun: bool,
}

impl MatchedLines {
    pub fn new(
        entity: Entity,
        format: LineFormat,
        lines: Vec<Line>,
        held_bytes: usize,
        limits: WorkLimits,
    ) -> MatchedLines {
        MatchedLines { entity, format, lines, held_bytes, limits, next: 0, has_begun: false }
    }

    /// The best candidate of a line, or what is wrong with the line.
    fn best(
        &self,
        line: &Line,
        snapshot: &Snapshot,
    ) -> Result<(Option<Candidate>, Option<String>), ReadError> {
        let question = match &line.question {
            Ok(question) => question,
            Err(error) => return Ok((None, Some(error.clone()))),
        };
        let found = self.limits.run(|deadline| find_matches(snapshot, question, deadline));
        match found {
            Ok(found) => Ok((found.into_iter().next(), None)),
            Err(QueryError::Damaged(error)) => Err(error),
            Err(error @ (QueryError::Deadline | QueryError::Refused { .. })) => {
                Ok((None, Some(error.to_string())))
            }
        }
    }

    /// Appends the answer to a line in JSON.
    fn write_json(
        &self,
        line: &Line,
        best: Option<Candidate>,
        error: Option<String>,
        snapshot: &Snapshot,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        out.extend_from_slice(b"{\"key\":");
        out.extend_from_slice(line.key.as_bytes());
        out.push(b',');
        match best {
            Some(best) => best.write_members(snapshot, self.entity, out)?,
            None => out.extend_from_slice(
                b"\"id\":null,\"name\":null,\"score\":0.00,\"match\":false,\"why\":[]",
            ),
        }
        if let Some(error) = error {
            out.extend_from_slice(b",\"error\":");
            json::string(out, &error);
        }
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    /// Appends the answer to a line as a row.
    fn write_row(
        &self,
        line: &Line,
        best: Option<Candidate>,
        error: Option<String>,
        snapshot: &Snapshot,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let (mut id, mut name, mut score, mut is_match) = (Vec::new(), "", String::new(), "");
        if let Some(best) = &best {
            self.entity.write_id(snapshot.row_id(self.entity, best.row)?, &mut id);
            name = snapshot.name(self.entity, best.row)?.unwrap_or_default();
            score = best.score_text();
            is_match = if best.is_match { "true" } else { "false" };
        }
        if best.is_none() && error.is_none() {
            is_match = "false";
        }
        let error = error.unwrap_or_default();
        let cells = [line.key.as_str(), name, &score, is_match, &error].map(str::as_bytes);
        let [key, name, score, is_match, error] = cells;
        write_line([key, &id, name, score, is_match, error].into_iter(), out);
        Ok(())
    }
}

impl PieceSource for MatchedLines {
    fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    fn next_piece(
        &mut self,
        snapshot: &Snapshot,
        budget: &PieceBudget,
        out: &mut Vec<u8>,
    ) -> Result<(), PieceError> {
        if !mem::replace(&mut self.has_begun, true) && self.format == LineFormat::Csv {
            let names = [KEY, "id", "name", "score", "match", "error"];
            write_line(names.into_iter().map(str::as_bytes), out);
        }
        let end = (self.next + LINES_TOGETHER).min(self.lines.len());
        for line in &self.lines[self.next..end] {
            if budget.is_used(out.len()) {
                break;
            }
            let (best, error) = snapshot.or_noted(self.best(line, snapshot))?;
            let begin = out.len();
            let written = match self.format {
                LineFormat::NdJson => self.write_json(line, best, error, snapshot, out),
                LineFormat::Csv => self.write_row(line, best, error, snapshot, out),
            };
            written.inspect_err(|_| out.truncate(begin))?;
            self.next += 1;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.next == self.lines.len()
    }
}
