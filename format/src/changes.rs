//! The differences between two snapshots: the ids that were added, changed, merged or removed.
//!
//! A row number means nothing in another snapshot, and an output shows members of its source. The bytes of two
//! snapshots therefore cannot be compared. Instead records with one id are rendered, and their lines compared.
//!
//! [`next_changes`] finds the changes part by part. The rows of the later snapshot tell what was added and changed, and
//! the rows of the earlier one what was merged and removed:
//!
//! ```text
//! position   0 … after rows      id absent in `before`: added     lines differ: changed
//!            … + before rows     id absent in `after`: merged or removed
//! ```

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::entity::Entity;
use crate::json::render::{JsonWriter, Shape};
pub use crate::query::REFERENCES;
use crate::query::{Deadline, QueryError};
use crate::record::members::{Members, View};
use crate::schema::keys::keys_of;
use crate::snapshot::{LookupResult, RecordLookup, Snapshot};
use crate::storage::error::ReadError;

/// Rows that one part compares.
pub const PART_ROWS: u32 = 1_000;
/// Records that are fetched and rendered together.
const ROWS_TOGETHER: usize = 100;

/// The difference of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the later snapshot has a record with the id.
    Added,
    /// The members whose values differ, ascending.
    Changed(Vec<String>),
    /// The id merged into.
    Merged(u64),
    /// Only the earlier snapshot has a record with the id.
    Removed,
}

/// A place in the comparison of an entity's records; 0 is its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The entity whose records are compared.
    pub entity: Entity,
    /// Rows compared before: those of the later snapshot, then those of the earlier one.
    pub rows: u64,
}

/// The changes of a part, each with its id, and where the next part begins, if any is left.
pub type Part = (Vec<(u64, Change)>, Option<Position>);

/// Why a part was not compared.
#[derive(Debug)]
pub enum ChangesError {
    /// The earlier snapshot is damaged.
    Before(ReadError),
    /// The later snapshot is damaged.
    After(ReadError),
    /// The query ended early, at its deadline.
    Refused(QueryError),
}

/// The records of an entity as lines of an export.
pub struct NativeRecords<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    members: &'static Members,
}

impl<'s> NativeRecords<'s> {
    /// The records of an entity of a snapshot.
    pub fn new(snapshot: &'s Snapshot, entity: Entity) -> NativeRecords<'s> {
        NativeRecords { snapshot, entity, members: Members::all(entity, View::Export) }
    }

    /// The number of records.
    pub fn count(&self) -> u32 {
        self.snapshot.count(self.entity)
    }

    /// An empty page for [`Self::render`].
    pub fn page(&self) -> JsonWriter<'_> {
        self.members.writer(self.snapshot)
    }

    /// Appends the line of the record in a row.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged, or the row has no record.
    pub fn render(&self, row: u32, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        self.members.render(row, writer)?;
        if keys_of(self.entity).has_citations() {
            add_references(self.snapshot, self.entity, row, &mut writer.out)?;
        }
        Ok(())
    }

    /// The line of the record in a row.
    pub fn line(&self, row: u32) -> Result<Vec<u8>, ReadError> {
        let mut writer = self.page();
        self.render(row, &mut writer)?;
        Ok(std::mem::take(&mut writer.out))
    }

    fn fetch(&self, rows: &[u32]) -> Result<(), ReadError> {
        let render = |_: &_, _, row, writer: &mut JsonWriter<'_>| self.members.render(row, writer);
        self.snapshot.fetch_page(self.entity, rows, Shape::Single, render)
    }
}

/// Adds the ids that a record refers to as the last member of its line.
///
/// # Errors
///
/// If the snapshot is damaged, or the row has no record.
pub fn add_references(
    snapshot: &Snapshot,
    entity: Entity,
    row: u32,
    line: &mut Vec<u8>,
) -> Result<(), ReadError> {
    let ids = RecordLookup::references(snapshot, entity, row)?;
    if !ids.is_empty() {
        add_ids(entity, &ids, line);
    }
    Ok(())
}

/// Adds the ids that a record refers to as the last member of its JSON; an empty list if there are none.
pub fn add_all_references(
    snapshot: &Snapshot,
    entity: Entity,
    row: u32,
    json: &mut Vec<u8>,
) -> Result<(), ReadError> {
    let ids = RecordLookup::references(snapshot, entity, row)?;
    add_ids(entity, &ids, json);
    Ok(())
}

/// Adds ids as the last member of an object.
fn add_ids(entity: Entity, ids: &[u64], json: &mut Vec<u8>) {
    json.pop();
    if json.last() != Some(&b'{') {
        json.push(b',');
    }
    json.extend_from_slice(format!("\"{REFERENCES}\":[").as_bytes());
    for (at, id) in ids.iter().enumerate() {
        json.extend_from_slice(if at == 0 { b"\"" } else { b",\"" });
        entity.write_id(*id, json);
        json.push(b'"');
    }
    json.extend_from_slice(b"]}");
}

/// A line by member.
#[derive(Deserialize)]
struct Line<'a>(#[serde(borrow)] BTreeMap<Cow<'a, str>, &'a RawValue>);

