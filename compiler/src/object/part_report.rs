//! The record of one part's compilation: lines read, lines quarantined, warnings, and merged ids.
//!
//! The report is stored in the object, so a cached part repeats its recorded warnings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::read::lenient::LinePosition;

/// Bad lines of one part whose positions are kept; further bad lines are only counted.
pub const BAD_LINES_MAX: usize = 10_000;
/// Bytes of a bad line, and of its id, that reports show.
pub const EXCERPT_BYTES_MAX: usize = 200;

/// Cuts a text to at most [`EXCERPT_BYTES_MAX`] bytes, at a character boundary.
pub fn excerpt_of(text: &str) -> &str {
    &text[..text.floor_char_boundary(EXCERPT_BYTES_MAX)]
}

/// The report of one part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartReport {
    /// Lines or rows read, by entity or side table.
    pub read: BTreeMap<String, u64>,
    /// Lines quarantined, by entity or side table.
    pub quarantined: BTreeMap<String, u64>,
    /// Defects that lost no record, by code.
    pub warnings: BTreeMap<String, u64>,
    /// The position of the first warning of each code.
    pub first_warnings: BTreeMap<String, LinePosition>,
    /// Lines quarantined, by code.
    pub bad_by_code: BTreeMap<String, u64>,
    /// The first [`BAD_LINES_MAX`] quarantined lines.
    pub bad_lines: Vec<BadLine>,
    /// The lines of topics. The link quarantines topics whose parent no part has.
    pub topics: Vec<KeptLine>,
    /// The newest `updated_date` of the part's records, in microseconds since 1970.
    pub newest_updated_micros: Option<i64>,
}

impl PartReport {
    /// Counts a line or row read. `kind` is the plural of an entity or the name of a side table.
    pub fn count_read(&mut self, kind: &str) {
        count(&mut self.read, kind);
    }

    /// Adds the time of a record's last change; `i64::MIN` if it is unknown.
    pub fn add_updated(&mut self, micros: i64) {
        let updated = (micros != i64::MIN).then_some(micros);
        self.newest_updated_micros = self.newest_updated_micros.max(updated);
    }

    /// Counts a quarantined line or row. `kind` is the plural of an entity or the name of a side table.
    pub fn count_quarantined(&mut self, kind: &str, code: &str) {
        count(&mut self.quarantined, kind);
        count(&mut self.bad_by_code, code);
    }
}

fn count(counts: &mut BTreeMap<String, u64>, key: &str) {
    match counts.get_mut(key) {
        Some(count) => *count += 1,
        None => {
            counts.insert(key.to_string(), 1);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BadLine {
    /// The line number, from 1.
    pub line: u64,
    /// Where the line begins in the uncompressed part.
    pub byte_offset: u64,
    /// The reason, a code of the report.
    pub code: String,
    /// The first bytes of the id that the line states, if it could be read; see [`excerpt_of`].
    pub id: Option<String>,
    /// The first bytes of the line.
    pub raw: Raw,
}

/// A line that became a record, and its position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptLine {
    /// The line hash of the record's key.
    pub line_hash: [u8; 16],
    /// The line number, from 1.
    pub line: u64,
    /// Where the line begins in the uncompressed part.
    pub byte_offset: u64,
    /// The first bytes of the line.
    pub raw: Raw,
}

/// The first bytes of a line, as a range of the object's file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Raw {
    pub from: u64,
    /// At most [`RAW_BYTES_MAX`](crate::read::lines::RAW_BYTES_MAX).
    pub bytes: u64,
}
