//! Rate limits: headers, quotas, refusals, and the identification of clients.

use std::sync::atomic::{AtomicUsize, Ordering};

use pinakes_tests::client::{Connection, Response};
use pinakes_tests::server::{Server, Snapshots, command};

const HEADERS: [&str; 5] = [
    "x-ratelimit-ip-limit",
    "x-ratelimit-ip-remaining",
    "x-ratelimit-ip-reset-seconds",
    "x-ratelimit-daily-limit",
    "x-ratelimit-daily-remaining",
];
const AUTHOR: &str = "/authors/HX_A5900000001";

/// Starts a server with limits and further arguments.
pub fn limited(snapshots: &Snapshots, more: &[&str]) -> Server {
    let mut args = vec!["--snapshots", snapshots.path().to_str().unwrap()];
    args.extend(more);
    Server::start(command(&args).env_remove("PINAKES_NO_LIMITS"))
}

/// Reads the numbers of the five limit headers.
#[track_caller]
pub fn numbers(response: &Response) -> [u64; 5] {
    HEADERS
        .map(|name| response.header(name).unwrap_or_else(|| panic!("no {name}")).parse().unwrap())
}

#[test]
fn thirty_requests_a_minute_are_answered_and_the_next_has_a_retry_time() {
    let snapshots = Snapshots::from_sample();
    let server = limited(&snapshots, &[]);
    let mut connection = server.connect();
    for at in 1..=30 {
        let response = connection.get(AUTHOR);
        let [limit, remaining, reset, daily, left] = numbers(&response);
        assert_eq!((response.status, limit, remaining, daily, left), (200, 30, 30 - at, 500, 500));
        assert!((1..=60).contains(&reset), "{reset}");
    }
    let refused = connection.get("/authors");
    assert_eq!(refused.status, 429);
    let [_, remaining, reset, _, left] = numbers(&refused);
    assert_eq!((remaining, left), (0, 500), "what is refused uses nothing");
    let body = refused.json();
    let seconds = body["reset_in_seconds"].as_u64().unwrap();
    assert_eq!(seconds, reset);
    assert_eq!(refused.header("retry-after"), Some(seconds.to_string().as_str()));
    let at = body["reset_at_utc"].as_str().unwrap();
    let clock = at.get(11..19).unwrap();
    assert!(at.len() == 20 && at.ends_with('Z'), "{at}");
    let message = format!(
        "IP rate limit exceeded (max 30 requests per minute). Please try again in {seconds} seconds \
         (at {clock} UTC)."
    );
    assert_eq!(body["message"], message.as_str());
    assert_eq!((&body["statusCode"], &body["error"]), (&429.into(), &"Too Many Requests".into()));
    assert_eq!(body.as_object().unwrap().len(), 5, "{body}");
    assert_eq!(refused.header("cache-control"), Some("no-store"));

    // Resources beside the interface are answered and report the same counters.
    for path in ["/", "/health", "/ready", "/rate-limit", "/openapi.json", "/docs", "/docs/page.js"]
    {
        let response = connection.get(path);
        assert_eq!((response.status, numbers(&response)[1]), (200, 0), "{path}");
    }
    let options = connection.request("OPTIONS", "/authors", &[]);
    assert_eq!((options.status, numbers(&options)[1]), (204, 0));
    assert_eq!(connection.get("/nope").status, 429);
    assert_eq!(connection.request("HEAD", AUTHOR, &[]).status, 429);
}

