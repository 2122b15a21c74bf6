//! `POST /outputs/search`.

use pinakes_tests::client::{Connection, Response};
use pinakes_tests::server::{Server, command};

use crate::search::{reason, search, snapshots, titled};

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

fn post(connection: &mut Connection, headers: &[&str], body: &[u8]) -> Response {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "POST /outputs/search HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    connection.send(&[head.as_bytes(), body].concat()).unwrap();
    connection.receive_to("POST").unwrap()
}

#[test]
fn a_form_is_the_list_with_its_parameters() {
    let works: Vec<_> = (1..30).map(|id| titled((id, "en", "Graphene sheets"))).collect();
    let snapshots = snapshots(&works);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let expected = search(&mut connection, "graphene OR (a \"b\")", "&filter=id:!HX_W3");
    let body = b"search=graphene+OR+(a+%22b%22)&per_page=100&filter=id:!HX_W3";
    let reply = post(&mut connection, &[FORM], body);
    assert_eq!((reply.status, reply.json()), (200, expected));
    assert_eq!(reply.header("etag"), None);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    // A search that no URL holds.
    let long = format!("search={}&per_page=10", vec!["graphene"; 900].join("+OR+"));
    let long = format!("{long}&filter=id:{}", vec!["!HX_W3"; 49].join(",id:"));
    let reply = post(&mut connection, &[FORM], long.as_bytes());
    assert_eq!(
        (reply.status, &reply.json()["meta"]["count"]),
        (200, &28.into()),
        "{}",
        reply.text()
    );
    let stream = post(&mut connection, &[FORM], b"search=graphene&format=csv&select=id");
    assert_eq!(stream.text().lines().count(), 30, "{}", stream.text());
    let wrong = post(&mut connection, &[FORM], b"search=(a+OR&page=0");
    assert_eq!(wrong.json()["details"].as_array().unwrap().len(), 2, "{}", wrong.text());
    assert!(reason(&post(&mut connection, &[FORM], b"search=%ff"), "search").contains("UTF-8"));
    assert!(reason(&post(&mut connection, &[FORM], b"\xff"), "body").contains("UTF-8"));
    server.end(&[]);
}

#[test]
fn other_methods_types_and_sizes_are_refused() {
    let snapshots = snapshots(&[titled((1, "en", "Graphene"))]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let reply = connection.request(method, "/outputs/search", &[]);
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST, OPTIONS")), "{method}");
    }
    let options = connection.request("OPTIONS", "/outputs/search", &[]);
    assert_eq!(options.header("access-control-allow-methods"), Some("POST, OPTIONS"));
    for headers in [
        &[][..],
        &["Content-Type: application/json"],
        &["Content-Type: multipart/form-data; boundary=a"],
        &[FORM, "Content-Encoding: gzip"],
        &[FORM, FORM],
    ] {
        // A refused body ends the connection.
        let reply = post(&mut server.connect(), headers, b"search=a");
        assert_eq!(reply.status, 415, "{headers:?}");
    }
    let padded = |length: usize| format!("search=graphene&{}", "&".repeat(length - 16));
    let size =
        |length: usize| post(&mut server.connect(), &[FORM], padded(length).as_bytes()).status;
    assert_eq!((size(65_536), size(65_537)), (200, 413));
    server.end(&[]);
}

#[test]
fn a_form_counts_as_a_list() {
    let snapshots = snapshots(&[titled((1, "en", "Graphene"))]);
    let (option, directory) = ("--snapshots".as_ref(), snapshots.path().as_os_str());
    let more = ["--daily-list", "2", "--minute-limit", "100"].map(AsRef::as_ref);
    let arguments = [&[option, directory][..], &more[..]].concat();
    let server = Server::start(command(&arguments).env_remove("PINAKES_NO_LIMITS"));
    let mut connection = server.connect();
    let left = |reply: &Response| reply.header("x-ratelimit-daily-remaining").map(str::to_owned);
    assert_eq!(left(&post(&mut connection, &[FORM], b"search=a")).as_deref(), Some("1"));
    assert_eq!(connection.get("/outputs/search").status, 405);
    assert_eq!(left(&connection.get("/outputs")).as_deref(), Some("0"));
    assert_eq!(post(&mut connection, &[FORM], b"search=a").status, 429);
    server.end(&[]);
}
