//! The paths there are, and what each answers.

use http::StatusCode;
use pinakes_format::entity::{CATALOG, Entity, Facts, IdFormat};
use pinakes_format::json::render::Shape;
use pinakes_format::record::legacy::{LEGACY, LegacyEntity};
use pinakes_format::schema::keys::{keys_of, keys_of_legacy};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use serde_json_bytes::{ByteString, Map, Value};

use crate::api::handlers;
use crate::openapi::parameters::{completed, in_path};
use crate::openapi::responses::{ANYWHERE, KEPT, headers, response_at};
use crate::openapi::samples::Sample;
use crate::openapi::schemas::{Schemas, object, older_id, own_id, schema_at, word};
use crate::openapi::{graphql, parameters, service};

const JSON: &str = "application/json";

/// What a path answers to GET, and so to HEAD.
pub struct Reading {
    /// What tells the operation from all others.
    pub name: String,
    /// Its chapter.
    pub tag: &'static str,
    /// What it is, in a line.
    pub summary: String,
    /// What there is to say beside that; empty where there is nothing.
    pub doc: &'static str,
    /// Its parameters.
    pub parameters: Vec<Value>,
    /// What its bodies are, by media type.
    pub content: Value,
    /// Headers of 200 beside those of all replies.
    pub headers: Vec<&'static str>,
    /// What may become of it, beside 200 and what may become of any request.
    pub others: Vec<StatusCode>,
    /// What may be asked with what it answers.
    pub links: Value,
}

/// Paths under way.
pub struct Paths<'s> {
    snapshot: &'s Snapshot,
    /// The schemas they refer to.
    pub schemas: Schemas,
    /// The paths so far.
    pub paths: Map<ByteString, Value>,
}

