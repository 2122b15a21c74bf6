//! The interface described in its own terms: an OpenAPI 3.1 document, worked out from the declarations
//! that the service itself goes by.
//!
//! [`schemas`] is made of the records' declarations, [`parameters`] and [`patterns`] of the keys and
//! what reads them, [`paths`] of the catalog, [`graphql`] and [`service`] of what stands beside it; [`responses`]
//! are those that many paths share. Examples are of the snapshot that is served.

/// JSON as it is written, its members in their order; what is longer than a token stands in parentheses.
/// `serde_json`'s own puts them in another.
macro_rules! json {
    ({ $($name:tt : $value:tt),* $(,)? }) => {{
        let mut members = serde_json_bytes::Map::new();
        $(members.insert($name, json!($value));)*
        serde_json_bytes::Value::Object(members)
    }};
    ([ $($value:tt),* $(,)? ]) => {
        serde_json_bytes::Value::Array(vec![$(json!($value)),*])
    };
    ($value:expr) => {
        serde_json_bytes::Value::from($value)
    };
}

pub(crate) mod graphql;
pub(crate) mod parameters;
pub(crate) mod paths;
pub(crate) mod patterns;
pub(crate) mod responses;
pub(crate) mod samples;
pub(crate) mod schemas;
pub(crate) mod service;

use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use pinakes_format::entity::CATALOG;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use serde_json_bytes::Value;

use crate::http::reply::Reply;
use crate::http::static_body::Fixed;
use crate::openapi::paths::{LEGACY_TAG, Paths};

/// The version of the interface.
const INTERFACE_VERSION: &str = "1.0";

/// What is true of all of it.
const DOC: &str = "Scholarly metadata, read-only: works, authors, institutions, sources, publishers, \
funders, and the taxonomy of domains, fields, subfields and topics.\n\n\
Any member may be null where its value is unknown, unless its type says otherwise; every member is always \
there. Every path that takes GET takes HEAD and OPTIONS too. A slash at the end means nothing. `mailto` and \
`api_key` are ignored in every query; other unknown parameters of lists and autocomplete are refused.\n\n\
A reply with an `ETag` may be kept: sent back as `If-None-Match`, its tag gets 304 for as long as the answer \
is the same. Bodies come in `zstd`, `br` or `gzip` by `Accept-Encoding`.\n\n\
Nobody has to register. Limits go by the client's address and are told in the headers of every reply; a \
request past one is answered 429, with `Retry-After`.";

/// The document that was made last, and of which edition of a snapshot.
static MADE: Mutex<Option<(String, Arc<Fixed>)>> = Mutex::new(None);

/// The document, as a reply. It is made once for each edition of a snapshot, in some milliseconds.
///
/// # Errors
///
/// Where the snapshot is damaged.
pub fn reply(snapshot: &Snapshot, headers: &HeaderMap) -> Result<Reply, ReadError> {
    Ok(made(snapshot)?.reply(headers, Vec::new()))
}

fn made(snapshot: &Snapshot) -> Result<Arc<Fixed>, ReadError> {
    let edition = snapshot.edition();
    // What is in it was whole when it was put there.
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, document)) = made.as_ref().filter(|(of, _)| *of == edition) {
        return Ok(Arc::clone(document));
    }
    // Maps of texts, numbers and nothing else: this is always JSON.
    let text = serde_json::to_vec(&document(snapshot)?).unwrap_or_default();
    let document = Arc::new(Fixed::plain("application/json", text));
    *made = Some((edition, Arc::clone(&document)));
    Ok(document)
}

/// The document, with examples from a snapshot.
///
/// # Errors
///
/// Where the snapshot is damaged.
pub fn document(snapshot: &Snapshot) -> Result<Value, ReadError> {
    let Paths { mut schemas, paths, .. } = Paths::new(snapshot)?;
    for (name, schema) in responses::schemas() {
        schemas.name(name, |_| schema);
    }
    let of_lists = CATALOG.iter().map(|facts| facts.plural);
    let tags: Vec<Value> = of_lists
        .chain(["autocomplete", LEGACY_TAG, "GraphQL", "service"])
        .map(|name| json!({ "name": name }))
        .collect();
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pinakes",
            "summary": "Scholarly metadata over HTTP",
            "description": DOC,
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
