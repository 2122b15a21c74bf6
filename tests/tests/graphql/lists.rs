//! Lists and autocomplete: counts and records equal those of REST, for random queries too.

use pinakes_tests::SeededRng;
use pinakes_tests::graphql::{ask, ask_with, messages};
use pinakes_tests::query_generator::{Coverage, QueryGenerator};
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Map, Value, json};

use crate::graphql::records::type_of;
use crate::graphql::schema::Types;

/// Number of random queries.
const QUESTIONS: usize = 3_000;
const WRONG: &str = "Bad Request - Invalid query parameters";

/// Converts parameters to variables; `None` for repeated parameters and names unknown to GraphQL.
fn variables(query: &str) -> Option<Map<String, Value>> {
    let mut variables = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let name = name.replace('-', "_");
        let value = decoded(value)?;
        let value = match name.as_str() {
            "page" | "per_page" => Value::from(value.parse::<i32>().ok()?),
            "filter" | "sort" | "search" => Value::from(value),
            _ => return None,
        };
        if variables.insert(name, value).is_some() {
            return None;
        }
    }
    Some(variables)
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.replace('+', " ").into_bytes().into_iter();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Makes a list query whose arguments are these variables.
fn question(list: &str, variables: &Map<String, Value>, members: &str) -> String {
    let of = |name: &String| if name.contains("page") { "Int" } else { "String" };
    let declared: Vec<String> =
        variables.keys().map(|name| format!("${name}:{}", of(name))).collect();
    let given: Vec<String> = variables.keys().map(|name| format!("{name}:${name}")).collect();
    let part = |inner: Vec<String>| match inner.is_empty() {
        true => String::new(),
        false => format!("({})", inner.join(" ")),
    };
    format!(
        "query{}{{list:{list}{}{{meta{{count page per_page hint}} results{members}}}}}",
        part(declared),
        part(given)
    )
}

#[test]
fn random_list_queries_are_answered_and_refused_as_by_rest() {
    let snapshots = Snapshots::from_sample();
    let library = pinakes_tests::library(&[pinakes_tests::sample()]);
    let lists = pinakes_tests::lists(&[pinakes_tests::sample()]);
    let generators = QueryGenerator::all(library, lists);
    let (mut rng, mut coverage) = (SeededRng(11), Coverage::default());
    let server = Server::serve(&snapshots);
    let (mut connection, mut rest) = (server.connect(), server.connect());
    let (mut asked, mut matched, mut refused) = (0, 0, 0);
    while asked < QUESTIONS {
        let generator = &generators[rng.below(generators.len())];
        let query = generator.query(&mut rng, &mut coverage, lists);
        let Some(variables) = variables(&query) else { continue };
        asked += 1;
        let list = generator.route.rsplit('/').next().unwrap().replace('-', "_");
        let text = question(&list, &variables, "{id name updated_date}");
        let answer = ask_with(&mut connection, &text, Value::Object(variables));
        let expected = rest.get(&format!("/{}?{query}", generator.route));
        if expected.status == 400 {
            refused += 1;
            assert_eq!(messages(&answer), [WRONG], "{query}");
            assert_eq!(answer["errors"][0]["path"], json!(["list"]), "{query}");
            // REST lists details in the order of the query, GraphQL in the order of the arguments.
            let sorted = |details: &Value| {
                let mut details: Vec<String> =
                    details.as_array().unwrap().iter().map(Value::to_string).collect();
                details.sort();
                details
            };
            let details = &answer["errors"][0]["extensions"]["details"];
            assert_eq!(sorted(details), sorted(&expected.json()["details"]), "{query}");
            assert_eq!(answer["data"], json!({"list": null}), "{query}");
            continue;
        }
        let mut expected = expected.json();
        // The query does not ask what a search found of its words.
        let meta = expected["meta"].as_object_mut().unwrap();
        meta.remove("search");
        meta.entry("hint").or_insert(Value::Null);
        let page = &answer["data"]["list"];
        assert_eq!(page["meta"], expected["meta"], "{query}");
        let items = expected["results"].as_array().unwrap().iter();
        let cut = items.map(|item| {
            json!({"id": item["id"], "name": item["name"], "updated_date": item["updated_date"]})
        });
        assert_eq!(page["results"], Value::Array(cut.collect()), "{query}");
        matched += usize::from(expected["meta"]["count"] != 0);
    }
    println!("{asked} questions: {refused} refused, {matched} matched something");
    assert!(matched * 2 > asked && refused * 50 > asked, "{matched} {refused}");
    server.end(&[]);
}

