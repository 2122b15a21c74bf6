//! Counts the matching records by the values of one key, or of two.
//!
//! ```text
//! filter   year:2020 → rows 0, 2, 5            group_by=type
//! source   row 0: article   row 2: book   row 5: article
//! counts   article 2, book 1                   each record counts once for each of its values
//! page     sorted by count, then by key; only the groups on the page are named
//! ```
//!
//! A [`Source`](source::Source) gives the values of rows as codes, from the index that has them by row or
//! by value. No record is read, except for keys of identifiers, whose index holds hashes.
//!
//! Cost: the values of the matching rows, or of the other rows if these are fewer and the index knows
//! the counts of all rows; then the groups. What would take longer than the caller allows is refused
//! before it is begun.

mod count;
mod counter;
mod estimate;
mod page;
mod source;
mod statistics;
mod value;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use crate::entity::Entity;
use crate::index::kept_sets::CountedSet;
use crate::index::orders::Order;
use crate::query::groups::count::count_codes;
use crate::query::groups::counter::{CodeGroup, Counted, NULL};
use crate::query::groups::estimate::check;
use crate::query::groups::page::PageOrder;
use crate::query::groups::source::Source;
use crate::query::groups::statistics::group_numbers;
use crate::query::parse::grouping::Grouping;
use crate::query::parse::query::Query;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

#[cfg(test)]
pub(super) use crate::query::groups::source::count_common;
pub use crate::query::groups::statistics::{
    CitationIndex, GROUP_MEASURES, GroupNumbers, INDEXES, KeyStatistics, MEASURES, Measure,
    Measured, Number, OutputStatistics, Statistics,
};
pub use crate::query::groups::value::GroupValue;

/// The most groups of a stream, which are held until the last is sent: 24 MiB.
const GROUPS_STREAMED_MAX: usize = 1 << 20;
/// How many groups the numbers of one key take the memory of.
const NUMBERS_WEIGHT: usize = 8;
/// Bytes of a value that is no row and no longer text, about.
const VALUE_BYTES: usize = 128;

/// The groups of a query.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Number of matching records.
    pub count: u64,
    /// Number of groups.
    pub total: u64,
    /// The groups of the page.
    pub page: Vec<Group>,
}

/// The matching records with the same values.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The value of each key.
    pub values: Vec<GroupValue>,
    /// Number of matching records.
    pub count: u64,
    /// The records' numbers, for each key of `of`.
    pub of: Vec<GroupNumbers>,
}

impl Query {
    /// Counts the groups of all matching records, and finds those of the page. The query's sort has no
    /// effect.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged, if the deadline passes, or, before groups are counted, if this would
    /// take longer than `time`.
    pub fn groups(
        &self,
        grouping: &Grouping,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
        time: Duration,
    ) -> Result<Groups, QueryError> {
        let mut counted = self.count_groups(grouping, snapshot, deadline, time)?;
        let (from, length) = match grouping.largest {
            Some(largest) => (0, largest),
            None => (self.first_position(), self.per_page as usize),
        };
        let (count, total) = (counted.set.rows.count(), counted.groups.len() as u64);
        let page = counted.in_order(grouping, deadline, from, length)?;
        let numbers = counted.numbers(grouping, &page, deadline, time)?;
        let named = page.into_iter().zip(numbers).map(|(group, of)| {
            let sources = counted.sources_of_keys().zip(group.codes);
            let values: Result<Vec<GroupValue>, ReadError> =
                sources.map(|(source, code)| snapshot.or_noted(source.value(code))).collect();
            Ok(Group { values: values?, count: group.count, of })
        });
        let page: Result<Vec<Group>, ReadError> = named.collect();
        Ok(Groups { count, total, page: page? })
    }

