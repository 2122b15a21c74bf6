//! A newer publication is taken over by content; an older one is refused.

use std::{fs, path::PathBuf, time::Duration};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use pinakes_tests::client::REPLY_TIMEOUT;
use pinakes_tests::server::Server;
use pinakes_tests::static_host::Host;

use crate::upstream::setup::{
    Ask, ChangingTree, Edition, Mirror, answers, output, publish_at, wait_until,
};

/// The snapshot that answers.
pub fn served(server: &Server) -> String {
    server.get("/domains").header("x-snapshot-id").unwrap().to_owned()
}

#[test]
fn a_newer_publication_is_switched_to_and_takes_over_what_is_here() {
    let tree = ChangingTree::of(Edition::Old);
    let host = Host::new(tree.path());
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &["--from-interval", "1"]);
    let page = Ask::get("/authors?format=ndjson");
    let [old] = &answers(Edition::Old, vec![page.clone()])[..] else { panic!("one answer") };
    old.assert_right(&server);
    let first = host.take_sent_bytes();
    tree.becomes(Edition::New);
    wait_until("the newer snapshot is served", || served(&server) == Edition::New.id());
    assert_eq!(
        fs::read_link(mirror.path().join("current")).unwrap().to_str(),
        Some(&*Edition::New.id())
    );
    let [new, fresh] = &answers(Edition::New, vec![page, Ask::get("/outputs/HX_W9999999999")])[..]
    else {
        panic!("two answers")
    };
    new.assert_right(&server);
    assert_eq!(fresh.right.status, 200);
    fresh.assert_right(&server);
    let second = host.take_sent_bytes();
    assert!(second < first / 2, "{first} bytes before, {second} bytes behind");
    // Pages of the older snapshot are gone with its files.
    wait_until("the older snapshot is removed", || !mirror.snapshot(Edition::Old).exists());
    assert!(mirror.path().join("current").exists());
    server.end(&[]);
}

#[test]
fn an_older_publication_is_refused() {
    let tree = ChangingTree::of(Edition::New);
    let host = Host::new(tree.path());
    let mirror = Mirror::empty();
    let right = answers(Edition::New, vec![Ask::get(output(7))]);
    let server = mirror.start(&host.url(), &["--from-interval", "1"]);
    right[0].assert_right(&server);
    tree.becomes(Edition::Old);
    server.await_log(&["cannot look for a newer publication", "is older than version"]);
    assert_eq!(served(&server), Edition::New.id());
    right[0].assert_right(&server);
    server.end(&[]);
    // Nor at a start.
    let server = mirror.start(&host.url(), &[]);
    server.await_log(&["no newer snapshot", "is older than version"]);
    right[0].assert_right(&server);
    server.end(&[]);
}

/// Publishes the newer snapshot into a tree of its own, for a time.
fn published_for(activates_at: DateTime<Utc>) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    publish_at(Edition::New, &tree, &activates_at.to_rfc3339_opts(SecondsFormat::Secs, true));
    (directory, tree)
}

#[test]
fn a_publication_with_a_time_is_switched_to_at_the_first_look_after_it() {
    let tree = ChangingTree::of(Edition::Old);
    let host = Host::new(tree.path());
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &["--from-interval", "1"]);
    assert_eq!(served(&server), Edition::Old.id());
    // Whole seconds, as the publication has.
    let activates_at = DateTime::from_timestamp(Utc::now().timestamp() + 5, 0).unwrap();
    let (_kept, newer) = published_for(activates_at);
    assert!(Utc::now() + TimeDelta::seconds(1) < activates_at, "publishing took too long");
    tree.leads_to(&newer);
    host.take_sent_bytes();
    loop {
        let asked_at = Utc::now();
        let id = served(&server);
        if id == Edition::New.id() {
            assert!(Utc::now() >= activates_at, "too early");
            break;
        }
        let late = asked_at - activates_at;
        assert!(late < TimeDelta::from_std(REPLY_TIMEOUT).unwrap(), "not switched to");
        std::thread::sleep(Duration::from_millis(20));
    }
    // The server has looked before the time, too.
    let looks = host.asked().iter().filter(|asked| asked.path == "publication.json").count();
    assert!(looks > 1, "{looks} looks");
    server.end(&[]);
}

#[test]
fn an_empty_mirror_does_not_wait_for_the_time_of_a_publication() {
    let (_kept, tree) = published_for(Utc::now() + TimeDelta::days(30));
    let host = Host::new(tree);
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &[]);
    assert_eq!(served(&server), Edition::New.id());
    server.end(&[]);
}
