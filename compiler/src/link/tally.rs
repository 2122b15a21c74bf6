//! Accounting: how many input lines of an entity or side table were published, and what became of the rest.

use serde::{Deserialize, Serialize};

/// The accounting of one entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Lines or rows read.
    pub read: u64,
    /// Lines read that were published.
    pub published_from_input: u64,
    /// Lines dropped because another line has the same bytes.
    pub duplicates: u64,
    /// Lines dropped for a newer copy or a stronger source.
    pub superseded: u64,
    /// Superseded lines that are as new as the published copy.
    pub conflicts: u64,
    /// Lines whose record was merged into another record.
    pub merged: u64,
    /// Lines whose record a list of deleted ids removes.
    pub deleted: u64,
    /// Records that `--where` does not select, directly or through a reference.
    pub excluded: u64,
    /// Records dropped by `--suppress`.
    pub suppressed: u64,
    /// Bad lines.
    pub quarantined: u64,
    /// Records published without a line of their own.
    pub derived: u64,
    /// References in published records to records that do not exist.
    pub dangling: u64,
    /// Links of the citation graph to outputs that do not exist.
    pub unresolved_references: u64,
}

impl Tally {
    /// Records published.
    pub fn published(&self) -> u64 {
        self.published_from_input + self.derived
    }

    /// Whether the counts add up to the lines read.
    pub fn closes(&self) -> bool {
        self.read
            == self.published_from_input
                + self.duplicates
                + self.superseded
                + self.merged
                + self.deleted
                + self.excluded
                + self.suppressed
                + self.quarantined
    }
}

/// The accounting of one side table, or of all lists of deleted ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideTally {
    /// Rows read.
    pub read: u64,
    /// Rows that belong to a published record.
    pub joined: u64,
    /// Rows without a published record.
    pub unmatched: u64,
    /// Bad rows.
    pub quarantined: u64,
}

impl SideTally {
    /// Whether the counts add up to the rows read.
    pub fn closes(&self) -> bool {
        self.read == self.joined + self.unmatched + self.quarantined
    }
}
