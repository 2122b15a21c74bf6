//! Pulls from hosts that send too much, too little, too slowly, wrong bytes, or nothing.

use std::{
    fs,
    time::{Duration, Instant},
};

use pinakes_format::storage::manifest::FileEntry;
use pinakes_format::storage::publication::PUBLICATION;
use pinakes_tests::static_host::{Behaviour, Host, HostRequest};

use crate::mirror::setup::{Edition, Run, Setup};

/// Options with which `pull` gives up on a faulty host within seconds.
const HASTY: [&str; 9] =
    ["--quiet", "--timeout", "1", "--min-speed", "1M", "--tries", "2", "--connections", "1"];

/// Starts a host with a behaviour for one path, which serves all other paths.
fn with(setup: &Setup, path: &str, behaviour: Behaviour) -> Host {
    let path = path.to_owned();
    Host::with_rule(setup.tree(), move |asked: &HostRequest| {
        if asked.path == path { behaviour.clone() } else { Behaviour::Serves }
    })
}

fn reply(head: &str) -> Behaviour {
    Behaviour::Replies(head.to_owned(), Vec::new())
}

#[test]
fn each_fault_of_a_host_has_its_error_and_publishes_nothing() {
    let setup = Setup::with(Edition::Old);
    let id = Edition::Old.id();
    let records = format!("snapshots/{id}/outputs/records");
    let manifest = format!("snapshots/{id}/manifest.json");
    let hashes = format!("snapshots/{id}/hashes");
    let bytes = |path: &str| fs::read(setup.tree().join(path)).unwrap();
    // A file of several chunks that one request fetches.
    let files = crate::mirror::manifests::read(&setup).files;
    let is_some = |entry: &&FileEntry| (70_001..4 << 20).contains(&entry.size_bytes);
    let some = files.iter().filter(|entry| entry.path != "hashes").find(is_some).unwrap();
    let some = format!("snapshots/{id}/{}", some.path);
    let size = bytes(&some).len();
    let mut flipped = bytes(&some);
    flipped[10_000] ^= 1;
    let mut other_hashes = bytes(&hashes);
    other_hashes[7] ^= 1;
    let (found, expected) =
        (blake3::hash(&other_hashes).to_hex(), blake3::hash(&bytes(&hashes)).to_hex());
    let manifest_bytes = bytes(&manifest).len();
    let longer = |path: &str| [bytes(path), vec![0]].concat();
    let slow =
        "slower than 1048576 bytes a second (`--min-speed`), in 2 attempts; run again to continue";
    let silent = "no byte in 1 s (`--timeout`), in 2 attempts; run again to continue";
    let cases: Vec<(&str, Behaviour, i32, String)> = vec![
        (
            PUBLICATION,
            Behaviour::Endless,
            5,
            "is damaged: the reply continues after the expected 65536 bytes".into(),
        ),
        (
            PUBLICATION,
            Behaviour::ServesOther(vec![b' '; 65_537]),
            5,
            "is damaged: 65537 bytes, expected at most 65536".into(),
        ),
        (
            "publication.json.minisig",
            Behaviour::Endless,
            5,
            "is damaged: the reply continues after the expected 4096 bytes".into(),
        ),
        (
            &manifest,
            Behaviour::Endless,
            5,
            format!("is damaged: the reply continues after the expected {manifest_bytes} bytes"),
        ),
        (
            &manifest,
            Behaviour::ServesOther(longer(&manifest)),
            5,
            format!("is damaged: {} bytes, expected {manifest_bytes}", manifest_bytes + 1),
        ),
        (
            &hashes,
            Behaviour::ServesOther(other_hashes.clone()),
            5,
            format!("is damaged: hash {found}, expected the published {expected}"),
        ),
        (
            &hashes,
            Behaviour::Endless,
            5,
            format!(
                "is damaged: the reply continues after the expected {} bytes",
                other_hashes.len()
            ),
        ),
        (
            &some,
            Behaviour::Endless,
            5,
            format!("is damaged: the reply continues after the expected {size} bytes"),
        ),
        (
            &some,
            Behaviour::ServesOther(longer(&some)),
            5,
            format!("is damaged: {} bytes, expected {size}", size + 1),
        ),
        (
            &some,
            Behaviour::ServesOther(flipped),
            5,
            "is damaged: bytes 8192 to 12288 do not have the published hash".into(),
        ),
        (
            &some,
            Behaviour::Cuts(100),
            3,
            ": io: Peer disconnected, in 2 attempts; run again to continue".into(),
        ),
        (&records, Behaviour::Stalls(100), 3, format!(": {silent}")),
        (&some, Behaviour::Drips(Duration::from_millis(300)), 3, format!(": {slow}")),
        (
            &some,
            reply("HTTP/1.1 404 Not Found\r\nContent-Length: 0"),
            3,
            ": not found; check the address, and run again if the host is publishing".into(),
        ),
        (&some, reply("HTTP/1.1 403 Forbidden\r\nContent-Length: 0"), 3, ": 403 Forbidden".into()),
        (
            &some,
            reply("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0"),
            3,
            ": 503 Service Unavailable, in 2 attempts; run again to continue".into(),
        ),
        (
            &some,
            reply("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0"),
            3,
            ": not found; check the address, and run again if the host is publishing".into(),
        ),
        (
            &some,
            reply(&format!("HTTP/1.1 302 Found\r\nLocation: /{some}\r\nContent-Length: 0")),
            3,
            ": more than 5 redirects".into(),
        ),
        (
            &some,
            reply("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0"),
            3,
            ": sends content coding `gzip`; configure the host to send files as stored".into(),
        ),
        (&some, reply("HTTP/1.1 204 No Content"), 3, ": 204 No Content".into()),
        (PUBLICATION, reply("nonsense"), 3, String::new()),
    ];
    // The cases mostly wait, so they run in parallel, each with a mirror of its own.
    std::thread::scope(|scope| {
        for (path, behaviour, code, reason) in cases {
            let (tree, pubkey) = (setup.tree(), setup.pubkey("ours"));
            scope.spawn(move || {
                let mirror = Setup::new();
                std::os::unix::fs::symlink(tree, mirror.tree()).unwrap();
                fs::copy(pubkey, mirror.pubkey("ours")).unwrap();
                assert_given_up(&mirror, path, behaviour, code, &reason);
            });
        }
    });
}