    /// Counts the groups of all matching records, to be named one by one.
    ///
    /// # Errors
    ///
    /// As [`Query::groups`], and if there are more groups than a stream may have.
    pub fn all_groups(
        &self,
        grouping: &Grouping,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
        time: Duration,
    ) -> Result<GroupList, QueryError> {
        let mut counted = self.count_groups(grouping, snapshot, deadline, time)?;
        let most = GROUPS_STREAMED_MAX / (1 + NUMBERS_WEIGHT * grouping.of.names().len());
        let found = counted.groups.len();
        if found > most {
            let reason = format!(
                "makes {found} groups, of which a stream has at most {most}; narrow `filter`"
            );
            return Err(QueryError::refused("group_by", &grouping.text, reason));
        }
        let groups = counted.in_order(grouping, deadline, 0, found)?;
        // Without keys, an empty list for each group would double the memory.
        let numbers = match grouping.of.names().len() {
            0 => Vec::new(),
            _ => counted.numbers(grouping, &groups, deadline, time)?,
        };
        let tables = counted.sources_of_keys().enumerate().map(|(at, source)| {
            let codes = groups.iter().map(|group| group.codes[at]);
            ValueTable::new(source, codes, snapshot, deadline)
        });
        let tables: Result<Vec<ValueTable>, QueryError> = tables.collect();
        Ok(GroupList { groups, tables: tables?, numbers })
    }

    fn count_groups<'s>(
        &self,
        grouping: &Grouping,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
        time: Duration,
    ) -> Result<CountedGroups<'s>, QueryError> {
        let rows = snapshot.count(self.entity);
        let open = |key: &_| Source::open(key, snapshot, self.entity, deadline);
        // Opened before the matching rows are known to be here: one attempt notes what both lack.
        let sources: Result<Vec<Source<'_>>, QueryError> =
            grouping.keys.iter().map(|key| open(&key.index)).collect();
        let matches = self.resolve(snapshot, deadline)?;
        let set = self.matching_set(&matches, snapshot, deadline)?.set;
        let mut sources = sources?;
        let refused = |reason| QueryError::refused("group_by", &grouping.text, reason);
        check(&sources, &set.rows, rows, time).map_err(refused)?;
        let orders = grouping.of.orders().map(|order| snapshot.order(self.entity, order));
        let orders: Result<Vec<Order<'_>>, ReadError> = orders.collect();
        let text = &grouping.text;
        let pairs = count::Pairs { set: &set.rows, rows, text, snapshot, deadline };
        let mut groups = match &mut sources[..] {
            [source] => count_codes(source, &set.rows, rows, snapshot, deadline)?.into_groups(),
            [one, _] if grouping.is_same_key() => pairs.count_within(one)?,
            [one, other] => pairs.count([one, other])?,
            _ => Vec::new(),
        };
        if !grouping.has_null {
            groups.retain(|group| group.codes.iter().all(|code| *code != NULL));
        }
        let is_same_key = grouping.is_same_key();
        Ok(CountedGroups { snapshot, set, rows, sources, orders: orders?, groups, is_same_key })
    }
}

/// The groups of a query, by the codes of their values.
struct CountedGroups<'s> {
    snapshot: &'s Snapshot,
    set: std::sync::Arc<CountedSet>,
    /// Rows of the entity.
    rows: u32,
    sources: Vec<Source<'s>>,
    /// The orders of the numbers that are summed up.
    orders: Vec<Order<'s>>,
    groups: Vec<CodeGroup>,
    /// Whether both keys are the same.
    is_same_key: bool,
}

