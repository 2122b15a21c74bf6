//! Operators, fields, phrases, patterns and corrections.

use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

use crate::search::{encoded, found, numbers, reason, search, snapshots, titled, with_abstract};

fn works() -> Vec<Value> {
    let mut first = with_abstract(
        titled((1, "en", "Synovitis of the knee")),
        "Deep learning finds synovitis in open access images",
    );
    first["authorships"] =
        json!([{ "author": { "id": "A1", "display_name": "Barbara McClintock" } }]);
    first["publication_year"] = json!(1951);
    first["biblio"] = json!({ "volume": "17", "first_page": "271", "last_page": "280" });
    first["keywords"] = json!([{ "display_name": "Arthritis" }]);
    let second = with_abstract(
        titled((2, "en", "Synovitis in rabbits, a review")),
        "Learning was deep and access was open",
    );
    let mut third = titled((3, "en", "Colours of women"));
    third["primary_location"] = json!({ "source": { "id": "S1", "display_name": "Journal of Pigments", "type": "journal" } });
    let others = (4..10).map(|id| titled((id, "en", "Synovitis without more")));
    [first, second, third].into_iter().chain(others).collect()
}

fn served() -> (Snapshots, Server) {
    let snapshots = snapshots(&works());
    let server = Server::serve(&snapshots);
    (snapshots, server)
}

#[test]
fn operators_and_fields_choose_records() {
    let (_snapshots, server) = served();
    let mut connection = server.connect();
    for (text, expected) in [
        ("knee OR rabbits", &[1, 2][..]),
        ("synovitis AND (knee OR rabbits)", &[1, 2]),
        ("synovitis NOT more NOT review", &[1]),
        ("knee OR rabbits -review", &[1]),
        ("(knee OR rabbits) -review", &[1]),
        ("title:deep", &[]),
        ("abstract:deep title:knee", &[1]),
        ("author:mcclintock", &[1]),
        ("venue:pigments", &[3]),
        ("subject:arthritis", &[1]),
        ("mcclintock 1951", &[1]),
        ("knee 17 271-280", &[1]),
        ("\"deep learning\"", &[1]),
        ("\"learning deep\"~2", &[1, 2]),
        ("\"open acc*\"", &[1]),
        ("wom?n colour*", &[3]),
        ("color~2", &[3]),
        ("synovitsi~1 knee", &[1]),
        ("\"deep\" OR \"pigments\"", &[1, 2, 3]),
    ] {
        assert_eq!(found(&mut connection, text), expected, "{text}");
    }
    server.end(&[]);
}

#[test]
fn a_search_with_few_records_finds_most_of_its_words_and_says_what_was_corrected() {
    let (_snapshots, server) = served();
    let mut connection = server.connect();
    let list = search(&mut connection, "synovitsi of the knee", "");
    let summary = json!({ "words": "most", "all": 1, "corrected": { "synovitsi": ["synovitis"] } });
    assert_eq!(list["meta"]["search"], summary);
    assert_eq!(numbers(&list)[0], 1);
    // A filter removes records and changes nothing else.
    let filtered = search(&mut connection, "synovitsi of the knee", "&filter=id:HX_W2|HX_W5");
    assert_eq!(filtered["meta"]["search"], summary);
    let mut kept = numbers(&list);
    kept.retain(|number| [2, 5].contains(number));
    assert_eq!(numbers(&filtered), kept);
    for sorted in ["&sort=id", "&sort=relevance", "&sort=id,relevance"] {
        let list = search(&mut connection, "synovitsi of the knee", sorted);
        assert_eq!(list["meta"]["search"], summary, "{sorted}");
    }
    // Records with all words come first, however few; those with most words follow.
    let list = search(&mut connection, "synovitis knee", "");
    assert_eq!(list["meta"]["search"], json!({ "words": "most", "all": 1, "corrected": {} }));
    assert_eq!((numbers(&list)[0], &list["meta"]["count"]), (1, &json!(8)));
    // A search whose records all have all words says so.
    let list = search(&mut connection, "synovitis", "");
    assert_eq!(list["meta"]["search"], json!({ "words": "all", "corrected": {} }));
    // The corrected words are all there.
    let list = search(&mut connection, "pigmants", "");
    let summary = json!({ "words": "all", "corrected": { "pigmants": ["pigments"] } });
    assert_eq!((numbers(&list), &list["meta"]["search"]), (vec![3], &summary));
    // Words in capitals, abbreviations and words of three letters stay.
    for text in ["PIGMANTS", "univ", "wom"] {
        assert_eq!(found(&mut connection, text), Vec::<u64>::new(), "{text}");
    }
    // A search with operators is not corrected.
    assert_eq!(found(&mut connection, "synovitsi AND knee"), Vec::<u64>::new());
    // Lists without a search, and searches of names, have no such member.
    for target in ["/outputs", "/authors?search=barbara", "/outputs?filter=name.search:knee"] {
        assert_eq!(connection.get(target).json()["meta"].get("search"), None, "{target}");
    }
    server.end(&[]);
}

