//! Tests which publications `pull` trusts: signer, age, and publications seen before.

use std::fs;

use pinakes_format::storage::publication::PUBLICATION;
use pinakes_tests::static_host::{Behaviour, Host};
use pinakes_tests::write_files;

use crate::mirror::setup::{Edition, Setup};

const SIGNATURE: &str = "publication.json.minisig";

fn untrusted(url: &str, reason: &str) -> String {
    format!("`{url}/{PUBLICATION}` is not trusted: {reason}; nothing was published")
}

/// The id of a key in its public file.
fn id_of(setup: &Setup, key: &str) -> String {
    let text = fs::read_to_string(setup.pubkey(key)).unwrap();
    text.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned()
}

/// Changes the character in the middle of one line.
fn changed(text: &str, line: usize) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let middle = lines[line].len() / 2;
    let other = if &lines[line][middle..=middle] == "A" { "B" } else { "A" };
    lines[line].replace_range(middle..=middle, other);
    lines.join("\n") + "\n"
}

#[test]
fn a_publication_that_was_killed_before_its_signature_is_trusted() {
    let setup = Setup::with(Edition::Tiny);
    let place = setup.tree().join(SIGNATURE);
    let before = fs::read(&place).unwrap();
    setup.publish(Edition::Old, &[]);
    assert_ne!(fs::read(&place).unwrap(), before);
    // `publish` writes this file last.
    fs::write(&place, before).unwrap();
    let host = setup.host();
    let pulled = setup.pull(&host.url(), &["--quiet"]);
    setup.assert_current(Edition::Old, &pulled);
    // The kept signature is removed with its publication.
    setup.publish(Edition::New, &["--keep", "1"]);
    let kept = fs::read_dir(setup.tree().join("publications")).unwrap().count();
    assert_eq!(kept, 2, "the publication and its signature");
}

#[test]
fn a_publication_without_a_valid_signature_is_rejected() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    let read = |name: &str| fs::read_to_string(setup.tree().join(name)).unwrap();
    let (text, signature) = (read(PUBLICATION), read(SIGNATURE));
    let sign = |key: &str, text: &str| {
        let signed = minisign::sign(None, &setup.secret(key), text.as_bytes(), Some("c"), None);
        signed.unwrap().to_string()
    };
    let (ours, other) = (id_of(&setup, "ours"), id_of(&setup, "other"));
    // A mismatch may be an upload in progress, so `pull` retries until its timeout.
    let apart = |reason: &str| {
        format!("{reason} (tried for 1 s); if the host is publishing, run again later")
    };
    let not_this = apart(&format!(
        "the signature by key {ours} does not match: Signature verification failed"
    ));
    let cut = |line: usize, digits: usize| {
        let lines: Vec<&str> = signature.lines().collect();
        let last = &lines[line][..lines[line].len() - digits];
        signature.replace(lines[line], last)
    };
    let none = apart("its signature is not in minisign's format");
    let cases = [
        (
            "another's",
            text.clone(),
            sign("other", &text),
            format!("signed by key {other}, expected {ours}"),
        ),
        ("of another text", text.clone(), sign("ours", "{}"), not_this.clone()),
        ("of what it was", text.replace("2026-", "2025-"), signature.clone(), not_this.clone()),
        ("with another signature", text.clone(), changed(&signature, 1), not_this),
        (
            "with another comment",
            text.clone(),
            changed(&signature, 2),
            apart(&format!(
                "the signature by key {ours} does not match: Comment signature verification failed"
            )),
        ),
        ("with half a global signature", text.clone(), cut(3, 44), none.clone()),
        ("without its lines", text.clone(), signature.replace('\n', " "), none.clone()),
        ("that is empty", text.clone(), String::new(), none),
    ];
    // Most cases wait for the timeout, so they run in parallel.
    std::thread::scope(|scope| {
        for (what, text, signature, reason) in cases {
            let pubkey = setup.pubkey("ours");
            scope.spawn(move || {
                let mirror = Setup::new();
                fs::copy(pubkey, mirror.pubkey("ours")).unwrap();
                write_files(&mirror.tree(), [(PUBLICATION, text), (SIGNATURE, signature)]);
                let host = mirror.host();
                let pulled = mirror.pull(&host.url(), &["--quiet", "--timeout", "1"]);
                println!("{what}");
                mirror.assert_rejected(&pulled, 9, &untrusted(&host.url(), &reason));
            });
        }
    });
    fs::remove_file(setup.tree().join(SIGNATURE)).unwrap();
    let pulled = setup.pull(&host.url(), &["--quiet"]);
    let reason = format!("it is not signed: the host has no `{SIGNATURE}`");
    setup.assert_rejected(&pulled, 9, &untrusted(&host.url(), &reason));

    // A pull without `--pubkey` succeeds with a warning.
    let pulled = setup.pull_with(&host.url(), &["--quiet"]);
    assert_eq!(
        pulled.stderr,
        format!(
            "warning: without `--pubkey` the publisher is unknown: the fetched files match the \
             hashes that `{}/{PUBLICATION}` lists, and nothing proves who wrote that list\n",
            host.url()
        )
    );
}

#[test]
fn a_pull_waits_for_an_upload_in_progress() {
    let setup = Setup::with(Edition::Tiny);
    let before = fs::read(setup.tree().join(SIGNATURE)).unwrap();
    setup.publish(Edition::Old, &[]);
    let host = Host::with_rule(setup.tree(), move |asked| match asked.before {
        0 | 1 if asked.path == SIGNATURE => Behaviour::ServesOther(before.clone()),
        // As of a tree of an earlier version.
        _ if asked.path.ends_with(".json.minisig") && asked.path != SIGNATURE => {
            let head = "HTTP/1.1 404 Not Found\r\nContent-Length: 0";
            Behaviour::Replies(head.to_owned(), Vec::new())
        }
        _ => Behaviour::Serves,
    });
    setup.assert_current(Edition::Old, &setup.pull(&host.url(), &["--quiet"]));
    assert_eq!(host.asked().iter().filter(|asked| asked.path == SIGNATURE).count(), 3);
}

