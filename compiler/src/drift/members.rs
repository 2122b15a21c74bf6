//! The members of a record, as values that can be compared.
//!
//! ```text
//! {"title": "Tides", "authors": [{"id": "HX_A7"}, {"id": "HX_A9"}], "cites": 3, …}
//!
//! title         hash of "Tides"                        1 value
//! authors.id    least hash of HX_A7 and HX_A9          2 values
//! cites         hash of 3                              1 value, sum 3
//! ```
//!
//! Two lists have the same least hash as often as they share items: with probability |A ∩ B| / |A ∪ B| (MinHash). So one
//! more author is a small change, and other authors are a change.
//!
//! The names of references are left out: they are members of the records referred to.

use pinakes_format::changes::REFERENCES;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::record::columns::Column;
use pinakes_format::record::schema::{Schema, Shown};
use pinakes_format::record::schema_of;
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::error::ReadError;
use twox_hash::XxHash3_128;

use crate::drift::limits::is_computed;

/// Counts below this one double from one release to the next.
const COUNT_JUMP_MIN: f64 = 8.0;
/// The same for fractions, such as a field-weighted impact.
const FRACTION_JUMP_MIN: f64 = 1.0;

/// The values that one record has at one member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Value {
    /// The least of the values' hashes.
    pub hash: u64,
    /// 0 stands for null.
    pub count: u32,
    /// The sum of numbers.
    pub sum: f64,
}

impl Value {
    pub(super) fn is_null(self) -> bool {
        self.count == 0
    }

    /// Whether a number is at least twice, or at most half, of this one.
    pub(super) fn jumps_to(self, now: Value) -> bool {
        self.sum.max(now.sum) >= 2.0 * self.sum.min(now.sum)
    }

    fn add(&mut self, bytes: &[u8]) {
        let hash = XxHash3_128::oneshot(bytes) as u64;
        self.hash = if self.is_null() { hash } else { self.hash.min(hash) };
        self.count += 1;
    }
}

/// A member without members of its own.
pub(super) struct Member {
    /// The path below the entity, such as `authors.id`.
    pub path: String,
    /// Of numbers that a source computes again for each release: the least number that should neither double nor halve.
    pub jump_min: Option<f64>,
}

/// A column of one record, nested as the declaration is.
enum Node {
    Skipped,
    Leaf(Value),
    Object(Vec<Node>),
    List(Box<Node>),
}

/// Reads the values of an entity's records.
pub(super) struct Values<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    tree: Node,
    writer: JsonWriter<'s>,
}

/// The members of an entity, in the order of [`Values::read`].
pub(super) fn members_of(entity: Entity) -> Vec<Member> {
    let mut members = Vec::new();
    node(&schema_of(entity), "", &mut members);
    for member in &mut members {
        member.jump_min = member.jump_min.filter(|_| is_computed(entity, &member.path));
    }
    if keys_of(entity).has_citations() {
        members.push(Member { path: REFERENCES.to_owned(), jump_min: None });
    }
    members
}

