//! Partial errors: wrong fields are `null` with an error and its path, other fields are answered.

use pinakes_tests::graphql::{ask, messages, post_body};
use pinakes_tests::server::{Server, Snapshots, command};
use serde_json::{Value, json};

const JSON: &str = "Content-Type: application/json";
const OWN: &str = "Accept: application/graphql-response+json";
const BAD_QUERY_MESSAGE: &str = "Bad Request - Invalid query parameters";

/// Returns the errors of an answer without `locations`.
fn errors(answer: &Value) -> Vec<Value> {
    let all = answer["errors"].as_array().into_iter().flatten();
    all.map(|error| {
        let mut error = error.clone();
        error.as_object_mut().unwrap().remove("locations");
        error
    })
    .collect()
}

fn wrong_size(path: Value, size: &str) -> Value {
    let reason = "must be 10, 25, 50 or 100";
    let details = json!([{"parameter": "per_page", "value": size, "reason": reason}]);
    json!({"message": BAD_QUERY_MESSAGE, "path": path, "extensions": {"details": details}})
}

#[test]
fn a_wrong_argument_makes_its_field_null_and_other_fields_are_answered() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut check = |question: &str, data: Value, expected: Vec<Value>| {
        let body = json!({"query": question, "variables": {"n": 7}}).to_string();
        let plain = post_body(&mut connection, &[JSON], body.as_bytes());
        let own = post_body(&mut connection, &[JSON, OWN], body.as_bytes());
        // A valid document has status 200, even if fields fail.
        assert_eq!((plain.status, own.status), (200, 200), "{question}");
        assert_eq!(plain.body, own.body, "{question}");
        let answer = plain.json();
        assert_eq!(answer["data"], data, "{question}");
        assert_eq!(errors(&answer), expected, "{question}");
    };
    let domain = json!({"name": "Physical Sciences"});
    check(
        "{a:outputs(per_page:7){meta{count}} d:domain(id:3){name}}",
        json!({"a": null, "d": domain}),
        vec![wrong_size(json!(["a"]), "7")],
    );
    check(
        "query($n:Int){d:domain(id:3){name} outputs(per_page:$n){results{id}} \
         b:authors(per_page:0){results{id}}}",
        json!({"d": domain, "outputs": null, "b": null}),
        vec![wrong_size(json!(["outputs"]), "7"), wrong_size(json!(["b"]), "0")],
    );
    check(
        "{a:author(id:\"HX_A5900000001\"){x:outputs(per_page:7){meta{count}} \
         y:outputs(filter:\"year:<1910\"){meta{count}}}}",
        json!({"a": {"x": null, "y": {"meta": {"count": 4}}}}),
        vec![wrong_size(json!(["a", "x"]), "7")],
    );
    // Arguments are not checked below a missing record.
    check(
        "{authors(search:\"nobody at all\"){results{outputs(per_page:7){meta{count}}}}}",
        json!({"authors": {"results": []}}),
        vec![],
    );
    check(
        "{author(id:\"HX_A9999\"){outputs(per_page:7){meta{count}}}}",
        json!({"author": null}),
        vec![],
    );
    let unprefixed = json!({"message": "Only HX_ prefixed IDs are allowed", "path": ["b"]});
    check(
        "{b:author(id:\"A1\"){id} d:domain(id:3){name}}",
        json!({"b": null, "d": domain}),
        vec![unprefixed],
    );
    let missing = "Query parameter 'query' is required";
    let reason =
        "must be one of outputs, authors, sources, institutions, publishers, funders, topics";
    let details = json!([{"parameter": "entity_type", "value": "domains", "reason": reason}]);
    check(
        "{a:autocomplete(query:\" \"){meta{count}} \
         b:autocomplete(query:\"a\" entity_type:\"domains\"){meta{count}} d:domain(id:3){name}}",
        json!({"a": null, "b": null, "d": domain}),
        vec![
            json!({"message": missing, "path": ["a"]}),
            json!({"message": BAD_QUERY_MESSAGE, "path": ["b"], "extensions": {"details": details}}),
        ],
    );
    server.end(&[]);
}

