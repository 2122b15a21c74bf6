//! The keys by which lists are filtered and sorted.
//!
//! The table in `lines` has one line per key, which names a member by its dotted path. The rest
//! follows from the declaration of the member: how values are parsed and compared, which index
//! answers, what the compiler extracts, and the texts of errors and documentation. [`keys_of`]
//! returns the keys of an entity with these facts resolved.

mod legacy;
mod lines;
mod resolve;

use std::sync::LazyLock;

use crate::entity::Entity;
use crate::record::{LEGACY, LegacyEntity, PathTarget, PathTree};
use crate::schema::countries::Class;
use crate::schema::identifier::Scheme;

/// The type of a key's values, which decides how the values of a filter are parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The identifier of a record of an entity.
    Id(Entity),
    /// The identifier of a record of an entity, in the spelling of the legacy interface or as a
    /// number.
    LegacyId(Entity),
    /// The identifier of a record of any entity.
    AnyId,
    /// An identifier in another system.
    Identifier(Scheme),
    /// A short text from a table of codes.
    Code,
    /// A text, compared by its folded form.
    Text,
    /// Words; each must be a prefix of a word in the record's names.
    Words,
    /// A search in the syntax of `search=`.
    Search,
    /// `true` or `false`.
    Boolean,
    /// An integer of 64 bits.
    Integer,
    /// A number, possibly fractional.
    Number,
    /// A day, a month or a year.
    Day(Bound),
    /// A day, a month or a year, compared with the day of a moment.
    Moment(Bound),
}

/// How a date key compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Equality, ranges and comparisons, as the filter writes them.
    Exact,
    /// On the given day or later.
    From,
    /// On the given day or earlier.
    To,
}

impl Kind {
    /// The name in errors and documentation.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Id(_) | Kind::LegacyId(_) | Kind::AnyId | Kind::Identifier(_) => "id",
            Kind::Code => "code",
            Kind::Text => "text",
            Kind::Words => "words",
            Kind::Search => "search",
            Kind::Boolean => "bool",
            Kind::Integer => "int",
            Kind::Number => "num",
            Kind::Day(_) | Kind::Moment(_) => "date",
        }
    }
}

/// A direction of the citation graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From an output to those that it refers to.
    References,
    /// From an output to those that refer to it.
    Citations,
}

impl Direction {
    /// Both directions.
    pub const ALL: [Direction; 2] = [Direction::References, Direction::Citations];

    /// The word for the records that the direction leads to.
    pub fn name(self) -> &'static str {
        match self {
            Direction::References => "references",
            Direction::Citations => "citations",
        }
    }

    /// The other direction.
    pub fn reversed(self) -> Direction {
        match self {
            Direction::References => Direction::Citations,
            Direction::Citations => Direction::References,
        }
    }
}

