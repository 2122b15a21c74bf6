//! What verifying whole files keeps: the rows seen so far, and what was found broken.

use crate::storage::error::ReadError;

/// Why a file is not what it promises to be.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A promise is not kept.
    Broken(&'static str),
    /// What it is made of cannot be read.
    Content(ReadError),
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Fault {
        Fault::Content(error)
    }
}

/// Demands that a promise is kept.
pub(crate) fn demand(is_kept: bool, broken: &'static str) -> Result<(), Fault> {
    if is_kept { Ok(()) } else { Err(Fault::Broken(broken)) }
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
    crate::storage::archive::Archive::open(map, hashes, verifier, kind, entity).unwrap()
}
