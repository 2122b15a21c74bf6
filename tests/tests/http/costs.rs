//! The dearest request of each endpoint: its processor time and memory against the limits.

use std::{
    fs,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use pinakes_answer::ENDPOINTS;
use pinakes_tests::server::{Server, Snapshots, command};
use serde_json::{Value, json};

/// `--list-cpu` of the server, in milliseconds.
const LIST_CPU: u64 = 300;
/// Milliseconds beyond the limit, for a clock tick, a piece under way and the connection. These programs are not
/// optimised.
const SLACK: u64 = 200;
/// Growth of the server's anonymous memory during a request. The allocator's four arenas keep freed memory for a second, and each
/// may have held one record.
const GROWTH_BYTES_MAX: u64 = 128 << 20;
/// Records with very many authors, and how many these are.
const WIDE_WORKS: u64 = 24;
const AUTHORS: u64 = 3_000;
/// Records with the words of the searches.
const WORKS: u64 = 4_000;

/// A request of a client.
enum Dearest {
    Get(String),
    /// A media type and a body.
    Post(&'static str, &'static str, String),
}

fn get(target: impl Into<String>) -> Dearest {
    Dearest::Get(target.into())
}

fn form(target: &'static str, body: String) -> Dearest {
    Dearest::Post(target, "application/x-www-form-urlencoded", body)
}

/// 15 compounds of 64 words, all of which every record has: 960 of the 1,000 clauses of a search.
fn compounds() -> String {
    let words = ["of", "data", "in", "and"];
    let one = |at: usize| {
        (0..64).map(|part| words[(at + part) % words.len()]).collect::<Vec<_>>().join("-")
    };
    (0..15).map(one).collect::<Vec<_>>().join("%20OR%20")
}

/// The dearest requests that the limits admit, one or more for each row of the table of endpoints.
fn dearest() -> [(&'static str, Vec<Dearest>); ENDPOINTS.len()] {
    let search = compounds();
    let plain = compounds().replace("%20", " ");
    let fuzzy = (0..50).map(|at| format!("datta{at}~2")).collect::<Vec<_>>().join("%20OR%20");
    let ids: Vec<String> = (0..100).map(|at| format!("HX_W{}", 1 + at % WIDE_WORKS)).collect();
    let query = json!({
        "query": "data in the systems", "type": vec!["outputs"; 100],
        "properties": [{ "pid": "author", "v": "Ada Berg 7" }],
    });
    let queries: Value = (0..8).map(|at| (format!("q{at}"), query.clone())).collect();
    let properties = vec![json!({ "id": "authors" }); 10];
    let more = json!({ "id": "authors.affiliations.name" });
    let properties = [properties, vec![more; 10]].concat();
    let extend = json!({ "ids": ids, "properties": properties });
    let lines = "{\"text\":\"Berg A 7, Data of systems and data in systems. Journal of Data 12 (2001) 3\"}\n".repeat(40);
    let graphql = json!({ "query": format!("{{outputs(search:\"{plain}\"){{meta{{count}}}}}}") });
    let tool = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "search", "arguments": { "query": plain } },
    });
    let encoded = |value: &Value| {
        value.to_string().replace('%', "%25").replace('&', "%26").replace('+', "%2B")
    };
    [
        (
            "/{list}",
            vec![
                get(format!("/outputs?search={search}&per_page=100")),
                get(format!("/outputs?search={fuzzy}")),
                get(format!("/outputs?search={}", vec!["of"; 5_000].join("-"))),
                get("/outputs?per_page=100"),
                get("/outputs?format=csv&select=authors"),
                get("/outputs?format=bibtex"),
                get(format!("/outputs?group_by=authors.id,authors.id&search={search}")),
            ],
        ),
        ("/{list}/search", vec![form("/outputs/search", format!("search={search}&per_page=100"))]),
        ("/{list}/{id}", vec![get("/outputs/HX_W1"), get("/authors/HX_A1")]),
        ("/{list}/{id}/references", vec![get("/outputs/HX_W1/references?per_page=100")]),
        ("/{list}/{id}/citations", vec![get("/outputs/HX_W1/citations?per_page=100")]),
        (
            "/statistics/{list}",
            vec![get(format!("/statistics/outputs?of=cited_by_count,year&search={search}"))],
        ),
        (
            "/reconcile",
            vec![
                form("/reconcile", format!("queries={}", encoded(&queries))),
                form("/reconcile", format!("extend={}", encoded(&extend))),
            ],
        ),
        ("/reconcile/suggest/{kind}", vec![get("/reconcile/suggest/entity?prefix=a%20b")]),
        ("/reconcile/properties", vec![get("/reconcile/properties?limit=9999")]),
        ("/reconcile/preview", vec![get("/reconcile/preview?id=HX_W1")]),
        ("/resolve/{identifier}", vec![get("/resolve/10.5555/none")]),
        (
            "/match/{list}",
            vec![
                Dearest::Post("/match/outputs", "application/x-ndjson", lines),
                Dearest::Post(
                    "/match/outputs",
                    "application/x-ndjson",
                    format!("{{\"key\":[{}0]}}\n", "0,".repeat(900_000)),
                ),
            ],
        ),
        ("/autocomplete", vec![get("/autocomplete?query=d%20s%20o%20i")]),
        ("/autocomplete/{entity_type}", vec![get("/autocomplete/outputs?query=d%20s%20o%20i")]),
        ("/{list}", vec![get("/legacy/topics?per_page=100")]),
        ("/{list}/{id}", vec![get("/legacy/topics/OA:T1")]),
        ("/graphql", vec![Dearest::Post("/graphql", "application/json", graphql.to_string())]),
        ("/mcp", vec![Dearest::Post("/mcp", "application/json", tool.to_string())]),
        ("/openalex", vec![get("/openalex")]),
        ("/openalex/autocomplete", vec![get("/openalex/autocomplete?q=data")]),
        ("/openalex/autocomplete/{name}", vec![get("/openalex/autocomplete/works?q=data")]),
        (
            "/openalex/{name}",
            vec![
                get("/openalex/works?per-page=200"),
                get("/openalex/works?per-page=200&select=id"),
                get("/openalex/works?per-page=200&select=id,countries_distinct_count"),
                get(format!("/openalex/works?search={search}")),
            ],
        ),
        ("/openalex/{identifier}", vec![get("/openalex/works/W1")]),
        ("/changes", vec![get("/changes?since=0")]),
        ("/graphql/schema", vec![get("/graphql/schema")]),
        ("/graphiql", vec![get("/graphiql")]),
        ("/graphiql/{part}", vec![get("/graphiql/none.js")]),
        ("/rate-limit", vec![get("/rate-limit")]),
        ("/", vec![get("/")]),
        ("/health", vec![get("/health")]),
        ("/ready", vec![get("/ready")]),
        ("/openapi.json", vec![get("/openapi.json")]),
        ("/docs", vec![get("/docs")]),
        ("/docs/{part}", vec![get("/docs/none.js")]),
        ("/browse", vec![get("/browse")]),
        (
            "/browse/search",
            vec![
                get(format!("/browse/search?query={search}")),
                get("/browse/search?query=data+in"),
            ],
        ),
        ("/browse/complete", vec![get("/browse/complete?query=d%20s%20o")]),
        ("/browse/complete/{entity_type}", vec![get("/browse/complete/outputs?query=d%20s")]),
        ("/browse/taxonomy", vec![get("/browse/taxonomy")]),
        ("/browse/{file}", vec![get("/browse/style.css")]),
        (
            "/browse/{list}",
            vec![
                get("/browse/outputs?per_page=100"),
                get(format!("/browse/outputs?search={search}&per_page=100")),
            ],
        ),
        ("/browse/{list}/{id}", vec![get("/browse/outputs/HX_W1"), get("/browse/authors/HX_A1")]),
        ("/sitemap.xml", vec![get("/sitemap.xml")]),
        ("/robots.txt", vec![get("/robots.txt")]),
        ("/llms.txt", vec![get("/llms.txt")]),
    ]
}

