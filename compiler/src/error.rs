//! The errors that stop a run, with their messages and exit codes.

use std::{io, path::PathBuf};

use pinakes_format::entity::Entity;
use pinakes_format::storage::ReadError;
use pinakes_remote::error::RemoteError;
use pinakes_store::error::StoreError;

use crate::terminal::escape::escape_path;

/// The path of standard output in [`Error::Output`].
pub(crate) const STANDARD_OUTPUT: &str = "standard output";

/// A row, of a snapshot or of the objects, that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}{source}", place(*entity, *row))]
pub struct Unreadable {
    /// The entity of the row; `None` if the file belongs to no entity.
    pub entity: Option<Entity>,
    /// The row; `None` if the fault concerns no single row.
    pub row: Option<u32>,
    /// The file, and the rule that its bytes break.
    pub source: ReadError,
}

impl Unreadable {
    /// Names the row of a failed read.
    pub(crate) fn at(
        entity: impl Into<Option<Entity>>,
        row: impl Into<Option<u32>>,
    ) -> impl FnOnce(ReadError) -> Unreadable {
        let (entity, row) = (entity.into(), row.into());
        move |source| Unreadable { entity, row, source }
    }
}

/// Writes `row 5 of outputs: `, as far as it is known.
fn place(entity: Option<Entity>, row: Option<u32>) -> String {
    match (entity, row) {
        (Some(entity), Some(row)) => format!("row {row} of {entity}: "),
        (Some(entity), None) => format!("{entity}: "),
        (None, _) => String::new(),
    }
}

/// Carries an unreadable row through a writer of files.
impl From<Unreadable> for io::Error {
    fn from(unreadable: Unreadable) -> io::Error {
        io::Error::other(unreadable)
    }
}

impl From<Unreadable> for Error {
    fn from(unreadable: Unreadable) -> Error {
        Error::Unreadable(unreadable)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        match error {
            StoreError::Remote(error) => error.into(),
            StoreError::Locked { path, pid } => Error::Locked { path, pid },
            StoreError::Read { path, source } => Error::input(path)(source),
            StoreError::Content { path, reason } => Error::Input { path, reason },
            StoreError::Write { path, source } => Error::output(path)(source),
            StoreError::Refused(reason) => Error::Refused(reason),
            StoreError::Unsafe { .. } => Error::Usage(error.to_string()),
        }
    }
}

impl From<RemoteError> for Error {
    fn from(error: RemoteError) -> Error {
        match error {
            RemoteError::Usage(reason) => Error::Usage(reason),
            RemoteError::Read { path, source } => Error::input(path)(source),
            RemoteError::Input { path, reason } => Error::Input { path, reason },
            RemoteError::Fetch { url, reason } => Error::Fetch { url, reason },
            RemoteError::Damaged { url, reason } => Error::Damaged { path: url.into(), reason },
            RemoteError::Untrusted { url, reason } => Error::Untrusted { url, reason },
            RemoteError::Write { path, source } => Error::output(path)(source),
        }
    }
}

