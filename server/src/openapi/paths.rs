//! All paths of the document: lists, records, autocomplete, legacy lists, GraphQL and the service.

use http::StatusCode;
use pinakes_format::entity::{CATALOG, Facts, IdFormat};
use pinakes_format::json::render::Shape;
use pinakes_format::query::Grouping;
use pinakes_format::record::legacy::{LEGACY, LegacyEntity};
use pinakes_format::schema::keys::{Direction, keys_of, keys_of_legacy};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use serde_json::{Map, Value, json};

use crate::api::handlers;
use crate::api::list_stream::StreamFormat;
use crate::api::route::{directions, has_statistics};
use crate::openapi::operation::{
    AUTOCOMPLETE_TAG, LEGACY_TAG, Operation, json_content, page, page_meta,
};
use crate::openapi::parameters::{autocomplete_text, path_parameter};
use crate::openapi::responses::CACHE_HEADERS;
use crate::openapi::samples::Sample;
use crate::openapi::schemas::{Schemas, legacy_id, own_id, schema_name};
use crate::openapi::{changes, graphql, parameters, service, sums};

/// The paths generated so far, and the schemas that they refer to.
pub struct Paths<'s> {
    snapshot: &'s Snapshot,
    pub schemas: Schemas,
    pub paths: Map<String, Value>,
}