#[test]
fn items_of_lists_have_the_shape_of_single_records() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let (mut connection, mut rest) = (server.connect(), server.connect());
    let types = Types::ask(&mut connection);
    for facts in &pinakes_format::entity::CATALOG {
        let list = facts.plural.replace('-', "_");
        let root = types.fields("Query").iter().find(|root| root.name == list).unwrap();
        let of = root.of.strip_suffix("Page").unwrap();
        let whole = types.whole(of);
        let answer = ask(&mut connection, &format!("{{{list}(per_page:10){{results{whole}}}}}"));
        let items = answer["data"][list.as_str()]["results"].as_array().unwrap();
        assert!(!items.is_empty(), "{list}");
        let listed = rest.get(&format!("/{}?per_page=10", facts.route)).json();
        for (at, item) in items.iter().enumerate() {
            let expected = if facts.has_single {
                assert_eq!(type_of(&types, facts), of);
                let id = item["id"].to_string();
                rest.get(&format!("/{}/{}", facts.route, id.trim_matches('"'))).json()
            } else {
                listed["results"][at].clone()
            };
            let found = item.to_string().replace("\"_2yr", "\"2yr");
            // Only a list by relevance has scores.
            let found = found.replace(",\"relevance_score\":null", "");
            assert_eq!(found, expected.to_string(), "{list}");
        }
    }
    server.end(&[]);
}

#[test]
fn wrong_arguments_have_the_errors_of_rest() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (arguments, parameter, value) in [
        ("per_page:-1", "per_page", "-1"),
        ("per_page:0", "per_page", "0"),
        ("per_page:7", "per_page", "7"),
        ("per_page:101", "per_page", "101"),
        ("page:0", "page", "0"),
        ("page:-1", "page", "-1"),
        ("filter:\"\"", "filter", ""),
        ("filter:\"foo:1\"", "filter", "foo"),
        ("sort:\"nope\"", "sort", "nope"),
        ("search:\"(a OR b\"", "search", "(a OR b"),
    ] {
        let answer = ask(&mut connection, &format!("{{outputs({arguments}){{meta{{count}}}}}}"));
        assert_eq!(messages(&answer), [WRONG], "{arguments}");
        let details = answer["errors"][0]["extensions"]["details"].as_array().unwrap();
        assert_eq!(details.len(), 1, "{arguments}");
        let found = (&details[0]["parameter"], &details[0]["value"]);
        assert_eq!(found, (&json!(parameter), &json!(value)), "{arguments}");
    }
    for (question, words) in [
        ("{outputs(per_page:99999999999999999999){meta{count}}}", "32-bit"),
        ("{outputs(per_page:\"10\"){meta{count}}}", "Int"),
        ("{outputs(page:1.5){meta{count}}}", "Int"),
        ("{outputs(page:1 page:1){meta{count}}}", "page"),
        ("{outputs(cursor:\"*\"){meta{count}}}", "cursor"),
        ("{fields(filter:\"id:1\"){meta{count}}}", "filter"),
        ("{institution_types(sort:\"id\"){meta{count}}}", "sort"),
        ("{outputs{meta}}", "subselection"),
        ("{outputs{results{id{x}}}}", "ID"),
        ("{autocomplete{meta{count}}}", "query"),
    ] {
        let answer = ask(&mut connection, question);
        assert!(answer.get("data").is_none(), "{question}: {answer}");
        let errors = messages(&answer);
        assert!(!errors.is_empty() && errors[0].contains(words), "{question}: {errors:?}");
        assert!(answer["errors"][0]["locations"][0]["line"].is_u64(), "{question}: {answer}");
    }
    // An argument of null counts as absent.
    let answer =
        ask(&mut connection, "{outputs(page:null filter:null){meta{count page per_page}}}");
    assert_eq!(
        answer.to_string(),
        r#"{"data":{"outputs":{"meta":{"count":"#.to_owned()
            + &answer["data"]["outputs"]["meta"]["count"].to_string()
            + r#","page":1,"per_page":25}}}}"#
    );
    server.end(&[]);
}

#[test]
fn candidates_are_the_candidates_of_rest() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let (mut connection, mut rest) = (server.connect(), server.connect());
    let members = "id name cited_by_count entity_type external_id outputs_count";
    for (text, kind) in [
        ("nat", None),
        ("a", None),
        ("u cal", Some("institutions")),
        ("HX_A5900000001", Some("authors")),
        ("zzzz", Some("topics")),
        ("É", Some("authors")),
    ] {
        let answer = ask_with(
            &mut connection,
            &format!(
                "query($t:String! $k:String){{a:autocomplete(query:$t entity_type:$k)\
                 {{meta{{count}} results{{{members}}} __typename}}}}"
            ),
            json!({"t": text, "k": kind}),
        );
        let kind = kind.map_or(String::new(), |kind| format!("/{kind}"));
        let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let mut expected = rest.get(&format!("/autocomplete{kind}?query={encoded}")).json();
        expected["__typename"] = "CandidatePage".into();
        assert_eq!(answer["data"]["a"], expected, "{text}");
    }
    for (arguments, message) in [
        ("query:\"\"", "Query parameter 'query' is required"),
        ("query:\" \\u3000\"", "Query parameter 'query' is required"),
        ("query:\"a\" entity_type:\"domains\"", WRONG),
        ("query:\"a\\u0007\"", WRONG),
    ] {
        let answer =
            ask(&mut connection, &format!("{{autocomplete({arguments}){{meta{{count}}}}}}"));
        assert_eq!(messages(&answer), [message], "{arguments}");
    }
    let long = format!("{{autocomplete(query:\"{}\"){{meta{{count}}}}}}", "a".repeat(257));
    assert_eq!(messages(&ask(&mut connection, &long)), [WRONG]);
    server.end(&[]);
}
