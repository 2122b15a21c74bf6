//! The answers of an empty mirror, and what they cost.

use std::time::Duration;

use pinakes_tests::slow_link::{LinkCounts, SlowLink};
use pinakes_tests::static_host::Host;

use crate::upstream::setup::{Ask, Edition, Mirror, all_kinds, answers, output, three_words};

#[test]
fn an_empty_mirror_answers_as_the_complete_snapshot() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &[]);
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    host.take_sent_bytes();
    all_kinds().iter().for_each(|asked| asked.assert_right(&server));
    let asked = host.asked();
    assert!(asked.is_empty(), "asked again: {asked:?}");
    assert!(mirror.is_partial(Edition::Old));
    server.end(&[]);
}

#[test]
fn an_attempt_that_lacks_chunks_keeps_no_rows_for_later_ones() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &[]);
    let institutions = "/authors?filter=last_known_institutions";
    // The first reads the lists of authors. The second then lacks the names of institutions alone.
    let asks = [format!("{institutions}.country.code:us"), format!("{institutions}.name.search:a")];
    let asked = answers(Edition::Old, asks.map(Ask::get).into());
    asked.iter().for_each(|asked| asked.assert_right(&server));
    server.end(&[]);
}

#[test]
fn requests_cost_few_rounds_and_bytes() {
    const MIB: u64 = 1 << 20;
    let page = "/outputs?filter=year:2012";
    let search = format!("/outputs?search={}", three_words());
    // The bounds of rounds and of bytes.
    let cases =
        [(output(2_000), 6, 250 << 10), (page.to_owned(), 10, 2 * MIB), (search, 10, 2 * MIB)];
    for (target, rounds, bytes) in cases {
        let host = Host::new(Edition::Old.tree());
        let link = SlowLink::new(&host.url(), Duration::from_millis(50), 12_500_000);
        let mirror = Mirror::empty();
        let server = mirror.start(&link.url(), &[]);
        let start = link.take_counts();
        let [asked] = &answers(Edition::Old, vec![Ask::get(target.clone())])[..] else {
            panic!("one answer")
        };
        asked.assert_right(&server);
        let counts = link.take_counts();
        assert!(
            counts.requests > 0 && counts.rounds <= rounds && counts.bytes <= bytes,
            "{target}: {counts:?}"
        );
        let LinkCounts { bytes, .. } = start;
        assert!(
            bytes + counts.bytes <= MIB || target.contains('?'),
            "{target}: {start:?} {counts:?}"
        );
        server.end(&[]);
    }
}
