//! The groups beside a list: how many of the listed records have each value of a few keys.

use std::num::NonZeroU32;

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::query::{Deadline, Group, GroupValue, Query, QueryError, ResultKind};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

use crate::endpoint::browse::address::{Address, quoted};
use crate::endpoint::browse::labels::{label, thousands};
use crate::endpoint::browse::tables;
use crate::endpoint::groups::display_name;
use crate::endpoint::work_limits::WorkLimits;

/// Groups that a key shows.
const GROUPS_SHOWN: u32 = 8;
/// Width of the bar of the largest group, in units of the drawing.
const BAR_WIDTH: u64 = 200;
/// The groups of one key may take this share of the time of a list.
const TIME_SHARE: u32 = 4;

/// The groups of one key.
#[derive(Debug)]
pub struct KeyGroups {
    pub heading: String,
    pub bars: Vec<Bar>,
    /// Groups that are not shown.
    pub left_out: u64,
}

/// One group.
#[derive(Debug)]
pub struct Bar {
    /// The list of the group's records; `None` where no filter selects them, or the filter does already.
    pub href: Option<String>,
    pub name: String,
    pub count: String,
    pub width: u64,
}

/// Counts the groups of the keys that the table names. Groups that would take too long are left out.
///
/// # Errors
///
/// If the snapshot is damaged.
pub fn groups(
    query: &Query,
    address: &Address,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
    limits: WorkLimits,
) -> Result<Vec<KeyGroups>, ReadError> {
    let mut found = Vec::new();
    for key in tables::of(query.entity).groups.iter().copied() {
        let mut query = Query { page: NonZeroU32::MIN, per_page: GROUPS_SHOWN, ..query.clone() };
        let Ok(()) = query.set_group_by(key) else { continue };
        let ResultKind::Groups(grouping) = &query.result_kind else { continue };
        let groups = query.groups(grouping, snapshot, deadline, limits.time() / TIME_SHARE);
        let groups = match groups {
            Ok(groups) => groups,
            Err(QueryError::Refused { .. }) => continue,
            Err(QueryError::Deadline) => break,
            Err(QueryError::Damaged(error)) => return Err(error),
        };
        let largest = groups.page.iter().map(|group| group.count).max().unwrap_or(0).max(1);
        let bars: Result<Vec<Bar>, ReadError> =
            groups.page.iter().map(|group| bar(group, key, largest, address, snapshot)).collect();
        let bars = bars?;
        let left_out = groups.total - bars.len() as u64;
        // One group of everything tells nothing.
        if bars.len() > 1 || left_out > 0 {
            found.push(KeyGroups { heading: label(key), bars, left_out });
        }
    }
    Ok(found)
}

fn bar(
    group: &Group,
    key: &str,
    largest: u64,
    address: &Address,
    snapshot: &Snapshot,
) -> Result<Bar, ReadError> {
    let [value] = &group.values[..] else { return Err(ReadError::Internal("a group has one key")) };
    let expression = operand(value, snapshot)?.map(|operand| format!("{key}:{operand}"));
    let expression = expression.filter(|expression| !address.filters.contains(expression));
    let name = match (value, display_name(value, snapshot)?) {
        (GroupValue::Null, _) => "not known".to_owned(),
        (GroupValue::Boolean(true), _) => "yes".to_owned(),
        (GroupValue::Boolean(false), _) => "no".to_owned(),
        (GroupValue::Record { entity, id, .. }, None) => id_text(*entity, *id),
        (_, name) => name.map(String::from).unwrap_or_default(),
    };
    Ok(Bar {
        href: expression.map(|expression| address.with(expression).page_url()),
        name,
        count: thousands(i64::try_from(group.count).unwrap_or(i64::MAX)),
        width: (group.count * BAR_WIDTH).div_ceil(largest),
    })
}

/// The value of a group as a filter spells it; `None` of a reference without an id.
fn operand(value: &GroupValue, snapshot: &Snapshot) -> Result<Option<String>, ReadError> {
    Ok(Some(match value {
        GroupValue::Null => "null".to_owned(),
        GroupValue::Boolean(value) => value.to_string(),
        GroupValue::Integer(value) => quoted(&value.to_string()),
        GroupValue::Record { id: NO_ID, .. } => return Ok(None),
        GroupValue::Record { entity, id, .. } => id_text(*entity, *id),
        GroupValue::Code(code) => quoted(snapshot.code(*code)?),
        GroupValue::Text(text) => quoted(text),
    }))
}

/// The text of an id.
pub fn id_text(entity: Entity, id: u64) -> String {
    let mut text = Vec::new();
    entity.write_id(id, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
