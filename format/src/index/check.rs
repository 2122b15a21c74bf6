//! Errors of full verification, which checks every byte of an index file against its format.

use crate::storage::ReadError;

/// Why a file fails verification.
#[derive(Debug)]
pub(crate) enum CheckError {
    /// The file breaks this rule of its format.
    Violation(&'static str),
    /// The file cannot be read.
    Read(ReadError),
}

impl From<ReadError> for CheckError {
    fn from(error: ReadError) -> CheckError {
        CheckError::Read(error)
    }
}

/// Fails with a violation unless a rule holds.
pub(crate) fn ensure(holds: bool, violation: &'static str) -> Result<(), CheckError> {
    if holds { Ok(()) } else { Err(CheckError::Violation(violation)) }
}

/// A hash of the link from one row to another.
pub(crate) fn hash_of_link(from: u32, to: u32) -> u64 {
    // The finaliser of SplitMix64.
    let mut hash = u64::from(from) << 32 | u64::from(to);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

/// Opens a file of fields without checking its hashes.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) fn archive(
    path: &std::path::Path,
    kind: crate::storage::header::FileKind,
) -> crate::storage::archive::Archive {
    let map = crate::storage::mmap::Map::open(&std::fs::File::open(path).unwrap()).unwrap();
    let verifier = crate::storage::integrity::Verifier::trusting("a file".into(), map.len() as u64);
    let hashes = std::sync::Arc::new(crate::storage::mmap::Map::empty());
    let entity = Some(crate::entity::Entity::Field);
    crate::storage::archive::Archive::open(
        map,
        hashes,
        verifier,
        kind,
        entity,
        crate::schema::layout::schema_hash(),
    )
    .unwrap()
}
