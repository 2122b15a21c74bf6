//! A host with one rotten chunk, and one that refuses some requests: the rest goes on.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
};

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::integrity::CHUNK_BYTES;
use pinakes_tests::client::Response;
use pinakes_tests::server::Server;
use pinakes_tests::static_host::{Behaviour, Host, HostRequest};

use crate::upstream::setup::{
    Ask, Edition, Mirror, all_kinds, answers, assert_unavailable, output, wait_until,
};

/// The rotten chunk of `outputs/records`.
const ROTTEN: usize = 40;

fn is_of_rotten(asked: &HostRequest) -> bool {
    let chunks = asked.range.map(|(first, last)| first / CHUNK_BYTES..last / CHUNK_BYTES + 1);
    asked.path.ends_with("outputs/records") && chunks.is_some_and(|of| of.contains(&ROTTEN))
}

/// A host that sends one chunk wrong while the flag is set.
fn rotten_host() -> (Host, Arc<AtomicBool>) {
    let is_rotten = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&is_rotten);
    let host = Host::with_rule(Edition::Old.tree(), move |asked| {
        if !seen.load(SeqCst) || !is_of_rotten(asked) {
            return Behaviour::Serves;
        }
        let (first, last) = asked.range.unwrap();
        let file = File::open(Edition::Old.tree().join(&asked.path)).unwrap();
        let mut body = vec![0; last + 1 - first];
        file.read_exact_at(&mut body, first as u64).unwrap();
        body[(ROTTEN * CHUNK_BYTES).saturating_sub(first)] ^= 1;
        let size = file.metadata().unwrap().len();
        let length = body.len();
        let head = format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last}/{size}\r\nContent-Length: {length}"
        );
        Behaviour::Replies(head, body)
    });
    (host, is_rotten)
}

/// The outputs with records in the rotten chunk, and the outputs with records in other chunks.
fn rows_around() -> (Vec<u32>, Vec<u32>) {
    let snapshot = Snapshot::open(&Edition::Old.snapshot()).unwrap();
    let mut sizes = (0..snapshot.count(Entity::Output))
        .map(|row| snapshot.record_bytes(Entity::Output, row).unwrap());
    let (mut inside, mut beside) = (Vec::new(), Vec::new());
    // Records lie in the order of rows, behind a header.
    let mut from = 0;
    for row in 0.. {
        let Some(bytes) = sizes.next() else { break };
        let chunks = from / CHUNK_BYTES..=(from + bytes) / CHUNK_BYTES + 1;
        if chunks == (ROTTEN..=ROTTEN + 1) {
            inside.push(row);
        } else if !chunks.contains(&ROTTEN) && chunks.start().abs_diff(ROTTEN) < 6 {
            beside.push(row);
        }
        from += bytes;
    }
    (inside, beside)
}

fn troubles(server: &Server) -> String {
    server.get("/health").json()["troubles"].to_string()
}

fn retry_after(reply: &Response) -> u64 {
    assert_unavailable(reply);
    reply.header("retry-after").unwrap().parse().unwrap()
}

#[test]
fn one_rotten_chunk_makes_only_its_records_unavailable() {
    let (host, is_rotten) = rotten_host();
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &["--fetch-timeout", "5"]);
    let (inside, beside) = rows_around();
    assert!(inside.len() > 1 && beside.len() > 5, "{inside:?} {beside:?}");
    for _ in 0..20 {
        let reply = Ask::get(output(inside[1])).send(server.address());
        assert!(retry_after(&reply) > 60, "{:?}", reply.header("retry-after"));
        assert!(troubles(&server).contains("mirror_damaged"), "{}", troubles(&server));
        assert!(!troubles(&server).contains("mirror_away"), "{}", troubles(&server));
    }
    let neighbours = beside.iter().map(|row| Ask::get(output(*row))).collect();
    answers(Edition::Old, neighbours).iter().for_each(|asked| asked.assert_right(&server));
    // With its neighbours, then alone, and no more.
    let asked = host.asked().iter().filter(|asked| is_of_rotten(asked)).count();
    assert!((1..=4).contains(&asked), "asked {asked} times");
    // Few other requests touch the chunk.
    let right =
        all_kinds().iter().filter(|asked| asked.assert_right_or_unavailable(&server)).count();
    assert!(right + 6 > all_kinds().len(), "{right} right answers");
    server.end(&["sent wrong bytes of a chunk"]);
    // A host that is mended is asked again.
    is_rotten.store(false, SeqCst);
    let server = mirror.start(&host.url(), &[]);
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    server.end(&[]);
}

