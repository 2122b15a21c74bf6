//! Request targets as people type them: `filter=cited_by_count:>100` with its `>` bare; headers as
//! programs write them, with an escape in the value; and heads that come in crumbs.
//!
//! No URI holds `<`, `>` or `"`, and the HTTP layer refuses such a request line. Browsers escape
//! them; curl does not. [`Lenient`] stands between socket and HTTP layer and escapes them in the
//! target of each request line.
//!
//! It follows heads, and passes over bodies whose length they tell. After a head with a transfer coding
//! every byte goes through as it came, so that no byte of a body is ever changed; such a connection ends
//! with its reply. Framing is the HTTP layer's business, but for one thing: it drops a content length
//! that comes with a transfer coding, and one that comes twice, and such a request is to be refused (RFC
//! 9112, section 6.3). So that is noted here.
//!
//! A head is handed on once it is whole, or can be none: the HTTP layer keeps 8 to 16 KiB for whatever it
//! has begun to read, and a client that sends a byte a second would hold them for nothing.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::head::HEADERS_MAX;
use crate::net::state::Pulse;

/// Bytes of a request's head that are read; enough to answer 414 and 431 to what is too long.
pub(crate) const HEAD_BYTES_MAX: usize = 96 << 10;
/// Headers of such a head: enough to be answered here; beyond, the HTTP layer answers bare.
pub(crate) const HEAD_HEADERS_MAX: usize = HEADERS_MAX * 2;
/// Bytes read from the socket at a time.
const READ_BYTES: usize = 8 << 10;
/// Bytes of a header's name that are looked at; those of interest are shorter.
const NAME_BYTES_MAX: usize = 24;

/// Where in a connection's bytes it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In a method, or in empty lines before it.
    Method,
    /// In a target.
    Target,
    /// In what follows it on its line.
    Version,
    /// In a header's name, or at the empty line that ends a head.
    Name,
    /// In a header's value.
    Value,
    /// In that of a content length.
    Length,
    /// In a body, so many bytes before its end.
    Body(u64),
    /// Where nothing is looked at any more: a body whose end is not told in its head.
    Beyond,
}

/// Escapes what comes by, byte by byte.
#[derive(Debug)]
struct Escaping {
    place: Place,
    /// The name of the header under way, in lower case.
    name: Vec<u8>,
    /// The content length of the head under way.
    length: Option<u64>,
    /// Whether it has a transfer coding.
    is_coded: bool,
    /// Heads begun.
    heads: u64,
    /// The first that has two lengths; its connection ends with it.
    two_lengths: Option<u64>,
    /// The one that has a transfer coding.
    coded: Option<u64>,
}

impl Escaping {
    fn new() -> Escaping {
        Escaping {
            place: Place::Method,
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
            match (self.place, byte) {
                (Place::Beyond, _) => return out.extend_from_slice(&bytes[at..]),
                (Place::Target, b'<') => out.extend_from_slice(b"%3C"),
                (Place::Target, b'>') => out.extend_from_slice(b"%3E"),
                (Place::Target, b'"') => out.extend_from_slice(b"%22"),
                (Place::Value, _) => self.push_value(*byte, out),
                _ => out.push(*byte),
            }
            self.place = self.after(*byte);
        }
    }

    /// A byte of a header's value. Control characters have no meaning there and are no reason to refuse
    /// a request: a space stands for each, as RFC 9110, section 5.5, allows; but for NUL.
    fn push_value(&self, byte: u8, out: &mut Vec<u8>) {
        if let Some(last @ b'\r') = out.last_mut()
            && byte != b'\n'
        {
            *last = b' ';
        }
        out.push(if matches!(byte, 1..=8 | 11..=12 | 14..=31 | 127) { b' ' } else { byte });
    }

    fn after(&mut self, byte: u8) -> Place {
        match (self.place, byte) {
            (Place::Method, b' ') => {
                self.heads += 1;
                (self.length, self.is_coded) = (None, false);
                Place::Target
            }
            (Place::Target, b' ') => Place::Version,
            (Place::Target | Place::Version, b'\n') => self.line(),
            (Place::Name, b'\n') => self.head_or_line(),
            (Place::Name, b':') => match self.name.trim_ascii() {
                b"content-length" => {
                    if self.is_coded || self.length.is_some() {
                        self.two_lengths.get_or_insert(self.heads);
                    }
                    self.length = Some(0);
                    Place::Length
                }
                b"transfer-encoding" => {
                    if self.length.is_some() {
                        self.two_lengths.get_or_insert(self.heads);
                    }
                    (self.is_coded, self.coded) = (true, Some(self.heads));
                    Place::Value
                }
                _ => Place::Value,
            },
            (Place::Name, _) => {
                if self.name.len() < NAME_BYTES_MAX && byte != b'\r' {
                    self.name.push(byte.to_ascii_lowercase());
                }
                Place::Name
            }
            (Place::Value | Place::Length, b'\n') => self.line(),
            (Place::Length, byte) => {
                // What is no number the HTTP layer refuses.
                let digit = char::from(byte).to_digit(10).map(u64::from);
                if let (Some(length), Some(digit)) = (self.length, digit) {
                    self.length = Some(length.saturating_mul(10).saturating_add(digit));
                }
                Place::Length
            }
            (Place::Body(left), _) => match left {
                0 | 1 => Place::Method,
                left => Place::Body(left - 1),
            },
            (place, _) => place,
        }
    }

