//! References from record to record: each leads to the whole record, and lists lead back.

use pinakes_format::entity::CATALOG;
use pinakes_tests::graphql::{ask, data, messages};
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

use crate::graphql::records::{each_record, type_of};
use crate::graphql::schema::Types;

/// Selects every reference below a type: its id and name, and the referenced record's id and name.
fn references(types: &Types, of: &str) -> Option<String> {
    let records = types.records();
    let mut members = Vec::new();
    for field in types.fields(of).iter().filter(|field| !field.takes_arguments) {
        if records.contains(&field.of.as_str()) {
            members.push(format!("id name RECORD:{}{{id name}}", field.name));
        } else if let Some(below) = references(types, &field.of) {
            members.push(format!("{}{below}", field.name));
        }
    }
    (!members.is_empty()).then(|| format!("{{{}}}", members.join(" ")))
}

/// Checks every reference in an answer, and counts references with and without a record.
fn check(answer: &Value, counts: &mut [usize; 2], is_record: &dyn Fn(&Value) -> bool) {
    match answer {
        Value::Array(items) => items.iter().for_each(|item| check(item, counts, is_record)),
        Value::Object(members) => {
            if let Some(record) = members.get("RECORD") {
                counts[usize::from(record.is_null())] += 1;
                let text = |id: &Value| id.to_string().trim_matches('"').to_owned();
                if record.is_null() {
                    assert!(!is_record(&members["id"]), "{answer}");
                } else {
                    assert_eq!(text(&record["id"]), text(&members["id"]), "{answer}");
                    assert_eq!(record["name"], members["name"], "{answer}");
                }
            }
            members.values().for_each(|value| check(value, counts, is_record));
        }
        _ => {}
    }
}

#[test]
fn every_reference_leads_to_its_record_or_no_record_has_its_id() {
    let snapshots = Snapshots::from_sample();
    let snapshot = snapshots.open();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let types = Types::ask(&mut connection);
    // Numeric ids belong to the taxonomy, and the sample has every taxonomy record.
    let is_record = |id: &Value| {
        let id = id.to_string();
        let found = CATALOG.iter().filter(|facts| facts.letter.is_some()).any(|facts| {
            let number = facts.entity.parse_id(id.trim_matches('"'));
            number.is_some_and(|number| {
                snapshot.find(facts.entity, number).unwrap()
                    != pinakes_format::snapshot::LookupResult::Absent
            })
        });
        found || (id != "null" && !id.contains("HX_"))
    };
    let mut counts = [0, 0];
    each_record(&snapshots, |facts, _, id| {
        let Some(selection) = references(&types, type_of(&types, facts)) else { return };
        let answer =
            data(&mut connection, &format!("{{{}(id:\"{id}\"){selection}}}", facts.singular));
        check(&answer, &mut counts, &is_record);
    });
    let [found, dangling] = counts;
    assert!(found > 1_000 && dangling > 10, "{counts:?}");
    server.end(&[]);
}

#[test]
fn a_record_reached_by_a_reference_is_the_whole_record() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let (mut connection, mut rest) = (server.connect(), server.connect());
    let types = Types::ask(&mut connection);
    for (root, of, path, way, target) in [
        (
            "output",
            "Author",
            "/outputs/HX_W2900000003",
            "authors{author",
            "/data/output/authors/0/author",
        ),
        (
            "output",
            "Topic",
            "/outputs/HX_W2900000160",
            "primary_topic{topic",
            "/data/output/primary_topic/topic",
        ),
        (
            "output",
            "Source",
            "/outputs/HX_W2900000160",
            "primary_venue{source{source",
            "/data/output/primary_venue/source/source",
        ),
        (
            "topic",
            "Subfield",
            "/topics/HX_T10028",
            "subfield{subfield",
            "/data/topic/subfield/subfield",
        ),
        ("domain", "Field", "/domains/3", "fields{field", "/data/domain/fields/0/field"),
        (
            "publisher",
            "Publisher",
            "/publishers/HX_P4310315673",
            "parent_publisher{publisher",
            "/data/publisher/parent_publisher/publisher",
        ),
    ] {
        let id = path.rsplit('/').next().unwrap();
        let whole = types.whole(of);
        let close = "}".repeat(way.matches('{').count());
        // The outer record's abstract is read before and after the inner record's abstract.
        let query = format!("{{{root}(id:\"{id}\"){{first:id {way}{whole}{close} last:id}}}}");
        let answer = ask(&mut connection, &query);
        let found = answer.pointer(target).unwrap();
        let mut single = CATALOG.iter().filter(|facts| facts.has_single);
        let facts = single.find(|facts| type_of(&types, facts) == of).unwrap();
        let there = found["id"].to_string();
        let there = rest.get(&format!("/{}/{}", facts.route, there.trim_matches('"'))).json();
        assert_eq!(found.to_string().replace("\"_2yr", "\"2yr"), there.to_string(), "{query}");
    }
    server.end(&[]);
}