/// Asserts that `pull` gives up on a host within 25 seconds for this reason; an empty reason accepts any.
fn assert_given_up(mirror: &Setup, path: &str, behaviour: Behaviour, code: i32, reason: &str) {
    let what = format!("{path} {behaviour:?}").chars().take(100).collect::<String>();
    let host = with(mirror, path, behaviour);
    let begun = Instant::now();
    let pulled = mirror.pull(&host.url(), &HASTY);
    println!("{what}: {:?}: {}", begun.elapsed(), pulled.stderr);
    if !reason.is_empty() {
        let space = if reason.starts_with(':') { "" } else { " " };
        let url = host.url();
        mirror.assert_rejected(&pulled, code, &format!("`{url}/{path}`{space}{reason}"));
    }
    assert_eq!(pulled.code, Some(code), "{what}");
    assert!(begun.elapsed() < Duration::from_secs(25), "{what}: {:?}", begun.elapsed());
}

#[test]
fn a_wrong_content_range_is_rejected() {
    let setup = Setup::with(Edition::Old);
    let manifest = crate::mirror::manifests::read(&setup);
    let entry = manifest.files.iter().max_by_key(|entry| entry.size_bytes).unwrap();
    // The file is larger than one request, so `pull` sends range requests.
    assert!(entry.size_bytes > 4 << 20, "{entry:?}");
    let path = format!("snapshots/{}/{}", manifest.id, entry.path);
    let size = entry.size_bytes;
    let first = 4 << 20;
    let cases = [
        (
            format!("Content-Range: bytes 1-{first}/{size}"),
            format!("sends `bytes 1-{first}/{size}`"),
        ),
        (
            format!("Content-Range: bytes 0-{}/*", first - 1),
            format!("sends `bytes 0-{}/*`", first - 1),
        ),
        ("X: y".into(), "sends ``".into()),
        (format!("Content-Range: {}", "A".repeat(9_000)), format!("sends `{}…`", "A".repeat(200))),
    ];
    for (head, found) in cases {
        let head = format!("HTTP/1.1 206 Partial Content\r\n{head}\r\nContent-Length: 5");
        let host = with(&setup, &path, Behaviour::Replies(head, b"12345".to_vec()));
        let pulled = setup.pull(&host.url(), &HASTY);
        let reason = format!("{found}, expected `bytes 0-{}/{size}`", first - 1);
        setup.assert_rejected(&pulled, 5, &format!("`{}/{path}` is damaged: {reason}", host.url()));
    }
}

