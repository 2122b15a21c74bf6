//! The keys lists can be filtered and sorted by: one line each.
//!
//! A line names a member by its dotted path. Everything else follows from the member's declaration:
//! how values are read and compared, which index serves them, what the compiler extracts, what
//! errors and documentation say. [`keys_of`] gives the lines of an entity with all that worked out.

mod legacy;
mod lines;
mod resolve;

use std::sync::LazyLock;

use crate::entity::Entity;
use crate::record::gather::{Part, Tree};
use crate::record::legacy::{LEGACY, LegacyEntity};

/// What the values of a key are, and so how one in a filter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The identifier of a record of an entity.
    Id(Entity),
    /// The same as the older variant spells it, or its number.
    LegacyId(Entity),
    /// The identifier of a record of any entity.
    AnyId,
    /// An identifier of another system.
    Identifier(Scheme),
    /// A short text out of a table.
    Code,
    /// A text, compared folded.
    Text,
    /// Words, each the beginning of a word of the record's names.
    Words,
    /// `true` or `false`.
    Boolean,
    /// An integer of 64 bits.
    Integer,
    /// A number that may be fractional.
    Number,
    /// A day, a month or a year.
    Day(Bound),
    /// The same of moments, which are compared by their day.
    Moment(Bound),
}

/// How a date key compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// As written.
    Given,
    /// From that day on.
    From,
    /// Up to that day.
    To,
}

impl Kind {
    /// The kind's name in errors and documentation.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Id(_) | Kind::LegacyId(_) | Kind::AnyId | Kind::Identifier(_) => "id",
            Kind::Code => "code",
            Kind::Text => "text",
            Kind::Words => "words",
            Kind::Boolean => "bool",
            Kind::Integer => "int",
            Kind::Number => "num",
            Kind::Day(_) | Kind::Moment(_) => "date",
        }
    }
}

/// A system of identifiers, and the ways its identifiers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// One way.
    Plain,
    /// Bare, as URL or with `doi:`.
    Doi,
    /// Bare or as URL.
    Orcid,
    /// Bare or as URL.
    Ror,
}

impl Scheme {
    /// The form identifiers are compared in: bare, in ASCII lower case.
    pub fn normal(self, text: &str) -> String {
        let lower = text.to_ascii_lowercase();
        let prefixes: &[&str] = match self {
            Scheme::Plain => &[],
            Scheme::Doi => &[
                "https://doi.org/",
                "http://doi.org/",
                "https://dx.doi.org/",
                "http://dx.doi.org/",
                "doi:",
            ],
            Scheme::Orcid => &["https://orcid.org/", "http://orcid.org/"],
            Scheme::Ror => &["https://ror.org/", "http://ror.org/"],
        };
        match prefixes.iter().find_map(|prefix| lower.strip_prefix(prefix)) {
            Some(bare) => bare.to_owned(),
            None => lower,
        }
    }
}

/// Which index answers a filter on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The map from ids to rows.
    Ids,
    /// The lists of this number.
    Lists(usize),
    /// The values of the order of this number.
    Order(usize),
    /// Whether a row has any term in the lists of this number.
    Presence(usize),
    /// The words of names.
    Words,
    /// The lists `rows`, by the rows of `entity` that have the name; `named` tells which rows have
    /// any.
    Names {
        /// What the names belong to.
        entity: Entity,
        /// The lists by row of `entity`.
        rows: usize,
        /// The lists whose presence tells of names.
        named: usize,
    },
    /// The lists `rows`, by the rows of `entity` that have the name, each of which is looked at:
    /// for the taxonomy, whose levels have some hundreds.
    NamesScanned {
        /// What the names belong to.
        entity: Entity,
        /// The lists by row of `entity`.
        rows: usize,
    },
}

/// A key with all that follows from its line.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Whether it gathers from a list, so that a record may have many values.
    pub is_many: bool,
    /// How it filters; `None` where it does not.
    pub filter: Option<Index>,
    /// The order it sorts by; `None` where it does not.
    pub sort: Option<usize>,
}

/// What the terms of posting lists are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// Rows of an entity.
    Rows(Entity),
    /// Rows of any entity, with the entity's number.
    AnyRows,
    /// Integers; of booleans 0 and 1.
    Values,
    /// Hashes of identifiers in their normal form.
    Identifiers(Scheme),
    /// Hashes of codes in ASCII lower case.
    Codes,
    /// Hashes of folded texts.
    Texts,
    /// None: which rows have a value is all that is kept.
    Presence,
}

