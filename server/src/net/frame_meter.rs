//! Limits the HTTP/2 frames of a connection that carry neither requests nor bodies.
//!
//! PING, SETTINGS, PRIORITY, WINDOW_UPDATE, RST_STREAM and empty DATA frames cost the server work, and count
//! towards no other limit. A client needs few, and WINDOW_UPDATE in proportion to the bytes it receives.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::event_counts::{EXCESSES, Excess};
use crate::net::write_through::{WriteThrough, write_through};

/// Bytes of the text by which a client starts HTTP/2.
const PREFACE_BYTES: usize = 24;
/// Bytes of the header of a frame: three of the payload's length, the type, the flags and the stream.
const HEADER_BYTES: usize = 9;
/// Types of frames that carry bodies and requests.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
/// A client may send the frames of this time at once.
const BURST: Duration = Duration::from_secs(10);
/// A client that receives this many bytes may send one frame more.
const RECEIVED_BYTES: usize = 1 << 10;

/// A stream of HTTP/2 that fails once the client sends too many control frames.
pub struct FrameMeter<S> {
    stream: S,
    frames: FrameCounter,
    allowance: Allowance,
}

impl<S> FrameMeter<S> {
    /// Allows this many control frames a second.
    pub fn new(stream: S, per_second: u32) -> FrameMeter<S> {
        let frames = FrameCounter { payload_left: PREFACE_BYTES, header: Vec::new() };
        FrameMeter { stream, frames, allowance: Allowance::new(per_second, Instant::now()) }
    }
}

/// Finds the frames in the bytes of a client.
struct FrameCounter {
    /// Bytes until the next header.
    payload_left: usize,
    /// The part of the next header that was read.
    header: Vec<u8>,
}

impl FrameCounter {
    /// Counts the control frames whose header ends in the next bytes.
    fn count(&mut self, mut bytes: &[u8]) -> u64 {
        let mut frames = 0;
        loop {
            let skipped = bytes.len().min(self.payload_left);
            self.payload_left -= skipped;
            bytes = &bytes[skipped..];
            let (header, rest) = bytes.split_at(bytes.len().min(HEADER_BYTES - self.header.len()));
            self.header.extend_from_slice(header);
            bytes = rest;
            let [high, middle, low, kind, ..] = self.header[..] else { return frames };
            if self.header.len() < HEADER_BYTES {
                return frames;
            }
            self.payload_left = u32::from_be_bytes([0, high, middle, low]) as usize;
            self.header.clear();
            frames += u64::from(kind != HEADERS && (kind != DATA || self.payload_left == 0));
        }
    }
}

/// The control frames that a client may still send, in thousandths.
struct Allowance {
    per_second: u64,
    left: u64,
    since: Instant,
}

impl Allowance {
    fn new(per_second: u32, now: Instant) -> Allowance {
        let per_second = per_second.into();
        Allowance { per_second, left: per_second * BURST.as_millis() as u64, since: now }
    }

    /// Uses up frames; `false` if there are too many.
    fn take(&mut self, frames: u64, now: Instant) -> bool {
        let millis = (now - self.since).as_millis() as u64;
        if millis > 0 {
            self.since = now;
            self.earn(self.per_second.saturating_mul(millis));
        }
        let left = frames.checked_mul(1_000).and_then(|taken| self.left.checked_sub(taken));
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Adds frames for bytes that the client received.
    fn receive(&mut self, bytes: usize) {
        self.earn((bytes * 1_000 / RECEIVED_BYTES) as u64);
    }

    fn earn(&mut self, thousandths: u64) {
        let most = self.per_second * BURST.as_millis() as u64;
        self.left = self.left.saturating_add(thousandths).min(most);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FrameMeter<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        let frames = this.frames.count(&buffer.filled()[before..]);
        if frames > 0 && !this.allowance.take(frames, Instant::now()) {
            EXCESSES.count(Excess::Frames);
            return Poll::Ready(Err(io::Error::other("the client sent too many control frames")));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> WriteThrough for FrameMeter<S> {
    type Inner = S;

    fn inner(&mut self) -> io::Result<&mut S> {
        Ok(&mut self.stream)
    }

    fn is_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn note_written(&mut self, outcome: &Poll<io::Result<usize>>, _offered: usize) {
        if let Poll::Ready(Ok(written)) = outcome {
            self.allowance.receive(*written);
        }
    }
}

write_through!(FrameMeter<S: AsyncWrite>);

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: usize) -> Vec<u8> {
        let length = (payload as u32).to_be_bytes();
        let header = [length[1], length[2], length[3], kind, 0, 0, 0, 0, 0];
        [&header[..], &vec![7; payload]].concat()
    }

    #[test]
    fn control_frames_are_counted_wherever_the_bytes_are_cut() {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        // SETTINGS, a request, PING, a body, an empty body, WINDOW_UPDATE, an unknown type.
        for (kind, payload) in [(4, 12), (1, 300), (6, 8), (0, 70_000), (0, 0), (8, 4), (200, 1)] {
            bytes.extend(frame(kind, payload));
        }
        for piece in [1, 2, 7, 9, 10, 33, 16_384, bytes.len()] {
            let mut counter = FrameCounter { payload_left: PREFACE_BYTES, header: Vec::new() };
            let count: u64 = bytes.chunks(piece).map(|bytes| counter.count(bytes)).sum();
            assert_eq!((count, counter.payload_left), (5, 0), "pieces of {piece} bytes");
        }
    }

    #[test]
    fn time_and_received_bytes_renew_the_allowance() {
        let start = Instant::now();
        let mut allowance = Allowance::new(10, start);
        assert!(allowance.take(100, start) && !allowance.take(1, start));
        let later = start + Duration::from_secs(1);
        assert!(allowance.take(10, later) && !allowance.take(1, later));
        allowance.receive(20 << 10);
        assert!(allowance.take(20, later) && !allowance.take(1, later));
        let much_later = later + Duration::from_secs(3_600);
        assert!(!allowance.take(101, much_later));
    }
}
