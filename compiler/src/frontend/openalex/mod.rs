//! The front end for OpenAlex dumps: one JSON record per line.
//!
//! The module of an entity declares its line as a struct of lenient members, and converts the line
//! to a record, member by member.

pub(crate) mod author;
pub(crate) mod organisation;
pub(crate) mod parent;
pub(crate) mod shared;
pub(crate) mod source;
pub(crate) mod taxonomy;
pub(crate) mod work;

use pinakes_format::entity::Entity;
use pinakes_format::with_record;

use crate::frontend::reader::{BadRecord, LineReader};
use crate::read::strict;
use crate::read::strict::JsonError;

/// A parsed line, before its conversion to a record.
trait RawLine<'a>: serde::Deserialize<'a> {
    /// Converts the line to its record and adds the record to the object.
    fn keep(self, reader: &mut LineReader<'_>) -> Result<(), BadRecord>;
}

/// A record type, and the type of its lines in OpenAlex dumps.
trait OpenAlexRecord {
    type Line<'a>: RawLine<'a>;
}

/// Reads one line of an entity's part into the object.
pub fn read_line(entity: Entity, line: &str, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
    // serde would read an array as the members of a struct, in order.
    if !line.trim_ascii_start().starts_with('{') {
        let is_json = strict::from_str::<serde::de::IgnoredAny>(line).is_ok();
        let code = if is_json { "not_a_record" } else { "not_json" };
        return Err(BadRecord::Quarantine { code, id: None });
    }
    with_record!(entity, R => {
        strict::from_str::<<R as OpenAlexRecord>::Line<'_>>(line)?.keep(reader)
    })
}

/// Parses one line and drops it.
pub fn parse_line(entity: Entity, line: &str) -> Result<(), JsonError> {
    with_record!(entity, R => {
        strict::from_str::<<R as OpenAlexRecord>::Line<'_>>(line).map(drop)
    })
}
