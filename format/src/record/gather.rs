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

use crate::entity::Entity;
use crate::json::record_reader::RecordReader;
use crate::record::derived::{DERIVED_FROM, derived_values};
use crate::record::schema::{ObjectSchema, Schema, Shown};
use crate::record::stored::{Stored, StoredObject};
use crate::record::{AuthorOrcid, OrcidProfile, VenueMetrics, YearPrices};
use crate::storage::ReadError;

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
    /// A long text: its offset and length in the record's pool.
    LongText(u32, u32),
    /// A value that exists and cannot be compared.
    Present,
}

/// Paths merged by the members they share.
#[derive(Clone, Debug, Default)]
pub struct PathTree {
    /// Numbers of the paths that end at this node.
    pub ends: Vec<usize>,
    /// The members that paths continue through, ascending: index in the declaration, and the paths below.
    pub members: Vec<(usize, PathTree)>,
}

impl PathTree {
    /// Adds a path; `end` is its number in visits.
    pub fn add(&mut self, path: &[usize], end: usize) {
        let Some((member, rest)) = path.split_first() else {
            return self.ends.push(end);
        };
        let at = self.members.partition_point(|(known, _)| known < member);
        if self.members.get(at).is_none_or(|(known, _)| known != member) {
            self.members.insert(at, (*member, PathTree::default()));
        }
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

/// Types of values that paths can traverse.
pub trait Gather: Stored {
    /// Reads the next value of a record and calls `visit` with the number of a path and a value at its
    /// end, for every value.
    fn gather<'r>(
        from: &mut RecordReader<'r>,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'r>),
    ) -> Result<(), ReadError>;
}

/// Gathers the values of one member of an object, or passes over the member. `paths` are the paths through
/// this member and the following ones.
#[inline(always)]
pub(super) fn gather_member<'r, T: Gather>(
    at: usize,
    from: &mut RecordReader<'r>,
    paths: &mut &[(usize, PathTree)],
    visit: &mut dyn FnMut(usize, Gathered<'r>),
) -> Result<(), ReadError> {
    match paths.split_first() {
        Some(((member, below), rest)) if *member == at => {
            *paths = rest;
            T::gather(from, below, visit)
        }
        _ => T::skip(from),
    }
}

impl<T: Gather> Gather for Option<T> {
    fn gather<'r>(
        from: &mut RecordReader<'r>,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'r>),
    ) -> Result<(), ReadError> {
        if from.flag() { T::gather(from, tree, visit) } else { Ok(()) }
    }
}

impl<T: Gather> Gather for Vec<T> {
    fn gather<'r>(
        from: &mut RecordReader<'r>,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'r>),
    ) -> Result<(), ReadError> {
        (0..from.count()?).try_for_each(|_| T::gather(from, tree, visit))
    }
}

impl Gather for AuthorOrcid {
    fn gather<'r>(
        from: &mut RecordReader<'r>,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'r>),
    ) -> Result<(), ReadError> {
        let id = OrcidProfile::locate(from)?[OrcidProfile::index_of("id")].utf8()?;
        tree.ends.iter().for_each(|end| visit(*end, Gathered::Text(id)));
        Ok(())
    }
}

/// Implements [`Gather`] for values that exist and cannot be compared.
macro_rules! present {
    ($($type:ty)*) => {
        $(impl Gather for $type {
            fn gather<'r>(
                from: &mut RecordReader<'r>,
                tree: &PathTree,
                visit: &mut dyn FnMut(usize, Gathered<'r>),
            ) -> Result<(), ReadError> {
                <$type>::skip(from)?;
                tree.ends.iter().for_each(|end| visit(*end, Gathered::Present));
                Ok(())
            }
        })*
    };
}

present! { YearPrices VenueMetrics }

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

impl FoundPath {
    /// Whether the values follow from several members.
    pub fn is_derived(&self) -> bool {
        self.path.first().is_some_and(|at| *at >= DERIVED_FROM)
    }
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
        (Schema::Object(object), [name, rest @ ..]) => {
            // A count of references is no path through them.
            follow_derived(object, names).or_else(|| follow_member(object, name, rest, names))
        }
        (Schema::Reference(_) | Schema::ParentReference(_), ["id"]) => end(PathTarget::Id),
        (Schema::Reference(_) | Schema::ParentReference(_), ["name"]) => end(PathTarget::Name),
        (Schema::Reference(_), [_, ..]) => end(PathTarget::Through(names.join("."))),
        (Schema::NamedCode(_), ["code"]) => end(PathTarget::Value),
        (Schema::Object(_) | Schema::NamedCode(_) | Schema::Reference(_), []) => None,
        (_, []) => end(PathTarget::Value),
        _ => None,
    }
}

fn follow_member(
    object: &ObjectSchema,
    name: &str,
    rest: &[&str],
    names: &[&str],
) -> Option<FoundPath> {
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

/// Looks up a value of a record that no member holds.
fn follow_derived(object: &ObjectSchema, names: &[&str]) -> Option<FoundPath> {
    let path = names.join(".");
    derived_values(object.name).into_iter().enumerate().find_map(|(at, derived)| {
        let rest = path.strip_prefix(derived.name)?;
        let rest: Vec<&str> = match rest.strip_prefix('.') {
            Some(rest) => rest.split('.').collect(),
            None if rest.is_empty() => Vec::new(),
            None => return None,
        };
        let end = follow(&derived.schema, &rest)?;
        let path = vec![DERIVED_FROM + at];
        Some(FoundPath { path, is_many: derived.is_many, ..end })
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
        check(Entity::Output, "authors.count", Some(("u64", false, PathTarget::Value)));
        check(
            Entity::Output,
            "best_oa_venue.source.id",
            Some(("row of sources", false, PathTarget::Id)),
        );
        check(Entity::Output, "best_oa_venue.source", None);
        check(Entity::Output, "best_oa_venue.nothing", None);
        check(Entity::Output, "year.nothing", None);
        let beyond = PathTarget::Through("field.id".into());
        check(Entity::Output, "primary_topic.field.id", Some(("row of topics", false, beyond)));
        check(Entity::Source, "is_oa", Some(("bool", false, PathTarget::Value)));
        check(Entity::Author, "affiliations.years", Some(("i32", true, PathTarget::Value)));
    }
}
