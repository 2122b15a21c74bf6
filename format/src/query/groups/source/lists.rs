//! Codes from posting lists: the number of a list.

use crate::entity::{Entity, NO_ID};
use crate::index::encoding::ReferenceLookup;
use crate::index::orders::integer_of;
use crate::index::postings::Postings;
use crate::index::term_lists::Term;
use crate::query::groups::source::{ListValue, ListsSource, NULL, READS_PER_CHECK};
use crate::query::groups::value::GroupValue;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::ChunkRows;
use crate::record::gather::Gathered;
use crate::schema::keys::{Terms, keys_of};
use crate::snapshot::{RecordLookup, Snapshot};
use crate::storage::error::ReadError;

impl<'s> ListsSource<'s> {
    pub(super) fn open(
        snapshot: &'s Snapshot,
        entity: Entity,
        lists: usize,
        is_boolean: bool,
        deadline: Deadline<'_>,
    ) -> Result<ListsSource<'s>, QueryError> {
        let file = snapshot.term_lists(entity)?;
        let terms = keys_of(entity).lists[lists].terms;
        let mut groups: Vec<(ListValue, Vec<Postings<'s>>)> = Vec::new();
        let mut last_id = None;
        for at in 0..file.terms(lists)? {
            if at.is_multiple_of(READS_PER_CHECK) {
                deadline.check()?;
            }
            let term = file.term_at(lists, at)?;
            let list = file.postings(lists, at)?;
            let value = match terms {
                Terms::Rows(target) => ListValue::Record(target, term as u32),
                Terms::AnyRows => {
                    let target = u8::try_from(term >> 32).ok().and_then(Entity::from_index);
                    let target =
                        target.ok_or(ReadError::corrupt("term_lists", "a term is no row"))?;
                    ListValue::Record(target, term as u32)
                }
                Terms::Values if is_boolean => ListValue::Boolean(term == 1),
                Terms::Values => ListValue::Integer(integer_of(term as u64, false)),
                _ => ListValue::Code(term),
            };
            if let ListValue::Record(target, row) = value {
                let id = snapshot.row_id(target, row)?;
                if id == NO_ID {
                    continue;
                }
                // Rows of the same unresolved id are adjacent.
                if last_id == Some((target, id))
                    && let Some((_, lists)) = groups.last_mut()
                {
                    lists.push(list);
                    continue;
                }
                last_id = Some((target, id));
            }
            groups.push((value, vec![list]));
        }
        let presence = file.presence(lists)?;
        Ok(ListsSource { snapshot, entity, lists, groups, presence })
    }

    pub(super) fn each(
        &self,
        chunk: u32,
        rows: &ChunkRows,
        mut visit: impl FnMut(u16, u64),
    ) -> Result<(), QueryError> {
        for (code, (_, of_group)) in (0..).zip(&self.groups) {
            for list in of_group {
                list.view(chunk)?.each(|low| {
                    if rows.contains(low) {
                        visit(low, code);
                    }
                    true
                });
            }
        }
        let present = self.presence.view(chunk)?;
        rows.each(|low| {
            if !present.contains(low) {
                visit(low, NULL);
            }
            true
        });
        Ok(())
    }

    /// Finds a code by its term in the first record of its lists.
    pub(super) fn code(&self, term: Term, lists: &[Postings<'_>]) -> Result<GroupValue, ReadError> {
        let keys = keys_of(self.entity);
        let tree = keys.tree.pruned(&|end: &usize| keys.ends[*end].lists == Some(self.lists));
        let mut first = None;
        for list in lists {
            list.each(|row| {
                let is_shown = !self.snapshot.suppressed().has(self.entity, row);
                first = is_shown.then_some(row);
                !is_shown
            })?;
        }
        let (mut found, mut outcome) = (None, Ok(()));
        if let Some(row) = first {
            self.snapshot.gather(self.entity, row, &tree, &mut |_, value| {
                if let Gathered::Code(code) = value
                    && outcome.is_ok()
                {
                    match self.snapshot.code_term(code) {
                        Ok(other) if other == term => found = Some(code),
                        Ok(_) => {}
                        Err(error) => outcome = Err(error),
                    }
                }
            })?;
        }
        outcome?;
        let code = found.ok_or(ReadError::corrupt("term_lists", "a code is in no record"))?;
        Ok(GroupValue::Code(code))
    }
}