#[test]
fn every_reply_reports_the_counters_of_the_client() {
    let snapshots = Snapshots::from_sample();
    let server = limited(&snapshots, &["--minute-limit", "100", "--daily-list", "8"]);
    let mut connection = server.connect();
    let mut expected = (100, 8);
    for (method, path, status, uses) in [
        ("GET", AUTHOR, 200, (1, 0)),
        ("HEAD", AUTHOR, 200, (1, 0)),
        ("GET", "/authors/HX_A1", 404, (1, 0)),
        ("GET", "/authors/A1", 400, (1, 0)),
        ("GET", "/nope", 404, (1, 0)),
        ("GET", "/authors?page=0", 400, (1, 1)),
        ("GET", "/authors?per_page=10", 200, (1, 1)),
        ("POST", "/authors", 405, (1, 0)),
        ("DELETE", "/authors", 405, (1, 0)),
        ("HEAD", "/authors", 200, (1, 1)),
        ("GET", "/resolve/10.1000/x", 404, (1, 0)),
        ("GET", "/references/institution-types", 200, (1, 1)),
        ("GET", "/autocomplete?query=a", 200, (1, 0)),
        ("GET", "/autocomplete/foo?query=a", 400, (1, 0)),
        ("OPTIONS", "/authors", 204, (0, 0)),
        ("GET", "/rate-limit", 200, (0, 0)),
        ("GET", "/health", 200, (0, 0)),
    ] {
        let response = connection.request(method, path, &[]);
        expected = (expected.0 - uses.0, expected.1 - uses.1);
        let [_, minute, _, _, daily] = numbers(&response);
        assert_eq!((response.status, (minute, daily)), (status, expected), "{method} {path}");
    }
    // Requests refused before routing, and conditional requests, count too.
    let tag = connection.get(AUTHOR).header("etag").unwrap().to_owned();
    expected.0 -= 1;
    let long = format!("/authors/HX_A{}", "1".repeat(17_000));
    let many: Vec<String> = (0..65).map(|at| format!("X-{at}: a")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let conditional = format!("If-None-Match: {tag}");
    let refusals: [(&str, &str, &[&str], u16); 4] = [
        ("GET", AUTHOR, &[&conditional], 304),
        ("GET", &long, &[], 414),
        ("POST", "/graphql", &[], 415),
        ("GET", AUTHOR, &many, 431),
    ];
    for (method, path, headers, status) in refusals {
        let response = server.connect().request(method, path, headers);
        expected.0 -= 1;
        let [_, minute, _, _, daily] = numbers(&response);
        assert_eq!((response.status, (minute, daily)), (status, expected), "{method} {status}");
    }
    let response = connection.get("/rate-limit");
    let status = response.json();
    let [limit, remaining, reset, daily, left] = numbers(&response);
    let minute =
        serde_json::json!({"limit": limit, "remaining": remaining, "reset_seconds": reset});
    assert_eq!(status["minute_rate_limit"], minute);
    let list = &status["daily_quota"]["list_filter"];
    assert_eq!((&list["limit"], &list["remaining"]), (&daily.into(), &left.into()));
    let search = &status["daily_quota"]["search"];
    assert_eq!((&search["limit"], &search["remaining"]), (&50.into(), &48.into()));
    assert_eq!(status["daily_quota"]["list_filter"]["remaining"], 4);
    assert_eq!(status["minute_rate_limit"]["limit"], 100);
    assert_eq!(status["minute_rate_limit"]["remaining"], expected.0);
    assert_eq!(status["ip"], "127.0.0.1");
}

#[test]
fn daily_and_pool_limits_refuse_lists_and_searches_only() {
    let snapshots = Snapshots::from_sample();
    let check = |args: &[&str], path: &str, begins: &str| {
        let server = limited(&snapshots, args);
        let mut connection = server.connect();
        for _ in 0..2 {
            assert_eq!(connection.get(path).status, 200, "{path}");
        }
        let refused = connection.get(path);
        let body = refused.json();
        let message = body["message"].as_str().unwrap();
        assert_eq!(refused.status, 429, "{message}");
        assert!(message.starts_with(begins), "{message}");
        assert!(message.ends_with(" (at 00:00:00 UTC)."), "{message}");
        assert!(body["reset_at_utc"].as_str().unwrap().ends_with("T00:00:00Z"), "{body}");
        assert_eq!(numbers(&refused)[1], 27, "the minute counts what the day refuses");
        assert_eq!(connection.get(AUTHOR).status, 200);
    };
    let list = "/authors?per_page=10";
    let search = "/autocomplete?query=a";
    let quota = "Your daily quota for ";
    let pool = "The service's daily pool for ";
    check(
        &["--daily-list", "2"],
        list,
        &format!("{quota}List/Filter requests has been exceeded. "),
    );
    check(&["--daily-search", "2"], search, &format!("{quota}Search requests has been exceeded. "));
    let all = ["--pool-share", "100%"];
    check(
        &[&["--pool-list", "2"][..], &all].concat(),
        list,
        &format!("{pool}List/Filter requests has been used up. "),
    );
    check(
        &[&["--pool-search", "2"][..], &all].concat(),
        search,
        &format!("{pool}Search requests has been used up. "),
    );
}

#[test]
fn concurrent_requests_pass_exactly_thirty_of_a_thousand() {
    let snapshots = Snapshots::from_sample();
    for _ in 0..3 {
        let server = limited(&snapshots, &[]);
        let answered = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    let mut connection = server.connect();
                    for _ in 0..50 {
                        let status = connection.get(AUTHOR).status;
                        assert!(matches!(status, 200 | 429), "{status}");
                        answered.fetch_add((status == 200).into(), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(answered.into_inner(), 30);
    }
}

/// Returns the client address that the server counts for a request with these headers.
fn client(connection: &mut Connection, headers: &str) -> String {
    let request = format!("GET /rate-limit HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
    connection.send(request.as_bytes()).unwrap();
    connection.receive().unwrap().json()["ip"].as_str().unwrap().to_owned()
}

#[test]
fn only_a_trusted_proxy_can_name_another_client() {
    let snapshots = Snapshots::from_sample();
    let forged = "X-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\nX-Real-IP: 1.2.3.4\r\n";
    let server = limited(&snapshots, &["--minute-limit", "3"]);
    let mut connection = server.connect();
    assert_eq!(client(&mut connection, forged), "127.0.0.1");
    for at in 1..=4 {
        let request =
            format!("GET {AUTHOR} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.9.8.{at}\r\n\r\n");
        connection.send(request.as_bytes()).unwrap();
        let status = connection.receive().unwrap().status;
        assert_eq!(status, if at < 4 { 200 } else { 429 }, "forged headers change nothing");
    }
    let args = ["--trusted-proxy", "127.0.0.0/8,10.0.0.0/8", "--exempt", "192.0.2.7"];
    let server = limited(&snapshots, &args);
    let mut connection = server.connect();
    for (headers, expected) in [
        ("", "127.0.0.1"),
        ("X-Forwarded-For: 6.6.6.6, 1.2.3.4\r\n", "1.2.3.4"),
        ("X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 1.2.3.4, 10.1.1.1\r\n", "1.2.3.4"),
        ("X-Forwarded-For: 1.2.3.4, unknown\r\n", "127.0.0.1"),
        ("X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1"),
        ("Forwarded: for=1.2.3.4\r\n", "127.0.0.1"),
    ] {
        assert_eq!(client(&mut connection, headers), expected, "{headers}");
    }
    let request = "GET /rate-limit HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n";
    connection.send(request.as_bytes()).unwrap();
    let exempt = connection.receive().unwrap();
    assert_eq!(exempt.text(), r#"{"ip":"192.0.2.7","minute_rate_limit":null,"daily_quota":null}"#);
    assert_eq!(exempt.header(HEADERS[0]), None);
    let args = ["--trusted-proxy", "127.0.0.1", "--forwarded-by", "forwarded"];
    let server = limited(&snapshots, &args);
    let mut connection = server.connect();
    let named = "Forwarded: for=\"[2001:db8::1]:443\"\r\nX-Forwarded-For: 1.2.3.4\r\n";
    assert_eq!(client(&mut connection, named), "2001:db8::1");
}

#[test]
fn an_unreadable_forwarding_header_is_neither_exempt_nor_the_proxys() {
    let snapshots = Snapshots::from_sample();
    let of_proxy = ["--trusted-proxy", "127.0.0.1", "--exempt", "127.0.0.1", "--minute-limit", "3"];
    for (name, header) in [
        ("forwarded", "Forwarded: for=6.6.6.6;x=\""),
        ("forwarded", "Forwarded: for=unknown"),
        ("x-forwarded-for", "X-Forwarded-For: unknown"),
        ("x-forwarded-for", "X-Forwarded-For: 1.2.3.4,"),
    ] {
        let server = limited(&snapshots, &[&of_proxy[..], &["--forwarded-by", name]].concat());
        let mut connection = server.connect();
        for at in 1..=4 {
            let status = connection.request("GET", AUTHOR, &[header]).status;
            assert_eq!(status, if at < 4 { 200 } else { 429 }, "{header}");
        }
        // The proxy itself is exempt, and other clients have their own count.
        let own = connection.get(AUTHOR);
        assert_eq!((own.status, own.header(HEADERS[0])), (200, None), "{header}");
        let named =
            if name == "forwarded" { "Forwarded: for=1.2.3.4" } else { "X-Forwarded-For: 1.2.3.4" };
        let other = connection.request("GET", AUTHOR, &[named]);
        assert_eq!(numbers(&other)[1], 2, "{header}");
    }
}

#[test]
fn invalid_requests_leave_the_pool_to_others_and_one_network_takes_its_share() {
    let snapshots = Snapshots::from_sample();
    let arguments = ["--trusted-proxy", "127.0.0.1", "--pool-list", "8", "--minute-limit", "1000"];
    let server = limited(&snapshots, &arguments);
    let mut connection = server.connect();
    let mut status = |method: &str, target: &str, client: &str| {
        let header = format!("X-Forwarded-For: {client}");
        connection.request(method, target, &[&header]).status
    };
    for at in 0..300 {
        let client = format!("10.{}.{}.1", at % 5, at);
        assert_eq!(status("HEAD", "/outputs?page=0", &client), 400);
        assert_eq!(status("GET", "/outputs?nope=1", &client), 400);
    }
    // Two of eight for each network.
    for network in ["192.0.2", "198.51.100", "203.0.113", "2001:db8:1::"] {
        let client = |host: u8| match network.contains(':') {
            true => format!("2001:db8:1:{host}::1"),
            false => format!("{network}.{host}"),
        };
        let found: Vec<u16> =
            (1..=4).map(|host| status("GET", "/authors?per_page=10", &client(host))).collect();
        assert_eq!(found, [200, 200, 429, 429], "{network}");
    }
    assert_eq!(status("GET", "/authors?per_page=10", "10.0.0.1"), 429, "the pool is used up");
    assert_eq!(status("GET", AUTHOR, "10.0.0.1"), 200);
}

#[test]
fn free_requests_have_a_limit_of_their_own() {
    let snapshots = Snapshots::from_sample();
    let server = limited(&snapshots, &["--free-limit", "5"]);
    let mut connection = server.connect();
    for path in ["/", "/health", "/docs", "/openapi.json", "/graphql/schema"] {
        assert_eq!(connection.get(path).status, 200, "{path}");
    }
    let refused = connection.request("HEAD", "/docs/swagger-ui.js", &[]);
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("60")));
    let body = connection.get("/health").json();
    let message = body["message"].as_str().unwrap();
    assert!(
        message.starts_with("IP rate limit exceeded (max 5 requests per minute)."),
        "{message}"
    );
    // The limits themselves, OPTIONS and the interface do not count.
    let status = connection.get("/rate-limit");
    assert_eq!(status.json()["minute_rate_limit"]["remaining"], 30);
    assert_eq!(connection.request("OPTIONS", "/health", &[]).status, 204);
    assert_eq!(connection.get(AUTHOR).status, 200);
}

#[test]
fn without_limits_nothing_is_counted() {
    let snapshots = Snapshots::from_sample();
    let server = limited(&snapshots, &["--no-limits"]);
    let mut connection = server.connect();
    for _ in 0..40 {
        let response = connection.get(AUTHOR);
        assert_eq!((response.status, response.header(HEADERS[0])), (200, None));
    }
    let status = connection.get("/rate-limit");
    assert_eq!(status.text(), r#"{"ip":"127.0.0.1","minute_rate_limit":null,"daily_quota":null}"#);
    assert_eq!(status.header("cache-control"), Some("no-store"));
}

#[test]
fn invalid_limits_are_refused_at_the_start() {
    let snapshots = Snapshots::from_sample();
    for args in [
        ["--minute-limit", "-1"],
        ["--minute-limit", "many"],
        ["--clients-max", "0"],
        ["--trusted-proxy", "10.0.0.0/33"],
        ["--exempt", "localhost"],
    ] {
        let mut all = vec!["--snapshots", snapshots.path().to_str().unwrap()];
        all.extend(args);
        let output = command(&all).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}
