//! The handlers of the current routes: each turns a request into a reply.

use std::{net::IpAddr, time::Instant};

use bytes::Bytes;
use chrono::Utc;
use http::StatusCode;
use pinakes_format::autocomplete;
use pinakes_format::autocomplete::{Candidates, Completion, ENTITIES};
use pinakes_format::entity::{CATALOG, Entity, Facts, IdFormat};
use pinakes_format::json::render::{Page, Shape};
use pinakes_format::query::{Aim, Query, QueryError};
use pinakes_format::schema::keys::Direction;
use pinakes_format::snapshot::{LookupResult, RenderRow, Snapshot};
use pinakes_format::storage::error::ReadError;
use pinakes_format::storage::waiting::is_hasty;
use pinakes_format::text::json;
use serde::Serialize;

use crate::admission::gate::Admission;
use crate::admission::limits::{Quota, Quotas};
use crate::api::autocomplete_query;
use crate::api::autocomplete_query::TextError;
use crate::api::list_query::ListRequest;
use crate::api::list_stream::{ListRows, StreamFormat};
use crate::api::page_rows::{PageRows, PageStream, WHOLE_BYTES_MAX};
use crate::api::request::Request;
use crate::api::resolve;
use crate::api::sums;
use crate::api::work_limits::WorkLimits;
use crate::event_counts::{OVERLOADS, Overload};
use crate::http::parameters::Detail;
use crate::http::path::{decode, echo};
use crate::http::pieces::ListStream;
use crate::http::reply::Reply;
use crate::snapshots::health::HealthIssue;
use crate::snapshots::manager::ServedSnapshot;

/// Capacity of a record's buffer at the start; most records fit.
const RECORD_CAPACITY_BYTES: usize = 8 << 10;
/// Capacity of a list page's buffer at the start.
const LIST_CAPACITY_BYTES: usize = 256 << 10;
/// Capacity of the buffer for ten candidates at the start.
const CANDIDATES_CAPACITY_BYTES: usize = 4 << 10;

/// Stored size of the records up to which a thread that reads requests renders them: a page of 25 outputs.
const HASTY_BYTES_MAX: usize = 128 << 10;

/// Links of `/`, besides the lists.
const SERVICE_LINKS: [(&str, &str); 6] = [
    ("autocomplete", "/autocomplete?query="),
    ("resolve", "/resolve/"),
    ("graphql", "/graphql/schema"),
    ("rate-limit", "/rate-limit"),
    ("openapi", "/openapi.json"),
    ("docs", "/docs"),
];

/// The version of the interface, which changes apart from the program.
const INTERFACE_VERSION: &str = "1.0";

/// The message for an autocomplete request without a text.
pub const QUERY_REQUIRED: &str = "Query parameter 'query' is required";
/// The message for an identifier without its prefix.
pub const PREFIX_REQUIRED: &str = "Only HX_ prefixed IDs are allowed";

/// A reply, or the damage of the snapshot.
pub(crate) type Answer = Result<Reply, ReadError>;

fn json_reply(value: &serde_json::Value) -> Reply {
    Reply::Json { body: Bytes::from(value.to_string()), is_cacheable: false }
}

/// `/`: the service, its snapshot, the filters of a subset, and links.
pub fn index(served: &ServedSnapshot, data_licence: Option<&str>) -> Reply {
    let snapshot = &served.snapshot;
    let manifest = snapshot.manifest();
    let counts: serde_json::Map<String, serde_json::Value> = CATALOG
        .iter()
        .map(|facts| (facts.plural.to_owned(), snapshot.visible_count(facts.entity).into()))
        .collect();
    let lists = CATALOG.iter().map(|facts| (facts.plural, format!("/{}", facts.route)));
    let links: serde_json::Map<String, serde_json::Value> = lists
        .chain(SERVICE_LINKS.map(|(name, path)| (name, path.to_owned())))
        .map(|(name, path)| (name.to_owned(), path.into()))
        .collect();
    let mut index = serde_json::json!({
        "service": "pinakes",
        "version": env!("CARGO_PKG_VERSION"),
        "interface_version": INTERFACE_VERSION,
        "snapshot_id": manifest.id,
        "newest_updated_date": manifest.source.newest_updated_date,
        "data_licence": served.freshness.licence(data_licence),
        "counts": counts,
        "links": links,
    });
    if let Some(selection) = &manifest.selection {
        index["selection"] = serde_json::json!(selection.filters);
    }
    // Only the number: a list of names would disclose the suppressed records.
    let suppressed =
        manifest.suppressed.values().sum::<u64>() + snapshot.suppressed().records() as u64;
    if suppressed > 0 {
        index["suppressed"] = suppressed.into();
    }
    json_reply(&index)
}

