//! A mirror that fetches all: the snapshot becomes the one that `pull` makes. A partial snapshot needs a host.

use std::ffi::OsStr;
use std::fs;

use pinakes_tests::compiler;
use pinakes_tests::server::Server;
use pinakes_tests::static_host::{Behaviour, Host};

use crate::upstream::setup::{
    Edition, Mirror, all_kinds, files_and_modes, pubkey, run, wait_until,
};

#[test]
fn a_filled_mirror_is_what_pull_makes() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &["--fill"]);
    // Requests are answered meanwhile.
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    wait_until("the snapshot is complete", || !mirror.is_partial(Edition::Old));
    server.await_log(&["the snapshot is complete"]);
    host.take_sent_bytes();
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    assert_eq!(host.asked().len(), 0);
    server.end(&[]);

    let pulled = Mirror::pulled(&host.url());
    let place = mirror.snapshot(Edition::Old);
    let [is, was] = [&place, &pulled.snapshot(Edition::Old)].map(|at| files_and_modes(at));
    let kinds = |of: &[(String, u32, Vec<u8>)]| {
        of.iter().map(|(name, mode, _)| (name.clone(), *mode)).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&is), kinds(&was));
    assert!(is == was, "the bytes differ");
    run(&[OsStr::new("verify"), place.as_os_str()]);
    let server = Server::start(&mut mirror.command(&[]));
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    server.end(&[]);
}

#[test]
fn a_partial_snapshot_is_refused_without_a_host() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    mirror.start(&host.url(), &[]).end(&[]);
    let refused = mirror.command(&[]).output().unwrap();
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{errors}");
    assert!(errors.contains("--from"), "{errors}");

    let place = mirror.snapshot(Edition::Old);
    let refused = compiler(&[OsStr::new("verify"), place.as_os_str()]);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(8), "{errors}");
    assert!(errors.contains("--from"), "{errors}");
}

#[test]
fn every_byte_of_a_snapshot_that_is_not_here_is_verified() {
    let host = Host::new(Edition::Old.tree());
    let verify = |host: &Host| {
        let mirror = Mirror::empty();
        let place = mirror.path();
        let url = host.url();
        let from = ["--from", &url, "--pubkey"].map(OsStr::new);
        let key = pubkey();
        let start = [OsStr::new("verify"), place.as_os_str()];
        compiler(&[&start[..], &from, &[key.as_os_str()]].concat())
    };
    let verified = verify(&host);
    let errors = String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.success(), "{errors}");
    let said = String::from_utf8_lossy(&verified.stdout);
    assert!(said.contains("every byte and every record"), "{said}");
    let bytes = fs::metadata(Edition::Old.snapshot().join("outputs/orders")).unwrap().len();
    let wrong = Host::with_rule(Edition::Old.tree(), move |request| {
        match request.path.ends_with("outputs/orders") {
            true => Behaviour::ServesOther(vec![7; bytes as usize]),
            false => Behaviour::Serves,
        }
    });
    let refused = verify(&wrong);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{errors}");
    assert!(errors.contains("outputs/orders"), "{errors}");
}
