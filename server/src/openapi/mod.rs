//! The OpenAPI 3.1 document of the interface, generated from the declarations that the server runs on.
//!
//! - [`schemas`] describes records; its source is the declarations of `pinakes_format::record`.
//! - [`parameters`] and [`patterns`] describe list parameters; their source is the filter and sort keys.
//! - [`operation`] is a GET operation with its HEAD twin, [`responses`] the shared responses and headers.
//! - [`paths`] joins the operations of lists and records with those of [`graphql`], [`changes`] and [`service`].
//!
//! Examples come from the served snapshot ([`samples`]). The folder may import `api`, `admission`,
//! `http` and `snapshots`; within it, imports follow the list above from bottom to top.

pub(crate) mod changes;
pub(crate) mod graphql;
pub(crate) mod operation;
pub(crate) mod parameters;
pub(crate) mod paths;
pub(crate) mod patterns;
pub(crate) mod responses;
pub(crate) mod samples;
pub(crate) mod schemas;
pub(crate) mod service;
pub(crate) mod sums;

use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use pinakes_format::entity::CATALOG;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use serde_json::{Value, json};

use crate::http::reply::Reply;
use crate::http::static_body::StaticBody;
use crate::openapi::operation::{AUTOCOMPLETE_TAG, GRAPHQL_TAG, LEGACY_TAG, SERVICE_TAG};
use crate::openapi::paths::Paths;

/// The version of the interface.
const INTERFACE_VERSION: &str = "1.0";

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

/// The reply to `GET /openapi.json`.
///
/// Cost: generating the document takes some milliseconds, once for each snapshot edition.
pub fn reply(snapshot: &Snapshot, headers: &HeaderMap) -> Result<Reply, ReadError> {
    Ok(cached_document(snapshot)?.reply(headers, Vec::new()))
}

fn cached_document(snapshot: &Snapshot) -> Result<Arc<StaticBody>, ReadError> {
    let edition = snapshot.edition();
    // A panic while the lock is held leaves the previous document in place, which is complete.
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, document)) = cache.as_ref().filter(|(of, _)| *of == edition) {
        return Ok(Arc::clone(document));
    }
    // Serializing maps of strings and numbers cannot fail.
    let text = serde_json::to_vec(&document(snapshot)?).unwrap_or_default();
    let document = Arc::new(StaticBody::new("application/json", text));
    *cache = Some((edition, Arc::clone(&document)));
    Ok(document)
}

/// Generates the document, with examples from a snapshot.
pub fn document(snapshot: &Snapshot) -> Result<Value, ReadError> {
    let Paths { mut schemas, paths, .. } = Paths::new(snapshot)?;
    for (name, schema) in responses::error_schemas() {
        schemas.define(name, |_| schema);
    }
    let list_tags = CATALOG.iter().map(|facts| facts.plural);
    let tags: Vec<Value> = list_tags
        .chain([AUTOCOMPLETE_TAG, LEGACY_TAG, GRAPHQL_TAG, SERVICE_TAG])
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
