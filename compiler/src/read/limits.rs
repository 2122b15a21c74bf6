//! How parts are read: the bounds of what is taken from one, and what is forgiven.

use crate::read::lenient::MemberLimits;

/// The longest line kept, in bytes, where no option says otherwise.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// How every part of a run is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// The longest line kept, in bytes.
    pub line_bytes_max: usize,
    /// The most a part may have uncompressed, in bytes.
    pub inflated_bytes_max: u64,
    /// The binary logarithm of the largest window a zstd frame may ask for.
    pub zstd_window_log_max: u32,
    /// What members may hold.
    pub members: MemberLimits,
    /// Whether the whole lines of a compressed part that is cut short are taken.
    pub allow_truncated: bool,
}

/// The longest line looked at to know what a part is.
const RECOGNISED_LINE_BYTES_MAX: usize = 4 << 20;

impl ReadLimits {
    /// How a part is read to know what it is: what it takes is free again before any is compiled.
    pub fn for_detection() -> ReadLimits {
        ReadLimits { line_bytes_max: RECOGNISED_LINE_BYTES_MAX, ..ReadLimits::default() }
    }
}

impl Default for ReadLimits {
    fn default() -> ReadLimits {
        ReadLimits {
            line_bytes_max: LINE_BYTES_MAX,
            inflated_bytes_max: 256 << 30,
            zstd_window_log_max: 27,
            members: MemberLimits::default(),
            allow_truncated: false,
        }
    }
}

impl ReadLimits {
    /// All of it that tells what an object holds, as a part of the object's name.
    ///
    /// What only refuses a part whole is not in it: of such a part there is no object.
    pub fn fingerprint(&self) -> String {
        let MemberLimits { array_elements_max, text_bytes_max } = self.members;
        let (line, truncated) = (self.line_bytes_max, self.allow_truncated);
        format!("{line} {array_elements_max:?} {text_bytes_max:?} {truncated}")
    }
}
