//! Pulls from an S3-compatible endpoint: moto, which `.ci/run` installs into `target/moto`.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use pinakes_tests::files_below;
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};

use crate::host::{Behaviour, Host};
use crate::setup::{Edition, Run, Setup};

/// A moto process without buckets that runs until it is dropped.
struct Moto {
    child: Child,
    endpoint: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Moto {
    /// Starts moto; prints a skip message and returns `None` if moto is not installed.
    fn start(test: &str) -> Option<Moto> {
        let own = pinakes_tests::root().join("target/moto/bin/moto_server");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let start = |program: PathBuf| {
            Command::new(program)
                .args(["-H", "127.0.0.1", "-p", &port.to_string()])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        };
        let Ok(child) = start(own).or_else(|_| start(PathBuf::from("moto_server"))) else {
            eprintln!("skipped: {test}: no moto_server; .ci/run installs it into target/moto");
            return None;
        };
        let moto = Moto { child, endpoint: format!("http://127.0.0.1:{port}") };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "moto does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(moto)
    }

    fn bucket(&self) -> Bucket {
        let url = self.endpoint.parse().unwrap();
        Bucket::new(url, UrlStyle::Path, "mirrors", "eu-central-1").unwrap()
    }
}

/// The credentials that the test also passes as `AWS_…` variables.
fn credentials() -> Credentials {
    Credentials::new("reader", "a word that moto takes")
}

const SIGNED_FOR: Duration = Duration::from_secs(600);

/// Uploads a tree under a prefix, the publication last.
fn upload(moto: &Moto, setup: &Setup) {
    let (bucket, credentials) = (moto.bucket(), credentials());
    let agent = ureq::Agent::new_with_defaults();
    let made = bucket.create_bucket(&credentials).sign(SIGNED_FOR);
    agent.put(made.as_str()).send_empty().unwrap();
    let (last, first): (Vec<_>, Vec<_>) = files_below(&setup.tree())
        .into_iter()
        .partition(|(name, _)| name.starts_with("publication."));
    for (name, bytes) in first.into_iter().chain(last) {
        let key = format!("openalex/full/{name}");
        let url = bucket.put_object(Some(&credentials), &key).sign(SIGNED_FOR);
        agent.put(url.as_str()).send(&bytes[..]).unwrap();
    }
}

/// Pulls from the bucket at an endpoint, with credentials.
fn pull_signed(setup: &Setup, endpoint: &str, more: &[&str]) -> Run {
    let pubkey = setup.pubkey("ours");
    let arguments = [&["--pubkey", pubkey.to_str().unwrap()], more].concat();
    let output = setup
        .pull_command("s3://mirrors/openalex/full", &arguments)
        .env("AWS_ENDPOINT_URL", endpoint)
        .env("AWS_REGION", "eu-central-1")
        .env("AWS_ACCESS_KEY_ID", "reader")
        .env("AWS_SECRET_ACCESS_KEY", "a word that moto takes")
        .output()
        .unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_bucket_is_pulled_with_signed_urls() {
    let setup = Setup::new();
    setup.publish(Edition::Old, &["--objects", Edition::Old.objects().to_str().unwrap()]);
    let Some(moto) = Moto::start("a_bucket_is_pulled_with_signed_urls") else { return };
    upload(&moto, &setup);
    let objects = setup.path().join("fetched");
    for more in [&[][..], &["--objects", objects.to_str().unwrap()][..]] {
        let pulled = pull_signed(&setup, &moto.endpoint, more);
        setup.assert_current(Edition::Old, &pulled);
        let text = fs::read_to_string(setup.out().join("publications/seen.json")).unwrap();
        assert!(text.contains("\"address s3://mirrors/openalex/full\""), "{text}");
        assert!(!pulled.stderr.contains("X-Amz"), "{}", pulled.stderr);
        pinakes_tests::server::make_writable(&setup.out());
        fs::remove_dir_all(setup.out()).unwrap();
    }
}

#[test]
fn a_redirect_to_another_host_carries_no_signature() {
    let setup = Setup::new();
    setup.publish(Edition::Old, &[]);
    let other = Host::new(setup.tree());
    let url = other.url();
    let endpoint = Host::with_rule(setup.tree(), move |request| {
        let path = request.path.trim_start_matches("mirrors/openalex/full/");
        let path = path.split('?').next().unwrap();
        let head = format!("HTTP/1.1 307 Moved\r\nLocation: {url}/{path}\r\nContent-Length: 0");
        Behaviour::Replies(head, Vec::new())
    });
    let pulled = pull_signed(&setup, &endpoint.url(), &[]);
    setup.assert_current(Edition::Old, &pulled);
    assert!(endpoint.asked().iter().all(|request| request.path.contains("X-Amz-Signature=")));
    let asked = other.asked();
    assert!(asked.len() > 2 && asked.iter().all(|request| !request.path.contains('?')));
}