impl Paths<'_> {
    /// All of them, with examples from a snapshot.
    ///
    /// # Errors
    ///
    /// Where the snapshot is damaged.
    pub fn new(snapshot: &Snapshot) -> Result<Paths<'_>, ReadError> {
        let mut paths = Paths { snapshot, schemas: Schemas::default(), paths: Map::new() };
        for facts in &CATALOG {
            paths.list(facts)?;
            if facts.has_single {
                paths.record(facts)?;
            }
        }
        paths.autocomplete()?;
        for older in &LEGACY {
            paths.older(older)?;
        }
        paths.paths.insert("/graphql", graphql::graphql(&mut paths.schemas));
        for (path, reading) in service::readings(&mut paths.schemas) {
            paths.add(path, reading);
        }
        Ok(paths)
    }

    fn add(&mut self, path: impl Into<ByteString>, reading: Reading) {
        let mut item = Map::new();
        if !reading.parameters.is_empty() {
            item.insert("parameters", json!(reading.parameters.clone()));
        }
        item.insert("get", reading.get());
        item.insert("head", reading.head());
        self.paths.insert(path, Value::Object(item));
    }

    fn list(&mut self, facts: &'static Facts) -> Result<(), ReadError> {
        let keys = keys_of(facts.entity);
        let sample = Sample::of(self.snapshot, facts.entity, keys)?;
        let record = self.schemas.record(facts.entity, Shape::List);
        let name = format!("{}Page", word(facts.entity));
        let page = self.schemas.name(&name, |schemas| {
            let meta = schemas.name("PageMeta", |_| page_meta(&["count", "page", "per_page"]));
            page(meta, record)
        });
        let by_id = format!("get_{}", facts.singular);
        let first = json!({
            "operationId": by_id,
            "parameters": { "id": "$response.body#/results/0/id" },
            "description": "The first record of the page.",
        });
        self.add(format!("/{}", facts.route), Reading {
            name: format!("list_{}", facts.plural.replace('-', "_")),
            tag: facts.plural,
            summary: format!("A page of the list of {}", facts.plural.replace('-', " ")),
            doc: "Without `sort` the list has an order of its own, the most used first; ties stand by id.",
            parameters: parameters::CURRENT.parameters(keys, &sample),
            content: json!({ JSON: { "schema": page } }),
            headers: KEPT.to_vec(),
            others: vec![StatusCode::NOT_MODIFIED, StatusCode::TOO_MANY_REQUESTS],
            links: if facts.has_single { json!({ "first": first }) } else { Value::Null },
        });
        Ok(())
    }

    fn record(&mut self, facts: &'static Facts) -> Result<(), ReadError> {
        let sample = Sample::of(self.snapshot, facts.entity, keys_of(facts.entity))?;
        let record = self.schemas.record(facts.entity, Shape::Single);
        let id = sample.id(&IdFormat::CURRENT, facts.entity);
        let example = id.map(|id| match id.parse::<u64>() {
            Ok(number) => number.into(),
            Err(_) => id.into(),
        });
        let doc = format!("The identifier of the {}.", facts.singular);
        self.add(
            format!("/{}/{{id}}", facts.route),
            Reading {
                name: format!("get_{}", facts.singular),
                tag: facts.plural,
                summary: format!("The {} with an identifier", facts.singular),
                doc: "An identifier that was merged into another answers 301.",
                parameters: vec![in_path("id", &doc, own_id(facts.entity), example)],
                content: json!({ JSON: { "schema": record } }),
                headers: KEPT.to_vec(),
                others: SINGLE.to_vec(),
                links: Value::Null,
            },
        );
        Ok(())
    }

    fn autocomplete(&mut self) -> Result<(), ReadError> {
        let of_first = &CATALOG[0];
        let sample = Sample::of(self.snapshot, of_first.entity, keys_of(of_first.entity))?;
        let page = service::candidates(&mut self.schemas);
        let reading = |name: &str, summary: &str, mut path: Vec<Value>| {
            path.push(completed(&sample));
            Reading {
                name: name.to_owned(),
                tag: "autocomplete",
                summary: summary.to_owned(),
                doc: "Names that are the text come first, then names that begin with it, then those of \
                      which an alternative name does, then the rest; within each the most cited.",
                parameters: path,
                content: json!({ JSON: { "schema": (page.clone()) } }),
                headers: KEPT.to_vec(),
                others: vec![StatusCode::NOT_MODIFIED, StatusCode::TOO_MANY_REQUESTS],
                links: Value::Null,
            }
        };
        let routes: Vec<&str> = handlers::completed().map(|facts| facts.route).collect();
        let schema = json!({ "type": "string", "enum": routes });
        let doc = "The list whose names are completed.";
        let of_one = in_path("entity_type", doc, schema, Some(of_first.route.into()));
        let whole = reading("autocomplete", "What a text being typed may mean", Vec::new());
        let summary = "The same of one kind of record";
        let one = reading("autocomplete_entity", summary, vec![of_one]);
        self.add("/autocomplete", whole);
        self.add("/autocomplete/{entity_type}", one);
        Ok(())
    }

    fn older(&mut self, older: &'static LegacyEntity) -> Result<(), ReadError> {
        let facts = older.entity.facts();
        let keys = keys_of_legacy(older);
        let sample = Sample::of(self.snapshot, older.entity, keys)?;
        let record = self.schemas.older(older, Shape::List);
        let group = self.schemas.name("OlderGroup", |_| service::legacy_group());
        let rows = json!({ "type": "array", "items": record });
        let groups = json!({ "type": "array", "items": group });
        let first = json!({
            "operationId": (format!("get_older_{}", facts.singular)),
            "parameters": { "older_id": "$response.body#/0/id" },
            "description": "The first record of the page.",
        });
        self.add(
            format!("/{}", older.route),
            Reading {
                name: format!("list_older_{}", facts.plural),
                tag: LEGACY_TAG,
                summary: format!("A page of the list of {}, as a bare array", facts.plural),
                doc: "With `group_by` there are groups in place of records, all on one page.",
                parameters: parameters::LEGACY.parameters(keys, &sample),
                content: json!({ JSON: { "schema": { "anyOf": [rows, groups] } } }),
                headers: [&KEPT[..], &["X-Total-Count", "Link"]].concat(),
                others: vec![StatusCode::NOT_MODIFIED, StatusCode::TOO_MANY_REQUESTS],
                links: json!({ "first": first }),
            },
        );
        let record = self.schemas.older(older, Shape::Single);
        let doc = format!("The identifier of the {}.", facts.singular);
        let example = sample.id(&IdFormat::LEGACY, older.entity).map(Value::from);
        self.add(
            format!("/{}/{{older_id}}", older.route),
            Reading {
                name: format!("get_older_{}", facts.singular),
                tag: LEGACY_TAG,
                summary: format!("The {} with an identifier", facts.singular),
                doc: "",
                parameters: vec![in_path("older_id", &doc, older_id(older.entity), example)],
                content: json!({ JSON: { "schema": record } }),
                headers: KEPT.to_vec(),
                others: SINGLE.to_vec(),
                links: Value::Null,
            },
        );
        Ok(())
    }
}

