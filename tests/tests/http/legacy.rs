//! The legacy variant: paths, refusals of lists, and limits.

use serde_json::Value;

use crate::http::limits::{limited, numbers};
use pinakes_tests::client::{Connection, error_body};
use pinakes_tests::expect::check_head;
use pinakes_tests::expect::{RefusedQuery, check_all_refused};
use pinakes_tests::server::{Server, Snapshots};

/// Paths of existing records in various spellings, and the start of the body.
const EXISTING: &[(&str, &str)] = &[
    ("/legacy/topics/OA:T10320", r#"{"id":"OA:T10320","#),
    ("/legacy/topics/OA:T10320/", r#"{"id":"OA:T10320","#),
    ("/legacy/topics/OA%3AT10320", r#"{"id":"OA:T10320","#),
    ("/%6Cegacy/topics/O%41:T1032%30?page=0&x=%zz", r#"{"id":"OA:T10320","#),
    ("/legacy/domains/OA:3", r#"{"id":"OA:3","#),
    ("http://evil.example/legacy/domains/OA:3/", r#"{"id":"OA:3","#),
];

/// Ids without the prefix `OA:` after decoding: 400.
const WITHOUT_PREFIX: &[&str] = &[
    "/legacy/topics/HX_T10320",
    "/legacy/topics/T10320",
    "/legacy/topics/10320",
    "/legacy/topics/oa:T10320",
    "/legacy/topics/OA_T10320",
    "/legacy/topics/%20OA:T10320",
    "/legacy/topics/OA%253AT10320",
    "/legacy/topics/%ff%fe",
    "/legacy/topics/%zz",
    "/legacy/topics/..",
    "/legacy/topics/О%D0%90:T10320",
    "/legacy/domains/3",
    "/legacy/domains/abc",
    "/legacy/domains/HX_3",
];

/// Ids without a record: 404 with the entity's name and the id as quoted.
const ABSENT: &[(&str, &str, &str)] = &[
    ("/legacy/topics/OA:T1", "Topic", "OA:T1"),
    ("/legacy/topics/OA:", "Topic", "OA:"),
    ("/legacy/topics/OA:T", "Topic", "OA:T"),
    ("/legacy/topics/OA:10320", "Topic", "OA:10320"),
    ("/legacy/topics/OA:t10320", "Topic", "OA:t10320"),
    ("/legacy/topics/OA:T010320", "Topic", "OA:T010320"),
    ("/legacy/topics/OA:T-10320", "Topic", "OA:T-10320"),
    ("/legacy/topics/OA:T10320.0", "Topic", "OA:T10320.0"),
    ("/legacy/topics/OA:T18446744073709562936", "Topic", "OA:T18446744073709562936"),
    ("/legacy/topics/OA:A5900000001", "Topic", "OA:A5900000001"),
    ("/legacy/topics/OA:HX_T10320", "Topic", "OA:HX_T10320"),
    ("/legacy/topics/OA:T10320%00", "Topic", "OA:T10320%00"),
    ("/legacy/topics/OA:T1%0d%0aSet-Cookie:x=1", "Topic", "OA:T1%0d%0aSet-Cookie:x=1"),
    ("/legacy/topics/OA:T1%E2%80%AE", "Topic", "OA:T1%E2%80%AE"),
    ("/legacy/topics/OA:T1%22%3E%3Cscript%3E", "Topic", "OA:T1\"><script>"),
    ("/legacy/topics/OA:T10320%2F..%2Fetc", "Topic", "OA:T10320/../etc"),
    ("/legacy/domains/OA:9", "Domain", "OA:9"),
    ("/legacy/domains/OA:03", "Domain", "OA:03"),
    ("/legacy/domains/OA:T3", "Domain", "OA:T3"),
    ("/legacy/domains/OA:%D9%A3", "Domain", "OA:٣"),
];

/// Paths without a route: 404 with the path as sent.
const NOWHERE: &[&str] = &[
    "/legacy",
    "/legacy/",
    "/legacy/x",
    "/legacy/fields",
    "/legacy/subfields/OA:1702",
    "/legacy/outputs",
    "/legacy/outputs/OA:W1",
    "/legacy/autocomplete",
    "/legacy/rate-limit",
    "/legacy//topics",
    "/legacy/topics//",
    "/legacy/./topics",
    "/legacy/Topics",
    "/Legacy/topics",
    "/legacy%2Ftopics",
    "/legacy/topics/OA:T10320/x",
    "/legacy/legacy/topics",
];

#[track_caller]
fn check(connection: &mut Connection, target: &str, status: u16, message: &str) {
    let response = connection.get(target);
    let expected = error_body(status, message);
    assert_eq!((response.status, response.text()), (status, expected.as_str()), "{target}");
    check_head(connection, target, &response);
    assert_eq!(response.header("set-cookie"), None, "{target}");
}

#[test]
fn every_legacy_path_finds_its_record_or_a_specific_error() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (target, start) in EXISTING {
        let response = connection.get(target);
        assert_eq!(response.status, 200, "{target}");
        assert!(response.text().starts_with(start), "{target}: {}", response.text());
        assert_eq!(response.header("x-total-count"), None, "{target}");
        check_head(&mut connection, target, &response);
    }
    for target in WITHOUT_PREFIX {
        check(&mut connection, target, 400, "Only OA: prefixed IDs are allowed");
    }
    for (target, word, shown) in ABSENT {
        check(&mut connection, target, 404, &format!("{word} with ID {shown} not found"));
    }
    for target in NOWHERE {
        check(&mut connection, target, 404, &format!("Cannot GET {target}"));
    }
    check(&mut connection, "/topics/OA:T1", 400, "Only HX_ prefixed IDs are allowed");
    server.end(&[]);
}

const EMPTY: &str = "is empty; leave it out";
const PAGE: &str = "must be a whole number from 1 to 2147483647";
const PER_PAGE: &str = "must be a whole number from 1 to 200";
const SORT: &str = "must be `1`, ascending by outputs, or `-1`, descending";
const TWICE: &str = "is given twice; give it once";
const SEARCH: &str = "is no parameter of this list: use `filter=name.search:…`";
const OF_DOMAINS: &str = "is no filter key of /legacy/domains; there are `id`, `name`, `name.search`, \
     `updated_date`, `created_date`, `from_updated_date`, `to_updated_date`, `from_created_date`, \
     `to_created_date`, `fields.id`, `fields`, `outputs`, `citations`";

const REFUSED: &[RefusedQuery<'_>] = &[
    ("/legacy/topics?page=0", &[("page", "0", PAGE)]),
    ("/legacy/topics?page=2147483648", &[("page", "2147483648", PAGE)]),
    ("/legacy/topics?page=%2B1", &[("page", "+1", PAGE)]),
    ("/legacy/topics?per_page=0", &[("per_page", "0", PER_PAGE)]),
    ("/legacy/topics?per_page=201", &[("per_page", "201", PER_PAGE)]),
    ("/legacy/topics?per_page=025", &[("per_page", "025", PER_PAGE)]),
    ("/legacy/topics?per_page=", &[("per_page", "", PER_PAGE)]),
    (
        "/legacy/topics?per_page=18446744073709551617",
        &[("per_page", "18446744073709551617", PER_PAGE)],
    ),
    ("/legacy/topics?page=1&page=1", &[("page", "1", TWICE)]),
    ("/legacy/topics?per_page=1&per-page=1", &[("per-page", "1", TWICE)]),
    ("/legacy/topics?sort=", &[("sort", "", EMPTY)]),
    ("/legacy/topics?sort=0", &[("sort", "0", SORT)]),
    ("/legacy/topics?sort=%2B1", &[("sort", "+1", SORT)]),
    ("/legacy/topics?sort=01", &[("sort", "01", SORT)]),
    ("/legacy/topics?sort=desc", &[("sort", "desc", SORT)]),
    ("/legacy/topics?sort=outputs:desc", &[("sort", "outputs:desc", SORT)]),
    ("/legacy/topics?search=a", &[("search", "a", SEARCH)]),
    ("/legacy/topics?q=a", &[("q", "a", SEARCH)]),
    (
        "/legacy/topics?perpage=5",
        &[("perpage", "5", "is no parameter of this list; did you mean `per_page`?")],
    ),
    (
        "/legacy/topics?outputs=5",
        &[("outputs", "5", "is no parameter of this list; it is a filter key: `filter=outputs:…`")],
    ),
    (
        "/legacy/topics?colour=red",
        &[(
            "colour",
            "red",
            "is no parameter of this list; it takes `page`, `per_page`, `filter`, `sort`, `group_by`",
        )],
    ),
    ("/legacy/topics?group_by=", &[("group_by", "", EMPTY)]),
    (
        "/legacy/topics?group_by=domains",
        &[(
            "group_by",
            "domains",
            "is nothing /legacy/topics is grouped by; did you mean `domain`?",
        )],
    ),
    (
        "/legacy/topics?group_by=domain.id",
        &[(
            "group_by",
            "domain.id",
            "is nothing /legacy/topics is grouped by; did you mean `domain`?",
        )],
    ),
    (
        "/legacy/domains?group_by=domain",
        &[("group_by", "domain", "is nothing /legacy/domains is grouped by; there are `fields`")],
    ),
    ("/legacy/topics?filter=", &[("filter", "", EMPTY)]),
    ("/legacy/domains?filter=foo:1", &[("filter", "foo", OF_DOMAINS)]),
    (
        "/legacy/topics?filter=outputs_count:>5",
        &[(
            "filter",
            "outputs_count",
            "is no filter key of /legacy/topics; did you mean `outputs`?",
        )],
    ),
    (
        "/legacy/domains?filter=cited_by_count:1,works_count:1,citation:1",
        &[
            (
                "filter",
                "cited_by_count",
                "is no filter key of /legacy/domains; did you mean `citations`?",
            ),
            (
                "filter",
                "works_count",
                "is no filter key of /legacy/domains; did you mean `outputs`?",
            ),
            (
                "filter",
                "citation",
                "is no filter key of /legacy/domains; did you mean `citations`?",
            ),
        ],
    ),
    (
        "/legacy/topics?filter=display_name:a",
        &[("filter", "display_name", "is no filter key of /legacy/topics; did you mean `name`?")],
    ),
    (
        "/legacy/topics?filter=outputs:abc",
        &[(
            "filter",
            "outputs:abc",
            "`abc` must be an integer of at most 64 bits, a range such as `1-5`, `1-` or `-5`, a \
             comparison such as `>5`, or `null`",
        )],
    ),
    (
        "/legacy/topics?filter=id:HX-T10320,domain.id:x,domain:>a",
        &[
            (
                "filter",
                "id:HX-T10320",
                "`HX-T10320` must be an identifier such as `OA:T1`, or its number",
            ),
            ("filter", "domain.id:x", "`x` must be an identifier such as `OA:1`, or its number"),
            (
                "filter",
                "domain:>a",
                "`a` has a comparison before it, which only numbers and dates take; a text that \
                 begins with `<` or `>` belongs in quotes",
            ),
        ],
    ),
    (
        "/legacy/topics?filter=id:>OA:T1",
        &[(
            "filter",
            "id:>OA:T1",
            "`OA:T1` has a comparison before it, which only numbers and dates take; it must be an \
             identifier such as `OA:T1`, or its number",
        )],
    ),
    // The current lists suggest their own names.
    (
        "/topics?filter=outputs:>5",
        &[("filter", "outputs", "is no filter key of /topics; did you mean `outputs_count`?")],
    ),
    ("/topics?per_page=200", &[("per_page", "200", "must be 10, 25, 50 or 100")]),
];

#[test]
fn legacy_lists_refuse_with_legacy_names() {
    check_all_refused(REFUSED);
}

/// Filters, the expected count, and the first id.
const ACCEPTED: &[(&str, usize, Option<&str>)] = &[
    ("domains?filter=id:OA:3", 1, Some("OA:3")),
    ("domains?filter=id:oa:3|4", 2, Some("OA:3")),
    ("domains?filter=id:!OA:3", 3, None),
    ("domains?filter=fields.id:OA:17", 1, Some("OA:3")),
    ("domains?filter=fields:\"computer  SCIENCE\"", 1, Some("OA:3")),
    ("domains?filter=fields:!computer science", 3, None),
    ("topics?filter=id:OA:T10320|10028", 2, None),
    ("topics?filter=id:OA:T99", 0, None),
    ("topics?filter=id:OA:W1", 0, None),
    ("topics?filter=domain:physical sciences", 21, None),
    ("topics?filter=domain:Physical", 0, None),
    ("topics?filter=domain:Physical Sciences|Life Sciences", 27, None),
    ("topics?filter=domain:!Physical Sciences", 16, None),
    ("topics?filter=domain:null", 0, None),
    ("topics?filter=domain:!null", 37, None),
    ("topics?filter=domain:???", 0, None),
    ("topics?filter=outputs:19,citations:104241", 1, Some("OA:T10048")),
    ("topics?filter=domain.id:OA:3,outputs:>=19", 1, Some("OA:T10048")),
];

#[test]
fn legacy_names_and_ids_filter_legacy_lists() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (target, total, first) in ACCEPTED {
        let target = format!("/legacy/{}", target.replace(' ', "%20").replace('|', "%7C"));
        let response = connection.get(&target);
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        assert_eq!(response.header("x-total-count").unwrap(), total.to_string(), "{target}");
        let body = response.json();
        assert_eq!(body.as_array().unwrap().len(), *total.min(&25), "{target}");
        if let Some(first) = first {
            assert_eq!(body[0]["id"], *first, "{target}");
        }
        check_head(&mut connection, &target, &response);
        let tag = format!("If-None-Match: {}", response.header("etag").unwrap());
        let again = connection.request("GET", &target, &[&tag]);
        assert_eq!((again.status, again.body.len()), (304, 0), "{target}");
    }
    server.end(&[]);
}

#[test]
fn legacy_records_have_these_members_in_this_order() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let members = |record: &Value| {
        let members: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
        members.join(" ")
    };
    let check = |route: &str, id: &str, single: &str, item: &str| {
        let found = server.get(&format!("/legacy/{route}/{id}")).json();
        assert_eq!(members(&found), single);
        let list = server.get(&format!("/legacy/{route}?filter=id:{id}")).json();
        assert_eq!(members(&list[0]), item);
    };
    check(
        "topics",
        "OA:T10028",
        "id name description keywords wikipedia subfield field domain siblings outputs citations \
         updated_date created_date",
        "id name description subfield field domain siblings outputs citations updated_date \
         created_date",
    );
    let of_domains = "id name description urls display_name_alternatives fields siblings outputs \
                      citations updated_date created_date";
    check("domains", "OA:3", of_domains, of_domains);
    let topic = server.get("/legacy/topics?filter=id:OA:T10028").json();
    assert_eq!(topic[0]["domain"], serde_json::json!(["Physical Sciences"]));
    assert!(topic[0]["siblings"].as_array().unwrap().iter().all(Value::is_string));
    server.end(&[]);
}

#[test]
fn legacy_lists_have_a_short_429_and_count_as_lists() {
    let snapshots = Snapshots::from_sample();
    let server = limited(&snapshots, &["--minute-limit", "5", "--daily-list", "7"]);
    let mut connection = server.connect();
    let mut left = (5, 7);
    for (path, status, uses) in [
        ("/legacy/topics", 200, (1, 1)),
        ("/legacy/domains?page=0", 400, (1, 1)),
        ("/legacy/topics/OA:T10320", 200, (1, 0)),
        ("/legacy/x", 404, (1, 0)),
        ("/legacy/topics?group_by=domain", 200, (1, 1)),
    ] {
        let response = connection.get(path);
        left = (left.0 - uses.0, left.1 - uses.1);
        let [_, minute, _, _, daily] = numbers(&response);
        assert_eq!((response.status, (minute, daily)), (status, left), "{path}");
    }
    for path in ["/legacy/topics", "/legacy/domains/?page=0", "/legacy/%74opics?group_by=x"] {
        let refused = connection.get(path);
        let expected = r#"{"statusCode":429,"error":"Too Many Requests","message":"Rate limit exceeded. Maximum 5 requests per minute."}"#;
        assert_eq!((refused.status, refused.text()), (429, expected), "{path}");
        let [_, _, reset, _, daily] = numbers(&refused);
        assert_eq!(refused.header("retry-after"), Some(reset.to_string().as_str()));
        assert_eq!((daily, refused.header("cache-control")), (left.1, Some("no-store")));
    }
    for path in ["/legacy/topics/OA:T10320", "/legacy/x", "/topics"] {
        let body = connection.get(path).json();
        assert!(body["message"].as_str().unwrap().starts_with("IP rate limit exceeded (max 5 "));
        assert!(body["reset_in_seconds"].is_u64() && body["reset_at_utc"].is_string(), "{path}");
    }
}

#[test]
fn daily_and_pool_limits_refuse_legacy_lists_like_current_lists() {
    let snapshots = Snapshots::from_sample();
    for (option, begins) in [
        ("--daily-list", "Your daily quota for List/Filter requests has been exceeded. "),
        ("--pool-list", "The service's daily pool for List/Filter requests has been used up. "),
    ] {
        let server = limited(&snapshots, &[option, "2", "--pool-share", "100%"]);
        let mut connection = server.connect();
        assert_eq!(connection.get("/legacy/topics").status, 200);
        assert_eq!(connection.get("/topics").status, 200);
        let refused = connection.get("/legacy/domains");
        let body = refused.json();
        assert_eq!(refused.status, 429);
        assert!(body["message"].as_str().unwrap().starts_with(begins), "{body}");
        assert!(body["reset_at_utc"].as_str().unwrap().ends_with("T00:00:00Z"), "{body}");
        assert_eq!(connection.get("/legacy/topics/OA:T10320").status, 200);
    }
}
