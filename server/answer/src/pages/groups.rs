//! The groups beside a list: how many of the listed records have each value of a few keys.

use std::{cmp::Reverse, num::NonZeroU32};

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::query::{Deadline, Group, GroupValue, Query, QueryError, ResultKind};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::define::WorkLimits;
use crate::list::values::display_name;
use crate::pages::address::{Address, quoted};
use crate::pages::labels::{label, thousands};

/// Groups of a key that are counted: choices of a form, of which a page shows a few as bars.
const GROUPS_COUNTED: u32 = 40;
/// Groups of a key that the reader opened.
const GROUPS_OPENED: u32 = 200;
/// Groups that a key shows.
const GROUPS_SHOWN: usize = 8;
/// Width of the bar of the largest group, in units of the drawing.
const BAR_WIDTH: u64 = 200;
/// The groups of one key may take this share of the time of a list.
const TIME_SHARE: u32 = 4;
/// The key whose groups stand in the order of time.
const YEAR: &str = "year";

/// The groups of one key.
#[derive(Debug)]
pub struct KeyGroups {
    pub key: &'static str,
    pub heading: String,
    pub bars: Vec<Bar>,
    /// Groups that are not shown, and the page that shows them.
    pub left_out: u64,
    pub more: String,
}

/// One group.
#[derive(Debug)]
pub struct Bar {
    /// The list of the group's records; `None` where no filter selects them, or the filter does already.
    pub href: Option<String>,
    /// The value as a filter spells it; `None` of a reference without an id.
    pub value: Option<String>,
    pub name: String,
    pub count: String,
    pub width: u64,
}

impl KeyGroups {
    /// Leaves so many groups as a page shows of a key that is not opened.
    pub fn shorten(&mut self) {
        self.left_out += self.bars.len().saturating_sub(GROUPS_SHOWN) as u64;
        self.bars.truncate(GROUPS_SHOWN);
    }

    /// Whether the groups say something: one group of everything tells nothing.
    pub fn is_telling(&self) -> bool {
        self.bars.len() > 1 || self.left_out > 0
    }
}

/// Counts the groups of a list by each of some keys; of the opened key, more groups. Groups that would take too long
/// are left out.
pub fn groups(
    query: &Query,
    keys: impl Iterator<Item = &'static str>,
    opened: Option<&str>,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
    limits: WorkLimits,
) -> Result<Vec<KeyGroups>, ReadError> {
    let address = Address::new(query);
    let mut found = Vec::new();
    for key in keys {
        // Years are sorted by time after they were counted.
        let most = if key == YEAR || opened == Some(key) { GROUPS_OPENED } else { GROUPS_COUNTED };
        let mut query = Query { page: NonZeroU32::MIN, per_page: most, ..query.clone() };
        let Ok(()) = query.set_group_by(key) else { continue };
        let ResultKind::Groups(grouping) = &query.result_kind else { continue };
        let groups = query.groups(grouping, snapshot, deadline, limits.time() / TIME_SHARE);
        let mut groups = match groups {
            Ok(groups) => groups,
            Err(QueryError::Refused { .. }) => continue,
            Err(QueryError::Deadline) => break,
            // On a mirror, the groups of all keys are fetched together.
            Err(QueryError::Damaged(error)) => {
                snapshot.or_noted(Err::<(), _>(error))?;
                continue;
            }
        };
        if key == YEAR {
            let year = |group: &Group| match group.values.first() {
                Some(GroupValue::Integer(year)) => *year,
                _ => i64::MIN,
            };
            groups.page.sort_by_key(|group| Reverse(year(group)));
        }
        let largest = groups.page.iter().map(|group| group.count).max().unwrap_or(0).max(1);
        let bar = |group| bar(group, key, largest, &address, snapshot);
        let bars: Result<Vec<Bar>, ReadError> = groups
            .page
            .iter()
            .filter_map(|group| snapshot.or_noted(bar(group).map(Some)).transpose())
            .collect();
        let bars = bars?;
        let left_out = groups.total.saturating_sub(bars.len() as u64);
        let (heading, more) = (label(key), address.opening(key));
        found.push(KeyGroups { key, heading, bars, left_out, more });
    }
    Ok(found)
}

/// Counts the groups of the outputs of a record, without the record itself: who else wrote them, and about what.
pub fn of_record(
    query: &Query,
    keys: &[(&'static str, &'static str)],
    id: &str,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
    limits: WorkLimits,
) -> Result<Vec<KeyGroups>, ReadError> {
    let names = keys.iter().map(|(key, _)| *key);
    let mut found = groups(query, names, None, snapshot, deadline, limits)?;
    for of_key in &mut found {
        of_key.bars.retain(|bar| bar.value.as_deref() != Some(id));
        of_key.shorten();
        let named = keys.iter().find(|(key, _)| *key == of_key.key);
        of_key.heading = named.map_or("", |(_, heading)| heading).to_owned();
    }
    found.retain(KeyGroups::is_telling);
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
    let operand = operand(value, snapshot)?;
    let expression = operand.as_ref().map(|operand| format!("{key}:{operand}"));
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
        value: operand,
        name,
        count: thousands(group.count),
        width: (group.count * BAR_WIDTH).div_ceil(largest),
    })
}

/// The value of a group as a filter spells it; `None` of a reference without an id.
fn operand(value: &GroupValue, snapshot: &Snapshot) -> Result<Option<String>, ReadError> {
    Ok(Some(match value {
        GroupValue::Null => "null".to_owned(),
        GroupValue::Boolean(value) => value.to_string(),
        GroupValue::Integer(value) => quoted(&value.to_string()),
        GroupValue::Number(value) => quoted(&value.to_string()),
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
