//! The records of an entity as lines of JSON, and the members in which two lines differ.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::Page;
use pinakes_format::record::members::{Members, View};
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::error::ReadError;
use serde::Deserialize;
use serde_json::value::RawValue;
use twox_hash::XxHash3_128;

use crate::diff::hashes::RecordHash;
use crate::error::{Error, Result};
use crate::export::lines::add_references;

/// The records of an entity as `export` writes them.
pub(super) struct NativeRecords<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    members: Members,
}

impl<'s> NativeRecords<'s> {
    pub(super) fn new(snapshot: &'s Snapshot, entity: Entity) -> NativeRecords<'s> {
        NativeRecords { snapshot, entity, members: Members::all(entity, View::Export) }
    }

    pub(super) fn count(&self) -> u32 {
        self.snapshot.count(self.entity)
    }

    /// The id that an id was merged into.
    pub(super) fn merged_into(&self, id: u64) -> Result<Option<u64>> {
        let target = RecordLookup::merged_into(self.snapshot, self.entity, id);
        let target = target.map_err(|error| Error::Refused(error.to_string()))?;
        Ok((target != id).then_some(target))
    }

    /// Hashes the records of some rows.
    pub(super) fn hashes(&self, rows: Range<u32>) -> Result<Vec<RecordHash>> {
        let mut page = self.members.page(self.snapshot);
        rows.map(|row| {
            self.render(row, &mut page).map_err(|error| self.damaged(row, &error))?;
            let hash = XxHash3_128::oneshot(&page.out);
            page.out.clear();
            let id = self.snapshot.row_id(self.entity, row);
            let id = id.map_err(|error| self.damaged(row, &error))?;
            Ok(RecordHash { id, hash, row })
        })
        .collect()
    }

    /// Renders one record.
    fn line(&self, row: u32) -> Result<Vec<u8>> {
        let mut page = self.members.page(self.snapshot);
        self.render(row, &mut page).map_err(|error| self.damaged(row, &error))?;
        Ok(std::mem::take(&mut page.out))
    }

    fn render(&self, row: u32, page: &mut Page<'_>) -> std::result::Result<(), ReadError> {
        self.members.render(row, page)?;
        if keys_of(self.entity).has_citations() {
            add_references(self.snapshot, self.entity, row, &mut page.out)?;
        }
        Ok(())
    }

    fn damaged(&self, row: u32, error: &ReadError) -> Error {
        let id = &self.snapshot.manifest().id;
        Error::Refused(format!("snapshot {id}, row {row} of {}: {error}", self.entity))
    }
}

/// A line by member.
#[derive(Deserialize)]
struct Line<'a>(#[serde(borrow)] BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Result<Line<'a>> {
        serde_json::from_slice(line)
            .map_err(|error| Error::Internal(format!("a rendered record is no JSON: {error}")))
    }
}

/// The names of the members in which the records of two rows differ, ascending.
pub(super) fn differing(records: &[NativeRecords<'_>; 2], rows: [u32; 2]) -> Result<Vec<String>> {
    let lines = [records[0].line(rows[0])?, records[1].line(rows[1])?];
    let [Line(before), Line(after)] = [Line::parse(&lines[0])?, Line::parse(&lines[1])?];
    let values = |name: &str| [&before, &after].map(|line| line.get(name).map(|value| value.get()));
    let mut names: Vec<String> = before
        .keys()
        .chain(after.keys())
        .filter(|name| {
            let [old, new] = values(name.as_ref());
            old != new
        })
        .map(|name| name.clone().into_owned())
        .collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
