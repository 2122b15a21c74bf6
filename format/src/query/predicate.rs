//! A filter held against one record by itself, where no index tells.
//!
//! It is true of the records, and of those alone, that the list has under the same filter: the values
//! are the very ones that indexes are made of.

use std::ops::Range;

use crate::entity::{Entity, with_record};
use crate::index::encoding::{ReferenceLookup, folded_term, index_entry, named_value, order_value};
use crate::index::term_lists::{Term, any_row_term};
use crate::query::{Expression, Operand, Query};
use crate::record::gather::{Gather, Gathered, PathTarget, PathTree};
use crate::schema::keys::{Index, Keys, PathUse, Terms};
use crate::snapshot::{Lookup, Snapshot};
use crate::storage::error::ReadError;
use crate::text::fold::{fold, has_word};

/// Records among others that they refer to: in a snapshot, or on their way into one.
pub trait Library: ReferenceLookup {
    /// The id that an id was merged into, at the end of its chain; itself where it was not.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
    fn merged_into(&self, entity: Entity, id: u64) -> Result<u64, ReadError>;

    /// The rows with an id that is not merged: its record's, or those of strays.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
    fn rows_with(&self, entity: Entity, id: u64) -> Result<Range<u32>, ReadError>;

    /// Shows `visit` each value at each end of a tree through the record in a row; of one that is
    /// withheld, none.
    ///
    /// # Errors
    ///
    /// Where there is no such record.
    fn gather(
        &self,
        entity: Entity,
        row: u32,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'_>),
    ) -> Result<(), ReadError>;
}

impl ReferenceLookup for Snapshot {
    fn count(&self, entity: Entity) -> u32 {
        Snapshot::count(self, entity)
    }

    fn is_suppressed(&self, entity: Entity, row: u32) -> bool {
        self.suppressed().has(entity, row)
    }

    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        Snapshot::row_id(self, entity, row)
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        Snapshot::row_name(self, entity, row)
    }

    fn code_term(&self, code: u32) -> Result<Term, ReadError> {
        Ok(crate::index::term_lists::text_term(&self.code(code)?.to_ascii_lowercase()))
    }
}

impl Library for Snapshot {
    fn merged_into(&self, entity: Entity, id: u64) -> Result<u64, ReadError> {
        Ok(match self.find_unfiltered(entity, id)? {
            Lookup::Merged(into) => into,
            Lookup::Row(_) | Lookup::Absent => id,
        })
    }

    fn rows_with(&self, entity: Entity, id: u64) -> Result<Range<u32>, ReadError> {
        Snapshot::rows_with(self, entity, id)
    }

    fn gather(
        &self,
        entity: Entity,
        row: u32,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'_>),
    ) -> Result<(), ReadError> {
        if self.suppressed().has(entity, row) {
            return Ok(());
        }
        with_record!(entity, R => {
            let record = self.archived::<R>(row)?.ok_or(ReadError::corrupt("records", "the row has no record"))?;
            record.gather(tree, visit);
        });
        Ok(())
    }
}

/// What must hold of a record.
#[derive(Clone, Debug)]
pub struct Predicate {
    entity: Entity,
    keys: &'static Keys,
    tests: Vec<Test>,
    /// The paths that the tests ask for, and no others.
    tree: PathTree,
    /// For each row an end refers to, what lies beyond, where a test asks for that.
    beyond: Vec<Vec<Option<(Entity, u32)>>>,
}

/// One expression, its operands brought to what values are compared with.
#[derive(Clone, Debug)]
struct Test {
    index: Index,
    is_negated: bool,
    sought: Vec<Sought>,
}

#[derive(Clone, Debug)]
enum Sought {
    /// No value.
    Null,
    /// A value, or none.
    Presence(bool),
    /// One of these terms.
    Terms(Vec<Term>),
    /// A value between two, both included.
    Between(u64, u64),
    /// The record's own id.
    Id(u64),
    /// Words of its names that begin so.
    Words(Vec<String>),
}

/// What the values of a record say to one test so far.
#[derive(Clone, Debug, Default)]
struct Seen {
    is_present: bool,
    is_met: bool,
    /// Of each that is sought, which of its words are met.
    words: Vec<Vec<bool>>,
}

