//! Why a snapshot cannot be read: damaged bytes, a changed file, or contents that make no sense.

/// A chunk whose bytes do not have the hash of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{file}` is damaged: chunk {chunk} (bytes {from} to {to}) does not have the hash the manifest \
     promises; restore the snapshot or rebuild it"
)]
pub struct Damage {
    /// The file, by the manifest's path.
    pub file: String,
    /// The chunk's number, from 0.
    pub chunk: u64,
    /// The offset of the chunk's first byte.
    pub from: u64,
    /// The offset after the chunk's last byte.
    pub to: u64,
}

/// A file that changed, or became unreadable, after it was opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// The system could not read a mapped page.
    #[error(
        "`{file}` cannot be read at byte {at} any more: it was cut, or its disk fails; restore the \
         snapshot or rebuild it"
    )]
    Unreadable {
        /// The file, by the manifest's path.
        file: String,
        /// The offset of the unreadable byte.
        at: u64,
    },
    /// The file was cut or extended.
    #[error(
        "`{file}` has {found} bytes and had {expected} when it was opened; restore the snapshot or \
         rebuild it"
    )]
    Resized {
        /// The file, by the manifest's path.
        file: String,
        /// The size at opening, in bytes.
        expected: u64,
        /// The size now, in bytes.
        found: u64,
    },
    /// The file was removed, or replaced by another.
    #[error(
        "`{file}` was removed or replaced while it was open; restore the snapshot or rebuild it"
    )]
    Replaced {
        /// The file, by the manifest's path.
        file: String,
    },
}

impl FileFault {
    /// The file, by the manifest's path.
    pub fn file(&self) -> &str {
        let (FileFault::Unreadable { file, .. }
        | FileFault::Resized { file, .. }
        | FileFault::Replaced { file }) = self;
        file
    }
}

/// Why something could not be read from a snapshot. No request of a client causes any of these.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A chunk does not have its hash.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// A file changed after it was opened.
    #[error(transparent)]
    Fault(#[from] FileFault),
    /// Bytes have the right hash and make no sense: the program that wrote them was at fault.
    #[error("`{file}` is corrupt: {what}; rebuild the snapshot")]
    Corrupt {
        /// The file's name without its entity's directory, or the structure within the file.
        file: &'static str,
        /// The rule that the bytes break.
        what: &'static str,
    },
    /// A row lies beyond the end of its table.
    #[error("row {row} of `{table}` is beyond its {rows} rows; rebuild the snapshot")]
    Row {
        /// The file's name.
        table: &'static str,
        /// The row that was read, from 0.
        row: u64,
        /// The number of rows in the table.
        rows: u64,
    },
    /// Bytes that a mirror can send are not on the disk, or are damaged there.
    #[error(
        "`{file}` is not here as a whole, and the bytes that were read are not; fetch them from the mirror"
    )]
    Absent {
        /// The file, by the manifest's path.
        file: String,
    },
    /// The bytes are not in memory, and the handle of the snapshot reads from memory alone.
    #[error("internal error: a read that must not wait for the disk would have; report it")]
    WouldWait,
    /// This program contradicts itself: the snapshot is not at fault.
    #[error("internal error: {0}; report it, and restart the program")]
    Internal(&'static str),
}

impl ReadError {
    /// The error for a corrupt `file`; `what` names the broken rule.
    #[inline]
    pub const fn corrupt(file: &'static str, what: &'static str) -> ReadError {
        ReadError::Corrupt { file, what }
    }
}