#[test]
fn an_error_names_its_parameter_and_its_position() {
    let (_snapshots, server) = served();
    let mut connection = server.connect();
    let mut check = |parameter: &str, text: &str, expected: &str| {
        let target = format!("/outputs?{parameter}={}", encoded(text));
        let reason = reason(&connection.get(&target), parameter);
        assert!(reason.contains(expected), "{text}: {reason}");
    };
    check("search", "knee OR (rabbit", "at byte 8: a parenthesis is not closed");
    check("search.exact", "knee OR \"rabbit", "at byte 8: a quote is not closed");
    check("search", "knee OR", "at byte 7");
    check("search", "titel:knee", "did you mean `title:`");
    check("filter", "title.search:(knee OR", "a clause is missing");
    server.end(&[]);
}

#[test]
fn keys_of_filters_search_their_fields() {
    let (_snapshots, server) = served();
    let mut connection = server.connect();
    let mut check = |filter: &str, expected: &[u64]| {
        let target = format!("/outputs?filter={}", encoded(filter));
        let list = connection.get(&target).json();
        assert_eq!(numbers(&list), expected, "{filter}: {list}");
        assert!(list["results"].as_array().unwrap().iter().all(has_no_score), "{filter}");
    };
    check("title.search:deep", &[]);
    check("abstract.search:deep", &[1, 2]);
    check("title_and_abstract.search:deep knee", &[1]);
    check("author.search:mcclintock", &[1]);
    check("default.search:mcclintock knee", &[1]);
    check("title.search:\"rabbits, review\"", &[2]);
    check("title.search:!synovitis", &[3]);
    check("title.search:knee|rabbits", &[1, 2]);
    server.end(&[]);
}

fn has_no_score(record: &Value) -> bool {
    record.get("relevance_score").is_none()
}

#[test]
fn a_search_works_wherever_filters_do() {
    let (_snapshots, server) = served();
    let mut connection = server.connect();
    let count = |connection: &mut Connection, target: &str, at: &str| {
        connection.get(target).json().pointer(at).cloned().unwrap_or_default()
    };
    for (target, at, expected) in [
        ("/outputs?search=synovitis&group_by=type", "/meta/count", 8),
        ("/statistics/outputs?search=synovitis", "/count", 8),
        ("/outputs?search=synovitis&sample=3", "/meta/count", 3),
        ("/authors?search=barb", "/meta/count", 0),
    ] {
        assert_eq!(count(&mut connection, target, at), expected, "{target}");
    }
    let lines = connection.get("/outputs?search=synovitis&format=ndjson");
    assert_eq!(lines.text().lines().count(), 8);
    let question = json!({ "query": "{ outputs(search: \"synovitsi of the knee\", per_page: 10) { \
        meta { count search } results { id relevance_score references { results { relevance_score } } } } \
        output(id: \"HX_W1\") { relevance_score } }" });
    let answer = pinakes_tests::graphql::ask(&mut connection, question["query"].as_str().unwrap());
    let list = &answer["data"]["outputs"];
    assert_eq!(list["meta"]["search"]["corrected"]["synovitsi"], json!(["synovitis"]), "{answer}");
    let rest = search(&mut connection, "synovitsi of the knee", "");
    for (graph, rest) in
        list["results"].as_array().unwrap().iter().zip(rest["results"].as_array().unwrap())
    {
        assert_eq!(
            (&graph["id"], &graph["relevance_score"]),
            (&rest["id"], &rest["relevance_score"])
        );
    }
    assert_eq!(answer["data"]["output"]["relevance_score"], Value::Null);
    let wrong = pinakes_tests::graphql::ask(
        &mut connection,
        "{ outputs(search: \"(a OR\") { meta { count } } }",
    );
    assert_eq!(wrong["data"]["outputs"], Value::Null, "{wrong}");
    server.end(&[]);
}

#[test]
fn ten_records_with_all_words_are_no_few() {
    let mut works: Vec<Value> = (1..11).map(|id| titled((id, "en", "Blue whales"))).collect();
    works.extend((11..200).map(|id| titled((id, "en", "Whales without more"))));
    works.push(titled((300, "en", "Blue notes, long and without any of the animals")));
    let snapshots = snapshots(&works);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let list = search(&mut connection, "blue whales", "");
    assert_eq!(list["meta"]["search"], json!({ "words": "all", "corrected": {} }));
    assert_eq!(list["meta"]["count"], 10);
    let list = search(&mut connection, "notes whales animals", "");
    assert_eq!(list["meta"]["search"], json!({ "words": "most", "all": 0, "corrected": {} }));
    assert_eq!(numbers(&list)[0], 300);
    let list = search(&mut connection, "blue animals long", "");
    assert_eq!(list["meta"]["search"]["all"], 1);
    assert_eq!(numbers(&list)[0], 300, "the only record with all words");
    let scores: Vec<f64> = list["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["relevance_score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    server.end(&[]);
}

#[test]
fn a_dash_in_a_text_is_no_operator() {
    let (_snapshots, server) = served();
    let mut connection = server.connect();
    for (text, expected) in [
        ("rabbits -review", &[2][..]),
        ("rabbits - review", &[2]),
        ("title:rabbits -review", &[]),
        ("rabb* -review", &[]),
        ("\"rabbits\" -review", &[]),
        ("rabbits NOT review", &[]),
    ] {
        assert_eq!(found(&mut connection, text), expected, "{text}");
    }
    server.end(&[]);
}
