//! Limits on what the compiler reads from one part.

use rustix::fs::Advice;
use serde::{Deserialize, Serialize};

/// Default of the longest line that is parsed.
pub const LINE_BYTES_MAX: usize = 16 << 20;

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
        format!("{line} {array_elements_max:?} {text_bytes_max:?} {truncated}")
    }
}

impl Default for ReadLimits {
    fn default() -> ReadLimits {
        ReadLimits {
            line_bytes_max: LINE_BYTES_MAX,
            inflated_bytes_max: 256 << 30,
            zstd_window_log_max: 27,
            part_memory_bytes: 512 << 20,
            members: MemberLimits::default(),
            allow_truncated: false,
            is_look: false,
        }
    }
}
