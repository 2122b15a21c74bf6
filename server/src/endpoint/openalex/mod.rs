//! `/openalex`: the dialect of api.openalex.org, for scripts and tools that speak it.
//!
//! ```text
//! GET /openalex/works?filter=publication_year:2020,institutions.country_code:fr&cursor=*
//! names    year:2020, authors.countries.code:FR                          names.rs: a table by list
//! query    the query of the interface, with OpenAlex's pages and groups  query.rs
//! page     rows found as for /outputs                                    page.rs
//! record   the stored record, in OpenAlex's members                      record.rs, members.rs
//! ```
//!
//! The dialect has no engine of its own: requests become queries of the interface. A cursor names its snapshot, and
//! [`address::entered`] leads the request to that snapshot, so that a harvest never mixes two.

pub(crate) mod address;
mod complete;
mod members;
mod names;
mod page;
mod query;
mod record;
mod service;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use http::StatusCode;
use pinakes_format::autocomplete::Identifier;
use pinakes_format::entity::Entity;
use pinakes_format::schema::identifier::Scheme;
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_format::storage::error::ReadError;
use serde_json::json;

use crate::admission::gate::Charge;
use crate::admission::limits::{QuotaClass, Verdict};
use crate::endpoint::Endpoint;
use crate::endpoint::call::{Answer, Call, Cost, Failure, Planned, Planning, Thread};
use crate::endpoint::openalex::members::{Member, members};
use crate::endpoint::openalex::names::List;
use crate::endpoint::openalex::query::Request;
use crate::endpoint::openalex::record::{Stored, StoredMembers};
use crate::endpoint::record::SHARED_BYTES_MAX;
use crate::endpoint::resolve::parse as parse_identifier;
use crate::endpoint::service::not_found as unknown_path;
use crate::http::path::{decode, echo};
use crate::reply::detail::Detail;
use crate::reply::{JSON, Reply};

/// The path of the dialect.
pub const ROOT: &str = "/openalex";

pub const TABLES: Endpoint =
    Endpoint { refuse: too_many, ..Endpoint::new(ROOT, Charge::Minute, service::plan) };

pub const COMPLETE: Endpoint = Endpoint {
    refuse: too_many,
    ..Endpoint::new("/openalex/autocomplete", Charge::Daily(QuotaClass::Search), |planning| {
        complete::plan("", planning)
    })
};

pub const COMPLETE_ONE: Endpoint = Endpoint {
    refuse: too_many,
    ..Endpoint::new(
        "/openalex/autocomplete/{name}",
        Charge::Daily(QuotaClass::Search),
        |planning| complete::plan(planning.segment(), planning),
    )
};

pub const LIST: Endpoint = Endpoint {
    refuse: too_many,
    ..Endpoint::new("/openalex/{name}", Charge::Daily(QuotaClass::List), plan_list)
};

pub const RECORD: Endpoint = Endpoint {
    refuse: too_many,
    ..Endpoint::new("/openalex/{identifier}", Charge::Minute, plan_record)
};

/// An error in OpenAlex's shape.
fn refusal(status: StatusCode, error: &str, message: &str) -> Reply {
    let body = json!({ "error": error, "message": message });
    Reply::text(status, JSON, body.to_string().into())
}

/// The reply 429 in OpenAlex's shape.
fn too_many(verdict: Verdict) -> Reply {
    let reply = crate::endpoint::too_many(verdict);
    let message = verdict.message().unwrap_or_default();
    let body = refusal(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests", &message);
    body.with_headers(reply.headers)
}

/// The reply 400 to invalid parameters.
fn bad_query(details: Vec<Detail>) -> Reply {
    let lines: Vec<String> = details
        .iter()
        .map(|Detail { parameter, value, reason }| match value.is_empty() {
            true => format!("{parameter} {reason}"),
            false => format!("{parameter} `{value}` {reason}"),
        })
        .collect();
    refusal(
        StatusCode::BAD_REQUEST,
        "Invalid query parameters error.",
        &format!("{}.", lines.join(". ")),
    )
}

fn not_found(message: &str) -> Reply {
    refusal(StatusCode::NOT_FOUND, "Not Found", message)
}

/// 404 to everything where the operator leaves the dialect out.
fn refuse_absent(call: &Call<'_>) -> Result<(), Reply> {
    match call.site.settings.has_openalex {
        true => Ok(()),
        false => Err(unknown_path(call)),
    }
}

/// The list with a name; of others, why there is none.
fn list_named(name: &str) -> Result<&'static List, Reply> {
    let decoded = decode(name).unwrap_or_default();
    List::named(&decoded).ok_or_else(|| {
        let lists: Vec<&str> = names::LISTS.iter().map(List::name).collect();
        not_found(&format!(
            "`{}` is no list of this snapshot; the lists are {}",
            echo(name),
            lists.join(", ")
        ))
    })
}

