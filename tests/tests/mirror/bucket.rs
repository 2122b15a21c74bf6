//! Pulls from an S3-compatible endpoint: moto, which `.ci/run` installs into `target/moto`.

use std::fs;

use pinakes_tests::bucket_store::{BucketStore, sign_for};
use pinakes_tests::static_host::{Behaviour, Host};

use crate::mirror::setup::{Edition, Run, Setup};

/// Pulls from the bucket at an endpoint, with credentials.
fn pull_signed(setup: &Setup, endpoint: &str, more: &[&str]) -> Run {
    let pubkey = setup.pubkey("ours");
    let arguments = [&["--pubkey", pubkey.to_str().unwrap()], more].concat();
    let mut command = setup.pull_command("s3://mirrors/openalex/full", &arguments);
    let output = sign_for(&mut command, endpoint).output().unwrap();
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
    let Some(moto) = BucketStore::moto("a_bucket_is_pulled_with_signed_urls") else { return };
    moto.create("mirrors");
    moto.upload("mirrors", "openalex/full", &setup.tree());
    let objects = setup.path().join("fetched");
    for more in [&[][..], &["--objects", objects.to_str().unwrap()][..]] {
        let pulled = pull_signed(&setup, &moto.endpoint(), more);
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