/// A snapshot of works with thousands of authors, and of works with the same frequent words.
fn snapshots() -> Snapshots {
    let author = |id: u64| {
        json!({
            "author_position": "middle",
            "author": { "id": format!("https://openalex.org/A{id}"), "display_name": format!("Ada Berg {id}") },
            "institutions": [{
                "id": format!("https://openalex.org/I{}", id % 500),
                "display_name": format!("Institute {}", id % 500), "country_code": "FR", "type": "education",
            }],
            "countries": ["FR"],
            "raw_author_name": format!("A. Berg {id}"),
            "raw_affiliation_strings": [format!("Institute {}, Paris, France", id % 500)],
        })
    };
    let authors: Vec<Value> = (1..=AUTHORS).map(author).collect();
    let work = |id: u64| {
        let mut work = json!({
            "id": format!("https://openalex.org/W{id}"),
            "display_name": format!("Data of data in systems and data of systems in number {id}"),
            "publication_year": 2_000 + id % 20,
            "type": "article",
        });
        if id <= WIDE_WORKS {
            work["authorships"] = authors.clone().into();
            work["cited_by_count"] = (100_000 - id).into();
        }
        format!("{work}\n")
    };
    let dump = tempfile::tempdir().unwrap();
    let works: String = (1..=WORKS).map(work).collect();
    pinakes_tests::write_files(dump.path(), [("works.jsonl", works)]);
    Snapshots::from_inputs(&[dump.path().to_path_buf()])
}

