//! An HTTP client that sends arbitrary bytes and parses replies strictly.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::Value;

/// Longest time a test waits for a reply before the test fails.
pub const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

pub struct Connection {
    stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub struct Response {
    pub version: String,
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the value of a header that may appear at most once.
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} is sent twice: {:?}", self.headers);
        value
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the headers that stay the same when the request is repeated.
    pub fn headers_without_date(&self) -> Vec<(String, String)> {
        self.headers.iter().filter(|(name, _)| name != "date").cloned().collect()
    }
}

impl Connection {
    pub fn open(address: SocketAddr) -> Connection {
        Connection::try_open(address).unwrap()
    }

    /// Opens a connection to a server that may be gone.
    pub fn try_open(address: SocketAddr) -> io::Result<Connection> {
        TcpStream::connect(address).map(Connection::from_stream)
    }

    /// Opens a connection from a local address, such as `127.0.0.2`.
    pub fn open_from(host: &str, address: SocketAddr) -> Connection {
        let own = SocketAddr::new(host.parse().unwrap(), 0);
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &own).unwrap();
        connect(&socket, &address).unwrap();
        Connection::from_stream(TcpStream::from(socket))
    }

    fn from_stream(stream: TcpStream) -> Connection {
        stream.set_read_timeout(Some(REPLY_TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(REPLY_TIMEOUT)).unwrap();
        Connection { stream: BufReader::new(stream) }
    }

    pub fn send(&mut self, raw: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(raw)
    }

    /// Reads the reply to a GET request.
    pub fn receive(&mut self) -> io::Result<Response> {
        self.receive_to("GET")
    }

    /// Reads the reply to a request with this method and skips interim (1xx) replies.
    pub fn receive_to(&mut self, method: &str) -> io::Result<Response> {
        loop {
            let mut response = read_head(&mut self.stream)?;
            let has_body = method != "HEAD" && !matches!(response.status, 100..200 | 204 | 304);
            if has_body {
                match response.header("content-length") {
                    Some(length) => {
                        response.body = vec![0; length.parse().unwrap()];
                        self.stream.read_exact(&mut response.body)?;
                    }
                    None => {
                        assert_eq!(response.header("transfer-encoding"), Some("chunked"));
                        response.body = read_chunks(&mut self.stream)?;
                    }
                }
            }
            if response.status >= 200 {
                return Ok(response);
            }
        }
    }

    /// Sends a request with headers (`name: value`), reads the reply and keeps the connection open. Connects again if the server
    /// has closed the connection since the reply before: a test that compares for long lets it idle.
    #[track_caller]
    pub fn request(&mut self, method: &str, target: &str, headers: &[&str]) -> Response {
        let stream = self.stream.get_ref();
        stream.set_nonblocking(true).unwrap();
        let is_closed = matches!(stream.peek(&mut [0]), Ok(0));
        stream.set_nonblocking(false).unwrap();
        if is_closed {
            let own = stream.local_addr().unwrap().ip().to_string();
            let server = stream.peer_addr().unwrap();
            *self = Connection::open_from(&own, server);
        }
        let raw = request(method, target, headers);
        self.send(raw.as_bytes()).unwrap();
        self.receive_to(method).unwrap_or_else(|error| panic!("{method} {target:?}: {error}"))
    }

    #[track_caller]
    pub fn get(&mut self, target: &str) -> Response {
        self.request("GET", target, &[])
    }

    /// Waits until the server closes the connection; `false` if the server sends another byte.
    pub fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0; 1]) {
            Ok(length) => length == 0,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// Reads a body in chunks, to its end.
pub fn read_chunks(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim_end(), 16);
        let length = length.map_err(|_| io::Error::other(format!("a chunk of length `{line}`")))?;
        let from = body.len();
        body.resize(from + length + 2, 0);
        stream.read_exact(&mut body[from..])?;
        body.truncate(from + length);
        if length == 0 {
            return Ok(body);
        }
    }
}

/// Reads the status line and the headers of a reply.
pub fn read_head(stream: &mut impl BufRead) -> io::Result<Response> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.strip_suffix("\r\n").expect("lines of a head end in CR LF");
        if line.is_empty() {
            break;
        }
        lines.push(line.to_owned());
    }
    let mut words = lines[0].splitn(3, ' ');
    let (version, status) = (words.next().unwrap(), words.next().unwrap());
    let headers = lines[1..].iter().map(|line| {
        let (name, value) = line.split_once(": ").expect("a header is a name and a value");
        (name.to_ascii_lowercase(), value.to_owned())
    });
    Ok(Response {
        version: version.to_owned(),
        status: status.parse().unwrap(),
        headers: headers.collect(),
        body: Vec::new(),
    })
}

/// Decompresses a body with a content coding.
pub fn decode(coding: Option<&str>, body: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    match coding {
        None => decoded.extend_from_slice(body),
        Some("zstd") => decoded = zstd::decode_all(body).unwrap(),
        Some("br") => {
            brotli::Decompressor::new(body, 4096).read_to_end(&mut decoded).unwrap();
        }
        Some("gzip") => {
            flate2::read::GzDecoder::new(body).read_to_end(&mut decoded).unwrap();
        }
        Some(other) => panic!("{other} is an unknown coding"),
    }
    decoded
}

/// Formats a request without a body.
pub fn request(method: &str, target: &str, headers: &[&str]) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

/// Formats the JSON body of an error reply.
pub fn error_body(status: u16, message: &str) -> String {
    let error = match status {
        301 => "Moved Permanently",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        414 => "URI Too Long",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => panic!("no reason phrase for status {status}"),
    };
    let message = Value::from(message);
    format!(r#"{{"statusCode":{status},"error":"{error}","message":{message}}}"#)
}
