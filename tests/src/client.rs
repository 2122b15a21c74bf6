//! A client that sends whatever bytes it is given and reads replies strictly.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::Value;

/// How long a reply may take before a test fails; no test waits for it to pass.
pub const PATIENCE: Duration = Duration::from_secs(30);

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
    /// A header's one value; `None` where it is absent.
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

    /// All but the time of day.
    pub fn lasting_headers(&self) -> Vec<(String, String)> {
        self.headers.iter().filter(|(name, _)| name != "date").cloned().collect()
    }
}

impl Connection {
    pub fn open(address: SocketAddr) -> Connection {
        Connection::of(TcpStream::connect(address).unwrap())
    }

    /// A connection from an address of this machine's.
    pub fn from(host: &str, address: SocketAddr) -> Connection {
        let own = SocketAddr::new(host.parse().unwrap(), 0);
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &own).unwrap();
        connect(&socket, &address).unwrap();
        Connection::of(TcpStream::from(socket))
    }

    fn of(stream: TcpStream) -> Connection {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Connection { stream: BufReader::new(stream) }
    }

    pub fn send(&mut self, raw: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(raw)
    }

    /// Reads the reply to a request by GET.
    pub fn receive(&mut self) -> io::Result<Response> {
        self.receive_to("GET")
    }

    /// Reads the reply to a request by this method; an interim reply is passed over.
    pub fn receive_to(&mut self, method: &str) -> io::Result<Response> {
        loop {
            let mut response = read_head(&mut self.stream)?;
            let has_body = method != "HEAD" && !matches!(response.status, 100..200 | 204 | 304);
            if has_body {
                let length = response.header("content-length").expect("a body has a length");
                response.body = vec![0; length.parse().unwrap()];
                self.stream.read_exact(&mut response.body)?;
            }
            if response.status >= 200 {
                return Ok(response);
            }
        }
    }

    /// Sends a request with headers (`name: value`) and reads its reply, keeping the connection.
    #[track_caller]
    pub fn request(&mut self, method: &str, target: &str, headers: &[&str]) -> Response {
        let raw = request(method, target, headers);
        self.send(raw.as_bytes()).unwrap();
        self.receive_to(method).unwrap_or_else(|error| panic!("{method} {target:?}: {error}"))
    }

    #[track_caller]
    pub fn get(&mut self, target: &str) -> Response {
        self.request("GET", target, &[])
    }

    /// Waits for the server to close, and says whether it did so without another byte.
    pub fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0; 1]) {
            Ok(length) => length == 0,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// Reads a reply up to the empty line that ends its head.
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

/// A body as it was before a coding.
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
        Some(other) => panic!("{other} is not spoken here"),
    }
    decoded
}

/// A request as it is sent.
pub fn request(method: &str, target: &str, headers: &[&str]) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

/// The body of an error in the interface's shape.
pub fn error_body(status: u16, message: &str) -> String {
    let error = match status {
        301 => "Moved Permanently",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        414 => "URI Too Long",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => panic!("no error is expected with {status}"),
    };
    let message = Value::from(message);
    format!(r#"{{"statusCode":{status},"error":"{error}","message":{message}}}"#)
}
