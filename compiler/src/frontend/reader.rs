//! Types that the front ends share: the reader of a line, its identity, and the outcome of a bad line.

use pinakes_format::entity::Entity;
use pinakes_format::record::{Record, Timestamp};

use crate::error::Error;
use crate::object::{ObjectWriter, Origin, Provenance, SegmentBuilder};
use crate::read::{BadId, Diagnostics, JsonFault, MaybeId, MaybeText, RowFault, identifier};

/// The report code of a topic whose parent no source names.
pub const NO_PARENT: &str = "no_parent";

/// Why a line yields no record.
#[derive(Debug)]
pub enum BadRecord {
    /// The line is bad; the report lists it.
    Quarantine {
        code: &'static str,
        /// The id, where the line has a readable one.
        id: Option<String>,
    },
    /// The run cannot go on, for a reason other than the line.
    Fatal(Error),
}

impl From<JsonFault> for BadRecord {
    fn from(fault: JsonFault) -> BadRecord {
        BadRecord::Quarantine { code: fault.code(), id: None }
    }
}

impl From<RowFault> for BadRecord {
    fn from(fault: RowFault) -> BadRecord {
        BadRecord::Quarantine { code: fault.code(), id: None }
    }
}

impl From<Error> for BadRecord {
    fn from(error: Error) -> BadRecord {
        BadRecord::Fatal(error)
    }
}

/// Reads one line or row into the object of its part.
pub struct LineReader<'r> {
    pub object: &'r mut ObjectWriter,
    /// The hash of the line. For a row without a line, [`LineReader::keep`] sets the hash of the record.
    pub line_hash: Option<[u8; 16]>,
    pub diagnostics: &'r Diagnostics,
    /// The line; empty for a row of a table or of a Parquet file.
    pub line: &'r str,
}

/// The id and date of a line, by which the linker chooses among copies of a record.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    pub id: u64,
    pub updated: Option<Timestamp>,
}

impl Identity {
    /// Parses the id of a line; fails with the report code of a missing or wrong id.
    pub fn parse(
        entity: Entity,
        id: &MaybeId<'_>,
        updated: Option<Timestamp>,
    ) -> Result<Identity, BadRecord> {
        let text = id.0.as_str();
        let parsed = text.map_or(Err(BadId::Missing), |text| identifier::parse(entity, text));
        parsed
            .map(|id| Identity { id, updated })
            .map_err(|bad| BadRecord::Quarantine { code: bad.code(), id: text.map(str::to_owned) })
    }
}

/// Refuses a record without a name. Outputs and institution types may lack one.
pub fn require_name(id: &MaybeId<'_>, name: &MaybeText<'_>) -> Result<(), BadRecord> {
    match name.0 {
        Some(_) => Ok(()),
        None => Err(BadRecord::Quarantine { code: "no_name", id: id.0.to_owned() }),
    }
}

impl LineReader<'_> {
    /// Builds the record of a line with `make` and adds it to the object.
    ///
    /// `group` is the primary topic of an output.
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
        let pushed = segment.push(&record, provenance).map_err(|_| BadRecord::Quarantine {
            code: "too_large",
            id: Some(identity.id.to_string()),
        })?;
        self.line_hash = Some(pushed);
        self.object.report.add_updated(updated_micros);
        Ok(())
    }
}
