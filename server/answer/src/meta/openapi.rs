//! `/openapi.json`: the OpenAPI 3.1 document, of what each endpoint says of itself.

use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use pinakes_format::entity::CATALOG;
use pinakes_format::storage::ReadError;
use serde_json::{Value, json};

use crate::define::{Answer, Call, Charge, Cost, Endpoint, Planned};
use crate::openapi::{
    AUTOCOMPLETE_TAG, CACHE_HEADERS, Document, GRAPHQL_TAG, INTERFACE_VERSION, LEGACY_TAG, MCP_TAG,
    Operation, RECONCILE_TAG, SERVICE_TAG, responses,
};
use crate::reply::static_body::StaticBody;

pub const OPENAPI: Endpoint = Endpoint {
    describe: Some(|_, _| {
        let content = json!({ "application/json": { "schema": { "type": "object" } } });
        let operation = Operation {
            headers: CACHE_HEADERS.to_vec(),
            statuses: vec![StatusCode::NOT_MODIFIED],
            ..Operation::new("openapi", "This document", content)
        };
        Ok(operation.into_path_item())
    }),
    ..Endpoint::new("/openapi.json", Charge::Free, |_| Ok(Planned::work(Cost::Small, answer)))
};

/// Rules that hold for every path.
const INTRODUCTION: &str = "Scholarly metadata, read-only: works, authors, institutions, sources, publishers, \
funders, and the taxonomy of domains, fields, subfields and topics.\n\n\
A record always has every member; a member whose value is unknown is null, unless its type excludes null. \
Every path that takes GET takes HEAD and OPTIONS too. The server ignores a slash at the end of a path. It \
ignores `mailto` and `api_key` in every query, and refuses other unknown parameters of lists and autocomplete.\
\n\n\
`X-Snapshot-Id` names the snapshot that a reply comes from. Every path also exists below `/@{snapshot}`, and is \
then answered from the snapshot with this id, or with 410 if the server does not keep it open.\
\n\n\
Clients may keep a reply that has an `ETag`. A request with this tag in `If-None-Match` gets 304 while the \
answer is unchanged. The server compresses bodies with `zstd`, `br` or `gzip`, as `Accept-Encoding` allows.\n\n\
Clients need no registration. Limits count requests by client address; headers of every reply state them. \
A request past a limit gets 429 with `Retry-After`.";

/// The document generated last, with the snapshot edition that it describes.
static CACHE: Mutex<Option<(String, Arc<StaticBody>)>> = Mutex::new(None);

/// Answers the document.
///
/// Cost: generating the document takes some milliseconds, once for each snapshot edition.
fn answer(call: &Call<'_>) -> Answer {
    Ok(cached_document(call)?.reply(call.headers, Vec::new()))
}

fn cached_document(call: &Call<'_>) -> Result<Arc<StaticBody>, ReadError> {
    let edition = call.snapshot.edition();
    // A panic while the lock is held leaves the previous document in place, which is complete.
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, document)) = cache.as_ref().filter(|(of, _)| *of == edition) {
        return Ok(Arc::clone(document));
    }
    // Serializing maps of strings and numbers cannot fail.
    let text = serde_json::to_vec(&document(call)?).unwrap_or_default();
    let document = Arc::new(StaticBody::new("application/json", text));
    *cache = Some((edition, Arc::clone(&document)));
    Ok(document)
}

/// Generates the document, with examples from a snapshot.
fn document(call: &Call<'_>) -> Result<Value, ReadError> {
    let mut document = Document::new(call.snapshot);
    call.interface.describe(&mut document)?;
    let Document { mut schemas, paths, .. } = document;
    for (name, schema) in responses::error_schemas() {
        schemas.define(name, |_| schema);
    }
    let list_tags = CATALOG.iter().map(|facts| facts.plural);
    let tags: Vec<Value> = list_tags
        .chain([AUTOCOMPLETE_TAG, RECONCILE_TAG, LEGACY_TAG, GRAPHQL_TAG, MCP_TAG, SERVICE_TAG])
        .map(|name| json!({ "name": name }))
        .collect();
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pinakes",
            "summary": "Scholarly metadata over HTTP",
            "description": INTRODUCTION,
            "version": INTERFACE_VERSION,
        },
        "servers": [{ "url": "/" }],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": (schemas.named),
            "headers": (responses::header_components()),
            "responses": (responses::response_components()),
        },
    }))
}
