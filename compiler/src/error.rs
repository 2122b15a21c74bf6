//! What can stop a run, and the exit code each cause has.

use std::{io, path::PathBuf};

use crate::terminal::escape::shown;

/// Why a run ended without publishing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input that is not there, cannot be read, or is nothing the compiler knows.
    #[error("input `{}`: {reason}", shown(path))]
    Input {
        /// The input.
        path: PathBuf,
        /// What is wrong with it, and what was expected.
        reason: String,
    },
    /// More bad records than the budget allows.
    #[error(
        "{quarantined} of {read} records are bad, more than `--max-bad` allows ({allowed}); see \
         `{}`, mend the dump or raise the budget",
        shown(report)
    )]
    TooManyBad {
        /// Records set aside.
        quarantined: u64,
        /// Records read.
        read: u64,
        /// The budget, in words.
        allowed: String,
        /// Where each is listed.
        report: PathBuf,
    },
    /// No record at all in the inputs, or in all of those of an entity.
    #[error("the inputs hold no record{of}; check the paths, or allow it with `--allow-empty`")]
    Empty {
        /// ` of` and the entities, where others have records.
        of: String,
    },
    /// Far fewer records than in the snapshot before.
    #[error(
        "{entity} would fall from {before} records to {after}, by more than a fifth; if that is \
         right, allow it with `--allow-shrink`"
    )]
    Shrunk {
        /// The entity.
        entity: &'static str,
        /// Records published in the snapshot that `current` leads to.
        before: u64,
        /// Records there would be.
        after: u64,
    },
    /// More topics than 1% without a place in the taxonomy.
    #[error(
        "{refused} of {read} topics name a parent that no source names, more than 1%; see \
         `{}`, and whether subfields, fields and domains are among the inputs",
        shown(report)
    )]
    Orphans {
        /// Topics set aside.
        refused: u64,
        /// Topics read.
        read: u64,
        /// Where each is listed.
        report: PathBuf,
    },
    /// No record that was asked for.
    #[error(
        "no record matches any `--where`; nothing was published. Try the filters on a snapshot's lists, \
         or allow it with `build --allow-empty`"
    )]
    NoneMatch,
    /// A compressed file or a manifest that does not add up.
    #[error("`{}` is damaged: {reason}", shown(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A host did not give what was asked of it.
    #[error("`{url}`: {reason}")]
    Fetch {
        /// What was asked for.
        url: String,
        /// What came of it.
        reason: String,
    },
    /// What a host publishes is not signed as it must be, or not as new.
    #[error("`{url}` is not trusted: {reason}; nothing was published")]
    Untrusted {
        /// What was fetched.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Writing failed.
    #[error("cannot write `{}`: {source}; nothing was published", shown(path))]
    Output {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another linker holds the lock.
    #[error("`{}` is locked by another run (pid {pid}); wait for it to end", shown(path))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The process that holds it, as it wrote itself.
        pid: String,
    },
    /// The finished snapshot did not pass its own reader.
    #[error("the finished snapshot failed its self-check: {0}; nothing was published")]
    SelfCheck(String),
    /// A snapshot given to be read was refused.
    #[error("{0}")]
    Refused(String),
    /// Options that contradict one another or make no sense.
    #[error("{0}")]
    Usage(String),
    /// The system has no more memory, or address space, to give.
    #[error(
        "out of memory at {0}; nothing was published. See `ulimit -v` and the memory of the \
         machine; `--memory` and `--threads` bound what a run takes"
    )]
    OutOfMemory(String),
    /// A promise this program makes to itself does not hold.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}

impl Error {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Internal(_) | Error::OutOfMemory(_) => 1,
            Error::Usage(_) => 2,
            Error::Input { .. } | Error::Fetch { .. } => 3,
            Error::TooManyBad { .. }
            | Error::Empty { .. }
            | Error::NoneMatch
            | Error::Shrunk { .. }
            | Error::Orphans { .. } => 4,
            Error::Damaged { .. } => 5,
            Error::Output { .. } => 6,
            Error::Locked { .. } => 7,
            Error::SelfCheck(_) | Error::Refused(_) => 8,
            Error::Untrusted { .. } => 9,
        }
    }

    /// What it says, without what that means for a run: where it came too late to stop one.
    pub fn without_consequence(&self) -> String {
        match self {
            Error::Output { path, source } => format!("cannot write `{}`: {source}", shown(path)),
            other => other.to_string(),
        }
    }

    /// An [`Error::Output`] at `path`.
    pub fn output(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::OutOfMemory => Error::OutOfMemory(shown(&path)),
            _ => Error::Output { path, source },
        }
    }

    /// An [`Error::Input`] at `path` with what the system said.
    pub fn input(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::OutOfMemory => Error::OutOfMemory(shown(&path)),
            _ => Error::Input { path, reason: source.to_string() },
        }
    }

    /// An [`Error::SelfCheck`] with what a reader said of what was just written.
    pub fn self_check(refused: impl std::error::Error + 'static) -> Error {
        match is_for_memory(&refused) {
            true => Error::OutOfMemory(refused.to_string()),
            false => Error::SelfCheck(refused.to_string()),
        }
    }
}

/// Whether `error`, or what caused it, is that the system has no memory to give.
fn is_for_memory(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::OutOfMemory)
}

/// The result of a step of a run.
pub type Result<T> = std::result::Result<T, Error>;
