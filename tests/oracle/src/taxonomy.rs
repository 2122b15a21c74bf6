//! Renders topics, subfields, fields and domains, and derives the members that the dump lacks.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::entity::Entity;
use crate::render::{Renderer, either};
use crate::settle::{Origin, Record, Records};
use crate::values::{COUNT_MAX, count, id_text, object, text, texts, timestamp, whole};

/// The number of outputs and the sum of their citations, by node of the taxonomy.
pub type Sums = BTreeMap<(Entity, u64), (u64, u64)>;

/// The numbers of an entity's nodes below a parent, by entity, level and number of the parent.
pub type Below = BTreeMap<(Entity, Entity, u64), Vec<u64>>;

impl Renderer<'_> {
    pub(crate) fn topic(&self, number: u64, id: Value, record: &Record) -> Value {
        let dump = &record.object;
        let (outputs_count, cited_by_count) = self.taxonomy_counts(Entity::Topics, number, record);
        object([
            ("id", id),
            ("name", text(&dump["display_name"])),
            ("description", text(&dump["description"])),
            ("keywords", texts(&dump["keywords"])),
            ("ids", object([("wikipedia", id_text(&dump["ids"]["wikipedia"]))])),
            ("subfield", self.parent(Entity::Subfields, &dump["subfield"])),
            ("field", self.parent(Entity::Fields, &dump["field"])),
            ("domain", self.parent(Entity::Domains, &dump["domain"])),
            (
                "siblings",
                either(self.references(Entity::Topics, &dump["siblings"]), || {
                    self.others_below(number, Entity::Subfields, &dump["subfield"])
                }),
            ),
            ("outputs_count", outputs_count),
            ("cited_by_count", cited_by_count),
            ("updated_date", timestamp(&dump["updated_date"])),
            ("created_date", timestamp(&dump["created_date"])),
        ])
    }

    /// Renders a domain, field or subfield.
    pub(crate) fn level(&self, level: Entity, number: u64, id: Value, record: &Record) -> Value {
        let (above, below): (&[Entity], Entity) = match level {
            Entity::Subfields => (&[Entity::Fields, Entity::Domains], Entity::Topics),
            Entity::Fields => (&[Entity::Domains], Entity::Subfields),
            _ => (&[], Entity::Fields),
        };
        let dump = &record.object;
        let (outputs_count, cited_by_count) = self.taxonomy_counts(level, number, record);
        let mut members = vec![
            ("id", id),
            ("name", text(&dump["display_name"])),
            ("description", text(&dump["description"])),
            ("ids", taxonomy_ids(dump)),
            ("display_name_alternatives", texts(&dump["display_name_alternatives"])),
        ];
        for parent in above {
            let member = parent_member(*parent);
            members.push((member, self.parent(*parent, &dump[member])));
        }
        let children = either(self.references(below, &dump[below.route()]), || {
            self.children(below, level, number)
        });
        members.extend([
            (below.route(), children),
            ("siblings", self.siblings(level, number, dump)),
            ("outputs_count", outputs_count),
            ("cited_by_count", cited_by_count),
            ("updated_date", timestamp(&dump["updated_date"])),
            ("created_date", timestamp(&dump["created_date"])),
        ]);
        object(members)
    }

    fn taxonomy_counts(&self, entity: Entity, number: u64, record: &Record) -> (Value, Value) {
        if record.origin != Origin::Object {
            let (outputs, citations) =
                self.sums.get(&(entity, number)).copied().unwrap_or_default();
            return (outputs.into(), citations.into());
        }
        let dump = &record.object;
        (count(&dump["works_count"]), count(&dump["cited_by_count"]))
    }

    /// The siblings in the dump, else all other nodes of the level.
    fn siblings(&self, entity: Entity, number: u64, dump: &Value) -> Value {
        either(self.references(entity, &dump["siblings"]), || {
            self.records
                .of(entity)
                .filter(|(other, _)| *other != number)
                .map(|(other, record)| named(entity, other, record))
                .collect()
        })
    }

    /// The other topics of a topic's parent.
    fn others_below(&self, number: u64, level: Entity, parent: &Value) -> Value {
        let Some(parent) = self.records.target(level, parent) else {
            return Value::Array(Vec::new());
        };
        self.below(Entity::Topics, level, parent)
            .filter(|(other, _)| *other != number)
            .map(|(other, record)| named(Entity::Topics, other, record))
            .collect()
    }

    fn children(&self, entity: Entity, level: Entity, parent: u64) -> Value {
        self.below(entity, level, parent)
            .map(|(number, record)| named(entity, number, record))
            .collect()
    }

    fn below(
        &self,
        entity: Entity,
        level: Entity,
        parent: u64,
    ) -> impl Iterator<Item = (u64, &Record)> {
        let numbers = self.below.get(&(entity, level, parent)).into_iter().flatten();
        numbers.map(move |number| (*number, &self.records.by_id[&(entity, *number)]))
    }

    /// A [`Self::reference`] to a parent in the taxonomy; its id is a string.
    fn parent(&self, entity: Entity, given: &Value) -> Value {
        let mut shown = self.reference(entity, given);
        if let Value::Object(members) = &mut shown {
            let id = match &members["id"] {
                Value::Number(id) => Value::from(id.to_string()),
                other => other.clone(),
            };
            members.insert("id".to_owned(), id);
        }
        shown
    }
}

