//! Tests that `pull` rejects manifests and lists of a malicious publisher.

use std::fs;

use pinakes_format::storage::header::FORMAT_VERSION;
use pinakes_format::storage::manifest::{FileEntry, MANIFEST, Manifest, REPORT};
use pinakes_format::storage::publication::{PUBLICATION, PUBLICATION_VERSION, Publication};
use pinakes_tests::write_files;

use crate::mirror::setup::{Edition, Setup};
use pinakes_tests::server::make_writable;

/// The manifest of the published snapshot.
pub fn read(setup: &Setup) -> Manifest {
    let publication = fs::read(setup.tree().join(PUBLICATION)).unwrap();
    let id = Publication::read(&publication).unwrap().snapshot.id;
    let text = fs::read(setup.tree().join(format!("snapshots/{id}/{MANIFEST}"))).unwrap();
    Manifest::read(&text).unwrap()
}

/// Publishes and signs another manifest with the root hash of its files.
fn publish(setup: &Setup, manifest: &mut Manifest) {
    manifest.set_root();
    let text = manifest.text();
    write_files(&setup.tree(), [(format!("snapshots/{}/{MANIFEST}", manifest.id), &text)]);
    setup.edit(|publication| {
        publication.snapshot.id = manifest.id.clone();
        publication.snapshot.root = manifest.root.clone();
        publication.snapshot.manifest_bytes = text.len() as u64;
    });
}

#[test]
fn a_manifest_lists_exactly_the_files_of_a_snapshot() {
    let setup = Setup::with(Edition::Tiny);
    make_writable(&setup.tree());
    let host = setup.host();
    let manifest = read(&setup);
    let check = |change: &dyn Fn(&mut Vec<FileEntry>), reason: &str| {
        let mut changed = manifest.clone();
        change(&mut changed.files);
        publish(&setup, &mut changed);
        let pulled = setup.pull(&host.url(), &["--quiet"]);
        let url = format!("{}/snapshots/{}/{MANIFEST}", host.url(), changed.id);
        setup.assert_rejected(&pulled, 5, &format!("`{url}` is damaged: {reason}"));
    };
    let none = "is listed by the manifest where a snapshot has no such file; rebuild the snapshot";
    for (path, shown) in [
        ("../../etc/x", "../../etc/x"),
        ("/x", "/x"),
        ("a//b", "a//b"),
        (".", "."),
        ("", ""),
        ("a\0b", "a\\0b"),
        ("outputs/records/../records", "outputs/records/../records"),
        (&"x".repeat(4_097), &"x".repeat(64)),
    ] {
        check(&|files| files[3].path = path.into(), &format!("`{shown}` {none}"));
    }
    let last = manifest.files.last().unwrap().path.clone();
    check(&|files| files.push(files[files.len() - 1].clone()), &format!("`{last}` {none}"));
    let unlisted = "is not listed by the manifest; rebuild the snapshot";
    let third = &manifest.files[3].path;
    check(&|files| files[3] = files[2].clone(), &format!("`{third}` {unlisted}"));
    check(&|files| files.clear(), &format!("`{}` {unlisted}", manifest.files[0].path));
    check(
        &|files| files[3].size_bytes = 0,
        &format!("`{third}` has size 0; no file of a snapshot is empty"),
    );
    check(&|files| files[3].blake3 = "../..".into(), "lists an invalid hash");
    check(
        &|files| files.iter_mut().find(|of| of.path == REPORT).unwrap().size_bytes = 1 << 40,
        "`report.json` has 1099511627776 bytes; it has at most 16777216",
    );
    check(
        &|files| files[3].size_bytes += 8_192,
        "the size of `hashes` does not match the listed files",
    );
}

#[test]
fn a_pull_larger_than_the_free_space_is_not_begun() {
    let setup = Setup::with(Edition::Tiny);
    make_writable(&setup.tree());
    let host = setup.host();
    for size in [u64::MAX, 1 << 62] {
        let mut manifest = read(&setup);
        for file in &mut manifest.files[3..5] {
            file.size_bytes = size;
        }
        publish(&setup, &mut manifest);
        let pulled = setup.pull(&host.url(), &["--quiet"]);
        assert_eq!(pulled.code, Some(6), "{}", pulled.stderr);
        assert!(pulled.stderr.contains("more bytes are needed, "), "{}", pulled.stderr);
    }
}

#[test]
fn too_large_or_too_deep_json_is_rejected() {
    let setup = Setup::with(Edition::Tiny);
    make_writable(&setup.tree());
    let host = setup.host();
    let mut manifest = read(&setup);
    let entry = manifest.files[3].clone();
    manifest.files.extend(std::iter::repeat_n(entry, 10_000));
    publish(&setup, &mut manifest);
    let (bytes, url) =
        (manifest.text().len(), format!("{}/snapshots/{}/{MANIFEST}", host.url(), manifest.id));
    let pulled = setup.pull(&host.url(), &["--quiet"]);
    let reason = format!("{bytes} bytes, more than `--max-manifest` allows (1048576)");
    setup.assert_rejected(&pulled, 5, &format!("`{url}` is damaged: {reason}"));
    // `pull` does not request a manifest of 1 GiB.
    setup.edit(|publication| publication.snapshot.manifest_bytes = 1 << 30);
    let pulled = setup.pull(&host.url(), &["--quiet"]);
    let reason = "1073741824 bytes, more than `--max-manifest` allows (1048576)";
    setup.assert_rejected(&pulled, 5, &format!("`{url}` is damaged: {reason}"));
    assert!(host.sent_bytes() < 100_000, "{}", host.sent_bytes());

    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for text in [
        deep.clone(),
        format!("{{\"publication_version\":{PUBLICATION_VERSION},\"snapshot\":{deep}}}"),
    ] {
        setup.sign(text.as_bytes());
        let pulled = setup.pull(&host.url(), &["--quiet"]);
        assert_eq!(pulled.code, Some(5), "{}", pulled.stderr);
        let error = format!("error: `{}/{PUBLICATION}` is damaged: no publication: ", host.url());
        assert!(pulled.stderr.starts_with(&error), "{}", pulled.stderr);
    }
    let text = format!("{{\"format_version\":{FORMAT_VERSION},\"id\":{deep}}}");
    write_files(&setup.tree(), [(format!("snapshots/{}/{MANIFEST}", manifest.id), &text)]);
    let publication = Publication {
        snapshot: pinakes_format::storage::publication::PublishedSnapshot {
            id: manifest.id.clone(),
            root: manifest.root.clone(),
            manifest_bytes: text.len() as u64,
        },
        publication_version: PUBLICATION_VERSION,
        version: "2026-01-10T00:00:00Z".into(),
        expires: "2100-01-10T00:00:00Z".into(),
        activate_at: None,
        licence: None,
        objects: None,
    };
    setup.sign(&publication.text());
    let _ = fs::remove_dir_all(setup.out());
    let pulled = setup.pull(&host.url(), &["--quiet"]);
    assert_eq!(pulled.code, Some(5), "{}", pulled.stderr);
    assert!(pulled.stderr.contains("is damaged: no manifest: "), "{}", pulled.stderr);
}
