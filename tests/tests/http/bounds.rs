//! The longest accepted queries, and longer queries.

use pinakes_tests::expect::{RefusedQuery, check_accepted, check_refused};
use pinakes_tests::server::{Server, Snapshots};

/// Most bytes of a refusal.
const REPLY_BYTES_MAX: usize = 8 << 10;
const DETAILS_MAX: usize = 10;

fn repeated(part: &str, times: usize, between: &str) -> String {
    vec![part; times].join(between)
}

#[test]
fn fifty_expressions_and_a_hundred_alternatives_are_accepted() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let alternatives = format!("year:{}", repeated("1905", 100, "|"));
    let all = format!("/outputs?filter={}", repeated("year:!1", 50, ","));
    let one_year = format!("/outputs?filter={alternatives}");
    let both = format!("/outputs?filter={},{alternatives}", repeated("year:!1", 49, ","));
    check_accepted(&mut connection, (&all, 234, &["HX_W2900000160"]));
    check_accepted(&mut connection, (&one_year, 4, &["HX_W2900000003"]));
    check_accepted(&mut connection, (&both, 4, &["HX_W2900000003"]));
    server.end(&[]);
}

#[test]
fn one_expression_or_alternative_more_is_refused_and_quoted_in_part() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let expressions = repeated("year:!1", 51, ",");
    let alternatives = format!("year:{}", repeated("1905", 101, "|"));
    let dots = format!("{}:1", repeated("a", 501, "."));
    let digits = format!("cited_by_count:>1{}", "0".repeat(400));
    let cut = |text: &str| format!("{}…", &text[..64]);
    let unknown = "is no filter key of /outputs; there are 180, among them \
                   `authors.affiliations.name.search`, \
                   `primary_venue.source.host_organization.lineage`, \
                   `best_oa_venue.source.host_organization.lineage`, \
                   `authors.affiliations.lineage.id`, `primary_venue.source.name.search`, \
                   `authors.affiliations.name`, `funders.awards.funder_award_id`, \
                   `venues.source.host_organization.lineage`, `title_and_abstract.search`, \
                   `authors.name.search`, `authors.affiliations.id`, \
                   `authors.affiliations.count`";
    let number = format!(
        "`1{}…` must be an integer of at most 64 bits, since it is compared",
        "0".repeat(39)
    );
    let fifty = repeated("year:!1", 50, ",");
    let searched = format!("/outputs?filter={fifty}&search=x");
    let reason = "makes more than 50 expressions, searches among them";
    check_refused(&mut connection, (&searched, &[("search", "x", reason)]));
    let cases: [(&str, &str, &str); 4] = [
        (&expressions, &cut(&expressions), "has more than 50 expressions"),
        (&alternatives, &cut(&alternatives), "has more than 100 alternatives"),
        (&dots, &cut(&dots), unknown),
        (&digits, &cut(&digits), &number),
    ];
    for (filter, value, reason) in cases {
        let target = format!("/outputs?filter={filter}");
        let refused: RefusedQuery<'_> = (&target, &[("filter", value, reason)]);
        check_refused(&mut connection, refused);
    }
    server.end(&[]);
}

#[test]
fn a_refusal_is_short_however_many_parameters_are_wrong() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let ten = DETAILS_MAX;
    for (query, details) in [
        (format!("filter={}", ",".repeat(1_000)), ten),
        (format!("filter={}", repeated("nothing:1", 1_000, ",")), ten),
        (format!("filter={}", repeated("year:x", 60, ",")), ten),
        (format!("filter={}", repeated(&"%01".repeat(64), 12, ",")), ten),
        (format!("filter={}", repeated(&"%F0%9F%98%80".repeat(60), 12, ",")), ten),
        (format!("filter=name:{}", "\"".repeat(5_001)), 1),
        (format!("filter=year:{}", "9".repeat(16_000)), 1),
        (format!("filter=year:{}", "%22%22%22".repeat(1_500)), 1),
        (format!("filter=year:{}", "!".repeat(8_000)), 1),
        (format!("filter=type:{}", "|".repeat(8_000)), 1),
        (format!("filter={}", ".".repeat(500)), 1),
        (format!("sort={}", "a".repeat(8 << 10)), 1),
        (format!("sort={}", repeated("year", 1_600, ",")), 4),
        (format!("sort={}", ",".repeat(8 << 10)), 5),
        (format!("page=0&sort=,,,&filter={}", ",".repeat(1_000)), ten),
    ] {
        let target = format!("/outputs?{query}");
        let response = connection.get(&target);
        assert_eq!(response.status, 400, "{target:.80}");
        let found = response.json()["details"].as_array().unwrap().len();
        assert_eq!(found, details, "{target:.80}: {}", response.text());
        assert!(response.body.len() < REPLY_BYTES_MAX, "{target:.80}: {}", response.body.len());
    }
    // A raw quote counts as its three-byte escape.
    let target = format!("/outputs?filter=name:{}", "\"".repeat(6_000));
    assert_eq!(connection.get(&target).status, 414);
    server.end(&[]);
}
