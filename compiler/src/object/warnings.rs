//! What was odd about the inputs but cost no record: how often, and where first.

use std::collections::BTreeMap;

use crate::object::file::PartReport;
use crate::read::lenient::LinePosition;

/// Warnings by code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    /// How often.
    pub counts: BTreeMap<String, u64>,
    /// Where first: a file, `file:line:byte_offset`, or nothing where it is no one place.
    pub first: BTreeMap<String, String>,
}

impl Warnings {
    /// Counts `count` more under a code, the first of them at a place; nothing where it is none.
    pub fn add(&mut self, code: &str, count: u64, first: impl FnOnce() -> String) {
        if count == 0 {
            return;
        }
        *self.counts.entry(code.to_owned()).or_default() += count;
        self.first.entry(code.to_owned()).or_insert_with(first);
    }

    /// Takes where a part's warnings stand first; how often each was met, linking counts.
    pub fn take_places(&mut self, file: &str, report: &PartReport) {
        for (code, place) in &report.first_warnings {
            self.first.entry(code.clone()).or_insert_with(|| shown_position(file, *place));
        }
    }
}

fn shown_position(file: &str, place: LinePosition) -> String {
    match place {
        LinePosition { line: 0, .. } => file.to_owned(),
        LinePosition { line, byte_offset } => format!("{file}:{line}:{byte_offset}"),
    }
}
