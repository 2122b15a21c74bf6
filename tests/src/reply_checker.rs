//! Rules that every HTTP reply must keep, whatever the request.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::{
    client::{self, Response},
    serving::Ending,
};

/// Allowed statuses with their reason phrases; no request may cause a 5xx.
const STATUSES: [(u16, &str); 15] = [
    (200, ""),
    (204, ""),
    (300, ""),
    (301, "Moved Permanently"),
    (303, "See Other"),
    (304, ""),
    (400, "Bad Request"),
    (404, "Not Found"),
    (405, "Method Not Allowed"),
    (408, "Request Timeout"),
    (413, "Content Too Large"),
    (414, "URI Too Long"),
    (415, "Unsupported Media Type"),
    (429, "Too Many Requests"),
    (431, "Request Header Fields Too Large"),
];
/// Statuses of replies that the HTTP layer itself sends, without a body.
const BARE: [u16; 3] = [400, 414, 431];
/// Media types of streams of whole lists.
const STREAM_TYPES: [&str; 2] = ["application/x-ndjson", "text/csv; charset=utf-8; header=present"];
/// Media types of files of references: streams of whole lists, and single records.
const FILE_TYPES: [&str; 3] = [
    "application/x-bibtex",
    "application/x-research-info-systems",
    "application/vnd.citationstyles.csl+json",
];
const BAD_QUERY_MESSAGE: &str = "Bad Request - Invalid query parameters";
const NOT_HX_MESSAGE: &str = "Only HX_ prefixed IDs are allowed";
const LIMIT_HEADERS: [&str; 5] = [
    "x-ratelimit-ip-limit",
    "x-ratelimit-ip-remaining",
    "x-ratelimit-ip-reset-seconds",
    "x-ratelimit-daily-limit",
    "x-ratelimit-daily-remaining",
];
/// Most details in one reply.
const DETAILS_MAX: usize = 10;
/// Most bytes of a quoted parameter or value in a detail.
const QUOTED_BYTES_MAX: usize = 64 + '…'.len_utf8();

/// Checks replies against the rules.
pub struct ReplyChecker {
    snapshot_id: String,
    has_limits: bool,
    /// Hashes of checked bodies of status 200, so that equal bodies are checked once.
    known: HashSet<[u8; 32]>,
}

impl ReplyChecker {
    pub fn new(snapshot_id: String, has_limits: bool) -> ReplyChecker {
        ReplyChecker { snapshot_id, has_limits, known: HashSet::new() }
    }

    /// Checks a reply; returns whether the HTTP layer sent it without the service.
    pub fn check(&mut self, reply: &Response) -> bool {
        let known = STATUSES.iter().find(|(status, _)| *status == reply.status);
        let Some((_, phrase)) = known else { panic!("status {}", reply.status) };
        assert!(reply.version == "HTTP/1.1" || reply.version == "HTTP/1.0", "{}", reply.version);
        assert!(reply.header("date").is_some(), "no date");
        let is_ours = reply.header("x-snapshot-id").is_some();
        if !is_ours {
            assert!(BARE.contains(&reply.status), "a bare {}", reply.status);
            assert_eq!(reply.header("content-length"), Some("0"));
            let connection = reply.header("connection");
            // A connection of HTTP/1.0 closes where a reply does not say otherwise.
            let closes = connection.is_none() && reply.version == "HTTP/1.0";
            assert!(closes || connection == Some("close"), "{connection:?}");
            return true;
        }
        self.check_headers(reply);
        if reply.body.is_empty() {
            // A reply to HEAD, or a status that never has a body.
            let has_length = reply.header("content-length").is_some_and(|length| length != "0");
            let media_type = reply.header("content-type");
            let is_stream = media_type.is_some_and(|known| STREAM_TYPES.contains(&known));
            let is_file = media_type.is_some_and(|known| FILE_TYPES.contains(&known));
            assert!(is_file || has_length == (!is_stream && !matches!(reply.status, 204 | 304)));
            return false;
        }
        match reply.status {
            200 | 300 => self.check_body(reply),
            _ => check_error(reply, phrase),
        }
        false
    }

