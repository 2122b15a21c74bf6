//! Reads the rows or records of a side table into the part's object.

use std::path::Path;

use csv::StringRecord;

use crate::error::{Error, Result};
use crate::frontend::reader::BadRecord;
use crate::frontend::side::header;
use crate::frontend::side::journal_list::{JournalList, JournalRow, is_note};
use crate::frontend::side::table::{SideTable, SideValue};
use crate::object::ObjectWriter;
use crate::read::csv_rows::CsvRow;
use crate::read::{CsvRows, Diagnostics, Elements, Line, ReadLimits};

/// The value of one row, and the keys that join it to records.
pub struct KeyedRow<V> {
    pub keys: Vec<u64>,
    /// The date of the row's data, as a number that orders within one table; `None` if unknown.
    pub vintage: Option<i64>,
    pub value: V,
}

/// Reads one element of a side table.
pub type ReadElement<V> = fn(&str, &Diagnostics) -> std::result::Result<KeyedRow<V>, BadRecord>;

/// Reads a journal list and returns the number of uncompressed bytes.
///
/// Skips rows above the header, blank rows, and notes below the table. `finish` completes a row
/// whose cells depend on one another.
///
/// # Errors
///
/// Where the part cannot be read, has no header of the list or is not UTF-8, or the object cannot be written.
pub fn read_list<C: Default, V: SideValue>(
    table: &SideTable,
    list: &JournalList<C>,
    finish: fn(JournalRow<C>) -> JournalRow<V>,
    path: &Path,
    limits: &ReadLimits,
    diagnostics: &Diagnostics,
    object: &mut ObjectWriter,
) -> Result<u64> {
    let found = header::find(path, diagnostics, |headings| list.is_header(headings).then_some(()))?;
    let Some(header) = found else { return Err(table.mismatch(path)) };
    let delimiter = header.delimiter;
    // The first reader looked for the header; the rows are read from the beginning of the file.
    let mut rows = CsvRows::open(path, Some(delimiter), limits, diagnostics)?;
    for _ in 0..header.row {
        rows.next_row()?;
    }
    let layout = match rows.next_row()?.map(|row| row.cells) {
        Some(Ok(header)) => list.layout(&header, diagnostics),
        _ => return Err(Error::Internal("the header is gone on the second read".into())),
    };
    let mut encoding = EncodingCheck::default();
    while let Some(CsvRow { number, byte_offset, cells, raw }) = rows.next_row()? {
        encoding.count(&cells);
        let outcome = match &cells {
            // Notes are not rows of the list, so the accounting leaves them out.
            Ok(cells) if is_note(cells) => continue,
            Ok(cells) => {
                // Lists with semicolons between cells write decimals with a comma.
                layout.read(cells, delimiter == b';', diagnostics).map(|journal| (cells, journal))
            }
            Err(code) => Err(*code),
        };
        // Bad rows were read too, and count as quarantined.
        object.report.count_read(table.name);
        match outcome {
            Ok((cells, journal)) => {
                let JournalRow { keys, vintage, value, .. } = finish(journal);
                // The hash is of the cells, so another delimiter or other spaces are no change.
                let joined = cells.iter().map(str::trim).collect::<Vec<_>>().join(",");
                let hash = hash_of(joined.as_bytes());
                object.side(table.name)?.push(&keys, vintage, hash, &value.encode());
            }
            Err(code) => {
                let line = Line { number, byte_offset, bytes: &raw, is_too_long: false };
                object.set_aside(table.name, &line, code, None)?;
            }
        }
    }
    encoding.finish(path)?;
    Ok(rows.offset_bytes())
}

/// Reads JSON objects, one per line or all in one array, and returns the number of uncompressed
/// bytes.
pub fn read_elements<V: SideValue>(
    table: &SideTable,
    read: ReadElement<V>,
    path: &Path,
    limits: &ReadLimits,
    diagnostics: &Diagnostics,
    object: &mut ObjectWriter,
) -> Result<u64> {
    let mut elements = Elements::open(path, limits, diagnostics)?;
    let mut bytes = 0;
    while let Some(line) = elements.next_element()? {
        bytes = line.byte_offset + line.bytes.len() as u64;
        object.report.count_read(table.name);
        match read_element(&line, read, diagnostics) {
            Ok(KeyedRow { keys, vintage, value }) => {
                let hash = hash_of(line.bytes);
                object.side(table.name)?.push(&keys, vintage, hash, &value.encode());
            }
            Err(BadRecord::Fatal(error)) => return Err(error),
            Err(BadRecord::Quarantine { code, id }) => {
                object.set_aside(table.name, &line, code, id)?;
            }
        }
    }
    Ok(bytes)
}

fn read_element<V>(
    line: &Line<'_>,
    read: ReadElement<V>,
    diagnostics: &Diagnostics,
) -> std::result::Result<KeyedRow<V>, BadRecord> {
    let quarantine = |code| BadRecord::Quarantine { code, id: None };
    if line.is_too_long {
        return Err(quarantine("line_too_long"));
    }
    let text = std::str::from_utf8(line.bytes).map_err(|_| quarantine("not_utf8"))?;
    // Anything but an object: the code says whether the element is JSON at all.
    if !text.trim_ascii_start().starts_with('{') {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        return Err(quarantine(if is_json { "not_a_record" } else { "not_json" }));
    }
    read(text, diagnostics)
}

fn hash_of(bytes: &[u8]) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    hash
}

/// Rows that are not UTF-8, from which on a table counts as written in another encoding, if all its other
/// rows are ASCII. A single such row may be damaged.
const UNDECODABLE_ROWS_MIN: u64 = 2;

/// Counts the rows of a table by their encoding.
#[derive(Debug, Default)]
pub struct EncodingCheck {
    undecodable: u64,
    /// Rows that are UTF-8 but not ASCII.
    multibyte: u64,
}

impl EncodingCheck {
    /// Counts a row, given as its cells or as the code of a bad row.
    pub fn count(&mut self, cells: &std::result::Result<StringRecord, &'static str>) {
        match cells {
            Ok(cells) if !cells.as_slice().is_ascii() => self.multibyte += 1,
            Err("not_utf8") => self.undecodable += 1,
            _ => {}
        }
    }

    /// Refuses a whole table in another encoding.
    ///
    /// # Errors
    ///
    /// Where several rows are not UTF-8, and all others are ASCII.
    pub fn finish(self, path: &Path) -> Result<()> {
        let EncodingCheck { undecodable, multibyte } = self;
        if undecodable < UNDECODABLE_ROWS_MIN || multibyte > 0 {
            return Ok(());
        }
        let reason = format!(
            "is not UTF-8 ({undecodable} rows); save it as `CSV UTF-8`, or convert it \
             (`iconv -f WINDOWS-1252 -t UTF-8`)"
        );
        Err(Error::Input { path: path.to_path_buf(), reason })
    }
}
