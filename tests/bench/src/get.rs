//! One record over a keep-alive connection, against a bare warp handler with the same bytes.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::Instant,
};

use pinakes_format::{entity::Entity, snapshot::Snapshot};
use warp::Filter;

use crate::{Result, process::beside};

/// Rounds of each, in turn.
const ROUNDS: usize = 7;
/// Requests in a round.
const REQUESTS: usize = 20_000;

/// A server that is stopped when it is no longer needed.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(command: &mut Command) -> Result<Server> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Server { child, address })
    }
}

/// Serves a file's bytes until killed.
pub fn serve_bare(file: &Path) -> Result<()> {
    let body = bytes::Bytes::from(std::fs::read(file)?);
    let handler = warp::path!("record").map(move || {
        http::Response::builder()
            .header("content-type", "application/json")
            .body(body.clone())
            .unwrap_or_default()
    });
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}", listener.local_addr()?);
        warp::serve(handler).incoming(listener).run().await;
        Ok(())
    })
}

/// Measures both in turn and prints the medians.
pub fn run(snapshots: &Path, dir: &Path) -> Result<()> {
    let snapshot = Snapshot::open(&snapshots.join("current").canonicalize()?)?;
    let mut path = b"/outputs/".to_vec();
    let row = snapshot.count(Entity::Output) / 2;
    Entity::Output.write_id(snapshot.row_id(Entity::Output, row)?, &mut path);
    let path = String::from_utf8(path)?;

    let ours = Server::start(
        Command::new(beside("pinakes-server")?)
            .args(["--listen", "127.0.0.1:0", "--snapshots"])
            .arg(snapshots),
    )?;
    let body = Client::connect(&ours.address)?.get(&path)?;
    let file = dir.join("record.json");
    std::fs::write(&file, &body)?;
    let bare = Server::start(Command::new(std::env::current_exe()?).arg("bare").arg(&file))?;

    let (mut own, mut ceiling) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        own.push(round(&ours.address, &path, body.len())?);
        ceiling.push(round(&bare.address, "/record", body.len())?);
    }
    own.sort_by(f64::total_cmp);
    ceiling.sort_by(f64::total_cmp);
    let (own, ceiling) = (own[ROUNDS / 2], ceiling[ROUNDS / 2]);
    println!(
        "\nGET {path}, {} bytes, one keep-alive connection, median of {ROUNDS} rounds",
        body.len()
    );
    println!(
        "  pinakes-server {own:.0} requests/s; bare warp handler {ceiling:.0} requests/s; ratio {:.2}",
        own / ceiling
    );
    Ok(())
}

/// Requests a second over one connection.
fn round(address: &str, path: &str, expected_bytes: usize) -> Result<f64> {
    let mut client = Client::connect(address)?;
    let begun = Instant::now();
    for _ in 0..REQUESTS {
        if client.get(path)?.len() != expected_bytes {
            return Err("an answer of another length".into());
        }
    }
    Ok(REQUESTS as f64 / begun.elapsed().as_secs_f64())
}

/// A client of one connection that does no more than it must.
struct Client {
    stream: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Client {
    fn connect(address: &str) -> Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Client { stream: BufReader::with_capacity(1 << 16, stream), body: Vec::new() })
    }

    fn get(&mut self, path: &str) -> Result<Vec<u8>> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if line.is_empty() {
                break;
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)?;
        Ok(self.body.clone())
    }
}
