//! Single records: any selection of members equals the members that REST sends.

use pinakes_format::entity::{CATALOG, Facts};
use pinakes_tests::SeededRng;
use pinakes_tests::client::Connection;
use pinakes_tests::graphql::{ask, ask_with, data, messages};
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Map, Value};

use crate::graphql::schema::Types;

/// Calls `each` with the path and the id of every record.
pub fn each_record(
    snapshots: &Snapshots,
    mut each: impl FnMut(&'static Facts, &str, &str),
) -> usize {
    let snapshot = snapshots.open();
    let mut records = 0;
    for facts in CATALOG.iter().filter(|facts| facts.has_single) {
        for row in 0..snapshot.count(facts.entity) {
            let mut id = Vec::new();
            facts.entity.write_id(snapshot.row_id(facts.entity, row).unwrap(), &mut id);
            let id = String::from_utf8(id).unwrap();
            each(facts, &format!("/{}/{id}", facts.route), &id);
            records += 1;
        }
    }
    records
}

/// Returns the GraphQL type of an entity's records.
pub fn type_of<'t>(types: &'t Types, facts: &Facts) -> &'t str {
    let root = types.fields("Query").iter().find(|root| root.name == facts.singular);
    &root.unwrap().of
}

#[test]
fn a_record_with_all_members_is_the_text_of_rest() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let (mut connection, mut rest) = (server.connect(), server.connect());
    let types = Types::ask(&mut connection);
    let records = each_record(&snapshots, |facts, path, id| {
        let whole = types.whole(type_of(&types, facts));
        let answer =
            data(&mut connection, &format!("{{r:{}(id:\"{id}\"){whole}}}", facts.singular));
        // A GraphQL name cannot start with a digit.
        let found = answer["r"].to_string().replace("\"_2yr", "\"2yr");
        // Only a list by relevance has scores.
        let found = found.replace(",\"relevance_score\":null", "");
        // Parsing normalises numbers.
        let expected = rest.get(path).json().to_string();
        assert_eq!(found, expected, "{path}");
    });
    assert_eq!(records, 611 - 9);
    server.end(&[]);
}

/// Selects random members of a type under aliases in random order, with their values in REST.
fn some(types: &Types, of: &str, rest: &Value, rng: &mut SeededRng) -> (String, Value) {
    let records = types.records();
    let mut selection = Vec::new();
    let mut expected = Map::new();
    let fields: Vec<_> = types
        .fields(of)
        .iter()
        .filter(|field| !field.takes_arguments && !records.contains(&field.of.as_str()))
        .collect();
    for _ in 0..1 + rng.below(fields.len().min(8)) {
        let field = fields[rng.below(fields.len())];
        let alias = format!("m{}", expected.len());
        let value = &rest[field.name.trim_start_matches('_')];
        if !types.is_object(&field.of) {
            selection.push(format!("{alias}:{}", field.name));
            expected.insert(alias, value.clone());
            continue;
        }
        // All items of a list have the same selection.
        let turn = SeededRng(rng.below(usize::MAX) as u64);
        let below = |value: &Value| some(types, &field.of, value, &mut turn.clone());
        let (text, shown) = match value {
            Value::Array(items) => {
                let all = items.iter().map(|item| below(item).1).collect();
                (below(&Value::Null).0, Value::Array(all))
            }
            Value::Null => (below(value).0, Value::Null),
            value => below(value),
        };
        selection.push(format!("{alias}:{}{text}", field.name));
        expected.insert(alias, shown);
    }
    (format!("{{{}}}", selection.join(" ")), Value::Object(expected))
}

#[test]
fn any_selection_of_any_record_equals_rest() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let (mut connection, mut rest) = (server.connect(), server.connect());
    let types = Types::ask(&mut connection);
    let mut rng = SeededRng(7);
    each_record(&snapshots, |facts, path, id| {
        let shown = rest.get(path).json();
        for _ in 0..3 {
            let (selection, expected) = some(&types, type_of(&types, facts), &shown, &mut rng);
            let query = format!("{{r:{}(id:\"{id}\"){selection}}}", facts.singular);
            assert_eq!(data(&mut connection, &query)["r"], expected, "{query}");
        }
    });
    server.end(&[]);
}

#[test]
fn an_id_finds_the_record_that_rest_finds_or_null() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let unprefixed = ["Only HX_ prefixed IDs are allowed"];
    let check =
        |connection: &mut Connection, root: &str, id: &str, found: &str, errors: &[&str]| {
            let answer = ask(connection, &format!("{{{root}(id:{id}){{id}}}}"));
            assert_eq!(answer["data"][root].to_string(), found, "{root} {id}");
            assert_eq!(messages(&answer), errors, "{root} {id}");
            if !errors.is_empty() {
                assert_eq!(answer["errors"][0]["path"], serde_json::json!([root]), "{root} {id}");
            }
        };
    let einstein = r#"{"id":"HX_A5900000001"}"#;
    check(&mut connection, "author", r#""HX_A5900000001""#, einstein, &[]);
    // Merged into the same record.
    check(&mut connection, "author", r#""HX_A5900009001""#, einstein, &[]);
    for id in
        ["HX_A9999", "HX_", "HX_A", "HX_A05900000001", "HX_W2900000001", "HX_A1\\u0000", "HX_Aé"]
    {
        check(&mut connection, "author", &format!("\"{id}\""), "null", &[]);
    }
    // Named by references only.
    check(&mut connection, "author", r#""HX_A5999999001""#, "null", &[]);
    for id in [
        r#""A5900000001""#,
        r#""hx_a5900000001""#,
        r#""""#,
        "5900000001",
        r#"" HX_A1""#,
        r#""ＨＸ_A1""#,
    ] {
        check(&mut connection, "author", id, "null", &unprefixed);
    }
    check(&mut connection, "domain", "3", r#"{"id":3}"#, &[]);
    check(&mut connection, "domain", r#""3""#, r#"{"id":3}"#, &[]);
    for id in [r#""03""#, r#""HX_3""#, "-3", "999", "99999999999999999999", r#""x""#] {
        check(&mut connection, "domain", id, "null", &[]);
    }
    let answer = ask_with(
        &mut connection,
        "query($id: ID!, $with: Boolean!) {
           a: author(id: $id) { id name @include(if: $with) ...F @skip(if: $with) }
           b: author(id: $id) { ... on Author { id } id __typename }
         }
         fragment F on Author { orcid { id } }",
        serde_json::json!({"id": "HX_A5900000001", "with": true}),
    );
    let expected = r#"{"data":{"a":{"id":"HX_A5900000001","name":"Albert Einstein"},"b":{"id":"HX_A5900000001","__typename":"Author"}}}"#;
    assert_eq!(answer.to_string(), expected);
    server.end(&[]);
}
