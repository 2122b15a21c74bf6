//! GraphQL: selected members of records, and of the records they refer to, with the queries of REST.
//!
//! - [`types`] and [`field`] generate the object types from the declarations of records, and print them.
//! - [`request`] checks a posted request, and [`document`] parses and validates its document.
//! - [`plan`] parses arguments, turns the selected fields into queries and selections, and bounds their cost.
//! - [`execute`] writes the answer, with [`introspection`] for `__schema` and `__type`. [`work_budget`]
//!   limits its time, and [`error_path`] is the path for its errors.
//! - [`graphiql`] is the page for people; [`options`] are the options of the server; [`describe`] is the
//!   operation in the OpenAPI document.

pub(crate) mod describe;
pub(crate) mod document;
pub(crate) mod error;
pub(crate) mod error_path;
pub(crate) mod execute;
pub(crate) mod field;
pub(crate) mod graphiql;
pub(crate) mod introspection;
pub(crate) mod plan;
pub(crate) mod request;
pub(crate) mod types;
pub(crate) mod work_budget;

use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use apollo_compiler::Schema;
use apollo_compiler::validation::Valid;
use bytes::Bytes;
use http::StatusCode;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::clock::HostClock;
use crate::define::settings::GraphqlSettings;
use crate::define::{
    Answer, Call, Charge, Cost, Endpoint, Event, GraphqlOutcome, Planned, Planning,
};
use crate::dialects::graphql::document::{GraphqlRequest, QueryDocument};
use crate::dialects::graphql::error::Error;
use crate::dialects::graphql::execute::execute;
use crate::dialects::graphql::introspection::Introspection;
use crate::dialects::graphql::plan::plan;
use crate::dialects::graphql::request::MediaType;
use crate::dialects::graphql::types::Types;
use crate::dialects::graphql::work_budget::{Halted, WorkBudget};
use crate::openapi::{GRAPHQL_TAG, Operation, text_content};
use crate::reply::static_body::StaticBody;
use crate::reply::{JSON, Reply};
use crate::request::{POST_METHODS, body};

pub use crate::dialects::graphql::graphiql::{PAGE, PAGE_PART};

pub const OPERATION: Endpoint = Endpoint {
    methods: POST_METHODS,
    describe: Some(|_, document| Ok(describe::path_item(&mut document.schemas))),
    ..Endpoint::new("/graphql", Charge::Minute, plan_operation)
};

pub const SCHEMA: Endpoint = Endpoint {
    describe: Some(|_, _| {
        let content = text_content("text/plain");
        let operation = Operation::new("graphql_schema", "The GraphQL schema, as SDL", content);
        Ok(Operation { tag: GRAPHQL_TAG, ..operation }.into_path_item())
    }),
    ..Endpoint::new("/graphql/schema", Charge::Free, |planning| {
        Ok(Planned::Reply(SCHEMA_BODY.reply(planning.call.headers, Vec::new())))
    })
};

/// The schema in each form that requests need, generated once.
struct Graph {
    types: Types,
    sdl: String,
    schema: Valid<Schema>,
    introspection: Introspection,
}

static GRAPH: LazyLock<Graph> = LazyLock::new(|| {
    let types = Types::new();
    let sdl = types::sdl(&types);
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

fn plan_operation(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let headers = planning.call.headers;
    if let Some(refusal) = body::refuse_headers(headers, &[JSON]) {
        return Err(refusal);
    }
    let media_type = MediaType::from_accept(headers);
    Ok(Planned::work(Cost::Large, move |call| answer(media_type, call)))
}

/// Answers the operation that the body of a request holds.
fn answer(media_type: MediaType, call: &Call<'_>) -> Answer {
    // Every POST to this path has a body, possibly empty.
    let Some(posted) = call.posted else { return Ok(Reply::internal()) };
    let request = match request::parse(posted.text) {
        Ok(request) => request,
        Err(refusal) => return Ok(refusal),
    };
    let (settings, timeout) = (&call.settings.graphql, call.settings.list_timeout);
    let begun = call.now();
    let clock = call.host.clock();
    let outcome = respond(request, call.snapshot, settings, timeout, posted.is_client_gone, clock)?;
    let micros = call.micros_since(begun);
    call.host.count(Event::Graphql(outcome.counter()));
    let is_answered = matches!(outcome, Outcome::Answered(_));
    tracing::debug!(micros, is_answered, "GraphQL request finished");
    Ok(match outcome {
        Outcome::Answered(body) | Outcome::Stopped(body) => media_type.reply(StatusCode::OK, body),
        Outcome::Refused(body) | Outcome::Costly(body) => {
            media_type.reply(media_type.invalid_status(), body)
        }
        Outcome::Timeout => {
            call.host.count(Event::Deadline);
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
    settings: &GraphqlSettings,
    timeout: Duration,
    is_gone: &AtomicBool,
    clock: HostClock,
) -> Result<Outcome, ReadError> {
    let budget = WorkBudget { timeout, cpu_max: settings.cpu, is_gone, clock };
    match run(request, snapshot, settings, &budget) {
        Ok((data, errors)) => {
            let (body, bytes_max) = (response_body(Some(&data), &errors), settings.bytes);
            let is_short = body.len() <= bytes_max;
            Ok(if is_short { Outcome::Answered(body) } else { stopped(Error::too_long(bytes_max)) })
        }
        Err(QueryFailure::Invalid(errors)) => Ok(Outcome::Refused(response_body(None, &errors))),
        Err(QueryFailure::Costly(errors)) => Ok(Outcome::Costly(response_body(None, &errors))),
        Err(QueryFailure::Halted(Halted::Exceeded(error))) => Ok(stopped(error)),
        Err(QueryFailure::Halted(Halted::Damaged(error))) => Err(error),
        Err(QueryFailure::Halted(Halted::Timeout)) => Ok(Outcome::Timeout),
        Err(QueryFailure::Halted(Halted::Gone)) => Ok(Outcome::Gone),
    }
}

fn stopped(error: Error) -> Outcome {
    Outcome::Stopped(response_body(Some(b"null"), &[error]))
}

/// Why a request has no data.
#[derive(Debug)]
enum QueryFailure {
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
    settings: &GraphqlSettings,
    budget: &WorkBudget<'_>,
) -> Result<(Vec<u8>, Vec<Error>), QueryFailure> {
    let Graph { types, schema, introspection, .. } = &*GRAPH;
    let document = QueryDocument::parse(schema, request).map_err(QueryFailure::Invalid)?;
    let root_fields = document.root_fields().map_err(QueryFailure::Invalid)?;
    let plan =
        plan(types, &document, &root_fields, settings.records).map_err(QueryFailure::Costly)?;
    execute(&plan, snapshot, introspection, settings, budget).map_err(QueryFailure::Halted)
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