/// `/health`: the snapshot and the current issues; the most serious issue is the status.
pub fn health(served: &ServedSnapshot, data_licence: Option<&str>) -> Reply {
    let manifest = served.snapshot.manifest();
    let now = Utc::now();
    let troubles: Vec<&str> =
        served.health_issues(now).into_iter().map(HealthIssue::name).collect();
    let mut health = serde_json::json!({
        "status": troubles.first().unwrap_or(&"ok"),
        "troubles": troubles,
        "snapshot_id": manifest.id,
        "newest_updated_date": manifest.source.newest_updated_date,
        "data_licence": served.freshness.licence(data_licence),
    });
    if let Some(expired) = served.freshness.expired_at(now) {
        health["expired"] = expired.into();
    }
    json_reply(&health)
}

/// `/ready`: the server has a snapshot to serve.
pub fn ready(snapshot: &Snapshot) -> Reply {
    json_reply(&serde_json::json!({ "status": "ready", "snapshot_id": snapshot.manifest().id }))
}

/// `/rate-limit`: the client's use of the limits; null for a client without limits.
pub fn rate_limit(admission: &Admission) -> Reply {
    let status = RateLimit {
        ip: admission.client.address,
        minute_rate_limit: admission.quotas.map(|quotas| quotas.minute.into()),
        daily_quota: admission.quotas.map(|Quotas { daily: [list, search], .. }| DailyQuotaJson {
            list_filter: list.into(),
            search: search.into(),
        }),
    };
    // Serializing strings and numbers cannot fail.
    let body = serde_json::to_vec(&status).unwrap_or_default();
    Reply::Json { body: Bytes::from(body), is_cacheable: false }
}

/// The body of `/rate-limit`.
#[derive(Serialize)]
struct RateLimit {
    ip: IpAddr,
    minute_rate_limit: Option<QuotaJson>,
    daily_quota: Option<DailyQuotaJson>,
}

#[derive(Serialize)]
struct DailyQuotaJson {
    list_filter: QuotaJson,
    search: QuotaJson,
}

#[derive(Serialize)]
struct QuotaJson {
    limit: u32,
    remaining: u32,
    reset_seconds: u64,
}

impl From<Quota> for QuotaJson {
    fn from(quota: Quota) -> QuotaJson {
        QuotaJson {
            limit: quota.limit,
            remaining: quota.remaining,
            reset_seconds: quota.reset_seconds(),
        }
    }
}

/// A page of a list or of its groups, its statistics, or the whole list as a stream. Browsers save a stream
/// under a name.
pub fn list(
    list: &ListRequest,
    name: &str,
    request: &Request<'_>,
    snapshot: &Snapshot,
    limits: WorkLimits,
) -> Answer {
    let query = &list.query;
    if let Some(format) = list.format {
        return stream((query, format), name, request, snapshot, limits);
    }
    let begun = Instant::now();
    let time = limits.time();
    let summed = match &query.aim {
        Aim::List => None,
        Aim::Groups(grouping) => Some(
            limits
                .run(|deadline| query.groups(grouping, snapshot, (deadline, time)))
                .map(|groups| sums::render_groups(query, grouping, &groups, snapshot)),
        ),
        Aim::Statistics(keys) => Some(
            limits
                .run(|deadline| query.statistics(keys, snapshot, (deadline, time)))
                .map(|statistics| sums::render_statistics(&statistics, snapshot)),
        ),
    };
    if let Some(summed) = summed {
        let micros = begun.elapsed().as_micros() as u64;
        tracing::debug!(micros, "list summed up");
        return match summed {
            Ok(body) => Ok(Reply::Json { body: body?.into(), is_cacheable: true }),
            Err(error) => query_error_reply(error, request),
        };
    }
    let answer = match limits.run(|deadline| query.execute(snapshot, deadline)) {
        Ok(answer) => answer,
        Err(error) => return query_error_reply(error, request),
    };
    let micros = begun.elapsed().as_micros() as u64;
    // `?` escapes the plan, which quotes the client's filter.
    tracing::debug!(micros, plan = ?answer.plan.to_string(), "list answered");
    render_list(query, answer.count, answer.rows, snapshot)
}