/// One set of posting lists.
#[derive(Clone, Debug)]
pub struct TermLists {
    /// The path its terms are gathered from; for documentation, sizes and errors.
    pub path: String,
    /// What the terms are.
    pub terms: Terms,
}

/// The values of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Integers.
    Integers,
    /// Numbers that may be fractional.
    Numbers,
    /// Days, as the numbers `YYYYMMDD`.
    Days,
    /// Moments in microseconds.
    Moments,
    /// Texts, by their folded form and then their bytes.
    Texts,
    /// The texts of codes, likewise.
    Codes,
    /// The records' own numbers.
    Ids,
}

/// One order of an entity's rows.
#[derive(Clone, Debug)]
pub struct Order {
    /// The path its values are gathered from.
    pub path: String,
    /// What the values are.
    pub values: Values,
    /// Whether it is the order of the rows themselves.
    pub is_row_order: bool,
}

impl Order {
    /// Whether its greatest value comes first; so it is with everything but texts and ids.
    pub fn is_descending(&self) -> bool {
        !matches!(self.values, Values::Texts | Values::Codes | Values::Ids)
    }
}

/// What becomes of the values at one end of the tree.
#[derive(Clone, Debug)]
pub struct End {
    /// What is asked of a reference there.
    pub part: Part,
    /// The kind of record referred to, and the path beyond the reference in its declaration.
    pub beyond: Option<(Entity, Tree)>,
    /// The lists it feeds.
    pub lists: Option<usize>,
    /// The order it feeds.
    pub order: Option<usize>,
    /// Which of the record's names stand there, if any do.
    pub names: Option<Names>,
}

/// Names of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Its own.
    Own,
    /// Those it has beside that.
    Alternative,
}

/// Everything lists of an entity can be asked, and what has to be indexed for it.
#[derive(Clone, Debug)]
pub struct Keys {
    /// The path of the list they belong to.
    pub route: &'static str,
    /// The keys in the order of documentation.
    pub keys: Vec<Key>,
    /// The posting lists, in the order they are written.
    pub lists: Vec<TermLists>,
    /// The orders, in the order they are written.
    pub orders: Vec<Order>,
    /// The lists of the names of rows without records, where other entities filter by the names.
    pub unresolved_names: Option<usize>,
    /// The paths of the names that are searched: the record's own first, then the alternatives'.
    pub names: Vec<&'static str>,
    /// Every path to be gathered.
    pub tree: Tree,
    /// Its ends.
    pub ends: Vec<End>,
}

impl Keys {
    /// Whether something that the texts of an end feed asks them folded.
    pub fn is_folded(&self, end: &End) -> bool {
        let is_listed = |lists: usize| self.lists[lists].terms == Terms::Texts;
        let is_ordered = |order: usize| self.orders[order].values == Values::Texts;
        end.names.is_some() || end.lists.is_some_and(is_listed) || end.order.is_some_and(is_ordered)
    }

    /// The key of this name that filters.
    pub fn filter(&self, name: &str) -> Option<(&Key, Index)> {
        let key = self.keys.iter().find(|key| key.name == name)?;
        Some((key, key.filter?))
    }

    /// The key of this name that sorts.
    pub fn sort(&self, name: &str) -> Option<(&Key, usize)> {
        let key = self.keys.iter().find(|key| key.name == name)?;
        Some((key, key.sort?))
    }

    /// Whether names are searched.
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether there are names beside the records' own.
    pub fn has_alternatives(&self) -> bool {
        self.names.len() > 1
    }

    /// The order of the values at a path.
    pub fn order(&self, path: &str) -> Option<usize> {
        self.orders.iter().position(|order| order.path == path)
    }

    /// Names of keys that filter.
    pub fn filters(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.keys.iter().filter(|key| key.filter.is_some()).map(|key| key.name)
    }

    /// Names of keys that sort.
    pub fn sorts(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.keys.iter().filter(|key| key.sort.is_some()).map(|key| key.name)
    }
}

static KEYS: LazyLock<Vec<Keys>> = LazyLock::new(resolve::all);

static LEGACY_KEYS: LazyLock<Vec<Keys>> = LazyLock::new(legacy::all);

/// The keys of a list of the older variant. Its lists and orders are those of the entity.
///
/// # Panics
///
/// Never for a member of [`LEGACY`], which all there are are.
pub fn keys_of_legacy(older: &LegacyEntity) -> &'static Keys {
    let at = LEGACY.iter().position(|known| known.entity == older.entity);
    &LEGACY_KEYS[at.expect("no other is ever made")]
}

/// The keys of an entity's list.
pub fn keys_of(entity: Entity) -> &'static Keys {
    &KEYS[entity as usize]
}
