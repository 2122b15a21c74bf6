//! Hosts that send too much, too little, too slowly, something else, or nothing.

use std::{
    fs,
    time::{Duration, Instant},
};

use pinakes_format::storage::manifest::FileEntry;
use pinakes_format::storage::publication::PUBLICATION;

use crate::host::{Asked, Does, Host};
use crate::place::{Edition, Place, Run};

/// What makes a host that does wrong be given up at once.
const HASTY: [&str; 9] =
    ["--quiet", "--timeout", "1", "--min-speed", "1M", "--tries", "2", "--connections", "1"];

/// A host that does something to one path, and serves all else.
fn with(place: &Place, path: &str, does: Does) -> Host {
    let path = path.to_owned();
    Host::that(
        place.tree(),
        move |asked: &Asked| {
            if asked.path == path { does.clone() } else { Does::Serves }
        },
    )
}

fn says(head: &str) -> Does {
    Does::Says(head.to_owned(), Vec::new())
}

#[test]
fn each_fault_of_a_host_has_its_error_and_publishes_nothing() {
    let place = Place::with(Edition::Old);
    let id = Edition::Old.id();
    let records = format!("snapshots/{id}/outputs/records");
    let manifest = format!("snapshots/{id}/manifest.json");
    let hashes = format!("snapshots/{id}/hashes");
    let bytes = |path: &str| fs::read(place.tree().join(path)).unwrap();
    // A file of some chunks, which one request asks for whole.
    let files = crate::manifests::read(&place).files;
    let is_some = |entry: &&FileEntry| (70_001..4 << 20).contains(&entry.size_bytes);
    let some = files.iter().filter(|entry| entry.path != "hashes").find(is_some).unwrap();
    let some = format!("snapshots/{id}/{}", some.path);
    let size = bytes(&some).len();
    let end = size.min(131_072);
    let mut flipped = bytes(&some);
    flipped[70_000] ^= 1;
    let mut other_hashes = bytes(&hashes);
    other_hashes[7] ^= 1;
    let (found, expected) =
        (blake3::hash(&other_hashes).to_hex(), blake3::hash(&bytes(&hashes)).to_hex());
    let manifest_bytes = bytes(&manifest).len();
    let longer = |path: &str| [bytes(path), vec![0]].concat();
    let slow = "slower than 1048576 bytes a second (`--min-speed`), 2 times; run again to go on";
    let silent = "no byte in 1 s (`--timeout`), 2 times; run again to go on";
    let cases: Vec<(&str, Does, i32, String)> = vec![
        (
            PUBLICATION,
            Does::Endless,
            5,
            "is damaged: goes on after the 65536 bytes that are expected".into(),
        ),
        (
            PUBLICATION,
            Does::ServesOther(vec![b' '; 65_537]),
            5,
            "is damaged: 65537 bytes, expected at most 65536".into(),
        ),
        (
            "publication.json.minisig",
            Does::Endless,
            5,
            "is damaged: goes on after the 4096 bytes that are expected".into(),
        ),
        (
            &manifest,
            Does::Endless,
            5,
            format!("is damaged: goes on after the {manifest_bytes} bytes that are expected"),
        ),
        (
            &manifest,
            Does::ServesOther(longer(&manifest)),
            5,
            format!("is damaged: {} bytes, expected {manifest_bytes}", manifest_bytes + 1),
        ),
        (
            &hashes,
            Does::ServesOther(other_hashes.clone()),
            5,
            format!("is damaged: hash {found}, expected {expected} as it was published"),
        ),
        (
            &hashes,
            Does::Endless,
            5,
            format!("is damaged: goes on after the {} bytes that are expected", other_hashes.len()),
        ),
        (
            &some,
            Does::Endless,
            5,
            format!("is damaged: goes on after the {size} bytes that are expected"),
        ),
        (
            &some,
            Does::ServesOther(longer(&some)),
            5,
            format!("is damaged: {} bytes, expected {size}", size + 1),
        ),
        (
            &some,
            Does::ServesOther(flipped),
            5,
            format!(
                "is damaged: chunk 1 (bytes 65536 to {end}) does not have the hash that was published"
            ),
        ),
        (&some, Does::Cuts(100), 3, ": io: Peer disconnected, 2 times; run again to go on".into()),
        (&records, Does::Stalls(100), 3, format!(": {silent}")),
        (&some, Does::Drips(Duration::from_millis(300)), 3, format!(": {slow}")),
        (
            &some,
            says("HTTP/1.1 404 Not Found\r\nContent-Length: 0"),
            3,
            ": is not there; check the address, and run again if something was published meanwhile"
                .into(),
        ),
        (&some, says("HTTP/1.1 403 Forbidden\r\nContent-Length: 0"), 3, ": 403 Forbidden".into()),
        (
            &some,
            says("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0"),
            3,
            ": 503 Service Unavailable, 2 times; run again to go on".into(),
        ),
        (
            &some,
            says("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0"),
            3,
            ": is not there; check the address, and run again if something was published meanwhile"
                .into(),
        ),
        (
            &some,
            says(&format!("HTTP/1.1 302 Found\r\nLocation: /{some}\r\nContent-Length: 0")),
            3,
            ": more than 5 redirects".into(),
        ),
        (
            &some,
            says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0"),
            3,
            ": comes coded as `gzip`; have the host send files as they are".into(),
        ),
        (&some, says("HTTP/1.1 204 No Content"), 3, ": 204 No Content".into()),
        (PUBLICATION, says("nonsense"), 3, String::new()),
    ];
    // Side by side, each with a mirror of its own: what takes time is waiting.
    std::thread::scope(|scope| {
        for (path, does, code, reason) in cases {
            let (tree, pubkey) = (place.tree(), place.pubkey("ours"));
            scope.spawn(move || {
                let mirror = Place::new();
                std::os::unix::fs::symlink(tree, mirror.tree()).unwrap();
                fs::copy(pubkey, mirror.pubkey("ours")).unwrap();
                demand_given_up(&mirror, path, does, code, &reason);
            });
        }
    });
}

