//! The values at the end of paths through a record: what filters compare and sorts order by.
//!
//! A dotted path such as `authors.affiliations.id` is found in the declarations once, and becomes
//! the branch of a [`Tree`] of member numbers. One walk down that tree shows every value of every
//! path. A path through a list gathers from each of its items.

use rkyv::{
    primitive::{ArchivedF64, ArchivedI32, ArchivedI64, ArchivedU64},
    string::ArchivedString,
    vec::ArchivedVec,
};

use crate::entity::Entity;
use crate::record::schema::{Object, Schema, Shown};
use crate::record::value::{
    ArchivedAnyRef, ArchivedCode, ArchivedCold, ArchivedDate, ArchivedId, ArchivedJson,
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
    /// An integer.
    Integer(i64),
    /// A number that may be fractional.
    Number(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A text.
    Text(&'a str),
    /// A code's number.
    Code(u32),
    /// The row of the record referred to: its id, its name and what lies behind it.
    Reference(Entity, u32),
    /// The name of the record in a row, where that alone is shown.
    NameOf(Entity, u32),
    /// A day, as the number its digits `YYYYMMDD` spell.
    Day(u32),
    /// A moment, in microseconds since 1970.
    Moment(i64),
    /// The record's own number.
    Id(u64),
    /// Something that is there and has no value to compare.
    Present,
}

/// The paths to be walked, by the members they lead through.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The numbers of the paths that end here.
    pub ends: Vec<usize>,
    /// Where the others lead: a member of the declaration, by its place, and what is below it.
    pub members: Vec<(usize, Tree)>,
}

impl Tree {
    /// Adds a path.
    pub fn add(&mut self, path: &[usize], end: usize) {
        let Some((member, rest)) = path.split_first() else {
            return self.ends.push(end);
        };
        let at = self.members.iter().position(|(known, _)| known == member).unwrap_or_else(|| {
            self.members.push((*member, Tree::default()));
            self.members.len() - 1
        });
        self.members[at].1.add(rest, end);
    }

    /// The same tree with the ends that are kept, and what leads to them, alone.
    #[must_use]
    pub fn pruned(&self, is_kept: &impl Fn(&usize) -> bool) -> Tree {
        let below = self.members.iter().map(|(member, tree)| (*member, tree.pruned(is_kept)));
        Tree {
            ends: self.ends.iter().copied().filter(is_kept).collect(),
            members: below
                .filter(|(_, tree)| !tree.ends.is_empty() || !tree.members.is_empty())
                .collect(),
        }
    }
}

/// Archived values that paths lead to or through.
pub trait Gather {
    /// Shows `visit` each value at each end of the tree, with the end's number.
    fn gather<'a>(&'a self, tree: &Tree, visit: &mut dyn FnMut(usize, Gathered<'a>));
}

impl<T: Gather> Gather for rkyv::option::ArchivedOption<T> {
    fn gather<'a>(&'a self, tree: &Tree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
        if let Some(value) = self.as_ref() {
            value.gather(tree, visit);
        }
    }
}

impl<T: Gather> Gather for ArchivedVec<T> {
    fn gather<'a>(&'a self, tree: &Tree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
        for value in self.iter() {
            value.gather(tree, visit);
        }
    }
}

