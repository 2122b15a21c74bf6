//! A mirror whose disk has room for a part of the snapshot. It removes the chunks that were not used for longest, and
//! answers stay right.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use pinakes_tests::files_below;
use pinakes_tests::static_host::Host;

use crate::upstream::setup::{Edition, Mirror, all_kinds, wait_until};

const CLIENTS: usize = 8;
/// The room: less than all kinds of requests touch.
const CACHE_BYTES: u64 = 2 << 20;
/// The most disk space, with the files that the limit does not count.
const DISK_BYTES_MAX: u64 = CACHE_BYTES + (256 << 10);

/// The most disk space while clients read: the limit, what requests may fetch beyond it (4 MiB), and what one piece of a
/// long list reads.
const LOADED_BYTES_MAX: u64 = DISK_BYTES_MAX + (4 << 20) + (1 << 20);

/// The disk space of the older snapshot's files.
fn disk_bytes(mirror: &Mirror) -> u64 {
    let place = mirror.snapshot(Edition::Old);
    let blocks = |name: &String| fs::metadata(place.join(name)).unwrap().blocks() * 512;
    files_below(&place).keys().map(blocks).sum()
}

#[test]
fn a_small_cache_answers_many_clients() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &["--cache", "2M"]);
    let (done, most) = (AtomicUsize::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (asks, server) = (all_kinds().iter().cycle().skip(client * 7), &server);
            let asks = asks.take(all_kinds().len());
            let done = &done;
            scope.spawn(move || {
                asks.for_each(|asked| asked.assert_right(server));
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        scope.spawn(|| {
            while done.load(Ordering::Relaxed) < CLIENTS {
                most.fetch_max(disk_bytes(&mirror), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    });
    let most = most.into_inner();
    println!("at most {most} bytes on the disk");
    assert!(most <= LOADED_BYTES_MAX, "{most} bytes");
    wait_until("the disk is near the limit", || disk_bytes(&mirror) <= DISK_BYTES_MAX);
    server.end(&[]);
}

#[test]
fn unused_chunks_are_removed_and_answers_stay_right() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &["--cache", "2M"]);
    for round in 0..3 {
        host.take_sent_bytes();
        all_kinds().iter().for_each(|asked| asked.assert_right(&server));
        // Removed chunks are fetched again.
        assert!(round == 0 || host.sent_bytes() > 1 << 20, "{} bytes", host.sent_bytes());
        wait_until("the disk is near the limit", || disk_bytes(&mirror) <= DISK_BYTES_MAX);
    }
    server.end(&[]);
    // A server without a limit can use the chunks that are left.
    let server = mirror.start(&host.url(), &[]);
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    assert!(disk_bytes(&mirror) > DISK_BYTES_MAX, "the requests touch less than the limit");
    server.end(&[]);
}