#[test]
fn long_texts_belong_to_the_right_record_among_others() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let (mut connection, mut rest) = (server.connect(), server.connect());
    let answer = data(
        &mut connection,
        "{outputs(per_page:100){results{id before:abstract
          authors{raw_affiliation_strings author{outputs(per_page:10){results{id abstract
            authors{raw_affiliation_strings}}}}} after:abstract}}}",
    );
    let (mut texts, mut within) = (0, 0);
    for output in answer["outputs"]["results"].as_array().unwrap() {
        let shown = rest.get(&format!("/outputs/{}", output["id"].as_str().unwrap())).json();
        assert_eq!(output["before"], shown["abstract"]);
        assert_eq!(output["after"], shown["abstract"]);
        texts += usize::from(!shown["abstract"].is_null());
        for (at, author) in output["authors"].as_array().into_iter().flatten().enumerate() {
            assert_eq!(
                author["raw_affiliation_strings"],
                shown["authors"][at]["raw_affiliation_strings"]
            );
            let inner = author["author"]["outputs"]["results"].as_array();
            for output in inner.into_iter().flatten() {
                let id = output["id"].as_str().unwrap();
                let shown = rest.get(&format!("/outputs/{id}")).json();
                assert_eq!(output["abstract"], shown["abstract"], "{id}");
                within += 1;
            }
        }
    }
    assert!(texts > 5 && within > 100, "{texts} {within}");
    server.end(&[]);
}

#[test]
fn the_lists_of_a_record_are_the_rest_lists_filtered_by_its_id() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let (mut connection, mut rest) = (server.connect(), server.connect());
    let mut matched = 0;
    each_record(&snapshots, |facts, _, id| {
        let reverse = facts.reverse_lists.iter();
        let reverse =
            reverse.map(|(listed, key)| (listed.facts().plural, *key, listed.facts().plural));
        let linked =
            [("outputs", "referenced_by", "references"), ("outputs", "references", "citations")];
        let linked = linked.into_iter().filter(|(plural, ..)| *plural == facts.plural);
        for (plural, key, field) in reverse.chain(linked) {
            let (filter, sort) = match plural {
                "awards" => ("outputs_count:>=0", "start_year:desc"),
                _ => ("cited_by_count:>=0", "year:desc"),
            };
            let more = format!("filter:\"{filter}\" sort:\"{sort}\" per_page:10");
            let page = "{meta{count page per_page} results{id}}";
            let query = format!(
                "{{r:{}(id:\"{id}\"){{all:{field}{page} some:{field}({more}){page}}}}}",
                facts.singular
            );
            let answer = data(&mut connection, &query);
            for (name, target) in [
                ("all", format!("/{plural}?filter={key}:{id}")),
                ("some", format!("/{plural}?filter={key}:{id},{filter}&sort={sort}&per_page=10")),
            ] {
                let expected = rest.get(&target).json();
                let found = &answer["r"][name];
                assert_eq!(found["meta"], expected["meta"], "{target}");
                let ids = |page: &Value| -> Vec<Value> {
                    let items = page["results"].as_array().unwrap().iter();
                    items.map(|item| item["id"].clone()).collect()
                };
                assert_eq!(ids(found), ids(&expected), "{target}");
                matched += usize::from(expected["meta"]["count"] != 0);
            }
        }
    });
    assert!(matched > 100, "{matched}");
    server.end(&[]);
}

#[test]
fn a_list_of_a_record_takes_as_many_expressions_as_the_top_level_list() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let (mut connection, mut rest) = (server.connect(), server.connect());
    let mut check = |count: usize, search: &str, is_taken: bool| {
        let filter = vec!["cited_by_count:>=0"; count].join(",");
        let list = format!("outputs(filter:\"{filter}\"{search}){{meta{{count}}}}");
        let question = format!("{{author(id:\"HX_A5900000001\"){{{list}}} {list}}}");
        let answer = ask(&mut connection, &question);
        let own = &answer["data"]["author"]["outputs"];
        assert_eq!(own.is_object(), is_taken, "{count}{search}: {answer}");
        assert_eq!(answer["data"]["outputs"].is_object(), is_taken, "{count}{search}: {answer}");
        if is_taken {
            let target = "/outputs?filter=authors.id:HX_A5900000001,cited_by_count:>=0";
            let expected = rest.get(target).json()["meta"]["count"].clone();
            assert_eq!(own["meta"]["count"], expected, "{count}{search}");
        } else {
            let paths: Vec<&Value> =
                answer["errors"].as_array().unwrap().iter().map(|error| &error["path"]).collect();
            assert_eq!(paths, [&json!(["author", "outputs"]), &json!(["outputs"])]);
            let wrong = "Bad Request - Invalid query parameters";
            assert_eq!(messages(&answer), [wrong, wrong]);
        }
    };
    check(50, "", true);
    check(51, "", false);
    check(50, " search:\"a\"", false);
    server.end(&[]);
}
