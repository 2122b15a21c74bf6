//! Two server processes and one store.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use pinakes_tests::client::{Connection, REPLY_TIMEOUT, Response};
use pinakes_tests::server::{Server, Snapshots, command};

use crate::fleet::store::Store;

const AUTHOR: &str = "/authors/HX_A5900000001";
/// The log line of a server that reaches the store.
const ANSWERS: &str = "the store of counters answers";
/// The error in the log of a server that lost the store.
const AWAY: &str = "the store of counters is away";
/// The error in the log of a server that cannot connect.
const UNREACHABLE: &str = "cannot reach the store of counters";
/// A timeout that no machine is too slow for.
const PATIENT: [&str; 2] = ["--counters-timeout", "9000"];

/// One of the servers, and its admin address.
struct Member {
    server: Server,
    admin: SocketAddr,
}

impl Member {
    fn start(snapshots: &Snapshots, store: &Store, more: &[&str]) -> Member {
        let (snapshots, url) = (snapshots.path().to_str().unwrap(), store.url());
        let mut args = vec!["--snapshots", snapshots, "--counters", &url];
        args.extend(["--admin", "127.0.0.1:0", "--trusted-proxy", "127.0.0.0/8"]);
        args.extend(more);
        let mut server = Server::start(command(&args).env_remove("PINAKES_NO_LIMITS"));
        let admin = server.read_admin_address();
        Member { server, admin }
    }

    fn pair(snapshots: &Snapshots, store: &Store, more: &[&str]) -> [Member; 2] {
        let members = [(); 2].map(|()| Member::start(snapshots, store, more));
        members.iter().for_each(|member| member.server.await_log(&[ANSWERS]));
        members
    }

    fn get(&self, client: &str, path: &str) -> Response {
        let forwarded = format!("x-forwarded-for: {client}");
        self.server.connect().request("GET", path, &[&forwarded])
    }

    /// Sends requests of a client until one is refused; returns how many were not.
    fn passed(&self, client: &str, path: &str) -> u64 {
        (0..).take_while(|_| self.get(client, path).status == 200).count() as u64
    }

    fn troubles(&self) -> serde_json::Value {
        self.server.get("/health").json()["troubles"].clone()
    }