/// The index that answers a filter on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// The table of ids and rows.
    Ids,
    /// The posting lists with this number.
    Lists(usize),
    /// The values of the order with this number.
    Order(usize),
    /// Whether a row is in any of the posting lists with this number.
    Presence(usize),
    /// The dictionary of the words of names.
    Words,
    /// The full-text index, in a set of fields.
    FullText(u8),
    /// The posting lists with this number, of the prefixes of words.
    Prefixes(usize),
    /// The posting lists `rows`, for the rows of `entity` whose names have the words. The lists `named`
    /// tell which rows refer to a named record.
    ReferenceWords {
        /// The entity whose names are searched.
        entity: Entity,
        /// The posting lists by row of `entity`.
        rows: usize,
        /// The posting lists of rows that refer to a named record.
        named: usize,
    },
    /// The citation graph: the rows that the named records have in this direction. `references:W1`
    /// follows the citations of W1.
    Citations(Direction),
    /// The versions of the named record: by its title, among the posting lists `titles`.
    Versions {
        /// The posting lists by folded title.
        titles: usize,
    },
    /// The posting lists `rows`, for the rows of `entity` whose name matches. The lists `named`
    /// tell which rows refer to a named record.
    Names {
        /// The entity whose names are compared.
        entity: Entity,
        /// The posting lists by row of `entity`.
        rows: usize,
        /// The posting lists of rows that refer to a named record.
        named: usize,
    },
    /// References that records have at the path with the number `read`, among the rows that the posting lists `among` have
    /// for the same record. The lists `present` tell which records have such a reference.
    Read {
        /// The number of the path among those that are read.
        read: usize,
        /// The posting lists by row, of more references.
        among: usize,
        /// The posting lists of the records that have one.
        present: usize,
        /// The entity referred to.
        entity: Entity,
    },
    /// Values that records have at the path with this number, and that no index holds.
    Scanned {
        /// The number of the path among those that are read.
        read: usize,
        /// How the values are compared.
        values: ScannedValues,
    },
    /// The union of the rows of these indexes of the same entity.
    Any(&'static [Index]),
    /// The posting lists `rows`, for the rows of `entity` that an index of `entity` finds.
    Through {
        /// The entity whose records have the values.
        entity: Entity,
        /// The posting lists by row of `entity`.
        rows: usize,
        /// The index of `entity`.
        index: &'static Index,
    },
    /// Whether an index of codes has one of these codes for a row.
    OneOf {
        /// The index of the codes.
        index: &'static Index,
        /// Codes, in any case.
        codes: &'static [&'static str],
    },
    /// The rows that an index of codes has for the codes of a class.
    Classes {
        /// The index of the codes.
        index: &'static Index,
        /// Classes without a common code.
        classes: &'static [Class],
    },
    /// The posting lists `rows`, for the rows of `entity` whose name matches. All rows of `entity`
    /// are scanned: a few hundred in the taxonomy.
    NamesScanned {
        /// The entity whose names are compared.
        entity: Entity,
        /// The posting lists by row of `entity`.
        rows: usize,
    },
}

/// How the values of a key without an index are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScannedValues {
    /// As texts, by their folded form.
    Texts,
    /// As texts among the long texts of a record, by their folded form.
    LongTexts,
    /// As integers.
    Integers,
    /// As numbers, possibly fractional.
    Numbers,
    /// As identifiers of a scheme, of which a filter gives the beginning.
    Beginnings(Scheme),
}

impl Index {
    /// Whether every record with a reference on the way has an answer, true or false.
    pub fn is_presence(self) -> bool {
        match self {
            Index::Presence(_) | Index::OneOf { .. } => true,
            Index::Through { index, .. } => index.is_presence(),
            Index::Any(indexes) => indexes.iter().all(|index| index.is_presence()),
            _ => false,
        }
    }

    /// Whether the index follows from indexes of other keys.
    pub fn is_follower(self) -> bool {
        matches!(
            self,
            Index::Any(_) | Index::Through { .. } | Index::OneOf { .. } | Index::Classes { .. }
        )
    }
}

/// A key with the facts that follow from its line and its member.
#[derive(Clone, Debug)]
pub struct Key {
    /// Name in filters and sorts.
    pub name: &'static str,
    /// Type of the values.
    pub kind: Kind,
    /// Whether a record may have several values, because the path leads through a list.
    pub is_many: bool,
    /// The index that answers filters; `None` if the key does not filter.
    pub filter: Option<Index>,
    /// The number of the order it sorts by; `None` if the key does not sort.
    pub sort: Option<usize>,
}

/// The type of the terms of posting lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// Rows of an entity.
    Rows(Entity),
    /// Rows of any entity, with the discriminant of the entity.
    AnyRows,
    /// Integers; booleans are 0 and 1.
    Values,
    /// Hashes of identifiers in the normal form of the scheme.
    Identifiers(Scheme),
    /// Hashes of codes in ASCII lower case.
    Codes,
    /// Hashes of folded texts.
    Texts,
    /// Hashes of the prefixes of the words of folded texts.
    Prefixes,
    /// No terms: one posting list of the rows that have a value.
    Presence,
}

impl Terms {
    /// Whether terms may be rows of an entity.
    pub fn are_rows_of(self, entity: Entity) -> bool {
        match self {
            Terms::Rows(of) => of == entity,
            Terms::AnyRows => true,
            _ => false,
        }
    }
}

/// The posting lists of one path, one list per term.
#[derive(Clone, Debug)]
pub struct TermLists {
    /// The path of the values, for documentation, sizes and errors.
    pub path: String,
    /// Type of the terms.
    pub terms: Terms,
}

