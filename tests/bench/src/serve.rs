//! Starts servers to measure and a bare warp handler as their ceiling, and has a minimal HTTP client.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use warp::Filter;

use crate::{Result, process::sibling_program};

/// A server process; dropping this kills the process.
pub struct Server {
    child: Child,
    /// Address and port, such as `127.0.0.1:8080`.
    pub address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts `pinakes-server` without request limits.
    pub fn pinakes(snapshots: &Path) -> Result<Server> {
        Server::pinakes_with(snapshots, &["--no-limits"])
    }

    /// Starts `pinakes-server` with additional arguments.
    pub fn pinakes_with(snapshots: &Path, arguments: &[&str]) -> Result<Server> {
        Server::start(Server::command(snapshots, arguments)?.stderr(Stdio::null()))
    }

    /// Starts `pinakes-server` with its log in a file.
    pub fn pinakes_logging(snapshots: &Path, arguments: &[&str], log: &Path) -> Result<Server> {
        let mut command = Server::command(snapshots, arguments)?;
        Server::start(command.stderr(std::fs::File::create(log)?))
    }

    fn command(snapshots: &Path, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(sibling_program("pinakes-server")?);
        command.args(["--listen", "127.0.0.1:0", "--snapshots"]).arg(snapshots).args(arguments);
        Ok(command)
    }

    /// Starts [`serve_bare`] in another process.
    pub fn bare(files: &[PathBuf]) -> Result<Server> {
        let mut command = Command::new(std::env::current_exe()?);
        Server::start(command.arg("bare").args(files).stderr(Stdio::null()))
    }

    fn start(command: &mut Command) -> Result<Server> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Server { child, address })
    }
}

/// Path of the file with this number on a bare server.
pub fn bare_path(file: usize) -> String {
    format!("/file/{file}")
}

/// Serves files from memory until the process is killed.
pub fn serve_bare(files: &[PathBuf]) -> Result<()> {
    let read = |file: &PathBuf| Ok(bytes::Bytes::from(std::fs::read(file)?));
    let bodies = files.iter().map(read).collect::<Result<Vec<_>>>()?;
    let handler = warp::path!("file" / usize).map(move |file: usize| {
        http::Response::builder()
            .header("content-type", "application/json")
            .body(bodies.get(file).cloned().unwrap_or_default())
            .unwrap_or_default()
    });
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}", listener.local_addr()?);
        warp::serve(handler).incoming(listener).run().await;
        Ok(())
    })
}

/// An HTTP client with one keep-alive connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Client {
    pub fn connect(address: &str) -> Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Client { stream: BufReader::with_capacity(1 << 16, stream), body: Vec::new() })
    }

    /// Sends a GET and returns the body; fails unless the status is 200.
    pub fn get(&mut self, path: &str) -> Result<&[u8]> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut length = 0;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if !line.starts_with("HTTP/1.1 200 ") {
            return Err(format!("GET {path}: the status line is `{}`", line.trim_end()).into());
        }
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
        Ok(&self.body)
    }
}
