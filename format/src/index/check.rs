//! What verifying whole files keeps: the rows seen so far, and what was found broken.

use crate::storage::error::ReadError;

/// Why a file is not what it promises to be.
#[derive(Debug)]
pub(crate) enum CheckError {
    /// A promise is not kept.
    Violation(&'static str),
    /// What it is made of cannot be read.
    Read(ReadError),
}

impl From<ReadError> for CheckError {
    fn from(error: ReadError) -> CheckError {
        CheckError::Read(error)
    }
}

/// Demands that a promise is kept.
pub(crate) fn ensure(is_kept: bool, broken: &'static str) -> Result<(), CheckError> {
    if is_kept { Ok(()) } else { Err(CheckError::Violation(broken)) }
}

/// An archive of fields that is trusted as it is.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) fn archive(
    path: &std::path::Path,
    kind: crate::storage::header::Kind,
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
