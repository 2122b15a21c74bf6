//! Damaged files of a complete snapshot: the answers stay right, and the files are mended.

use std::{
    fs::{self, File},
    net::SocketAddr,
    os::unix::fs::{FileExt, PermissionsExt},
    path::Path,
};

use pinakes_tests::client::Connection;
use pinakes_tests::server::Server;
use pinakes_tests::static_host::Host;

use crate::upstream::setup::{Edition, Mirror, all_kinds, wait_until};

/// Flips a bit at the first byte of a file and at every `step` bytes behind, and leaves the file's mode as it is.
fn flip(path: &Path, step: usize) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    let file = File::options().read(true).write(true).open(path).unwrap();
    for at in (0..file.metadata().unwrap().len()).step_by(step) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
}

/// The number of mended chunks that the metrics show.
fn mended(admin: SocketAddr) -> u64 {
    let metrics = Connection::open(admin).get("/metrics");
    let name = "pinakes_mirror_mended_chunks_total ";
    let count = metrics.text().lines().find_map(|line| line.strip_prefix(name));
    count.expect("the metric is there").parse().unwrap()
}

fn assert_disk_is_named(server: &Server) {
    let issues = || server.get("/health").json()["troubles"].to_string();
    wait_until("health names the disk", || issues().contains("disk_damaged"));
}

/// Serves a complete snapshot with a damaged file, and asserts that the answers are right.
fn serve_damaged(file: &str, step: usize) -> Mirror {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::pulled(&host.url());
    let place = mirror.snapshot(Edition::Old);
    flip(&place.join(file), step);
    host.take_sent_bytes();
    let mut server = mirror.start(&host.url(), &["--admin", "127.0.0.1:0"]);
    let admin = server.read_admin_address();
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    assert!(
        host.asked().iter().any(|asked| asked.path.ends_with(file)),
        "`{file}` is not fetched again"
    );
    assert_disk_is_named(&server);
    assert!(mended(admin) > 0);
    let mode = fs::metadata(place.join(file)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o444, "{file}");
    server.end(&["the disk lied"]);
    mirror
}

fn assert_mended(mirror: &Mirror, file: &str) {
    let [is, was] = [mirror.snapshot(Edition::Old), Edition::Old.snapshot()]
        .map(|at| fs::read(at.join(file)).unwrap());
    assert!(is == was, "`{file}` differs");
}

#[test]
fn damaged_records_are_mended() {
    // The requests read a whole list of authors.
    let mirror = serve_damaged("authors/records", 100_000);
    assert_mended(&mirror, "authors/records");
    // A mended chunk needs no host.
    let server = Server::start(&mut mirror.command(&[]));
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    server.end(&[]);
}

#[test]
fn damaged_hashes_are_mended() {
    // Byte 0 and all steps lie in hashes of chunks, of which the requests need many.
    serve_damaged("hashes", 4_096);
}

#[test]
fn each_file_with_a_damaged_beginning_is_mended() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::pulled(&host.url());
    let place = mirror.snapshot(Edition::Old);
    let names: Vec<String> = pinakes_tests::files_below(&place)
        .into_keys()
        .filter(|name| name != "manifest.json")
        .collect();
    for name in &names {
        flip(&place.join(name), usize::MAX);
    }
    let server = mirror.start(&host.url(), &[]);
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    server.end(&["the disk lied"]);
    for file in ["outputs/records", "authors/records", "outputs/ids"] {
        assert_mended(&mirror, file);
    }
}

#[test]
fn damage_without_a_host_makes_no_wrong_answer() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::pulled(&host.url());
    flip(&mirror.snapshot(Edition::Old).join("authors/records"), 8_192);
    let server = mirror.start("http://127.0.0.1:1", &["--fetch-timeout", "1"]);
    let right =
        all_kinds().iter().filter(|asked| asked.assert_right_or_unavailable(&server)).count();
    assert!((1..all_kinds().len()).contains(&right), "{right} right answers");
}