impl Paths<'_> {
    /// Generates every path, with examples from a snapshot.
    pub fn new(snapshot: &Snapshot) -> Result<Paths<'_>, ReadError> {
        let mut paths = Paths { snapshot, schemas: Schemas::default(), paths: Map::new() };
        for facts in &CATALOG {
            paths.add_list(facts)?;
            if facts.has_single {
                paths.add_record(facts)?;
                paths.add_linked(facts)?;
            }
        }
        for facts in CATALOG.iter().filter(has_statistics) {
            paths.add_statistics(facts)?;
        }
        paths.add_autocomplete()?;
        for legacy in &LEGACY {
            paths.add_legacy(legacy)?;
        }
        paths.paths.insert("/graphql".into(), graphql::path_item(&mut paths.schemas));
        let changes = changes::operation(&mut paths.schemas, &snapshot.manifest().id);
        paths.add("/changes", changes);
        for (path, operation) in service::operations(&mut paths.schemas) {
            paths.add(path, operation);
        }
        Ok(paths)
    }

    fn add(&mut self, path: impl Into<String>, operation: Operation) {
        self.paths.insert(path.into(), operation.into_path_item());
    }

    fn add_list(&mut self, facts: &'static Facts) -> Result<(), ReadError> {
        let keys = keys_of(facts.entity);
        let sample = Sample::read(self.snapshot, facts.entity, keys)?;
        let page = self.list_page(facts);
        let get_by_id = format!("get_{}", facts.singular);
        let first = json!({
            "operationId": get_by_id,
            "parameters": { "id": "$response.body#/results/0/id" },
            "description": "The first record of the page.",
        });
        let operation = Operation {
            id: format!("list_{}", facts.plural.replace('-', "_")),
            tag: facts.plural,
            summary: format!("A page of the list of {}", facts.plural.replace('-', " ")),
            description: "Without `sort` the most used records come first. Ties come in id order.",
            parameters: parameters::CURRENT.parameters(keys, &sample),
            success: StatusCode::OK,
            content: self.list_content(facts, page),
            headers: CACHE_HEADERS.to_vec(),
            statuses: vec![StatusCode::NOT_MODIFIED, StatusCode::TOO_MANY_REQUESTS],
            links: if facts.has_single { json!({ "first": first }) } else { Value::Null },
        };
        self.add(format!("/{}", facts.route), operation);
        Ok(())
    }

    fn add_record(&mut self, facts: &'static Facts) -> Result<(), ReadError> {
        let sample = Sample::read(self.snapshot, facts.entity, keys_of(facts.entity))?;
        let record = self.schemas.record(facts.entity, Shape::Single);
        let id = sample.id(&IdFormat::CURRENT, facts.entity);
        let example = id.map(|id| match id.parse::<u64>() {
            Ok(number) => number.into(),
            Err(_) => id.into(),
        });
        let doc = format!("The identifier of the {}.", facts.singular);
        let operation = Operation {
            id: format!("get_{}", facts.singular),
            tag: facts.plural,
            summary: format!("The {} with an identifier", facts.singular),
            description: "The identifier of a record that was merged into another gets 301.",
            parameters: vec![path_parameter("id", &doc, own_id(facts.entity), example)],
            success: StatusCode::OK,
            content: json_content(record),
            headers: CACHE_HEADERS.to_vec(),
            statuses: RECORD_STATUSES.to_vec(),
            links: Value::Null,
        };
        self.add(format!("/{}/{{id}}", facts.route), operation);
        Ok(())
    }

    /// The lists of the records that a record refers to, and that refer to it.
    fn add_linked(&mut self, facts: &'static Facts) -> Result<(), ReadError> {
        let keys = keys_of(facts.entity);
        for direction in directions(facts) {
            let sample = Sample::read(self.snapshot, facts.entity, keys)?;
            let id = sample.id(&IdFormat::CURRENT, facts.entity).map(Value::from);
            let doc = format!("The identifier of the {}.", facts.singular);
            let mut parameters = vec![path_parameter("id", &doc, own_id(facts.entity), id)];
            parameters.extend(parameters::CURRENT.parameters(keys, &sample));
            let page = self.list_page(facts);
            let summary = match direction {
                Direction::References => format!("The {} that a record refers to", facts.plural),
                Direction::Citations => format!("The {} that refer to a record", facts.plural),
            };
            let operation = Operation {
                id: format!("list_{}_of_{}", direction.name(), facts.singular),
                tag: facts.plural,
                summary,
                description: "A list like any other. References to records that the snapshot lacks are \
                              not listed; `references.count` counts them. The identifier of a record \
                              that was merged into another gets 301.",
                parameters,
                success: StatusCode::OK,
                content: self.list_content(facts, page),
                headers: CACHE_HEADERS.to_vec(),
                statuses: RECORD_STATUSES.to_vec(),
                links: Value::Null,
            };
            self.add(format!("/{}/{{id}}/{}", facts.route, direction.name()), operation);
        }
        Ok(())
    }

    /// The schema of a page of a list.
    fn list_page(&mut self, facts: &'static Facts) -> Value {
        let record = self.schemas.record(facts.entity, Shape::List);
        let name = format!("{}Page", schema_name(facts.entity));
        self.schemas.define(&name, |schemas| {
            let meta = schemas.define("PageMeta", |_| page_meta(&["count", "page", "per_page"]));
            page(meta, record)
        })
    }

    /// The body of a list: a page of records, whole or with selected members, a page of groups where the list
    /// has them, or a stream. Groups come first, because clients that try all in turn would take groups for an
    /// empty page of records.
    fn list_content(&mut self, facts: &'static Facts, page: Value) -> Value {
        let mut pages = Vec::with_capacity(3);
        if Grouping::key_names(keys_of(facts.entity)).next().is_some() {
            pages.push(sums::group_page(&mut self.schemas));
        }
        pages.extend([page, self.selected_page()]);
        let mut content = json_content(json!({ "anyOf": pages }));
        for format in StreamFormat::ALL {
            let (media_type, _) =
                format.media_type().split_once(';').unwrap_or((format.media_type(), ""));
            content[media_type] = json!({ "schema": { "type": "string" } });
        }
        content
    }

    /// The schema of a page of records with selected members.
    fn selected_page(&mut self) -> Value {
        self.schemas.define("SelectedPage", |schemas| {
            let meta = schemas.define("PageMeta", |_| page_meta(&["count", "page", "per_page"]));
            let doc = "The members that `select` names, of a record of the list.";
            page(meta, json!({ "description": doc, "type": "object" }))
        })
    }

    fn add_statistics(&mut self, facts: &'static Facts) -> Result<(), ReadError> {
        let keys = keys_of(facts.entity);
        let sample = Sample::read(self.snapshot, facts.entity, keys)?;
        let name = format!("{}Statistics", schema_name(facts.entity));
        let schema = self.schemas.define(&name, |schemas| sums::statistics(facts, schemas));
        let operation = Operation {
            id: format!("sum_up_{}", facts.plural),
            tag: facts.plural,
            summary: format!("Statistics of the matching {}", facts.plural),
            description: "Exact, over all matching records. Records without a value have no part in the \
                          statistics of a key.",
            parameters: parameters::STATISTICS.parameters(keys, &sample),
            success: StatusCode::OK,
            content: json_content(schema),
            headers: CACHE_HEADERS.to_vec(),
            statuses: vec![StatusCode::NOT_MODIFIED, StatusCode::TOO_MANY_REQUESTS],
            links: Value::Null,
        };
        self.add(format!("/statistics/{}", facts.route), operation);
        Ok(())
    }

    fn add_autocomplete(&mut self) -> Result<(), ReadError> {
        let first_entity = &CATALOG[0];
        let keys = keys_of(first_entity.entity);
        let sample = Sample::read(self.snapshot, first_entity.entity, keys)?;
        let page = service::candidate_page(&mut self.schemas);
        let operation = |id: &str, summary: &str, mut parameters: Vec<Value>| {
            parameters.push(autocomplete_text(&sample));
            Operation {
                id: id.to_owned(),
                tag: AUTOCOMPLETE_TAG,
                summary: summary.to_owned(),
                description: "Candidates come in this order: names equal to the text, names that begin \
                              with the text, records with an alternative name that begins with the text, \
                              other matches. Within each group the most cited come first.",
                parameters,
                success: StatusCode::OK,
                content: json_content(page.clone()),
                headers: CACHE_HEADERS.to_vec(),
                statuses: vec![StatusCode::NOT_MODIFIED, StatusCode::TOO_MANY_REQUESTS],
                links: Value::Null,
            }
        };
        let routes: Vec<&str> = handlers::completed_entities().map(|facts| facts.route).collect();
        let schema = json!({ "type": "string", "enum": routes });
        let doc = "The list whose names the server completes.";
        let entity_type =
            path_parameter("entity_type", doc, schema, Some(first_entity.route.into()));
        let of_all =
            operation("autocomplete", "Candidates of all entities for a typed text", Vec::new());
        let of_one = operation(
            "autocomplete_entity",
            "Candidates of one entity for a typed text",
            vec![entity_type],
        );
        let identifier = json!({ "type": "string" });
        let doc = "A DOI, ORCID, ROR id, ISSN, PMID, MAG id or `HX_` id: bare, with its label such as \
                   `doi:`, or as a URL. Slashes may stay as they are. Numbers of PubMed and MAG need \
                   `pmid:` or `mag:`.";
        let id = sample.id(&IdFormat::CURRENT, first_entity.entity).map(Value::from);
        let resolve = Operation {
            id: "resolve".to_owned(),
            tag: AUTOCOMPLETE_TAG,
            summary: "The record with an identifier of any system".to_owned(),
            description: "One record gets 303, several records 300 with candidates.",
            parameters: vec![path_parameter("identifier", doc, identifier, id)],
            success: StatusCode::MULTIPLE_CHOICES,
            content: json_content(page.clone()),
            headers: Vec::new(),
            statuses: vec![
                StatusCode::SEE_OTHER,
                StatusCode::NOT_FOUND,
                StatusCode::TOO_MANY_REQUESTS,
            ],
            links: Value::Null,
        };
        self.add("/resolve/{identifier}", resolve);
        self.add("/autocomplete", of_all);
        self.add("/autocomplete/{entity_type}", of_one);
        Ok(())
    }

    fn add_legacy(&mut self, legacy: &'static LegacyEntity) -> Result<(), ReadError> {
        let facts = legacy.entity.facts();
        let keys = keys_of_legacy(legacy);
        let sample = Sample::read(self.snapshot, legacy.entity, keys)?;
        let record = self.schemas.legacy_record(legacy, Shape::List);
        let group = self.schemas.define("OlderGroup", |_| service::legacy_group());
        let rows = json!({ "type": "array", "items": record });
        let groups = json!({ "type": "array", "items": group });
        let first = json!({
            "operationId": (format!("get_older_{}", facts.singular)),
            "parameters": { "older_id": "$response.body#/0/id" },
            "description": "The first record of the page.",
        });
        let list = Operation {
            id: format!("list_older_{}", facts.plural),
            tag: LEGACY_TAG,
            summary: format!("A page of the list of {}, as a bare array", facts.plural),
            description: "With `group_by` the array holds groups instead of records, all on one page.",
            parameters: parameters::LEGACY.parameters(keys, &sample),
            success: StatusCode::OK,
            content: json_content(json!({ "anyOf": [groups, rows] })),
            headers: [&CACHE_HEADERS[..], &["X-Total-Count", "Link"]].concat(),
            statuses: vec![StatusCode::NOT_MODIFIED, StatusCode::TOO_MANY_REQUESTS],
            links: json!({ "first": first }),
        };
        self.add(format!("/{}", legacy.route), list);
        let record = self.schemas.legacy_record(legacy, Shape::Single);
        let doc = format!("The identifier of the {}.", facts.singular);
        let example = sample.id(&IdFormat::LEGACY, legacy.entity).map(Value::from);
        let single = Operation {
            id: format!("get_older_{}", facts.singular),
            tag: LEGACY_TAG,
            summary: format!("The {} with an identifier", facts.singular),
            description: "",
            parameters: vec![path_parameter("older_id", &doc, legacy_id(legacy.entity), example)],
            success: StatusCode::OK,
            content: json_content(record),
            headers: CACHE_HEADERS.to_vec(),
            statuses: RECORD_STATUSES.to_vec(),
            links: Value::Null,
        };
        self.add(format!("/{}/{{older_id}}", legacy.route), single);
        Ok(())
    }
}

/// Statuses of a request for one record, besides 200 and the statuses of any request.
const RECORD_STATUSES: [StatusCode; 4] = [
    StatusCode::MOVED_PERMANENTLY,
    StatusCode::NOT_MODIFIED,
    StatusCode::NOT_FOUND,
    StatusCode::TOO_MANY_REQUESTS,
];
