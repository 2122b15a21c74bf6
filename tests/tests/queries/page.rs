//! Reads the count and the ids of a reply without parsing its records.

use pinakes_tests::client::Response;

/// The compared part of a list's reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Refused,
    Page { count: usize, ids: Vec<String> },
}

impl Reply {
    #[track_caller]
    pub fn of(response: &Response) -> Reply {
        match response.status {
            200 => page(response.text()),
            400 => Reply::Refused,
            other => panic!("neither 200 nor 400 but {other}: {}", response.text()),
        }
    }
}

/// Reads the count of a page and the ids of its records; the id is the first member of a record.
#[track_caller]
fn page(body: &str) -> Reply {
    let rest = body.strip_prefix(r#"{"meta":{"count":"#).expect("a page begins with its count");
    let (count, rest) = rest.split_once(',').expect("more follows the count");
    let (_, results) = rest.split_once(r#""results":["#).expect("a page has results");
    let ids = objects(results).map(|object| {
        let id = object.strip_prefix(r#"{"id":"#).expect("a record begins with its id");
        let end = id.find([',', '}']).expect("the record ends");
        id[..end].trim_matches('"').to_owned()
    });
    Reply::Page { count: count.parse().unwrap(), ids: ids.collect() }
}

/// The text from the start of each object to the end of the list.
fn objects(list: &str) -> impl Iterator<Item = &str> {
    let mut starts = Vec::new();
    let (mut depth, mut is_text, mut is_escaped) = (0_u32, false, false);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => {
                if depth == 0 {
                    starts.push(at);
                }
                depth += 1;
            }
            b'}' | b']' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    starts.into_iter().map(|at| &list[at..])
}

#[test]
fn ids_of_a_page_are_read_from_any_records() {
    let body = concat!(
        r#"{"meta":{"count":7,"page":1,"per_page":10},"results":["#,
        r#"{"id":"HX_W1","name":"}]\"{[","topics":[{"id":"HX_T1"}]},{"id":2,"a":null}]}"#
    );
    let ids = vec!["HX_W1".to_owned(), "2".to_owned()];
    assert_eq!(page(body), Reply::Page { count: 7, ids });
    let empty = r#"{"meta":{"count":0,"page":1,"per_page":10},"results":[]}"#;
    assert_eq!(page(empty), Reply::Page { count: 0, ids: Vec::new() });
}
