//! A reader of HTTP/1.1 heads between socket and hyper, which makes hyper accept what clients send.
//!
//! [`LenientStream`] does four things that hyper has no option for:
//!
//! - It escapes `<`, `>` and `"` in request targets. No URI holds these characters, but curl sends
//!   `filter=cited_by_count:>100` as typed, and hyper refuses the request line.
//! - It replaces control characters in header values by spaces, as RFC 9110 section 5.5 allows. hyper
//!   refuses a request whose `User-Agent` holds an escape character.
//! - It records requests with two content lengths, or with a content length and a transfer coding. RFC
//!   9112 section 6.3 requires the server to refuse these, but hyper shows only one of the two.
//! - It withholds a head until the head is complete or invalid. hyper keeps 8 to 16 KiB for a head that
//!   it began to read, which a client that sends one byte a second would hold.
//!
//! The scanner skips bodies by their content length. After a head with a transfer coding all bytes pass
//! unchanged, and the connection ends with the reply, so that no byte of a body is ever changed.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::head::HEADERS_MAX;
use crate::net::state::ConnectionState;
use crate::net::write_through::{WriteThrough, write_through};

/// Bytes of a head that the server reads: enough to reply 414 or 431 itself.
pub(crate) const HEAD_BYTES_MAX: usize = 96 << 10;
/// Headers of a head that the server reads: enough to reply 431 itself. Beyond, hyper replies.
pub(crate) const HEAD_HEADERS_MAX: usize = HEADERS_MAX * 2;
/// Bytes of one read from the socket.
const READ_BYTES: usize = 8 << 10;
/// Bytes of a header name that the scanner compares; the names it looks for are shorter.
const NAME_BYTES_MAX: usize = 24;

/// The part of a request that the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// A method, or empty lines before it.
    Method,
    Target,
    /// The rest of the request line.
    Version,
    /// A header name, or the empty line that ends a head.
    Name,
    Value,
    /// The value of `Content-Length`.
    Length,
    /// The value of `Transfer-Encoding`. It passes unchanged: other servers do not read `\x0bchunked` as
    /// `chunked`, and hyper refuses it.
    Coding,
    /// A body, with this many bytes left.
    Body(u64),
    /// A body of unknown length; the scanner passes all further bytes unchanged.
    Unknown,
}

/// Follows the heads of a connection byte by byte, and escapes request targets.
#[derive(Debug)]
struct HeadScanner {
    position: Position,
    /// Name of the current header, in lower case.
    name: Vec<u8>,
    /// Content length of the current head.
    length: Option<u64>,
    /// Whether the current head has a transfer coding.
    is_coded: bool,
    /// Heads started.
    heads: u64,
    /// Number of the first head with two lengths, from 1; the connection ends with its reply.
    two_lengths: Option<u64>,
    /// Number of the head with a transfer coding, from 1.
    coded: Option<u64>,
}

impl HeadScanner {
    fn new() -> HeadScanner {
        HeadScanner {
            position: Position::Method,
            name: Vec::new(),
            length: None,
            is_coded: false,
            heads: 0,
            two_lengths: None,
            coded: None,
        }
    }

    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for (at, byte) in bytes.iter().enumerate() {
            match (self.position, byte) {
                (Position::Unknown, _) => return out.extend_from_slice(&bytes[at..]),
                (Position::Target, b'<') => out.extend_from_slice(b"%3C"),
                (Position::Target, b'>') => out.extend_from_slice(b"%3E"),
                (Position::Target, b'"') => out.extend_from_slice(b"%22"),
                (Position::Value, _) => self.push_value(*byte, out),
                _ => out.push(*byte),
            }
            self.position = self.next_position(*byte);
        }
    }

    /// Appends a byte of a header value; a space replaces each control character except NUL.
    fn push_value(&self, byte: u8, out: &mut Vec<u8>) {
        if let Some(last @ b'\r') = out.last_mut()
            && byte != b'\n'
        {
            *last = b' ';
        }
        out.push(if matches!(byte, 1..=8 | 11..=12 | 14..=31 | 127) { b' ' } else { byte });
    }

    fn next_position(&mut self, byte: u8) -> Position {
        match (self.position, byte) {
            (Position::Method, b' ') => {
                self.heads += 1;
                (self.length, self.is_coded) = (None, false);
                Position::Target
            }
            (Position::Target, b' ') => Position::Version,
            (Position::Target | Position::Version, b'\n') => self.start_line(),
            (Position::Name, b'\n') => self.end_line(),
            (Position::Name, b':') => match self.name.trim_ascii() {
                b"content-length" => {
                    if self.is_coded || self.length.is_some() {
                        self.two_lengths.get_or_insert(self.heads);
                    }
                    self.length = Some(0);
                    Position::Length
                }
                b"transfer-encoding" => {
                    if self.length.is_some() {
                        self.two_lengths.get_or_insert(self.heads);
                    }
                    (self.is_coded, self.coded) = (true, Some(self.heads));
                    Position::Coding
                }
                _ => Position::Value,
            },
            (Position::Name, _) => {
                if self.name.len() < NAME_BYTES_MAX && byte != b'\r' {
                    self.name.push(byte.to_ascii_lowercase());
                }
                Position::Name
            }
            (Position::Value | Position::Length | Position::Coding, b'\n') => self.start_line(),
            (Position::Length, byte) => {
                // hyper refuses a value that is not a number.
                let digit = char::from(byte).to_digit(10).map(u64::from);
                if let (Some(length), Some(digit)) = (self.length, digit) {
                    self.length = Some(length.saturating_mul(10).saturating_add(digit));
                }
                Position::Length
            }
            (Position::Body(left), _) => match left {
                0 | 1 => Position::Method,
                left => Position::Body(left - 1),
            },
            (position, _) => position,
        }
    }

    fn start_line(&mut self) -> Position {
        self.name.clear();
        Position::Name
    }

    /// Ends a line without a colon; an empty line ends the head.
    fn end_line(&mut self) -> Position {
        if !self.name.is_empty() {
            return self.start_line();
        }
        match self.length {
            _ if self.is_coded => Position::Unknown,
            None | Some(0) => Position::Method,
            Some(length) => Position::Body(length),
        }
    }
}

