//! From an expression to the sets that indexes hold for it.

use std::ops::Range;

use crate::entity::Entity;
use crate::index::term_lists::{Term, TermListsFile, any_row_term};
use crate::query::clause::{Atom, Side};
use crate::query::intersection::Filter;
use crate::query::range::ValueRange;
use crate::query::union::Union;
use crate::query::words::add_words;
use crate::query::{AnswerError, Deadline, Expression, Operand, Predicate, Query, name_scan};
use crate::schema::keys::{Index, Terms, keys_of};
use crate::snapshot::{Lookup, Snapshot};
use crate::storage::error::ReadError;

/// Lists looked at between two looks at the clock.
const LISTS_PER_LOOK: u64 = 4_096;

/// Finds the sets of an expression.
///
/// # Errors
///
/// Where the snapshot is damaged, or the deadline passes.
pub(super) fn resolve<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    expression: &Expression,
    deadline: Deadline<'s>,
) -> Result<Side<'s>, AnswerError> {
    let union = Union::new(snapshot.count(entity));
    let mut resolving = Resolving { snapshot, entity, deadline, union };
    if let Index::NamesScanned { entity: named, rows } = expression.index {
        let lists = (snapshot.term_lists(entity)?, rows);
        let operands = &expression.operands;
        name_scan::add_rows(snapshot, lists, named, operands, deadline, &mut resolving.union)?;
        return Ok(resolving.into_side(expression));
    }
    for operand in &expression.operands {
        deadline.check()?;
        resolving.operand(expression, operand)?;
    }
    Ok(resolving.into_side(expression))
}

/// An expression being resolved.
struct Resolving<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    deadline: Deadline<'s>,
    union: Union<'s>,
}

