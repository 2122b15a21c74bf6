//! The errors of the directory of snapshots. Programs convert them into their own.

use std::{io, path::PathBuf};

use pinakes_remote::error::RemoteError;
use pinakes_remote::escape::escape_path;

/// Why a directory of snapshots cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A host, or what it publishes, cannot be used.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A directory that other users could redirect or change.
    #[error("`{}` {reason}", escape_path(path))]
    Unsafe {
        /// Path of the directory.
        path: PathBuf,
        /// The fault, and the next step.
        reason: &'static str,
    },
    /// Another process holds the lock.
    #[error(
        "`{}` is locked by another run (pid {pid}), of the compiler or of a server with `--from`; wait for it to end, or \
         give another directory",
        escape_path(path)
    )]
    Locked {
        /// Path of the lock file.
        path: PathBuf,
        /// Process id from the lock file, or `unknown`.
        pid: String,
    },
    /// A file or directory that cannot be read.
    #[error("cannot read `{}`: {source}", escape_path(path))]
    Read {
        /// Path of the file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file or directory with content of another kind.
    #[error("`{}`: {reason}", escape_path(path))]
    Content {
        /// Path of the file or directory.
        path: PathBuf,
        /// The fault, and the expected content.
        reason: String,
    },
    /// A file or directory that cannot be written.
    #[error("cannot write `{}`: {source}", escape_path(path))]
    Write {
        /// Path of the file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A snapshot that a server could not open.
    #[error("{0}")]
    Refused(String),
}

impl StoreError {
    /// Makes a [`StoreError::Read`] for `path`.
    pub fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.into();
        move |source| StoreError::Read { path, source }
    }

    /// Makes a [`StoreError::Write`] for `path`.
    pub fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.into();
        move |source| StoreError::Write { path, source }
    }
}

/// A result with a [`StoreError`].
pub type Result<T> = std::result::Result<T, StoreError>;
