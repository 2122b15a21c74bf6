//! What is taken for what: who signed, how old it is, and what was seen before.

use std::fs;

use pinakes_format::storage::publication::PUBLICATION;
use pinakes_tests::write_files;

use crate::host::{Does, Host};
use crate::place::{Edition, Place};

const SIGNATURE: &str = "publication.json.minisig";

fn untrusted(url: &str, reason: &str) -> String {
    format!("`{url}/{PUBLICATION}` is not trusted: {reason}; nothing was published")
}

/// The id of a key, as its public file says it.
fn id_of(place: &Place, key: &str) -> String {
    let text = fs::read_to_string(place.pubkey(key)).unwrap();
    text.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned()
}

/// A text with other characters at the middle of one of its lines.
fn changed(text: &str, line: usize) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let middle = lines[line].len() / 2;
    let other = if &lines[line][middle..=middle] == "A" { "B" } else { "A" };
    lines[line].replace_range(middle..=middle, other);
    lines.join("\n") + "\n"
}

#[test]
fn a_publication_without_a_valid_signature_is_rejected() {
    let place = Place::with(Edition::Tiny);
    let host = place.host();
    let read = |name: &str| fs::read_to_string(place.tree().join(name)).unwrap();
    let (text, signature) = (read(PUBLICATION), read(SIGNATURE));
    let sign = |key: &str, text: &str| {
        let signed = minisign::sign(None, &place.secret(key), text.as_bytes(), Some("c"), None);
        signed.unwrap().to_string()
    };
    let (ours, other) = (id_of(&place, "ours"), id_of(&place, "other"));
    // What may be an upload under way is asked for again until the host's time is over.
    let apart = |reason: &str| {
        format!("{reason}, asked for 1 s; or an upload is under way: run again when it is done")
    };
    let not_this = apart(&format!("key {ours} did not sign this: Signature verification failed"));
    let cut = |line: usize, digits: usize| {
        let lines: Vec<&str> = signature.lines().collect();
        let last = &lines[line][..lines[line].len() - digits];
        signature.replace(lines[line], last)
    };
    let none = apart("its signature is none of minisign's");
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
            apart(&format!("key {ours} did not sign this: Comment signature verification failed")),
        ),
        ("with half a global signature", text.clone(), cut(3, 44), none.clone()),
        ("without its lines", text.clone(), signature.replace('\n', " "), none.clone()),
        ("that is empty", text.clone(), String::new(), none),
    ];
    // Side by side: most of them are waited for.
    std::thread::scope(|scope| {
        for (what, text, signature, reason) in cases {
            let pubkey = place.pubkey("ours");
            scope.spawn(move || {
                let mirror = Place::new();
                fs::copy(pubkey, mirror.pubkey("ours")).unwrap();
                write_files(&mirror.tree(), [(PUBLICATION, text), (SIGNATURE, signature)]);
                let host = mirror.host();
                let pulled = mirror.pull(&host.url(), &["--quiet", "--timeout", "1"]);
                println!("{what}");
                mirror.demand_refusal(&pulled, 9, &untrusted(&host.url(), &reason));
            });
        }
    });
    fs::remove_file(place.tree().join(SIGNATURE)).unwrap();
    let pulled = place.pull(&host.url(), &["--quiet"]);
    let reason = format!("it is not signed: there is no `{SIGNATURE}`");
    place.demand_refusal(&pulled, 9, &untrusted(&host.url(), &reason));

    // Whoever asks for no key is told what that means, and gets it.
    let pulled = place.pull_from_anybody(&host.url(), &["--quiet"]);
    assert_eq!(
        pulled.stderr,
        format!(
            "warning: without `--pubkey` nothing says who published this: what is fetched has the hashes \
             that `{}/{PUBLICATION}` names, and no more is known of it\n",
            host.url()
        )
    );
}

#[test]
fn a_pull_waits_for_an_upload_in_progress() {
    let place = Place::with(Edition::Tiny);
    let before = fs::read(place.tree().join(SIGNATURE)).unwrap();
    place.publish(Edition::Old, &[]);
    let host = Host::that(place.tree(), move |asked| match asked.before {
        0 | 1 if asked.path == SIGNATURE => Does::ServesOther(before.clone()),
        _ => Does::Serves,
    });
    place.demand(Edition::Old, &place.pull(&host.url(), &["--quiet"]));
    assert_eq!(host.asked().iter().filter(|asked| asked.path == SIGNATURE).count(), 3);
}

#[test]
fn a_key_can_be_replaced_while_both_are_trusted() {
    let place = Place::with(Edition::Tiny);
    let host = place.host();
    let other = place.pubkey("other");
    place.demand(Edition::Tiny, &place.pull(&host.url(), &["--pubkey", other.to_str().unwrap()]));
    place.publish(Edition::Old, &[]);
    let text = fs::read(place.tree().join(PUBLICATION)).unwrap();
    let signed = minisign::sign(None, &place.secret("other"), &text[..], None, None).unwrap();
    write_files(&place.tree(), [(SIGNATURE, signed.to_string())]);
    place.demand(Edition::Old, &place.pull(&host.url(), &["--pubkey", other.to_str().unwrap()]));
}