/// An error that stops a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input that is missing, unreadable or of an unknown kind.
    #[error("input `{}`: {reason}", escape_path(path))]
    Input {
        /// Path of the input.
        path: PathBuf,
        /// The fault, and the expected content.
        reason: String,
    },
    /// Units of a plan whose objects are missing or damaged.
    #[error(
        "`{}` lacks the objects of {missing} of {units} units of the plan {plan}: {ranges}; run \
         `compile --plan` for these units, or copy their objects and `.unit` files there",
        escape_path(objects)
    )]
    UnitsMissing {
        /// The directory of objects.
        objects: PathBuf,
        /// The plan's hash.
        plan: String,
        /// Number of units whose objects are missing or damaged.
        missing: u64,
        /// Number of units.
        units: u32,
        /// Numbers of the units, as `0,4-6`.
        ranges: String,
    },
    /// More bad records or rows than an option allows.
    #[error(
        "{quarantined} of {read} {of} are bad, more than `{option}` allows ({allowed}); see `{}`, \
         then fix them or raise `{option}`",
        escape_path(report)
    )]
    TooManyBad {
        /// Number of bad records or rows.
        quarantined: u64,
        /// Number of records or rows read.
        read: u64,
        /// The counted things: `records`, or the rows of a table.
        of: String,
        /// The option that sets the limit.
        option: &'static str,
        /// The limit as text, such as `0.1%`.
        allowed: String,
        /// The file that lists the bad records.
        report: PathBuf,
    },
    /// The inputs of at least one entity, or all inputs, hold no record.
    #[error("the inputs hold no record{of}; check the paths, or pass `--allow-empty`")]
    Empty {
        /// ` of` and the empty entities; an empty text when no entity has records.
        of: String,
    },
    /// An entity would lose more than a fifth of its records.
    #[error(
        "{entity} would fall from {before} records to {after}, by more than a fifth; if this is \
         intended, pass `--allow-shrink`"
    )]
    Shrunk {
        /// Plural name of the entity.
        entity: &'static str,
        /// Records in the snapshot that `current` points at.
        before: u64,
        /// Records in the new snapshot.
        after: u64,
    },
    /// Members differ more from the current snapshot than their limits allow.
    #[error(
        "members differ too much from the current snapshot, {before}:{listed}\n\
         nothing was published; check the inputs or, if this is intended, pass `--allow-drift {names}`"
    )]
    Drifted {
        /// Id of the current snapshot.
        before: String,
        /// The members, each with examples, on lines of their own.
        listed: String,
        /// Names of the members, as the option takes them.
        names: String,
    },
    /// The new snapshot would show records that the current one leaves out.
    #[error(
        "the current snapshot, {before}, leaves out what this one would show: {shown}; list it in the \
         `--suppress` file, or, if this is intended, pass `--allow-unsuppress`"
    )]
    Unsuppressed {
        /// Ids, as a message names them.
        shown: String,
        /// Id of the current snapshot.
        before: String,
    },
    /// More than 1% of the topics have no parent in the taxonomy.
    #[error(
        "{refused} of {read} topics name a parent that no input contains, more than 1%; see \
         `{}`, and check that the inputs include subfields, fields and domains",
        escape_path(report)
    )]
    Orphans {
        /// Number of topics without a parent.
        refused: u64,
        /// Number of topics read.
        read: u64,
        /// The file that lists these topics.
        report: PathBuf,
    },
    /// The inputs have more records of an entity, or name more, than a snapshot holds.
    #[error(
        "the inputs hold or name more than {max} {entity}, and no snapshot holds more; {remedy}"
    )]
    TooMany {
        /// Plural name of the entity.
        entity: &'static str,
        /// The most records that a snapshot holds.
        max: u64,
        /// The advice to the user.
        remedy: &'static str,
    },
    /// No record matches the `--where` filters.
    #[error(
        "no record matches any `--where`; nothing was published. Try the filters on a server's \
         lists, or pass `--allow-empty`"
    )]
    NoneMatch,
    /// A file whose content is corrupt or cut short.
    #[error("`{}` is damaged: {reason}", escape_path(path))]
    Damaged {
        /// Path or address of the file.
        path: PathBuf,
        /// Why the file is damaged.
        reason: String,
    },
    /// A request to a host failed.
    #[error("`{url}`: {reason}")]
    Fetch {
        /// Address of the request, without a signature.
        url: String,
        /// The cause, and the next step.
        reason: String,
    },
    /// A transfer from or to a bucket failed, and another run may succeed.
    #[error("`{url}`: {reason}")]
    Transfer {
        /// Address of the file, without a signature.
        url: String,
        /// The cause, and the next step.
        reason: String,
    },
    /// A publication whose signature or age is refused.
    #[error("`{url}` is not trusted: {reason}; nothing was published")]
    Untrusted {
        /// Address of the publication.
        url: String,
        /// Why the publication is refused.
        reason: String,
    },
    /// A file or directory of the output could not be written.
    #[error("cannot write `{}`: {source}; nothing was published", escape_path(path))]
    Output {
        /// Path of the file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Another run holds the lock.
    #[error("`{}` is locked by another run (pid {pid}); wait for it to end", escape_path(path))]
    Locked {
        /// The lock file, or the locked directory.
        path: PathBuf,
        /// Process id from the lock file, or `unknown`.
        pid: String,
    },
    /// The finished snapshot failed the checks of its own reader.
    #[error("the finished snapshot failed its self-check: {0}; nothing was published")]
    SelfCheck(String),
    /// A snapshot that cannot be opened, read or published.
    #[error("{0}")]
    Refused(String),
    /// Options that are invalid or contradict each other.
    #[error("{0}")]
    Usage(String),
    /// The operating system refuses more memory or address space.
    #[error(
        "out of memory at {0}; nothing was published. Check `ulimit -v` and the machine's \
         memory; lower `--memory` or `--threads`"
    )]
    OutOfMemory(String),
    /// A record of an object whose hash is right, and whose bytes break the format.
    #[error(
        "internal error: an object contradicts itself: {0}; remove the objects and build again; \
         please report it"
    )]
    BrokenObject(#[source] Unreadable),
    /// The snapshot that this run writes cannot be read back.
    #[error("internal error: the new snapshot cannot be read back: {0}; please report it")]
    Unreadable(#[source] Unreadable),
    /// A broken invariant of this program.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}

impl Error {
    /// Returns the process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Internal(_)
            | Error::BrokenObject(_)
            | Error::Unreadable(_)
            | Error::OutOfMemory(_) => 1,
            Error::Usage(_) => 2,
            Error::Input { .. } | Error::UnitsMissing { .. } | Error::Fetch { .. } => 3,
            Error::TooManyBad { .. }
            | Error::Empty { .. }
            | Error::NoneMatch
            | Error::Unsuppressed { .. }
            | Error::Shrunk { .. }
            | Error::TooMany { .. }
            | Error::Orphans { .. } => 4,
            Error::Damaged { .. } => 5,
            Error::Output { .. } | Error::Transfer { .. } => 6,
            Error::Locked { .. } => 7,
            Error::SelfCheck(_) | Error::Refused(_) => 8,
            Error::Untrusted { .. } => 9,
            Error::Drifted { .. } => 10,
        }
    }

    /// Whether the reader of standard output has left, such as `head`: it has all that it wanted.
    pub fn is_closed_pipe(&self) -> bool {
        let Error::Output { path, source } = self else { return false };
        path.as_os_str() == STANDARD_OUTPUT && source.kind() == io::ErrorKind::BrokenPipe
    }

    /// Returns the message without "nothing was published", for an error after publishing, or of a command that does not
    /// publish.
    pub fn message_without_publishing(&self) -> String {
        self.to_string().replacen("; nothing was published", "", 1)
    }

    /// Makes an [`Error::Output`] for `path`, or an [`Error::OutOfMemory`].
    pub fn output(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::OutOfMemory => Error::OutOfMemory(escape_path(&path)),
            _ => Error::Output { path, source },
        }
    }

    /// Makes an [`Error::Input`] for `path`, or an [`Error::OutOfMemory`].
    pub fn input(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::OutOfMemory => Error::OutOfMemory(escape_path(&path)),
            _ => Error::Input { path, reason: source.to_string() },
        }
    }

    /// Makes an [`Error::SelfCheck`] from a reader's error, or an [`Error::OutOfMemory`].
    pub fn self_check(refused: impl std::error::Error + 'static) -> Error {
        match is_for_memory(&refused) {
            true => Error::OutOfMemory(refused.to_string()),
            false => Error::SelfCheck(refused.to_string()),
        }
    }
}

/// Whether `error` or one of its sources is an out-of-memory error.
fn is_for_memory(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::OutOfMemory)
}

/// A result with this module's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
