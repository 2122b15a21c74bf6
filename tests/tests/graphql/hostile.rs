//! Hostile queries: each is refused or harmless, and the reply to a refused query is short.

use pinakes_tests::client::Connection;
use pinakes_tests::graphql::{messages, post_body};
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

/// Most bytes of the reply to a refused query.
const REFUSAL_BYTES_MAX: usize = 1_024;
/// Most bytes of the reply to a query with an unknown member.
const UNKNOWN_BYTES_MAX: usize = 256;
const JSON: &[&str] = &["Content-Type: application/json"];
const NO_QUERY: &str = "Request body must be a JSON object with a string member \\\"query\\\"";
const ID: &str = "HX_A5900000001";

/// Expected result of a query.
enum Fate {
    /// This data, without errors.
    Data(&'static str),
    /// Any data, without errors.
    Answered,
    /// No data, and an error with these words.
    Refused(&'static str),
    /// `null` in the only field, and an error with these words.
    Wrong(&'static str),
}
use Fate::{Answered, Data, Refused, Wrong};

fn each(count: usize, of: impl Fn(usize) -> String) -> String {
    (0..count).map(of).collect()
}

/// Makes fragments that each use the next fragment twice, `levels` deep.
fn bomb(levels: usize) -> String {
    let fragments =
        each(levels, |at| format!("fragment f{at} on Author{{...f{0} ...f{0}}} ", at + 1));
    format!("{{author(id:\"{ID}\"){{...f0}}}} {fragments}fragment f{levels} on Author{{id}}")
}

/// Nests fields from topic to topic, `levels` deep.
fn nested(levels: usize) -> String {
    let ways = ["topic(id:\"HX_T10028\"){", "siblings{", "topic{"];
    let opened = each(levels - 1, |at| ways[if at == 0 { 0 } else { 2 - at % 2 }].to_owned());
    format!("{{{opened}id{}}}", "}".repeat(levels - 1))
}

/// Names and texts of queries, with their expected result.
fn questions() -> Vec<(&'static str, String, Fate)> {
    let lists = |levels: usize| {
        let opened = "outputs(per_page:100){results{authors{author{".repeat(levels);
        format!("{{{opened}id{}}}", "}}}}".repeat(levels))
    };
    let author = |inner: &str| format!("{{author(id:\"{ID}\"){{{inner}}}}}");
    let circular = |levels: usize| {
        let opened = "fields{type{".repeat(levels);
        format!("{{__schema{{types{{{opened}name{}}}}}}}", "}}".repeat(levels))
    };
    vec![
        ("G1", author("id name"), Data(r#"{"author":{"id":"HX_A5900000001","name":"Albert Einstein"}}"#)),
        ("G9 nested lists", lists(3), Refused("nested deeper than 12")),
        ("G9 two of them", lists(2), Refused("records at once, of 2000 at most")),
        (
            "F2 the same in 75 bytes",
            "{outputs(per_page:100){results{topics{topic{outputs(per_page:100){meta{count}results{id}}}}}}}".into(),
            Refused("asks for up to 10301 records"),
        ),
        (
            "G10 1,000 aliases",
            format!("{{{}}}", each(1_000, |at| format!("a{at}:outputs(per_page:100){{results{{id}}}}"))),
            Refused("token limit"),
        ),
        (
            "G10 100 aliases",
            format!("{{{}}}", each(100, |at| format!("a{at}:outputs(per_page:100){{results{{id}}}}"))),
            Refused("asks for up to 10100 records"),
        ),
        ("G11 10,000 fields", author(&"id ".repeat(10_000)), Refused("token limit")),
        ("G11 1,000 fields", author(&"id ".repeat(1_000)), Data(r#"{"author":{"id":"HX_A5900000001"}}"#)),
        ("G12 a fragment bomb", bomb(24), Refused("asks for more than 4000 fields")),
        ("F3 a small one", bomb(12), Refused("asks for more than 4000 fields")),
        ("G12 a smaller one", bomb(5), Data(r#"{"author":{"id":"HX_A5900000001"}}"#)),
        (
            "G13 a fragment cycle",
            format!("{}fragment a on Author{{...b}}fragment b on Author{{...a}}", author("...a")),
            Refused("cannot reference itself"),
        ),
        ("G13 a fragment of itself", author("...a") + "fragment a on Author{id ...a}", Refused("itself")),
        ("G14 depth 12", nested(12), Answered),
        ("G14 depth 13", nested(13), Refused("nested deeper than 12 levels")),
        ("G14 depth 30", nested(30), Refused("recursion limit")),
        ("G14 depth 200", nested(200), Refused("recursion limit")),
        ("G14 65,000 braces", "{".repeat(65_000), Refused("")),
        ("G14 30,000 open fields", "{a".repeat(30_000), Refused("recursion limit")),
        ("G15 5,000 directives", format!("{{__typename {}}}", "@a ".repeat(5_000)), Refused("token limit")),
        ("G15 700 directives", format!("{{__typename {}}}", "@a ".repeat(700)), Refused("`@a`")),
        (
            "G15 1,000 known directives",
            format!("{{__typename {}}}", "@skip(if:false) ".repeat(200)),
            Refused("skip"),
        ),
        ("G16 a deep list", format!("{{author(id:{}", "[".repeat(5_000)), Refused("recursion limit")),
        ("G16 a list", author("id").replace(&format!("\"{ID}\""), "[[[1]]]"), Refused("ID")),
        ("G16 a deep object", format!("{{author(id:{}", "{a:".repeat(5_000)), Refused("recursion limit")),
        ("G18", "{outputs(per_page:101){meta{count}}}".into(), Wrong("Bad Request - Invalid query parameters")),
        (
            "G18 in 190 lists",
            format!("{{{}}}", each(190, |at| format!("a{at}:outputs(filter:\"x:1,y:1\"){{__typename}}"))),
            Refused("has wrong arguments in more than 10 fields"),
        ),
        ("G19 circular introspection", circular(4), Answered),
        ("G19 deeper", circular(9), Refused("nested deeper than 20 levels")),
        ("G19 wide", circular(6), Answered),
        (
            "G19 aliases",
            format!("{{{}}}", each(100, |at| format!("a{at}:__schema{{types{{description fields{{name description args{{description}}}}}}}}"))),
            Refused("comes to more than 4000000 bytes"),
        ),
        ("G20 mutation", "mutation{a}".into(), Refused("mutation")),
        ("G20 subscription", "subscription{a}".into(), Refused("subscription")),
        ("G20 a type", "type A{a:Int}".into(), Refused("")),
        ("G21 two operations", "query a{__typename} query b{__typename}".into(), Refused("operationName")),
        ("G21 two of one name", "query a{__typename} query a{__typename}".into(), Refused("multiple times")),
        ("G21 none", "fragment a on Author{id}".into(), Refused("")),
        ("G21 nothing", String::new(), Refused("")),
        ("G22", author("nam"), Refused("does not have a field `nam`")),
        ("G22 a long one", author(&"n".repeat(60_000)), Refused("does not have a field `nnn")),
        (
            "G22 1,000 of them",
            author(&each(1_000, |at| format!("x{at} "))),
            Refused("does not have a field `x0`"),
        ),
        ("G24 emoji and RTL", "{authors(search:\"👩\u{200d}👩 \u{202e}abc\"){meta{count}}}".into(), Answered),
        ("G24 8 KB", format!("{{authors(search:\"{}\"){{meta{{count}}}}}}", "é".repeat(4_000)), Data(r#"{"authors":{"meta":{"count":0}}}"#)),
        ("G24 60 KB of id", format!("{{author(id:\"HX_{}\"){{id}}}}", "9".repeat(60_000)), Data(r#"{"author":null}"#)),
        ("G25 a block string", "{author(id:\"\"\"\n  HX_A5900000001\n\"\"\"){id}}".into(), Data(r#"{"author":{"id":"HX_A5900000001"}}"#)),
        ("G25 a comment", format!("#{}\n{{__typename}}", "c".repeat(8_000)), Data(r#"{"__typename":"Query"}"#)),
        ("G25 ended by CR", "#a\r{__typename}".into(), Data(r#"{"__typename":"Query"}"#)),
        ("G25 a comment without an end", "{__typename} #".into(), Data(r#"{"__typename":"Query"}"#)),
        ("a text without an end", format!("{{author(id:\"{}", "\\".repeat(30_000)), Refused("")),
        ("30,000 signs", format!("{{{}", "$ ".repeat(30_000)), Refused("")),
        ("400 variables", format!("query({}){{__typename}}", each(400, |at| format!("$v{at}:Int "))), Refused("unused variable")),
        (
            "a chain of fragments",
            format!("{}{}fragment f200 on Author{{id}}", author("...f0"), each(200, |at| format!("fragment f{at} on Author{{...f{}}}", at + 1))),
            Refused("too much nesting"),
        ),
    ]
}

/// Posts a query and returns the JSON of a reply with status 200, and the length of the reply.
fn asked(connection: &mut Connection, name: &str, query: &str) -> (Value, usize) {
    let body = json!({"query": query}).to_string();
    let response = post_body(connection, JSON, body.as_bytes());
    assert_eq!(response.status, 200, "{name}: {}", response.text());
    (response.json(), response.body.len())
}

#[test]
fn every_hostile_query_is_harmless_or_refused_with_a_short_error() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (name, query, fate) in questions() {
        let (answer, bytes) = asked(&mut connection, name, &query);
        match fate {
            Data(data) => assert_eq!(answer.to_string(), format!("{{\"data\":{data}}}"), "{name}"),
            Answered => {
                assert!(answer.get("errors").is_none() && answer["data"].is_object(), "{name}");
            }
            Wrong(words) => {
                let mut members = answer["data"].as_object().unwrap().values();
                assert!(members.next().unwrap().is_null() && members.next().is_none(), "{name}");
                assert_eq!(messages(&answer), [words], "{name}");
                assert!(bytes <= REFUSAL_BYTES_MAX, "{name}: {bytes}");
            }
            Refused(words) => {
                assert!(answer["data"].is_null(), "{name}");
                let errors = messages(&answer);
                assert!(!errors.is_empty() && errors.len() <= 3, "{name}: {errors:?}");
                let has_words = errors.iter().any(|message| message.contains(words));
                assert!(has_words, "{name}: {errors:?}");
                assert!(bytes <= REFUSAL_BYTES_MAX, "{name}: {bytes}");
                let is_unknown = name == "G22";
                assert!(!is_unknown || bytes <= UNKNOWN_BYTES_MAX, "{name}: {bytes}");
            }
        }
    }
    server.end(&[]);
}

#[test]
fn a_body_without_a_query_is_refused_before_graphql() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let deep = format!(
        "{{\"query\":\"{{__typename}}\",\"variables\":{}1{}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let unread = deep.replace("variables", "unread");
    let bodies: [&[u8]; 25] = [
        b"",
        b"{",
        b"null",
        b"\"x\"",
        b"1",
        b"[]",
        b"[{\"query\":\"{__typename}\"},{\"query\":\"{__typename}\"}]",
        b"[\"{__typename}\"]",
        b"{}",
        b"{\"query\":1}",
        b"{\"query\":null}",
        b"{\"query\":[]}",
        b"{\"query\":\"{__typename}\",\"query\":\"{__typename}\"}",
        b"{\"query\":\"{__typename}\"}}",
        b"{'query':'a'}",
        b"query={__typename}",
        b"{__typename}",
        b"\xef\xbb\xbf{\"query\":\"{__typename}\"}",
        b"{\"query\":\"\xff\"}",
        b"{\"query\":\"\\ud800\"}",
        b"{\"query\":\"a\nb\"}",
        b"{\"query\":\"{__typename}\",\"x\":\"\xff\"}",
        b"{\"query\":\"{__typename}\",\"x\":\"\\ud800\"}",
        deep.as_bytes(),
        unread.as_bytes(),
    ];
    for body in bodies {
        let response = post_body(&mut connection, JSON, body);
        let shown = String::from_utf8_lossy(body);
        let expected =
            format!(r#"{{"statusCode":400,"error":"Bad Request","message":"{NO_QUERY}"}}"#);
        assert_eq!((response.status, response.text()), (400, expected.as_str()), "{shown:.60}");
    }
    let members = [
        ("variables", "[1]", "must be an object or null"),
        ("variables", "1", "must be an object or null"),
        ("operationName", "{}", "must be a string or null"),
    ];
    for (member, value, reason) in members {
        let body = format!("{{\"query\":\"{{__typename}}\",\"{member}\":{value}}}");
        let response = post_body(&mut connection, JSON, body.as_bytes());
        let detail = json!({"parameter": member, "value": value, "reason": reason});
        assert_eq!((response.status, &response.json()["details"]), (400, &json!([detail])));
    }
    // The GraphQL grammar refuses NUL; JSON allows it.
    let response = post_body(&mut connection, JSON, b"{\"query\":\"{__typename\\u0000}\"}");
    assert_eq!(response.status, 200);
    assert!(!messages(&response.json()).is_empty(), "{}", response.text());
    server.end(&[]);
}

#[test]
fn a_long_filter_in_many_lists_is_refused_before_it_is_parsed() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let lists = each(40, |at| format!("b{at}:outputs(filter:$f){{__typename}}"));
    let roots = each(45, |at| format!("a{at}:author(id:\"{ID}\"){{...R}}"));
    let query = format!("query($f:String){{{roots}}} fragment R on Author{{{lists}}}");
    let values = (0..100).map(|at| at.to_string()).collect::<Vec<_>>().join("|");
    let filter = vec![format!("cited_by_count:{values}"); 49].join(",");
    let body = json!({"query": query, "variables": {"f": filter}}).to_string();
    let answer = post_body(&mut connection, JSON, body.as_bytes()).json();
    let errors = messages(&answer);
    assert!(
        errors.len() == 1 && errors[0].contains("has arguments of more than 65536 bytes"),
        "{errors:?}"
    );
    server.end(&[]);
}

#[test]
fn variables_are_accepted_or_refused_by_name() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let query = "query a($id:ID!){author(id:$id){id}} query b($n:Int=10){outputs(per_page:$n){meta{per_page}}}";
    let nested = (0..100).fold(json!(1), |inner, _| json!([inner]));
    for (name, variables, words) in [
        ("a", json!({}), "missing value for non-null variable 'id'"),
        ("a", json!({"id": null}), "null value for variable id"),
        ("a", json!({"id": [1]}), "ID"),
        ("a", json!({"id": 1.5}), "ID"),
        ("a", json!({"id": nested}), "could not coerce variable id"),
        ("b", json!({"n": "10"}), "Int"),
        ("b", json!({"n": 10.5}), "Int"),
        ("b", json!({"n": 99_999_999_999_i64}), "Int"),
        ("c", json!({}), "No operation named 'c'"),
    ] {
        let body = json!({"query": query, "variables": variables, "operationName": name});
        let answer = post_body(&mut connection, JSON, body.to_string().as_bytes()).json();
        assert!(answer.get("data").is_none(), "{body}: {answer}");
        let errors = messages(&answer);
        assert!(errors.len() == 1 && errors[0].contains(words), "{body}: {errors:?}");
    }
    for (name, variables, expected) in [
        (
            "a",
            json!({"id": ID, "more": {"a": [1]}}),
            r#"{"data":{"author":{"id":"HX_A5900000001"}}}"#,
        ),
        ("b", json!({}), r#"{"data":{"outputs":{"meta":{"per_page":10}}}}"#),
        ("b", json!({"n": null}), r#"{"data":{"outputs":{"meta":{"per_page":25}}}}"#),
        ("b", json!({"n": 50}), r#"{"data":{"outputs":{"meta":{"per_page":50}}}}"#),
        (
            "b",
            json!({"n": 7}),
            r#"{"data":{"outputs":null},"errors":[{"message":"Bad Request - Invalid query parameters","locations":[{"line":1,"column":57}],"path":["outputs"],"extensions":{"details":[{"parameter":"per_page","value":"7","reason":"must be 10, 25, 50 or 100"}]}}]}"#,
        ),
    ] {
        let body = json!({"query": query, "variables": variables, "operationName": name});
        let response = post_body(&mut connection, JSON, body.to_string().as_bytes());
        assert_eq!(response.text(), expected, "{body}");
    }
    server.end(&[]);
}
