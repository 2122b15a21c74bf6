//! The order by relevance, and its scores.

use pinakes_tests::server::Server;
use serde_json::Value;

use crate::search::{numbers, reason, search, snapshots, titled, with_abstract};

fn works() -> Vec<Value> {
    let title = |id, title| titled((id, "en", title));
    let mut works = vec![
        title(1, "Graphene"),
        title(2, "Properties of graphene sheets and of many other thin things"),
        with_abstract(title(3, "Thin things"), "Some sheets consist of graphene and more"),
        title(4, "Sheets of graphene"),
    ];
    for (id, cited) in (10..60).zip(0..) {
        let mut work = title(id, "Filler about nothing");
        work["cited_by_count"] = cited.into();
        work["publication_year"] = (2000 + cited % 3).into();
        works.push(work);
    }
    works
}

#[test]
fn the_best_record_comes_first_and_scores_descend() {
    let snapshots = snapshots(&works());
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let list = search(&mut connection, "graphene", "");
    assert_eq!(numbers(&list)[0], 1);
    assert_eq!(numbers(&list)[3], 3, "a title weighs more than an abstract");
    let scores: Vec<f64> = list["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["relevance_score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|one, next| one >= next) && scores[3] > 0.0, "{scores:?}");
    // A whole title is found as it was typed.
    assert_eq!(numbers(&search(&mut connection, "Sheets of graphene", ""))[0], 4);
    let text = connection.get("/outputs?search=graphene").text().to_owned();
    let member = "\"results\":[{\"id\":\"HX_W1\",\"relevance_score\":";
    assert!(text.contains(member), "{text}");
    assert_eq!(connection.get("/outputs?search=graphene&sort=relevance:desc").text(), text);
    server.end(&[]);
}

#[test]
fn relevance_stands_among_other_keys() {
    let snapshots = snapshots(&works());
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let list = search(&mut connection, "filler", "&sort=year:desc,relevance");
    let years: Vec<i64> = list["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["year"].as_i64().unwrap())
        .collect();
    assert!(years.is_sorted_by(|one, next| one >= next) && years.len() == 50, "{years:?}");
    for records in list["results"].as_array().unwrap().windows(2) {
        if records[0]["year"] == records[1]["year"] {
            let score = |at: usize| records[at]["relevance_score"].as_f64().unwrap();
            assert!(score(0) >= score(1), "{records:?}");
        }
    }
    // Pages are parts of the list.
    let page = search(&mut connection, "filler", "&sort=year:desc,relevance&page=2").to_owned();
    assert_eq!(numbers(&page), Vec::<u64>::new());
    let target = "/outputs?search=filler&sort=year:desc,relevance&per_page=10&page=3";
    assert_eq!(numbers(&connection.get(target).json()), numbers(&list)[20..30]);
    let lines = connection.get("/outputs?search=filler&sort=year:desc,relevance&format=ndjson");
    let ids: Vec<String> = lines
        .text()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<String> = numbers(&list).iter().map(|id| format!("HX_W{id}")).collect();
    assert_eq!(ids, expected);
    server.end(&[]);
}

#[test]
fn a_stream_has_the_scores_of_its_pages() {
    let snapshots = snapshots(&works());
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let list = search(&mut connection, "graphene", "&select=id,name");
    let lines = connection.get("/outputs?search=graphene&select=id,name&format=ndjson");
    let records: Vec<Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(Value::Array(records), list["results"]);
    let table = connection.get("/outputs?search=graphene&select=id,name&format=csv");
    let mut rows = table.text().split("\r\n");
    assert_eq!(rows.next(), Some("id,relevance_score,name"));
    let first = format!("HX_W1,{},Graphene", list["results"][0]["relevance_score"]);
    assert_eq!(rows.next(), Some(first.as_str()));
    let table = connection.get("/outputs?search=graphene&select=name&format=csv");
    assert!(table.text().starts_with("relevance_score,name\r\n"), "{}", table.text());
    server.end(&[]);
}

#[test]
fn relevance_needs_a_search() {
    let snapshots = snapshots(&works());
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (target, expected) in [
        ("/outputs?sort=relevance", "needs `search`"),
        ("/outputs?sort=relevance&filter=title.search:graphene", "needs `search`"),
        ("/outputs?sort=relevance:asc&search=a", "write `relevance`"),
        ("/outputs?sort=relevance,relevance&search=a", "a second time"),
        ("/outputs?sort=relevance&search=a&sample=5", "does not go with `sample`"),
        ("/authors?sort=relevance&search=a", "is no sort key of /authors"),
    ] {
        let reason = reason(&connection.get(target), "sort");
        assert!(reason.contains(expected), "{target}: {reason}");
    }
    let both = connection.get("/outputs?search=a&search.exact=b");
    assert!(reason(&both, "search.exact").contains("does not go with `search`"));
    let other = connection.get("/authors?search.exact=b");
    assert!(reason(&other, "search.exact").contains("is no parameter of"));
    server.end(&[]);
}
