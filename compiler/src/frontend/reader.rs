//! What every front end needs to read a line: its outcome, its identity, and the object it goes to.

use pinakes_format::entity::Entity;
use pinakes_format::record::Record;
use pinakes_format::record::value::Timestamp;

use crate::error::Error;
use crate::frontend::derived::DerivedNodes;
use crate::object::segment::{Provenance, SegmentBuilder};
use crate::object::{ObjectWriter, Origin};
use crate::read::identifier;
use crate::read::identifier::BadId;
use crate::read::lenient::{IdText, Text};
use crate::read::strict::JsonError;

/// The report code of a topic whose parent no source names.
pub const NO_PARENT: &str = "no_parent";

/// Why a line is set aside.
#[derive(Debug)]
pub enum BadRecord {
    /// The code it is reported under, and the id it gives itself.
    Quarantine {
        /// The code.
        code: &'static str,
        /// The id, where that much could be read.
        id: Option<String>,
    },
    /// Not the line's fault: the run cannot go on.
    Fatal(Error),
}

impl From<JsonError> for BadRecord {
    fn from(error: JsonError) -> BadRecord {
        BadRecord::Quarantine { code: error.fault.code(), id: None }
    }
}

impl From<Error> for BadRecord {
    fn from(error: Error) -> BadRecord {
        BadRecord::Fatal(error)
    }
}

/// Where a line's record goes.
pub struct LineReader<'r> {
    /// The object under way.
    pub object: &'r mut ObjectWriter,
    /// Taxonomy nodes that lines name in passing.
    pub derived: &'r mut DerivedNodes,
    /// The first 16 bytes of the BLAKE3 hash of the line.
    pub line_hash: [u8; 16],
    /// The line; nothing where it is a row.
    pub line: &'r str,
}

/// A line's own id and date: what its record is chosen by.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The number of its identifier.
    pub id: u64,
    /// When it changed.
    pub updated: Option<Timestamp>,
}

impl Identity {
    /// Parses the id of a line; fails with the report code of a missing or wrong id.
    pub fn parse(
        entity: Entity,
        id: &IdText<'_>,
        updated: Option<Timestamp>,
    ) -> Result<Identity, BadRecord> {
        let text = id.0.as_str();
        let parsed = text.map_or(Err(BadId::Missing), |text| identifier::parse(entity, text));
        parsed
            .map(|id| Identity { id, updated })
            .map_err(|bad| BadRecord::Quarantine { code: bad.code(), id: text.map(str::to_owned) })
    }
}

/// Refuses a record without a name. Only outputs may lack one.
pub fn require_name(id: &IdText<'_>, name: &Text<'_>) -> Result<(), BadRecord> {
    match name.0 {
        Some(_) => Ok(()),
        None => Err(BadRecord::Quarantine { code: "no_name", id: id.0.to_owned() }),
    }
}

impl LineReader<'_> {
    /// Makes a record of its own from a line and keeps it.
    ///
    /// # Errors
    ///
    /// Where it is too large, or the object cannot be written.
    pub fn keep<R: Record>(
        &mut self,
        identity: Identity,
        group: Option<u64>,
        make: impl FnOnce(&mut SegmentBuilder) -> R,
    ) -> Result<(), BadRecord> {
        let updated_micros = identity.updated.map_or(i64::MIN, |updated| updated.micros);
        let provenance =
            Provenance { origin: Origin::Own, updated_micros, line_hash: self.line_hash, group };
        let segment = self.object.segment(R::ENTITY)?;
        let record = make(segment);
        segment.push(&record, provenance).map_err(|_| BadRecord::Quarantine {
            code: "too_large",
            id: Some(identity.id.to_string()),
        })?;
        let newest = &mut self.object.report.newest_updated_micros;
        *newest = (*newest).max(identity.updated.map(|updated| updated.micros));
        Ok(())
    }
}
