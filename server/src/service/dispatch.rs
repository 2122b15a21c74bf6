//! From a routed request to its reply: [`plan`] checks the request once, [`run`] does the work that is left.

use std::{sync::Arc, time::Duration};

use http::{Method, StatusCode};
use pinakes_format::autocomplete::{Completion, Identifier};
use pinakes_format::entity::Facts;
use pinakes_format::query::{Aim, Query};
use pinakes_format::record::legacy::LegacyEntity;
use pinakes_format::schema::keys::Direction;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::waiting;

use crate::admission::gate::StreamCharge;
use crate::admission::limits::{Refusal, Verdict};
use crate::api::changes::{self, Changes, Damaged};
use crate::api::handlers::{Answer, Variant};
use crate::api::list_query::ListRequest;
use crate::api::request::Request;
use crate::api::route::{GraphqlRoute, Route};
use crate::api::work_limits::WorkLimits;
use crate::api::{docs, handlers, legacy, list_query, resolve};
use crate::browse::OtherPages;
use crate::graphql::graphiql;
use crate::graphql::options::Settings;
use crate::graphql::request::{MediaType, PostedRequest, refuse_headers};
use crate::http::head::method_word;
use crate::http::path::{Segment, URI_BYTES_MAX, echo_path};
use crate::http::reply::Reply;
use crate::http::static_page::StaticPage;
use crate::snapshots::manager::{ServedSnapshot, SnapshotManager};
use crate::{browse, graphql, openapi};

/// Options and limits of the service.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// Timeout for finding a page of a list, candidates of autocompletion, or a GraphQL response.
    pub list_timeout: Duration,
    /// Records and candidates that are read from disk concurrently.
    pub disk_reads: usize,
    /// Processor time for finding a page of a list or candidates.
    pub list_cpu: Duration,
    /// Memory for replies that clients have not taken.
    pub reply_memory_bytes: usize,
    /// Time for a client to take a reply.
    pub reply_timeout: Duration,
    /// Limits of a GraphQL operation.
    pub graphql: Settings,
    /// Whether the documentation page exists.
    pub has_docs: bool,
    /// Whether the pages for people exist.
    pub has_browse: bool,
    /// Log lines per second of refused requests and of requests that no limit counts.
    pub refused_lines: u32,
    /// Whether a content delivery network keeps the replies of named snapshots.
    pub is_behind_network: bool,
    /// Licence of the data, shown by `/` and `/health`; `None` shows the licence that the snapshot records.
    pub data_licence: Option<Arc<str>>,
}

impl ServiceSettings {
    /// The pages that pages for people link to.
    pub fn other_pages(&self) -> OtherPages {
        OtherPages { docs: self.has_docs, graphiql: self.graphql.has_page }
    }
}

/// How much work a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// At most one record, or one word's candidates: a permit to read from disk suffices.
    Small,
    /// Perhaps hundreds of records, or a request with a body: needs a work permit.
    Large,
}

/// A valid request whose reply needs the snapshot.
pub enum Job {
    /// The OpenAPI document, with examples from the snapshot.
    Openapi,
    /// A record, by an identifier that is also given as sent.
    Record { variant: &'static Variant, facts: &'static Facts, id: u64, raw_id: Segment },
    /// The record with an identifier, which is also given as sent.
    Resolve { identifier: Identifier, raw: Segment },
    /// A page of a list or of its groups, its statistics, or the whole list as a stream.
    List(ListRequest),
    /// The same of the list of the records that a record refers to, or that refer to it.
    Linked {
        facts: &'static Facts,
        id: u64,
        raw_id: Segment,
        direction: Direction,
        list: ListRequest,
    },
    /// A page of a legacy list, or its groups.
    LegacyList(&'static LegacyEntity, Query),
    /// The candidates for a typed text.
    Autocomplete(Completion),
    /// The changes since another snapshot.
    Changes(Changes),
    /// A page for people.
    Browse(browse::Page),
    /// An operation of GraphQL, which the body of the request holds, and the media type of its answer.
    Graphql(MediaType),
}

/// The most rows of an entity whose lists, and completions of several words, are tried on a thread that reads
/// requests: 64 containers of rows to intersect. On two cores, lists of 1,000,000 outputs were answered 1.4 times as fast there.
const HASTY_ROWS_MAX: u32 = 64 << 16;

impl Job {
    /// Whether the thread that read the request tries to do the work. While the disk is busy, asking for each
    /// byte of a list whether it is in memory takes longer than the list.
    pub fn is_tried_at_once(&self, snapshot: &Snapshot) -> bool {
        match self {
            Job::List(ListRequest { query, format })
            | Job::Linked { list: ListRequest { query, format }, .. } => {
                let is_short = snapshot.count(query.entity) <= HASTY_ROWS_MAX;
                let is_page = matches!(query.aim, Aim::List) && format.is_none();
                let is_in_row_order = query.sort.is_empty() && query.sample.is_none();
                is_page && is_short && is_in_row_order && !waiting::is_disk_busy()
            }
            Job::Autocomplete(completion) if self.cost() == Cost::Large => {
                let rows: u64 = completion
                    .entities()
                    .iter()
                    .map(|entity| u64::from(snapshot.count(*entity)))
                    .sum();
                rows <= u64::from(HASTY_ROWS_MAX) && !waiting::is_disk_busy()
            }
            _ => self.cost() == Cost::Small,
        }
    }

