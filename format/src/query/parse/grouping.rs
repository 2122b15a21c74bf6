//! Parses the keys of `group_by`, and the sort of groups.

use crate::entity::Entity;
use crate::query::parse::error::{ParamError, suggest, suggest_others};
use crate::query::parse::grammar::trim;
use crate::query::parse::sort::parse_direction;
use crate::query::parse::statistics_keys::StatisticsKeys;
use crate::schema::{
    Class, Direction, Index, Key, Keys, Kind, ScannedValues, Scheme, Terms, Values, keys_of,
};

/// The most keys of one grouping.
pub const GROUP_KEYS_MAX: usize = 2;
/// The most groups that a legacy list shows.
pub const GROUPS_MAX: usize = 200;

/// How a query counts groups.
#[derive(Clone, Debug)]
pub struct Grouping {
    /// The keys as the client wrote them.
    pub text: String,
    pub(in crate::query) keys: Vec<GroupKey>,
    /// The keys whose numbers are summed up for each group.
    pub of: StatisticsKeys,
    /// What groups are sorted by; the remaining keys break ties.
    pub(in crate::query) sort: Vec<GroupSort>,
    /// Whether records without a value are a group.
    pub(in crate::query) has_null: bool,
    /// Lists only this many groups, the largest, whatever the page; `None` to list pages.
    pub(in crate::query) largest: Option<usize>,
}

/// A key that groups are counted by.
#[derive(Clone, Debug)]
pub(in crate::query) struct GroupKey {
    key: &'static Key,
    pub index: GroupIndex,
}

/// The index that has the values of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::query) enum GroupIndex {
    /// The posting lists with these numbers; each term is a group.
    Lists { lists: Vec<usize>, is_boolean: bool },
    /// Whether a row is in any of the posting lists with this number.
    Presence(usize),
    /// The order with this number, of integers or numbers.
    Order(usize),
    /// The target rows of a path, and the posting lists of the same path.
    Targets { path: usize, lists: usize, entity: Entity },
    /// The citation graph in a direction.
    Links(Direction),
    /// The records: their texts at a path, of which indexes have hashes or nothing.
    Texts { path: ReadPath, form: TextForm },
    /// The records themselves, each a group.
    Own,
    /// The records: their references, at a path.
    Records { path: ReadPath, entity: Entity },
    /// The values of the records of an entity that any of these indexes lead to; without `beyond` the records themselves.
    Joined { references: Vec<GroupIndex>, entity: Entity, beyond: Option<Box<GroupIndex>> },
    /// The values of each of these indexes. No two indexes share a value.
    Each(Vec<GroupIndex>),
    /// Whether an index of codes finds one of some codes.
    OneOf(Index),
    /// The classes of the codes of an index.
    Classes(Index, &'static [Class]),
}

/// How texts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum TextForm {
    /// As identifiers.
    Identifier(Scheme),
    /// By their folded form.
    Folded,
    /// By their folded form, and they are long texts of their records.
    FoldedLong,
    /// As integers.
    Integer,
}

/// A path whose values are read from records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum ReadPath {
    /// The path of the posting lists with this number.
    Lists(usize),
    /// The path with this number among those that are read.
    Read(usize),
}

/// A part of the order of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) struct GroupSort {
    pub by: GroupPart,
    pub is_descending: bool,
}

/// What groups can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum GroupPart {
    Count,
    /// The value of a key, by its number.
    Key(usize),
}

impl GroupIndex {
    /// The index of a key; `None` if the key cannot group.
    fn of_key(keys: &Keys, key: &Key) -> Option<GroupIndex> {
        let index = key.filter?;
        // A legacy list groups by names alone.
        let is_by_name = |index| matches!(index, Index::NamesScanned { .. });
        if !is_by_name(index) && keys.keys.iter().any(|key| key.filter.is_some_and(is_by_name)) {
            return None;
        }
        GroupIndex::of_index(keys, index, key.kind == Kind::Boolean)
    }

