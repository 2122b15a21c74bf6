//! The values of rows, as codes: numbers that name the groups of one key.
//!
//! | index | codes |
//! |---|---|
//! | posting lists | the number of a list, or of lists whose terms share an id |
//! | presence | 0 and 1 |
//! | order | the codes of its values |
//! | target rows, citation graph | rows of the entity referred to |
//! | records | texts: each new one gets the next number; of their own ids, rows |
//! | records referred to | rows, or the codes of their values |
//! | sets of rows | 0 and 1, or the number of a class |

mod cost;
mod joined;
mod lists;
mod references;
mod sets;
mod text_codes;
mod texts;

use std::collections::HashMap;

use crate::entity::Entity;
use crate::index::bitset::{CHUNK_ROWS, ChunkBits, EMPTY_CHUNK, count_bits, has_bit, intersect};
use crate::index::citations::CitationsFile;
use crate::index::orders::{Order, integer_of, number_of, sortable_integer, sortable_number};
use crate::index::postings::Postings;
use crate::index::targets::TargetsFile;
use crate::index::term_lists::{Term, TermListsFile};
use crate::query::groups::counter::{COUNTERS_MAX, Counted, Counter, NULL};
use crate::query::groups::source::text_codes::TextCodes;
use crate::query::groups::value::GroupValue;
use crate::query::parse::grouping::{GroupIndex, ReadPath, TextForm};
use crate::query::rows::clause::Clause;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::ChunkRows;
use crate::record::PathTree;
use crate::schema::{Class, Direction, Values, keys_of};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

/// Posting lists or records read between two checks of the deadline.
const READS_PER_CHECK: usize = 256;

