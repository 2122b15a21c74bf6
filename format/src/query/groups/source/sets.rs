//! Codes from sets of rows: whether a row is in a set, or the classes whose sets have the row.

use crate::entity::Entity;
use crate::index::bitset::{EMPTY_CHUNK, has_bit, union};
use crate::index::term_lists::text_term;
use crate::query::groups::counter::{Counter, NULL};
use crate::query::groups::source::cost::Nanos;
use crate::query::groups::source::{SetsSource, count_in};
use crate::query::groups::value::GroupValue;
use crate::query::page::resolve::resolve_operand;
use crate::query::parse::operand::Operand;
use crate::query::rows::clause::Clause;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::ChunkRows;
use crate::schema::{Class, Index};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

impl<'s> SetsSource<'s> {
    /// Resolves the rows for which an index is true.
    pub fn one_of(
        index: Index,
        snapshot: &'s Snapshot,
        entity: Entity,
        deadline: Deadline<'s>,
    ) -> Result<SetsSource<'s>, QueryError> {
        let set = resolve_operand(snapshot, entity, index, &Operand::Presence(true), deadline)?;
        Ok(SetsSource { rows: snapshot.count(entity), sets: vec![set], classes: &[] })
    }

    /// Resolves the rows of each class.
    pub fn classes(
        index: Index,
        classes: &'static [Class],
        snapshot: &'s Snapshot,
        entity: Entity,
        deadline: Deadline<'s>,
    ) -> Result<SetsSource<'s>, QueryError> {
        let resolve = |class: &Class| {
            let operand = Operand::Term(text_term(class.name));
            resolve_operand(snapshot, entity, index, &operand, deadline)
        };
        let sets: Result<Vec<Clause<'s>>, QueryError> = classes.iter().map(resolve).collect();
        Ok(SetsSource { rows: snapshot.count(entity), sets: sets?, classes })
    }

    pub fn codes(&self) -> u64 {
        self.classes.len().max(2) as u64
    }

    pub fn count(
        &self,
        chunk: u32,
        rows: &ChunkRows,
        counter: &mut Counter,
    ) -> Result<(), ReadError> {
        let mut any = EMPTY_CHUNK;
        for (code, set) in (0..).zip(&self.sets) {
            let mut bits = EMPTY_CHUNK;
            set.add_to(self.rows, chunk, &mut bits)?;
            union(&mut any, &bits);
            let code = if self.classes.is_empty() { 1 } else { code };
            counter.add_many(code, count_in(rows, &mut bits));
        }
        let others = if self.classes.is_empty() { 0 } else { NULL };
        counter.add_many(others, rows.count() - count_in(rows, &mut any));
        Ok(())
    }

    pub fn each(
        &self,
        chunk: u32,
        rows: &ChunkRows,
        mut visit: impl FnMut(u16, u64),
    ) -> Result<(), ReadError> {
        let mut any = EMPTY_CHUNK;
        for (code, set) in (0..).zip(&self.sets) {
            let mut bits = EMPTY_CHUNK;
            set.add_to(self.rows, chunk, &mut bits)?;
            union(&mut any, &bits);
            let code = if self.classes.is_empty() { 1 } else { code };
            rows.each(|low| {
                if has_bit(&bits, low.into()) {
                    visit(low, code);
                }
                true
            });
        }
        let others = if self.classes.is_empty() { 0 } else { NULL };
        rows.each(|low| {
            if !has_bit(&any, low.into()) {
                visit(low, others);
            }
            true
        });
        Ok(())
    }

    pub fn value(&self, code: u64) -> Result<GroupValue, ReadError> {
        if self.classes.is_empty() {
            return Ok(GroupValue::Boolean(code == 1));
        }
        let class = self.classes.get(code as usize);
        let class = class.ok_or(ReadError::Internal("a code is not of its source"))?;
        Ok(GroupValue::Text(class.name.to_owned()))
    }

    pub fn nanos(&self) -> Nanos {
        let leaves: usize = self.sets.iter().map(|set| set.leaves.len()).sum();
        let chunk = leaves as f64 * 500.0 + self.sets.len() as f64 * 1_000.0;
        Nanos { row: self.sets.len() as f64, chunk, start: 0.0, values: 1.0 }
    }
}
