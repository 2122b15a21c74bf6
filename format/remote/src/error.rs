//! The errors of requests and of checks of publications. Programs convert them into their own.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::escape::escape_path;

/// Why a host, a publication or a local file of this crate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// An address that is invalid.
    #[error("{0}")]
    Usage(String),
    /// A local file that cannot be read.
    #[error("input `{}`: {source}", escape_path(path))]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A local file with content of another kind.
    #[error("input `{}`: {reason}", escape_path(path))]
    Input {
        /// Path of the file.
        path: PathBuf,
        /// The fault, and the expected content.
        reason: String,
    },
    /// A request that the host refuses or does not answer.
    #[error("`{url}`: {reason}")]
    Fetch {
        /// Address of the request, without a signature.
        url: String,
        /// The cause, and the next step.
        reason: String,
    },
    /// The host sends other bytes than the published ones.
    #[error("`{url}` is damaged: {reason}")]
    Damaged {
        /// Address of the file, without a signature.
        url: String,
        /// How the bytes differ.
        reason: String,
    },
    /// A publication whose signature or age is refused.
    #[error("`{url}` is not trusted: {reason}")]
    Untrusted {
        /// Address of the publication.
        url: String,
        /// Why the publication is refused.
        reason: String,
    },
    /// Received bytes could not be written.
    #[error("cannot write `{}`: {source}", escape_path(path))]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl RemoteError {
    /// Makes a [`RemoteError::Read`] for `path`.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> RemoteError {
        move |source| RemoteError::Read { path: path.to_owned(), source }
    }
}

/// A result with a [`RemoteError`].
pub type Result<T> = std::result::Result<T, RemoteError>;