/// Demands that a host that does something to one path is given up, soon, for a reason; for any where it is
/// empty.
fn demand_given_up(mirror: &Place, path: &str, does: Does, code: i32, reason: &str) {
    let what = format!("{path} {does:?}").chars().take(100).collect::<String>();
    let host = with(mirror, path, does);
    let begun = Instant::now();
    let pulled = mirror.pull(&host.url(), &HASTY);
    println!("{what}: {:?}: {}", begun.elapsed(), pulled.stderr);
    if !reason.is_empty() {
        let space = if reason.starts_with(':') { "" } else { " " };
        let url = host.url();
        mirror.demand_refusal(&pulled, code, &format!("`{url}/{path}`{space}{reason}"));
    }
    assert_eq!(pulled.code, Some(code), "{what}");
    assert!(begun.elapsed() < Duration::from_secs(25), "{what}: {:?}", begun.elapsed());
}

#[test]
fn a_wrong_content_range_is_rejected() {
    let place = Place::with(Edition::Old);
    let manifest = crate::manifests::read(&place);
    let entry = manifest.files.iter().max_by_key(|entry| entry.size_bytes).unwrap();
    // More than one request asks for, so that parts are asked for.
    assert!(entry.size_bytes > 4 << 20, "{entry:?}");
    let path = format!("snapshots/{}/{}", manifest.id, entry.path);
    let size = entry.size_bytes;
    let first = 64 * 65_536;
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
        let host = with(&place, &path, Does::Says(head, b"12345".to_vec()));
        let pulled = place.pull(&host.url(), &HASTY);
        let reason = format!("{found}, expected `bytes 0-{}/{size}`", first - 1);
        place.demand_refusal(&pulled, 5, &format!("`{}/{path}` is damaged: {reason}", host.url()));
    }
}

