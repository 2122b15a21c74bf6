//! A table of the files and bytes of a written dump.

use std::fmt;

use super::Written;
use super::parts::Part;
use crate::Entity;

/// Totals of a written dump, entity by entity in the order of [`Entity::ALL`].
#[derive(Clone, Debug)]
pub struct Summary {
    /// One row for each entity.
    pub entities: Vec<EntitySummary>,
}

/// Totals of one entity.
#[derive(Clone, Copy, Debug)]
pub struct EntitySummary {
    /// The entity.
    pub entity: Entity,
    /// Lines, older copies included.
    pub records: u64,
    /// Part files.
    pub parts: u64,
    /// Uncompressed bytes, line endings included.
    pub json_bytes: u64,
    /// Compressed bytes of the part files.
    pub gz_bytes: u64,
}

impl Summary {
    pub(super) fn of(parts: &[Part], written: &[Written]) -> Self {
        let row = |entity| {
            let mut row =
                EntitySummary { entity, records: 0, parts: 0, json_bytes: 0, gz_bytes: 0 };
            for (part, written) in
                parts.iter().zip(written).filter(|(part, _)| part.entity == entity)
            {
                row.records += part.lines.end - part.lines.start;
                row.parts += 1;
                row.json_bytes += written.json_bytes;
                row.gz_bytes += written.gz_bytes;
            }
            row
        };
        Self { entities: Entity::ALL.map(row).to_vec() }
    }

    /// Uncompressed bytes of the whole dump.
    pub fn json_bytes(&self) -> u64 {
        self.entities.iter().map(|row| row.json_bytes).sum()
    }

    /// Compressed bytes of all part files.
    pub fn gz_bytes(&self) -> u64 {
        self.entities.iter().map(|row| row.gz_bytes).sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<18}{:>12}{:>8}{:>16}{:>16}",
            "entity", "records", "parts", "JSON bytes", "gz bytes"
        )?;
        for row in &self.entities {
            let name = row.entity.folder();
            writeln!(
                f,
                "{name:<18}{:>12}{:>8}{:>16}{:>16}",
                row.records, row.parts, row.json_bytes, row.gz_bytes
            )?;
        }
        let records: u64 = self.entities.iter().map(|row| row.records).sum();
        let parts: u64 = self.entities.iter().map(|row| row.parts).sum();
        write!(
            f,
            "{:<18}{records:>12}{parts:>8}{:>16}{:>16}",
            "total",
            self.json_bytes(),
            self.gz_bytes()
        )
    }
}
