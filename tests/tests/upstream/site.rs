//! The tree as a website: the module answers every endpoint as a server does, under Node, and reads what it needs together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pinakes_tests::client::Response;
use pinakes_tests::site::{Site, assert_same, files};
use pinakes_tests::slow_link::SlowLink;
use pinakes_tests::static_host::{Behaviour, Host};
use serde_json::Value;

use crate::upstream::rounds;
use crate::upstream::setup::{Ask, Asked, Edition, all_kinds, answers, pubkey};

/// The most requests for one file that six answers send to a host of whole files.
const WHOLE_FILE_TIMES: usize = 4;

fn ask(site: &mut Site, ask: &Ask) -> Result<Response, String> {
    match &ask.body {
        None => site.ask("GET", &ask.target, &[], ""),
        Some((of, body)) => site.ask("POST", &ask.target, &[("content-type", of)], body),
    }
}

/// The publisher's key, as a site carries it.
fn key() -> String {
    fs::read_to_string(pubkey()).unwrap().lines().last().unwrap().to_owned()
}

fn refusal(status: &str) -> Behaviour {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
    Behaviour::Replies(head, Vec::new())
}

fn of_all_endpoints() -> Vec<Asked> {
    let asks = rounds::asks().into_iter().flat_map(|(_, asks)| asks);
    // A site has no limits, and no issues of a host.
    let asks = asks.filter(|ask| !["/rate-limit", "/health"].contains(&ask.target.as_str()));
    let ids = [Edition::Old.id(), "0123456789abcdef".to_owned()];
    let named = ids.map(|id| Ask::get(format!("/@{id}/sources?per_page=1")));
    answers(Edition::Old, asks.chain(named).collect())
}

#[test]
fn a_site_answers_every_endpoint_as_a_server() {
    let Some(files) = files("site::a_site_answers_every_endpoint_as_a_server") else { return };
    let host = Host::new(Edition::Old.tree());
    let mut site = Site::start(&files, &host.url(), &[key()]);
    for Asked { ask: asked, right } in of_all_endpoints().iter().chain(all_kinds()) {
        assert_same(&format!("{asked:?}"), &ask(&mut site, asked), right);
    }
}

#[test]
fn wrong_bytes_are_never_answered_from() {
    let Some(files) = files("site::wrong_bytes_are_never_answered_from") else { return };
    let bytes = fs::metadata(Edition::Old.snapshot().join("outputs/records")).unwrap().len();
    let host = Host::with_rule(Edition::Old.tree(), move |request| {
        match request.path.ends_with("outputs/records") {
            true => Behaviour::ServesOther(vec![7; bytes as usize]),
            false => Behaviour::Serves,
        }
    });
    let mut site = Site::start(&files, &host.url(), &[key()]);
    let error = site.ask("GET", "/outputs", &[], "").unwrap_err();
    assert!(error.contains("other bytes than it published"), "{error}");
    let sources = &answers(Edition::Old, vec![Ask::get("/sources")])[0];
    assert_same("/sources", &site.ask("GET", "/sources", &[], ""), &sources.right);
    let other = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3".to_owned();
    let mut site = Site::start(&files, &host.url(), &[other]);
    let error = site.ask("GET", "/sources", &[], "").unwrap_err();
    assert!(error.contains("none of the keys"), "{error}");
}

#[test]
fn an_older_publication_than_one_seen_is_not_followed() {
    let Some(files) = files("site::an_older_publication_than_one_seen_…") else { return };
    // Of an older publication, or of one that the key of the site did not sign.
    let sent: Arc<Mutex<Option<[Vec<u8>; 2]>>> = Arc::default();
    let of_host = Arc::clone(&sent);
    let host = Host::with_rule(Edition::New.tree(), move |request| {
        let sent = of_host.lock().unwrap().clone();
        match (sent, request.path.rsplit('/').next()) {
            (Some([publication, _]), Some("publication.json")) => {
                Behaviour::ServesOther(publication)
            }
            (Some([_, signature]), Some("publication.json.minisig")) => {
                Behaviour::ServesOther(signature)
            }
            _ => Behaviour::Serves,
        }
    });
    let of_old = ["publication.json", "publication.json.minisig"]
        .map(|name| fs::read(Edition::Old.tree().join(name)).unwrap());
    let new = &answers(Edition::New, vec![Ask::get("/sources")])[0];
    let mut site = Site::start(&files, &host.url(), &[key()]);
    // A publication with a wrong signature is not kept, however new it says to be.
    let [publication, signature] = of_old.clone();
    let mut future: Value = serde_json::from_slice(&publication).unwrap();
    future["version"] = "2100-01-01T00:00:00.000000Z".into();
    *sent.lock().unwrap() = Some([future.to_string().into_bytes(), signature]);
    assert!(site.ask("GET", "/sources", &[], "").is_err());
    for other in [None, Some(of_old)] {
        *sent.lock().unwrap() = other;
        site.forget();
        assert_same("/sources", &site.ask("GET", "/sources", &[], ""), &new.right);
    }
}

