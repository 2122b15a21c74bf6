//! Reads the values at the ends of paths through a record, for filters, sorts and indexes.
//!
//! [`find_path`] looks a dotted path up in the declarations and returns member numbers.
//! [`PathTree`] merges the paths of many keys, so that one walk down a record visits the values of
//! all of them. A path through a list yields one value per item. Example, for two keys of an output:
//!
//! ```text
//! authors.id                   members [14, 1]      PathTree { 14: { 1: end 0,
//! authors.affiliations.id      members [14, 3]                       3: end 1 } }
//! ```
//!
//! A walk costs the members on the paths and the items of the lists on them.

use rkyv::{
    primitive::{ArchivedF64, ArchivedI32, ArchivedI64, ArchivedU64},
    string::ArchivedString,
    vec::ArchivedVec,
};

use crate::entity::Entity;
use crate::record::schema::{Object, Schema, Shown};
use crate::record::value::{
    ArchivedAnyRef, ArchivedCode, ArchivedDate, ArchivedId, ArchivedJson, ArchivedLongText,
    ArchivedNamed, ArchivedOrcid, ArchivedParentRef, ArchivedRef, ArchivedTimestamp,
    ArchivedUtcTimestamp, NO_CODE, entity,
};
use crate::record::{
    ArchivedAuthorOrcid, ArchivedHostName, ArchivedSourceKind, ArchivedVenueMetrics,
    ArchivedYearPrices,
};

/// One value at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gathered<'a> {
    /// An integer; counts are at most 2^53 - 1.
    Integer(i64),
    /// A number, possibly fractional.
    Number(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A text, not folded.
    Text(&'a str),
    /// The number of a code.
    Code(u32),
    /// The entity and row of a record referred to.
    Reference(Entity, u32),
    /// The entity and row of a record whose name is the value.
    NameOf(Entity, u32),
    /// A day, as the decimal number `YYYYMMDD`.
    Day(u32),
    /// A moment, in microseconds since 1970.
    Moment(i64),
    /// The number of the record's identifier.
    Id(u64),
    /// A value that exists and cannot be compared.
    Present,
}

/// Paths merged by the members they share.
#[derive(Clone, Debug, Default)]
pub struct PathTree {
    /// Numbers of the paths that end at this node.
    pub ends: Vec<usize>,
    /// The members that paths continue through: index in the declaration, and the paths below.
    pub members: Vec<(usize, PathTree)>,
}

impl PathTree {
    /// Adds a path; `end` is its number in visits.
    pub fn add(&mut self, path: &[usize], end: usize) {
        let Some((member, rest)) = path.split_first() else {
            return self.ends.push(end);
        };
        let at = self.members.iter().position(|(known, _)| known == member).unwrap_or_else(|| {
            self.members.push((*member, PathTree::default()));
            self.members.len() - 1
        });
        self.members[at].1.add(rest, end);
    }

    /// A copy with only the paths whose numbers `is_kept` accepts.
    #[must_use]
    pub fn pruned(&self, is_kept: &impl Fn(&usize) -> bool) -> PathTree {
        let below = self.members.iter().map(|(member, tree)| (*member, tree.pruned(is_kept)));
        PathTree {
            ends: self.ends.iter().copied().filter(is_kept).collect(),
            members: below
                .filter(|(_, tree)| !tree.ends.is_empty() || !tree.members.is_empty())
                .collect(),
        }
    }
}

/// Archived values that paths can traverse.
pub trait Gather {
    /// Calls `visit` with the number of a path and a value at its end, for every value.
    fn gather<'a>(&'a self, tree: &PathTree, visit: &mut dyn FnMut(usize, Gathered<'a>));
}

impl<T: Gather> Gather for rkyv::option::ArchivedOption<T> {
    fn gather<'a>(&'a self, tree: &PathTree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
        if let Some(value) = self.as_ref() {
            value.gather(tree, visit);
        }
    }
}

impl<T: Gather> Gather for ArchivedVec<T> {
    fn gather<'a>(&'a self, tree: &PathTree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
        for value in self.iter() {
            value.gather(tree, visit);
        }
    }
}