/// The values of one key of a snapshot's records.
pub(in crate::query) enum Source<'s> {
    Lists(ListsSource<'s>),
    Presence(Postings<'s>),
    Order(Order<'s>),
    Targets(TargetsSource<'s>),
    Links(LinksSource<'s>),
    Texts(TextsSource<'s>),
    /// The rows of this snapshot and entity.
    Own(&'s Snapshot, Entity),
    Records(RecordsSource<'s>),
    Joined(Box<JoinedSource<'s>>),
    /// Codes of a source follow those of the source before.
    Each(Vec<Source<'s>>),
    Sets(SetsSource<'s>),
}

/// What the codes of posting lists stand for.
#[derive(Clone, Copy)]
enum ListValue {
    Boolean(bool),
    Integer(i64),
    Record(Entity, u32),
    /// A code whose text is in the records of the list.
    Code(Term),
}

pub(in crate::query) struct ListsSource<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    lists: Vec<usize>,
    groups: Vec<(ListValue, Vec<Postings<'s>>)>,
    /// The rows with a value, by number of the lists.
    presence: Vec<Postings<'s>>,
}

pub(in crate::query) struct TargetsSource<'s> {
    pub(super) snapshot: &'s Snapshot,
    file: &'s TargetsFile,
    path: usize,
    /// The posting lists of the same path.
    terms: &'s TermListsFile,
    lists: usize,
    target: Entity,
    rows: u32,
}

pub(in crate::query) struct LinksSource<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    citations: &'s CitationsFile,
    direction: Direction,
}

pub(in crate::query) struct TextsSource<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    form: TextForm,
    tree: PathTree,
    found: TextCodes,
}

/// The references that records have at a path.
pub(in crate::query) struct RecordsSource<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    target: Entity,
    tree: PathTree,
}

/// The values of the records that rows refer to.
pub(in crate::query) struct JoinedSource<'s> {
    snapshot: &'s Snapshot,
    /// The references. Their codes name rows of `entity`.
    references: Vec<Source<'s>>,
    entity: Entity,
    beyond: Option<Beyond<'s>>,
}

/// The values of the records referred to.
struct Beyond<'s> {
    source: Source<'s>,
    /// The codes of all rows, row after row; empty for texts.
    codes: Vec<u64>,
    /// For each row, the index of its first code, and at the end the number of codes; empty for texts.
    from: Vec<u32>,
    /// The codes of the rows that were read, of texts.
    read: HashMap<u32, Vec<u64>>,
}

/// The sets of rows of a key.
pub(in crate::query) struct SetsSource<'s> {
    /// Rows of the entity.
    rows: u32,
    /// The rows that have the value, or of each class the rows.
    sets: Vec<Clause<'s>>,
    /// The classes; none of a key that is true or false.
    classes: &'static [Class],
}

/// What the groups of a key are sorted by. Null comes last in either direction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Number(u64),
    Text(String),
    Null,
}

impl<'s> Source<'s> {
    /// Opens the index of a key. Cost: of posting lists, one read for each.
    pub fn open(
        index: &GroupIndex,
        snapshot: &'s Snapshot,
        entity: Entity,
        deadline: Deadline<'s>,
    ) -> Result<Source<'s>, QueryError> {
        Ok(match *index {
            GroupIndex::Lists { ref lists, is_boolean } => {
                Source::Lists(ListsSource::open(snapshot, entity, lists, is_boolean, deadline)?)
            }
            GroupIndex::Presence(lists) => {
                Source::Presence(snapshot.term_lists(entity)?.presence(lists)?)
            }
            GroupIndex::Order(order) => Source::Order(snapshot.order(entity, order)?),
            GroupIndex::Joined { ref references, entity: beyond, beyond: ref index } => {
                let joined = JoinedSource::open(
                    (references, entity),
                    (index.as_deref(), beyond),
                    snapshot,
                    deadline,
                )?;
                Source::Joined(Box::new(joined))
            }
            GroupIndex::Each(ref indexes) => {
                let open = |index| Source::open(index, snapshot, entity, deadline);
                let sources: Result<Vec<Source<'s>>, QueryError> =
                    indexes.iter().map(open).collect();
                Source::Each(sources?)
            }
            GroupIndex::Records { path, entity: target } => {
                let tree = path_tree(entity, path);
                Source::Records(RecordsSource { snapshot, entity, target, tree })
            }
            GroupIndex::Own => Source::Own(snapshot, entity),
            GroupIndex::OneOf(index) => {
                Source::Sets(SetsSource::one_of(index, snapshot, entity, deadline)?)
            }
            GroupIndex::Classes(index, classes) => {
                Source::Sets(SetsSource::classes(index, classes, snapshot, entity, deadline)?)
            }
            GroupIndex::Targets { path, lists, entity: target } => Source::Targets(TargetsSource {
                // Totals come from the posting lists, the codes of single rows from the target rows.
                snapshot,
                file: snapshot.targets(entity)?,
                path,
                terms: snapshot.term_lists(entity)?,
                lists,
                target,
                rows: snapshot.rows(target),
            }),
            GroupIndex::Links(direction) => {
                let citations = snapshot.citations(entity)?;
                Source::Links(LinksSource { snapshot, entity, citations, direction })
            }
            // No index numbers the texts: the source numbers them as it finds them.
            GroupIndex::Texts { path, form } => Source::Texts(TextsSource {
                snapshot,
                entity,
                form,
                tree: path_tree(entity, path),
                found: TextCodes::default(),
            }),
        })
    }

    /// Codes are below this number.
    pub fn codes(&self) -> u64 {
        match self {
            Source::Lists(lists) => lists.groups.len() as u64,
            Source::Presence(_) => 2,
            Source::Order(order) => order.no_code(),
            Source::Targets(targets) => u64::from(targets.rows),
            Source::Links(links) => u64::from(links.snapshot.rows(links.entity)),
            // As many as there are texts, which is known at the end.
            // One less than rows have numbers, so that a pair of nulls is no null.
            Source::Texts(_) => u64::from(u32::MAX - 1),
            Source::Own(snapshot, entity) => u64::from(snapshot.count(*entity)),
            Source::Records(records) => u64::from(records.snapshot.rows(records.target)),
            Source::Joined(joined) => joined.codes(),
            Source::Each(sources) => sources.iter().map(Source::codes).sum(),
            Source::Sets(sets) => sets.codes(),
        }
    }

    /// The entity of which codes are rows; `None` of other codes.
    pub fn entity_of_rows(&self) -> Option<Entity> {
        match self {
            Source::Targets(targets) => Some(targets.target),
            Source::Links(links) => Some(links.entity),
            Source::Records(records) => Some(records.target),
            Source::Own(_, entity) => Some(*entity),
            Source::Joined(joined) => joined.entity_of_rows(),
            _ => None,
        }
    }

    /// Whether [`Source::totals`] costs less than counting most rows.
    pub fn has_totals(&self) -> bool {
        match self {
            Source::Lists(_) | Source::Presence(_) => true,
            Source::Order(order) => order.no_code() < u64::from(order.rows()) / 64,
            Source::Targets(targets) => {
                let terms = targets.terms.terms(targets.lists).unwrap_or(usize::MAX);
                u64::from(targets.rows) <= COUNTERS_MAX && terms < targets.file_rows() / 8
            }
            Source::Links(_)
            | Source::Texts(_)
            | Source::Own(..)
            | Source::Records(_)
            | Source::Joined(_)
            | Source::Each(_)
            | Source::Sets(_) => false,
        }
    }

    /// Counts the codes of all of `rows` rows.
    pub fn totals(&self, rows: u32, deadline: Deadline<'_>) -> Result<Counted, QueryError> {
        let without = |with: u32| u64::from(rows.saturating_sub(with));
        match self {
            Source::Lists(lists) => {
                let mut codes = Vec::with_capacity(lists.groups.len());
                for (code, (_, of_group)) in (0..).zip(&lists.groups) {
                    codes.push((code, lists.snapshot.or_noted(count_union(of_group))?));
                }
                let present = lists.snapshot.or_noted(count_union(&lists.presence))?;
                Ok(Counted { codes, null: u64::from(rows).saturating_sub(present) })
            }
            Source::Presence(presence) => {
                let with = u64::from(presence.count());
                let codes = vec![(0, without(presence.count())), (1, with)];
                Ok(Counted { codes: codes.into_iter().filter(|(_, n)| *n > 0).collect(), null: 0 })
            }
            Source::Order(order) => {
                let null = without(order.valued());
                if let Some(counts) = order.counts()? {
                    return Ok(Counted { codes: (0..).zip(counts).collect(), null });
                }
                let (mut codes, mut ended) = (Vec::new(), Ok(()));
                for code in 0..order.no_code() {
                    deadline.check()?;
                    match order.ranks_of(code..code + 1) {
                        Ok(ranks) => codes.push((code, ranks.len() as u64)),
                        // An attempt notes what the searches for all codes lack.
                        Err(error) if order.notes_failures() => ended = Err(error),
                        Err(error) => return Err(error.into()),
                    }
                }
                ended?;
                Ok(Counted { codes, null })
            }
            Source::Targets(targets) => targets.totals(rows, deadline),
            _ => Err(ReadError::Internal("the source has no totals").into()),
        }
    }

    /// Counts the codes of rows of a chunk, and the rows without a value.
    pub(super) fn count(
        &mut self,
        chunk: u32,
        rows: &ChunkRows,
        counter: &mut Counter,
        deadline: Deadline<'_>,
    ) -> Result<(), QueryError> {
        match self {
            Source::Lists(lists) => {
                for (code, (_, of_group)) in (0..).zip(&lists.groups) {
                    if (code as usize).is_multiple_of(READS_PER_CHECK) {
                        deadline.check()?;
                    }
                    // A row of two lists of a group counts once.
                    let common = count_common(rows, of_group, chunk);
                    counter.add_many(code, lists.snapshot.or_noted(common)?);
                }
                let present = count_common(rows, &lists.presence, chunk);
                let present = lists.snapshot.or_noted(present)?;
                counter.add_many(NULL, rows.count() - present);
                Ok(())
            }
            Source::Presence(presence) => {
                let present = count_common(rows, std::slice::from_ref(presence), chunk)?;
                counter.add_many(0, rows.count() - present);
                counter.add_many(1, present);
                Ok(())
            }
            Source::Sets(sets) => Ok(sets.count(chunk, rows, counter)?),
            // The other indexes have codes by row.
            _ => self.each(chunk, rows, deadline, |_, code| counter.add(code)),
        }
    }

    /// Calls `visit` with each of a chunk's rows, as its lower 16 bits, and each of its codes; with
    /// [`NULL`] if it has none. A row may have a code twice.
    #[inline]
    pub fn each(
        &mut self,
        chunk: u32,
        rows: &ChunkRows,
        deadline: Deadline<'_>,
        mut visit: impl FnMut(u16, u64),
    ) -> Result<(), QueryError> {
        match self {
            Source::Records(records) => rows.try_each(|low| {
                deadline.check()?;
                Ok(records.each(chunk << 16 | u32::from(low), |code| visit(low, code))?)
            }),
            Source::Joined(joined) => joined.each(chunk, rows, deadline, &mut visit),
            Source::Each(sources) => joined::each_of(sources, chunk, rows, deadline, &mut visit),
            Source::Sets(sets) => Ok(sets.each(chunk, rows, visit)?),
            Source::Lists(lists) => lists.each(chunk, rows, visit),
            Source::Presence(presence) => {
                let view = presence.view(chunk)?;
                rows.each(|low| {
                    visit(low, view.contains(low).into());
                    true
                });
                Ok(())
            }
            Source::Order(order) => {
                // An order reads the codes of many rows together: neighbours share bytes.
                let mut found = Vec::with_capacity(rows.count() as usize);
                rows.each(|low| {
                    found.push(chunk << 16 | u32::from(low));
                    true
                });
                let none = order.no_code();
                order.each_code(&found, |row, code| {
                    visit(row as u16, if code == none { NULL } else { code });
                })?;
                Ok(())
            }
            Source::Targets(targets) => {
                let mut outcome = Ok(());
                rows.each_word(|word, records| {
                    outcome = targets.each(chunk, word, records, &mut visit);
                    outcome.is_ok()
                });
                Ok(outcome?)
            }
            // A record may have thousands of links: the deadline is checked within it.
            Source::Links(links) => rows.try_each(|low| {
                links.each(chunk << 16 | u32::from(low), deadline, |code| visit(low, code))
            }),
            Source::Texts(texts) => rows.try_each(|low| {
                deadline.check()?;
                texts.each(chunk << 16 | u32::from(low), |code| visit(low, code))
            }),
            Source::Own(..) => {
                rows.each(|low| {
                    visit(low, u64::from(chunk << 16 | u32::from(low)));
                    true
                });
                Ok(())
            }
        }
    }

    /// The value of a code.
    pub fn value(&self, code: u64) -> Result<GroupValue, ReadError> {
        if code == NULL {
            return Ok(GroupValue::Null);
        }
        let unknown = || ReadError::Internal("a code is not of its source");
        let record = |snapshot: &Snapshot, entity: Entity, row: u32| {
            let id = snapshot.row_id(entity, row)?;
            Ok(GroupValue::Record { entity, id, row })
        };
        match self {
            Source::Lists(lists) => {
                let (value, of_group) = lists.groups.get(code as usize).ok_or_else(unknown)?;
                match *value {
                    ListValue::Boolean(value) => Ok(GroupValue::Boolean(value)),
                    ListValue::Integer(value) => Ok(GroupValue::Integer(value)),
                    ListValue::Record(entity, row) => record(lists.snapshot, entity, row),
                    ListValue::Code(term) => lists.code(term, of_group),
                }
            }
            Source::Presence(_) => Ok(GroupValue::Boolean(code == 1)),
            Source::Order(order) => {
                let value = order.value(code)?.ok_or_else(unknown)?;
                let is_descending = order.spec().is_descending();
                Ok(match order.spec().values {
                    Values::Numbers => GroupValue::Number(number_of(value, is_descending)),
                    _ => GroupValue::Integer(integer_of(value, is_descending)),
                })
            }
            Source::Targets(targets) => record(targets.snapshot, targets.target, code as u32),
            Source::Links(links) => record(links.snapshot, links.entity, code as u32),
            Source::Texts(texts) => texts.value(code).ok_or_else(unknown),
            Source::Own(snapshot, entity) => record(snapshot, *entity, code as u32),
            Source::Records(records) => record(records.snapshot, records.target, code as u32),
            Source::Joined(joined) => joined.value(code),
            Source::Each(sources) => {
                let mut code = code;
                for source in sources {
                    if code < source.codes() {
                        return source.value(code);
                    }
                    code -= source.codes();
                }
                Err(unknown())
            }
            Source::Sets(sets) => sets.value(code),
        }
    }

    /// The value by which a code is sorted: ids by their numbers, other values as their keys sort.
    pub(super) fn rank(&self, code: u64, snapshot: &Snapshot) -> Result<Rank, ReadError> {
        Ok(match self.value(code)? {
            GroupValue::Null => Rank::Null,
            GroupValue::Boolean(value) => Rank::Number(value.into()),
            GroupValue::Integer(value) => Rank::Number(sortable_integer(value)),
            GroupValue::Number(value) => Rank::Number(sortable_number(value)),
            GroupValue::Record { id, .. } => Rank::Number(id),
            GroupValue::Code(code) => Rank::Text(snapshot.code(code)?.to_owned()),
            GroupValue::Text(text) => Rank::Text(text),
        })
    }
}

/// The paths through a record to the values at a path. The walk over a record skips all others.
fn path_tree(entity: Entity, path: ReadPath) -> PathTree {
    let keys = keys_of(entity);
    keys.tree.pruned(&|end: &usize| match path {
        ReadPath::Lists(lists) => keys.ends[*end].lists == Some(lists),
        ReadPath::Read(read) => keys.ends[*end].read == Some(read),
    })
}

/// Counts the rows that at least one of the posting lists holds.
fn count_union(lists: &[Postings<'_>]) -> Result<u64, ReadError> {
    if let [list] = lists {
        return Ok(list.count().into());
    }
    let mut rows = Vec::new();
    for list in lists {
        list.each(|row| {
            rows.push(row);
            true
        })?;
    }
    rows.sort_unstable();
    rows.dedup();
    Ok(rows.len() as u64)
}

/// Counts the rows whose bits are set. Clears the bits of other rows, perhaps.
fn count_in(rows: &ChunkRows, bits: &mut ChunkBits) -> u32 {
    match rows {
        ChunkRows::Array(lows) => {
            lows.iter().filter(|low| has_bit(&*bits, u32::from(**low))).count() as u32
        }
        ChunkRows::Bits(rows) => {
            intersect(bits, &**rows);
            count_bits(bits) as u32
        }
    }
}

/// Counts the rows of a chunk that at least one of the posting lists holds.
pub(in crate::query) fn count_common(
    rows: &ChunkRows,
    lists: &[Postings<'_>],
    chunk: u32,
) -> Result<u32, ReadError> {
    let [list] = lists else {
        let mut union = EMPTY_CHUNK;
        for list in lists {
            list.view(chunk)?.add_to(&mut union);
        }
        return Ok(count_in(rows, &mut union));
    };
    let view = list.view(chunk)?;
    let mut count = 0;
    match rows {
        _ if view.count() as usize == CHUNK_ROWS => count = rows.count(),
        // The loop reads the shorter of both and looks its rows up in the other.
        ChunkRows::Array(lows) if lows.len() <= view.count() as usize => {
            count = lows.iter().filter(|low| view.contains(**low)).count() as u32;
        }
        ChunkRows::Array(lows) => view.each(|low| {
            count += u32::from(lows.binary_search(&low).is_ok());
            true
        }),
        ChunkRows::Bits(bits) if view.is_array() => view.each(|low| {
            count += u32::from(has_bit(&**bits, u32::from(low)));
            true
        }),
        ChunkRows::Bits(bits) => {
            let mut common = **bits;
            view.retain_in(&mut common);
            count = count_bits(&common) as u32;
        }
    }
    Ok(count)
}
