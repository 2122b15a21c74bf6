//! What verifying whole files keeps: the rows seen so far, and what was found broken.

use crate::index::postings::{Bits, CHUNK_ROWS, NO_BITS};
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

/// Rows of an entity, a bit each.
pub(crate) struct RowSet {
    chunks: Vec<Bits>,
}

impl RowSet {
    /// No row of so many.
    pub fn new(rows: u32) -> RowSet {
        RowSet { chunks: vec![NO_BITS; (rows as usize).div_ceil(CHUNK_ROWS)] }
    }

    /// Takes all rows out.
    pub fn clear(&mut self) {
        self.chunks.fill(NO_BITS);
    }

    /// Adds a row that is below their number; whether it was not there.
    pub fn insert(&mut self, row: u32) -> bool {
        let low = row as usize % CHUNK_ROWS;
        let word = &mut self.chunks[row as usize / CHUNK_ROWS][low / 64];
        let is_new = *word & (1 << (low % 64)) == 0;
        *word |= 1 << (low % 64);
        is_new
    }

    /// Takes a row out that is below their number.
    pub fn remove(&mut self, row: u32) {
        let low = row as usize % CHUNK_ROWS;
        self.chunks[row as usize / CHUNK_ROWS][low / 64] &= !(1 << (low % 64));
    }

    /// The rows of a chunk.
    pub fn chunk(&self, chunk: usize) -> &Bits {
        &self.chunks[chunk]
    }

    /// Whether all of them are among others of as many.
    pub fn is_within(&self, others: &RowSet) -> bool {
        let (own, others) = (self.chunks.as_flattened(), others.chunks.as_flattened());
        own.iter().zip(others).all(|(own, others)| own & !others == 0)
    }
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
