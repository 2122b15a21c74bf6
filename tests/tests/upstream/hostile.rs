//! Hosts that lie, hang or send without end: no answer is wrong, and the cost is bounded.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use pinakes_tests::server::Server;
use pinakes_tests::static_host::{Behaviour, Host, HostRequest};

use crate::upstream::setup::{
    Ask, Asked, Edition, Mirror, answers, assert_only_right_chunks, assert_unavailable, output,
};

/// How long an answer may take where the server waits 1 s for a host: other tests keep the machine busy.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(4);
/// The most bytes that a server may take from a lying host, buffers of sockets included.
const BYTES_MAX: u64 = 32 << 20;
const REQUESTS_MAX: usize = 200;

/// The behaviour of a host that does not send the bytes of a range.
type Lie = Box<dyn Fn(&HostRequest) -> Behaviour + Send + Sync>;

/// Starts a host that is honest until the flag is set.
fn turning(lie: Lie) -> (Host, Arc<AtomicBool>) {
    let is_lying = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_lying);
    let rule =
        move |asked: &HostRequest| if seen.load(SeqCst) { lie(asked) } else { Behaviour::Serves };
    (Host::with_rule(Edition::Old.tree(), rule), is_lying)
}

/// A reply to a request for a range.
struct RangeReply {
    /// The first and the last byte of the range that the head promises, and the size of the file.
    first: usize,
    last: usize,
    size: usize,
    /// The offset of the sent bytes, and their number.
    body: (usize, usize),
}

/// A lie that is the right reply but for a change.
fn changed(change: impl Fn(&mut RangeReply) + Send + Sync + 'static) -> Lie {
    Box::new(move |asked| {
        let Some((first, last)) = asked.range else { return Behaviour::Disconnects };
        let file = File::open(Edition::Old.tree().join(&asked.path)).unwrap();
        let size = file.metadata().unwrap().len() as usize;
        let mut reply = RangeReply { first, last, size, body: (first, last + 1 - first) };
        change(&mut reply);
        let RangeReply { first, last, size, body: (from, count) } = reply;
        let mut body = vec![0; count];
        let _ = file.read_at(&mut body, from as u64);
        let head = format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last}/{size}\r\nContent-Length: {count}"
        );
        Behaviour::Replies(head, body)
    })
}

fn lies() -> Vec<(&'static str, Lie)> {
    let always = |behaviour: Behaviour| -> Lie { Box::new(move |_| behaviour.clone()) };
    let head = |head: &str| always(Behaviour::Replies(head.to_owned(), Vec::new()));
    vec![
        ("bytes of another place", changed(|reply| reply.body.0 ^= 8_192)),
        ("zeros", changed(|reply| reply.body.0 = usize::MAX >> 1)),
        (
            "another range",
            changed(|reply| {
                reply.first += 1;
                reply.last += 1;
                reply.body.0 += 1;
            }),
        ),
        (
            "a shorter range",
            changed(|reply| {
                reply.last -= 1;
                reply.body.1 -= 1;
            }),
        ),
        ("a longer body", changed(|reply| reply.body.1 += 1)),
        ("a file that grew", changed(|reply| reply.size += 1)),
        ("an endless body", always(Behaviour::Endless)),
        ("a short body", always(Behaviour::Cuts(100))),
        ("no reply", always(Behaviour::Disconnects)),
        ("a reply that hangs", always(Behaviour::Stalls(0))),
        ("a body that hangs", always(Behaviour::Stalls(100))),
        ("a body that drips", always(Behaviour::Drips(Duration::from_millis(50)))),
        ("an error", head("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0")),
        ("no file", head("HTTP/1.1 404 Not Found\r\nContent-Length: 0")),
        ("no change", head("HTTP/1.1 304 Not Modified\r\nContent-Length: 0")),
        ("no range", head("HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0")),
        (
            "a redirect to nowhere",
            head("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0"),
        ),
        (
            "redirects without end",
            head("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0"),
        ),
        ("no HTTP", head("SSH-2.0-OpenSSH_9.6")),
        (
            "a head without end",
            head(&format!("HTTP/1.1 206 Partial Content\r\nX: {}", "y".repeat(16 << 20))),
        ),
    ]
}