#[test]
fn temporary_faults_are_retried() {
    let wrongs = [
        Does::Cuts(100_000),
        Does::Leaves,
        says("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0"),
        says("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0"),
        // Half a head, after which nothing comes.
        says(""),
    ];
    // Side by side: all that takes time is waiting.
    std::thread::scope(|scope| {
        for wrong in wrongs {
            scope.spawn(move || {
                let place = Place::with(Edition::Old);
                let text = format!("{wrong:?}");
                let host = Host::that(place.tree(), move |asked| {
                    // Every file's first request, whatever it asks for.
                    if asked.before == 0 { wrong.clone() } else { Does::Serves }
                });
                let more = ["--connections", "128", "--timeout", "1"];
                let pulled = place.pull(&host.url(), &more);
                println!("{text}");
                place.demand(Edition::Old, &pulled);
            });
        }
    });
}

#[test]
fn retry_after_is_honoured_up_to_the_timeout() {
    let place = Place::with(Edition::Tiny);
    // What it asks for, what is waited for at most, and how long a pull that succeeds takes at least.
    for (asked, timeout, least) in [("1", "30", 1), ("99999", "1", 1)] {
        let head = format!("HTTP/1.1 503 Busy\r\nRetry-After: {asked}\r\nContent-Length: 0");
        let host = Host::that(place.tree(), move |asked| match asked.before {
            0 if asked.path == PUBLICATION => says(&head),
            _ => Does::Serves,
        });
        let begun = Instant::now();
        place.demand(Edition::Tiny, &place.pull(&host.url(), &["--timeout", timeout]));
        let took = begun.elapsed();
        assert!(took >= Duration::from_secs(least), "{asked}: {took:?}");
        assert!(took < Duration::from_secs(25), "{asked}: {took:?}");
        pinakes_tests::server::make_writable(&place.out());
        fs::remove_dir_all(place.out()).unwrap();
    }
}

/// Demands that a terminal is told nothing but text, on lines of which none is the host's, and little.
#[track_caller]
fn demand_text(pulled: &Run, what: &str) {
    let orders = |character: &char| character.is_control() && *character != '\n';
    let Run { stderr, .. } = pulled;
    assert_eq!(stderr.chars().find(orders), None, "{what}: {stderr:?}");
    assert!(stderr.len() < 1_000 && stderr.lines().count() == 1, "{what}: {stderr:?}");
    assert!(stderr.starts_with("error: "), "{what}: {stderr:?}");
}