fn plan_list(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    refuse_absent(call)?;
    let name = planning.segment();
    if let Some(Identifier::Record(entity, id)) = parse_identifier(name) {
        return plan_identifier(entity, Identifier::Record(entity, id), call);
    }
    let list = list_named(name)?;
    let request = Request::parse(list, call.query, call.snapshot).map_err(bad_query)?;
    Ok(Planned::work(Cost::Large, move |call| page::answer(list, &request, call)))
}

/// Plans a record by any identifier, or at random: the segment is the list's name, a slash and the identifier.
fn plan_record(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    refuse_absent(call)?;
    let (name, raw) = planning.segment().split_once('/').unwrap_or_default();
    let list = list_named(name)?;
    if raw == "random" {
        let members = selection(list.entity, call)?;
        return Ok(Planned::work(Cost::Small, move |call| {
            let row = random_row(list.entity, call.snapshot)?;
            row.map_or_else(
                || Ok(not_found("The snapshot has no record of this list")),
                |row| render(list.entity, row, &members, call).map(Reply::uncached),
            )
        }));
    }
    // Some clients write the label before an address: `doi:https://doi.org/10…`.
    let labelled = || parse_identifier(raw.split_once(':')?.1);
    let found = parse_identifier(raw).or_else(labelled).or_else(|| numbered(list.entity, raw));
    let identifier = found.ok_or_else(|| {
        not_found(&format!("`{}` is no identifier of {}", echo(raw), list.name()))
    })?;
    if let Identifier::External(scheme, _) = &identifier
        && !list.entity.facts().searched_ids.iter().any(|key| Scheme::of_key(key) == *scheme)
    {
        let message = format!("No index finds {} by `{}`", list.name(), echo(raw));
        return Err(not_found(&message));
    }
    plan_identifier(list.entity, identifier, call)
}

/// A bare number, as the taxonomy's nodes have.
fn numbered(entity: Entity, raw: &str) -> Option<Identifier> {
    let is_node = entity.facts().letter.is_none();
    raw.parse().ok().filter(|_| is_node).map(|id| Identifier::Record(entity, id))
}

fn plan_identifier(
    entity: Entity,
    identifier: Identifier,
    call: &Call<'_>,
) -> Result<Planned, Reply> {
    let members = selection(entity, call)?;
    Ok(Planned::unless_current(call, Cost::Small, move |call| {
        let (snapshot, list) = (call.snapshot, List::of(entity));
        if let Identifier::Record(of, id) = identifier
            && of == entity
            && let LookupResult::Merged(into) = snapshot.find(entity, id)?
            && let (LookupResult::Row(_), Some(list)) = (snapshot.find(entity, into)?, list)
        {
            let mut text = Vec::new();
            entity.write_id(into, &mut text);
            let id = String::from_utf8_lossy(&text).replace("HX_", "");
            let query =
                if call.query.is_empty() { String::new() } else { format!("?{}", call.query) };
            let location = format!("{ROOT}/{}/{id}{query}", list.name());
            let message = format!("The record was merged into {id}");
            return Ok(Reply::redirect(StatusCode::MOVED_PERMANENTLY, &location, message));
        }
        let found = identifier.find_rows(snapshot, &[entity])?;
        match found.first().and_then(|(_, rows)| rows.first()) {
            Some(row) => render(entity, *row, &members, call),
            None => Ok(not_found("No record of the snapshot has this identifier")),
        }
    }))
}

/// The members that a request for a record selects.
fn selection(entity: Entity, call: &Call<'_>) -> Result<Vec<&'static Member>, Reply> {
    let Some(list) = List::of(entity) else { return Ok(members(entity).iter().collect()) };
    Request::parse(list, call.query, call.snapshot)
        .map(|request| request.members)
        .map_err(bad_query)
}

fn random_row(entity: Entity, snapshot: &Snapshot) -> Result<Option<u32>, ReadError> {
    let count = u64::from(snapshot.count(entity));
    for _ in 0..100 {
        let random = RandomState::new().build_hasher().finish();
        // Below the count of rows.
        let row = random.checked_rem(count).map(|row| row as u32);
        let Some(row) = row else { return Ok(None) };
        if !snapshot.suppressed().has(entity, row) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn render(entity: Entity, row: u32, members: &[&'static Member], call: &Call<'_>) -> Answer {
    let snapshot = call.snapshot;
    if call.thread == Thread::Shared && snapshot.record_bytes(entity, row)? > SHARED_BYTES_MAX {
        return Err(Failure::WouldWait);
    }
    let mut out = Vec::new();
    let parts = StoredMembers::of_members(entity, members);
    Stored::read(snapshot, entity, row, &parts)?.write(members, &mut out)?;
    Ok(Reply::json(out))
}