    fn line(&mut self) -> Place {
        self.name.clear();
        Place::Name
    }

    /// After a line without a colon: an empty one ends the head.
    fn head_or_line(&mut self) -> Place {
        if !self.name.is_empty() {
            return self.line();
        }
        match self.length {
            _ if self.is_coded => Place::Beyond,
            None | Some(0) => Place::Method,
            Some(length) => Place::Body(length),
        }
    }
}

/// Whether the bytes are the beginning of a head that may still become whole.
fn is_begun(bytes: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; HEAD_HEADERS_MAX];
    httparse::Request::new(&mut headers).parse(bytes).is_ok_and(|parsed| parsed.is_partial())
}

/// A connection whose request targets are escaped as they are read.
pub struct Lenient<S> {
    stream: S,
    pulse: Arc<Pulse>,
    escaping: Escaping,
    /// Read and escaped, and not yet taken.
    waiting: Vec<u8>,
    taken: usize,
    /// Whether that is the beginning of a head, kept until it is whole.
    is_kept: bool,
}

impl<S> Lenient<S> {
    /// A connection from its first byte.
    pub fn new(stream: S, pulse: Arc<Pulse>) -> Lenient<S> {
        let escaping = Escaping::new();
        Lenient { stream, pulse, escaping, waiting: Vec::new(), taken: 0, is_kept: true }
    }
}

impl<S: AsyncRead + Unpin> Lenient<S> {
    /// Waits for the first head to be whole, or to be none, or for the client to end.
    ///
    /// # Errors
    ///
    /// What the socket says.
    pub async fn first_head(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll_fill(context)).await
    }

    /// Reads what comes next; nothing where the client has ended.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut bytes = [0; READ_BYTES];
            let mut read = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
            let is_first = self.waiting.is_empty();
            self.escaping.push(read.filled(), &mut self.waiting);
            self.pulse.frame(self.escaping.two_lengths, self.escaping.coded);
            // Asked of the first bytes, which may be no HTTP at all, and where a line ends.
            let is_asked = is_first || read.filled().contains(&b'\n');
            self.is_kept = self.is_kept
                && !read.filled().is_empty()
                && self.waiting.len() <= HEAD_BYTES_MAX
                && (!is_asked || is_begun(&self.waiting));
            if !self.is_kept {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lenient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.is_kept && this.taken == this.waiting.len() {
            if this.escaping.place == Place::Beyond {
                return Pin::new(&mut this.stream).poll_read(context, out);
            }
            // Given back: a connection that waits needs none of it.
            (this.waiting, this.taken) = (Vec::new(), 0);
            this.is_kept = this.escaping.place == Place::Method;
        }
        if this.is_kept || this.waiting.is_empty() {
            ready!(this.poll_fill(context))?;
        }
        let rest = &this.waiting[this.taken..];
        let count = rest.len().min(out.remaining());
        out.put_slice(&rest[..count]);
        this.taken += count;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Lenient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

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
    async fn a_head_is_handed_on_once_it_is_whole_or_can_be_none() {
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
            let mut lenient = Lenient::new(server, Arc::default());
            let mut sent = String::new();
            for (at, piece) in pieces.iter().enumerate() {
                client.write_all(piece.as_bytes()).await.unwrap();
                sent += piece;
                let is_whole = sent.contains("\r\n\r\n") || at + 1 == pieces.len();
                let head = timeout(PAUSE, lenient.first_head()).await;
                assert_eq!(head.is_ok(), is_whole, "{sent:?}");
                if is_whole {
                    break;
                }
            }
            let mut taken = vec![0; 1 << 10];
            let count = lenient.read(&mut taken).await.unwrap();
            let expected = sent.replace('>', "%3E");
            assert_eq!(String::from_utf8_lossy(&taken[..count]), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn later_heads_are_kept_too_and_bodies_are_not() {
        let (mut client, server) = duplex(1 << 10);
        let mut lenient = Lenient::new(server, Arc::default());
        let first = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\na";
        client.write_all(first).await.unwrap();
        let mut taken = [0; 1 << 10];
        assert_eq!(lenient.read(&mut taken).await.unwrap(), first.len());
        client.write_all(b"b").await.unwrap();
        assert_eq!(lenient.read(&mut taken).await.unwrap(), 1);
        for piece in ["GET / HTTP/1.1\r\n", "Host: x\r\n"] {
            client.write_all(piece.as_bytes()).await.unwrap();
            let read = timeout(Duration::from_millis(1), lenient.read(&mut taken)).await;
            assert!(read.is_err(), "{piece:?} was handed on");
        }
        drop(client);
        let count = lenient.read(&mut taken).await.unwrap();
        assert_eq!(&taken[..count], b"GET / HTTP/1.1\r\nHost: x\r\n");
        assert_eq!(lenient.read(&mut taken).await.unwrap(), 0);
    }

    fn escaped(bytes: &[u8], piece_bytes: usize) -> String {
        let mut escaping = Escaping::new();
        let mut out = Vec::new();
        for piece in bytes.chunks(piece_bytes) {
            escaping.push(piece, &mut out);
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn a_head_with_two_lengths_is_noted() {
        let check = |heads: &str, expected: Option<u64>| {
            let mut escaping = Escaping::new();
            escaping.push(heads.as_bytes(), &mut Vec::new());
            assert_eq!(escaping.two_lengths, expected, "{heads}");
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
    fn targets_are_escaped_and_nothing_else() {
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
