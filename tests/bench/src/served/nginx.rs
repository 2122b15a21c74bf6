//! Serves files by nginx, as a peer of a server of records.

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{Result, serve::Client};

/// An nginx process; dropping this ends the process.
pub struct Nginx {
    child: Child,
    /// Address and port.
    pub address: String,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM, so that the master process ends its workers.
        let id = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// Whether nginx is installed.
pub fn is_installed() -> bool {
    Command::new("nginx").arg("-v").stderr(Stdio::null()).status().is_ok()
}

impl Nginx {
    /// Serves the files of a directory, which stay open and in the page cache.
    pub fn start(files: &Path, dir: &Path) -> Result<Nginx> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (files, dir) = (files.canonicalize()?, dir.canonicalize()?);
        let user = if rustix::process::getuid().is_root() { "user root;" } else { "" };
        let config = format!(
            "{user} worker_processes auto; daemon off; pid {dir}/nginx.pid; error_log {dir}/nginx.log;\n\
             events {{ worker_connections 1024; }}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;\n\
             default_type application/json; open_file_cache max=10000 inactive=60s; open_file_cache_valid 1s; client_body_temp_path {dir}/nginx-tmp;\n\
             server {{ listen 127.0.0.1:{port}; root {files}; }} }}\n",
            dir = dir.display(),
            files = files.display(),
        );
        let path = dir.join("nginx.conf");
        std::fs::write(&path, config)?;
        let child = Command::new("nginx").arg("-c").arg(&path).stderr(Stdio::null()).spawn()?;
        let nginx = Nginx { child, address: format!("127.0.0.1:{port}") };
        for _ in 0..100 {
            if Client::connect(&nginx.address).is_ok() {
                return Ok(nginx);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("nginx does not listen".into())
    }
}
