//! The answers of an undamaged snapshot, compared with the answers of damaged copies.

use std::collections::{BTreeMap, BTreeSet};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::snapshot::{LookupResult, Snapshot};

const SHAPES: [Shape; 2] = [Shape::Single, Shape::List];

fn render(snapshot: &Snapshot, entity: Entity, row: u32, shape: Shape) -> Option<Vec<u8>> {
    let mut page = JsonWriter::new(snapshot, shape);
    snapshot.render(entity, row, &mut page).ok().map(|()| page.out)
}

/// Every answer of an undamaged snapshot.
pub struct Baseline {
    records: BTreeMap<(Entity, u32), [Vec<u8>; 2]>,
    found: BTreeMap<(Entity, u64), LookupResult>,
}

impl Baseline {
    pub fn new(snapshot: &Snapshot) -> Baseline {
        let mut baseline = Baseline { records: BTreeMap::new(), found: BTreeMap::new() };
        for entity in Entity::all() {
            for row in 0..snapshot.count(entity) {
                let shapes = SHAPES.map(|shape| render(snapshot, entity, row, shape).unwrap());
                baseline.records.insert((entity, row), shapes);
                let id = snapshot.row_id(entity, row).unwrap();
                baseline.found.insert((entity, id), LookupResult::Row(row));
            }
            for id in [2, 404, 2_900_009_001, 2_900_009_002, 5_900_009_001] {
                baseline.found.insert((entity, id), snapshot.find(entity, id).unwrap());
            }
        }
        baseline
    }

    /// Asks for all records and ids of the entities and counts failures; no answer may differ.
    pub fn ask(&self, snapshot: &Snapshot, asked: &BTreeSet<Entity>, what: &str) -> usize {
        let mut refused = 0;
        for ((entity, row), expected) in &self.records {
            if !asked.contains(entity) {
                continue;
            }
            for (shape, expected) in SHAPES.into_iter().zip(expected) {
                match render(snapshot, *entity, *row, shape) {
                    None => refused += 1,
                    Some(text) => assert!(text == *expected, "{what}: {entity} row {row} differs"),
                }
            }
            match snapshot.row_id(*entity, *row) {
                Err(_) => refused += 1,
                Ok(id) => {
                    let expected = self.found.get(&(*entity, id));
                    assert_eq!(expected, Some(&LookupResult::Row(*row)), "{what}: {entity}");
                }
            }
        }
        for ((entity, id), expected) in &self.found {
            if !asked.contains(entity) {
                continue;
            }
            match snapshot.find(*entity, *id) {
                Err(_) => refused += 1,
                Ok(found) => assert_eq!(found, *expected, "{what}: {entity} id {id}"),
            }
        }
        refused
    }
}
