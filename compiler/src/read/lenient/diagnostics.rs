//! The warnings of one part, and the limits on its members.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::read::limits::{MemberLimits, ReadLimits};

/// A record that takes more memory is read while no other such record is.
const LARGE_RECORD_BYTES: u64 = 32 << 20;
static LARGE_RECORD: Mutex<()> = Mutex::new(());

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
    /// The memory that the record may take; `None` without a limit.
    record_bytes_max: Option<u64>,
    /// The memory of the current record, and the lock of a large one.
    record_bytes: Cell<u64>,
    is_large: RefCell<Option<MutexGuard<'static, ()>>>,
}

/// Counts the memory of one record. Dropped at the record's end.
pub struct RecordMemory<'d>(&'d Diagnostics);

impl Drop for RecordMemory<'_> {
    fn drop(&mut self) {
        self.0.record_bytes.set(0);
        self.0.is_large.take();
    }
}

impl Diagnostics {
    /// Makes the diagnostics of one part. No text of a part is longer than its longest line.
    pub fn new(limits: &ReadLimits) -> Diagnostics {
        let record_bytes_max = Some(limits.record_bytes_max);
        let line_bytes_max = limits.line_bytes_max as u64;
        let text_bytes_max = limits.members.text_bytes_max.unwrap_or(u64::MAX);
        let limits = MemberLimits {
            text_bytes_max: Some(text_bytes_max.min(line_bytes_max)),
            ..limits.members
        };
        Diagnostics { limits, record_bytes_max, ..Diagnostics::default() }
    }

    /// Begins to count the memory of a record, with the bytes of its line.
    pub fn begin_record(&self, line_bytes: usize) -> RecordMemory<'_> {
        self.record_bytes.set(line_bytes as u64);
        RecordMemory(self)
    }

    /// Counts memory that the record takes.
    ///
    /// # Errors
    ///
    /// serde's `invalid_length` where the record takes more than it may.
    pub fn hold<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        let held = self.record_bytes.get() + bytes as u64;
        self.record_bytes.set(held);
        let Some(max) = self.record_bytes_max else { return Ok(()) };
        if held > max {
            return Err(E::invalid_length(bytes, &"a record that takes less memory"));
        }
        if held > LARGE_RECORD_BYTES && self.is_large.borrow().is_none() {
            let lock = LARGE_RECORD.lock().unwrap_or_else(PoisonError::into_inner);
            self.is_large.replace(Some(lock));
        }
        Ok(())
    }

    /// Limits beyond which a member becomes null.
    pub fn limits(&self) -> MemberLimits {
        self.limits
    }

    /// Begins a line or a row: the position of the following warnings, and the memory of the record in it.
    pub fn at(&self, line: u64, byte_offset: u64) {
        self.position.set(LinePosition { line, byte_offset });
        self.record_bytes.set(0);
        self.is_large.take();
    }

    /// Counts a warning under `code`.
    pub fn warn(&self, code: &'static str) {
        self.total.set(self.total.get() + 1);
        let first = self.position.get();
        let mut warnings = self.warnings.borrow_mut();
        warnings.entry(code).or_insert(WarningCount { count: 0, first }).count += 1;
    }

    /// The number of all warnings so far.
    pub fn total(&self) -> u64 {
        self.total.get()
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
    use serde_json::Error;

    use super::*;

    #[test]
    fn each_line_has_memory_of_its_own() {
        let diagnostics = Diagnostics { record_bytes_max: Some(100), ..Diagnostics::default() };
        for line in 1..4 {
            diagnostics.at(line, 0);
            assert!(diagnostics.hold::<Error>(60).is_ok());
            assert!(diagnostics.hold::<Error>(40).is_ok());
            assert!(diagnostics.hold::<Error>(1).is_err());
        }
        drop(diagnostics.begin_record(70));
        assert!(diagnostics.hold::<Error>(100).is_ok());
    }
}
