//! The route table: every path there is, and what answers it.

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
use crate::snapshots::library::Served;
use crate::{graphql, openapi};

/// How far answers may go.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// How long finding a page of a list, candidates, or an answer to GraphQL may take.
    pub list_timeout: Duration,
    /// What a question of GraphQL may come to.
    pub graphql: Settings,
    /// Whether there is a page of documentation.
    pub has_docs: bool,
    /// What the data may be used under, as `/` and `/health` tell it; `None` for what the snapshot says.
    pub data_licence: Option<Arc<str>>,
}

/// What a request leads to, or the reply that says why to nothing.
///
/// # Errors
///
/// The reply to a request that no handler answers.
pub fn resolve(request: &Request<'_>, route: Option<Route>) -> Result<Route, Reply> {
    if request.uri_bytes > URI_BYTES_MAX {
        let message = format!("URI exceeds {URI_BYTES_MAX} bytes");
        return Err(Reply::error(StatusCode::URI_TOO_LONG, message));
    }
    let route = route.ok_or_else(|| nowhere(request))?;
    let allow = route.methods();
    match *request.method {
        Method::OPTIONS => Err(Reply::Options { allow }),
        ref method if allow.split(", ").any(|known| known == method.as_str()) => Ok(route),
        _ => Err(Reply::method_not_allowed(allow)),
    }
}

/// The reply to a request that a limit refused. Lists of the older variant say so in few words.
pub fn refused(route: Option<Route>, verdict: Verdict) -> Reply {
    match (verdict.refusal, route) {
        (Some(Refusal::Minute), Some(Route::LegacyList(_))) => {
            let limit = verdict.standing.minute.limit;
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

/// The reply to a path that leads nowhere.
fn nowhere(request: &Request<'_>) -> Reply {
    let message = format!("Cannot {} {}", method_word(request.method), echo_path(request.path));
    Reply::error(StatusCode::NOT_FOUND, message)
}

/// Answers a request from one snapshot; `None` where that might take a while, and must not: it would
/// hold up others.
///
/// # Errors
///
/// Where the snapshot proved damaged.
pub fn run(
    route: Route,
    request: &Request<'_>,
    served: &Served,
    bounds: &Bounds,
    may_wait: bool,
) -> Result<Option<Reply>, ReadError> {
    if served.is_poisoned() && !matches!(route, Route::Health) {
        return Ok(Some(Reply::unavailable()));
    }
    let text = |segment: Segment| segment.of(request.path);
    Ok(Some(match route {
        Route::Index => handlers::index(served, bounds.data_licence.as_deref()),
        Route::Health => handlers::health(served, bounds.data_licence.as_deref()),
        Route::Ready => handlers::ready(&served.snapshot),
        Route::RateLimit => handlers::rate_limit(request.admission),
        Route::Autocomplete(entity_type) => {
            return handlers::autocomplete(
                entity_type.map(text),
                request,
                served,
                bounds.list_timeout,
                may_wait,
            );
        }
        Route::Openapi => openapi::reply(&served.snapshot, request.headers)?,
        Route::Docs(name) if bounds.has_docs => {
            docs::PAGE.reply(name.map(text), request.headers).unwrap_or_else(|| nowhere(request))
        }
        Route::Docs(_) => nowhere(request),
        Route::Graphql(place) => return graphql_at(place, request, served, bounds, may_wait),
        Route::List(_) | Route::LegacyList(_) if !may_wait => return Ok(None),
        Route::List(facts) => handlers::list(facts, request, served, bounds.list_timeout)?,
        Route::Record(facts, id) => {
            handlers::record(&handlers::CURRENT, facts, text(id), request, served)?
        }
        Route::LegacyList(older) => legacy::list(older, request, served, bounds.list_timeout)?,
        Route::LegacyRecord(older, id) => {
            let facts = older.entity.facts();
            handlers::record(&legacy::VARIANT, facts, text(id), request, served)?
        }
    }))
}

/// The same of a place of GraphQL.
fn graphql_at(
    place: GraphqlRoute,
    request: &Request<'_>,
    served: &Served,
    bounds: &Bounds,
    may_wait: bool,
) -> Result<Option<Reply>, ReadError> {
    Ok(Some(match (place, request.posted) {
        (GraphqlRoute::Schema, _) => graphql::schema_reply(request.headers),
        (GraphqlRoute::Page(name), _) if bounds.graphql.has_page => graphiql::PAGE
            .reply(name.map(|name| name.of(request.path)), request.headers)
            .unwrap_or_else(|| nowhere(request)),
        (GraphqlRoute::Page(_), _) => nowhere(request),
        (GraphqlRoute::Questions, Some(posted)) if may_wait => {
            let posted = PostedRequest {
                body: posted.text(),
                media_type: MediaType::from_accept(request.headers),
                is_gone: posted.is_gone(),
            };
            graphql::reply(&posted, served, &bounds.graphql, bounds.list_timeout)?
        }
        (GraphqlRoute::Questions, _) => return Ok(refuse_headers(request.headers)),
    }))
}