impl<'s> CountedGroups<'s> {
    /// The source of each key. A key that stands twice has one.
    fn sources_of_keys(&self) -> impl Iterator<Item = &Source<'s>> {
        let first = if self.is_same_key { self.sources.first() } else { None };
        self.sources.iter().map(move |source| first.unwrap_or(source))
    }

    /// The groups from a position on, at most `length`. Takes the groups.
    fn in_order(
        &mut self,
        grouping: &Grouping,
        deadline: Deadline<'_>,
        from: u64,
        length: usize,
    ) -> Result<Vec<CodeGroup>, QueryError> {
        let groups = std::mem::take(&mut self.groups);
        let order = PageOrder {
            sources: self.sources_of_keys().collect(),
            snapshot: self.snapshot,
            sort: &grouping.sort,
            is_same_key: grouping.is_same_key(),
            deadline,
        };
        order.page(groups, from, length)
    }

    /// Sums up the numbers of the keys of `of` for each of some groups.
    ///
    /// Cost: for each key, the pairs of a group and a number that the matching rows have.
    fn numbers(
        &mut self,
        grouping: &Grouping,
        groups: &[CodeGroup],
        deadline: Deadline<'_>,
        time: Duration,
    ) -> Result<Vec<Vec<GroupNumbers>>, QueryError> {
        let mut numbers: Vec<Vec<GroupNumbers>> = vec![Vec::new(); groups.len()];
        let CountedGroups { set, rows, sources, orders, .. } = self;
        for (key, order) in grouping.of.names().zip(orders) {
            let text = grouping.of.text();
            let [source] = &mut sources[..] else { continue };
            let mut values = Source::Order(*order);
            estimate::check_pair([&*source, &values], &set.rows, *rows, time)
                .map_err(|reason| QueryError::refused("of", text, reason))?;
            let snapshot = self.snapshot;
            let pairs = count::Pairs { set: &set.rows, rows: *rows, text, snapshot, deadline };
            let pairs = pairs.count([source, &mut values])?;
            for (group, of) in groups.iter().zip(&mut numbers) {
                let from = pairs.partition_point(|pair| pair.codes[0] < group.codes[0]);
                let length = pairs[from..].partition_point(|pair| pair.codes[0] == group.codes[0]);
                let mut counted = Counted { codes: Vec::with_capacity(length), null: 0 };
                for pair in &pairs[from..from + length] {
                    match pair.codes[1] {
                        NULL => counted.null = pair.count,
                        code => counted.codes.push((code, pair.count)),
                    }
                }
                of.push(group_numbers(key, *order, &counted)?);
            }
        }
        Ok(numbers)
    }
}

/// Bytes of a value in memory, about.
fn bytes_of(value: &GroupValue) -> usize {
    VALUE_BYTES.max(match value {
        GroupValue::Text(text) => text.len() + VALUE_BYTES / 2,
        _ => 0,
    })
}

/// All groups of a query in order, which are named one by one.
pub struct GroupList {
    groups: Vec<CodeGroup>,
    tables: Vec<ValueTable>,
    numbers: Vec<Vec<GroupNumbers>>,
}

/// The values that the codes of one key encode.
enum ValueTable {
    /// Rows of an entity.
    Rows(Entity),
    /// Other values, by their codes.
    Values(HashMap<u64, GroupValue>),
}

impl ValueTable {
    fn new(
        source: &Source<'_>,
        codes: impl Iterator<Item = u64>,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<ValueTable, QueryError> {
        if let Some(entity) = source.entity_of_rows() {
            return Ok(ValueTable::Rows(entity));
        }
        let mut values = HashMap::new();
        for code in codes {
            deadline.check()?;
            if let Entry::Vacant(place) = values.entry(code) {
                place.insert(snapshot.or_noted(source.value(code))?);
            }
        }
        Ok(ValueTable::Values(values))
    }

    fn value(&self, code: u64, snapshot: &Snapshot) -> Result<GroupValue, ReadError> {
        match self {
            _ if code == NULL => Ok(GroupValue::Null),
            ValueTable::Rows(entity) => {
                let id = snapshot.row_id(*entity, code as u32)?;
                Ok(GroupValue::Record { entity: *entity, id, row: code as u32 })
            }
            ValueTable::Values(values) => {
                let unknown = ReadError::Internal("a code is not of its source");
                values.get(&code).cloned().ok_or(unknown)
            }
        }
    }
}

impl GroupList {
    /// The number of groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Bytes in memory, about.
    pub fn held_bytes(&self) -> usize {
        let numbers: usize =
            self.numbers.iter().map(|of| of.len() * size_of::<GroupNumbers>() + 24).sum();
        let values = self.tables.iter().map(|table| match table {
            ValueTable::Rows(_) => 0,
            ValueTable::Values(values) => values.values().map(bytes_of).sum(),
        });
        self.groups.len() * size_of::<CodeGroup>() + numbers + values.sum::<usize>()
    }

    /// Names the group at a position.
    pub fn group(&self, at: usize, snapshot: &Snapshot) -> Result<Group, ReadError> {
        let group = self.groups.get(at).ok_or(ReadError::Internal("there is no such group"))?;
        let values: Result<Vec<GroupValue>, ReadError> = self
            .tables
            .iter()
            .zip(group.codes)
            .map(|(table, code)| table.value(code, snapshot))
            .collect();
        let of = self.numbers.get(at).cloned().unwrap_or_default();
        Ok(Group { values: values?, count: group.count, of })
    }
}