#[test]
fn text_of_a_host_is_escaped_and_truncated_in_errors() {
    let place = Place::with(Edition::Tiny);
    let id = Edition::Tiny.id();
    let evil =
        format!("\u{1b}]0;pwned\u{7}\u{9b}31m\r\nerror: all is well\u{202e}{}", "A".repeat(9_000));
    let member = serde_json::to_string(&evil).unwrap();
    let tree = place.tree();
    let read = |path: &str| fs::read_to_string(tree.join(path)).unwrap();
    let text = read(PUBLICATION);
    let manifest = format!("snapshots/{id}/manifest.json");
    let other = |from: &str, to: &str| text.replacen(from, to, 1);
    let root = |text: &str| {
        let (_, rest) = text.split_once("\"root\": \"").unwrap();
        rest[..64].to_owned()
    };
    // In publications that our key signs.
    for (what, text) in [
        ("a member that none has", other("{", &format!("{{{member}: 1,"))),
        ("a value", other(&format!("\"{}\"", root(&text)), &member)),
        (
            "a value of another type",
            other("\"publication_version\": 1", &format!("\"publication_version\": {member}")),
        ),
        ("a moment", other("\"expires\": \"", &format!("\"licence\": {member},\"expires\": \""))),
        ("no JSON", evil.clone()),
    ] {
        place.sign(text.as_bytes());
        let pulled = place.pull(&place.host().url(), &HASTY);
        demand_text(&pulled, what);
        assert_eq!(pulled.code, Some(5), "{what}");
    }
    place.sign(text.as_bytes());
    // In what is named by it, or in the head of a reply.
    let manifest_bytes = read(&manifest).len();
    let mut padded = format!("{{{member}: 1").into_bytes();
    padded.resize(manifest_bytes - 1, b' ');
    padded.push(b'}');
    let raw = "\u{1b}[2J\u{9b}31m";
    let long = "A".repeat(9_000);
    for (path, what, does) in [
        (&*manifest, "a manifest", Does::ServesOther(padded)),
        (PUBLICATION, "a reason", says(&format!("HTTP/1.1 403 {raw}{long}\r\nContent-Length: 0"))),
        (PUBLICATION, "a status", says(&format!("{raw} 200 OK\r\nContent-Length: 0"))),
        (
            PUBLICATION,
            "a redirect",
            says(&format!(
                "HTTP/1.1 302 Found\r\nLocation: http://{raw}{long}/\r\nContent-Length: 0"
            )),
        ),
        (
            PUBLICATION,
            "a redirect elsewhere",
            says(&format!("HTTP/1.1 302 Found\r\nLocation: gopher://{long}/\r\nContent-Length: 0")),
        ),
        (
            PUBLICATION,
            "a coding",
            says(&format!("HTTP/1.1 200 OK\r\nContent-Encoding: {raw}{long}\r\nContent-Length: 0")),
        ),
        (
            PUBLICATION,
            "a visible coding",
            says(&format!("HTTP/1.1 200 OK\r\nContent-Encoding: {long}\r\nContent-Length: 0")),
        ),
        (PUBLICATION, "a length", says(&format!("HTTP/1.1 200 OK\r\nContent-Length: {raw}"))),
        (
            "publication.json.minisig",
            "a signature",
            Does::ServesOther(evil.as_bytes()[..3_000].to_vec()),
        ),
    ] {
        let pulled = place.pull(&with(&place, path, does).url(), &HASTY);
        demand_text(&pulled, what);
        assert!(!pulled.stdout.contains('/'), "{what} was taken");
    }
}

#[test]
fn a_host_without_range_support_can_be_pulled_from() {
    let place = Place::with(Edition::Old);
    let host = Host::that(place.tree(), |_| Does::ServesWhole);
    let pulled = place.pull(&host.url(), &[]);
    place.demand(Edition::Old, &pulled);
    // The largest file is read whole once, beside what the requests for parts of it brought.
    let largest = crate::manifests::read(&place).files.iter().map(|entry| entry.size_bytes).max();
    let all: u64 = crate::manifests::read(&place).files.iter().map(|entry| entry.size_bytes).sum();
    assert!(host.sent_bytes() < all + 10 * largest.unwrap(), "{}", host.sent_bytes());
}

#[test]
fn files_of_another_snapshot_are_rejected() {
    let place = Place::with(Edition::Old);
    place.publish(Edition::New, &[]);
    let (old, new) = (Edition::Old.id(), Edition::New.id());
    let tree = place.tree();
    // Of one byte more or less, or of as many.
    for file in ["outputs/records", "outputs/ids", "report.json", "hashes", "manifest.json"] {
        let path = format!("snapshots/{new}/{file}");
        let bytes = fs::read(tree.join(format!("snapshots/{old}/{file}"))).unwrap();
        if bytes == fs::read(tree.join(&path)).unwrap() {
            continue;
        }
        let host = with(&place, &path, Does::ServesOther(bytes));
        let pulled = place.pull(&host.url(), &HASTY);
        let error = format!("error: `{}/{path}` is damaged: ", host.url());
        assert_eq!(pulled.code, Some(5), "{file}");
        assert!(pulled.stderr.starts_with(&error), "{}", pulled.stderr);
        assert!(!place.out().join("current").exists());
        fs::remove_dir_all(place.out()).unwrap();
    }
}