impl Predicate {
    /// What a query's filter demands.
    ///
    /// # Errors
    ///
    /// Where the library is damaged. Cost: where the filter leads beyond references to the taxonomy,
    /// one look at each topic.
    pub fn new(query: &Query, library: &impl Library) -> Result<Predicate, ReadError> {
        let keys = query.keys;
        let tests: Result<Vec<Test>, ReadError> =
            query.filter.iter().map(|expression| Test::new(keys, expression, library)).collect();
        let tests = tests?;
        let is_asked = |end: &usize| tests.iter().any(|test| test.asks(&keys.ends[*end]));
        let beyond = keys.ends.iter().enumerate().map(|(at, end)| match is_asked(&at) {
            true => all_beyond(end, library),
            false => Ok(Vec::new()),
        });
        let beyond: Result<Vec<_>, ReadError> = beyond.collect();
        let tree = keys.tree.pruned(&is_asked);
        Ok(Predicate { entity: query.entity, keys, tests, tree, beyond: beyond? })
    }

    /// Whether it holds of the record in a row.
    ///
    /// # Errors
    ///
    /// Where the library is damaged. Cost: one walk down the paths asked for.
    pub fn holds(&self, library: &impl Library, row: u32) -> Result<bool, ReadError> {
        let mut seen: Vec<Seen> = self.tests.iter().map(Test::unseen).collect();
        let mut outcome = Ok(());
        library.gather(self.entity, row, &self.tree, &mut |end, value| {
            if outcome.is_ok() {
                outcome = self.take(library, end, value, &mut seen);
            }
        })?;
        outcome?;
        let id = library.row_id(self.entity, row)?;
        Ok(self.tests.iter().zip(&seen).all(|(test, seen)| test.holds(id, seen)))
    }

    fn take(
        &self,
        library: &impl Library,
        number: usize,
        value: Gathered<'_>,
        seen: &mut [Seen],
    ) -> Result<(), ReadError> {
        let end = &self.keys.ends[number];
        let (part, value) = match (&end.beyond, value) {
            (Some(_), Gathered::Reference(_, row)) => {
                match self.beyond[number].get(row as usize).copied().flatten() {
                    Some((entity, row)) => (&PathTarget::Id, Gathered::Reference(entity, row)),
                    None => return Ok(()),
                }
            }
            _ => match named_value(value, library)? {
                Some(value) => (&end.target, value),
                None => return Ok(()),
            },
        };
        for (test, seen) in self.tests.iter().zip(seen).filter(|(test, _)| test.asks(end)) {
            test.take(self.keys, part, value, library, seen)?;
        }
        Ok(())
    }
}

/// What lies beyond each row that an end refers to; nothing where it asks for nothing beyond.
fn all_beyond(
    end: &PathUse,
    library: &impl Library,
) -> Result<Vec<Option<(Entity, u32)>>, ReadError> {
    let Some((target, tree)) = &end.beyond else { return Ok(Vec::new()) };
    let of_row = |row| {
        let mut found = None;
        library.gather(*target, row, tree, &mut |_, value| {
            if let Gathered::Reference(entity, row) = value {
                found = Some((entity, row));
            }
        })?;
        Ok(found)
    };
    (0..library.count(*target)).map(of_row).collect()
}

impl Test {
    fn new(
        keys: &Keys,
        expression: &Expression,
        library: &impl Library,
    ) -> Result<Test, ReadError> {
        let index = expression.index;
        let mut sought = Vec::with_capacity(expression.operands.len());
        for operand in &expression.operands {
            sought.extend(Sought::of(keys, index, operand, library)?);
        }
        Ok(Test { index, is_negated: expression.is_negated, sought })
    }

    /// Whether the values at an end matter to it.
    fn asks(&self, end: &PathUse) -> bool {
        match self.index {
            Index::Ids => false,
            Index::Lists(lists) | Index::Presence(lists) => end.lists == Some(lists),
            Index::Order(order) => end.order == Some(order),
            Index::Names { named, .. } => end.lists == Some(named),
            Index::NamesScanned { rows, .. } => end.lists == Some(rows),
            Index::Words => end.names.is_some(),
        }
    }

    fn unseen(&self) -> Seen {
        let words = |sought: &Sought| match sought {
            Sought::Words(words) => vec![false; words.len()],
            _ => Vec::new(),
        };
        let words = match self.index {
            Index::Words => self.sought.iter().map(words).collect(),
            _ => Vec::new(),
        };
        Seen { words, ..Seen::default() }
    }

