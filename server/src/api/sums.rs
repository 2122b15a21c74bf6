//! Renders what sums up a list: groups and statistics.

use std::borrow::Cow;

use pinakes_format::query::{
    Group, GroupValue, Grouping, Groups, KeyStatistics, Number, OutputStatistics, Query,
    Statistics, Summary,
};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use pinakes_format::text::json;

/// The members of a group for each of its keys: the value, and the name that people know it by.
pub const GROUP_MEMBERS: [[&str; 2]; 2] =
    [["key", "key_display_name"], ["key2", "key2_display_name"]];

/// Renders a page of groups, in the frame of a list's page.
pub fn render_groups(
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
    out.extend_from_slice(b"},\"results\":[],\"group_by\":[");
    for (at, group) in groups.page.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        render_group(group, grouping.keys(), snapshot, &mut out)?;
    }
    out.extend_from_slice(b"]}");
    Ok(out)
}

fn render_group(
    group: &Group,
    keys: usize,
    snapshot: &Snapshot,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    out.push(b'{');
    for ([key, name], value) in GROUP_MEMBERS.iter().take(keys).zip(&group.values) {
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
    out.push(b'}');
    Ok(())
}

/// Appends a value as records print it; an id as references print it, which is always a text.
fn render_value(
    value: &GroupValue,
    snapshot: &Snapshot,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    match value {
        GroupValue::Null => out.extend_from_slice(b"null"),
        GroupValue::Boolean(value) => out.extend_from_slice(value.to_string().as_bytes()),
        GroupValue::Integer(value) => json::signed(out, *value),
        GroupValue::Record { entity, id, .. } => {
            out.push(b'"');
            entity.write_id(*id, out);
            out.push(b'"');
        }
        GroupValue::Code(code) => json::string(out, snapshot.code(*code)?),
        GroupValue::Text(text) => json::string(out, text),
    }
    Ok(())
}

/// Appends the name that people know a value by; null of an unresolved reference without a name.
fn render_name(
    value: &GroupValue,
    snapshot: &Snapshot,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    match display_name(value, snapshot)? {
        Some(name) => json::string(out, &name),
        None => out.extend_from_slice(b"null"),
    }
    Ok(())
}

/// The name that people know a value by; `None` of null, and of an unresolved reference without a name.
pub fn display_name<'v>(
    value: &'v GroupValue,
    snapshot: &'v Snapshot,
) -> Result<Option<Cow<'v, str>>, ReadError> {
    Ok(match value {
        GroupValue::Null => None,
        GroupValue::Boolean(value) => Some(value.to_string().into()),
        GroupValue::Integer(value) => Some(value.to_string().into()),
        GroupValue::Record { entity, row, .. } => {
            // An entity that no other refers to keeps its names in the records alone.
            let name = match entity.facts().is_referenced {
                true => snapshot.name_of_id(*entity, *row)?,
                false if snapshot.suppressed().has(*entity, *row) => None,
                false if *row < snapshot.count(*entity) => snapshot.name(*entity, *row)?,
                false => None,
            };
            name.map(Cow::Borrowed)
        }
        GroupValue::Code(code) => {
            let name = snapshot.code_name(*code)?;
            Some(name.unwrap_or(snapshot.code(*code)?).into())
        }
        GroupValue::Text(text) => Some(text.into()),
    })
}

/// Renders the statistics of a list.
pub fn render_statistics(
    statistics: &Statistics,
    snapshot: &Snapshot,
) -> Result<Vec<u8>, ReadError> {
    let mut out = b"{\"count\":".to_vec();
    json::unsigned(&mut out, statistics.count);
    out.extend_from_slice(b",\"of\":{");
    for (at, of) in statistics.of.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        render_key(of, &mut out);
    }
    out.push(b'}');
    if let Some(outputs) = &statistics.outputs {
        render_outputs(outputs, statistics.count, snapshot, &mut out)?;
    }
    out.push(b'}');
    Ok(out)
}

fn render_key(of: &KeyStatistics, out: &mut Vec<u8>) {
    json::string(out, of.key);
    out.extend_from_slice(b":{\"count\":");
    json::unsigned(out, of.count);
    out.extend_from_slice(b",\"null\":");
    json::unsigned(out, of.null);
    let summary = of.summary.as_ref();
    let mut member = |name: &str, value: Option<Number>| {
        out.push(b',');
        json::string(out, name);
        out.push(b':');
        render_number(value, out);
    };
    let fraction = |value: fn(&Summary) -> f64| summary.map(|of| Number::Fraction(value(of)));
    member("sum", summary.map(|of| of.sum));
    member("mean", fraction(|of| of.mean));
    member("min", summary.map(|of| of.min));
    member("max", summary.map(|of| of.max));
    out.extend_from_slice(b",\"quartiles\":[");
    for at in 0..3 {
        if at > 0 {
            out.push(b',');
        }
        render_number(summary.map(|of| Number::Fraction(of.quartiles[at])), out);
    }
    out.push(b']');
    let mut member = |name: &str, value: Option<Number>| {
        out.push(b',');
        json::string(out, name);
        out.push(b':');
        render_number(value, out);
    };
    member("p90", fraction(|of| of.p90));
    member("p99", fraction(|of| of.p99));
    out.push(b'}');
}

fn render_number(number: Option<Number>, out: &mut Vec<u8>) {
    match number {
        None => out.extend_from_slice(b"null"),
        Some(Number::Integer(value)) => out.extend_from_slice(value.to_string().as_bytes()),
        Some(Number::Fraction(value)) => json::number(out, value),
    }
}

fn render_outputs(
    outputs: &OutputStatistics,
    count: u64,
    snapshot: &Snapshot,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    let indexes = [
        (",\"h_index\":", outputs.h_index),
        (",\"i10_index\":", outputs.i10_index),
        (",\"g_index\":", outputs.g_index),
    ];
    for (member, number) in indexes {
        out.extend_from_slice(member.as_bytes());
        json::unsigned(out, number);
    }
    out.extend_from_slice(b",\"open_access\":[");
    for (at, (status, outputs)) in outputs.open_access.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b",{\"oa_status\":" } else { b"{\"oa_status\":" });
        render_value(status, snapshot, out)?;
        out.extend_from_slice(b",\"count\":");
        json::unsigned(out, *outputs);
        out.extend_from_slice(b",\"share\":");
        json::number(out, *outputs as f64 / count as f64);
        out.push(b'}');
    }
    out.extend_from_slice(b"],\"by_year\":[");
    for (at, (year, outputs)) in outputs.by_year.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b",{\"year\":" } else { b"{\"year\":" });
        match year {
            Some(year) => json::signed(out, *year),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"count\":");
        json::unsigned(out, *outputs);
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}