#[test]
fn temporary_faults_are_retried() {
    let wrongs = [
        Behaviour::Cuts(100_000),
        Behaviour::Disconnects,
        reply("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0"),
        reply("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0"),
        // An incomplete head.
        reply(""),
    ];
    // The cases mostly wait, so they run in parallel.
    std::thread::scope(|scope| {
        for wrong in wrongs {
            scope.spawn(move || {
                let setup = Setup::with(Edition::Old);
                let text = format!("{wrong:?}");
                let host = Host::with_rule(setup.tree(), move |asked| {
                    // The fault affects the first request for each file.
                    if asked.before == 0 { wrong.clone() } else { Behaviour::Serves }
                });
                let more = ["--connections", "128", "--timeout", "1"];
                let pulled = setup.pull(&host.url(), &more);
                println!("{text}");
                setup.assert_current(Edition::Old, &pulled);
            });
        }
    });
}

#[test]
fn retry_after_is_honoured_up_to_the_timeout() {
    let setup = Setup::with(Edition::Tiny);
    // `Retry-After`, `--timeout`, and the minimum duration of the pull, in seconds.
    for (asked, timeout, least) in [("1", "30", 1), ("99999", "1", 1)] {
        let head = format!("HTTP/1.1 503 Busy\r\nRetry-After: {asked}\r\nContent-Length: 0");
        let host = Host::with_rule(setup.tree(), move |asked| match asked.before {
            0 if asked.path == PUBLICATION => reply(&head),
            _ => Behaviour::Serves,
        });
        let begun = Instant::now();
        setup.assert_current(Edition::Tiny, &setup.pull(&host.url(), &["--timeout", timeout]));
        let took = begun.elapsed();
        assert!(took >= Duration::from_secs(least), "{asked}: {took:?}");
        assert!(took < Duration::from_secs(25), "{asked}: {took:?}");
        pinakes_tests::server::make_writable(&setup.out());
        fs::remove_dir_all(setup.out()).unwrap();
    }
}

/// Asserts that stderr is one error line below 1,000 bytes without control characters.
#[track_caller]
fn assert_harmless_text(pulled: &Run, what: &str) {
    let is_control = |character: &char| character.is_control() && *character != '\n';
    let Run { stderr, .. } = pulled;
    assert_eq!(stderr.chars().find(is_control), None, "{what}: {stderr:?}");
    assert!(stderr.len() < 1_000 && stderr.lines().count() == 1, "{what}: {stderr:?}");
    assert!(stderr.starts_with("error: "), "{what}: {stderr:?}");
}

