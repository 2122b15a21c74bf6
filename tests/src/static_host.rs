//! A host of static files with a behaviour per request, which counts requests and bytes.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// One request to the host.
#[derive(Clone, Debug)]
pub struct HostRequest {
    /// The path without the first slash.
    pub path: String,
    /// The first and the last byte of the range.
    pub range: Option<(usize, usize)>,
    /// Number of earlier requests for the path.
    pub before: usize,
}

/// The behaviour of the host for one request.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// Sends the file or the requested range.
    Serves,
    /// Sends the complete file and ignores the range.
    IgnoresRange,
    /// Sends these bytes instead of the file.
    ServesOther(Vec<u8>),
    /// Sends this number of bytes of the body and closes the connection.
    Cuts(usize),
    /// Sends this number of bytes of the body and keeps the connection open without sending more.
    Stalls(usize),
    /// Closes the connection without a reply.
    Disconnects,
    /// Sends one byte per interval.
    Drips(Duration),
    /// Sends the body and then zeros without end, in HTTP chunks.
    Endless,
    /// Sends this head and this body.
    Replies(String, Vec<u8>),
}

type Rule = dyn Fn(&HostRequest) -> Behaviour + Send + Sync;

/// Requests and sent bytes of a host.
#[derive(Default)]
struct Log {
    asked: Mutex<Vec<HostRequest>>,
    sent_bytes: AtomicU64,
}

/// A host that listens until the process ends.
pub struct Host {
    address: SocketAddr,
    log: Arc<Log>,
}

impl Host {
    /// Starts a host that serves a tree.
    pub fn new(tree: PathBuf) -> Host {
        Host::with_rule(tree, |_| Behaviour::Serves)
    }

    /// Starts a host whose behaviour a rule decides per request.
    pub fn with_rule(
        tree: PathBuf,
        rule: impl Fn(&HostRequest) -> Behaviour + Send + Sync + 'static,
    ) -> Host {
        Host::at("127.0.0.1", tree, rule)
    }

    /// Starts a host at an address of this machine.
    pub fn at(
        address: &str,
        tree: PathBuf,
        rule: impl Fn(&HostRequest) -> Behaviour + Send + Sync + 'static,
    ) -> Host {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log::default());
        let (rule, kept): (Arc<Rule>, _) = (Arc::new(rule), Arc::clone(&log));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A body must not wait for the client to acknowledge the head.
                stream.set_nodelay(true).unwrap();
                let (tree, rule, log) = (tree.clone(), Arc::clone(&rule), Arc::clone(&kept));
                // The thread ends with its connection.
                thread::spawn(move || while answer(&stream, &tree, &*rule, &log).is_some() {});
            }
        });
        Host { address, log }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<HostRequest> {
        self.log.asked.lock().unwrap().clone()
    }

    /// Returns the number of sent body bytes, and resets the log.
    pub fn take_sent_bytes(&self) -> u64 {
        self.log.asked.lock().unwrap().clear();
        self.log.sent_bytes.swap(0, Ordering::SeqCst)
    }

    pub fn sent_bytes(&self) -> u64 {
        self.log.sent_bytes.load(Ordering::SeqCst)
    }
}

