//! Codes from posting lists: the number of a list.

use crate::entity::{Entity, NO_ID};
use crate::index::encoding::ReferenceLookup;
use crate::index::orders::integer_of;
use crate::index::postings::Postings;
use crate::index::term_lists::{Term, TermListsFile};
use crate::query::groups::source::{ListValue, ListsSource, NULL, READS_PER_CHECK};
use crate::query::groups::value::GroupValue;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::ChunkRows;
use crate::record::Gathered;
use crate::schema::{Terms, keys_of};
use crate::snapshot::{RecordLookup, Snapshot};
use crate::storage::ReadError;

impl<'s> ListsSource<'s> {
    pub(super) fn open(
        snapshot: &'s Snapshot,
        entity: Entity,
        of: &[usize],
        is_boolean: bool,
        deadline: Deadline<'_>,
    ) -> Result<ListsSource<'s>, QueryError> {
        let file = snapshot.term_lists(entity)?;
        let presence: Result<Vec<Postings<'s>>, ReadError> =
            of.iter().map(|lists| file.presence(*lists)).collect();
        let mut source = ListsSource {
            snapshot,
            entity,
            lists: of.to_vec(),
            groups: Vec::new(),
            presence: presence?,
        };
        for lists in of {
            source.add(file, *lists, is_boolean, deadline)?;
        }
        if of.len() > 1 {
            source.merge_terms();
        }
        Ok(source)
    }

    /// Adds the groups of the posting lists of one number.
    fn add(
        &mut self,
        file: &'s TermListsFile,
        lists: usize,
        is_boolean: bool,
        deadline: Deadline<'_>,
    ) -> Result<(), QueryError> {
        let (snapshot, groups) = (self.snapshot, &mut self.groups);
        let terms = keys_of(self.entity).lists[lists].terms;
        let mut last_id = None;
        for at in 0..file.terms(lists)? {
            if at.is_multiple_of(READS_PER_CHECK) {
                deadline.check()?;
            }
            // On a mirror, the terms and the heads of all lists are fetched together.
            let term = snapshot.or_noted(file.term_at(lists, at).map(Some));
            let list = snapshot.or_noted(file.postings(lists, at).map(Some));
            let (Some(term), Some(list)) = (term?, list?) else { continue };
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
                let id = snapshot.or_noted(snapshot.row_id(target, row))?;
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
        Ok(())
    }

    /// Merges the groups of the same boolean, integer or code.
    fn merge_terms(&mut self) {
        let term = |value: &ListValue| match *value {
            ListValue::Boolean(value) => Term::from(value),
            ListValue::Integer(value) => value as Term,
            ListValue::Record(_, row) => row.into(),
            ListValue::Code(term) => term,
        };
        self.groups.sort_by_key(|(value, _)| term(value));
        self.groups.dedup_by(|(next, lists), (value, all)| {
            let is_same = term(next) == term(value);
            if is_same {
                all.append(lists);
            }
            is_same
        });
    }

    pub(super) fn each(
        &self,
        chunk: u32,
        rows: &ChunkRows,
        mut visit: impl FnMut(u16, u64),
    ) -> Result<(), QueryError> {
        for (code, (_, of_group)) in (0..).zip(&self.groups) {
            for list in of_group {
                let view = self.snapshot.or_noted(list.view(chunk).map(Some))?;
                let Some(view) = view else { continue };
                view.each(|low| {
                    if rows.contains(low) {
                        visit(low, code);
                    }
                    true
                });
            }
        }
        let present: Result<Vec<_>, ReadError> =
            self.presence.iter().map(|presence| presence.view(chunk)).collect();
        let present = present?;
        rows.each(|low| {
            if present.iter().all(|present| !present.contains(low)) {
                visit(low, NULL);
            }
            true
        });
        Ok(())
    }

    /// Finds a code by its term in the first record of its lists.
    pub(super) fn code(&self, term: Term, lists: &[Postings<'_>]) -> Result<GroupValue, ReadError> {
        let keys = keys_of(self.entity);
        let is_read =
            |end: &usize| keys.ends[*end].lists.is_some_and(|at| self.lists.contains(&at));
        let tree = keys.tree.pruned(&is_read);
        // A term is a hash: the first record of the lists has the text of the code. Spellings may differ in case.
        let mut first: Option<u32> = None;
        for list in lists {
            list.each(|row| {
                let is_shown = !self.snapshot.suppressed().has(self.entity, row);
                if is_shown {
                    first = Some(first.map_or(row, |first| first.min(row)));
                }
                !is_shown
            })?;
        }
        let (mut found, mut outcome) = (None, Ok(()));
        if let Some(row) = first {
            // The record may have several codes at these paths; the term tells the code of the group.
            self.snapshot.gather(self.entity, row, &tree, &mut |_, value| {
                if let Gathered::Code(code) = value
                    && outcome.is_ok()
                {
                    match self.snapshot.code_term(code) {
                        Ok(other) if other == term => found = found.or(Some(code)),
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