/// Two records that share no chunk of records.
fn two_records() -> [Asked; 2] {
    let asks = [output(0), output(3_000)].map(Ask::get);
    answers(Edition::Old, asks.into()).try_into().ok().unwrap()
}

#[test]
fn a_host_that_turns_hostile_costs_little_and_gives_no_wrong_answer() {
    let [here, absent] = &two_records();
    let check = |what: &str, lie: Lie| {
        let (host, is_lying) = turning(lie);
        let mirror = Mirror::empty();
        let server = mirror.start(&host.url(), &["--fetch-timeout", "1"]);
        here.assert_right(&server);
        is_lying.store(true, SeqCst);
        host.take_sent_bytes();
        for _ in 0..3 {
            let begun = Instant::now();
            let reply = absent.ask.send(server.address());
            assert_eq!(reply.status, 503, "{what}: {}", reply.text());
            assert_unavailable(&reply);
            assert!(begun.elapsed() < ANSWER_TIME_MAX, "{what}: {:?}", begun.elapsed());
            let begun = Instant::now();
            here.assert_right(&server);
            assert!(begun.elapsed() < ANSWER_TIME_MAX, "{what}: {:?}", begun.elapsed());
        }
        let (bytes, requests) = (host.sent_bytes(), host.asked().len());
        assert!(
            bytes <= BYTES_MAX && requests <= REQUESTS_MAX,
            "{what}: {bytes} bytes, {requests} requests"
        );
        assert_eq!(server.get("/ready").status, 200, "{what}");
        assert_only_right_chunks(&mirror.snapshot(Edition::Old));
    };
    thread::scope(|scope| {
        for (what, lie) in lies() {
            scope.spawn(move || check(what, lie));
        }
    });
}

#[test]
fn an_honest_host_beside_a_hostile_one_gives_right_answers() {
    let honest = Host::new(Edition::Old.tree());
    let (asked, url) = (&two_records(), &honest.url());
    let check = |what: &str, lie: Lie| {
        let (host, is_lying) = turning(lie);
        let mirror = Mirror::empty();
        let server =
            Server::start(&mut mirror.command_from(&[&host.url(), url], &["--fetch-timeout", "2"]));
        is_lying.store(true, SeqCst);
        for asked in asked {
            // A host that hangs takes all the time of the first request that asks this host.
            if !asked.assert_right_or_unavailable(&server) {
                assert!(
                    what.contains("hangs") || what.contains("drips"),
                    "{what}: 503\n{}",
                    server.log()
                );
                asked.assert_right(&server);
            }
        }
    };
    thread::scope(|scope| {
        for (what, lie) in lies() {
            scope.spawn(move || check(what, lie));
        }
    });
}

#[test]
fn a_host_that_ignores_ranges_gives_no_wrong_answer() {
    let (host, is_lying) = turning(Box::new(|_| Behaviour::IgnoresRange));
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &["--fetch-timeout", "2"]);
    is_lying.store(true, SeqCst);
    for asked in &two_records() {
        asked.assert_right_or_unavailable(&server);
    }
    assert!(host.sent_bytes() <= BYTES_MAX, "{} bytes", host.sent_bytes());
}

#[test]
fn a_start_from_a_hostile_host_ends_with_a_reason() {
    let check = |what: &str, lie: Lie, path: &'static str| {
        let host = Host::with_rule(Edition::Old.tree(), move |asked| {
            if asked.path.ends_with(path) { lie(asked) } else { Behaviour::Serves }
        });
        let mirror = Mirror::empty();
        let output =
            mirror.command_from(&[&host.url()], &["--fetch-timeout", "1"]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{what}: {errors}");
        assert!(host.sent_bytes() <= BYTES_MAX, "{what}: {} bytes", host.sent_bytes());
        assert!(!fs::exists(mirror.path().join("current")).unwrap(), "{what}");
    };
    thread::scope(|scope| {
        for path in ["publication.json", "manifest.json", "report.json"] {
            // Lies about a range are none here.
            for (what, lie) in lies().into_iter().skip(6) {
                scope.spawn(move || check(what, lie, path));
            }
        }
    });
}
