//! How the bytes of a file are loaded, and how the file changed since.

/// How the bytes of a file are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadMode {
    /// Maps the file for a reader of all of it; the system reads ahead.
    Scanned,
    /// Maps the file for a reader of single rows; the system reads only the pages that are asked for.
    /// Keeps a file descriptor.
    Mapped,
    /// As [`LoadMode::Mapped`], for a file with holes that this process fills: [`Map::read`](crate::storage::mmap::Map::read) reads the file rather than
    /// the mapping.
    Sparse,
    /// Copies the file into memory, and locks the copy there if the system permits. A later change
    /// of the file has no effect. (Locking a mapping would not help: its pages vanish with the end
    /// of a cut file.)
    Pinned,
}

/// How a mapped file changed since the last check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// No change was detected.
    None,
    /// The file was written to, or touched, by another process.
    Written,
    /// The file was removed, or replaced by another. The mapping is whole.
    Replaced,
    /// The file was cut or extended.
    Resized {
        /// The mapped size, in bytes.
        expected: u64,
        /// The size now, in bytes.
        found: u64,
    },
}