/// Whether the bytes start a head that is incomplete and valid so far.
fn is_partial_head(bytes: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; HEAD_HEADERS_MAX];
    httparse::Request::new(&mut headers).parse(bytes).is_ok_and(|parsed| parsed.is_partial())
}

/// A connection whose heads a [`HeadScanner`] reads and adapts for hyper.
pub struct LenientStream<S> {
    stream: S,
    state: Arc<ConnectionState>,
    scanner: HeadScanner,
    /// Bytes read and adapted, not yet handed on.
    ready: Vec<u8>,
    /// Bytes of `ready` handed on.
    taken: usize,
    /// Whether `ready` is an incomplete head, withheld until it is complete.
    is_withheld: bool,
}

impl<S> LenientStream<S> {
    /// Wraps a connection at its first byte.
    pub fn new(stream: S, state: Arc<ConnectionState>) -> LenientStream<S> {
        let scanner = HeadScanner::new();
        LenientStream { stream, state, scanner, ready: Vec::new(), taken: 0, is_withheld: true }
    }
}

impl<S: AsyncRead + Unpin> LenientStream<S> {
    /// Waits until the first head is complete or invalid, or the client closed its side.
    pub async fn first_head(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll_fill(context)).await
    }

    /// Reads until there are bytes to hand on; none after the client closed its side.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut bytes = [0; READ_BYTES];
            let mut read = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
            let is_first = self.ready.is_empty();
            self.scanner.push(read.filled(), &mut self.ready);
            self.state.record_framing(self.scanner.two_lengths, self.scanner.coded);
            // Parsed at the first bytes, which may not be HTTP, and at line ends.
            let is_parsed = is_first || read.filled().contains(&b'\n');
            self.is_withheld = self.is_withheld
                && !read.filled().is_empty()
                && self.ready.len() <= HEAD_BYTES_MAX
                && (!is_parsed || is_partial_head(&self.ready));
            if !self.is_withheld {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LenientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.is_withheld && this.taken == this.ready.len() {
            if this.scanner.position == Position::Unknown {
                return Pin::new(&mut this.stream).poll_read(context, out);
            }
            // Frees the memory: an idle connection needs none.
            (this.ready, this.taken) = (Vec::new(), 0);
            this.is_withheld = this.scanner.position == Position::Method;
        }
        if this.is_withheld || this.ready.is_empty() {
            ready!(this.poll_fill(context))?;
        }
        let rest = &this.ready[this.taken..];
        let count = rest.len().min(out.remaining());
        out.put_slice(&rest[..count]);
        this.taken += count;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> WriteThrough for LenientStream<S> {
    type Inner = S;

    fn inner(&mut self) -> io::Result<&mut S> {
        Ok(&mut self.stream)
    }

    fn is_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

write_through!(LenientStream<S: AsyncWrite>);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        time::timeout,
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_head_is_handed_on_once_complete_or_invalid() {
        const PAUSE: Duration = Duration::from_millis(1);
        let cases: [&[&str]; 6] = [
            &["GET / HT", "TP/1.1\r\nHost: x\r", "\n\r\n"],
            &["\r\n", "G", "ET /> HTTP/1.1\n\n"],
            &["GET / HTTP/1.1\r\n\r\nGET / HT", "TP/1.1\r\n"],
            &["GET / HTTP/1.1\r\nA", " b: c\r\n"],
            &["\u{16}\u{3}\u{1}"],
            &["GET /\r\n"],
        ];
        for pieces in cases {
            let (mut client, server) = duplex(1 << 10);
            let mut stream = LenientStream::new(server, Arc::default());
            let mut sent = String::new();
            for (at, piece) in pieces.iter().enumerate() {
                client.write_all(piece.as_bytes()).await.unwrap();
                sent += piece;
                let is_complete = sent.contains("\r\n\r\n") || at + 1 == pieces.len();
                let head = timeout(PAUSE, stream.first_head()).await;
                assert_eq!(head.is_ok(), is_complete, "{sent:?}");
                if is_complete {
                    break;
                }
            }
            let mut taken = vec![0; 1 << 10];
            let count = stream.read(&mut taken).await.unwrap();
            let expected = sent.replace('>', "%3E");
            assert_eq!(String::from_utf8_lossy(&taken[..count]), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn later_heads_are_withheld_and_bodies_are_not() {
        let (mut client, server) = duplex(1 << 10);
        let mut stream = LenientStream::new(server, Arc::default());
        let first = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\na";
        client.write_all(first).await.unwrap();
        let mut taken = [0; 1 << 10];
        assert_eq!(stream.read(&mut taken).await.unwrap(), first.len());
        client.write_all(b"b").await.unwrap();
        assert_eq!(stream.read(&mut taken).await.unwrap(), 1);
        for piece in ["GET / HTTP/1.1\r\n", "Host: x\r\n"] {
            client.write_all(piece.as_bytes()).await.unwrap();
            let read = timeout(Duration::from_millis(1), stream.read(&mut taken)).await;
            assert!(read.is_err(), "{piece:?} was handed on");
        }
        drop(client);
        let count = stream.read(&mut taken).await.unwrap();
        assert_eq!(&taken[..count], b"GET / HTTP/1.1\r\nHost: x\r\n");
        assert_eq!(stream.read(&mut taken).await.unwrap(), 0);
    }

    fn escaped(bytes: &[u8], piece_bytes: usize) -> String {
        let mut scanner = HeadScanner::new();
        let mut out = Vec::new();
        for piece in bytes.chunks(piece_bytes) {
            scanner.push(piece, &mut out);
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn a_head_with_two_lengths_is_recorded() {
        let check = |heads: &str, expected: Option<u64>| {
            let mut scanner = HeadScanner::new();
            scanner.push(heads.as_bytes(), &mut Vec::new());
            assert_eq!(scanner.two_lengths, expected, "{heads}");
        };
        let none = "GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
        let coded = "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n";
        check(&format!("{none}{none}{coded}\r\n"), None);
        check(&format!("{none}{coded}content-LENGTH : 1\r\n\r\n"), Some(2));
        check("POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\n", Some(1));
        check("POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n", Some(1));
        let sent = "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /";
        check(&format!("{sent}{coded}Content-Length: 5\r\n"), Some(2));
    }

    #[test]
    fn targets_and_header_values_are_adapted_and_bodies_are_not() {
        let check = |bytes: &str, expected: &str| {
            for piece_bytes in [1, 7, 4_096] {
                assert_eq!(escaped(bytes.as_bytes(), piece_bytes), expected, "{bytes}");
            }
        };
        check(
            "GET /a?filter=n:>1,m:\"x\" HTTP/1.1\r\nHost: <a>\r\n\r\nGET /b?< HTTP/1.1\r\n\r\n",
            "GET /a?filter=n:%3E1,m:%22x%22 HTTP/1.1\r\nHost: <a>\r\n\r\nGET /b?%3C HTTP/1.1\r\n\r\n",
        );
        check("\r\n\r\nGET /> HTTP/1.1\n\nGET /> H", "\r\n\r\nGET /%3E HTTP/1.1\n\nGET /%3E H");
        check("GET />\r\n\r\n", "GET /%3E\r\n\r\n");
        check("G / H\r\nA: \x1b[31m\rb\tc\x7f\r\n\r\n", "G / H\r\nA:  [31m b\tc \r\n\r\n");
        check("G / H\r\nA: \0\x01\r\r\n", "G / H\r\nA: \0  \r\n");
        let coding = "GET / HTTP/1.1\r\nTransfer-Encoding:\x0bchunked\x0c\r\n\r\n";
        check(coding, coding);
        let empty = "GET /> HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
        check(&empty.repeat(2), &empty.repeat(2).replace('>', "%3E"));
        let body = "POST /> HTTP/1.1\r\nContent-Length : 12\r\n\r\n";
        let after = "GET /> HTTP/1.1\r\n\r\nGET /> HTTP/1.1\r\n\r\n";
        check(
            &format!("{body}GET /> \"<>\r\n{after}"),
            &format!("{}GET /> \"<>\r\n{}", body.replace('>', "%3E"), after.replace('>', "%3E")),
        );
        let chunked = "PUT /> HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(&format!("{chunked}{after}"), &format!("{}{after}", chunked.replace('>', "%3E")));
    }
}
