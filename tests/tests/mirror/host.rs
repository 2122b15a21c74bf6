//! A host of static files that does what a test has it do, and counts what it is asked.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its path, without the first slash.
    pub path: String,
    /// The bytes of its range, the last included.
    pub range: Option<(usize, usize)>,
    /// How often the path was asked for before.
    pub before: usize,
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub enum Does {
    /// What is asked for is sent.
    Serves,
    /// All of the file is sent, range or not.
    ServesWhole,
    /// The file as it would be with these bytes.
    ServesOther(Vec<u8>),
    /// So many bytes of the body are sent, and the connection closed.
    Cuts(usize),
    /// So many bytes of the body are sent, and then nothing for good.
    Stalls(usize),
    /// The connection is closed without a reply.
    Leaves,
    /// A byte, and another after so long, for good.
    Drips(Duration),
    /// The body, and zeros for good, in chunks of HTTP's.
    Endless,
    /// A head and a body, as they are.
    Says(String, Vec<u8>),
}

type Rule = dyn Fn(&Asked) -> Does + Send + Sync;

/// What it is asked, and what it sent.
#[derive(Default)]
struct Log {
    asked: Mutex<Vec<Asked>>,
    sent_bytes: AtomicU64,
}

/// A host that listens until the process ends.
pub struct Host {
    address: SocketAddr,
    log: Arc<Log>,
}

impl Host {
    /// One that serves a tree.
    pub fn of(tree: PathBuf) -> Host {
        Host::that(tree, |_| Does::Serves)
    }

    /// One that does what a rule says.
    pub fn that(tree: PathBuf, rule: impl Fn(&Asked) -> Does + Send + Sync + 'static) -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log::default());
        let (rule, kept): (Arc<Rule>, _) = (Arc::new(rule), Arc::clone(&log));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (tree, rule, log) = (tree.clone(), Arc::clone(&rule), Arc::clone(&kept));
                // A client that leaves ends its thread.
                thread::spawn(move || while answer(&stream, &tree, &*rule, &log).is_some() {});
            }
        });
        Host { address, log }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.log.asked.lock().unwrap().clone()
    }

    /// Bytes of bodies so far, and forgets them.
    pub fn take_sent_bytes(&self) -> u64 {
        self.log.asked.lock().unwrap().clear();
        self.log.sent_bytes.swap(0, Ordering::SeqCst)
    }

    pub fn sent_bytes(&self) -> u64 {
        self.log.sent_bytes.load(Ordering::SeqCst)
    }
}

/// Answers one request; `None` where the connection is to be closed.
fn answer(stream: &TcpStream, tree: &std::path::Path, rule: &Rule, log: &Log) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let path = first.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    let mut range = None;
    loop {
        let line = lines.next()?.ok()?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(given) = line.strip_prefix("range: bytes=") {
            let (from, to) = given.split_once('-')?;
            range = Some((from.parse().ok()?, to.parse().ok()?));
        }
    }
    let asked = {
        let mut asked = log.asked.lock().unwrap();
        let before = asked.iter().filter(|asked| asked.path == path).count();
        asked.push(Asked { path: path.clone(), range, before });
        asked.last().unwrap().clone()
    };
    let does = rule(&asked);
    let mut out = Sender { stream, log };
    if let Does::Says(head, body) = &does {
        out.head(head)?;
        return out.body(body);
    }
    if matches!(does, Does::Leaves) {
        let _ = stream.shutdown(std::net::Shutdown::Both);
        return None;
    }
    let read = match &does {
        Does::ServesOther(bytes) => Ok(bytes.clone()),
        _ => fs::read(tree.join(&path)),
    };
    let Ok(bytes) = read else {
        return out.head("HTTP/1.1 404 Not Found\r\nContent-Length: 0");
    };
    let size = bytes.len();
    let is_part = range.is_some() && !matches!(does, Does::ServesWhole);
    let (head, body) = match range.filter(|_| is_part) {
        Some((from, to)) => {
            let body = &bytes[from..=to.min(size - 1)];
            let head =
                format!("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {from}-{to}/{size}");
            (head, body)
        }
        None => ("HTTP/1.1 200 OK".to_owned(), &bytes[..]),
    };
    if matches!(does, Does::Endless) {
        out.head(&format!("{head}\r\nTransfer-Encoding: chunked"))?;
        out.chunk(body)?;
        loop {
            out.chunk(&[0; 4_096])?;
        }
    }
    out.head(&format!("{head}\r\nContent-Length: {}", body.len()))?;
    match does {
        Does::Cuts(count) => {
            out.body(&body[..count.min(body.len())])?;
            let _ = stream.shutdown(std::net::Shutdown::Both);
            None
        }
        Does::Stalls(count) => {
            out.body(&body[..count.min(body.len())])?;
            loop {
                thread::park();
            }
        }
        Does::Drips(pause) => {
            for byte in body {
                out.body(&[*byte])?;
                thread::sleep(pause);
            }
            Some(())
        }
        _ => out.body(body),
    }
}

struct Sender<'s> {
    stream: &'s TcpStream,
    log: &'s Log,
}

impl Sender<'_> {
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
