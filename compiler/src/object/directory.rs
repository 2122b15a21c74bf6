//! The directory at the end of an object's file.
//!
//! ```text
//! … | directory (JSON) | directory_from u64 | version u64 | BLAKE3 of these three, 32 bytes
//!   | BLAKE3 of all bytes before, 32 bytes
//! ```
//!
//! The first hash serves runs that need an object's report, but not its records.

use std::{fs::File, path::Path};

use pinakes_format::storage::mmap::Map;
use serde::{Deserialize, Serialize};

use crate::object::id_blocks::{Deletion, IdBlock, IdBlockShape, Merge};
use crate::object::part_report::PartReport;
use crate::object::read_ahead::ReadAhead;
use crate::object::segment::{Segment, SegmentShape};
use crate::object::side::{SideSegment, SideShape};

/// Increase this number if the bytes of an object or their meaning change. Parts with an object of
/// another version are compiled again.
pub const OBJECT_VERSION: u64 = 19;
const HASH_BYTES: usize = 32;
/// The hash of a whole object: equal hashes mean equal objects.
pub(crate) type ObjectHash = [u8; HASH_BYTES];

/// The positions of an object's segments, and the report of its part.
#[derive(PartialEq, Serialize, Deserialize)]
pub(crate) struct Directory {
    /// The BLAKE3 hash of the part, in hex.
    pub part: String,
    pub segments: Vec<SegmentShape>,
    pub sides: Vec<SideShape>,
    pub merges: Vec<IdBlockShape>,
    pub deletions: Vec<IdBlockShape>,
    pub report: PartReport,
}

impl Directory {
    /// Reads the directory of an object and the object's hash; `None` if the directory's hash differs or the version
    /// is another one. Does not check the object's hash.
    pub fn read(object: &[u8]) -> Option<(Directory, ObjectHash)> {
        let (hashed, hash) = object.split_last_chunk()?;
        Some((serde_json::from_slice(directory_text(hashed)?).ok()?, *hash))
    }

    /// Like [`Directory::read`], but checks the object's hash too.
    pub fn read_verified(object: &[u8]) -> Option<(Directory, ObjectHash)> {
        is_intact(object).then(|| Directory::read(object)).flatten()
    }

    /// Whether the object has every segment that the directory lists.
    pub fn is_complete(&self, object: &[u8]) -> bool {
        self.segments
            .iter()
            .all(|shape| Segment::read(object, ReadAhead::new(None), shape).is_some())
            && self.sides.iter().all(|shape| SideSegment::read(object, shape).is_some())
            && self.merges.iter().all(|shape| IdBlock::<Merge>::read(object, shape).is_some())
            && self.deletions.iter().all(|shape| IdBlock::<Deletion>::read(object, shape).is_some())
    }
}

/// Checks the hash of a whole object.
pub(crate) fn is_intact(object: &[u8]) -> bool {
    object
        .split_last_chunk::<HASH_BYTES>()
        .is_some_and(|(hashed, hash)| blake3::hash(hashed) == *hash)
}

/// Returns the text of the directory from the bytes before an object's hash. `None` if the version is not that of
/// this program or the hash of the directory differs.
fn directory_text(hashed: &[u8]) -> Option<&[u8]> {
    let (before_hash, hash) = hashed.split_last_chunk::<HASH_BYTES>()?;
    let (before_version, version) = before_hash.split_last_chunk::<8>()?;
    let (before_from, from) = before_version.split_last_chunk::<8>()?;
    let from = usize::try_from(u64::from_le_bytes(*from)).ok()?;
    let is_right =
        *version == OBJECT_VERSION.to_le_bytes() && blake3::hash(before_hash.get(from..)?) == *hash;
    before_from.get(from..).filter(|_| is_right)
}

/// Reads the BLAKE3 hash, in hex, of the part that an object was compiled from. Does not verify the
/// object. `None` if the object cannot be read or is of another version.
pub fn part_of(path: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct PartHash {
        part: String,
    }
    let map = Map::open(&File::open(path).ok()?).ok()?;
    let (hashed, _) = map.split_last_chunk::<HASH_BYTES>()?;
    serde_json::from_slice::<PartHash>(directory_text(hashed)?).ok().map(|directory| directory.part)
}
