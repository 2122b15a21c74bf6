//! Processes that serve buckets: moto and s3rver, which `.ci/run` installs.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    time::{Duration, Instant},
};

use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};

use crate::{files_below, root, skip};

/// The key and the secret that both stores take.
pub const CREDENTIAL: &str = "S3RVER";
const SIGNED_FOR: Duration = Duration::from_secs(600);
/// How long a store may take to answer while it starts.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);

/// A store of buckets that runs until it is dropped.
pub struct BucketStore {
    child: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Drop for BucketStore {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl BucketStore {
    /// Starts moto, or prints that `test` is skipped.
    pub fn moto(test: &str) -> Option<BucketStore> {
        let own = root().join("target/moto/bin/moto_server");
        let program = if own.is_file() { own } else { PathBuf::from("moto_server") };
        let run = |port: &str, _: &Path| {
            let mut command = Command::new(&program);
            command.args(["-H", "127.0.0.1", "-p", port]);
            command
        };
        BucketStore::start(run).or_else(|| {
            skip(test, "no moto_server; .ci/run installs it into target/moto");
            None
        })
    }

    /// Starts s3rver, or prints that `test` is skipped.
    pub fn s3rver(test: &str) -> Option<BucketStore> {
        let program = root().join("target/s3rver/node_modules/.bin/s3rver");
        let run = |port: &str, directory: &Path| {
            let mut command = Command::new(&program);
            command.args(["-a", "127.0.0.1", "-p", port, "-d"]).arg(directory);
            // The store encrypts the tokens of a list with a cipher that OpenSSL 3 calls legacy.
            command.env("NODE_OPTIONS", "--openssl-legacy-provider");
            command
        };
        BucketStore::start(run).or_else(|| {
            skip(test, "no s3rver; .ci/run installs it into target/s3rver");
            None
        })
    }

    /// Starts every store that is installed.
    pub fn all(test: &str) -> Vec<BucketStore> {
        [BucketStore::moto(test), BucketStore::s3rver(test)].into_iter().flatten().collect()
    }

    fn start(run: impl Fn(&str, &Path) -> Command) -> Option<BucketStore> {
        let begun = Instant::now();
        loop {
            let directory = tempfile::tempdir().unwrap();
            let port = unused_port();
            let mut command = run(&port.to_string(), directory.path());
            let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
            let mut store = BucketStore { child, port, _directory: directory };
            if store.answers(begun) {
                return Some(store);
            }
        }
    }

    /// Waits until the store answers; false if it ended, because another program took its port.
    fn answers(&mut self, begun: Instant) -> bool {
        while self.child.try_wait().unwrap().is_none() {
            let ask = ureq::get(self.endpoint()).config().timeout_global(Some(ASK_TIMEOUT)).build();
            match ask.call() {
                Ok(_) | Err(ureq::Error::StatusCode(_)) => return true,
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the store does not answer");
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the store ends");
        false
    }

    /// The port on which the store listens at 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn bucket(&self, name: &str) -> Bucket {
        let url = self.endpoint().parse().unwrap();
        Bucket::new(url, UrlStyle::Path, name.to_owned(), "us-east-1").unwrap()
    }

    /// Makes a bucket.
    pub fn create(&self, bucket: &str) {
        let url = self.bucket(bucket).create_bucket(&credentials()).sign(SIGNED_FOR);
        ureq::put(url.as_str()).send_empty().unwrap();
    }

    pub fn put(&self, bucket: &str, key: &str, bytes: &[u8]) {
        let bucket = self.bucket(bucket);
        let url = bucket.put_object(Some(&credentials()), key).sign(SIGNED_FOR);
        ureq::put(url.as_str()).send(bytes).unwrap();
    }

    /// Writes a file that everybody may read.
    pub fn put_public(&self, bucket: &str, key: &str, bytes: &[u8]) {
        let (bucket, credentials) = (self.bucket(bucket), credentials());
        let mut put = bucket.put_object(Some(&credentials), key);
        put.headers_mut().insert("x-amz-acl", "public-read");
        let url = put.sign(SIGNED_FOR);
        ureq::put(url.as_str()).header("x-amz-acl", "public-read").send(bytes).unwrap();
    }

    pub fn get(&self, bucket: &str, key: &str) -> Vec<u8> {
        let url = self.bucket(bucket).get_object(Some(&credentials()), key).sign(SIGNED_FOR);
        let mut reply = ureq::get(url.as_str()).call().unwrap();
        reply.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap()
    }

    /// Writes every file below a directory, or one file, under a prefix.
    pub fn upload(&self, bucket: &str, prefix: &str, from: &Path) {
        if from.is_file() {
            let name = from.file_name().unwrap().to_str().unwrap();
            return self.put(bucket, &format!("{prefix}/{name}"), &fs::read(from).unwrap());
        }
        for (name, bytes) in files_below(from) {
            self.put(bucket, &format!("{prefix}/{name}"), &bytes);
        }
    }
}

/// A port on which nothing listens. A store takes a second to listen on it, so the port is below those that the system
/// hands out meanwhile, and each call returns another.
fn unused_port() -> u16 {
    static RETURNED: AtomicU16 = AtomicU16::new(0);
    // Tests of several processes begin at different ports.
    let first = 10_000 + (std::process::id() % 200) as u16 * 100;
    loop {
        let port = first + RETURNED.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn credentials() -> Credentials {
    Credentials::new(CREDENTIAL, CREDENTIAL)
}

/// Sets the variables with which the compiler asks a store at an endpoint.
pub fn sign_for<'c>(command: &'c mut Command, endpoint: &str) -> &'c mut Command {
    command
        .env("AWS_ENDPOINT_URL", endpoint)
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", CREDENTIAL)
        .env("AWS_SECRET_ACCESS_KEY", CREDENTIAL)
}
