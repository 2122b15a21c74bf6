//! Tests of valid filters: the number of matching records of the sample, and the first ones.

use pinakes_tests::client::error_body;
use pinakes_tests::expect::check_head;
use pinakes_tests::expect::{AcceptedQuery, check_all_accepted, ids};
use pinakes_tests::server::{Server, Snapshots, command};

const TAKEN: &[AcceptedQuery<'_>] = &[
    ("/outputs?filter=is_oa:true", 37, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=is_oa:TRUE", 37, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=is_oa:False", 195, &["HX_W2900000132", "HX_W2900000031"]),
    ("/outputs?filter=is_oa:!true", 197, &["HX_W2900000132", "HX_W2900000031"]),
    ("/outputs?filter=is_oa:null", 2, &["HX_W2900000215", "HX_W2900000300"]),
    ("/outputs?filter=is_oa:true|null", 39, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=open_access.is_oa:true", 37, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=is_oa:true#is_oa:false", 37, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?f%69lter=is_oa:true", 37, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=is_retracted:true", 2, &["HX_W2900000136", "HX_W2900000137"]),
    ("/outputs?filter=is_retracted:!true", 232, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=is_retracted:null", 1, &["HX_W2900000123"]),
    ("/outputs?filter=has_doi:false", 49, &["HX_W2900000031", "HX_W2900000126"]),
    ("/outputs?filter=has_doi:!null", 234, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=has_doi:null", 0, &[]),
    ("/outputs?filter=cited_by_count:>-1", 233, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=cited_by_count:%3E-1", 233, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=cited_by_count:>=10000", 49, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=cited_by_count:%3e%3D10000", 49, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=cited_by_count:<=0", 17, &["HX_W2900000045", "HX_W2900000068"]),
    ("/outputs?filter=cited_by_count:<0", 0, &[]),
    ("/outputs?filter=cited_by_count:-10", 65, &["HX_W2900000004", "HX_W2900000040"]),
    ("/outputs?filter=cited_by_count:null", 1, &["HX_W2900000226"]),
    ("/outputs?filter=cited_by_count:!null", 233, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=cited_by_count:>9223372036854775807", 0, &[]),
    ("/outputs?filter=cited_by_count:<-9223372036854775807", 0, &[]),
    ("/outputs?filter=fwci:>-0", 124, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=fwci:>0", 124, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=fwci:>1e3", 0, &[]),
    ("/outputs?filter=fwci:<=1.5e-1", 16, &["HX_W2900000045", "HX_W2900000068"]),
    ("/outputs?filter=year:2020", 2, &["HX_W2900000135", "HX_W2900000134"]),
    ("/outputs?filter=year%3A2020", 2, &["HX_W2900000135", "HX_W2900000134"]),
    ("/outputs?filter=year:\"2020\"", 2, &["HX_W2900000135", "HX_W2900000134"]),
    ("/outputs?filter=year:%222020%22", 2, &["HX_W2900000135", "HX_W2900000134"]),
    ("/outputs?filter=year:2020|2021", 3, &["HX_W2900000163", "HX_W2900000135"]),
    ("/outputs?filter=year:2020%7C2021", 3, &["HX_W2900000163", "HX_W2900000135"]),
    ("/outputs?filter=year:2020-2021", 3, &["HX_W2900000163", "HX_W2900000135"]),
    ("/outputs?filter=year:!2020-", 230, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=year:-1900|2020-", 23, &["HX_W2900000031", "HX_W2900000163"]),
    (
        "/outputs?filter=%20is_oa%20:%20true%20,%20year:%202020",
        2,
        &["HX_W2900000135", "HX_W2900000134"],
    ),
    ("/outputs?filter=type:%20!%20article%20|%20book", 30, &["HX_W2900000160", "HX_W2900000161"]),
    (
        "/outputs?filter=type:article%20|%20%22book%22%20",
        204,
        &["HX_W2900000132", "HX_W2900000031"],
    ),
    ("/outputs?filter=cited_by_count:+>=+10000", 49, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=doi:%2010.1038/s41586-021-03819-2%20", 1, &["HX_W2900000163"]),
    ("/outputs?filter=type:%22%20article%22", 0, &[]),
    ("/outputs?filter=year:2023,year:2024", 0, &[]),
    ("/outputs?filter=year:2020,year:2020", 2, &["HX_W2900000135", "HX_W2900000134"]),
    (
        "/outputs?filter=year:>1999,year:<=2010,is_oa:false",
        19,
        &["HX_W2900000079", "HX_W2900000186"],
    ),
    ("/outputs?filter=is_oa:true%2Cyear:2020", 2, &["HX_W2900000135", "HX_W2900000134"]),
    ("/outputs?filter=date:1905", 4, &["HX_W2900000003", "HX_W2900000001"]),
    ("/outputs?filter=date:>2020", 2, &["HX_W2900000163", "HX_W2900000212"]),
    ("/outputs?filter=date:2021-07-15", 1, &["HX_W2900000163"]),
    ("/outputs?filter=date:2020-|null", 9, &["HX_W2900000163", "HX_W2900000231"]),
    ("/outputs?filter=from_date:2020", 4, &["HX_W2900000163", "HX_W2900000212"]),
    ("/outputs?filter=to_date:1905-06", 22, &["HX_W2900000031", "HX_W2900000225"]),
    ("/outputs?filter=updated_date:2026-02-01", 82, &["HX_W2900000079", "HX_W2900000093"]),
    ("/outputs?filter=updated_date:2026-02-01T23:48:58.748122", 1, &["HX_W2900000037"]),
    ("/outputs?filter=updated_date:>2026-02-01T23:37:06.840461Z", 1, &["HX_W2900000037"]),
    (
        "/outputs?filter=from_updated_date:2026-02-01T23:37:06.840461&sort=updated_date",
        2,
        &["HX_W2900000109", "HX_W2900000037"],
    ),
    (
        "/outputs?filter=to_updated_date:2026-02-01T23:48:58.748121,updated_date:>2026-02-01T23:37:06",
        1,
        &["HX_W2900000109"],
    ),
    ("/outputs?filter=updated_date:>2026-01-10", 82, &["HX_W2900000079", "HX_W2900000093"]),
    ("/outputs?filter=type:article", 188, &["HX_W2900000132", "HX_W2900000031"]),
    ("/outputs?filter=type:ARTICLE", 188, &["HX_W2900000132", "HX_W2900000031"]),
    ("/outputs?filter=type:\"article\"", 188, &["HX_W2900000132", "HX_W2900000031"]),
    ("/outputs?filter=type:!article", 46, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=type:article|book", 204, &["HX_W2900000132", "HX_W2900000031"]),
    ("/outputs?filter=type:!article|book", 30, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=type:\"article%2Cbook\"", 0, &[]),
    ("/outputs?filter=type:.*", 0, &[]),
    ("/outputs?filter=type:(a+)+$", 0, &[]),
    ("/outputs?filter=type:%28a%2B%29%2B%24", 0, &[]),
    ("/outputs?filter=type:'--", 0, &[]),
    ("/outputs?filter=type:';DROP%20TABLE", 0, &[]),
    ("/outputs?filter=type:${jndi:ldap://x}", 0, &[]),
    ("/outputs?filter=type:{{7*7}}", 0, &[]),
    ("/outputs?filter=type:../../etc/passwd", 0, &[]),
    ("/outputs?filter=type:%2525", 0, &[]),
    ("/outputs?filter=type:%E2%80%AEx", 0, &[]),
    ("/outputs?filter=id:HX_W2900000160", 1, &["HX_W2900000160"]),
    ("/outputs?filter=id:HX_W2900009001", 1, &["HX_W2900000096"]),
    ("/outputs?filter=id:null", 0, &[]),
    ("/outputs?filter=authors.id:HX_A5900000001", 8, &["HX_W2900000003", "HX_W2900000005"]),
    ("/outputs?filter=authors.id:hx_a5900000001", 8, &["HX_W2900000003", "HX_W2900000005"]),
    ("/outputs?filter=authors.id:HX_A5900009001", 8, &["HX_W2900000003", "HX_W2900000005"]),
    ("/outputs?filter=authors.id:HX_W2900000001", 0, &[]),
    ("/outputs?filter=authors.id:HX_A5999999001", 1, &["HX_W2900000134"]),
    ("/outputs?filter=authors.id:HX_A18446744073709551616", 0, &[]),
    ("/outputs?filter=primary_topic.domain.id:3", 147, &["HX_W2900000160", "HX_W2900000161"]),
    ("/outputs?filter=doi:10.1038/s41586-021-03819-2", 1, &["HX_W2900000163"]),
    ("/outputs?filter=doi:https://doi.org/10.1038/S41586-021-03819-2", 1, &["HX_W2900000163"]),
    (
        "/outputs?filter=doi:https%3A%2F%2Fdoi.org%2F10.1038%2Fs41586-021-03819-2",
        1,
        &["HX_W2900000163"],
    ),
    ("/outputs?filter=doi:doi:10.1038/s41586-021-03819-2", 1, &["HX_W2900000163"]),
    ("/outputs?filter=name:null", 1, &["HX_W2900000300"]),
    ("/outputs?filter=name:\"null\"", 0, &[]),
    ("/outputs?filter=name:\"<i></i>\"", 0, &[]),
    ("/outputs?filter=keywords:GEOLOGY", 1, &["HX_W2900000093"]),
    ("/authors?filter=orcid:https://orcid.org/0000-0000-0000-036X", 1, &["HX_A5900000036"]),
    ("/authors?filter=orcid:https%3A%2F%2Forcid.org%2F0000-0000-0000-036x", 1, &["HX_A5900000036"]),
    ("/authors?filter=orcid:0000-0000-0000-036X", 1, &["HX_A5900000036"]),
    ("/authors?filter=has_orcid:true", 36, &["HX_A5900000036", "HX_A5900000037"]),
    ("/topics?filter=domain.id:3", 21, &["HX_T10048", "HX_T10622"]),
    ("/topics?filter=domain.id:03", 0, &[]),
    ("/topics?filter=domain.id:18446744073709551619", 0, &[]),
    ("/domains?filter=fields.id:17", 1, &["3"]),
    ("/institutions?filter=roles.id:HX_F1", 0, &[]),
    ("/publishers?filter=hierarchy_level:0", 13, &["HX_P4310319965", "HX_P4310320261"]),
    ("/funders?filter=country.code:us", 4, &["HX_F4320306076", "HX_F4320332161"]),
    ("/institutions?filter=country.code:FR|%20DE", 6, &["HX_I74656192", "HX_I39804081"]),
    ("/sources?filter=type:journal,is_oa:true", 3, &["HX_S22240167", "HX_S165991124"]),
];

#[test]
fn valid_filters_have_their_count_and_first_records() {
    check_all_accepted(TAKEN);
}

#[test]
fn pages_of_a_filtered_list_hold_each_match_once() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for filter in ["cited_by_count:>-1", "type:!article", "is_oa:true", "id:HX_W2900000160"] {
        for sort in ["", "&sort=name:desc", "&sort=year,fwci:desc"] {
            let page = |per_page: u32, page: u32| {
                format!("/outputs?filter={filter}{sort}&per_page={per_page}&page={page}")
            };
            let all: Vec<String> =
                (1..=4).flat_map(|at| ids(&connection.get(&page(100, at)))).collect();
            let first = connection.get(&page(10, 1)).json();
            assert_eq!(first["meta"]["count"], all.len(), "{filter}{sort}");
            let parts: Vec<String> =
                (1..=25).flat_map(|at| ids(&connection.get(&page(10, at)))).collect();
            assert_eq!(parts, all, "{filter}{sort}");
            let mut once = all.clone();
            once.sort();
            once.dedup();
            assert_eq!(once.len(), all.len(), "{filter}{sort}");
        }
    }
    server.end(&[]);
}

#[test]
fn a_wrong_filter_takes_precedence_over_a_matching_etag() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let good = "/outputs?filter=cited_by_count:>100&sort=year";
    let tag = connection.get(good).header("etag").unwrap().to_owned();
    for kept in [format!("If-None-Match: {tag}"), "If-None-Match: *".to_owned()] {
        for method in ["GET", "HEAD"] {
            for (target, status) in [
                (good, 304),
                ("/outputs?filter=cited_by_count:<0", 304),
                ("/outputs?filter=cited_by_count:>", 400),
                ("/outputs?filter=nothing:1", 400),
                ("/outputs?filter=year:2020&sort=nothing", 400),
                ("/outputs?filter=year:2020&filter=year:2020", 400),
                ("/outputs?filter=%zz", 400),
                ("/fields?filter=id:1", 400),
            ] {
                let response = connection.request(method, target, &[&kept]);
                assert_eq!(response.status, status, "{method} {target} {kept}");
                assert!(status == 400 || response.body.is_empty(), "{target}");
                assert_eq!(response.header("etag").is_some(), status == 304, "{target}");
            }
        }
    }
    let stale = connection.request("GET", good, &["If-None-Match: \"another\""]);
    assert_eq!((stale.status, stale.header("etag")), (200, Some(tag.as_str())));
    server.end(&[]);
}

#[test]
fn only_harmless_characters_of_a_target_are_repaired() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let escaped = "/outputs?filter=cited_by_count:%3E=10000,name:!%22a,b%22&sort=year";
    let bare = "/outputs?filter=cited_by_count:>=10000,name:!\"a,b\"&sort=year";
    let expected = server.get(escaped);
    assert_eq!(expected.status, 200);
    let mut connection = server.connect();
    for _ in 0..2 {
        let response = connection.get(bare);
        assert_eq!(response.body, expected.body);
        check_head(&mut connection, bare, &response);
    }
    // A target sent byte by byte gets the same reply.
    let raw = format!("GET {bare} HTTP/1.1\r\nHost: x\r\n\r\n");
    raw.bytes().for_each(|byte| connection.send(&[byte]).unwrap());
    assert_eq!(connection.receive().unwrap().body, expected.body);
    // Headers are not repaired.
    let response = connection.request("GET", bare, &["If-None-Match: \"<a>\", *"]);
    assert_eq!(response.status, 200);
    let tag = expected.header("etag").unwrap();
    assert_eq!(connection.request("GET", bare, &[&format!("If-None-Match: {tag}")]).status, 304);
    let posted = connection.request("POST", bare, &[]);
    assert_eq!(
        (posted.status, posted.text()),
        (405, error_body(405, "Method Not Allowed").as_str())
    );
    // Other bytes that a URI cannot contain are rejected.
    for target in
        ["/outputs?filter=name:a b", "/outputs?filter=name:a\tb", "/outputs?filter=name:\u{1}"]
    {
        let response = server.get(target);
        assert_eq!((response.status, response.text()), (400, ""), "{target:?}");
    }
    drop(connection);
    server.end(&[]);
}

#[test]
fn debug_logs_show_the_execution_of_a_list_query() {
    let snapshots = Snapshots::from_sample();
    let target = "/outputs?filter=is_oa:true,year:>2000&sort=name";
    for (level, is_logged) in [("info", false), ("pinakes_answer=debug", true), ("debug", true)] {
        let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
        let server = Server::start(command.env("PINAKES_LOG", level));
        assert_eq!(server.get(target).status, 200);
        assert_eq!(server.get("/outputs?filter=type:nothing").status, 200);
        assert_eq!(server.get("/outputs?filter=nothing:1").status, 400);
        let log = server.end(&[]);
        let logged: Vec<&str> = log.lines().filter(|line| line.contains("list answered")).collect();
        assert_eq!(logged.len(), if is_logged { 2 } else { 0 }, "{level}: {log}");
        let plans = [
            "plan=\"outputs: `is_oa:true` (posting list, at most 37 rows) and `year:>2000` \
             (sorted rows, at most 44 rows) over 1 chunks, 17 rows, selected by their keys\"",
            "plan=\"outputs: `type:nothing` (empty) over 1 chunks, 0 rows, in row order\"",
        ];
        for (line, plan) in logged.iter().zip(plans) {
            assert!(line.contains("DEBUG") && line.contains("micros="), "{line}");
            assert!(line.ends_with(plan), "{line}");
        }
    }
}

#[test]
fn a_query_over_its_time_limit_gets_503() {
    let snapshots = Snapshots::from_sample();
    let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
    let server = Server::start(command.args(["--list-timeout", "0.000001"]));
    for target in [
        "/outputs?filter=is_oa:true,year:>2000",
        "/autocomplete?query=uni+of",
        "/legacy/topics?filter=domain:life+sciences",
        "/legacy/topics?group_by=field",
    ] {
        let response = server.get(target);
        assert_eq!(response.status, 503, "{target}");
        assert_eq!(response.header("retry-after"), Some("30"));
        assert_eq!(response.json()["message"], "Service temporarily unavailable");
    }
    // These requests need no query.
    assert_eq!(server.get("/outputs?page=3&per_page=10").status, 200);
    assert_eq!(server.get("/outputs/HX_W2900000096").status, 200);
    assert_eq!(server.get("/autocomplete?query=uni").status, 200);
    let log = server.end(&[]);
    assert!(log.contains("a query reached --list-timeout"), "{log}");
}
