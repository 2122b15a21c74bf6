//! The members of a record, as values that can be compared.
//!
//! ```text
//! {"title": "Tides", "authors": [{"id": "HX_A7"}, {"id": "HX_A9"}], "cites": 3, …}
//!
//! title         hash of "Tides"                        1 value
//! authors                                              2 items
//! authors.id    least hash of HX_A7 and HX_A9          2 values
//! cites         hash of 3                              1 value, sum 3
//! ```
//!
//! Two lists have the same least hash as often as they share items: with probability |A ∩ B| / |A ∪ B| (MinHash). So one
//! more author is a small change, and other authors are a change.
//!
//! The names of references are left out: they are members of the records referred to.
//!
//! An id of the current snapshot that the new snapshot merged stands for the id of the remaining record. The comparison
//! leaves out the members beside such a reference, such as the type of a venue's source: they belong to the remaining record.

use pinakes_format::changes::REFERENCES;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::record::{Column, Schema, Shown, schema_of};
use pinakes_format::schema::keys_of;
use pinakes_format::snapshot::{LookupResult, RecordLookup, Snapshot};
use pinakes_format::storage::ReadError;
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
    /// Whether the value lies beside a reference to a merged record.
    pub is_beside_merged: bool,
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
    /// Whether the value is the number of a list's items.
    pub is_list: bool,
}

/// A column of one record, nested as the declaration is.
enum Node {
    Skipped,
    Leaf(Value),
    /// The ids of a reference or of a list of references.
    Ids(Vec<(Entity, u64)>),
    Object(Vec<Node>),
    /// An object whose members are those of the surrounding one.
    Flat(Box<Node>),
    /// The number of items, where items are objects, and the items.
    List(Option<u32>, Box<Node>),
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
        members.push(Member { path: REFERENCES.to_owned(), jump_min: None, is_list: true });
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
        members.push(Member { path, jump_min, is_list: false });
        Node::Leaf(Value::default())
    };
    match schema {
        Schema::Nullable(inner) | Schema::ByShape { single: inner, .. } => {
            node(inner, path, members)
        }
        Schema::List(inner) => {
            let has_objects = matches!(
                **inner,
                Schema::Object(_) | Schema::Reference(_) | Schema::ParentReference(_)
            );
            if has_objects {
                members.push(Member { path: path.to_owned(), jump_min: None, is_list: true });
            }
            Node::List(has_objects.then_some(0), Box::new(node(inner, path, members)))
        }
        // Records are found by their ids.
        Schema::Id(_) => Node::Skipped,
        Schema::Reference(_) | Schema::ParentReference(_) => {
            leaf(join(path, "id"));
            Node::Object(vec![Node::Ids(Vec::new()), Node::Skipped])
        }
        Schema::NamedCode(_) => Node::Object(vec![leaf(join(path, "code")), Node::Skipped]),
        Schema::Object(object) => {
            let columns = object.members.iter().map(|member| match member.shown {
                Shown::Flat => Node::Flat(Box::new(node(&member.schema, path, members))),
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

    /// The values of the record in a row, with ids as `merges` has merged them.
    pub(super) fn read(
        &mut self,
        row: u32,
        merges: Option<&Snapshot>,
    ) -> Result<Vec<Value>, ReadError> {
        self.snapshot.fill(self.entity, row, &mut self.tree, &mut self.writer)?;
        let mut values = Vec::new();
        self.tree.take(merges, &mut values)?;
        if keys_of(self.entity).has_citations() {
            let ids = RecordLookup::references(self.snapshot, self.entity, row)?;
            let ids = ids.iter().map(|id| (self.entity, *id));
            values.push(value_of_ids(ids, merges)?.0);
        }
        Ok(values)
    }
}

/// The value of references, and whether one of them leads to a merged record.
fn value_of_ids(
    ids: impl Iterator<Item = (Entity, u64)>,
    merges: Option<&Snapshot>,
) -> Result<(Value, bool), ReadError> {
    let (mut value, mut has_merged) = (Value::default(), false);
    for (entity, id) in ids {
        let found = merges.map(|merges| merges.find(entity, id)).transpose()?;
        let into = match found {
            Some(LookupResult::Merged(into)) => into,
            _ => id,
        };
        has_merged |= into != id;
        value.add(&into.to_le_bytes());
    }
    Ok((value, has_merged))
}

impl Node {
    /// Takes the values out of all leaves. Returns whether a reference leads to a merged record.
    fn take(
        &mut self,
        merges: Option<&Snapshot>,
        values: &mut Vec<Value>,
    ) -> Result<bool, ReadError> {
        match self {
            Node::Skipped => {}
            Node::Leaf(value) => values.push(std::mem::take(value)),
            Node::Ids(ids) => {
                let (value, has_merged) = value_of_ids(ids.drain(..), merges)?;
                values.push(value);
                return Ok(has_merged);
            }
            Node::Object(columns) => {
                let from = values.len();
                let (mut is_reference, mut is_merged) = (false, false);
                let mut own = Vec::new();
                for column in columns {
                    let begin = values.len();
                    let has_merged = column.take(merges, values)?;
                    match column {
                        // The members beside a reference are in the object around the reference.
                        Node::Ids(_) => (is_reference, is_merged) = (true, has_merged),
                        Node::Flat(_) if has_merged => own.push(begin..values.len()),
                        _ => {}
                    }
                }
                // The reference itself is compared: it leads to the remaining record in both snapshots.
                if !own.is_empty() {
                    for (at, value) in values.iter_mut().enumerate().skip(from) {
                        value.is_beside_merged = !own.iter().any(|own| own.contains(&at));
                    }
                }
                return Ok(is_reference && is_merged);
            }
            Node::Flat(inner) => return inner.take(merges, values),
            Node::List(count, items) => {
                if let Some(count) = count {
                    let count = std::mem::take(count);
                    values.push(Value { count, ..Value::default() });
                }
                items.take(merges, values)?;
            }
        }
        Ok(false)
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
        match self {
            Node::Flat(inner) => inner.is_skipped(),
            node => matches!(node, Node::Skipped),
        }
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

    fn id(&mut self, entity: Entity, id: u64) {
        match self {
            Node::Ids(ids) => ids.push((entity, id)),
            other => other.add(&id.to_le_bytes(), 0.0),
        }
    }

    fn day(&mut self, year: u16, month: u8, day: u8) {
        let [high, low] = year.to_be_bytes();
        self.add(&[high, low, month, day], 0.0);
    }

    fn moment(&mut self, micros: i64) {
        self.add(&micros.to_le_bytes(), 0.0);
    }

    fn object(&mut self) -> &mut [Node] {
        match self {
            Node::Object(columns) => columns,
            Node::Flat(inner) => inner.object(),
            _ => &mut [],
        }
    }

    fn list(&mut self, items: usize) -> Option<&mut Node> {
        let Node::List(count, inner) = self else { return None };
        if let Some(count) = count {
            *count += items as u32;
        }
        Some(inner)
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
