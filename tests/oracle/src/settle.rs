//! Reduces lines to one record per id: picks the winning copies, applies merges and completes the taxonomy.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::entity::{ALL, Entity};
use crate::input::{Copy, LineOrRow, Lines, Merge};
use crate::{Tallies, json, values};

/// A published record in the shape of the dump.
pub struct Record {
    /// The dump's object, or an object of that shape made from a CSV row or a reference.
    pub object: Value,
    /// The source of `object`.
    pub origin: Origin,
}

/// The source of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A JSON line of the dump.
    Object,
    /// A row of the taxonomy CSV.
    Row,
    /// References in other records.
    Reference,
}

/// All published records, merges and counts.
#[derive(Default)]
pub struct Records {
    /// By entity and number.
    pub by_id: BTreeMap<(Entity, u64), Record>,
    /// Merged ids without a newer record of their own: from, into.
    pub merges: BTreeMap<(Entity, u64), u64>,
    /// Records of an `institution-types` folder, by code.
    pub institution_types: BTreeMap<String, Value>,
    /// Counts per entity in the order of [`ALL`]; `published` and `dangling` are still zero.
    pub tallies: [Tallies; 10],
    /// The newest `updated_date` of a published record, in microseconds.
    pub newest: Option<i64>,
}

impl Records {
    /// Follows an id's chain of merges to its end; `None` if the chain is a cycle.
    pub fn end_of(&self, entity: Entity, number: u64) -> Option<u64> {
        let mut passed = BTreeSet::new();
        let mut number = number;
        while let Some(into) = self.merges.get(&(entity, number)) {
            if !passed.insert(number) {
                return None;
            }
            number = *into;
        }
        Some(number)
    }

    /// The records of one entity, ordered by number.
    pub fn of(&self, entity: Entity) -> impl Iterator<Item = (u64, &Record)> {
        let all = (entity, 0)..=(entity, u64::MAX);
        self.by_id.range(all).map(|((_, number), record)| (*number, record))
    }

    /// The number that a reference means after merges; `None` unless its id is an id of this entity.
    /// A reference into a cycle of merges keeps its number.
    pub fn target(&self, entity: Entity, reference: &Value) -> Option<u64> {
        let id = if reference.is_object() { &reference["id"] } else { reference };
        let number = entity.number(id)?;
        Some(self.end_of(entity, number).unwrap_or(number))
    }
}

/// Reduces all lines to published records.
pub fn settle(lines: Lines) -> Records {
    let mut records = Records::default();
    let merges = settle_merges(lines.merges);
    for (entity, lines) in ALL.into_iter().zip(lines.entities) {
        let tallies = &mut records.tallies[entity as usize];
        tallies.read += lines.read;
        tallies.quarantined += lines.quarantined;
        for winner in winners(lines.copies, tallies) {
            let key = (entity, winner.number);
            if let Some(merge) = merges.get(&key)
                && winner.updated <= merge.merged
            {
                tallies.merged += 1;
                records.merges.insert(key, merge.into);
                continue;
            }
            records.newest = records.newest.max(winner.updated);
            let record = Record { object: object_of(winner.record), origin: Origin::Object };
            records.by_id.insert(key, record);
        }
    }
    for (key, merge) in merges {
        if !records.by_id.contains_key(&key) {
            records.merges.insert(key, merge.into);
        }
    }
    settle_institution_types(lines.institution_types, &mut records);
    let tallies = &mut records.tallies[Entity::Topics as usize];
    tallies.read += lines.taxonomy.read;
    tallies.quarantined += lines.taxonomy.quarantined;
    let rows = winners(lines.taxonomy.copies, tallies);
    settle_taxonomy(rows, &mut records);
    refuse_topics_without_parents(&mut records);
    records
}

fn object_of(source: LineOrRow) -> Value {
    match source {
        LineOrRow::Line(text) => json::parse(&text).unwrap_or(Value::Null),
        LineOrRow::Row(object) => object,
    }
}

/// Picks for each id the copy with the newest date, among equal dates the copy with the greatest hash.
fn winners(copies: Vec<Copy>, tallies: &mut Tallies) -> Vec<Copy> {
    let mut by_id: BTreeMap<u64, Vec<Copy>> = BTreeMap::new();
    for copy in copies {
        by_id.entry(copy.number).or_default().push(copy);
    }
    let settle_one = |mut copies: Vec<Copy>| {
        copies.sort_by_key(|copy| (copy.updated, copy.hash));
        let all = copies.len();
        copies.dedup_by_key(|copy| (copy.updated, copy.hash));
        tallies.duplicates += (all - copies.len()) as u64;
        let winner = copies.pop()?;
        tallies.superseded += copies.len() as u64;
        let of_its_date = copies.iter().filter(|copy| copy.updated == winner.updated);
        tallies.conflicts += of_its_date.count() as u64;
        Some(winner)
    };
    by_id.into_values().filter_map(settle_one).collect()
}

/// Picks for each merged id the row with the newest day, among equal days the row with the greatest hash.
fn settle_merges(mut merges: Vec<Merge>) -> BTreeMap<(Entity, u64), Merge> {
    merges.sort_by_key(|merge| (merge.merged, merge.hash));
    merges.into_iter().map(|merge| ((merge.entity, merge.from), merge)).collect()
}

