//! Bodies that are made in pieces: pages of more than a MiB, and streams of whole lists.

use std::{fmt, io};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

use crate::reply::coding::Coding;

/// A body that is made in pieces.
pub trait PieceSource: Send {
    /// Chooses the coding, before the first piece.
    ///
    /// # Errors
    ///
    /// The encoder failed, which none does while there is memory.
    fn begin(&mut self, coding: Coding) -> io::Result<()>;

    /// The most bytes that a stream of a whole list holds between two pieces; `None` for a page, whose
    /// pieces together have the time of one reply.
    fn list_bytes(&self) -> Option<usize>;

    /// About the bytes of the next piece. Reads no record.
    fn next_bytes(&self, snapshot: &Snapshot) -> usize;

    /// Makes the next piece, possibly empty; `None` at the end.
    fn next_piece(&mut self, snapshot: &Snapshot) -> Option<Result<Bytes, PieceError>>;
}

/// Why a body in pieces ends before its end.
#[derive(Debug, thiserror::Error)]
pub enum PieceError {
    /// The snapshot is damaged.
    #[error(transparent)]
    Damaged(#[from] ReadError),
    /// Another request found the snapshot damaged.
    #[error("the snapshot proved damaged")]
    Poisoned,
    /// Finding the next records reached --list-timeout or --list-cpu.
    #[error("finding the next records reached --list-timeout or --list-cpu")]
    Deadline,
}

/// Facts of a stream of a whole list, for the limits and the headers.
#[derive(Clone, Debug)]
pub struct ListStream {
    /// Records of the list.
    pub records: u64,
    /// How many records each of them counts as.
    pub weight: u64,
    /// Media type.
    pub media_type: &'static str,
    /// The name under which browsers save the stream; `None` for a body that programs read.
    pub file_name: Option<Box<str>>,
}

impl ListStream {
    /// Adds the media type and the name of the stream.
    pub fn write_headers(&self, headers: &mut HeaderMap) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        let Some(name) = &self.file_name else { return };
        // Always valid: an identifier, and the names of a route and of a format.
        let disposition = format!("attachment; filename=\"{name}\"");
        if let Ok(disposition) = HeaderValue::try_from(disposition) {
            headers.insert(header::CONTENT_DISPOSITION, disposition);
        }
    }
}

impl fmt::Debug for dyn PieceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PieceSource").finish_non_exhaustive()
    }
}
