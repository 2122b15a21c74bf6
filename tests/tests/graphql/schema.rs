//! The GraphQL schema: compared with the recorded schema, and read by introspection.
//!
//! `make bless` records it anew.

use std::collections::BTreeMap;

use pinakes_tests::client::Connection;
use pinakes_tests::graphql::data;
use pinakes_tests::server::{Server, Snapshots};
use serde_json::Value;

/// Fields of the schema's types, read by introspection.
pub struct Types(BTreeMap<String, Vec<Field>>);

pub struct Field {
    pub name: String,
    /// Name of the type without list and `!`.
    pub of: String,
    pub takes_arguments: bool,
}

impl Types {
    pub fn ask(connection: &mut Connection) -> Types {
        let answer = data(
            connection,
            "{__schema{types{name fields{name args{name} type{...T}}}}}
             fragment T on __Type{name ofType{name ofType{name ofType{name}}}}",
        );
        let types = answer["__schema"]["types"].as_array().unwrap();
        let fields_of = |known: &Value| {
            let fields = known["fields"].as_array().into_iter().flatten();
            fields.map(Field::of).collect()
        };
        let named = |known: &Value| known["name"].as_str().unwrap().to_owned();
        Types(types.iter().map(|known| (named(known), fields_of(known))).collect())
    }

    pub fn fields(&self, of: &str) -> &[Field] {
        self.0.get(of).map_or(&[], Vec::as_slice)
    }

    pub fn is_object(&self, name: &str) -> bool {
        !self.fields(name).is_empty()
    }

    /// Lists the types of records, which the root fields with an id return.
    pub fn records(&self) -> Vec<&str> {
        let roots = self.fields("Query").iter();
        let of_records = roots.filter(|root| self.0.contains_key(&format!("{}Page", root.of)));
        of_records.map(|root| root.of.as_str()).collect()
    }

    /// Selects every member that REST sends for a type, without referenced records and lists.
    pub fn whole(&self, of: &str) -> String {
        let records = self.records();
        let shown = self
            .fields(of)
            .iter()
            .filter(|field| !field.takes_arguments && !records.contains(&field.of.as_str()));
        let members: Vec<String> = shown
            .map(|field| {
                let below =
                    if self.is_object(&field.of) { self.whole(&field.of) } else { String::new() };
                format!("{}{below}", field.name)
            })
            .collect();
        format!("{{{}}}", members.join(" "))
    }
}

impl Field {
    fn of(field: &Value) -> Field {
        let mut kind = &field["type"];
        while kind["name"].is_null() {
            kind = &kind["ofType"];
        }
        Field {
            name: field["name"].as_str().unwrap().to_owned(),
            of: kind["name"].as_str().unwrap().to_owned(),
            takes_arguments: !field["args"].as_array().unwrap().is_empty(),
        }
    }
}

#[test]
fn the_schema_served_is_the_recorded_schema() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let response = server.get("/graphql/schema");
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
    let path = pinakes_tests::root().join("tests/tests/graphql/schema.graphql");
    if std::env::var_os("PINAKES_BLESS").is_some() {
        std::fs::write(&path, response.text()).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    assert!(response.text() == recorded, "the schema changed; run `make bless` and review it");
    server.end(&[]);
}

#[test]
fn every_entity_has_root_fields_and_every_reference_a_record_field() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let types = Types::ask(&mut server.connect());
    for facts in &pinakes_format::entity::CATALOG {
        let plural = facts.plural.replace('-', "_");
        let roots: Vec<&str> =
            types.fields("Query").iter().map(|field| field.name.as_str()).collect();
        assert!(roots.contains(&plural.as_str()), "{plural}");
        assert_eq!(roots.contains(&facts.singular), facts.has_single, "{}", facts.singular);
    }
    let check = |of: &str, name: &str, expected: &str| {
        let found = types.fields(of).iter().find(|field| field.name == name);
        assert_eq!(found.map(|field| field.of.as_str()), Some(expected), "{of}.{name}");
    };
    check("Query", "autocomplete", "CandidatePage");
    for (of, name, expected) in [
        ("Authorship", "author", "Author"),
        ("Authorship", "affiliations", "InstitutionReference"),
        ("InstitutionReference", "institution", "Institution"),
        ("TopicShare", "topic", "Topic"),
        ("PrimaryVenueSource", "source", "Source"),
        ("Funding", "funder", "Funder"),
        ("SubfieldParent", "subfield", "Subfield"),
        ("SummaryStats", "_2yr_mean_citedness", "Float"),
        ("YearCounts", "outputs_count", "Count"),
        ("Institution", "international", "JSON"),
        ("Domain", "id", "Int"),
        ("DomainParent", "id", "ID"),
        ("Author", "outputs", "OutputPage"),
        ("Source", "outputs", "OutputPage"),
        ("Institution", "outputs", "OutputPage"),
        ("Topic", "outputs", "OutputPage"),
        ("Funder", "outputs", "OutputPage"),
    ] {
        check(of, name, expected);
    }
    server.end(&[]);
}

#[test]
fn introspection_describes_the_schema() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (query, expected) in [
        (
            "{__schema{queryType{name kind}mutationType{name}subscriptionType{name}}}",
            r#"{"__schema":{"queryType":{"name":"Query","kind":"OBJECT"},"mutationType":null,"subscriptionType":null}}"#,
        ),
        (
            r#"{a:__type(name:"Count"){kind name description fields{name} ofType{name} __typename}}"#,
            r#"{"a":{"kind":"SCALAR","name":"Count","description":"An integer of at most 53 bits.","fields":null,"ofType":null,"__typename":"__Type"}}"#,
        ),
        (r#"{__type(name:"Nothing"){name}}"#, r#"{"__type":null}"#),
        ("{__typename}", r#"{"__typename":"Query"}"#),
        (
            r#"{__type(name:"CandidatePage"){fields{name type{kind ofType{kind ofType{kind ofType{name}}}}}}}"#,
            r#"{"__type":{"fields":[{"name":"meta","type":{"kind":"NON_NULL","ofType":{"kind":"OBJECT","ofType":null}}},{"name":"results","type":{"kind":"NON_NULL","ofType":{"kind":"LIST","ofType":{"kind":"NON_NULL","ofType":{"name":"Candidate"}}}}}]}}"#,
        ),
    ] {
        assert_eq!(data(&mut connection, query).to_string(), expected, "{query}");
    }
    // Nested introspection from type to type.
    let walked = data(
        &mut connection,
        r#"{__type(name:"Author"){fields{name type{name fields{name type{name fields{name}}}}}}}"#,
    );
    let stats = walked["__type"]["fields"].as_array().unwrap().iter();
    let stats = stats.clone().find(|field| field["name"] == "summary_stats").unwrap();
    assert_eq!(stats["type"]["fields"][0]["name"], "_2yr_mean_citedness");
    server.end(&[]);
}
