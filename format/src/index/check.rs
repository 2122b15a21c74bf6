//! Errors of full verification, which checks every byte of an index file against its format.

use crate::storage::error::ReadError;

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