#[test]
fn a_host_of_whole_files_sends_a_file_once_a_round() {
    let Some(files) = files("site::a_host_of_whole_files_…") else { return };
    let host = Host::with_rule(Edition::Old.tree(), |_| Behaviour::IgnoresRange);
    let mut site = Site::start(&files, &host.url(), &[key()]);
    site.keep();
    for Asked { ask: asked, right } in &all_kinds()[..6] {
        assert_same(&format!("{asked:?}"), &ask(&mut site, asked), right);
    }
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for request in host.asked() {
        *times.entry(request.path).or_default() += 1;
    }
    // The site keeps the beginning of a file, and asks again where an answer needs a later part.
    let often: Vec<_> = times.iter().filter(|(_, times)| **times > WHOLE_FILE_TIMES).collect();
    assert!(often.is_empty(), "{often:?}");
}

#[test]
fn what_was_read_is_kept_for_any_order_of_requests() {
    let Some(files) = files("site::what_was_read_is_kept_…") else { return };
    let is_away = Arc::new(AtomicBool::new(false));
    let of_host = Arc::clone(&is_away);
    let host =
        Host::with_rule(Edition::Old.tree(), move |_| match of_host.load(Ordering::Relaxed) {
            true => Behaviour::Disconnects,
            false => Behaviour::Serves,
        });
    let mut site = Site::start(&files, &host.url(), &[key()]);
    site.keep();
    let all = of_all_endpoints();
    for Asked { ask: asked, right } in &all {
        assert_same(&format!("{asked:?}"), &ask(&mut site, asked), right);
    }
    is_away.store(true, Ordering::Relaxed);
    // The first answer of each instance reads more than later ones.
    for Asked { ask: asked, right } in all.iter().rev() {
        site.forget();
        assert_same(&format!("{asked:?}"), &ask(&mut site, asked), right);
    }
}

#[test]
fn a_host_that_has_too_much_to_do_is_asked_once_more() {
    let Some(files) = files("site::a_host_that_has_too_much_to_do_…") else { return };
    let asked = Arc::new(Mutex::new(BTreeSet::new()));
    let host = Host::with_rule(Edition::Old.tree(), move |request| {
        match asked.lock().unwrap().insert(request.path.clone()) {
            true => refusal("503 Service Unavailable"),
            false => Behaviour::Serves,
        }
    });
    let mut site = Site::start(&files, &host.url(), &[key()]);
    for Asked { ask: asked, right } in &all_kinds()[..6] {
        assert_same(&format!("{asked:?}"), &ask(&mut site, asked), right);
    }
}

#[test]
fn a_snapshot_whose_files_are_gone_is_left_for_the_published_one() {
    let Some(files) = files("site::a_snapshot_whose_files_are_gone_…") else { return };
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("tree");
    symlink(Edition::Old.tree(), &place).unwrap();
    let (is_gone, snapshot) = (Arc::new(AtomicBool::new(false)), Edition::Old.id());
    let of_host = Arc::clone(&is_gone);
    let host = Host::with_rule(place.clone(), move |request| {
        match of_host.load(Ordering::Relaxed) && request.path.contains(&snapshot) {
            true => refusal("404 Not Found"),
            false => Behaviour::Serves,
        }
    });
    let mut site = Site::start(&files, &host.url(), &[key()]);
    let [old, new] = [Edition::Old, Edition::New]
        .map(|edition| answers(edition, vec![Ask::get("/sources"), Ask::get("/outputs")]));
    assert_same("/sources", &site.ask("GET", "/sources", &[], ""), &old[0].right);
    fs::remove_file(&place).unwrap();
    symlink(Edition::New.tree(), &place).unwrap();
    is_gone.store(true, Ordering::Relaxed);
    assert_same("/outputs", &site.ask("GET", "/outputs", &[], ""), &new[1].right);
}

#[test]
fn every_endpoint_of_a_site_reads_what_it_needs_together() {
    let Some(files) = files("site::every_endpoint_of_a_site_…") else { return };
    let host = Host::new(Edition::Old.tree());
    let link = SlowLink::new(&host.url(), Duration::from_millis(30), 12_500_000);
    let mut site = Site::start(&files, &link.url(), &[key()]);
    let (all, mut excessive) = (of_all_endpoints(), Vec::new());
    for Asked { ask: asked, right } in &all {
        site.forget();
        link.take_counts();
        assert_same(&format!("{asked:?}"), &ask(&mut site, asked), right);
        let counts = link.take_counts();
        rounds::print(&counts, asked, right.status);
        // The publication, the manifest, and the ends of indexes come first, which a server reads when it starts.
        if counts.rounds > rounds::ROUNDS_MAX + 3 {
            excessive.push((counts, asked));
        }
    }
    assert!(excessive.is_empty(), "{excessive:#?}");
}
