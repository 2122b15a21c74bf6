//! Why a snapshot is refused when it is opened or verified.

use std::io;
use std::path::{Path, PathBuf};

use crate::storage::{ArchiveError, ManifestError, ReadError};

/// Why a snapshot was refused.
#[derive(Debug, thiserror::Error)]
#[error("snapshot `{}`: `{file}`: {cause}", path.display())]
pub struct OpenError {
    /// The snapshot's directory.
    pub path: PathBuf,
    /// The file at fault, by the manifest's path.
    pub file: String,
    /// The file's fault.
    #[source]
    pub cause: Cause,
}

impl OpenError {
    pub(super) fn new(path: &Path, file: &str, cause: impl Into<Cause>) -> OpenError {
        OpenError { path: path.to_path_buf(), file: file.to_string(), cause: cause.into() }
    }
}

/// The fault of a file.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The system refused to read the file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is a directory, a pipe or a device.
    #[error("is no regular file; restore the snapshot or rebuild it")]
    NotAFile,
    /// The file is larger or smaller than the manifest says.
    #[error(
        "{found} bytes, expected {expected} by the manifest; restore the snapshot or rebuild it"
    )]
    Size {
        /// The size in the manifest, in bytes.
        expected: u64,
        /// The size of the file, in bytes.
        found: u64,
    },
    /// The file's hash differs from the manifest's.
    #[error(
        "hash {found}, expected {expected} by the manifest; restore the snapshot or rebuild it"
    )]
    Hash {
        /// The hash in the manifest.
        expected: String,
        /// The hash of the file's bytes.
        found: String,
    },
    /// Chunks of the snapshot may be absent.
    #[error(
        "marks a snapshot of which a mirror has only the parts that were asked for; serve it with `--from`, or fetch \
             the rest with `pull`"
    )]
    Partial,
    /// Another process holds the exclusive lock to remove the snapshot.
    #[error("the snapshot is being removed (`build --keep`); open another")]
    Removed,
    /// The manifest was refused.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The manifest lists a file that no snapshot has.
    #[error("is listed by the manifest where a snapshot has no such file; rebuild the snapshot")]
    Unexpected,
    /// The manifest lacks a file that every snapshot has.
    #[error("is not listed by the manifest; rebuild the snapshot")]
    Unlisted,
    /// The manifest lists an archive without the counts of its header.
    #[error("is listed by the manifest without its counts; rebuild the snapshot")]
    Uncounted,
    /// The archive's header or length is wrong.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Two files state different counts.
    #[error("{found} {what}, expected {expected}; rebuild the snapshot")]
    Contradiction {
        /// The counted things, in the plural.
        what: &'static str,
        /// The count in the manifest.
        expected: u64,
        /// The count in this file.
        found: u64,
    },
    /// A term list, an order or a dictionary breaks a rule of the format.
    #[error("`{of}`: {broken}; rebuild the snapshot")]
    Promise {
        /// The path of the list or order in the file.
        of: String,
        /// The rule that the file breaks.
        broken: &'static str,
    },
    /// A record, an offset or a number in the file is corrupt.
    #[error("{0}")]
    Content(#[from] ReadError),
}
