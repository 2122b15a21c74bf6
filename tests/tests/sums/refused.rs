//! Tests of sorts of groups, and of rejected groups and statistics.

use pinakes_tests::expect::check_refused;
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

use crate::sums::get;

#[test]
fn groups_are_sorted_as_asked() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut keys = |sort: &str, key: &str| -> Vec<Value> {
        let target = format!("/outputs?group_by={key}&sort={sort}&per_page=100");
        let body = get(&mut connection, &target);
        let groups = body["group_by"].as_array().unwrap().iter();
        groups.map(|group| json!([group["key"], group["key2"], group["count"]])).collect()
    };
    let years = keys("key", "cited_by_percentile_year.max");
    let number = |group: &Value| (group[0].is_null(), group[0].as_i64());
    assert!(years.is_sorted_by_key(number), "{years:?}");
    let mut descending = keys("key:desc", "cited_by_percentile_year.max");
    // Null comes last in either direction.
    let without: Vec<Value> = descending.extract_if(.., |group| group[0].is_null()).collect();
    descending.reverse();
    descending.extend(without);
    assert_eq!(years, descending);
    let counts = |groups: &[Value]| -> Vec<u64> {
        groups.iter().map(|group| group[2].as_u64().unwrap()).collect()
    };
    assert!(counts(&keys("count", "year")).is_sorted());
    assert!(counts(&keys("count:desc,key:desc", "type")).is_sorted_by(|one, other| one >= other));
    let pairs = keys("key2:desc,count", "type,is_oa");
    let by_second = pairs.chunk_by(|one, other| one[1] == other[1]);
    let flags: Vec<&Value> = by_second.map(|run| &run[0][1]).collect();
    assert!(flags.starts_with(&[&true.into(), &false.into()]), "{pairs:?}");
    server.end(&[]);
}

#[test]
fn wrong_groups_and_statistics_are_rejected_with_a_hint() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut check = |target: &str, parameter: &str, value: &str, reason: &str| {
        check_refused(&mut connection, (target, &[(parameter, value, reason)]));
    };
    check("/outputs?group_by=", "group_by", "", "is empty; leave it out");
    check(
        "/outputs?group_by=authorships.author.id",
        "group_by",
        "authorships.author.id",
        "is nothing /outputs is grouped by; did you mean `authors.id`?",
    );
    check(
        "/topics?group_by=updated_date",
        "group_by",
        "updated_date",
        "is a date, and nothing is grouped by it; there are `id`, `name`, `keywords`, `subfield.id`, \
         `field.id`, `domain.id`, `outputs_count`, `cited_by_count`",
    );
    check(
        "/outputs?group_by=type,type",
        "group_by",
        "type",
        "groups by a key a second time, of which a record has one value; name it once",
    );
    check(
        "/outputs?group_by=type,year,is_oa",
        "group_by",
        "type,year,is_oa",
        "groups by more than 2 keys",
    );
    check(
        "/outputs?group_by=type,year&of=cited_by_count",
        "of",
        "cited_by_count",
        "sums up the groups of one key; leave out a key of `group_by`",
    );
    check(
        "/outputs?of=cited_by_count",
        "of",
        "cited_by_count",
        "sums up the groups of `group_by`; without `group_by`, `/statistics/` sums up the list",
    );
    check(
        "/outputs?group_by=type&select=id",
        "select",
        "id",
        "does not go with `group_by`, which counts records; leave out one of the two",
    );
    check(
        "/outputs?group_by=type&sort=year",
        "sort",
        "year",
        "does not sort groups; there are `count` and `key`",
    );
    check(
        "/outputs?sort=count:asc&group_by=type&page=0",
        "page",
        "0",
        "must be a whole number from 1 to 2147483647",
    );
    check(
        "/fields?group_by=name",
        "group_by",
        "name",
        "is no parameter of /fields, which takes no group_by",
    );
    check(
        "/statistics/outputs?of=title",
        "of",
        "title",
        "is no number, and has no statistics; there are `year`, `cited_by_count`, `cites`, \
         `venues_count`, `fwci`, `citation_normalized_percentile.value`, \
         `cited_by_percentile_year.min`, `cited_by_percentile_year.max`, `apc_paid.value`, \
         `apc_paid.value_usd`, `references.count`",
    );
    check(
        "/statistics/outputs?of=cites,cites",
        "of",
        "cites",
        "is named a second time; name it once",
    );
    check(
        "/statistics/authors?of=works_count",
        "of",
        "works_count",
        "is no number of /authors; did you mean `outputs_count`?",
    );
    check(
        "/statistics/outputs?page=1",
        "page",
        "1",
        "is no parameter of this list: statistics have one page",
    );
    server.end(&[]);
}

#[test]
fn groups_and_statistics_count_as_lists_and_can_be_current() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for target in ["/outputs?group_by=type", "/statistics/outputs"] {
        let response = connection.get(target);
        let etag = response.header("etag").unwrap().to_owned();
        let again = connection.request("GET", target, &[&format!("If-None-Match: {etag}")]);
        assert_eq!((again.status, again.text()), (304, ""), "{target}");
    }
    server.end(&[]);
}