/// Implements [`Gather`] for leaf values.
macro_rules! leaves {
    ($([$($parameter:tt)*] $type:ty, |$value:ident| $gathered:expr;)*) => {
        $(impl<$($parameter)*> Gather for $type {
            fn gather<'a>(&'a self, tree: &PathTree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
                let $value = self;
                for end in &tree.ends {
                    visit(*end, $gathered);
                }
            }
        })*
    };
}

leaves! {
    [] bool, |value| Gathered::Boolean(*value);
    [] ArchivedI32, |value| Gathered::Integer(i64::from(value.to_native()));
    [] ArchivedI64, |value| Gathered::Integer(value.to_native());
    // Counts are at most 2^53 - 1.
    [] ArchivedU64, |value| Gathered::Integer(i64::try_from(value.to_native()).unwrap_or(i64::MAX));
    [] ArchivedF64, |value| Gathered::Number(value.to_native());
    [] ArchivedString, |value| Gathered::Text(value);
    [] ArchivedOrcid, |value| Gathered::Text(&value.0);
    [] ArchivedAuthorOrcid, |value| Gathered::Text(&value.0.id);
    [] ArchivedTimestamp, |value| Gathered::Moment(value.micros.to_native());
    [] ArchivedUtcTimestamp, |value| Gathered::Moment(value.micros.to_native());
    [] ArchivedDate, |value| Gathered::Day(
        u32::from(value.year.to_native()) * 10_000
            + u32::from(value.month) * 100
            + u32::from(value.day)
    );
    [] ArchivedLongText, |_value| Gathered::Present;
    [] ArchivedJson, |_value| Gathered::Present;
    [] ArchivedYearPrices, |_value| Gathered::Present;
    [] ArchivedVenueMetrics, |_value| Gathered::Present;
    [const E: u8] ArchivedId<E>, |value| Gathered::Id(value.0.to_native());
    [const E: u8] ArchivedRef<E>, |value| Gathered::Reference(entity(E), value.0.to_native());
    [const E: u8] ArchivedParentRef<E>, |value| Gathered::Reference(entity(E), value.0.to_native());
    [const E: u8] ArchivedCode<E>, |value| Gathered::Code(value.0.to_native());
    [const E: u8] ArchivedNamed<E>, |value| Gathered::Code(value.0.to_native());
}

impl Gather for ArchivedAnyRef {
    fn gather<'a>(&'a self, tree: &PathTree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
        let Some(entity) = Entity::from_index(self.entity) else { return };
        for end in &tree.ends {
            visit(*end, Gathered::Reference(entity, self.target.to_native()));
        }
    }
}

impl Gather for ArchivedSourceKind {
    fn gather<'a>(&'a self, tree: &PathTree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
        let code = self.code.to_native();
        for end in tree.ends.iter().filter(|_| code != NO_CODE) {
            visit(*end, Gathered::Code(code));
        }
    }
}

impl Gather for ArchivedHostName {
    fn gather<'a>(&'a self, tree: &PathTree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
        let publisher = self.publisher.as_ref().map(|host| (Entity::Publisher, host.0));
        let institution = self.institution.as_ref().map(|host| (Entity::Institution, host.0));
        let name = match (self.given.as_ref(), publisher.or(institution)) {
            (Some(given), _) => Some(Gathered::Text(given)),
            (None, host) => host.map(|(entity, row)| Gathered::NameOf(entity, row.to_native())),
        };
        for end in &tree.ends {
            name.into_iter().for_each(|name| visit(*end, name));
        }
    }
}

/// A path looked up in a declaration.
#[derive(Clone, Debug)]
pub struct FoundPath {
    /// Index of the member in each declaration on the way.
    pub path: Vec<usize>,
    /// Whether the path leads through a list, so that a record may have several values.
    pub is_many: bool,
    /// Schema of the value at the end.
    pub schema: Schema,
    /// The part of the value that the path names, if the value is a reference.
    pub target: PathTarget,
}