impl<'s> Resolving<'s> {
    fn into_side(self, expression: &Expression) -> Side<'s> {
        let atoms = self.union.into_atoms();
        Side { is_negated: expression.is_negated, atoms, text: expression.text.clone() }
    }

    fn operand(&mut self, expression: &Expression, operand: &Operand) -> Result<(), AnswerError> {
        match (expression.index, operand) {
            (_, Operand::Nothing) | (Index::Ids, Operand::Null) => {}
            (Index::Ids, Operand::Record(entity, id)) => {
                let published = self.snapshot.count(self.entity);
                let rows = self.rows_with(*entity, *id)?;
                rows.filter(|row| *row < published).for_each(|row| self.union.row(row));
            }
            (Index::Lists(lists), operand) => self.in_lists(lists, operand)?,
            (Index::Presence(lists), Operand::Presence(is_there)) => {
                let presence = self.snapshot.term_lists(self.entity)?.presence(lists)?;
                match is_there {
                    true => self.union.list(presence)?,
                    false => self.union.atom(Atom::Absent(presence)),
                }
            }
            (Index::Names { entity, rows, named }, Operand::Null) => {
                let presence = self.snapshot.term_lists(self.entity)?.presence(named)?;
                self.union.atom(Atom::Absent(presence));
                self.unnamed(entity, rows, expression)?;
            }
            (Index::Names { entity, rows, .. }, Operand::Term(name)) => {
                self.by_name(entity, rows, *name)?;
            }
            (Index::Order(order), operand) => self.in_order(order, operand)?,
            (Index::Words, Operand::Words(words)) => {
                add_words(self.snapshot, self.entity, words, self.deadline, &mut self.union)?;
            }
            // No other operand is read for these.
            _ => {
                return Err(
                    ReadError::Internal("the operand does not fit the index of its key").into()
                );
            }
        }
        Ok(())
    }

    /// The rows with an id: its record's, or those of strays. A merged id is the one it lives in,
    /// as it is in references, and what is withheld is still referred to.
    fn rows_with(&self, entity: Entity, id: u64) -> Result<Range<u32>, ReadError> {
        let (id, found) = match self.snapshot.find_unfiltered(entity, id)? {
            Lookup::Merged(into) => (into, self.snapshot.find_unfiltered(entity, into)?),
            found => (id, found),
        };
        match found {
            Lookup::Row(row) => Ok(row..row + 1),
            _ => self.snapshot.unresolved_rows(entity, id),
        }
    }

    fn in_lists(&mut self, lists: usize, operand: &Operand) -> Result<(), AnswerError> {
        let file = self.snapshot.term_lists(self.entity)?;
        let spec = keys_of(self.entity)
            .lists
            .get(lists)
            .ok_or(ReadError::Internal("the entity has no term list of this number"))?;
        match operand {
            Operand::Null => self.union.atom(Atom::Absent(file.presence(lists)?)),
            Operand::Term(term) => self.term(file, lists, *term)?,
            Operand::Record(entity, id) => {
                for row in self.rows_with(*entity, *id)? {
                    let term = match spec.terms {
                        Terms::AnyRows => any_row_term(*entity, row),
                        _ => Term::from(row),
                    };
                    self.term(file, lists, term)?;
                }
            }
            Operand::Between(low, high) => {
                let from = file.lower_bound(lists, Term::from(*low))?;
                let to = file.lower_bound(lists, Term::from(*high) + 1)?;
                for at in from..to {
                    self.union.list(file.postings(lists, at)?)?;
                }
            }
            Operand::Presence(_) | Operand::Words(_) | Operand::Nothing => {
                return Err(ReadError::Internal("the operand does not fit a term list").into());
            }
        }
        Ok(())
    }

    fn term(&mut self, file: &'s TermListsFile, lists: usize, term: Term) -> Result<(), ReadError> {
        match file.find(lists, term)? {
            Some(list) => self.union.list(list),
            None => Ok(()),
        }
    }

    /// The rows that refer to a record, or to a stray, with this name.
    fn by_name(&mut self, target: Entity, lists: usize, name: Term) -> Result<(), AnswerError> {
        let keys = keys_of(target);
        let names = self.snapshot.term_lists(target)?;
        let own = match keys.filter("name") {
            Some((_, Index::Lists(own))) => Some(own),
            _ => None,
        };
        let file = self.snapshot.term_lists(self.entity)?;
        for lists_of_names in own.into_iter().chain(keys.unresolved_names) {
            let Some(named) = names.find(lists_of_names, name)? else { continue };
            let mut rows = Vec::with_capacity(named.count() as usize);
            let suppressed = self.snapshot.suppressed();
            named.each(|row| {
                if !suppressed.has(target, row) {
                    rows.push(row);
                }
                true
            })?;
            for (at, row) in (0..).zip(rows) {
                self.look_at_clock(at)?;
                self.term(file, lists, Term::from(row))?;
            }
        }
        Ok(())
    }

    /// The rows that refer to what is withheld and to nothing that has a name.
    ///
    /// Cost: of each that refers to something withheld, a look at its record.
    fn unnamed(
        &mut self,
        target: Entity,
        lists: usize,
        expression: &Expression,
    ) -> Result<(), AnswerError> {
        let withheld = self.snapshot.suppressed().all_rows(target);
        if withheld.is_empty() {
            return Ok(());
        }
        let file = self.snapshot.term_lists(self.entity)?;
        let mut referring = Union::new(self.union.rows());
        for (at, row) in (0..).zip(withheld) {
            self.look_at_clock(at)?;
            if let Some(list) = file.find(lists, Term::from(*row))? {
                referring.list(list)?;
            }
        }
        let is_null =
            Expression { is_negated: false, operands: vec![Operand::Null], ..expression.clone() };
        let query = Query { filter: vec![is_null], ..Query::new(self.entity) };
        let predicate = Predicate::new(&query, self.snapshot)?;
        let atoms = referring.into_atoms();
        let side = Side { is_negated: false, atoms, text: String::new() };
        let filter = Filter::new(vec![side], self.union.rows());
        for chunk in 0..filter.chunks() {
            let mut outcome = Ok(());
            let mut looked = 0;
            filter.chunk(chunk)?.each(|low| {
                let row = chunk << 16 | u32::from(low);
                outcome = self.look_at_clock(looked).and_then(|()| {
                    if predicate.holds(self.snapshot, row)? {
                        self.union.row(row);
                    }
                    Ok(())
                });
                looked += 1;
                outcome.is_ok()
            });
            outcome?;
        }
        Ok(())
    }

    fn look_at_clock(&self, at: u64) -> Result<(), AnswerError> {
        if at.is_multiple_of(LISTS_PER_LOOK) { self.deadline.check() } else { Ok(()) }
    }

    fn in_order(&mut self, order: usize, operand: &Operand) -> Result<(), AnswerError> {
        let order = self.snapshot.order(self.entity, order)?;
        let range = match operand {
            Operand::Null => ValueRange::without_value(order)?,
            Operand::Between(low, high) => {
                ValueRange::new(order, order.codes_between(*low, *high)?)?
            }
            _ => return Err(ReadError::Internal("the operand does not fit an order").into()),
        };
        Ok(self.union.values(range)?)
    }
}