    fn of_index(keys: &Keys, index: Index, is_boolean: bool) -> Option<GroupIndex> {
        Some(match index {
            Index::Order(order)
                if matches!(keys.orders[order].values, Values::Integers | Values::Numbers) =>
            {
                GroupIndex::Order(order)
            }
            Index::Ids => GroupIndex::Own,
            Index::Presence(lists) => GroupIndex::Presence(lists),
            // A filter by this key reads the list of the record that it names. A group reads the other direction: the
            // list of a row.
            Index::Citations(Direction::Citations) => GroupIndex::Links(Direction::References),
            Index::Citations(Direction::References) => GroupIndex::Links(Direction::Citations),
            Index::NamesScanned { rows, .. } => {
                GroupIndex::Lists { lists: vec![rows], is_boolean: false }
            }
            Index::Lists(lists) => match keys.lists[lists].terms {
                Terms::Rows(entity) => {
                    match keys.targets.iter().position(|target| *target == lists) {
                        Some(path) => GroupIndex::Targets { path, lists, entity },
                        // A subfield, field or domain has few records, so their posting lists are counted. Other
                        // entities without target rows are read from the records.
                        None if entity.taxonomy_child().is_none() => {
                            GroupIndex::Records { path: ReadPath::Lists(lists), entity }
                        }
                        None => GroupIndex::Lists { lists: vec![lists], is_boolean: false },
                    }
                }
                Terms::Identifiers(scheme) => {
                    let (path, form) = (ReadPath::Lists(lists), TextForm::Identifier(scheme));
                    GroupIndex::Texts { path, form }
                }
                Terms::Texts => {
                    GroupIndex::Texts { path: ReadPath::Lists(lists), form: TextForm::Folded }
                }
                Terms::AnyRows | Terms::Values | Terms::Codes => {
                    GroupIndex::Lists { lists: vec![lists], is_boolean }
                }
                // Prefixes and presence do not name a value of the key.
                Terms::Prefixes | Terms::Presence => return None,
            },
            Index::Read { read, entity, .. } => {
                GroupIndex::Records { path: ReadPath::Read(read), entity }
            }
            Index::Scanned { read, values } => {
                let form = match values {
                    ScannedValues::Texts => TextForm::Folded,
                    ScannedValues::LongTexts => TextForm::FoldedLong,
                    ScannedValues::Integers => TextForm::Integer,
                    ScannedValues::Numbers | ScannedValues::Beginnings(_) => return None,
                };
                GroupIndex::Texts { path: ReadPath::Read(read), form }
            }
            Index::Any(indexes) => return GroupIndex::of_any(keys, indexes, is_boolean),
            Index::Through { entity, rows, index } => GroupIndex::Joined {
                references: vec![GroupIndex::of_index(keys, Index::Lists(rows), false)?],
                entity,
                beyond: match index {
                    Index::Ids => None,
                    _ => Some(GroupIndex::of_index(keys_of(entity), *index, is_boolean)?.into()),
                },
            },
            Index::OneOf { .. } => GroupIndex::OneOf(index),
            Index::Classes { classes, .. } => GroupIndex::Classes(index, classes),
            _ => return None,
        })
    }

    /// The index of the values that any of some indexes has.
    fn of_any(keys: &Keys, indexes: &[Index], is_boolean: bool) -> Option<GroupIndex> {
        let each = || -> Option<Vec<GroupIndex>> {
            indexes.iter().map(|index| GroupIndex::of_index(keys, *index, is_boolean)).collect()
        };
        // All indexes of a key have the kind of the first.
        match each()?.first()? {
            GroupIndex::Lists { .. } => {
                let mut all = Vec::new();
                for index in each()? {
                    match index {
                        GroupIndex::Lists { lists, .. } => all.extend(lists),
                        _ => return None,
                    }
                }
                Some(GroupIndex::Lists { lists: all, is_boolean })
            }
            GroupIndex::Targets { entity, .. } => {
                let entity = *entity;
                Some(GroupIndex::Joined { references: each()?, entity, beyond: None })
            }
            GroupIndex::Joined { entity, beyond, .. } => {
                let (mut references, mut is_same) = (Vec::new(), true);
                for index in each()? {
                    match index {
                        GroupIndex::Joined { references: more, entity: of, .. } => {
                            is_same &= of == *entity;
                            references.extend(more);
                        }
                        _ => return None,
                    }
                }
                // References to different entities have no value in common, so each index has codes of its own.
                Some(match is_same {
                    true => {
                        GroupIndex::Joined { references, entity: *entity, beyond: beyond.clone() }
                    }
                    false => GroupIndex::Each(each()?),
                })
            }
            _ => None,
        }
    }
}

