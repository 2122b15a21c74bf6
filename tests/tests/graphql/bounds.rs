//! Limits on one query: estimated before the work where possible, and counted during the work.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use pinakes_answer::GraphqlSettings;
use pinakes_answer::parts::{GraphqlRequest, Outcome, respond};
use pinakes_format::storage::integrity::CHUNK_BYTES;
use pinakes_server::parts::PROCESS_CLOCK;
use pinakes_tests::client::Connection;
use pinakes_tests::graphql::{ask, messages, post_body};
use pinakes_tests::server::{Server, Snapshots, command};

use crate::graphql::schema::Types;

fn bounded(snapshots: &Snapshots, more: &[&str]) -> Server {
    let mut args = vec!["--snapshots", snapshots.path().to_str().unwrap()];
    args.extend(more);
    Server::start(&mut command(&args))
}

#[test]
fn a_query_costs_the_most_records_it_may_read() {
    let snapshots = Snapshots::from_sample();
    let server = bounded(&snapshots, &["--graphql-records", "0"]);
    let mut connection = server.connect();
    for (question, cost) in [
        ("{author(id:\"HX_A1\"){id}}", 1),
        ("{a:author(id:\"HX_A1\"){id} b:author(id:\"HX_A1\"){name}}", 2),
        ("{author(id:\"HX_A1\"){affiliations{institution{id}} topics{topic{id}}}}", 3),
        ("{outputs{meta{count}}}", 1),
        ("{outputs{results{id}}}", 26),
        ("{outputs(per_page:100){results{id}}}", 101),
        ("{outputs(per_page:100){a:results{id} b:results{id}}}", 201),
        ("{outputs(per_page:10){results{authors{author{id}}}}}", 21),
        ("{author(id:\"HX_A1\"){outputs(per_page:10){results{primary_topic{topic{id}}}}}}", 22),
        ("{authors(per_page:10){results{outputs(per_page:10){results{id}}}}}", 121),
        ("{autocomplete(query:\"a\"){results{id}}}", 11),
    ] {
        let answer = ask(&mut connection, question);
        let errors = messages(&answer);
        let expected = format!("asks for up to {cost} records at once, of 0 at most");
        assert!(errors.len() == 1 && errors[0].starts_with(&expected), "{question}: {errors:?}");
    }
    // The schema costs no records.
    assert!(messages(&ask(&mut connection, "{__typename __schema{types{name}}}")).is_empty());
    server.end(&[]);
}

#[test]
fn records_behind_references_are_counted_when_they_are_read() {
    let snapshots = Snapshots::from_sample();
    let server = bounded(&snapshots, &["--graphql-records", "300"]);
    let mut connection = server.connect();
    let question = "{subfields(per_page:100){results{siblings{subfield{id}}}}}";
    let answer = ask(&mut connection, question);
    assert!(answer["data"].is_null());
    let errors = messages(&answer);
    assert!(errors[0].starts_with("comes to more than 300 records"), "{errors:?}");
    assert_eq!(connection.get("/health").status, 200);
    server.end(&[]);
    let server = bounded(&snapshots, &[]);
    assert!(messages(&ask(&mut server.connect(), question)).is_empty());
    server.end(&[]);
}

#[test]
fn a_reply_over_the_byte_limit_has_no_data() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let whole = Types::ask(&mut connection).whole("Output");
    let lists = |count: usize| {
        let list = |at| format!("a{at}:outputs(per_page:100){{results{{...W}}}} ");
        format!("{{{}}}fragment W on Output{whole}", (0..count).map(list).collect::<String>())
    };
    let answer = ask(&mut connection, &lists(19));
    assert!(answer["data"].is_null());
    let expected = ["comes to more than 4000000 bytes; ask for less, or in parts"];
    assert_eq!(messages(&answer), expected);
    assert!(messages(&ask(&mut connection, &lists(1))).is_empty());
    server.end(&[]);

    let server = bounded(&snapshots, &["--graphql-bytes", "1000"]);
    let mut connection = server.connect();
    let check = |connection: &mut Connection, size: u32, is_answered: bool| {
        let body = format!(r#"{{"query":"{{outputs(per_page:{size}){{results{{id}}}}}}"}}"#);
        let reply = post_body(connection, &["Content-Type: application/json"], body.as_bytes());
        assert_eq!(reply.json()["data"].is_object(), is_answered, "{size}: {}", reply.text());
        assert!(reply.body.len() <= 1_000, "{size}");
    };
    check(&mut connection, 25, true);
    check(&mut connection, 50, false);
    server.end(&[]);
}

#[test]
fn work_over_the_time_limit_ends() {
    let snapshots = Snapshots::from_sample();
    let question =
        "{subfields(per_page:100){results{siblings{subfield{siblings{subfield{id name}}}}}}}";
    let server = bounded(&snapshots, &["--graphql-cpu", "1", "--graphql-records", "100000"]);
    let answer = ask(&mut server.connect(), question);
    assert!(answer["data"].is_null());
    let expected = ["takes more than 1 ms of processor time; ask in parts"];
    assert_eq!(messages(&answer), expected);
    server.end(&[]);

    let server = bounded(&snapshots, &["--list-timeout", "0.000001"]);
    let body = format!(r#"{{"query":"{question}"}}"#);
    let reply =
        post_body(&mut server.connect(), &["Content-Type: application/json"], body.as_bytes());
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("30")));
    server.end(&[]);
}

#[test]
fn work_ends_after_the_client_has_gone() {
    let snapshots = Snapshots::from_sample();
    let snapshot = snapshots.open();
    let ways = "siblings{subfield{".repeat(4);
    let query = format!("{{subfields(per_page:100){{results{{{ways}id{}}}}}}}", "}}".repeat(4));
    let asking = GraphqlRequest { query, variables: Default::default(), operation_name: None };
    // Complete work would read five million records, which takes noticeably long.
    let far = Duration::from_secs(3_600);
    let settings =
        GraphqlSettings { has_page: false, records: u64::MAX, bytes: usize::MAX, cpu: far };
    let is_gone = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let answering =
            scope.spawn(|| respond(asking, &snapshot, &settings, far, &is_gone, &PROCESS_CLOCK));
        is_gone.store(true, Ordering::Relaxed);
        let outcome = answering.join().unwrap();
        assert!(matches!(outcome, Ok(Outcome::Gone)), "{outcome:?}");
    });
}

#[test]
fn a_damaged_record_is_answered_503() {
    let snapshots = Snapshots::from_sample();
    let records = snapshots.path().join("current/outputs/records");
    flip(&records, CHUNK_BYTES + 1);
    let server = Server::serve(&snapshots);
    let body =
        r#"{"query":"{outputs(per_page:100){results{id}} authors(per_page:100){results{id}}}"}"#;
    let reply =
        post_body(&mut server.connect(), &["Content-Type: application/json"], body.as_bytes());
    assert_eq!(reply.status, 503, "{}", reply.text());
    server.end(&["cannot answer", "snapshot poisoned", "no other snapshot"]);
}

/// Flips a bit of a file.
fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    pinakes_tests::server::make_writable(path.parent().unwrap());
    std::fs::write(path, bytes).unwrap();
}