#[test]
fn the_filling_goes_on_behind_a_rotten_chunk() {
    let (host, _) = rotten_host();
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &["--fill", "--fetch-timeout", "5"]);
    server.await_log(&["everything is here but what no mirror sends right", "outputs/records"]);
    assert!(mirror.is_partial(Edition::Old));
    let asked = host.asked().iter().filter(|asked| is_of_rotten(asked)).count();
    assert!((1..=4).contains(&asked), "asked {asked} times");
    assert!(troubles(&server).contains("mirror_damaged"), "{}", troubles(&server));
    let (inside, _) = rows_around();
    assert_unavailable(&Ask::get(output(inside[1])).send(server.address()));
    host.take_sent_bytes();
    let right =
        all_kinds().iter().filter(|asked| asked.assert_right_or_unavailable(&server)).count();
    assert!(right + 6 > all_kinds().len(), "{right} right answers");
    assert_eq!(host.asked().len(), 0);
    server.end(&["sent wrong bytes of a chunk", "everything is here but"]);
}

#[test]
fn a_host_that_refuses_some_requests_is_asked_again() {
    let number = AtomicUsize::new(0);
    let host = Host::with_rule(Edition::Old.tree(), move |asked| {
        let is_refused = asked.range.is_some() && number.fetch_add(1, SeqCst) % 10 == 3;
        let head = "HTTP/1.1 503 Slow Down\r\nContent-Length: 0".to_owned();
        if is_refused { Behaviour::Replies(head, Vec::new()) } else { Behaviour::Serves }
    });
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &[]);
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    assert!(!troubles(&server).contains("mirror_away"), "{}", troubles(&server));
    server.end(&[]);
}

#[test]
fn the_first_request_that_gets_nothing_shows_in_health() {
    let is_away = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_away);
    let host = Host::with_rule(Edition::Old.tree(), move |_| {
        let head = "HTTP/1.1 503 Slow Down\r\nRetry-After: 40\r\nContent-Length: 0".to_owned();
        if seen.load(SeqCst) { Behaviour::Replies(head, Vec::new()) } else { Behaviour::Serves }
    });
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &["--from-interval", "1", "--fetch-timeout", "2"]);
    assert_eq!(troubles(&server), "[]");
    is_away.store(true, SeqCst);
    let reply = Ask::get(output(2_222)).send(server.address());
    assert!((30..=60).contains(&retry_after(&reply)), "{:?}", reply.header("retry-after"));
    assert!(troubles(&server).contains("mirror_away"), "{}", troubles(&server));
    wait_until("the look fails", || troubles(&server).contains("publication_refused"));
    is_away.store(false, SeqCst);
    wait_until("the host is back", || troubles(&server) == "[]");
    server.end(&[]);
}

#[test]
fn a_publication_that_cannot_be_used_shows_in_health() {
    for (path, reply) in [
        ("publication.json", "HTTP/1.1 404 Not Found\r\nContent-Length: 0"),
        ("publication.json", "HTTP/1.1 200 OK\r\nContent-Length: 7"),
        (".minisig", "HTTP/1.1 200 OK\r\nContent-Length: 7"),
    ] {
        let is_wrong = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_wrong);
        let host = Host::with_rule(Edition::Old.tree(), move |asked| {
            match seen.load(SeqCst) && asked.path.ends_with(path) {
                true => Behaviour::Replies(reply.to_owned(), b"garbage".to_vec()),
                false => Behaviour::Serves,
            }
        });
        let mirror = Mirror::empty();
        let server = mirror.start(&host.url(), &["--from-interval", "1", "--fetch-timeout", "1"]);
        is_wrong.store(true, SeqCst);
        wait_until(path, || troubles(&server).contains("publication_refused"));
        is_wrong.store(false, SeqCst);
        wait_until(path, || !troubles(&server).contains("publication_refused"));
        server.end(&[]);
    }
}
