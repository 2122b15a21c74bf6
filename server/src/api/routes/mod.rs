//! The route table: every path there is, and what answers it.

pub(crate) mod template;

use std::{borrow::Cow, sync::Arc, time::Duration};

use http::{HeaderMap, Method, StatusCode, request::Parts};
use pinakes_format::entity::{CATALOG, Facts};
use pinakes_format::record::legacy::{LEGACY, LegacyEntity};
use pinakes_format::storage::error::ReadError;

use crate::admission::gate::{Admission, Charge};
use crate::admission::limits::{Daily, Refusal, Verdict};
use crate::api::{docs, handlers, legacy};
use crate::graphql::options::Settings;
use crate::graphql::request::{MediaType, Posting, refusal};
use crate::graphql::{Place, graphiql};
use crate::http::body::Posted;
use crate::http::path::{SEGMENTS_MAX, Segment, URI_BYTES_MAX, decode, echo_path, segments};
use crate::http::reply::Reply;
use crate::snapshots::library::Served;
use crate::{graphql, openapi};

/// Methods of everything that is read.
pub const READ_METHODS: &str = "GET, HEAD, OPTIONS";
/// Methods of where questions are posted.
const POST_METHODS: &str = "POST, OPTIONS";

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

/// A request, as far as routing and handlers look at it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path as it was sent.
    pub path: &'a str,
    /// What stands after the `?`, as it was sent.
    pub query: &'a str,
    /// Bytes of the two, with what stands between them.
    pub uri_bytes: usize,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// Who asks, and how it stands.
    pub admission: &'a Admission,
    /// What was posted.
    pub posted: Option<&'a Posted>,
}

