//! Bodies that are made in pieces: pages of more than a MiB, and streams of whole lists.

use std::{fmt, io, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::clock::{HostClock, WorkClock};
use crate::reply::coding::Coding;
use crate::reply::coding::stream::StreamEncoder;

/// Text of a piece, which one record may exceed.
pub const PIECE_BYTES: usize = 256 << 10;
/// Processor time of a piece, which one record may exceed.
const PIECE_TIME: Duration = Duration::from_millis(100);

/// A text that is made in pieces.
pub trait PieceSource: Send {
    /// The most bytes that the source holds between two pieces.
    fn held_bytes(&self) -> usize;

    /// The text has at least this many bytes.
    fn text_bytes_min(&self) -> usize {
        PIECE_BYTES
    }

    /// About the bytes of the next piece. Reads no record.
    fn next_bytes(&self, _: &Snapshot) -> usize {
        PIECE_BYTES
    }

    /// Appends the next piece, possibly empty, to `out`.
    ///
    /// If chunks are absent, `out` has the whole records before the first that lacks one, and the next call goes on after
    /// them.
    fn next_piece(
        &mut self,
        snapshot: &Snapshot,
        budget: &PieceBudget,
        out: &mut Vec<u8>,
    ) -> Result<(), PieceError>;

    /// Whether the last piece is made.
    fn is_done(&self) -> bool;
}

/// The text and the processor time of one piece. A source looks at the budget before each record but the first.
#[derive(Debug)]
pub struct PieceBudget {
    bytes_max: usize,
    /// `None` without a limit of time.
    clock: Option<WorkClock>,
}

impl PieceBudget {
    /// The budget of a piece that is begun now.
    pub fn of_piece(clock: HostClock) -> PieceBudget {
        PieceBudget::new(clock, PIECE_BYTES, PIECE_TIME)
    }

    /// A budget of text and of processor time from now on.
    pub fn new(clock: HostClock, bytes_max: usize, time: Duration) -> PieceBudget {
        PieceBudget { bytes_max, clock: Some(WorkClock::start(clock, Duration::MAX, time)) }
    }

    /// A budget of text alone, for work that is short.
    pub fn of_bytes(bytes_max: usize) -> PieceBudget {
        PieceBudget { bytes_max, clock: None }
    }

    /// Whether a text of this length has used the budget up.
    pub fn is_used(&self, text_bytes: usize) -> bool {
        text_bytes >= self.bytes_max
            || self.clock.as_ref().is_some_and(|clock| clock.passed().is_some())
    }
}

/// The pieces of a text, coded.
pub struct CodedPieces {
    source: Box<dyn PieceSource>,
    /// The text of a piece that lacked chunks.
    text: Vec<u8>,
    /// `None` once the body has ended.
    encoder: Option<StreamEncoder>,
}

impl CodedPieces {
    /// Codes the pieces of a source.
    ///
    /// # Errors
    ///
    /// The encoder failed, which none does while there is memory.
    pub fn new(source: Box<dyn PieceSource>, coding: Coding) -> io::Result<CodedPieces> {
        let encoder = Some(StreamEncoder::new(coding, source.text_bytes_min())?);
        Ok(CodedPieces { source, text: Vec::new(), encoder })
    }

    /// The most bytes that source and encoder hold between two pieces.
    pub fn held_bytes(&self) -> usize {
        self.source.held_bytes() + self.encoder.as_ref().map_or(0, StreamEncoder::held_bytes)
    }

    /// About the bytes of the next piece.
    pub fn next_bytes(&self, snapshot: &Snapshot) -> usize {
        self.source.next_bytes(snapshot)
    }

    /// Makes the next piece, possibly empty; `None` at the end. A piece that lacks absent chunks can be made once they are
    /// here.
    pub fn next_piece(
        &mut self,
        snapshot: &Snapshot,
        clock: HostClock,
    ) -> Option<Result<Bytes, PieceError>> {
        self.encoder.as_ref()?;
        let budget = PieceBudget::of_piece(clock);
        let made = self.source.next_piece(snapshot, &budget, &mut self.text);
        if matches!(made, Err(PieceError::Damaged(ReadError::Absent { .. }))) {
            return Some(Err(made.err()?));
        }
        let text = std::mem::take(&mut self.text);
        let piece = made.and_then(|()| {
            // Coding in memory does not fail.
            StreamEncoder::next(&mut self.encoder, text, self.source.is_done())
                .map_err(|_| ReadError::Internal("a piece of a body could not be coded").into())
        });
        if piece.is_err() {
            self.encoder = None;
        }
        Some(piece)
    }
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