/// A whole list in a format.
fn stream(
    (query, format): (&Query, StreamFormat),
    name: &str,
    request: &Request<'_>,
    snapshot: &Snapshot,
    limits: WorkLimits,
) -> Answer {
    match ListRows::begin(query, format, limits, snapshot) {
        Ok((rows, records)) => {
            tracing::debug!(records, format = format.name(), "list streamed");
            let (media_type, file_name) =
                (format.media_type(), format!("{name}.{}", format.name()));
            let list = ListStream { records, media_type, file_name };
            Ok(Reply::list_stream(Box::new(rows), list))
        }
        Err(error) => query_error_reply(error, request),
    }
}

/// A page of the list of the records that a record leads to in a direction of the citation graph. The
/// record's identifier is also given as sent.
pub fn linked(
    facts: &'static Facts,
    (id, raw_id): (u64, &str),
    (direction, list): (Direction, &ListRequest),
    request: &Request<'_>,
    (served, limits): (&ServedSnapshot, WorkLimits),
) -> Answer {
    let snapshot = &served.snapshot;
    match end_of_chain(snapshot, facts.entity, id)? {
        LookupResult::Absent => Ok(record_not_found(facts, raw_id)),
        LookupResult::Merged(into) => {
            let suffix = format!("/{}", direction.name());
            Ok(moved(&CURRENT, facts, raw_id, (into, &suffix), request))
        }
        LookupResult::Row(_) => {
            if let Some(coding) = served.reply_headers().matching_coding(request.headers) {
                return Ok(Reply::NotModified(coding));
            }
            let mut list = list.clone();
            list.query.follow(direction, id);
            let mut name = Vec::new();
            facts.entity.write_id(id, &mut name);
            let name = format!("{}-{}", String::from_utf8_lossy(&name), direction.name());
            self::list(&list, &name, request, snapshot, limits)
        }
    }
}

/// The reply 503 to a query that reached a limit of its work, or 400 to one that would; passes on the damage of a snapshot.
pub(crate) fn query_error_reply(error: QueryError, request: &Request<'_>) -> Answer {
    match error {
        QueryError::Damaged(error) => Err(error),
        QueryError::Refused { parameter, error } => {
            Ok(Reply::BadQuery(vec![Detail::new(parameter, &error.text, error.reason)]))
        }
        QueryError::Deadline if is_hasty() => Err(ReadError::WouldWait),
        QueryError::Deadline => {
            OVERLOADS.count(Overload::Deadline);
            tracing::warn!(
                path = ?request.path,
                query = ?request.query,
                "a query reached --list-timeout or --list-cpu; answering 503"
            );
            Ok(Reply::unavailable())
        }
    }
}

/// The entities that autocomplete accepts as `entity_type`.
pub fn completed_entities() -> impl Iterator<Item = &'static Facts> {
    CATALOG.iter().filter(|facts| facts.letter.is_some())
}

/// The candidates for a typed text.
///
/// Cost: one look-up for one word; several words are intersected as the expressions of a filter are.
pub fn autocomplete(
    completion: &Completion,
    request: &Request<'_>,
    snapshot: &Snapshot,
    limits: WorkLimits,
) -> Answer {
    let begun = Instant::now();
    match limits.run(|deadline| completion.execute(snapshot, deadline)) {
        Ok(found) => {
            let micros = begun.elapsed().as_micros() as u64;
            tracing::debug!(micros, count = found.count, "completed");
            let body = render_candidates(&found, snapshot)?;
            Ok(Reply::Json { body, is_cacheable: true })
        }
        Err(error) => query_error_reply(error, request),
    }
}

