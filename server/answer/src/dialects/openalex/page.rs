//! A page of a list, or of its groups, in OpenAlex's frame.

use std::num::NonZeroU32;
use std::time::Duration;

use pinakes_format::query::{
    ALL_RECORDS_MIN, Group, GroupValue, Grouping, Groups, Query, ResultKind,
};
use pinakes_format::record::keyword_id;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use serde_json::{Value, json};

use crate::define::{Answer, Call, Failure};
use crate::dialects::openalex::names::{CONTINENTS, List, Reads};
use crate::dialects::openalex::query::{Cursor, Request};
use crate::dialects::openalex::record::{stored_members, write};
use crate::dialects::openalex::stored::{PageParts, Stored};
use crate::dialects::openalex::values::{ADDRESS, address_of, read_json};
use crate::list::groups::count_groups;
use crate::list::page;
use crate::list::page::write_summary;
use crate::list::rows::PageRows;
use crate::list::values::{display_name, render_value};
use crate::reply::Reply;

/// The name and the value of the group of records without a value.
const UNKNOWN: &str = "unknown";

pub fn answer(list: &'static List, request: &Request, call: &Call<'_>) -> Answer {
    let begun = call.now();
    let query = request.resolved(call.snapshot)?;
    if let ResultKind::Groups(grouping) = &query.result_kind {
        return groups(&query, grouping, request, begun, call);
    }
    let found = call.limits().run(|deadline| query.execute(call.snapshot, deadline))?;
    let place = Place { begun, count: found.count, on_page: found.rows.len(), groups: None };
    let mut meta = meta(request, &query, &place, call);
    if let Some(lenient) = &request.lenient
        && let Some(search) = found_besides(request, lenient, found.count, call)?
    {
        meta["search"] = search;
    }
    let opening = format!("{{\"meta\":{meta},\"results\":[");
    let members = request.members.clone();
    let parts = stored_members(list.entity, &members);
    let page = PageParts::default();
    let write_row = move |snapshot: &Snapshot, row: u32, out: &mut Vec<u8>| {
        let stored = Stored::read(snapshot, list.entity, row, &parts, &page)?;
        write(&stored, &members, out)?;
        stored.end();
        Ok(())
    };
    let scores = found.scores.filter(|_| request.has_score);
    let rows =
        PageRows::written(list.entity, found.rows, Box::new(write_row), b"],\"group_by\":[]}");
    // The time that a query took differs from reply to reply.
    page::render(rows.with_scores(scores), opening.as_bytes(), call).map(Reply::uncached)
}

/// The summary and the count of the same search in the interface, which corrects words and lists records with most words where
/// few have all. `None` if it finds the same records.
fn found_besides(
    request: &Request,
    lenient: &Query,
    count: u64,
    call: &Call<'_>,
) -> Result<Option<Value>, Failure> {
    if count >= ALL_RECORDS_MIN {
        return Ok(None);
    }
    let mut query = request.resolve(lenient, call.snapshot)?;
    (query.page, query.per_page) = (NonZeroU32::MIN, 1);
    let found = call.limits().run(|deadline| query.execute(call.snapshot, deadline))?;
    let Some(summary) = found.search.filter(|_| found.count > count) else { return Ok(None) };
    let mut text = Vec::new();
    write_summary(&summary, &mut text);
    let mut search: Value = read_json(&text)?;
    search["count"] = found.count.into();
    Ok(Some(search))
}

/// Where a page is among all.
pub struct Place {
    pub begun: Duration,
    /// Matching records.
    pub count: u64,
    /// Records or groups of the page.
    pub on_page: usize,
    /// All groups, if groups are counted.
    pub groups: Option<u64>,
}

/// The summary of a page.
pub fn meta(request: &Request, query: &Query, place: &Place, call: &Call<'_>) -> Value {
    let page = match request.is_by_cursor {
        true => Value::Null,
        false => query.page.get().into(),
    };
    let mut meta = json!({
        "count": (place.count),
        "db_response_time_ms": (call.micros_since(place.begun) / 1_000),
        "page": page,
        "per_page": (query.per_page),
        "groups_count": (place.groups),
    });
    if request.is_by_cursor {
        let end = query.first_position() + place.on_page as u64;
        let is_last = end >= place.groups.unwrap_or(total(query, place));
        let next = (!is_last).then(|| Cursor::text(&call.snapshot.manifest().id, end));
        meta["next_cursor"] = next.into();
    }
    meta
}

/// The records that all pages have together.
fn total(query: &Query, place: &Place) -> u64 {
    query.sample.map_or(place.count, |sample| place.count.min(sample.records.into()))
}

fn groups(
    query: &Query,
    grouping: &Grouping,
    request: &Request,
    begun: Duration,
    call: &Call<'_>,
) -> Answer {
    let groups = count_groups(query, grouping, call)?;
    let on_page = groups.page.len();
    let place = Place { begun, count: groups.count, on_page, groups: Some(groups.total) };
    let named = named_groups(&groups, request, call.snapshot)?;
    let made: Vec<Value> = named
        .into_iter()
        .map(|(key, name, count)| json!({ "key": key, "key_display_name": name, "count": count }))
        .collect();
    let meta = meta(request, query, &place, call);
    let body = json!({ "meta": meta, "results": [], "group_by": made });
    Ok(Reply::json(body.to_string()).uncached())
}

/// The key, the name and the count of each group.
pub fn named_groups(
    groups: &Groups,
    request: &Request,
    snapshot: &Snapshot,
) -> Result<Vec<(String, String, u64)>, ReadError> {
    let named = |group: &Group| {
        let value = group.values.first().unwrap_or(&GroupValue::Null);
        let (key, name) = (key_of(value, snapshot)?, display_name(value, snapshot)?);
        let name = name.map_or_else(|| key.clone(), |name| name.into_owned());
        let (key, name) = printed(request.group_reads, key, name);
        Ok((key, name, group.count))
    };
    groups.page.iter().map(named).collect()
}

/// The key and the name of a group, as OpenAlex prints those of some keys.
fn printed(reads: Reads, key: String, name: String) -> (String, String) {
    if key == UNKNOWN {
        return (key, name);
    }
    match reads {
        Reads::Continent => match CONTINENTS.iter().find(|(own, ..)| *own == key) {
            Some((_, number, name)) => {
                (format!("{ADDRESS}continents/{number}"), (*name).to_owned())
            }
            None => (key, name),
        },
        Reads::Keyword => (format!("{ADDRESS}keywords/{}", keyword_id(&name)), name),
        Reads::NameOf(_) => (name.clone(), name),
        Reads::Concept => (format!("{ADDRESS}C{key}"), format!("C{key}")),
        _ => (key, name),
    }
}

/// A value as OpenAlex prints it, which is always a text.
fn key_of(value: &GroupValue, snapshot: &Snapshot) -> Result<String, ReadError> {
    let mut text = Vec::new();
    match value {
        GroupValue::Null => return Ok(UNKNOWN.to_owned()),
        GroupValue::Record { entity, id, .. } if entity.facts().letter.is_none() => {
            let level = List::of(*entity).map_or("", List::name);
            return Ok(format!("{}{level}/{id}", ADDRESS));
        }
        value => render_value(value, snapshot, &mut text)?,
    }
    let text = String::from_utf8_lossy(&text);
    let text = text.trim_matches('"');
    Ok(match value {
        GroupValue::Record { .. } => address_of(text),
        // Ids that need no record, of awards and data sets.
        GroupValue::Text(_) if text.starts_with("HX_") => address_of(text),
        _ => text.to_owned(),
    })
}
