//! The warnings of one part, and the limits on its members.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use serde::{Deserialize, Serialize};

use crate::read::limits::{MemberLimits, ReadLimits};

/// The start of a line or row in an uncompressed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinePosition {
    /// The line number from 1; 0 for the part as a whole.
    pub line: u64,
    pub byte_offset: u64,
}

/// The number of warnings of one code, and the position of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarningCount {
    pub count: u64,
    pub first: LinePosition,
}

/// Collects the warnings of one part, each with the position of its line.
///
/// The reader of a part makes one value and lends it to everything that reads from the part. So
/// lines, values and conversions can report at any depth of a call.
#[derive(Debug, Default)]
pub struct Diagnostics {
    limits: MemberLimits,
    position: Cell<LinePosition>,
    warnings: RefCell<BTreeMap<&'static str, WarningCount>>,
    /// The number of all warnings.
    total: Cell<u64>,
    /// The warnings of [`Diagnostics::attempt`], while it reads.
    attempted: RefCell<BTreeMap<&'static str, WarningCount>>,
    is_attempt: Cell<bool>,
}

impl Diagnostics {
    /// Makes the diagnostics of one part. No text of a part is longer than its longest line.
    pub fn new(limits: &ReadLimits) -> Diagnostics {
        let line_bytes_max = limits.line_bytes_max as u64;
        let text_bytes_max = limits.members.text_bytes_max.unwrap_or(u64::MAX);
        let limits = MemberLimits {
            text_bytes_max: Some(text_bytes_max.min(line_bytes_max)),
            ..limits.members
        };
        Diagnostics { limits, ..Diagnostics::default() }
    }

    /// Limits beyond which a member becomes null.
    pub fn limits(&self) -> MemberLimits {
        self.limits
    }

    /// Sets the position of the following warnings.
    pub fn at(&self, line: u64, byte_offset: u64) {
        self.position.set(LinePosition { line, byte_offset });
    }

    /// Counts a warning under `code`.
    pub fn warn(&self, code: &'static str) {
        match self.is_attempt.get() {
            true => self.add(&self.attempted, code, 1),
            false => self.count(code, 1),
        }
    }

    fn count(&self, code: &'static str, count: u64) {
        self.total.set(self.total.get() + count);
        self.add(&self.warnings, code, count);
    }

    fn add(
        &self,
        target: &RefCell<BTreeMap<&'static str, WarningCount>>,
        code: &'static str,
        count: u64,
    ) {
        let first = self.position.get();
        let mut warnings = target.borrow_mut();
        warnings.entry(code).or_insert(WarningCount { count: 0, first }).count += count;
    }

    /// The number of all warnings so far.
    pub fn total(&self) -> u64 {
        self.total.get()
    }

    /// Calls `read`, and drops its warnings where it returns `None`, so that another attempt can count them.
    pub(crate) fn attempt<T>(&self, read: impl FnOnce() -> Option<T>) -> Option<T> {
        self.is_attempt.set(true);
        let value = read();
        self.is_attempt.set(false);
        let attempted = self.attempted.take();
        if value.is_some() {
            for (code, warned) in attempted {
                self.count(code, warned.count);
            }
        }
        value
    }

    /// The warnings by code.
    pub fn into_warnings(self) -> BTreeMap<&'static str, WarningCount> {
        self.warnings.into_inner()
    }

    /// The number of warnings of each code.
    #[cfg(test)]
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.warnings.borrow().iter().map(|(code, warned)| (*code, warned.count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_successful_attempt_counts_its_warnings() {
        let diagnostics = Diagnostics::default();
        let attempt = |value: Option<u8>| {
            diagnostics.attempt(|| {
                diagnostics.warn("not_a_text");
                diagnostics.warn("not_a_text");
                value
            })
        };
        assert_eq!(attempt(None), None);
        assert_eq!(diagnostics.counts(), [].into());
        diagnostics.warn("not_a_text");
        assert_eq!(attempt(Some(1)), Some(1));
        assert_eq!(diagnostics.counts(), [("not_a_text", 3)].into());
    }
}
