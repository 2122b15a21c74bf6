//! Renders candidates.

use crate::entity::Entity;
use crate::matching::Candidate;
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;
use crate::text::json;

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
        match snapshot.or_noted(snapshot.name(entity, self.row))? {
            Some(name) => json::string(out, name),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"score\":");
        out.extend_from_slice(self.score_text().as_bytes());
        let is_match: &[u8] = if self.is_match { b"true" } else { b"false" };
        out.extend_from_slice(b",\"match\":");
        out.extend_from_slice(is_match);
        out.extend_from_slice(b",\"why\":[");
        for (at, evidence) in self.why.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b",{\"what\":" } else { b"{\"what\":" });
            json::string(out, evidence.what);
            let agrees: &[u8] = if evidence.agrees { b"true" } else { b"false" };
            out.extend_from_slice(b",\"agrees\":");
            out.extend_from_slice(agrees);
            out.push(b'}');
        }
        out.push(b']');
        Ok(())
    }
}
