//! A host without sockets: the same snapshot gives the same replies as the server.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use pinakes_answer::{
    Answerer, Asked, Caller, Clock, Event, Failure, HealthIssue, Host, HostClock, Planned, Posted,
    ServedSnapshot, Thread, find,
};
use pinakes_format::snapshot::Snapshot;
use pinakes_tests::{
    server::{Server, Snapshots},
    serving::ANSWER_SETTINGS,
};

/// A clock that measures no processor time.
#[derive(Debug)]
struct PlainClock;

impl Clock for PlainClock {
    fn elapsed(&self) -> Duration {
        static BEGUN: OnceLock<Instant> = OnceLock::new();
        BEGUN.get_or_init(Instant::now).elapsed()
    }

    fn cpu(&self) -> Duration {
        Duration::ZERO
    }

    fn queued(&self) -> Duration {
        Duration::ZERO
    }

    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

/// A host of one snapshot and one caller.
struct PlainHost(Arc<ServedSnapshot>);

impl Host for PlainHost {
    fn clock(&self) -> HostClock {
        &PlainClock
    }

    fn is_disk_busy(&self) -> bool {
        false
    }

    fn named(&self, id: &str) -> Option<Arc<ServedSnapshot>> {
        (self.0.id() == id).then(|| Arc::clone(&self.0))
    }

    fn issues(&self, _: &ServedSnapshot) -> Vec<HealthIssue> {
        Vec::new()
    }

    fn count(&self, _: Event) {}
}

impl PlainHost {
    /// The status, the headers and the whole body of a reply.
    fn answer(
        &self,
        method: &Method,
        target: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> (StatusCode, HeaderMap, Vec<u8>) {
        let answerer = Answerer { settings: &ANSWER_SETTINGS, host: self };
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let caller = Caller { address, is_proxied: false, quotas: None };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let is_client_gone = AtomicBool::new(false);
        let posted = Posted { text: body, is_client_gone: &is_client_gone };
        let asked = Asked {
            method,
            path,
            query,
            uri_bytes: target.len(),
            headers,
            posted: (*method == Method::POST).then_some(posted),
            caller: &caller,
        };
        let matched = find(path);
        let mut reply = match answerer.plan(asked, matched, &self.0) {
            Ok(Planned::Reply(reply)) | Err(reply) => answerer.readable(reply, asked, matched),
            Ok(Planned::Work(work)) => {
                let call = answerer.call(asked, &self.0, Thread::Own);
                match (work.run)(&call) {
                    Ok(reply) => answerer.readable(reply, asked, matched).coded(headers),
                    Err(Failure::Refused(reply)) => answerer.readable(*reply, asked, matched),
                    Err(_) => panic!("{target} has no reply"),
                }
            }
        };
        let mut pieces = reply.take_pieces();
        let response = answerer.response(reply, asked, &self.0);
        let mut whole = response.body().to_vec();
        while let Some(piece) =
            pieces.as_mut().and_then(|pieces| pieces.next_piece(&self.0.snapshot, &PlainClock))
        {
            whole.extend_from_slice(&piece.unwrap());
        }
        (response.status(), response.headers().clone(), whole)
    }
}

/// A body without the time that the reply took, which OpenAlex's dialect states.
fn without_time(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match text.split_once("\"db_response_time_ms\":") {
        Some((before, after)) => {
            format!("{before}{}", after.trim_start_matches(|of: char| of.is_ascii_digit()))
        }
        None => text.into_owned(),
    }
}

/// Paths of every folder of the answerer, and errors in each form.
const TARGETS: [&str; 34] = [
    "/",
    "/health",
    "/outputs",
    "/outputs?search=deep+learning&select=id,title",
    "/outputs?filter=type:article,year:%3E2000&sort=cited_by_count:desc&per_page=100",
    "/outputs?group_by=type",
    "/outputs?format=ndjson",
    "/outputs?format=csv&select=id,authors.name",
    "/outputs?format=bibtex",
    "/outputs/HX_W2900000096",
    "/outputs/HX_W2900000096?format=ris",
    "/outputs/HX_W1",
    "/outputs/HX_W2900000096/references",
    "/outputs/10.1000/none",
    "/statistics/outputs",
    "/authors?per_page=10",
    "/autocomplete?query=a",
    "/resolve/10.1000/none",
    "/match/institutions?text=University",
    "/reconcile",
    "/legacy/topics",
    "/legacy/topics?per_page=x",
    "/graphql/schema",
    "/openalex/works?per-page=200",
    "/openalex/works?filter=nothing:1",
    "/openalex/nothing",
    "/openapi.json",
    "/browse",
    "/browse/outputs?filter=type:article",
    "/browse/outputs/HX_W2900000096",
    "/browse/nothing/at/all",
    "/llms.txt",
    "/nothing",
    "/changes?since=0123456789abcdef",
];

#[test]
fn a_host_without_sockets_gives_the_replies_of_the_server() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let snapshot = Snapshot::open(&snapshots.path().join("current")).unwrap();
    let host = PlainHost(Arc::new(ServedSnapshot::new(snapshot)));
    let authority = server.address().to_string();
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::try_from(&authority).unwrap());
    let mut check =
        |method: &Method, target: &str, more: &[(&'static str, &'static str)], body: &str| {
            let mut headers = headers.clone();
            let mut sent = format!("{method} {target} HTTP/1.1\r\nHost: {authority}\r\n");
            for (name, value) in more {
                sent.push_str(&format!("{name}: {value}\r\n"));
                headers.insert(*name, HeaderValue::from_static(value));
            }
            if !body.is_empty() {
                sent.push_str(&format!("content-length: {}\r\n", body.len()));
            }
            connection.send(format!("{sent}\r\n{body}").as_bytes()).unwrap();
            let expected = connection.receive().unwrap();
            let (status, found, whole) = host.answer(method, target, &headers, body.as_bytes());
            assert_eq!(status.as_u16(), expected.status, "{target}");
            assert_eq!(without_time(&whole), without_time(&expected.body), "{target}");
            // The other headers are the host's: the date, the limits, and how the body is sent.
            for (name, value) in &expected.headers {
                if found.contains_key(name) {
                    assert_eq!(found[name].to_str().unwrap(), value, "{target}: {name}");
                }
            }
            for name in [header::CONTENT_TYPE, header::ETAG, header::CACHE_CONTROL, header::VARY] {
                let value = found.get(&name).map(|value| value.to_str().unwrap());
                assert_eq!(value, expected.header(name.as_str()), "{target}: {name}");
            }
        };
    for target in TARGETS {
        check(&Method::GET, target, &[], "");
    }
    check(&Method::GET, "/outputs?per_page=100", &[("accept-encoding", "gzip")], "");
    check(&Method::GET, "/outputs/HX_W2900000096", &[("accept", "application/x-bibtex")], "");
    check(&Method::POST, "/outputs", &[], "");
    check(&Method::POST, "/openalex/works", &[], "");
    let json = [("content-type", "application/json")];
    check(&Method::POST, "/graphql", &json, r#"{"query":"{ outputs { meta { count } } }"}"#);
    check(&Method::POST, "/mcp", &json, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    check(&Method::POST, "/mcp", &json, "no JSON");
    server.end(&[]);
}
