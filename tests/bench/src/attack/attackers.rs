//! The kinds of attackers, each with loopback addresses of its own.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time,
};

/// Receive buffer of an attacker that reads little.
const RECEIVE_BUFFER_BYTES: u32 = 4 << 10;
/// What a slow reader takes at once, and how long it then waits: enough to stay connected.
const SIP_BYTES: usize = 16 << 10;
const SIP_PAUSE: Duration = Duration::from_millis(700);

/// What an attacker does.
#[derive(Clone, Copy, Debug)]
pub enum Attack {
    SlowHead,
    SlowBody,
    NeverReads,
    ReadsSlowly,
    Floods,
    Holds,
    Searches,
}

/// Number of attackers of each kind, and how many share an address: in order of the kinds.
pub const ATTACKERS: [(Attack, u32); 7] = [
    (Attack::SlowHead, 1_000),
    (Attack::SlowBody, 300),
    (Attack::NeverReads, 300),
    (Attack::ReadsSlowly, 90),
    (Attack::Floods, 3),
    (Attack::Holds, 1_500),
    (Attack::Searches, 12),
];

impl Attack {
    /// A description for the terminal.
    pub fn what(self) -> &'static str {
        match self {
            Attack::SlowHead => "clients that send a head, one byte a second",
            Attack::SlowBody => "clients that send a body, one byte a second",
            Attack::NeverReads => "clients that ask for twenty pages and read nothing",
            Attack::ReadsSlowly => "clients on 30 networks that read pages of 78 MB at 23 KB/s",
            Attack::Floods => "clients that ask for uncounted paths without a pause",
            Attack::Holds => "clients that hold a connection by a request every 3 s",
            Attack::Searches => {
                "clients on 4 networks that search for 100 alternatives without a pause"
            }
        }
    }

    /// The loopback address of the attacker with a number: at most 60 share one, and each network of the
    /// slow readers has three.
    fn source(self, number: u32) -> Ipv4Addr {
        let (network, host) = match self {
            Attack::ReadsSlowly => (number % 30, number / 30),
            Attack::Searches => (number % 4, number / 4),
            _ => (number / 6_000, number / 60 % 100),
        };
        Ipv4Addr::new(127, 10 + self as u8, network as u8, host as u8 + 1)
    }
}

/// Runs one attacker. Returns the time until the server closed a slow sender's connection; `None` if it never did.
pub async fn attack(
    kind: Attack,
    address: SocketAddr,
    number: u32,
    duration: Duration,
) -> Option<Duration> {
    let begun = Instant::now();
    let source = kind.source(number);
    while begun.elapsed() < duration {
        let stream = connect(address, source).await;
        let Ok(stream) = stream else {
            time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        let left = duration.saturating_sub(begun.elapsed());
        // An attacker whose connection the server closed comes again.
        let _ = match kind {
            Attack::SlowHead => return drip(stream, SLOW_HEAD, left).await,
            Attack::SlowBody => return drip(stream, SLOW_BODY, left).await,
            Attack::NeverReads => hold_unread(stream, left).await,
            Attack::ReadsSlowly => read_slowly(stream, left).await,
            Attack::Floods => flood(stream, left).await,
            Attack::Holds => hold(stream, left).await,
            Attack::Searches => search(stream, left).await,
        };
    }
    None
}

const SLOW_HEAD: &str = "GET /outputs HTTP/1.1\r\nHost: x\r\nX-A: ";
const SLOW_BODY: &str = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                         Content-Length: 60000\r\n\r\n{";

async fn connect(address: SocketAddr, source: Ipv4Addr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((source, 0).into())?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    socket.connect(address).await
}

/// Sends a beginning, and then one byte a second, until the server closes the connection.
async fn drip(mut stream: TcpStream, beginning: &str, left: Duration) -> Option<Duration> {
    let begun = Instant::now();
    let _ = stream.write_all(beginning.as_bytes()).await;
    while begun.elapsed() < left {
        time::sleep(Duration::from_secs(1)).await;
        if stream.write_all(b"a").await.is_err() {
            return Some(begun.elapsed());
        }
    }
    None
}

async fn hold_unread(mut stream: TcpStream, left: Duration) -> std::io::Result<()> {
    let pages = "GET /outputs?per_page=100 HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20);
    stream.write_all(pages.as_bytes()).await?;
    // It cannot see that the server closes the connection.
    time::sleep(left.min(Duration::from_secs(20))).await;
    Ok(())
}

async fn read_slowly(mut stream: TcpStream, left: Duration) -> std::io::Result<()> {
    let begun = Instant::now();
    stream.write_all(b"GET /outputs?per_page=100 HTTP/1.1\r\nHost: x\r\n\r\n").await?;
    let mut sip = vec![0; SIP_BYTES];
    while begun.elapsed() < left && stream.read(&mut sip).await? > 0 {
        time::sleep(SIP_PAUSE).await;
    }
    Ok(())
}

async fn flood(mut stream: TcpStream, left: Duration) -> std::io::Result<()> {
    let begun = Instant::now();
    let requests =
        "HEAD /docs/swagger-ui.js HTTP/1.1\r\nHost: x\r\n\r\nGET /nope HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut reply = vec![0; 64 << 10];
    while begun.elapsed() < left {
        stream.write_all(requests.as_bytes()).await?;
        if stream.read(&mut reply).await? == 0 {
            break;
        }
    }
    Ok(())
}

async fn hold(mut stream: TcpStream, left: Duration) -> std::io::Result<()> {
    let begun = Instant::now();
    let mut reply = vec![0; 4 << 10];
    while begun.elapsed() < left {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").await?;
        if stream.read(&mut reply).await? == 0 {
            break;
        }
        time::sleep(Duration::from_secs(3)).await;
    }
    Ok(())
}

async fn search(mut stream: TcpStream, left: Duration) -> std::io::Result<()> {
    let begun = Instant::now();
    let letters = || b'a'..=b'z';
    let words = letters().flat_map(|first| letters().map(move |second| [first, second, b'a']));
    let words: Vec<String> =
        words.take(100).map(|word| String::from_utf8_lossy(&word).into_owned()).collect();
    let filter = format!("name.search:{}", words.join("|"));
    let request =
        format!("GET /authors?filter={filter}&sort=name:desc HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut reply = vec![0; 64 << 10];
    while begun.elapsed() < left {
        stream.write_all(request.as_bytes()).await?;
        if stream.read(&mut reply).await? == 0 {
            break;
        }
    }
    Ok(())
}
