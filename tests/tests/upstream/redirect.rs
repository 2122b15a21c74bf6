//! A redirect from a host of the internet into the network of this machine is not followed.
//!
//! The test runs in a network of its own, where an address of the internet is this machine's.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use pinakes_tests::skip;
use pinakes_tests::static_host::{Behaviour, Host};

use crate::upstream::setup::{Ask, Edition, Mirror, answers, assert_unavailable, output};

/// Set where the test has a network of its own.
const OWN_NETWORK: &str = "PINAKES_OWN_NETWORK";
/// An address for documentation, which no service on the internet has.
const ELSEWHERE: &str = "203.0.113.7";
const NETWORK: &str =
    "ip link set lo up && ip address add 203.0.113.7/32 dev lo && exec \"$0\" \"$@\"";

#[test]
fn a_redirect_to_a_local_address_is_not_followed() {
    const NAME: &str = "upstream::redirect::a_redirect_to_a_local_address_is_not_followed";
    if std::env::var_os(OWN_NETWORK).is_some() {
        return follow_redirects();
    }
    // The publications are made once, in the network of all tests.
    let _ = Edition::Old.tree();
    let unshared = |script: &str, more: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["--net", "sh", "-c", script])
            .arg(std::env::current_exe().unwrap())
            .args(more);
        command.env(OWN_NETWORK, "1").output()
    };
    if !unshared(&NETWORK.replace("exec \"$0\" \"$@\"", "true"), &[])
        .is_ok_and(|of| of.status.success())
    {
        return skip(NAME, "nobody may make a network here");
    }
    let ran = unshared(NETWORK, &["--exact", NAME, "--nocapture"]).unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && printed.contains("1 passed"), "{printed}");
}

/// Asks a mirror whose host redirects to a host at a local address, and then to one of the internet.
fn follow_redirects() {
    let tree = Edition::Old.tree();
    let [absent, other] =
        &answers(Edition::Old, [output(0), output(3_000)].map(Ask::get).into())[..]
    else {
        panic!("two answers")
    };
    for (address, is_followed) in [("127.0.0.1", false), (ELSEWHERE, true)] {
        let target = Host::at(address, tree.clone(), |_| Behaviour::Serves);
        let is_redirecting = Arc::new(AtomicBool::new(false));
        let (seen, url) = (Arc::clone(&is_redirecting), target.url());
        let host = Host::at(ELSEWHERE, tree.clone(), move |asked| {
            if !seen.load(SeqCst) {
                return Behaviour::Serves;
            }
            let head = format!(
                "HTTP/1.1 302 Found\r\nLocation: {url}/{}\r\nContent-Length: 0",
                asked.path
            );
            Behaviour::Replies(head, Vec::new())
        });
        let mirror = Mirror::empty();
        let server = mirror.start(&host.url(), &["--fetch-timeout", "2"]);
        absent.assert_right(&server);
        is_redirecting.store(true, SeqCst);
        if is_followed {
            other.assert_right(&server);
            assert!(!target.asked().is_empty());
        } else {
            assert_unavailable(&other.ask.send(server.address()));
            server.await_log(&["at the local address 127.0.0.1; refused"]);
            assert!(target.asked().is_empty(), "{:?}", target.asked());
        }
    }
}
