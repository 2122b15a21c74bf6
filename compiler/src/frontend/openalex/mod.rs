//! The front end for OpenAlex dumps: one JSON record per line.
//!
//! The module of an entity declares its line as a struct of lenient members, and converts the line
//! to a record, member by member.

pub(crate) mod author;
pub(crate) mod award;
pub(crate) mod organisation;
pub(crate) mod parent;
pub(crate) mod shared;
pub(crate) mod source;
pub(crate) mod taxonomy;
pub(crate) mod work;

use std::marker::PhantomData;

use pinakes_format::entity::Entity;
use pinakes_format::with_record;

use crate::frontend::reader::{BadRecord, LineReader};
use crate::read::{Diagnostics, JsonFault, Members, Row, RowFault, Wanted, json, lenient};

/// A record type, and its lines in OpenAlex dumps.
trait OpenAlexRecord {
    /// The members that are read from a line.
    type Line<'a>: Members<'a>;

    /// Converts a line to its record and adds the record to the object.
    fn keep(line: Self::Line<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord>;
}

/// Reads one line of an entity's part into the object.
pub fn read_line(entity: Entity, line: &str, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
    // Anything but an object: the code says whether the line is JSON at all.
    if !line.trim_ascii_start().starts_with('{') {
        let is_json = json::parse(line, PhantomData::<serde::de::IgnoredAny>).is_ok();
        let code = if is_json { "not_a_record" } else { "not_json" };
        return Err(BadRecord::Quarantine { code, id: None });
    }
    with_record!(entity, R => {
        R::keep(lenient::from_str(line, reader.diagnostics)?, reader)
    })
}

/// The members that the compiler reads from a row of an entity's part.
pub fn wanted(entity: Entity) -> Wanted {
    with_record!(entity, R => Wanted::Members(<<R as OpenAlexRecord>::Line<'static> as Members<'static>>::MEMBERS))
}

/// Reads one row of an entity's part into the object.
pub fn read_row(
    entity: Entity,
    row: Row<'_, '_>,
    reader: &mut LineReader<'_>,
) -> Result<(), BadRecord> {
    with_record!(entity, R => {
        let line = row.read(|value| lenient::from_columnar(value, reader.diagnostics))?;
        R::keep(line, reader)
    })
}

/// Parses one row and drops it.
pub fn parse_row(entity: Entity, row: Row<'_, '_>) -> Result<(), RowFault> {
    with_record!(entity, R => {
        let diagnostics = Diagnostics::default();
        row.read(|value| lenient::from_columnar::<<R as OpenAlexRecord>::Line<'_>, _>(value, &diagnostics))
            .map(drop)
    })
}

/// Parses one line and drops it.
pub fn parse_line(entity: Entity, line: &str) -> Result<(), JsonFault> {
    with_record!(entity, R => {
        let diagnostics = Diagnostics::default();
        lenient::from_str::<<R as OpenAlexRecord>::Line<'_>>(line, &diagnostics).map(drop)
    })
}