#[test]
fn text_of_a_host_is_escaped_and_truncated_in_errors() {
    let setup = Setup::with(Edition::Tiny);
    let id = Edition::Tiny.id();
    let evil =
        format!("\u{1b}]0;pwned\u{7}\u{9b}31m\r\nerror: all is well\u{202e}{}", "A".repeat(9_000));
    let member = serde_json::to_string(&evil).unwrap();
    let tree = setup.tree();
    // As of a tree of an earlier version.
    fs::remove_file(tree.join(format!("publications/{id}.json.minisig"))).unwrap();
    let read = |path: &str| fs::read_to_string(tree.join(path)).unwrap();
    let text = read(PUBLICATION);
    let manifest = format!("snapshots/{id}/manifest.json");
    let other = |from: &str, to: &str| text.replacen(from, to, 1);
    let root = |text: &str| {
        let (_, rest) = text.split_once("\"root\": \"").unwrap();
        rest[..64].to_owned()
    };
    // Text in publications signed with the key `ours`.
    for (what, text) in [
        ("a member that none has", other("{", &format!("{{{member}: 1,"))),
        ("a value", other(&format!("\"{}\"", root(&text)), &member)),
        (
            "a value of another type",
            other("\"publication_version\": 2", &format!("\"publication_version\": {member}")),
        ),
        ("a moment", other("\"expires\": \"", &format!("\"licence\": {member},\"expires\": \""))),
        ("no JSON", evil.clone()),
    ] {
        setup.sign(text.as_bytes());
        let pulled = setup.pull(&setup.host().url(), &HASTY);
        assert_harmless_text(&pulled, what);
        assert_eq!(pulled.code, Some(5), "{what}");
    }
    setup.sign(text.as_bytes());
    // Text in files that the publication names, and in heads of replies.
    let manifest_bytes = read(&manifest).len();
    let mut padded = format!("{{{member}: 1").into_bytes();
    padded.resize(manifest_bytes - 1, b' ');
    padded.push(b'}');
    let raw = "\u{1b}[2J\u{9b}31m";
    let long = "A".repeat(9_000);
    for (path, what, behaviour) in [
        (&*manifest, "a manifest", Behaviour::ServesOther(padded)),
        (PUBLICATION, "a reason", reply(&format!("HTTP/1.1 403 {raw}{long}\r\nContent-Length: 0"))),
        (PUBLICATION, "a status", reply(&format!("{raw} 200 OK\r\nContent-Length: 0"))),
        (
            PUBLICATION,
            "a redirect",
            reply(&format!(
                "HTTP/1.1 302 Found\r\nLocation: http://{raw}{long}/\r\nContent-Length: 0"
            )),
        ),
        (
            PUBLICATION,
            "a redirect elsewhere",
            reply(&format!(
                "HTTP/1.1 302 Found\r\nLocation: gopher://{long}/\r\nContent-Length: 0"
            )),
        ),
        (
            PUBLICATION,
            "a coding",
            reply(&format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: {raw}{long}\r\nContent-Length: 0"
            )),
        ),
        (
            PUBLICATION,
            "a visible coding",
            reply(&format!("HTTP/1.1 200 OK\r\nContent-Encoding: {long}\r\nContent-Length: 0")),
        ),
        (PUBLICATION, "a length", reply(&format!("HTTP/1.1 200 OK\r\nContent-Length: {raw}"))),
        (
            "publication.json.minisig",
            "a signature",
            Behaviour::ServesOther(evil.as_bytes()[..3_000].to_vec()),
        ),
    ] {
        let pulled = setup.pull(&with(&setup, path, behaviour).url(), &HASTY);
        assert_harmless_text(&pulled, what);
        assert!(!pulled.stdout.contains('/'), "{what} was taken");
    }
}

#[test]
fn a_host_without_range_support_can_be_pulled_from() {
    let setup = Setup::with(Edition::Old);
    let host = Host::with_rule(setup.tree(), |_| Behaviour::IgnoresRange);
    let pulled = setup.pull(&host.url(), &[]);
    setup.assert_current(Edition::Old, &pulled);
    // The host ignores ranges, so each of the first range requests brings the complete file.
    let largest =
        crate::mirror::manifests::read(&setup).files.iter().map(|entry| entry.size_bytes).max();
    let all: u64 =
        crate::mirror::manifests::read(&setup).files.iter().map(|entry| entry.size_bytes).sum();
    assert!(host.sent_bytes() < all + 10 * largest.unwrap(), "{}", host.sent_bytes());
}

#[test]
fn files_of_another_snapshot_are_rejected() {
    let setup = Setup::with(Edition::Old);
    setup.publish(Edition::New, &[]);
    let (old, new) = (Edition::Old.id(), Edition::New.id());
    let tree = setup.tree();
    // The files of both snapshots have different or equal sizes.
    for file in ["outputs/records", "outputs/ids", "report.json", "hashes", "manifest.json"] {
        let path = format!("snapshots/{new}/{file}");
        let bytes = fs::read(tree.join(format!("snapshots/{old}/{file}"))).unwrap();
        if bytes == fs::read(tree.join(&path)).unwrap() {
            continue;
        }
        let host = with(&setup, &path, Behaviour::ServesOther(bytes));
        let pulled = setup.pull(&host.url(), &HASTY);
        let error = format!("error: `{}/{path}` is damaged: ", host.url());
        assert_eq!(pulled.code, Some(5), "{file}");
        assert!(pulled.stderr.starts_with(&error), "{}", pulled.stderr);
        assert!(!setup.out().join("current").exists());
        fs::remove_dir_all(setup.out()).unwrap();
    }
}