/// The three upper levels and the entity below each.
const LEVELS_BELOW: [(Entity, Entity); 3] = [
    (Entity::Subfields, Entity::Topics),
    (Entity::Fields, Entity::Subfields),
    (Entity::Domains, Entity::Fields),
];

fn taxonomy_ids(dump: &Value) -> Value {
    object([
        ("wikidata", id_text(&dump["ids"]["wikidata"])),
        ("wikipedia", id_text(&dump["ids"]["wikipedia"])),
    ])
}

fn named(entity: Entity, number: u64, record: &Record) -> Value {
    let name = text(&record.object["display_name"]);
    object([("id", entity.own_id(number)), ("name", name)])
}

/// The member of a record that names its parent of this level.
fn parent_member(level: Entity) -> &'static str {
    match level {
        Entity::Subfields => "subfield",
        Entity::Fields => "field",
        _ => "domain",
    }
}

/// Lists the nodes below each node of the three upper levels.
pub fn below(records: &Records) -> Below {
    let mut below = Below::new();
    for (level, entity) in LEVELS_BELOW {
        for (number, record) in records.of(entity) {
            if let Some(parent) = records.target(level, &record.object[parent_member(level)]) {
                below.entry((entity, level, parent)).or_default().push(number);
            }
        }
    }
    below
}

/// Sums outputs and their citations by primary topic and by the parents of that topic's record.
pub fn sum_outputs(records: &Records) -> Sums {
    let mut sums = Sums::new();
    for (_, output) in records.of(Entity::Outputs) {
        let given = &output.object["primary_topic"];
        let Some(topic) = records.target(Entity::Topics, given) else {
            continue;
        };
        let mut counted = vec![(Entity::Topics, topic)];
        let record = records.by_id.get(&(Entity::Topics, topic));
        let above = record.map_or(given, |record| &record.object);
        for level in [Entity::Subfields, Entity::Fields, Entity::Domains] {
            let parent = records.target(level, &above[parent_member(level)]);
            counted.extend(parent.map(|parent| (level, parent)));
        }
        let citations = whole(&output.object["cited_by_count"]).unwrap_or(0);
        for key in counted {
            let sum = sums.entry(key).or_default();
            sum.0 = (sum.0 + 1).min(COUNT_MAX);
            sum.1 = (sum.1 + citations).min(COUNT_MAX);
        }
    }
    sums
}