/// Answers one request; `None` closes the connection.
fn answer(stream: &TcpStream, tree: &Path, rule: &Rule, log: &Log) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let path = first.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    loop {
        let line = lines.next()?.ok()?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(given) = line.strip_prefix("range: bytes=") {
            for given in given.split(',') {
                let (from, to) = given.split_once('-')?;
                ranges.push((from.parse().ok()?, to.parse().ok()?));
            }
        }
    }
    let range = ranges.first().copied();
    let asked = {
        let mut asked = log.asked.lock().unwrap();
        let before = asked.iter().filter(|asked| asked.path == path).count();
        asked.push(HostRequest { path: path.clone(), range, before });
        asked.last().unwrap().clone()
    };
    let behaviour = rule(&asked);
    let mut out = Sender { stream, log };
    if let Behaviour::Replies(head, body) = &behaviour {
        out.head(head)?;
        return out.body(body);
    }
    if matches!(behaviour, Behaviour::Disconnects) {
        let _ = stream.shutdown(std::net::Shutdown::Both);
        return None;
    }
    if ranges.len() > 1 && matches!(behaviour, Behaviour::Serves) {
        return out.parts(&tree.join(&path), &ranges);
    }
    let range = range.filter(|_| !matches!(behaviour, Behaviour::IgnoresRange));
    let read = match (&behaviour, range) {
        (Behaviour::ServesOther(bytes), Some((from, to))) => {
            Ok((bytes[from..=to.min(bytes.len() - 1)].to_vec(), bytes.len()))
        }
        (Behaviour::ServesOther(bytes), None) => Ok((bytes.clone(), bytes.len())),
        _ => read(&tree.join(&path), range),
    };
    let Ok((body, size)) = read else {
        return out.head("HTTP/1.1 404 Not Found\r\nContent-Length: 0");
    };
    let head = match range {
        Some((from, to)) => {
            format!("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {from}-{to}/{size}")
        }
        None => "HTTP/1.1 200 OK".to_owned(),
    };
    if matches!(behaviour, Behaviour::Endless) {
        out.head(&format!("{head}\r\nTransfer-Encoding: chunked"))?;
        out.chunk(&body)?;
        loop {
            out.chunk(&[0; 4_096])?;
        }
    }
    out.head(&format!("{head}\r\nContent-Length: {}", body.len()))?;
    match behaviour {
        Behaviour::Cuts(count) => {
            out.body(&body[..count.min(body.len())])?;
            let _ = stream.shutdown(std::net::Shutdown::Both);
            None
        }
        Behaviour::Stalls(count) => {
            out.body(&body[..count.min(body.len())])?;
            loop {
                thread::park();
            }
        }
        Behaviour::Drips(pause) => {
            for byte in body {
                out.body(&[byte])?;
                thread::sleep(pause);
            }
            Some(())
        }
        _ => out.body(&body),
    }
}

/// Reads a file, or the bytes from the first to the last of a range. Returns the size of the file too.
fn read(place: &Path, range: Option<(usize, usize)>) -> io::Result<(Vec<u8>, usize)> {
    let file = File::open(place)?;
    let size = file.metadata()?.len() as usize;
    let (from, end) = range.map_or((0, size), |(from, to)| (from, size.min(to + 1)));
    let mut bytes = vec![0; end - from];
    file.read_exact_at(&mut bytes, from as u64)?;
    Ok((bytes, size))
}

struct Sender<'s> {
    stream: &'s TcpStream,
    log: &'s Log,
}

impl Sender<'_> {
    /// Sends several ranges of a file.
    fn parts(&mut self, file: &Path, ranges: &[(usize, usize)]) -> Option<()> {
        let mut body = Vec::new();
        for (from, to) in ranges {
            let (bytes, size) = read(file, Some((*from, *to))).ok()?;
            let head = format!("\r\n--part\r\nContent-Range: bytes {from}-{to}/{size}\r\n\r\n");
            body.extend([head.as_bytes(), &bytes].concat());
        }
        body.extend_from_slice(b"\r\n--part--\r\n");
        let of = "multipart/byteranges; boundary=part";
        let length = body.len();
        self.head(&format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Type: {of}\r\nContent-Length: {length}"
        ))?;
        self.body(&body)
    }

    fn head(&mut self, head: &str) -> Option<()> {
        self.stream.write_all(format!("{head}\r\n\r\n").as_bytes()).ok()
    }

    fn body(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.write_all(bytes).ok()?;
        self.log.sent_bytes.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        Some(())
    }

    fn chunk(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).ok()?;
        self.body(bytes)?;
        self.stream.write_all(b"\r\n").ok()
    }
}
