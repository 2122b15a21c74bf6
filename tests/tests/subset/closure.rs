//! What records refer to, read off their JSON.

use std::collections::{BTreeMap, BTreeSet};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{Page, Shape};
use pinakes_format::record::Source;
use pinakes_format::snapshot::{Lookup, Snapshot};
use serde_json::Value;

/// A record: its entity and its number.
pub type Place = (Entity, u64);

/// Every record of a snapshot with the records it refers to, there or not.
pub struct Places {
    references: BTreeMap<Place, BTreeSet<Place>>,
    /// Ids that were merged into others and that references may have had.
    pub merged: Vec<Place>,
}

impl Places {
    pub fn of(snapshot: &Snapshot) -> Places {
        let mut references = BTreeMap::new();
        let mut merged = Vec::new();
        for entity in Entity::all() {
            for row in 0..snapshot.count(entity) {
                let mut page = Page::new(snapshot, Shape::Single);
                snapshot.render(entity, row, &mut page).unwrap();
                let record: Value = serde_json::from_slice(&page.out).unwrap();
                let mut found = BTreeSet::new();
                collect(entity, &record, None, &mut found);
                if entity == Entity::Source {
                    found.extend(host(snapshot, row));
                }
                references.insert((entity, snapshot.row_id(entity, row).unwrap()), found);
            }
            // The dumps of tests number their records low, or say which they merge.
            let ids = (0..snapshot.rows(entity)).map(|row| snapshot.row_id(entity, row).unwrap());
            let near = ids.flat_map(|id| [id.wrapping_sub(1), id.wrapping_add(1)]).chain(0..1_000);
            let is_merged =
                |id: &u64| matches!(snapshot.find(entity, *id).unwrap(), Lookup::Merged(_));
            let near: BTreeSet<u64> = near.filter(is_merged).collect();
            merged.extend(near.into_iter().map(|id| (entity, id)));
        }
        Places { references, merged }
    }

    pub fn ids(&self) -> BTreeSet<Place> {
        self.references.keys().copied().collect()
    }
}

/// The host of a source that has no other name for it than the host's own; its id is not shown.
fn host(snapshot: &Snapshot, row: u32) -> Option<Place> {
    let source = snapshot.archived::<Source>(row).unwrap().unwrap();
    let host = source.host_organization_name.as_ref()?;
    let publisher = host.publisher.as_ref().map(|host| (Entity::Publisher, host.0));
    let institution = host.institution.as_ref().map(|host| (Entity::Institution, host.0));
    let (entity, row) = publisher.or(institution)?;
    Some((entity, snapshot.row_id(entity, row.to_native()).unwrap()))
}

/// These records, institution types, and everything there that they lead to.
pub fn closure(places: &Places, roots: BTreeSet<Place>) -> BTreeSet<Place> {
    let types = places.references.keys().filter(|(entity, _)| *entity == Entity::InstitutionType);
    let mut kept: BTreeSet<Place> = types.copied().collect();
    let mut waiting: Vec<Place> = roots.into_iter().collect();
    while let Some(place) = waiting.pop() {
        if let Some(references) = places.references.get(&place)
            && kept.insert(place)
        {
            waiting.extend(references);
        }
    }
    kept
}

/// The level of the taxonomy that a member of a record stands for.
fn level(entity: Entity, member: &str) -> Option<Entity> {
    match member {
        "siblings" => Some(entity),
        "subfield" | "subfields" => Some(Entity::Subfield),
        "field" | "fields" => Some(Entity::Field),
        "domain" | "domains" => Some(Entity::Domain),
        _ => None,
    }
}

/// Texts that are ids of this service, wherever they stand; of the taxonomy, which has bare
/// numbers, by the member they stand in.
fn collect(entity: Entity, value: &Value, level_here: Option<Entity>, found: &mut BTreeSet<Place>) {
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
