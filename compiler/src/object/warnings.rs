//! Defects of the inputs that lost no record: their number and first position, by code.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::object::part_report::PartReport;
use crate::read::lenient::LinePosition;

/// Warnings by code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warnings {
    pub counts: BTreeMap<String, u64>,
    /// The first position: a file, `file:line:byte_offset`, or an empty text if there is no single
    /// position.
    pub first: BTreeMap<String, String>,
}

impl Warnings {
    /// Counts `count` more warnings of a code. `first` states the position of the first one.
    pub fn add(&mut self, code: &str, count: u64, first: impl FnOnce() -> String) {
        if count == 0 {
            return;
        }
        *self.counts.entry(code.to_owned()).or_default() += count;
        self.first.entry(code.to_owned()).or_insert_with(first);
    }

    /// Takes over the first positions of a part's warnings. The link takes over the counts.
    pub fn take_positions(&mut self, file: &str, report: &PartReport) {
        for (code, position) in &report.first_warnings {
            self.first.entry(code.clone()).or_insert_with(|| shown_position(file, *position));
        }
    }
}

fn shown_position(file: &str, position: LinePosition) -> String {
    match position {
        LinePosition { line: 0, .. } => file.to_owned(),
        LinePosition { line, byte_offset } => format!("{file}:{line}:{byte_offset}"),
    }
}