/// The type of the values of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Integers.
    Integers,
    /// Numbers, possibly fractional.
    Numbers,
    /// Days, as decimal numbers `YYYYMMDD`.
    Days,
    /// Moments in microseconds.
    Moments,
    /// Texts, ordered by the folded form and then by the bytes.
    Texts,
    /// Codes, ordered as their texts.
    Codes,
    /// Numbers of the records' identifiers.
    Ids,
}

/// An order of an entity's rows by the values of one path.
#[derive(Clone, Debug)]
pub struct Order {
    /// The path of the values.
    pub path: String,
    /// Type of the values.
    pub values: Values,
    /// Whether the rows are stored in this order.
    pub is_row_order: bool,
    /// The posting lists of the same values, which answer equality faster.
    pub lists: Option<usize>,
    /// Whether the values are the numbers of references, which no member of the record holds.
    pub counts_references: bool,
}

impl Order {
    /// Whether the greatest value comes first: true except for texts, codes and ids.
    pub fn is_descending(&self) -> bool {
        !matches!(self.values, Values::Texts | Values::Codes | Values::Ids)
    }
}

/// An order along which the rows of frequent terms are counted: by one key, or by two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedOrder {
    /// The order of the first of two keys.
    pub first: Option<usize>,
    /// The order of the only key, or of the second.
    pub order: usize,
}

/// The uses of the values at one end of the path tree.
#[derive(Clone, Debug)]
pub struct PathUse {
    /// The part of a reference that is used.
    pub target: PathTarget,
    /// If the path leads through a reference: the entity referred to, and the path in its
    /// declaration.
    pub beyond: Option<(Entity, PathTree)>,
    /// The posting lists built from the values.
    pub lists: Option<usize>,
    /// The posting lists built from the prefixes of the values' words.
    pub prefixes: Option<usize>,
    /// The order built from the values.
    pub order: Option<usize>,
    /// Whether the values are names of the record, and which.
    pub names: Option<NameRole>,
    /// The number of the path among those whose values are read from records.
    pub read: Option<usize>,
}

/// The role of a name of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRole {
    /// The member `name`.
    Own,
    /// A member listed in [`Facts::other_names`](crate::entity::Facts::other_names).
    Alternative,
}

/// The keys of an entity and the indexes that serve them.
#[derive(Clone, Debug)]
pub struct Keys {
    /// URL path of the list, without the leading slash.
    pub route: &'static str,
    /// The keys in the order of the documentation.
    pub keys: Vec<Key>,
    /// The keys that sort by values which are read from the records, each with the number of the values' end: an order of so many
    /// records would take more bytes than it is worth.
    pub value_sorts: Vec<(&'static str, usize)>,
    /// The posting lists in the order of the file.
    pub lists: Vec<TermLists>,
    /// The orders in the order of the file.
    pub orders: Vec<Order>,
    /// The posting lists whose frequent terms are counted.
    pub crossed: Vec<usize>,
    /// The orders along which the rows of frequent terms are counted, in the order of the file.
    pub counted: Vec<CountedOrder>,
    /// The posting lists whose terms are also kept by record, in the order of the file.
    pub targets: Vec<usize>,
    /// The posting lists by name of rows without a record; `None` if no other entity filters by
    /// these names.
    pub unresolved_names: Option<usize>,
    /// The posting lists by prefixes of words in the names of rows without a record; `None` if no other
    /// entity searches these names.
    pub unresolved_words: Option<usize>,
    /// Paths of the searched names: `name` first, then the alternatives.
    pub names: Vec<&'static str>,
    /// The paths of all values that are indexed, merged.
    pub tree: PathTree,
    /// The uses of the values, by the number of the end in `tree`.
    pub ends: Vec<PathUse>,
}

impl Keys {
    /// Whether an index built from these values needs texts in folded form.
    pub fn is_folded(&self, end: &PathUse) -> bool {
        let is_listed = |lists: usize| self.lists[lists].terms == Terms::Texts;
        let is_ordered = |order: usize| self.orders[order].values == Values::Texts;
        end.names.is_some()
            || end.prefixes.is_some()
            || end.lists.is_some_and(is_listed)
            || end.order.is_some_and(is_ordered)
    }