#[test]
fn an_older_publication_is_rejected_unless_rollback_is_allowed() {
    let place = Place::with(Edition::Old);
    let copy = |name: &str| fs::read(place.tree().join(name)).unwrap();
    let before = [PUBLICATION, SIGNATURE].map(|name| (name, copy(name)));
    place.publish(Edition::New, &[]);
    place.edit(|publication| publication.created = "2026-02-01T00:00:00Z".into());
    let now = [PUBLICATION, SIGNATURE].map(|name| (name, copy(name)));
    let (host, other) = (place.host(), place.host());
    place.demand(Edition::New, &place.pull(&host.url(), &[]));

    write_files(&place.tree(), before);
    let older = |created: &str| {
        format!(
            "version 2026-01-10T08:15:30.123456Z published {created} is older than version \
             2026-01-11T00:00:00Z published 2026-02-01T00:00:00Z, which was seen before; if that is right, \
             allow it with `--allow-rollback`"
        )
    };
    place.edit(|publication| publication.created = "2026-03-01T00:00:00Z".into());
    // From where it was seen, and from another address by the same key.
    for host in [&host, &other] {
        let refused = place.pull(&host.url(), &["--quiet"]);
        let reason = untrusted(&host.url(), &older("2026-03-01T00:00:00Z"));
        assert_eq!((refused.code, refused.stderr), (Some(9), format!("error: {reason}\n")));
        let current = fs::read_link(place.out().join("current")).unwrap();
        assert_eq!(current.to_str(), Some(&*Edition::New.id()));
    }
    place.demand(Edition::Old, &place.pull(&host.url(), &["--allow-rollback"]));
    // It is what was seen now.
    place.demand(Edition::Old, &place.pull(&host.url(), &[]));
    write_files(&place.tree(), now);
    place.demand(Edition::New, &place.pull(&host.url(), &[]));

    // Of what holds the same, what was published before is older.
    place.edit(|publication| publication.created = "2026-01-31T00:00:00Z".into());
    assert_eq!(place.pull(&host.url(), &[]).code, Some(9));
}

#[test]
fn an_unreadable_file_of_seen_publications_is_an_error() {
    let place = Place::with(Edition::Tiny);
    let host = place.host();
    place.demand(Edition::Tiny, &place.pull(&host.url(), &[]));
    let seen = place.out().join("publications/seen.json");
    fs::write(&seen, "{").unwrap();
    let refused = place.pull(&host.url(), &["--quiet"]);
    let reason = "EOF while parsing an object at line 1 column 1; remove it to forget which versions \
                  were seen";
    let expected = format!("error: input `{}`: {reason}\n", seen.display());
    assert_eq!((refused.code, refused.stderr), (Some(3), expected));
}

#[test]
fn an_expired_publication_is_stale_and_rejected_if_freshness_is_required() {
    let place = Place::with(Edition::Tiny);
    let host = place.host();
    place.edit(|publication| publication.expires = "2026-02-01T00:00:00Z".into());
    let refused = place.pull(&host.url(), &["--require-fresh", "--quiet"]);
    let reason = "it expired 2026-02-01T00:00:00Z, and `--require-fresh` takes none that has; a newer \
                  one may be kept from us";
    place.demand_refusal(&refused, 9, &untrusted(&host.url(), reason));
    let pulled = place.pull(&host.url(), &["--quiet"]);
    place.demand(Edition::Tiny, &pulled);
    let warning =
        "warning: stale: it expired 2026-02-01T00:00:00Z; a newer one may be kept from us\n";
    assert_eq!(pulled.stderr, warning);
}

#[test]
fn a_publication_dated_in_the_future_is_rejected() {
    let place = Place::with(Edition::Tiny);
    let host = place.host();
    let check = |member: &str, moment: &str| {
        place.edit(|publication| match member {
            "version" => publication.version = moment.into(),
            _ => publication.created = moment.into(),
        });
        let refused = place.pull(&host.url(), &["--quiet"]);
        let reason = format!(
            "its `{member}` {moment} is more than a day from now; if the clock here is right, nothing \
             newer could ever follow it"
        );
        place.demand_refusal(&refused, 9, &untrusted(&host.url(), &reason));
    };
    check("created", "9999-12-31T23:59:59Z");
    check("version", "9999-12-31T23:59:59.999999Z");
    // No moment at all: 2^64 - 1.
    let text = fs::read_to_string(place.tree().join(PUBLICATION)).unwrap();
    place.sign(text.replace("9999-12-31T23:59:59.999999Z", "18446744073709551615").as_bytes());
    let refused = place.pull(&host.url(), &["--quiet"]);
    let error = format!(
        "`{}/{PUBLICATION}` is damaged: `version` is `18446744073709551615`, expected a moment, as \
         `2026-01-31T00:00:00Z`",
        host.url()
    );
    place.demand_refusal(&refused, 5, &error);
}