    fn check_headers(&self, reply: &Response) {
        let is = |name: &str, value: &str| {
            assert_eq!(reply.header(name), Some(value), "{name} of {}", reply.status);
        };
        is("x-snapshot-id", &self.snapshot_id);
        is("x-content-type-options", "nosniff");
        is("access-control-allow-origin", "*");
        assert!(reply.header("access-control-expose-headers").is_some());
        let media_type = reply.header("content-type");
        let types = || STREAM_TYPES.iter().chain(&FILE_TYPES);
        let is_stream = media_type.is_some_and(|known| types().any(|of| *of == known));
        // A reply to HEAD may announce the framing of GET.
        let framing = reply.header("transfer-encoding");
        assert!(framing.is_none() || is_stream && framing == Some("chunked"), "{framing:?}");
        assert!(reply.header("content-encoding").is_none() || reply.status == 200, "coded");
        let has_type = !matches!(reply.status, 204 | 304);
        assert!(
            is_stream && reply.status == 200
                || media_type == has_type.then_some("application/json")
        );
        let lasts = reply.header("etag").is_some();
        assert!(matches!((reply.status, lasts), (200, _) | (304, true) | (_, false)), "an etag");
        is("cache-control", if lasts { "public, no-cache" } else { "no-store" });
        assert_eq!(reply.header("allow").is_some(), matches!(reply.status, 204 | 405));
        assert_eq!(reply.header("retry-after").is_some(), reply.status == 429);
        assert_eq!(reply.header("location").is_some(), matches!(reply.status, 301 | 303));
        assert!(reply.header("location").is_none_or(|location| location.starts_with('/')));
        assert!(reply.status != 429 || self.has_limits, "429 although limits are off");
        let numbers: Vec<u64> = LIMIT_HEADERS
            .iter()
            .filter_map(|name| reply.header(name))
            .map(|number| number.parse().expect("limit headers are whole numbers"))
            .collect();
        match (self.has_limits, numbers.as_slice()) {
            (false, []) => {}
            (true, [limit, left, reset, day_limit, day_left]) => {
                assert!(left <= limit && day_left <= day_limit && *reset >= 1, "{numbers:?}");
            }
            _ => panic!("limit headers: {numbers:?}"),
        }
    }

    fn check_body(&mut self, reply: &Response) {
        let hash = *blake3::hash(&reply.body).as_bytes();
        if !self.known.contains(&hash) {
            let body = client::decode(reply.header("content-encoding"), &reply.body);
            if reply.header("content-type") != Some("application/json") {
                assert!(body.ends_with(b"\n"), "a stream ends in the middle of a line");
            } else if reply.header("x-total-count").is_some() {
                check_array(&body);
            } else {
                check_json(&object(&body));
            }
            self.known.insert(hash);
        }
    }
}

/// Checks a list or a grouping of the legacy variant.
fn check_array(body: &[u8]) {
    let items: Vec<Map<String, Value>> = serde_json::from_slice(body).expect("objects");
    let is_known = |item: &Map<String, Value>| item.contains_key("id") || item.contains_key("key");
    assert!(items.len() <= 200 && items.iter().all(is_known), "{} items", items.len());
}

/// Checks a record, a list, autocomplete candidates, or a status page.
fn check_json(answer: &Map<String, Value>) {
    let Some(meta) = answer.get("meta") else {
        let is_known =
            ["id", "service", "status", "ip"].iter().any(|name| answer.contains_key(*name));
        return assert!(is_known && !answer.contains_key("results"), "{answer:?}");
    };
    if let Some(groups) = answer.get("group_by") {
        return check_groups(answer, meta, groups);
    }
    let names: Vec<&str> = answer.keys().map(String::as_str).collect();
    assert_eq!(names, ["meta", "results"]);
    let names: Vec<&str> =
        meta.as_object().expect("`meta` is an object").keys().map(String::as_str).collect();
    let number = |name: &str| meta[name].as_u64().unwrap_or_else(|| panic!("{name} in {meta}"));
    let count = number("count");
    let results = answer["results"].as_array().expect("`results` is a list");
    let has_id = |item: &Value| item.get("id").is_none_or(|id| !id.is_null());
    assert!(results.iter().all(has_id), "an item has no id");
    // Without candidates, there may be lists of the records that have the text as an identifier or a name.
    let of_candidates = names.strip_suffix(&["lists"]).filter(|_| count == 0).unwrap_or(&names);
    let expected = if of_candidates == ["count"] {
        assert!(
            results.iter().all(|item| item["entity_type"].is_string()),
            "a candidate has no entity type"
        );
        count.min(10)
    } else {
        // An empty list may name the key that finds words. A full-text search adds what it found of its words.
        let of_list = names.strip_suffix(&["hint"]).filter(|_| count == 0).unwrap_or(&names);
        let of_page = of_list.strip_suffix(&["search"]).unwrap_or(of_list);
        assert_eq!(of_page, ["count", "page", "per_page"]);
        let (page, per_page) = (number("page"), number("per_page"));
        assert!([10, 25, 50, 100].contains(&per_page) && page >= 1, "{meta}");
        count.saturating_sub((page - 1) * per_page).min(per_page)
    };
    assert_eq!(results.len() as u64, expected, "{meta}");
}

