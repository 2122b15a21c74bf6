//! Reading a side table into its part's object.

use pinakes_format::record::{Abdc, OrcidProfile};

use crate::error::{Error, Result};
use crate::frontend::openalex::BadRecord;
use crate::frontend::side::header::Header;
use crate::frontend::side::journal_list::{Journal, List};
use crate::frontend::side::{
    SideTable, SideValue, abdc, doaj, header, orcid, ror, scopus, web_of_science,
};
use crate::input::Part;
use crate::object::ObjectWriter;
use crate::read::elements::Elements;
use crate::read::limits::Reading;
use crate::read::lines::Line;
use crate::read::rows::{Row, Rows};

/// What one row gives and which records it belongs to.
pub struct Keyed<V> {
    /// What it is joined by.
    pub keys: Vec<u64>,
    /// When it was true, as a number that orders within its table; `None` where it does not say.
    pub vintage: Option<i64>,
    /// What it gives.
    pub value: V,
}

/// Reads a part; how many uncompressed bytes it had.
///
/// # Errors
///
/// Where it cannot be read, is no such table, or the object cannot be written.
pub fn read(
    part: &Part,
    table: SideTable,
    reading: &Reading,
    object: &mut ObjectWriter,
) -> Result<u64> {
    match table {
        SideTable::Doaj => read_list(&doaj::LIST, doaj::settle, part, reading, object),
        SideTable::Scimago => read_list(&scopus::SCIMAGO, scopus::settle, part, reading, object),
        SideTable::Scopus => read_list(&scopus::SCOPUS, scopus::settle, part, reading, object),
        SideTable::Jcr => read_list(&web_of_science::LIST, |row| row, part, reading, object),
        SideTable::Abdc => read_list(&abdc::LIST, |row: Journal<Abdc>| row, part, reading, object),
        SideTable::Ror => read_elements(table, ror::read, part, reading, object),
        SideTable::Orcid => {
            read_elements::<OrcidProfile>(table, orcid::read, part, reading, object)
        }
    }
}

/// Reads a list of journals. Rows that are blank, stand above the header or are notes below the
/// table are not read.
fn read_list<C: Default, V: SideValue>(
    list: &List<C>,
    settle: fn(Journal<C>) -> Journal<V>,
    part: &Part,
    reading: &Reading,
    object: &mut ObjectWriter,
) -> Result<u64> {
    let table = list.table;
    let Some(Header { delimiter, row: header_at, .. }) = header::find(&part.path, Some(table))?
    else {
        let reason = format!("is no {} table; expected {}", table.name(), table.expected());
        return Err(Error::Input { path: part.path.clone(), reason });
    };
    let mut rows = Rows::open(&part.path, Some(delimiter), reading)?;
    for _ in 0..header_at {
        rows.next_row()?;
    }
    let places = match rows.next_row()?.map(|row| row.cells) {
        Some(Ok(header)) => list.places(&header),
        _ => return Err(Error::Internal("a header found once is not there again".into())),
    };
    while let Some(Row { number, byte_offset, cells, raw }) = rows.next_row()? {
        let outcome = match &cells {
            Ok(cells) if list.is_note(cells) => continue,
            Ok(cells) => places.read(cells, delimiter == b';').map(|journal| (cells, journal)),
            Err(code) => Err(*code),
        };
        object.report.count_read(table.name());
        match outcome {
            Ok((cells, journal)) => {
                let Journal { keys, vintage, value, .. } = settle(journal);
                let joined = cells.iter().map(str::trim).collect::<Vec<_>>().join(",");
                let hash = hash_of(joined.as_bytes());
                object.side(table)?.push(&keys, vintage, hash, &value.encode());
            }
            Err(code) => {
                let line = Line { number, byte_offset, bytes: &raw, is_too_long: false };
                object.set_aside(table.name(), &line, code, None)?;
            }
        }
    }
    Ok(rows.offset_bytes())
}

/// Reads objects, one a line or all in one array.
fn read_elements<V: SideValue>(
    table: SideTable,
    read: fn(&str) -> std::result::Result<Keyed<V>, BadRecord>,
    part: &Part,
    reading: &Reading,
    object: &mut ObjectWriter,
) -> Result<u64> {
    let mut elements = Elements::open(&part.path, reading)?;
    let mut bytes = 0;
    while let Some(line) = elements.next_element()? {
        bytes = line.byte_offset + line.bytes.len() as u64;
        object.report.count_read(table.name());
        match read_element(&line, read) {
            Ok(Keyed { keys, vintage, value }) => {
                let hash = hash_of(line.bytes);
                object.side(table)?.push(&keys, vintage, hash, &value.encode());
            }
            Err(BadRecord::Fatal(error)) => return Err(error),
            Err(BadRecord::Quarantine { code, id }) => {
                object.set_aside(table.name(), &line, code, id)?;
            }
        }
    }
    Ok(bytes)
}

fn read_element<V>(
    line: &Line<'_>,
    read: fn(&str) -> std::result::Result<Keyed<V>, BadRecord>,
) -> std::result::Result<Keyed<V>, BadRecord> {
    let quarantine = |code| BadRecord::Quarantine { code, id: None };
    if line.is_too_long {
        return Err(quarantine("line_too_long"));
    }
    let text = std::str::from_utf8(line.bytes).map_err(|_| quarantine("not_utf8"))?;
    // serde would take an array for an object's members in their order.
    if !text.trim_ascii_start().starts_with('{') {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        return Err(quarantine(if is_json { "not_a_record" } else { "not_json" }));
    }
    read(text)
}

fn hash_of(bytes: &[u8]) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    hash
}
