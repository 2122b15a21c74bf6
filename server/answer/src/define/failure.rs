//! The end of work: a reply, or why there is none.

use std::sync::Arc;

use pinakes_format::query::QueryError;
use pinakes_format::snapshot::MayBeAbsent;
use pinakes_format::storage::ReadError;

use crate::define::served::ServedSnapshot;
use crate::reply::pieces::PieceError;
use crate::reply::{Detail, Reply};

/// A reply, or why there is none.
pub type Answer = Result<Reply, Failure>;

/// Why work ends without its reply.
pub enum Failure {
    /// The work is too long for a shared thread, or reads what is not in memory.
    WouldWait,
    /// The work reached --list-timeout or --list-cpu; on a shared thread, the thread's own limit.
    Deadline,
    /// Chunks are not on this disk, which a mirror can send.
    Absent,
    /// The snapshot of the call is damaged.
    Damaged(ReadError),
    /// Another snapshot that the request names is damaged.
    OtherDamaged(Arc<ServedSnapshot>, ReadError),
    /// The query would exceed a limit, or proved invalid.
    Refused(Box<Reply>),
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        match error {
            ReadError::WouldWait => Failure::WouldWait,
            ReadError::Absent { .. } => Failure::Absent,
            error => Failure::Damaged(error),
        }
    }
}

impl From<PieceError> for Failure {
    fn from(error: PieceError) -> Failure {
        match error {
            PieceError::Damaged(error) => error.into(),
            PieceError::Deadline => Failure::Deadline,
            PieceError::Poisoned => Failure::Refused(Box::new(Reply::unavailable())),
        }
    }
}

impl MayBeAbsent for Failure {
    fn is_absent(&self) -> bool {
        matches!(self, Failure::Absent)
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Failure {
        match error {
            QueryError::Damaged(error) => error.into(),
            QueryError::Deadline => Failure::Deadline,
            QueryError::Refused { parameter, error } => {
                let detail = Detail::new(parameter, &error.text, error.reason);
                Failure::Refused(Box::new(Reply::bad_query(vec![detail])))
            }
        }
    }
}
