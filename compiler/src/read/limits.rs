//! Limits on what the compiler reads from one part.

use rustix::fs::Advice;
use serde::{Deserialize, Serialize};

/// Default of the longest line that is parsed.
pub const LINE_BYTES_MAX: usize = 16 << 20;
/// The memory that a line and the lists of its record may take, unless `--max-line` is raised. A line of 16 MiB with
/// 5,500,000 empty authors took 2.6 GB without this limit.
pub const RECORD_BYTES_MAX: u64 = 64 << 20;
/// The share of `--memory` that a record may take where `--max-line` is raised. The built record, its packed form and its
/// symbols take about as much again: a line of 177 MB with a million authors counted 401 MB and took 965 MB.
const RECORD_SHARE: u64 = 3;

/// Limits beyond which a member becomes null; `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberLimits {
    pub array_elements_max: Option<u64>,
    pub text_bytes_max: Option<u64>,
}

/// The limits for every part of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLimits {
    /// The longest line that is parsed.
    pub line_bytes_max: usize,
    /// The memory that a line and the lists of its record may take.
    pub record_bytes_max: u64,
    /// The largest uncompressed size of a part.
    pub inflated_bytes_max: u64,
    /// The binary logarithm of the largest window that a zstd frame may request.
    pub zstd_window_log_max: u32,
    /// The memory that the pages and the rows of one Parquet part may take. Belongs to the run, not to a plan.
    #[serde(skip)]
    pub part_memory_bytes: u64,
    /// Limits on single members; a member beyond a limit becomes null.
    pub members: MemberLimits,
    /// Whether a truncated compressed part yields its complete lines instead of an error.
    pub allow_truncated: bool,
    /// Whether the first lines are enough, so that little is read from disk.
    #[serde(skip)]
    pub is_look: bool,
}

/// The longest line that detection parses.
const DETECTION_LINE_BYTES_MAX: usize = 4 << 20;

impl ReadLimits {
    /// The same limits with another longest line. A longer one than the default may take a share of `memory_bytes`.
    pub fn with_lines(self, line_bytes_max: u64, memory_bytes: u64) -> ReadLimits {
        let record_bytes_max = match line_bytes_max > LINE_BYTES_MAX as u64 {
            true => RECORD_BYTES_MAX.max(memory_bytes / RECORD_SHARE),
            false => RECORD_BYTES_MAX,
        };
        let line_bytes_max = usize::try_from(line_bytes_max.min(record_bytes_max));
        ReadLimits {
            line_bytes_max: line_bytes_max.unwrap_or(usize::MAX),
            record_bytes_max,
            ..self
        }
    }

    /// The limits for detecting the kind of a part by its first lines, with smaller buffers.
    pub fn for_detection() -> ReadLimits {
        let line_bytes_max = DETECTION_LINE_BYTES_MAX;
        ReadLimits { line_bytes_max, is_look: true, ..ReadLimits::default() }
    }

    /// How much the system should read ahead.
    pub(crate) fn advice(&self) -> Advice {
        if self.is_look { Advice::Random } else { Advice::Sequential }
    }

    /// The limits that affect the contents of an object, as a part of the object's name.
    ///
    /// The other limits only reject a whole part, and then no object exists.
    pub fn fingerprint(&self) -> String {
        let MemberLimits { array_elements_max, text_bytes_max } = self.members;
        let (line, truncated) = (self.line_bytes_max, self.allow_truncated);
        let record = match self.record_bytes_max {
            RECORD_BYTES_MAX => String::new(),
            bytes => format!(" {bytes}"),
        };
        format!("{line} {array_elements_max:?} {text_bytes_max:?} {truncated}{record}")
    }
}

impl Default for ReadLimits {
    fn default() -> ReadLimits {
        ReadLimits {
            line_bytes_max: LINE_BYTES_MAX,
            record_bytes_max: RECORD_BYTES_MAX,
            inflated_bytes_max: 256 << 30,
            zstd_window_log_max: 27,
            part_memory_bytes: 512 << 20,
            members: MemberLimits::default(),
            allow_truncated: false,
            is_look: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_takes_more_memory_only_with_a_raised_line_limit() {
        let cases = [
            (16, 256, (16, 64)),
            (16, 65_536, (16, 64)),
            (1_024, 192, (64, 64)),
            (1_024, 768, (256, 256)),
            (32, 3_072, (32, 1_024)),
        ];
        for (line, memory, expected) in cases {
            let limits = ReadLimits::default().with_lines(line << 20, memory << 20);
            let found = (limits.line_bytes_max >> 20, limits.record_bytes_max >> 20);
            assert_eq!(found, expected, "{line}, {memory}");
        }
        let name = |line, memory| ReadLimits::default().with_lines(line, memory).fingerprint();
        assert_eq!(name(16 << 20, 1 << 30), name(16 << 20, 1 << 40));
        assert_ne!(name(17 << 20, 1 << 30), name(17 << 20, 1 << 40));
    }
}
