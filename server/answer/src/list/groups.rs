//! The groups of a list: how many of the matching records have each value of one or two keys.

use pinakes_format::query::{
    GROUP_MEASURES, Group, GroupNumbers, GroupValue, Grouping, Groups, Query, QueryError,
};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;
use serde_json::{Map, Value, json};

use crate::define::{Answer, Call};
use crate::list::values::{display_name, render_number, render_value};
use crate::openapi::{Schemas, add_optional, count, object, object_of, or_null, page_meta, text};
use crate::reply::Reply;

/// The members of a group for each of its keys: the value, and the name that people know it by.
pub const MEMBERS: [[&str; 2]; 2] = [["key", "key_display_name"], ["key2", "key2_display_name"]];

/// Counts the groups of a list, and renders a page of them.
pub fn answer(query: &Query, grouping: &Grouping, call: &Call<'_>) -> Answer {
    let groups = count_groups(query, grouping, call)?;
    Ok(Reply::json(render(query, grouping, &groups, call.snapshot)?))
}

/// Counts the groups of a list.
pub fn count_groups(
    query: &Query,
    grouping: &Grouping,
    call: &Call<'_>,
) -> Result<Groups, QueryError> {
    let (limits, begun) = (call.limits(), call.now());
    let time = limits.time();
    let groups = limits.run(|deadline| query.groups(grouping, call.snapshot, deadline, time))?;
    let micros = call.micros_since(begun);
    tracing::debug!(micros, groups = groups.total, "groups counted");
    Ok(groups)
}

/// Renders a page of groups, in the frame of a list's page.
fn render(
    query: &Query,
    grouping: &Grouping,
    groups: &Groups,
    snapshot: &Snapshot,
) -> Result<Vec<u8>, ReadError> {
    let mut out = Vec::new();
    let numbers = [
        ("{\"meta\":{\"count\":", groups.count),
        (",\"groups_count\":", groups.total),
        (",\"page\":", query.page.get().into()),
        (",\"per_page\":", query.per_page.into()),
    ];
    for (member, number) in numbers {
        out.extend_from_slice(member.as_bytes());
        json::unsigned(&mut out, number);
    }
    out.extend_from_slice(b"},\"results\":[],\"group_by\":");
    let keys = grouping.keys();
    json::try_list(&mut out, &groups.page, |group, out| render_group(group, keys, snapshot, out))?;
    out.push(b'}');
    Ok(out)
}

/// Appends a group as JSON.
pub fn render_group(
    group: &Group,
    keys: usize,
    snapshot: &Snapshot,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    out.push(b'{');
    for ([key, name], value) in MEMBERS.iter().take(keys).zip(&group.values) {
        json::string(out, key);
        out.push(b':');
        render_value(value, snapshot, out)?;
        out.push(b',');
        json::string(out, name);
        out.push(b':');
        render_name(value, snapshot, out)?;
        out.push(b',');
    }
    out.extend_from_slice(b"\"count\":");
    json::unsigned(out, group.count);
    for (at, of) in group.of.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b",\"of\":{" } else { b"," });
        render_numbers(of, out);
    }
    out.extend_from_slice(if group.of.is_empty() { b"}" } else { b"}}" });
    Ok(())
}

fn render_numbers(of: &GroupNumbers, out: &mut Vec<u8>) {
    json::string(out, of.key);
    out.extend_from_slice(b":{\"count\":");
    json::unsigned(out, of.count);
    out.extend_from_slice(b",\"null\":");
    json::unsigned(out, of.null);
    for (at, name) in GROUP_MEASURES.iter().enumerate() {
        out.push(b',');
        json::string(out, name);
        out.push(b':');
        render_number(of.numbers.map(|numbers| numbers[at]), out);
    }
    out.push(b'}');
}

/// Appends the name that people know a value by; null of an unresolved reference without a name.
fn render_name(
    value: &GroupValue,
    snapshot: &Snapshot,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    json::string_or_null(out, display_name(value, snapshot)?.as_deref());
    Ok(())
}

/// Describes a page of groups.
pub fn describe_page(schemas: &mut Schemas) -> Value {
    schemas.define("GroupPage", |schemas| {
        let meta = schemas
            .define("GroupPageMeta", |_| page_meta(&["count", "groups_count", "page", "per_page"]));
        let group = schemas.define("Group", |_| describe_group());
        let mut members = Map::new();
        members.insert("meta".into(), meta);
        members.insert(
            "results".into(),
            json!({ "description": "Empty.", "type": "array", "maxItems": 0, "items": {} }),
        );
        members.insert("group_by".into(), json!({ "type": "array", "items": group }));
        object("A page of the groups of a list.", members)
    })
}

fn describe_group() -> Value {
    let value = json!({ "type": ["string", "integer", "boolean", "null"] });
    let name = || or_null(text());
    let mut group = object_of(
        "The matching records with the same values.",
        [
            ("key", "The value, as records show it; null of records without.", value.clone()),
            ("key_display_name", "The name of the value.", name()),
            ("count", "Number of records in the group.", count()),
        ],
    );
    let second = [
        ("key2", "The value of the second key.", value),
        ("key2_display_name", "The name of the second value.", name()),
    ];
    add_optional(&mut group, second);
    let number = || json!({ "type": ["number", "null"] });
    let numbers = object_of(
        "The numbers of one key of `of`; null where no record of the group has one.",
        [
            ("count", "Records of the group with a number.", count()),
            ("null", "Records of the group without a number.", count()),
            ("sum", "The sum of the numbers.", number()),
            ("mean", "The sum divided by the number of numbers.", number()),
            ("median", "The median, interpolated.", number()),
        ],
    );
    let of = json!({ "type": "object", "additionalProperties": numbers });
    add_optional(&mut group, [("of", "The numbers of each key of `of`.", of)]);
    group
}
