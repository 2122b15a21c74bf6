//! GraphQL: the same checked queries and the same rows as REST, for a part of each record and for
//! the records it refers to.
//!
//! [`request`] reads what was posted; [`document`] parses and validates it against the schema that
//! [`types`] and [`sdl`] make of the records' declarations; [`plan`] turns it into queries and
//! selections and knows what they cost; [`answer`] writes the answer. [`page`] is for people.

pub(crate) mod arguments;
pub(crate) mod document;
pub(crate) mod error;
pub(crate) mod error_path;
pub(crate) mod execute;
pub(crate) mod field;
pub(crate) mod graphiql;
pub(crate) mod introspection;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod request;
pub(crate) mod sdl;
pub(crate) mod types;
pub(crate) mod work_budget;

use std::{
    sync::{LazyLock, atomic::AtomicBool},
    time::{Duration, Instant},
};

use apollo_compiler::{Schema, validation::Valid};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

use crate::event_counts::{ASKED, Asked, OVERLOADS, Overload};
use crate::http::reply::Reply;
use crate::http::static_body::Fixed;
use crate::snapshots::library::Served;

use crate::graphql::document::{Asking, Document};
use crate::graphql::error::Error;
use crate::graphql::execute::answer;
use crate::graphql::introspection::Introspection;
use crate::graphql::options::Settings;
use crate::graphql::plan::plan;
use crate::graphql::request::Posting;
use crate::graphql::types::Types;
use crate::graphql::work_budget::{Halted, Patience};

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

/// The types, for whoever makes questions of them.
pub fn types() -> &'static Types {
    &GRAPH.types
}

/// The schema's text.
pub fn schema_text() -> &'static str {
    &GRAPH.text
}

/// The same, as it is sent.
static SCHEMA: LazyLock<Fixed> =
    LazyLock::new(|| Fixed::plain("application/graphql; charset=utf-8", schema_text().as_bytes()));

/// The same, as the reply to a request.
pub fn schema_reply(headers: &HeaderMap) -> Reply {
    SCHEMA.reply(headers, Vec::new())
}

/// What became of a question.
#[derive(Debug)]
pub enum Outcome {
    /// It was answered.
    Answered(Bytes),
    /// It is wrong; nothing was begun.
    Refused(Bytes),
    /// It asks for too much; nothing was begun.
    Costly(Bytes),
    /// Its answer came to more than it may.
    Stopped(Bytes),
    /// Its answer took longer than it may.
    Timeout,
    /// Nobody waits for it.
    Gone,
}

impl Outcome {
    /// What it is counted as.
    fn tallied(&self) -> Asked {
        match self {
            Outcome::Answered(_) => Asked::Answered,
            Outcome::Refused(_) => Asked::Invalid,
            Outcome::Costly(_) => Asked::Costly,
            Outcome::Stopped(_) => Asked::Stopped,
            Outcome::Timeout => Asked::Timeout,
            Outcome::Gone => Asked::Gone,
        }
    }
}

/// Answers what was posted, from one snapshot.
///
/// # Errors
///
/// Where the snapshot is damaged.
pub fn reply(
    posting: &Posting<'_>,
    served: &Served,
    settings: &Settings,
    timeout: Duration,
) -> Result<Reply, ReadError> {
    let asking = match request::parse(posting.body) {
        Ok(asking) => asking,
        Err(refusal) => return Ok(refusal),
    };
    let begun = Instant::now();
    let outcome = respond(asking, &served.snapshot, settings, timeout, posting.is_gone)?;
    let micros = begun.elapsed().as_micros() as u64;
    ASKED.count(outcome.tallied());
    let is_answered = matches!(outcome, Outcome::Answered(_));
    tracing::debug!(micros, is_answered, "a question of GraphQL");
    let media_type = posting.media_type;
    Ok(match outcome {
        Outcome::Answered(body) | Outcome::Stopped(body) => media_type.reply(StatusCode::OK, body),
        Outcome::Refused(body) | Outcome::Costly(body) => {
            media_type.reply(media_type.invalid_status(), body)
        }
        Outcome::Timeout => {
            OVERLOADS.count(Overload::Deadline);
            let seconds = timeout.as_secs_f64();
            tracing::warn!(seconds, "a question took longer than it may; answering 503");
            Reply::unavailable()
        }
        Outcome::Gone => Reply::unavailable(),
    })
}

/// Answers a question from one snapshot, for as long as somebody waits for it.
///
/// # Errors
///
/// Where the snapshot is damaged.
pub fn respond(
    asking: Asking,
    snapshot: &Snapshot,
    settings: &Settings,
    timeout: Duration,
    is_gone: &AtomicBool,
) -> Result<Outcome, ReadError> {
    let patience = Patience { until: Instant::now() + timeout, is_gone };
    match ask(asking, snapshot, settings, &patience) {
        Ok((data, errors)) => {
            let (body, bytes_max) = (body(Some(&data), &errors), settings.bytes);
            let is_short = body.len() <= bytes_max;
            Ok(if is_short { Outcome::Answered(body) } else { stopped(Error::too_long(bytes_max)) })
        }
        Err(Refused::Invalid(errors)) => Ok(Outcome::Refused(body(None, &errors))),
        Err(Refused::Costly(errors)) => Ok(Outcome::Costly(body(None, &errors))),
        Err(Refused::Halted(Halted::Exceeded(error))) => Ok(stopped(error)),
        Err(Refused::Halted(Halted::Damaged(error))) => Err(error),
        Err(Refused::Halted(Halted::Timeout)) => Ok(Outcome::Timeout),
        Err(Refused::Halted(Halted::Gone)) => Ok(Outcome::Gone),
    }
}

fn stopped(error: Error) -> Outcome {
    Outcome::Stopped(body(Some(b"null"), &[error]))
}

/// Why a question has no answer.
#[derive(Debug)]
enum Refused {
    /// It is wrong; nothing was begun.
    Invalid(Vec<Error>),
    /// It asks for too much; nothing was begun.
    Costly(Vec<Error>),
    /// It came to no end.
    Halted(Halted),
}

fn ask(
    asking: Asking,
    snapshot: &Snapshot,
    settings: &Settings,
    patience: &Patience<'_>,
) -> Result<(Vec<u8>, Vec<Error>), Refused> {
    let Graph { types, schema, introspection, .. } = &*GRAPH;
    let document = Document::read(schema, asking).map_err(Refused::Invalid)?;
    let asked = document.asked().map_err(Refused::Invalid)?;
    let plan = plan(types, &document, &asked, settings.records).map_err(Refused::Costly)?;
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
