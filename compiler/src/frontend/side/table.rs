//! A side table: how its files are detected and read, and what its rows add to a record.

use std::fmt;
use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::record::{
    Author, Institution, Record, RecordWriter, Source, Stored, Table, pack, read,
};
use serde::de::IgnoredAny;

use crate::error::{Error, Result};
use crate::frontend::side::header::Heading;
use crate::object::ObjectWriter;
use crate::read::{Diagnostics, MaybeId, MaybeText, ReadLimits, members};

/// A side table. Two are equal if they have the same name.
pub struct SideTable {
    /// The prefix on the command line, and the name in objects and reports.
    pub name: &'static str,
    /// A description of the table's files, for an error message.
    pub expected: &'static str,
    /// Whether these headings are the table's; never for JSON.
    pub is_header: fn(&[Heading]) -> bool,
    /// Whether a JSON object is a record of the table; never for CSV.
    pub is_record: fn(&RecordShape<'_>) -> bool,
    /// Reads a part into an object and returns the number of uncompressed bytes.
    pub read: fn(&Path, &ReadLimits, &Diagnostics, &mut ObjectWriter) -> Result<u64>,
    /// Adds the rows of a record to the record.
    pub extend: Extend,
}

impl SideTable {
    /// The error for a file that is not of this table.
    pub fn mismatch(&self, path: &Path) -> Error {
        let reason =
            format!("is not a side table of kind `{}`; expected {}", self.name, self.expected);
        Error::Input { path: path.to_path_buf(), reason }
    }
}

impl PartialEq for SideTable {
    fn eq(&self, other: &SideTable) -> bool {
        self.name == other.name
    }
}

impl Eq for SideTable {}

impl fmt::Debug for SideTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Adds the values of the joined rows to a record. Returns whether the record changed; `None` if a row cannot be decoded.
///
/// An addition does not read what an earlier addition of the same table wrote, so repeating it
/// changes nothing.
pub type Addition<R> = fn(&mut R, &JoinedRows<'_>) -> Option<bool>;

/// Lists the codes that the value of a row needs in the snapshot, each with its table; `None` if the
/// value cannot be decoded.
pub type Codes = fn(&[u8], InstitutionRow<'_>) -> Option<Vec<(Table, String)>>;

/// The entity that a side table extends, and how.
pub enum Extend {
    Source(Addition<Source>),
    Author(Addition<Author>),
    Institution { add: Addition<Institution>, codes: Codes },
}

impl Extend {
    pub fn entity(&self) -> Entity {
        match self {
            Extend::Source(_) => Entity::Source,
            Extend::Author(_) => Entity::Author,
            Extend::Institution { .. } => Entity::Institution,
        }
    }
}

/// A record that side tables may extend.
pub trait ExtensibleRecord: Record {
    /// The addition of a table that extends this entity; `None` for another entity's table.
    fn addition(extend: &Extend) -> Option<Addition<Self>>;
}

impl ExtensibleRecord for Source {
    fn addition(extend: &Extend) -> Option<Addition<Source>> {
        if let Extend::Source(add) = extend { Some(*add) } else { None }
    }
}

impl ExtensibleRecord for Author {
    fn addition(extend: &Extend) -> Option<Addition<Author>> {
        if let Extend::Author(add) = extend { Some(*add) } else { None }
    }
}

impl ExtensibleRecord for Institution {
    fn addition(extend: &Extend) -> Option<Addition<Institution>> {
        if let Extend::Institution { add, .. } = extend { Some(*add) } else { None }
    }
}

/// Finds the row of the institution with a ROR id, given as a join key.
pub type InstitutionRow<'a> = &'a dyn Fn(u64) -> Option<u32>;

/// The encoded values of the newest rows of each table, in descending order of their hashes.
pub type RowsByTable<'a> = Vec<(&'static SideTable, Vec<&'a [u8]>)>;

/// The rows of all side tables that join one record.
pub struct JoinedRows<'a> {
    pub rows: RowsByTable<'a>,
    pub institution_row: InstitutionRow<'a>,
    /// Finds the number of a code in its table.
    pub code: &'a dyn Fn(Table, &str) -> Option<u32>,
}

impl JoinedRows<'_> {
    /// Decodes the rows of one table; `None` if a row cannot be decoded.
    pub fn values<V: SideValue>(&self, table: &SideTable) -> Option<Vec<V>> {
        let rows = self.rows.iter().filter(|(of, _)| *of == table).flat_map(|(_, rows)| rows);
        rows.map(|row| V::decode(row)).collect()
    }
}

members! {
    pub struct RecordShape<'a> {
        pub id: MaybeId<'a>,
        pub names: Option<IgnoredAny>,
        pub orcid_identifier as "orcid-identifier": Option<IgnoredAny>,
        pub orcid: MaybeText<'a>,
        pub display_name: Option<IgnoredAny>,
        pub path: MaybeText<'a>,
    }
}

/// The value of a row of a side table: packed as in a record where a record has values of the type.
pub trait SideValue: Sized {
    /// Encodes the value; equal values have equal bytes.
    fn encode(&self) -> Vec<u8>;

    /// Decodes a value; `None` where the bytes are corrupt.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

impl<V: Stored> SideValue for V {
    fn encode(&self) -> Vec<u8> {
        pack(self, &mut RecordWriter::default())
    }

    fn decode(bytes: &[u8]) -> Option<V> {
        read(bytes).ok()
    }
}