/// The chapter of the older variant.
pub const LEGACY_TAG: &str = "older variant";

/// What may become of a request for a single record.
const SINGLE: [StatusCode; 4] = [
    StatusCode::MOVED_PERMANENTLY,
    StatusCode::NOT_MODIFIED,
    StatusCode::NOT_FOUND,
    StatusCode::TOO_MANY_REQUESTS,
];

impl Reading {
    /// What is said of GET.
    fn get(&self) -> Value {
        let mut operation = Map::new();
        operation.insert("tags", json!([(self.tag)]));
        operation.insert("operationId", self.name.clone().into());
        operation.insert("summary", self.summary.clone().into());
        if !self.doc.is_empty() {
            operation.insert("description", self.doc.into());
        }
        let mut whole = Map::new();
        whole.insert("description", "The answer.".into());
        whole.insert("headers", headers(&self.headers));
        whole.insert("content", self.content.clone());
        if self.links != Value::Null {
            whole.insert("links", self.links.clone());
        }
        operation.insert("responses", responses(Value::Object(whole), &self.others));
        Value::Object(operation)
    }

    /// What is said of HEAD.
    fn head(&self) -> Value {
        json!({
            "tags": [(self.tag)],
            "operationId": (format!("head_{}", self.name)),
            "summary": "The same without the body",
            "responses": {
                "200": { "description": "Status and headers as of GET." },
                "default": { "description": "Status and headers as of GET." },
            },
        })
    }
}

/// Responses by their statuses: 200, and common ones.
pub fn responses(whole: Value, others: &[StatusCode]) -> Value {
    let mut statuses: Vec<StatusCode> = others.iter().chain(&ANYWHERE).copied().collect();
    statuses.sort_unstable();
    let common = statuses.iter().map(|status| (status.as_str().into(), response_at(*status)));
    Value::Object([("200".into(), whole)].into_iter().chain(common).collect())
}

/// What is told of a page.
pub fn page_meta(names: &[&str]) -> Value {
    let docs = [
        ("count", "How many records match, exactly."),
        ("page", "Which page this is, from 1."),
        ("per_page", "How many records a page has."),
    ];
    let members = docs.iter().filter(|(name, _)| names.contains(name)).map(|(name, doc)| {
        let value = json!({ "description": (*doc), "type": "integer", "minimum": 0 });
        (ByteString::from(*name), value)
    });
    object("What is told of a page.", members.collect())
}

/// A page of something.
pub fn page(meta: Value, item: Value) -> Value {
    let mut members = Map::new();
    members.insert("meta", meta);
    members.insert("results", json!({ "type": "array", "items": item }));
    object("A page of a list.", members)
}

/// The kinds of record whose names are completed.
pub fn completed_entities() -> Vec<&'static str> {
    pinakes_format::autocomplete::ENTITIES
        .iter()
        .map(|entity: &Entity| entity.facts().singular)
        .collect()
}

/// A reference to a schema of this document.
pub fn content(name: &str) -> Value {
    json!({ JSON: { "schema": (schema_at(name)) } })
}