/// The part of a value that a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathTarget {
    /// The value, or the code of a named code.
    Value,
    /// The id of the record referred to.
    Id,
    /// The name of the record referred to.
    Name,
    /// The value at the end of this path through the record referred to.
    Through(String),
}

/// Looks up a dotted path in a declaration; `None` if a segment names no member.
pub fn find_path(schema: &Schema, path: &str) -> Option<FoundPath> {
    let names: Vec<&str> = path.split('.').collect();
    follow(schema, &names)
}

fn follow(schema: &Schema, names: &[&str]) -> Option<FoundPath> {
    let end = |target| {
        Some(FoundPath { path: Vec::new(), is_many: false, schema: schema.clone(), target })
    };
    match (schema, names) {
        (Schema::Nullable(inner), _) => follow(inner, names),
        (Schema::List(inner), _) => Some(FoundPath { is_many: true, ..follow(inner, names)? }),
        (Schema::ByShape { list, .. }, []) => follow(list, names),
        (Schema::ByShape { single, .. }, _) => follow(single, names),
        (Schema::Object(object), [name, rest @ ..]) => follow_member(object, name, rest, names),
        (Schema::Reference(_) | Schema::ParentReference(_), ["id"]) => end(PathTarget::Id),
        (Schema::Reference(_) | Schema::ParentReference(_), ["name"]) => end(PathTarget::Name),
        (Schema::Reference(_), [_, ..]) => end(PathTarget::Through(names.join("."))),
        (Schema::NamedCode(_), ["code"]) => end(PathTarget::Value),
        (Schema::Object(_) | Schema::NamedCode(_) | Schema::Reference(_), []) => None,
        (_, []) => end(PathTarget::Value),
        _ => None,
    }
}

fn follow_member(object: &Object, name: &str, rest: &[&str], names: &[&str]) -> Option<FoundPath> {
    object.members.iter().enumerate().find_map(|(at, member)| {
        let mut end = match member.shown {
            // The members of a flat member belong to the surrounding object.
            Shown::Flat => match (&member.schema, names) {
                (Schema::Reference(_), [name, ..]) if !["id", "name"].contains(name) => None,
                _ => follow(&member.schema, names),
            },
            Shown::Always | Shown::Single | Shown::KeyOnly if member.name == name => {
                follow(&member.schema, rest)
            }
            _ => None,
        }?;
        end.path.insert(0, at);
        Some(end)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::record::schema_of;

    #[test]
    fn find_path_follows_the_declarations() {
        let check = |entity: Entity, path: &str, expected: Option<(&str, bool, PathTarget)>| {
            let found = find_path(&schema_of(entity), path);
            let found = found
                .map(|end| (crate::schema::layout::name_of(&end.schema), end.is_many, end.target));
            let expected = expected.map(|(name, many, target)| (name.to_string(), many, target));
            assert_eq!(found, expected, "{entity} {path}");
        };
        check(Entity::Output, "year", Some(("i32", false, PathTarget::Value)));
        check(Entity::Output, "authors.id", Some(("row of authors", true, PathTarget::Id)));
        check(Entity::Output, "authors.name", Some(("row of authors", true, PathTarget::Name)));
        check(
            Entity::Output,
            "primary_venue.source.id",
            Some(("row of sources", false, PathTarget::Id)),
        );
        check(Entity::Output, "primary_topic", None);
        check(Entity::Output, "biblio", None);
        check(Entity::Output, "nothing", None);
        check(Entity::Output, "year.nothing", None);
        let beyond = PathTarget::Through("field.id".into());
        check(Entity::Output, "primary_topic.field.id", Some(("row of topics", false, beyond)));
        check(Entity::Source, "is_oa", Some(("bool", false, PathTarget::Value)));
        check(Entity::Author, "affiliations.years", Some(("i32", true, PathTarget::Value)));
    }
}