#[test]
fn the_path_of_an_error_leads_through_lists_and_aliases() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let question = "{authors(per_page:10){r:results{name affiliations{institution{id}} \
                    works:outputs(per_page:10){results{topics{topic{o:outputs(page:0)\
                    {meta{count}}}}}}}}}";
    let answer = ask(&mut connection, question);
    // Every position of the answer that is null because of the wrong argument, in order.
    let mut places = Vec::new();
    for (author, found) in answer["data"]["authors"]["r"].as_array().unwrap().iter().enumerate() {
        for (work, output) in found["works"]["results"].as_array().unwrap().iter().enumerate() {
            for (at, share) in output["topics"].as_array().into_iter().flatten().enumerate() {
                if share["topic"].is_object() {
                    assert!(share["topic"]["o"].is_null(), "{share}");
                    places.push(json!([
                        "authors", "r", author, "works", "results", work, "topics", at, "topic",
                        "o"
                    ]));
                }
            }
        }
    }
    // The answer lists the first ten errors.
    assert!(places.len() > 20, "{}", places.len());
    let paths: Vec<Value> = errors(&answer).iter().map(|error| error["path"].clone()).collect();
    assert_eq!(paths, places[..10]);
    assert_eq!(messages(&answer), [BAD_QUERY_MESSAGE; 10]);
    // All errors share one location in the query.
    assert_eq!(answer["errors"][9]["locations"], answer["errors"][0]["locations"]);
    let column = question.find("o:outputs").unwrap() + "o:".len() + 1;
    assert_eq!(answer["errors"][0]["locations"], json!([{"line": 1, "column": column}]));
    server.end(&[]);
}

#[test]
fn more_than_ten_wrong_fields_refuse_the_query_with_one_error() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let lists = |count: usize| {
        let list = |at| format!("a{at}:outputs(per_page:{at}){{meta{{count}}}} ");
        format!("{{{}d:domain(id:3){{name}}}}", (0..count).map(list).collect::<String>())
    };
    let answer = ask(&mut connection, &lists(10));
    let expected: Vec<Value> =
        (0..10).map(|at| wrong_size(json!([format!("a{at}")]), &at.to_string())).collect();
    assert_eq!(errors(&answer)[..9], expected[..9]);
    let body = json!({"query": lists(12)}).to_string();
    let refused = post_body(&mut connection, &[JSON, OWN], body.as_bytes());
    // The location is the last of the twelve lists; the list with ten items a page is valid.
    let column = lists(12).find("a11:").unwrap() + "a11:".len() + 1;
    let message = "has wrong arguments in more than 10 fields, this one among them; ask in parts to \
                   be told what would be right";
    let expected =
        json!({"errors": [{"message": message, "locations": [{"line": 1, "column": column}]}]});
    assert_eq!((refused.status, refused.json()), (400, expected));
    server.end(&[]);
}

#[test]
fn limits_exceeded_before_the_work_refuse_the_query_and_later_ones_name_a_path() {
    let snapshots = Snapshots::from_sample();
    let path = snapshots.path().to_str().unwrap();
    let server = Server::start(&mut command(&["--snapshots", path, "--graphql-records", "60"]));
    let mut connection = server.connect();
    let mut check = |question: &str, status: u16, expected: Value| {
        let body = json!({"query": question, "variables": {"n": 100}}).to_string();
        let response = post_body(&mut connection, &[JSON, OWN], body.as_bytes());
        assert_eq!((response.status, response.json()), (status, expected), "{question}");
        let response = post_body(&mut connection, &[JSON], body.as_bytes());
        assert_eq!(response.status, 200, "{question}");
    };
    let records =
        "asks for up to 101 records at once, of 60 at most; lower per_page, or ask in parts";
    check(
        "query($n:Int){outputs(per_page:$n){results{id}}}",
        400,
        json!({"errors": [{"message": records}]}),
    );
    // A refused list reads no records, so it costs none.
    let wrong = json!({"message": BAD_QUERY_MESSAGE, "locations": [{"line": 1, "column": 2}], "path": ["outputs"],
        "extensions": {"details": [{"parameter": "page", "value": "0",
            "reason": "must be a whole number from 1 to 2147483647"}]}});
    check(
        "{outputs(per_page:100 page:0){results{id}}}",
        200,
        json!({"data": {"outputs": null}, "errors": [wrong]}),
    );
    let deep =
        format!("{{a:topic(id:\"HX_T10028\"){}id{}}}", "{siblings{topic".repeat(6), "}}".repeat(6));
    let deep = deep.replace("topicid", "topic{id}");
    let nested = json!([{"message": "nested deeper than 12 levels of fields",
        "locations": [{"line": 1, "column": 4}]}]);
    check(&deep, 400, json!({"errors": nested}));
    let question = "{a:subfields(per_page:10){r:results{siblings{subfield{id}}}}}";
    let message = "comes to more than 60 records, those referred to among them; lower per_page, or \
                   ask in parts";
    let path = sixty_first(&ask(&mut Server::serve(&snapshots).connect(), question));
    check(question, 200, json!({"data": null, "errors": [{"message": message, "path": path}]}));
    server.end(&[]);
}

/// Returns the path of the 61st record in an answer of subfields with siblings.
fn sixty_first(answer: &Value) -> Value {
    let mut paths = Vec::new();
    for (at, found) in answer["data"]["a"]["r"].as_array().unwrap().iter().enumerate() {
        paths.push(json!(["a", "r", at]));
        for sibling in 0..found["siblings"].as_array().unwrap().len() {
            paths.push(json!(["a", "r", at, "siblings", sibling, "subfield"]));
        }
    }
    paths[60].clone()
}
