//! Verifies the chunks of a snapshot that differ from those of a snapshot verified before.
//!
//! ```text
//! chunk of `orders`        0     1     2     3
//! hash in the earlier      a     b     c
//! hash in this one         a     x     c     y        reads chunks 1 and 3
//! ```
//!
//! Cost: reads both `hashes` files, 1/128 of a snapshot each, and the chunks that differ. Does not read a record: the rules
//! of the format are left to [`Snapshot::verify`].

use std::os::unix::fs::FileExt;

use blake3::Hash;

use crate::snapshot::Snapshot;
use crate::snapshot::error::{Cause, OpenError};
use crate::snapshot::files::open_regular;
use crate::snapshot::open::check_hash;
use crate::snapshot::verify::hash_file;
use crate::storage::integrity::{HASHES, chunk_count, chunk_range};
use crate::storage::{FileEntry, ReadError, Verifier};

/// The chunks of a snapshot, by what [`Snapshot::verify_since`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifiedChunks {
    /// Read, and compared with their hashes.
    pub read: u64,
    /// Not read, because the earlier snapshot has chunks with the same hashes at the same places.
    pub skipped: u64,
}

impl Snapshot {
    /// Reads the chunks that differ from those at the same places in `earlier`, and checks their hashes.
    ///
    /// # Errors
    ///
    /// Names the first file that is damaged.
    pub fn verify_since(&self, earlier: &Snapshot) -> Result<VerifiedChunks, OpenError> {
        self.verify_hashes()?;
        earlier.verify_hashes()?;
        let mut chunks = VerifiedChunks::default();
        for entry in self.manifest().files.iter().filter(|entry| entry.path != HASHES) {
            let found = self.verify_file_since(entry, earlier);
            let VerifiedChunks { read, skipped } = found?;
            chunks.read += read;
            chunks.skipped += skipped;
        }
        self.check_readable()?;
        Ok(chunks)
    }

    /// Checks the file of hash trees against the manifest.
    fn verify_hashes(&self) -> Result<(), OpenError> {
        let of_hashes = self.manifest().files.iter().filter(|entry| entry.path == HASHES);
        for entry in of_hashes {
            let in_file = |cause| OpenError::new(self.path(), HASHES, cause);
            let file = open_regular(&self.path().join(HASHES)).map_err(in_file)?;
            let found = hash_file(file).map_err(|error| in_file(error.into()))?;
            check_hash(entry, found).map_err(in_file)?;
        }
        Ok(())
    }

    fn verify_file_since(
        &self,
        entry: &FileEntry,
        earlier: &Snapshot,
    ) -> Result<VerifiedChunks, OpenError> {
        let in_file = |cause| OpenError::new(self.path(), &entry.path, cause);
        let file = open_regular(&self.path().join(&entry.path)).map_err(in_file)?;
        let same = earlier.manifest().files.iter().find(|other| other.path == entry.path);
        let known = same.and_then(|other| earlier.tree_of(other));
        let tree = self.tree_of(entry).ok_or_else(|| in_file(Cause::Unlisted))?;
        let size_bytes = entry.size_bytes as usize;
        let [hashes, known_hashes] = [self, earlier].map(|of| &*of.mapped.opened.hashes);
        let mut chunks = VerifiedChunks::default();
        let mut bytes = Vec::new();
        for chunk in 0..chunk_count(entry.size_bytes) as usize {
            let promised = tree.promised(hashes, chunk);
            let before = known.as_ref().and_then(|known| known.promised(known_hashes, chunk));
            // A hash that a tree lacks equals no other hash, so the chunk is read.
            if promised.is_some() && promised == before {
                chunks.skipped += 1;
                continue;
            }
            let range = chunk_range(chunk, size_bytes);
            bytes.resize(range.len(), 0);
            file.read_exact_at(&mut bytes, range.start as u64)
                .map_err(|error| in_file(error.into()))?;
            let checked = tree.check_chunk(hashes, chunk, &bytes);
            checked.map_err(|damage| in_file(ReadError::from(damage).into()))?;
            chunks.read += 1;
        }
        Ok(chunks)
    }

    /// The hash tree of a file.
    fn tree_of(&self, entry: &FileEntry) -> Option<Verifier> {
        let root = Hash::from_hex(&entry.blake3).ok()?;
        let (begins, _) = self.manifest().levels_from()?;
        let from = begins.get(entry.path.as_str())?;
        Some(Verifier::new(entry.path.clone(), entry.size_bytes, root, *from))
    }
}