    /// Waits until `/health` reports exactly these issues.
    #[track_caller]
    fn await_troubles(&self, expected: &[&str]) {
        let begun = Instant::now();
        while self.troubles() != serde_json::json!(expected) {
            assert!(begun.elapsed() < REPLY_TIMEOUT, "{}", self.server.log());
            // `/health` has a limit per minute, too.
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn metric(&self, name: &str) -> f64 {
        let response = Connection::open(self.admin).get("/metrics");
        let text = response.text();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in\n{text}"))
    }

    fn calls(&self) -> f64 {
        self.metric(r#"pinakes_counters_calls_total{outcome="answered"}"#)
    }
}

fn remaining(response: &Response) -> u64 {
    response.header("x-ratelimit-ip-remaining").unwrap().parse().unwrap()
}

#[test]
fn two_servers_share_the_minute_of_a_client() {
    let Some(store) = Store::start("two_servers_share_the_minute_of_a_client") else { return };
    let snapshots = Snapshots::from_sample();
    let members = Member::pair(&snapshots, &store, &PATIENT);
    for at in 0..30 {
        let response = members[at % 2].get("192.0.2.1", AUTHOR);
        assert_eq!(response.status, 200, "{at}");
    }
    for member in &members {
        let refused = member.get("192.0.2.1", AUTHOR);
        assert_eq!((refused.status, remaining(&refused)), (429, 0));
        let body = refused.json();
        let message = body["message"].as_str().unwrap();
        assert!(message.starts_with("IP rate limit exceeded (max 30 requests per minute)."));
        let status = member.get("192.0.2.1", "/rate-limit").json();
        assert_eq!(status["minute_rate_limit"]["remaining"], 0, "{status}");
        assert_eq!(member.get("192.0.2.2", AUTHOR).status, 200, "other clients are not refused");
    }
    // A client that changes servers finds nearly all that is left: a server holds back one request of 30.
    let before: u64 =
        (0..10).map(|_| u64::from(members[0].get("192.0.2.3", AUTHOR).status == 200)).sum();
    let after = members[1].passed("192.0.2.3", AUTHOR);
    assert!(before == 10 && (19..=20).contains(&after), "{before} {after}");
    let calls = members[0].calls();
    assert_eq!(members[0].get("192.0.2.1", AUTHOR).status, 429);
    assert_eq!(members[0].calls(), calls, "the server knows that the minute is used up");
    for member in members {
        member.server.end(&[]);
    }
}

#[test]
fn two_servers_share_a_pool_and_seldom_ask_the_store() {
    let Some(store) = Store::start("two_servers_share_a_pool_and_seldom_ask_the_store") else {
        return;
    };
    let snapshots = Snapshots::from_sample();
    let many = ["--minute-limit", "100000", "--daily-list", "100000", "--pool-list", "1280"];
    let more = [&many[..], &["--pool-share", "100%"], &PATIENT].concat();
    let members = Member::pair(&snapshots, &store, &more);
    let mut connections = members.each_ref().map(|member| member.server.connect());
    let mut passed = 0;
    for at in 0..1_300 {
        let response = connections[at % 2].get("/institutions");
        match response.status {
            200 => passed += 1,
            429 => assert!(response.text().contains("daily pool for List/Filter"), "{at}"),
            status => panic!("{status}"),
        }
    }
    // Each server may hold a lease of ten.
    assert!((1_260..=1_280).contains(&passed), "{passed}");
    let calls: f64 = members.iter().map(Member::calls).sum();
    assert!(calls < 400.0, "{calls} calls of 1300 requests");
    // An invalid list meets the same pool.
    assert_eq!(connections[0].get("/institutions?filter=nonsense:1").status, 429);
    for member in members {
        member.server.end(&[]);
    }
}

#[test]
fn a_stream_takes_all_its_requests_from_the_fleet_or_none() {
    let Some(store) = Store::start("a_stream_takes_all_its_requests_from_the_fleet_or_none") else {
        return;
    };
    let snapshots = Snapshots::from_sample();
    let more = [&["--daily-list", "5"], &PATIENT[..]].concat();
    let members = Member::pair(&snapshots, &store, &more);
    let stream = "/outputs?format=ndjson";
    assert_eq!(members[0].get("192.0.2.1", stream).status, 200);
    let refused = members[1].get("192.0.2.1", stream);
    let message = "A stream of 234 records counts as 3 List/Filter requests, but your daily quota has 2 left of 5.";
    assert!(refused.text().contains(message), "{}", refused.text());
    // The refused stream took nothing.
    let list = |at: usize| members[at].get("192.0.2.1", "/outputs").status;
    assert_eq!([list(1), list(0), list(1), list(0)], [200, 200, 429, 429]);
    for member in members {
        member.server.end(&[]);
    }
}

#[test]
fn two_servers_count_pages_and_completions_together() {
    let Some(store) = Store::start("two_servers_count_pages_and_completions_together") else {
        return;
    };
    let snapshots = Snapshots::from_sample();
    let more = [&["--browse-limit", "3", "--daily-list", "1"], &PATIENT[..]].concat();
    let members = Member::pair(&snapshots, &store, &more);
    let get = |at: usize, path: &str| members[at].get("192.0.2.1", path).status;
    assert_eq!([0, 1].map(|at| get(at, "/browse/outputs")), [200, 200]);
    let complete = "/browse/complete?query=univ";
    assert_eq!((0..9).map(|at| get(at % 2, complete)).max(), Some(200));
    assert_eq!(get(0, "/browse/outputs"), 429, "a tenth of a page is left");
    assert_eq!([1, 0, 1].map(|at| get(at, complete)), [200, 429, 429]);
    assert_eq!([0, 1].map(|at| get(at, "/outputs")), [200, 429]);
    for member in members {
        member.server.end(&[]);
    }
}

#[test]
fn a_killed_store_leaves_each_server_its_share_and_learns_the_counts_again() {
    let test = "a_killed_store_leaves_each_server_its_share_and_learns_the_counts_again";
    let Some(mut store) = Store::start(test) else { return };
    let snapshots = Snapshots::from_sample();
    let members =
        Member::pair(&snapshots, &store, &[&PATIENT[..], &["--minute-limit", "200"]].concat());
    let begun = Instant::now();
    for member in &members {
        let passed: u64 =
            (0..40).map(|_| u64::from(member.get("192.0.2.1", AUTHOR).status == 200)).sum();
        assert_eq!(passed, 40);
    }
    store.kill();
    for member in &members {
        member.await_troubles(&["counters_away"]);
        assert_eq!(member.metric("pinakes_counters_reachable"), 0.0);
    }
    // Each server gives each client half of the limit, less what the client used there.
    for (client, expected) in [("192.0.2.1", 60), ("192.0.2.2", 100)] {
        let passed = members.each_ref().map(|member| member.passed(client, AUTHOR));
        assert_eq!(passed, [expected; 2]);
    }
    store.start_again();
    members.iter().for_each(|member| member.await_troubles(&[]));
    for member in &members {
        assert_eq!(member.metric("pinakes_counters_reachable"), 1.0);
        let passed = ["192.0.2.1", "192.0.2.2"].map(|client| member.passed(client, AUTHOR));
        let is_new_minute = begun.elapsed().as_secs() >= 60;
        assert!(passed == [0; 2] || is_new_minute, "{passed:?}");
    }
    for member in members {
        let log = member.server.end(&[AWAY]);
        assert_eq!(log.matches(ANSWERS).count(), 2, "{log}");
    }
}

#[test]
fn a_store_that_stalls_delays_three_requests_and_refuses_nobody() {
    let test = "a_store_that_stalls_delays_three_requests_and_refuses_nobody";
    let Some(store) = Store::start(test) else { return };
    let snapshots = Snapshots::from_sample();
    let [member, _other] = Member::pair(&snapshots, &store, &["--counters-timeout", "20"]);
    assert_eq!(member.get("192.0.2.1", AUTHOR).status, 200);
    store.stall();
    for client in 2..12 {
        assert_eq!(member.get(&format!("192.0.2.{client}"), AUTHOR).status, 200);
    }
    member.server.await_log(&[AWAY]);
    let failed = member.metric(r#"pinakes_counters_calls_total{outcome="failed"}"#);
    assert!((3.0..=6.0).contains(&failed), "{failed}");
    member.await_troubles(&["counters_away"]);
    store.go_on();
    member.await_troubles(&[]);
    // The questions that were late took their requests once.
    let response = member.get("192.0.2.2", AUTHOR);
    assert!((27..=28).contains(&remaining(&response)), "{}", remaining(&response));
}

#[test]
fn a_server_without_a_store_starts_and_counts_alone() {
    let Some(mut store) = Store::start("a_server_without_a_store_starts_and_counts_alone") else {
        return;
    };
    store.kill();
    let snapshots = Snapshots::from_sample();
    let member = Member::start(&snapshots, &store, &["--fleet-size", "3"]);
    member.server.await_log(&[UNREACHABLE]);
    assert_eq!(member.passed("192.0.2.1", AUTHOR), 10);
    member.await_troubles(&["counters_away"]);
    member.server.end(&[UNREACHABLE]);
}