/// Checks a page of groups.
fn check_groups(answer: &Map<String, Value>, meta: &Value, groups: &Value) {
    assert_eq!(answer["results"], json!([]));
    let groups = groups.as_array().expect("`group_by` is a list");
    let number = |name: &str| meta[name].as_u64().unwrap_or_else(|| panic!("{name} in {meta}"));
    let (page, per_page) = (number("page"), number("per_page"));
    let expected = number("groups_count").saturating_sub((page - 1) * per_page).min(per_page);
    assert_eq!(groups.len() as u64, expected, "{meta}");
    let counts: Vec<u64> = groups.iter().map(|group| group["count"].as_u64().unwrap()).collect();
    assert!(counts.iter().all(|count| (1..=number("count")).contains(count)), "{meta} {counts:?}");
}

/// Checks the members of an error body.
fn check_error(reply: &Response, phrase: &str) {
    let error = object(&reply.body);
    assert_eq!(error["statusCode"], reply.status);
    assert_eq!(error["error"], phrase);
    let message = error["message"].as_str().expect("`message` is text");
    assert!(!message.is_empty(), "an empty message");
    let mut names = vec!["statusCode", "error", "message"];
    // The 429 of legacy lists has the three basic members only.
    if reply.status == 429 && !message.starts_with("Rate limit exceeded. Maximum ") {
        names.extend(["reset_in_seconds", "reset_at_utc"]);
        let seconds = error["reset_in_seconds"].as_u64().expect("seconds are a number");
        assert_eq!(reply.header("retry-after"), Some(seconds.to_string().as_str()));
        let at = error["reset_at_utc"].as_str().expect("a time is text");
        assert!(at.len() == "2026-01-31T00:00:00Z".len() && at.ends_with('Z'), "{at}");
    }
    // An identifier of another system in place of an id has a detail too.
    let is_foreign_id = message == NOT_HX_MESSAGE && error.contains_key("details");
    if reply.status == 400 && (message == BAD_QUERY_MESSAGE || is_foreign_id) {
        names.push("details");
        check_details(&error["details"]);
    }
    let found: Vec<&str> = error.keys().map(String::as_str).collect();
    assert_eq!(found, names, "members of {}", reply.status);
}

fn check_details(details: &Value) {
    let details = details.as_array().expect("`details` is a list");
    assert!((1..=DETAILS_MAX).contains(&details.len()), "{} details", details.len());
    for detail in details {
        let detail = detail.as_object().expect("a detail is an object");
        let names: Vec<&str> = detail.keys().map(String::as_str).collect();
        assert_eq!(names, ["parameter", "value", "reason"]);
        let quoted_bytes =
            |name: &str| detail[name].as_str().expect("members of a detail are texts").len();
        assert!(
            quoted_bytes("parameter") <= QUOTED_BYTES_MAX
                && quoted_bytes("value") <= QUOTED_BYTES_MAX
        );
        assert!(quoted_bytes("reason") > 0, "an empty reason");
    }
}

fn object(body: &[u8]) -> Map<String, Value> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => object,
        other => panic!("not a JSON object: {other:?}"),
    }
}

/// Splits the bytes received on a connection into replies.
///
/// A reply to HEAD announces a length but has no body; the next bytes are then the next reply. No
/// body in these tests starts like a reply. If the client closed its sending half, the server may
/// cut the last reply short.
pub fn parse_replies(mut bytes: &[u8], ending: Ending) -> Vec<Response> {
    let mut replies = Vec::new();
    while !bytes.is_empty() {
        if ending == Ending::Closes && !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
            break;
        }
        let mut reply = client::read_head(&mut bytes).expect("a head is complete");
        let length =
            reply.header("content-length").map_or(0, |length| length.parse().expect("a length"));
        let has_body = !matches!(reply.status, 204 | 304)
            && !bytes.is_empty()
            && !bytes.starts_with(b"HTTP/1.");
        if has_body && reply.header("transfer-encoding").is_some() {
            match client::read_chunks(&mut bytes) {
                Ok(body) => reply.body = body,
                Err(error) => {
                    assert_eq!(ending, Ending::Closes, "a stream is cut short: {error}");
                    break;
                }
            }
        } else if has_body {
            let Some((body, rest)) = bytes.split_at_checked(length) else {
                assert_eq!(ending, Ending::Closes, "a body is cut short");
                break;
            };
            reply.body = body.to_vec();
            bytes = rest;
        }
        if reply.status >= 200 {
            replies.push(reply);
        }
    }
    replies
}
