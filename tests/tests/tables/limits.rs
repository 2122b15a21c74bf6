//! A stream counts as one request of the day for each 100 records begun.

use pinakes_tests::client::Response;
use pinakes_tests::server::{Server, Snapshots, command};

/// Starts a server with limits and further arguments.
fn limited(snapshots: &Snapshots, more: &[&str]) -> Server {
    let mut args = vec!["--snapshots", snapshots.path().to_str().unwrap()];
    args.extend(more);
    Server::start(command(&args).env_remove("PINAKES_NO_LIMITS"))
}

/// The requests left in the minute and in the day.
#[track_caller]
fn left(response: &Response) -> (u64, u64) {
    let number = |name: &str| response.header(name).unwrap().parse().unwrap();
    (number("x-ratelimit-ip-remaining"), number("x-ratelimit-daily-remaining"))
}

#[test]
fn a_stream_counts_one_request_for_each_hundred_records_begun() {
    // The sample has 234 outputs and 4 domains.
    let snapshots = Snapshots::from_sample();
    let server = limited(&snapshots, &[]);
    let mut connection = server.connect();
    let mut expected = (30, 500);
    let mut tag = String::new();
    for (method, target, status, uses) in [
        ("GET", "/outputs?format=csv", 200, 3),
        ("GET", "/outputs?format=ndjson", 200, 3),
        ("HEAD", "/outputs?format=csv", 200, 3),
        ("GET", "/domains?format=csv", 200, 1),
        ("GET", "/outputs?format=csv&sample=100", 200, 1),
        ("GET", "/outputs?format=csv&sample=101", 200, 2),
        ("GET", "/outputs?format=csv&filter=year:0", 200, 1),
        ("GET", "/outputs?format=xml", 400, 1),
        ("GET", "/outputs?format=csv&page=1", 400, 1),
        ("GET", "/outputs?select=id&sample=200", 200, 1),
        ("GET", "/outputs/HX_W1/citations?format=csv", 404, 1),
    ] {
        let response = connection.request(method, target, &[]);
        expected = (expected.0 - 1, expected.1 - uses);
        assert_eq!((response.status, left(&response)), (status, expected), "{method} {target}");
        tag = response.header("etag").unwrap_or(&tag).to_owned();
    }
    // The records of a current stream are not begun.
    let tag = format!("If-None-Match: {tag}");
    let current = connection.request("GET", "/outputs?format=csv", &[&tag]);
    assert_eq!((current.status, left(&current)), (304, (expected.0 - 1, expected.1 - 1)));
    let status = connection.get("/rate-limit").json();
    assert_eq!(status["daily_quota"]["list_filter"]["remaining"], expected.1 - 1);
}

#[test]
fn a_stream_beyond_the_quota_is_refused_before_it_begins() {
    let snapshots = Snapshots::from_sample();
    let server = limited(&snapshots, &["--daily-list", "5"]);
    let mut connection = server.connect();
    assert_eq!(left(&connection.get("/outputs?format=csv")), (29, 2));
    let refused = connection.get("/outputs?format=ndjson");
    assert_eq!((refused.status, left(&refused)), (429, (28, 2)), "only the minute counts it");
    let body = refused.json();
    let message = body["message"].as_str().unwrap();
    let begins = "A stream of 234 records counts as 3 List/Filter requests, but your daily quota has 2 left of \
                  5. Please narrow the list, or try again in ";
    assert!(message.starts_with(begins), "{message}");
    assert!(message.ends_with(" (at 00:00:00 UTC)."), "{message}");
    let seconds = body["reset_in_seconds"].as_u64().unwrap().to_string();
    assert_eq!(refused.header("retry-after"), Some(seconds.as_str()));
    assert_eq!(refused.header("content-type"), Some("application/json"));
    assert_eq!(refused.header("etag"), None);
    let smaller = connection.get("/outputs?format=ndjson&sample=150");
    assert_eq!((smaller.status, left(&smaller)), (200, (27, 0)));
    let spent = connection.get("/outputs?format=csv&sample=1");
    assert_eq!((spent.status, left(&spent)), (429, (26, 0)));
    let message = spent.json()["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("Your daily quota for List/Filter requests has been"), "{message}");
}

#[test]
fn streams_count_in_the_pool_of_all_clients() {
    let snapshots = Snapshots::from_sample();
    let args = ["--pool-list", "5", "--pool-share", "100%", "--trusted-proxy", "127.0.0.1"];
    let server = limited(&snapshots, &args);
    let mut connection = server.connect();
    let mut get = |target: &str, client: &str| {
        connection.request("GET", target, &[&format!("X-Forwarded-For: {client}")])
    };
    assert_eq!(get("/outputs?format=csv", "192.0.2.1").status, 200);
    let refused = get("/outputs?format=csv", "198.51.100.1");
    assert_eq!((refused.status, left(&refused).1), (429, 500));
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    let begins = "A stream of 234 records counts as 3 List/Filter requests, but the service's daily pool has \
                  fewer left.";
    assert!(message.starts_with(begins), "{message}");
    // The refused stream is not in the pool.
    assert_eq!(get("/outputs?format=csv&sample=200", "198.51.100.1").status, 200);
    assert_eq!(get("/outputs?per_page=10", "198.51.100.1").status, 429);
}

#[test]
fn without_limits_a_stream_is_not_counted() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let response = server.get("/outputs?format=csv");
    assert_eq!((response.status, response.header("x-ratelimit-daily-remaining")), (200, None));
    server.end(&[]);
}
