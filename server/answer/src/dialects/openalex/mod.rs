//! `/openalex`: the dialect of api.openalex.org, for scripts and tools that speak it.
//!
//! ```text
//! GET /openalex/works?filter=publication_year:2020,institutions.country_code:fr&cursor=*
//! names    year:2020, authors.countries.code:FR                          names.rs: a table by list
//! query    the query of the interface, with OpenAlex's pages and groups  query.rs, filter_text.rs
//! page     rows found as for /outputs                                    page.rs
//! record   the stored record, in OpenAlex's members                      record.rs, members.rs, composed.rs, stored.rs
//! ```
//!
//! The dialect has no engine of its own: requests become queries of the interface. A cursor names its snapshot, and
//! [`address::entered`] leads the request to that snapshot, so that a harvest never mixes two.

pub(crate) mod address;

mod complete;
mod composed;
mod errors;
mod filter_text;
mod members;
mod names;
mod page;
mod query;
mod record;
mod small_filter;
mod small_lists;
mod stored;
mod tape;
mod values;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use http::StatusCode;
use pinakes_format::autocomplete::Identifier;
use pinakes_format::entity::Entity;
use pinakes_format::query::Grouping;
use pinakes_format::schema::{Scheme, keys_of_openalex};
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_format::storage::ReadError;
use serde_json::{Map, Value, json};

use crate::define::charge::QuotaClass;
use crate::define::{Answer, Call, Charge, Cost, Endpoint, Failure, Planned, Planning, Thread};
use crate::dialects::openalex::errors::{absent, in_dialect, list_named, refuse_absent};
use crate::dialects::openalex::members::{Member, members};
use crate::dialects::openalex::names::{LISTS, List, ROOT, SmallList};
use crate::dialects::openalex::query::Request;
use crate::dialects::openalex::record::{stored_members, write};
use crate::dialects::openalex::stored::{PageParts, Stored};
use crate::record::resolve::parse as parse_identifier;
use crate::record::single::SHARED_BYTES_MAX;
use crate::reply::Reply;
use crate::request::path::echo;

pub const TABLES: Endpoint =
    Endpoint { errors: in_dialect, ..Endpoint::new(ROOT, Charge::Minute, plan_tables) };

pub const COMPLETE: Endpoint = Endpoint {
    errors: in_dialect,
    ..Endpoint::new("/openalex/autocomplete", Charge::Daily(QuotaClass::Search), |planning| {
        complete::plan("", planning)
    })
};

pub const COMPLETE_ONE: Endpoint = Endpoint {
    errors: in_dialect,
    ..Endpoint::new(
        "/openalex/autocomplete/{name}",
        Charge::Daily(QuotaClass::Search),
        |planning| complete::plan(planning.segment(), planning),
    )
};

pub const LIST: Endpoint = Endpoint {
    errors: in_dialect,
    ..Endpoint::new("/openalex/{name}", Charge::Daily(QuotaClass::List), plan_list)
};

pub const RECORD: Endpoint = Endpoint {
    errors: in_dialect,
    ..Endpoint::new("/openalex/{identifier}", Charge::Minute, plan_record)
};

fn plan_list(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    refuse_absent(call)?;
    let name = planning.segment();
    if let Some(Identifier::Record(entity, id)) = parse_identifier(name) {
        return plan_identifier(entity, Identifier::Record(entity, id), call);
    }
    if let Some(small) = SmallList::named(name) {
        return small.plan(call);
    }
    let list = list_named(name)?;
    let request = Request::parse(list, call.query, call.snapshot).map_err(Reply::bad_query)?;
    Ok(Planned::work(Cost::Large, move |call| page::answer(list, &request, call)))
}

/// Plans a record by any identifier, or at random: the segment is the list's name, a slash and the identifier.
fn plan_record(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    refuse_absent(call)?;
    let (name, raw) = planning.segment().split_once('/').unwrap_or_default();
    if let Some(small) = SmallList::named(name) {
        return small.plan_one(raw, call);
    }
    let list = list_named(name)?;
    if raw == "random" {
        let members = selection(list.entity, call)?;
        return Ok(Planned::work(Cost::Small, move |call| {
            let row = random_row(list.entity, call.snapshot)?;
            row.map_or_else(
                || Ok(absent("The snapshot has no record of this list")),
                |row| render(list.entity, row, &members, call).map(Reply::uncached),
            )
        }));
    }
    // Some clients write the label before an address: `doi:https://doi.org/10…`.
    let labelled = || parse_identifier(raw.split_once(':')?.1);
    let found = parse_identifier(raw).or_else(labelled).or_else(|| numbered(list.entity, raw));
    let identifier = found
        .ok_or_else(|| absent(format!("`{}` is no identifier of {}", echo(raw), list.name())))?;
    if let Identifier::External(scheme, _) = &identifier
        && !list.entity.facts().searched_ids.iter().any(|key| Scheme::of_key(key) == *scheme)
    {
        let message = format!("No index finds {} by `{}`", list.name(), echo(raw));
        return Err(absent(message));
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
            let id = entity.id_text(into).replace("HX_", "");
            let query =
                if call.query.is_empty() { String::new() } else { format!("?{}", call.query) };
            let location = format!("{ROOT}/{}/{id}{query}", list.name());
            let message = format!("The record was merged into {id}");
            return Ok(Reply::redirect(StatusCode::MOVED_PERMANENTLY, &location, message));
        }
        for spelling in identifier.spellings() {
            let found = spelling.find_rows(snapshot, &[entity])?;
            if let Some(row) = found.first().and_then(|(_, rows)| rows.first()) {
                return render(entity, *row, &members, call);
            }
        }
        Ok(absent("No record of the snapshot has this identifier"))
    }))
}

/// The members that a request for a record selects.
fn selection(entity: Entity, call: &Call<'_>) -> Result<Vec<&'static Member>, Reply> {
    let Some(list) = List::of(entity) else { return Ok(members(entity).iter().collect()) };
    Request::parse(list, call.query, call.snapshot)
        .map(|request| request.members)
        .map_err(Reply::bad_query)
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
    let parts = stored_members(entity, members);
    let page = PageParts::default();
    write(&Stored::read(snapshot, entity, row, &parts, &page)?, members, &mut out)?;
    Ok(Reply::json(out))
}

fn plan_tables(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    refuse_absent(call)?;
    let lists: Map<String, Value> =
        LISTS.iter().map(|list| (list.name().to_owned(), describe(list))).collect();
    let snapshot = &call.snapshot.manifest().id;
    let tables = json!({ "snapshot": snapshot, "guide": "/docs/API.md", "lists": lists });
    Ok(Planned::Reply(call.not_modified().unwrap_or_else(|| Reply::json(tables.to_string()))))
}

/// The names that a list takes, each with the key of the interface that it stands for.
fn describe(list: &'static List) -> Value {
    let keys = keys_of_openalex(list.entity);
    let named = |keys: &mut dyn Iterator<Item = &'static str>| -> Map<String, Value> {
        keys.flat_map(|key| list.names(key).into_iter().map(move |name| (name, key)))
            .map(|(name, key)| (name.to_owned(), key.into()))
            .collect()
    };
    let refused: Map<String, Value> =
        list.refusals().map(|(name, reason)| (name.to_owned(), reason.into())).collect();
    let shown: Vec<&str> = members(list.entity).iter().map(|member| member.name).collect();
    json!({
        "filter": (named(&mut keys.filters())),
        "sort": (named(&mut keys.sorts())),
        "group_by": (named(&mut Grouping::key_names(keys))),
        "select": shown,
        "refused": refused,
    })
}