/// The entities that autocomplete searches: the entity whose list has this name, or all without a name.
pub fn parse_entity_type(name: Option<&str>) -> Result<Vec<Entity>, Detail> {
    let Some(name) = name else { return Ok(ENTITIES.to_vec()) };
    let facts = completed_entities().find(|facts| facts.route == name).ok_or_else(|| {
        let known: Vec<&str> = completed_entities().map(|facts| facts.route).collect();
        Detail::new("entity_type", name, format!("must be one of {}", known.join(", ")))
    })?;
    Ok(vec![facts.entity])
}

/// Parses the entities and the text of an autocomplete request; the error is the reply 400.
pub fn parse_autocomplete(entity_type: Option<&str>, query: &str) -> Result<Completion, Reply> {
    let name = entity_type.map(|raw| decode(raw).unwrap_or_default());
    let entities = parse_entity_type(name.as_deref()).map_err(|detail| {
        let value = entity_type.map(echo).unwrap_or_default();
        Reply::BadQuery(vec![Detail::new(&detail.parameter, &value, detail.reason)])
    })?;
    let text = autocomplete_query::parse(query).map_err(|error| match error {
        TextError::Missing => Reply::error(StatusCode::BAD_REQUEST, QUERY_REQUIRED),
        TextError::Invalid(details) => Reply::BadQuery(details),
    })?;
    Ok(Completion::new(entities, &text))
}

/// Renders a page of candidates.
pub(crate) fn render_candidates(
    found: &Candidates,
    snapshot: &Snapshot,
) -> Result<Bytes, ReadError> {
    let mut body = Vec::with_capacity(CANDIDATES_CAPACITY_BYTES);
    body.extend_from_slice(b"{\"meta\":{\"count\":");
    json::unsigned(&mut body, found.count);
    body.extend_from_slice(b"},\"results\":[");
    for (at, candidate) in found.best.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        autocomplete::render(snapshot, candidate.entity, candidate.row, &mut body)?;
    }
    body.extend_from_slice(b"]}");
    Ok(Bytes::from(body))
}

fn render_list(query: &Query, count: u64, rows: Vec<u32>, snapshot: &Snapshot) -> Answer {
    let mut opening = b"{\"meta\":{\"count\":".to_vec();
    json::unsigned(&mut opening, count);
    opening.extend_from_slice(b",\"page\":");
    json::unsigned(&mut opening, u64::from(query.page.get()));
    opening.extend_from_slice(b",\"per_page\":");
    json::unsigned(&mut opening, u64::from(query.per_page));
    opening.extend_from_slice(b"},\"results\":[");
    let rows = PageRows::new(&CURRENT, (query.entity, rows), b"]}");
    render_rows(rows.selecting(query.select.clone()), &opening, snapshot)
}

/// Renders a page after its opening text: whole, or to be sent in pieces if the page is long.
pub(crate) fn render_rows(mut rows: PageRows, opening: &[u8], snapshot: &Snapshot) -> Answer {
    if is_hasty() && rows.stored_bytes(snapshot)? > HASTY_BYTES_MAX {
        return Err(ReadError::WouldWait);
    }
    let mut text = Vec::with_capacity(LIST_CAPACITY_BYTES);
    text.extend_from_slice(opening);
    rows.render(snapshot, &mut text, WHOLE_BYTES_MAX)?;
    // A slow client does not keep the spare capacity allocated.
    text.shrink_to_fit();
    match rows.is_done() {
        true => Ok(Reply::Json { body: text.into(), is_cacheable: true }),
        // Further pieces need permits.
        false if is_hasty() => Err(ReadError::WouldWait),
        false => Ok(Reply::streamed(Box::new(PageStream::new(rows, text)))),
    }
}