/// Makes the columns of a schema, and lists their members.
fn node(schema: &Schema, path: &str, members: &mut Vec<Member>) -> Node {
    let mut leaf = |path: String| {
        let jump_min = match schema {
            Schema::Integer { signed: false, .. } => Some(COUNT_JUMP_MIN),
            Schema::Number => Some(FRACTION_JUMP_MIN),
            _ => None,
        };
        members.push(Member { path, jump_min });
        Node::Leaf(Value::default())
    };
    match schema {
        Schema::Nullable(inner) | Schema::ByShape { single: inner, .. } => {
            node(inner, path, members)
        }
        Schema::List(inner) => Node::List(Box::new(node(inner, path, members))),
        // Records are found by their ids.
        Schema::Id(_) => Node::Skipped,
        Schema::Reference(_) | Schema::ParentReference(_) => {
            Node::Object(vec![leaf(join(path, "id")), Node::Skipped])
        }
        Schema::NamedCode(_) => Node::Object(vec![leaf(join(path, "code")), Node::Skipped]),
        Schema::Object(object) => {
            let columns = object.members.iter().map(|member| match member.shown {
                Shown::Flat => node(&member.schema, path, members),
                _ => node(&member.schema, &join(path, member.name), members),
            });
            Node::Object(columns.collect())
        }
        _ => leaf(path.to_owned()),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

impl<'s> Values<'s> {
    pub(super) fn new(snapshot: &'s Snapshot, entity: Entity) -> Values<'s> {
        let tree = node(&schema_of(entity), "", &mut Vec::new());
        Values { snapshot, entity, tree, writer: JsonWriter::for_export(snapshot) }
    }

    /// The values of the record in a row.
    pub(super) fn read(&mut self, row: u32) -> Result<Vec<Value>, ReadError> {
        self.snapshot.fill(self.entity, row, &mut self.tree, &mut self.writer)?;
        let mut values = Vec::new();
        self.tree.take(&mut values);
        if keys_of(self.entity).has_citations() {
            let mut value = Value::default();
            let ids = RecordLookup::references(self.snapshot, self.entity, row)?;
            ids.iter().for_each(|id| value.add(&id.to_le_bytes()));
            values.push(value);
        }
        Ok(values)
    }
}

impl Node {
    /// Takes the values out of all leaves.
    fn take(&mut self, values: &mut Vec<Value>) {
        match self {
            Node::Skipped => {}
            Node::Leaf(value) => values.push(std::mem::take(value)),
            Node::Object(columns) => columns.iter_mut().for_each(|column| column.take(values)),
            Node::List(items) => items.take(values),
        }
    }

    fn add(&mut self, bytes: &[u8], number: f64) {
        if let Node::Leaf(value) = self {
            value.add(bytes);
            value.sum += number;
        }
    }
}

impl Column for Node {
    fn is_skipped(&self) -> bool {
        matches!(self, Node::Skipped)
    }

    fn null(&mut self) {}

    fn boolean(&mut self, value: bool) {
        self.add(&[value.into()], 0.0);
    }

    fn integer(&mut self, value: i64) {
        self.add(&value.to_le_bytes(), value as f64);
    }

    fn number(&mut self, value: f64) {
        self.add(&value.to_le_bytes(), value);
    }

    fn text(&mut self, _: &'static str, rest: &[u8]) {
        self.add(rest, 0.0);
    }

    fn id(&mut self, _: Entity, id: u64) {
        self.add(&id.to_le_bytes(), 0.0);
    }

    fn day(&mut self, year: u16, month: u8, day: u8) {
        let [high, low] = year.to_be_bytes();
        self.add(&[high, low, month, day], 0.0);
    }

    fn moment(&mut self, micros: i64) {
        self.add(&micros.to_le_bytes(), 0.0);
    }

    fn object(&mut self) -> &mut [Node] {
        if let Node::Object(columns) = self { columns } else { &mut [] }
    }

    fn list(&mut self, _: usize) -> Option<&mut Node> {
        if let Node::List(items) = self { Some(items) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_differs_as_often_as_its_items() {
        let hash_of = |items: std::ops::Range<u32>| {
            let mut value = Value::default();
            items.for_each(|item| value.add(&item.to_le_bytes()));
            value.hash
        };
        // Of lists of 10 items, the first `common` of which are shared.
        let differ = |common: u32| {
            let is_other = |at: &u32| {
                let from = at * 100;
                hash_of(from..from + 10) != hash_of(from + 10 - common..from + 20 - common)
            };
            (0..10_000).filter(is_other).count()
        };
        assert_eq!((differ(10), differ(0)), (0, 10_000));
        // 9 of 11 items are shared.
        assert!((1_700..1_940).contains(&differ(9)), "{}", differ(9));
    }

    #[test]
    fn members_have_the_paths_that_select_and_filters_use() {
        let paths = |entity| -> Vec<String> {
            members_of(entity).into_iter().map(|member| member.path).collect()
        };
        let outputs = paths(Entity::Output);
        for path in ["title", "type", "ids.mag", "language.code", "authors.id", "authors.orcid"] {
            assert!(outputs.iter().any(|known| known == path), "{path}: {outputs:?}");
        }
        assert_eq!(outputs.last().map(String::as_str), Some("references"));
        for absent in ["id", "authors.name", "language.name"] {
            assert!(!outputs.iter().any(|known| known == absent), "{absent}");
        }
        assert!(paths(Entity::Source).contains(&"is_oa".to_owned()));
    }
}