/// The names of the members in which two lines differ, ascending.
///
/// # Errors
///
/// If a line is no JSON object, as rendered lines never are.
pub fn differing_members(before: &[u8], after: &[u8]) -> Result<Vec<String>, ReadError> {
    let parse = |line| {
        serde_json::from_slice(line)
            .map_err(|_| ReadError::Internal("a rendered record is no JSON"))
    };
    let (Line(before), Line(after)) = (parse(before)?, parse(after)?);
    let value = |line: &BTreeMap<Cow<'_, str>, &RawValue>, name: &str| {
        line.get(name).map(|value| value.get().to_owned())
    };
    let mut names: Vec<String> = before
        .keys()
        .chain(after.keys())
        .filter(|name| value(&before, name.as_ref()) != value(&after, name.as_ref()))
        .map(|name| name.clone().into_owned())
        .collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Compares the next [`PART_ROWS`] rows. Suppressed records are absent.
///
/// Cost: renders the records of a part in both snapshots; at the end of an entity, looks up the ids of one.
pub fn next_changes(
    before: &Snapshot,
    after: &Snapshot,
    from: Position,
    deadline: Deadline<'_>,
) -> Result<Part, ChangesError> {
    let entity = from.entity;
    let counts = [after, before].map(|snapshot| u64::from(snapshot.count(entity)));
    let end = counts[0] + counts[1];
    let until = from.rows.saturating_add(u64::from(PART_ROWS)).min(end);
    // Each fits, because the counts do.
    let rows =
        |from: u64, until: u64| -> Vec<u32> { (from..until).map(|row| row as u32).collect() };
    let of_after = rows(from.rows, until.min(counts[0]));
    let of_before =
        rows(from.rows.saturating_sub(counts[0]).min(counts[1]), until.saturating_sub(counts[0]));
    let mut changes = Vec::new();
    for rows in of_after.chunks(ROWS_TOGETHER) {
        deadline.check().map_err(ChangesError::Refused)?;
        compare(before, after, entity, rows, &mut changes)?;
    }
    for row in of_before {
        if before.suppressed().has(entity, row) {
            continue;
        }
        let id = before.or_noted(before.row_id(entity, row).map(Some));
        let Some(id) = id.map_err(ChangesError::Before)? else { continue };
        let found = after.or_noted(after.find(entity, id).map(Some));
        let change = match found.map_err(ChangesError::After)? {
            None | Some(LookupResult::Row(_)) => continue,
            Some(LookupResult::Merged(into)) => Change::Merged(into),
            Some(LookupResult::Absent) => Change::Removed,
        };
        changes.push((id, change));
    }
    let next = if until < end {
        Some(Position { entity, rows: until })
    } else {
        Entity::all().skip_while(|other| *other != entity).nth(1).map(Position::beginning)
    };
    Ok((changes, next))
}

impl Position {
    /// Before the first row of an entity.
    pub fn beginning(entity: Entity) -> Position {
        Position { entity, rows: 0 }
    }
}

/// Adds what was added and changed in some rows of the later snapshot.
fn compare(
    before: &Snapshot,
    after: &Snapshot,
    entity: Entity,
    rows: &[u32],
    changes: &mut Vec<(u64, Change)>,
) -> Result<(), ChangesError> {
    let [old, new] = [before, after].map(|snapshot| NativeRecords::new(snapshot, entity));
    let mut pairs = Vec::with_capacity(rows.len());
    for row in rows.iter().copied().filter(|row| !after.suppressed().has(entity, *row)) {
        let id = after.or_noted(after.row_id(entity, row).map(Some));
        let Some(id) = id.map_err(ChangesError::After)? else { continue };
        let found = before.or_noted(before.find(entity, id).map(Some));
        match found.map_err(ChangesError::Before)? {
            None => {}
            Some(LookupResult::Row(old_row)) => pairs.push((id, old_row, row)),
            Some(LookupResult::Merged(_) | LookupResult::Absent) => {
                changes.push((id, Change::Added));
            }
        }
    }
    let old_rows: Vec<u32> = pairs.iter().map(|(_, old_row, _)| *old_row).collect();
    let new_rows: Vec<u32> = pairs.iter().map(|(.., row)| *row).collect();
    before.or_noted(old.fetch(&old_rows)).map_err(ChangesError::Before)?;
    after.or_noted(new.fetch(&new_rows)).map_err(ChangesError::After)?;
    let (mut old_page, mut new_page) = (old.page(), new.page());
    for (id, old_row, row) in pairs {
        old_page.out.clear();
        new_page.out.clear();
        // Of a handle that notes what is absent, a line may be cut; the part is thrown away then.
        let rendered = old.render(old_row, &mut old_page).map(|()| true);
        let is_old_here = before.or_noted(rendered).map_err(ChangesError::Before)?;
        let rendered = new.render(row, &mut new_page).map(|()| true);
        let is_new_here = after.or_noted(rendered).map_err(ChangesError::After)?;
        if is_old_here && is_new_here && old_page.out != new_page.out {
            let members = differing_members(&old_page.out, &new_page.out);
            changes.push((id, Change::Changed(members.map_err(ChangesError::After)?)));
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn members_differ_by_value_and_by_presence() {
        let check = |before: &str, after: &str, expected: &[&str]| {
            assert_eq!(differing_members(before.as_bytes(), after.as_bytes()).unwrap(), expected);
        };
        check(r#"{"a":1,"b":[2]}"#, r#"{"a":1,"b":[2]}"#, &[]);
        check(r#"{"b":[2],"a":1}"#, r#"{"b":[3],"a":2}"#, &["a", "b"]);
        check(r#"{"a":1}"#, r#"{"a":1,"references":["x"]}"#, &["references"]);
        assert!(differing_members(b"[]", b"{}").is_err());
    }
}
