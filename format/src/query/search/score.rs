//! The score of a record.

use crate::index::full_text::{IDF_STEPS, IMPACT_MAX};

/// The records whose words are compared with the order of a plain search.
pub(super) const WINDOW: usize = 128;
/// No place among all records is worth more.
pub(super) const PLACE_SCORE_MAX: u32 = 128;
/// The steps of a score that stand for 1 of `relevance_score`.
const SCORE_STEPS: u64 = IDF_STEPS * IMPACT_MAX as u64;
/// The member of records in lists by relevance that has their score.
pub const RELEVANCE_SCORE: &str = "relevance_score";

/// A record of a list by relevance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedRow {
    /// A row of the list's entity.
    pub row: u32,
    /// In steps of 1/7,936.
    pub score: u32,
}

impl RankedRow {
    /// The score as a decimal number with at most six digits, three of them after the point if the number is below 1,000.
    pub fn relevance_score(&self) -> String {
        let thousandths = u64::from(self.score) * 1_000 / SCORE_STEPS;
        match thousandths {
            0..1_000_000 => {
                let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            _ => (thousandths / 1_000).min(999_999).to_string(),
        }
    }
}

/// The greatest score in place of a greater one.
pub(super) fn saturate(score: u64) -> u32 {
    u32::try_from(score).unwrap_or(u32::MAX)
}
