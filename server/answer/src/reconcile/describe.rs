//! The operations of `/reconcile` in the OpenAPI document.

use http::StatusCode;
use pinakes_format::entity::{CATALOG, IdFormat};
use pinakes_format::storage::ReadError;
use serde_json::{Value, json};

use crate::define::RoutePath;
use crate::openapi::operation::PostOperation;
use crate::openapi::{
    CACHE_HEADERS, Document, LIST_STATUSES, Operation, RECONCILE_TAG, count, headers, json_content,
    object_of, path_parameter, query_parameter, required, text, text_content,
};
use crate::reconcile::types::types;
use crate::request::body::FORM;

const QUERIES_DOC: &str = "A JSON object: for each key a query, with the members `query`, `type`, `limit` and `properties`.";
const EXTEND_DOC: &str =
    "A JSON object: `ids` of records, and `properties`, each with the `id` of a member of records.";

/// Describes the manifest, the batches of queries and the data extension.
pub fn describe(_: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let facts = &CATALOG[0];
    let sample = document.sample(facts.entity)?;
    let queries = json!({ "q0": { "query": (sample.word), "type": (facts.route) } }).to_string();
    let id = sample.id(&IdFormat::CURRENT, facts.entity);
    let extend = json!({ "ids": [id], "properties": [{ "id": "name" }] }).to_string();
    let content = || json_content(json!({ "type": "object" }));
    let get = Operation {
        tag: RECONCILE_TAG,
        description: "The manifest without parameters; else each query counts as a page of a list.",
        parameters: vec![
            query_parameter("queries", QUERIES_DOC, text(), [Some(("one", queries.clone()))]),
            query_parameter("extend", EXTEND_DOC, text(), []),
        ],
        statuses: vec![StatusCode::TOO_MANY_REQUESTS],
        ..Operation::new(
            "reconcile",
            "The Reconciliation Service API 0.2 of the W3C community group",
            content(),
        )
    };
    let form = json!({
        "type": "object",
        "oneOf": [{ "required": ["queries"] }, { "required": ["extend"] }],
        "properties": {
            "queries": { "description": QUERIES_DOC, "type": "string" },
            "extend": { "description": EXTEND_DOC, "type": "string" },
        },
    });
    let examples = json!({
        "queries": { "value": { "queries": queries } },
        "extend": { "value": { "extend": extend } },
    });
    let post = PostOperation {
        id: "reconcile_form".to_owned(),
        tag: RECONCILE_TAG,
        summary: "Queries or a data extension in a form".to_owned(),
        description: "Takes what no URL holds.".to_owned(),
        request: json!({ FORM: { "schema": form, "examples": examples } }),
        content: content(),
    };
    Ok(get.with_post(post))
}

/// Describes the suggestions for typed text.
pub fn describe_suggest(_: &RoutePath, _: &mut Document<'_>) -> Result<Value, ReadError> {
    let kind = json!({ "type": "string", "enum": ["entity", "type", "property"] });
    let item =
        object_of("An entity, a type or a property.", [("id", "", text()), ("name", "", text())]);
    let result = json!({ "type": "array", "items": item });
    let operation = Operation {
        tag: RECONCILE_TAG,
        parameters: vec![
            path_parameter("kind", "What is suggested.", kind, Some("entity".into())),
            query_parameter("prefix", "The typed text.", text(), []),
            type_parameter(),
            query_parameter("cursor", "Suggestions to pass over.", count(), []),
            limit_parameter(),
        ],
        headers: CACHE_HEADERS.to_vec(),
        statuses: LIST_STATUSES.into_iter().chain([StatusCode::NOT_FOUND]).collect(),
        ..Operation::new(
            "reconcile_suggest",
            "Entities, types or properties for a typed text",
            json_content(object_of("Suggestions.", [("result", "", result)])),
        )
    };
    Ok(operation.into_path_item())
}

/// Describes the properties of a type.
pub fn describe_properties(_: &RoutePath, _: &mut Document<'_>) -> Result<Value, ReadError> {
    let item = object_of("A member of records.", [("id", "", text()), ("name", "", text())]);
    let properties = json!({ "type": "array", "items": item });
    let operation = Operation {
        tag: RECONCILE_TAG,
        parameters: vec![type_parameter(), limit_parameter()],
        statuses: vec![StatusCode::TOO_MANY_REQUESTS],
        ..Operation::new(
            "reconcile_properties",
            "The properties of a type",
            json_content(object_of("Properties.", [("properties", "", properties)])),
        )
    };
    Ok(operation.into_path_item())
}

/// Describes the page of a record.
pub fn describe_preview(_: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let facts = &CATALOG[0];
    let sample = document.sample(facts.entity)?;
    let example = sample.id(&IdFormat::CURRENT, facts.entity).map(|id| ("record", id));
    let id = required(query_parameter("id", "The identifier of a record.", text(), [example]));
    let page = || text_content("text/html");
    let operation = Operation {
        tag: RECONCILE_TAG,
        parameters: vec![id],
        statuses: vec![StatusCode::TOO_MANY_REQUESTS],
        ..Operation::new("reconcile_preview", "A small page of a record, for a frame", page())
    };
    let mut item = operation.into_path_item();
    item["get"]["responses"]["404"] = json!({
        "description": "No record has this identifier.",
        "headers": (headers(&[])),
        "content": (page()),
    });
    Ok(item)
}

fn type_parameter() -> Value {
    let routes: Vec<&str> = types().map(|facts| facts.route).collect();
    query_parameter("type", "The path of a list.", json!({ "type": "string", "enum": routes }), [])
}

fn limit_parameter() -> Value {
    query_parameter("limit", "Largest number of results.", count(), [])
}
