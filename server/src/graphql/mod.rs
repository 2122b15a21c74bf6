//! GraphQL: selected members of records, and of the records they refer to, with the queries of REST.
//!
//! - [`types`] and [`field`] generate the object types from the declarations of records; [`sdl`] prints them.
//! - [`request`] checks a posted request, and [`document`] parses and validates its document.
//! - [`plan`] turns the selected fields into queries and selections, and bounds their cost; [`arguments`]
//!   parses the arguments of fields.
//! - [`execute`] writes the answer, with [`introspection`] for `__schema` and `__type`. [`work_budget`]
//!   limits its time, and [`error_path`] is the path for its errors.
//! - [`graphiql`] is the page for people; [`options`] are the options of the server.
//!
//! The folder may import `http`, `snapshots`, and from `api` the parsers of parameters.

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

use crate::event_counts::{GRAPHQL_OUTCOMES, GraphqlOutcome, OVERLOADS, Overload};
use crate::http::reply::Reply;
use crate::http::static_body::StaticBody;
use crate::snapshots::manager::ServedSnapshot;

use crate::graphql::document::{Document, GraphqlRequest};
use crate::graphql::error::Error;
use crate::graphql::execute::execute;
use crate::graphql::introspection::Introspection;
use crate::graphql::options::Settings;
use crate::graphql::plan::plan;
use crate::graphql::request::PostedRequest;
use crate::graphql::types::Types;
use crate::graphql::work_budget::{Halted, WorkBudget};

/// The schema in each form that requests need, generated once.
struct Graph {
    types: Types,
    sdl: String,
    schema: Valid<Schema>,
    introspection: Introspection,
}

static GRAPH: LazyLock<Graph> = LazyLock::new(|| {
    let types = Types::new();
    let sdl = sdl::print(&types);
    let schema = Schema::parse_and_validate(&sdl, "schema.graphql")
        .unwrap_or_else(|invalid| panic!("the generated schema is invalid: {}", invalid.errors));
    let introspection = Introspection::new(&schema)
        .unwrap_or_else(|error| panic!("introspection of the generated schema failed: {error}"));
    Graph { types, sdl, schema, introspection }
});

/// The object types, for generators of test queries.
pub fn types() -> &'static Types {
    &GRAPH.types
}

static SCHEMA_BODY: LazyLock<StaticBody> =
    LazyLock::new(|| StaticBody::new("text/plain; charset=utf-8", GRAPH.sdl.as_bytes()));

/// The reply to `GET /graphql/schema`.
pub fn schema_reply(headers: &HeaderMap) -> Reply {
    SCHEMA_BODY.reply(headers, Vec::new())
}

/// The outcome of a request; the bytes are the JSON body of the answer.
#[derive(Debug)]
pub enum Outcome {
    /// Executed to the end, perhaps with errors of fields.
    Answered(Bytes),
    /// Invalid; the server executed nothing.
    Refused(Bytes),
    /// Above a limit by its plan; the server executed nothing.
    Costly(Bytes),
    /// Stopped at a limit during execution.
    Stopped(Bytes),
    /// Stopped at the deadline.
    Timeout,
    /// Stopped because the client had closed its connection.
    Gone,
}

impl Outcome {
    fn counter(&self) -> GraphqlOutcome {
        match self {
            Outcome::Answered(_) => GraphqlOutcome::Answered,
            Outcome::Refused(_) => GraphqlOutcome::Invalid,
            Outcome::Costly(_) => GraphqlOutcome::Costly,
            Outcome::Stopped(_) => GraphqlOutcome::Stopped,
            Outcome::Timeout => GraphqlOutcome::Timeout,
            Outcome::Gone => GraphqlOutcome::Gone,
        }
    }
}

/// Answers a posted request from one snapshot.
pub fn reply(
    posted: &PostedRequest<'_>,
    served: &ServedSnapshot,
    settings: &Settings,
    timeout: Duration,
) -> Result<Reply, ReadError> {
    let request = match request::parse(posted.body) {
        Ok(request) => request,
        Err(refusal) => return Ok(refusal),
    };
    let begun = Instant::now();
    let outcome = respond(request, &served.snapshot, settings, timeout, posted.is_gone)?;
    let micros = begun.elapsed().as_micros() as u64;
    GRAPHQL_OUTCOMES.count(outcome.counter());
    let is_answered = matches!(outcome, Outcome::Answered(_));
    tracing::debug!(micros, is_answered, "GraphQL request finished");
    let media_type = posted.media_type;
    Ok(match outcome {
        Outcome::Answered(body) | Outcome::Stopped(body) => media_type.reply(StatusCode::OK, body),
        Outcome::Refused(body) | Outcome::Costly(body) => {
            media_type.reply(media_type.invalid_status(), body)
        }
        Outcome::Timeout => {
            OVERLOADS.count(Overload::Deadline);
            let seconds = timeout.as_secs_f64();
            tracing::warn!(seconds, "a GraphQL request reached its deadline; answering 503");
            Reply::unavailable()
        }
        Outcome::Gone => Reply::unavailable(),
    })
}

/// Executes a request on one snapshot, until the timeout or until the client is gone.
pub fn respond(
    request: GraphqlRequest,
    snapshot: &Snapshot,
    settings: &Settings,
    timeout: Duration,
    is_gone: &AtomicBool,
) -> Result<Outcome, ReadError> {
    let deadline = Instant::now() + timeout;
    let budget = WorkBudget { deadline, cpu_max: settings.cpu, is_gone };
    match run(request, snapshot, settings, &budget) {
        Ok((data, errors)) => {
            let (body, bytes_max) = (response_body(Some(&data), &errors), settings.bytes);
            let is_short = body.len() <= bytes_max;
            Ok(if is_short { Outcome::Answered(body) } else { stopped(Error::too_long(bytes_max)) })
        }
        Err(Failure::Invalid(errors)) => Ok(Outcome::Refused(response_body(None, &errors))),
        Err(Failure::Costly(errors)) => Ok(Outcome::Costly(response_body(None, &errors))),
        Err(Failure::Halted(Halted::Exceeded(error))) => Ok(stopped(error)),
        Err(Failure::Halted(Halted::Damaged(error))) => Err(error),
        Err(Failure::Halted(Halted::Timeout)) => Ok(Outcome::Timeout),
        Err(Failure::Halted(Halted::Gone)) => Ok(Outcome::Gone),
    }
}

fn stopped(error: Error) -> Outcome {
    Outcome::Stopped(response_body(Some(b"null"), &[error]))
}

/// Why a request has no data.
#[derive(Debug)]
enum Failure {
    /// Invalid; the server executed nothing.
    Invalid(Vec<Error>),
    /// Above a limit by its plan; the server executed nothing.
    Costly(Vec<Error>),
    /// Stopped during execution.
    Halted(Halted),
}

fn run(
    request: GraphqlRequest,
    snapshot: &Snapshot,
    settings: &Settings,
    budget: &WorkBudget<'_>,
) -> Result<(Vec<u8>, Vec<Error>), Failure> {
    let Graph { types, schema, introspection, .. } = &*GRAPH;
    let document = Document::parse(schema, request).map_err(Failure::Invalid)?;
    let root_fields = document.root_fields().map_err(Failure::Invalid)?;
    let plan = plan(types, &document, &root_fields, settings.records).map_err(Failure::Costly)?;
    execute(&plan, snapshot, introspection, settings, budget).map_err(Failure::Halted)
}

/// The JSON of an answer from the JSON of its `data` and its errors.
fn response_body(data: Option<&[u8]>, errors: &[Error]) -> Bytes {
    // Serializing strings and numbers cannot fail.
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
