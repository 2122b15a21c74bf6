//! Finds the records that a record refers to by walking through its JSON.

use std::collections::{BTreeMap, BTreeSet};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::snapshot::{LookupResult, Snapshot};
use serde_json::Value;

/// The entity and the number of a record.
pub type RecordId = (Entity, u64);

/// Every record of a snapshot with the ids that it refers to.
pub struct References {
    by_record: BTreeMap<RecordId, BTreeSet<RecordId>>,
    /// Merged ids below 1,000 or adjacent to the ids of records.
    pub merged: Vec<RecordId>,
}

impl References {
    pub fn new(snapshot: &Snapshot) -> References {
        let mut by_record = BTreeMap::new();
        let mut merged = Vec::new();
        for entity in Entity::all() {
            for row in 0..snapshot.count(entity) {
                let mut page = JsonWriter::for_export(snapshot);
                snapshot.render(entity, row, &mut page).unwrap();
                let record: Value = serde_json::from_slice(&page.out).unwrap();
                let mut found = BTreeSet::new();
                collect(entity, &record, None, &mut found);
                by_record.insert((entity, snapshot.row_id(entity, row).unwrap()), found);
            }
            // The test dumps merge ids below 1,000 or adjacent to the ids of records.
            let ids = (0..snapshot.rows(entity)).map(|row| snapshot.row_id(entity, row).unwrap());
            let near = ids.flat_map(|id| [id.wrapping_sub(1), id.wrapping_add(1)]).chain(0..1_000);
            let is_merged =
                |id: &u64| matches!(snapshot.find(entity, *id).unwrap(), LookupResult::Merged(_));
            let near: BTreeSet<u64> = near.filter(is_merged).collect();
            merged.extend(near.into_iter().map(|id| (entity, id)));
        }
        References { by_record, merged }
    }

    pub fn ids(&self) -> BTreeSet<RecordId> {
        self.by_record.keys().copied().collect()
    }
}

/// The given records, all institution types, and every record reachable from them.
pub fn closure(references: &References, roots: BTreeSet<RecordId>) -> BTreeSet<RecordId> {
    let types =
        references.by_record.keys().filter(|(entity, _)| *entity == Entity::InstitutionType);
    let mut kept: BTreeSet<RecordId> = types.copied().collect();
    let mut waiting: Vec<RecordId> = roots.into_iter().collect();
    while let Some(id) = waiting.pop() {
        if let Some(found) = references.by_record.get(&id)
            && kept.insert(id)
        {
            waiting.extend(found);
        }
    }
    kept
}

/// The taxonomy level of the nodes in a member.
fn level(entity: Entity, member: &str) -> Option<Entity> {
    match member {
        "siblings" => Some(entity),
        "subfield" | "subfields" => Some(Entity::Subfield),
        "field" | "fields" => Some(Entity::Field),
        "domain" | "domains" => Some(Entity::Domain),
        _ => None,
    }
}

/// Collects all texts that are ids, and the plain numbers of taxonomy levels in members that name a level.
fn collect(
    entity: Entity,
    value: &Value,
    level_here: Option<Entity>,
    found: &mut BTreeSet<RecordId>,
) {
    match value {
        Value::Array(values) => {
            values.iter().for_each(|value| collect(entity, value, level_here, found));
        }
        Value::Object(members) => {
            for (name, value) in members {
                let number = match value {
                    Value::String(text) => text.parse().ok(),
                    value => value.as_u64(),
                };
                match (name.as_str(), level_here.filter(|of| of.facts().letter.is_none()), number) {
                    ("id", Some(of), Some(number)) => _ = found.insert((of, number)),
                    _ => collect(entity, value, level(entity, name), found),
                }
            }
        }
        Value::String(text) => {
            let lettered = Entity::all().filter(|entity| entity.facts().letter.is_some());
            found.extend(lettered.filter_map(|entity| Some((entity, entity.parse_id(text)?))));
        }
        _ => {}
    }
}