    /// How much work the request is. The index holds the candidates of one word of autocomplete; several
    /// words intersect the records of each word.
    pub fn cost(&self) -> Cost {
        match self {
            Job::Openapi | Job::Record { .. } | Job::Resolve { .. } => Cost::Small,
            Job::Autocomplete(completion) if !completion.has_several_words() => Cost::Small,
            Job::Autocomplete(_) | Job::List(_) | Job::Linked { .. } => Cost::Large,
            Job::LegacyList(..) | Job::Graphql(_) | Job::Browse(_) | Job::Changes(_) => Cost::Large,
        }
    }
}

/// Routes a request, and parses and validates its parameters. Reads nothing of the snapshot's files.
///
/// # Errors
///
/// The finished reply to a request that needs no work: an invalid request, a client that has the current
/// reply, a page of the server itself, or any request while the snapshot is unusable.
pub fn plan(
    route: Option<Route>,
    request: &Request<'_>,
    served: &ServedSnapshot,
    snapshots: &SnapshotManager,
    settings: &ServiceSettings,
) -> Result<Job, Reply> {
    let route = resolve(request, route)?;
    if served.is_poisoned() && !matches!(route, Route::Health | Route::RateLimit) {
        return Err(Reply::unavailable());
    }
    let text = |segment: Segment| segment.text_in(request.path);
    let page = |page: &StaticPage, is_enabled: bool, name: Option<Segment>| {
        let reply = is_enabled.then(|| page.reply(name.map(text), request.headers)).flatten();
        Err(reply.unwrap_or_else(|| not_found(request)))
    };
    match route {
        Route::Index if settings.has_browse && browse::is_for_people(request.headers) => {
            Err(browse::redirect())
        }
        Route::Index => Err(handlers::index(served, settings.data_licence.as_deref())),
        Route::Health => Err(handlers::health(served, settings.data_licence.as_deref())),
        Route::Ready => Err(handlers::ready(&served.snapshot)),
        Route::RateLimit => Err(handlers::rate_limit(request.admission)),
        Route::Openapi => Ok(Job::Openapi),
        Route::Robots => Err(browse::robots(request.headers)),
        Route::Browse(_) if !settings.has_browse => Err(not_found(request)),
        Route::Browse(route) => {
            let licence = settings.data_licence.as_deref();
            let page = browse::plan(route, request, served, (settings.other_pages(), licence))?;
            page.map(Job::Browse).ok_or_else(|| not_found(request))
        }
        Route::Docs(name) => page(&docs::PAGE, settings.has_docs, name),
        Route::Record(facts, raw_id) => plan_record(&handlers::CURRENT, facts, raw_id, request),
        Route::LegacyRecord(legacy, raw_id) => {
            plan_record(&legacy::VARIANT, legacy.entity.facts(), raw_id, request)
        }
        Route::Resolve(raw) => match resolve::parse(text(raw)) {
            Some(identifier) => Ok(Job::Resolve { identifier, raw }),
            None => Err(resolve::not_found(text(raw))),
        },
        Route::List(facts) => {
            let list = list_query::parse(facts.entity, request.query).map_err(Reply::BadQuery)?;
            unless_current(Job::List(list), request, served)
        }
        Route::Statistics(facts) => {
            let query = list_query::parse_statistics(facts.entity, request.query);
            let list = ListRequest { query: query.map_err(Reply::BadQuery)?, format: None };
            unless_current(Job::List(list), request, served)
        }
        Route::Linked(facts, raw_id, direction) => {
            let id = handlers::parse_id(&handlers::CURRENT, facts, text(raw_id))?;
            let list = list_query::parse(facts.entity, request.query).map_err(Reply::BadQuery)?;
            Ok(Job::Linked { facts, id, raw_id, direction, list })
        }
        Route::Changes => {
            let query = changes::parse(request.query).map_err(Reply::BadQuery)?;
            let since = snapshots.named(&query.since);
            let since = since.ok_or_else(|| not_open(StatusCode::NOT_FOUND, &query.since))?;
            unless_current(Job::Changes(Changes { since, query }), request, served)
        }
        Route::LegacyList(legacy) => {
            let query = legacy::parse(legacy, request.query).map_err(Reply::BadQuery)?;
            unless_current(Job::LegacyList(legacy, query), request, served)
        }
        Route::Autocomplete(entity_type) => {
            let completion = handlers::parse_autocomplete(entity_type.map(text), request.query)?;
            unless_current(Job::Autocomplete(completion), request, served)
        }
        Route::Graphql(GraphqlRoute::Schema) => Err(graphql::schema_reply(request.headers)),
        Route::Graphql(GraphqlRoute::Page(name)) => {
            page(&graphiql::PAGE, settings.graphql.has_page, name)
        }
        Route::Graphql(GraphqlRoute::Questions) => match refuse_headers(request.headers) {
            Some(refusal) => Err(refusal),
            None => Ok(Job::Graphql(MediaType::from_accept(request.headers))),
        },
    }
}

fn plan_record(
    variant: &'static Variant,
    facts: &'static Facts,
    raw_id: Segment,
    request: &Request<'_>,
) -> Result<Job, Reply> {
    let id = handlers::parse_id(variant, facts, raw_id.text_in(request.path))?;
    Ok(Job::Record { variant, facts, id, raw_id })
}

/// Returns the job, or the reply 304 to a client that has the current reply.
fn unless_current(job: Job, request: &Request<'_>, served: &ServedSnapshot) -> Result<Job, Reply> {
    match served.reply_headers().matching_coding(request.headers) {
        Some(coding) => Err(Reply::NotModified(coding)),
        None => Ok(job),
    }
}

/// Does the work of a request on one snapshot, or on two for their changes.
///
/// # Errors
///
/// The snapshot that is damaged.
pub fn run(
    job: &Job,
    request: &Request<'_>,
    served: &Arc<ServedSnapshot>,
    settings: &ServiceSettings,
) -> Result<Reply, Damaged> {
    if served.is_poisoned() {
        return Ok(Reply::unavailable());
    }
    let (snapshot, timeout) = (&served.snapshot, settings.list_timeout);
    let limits = WorkLimits { timeout, cpu: settings.list_cpu };
    let answer: Answer = match job {
        Job::Changes(changes) => return changes.run(request, served, limits),
        Job::Openapi => openapi::reply(snapshot, request.headers),
        Job::Record { variant, facts, id, raw_id } => {
            let raw_id = raw_id.text_in(request.path);
            handlers::record(variant, facts, (*id, raw_id), request, served)
        }
        Job::Resolve { identifier, raw } => {
            let raw = raw.text_in(request.path);
            resolve::resolve(identifier, raw, request, snapshot, limits)
        }
        Job::List(list) => {
            let name = list.query.entity.facts().plural;
            handlers::list(list, name, request, snapshot, limits)
        }
        Job::Linked { facts, id, raw_id, direction, list } => {
            let ids = (*id, raw_id.text_in(request.path));
            handlers::linked(facts, ids, (*direction, list), request, (served, limits))
        }
        Job::LegacyList(legacy, query) => legacy::list(legacy, query, request, snapshot, limits),
        Job::Autocomplete(completion) => {
            handlers::autocomplete(completion, request, snapshot, limits)
        }
        Job::Browse(page) => browse::run(page, request, served, (limits, settings.other_pages())),
        Job::Graphql(media_type) => {
            // Every POST to this route has a body, possibly empty.
            let Some(posted) = request.posted else { return Ok(Reply::internal()) };
            let posted = PostedRequest {
                body: posted.text(),
                media_type: *media_type,
                is_gone: posted.is_client_gone(),
            };
            graphql::reply(&posted, served, &settings.graphql, timeout)
        }
    };
    answer.map_err(|error| Damaged { snapshot: Arc::clone(served), error })
}

/// Checks the length of the URI and the method, and returns the route.
///
/// # Errors
///
/// The reply to a request that no handler answers: 404, 405, 414, or the reply to `OPTIONS`.
fn resolve(request: &Request<'_>, route: Option<Route>) -> Result<Route, Reply> {
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

/// The reply to an unknown path.
fn not_found(request: &Request<'_>) -> Reply {
    let message =
        format!("Cannot {} {}", method_word(request.method), echo_path(request.sent_path));
    Reply::error(StatusCode::NOT_FOUND, message)
}

/// The reply to a request that names a snapshot which is not open, or not any more.
pub fn not_open(status: StatusCode, id: &str) -> Reply {
    Reply::error(status, format!("Snapshot {id} is not served here, or not any more"))
}

/// The 429 reply to a stream of a whole list that a limit refused.
pub fn refused_stream(charge: &StreamCharge) -> Reply {
    Reply::TooMany {
        message: charge.message(),
        retry_seconds: charge.verdict.reset_seconds(),
        reset_at: Some(charge.verdict.reset_at()),
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
