//! The members of a record, as values that can be compared.
//!
//! ```text
//! {"title": "Tides", "authors": [{"id": "HX_A7"}, {"id": "HX_A9"}], "cites": 3, …}
//!
//! title         hash of "Tides"           1 value
//! authors.id    hash of HX_A7, HX_A9      2 values
//! cites         hash of 3                 1 value, sum 3
//! ```
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

/// The values that one record has at one member.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Value {
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
        self.hash = XxHash3_128::oneshot_with_seed(self.hash, bytes) as u64;
        self.count += 1;
    }
}

/// A member without members of its own.
pub(super) struct Member {
    /// The path below the entity, such as `authors.id`.
    pub path: String,
    /// Whether the values are numbers that a source computes again for each release.
    pub is_measure: bool,
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
    members.iter_mut().for_each(|member| member.is_measure &= is_computed(entity, &member.path));
    if keys_of(entity).has_citations() {
        members.push(Member { path: REFERENCES.to_owned(), is_measure: false });
    }
    members
}

/// Makes the columns of a schema, and lists their members.
fn node(schema: &Schema, path: &str, members: &mut Vec<Member>) -> Node {
    let mut leaf = |path: String| {
        let is_measure = matches!(schema, Schema::Number | Schema::Integer { signed: false, .. });
        members.push(Member { path, is_measure });
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
