//! What is wrong with parts of a question: those parts are `null`, each with an error that says where
//! in the answer it is, and the others are answered.

use serde_json::{Value, json};

use pinakes_tests::graphql::{ask, messages, post_body};
use pinakes_tests::server::{Server, Snapshots, command};

const JSON: &str = "Content-Type: application/json";
const OWN: &str = "Accept: application/graphql-response+json";
const M1: &str = "Bad Request - Invalid query parameters";

/// The errors of an answer without their places in the text.
fn errors(answer: &Value) -> Vec<Value> {
    let told = answer["errors"].as_array().into_iter().flatten();
    told.map(|error| {
        let mut error = error.clone();
        error.as_object_mut().unwrap().remove("locations");
        error
    })
    .collect()
}

fn wrong_size(path: Value, size: &str) -> Value {
    let reason = "must be 10, 25, 50 or 100";
    let details = json!([{"parameter": "per_page", "value": size, "reason": reason}]);
    json!({"message": M1, "path": path, "extensions": {"details": details}})
}

#[test]
fn a_wrong_argument_is_null_where_it_stands_and_all_else_is_answered() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut check = |question: &str, data: Value, told: Vec<Value>| {
        let body = json!({"query": question, "variables": {"n": 7}}).to_string();
        let plain = post_body(&mut connection, &[JSON], body.as_bytes());
        let own = post_body(&mut connection, &[JSON, OWN], body.as_bytes());
        // A document that is valid was answered, whatever it came to.
        assert_eq!((plain.status, own.status), (200, 200), "{question}");
        assert_eq!(plain.body, own.body, "{question}");
        let answer = plain.json();
        assert_eq!(answer["data"], data, "{question}");
        assert_eq!(errors(&answer), told, "{question}");
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
    // Nobody is asked for what no record is there to be asked.
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
            json!({"message": M1, "path": ["b"], "extensions": {"details": details}}),
        ],
    );
    server.end(&[]);
}

#[test]
fn the_path_of_an_error_leads_through_lists_and_other_names() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let question = "{authors(per_page:10){r:results{name affiliations{institution{id}} \
                    works:outputs(per_page:10){results{topics{topic{o:outputs(page:0)\
                    {meta{count}}}}}}}}}";
    let answer = ask(&mut connection, question);
    // Every place of the answer that is null for it, in the order of the answer.
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
    // The first ten are told.
    assert!(places.len() > 20, "{}", places.len());
    let told: Vec<Value> = errors(&answer).iter().map(|error| error["path"].clone()).collect();
    assert_eq!(told, places[..10]);
    assert_eq!(messages(&answer), [M1; 10]);
    // All are one place in the text.
    assert_eq!(answer["errors"][9]["locations"], answer["errors"][0]["locations"]);
    let column = question.find("o:outputs").unwrap() + "o:".len() + 1;
    assert_eq!(answer["errors"][0]["locations"], json!([{"line": 1, "column": column}]));
    server.end(&[]);
}

#[test]
fn what_is_wrong_in_many_fields_is_not_explained_in_each() {
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
    // One of twelve is right.
    let column = lists(12).find("a11:").unwrap() + "a11:".len() + 1;
    let message = "has wrong arguments in more than 10 fields, this one among them; ask in parts to \
                   be told what would be right";
    let expected =
        json!({"errors": [{"message": message, "locations": [{"line": 1, "column": column}]}]});
    assert_eq!((refused.status, refused.json()), (400, expected));
    server.end(&[]);
}

#[test]
fn what_is_too_much_before_it_is_begun_has_no_data_and_what_becomes_so_says_where() {
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
    // What is refused reads nothing, and so costs nothing.
    let wrong = json!({"message": M1, "locations": [{"line": 1, "column": 2}], "path": ["outputs"],
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

/// Where the sixty-first record of an answer of subfields and their siblings is.
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
