//! The route table: the cost of each route, and the handler that answers it.

use std::{sync::Arc, time::Duration};

use http::{Method, StatusCode};
use pinakes_format::storage::error::ReadError;

use crate::admission::limits::{Refusal, Verdict};
use crate::api::request::Request;
use crate::api::route::{GraphqlRoute, Route};
use crate::api::{docs, handlers, legacy};
use crate::graphql::graphiql;
use crate::graphql::options::Settings;
use crate::graphql::request::{MediaType, PostedRequest, refuse_headers};
use crate::http::head::method_word;
use crate::http::path::{Segment, URI_BYTES_MAX, echo_path};
use crate::http::reply::Reply;
use crate::snapshots::manager::ServedSnapshot;
use crate::{graphql, openapi};

/// Options and limits of the service.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// Timeout for finding a page of a list, candidates of autocompletion, or a GraphQL response.
    pub list_timeout: Duration,
    /// Limits of a GraphQL operation.
    pub graphql: Settings,
    /// Whether the documentation page exists.
    pub has_docs: bool,
    /// Licence of the data, shown by `/` and `/health`; `None` shows the licence that the snapshot records.
    pub data_licence: Option<Arc<str>>,
}

/// Checks the length of the URI and the method, and returns the route.
///
/// # Errors
///
/// The reply to a request that no handler answers: 404, 405, 414, or the reply to `OPTIONS`.
pub fn resolve(request: &Request<'_>, route: Option<Route>) -> Result<Route, Reply> {
    if request.uri_bytes > URI_BYTES_MAX {
        let message = format!("URI exceeds {URI_BYTES_MAX} bytes");
        return Err(Reply::error(StatusCode::URI_TOO_LONG, message));
    }
    let route = route.ok_or_else(|| not_found(request))?;
    let allow = route.methods();
    match *request.method {
        Method::OPTIONS => Err(Reply::Options { allow }),
        ref method if allow.split(", ").any(|known| known == method.as_str()) => Ok(route),
        _ => Err(Reply::method_not_allowed(allow)),
    }
}

/// The 429 reply to a request that a limit refused. The legacy lists have a shorter message.
pub fn refused(route: Option<Route>, verdict: Verdict) -> Reply {
    match (verdict.refusal, route) {
        (Some(Refusal::Minute), Some(Route::LegacyList(_))) => {
            let limit = verdict.quotas.minute.limit;
            let message = format!("Rate limit exceeded. Maximum {limit} requests per minute.");
            Reply::TooMany { message, retry_seconds: verdict.reset_seconds(), reset_at: None }
        }
        _ => Reply::TooMany {
            message: verdict.message().unwrap_or_default(),
            retry_seconds: verdict.reset_seconds(),
            reset_at: Some(verdict.reset_at()),
        },
    }
}

/// The reply to an unknown path.
fn not_found(request: &Request<'_>) -> Reply {
    let message = format!("Cannot {} {}", method_word(request.method), echo_path(request.path));
    Reply::error(StatusCode::NOT_FOUND, message)
}

/// The thread on which the server does the work of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The thread that read the request: the work reads at most one record or one word's candidates.
    Inline,
    /// A blocking thread: the work may read hundreds of records, or needs the body of the request.
    Blocking,
}

/// Decides from the route, the parameters and the state of the snapshot where a request is answered.
///
/// | route | cost |
/// |---|---|
/// | record, page, schema, OpenAPI document, limits, health | inline |
/// | list | blocking |
/// | autocomplete of one word | inline: the index holds the candidates of a word |
/// | autocomplete of several words | blocking: the index intersects the records of each word |
/// | `POST /graphql` | blocking, unless its headers refuse the body |
/// | any, without a usable snapshot | inline: the reply is 503 |
///
/// The function cannot know the size of the reply or the chunks to verify. An inline reply that proves
/// large waits for its reservation. The request's own thread reads and verifies cold chunks.
pub fn cost(route: Route, request: &Request<'_>, served: &ServedSnapshot) -> Cost {
    let is_inline = match route {
        _ if served.is_poisoned() => true,
        Route::Index | Route::Health | Route::Ready | Route::RateLimit => true,
        Route::Openapi | Route::Docs(_) => true,
        Route::Record(..) | Route::LegacyRecord(..) => true,
        Route::List(_) | Route::LegacyList(_) => false,
        Route::Autocomplete(entity_type) => {
            let entity_type = entity_type.map(|segment| segment.text_in(request.path));
            !handlers::has_several_words(entity_type, request, served)
        }
        Route::Graphql(GraphqlRoute::Schema | GraphqlRoute::Page(_)) => true,
        Route::Graphql(GraphqlRoute::Questions) => refuse_headers(request.headers).is_some(),
    };
    if is_inline { Cost::Inline } else { Cost::Blocking }
}

/// Answers a request from one snapshot.
pub fn run(
    route: Route,
    request: &Request<'_>,
    served: &ServedSnapshot,
    settings: &ServiceSettings,
) -> Result<Reply, ReadError> {
    if served.is_poisoned() && !matches!(route, Route::Health) {
        return Ok(Reply::unavailable());
    }
    let text = |segment: Segment| segment.text_in(request.path);
    Ok(match route {
        Route::Index => handlers::index(served, settings.data_licence.as_deref()),
        Route::Health => handlers::health(served, settings.data_licence.as_deref()),
        Route::Ready => handlers::ready(&served.snapshot),
        Route::RateLimit => handlers::rate_limit(request.admission),
        Route::Autocomplete(entity_type) => {
            handlers::autocomplete(entity_type.map(text), request, served, settings.list_timeout)?
        }
        Route::Openapi => openapi::reply(&served.snapshot, request.headers)?,
        Route::Docs(name) if settings.has_docs => {
            docs::PAGE.reply(name.map(text), request.headers).unwrap_or_else(|| not_found(request))
        }
        Route::Docs(_) => not_found(request),
        Route::Graphql(route) => run_graphql(route, request, served, settings)?,
        Route::List(facts) => handlers::list(facts, request, served, settings.list_timeout)?,
        Route::Record(facts, id) => {
            handlers::record(&handlers::CURRENT, facts, text(id), request, served)?
        }
        Route::LegacyList(legacy) => legacy::list(legacy, request, served, settings.list_timeout)?,
        Route::LegacyRecord(legacy, id) => {
            let facts = legacy.entity.facts();
            handlers::record(&legacy::VARIANT, facts, text(id), request, served)?
        }
    })
}

fn run_graphql(
    route: GraphqlRoute,
    request: &Request<'_>,
    served: &ServedSnapshot,
    settings: &ServiceSettings,
) -> Result<Reply, ReadError> {
    match route {
        GraphqlRoute::Schema => Ok(graphql::schema_reply(request.headers)),
        GraphqlRoute::Page(name) => {
            let page = Some(&graphiql::PAGE).filter(|_| settings.graphql.has_page);
            let name = name.map(|name| name.text_in(request.path));
            let reply = page.and_then(|page| page.reply(name, request.headers));
            Ok(reply.unwrap_or_else(|| not_found(request)))
        }
        GraphqlRoute::Questions => {
            if let Some(refusal) = refuse_headers(request.headers) {
                return Ok(refusal);
            }
            // Every POST to this route has a body, possibly empty.
            let Some(posted) = request.posted else { return Ok(Reply::internal()) };
            let posted = PostedRequest {
                body: posted.text(),
                media_type: MediaType::from_accept(request.headers),
                is_gone: posted.is_client_gone(),
            };
            graphql::reply(&posted, served, &settings.graphql, settings.list_timeout)
        }
    }
}
