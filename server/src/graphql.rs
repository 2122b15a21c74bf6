//! GraphQL: the same checked queries and the same rows as REST, for a part of each record and for
//! the records it refers to.
//!
//! [`request`] reads what was posted; [`document`] parses and validates it against the schema that
//! [`types`] and [`sdl`] make of the records' declarations; [`plan`] turns it into queries and
//! selections and knows what they cost; [`answer`] writes the answer. [`page`] is for people.

pub mod answer;
pub mod document;
pub mod error;
pub mod introspection;
pub mod options;
pub mod page;
pub mod plan;
pub mod request;
pub mod sdl;
pub mod types;

use std::{sync::LazyLock, time::Instant};

use apollo_compiler::{Schema, validation::Valid};
use bytes::Bytes;
use http::StatusCode;
use pinakes_format::{render::RenderError, snapshot::Snapshot};

use crate::{library::Served, reply::Reply, routes::Bounds};

use answer::{Halted, Patience, answer};
use document::{Asking, Document};
use error::Error;
use introspection::Introspection;
use plan::plan;
use request::Posting;
use types::Types;

/// What lies at a route of GraphQL.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// Questions are posted here.
    Questions,
    /// The schema's text.
    Schema,
    /// The page to ask from, or a part of it by its name.
    Page(Option<&'a str>),
}

/// The schema in every form it is needed in, made once.
struct Graph {
    types: Types,
    text: String,
    schema: Valid<Schema>,
    introspection: Introspection,
}

static GRAPH: LazyLock<Graph> = LazyLock::new(|| {
    let types = Types::new();
    let text = sdl::print(&types);
    let schema = Schema::parse_and_validate(&text, "schema.graphql")
        .unwrap_or_else(|invalid| panic!("declarations make a valid schema: {}", invalid.errors));
    let introspection = Introspection::new(&schema)
        .unwrap_or_else(|error| panic!("a valid schema describes itself: {error}"));
    Graph { types, text, schema, introspection }
});

/// The schema's text.
pub fn schema_text() -> &'static str {
    &GRAPH.text
}

/// The same, as a reply.
pub fn schema_reply() -> Reply {
    let body = Bytes::from_static(schema_text().as_bytes());
    let media_type = "application/graphql; charset=utf-8";
    Reply::Body { status: StatusCode::OK, media_type, body, headers: Vec::new() }
}

/// Answers what was posted, from one snapshot.
///
/// # Errors
///
/// Where the snapshot is damaged.
pub fn reply(
    posting: &Posting<'_>,
    served: &Served,
    bounds: &Bounds,
) -> Result<Reply, RenderError> {
    let asking = match request::parse(posting.body) {
        Ok(asking) => asking,
        Err(refusal) => return Ok(refusal),
    };
    let begun = Instant::now();
    let until = begun + bounds.list_timeout;
    let patience = Patience { until, is_gone: posting.is_gone };
    let outcome = ask(asking, &served.snapshot, bounds, &patience);
    let micros = begun.elapsed().as_micros() as u64;
    tracing::debug!(micros, is_refused = outcome.is_err(), "question answered");
    let media_type = posting.media_type;
    match outcome {
        Ok((data, errors)) => Ok(media_type.reply(StatusCode::OK, body(Some(&data), &errors))),
        Err(Refused::Invalid(errors)) => {
            Ok(media_type.reply(media_type.invalid_status(), body(None, &errors)))
        }
        Err(Refused::Halted(Halted::Exceeded(error))) => {
            Ok(media_type.reply(StatusCode::OK, body(Some(b"null"), &[error])))
        }
        Err(Refused::Halted(Halted::Damaged(error))) => Err(error),
        Err(Refused::Halted(Halted::Timeout)) => {
            let seconds = bounds.list_timeout.as_secs_f64();
            tracing::warn!(seconds, "a question took longer than it may; answering 503");
            Ok(Reply::unavailable())
        }
        // Nobody reads it.
        Err(Refused::Halted(Halted::Gone)) => Ok(Reply::unavailable()),
    }
}

/// Why a question has no answer.
#[derive(Debug)]
enum Refused {
    /// It is wrong, or asks for too much; nothing was begun.
    Invalid(Vec<Error>),
    /// It came to no end.
    Halted(Halted),
}

fn ask(
    asking: Asking,
    snapshot: &Snapshot,
    bounds: &Bounds,
    patience: &Patience<'_>,
) -> Result<(Vec<u8>, Vec<Error>), Refused> {
    let Graph { types, schema, introspection, .. } = &*GRAPH;
    let settings = &bounds.graphql;
    let document = Document::read(schema, asking).map_err(Refused::Invalid)?;
    let asked = document.asked().map_err(Refused::Invalid)?;
    let plan = plan(types, &document, &asked, settings.records).map_err(Refused::Invalid)?;
    answer(&plan, snapshot, introspection, settings, patience).map_err(Refused::Halted)
}

/// An answer as it is sent.
fn body(data: Option<&[u8]>, errors: &[Error]) -> Bytes {
    // Texts and numbers alone: this is always JSON.
    let errors_json = serde_json::to_vec(errors).unwrap_or_default();
    let mut body = Vec::with_capacity(data.map_or(0, <[u8]>::len) + errors_json.len() + 32);
    body.push(b'{');
    if let Some(data) = data {
        body.extend_from_slice(b"\"data\":");
        body.extend_from_slice(data);
    }
    if !errors.is_empty() {
        if data.is_some() {
            body.push(b',');
        }
        body.extend_from_slice(b"\"errors\":");
        body.extend_from_slice(&errors_json);
    }
    body.push(b'}');
    Bytes::from(body)
}