#[test]
fn a_key_can_be_replaced_while_both_are_trusted() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    let other = setup.pubkey("other");
    setup.assert_current(
        Edition::Tiny,
        &setup.pull(&host.url(), &["--pubkey", other.to_str().unwrap()]),
    );
    setup.publish(Edition::Old, &[]);
    let text = fs::read(setup.tree().join(PUBLICATION)).unwrap();
    let signed = minisign::sign(None, &setup.secret("other"), &text[..], None, None).unwrap();
    write_files(&setup.tree(), [(SIGNATURE, signed.to_string())]);
    setup.assert_current(
        Edition::Old,
        &setup.pull(&host.url(), &["--pubkey", other.to_str().unwrap()]),
    );
}

#[test]
fn an_older_publication_is_rejected_unless_rollback_is_allowed() {
    let setup = Setup::with(Edition::Old);
    let copy = |name: &str| fs::read(setup.tree().join(name)).unwrap();
    let before = [PUBLICATION, SIGNATURE].map(|name| (name, copy(name)));
    let old = setup.publication().version;
    setup.publish(Edition::New, &[]);
    let new = setup.publication().version;
    let now = [PUBLICATION, SIGNATURE].map(|name| (name, copy(name)));
    let (host, other) = (setup.host(), setup.host());
    setup.assert_current(Edition::New, &setup.pull(&host.url(), &[]));

    write_files(&setup.tree(), before);
    let older = format!(
        "version {old} is older than version {new}, which was accepted before; if this is intended, pass \
         `--allow-rollback` to `pull`"
    );
    // From the same address, and from another address with the same key.
    for host in [&host, &other] {
        let refused = setup.pull(&host.url(), &["--quiet"]);
        let reason = untrusted(&host.url(), &older);
        assert_eq!((refused.code, refused.stderr), (Some(9), format!("error: {reason}\n")));
        let current = fs::read_link(setup.out().join("current")).unwrap();
        assert_eq!(current.to_str(), Some(&*Edition::New.id()));
    }
    setup.assert_current(Edition::Old, &setup.pull(&host.url(), &["--allow-rollback"]));
    // The allowed publication is now the one seen last.
    setup.assert_current(Edition::Old, &setup.pull(&host.url(), &[]));
    write_files(&setup.tree(), now);
    setup.assert_current(Edition::New, &setup.pull(&host.url(), &[]));
}

#[test]
fn publishing_after_the_clock_went_back_warns() {
    let setup = Setup::with(Edition::Old);
    let later = "2100-01-01T00:00:00.000000Z";
    setup.edit(|publication| publication.version = later.into());
    let published = setup.try_publish(Edition::New, &[]);
    let expected = format!(
        "warning: version {} is older than version {later}, which was published before; mirrors refuse it \
         without `--allow-rollback`; check this machine's clock\n",
        setup.publication().version
    );
    assert_eq!((published.code, published.stderr), (Some(0), expected));
}

#[test]
fn an_unreadable_file_of_seen_publications_is_an_error() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    setup.assert_current(Edition::Tiny, &setup.pull(&host.url(), &[]));
    let seen = setup.out().join("publications/seen.json");
    fs::write(&seen, "{").unwrap();
    let refused = setup.pull(&host.url(), &["--quiet"]);
    let reason = "EOF while parsing an object at line 1 column 1; remove it to forget which versions \
                  were seen";
    let expected = format!("error: input `{}`: {reason}\n", seen.display());
    assert_eq!((refused.code, refused.stderr), (Some(3), expected));
}

#[test]
fn an_expired_publication_is_rejected_unless_stale_ones_are_allowed() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    setup.edit(|publication| publication.expires = "2026-02-01T00:00:00Z".into());
    let refused = setup.pull(&host.url(), &["--quiet"]);
    let reason = "it expired 2026-02-01T00:00:00Z; the host may be hiding a newer one; to accept it, pass \
                  `--allow-stale`";
    setup.assert_rejected(&refused, 9, &untrusted(&host.url(), reason));
    let pulled = setup.pull(&host.url(), &["--quiet", "--allow-stale"]);
    setup.assert_current(Edition::Tiny, &pulled);
    let warning = "warning: stale: the publication expired 2026-02-01T00:00:00Z; the host may be hiding a newer one\n";
    assert_eq!(pulled.stderr, warning);
}

#[test]
fn a_publication_dated_in_the_future_is_rejected() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    let moment = "9999-12-31T23:59:59.999999Z";
    setup.edit(|publication| publication.version = moment.into());
    let refused = setup.pull(&host.url(), &["--quiet"]);
    let reason = format!(
        "its `version` {moment} is more than a day in the future; check this machine's clock. A \
         publication with this version would block all later ones"
    );
    setup.assert_rejected(&refused, 9, &untrusted(&host.url(), &reason));
    // 2^64 - 1 is not a timestamp.
    let text = fs::read_to_string(setup.tree().join(PUBLICATION)).unwrap();
    setup.sign(text.replace("9999-12-31T23:59:59.999999Z", "18446744073709551615").as_bytes());
    let refused = setup.pull(&host.url(), &["--quiet"]);
    let error = format!(
        "`{}/{PUBLICATION}` is damaged: `version` is `18446744073709551615`, expected a moment, as \
         `2026-01-31T00:00:00Z`",
        host.url()
    );
    setup.assert_rejected(&refused, 5, &error);
}
