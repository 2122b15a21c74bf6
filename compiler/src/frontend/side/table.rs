//! The registry entry of a side table.

use std::path::Path;

use pinakes_format::entity::Entity;
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::frontend::side::header::Heading;
use crate::object::ObjectWriter;
use crate::object::side_table::SideTable;
use crate::read::lenient::{MaybeId, MaybeText};
use crate::read::limits::ReadLimits;

/// How one side table is named, detected and read.
pub struct SideTableSpec {
    pub table: SideTable,
    /// The prefix on the command line and the name in reports.
    pub name: &'static str,
    /// The entity whose records the table extends.
    pub entity: Entity,
    /// A description of the table's files, for an error message.
    pub expected: &'static str,
    /// Whether these headings are the table's; never for JSON.
    pub is_header: fn(&[Heading]) -> bool,
    /// Whether a JSON object is a record of the table; never for CSV.
    pub is_record: fn(&RecordShape<'_>) -> bool,
    /// Reads a part into an object and returns the number of uncompressed bytes.
    pub read: fn(&Path, &ReadLimits, &mut ObjectWriter) -> Result<u64>,
}

impl SideTableSpec {
    /// The error for a file that is not of this table.
    pub fn mismatch(&self, path: &Path) -> Error {
        let reason =
            format!("is not a side table of kind `{}`; expected {}", self.name, self.expected);
        Error::Input { path: path.to_path_buf(), reason }
    }
}

/// The members of a JSON object that determine its side table.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct RecordShape<'a> {
    pub id: MaybeId<'a>,
    pub names: Option<serde::de::IgnoredAny>,
    #[serde(rename = "orcid-identifier")]
    pub orcid_identifier: Option<serde::de::IgnoredAny>,
    pub orcid: MaybeText<'a>,
    pub display_name: Option<serde::de::IgnoredAny>,
    pub path: MaybeText<'a>,
}