    /// The key with this name and its index, if the key filters.
    pub fn filter(&self, name: &str) -> Option<(&Key, Index)> {
        let key = self.keys.iter().find(|key| key.name == name)?;
        Some((key, key.filter?))
    }

    /// The key that searches words of the values of a key of texts.
    pub fn search_of(&self, key: &Key) -> Option<&Key> {
        let is_search = |known: &&Key| {
            let searches = matches!(known.kind, Kind::Words | Kind::Search);
            searches && known.name.strip_suffix(".search") == Some(key.name)
        };
        self.keys.iter().find(is_search).filter(|_| key.kind == Kind::Text)
    }

    /// The lists of the names of rows without a record. The rows in these lists follow the records.
    pub fn is_unresolved(&self, lists: usize) -> bool {
        [self.unresolved_names, self.unresolved_words].contains(&Some(lists))
    }

    /// The key with this name and the number of its order, if the key sorts.
    pub fn sort(&self, name: &str) -> Option<(&Key, usize)> {
        let key = self.keys.iter().find(|key| key.name == name)?;
        Some((key, key.sort?))
    }

    /// Whether records of the entity refer to each other.
    pub fn has_citations(&self) -> bool {
        self.keys.iter().any(|key| matches!(key.filter, Some(Index::Citations(_))))
    }

    /// Whether queries can search the texts.
    pub fn has_full_text(&self) -> bool {
        self.keys.iter().any(|key| matches!(key.filter, Some(Index::FullText(_))))
    }

    /// Whether queries can search the names.
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether records have alternative names.
    pub fn has_alternatives(&self) -> bool {
        self.names.len() > 1
    }

    /// Whether a record has at most one term of these lists.
    pub fn has_one_term(&self, lists: usize) -> bool {
        let is_of_lists = |key: &Key| !key.is_many && key.filter == Some(Index::Lists(lists));
        self.orders.iter().any(|order| order.lists == Some(lists))
            || self.keys.iter().any(is_of_lists)
    }

    /// The number of the order by the values of a path.
    pub fn order(&self, path: &str) -> Option<usize> {
        self.orders.iter().position(|order| order.path == path)
    }

    /// The order by which names are ranked: by citations, or that of the rows where records have no citations.
    pub fn ranking(&self) -> Option<usize> {
        let of_rows = || self.orders.iter().position(|order| order.is_row_order);
        self.order("cited_by_count").or_else(of_rows)
    }

    /// Names of keys that filter.
    pub fn filters(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.keys.iter().filter(|key| key.filter.is_some()).map(|key| key.name)
    }

    /// Names of keys that sort.
    pub fn sorts(&self) -> impl Iterator<Item = &'static str> + Clone {
        let ordered = self.keys.iter().filter(|key| key.sort.is_some()).map(|key| key.name);
        ordered.chain(self.value_sorts.iter().map(|(name, _)| *name))
    }
}

static OPENALEX_KEYS: LazyLock<Vec<Keys>> = LazyLock::new(resolve::all);

static KEYS: LazyLock<Vec<Keys>> = LazyLock::new(|| {
    let all = OPENALEX_KEYS.iter().zip(Entity::all());
    all.map(|(keys, entity)| resolve::of_interface(keys, entity)).collect()
});

static LEGACY_KEYS: LazyLock<Vec<Keys>> = LazyLock::new(legacy::all);

/// The keys of a legacy list. They use the posting lists and orders of the entity's own list.
///
/// # Panics
///
/// If `legacy` is not a member of [`LEGACY`]; no other value can be made.
pub fn keys_of_legacy(legacy: &LegacyEntity) -> &'static Keys {
    let at = LEGACY.iter().position(|known| known.entity == legacy.entity);
    &LEGACY_KEYS[at.expect("every LegacyEntity is a member of LEGACY")]
}

/// The keys of an entity's list in OpenAlex's dialect. They use the posting lists and orders of the entity's own list, and
/// are those of the own list and more.
pub fn keys_of_openalex(entity: Entity) -> &'static Keys {
    &OPENALEX_KEYS[entity as usize]
}

/// The keys of an entity's list.
pub fn keys_of(entity: Entity) -> &'static Keys {
    &KEYS[entity as usize]
}