impl Grouping {
    /// Parses the keys of `group_by`.
    pub(crate) fn parse(keys: &'static Keys, text: &str) -> Result<Grouping, Vec<ParamError>> {
        let mut parsed: Vec<GroupKey> = Vec::new();
        let mut errors = Vec::new();
        // A longer list costs one error, not a lookup for each name.
        for name in text.split(',').map(trim).take(GROUP_KEYS_MAX + 1) {
            match group_key(keys, name) {
                // A key with many values may be named twice: the groups are pairs of values, such as two authors.
                Ok(key)
                    if parsed.iter().any(|known| known.key.name == key.key.name)
                        && !key.key.is_many =>
                {
                    let reason = "groups by a key a second time, of which a record has one value; name it once";
                    errors.push(ParamError::new(name, reason));
                }
                Ok(key) => parsed.push(key),
                Err(error) => errors.push(error),
            }
        }
        if text.split(',').count() > GROUP_KEYS_MAX {
            let reason = format!("groups by more than {GROUP_KEYS_MAX} keys");
            errors.push(ParamError::new(text, reason));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let text = text.to_owned();
        let mut grouping = Grouping {
            text,
            keys: parsed,
            of: StatisticsKeys::default(),
            sort: Vec::new(),
            has_null: true,
            largest: None,
        };
        grouping.complete_sort();
        Ok(grouping)
    }

    /// Parses the key of `group_by` of a legacy list, which shows the largest groups, without null.
    pub(crate) fn parse_legacy(
        keys: &'static Keys,
        text: &str,
    ) -> Result<Grouping, Vec<ParamError>> {
        match Grouping::index_of(keys, text) {
            Some(_) => {
                let grouping = Grouping::parse(keys, text)?;
                Ok(Grouping { has_null: false, largest: Some(GROUPS_MAX), ..grouping })
            }
            None => Err(vec![unknown_group_key(keys, text)]),
        }
    }

    /// Whether the groups have an order and pages that a request chooses.
    pub(crate) fn is_sorted(&self) -> bool {
        self.largest.is_none()
    }

    /// Whether both keys are the same: groups are pairs of different values that a record has.
    pub(in crate::query) fn is_same_key(&self) -> bool {
        matches!(&self.keys[..], [one, other] if one.key.name == other.key.name)
    }

    /// Parses the keys whose numbers are summed up for each group.
    pub(crate) fn set_of(
        &mut self,
        keys: &'static Keys,
        text: &str,
    ) -> Result<(), Vec<ParamError>> {
        if self.keys.len() > 1 {
            let reason = "sums up the groups of one key; leave out a key of `group_by`";
            return Err(vec![ParamError::new(text, reason)]);
        }
        self.of = StatisticsKeys::parse(keys, text)?;
        Ok(())
    }

    /// Counts no group of the records without a value.
    pub fn leave_out_null(&mut self) {
        self.has_null = false;
    }

    /// The number of keys.
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Parses what groups are sorted by: `count`, `key`, and `key2` of two keys.
    pub(crate) fn set_sort(&mut self, text: &str) -> Result<(), Vec<ParamError>> {
        let mut errors = Vec::new();
        self.sort.clear();
        for part in text.split(',').map(trim).take(self.keys.len() + 2) {
            match self.sort_part(part) {
                Ok(sort) if self.sort.iter().any(|known| known.by == sort.by) => {
                    errors
                        .push(ParamError::new(part, "sorts by a key a second time; name it once"));
                }
                Ok(sort) => self.sort.push(sort),
                Err(error) => errors.push(error),
            }
        }
        self.complete_sort();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn sort_part(&self, text: &str) -> Result<GroupSort, ParamError> {
        let (name, is_descending) = parse_direction(text)?;
        let by = match (name, self.keys.len()) {
            ("count", _) => GroupPart::Count,
            ("key", _) => GroupPart::Key(0),
            ("key2", 2) => GroupPart::Key(1),
            (_, keys) => return Err(unknown_group_sort(text, keys)),
        };
        Ok(GroupSort { by, is_descending })
    }

    /// Adds what breaks ties: the largest group first where nothing else is asked for, then the keys.
    fn complete_sort(&mut self) {
        if self.sort.is_empty() {
            self.sort.push(GroupSort { by: GroupPart::Count, is_descending: true });
        }
        for by in (0..self.keys.len()).map(GroupPart::Key) {
            if self.sort.iter().all(|known| known.by != by) {
                self.sort.push(GroupSort { by, is_descending: false });
            }
        }
    }

    /// The index of a key by its name; `None` if it cannot group.
    pub(in crate::query) fn index_of(keys: &Keys, name: &str) -> Option<GroupIndex> {
        let (key, _) = keys.filter(name)?;
        GroupIndex::of_key(keys, key)
    }

    /// The names of all keys that can group.
    pub fn key_names(keys: &Keys) -> impl Iterator<Item = &'static str> + Clone {
        keys.keys.iter().filter(|key| GroupIndex::of_key(keys, key).is_some()).map(|key| key.name)
    }
}

fn group_key(keys: &'static Keys, name: &str) -> Result<GroupKey, ParamError> {
    let Some((key, _)) = keys.filter(name) else { return Err(unknown_group_key(keys, name)) };
    match GroupIndex::of_key(keys, key) {
        Some(index) => Ok(GroupKey { key, index }),
        None => Err(not_grouping(keys, key)),
    }
}

fn unknown_group_key(keys: &Keys, name: &str) -> ParamError {
    let known = suggest(name, Grouping::key_names(keys));
    ParamError::new(name, format!("is nothing /{} is grouped by; {known}", keys.route))
}

/// Says why a key that filters does not group.
fn not_grouping(keys: &Keys, key: &Key) -> ParamError {
    let what = match key.kind {
        Kind::Day(_) | Kind::Moment(_) => "is a date",
        Kind::Words | Kind::Search => "searches words",
        Kind::Text => "is the name of another record",
        _ => "has no groups",
    };
    let known = suggest_others(key.name, Grouping::key_names(keys));
    ParamError::new(key.name, format!("{what}, and nothing is grouped by it; {known}"))
}

fn unknown_group_sort(text: &str, keys: usize) -> ParamError {
    let known = if keys > 1 { "`count`, `key` and `key2`" } else { "`count` and `key`" };
    ParamError::new(text, format!("does not sort groups; there are {known}"))
}