/// Processor time of a process, in milliseconds.
fn cpu_millis(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
    // User and system time, in ticks of 10 ms.
    [11, 12].map(|field: usize| fields[field].parse::<u64>().unwrap()).iter().sum::<u64>() * 10
}

fn anonymous_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() << 10
}

/// Sets a flag when it is dropped.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_dearest_request_of_each_endpoint_stays_within_its_limits() {
    let snapshots = snapshots();
    let list_cpu = LIST_CPU.to_string();
    let path = snapshots.path().to_str().unwrap().to_owned();
    // Each request comes from a client of its own.
    let args = ["--snapshots", &path, "--list-cpu", &list_cpu, "--trusted-proxy", "127.0.0.1"];
    let server = Server::start(command(&args).env_remove("PINAKES_NO_LIMITS"));
    let process = server.process_id();
    let (most, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                most.fetch_max(anonymous_bytes(process), Ordering::Relaxed);
                std::thread::park_timeout(std::time::Duration::from_millis(2));
            }
        });
        // Also if an assertion fails.
        let _done = SetOnDrop(&is_done);
        let mut failed = Vec::new();
        let mut client = 0;
        for (endpoint, (path, requests)) in ENDPOINTS.iter().zip(dearest()) {
            assert_eq!(endpoint.path, path);
            for request in requests {
                client += 1;
                let address =
                    format!("X-Forwarded-For: 10.0.{}.{}", client / 200, 1 + client % 200);
                let (before, held) = (cpu_millis(process), anonymous_bytes(process));
                most.store(0, Ordering::Relaxed);
                let mut connection = server.connect();
                let (reply, target) = match &request {
                    Dearest::Get(target) => {
                        (connection.request("GET", target, &[&address]), &**target)
                    }
                    Dearest::Post(target, media_type, body) => {
                        let raw = format!(
                            "POST {target} HTTP/1.1\r\nHost: x\r\n{address}\r\nContent-Type: {media_type}\r\n\
                             Content-Length: {}\r\n\r\n{body}",
                            body.len()
                        );
                        connection.send(raw.as_bytes()).unwrap();
                        (connection.receive().unwrap(), *target)
                    }
                };
                let cpu = cpu_millis(process) - before;
                let growth = most.load(Ordering::Relaxed).saturating_sub(held);
                let limits = server.connect().request("GET", "/rate-limit", &[&address]).json();
                let minute = &limits["minute_rate_limit"];
                let counted =
                    minute["limit"].as_u64().unwrap() - minute["remaining"].as_u64().unwrap();
                let allowed = LIST_CPU * 12 / 10 * counted.max(1) + SLACK;
                let what = format!(
                    "{:.70}: {}, {} bytes, {cpu} ms of {allowed} in {counted} requests, {} KiB",
                    target,
                    reply.status,
                    reply.body.len(),
                    growth >> 10
                );
                println!("{what}");
                if cpu > allowed || growth > GROWTH_BYTES_MAX {
                    failed.push(what);
                }
            }
        }
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    });
    server.end(&[]);
}

#[test]
fn groups_that_no_stream_can_hold_are_refused_with_the_number_that_fits() {
    let work = |id: u64, kind: &str, authors: u64| {
        let author = |id: u64| json!({ "author": { "id": format!("https://openalex.org/A{id}"), "display_name": "Ada" } });
        let authors: Vec<Value> = (1..=authors).map(author).collect();
        json!({ "id": format!("https://openalex.org/W{id}"), "title": "a", "type": kind, "authorships": authors })
    };
    let dump = tempfile::tempdir().unwrap();
    let works = format!("{}\n{}\n", work(1, "article", 400), work(2, "book", 300));
    pinakes_tests::write_files(dump.path(), [("works.jsonl", works)]);
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let path = snapshots.path().to_str().unwrap().to_owned();
    // Of 64 MiB, a stream may hold 1.5: 65,536 pairs of authors.
    let server = Server::start(&mut command(&["--snapshots", &path, "--memory", "64M"]));
    let stream = |kind: &str| {
        server
            .get(&format!("/outputs?group_by=authors.id,authors.id&format=csv&filter=type:{kind}"))
    };
    let refused = stream("article");
    assert_eq!(refused.status, 400, "{}", refused.text());
    let reason = refused.json()["details"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("makes 79800 groups, of which about 6"), "{reason}");
    let streamed = stream("book");
    assert_eq!((streamed.status, streamed.text().lines().count()), (200, 1 + 300 * 299 / 2));
    server.end(&[]);
}