    fn take(
        &self,
        keys: &Keys,
        part: &PathTarget,
        value: Gathered<'_>,
        library: &impl Library,
        seen: &mut Seen,
    ) -> Result<(), ReadError> {
        match self.index {
            Index::Ids => {}
            Index::Lists(lists) | Index::Presence(lists) => {
                let listed = index_entry(keys.lists[lists].terms, part, value, None, library)?;
                seen.is_present |= listed.is_present;
                seen.is_met |= listed.term.is_some_and(|term| self.seeks(term));
            }
            Index::Order(order) => {
                let ordered = order_value(keys.orders[order].values, value);
                seen.is_present |= ordered.is_some();
                seen.is_met |= ordered.is_some_and(|value| self.seeks(Term::from(value)));
            }
            Index::Names { .. } | Index::NamesScanned { .. } => {
                seen.is_present |=
                    index_entry(Terms::Presence, &PathTarget::Name, value, None, library)?
                        .is_present;
                if let Gathered::Reference(entity, row) = value
                    && let Some(name) = library.row_name(entity, row)?
                {
                    seen.is_met |= folded_term(&fold(name)).is_some_and(|term| self.seeks(term));
                }
            }
            Index::Words => {
                if let Gathered::Text(name) = value {
                    self.take_words(&fold(name), &mut seen.words);
                }
            }
        }
        Ok(())
    }

    /// Whether a term, or a value as a number, is among what is sought.
    fn seeks(&self, term: Term) -> bool {
        self.sought.iter().any(|sought| match sought {
            Sought::Terms(terms) => terms.contains(&term),
            Sought::Between(low, high) => (Term::from(*low)..=Term::from(*high)).contains(&term),
            _ => false,
        })
    }

    fn take_words(&self, folded: &str, met: &mut [Vec<bool>]) {
        for (sought, met) in self.sought.iter().zip(met) {
            let Sought::Words(asked) = sought else { continue };
            for (asked, is_met) in asked.iter().zip(met).filter(|(_, is_met)| !**is_met) {
                *is_met = has_word(folded, asked);
            }
        }
    }

    /// Whether it holds of a record with this id and these values.
    fn holds(&self, id: u64, seen: &Seen) -> bool {
        let is_found = self.sought.iter().enumerate().any(|(at, sought)| match sought {
            Sought::Null => !seen.is_present,
            Sought::Presence(is_there) => seen.is_present == *is_there,
            Sought::Terms(_) | Sought::Between(..) => seen.is_met,
            Sought::Id(own) => *own == id,
            Sought::Words(_) => seen.words.get(at).is_some_and(|met| met.iter().all(|met| *met)),
        });
        is_found != self.is_negated
    }
}

impl Sought {
    /// What an operand seeks; `None` where that is nothing any record has.
    fn of(
        keys: &Keys,
        index: Index,
        operand: &Operand,
        library: &impl Library,
    ) -> Result<Option<Sought>, ReadError> {
        Ok(match (index, operand) {
            (_, Operand::Nothing) | (Index::Ids, Operand::Null) => None,
            (_, Operand::Null) => Some(Sought::Null),
            (_, Operand::Presence(is_there)) => Some(Sought::Presence(*is_there)),
            (_, Operand::Term(term)) => Some(Sought::Terms(vec![*term])),
            (_, Operand::Between(low, high)) => Some(Sought::Between(*low, *high)),
            (_, Operand::Words(words)) => Some(Sought::Words(words.clone())),
            (Index::Ids, Operand::Record(entity, id)) => {
                Some(Sought::Id(library.merged_into(*entity, *id)?))
            }
            (Index::Lists(lists), Operand::Record(entity, id)) => {
                let id = library.merged_into(*entity, *id)?;
                let rows = library.rows_with(*entity, id)?;
                let term = |row| match keys.lists[lists].terms {
                    Terms::AnyRows => any_row_term(*entity, row),
                    _ => Term::from(row),
                };
                Some(Sought::Terms(rows.map(term).collect()))
            }
            // No other operand is read for these.
            (_, Operand::Record(..)) => {
                return Err(ReadError::Internal("the operand does not fit the values of its key"));
            }
        })
    }
}
