//! Another program overwrites, cuts or removes files of a mirror: the server notices the change, and fetches the chunks
//! again.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, symlink},
    path::Path,
};

use pinakes_tests::make_writable;
use pinakes_tests::server::Server;
use pinakes_tests::static_host::{Behaviour, Host};

use crate::upstream::setup::{Asked, Edition, Mirror, all_kinds, wait_until};

/// An address at which nobody listens.
const NOWHERE: &str = "http://127.0.0.1:1";

fn assert_all_right(server: &Server) {
    all_kinds().iter().for_each(|asked| asked.assert_right(server));
}

fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    File::options().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

fn zero(path: &Path) {
    write_at(path, 0, &vec![0; fs::metadata(path).unwrap().len() as usize]);
}

/// Changes a byte in the middle of a file.
fn change_byte(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let at = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    write_at(path, at as u64, &[bytes[at] ^ 1]);
}

fn cut(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
}

fn remove(path: &Path) {
    fs::remove_file(path).unwrap();
}

type Change = fn(&Path);

#[test]
fn a_file_that_is_overwritten_is_noticed_and_fetched_anew() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &[]);
    let changes: [(&str, Change); 6] = [
        ("authors/names", zero),
        ("authors/names", change_byte),
        ("outputs/records", zero),
        ("outputs/ids", change_byte),
        ("hashes", zero),
        ("hashes", change_byte),
    ];
    for (file, change) in changes {
        assert_all_right(&server);
        host.take_sent_bytes();
        let noticed = "a published file was written to or touched";
        let before = server.log().matches(noticed).count();
        change(&mirror.snapshot(Edition::Old).join(file));
        wait_until(file, || server.log().matches(noticed).count() > before);
        assert_all_right(&server);
        assert!(
            host.asked().iter().any(|asked| asked.path.ends_with(file)),
            "`{file}` is not fetched again"
        );
    }
    // The server blames no host, and takes no write of its own for a change.
    assert!(!server.log().contains("wrong bytes"), "{}", server.log());
    let noticed = server.log().matches("was written to or touched").count();
    assert_eq!(noticed, changes.len(), "{}", server.log());
    server.end(&[]);
}

#[test]
fn a_file_that_is_cut_or_removed_while_it_is_served_is_made_anew() {
    let host = Host::new(Edition::Old.tree());
    let changes: [(&str, Change); 4] =
        [("outputs/records", cut), ("hashes", cut), ("authors/names", remove), ("hashes", remove)];
    for (file, change) in changes {
        let mirror = Mirror::empty();
        let server = mirror.start(&host.url(), &[]);
        assert_all_right(&server);
        change(&mirror.snapshot(Edition::Old).join(file));
        server.await_log(&["are made anew"]);
        let is_right = |asked: &Asked| asked.assert_right_or_unavailable(&server);
        wait_until(file, || all_kinds().iter().all(is_right));
        let is_ready = || server.get("/ready").status == 200;
        wait_until("the server is ready", is_ready);
        server.end(&["are made anew", "snapshot poisoned"]);
    }
}

/// Damage of a mirror's directory while no server runs.
fn damages() -> Vec<(&'static str, Change)> {
    let lead_elsewhere: Change = |path| {
        remove(path);
        symlink("/dev/zero", path).unwrap();
    };
    let become_directory: Change = |path| {
        remove(path);
        fs::create_dir(path).unwrap();
    };
    let mut damages: Vec<(&str, Change)> = Vec::new();
    for file in ["manifest.json", "hashes", "report.json", "outputs/records", "strings"] {
        damages.extend([(file, cut as Change), (file, remove), (file, lead_elsewhere)]);
    }
    damages.extend([
        ("authors/names", become_directory),
        ("manifest.json", zero),
        ("report.json", zero),
        ("outputs", |path| fs::remove_dir_all(path).unwrap()),
        ("../current", remove),
    ]);
    damages
}

#[test]
fn a_mirror_makes_anew_what_is_gone_or_cut_when_it_starts() {
    let host = Host::new(Edition::Old.tree());
    for (number, (file, damage)) in damages().into_iter().enumerate() {
        // A complete snapshot and one in part.
        let mirror = if number % 2 == 0 { Mirror::pulled(&host.url()) } else { Mirror::empty() };
        let server = mirror.start(&host.url(), &[]);
        assert_all_right(&server);
        server.end(&[]);
        make_writable(&mirror.path());
        println!("{file}, number {number}");
        damage(&mirror.snapshot(Edition::Old).join(file));
        let server = mirror.start(&host.url(), &["--fill"]);
        assert_all_right(&server);
        wait_until(file, || !mirror.is_partial(Edition::Old));
        assert!(
            file == "../current" || server.log().contains("are made anew"),
            "{file}: {}",
            server.log()
        );
        server.end(if file == "../current" { &[] } else { &["are made anew"] });
        let verified = pinakes_tests::compiler(&[
            "verify".as_ref(),
            mirror.snapshot(Edition::Old).as_os_str(),
        ]);
        assert!(verified.status.success(), "{file}: {verified:?}");
    }
}

#[test]
fn a_damaged_mirror_is_refused_while_its_host_is_away() {
    let host = Host::with_rule(Edition::Old.tree(), |_| Behaviour::Serves);
    let mirror = Mirror::empty();
    mirror.start(&host.url(), &[]).end(&[]);
    cut(&mirror.snapshot(Edition::Old).join("manifest.json"));
    let refused = mirror.command_from(&[NOWHERE], &["--fetch-timeout", "1"]).output().unwrap();
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{errors}");
    assert!(errors.contains("manifest.json") && errors.contains(NOWHERE), "{errors}");
    let server = mirror.start(&host.url(), &[]);
    assert_all_right(&server);
    server.end(&["are made anew"]);
}
