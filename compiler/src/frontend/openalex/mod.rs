//! The front end for OpenAlex dumps: one JSON line, one record.
//!
//! Each entity has a module with the line as it is read, leniently, and how the record is made of
//! it, member by member.

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

/// A line as it is parsed, before its record is made.
trait RawLine<'a>: serde::Deserialize<'a> {
    /// Makes the line's record and keeps it.
    fn keep(self, reader: &mut LineReader<'_>) -> Result<(), BadRecord>;
}

/// A record type, and the line OpenAlex dumps hold of it.
trait OpenAlexRecord {
    type Line<'a>: RawLine<'a>;
}

/// Reads one line of an entity's part into the object under way.
///
/// # Errors
///
/// Why the line is set aside, or that the object cannot be written.
pub fn read_line(entity: Entity, line: &str, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
    // serde would take an array for an object's members in their order.
    if !line.trim_ascii_start().starts_with('{') {
        let is_json = strict::from_str::<serde::de::IgnoredAny>(line).is_ok();
        let code = if is_json { "not_a_record" } else { "not_json" };
        return Err(BadRecord::Quarantine { code, id: None });
    }
    with_record!(entity, R => {
        strict::from_str::<<R as OpenAlexRecord>::Line<'_>>(line)?.keep(reader)
    })
}

/// Parses one line and throws it away: what reading a dump costs at the least.
///
/// # Errors
///
/// Where the line is no JSON.
pub fn parse_line(entity: Entity, line: &str) -> Result<(), JsonError> {
    with_record!(entity, R => {
        strict::from_str::<<R as OpenAlexRecord>::Line<'_>>(line).map(drop)
    })
}
