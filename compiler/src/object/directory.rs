//! The directory at the end of an object's file.
//!
//! ```text
//! … | directory (JSON) | directory_from u64 | version u64 | BLAKE3 of all bytes before, 32 bytes
//! ```

use std::{fs::File, path::Path};

use pinakes_format::storage::mmap::Map;
use serde::{Deserialize, Serialize};

use crate::object::deletions::{DeletionBlock, DeletionShape};
use crate::object::part_report::{Merge, PartReport};
use crate::object::segment::{Segment, SegmentShape};
use crate::object::side::{SideSegment, SideShape};

/// Increase this number if the bytes of an object or their meaning change. Parts with an object of
/// another version are compiled again.
pub const OBJECT_VERSION: u64 = 12;
const FOOTER_BYTES: usize = 48;
const HASH_BYTES: usize = 32;

/// The positions of an object's segments, and the report of its part.
#[derive(PartialEq, Serialize, Deserialize)]
pub(crate) struct Directory {
    /// The BLAKE3 hash of the part, in hex.
    pub part: String,
    pub segments: Vec<SegmentShape>,
    pub sides: Vec<SideShape>,
    pub merges: Vec<Merge>,
    pub deletions: Vec<DeletionShape>,
    pub report: PartReport,
}

impl Directory {
    /// Checks the hash of a whole object and reads its directory; `None` if the hash differs or the
    /// version is another one.
    pub fn read_verified(object: &[u8]) -> Option<Directory> {
        let (hashed, hash) = object.split_at_checked(object.len().checked_sub(HASH_BYTES)?)?;
        let footer_from = hashed.len().checked_sub(FOOTER_BYTES - HASH_BYTES)?;
        let (body, footer) = hashed.split_at_checked(footer_from)?;
        let (from, version) = footer.split_first_chunk::<8>()?;
        if *version != OBJECT_VERSION.to_le_bytes() || blake3::hash(hashed) != *hash {
            return None;
        }
        let from = usize::try_from(u64::from_le_bytes(*from)).ok()?;
        serde_json::from_slice(body.get(from..)?).ok()
    }

    /// Whether the object has every segment that the directory lists.
    pub fn is_complete(&self, object: &[u8]) -> bool {
        self.segments.iter().all(|shape| Segment::read(object, shape).is_some())
            && self.sides.iter().all(|shape| SideSegment::read(object, shape).is_some())
            && self.deletions.iter().all(|shape| DeletionBlock::read(object, shape).is_some())
    }
}

/// Reads the BLAKE3 hash, in hex, of the part that an object was compiled from. Does not verify the
/// object. `None` if the object cannot be read or is of another version.
pub fn part_of(path: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct PartHash {
        part: String,
    }
    let map = Map::open(&File::open(path).ok()?).ok()?;
    let (body, footer) = map.split_at_checked(map.len().checked_sub(FOOTER_BYTES)?)?;
    let (from, version) = footer.split_first_chunk::<8>()?;
    let from = usize::try_from(u64::from_le_bytes(*from)).ok()?;
    let directory = body.get(from..).filter(|_| version.starts_with(&OBJECT_VERSION.to_le_bytes()));
    serde_json::from_slice::<PartHash>(directory?).ok().map(|directory| directory.part)
}