impl<'a> Request<'a> {
    /// A request that was let through.
    pub fn new(head: &'a Parts, admission: &'a Admission) -> Request<'a> {
        let uri = &head.uri;
        Request {
            method: &head.method,
            path: uri.path(),
            query: uri.query().unwrap_or_default(),
            uri_bytes: uri.path_and_query().map_or(0, |sent| sent.as_str().len()),
            headers: &head.headers,
            admission,
            posted: crate::http::body::of(head).map(|posted| &**posted),
        }
    }
}

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub enum Route {
    /// What the service is.
    Index,
    /// Whether the process lives.
    Health,
    /// Whether it has something to answer from.
    Ready,
    /// How the caller stands with the limits.
    RateLimit,
    /// Candidates of all entities, or of the one whose name was sent.
    Autocomplete(Option<Segment>),
    /// The description of the interface.
    Openapi,
    /// The same as a page, or a part of that by its name.
    Docs(Option<Segment>),
    /// A place of GraphQL.
    Graphql(Place),
    /// A list.
    List(&'static Facts),
    /// A record by its identifier, as it was sent.
    Record(&'static Facts, Segment),
    /// A list of the older variant.
    LegacyList(&'static LegacyEntity),
    /// A record of the older variant, by its identifier as it was sent.
    LegacyRecord(&'static LegacyEntity, Segment),
}

impl Route {
    /// What a request for it counts as.
    pub fn charge(self) -> Charge {
        match self {
            Route::Index | Route::Health | Route::Ready | Route::RateLimit => Charge::Free,
            Route::Openapi | Route::Docs(_) => Charge::Free,
            Route::Graphql(Place::Questions) => Charge::Minute,
            Route::Graphql(Place::Schema | Place::Page(_)) => Charge::Free,
            Route::Autocomplete(_) => Charge::Daily(Daily::Search),
            Route::List(_) | Route::LegacyList(_) => Charge::Daily(Daily::List),
            Route::Record(..) | Route::LegacyRecord(..) => Charge::Minute,
        }
    }

    /// The methods it takes.
    fn methods(self) -> &'static str {
        match self {
            Route::Graphql(Place::Questions) => POST_METHODS,
            _ => READ_METHODS,
        }
    }
}

/// The route of a path; `None` where it leads nowhere.
///
/// Cost: nothing is allocated, unless an escape is decoded. Asked once of each request, by whoever admits it.
pub fn find(path: &str) -> Option<Route> {
    let segments = segments(path)?;
    let mut names: [Cow<'_, str>; SEGMENTS_MAX] = Default::default();
    for (name, segment) in names.iter_mut().zip(segments.iter()) {
        *name = decode(segment).unwrap_or_default();
    }
    let names = names.each_ref().map(|name| &**name);
    let names = &names[..segments.len()];
    let last = || Segment::last_of(path);
    // Compared part by part: an escaped slash separates nothing.
    let of_list = |names: &[&str]| {
        CATALOG.iter().find(|facts| facts.route.split('/').eq(names.iter().copied()))
    };
    let older_list = |names: &[&str]| {
        LEGACY.iter().find(|older| older.route.split('/').eq(names.iter().copied()))
    };
    match names {
        [] => Some(Route::Index),
        ["health"] => Some(Route::Health),
        ["ready"] => Some(Route::Ready),
        ["rate-limit"] => Some(Route::RateLimit),
        ["autocomplete"] => Some(Route::Autocomplete(None)),
        ["autocomplete", _] => Some(Route::Autocomplete(Some(last()))),
        ["openapi.json"] => Some(Route::Openapi),
        ["docs"] => Some(Route::Docs(None)),
        ["docs", _] => Some(Route::Docs(Some(last()))),
        ["graphql"] => Some(Route::Graphql(Place::Questions)),
        ["graphql", "schema"] => Some(Route::Graphql(Place::Schema)),
        ["graphiql"] => Some(Route::Graphql(Place::Page(None))),
        ["graphiql", _] => Some(Route::Graphql(Place::Page(Some(last())))),
        names => {
            if let Some(facts) = of_list(names) {
                return Some(Route::List(facts));
            }
            if let Some(older) = older_list(names) {
                return Some(Route::LegacyList(older));
            }
            let (_, list) = names.split_last()?;
            if let Some(older) = older_list(list) {
                return Some(Route::LegacyRecord(older, last()));
            }
            let facts = of_list(list).filter(|facts| facts.has_single)?;
            Some(Route::Record(facts, last()))
        }
    }
}

/// What a request leads to, or the reply that says why to nothing.
///
/// # Errors
///
/// The reply to a request that no handler answers.
pub fn resolve(request: &Request<'_>) -> Result<Route, Reply> {
    if request.uri_bytes > URI_BYTES_MAX {
        let message = format!("URI exceeds {URI_BYTES_MAX} bytes");
        return Err(Reply::error(StatusCode::URI_TOO_LONG, message));
    }
    let route = request.admission.route.ok_or_else(|| nowhere(request))?;
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
        (Some(Refusal::Minute), Some(Route::LegacyList(_))) => Reply::TooManyBriefly(verdict),
        _ => Reply::TooMany(verdict),
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
    place: Place,
    request: &Request<'_>,
    served: &Served,
    bounds: &Bounds,
    may_wait: bool,
) -> Result<Option<Reply>, ReadError> {
    Ok(Some(match (place, request.posted) {
        (Place::Schema, _) => graphql::schema_reply(request.headers),
        (Place::Page(name), _) if bounds.graphql.has_page => graphiql::PAGE
            .reply(name.map(|name| name.of(request.path)), request.headers)
            .unwrap_or_else(|| nowhere(request)),
        (Place::Page(_), _) => nowhere(request),
        (Place::Questions, Some(posted)) if may_wait => {
            let posting = Posting {
                body: posted.text(),
                media_type: MediaType::accepted(request.headers),
                is_gone: posted.is_gone(),
            };
            graphql::reply(&posting, served, bounds)?
        }
        (Place::Questions, _) => return Ok(refusal(request.headers)),
    }))
}

/// The method as a message shows it: GET for HEAD, which asks for the same.
pub fn method_word(method: &Method) -> &str {
    if *method == Method::HEAD { "GET" } else { method.as_str() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_leads_where_the_interface_says() {
        let check = |path: &str, expected: &str| {
            let found = match find(path) {
                None => "nowhere".to_owned(),
                Some(Route::List(facts)) => format!("list {}", facts.plural),
                Some(Route::Record(facts, id)) => format!("{} {}", facts.singular, id.of(path)),
                Some(Route::LegacyList(older)) => format!("older list {}", older.entity),
                Some(Route::LegacyRecord(older, id)) => {
                    format!("older {} {}", older.entity, id.of(path))
                }
                Some(Route::Docs(Some(part))) => format!("Docs {}", part.of(path)),
                Some(Route::Graphql(Place::Page(Some(part)))) => {
                    format!("Graphql page {}", part.of(path))
                }
                Some(other) => format!("{other:?}"),
            };
            assert_eq!(found, expected, "{path}");
        };
        check("/", "Index");
        check("/health", "Health");
        check("/openapi.json", "Openapi");
        check("/docs/", "Docs(None)");
        check("/docs/page.js", "Docs page.js");
        check("/graphql/", "Graphql(Questions)");
        check("/graphql/schema", "Graphql(Schema)");
        check("/graphiql", "Graphql(Page(None))");
        check("/graphiql/page.js", "Graphql page page.js");
        for facts in &CATALOG {
            check(&format!("/{}", facts.route), &format!("list {}", facts.plural));
        }
        check("/authors/HX_A1", "author HX_A1");
        check("/authors/HX%5FA1/", "author HX%5FA1");
        check("/authors/HX_A1%2F..%2Fetc", "author HX_A1%2F..%2Fetc");
        check("/legacy/topics", "older list topics");
        check("/%6cegacy/domains/", "older list domains");
        check("/legacy/topics/OA%3AT1", "older topics OA%3AT1");
        check("/legacy/domains/x/", "older domains x");
        for path in [
            "/nope",
            "/legacy",
            "/legacy/fields",
            "/legacy/outputs/OA:W1",
            "/legacy/topics/OA:T1/x",
            "/legacy/x",
            "/legacy%2Ftopics",
            "/Legacy/topics",
            "/Authors/HX_A1",
            "/references",
            "/references%2Finstitution-types",
            "/authors%2FHX_A1",
            "/institution-types",
            "/references/institution-types/1",
            "/authors/HX_A1/extra",
            "/authors/../authors/HX_A1",
            "//authors//HX_A1",
            "/.env",
        ] {
            check(path, "nowhere");
        }
    }
}