/// Leaf values: what each shows at the ends of the tree.
macro_rules! leaves {
    ($([$($parameter:tt)*] $type:ty, |$value:ident| $gathered:expr;)*) => {
        $(impl<$($parameter)*> Gather for $type {
            fn gather<'a>(&'a self, tree: &Tree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
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
    [] ArchivedCold, |_value| Gathered::Present;
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
    fn gather<'a>(&'a self, tree: &Tree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
        let Some(entity) = Entity::from_index(self.entity) else { return };
        for end in &tree.ends {
            visit(*end, Gathered::Reference(entity, self.target.to_native()));
        }
    }
}

impl Gather for ArchivedSourceKind {
    fn gather<'a>(&'a self, tree: &Tree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
        let code = self.code.to_native();
        for end in tree.ends.iter().filter(|_| code != NO_CODE) {
            visit(*end, Gathered::Code(code));
        }
    }
}

impl Gather for ArchivedHostName {
    fn gather<'a>(&'a self, tree: &Tree, visit: &mut dyn FnMut(usize, Gathered<'a>)) {
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

/// What stands at the end of a path.
#[derive(Clone, Debug)]
pub struct End {
    /// The members that lead there.
    pub path: Vec<usize>,
    /// Whether the path leads through a list, so that there may be many values.
    pub is_many: bool,
    /// What kind of value it is.
    pub schema: Schema,
    /// What is asked of it, where it is a reference.
    pub part: Part,
}

/// What a path asks of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The value itself, or its code.
    Itself,
    /// The id of the record referred to.
    Id,
    /// Its name.
    Name,
    /// The value at the end of a path through the record referred to.
    Beyond(String),
}

/// Follows a dotted path through a declaration; `None` where it leads nowhere.
pub fn find(schema: &Schema, path: &str) -> Option<End> {
    let names: Vec<&str> = path.split('.').collect();
    follow(schema, &names)
}

fn follow(schema: &Schema, names: &[&str]) -> Option<End> {
    let end = |part| Some(End { path: Vec::new(), is_many: false, schema: schema.clone(), part });
    match (schema, names) {
        (Schema::Nullable(inner), _) => follow(inner, names),
        (Schema::List(inner), _) => Some(End { is_many: true, ..follow(inner, names)? }),
        (Schema::ByShape { list, .. }, []) => follow(list, names),
        (Schema::ByShape { single, .. }, _) => follow(single, names),
        (Schema::Object(object), [name, rest @ ..]) => follow_member(object, name, rest, names),
        (Schema::Reference(_) | Schema::ParentReference(_), ["id"]) => end(Part::Id),
        (Schema::Reference(_) | Schema::ParentReference(_), ["name"]) => end(Part::Name),
        (Schema::Reference(_), [_, ..]) => end(Part::Beyond(names.join("."))),
        (Schema::NamedCode(_), ["code"]) => end(Part::Itself),
        (Schema::Object(_) | Schema::NamedCode(_) | Schema::Reference(_), []) => None,
        (_, []) => end(Part::Itself),
        _ => None,
    }
}

fn follow_member(object: &Object, name: &str, rest: &[&str], names: &[&str]) -> Option<End> {
    object.members.iter().enumerate().find_map(|(at, member)| {
        let mut end = match member.shown {
            // Its members are members of the object around it.
            Shown::Flat => match (&member.schema, names) {
                (Schema::Reference(_), [name, ..]) if !["id", "name"].contains(name) => None,
                _ => follow(&member.schema, names),
            },
            Shown::Always | Shown::Single if member.name == name => follow(&member.schema, rest),
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
    fn a_path_is_found_in_the_declarations() {
        let check = |entity: Entity, path: &str, expected: Option<(&str, bool, Part)>| {
            let found = find(&schema_of(entity), path);
            let found = found
                .map(|end| (crate::schema::layout::name_of(&end.schema), end.is_many, end.part));
            let expected = expected.map(|(name, many, part)| (name.to_string(), many, part));
            assert_eq!(found, expected, "{entity} {path}");
        };
        check(Entity::Output, "year", Some(("i32", false, Part::Itself)));
        check(Entity::Output, "authors.id", Some(("row of authors", true, Part::Id)));
        check(Entity::Output, "authors.name", Some(("row of authors", true, Part::Name)));
        check(Entity::Output, "primary_venue.source.id", Some(("row of sources", false, Part::Id)));
        check(Entity::Output, "primary_topic", None);
        check(Entity::Output, "biblio", None);
        check(Entity::Output, "nothing", None);
        check(Entity::Output, "year.nothing", None);
        let beyond = Part::Beyond("field.id".into());
        check(Entity::Output, "primary_topic.field.id", Some(("row of topics", false, beyond)));
        check(Entity::Source, "is_oa", Some(("bool", false, Part::Itself)));
        check(Entity::Author, "affiliations.years", Some(("i32", true, Part::Itself)));
    }
}
