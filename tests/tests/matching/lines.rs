//! `POST /match/outputs`: one line for each line, in order.

use pinakes_tests::client::Response;
use pinakes_tests::server::{Server, command};
use serde_json::{Value, json};

use crate::matching::{post, snapshots};

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";

fn lines(reply: &Response) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_line_gets_its_best_candidate_in_order() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let known = json!({"key": {"a": [1]}, "text": "Ajzen 1991 The theory of planned behavior"});
    let body = [
        known.to_string(),
        String::new(),
        json!({"key": 7, "title": "Coefficient alpha and the internal structure of tests", "author": "Cronbach", "year": 1951})
            .to_string(),
        r#"{"text":"#.to_owned(),
        "[1]".to_owned(),
        json!({"key": "none"}).to_string(),
        r#"{"key":"two","text":"a","text":"b"}"#.to_owned(),
        json!({"key": "long", "text": "a".repeat(1_000_000)}).to_string(),
        json!({"text": "zzz qqq"}).to_string(),
        json!({"key": "typo", "tittle": "a"}).to_string(),
    ];
    let found = lines(&post(&mut connection, "outputs", NDJSON, body.join("\n").as_bytes()));
    assert_eq!(found.len(), 9);
    let keys: Vec<&Value> = found.iter().map(|line| &line["key"]).collect();
    let expected = [
        json!({"a": [1]}),
        json!(7),
        json!(null),
        json!(null),
        json!("none"),
        json!("two"),
        json!("long"),
        json!(null),
        json!("typo"),
    ];
    assert_eq!(keys, expected.iter().collect::<Vec<_>>());
    assert_eq!((&found[0]["id"], &found[0]["match"]), (&json!("HX_W1"), &json!(true)));
    assert_eq!((&found[1]["id"], &found[1]["match"]), (&json!("HX_W2"), &json!(true)));
    for (at, error) in [
        (2, "line 4: is no JSON"),
        (3, "line 5: is no JSON object"),
        (4, "line 6: `text` is missing"),
        (5, "line 7: `text` is given twice"),
        (6, "line 8: `text` is 1000000 bytes long"),
        (8, "line 10: `tittle` is no part"),
    ] {
        let line = &found[at];
        assert!(line["error"].as_str().unwrap().starts_with(error), "{line}");
        assert_eq!((&line["id"], &line["match"]), (&Value::Null, &json!(false)), "{line}");
    }
    assert_eq!((&found[7]["id"], found[7].get("error")), (&Value::Null, None));
    server.end(&[]);
}

#[test]
fn a_table_gets_a_table() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let table =
        "key,text\r\n\"a,1\",\"Ajzen, I. (1991). The theory\nof planned behavior.\"\r\nb\r\nc,\r\n";
    let reply = post(&mut connection, "outputs", CSV, table.as_bytes());
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.header("content-type").unwrap().starts_with("text/csv"));
    let rows: Vec<&str> = reply.text().lines().collect();
    assert_eq!(rows[0], "key,id,name,score,match,error");
    assert!(rows[1].starts_with("\"a,1\",HX_W1,The theory of planned behavior,"), "{rows:?}");
    assert!(rows[1].ends_with(",true,"), "{rows:?}");
    assert!(rows[2].starts_with("b,,,,,row 3: has 1 cells"), "{rows:?}");
    assert!(rows[3].starts_with("c,,,,,\"row 4: `text` is missing"), "{rows:?}");
    let wrong = post(&mut connection, "outputs", CSV, b"key,citation\n1,a\n");
    assert_eq!(wrong.status, 400);
    assert_eq!(wrong.json()["details"][0]["value"], "citation", "{}", wrong.text());
    server.end(&[]);
}

#[test]
fn bodies_without_lines_with_too_many_and_of_other_types_are_refused() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let line = "{\"text\":\"a\"}\n";
    let check = |media_type: &str, body: &str, status: u16, message: &str| {
        let reply = post(&mut server.connect(), "outputs", media_type, body.as_bytes());
        assert_eq!(reply.status, status, "{}", reply.text());
        assert!(reply.text().contains(message), "{}", reply.text());
    };
    check(NDJSON, "", 400, "has no line");
    check(NDJSON, "\n\n", 400, "has no line");
    check(CSV, "key,text\n", 400, "has no line");
    check(NDJSON, &line.repeat(1_001), 400, "more than 1000 lines");
    check(NDJSON, &line.repeat(1_000), 200, "\"match\":false");
    check("text/plain", line, 415, "Content-Type must be");
    check(NDJSON, &" ".repeat((2 << 20) + 1), 413, "Request body exceeds 2097152 bytes");
    server.end(&[]);
}

#[test]
fn each_line_counts_as_a_page_of_a_list() {
    let snapshots = snapshots();
    let (option, directory) = ("--snapshots".as_ref(), snapshots.path().as_os_str());
    let more = ["--daily-list", "10", "--minute-limit", "100"].map(AsRef::as_ref);
    let arguments = [&[option, directory][..], &more[..]].concat();
    let server = Server::start(command(&arguments).env_remove("PINAKES_NO_LIMITS"));
    let mut connection = server.connect();
    let left = |reply: &Response| reply.header("x-ratelimit-daily-remaining").map(str::to_owned);
    assert_eq!(left(&connection.get("/match/outputs?text=a")).as_deref(), Some("9"));
    let body = "{\"text\":\"a\"}\n".repeat(6);
    let reply = post(&mut connection, "outputs", NDJSON, body.as_bytes());
    assert_eq!((reply.status, left(&reply).as_deref()), (200, Some("3")));
    let reply = post(&mut connection, "outputs", NDJSON, body.as_bytes());
    assert_eq!(reply.status, 429, "{}", reply.text());
    assert_eq!(left(&connection.get("/match/outputs?text=a")).as_deref(), Some("2"));
    server.end(&[]);
}
