//! Hosts that are away, and servers that are killed: what is here is answered, and what is not is 503 until a host is back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use pinakes_tests::SeededRng;
use pinakes_tests::server::{Server, command};
use pinakes_tests::static_host::{Behaviour, Host};

use crate::upstream::setup::{
    Ask, Edition, Mirror, all_kinds, answers, assert_only_right_chunks, assert_unavailable, output,
    pubkey, wait_until,
};

/// An address at which nobody listens.
const NOWHERE: &str = "http://127.0.0.1:1";

/// Kills of the server, at random moments.
const KILLS: usize = 6;

#[test]
fn what_is_here_is_answered_while_the_host_is_away() {
    let is_away = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_away);
    let host = Host::with_rule(Edition::Old.tree(), move |_| {
        if seen.load(SeqCst) { Behaviour::Disconnects } else { Behaviour::Serves }
    });
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &["--fetch-timeout", "2"]);
    let (here, absent) = all_kinds().split_at(6);
    here.iter().for_each(|asked| asked.assert_right(&server));
    is_away.store(true, SeqCst);
    let begun = Instant::now();
    let right = absent.iter().filter(|asked| asked.assert_right_or_unavailable(&server)).count();
    assert!(right < absent.len());
    here.iter().for_each(|asked| asked.assert_right(&server));
    // Requests do not ask a host that has just failed.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    is_away.store(false, SeqCst);
    wait_until("the host is asked again", || absent[0].assert_right_or_unavailable(&server));
    absent.iter().for_each(|asked| asked.assert_right(&server));
    server.end(&[]);
}

#[test]
fn a_mirror_starts_without_its_host() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &[]);
    all_kinds()[..6].iter().for_each(|asked| asked.assert_right(&server));
    server.end(&[]);
    let server = mirror.start(NOWHERE, &["--fetch-timeout", "2"]);
    all_kinds()[..6].iter().for_each(|asked| asked.assert_right(&server));
    let [absent] = &answers(Edition::Old, vec![Ask::get(output(3_333))])[..] else {
        panic!("one answer")
    };
    assert_unavailable(&absent.ask.send(server.address()));
    server.end(&[]);
}

#[test]
fn an_empty_mirror_without_a_host_ends_with_a_reason() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = command(&["--snapshots".as_ref(), empty.path().as_os_str()]);
    let output = command.arg("--pubkey").arg(pubkey()).args(["--from", NOWHERE]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains(NOWHERE), "{errors}");
}

#[test]
fn killed_servers_leave_only_right_chunks() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let mut rng = SeededRng(49);
    for _ in 0..KILLS {
        let server = mirror.start(&host.url(), &[]);
        let address = server.address();
        thread::scope(|scope| {
            let senders: Vec<_> = (0..4)
                .map(|number| {
                    let asks =
                        all_kinds().iter().cycle().skip(rng.below(all_kinds().len()) + number);
                    // Ends when the server does.
                    scope.spawn(move || {
                        asks.take_while(|asked| asked.ask.try_send(address).is_ok()).count()
                    })
                })
                .collect();
            thread::sleep(Duration::from_millis(20 + rng.below(250) as u64));
            drop(server);
            senders.into_iter().for_each(|sender| {
                sender.join().unwrap();
            });
        });
        assert_only_right_chunks(&mirror.snapshot(Edition::Old));
    }
    // Chunks on the disk need no host.
    let server = mirror.start(NOWHERE, &["--fetch-timeout", "1"]);
    let right =
        all_kinds().iter().filter(|asked| asked.assert_right_or_unavailable(&server)).count();
    assert!(right > 0);
    server.end(&[]);
    let server: Server = mirror.start(&host.url(), &[]);
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    server.end(&[]);
}