/// The paths, identifiers and shapes of records in one variant of the interface.
pub struct Variant {
    /// The prefix of the variant's paths.
    pub root: &'static str,
    pub spelling: IdFormat,
    pub render: RenderRow,
}

/// The variant without a path prefix.
pub const CURRENT: Variant =
    Variant { root: "", spelling: IdFormat::CURRENT, render: Snapshot::render };

/// Parses the identifier of a record; the error is the reply 400 without the prefix, or 404 to text that
/// is the identifier of no record.
pub fn parse_id(variant: &Variant, facts: &Facts, raw_id: &str) -> Result<u64, Reply> {
    let decoded = decode(raw_id);
    let text = decoded.as_deref().unwrap_or(raw_id);
    let prefix = variant.spelling.prefix(facts.entity);
    if !text.starts_with(prefix) {
        let message = format!("Only {prefix} prefixed IDs are allowed");
        let has_detail = variant.root.is_empty() && resolve::is_foreign(raw_id);
        return Err(match has_detail {
            true => Reply::BadId { message, details: vec![resolve::detail(raw_id)] },
            false => Reply::error(StatusCode::BAD_REQUEST, message),
        });
    }
    variant.spelling.parse(facts.entity, text).ok_or_else(|| record_not_found(facts, raw_id))
}

/// 404 to an identifier of no record.
pub(crate) fn record_not_found(facts: &Facts, raw_id: &str) -> Reply {
    let message = format!("{} with ID {} not found", facts.label, echo(raw_id));
    Reply::error(StatusCode::NOT_FOUND, message)
}

/// One record by its identifier, which is also given as sent; 301 for an identifier that was merged into
/// another.
pub fn record(
    variant: &Variant,
    facts: &Facts,
    (id, raw_id): (u64, &str),
    request: &Request<'_>,
    served: &ServedSnapshot,
) -> Answer {
    let snapshot = &served.snapshot;
    match end_of_chain(snapshot, facts.entity, id)? {
        LookupResult::Absent => Ok(record_not_found(facts, raw_id)),
        LookupResult::Merged(into) => Ok(moved(variant, facts, raw_id, (into, ""), request)),
        LookupResult::Row(row) => {
            if let Some(coding) = served.reply_headers().matching_coding(request.headers) {
                return Ok(Reply::NotModified(coding));
            }
            if is_hasty() && snapshot.record_bytes(facts.entity, row)? > HASTY_BYTES_MAX {
                return Err(ReadError::WouldWait);
            }
            let mut page = Page::new(snapshot, Shape::Single);
            page.out.reserve(RECORD_CAPACITY_BYTES);
            (variant.render)(snapshot, facts.entity, row, &mut page)?;
            page.out.shrink_to(RECORD_CAPACITY_BYTES);
            Ok(Reply::Json { body: page.out.into(), is_cacheable: true })
        }
    }
}

/// Finds an identifier. An identifier that was merged into one without a record counts as absent.
pub fn end_of_chain(
    snapshot: &Snapshot,
    entity: Entity,
    id: u64,
) -> Result<LookupResult, ReadError> {
    let found = snapshot.find(entity, id)?;
    let LookupResult::Merged(into) = found else { return Ok(found) };
    let is_record = matches!(snapshot.find(entity, into)?, LookupResult::Row(_));
    Ok(if is_record { found } else { LookupResult::Absent })
}

/// The reply 301 to an identifier that was merged into another. A suffix may follow the identifier in the
/// path.
pub(crate) fn moved(
    variant: &Variant,
    facts: &Facts,
    raw_id: &str,
    (into, suffix): (u64, &str),
    request: &Request<'_>,
) -> Reply {
    let mut id = Vec::new();
    variant.spelling.write(facts.entity, into, &mut id);
    let id = String::from_utf8_lossy(&id);
    let query =
        if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
    Reply::Redirect {
        status: StatusCode::MOVED_PERMANENTLY,
        location: format!("{}/{}/{id}{suffix}{query}", variant.root, facts.route),
        message: format!("{} with ID {} was merged into {id}", facts.label, echo(raw_id)),
        vary: None,
    }
}
