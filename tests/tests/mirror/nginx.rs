//! Pulls from a real nginx over HTTP and HTTPS.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use pinakes_format::storage::publication::PUBLICATION;
use pinakes_tests::certificates::LOCALHOST;
use pinakes_tests::skip;

use crate::mirror::setup::{Edition, Setup};

/// An nginx process that serves a tree until it is dropped.
struct Nginx {
    child: Child,
    ports: [u16; 2],
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The path of nginx; prints a skip message and returns `None` if nginx is not installed.
fn program(test: &str) -> Option<PathBuf> {
    let places = ["nginx", "/usr/sbin/nginx"].map(PathBuf::from);
    let found = places.into_iter().find(|nginx| {
        let asked = Command::new(nginx).arg("-v").stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    });
    if found.is_none() {
        skip(test, "no nginx; .ci/run installs it");
    }
    found
}

impl Nginx {
    fn start(setup: &Setup, test: &str) -> Option<Nginx> {
        let nginx = program(test)?;
        let at = |name: &str| setup.path().join(name);
        fs::write(at("tls.crt"), LOCALHOST.certificate).unwrap();
        fs::write(at("tls.key"), LOCALHOST.key).unwrap();
        // nginx workers run as another user.
        fs::set_permissions(setup.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let ports = [port(), port()];
        let own = setup.path().display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {own}/{name};"))
            .join("\n");
        let text = format!(
            "daemon off;\nmaster_process off;\npid {own}/nginx.pid;\nerror_log {own}/nginx.log;\n\
             events {{}}\nhttp {{\naccess_log off;\n{temporary}\nserver {{\nroot {own}/tree;\n\
             listen 127.0.0.1:{};\nlisten 127.0.0.1:{} ssl;\nssl_certificate {own}/tls.crt;\n\
             ssl_certificate_key {own}/tls.key;\n}}\n}}\n",
            ports[0], ports[1]
        );
        fs::write(at("nginx.conf"), text).unwrap();
        let child = Command::new(nginx)
            .args(["-e".as_ref(), at("nginx.log").as_os_str()])
            .args(["-c".as_ref(), at("nginx.conf").as_os_str()])
            .spawn()
            .unwrap();
        let nginx = Nginx { child, ports };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", nginx.ports[1])).is_err() {
            let log = fs::read_to_string(at("nginx.log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(30), "nginx does not listen: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(nginx)
    }
}

#[test]
fn nginx_serves_snapshots_and_objects() {
    let setup = Setup::new();
    let objects = Edition::Old.objects();
    setup.publish(Edition::Old, &["--objects", objects.to_str().unwrap()]);
    let Some(nginx) = Nginx::start(&setup, "nginx_serves_snapshots_and_objects") else { return };
    let url = format!("http://127.0.0.1:{}/", nginx.ports[0]);
    setup.assert_current(Edition::Old, &setup.pull(&url, &[]));
    setup.publish(Edition::New, &["--objects", Edition::New.objects().to_str().unwrap()]);
    let fetched = setup.path().join("fetched");
    let pulled = setup.pull(&url, &["--objects", fetched.to_str().unwrap()]);
    setup.assert_current(Edition::New, &pulled);
    // The host may publish an older snapshot again: its version is that of the publication.
    setup.publish(Edition::Tiny, &[]);
    setup.assert_current(Edition::Tiny, &setup.pull(&url, &[]));
}

#[test]
fn https_requires_a_trusted_certificate() {
    let setup = Setup::with(Edition::Old);
    let Some(nginx) = Nginx::start(&setup, "https_requires_a_trusted_certificate") else {
        return;
    };
    let url = format!("https://localhost:{}", nginx.ports[1]);
    let refused = setup.pull(&url, &["--quiet"]);
    let error = format!("error: `{url}/{PUBLICATION}`: invalid peer certificate: ");
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.starts_with(&error), "{}", refused.stderr);
    let certificate = setup.path().join("tls.crt");
    let pulled = setup.pull(&url, &["--tls-ca", certificate.to_str().unwrap()]);
    setup.assert_current(Edition::Old, &pulled);
}