fn settle_institution_types(mut copies: Vec<(String, Copy)>, records: &mut Records) {
    copies.sort_by_key(|(_, copy)| (copy.updated, copy.hash));
    for (code, copy) in copies {
        records.institution_types.insert(code, object_of(copy.record));
    }
}

const LEVELS: [(Entity, &str); 3] =
    [(Entity::Subfields, "subfield"), (Entity::Fields, "field"), (Entity::Domains, "domain")];

/// Adds a record for each referenced node without an object. The sources, in order of precedence:
///
/// 1. rows of the CSV;
/// 2. parents named in the objects of topics, subfields and fields;
/// 3. topics of outputs.
///
/// Within one source the newest record gives name and parents.
fn settle_taxonomy(rows: Vec<Copy>, records: &mut Records) {
    let rows: Vec<(u64, Value)> =
        rows.into_iter().map(|row| (row.number, object_of(row.record))).collect();
    let mut found: Vec<(Entity, u64, Value)> = Vec::new();
    for (_, row) in &rows {
        found.extend(parents_of(row, records));
    }
    let nodes = [Entity::Topics, Entity::Subfields, Entity::Fields];
    for (_, record) in newest_first(nodes.into_iter().flat_map(|entity| records.of(entity))) {
        found.extend(parents_of(&record.object, records));
    }
    for (_, output) in newest_first(records.of(Entity::Outputs)) {
        let topics = output.object["topics"].as_array();
        for topic in
            std::iter::once(&output.object["primary_topic"]).chain(topics.into_iter().flatten())
        {
            found.extend(node(Entity::Topics, topic, topic, records));
            found.extend(parents_of(topic, records));
        }
    }
    let (by_id, merges) = (&mut records.by_id, &records.merges);
    let mut add = |entity: Entity, number: u64, object: Value, origin: Origin| {
        let key = (entity, number);
        let is_new = !by_id.contains_key(&key) && !merges.contains_key(&key);
        if is_new {
            by_id.insert(key, Record { object, origin });
        }
        is_new
    };
    let (mut overridden, mut merged) = (0, 0);
    for (number, row) in rows {
        let is_merged = merges.contains_key(&(Entity::Topics, number));
        let is_new = add(Entity::Topics, number, row, Origin::Row);
        merged += u64::from(is_merged);
        overridden += u64::from(!is_new && !is_merged);
    }
    let mut derived = [0; 10];
    for (entity, number, object) in found {
        derived[entity as usize] += u64::from(add(entity, number, object, Origin::Reference));
    }
    for entity in ALL {
        records.tallies[entity as usize].derived += derived[entity as usize];
    }
    let topics = &mut records.tallies[Entity::Topics as usize];
    topics.superseded += overridden;
    topics.merged += merged;
}

/// Orders records by descending date, ties by id.
fn newest_first<'r>(records: impl Iterator<Item = (u64, &'r Record)>) -> Vec<(u64, &'r Record)> {
    let mut records: Vec<_> = records.collect();
    records.sort_by_cached_key(|(number, record)| {
        let date = values::moment(&record.object["updated_date"]).map(|moment| moment.micros);
        (std::cmp::Reverse(date), *number)
    });
    records
}

/// The parents that a node names.
fn parents_of(child: &Value, records: &Records) -> Vec<(Entity, u64, Value)> {
    LEVELS
        .into_iter()
        .filter_map(|(entity, member)| node(entity, &child[member], child, records))
        .collect()
}

/// Makes a node in the dump's shape from an {id, name}; `beside` names the node's parents.
fn node(
    entity: Entity,
    reference: &Value,
    beside: &Value,
    records: &Records,
) -> Option<(Entity, u64, Value)> {
    let number = records.target(entity, reference)?;
    let name = values::words(&reference["display_name"])?;
    let mut members = vec![("id", entity.own_id(number)), ("display_name", name.into())];
    members.extend(
        LEVELS
            .into_iter()
            .filter(|(level, _)| is_above(*level, entity))
            .map(|(_, member)| (member, beside[member].clone())),
    );
    let members = members.into_iter().map(|(key, value)| (key.to_owned(), value));
    Some((entity, number, Value::Object(members.collect())))
}

fn is_above(level: Entity, entity: Entity) -> bool {
    let height = |entity: Entity| match entity {
        Entity::Domains => 3,
        Entity::Fields => 2,
        Entity::Subfields => 1,
        _ => 0,
    };
    height(level) > height(entity)
}

/// Quarantines topics with a parent id of the wrong level or a parent that no source names.
fn refuse_topics_without_parents(records: &mut Records) {
    let has_known_parents = |topic: &Value| {
        LEVELS.into_iter().all(|(entity, member)| {
            let reference = &topic[member];
            let id = if reference.is_object() { &reference["id"] } else { reference };
            id.is_null()
                || records
                    .target(entity, id)
                    .is_some_and(|number| records.by_id.contains_key(&(entity, number)))
        })
    };
    let refused: Vec<u64> = records
        .of(Entity::Topics)
        .filter(|(_, record)| !has_known_parents(&record.object))
        .map(|(number, _)| number)
        .collect();
    let tallies = &mut records.tallies[Entity::Topics as usize];
    for number in refused {
        let is_derived = records
            .by_id
            .remove(&(Entity::Topics, number))
            .is_some_and(|record| record.origin == Origin::Reference);
        if is_derived {
            tallies.derived -= 1;
        } else {
            tallies.quarantined += 1;
        }
    }
}
