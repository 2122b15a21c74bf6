//! The term lists of the previous snapshot, as one more run of the merge.

use std::io;

use pinakes_format::entity::Entity;
use pinakes_format::index::postings::{Postings, PostingsBuilder};
use pinakes_format::index::term_lists::{Term, TermListsFile};
use pinakes_format::schema::Terms;
use pinakes_format::storage::ReadError;

use crate::external_sort::{Sorted, Sorter};
use crate::link::column::IdRow;
use crate::link::index::runs::OldRun;
use crate::link::index::term_lists::{ListsMerge, Sorting};
use crate::link::index::unchanged::{Taken, Unchanged};
use crate::link::take_over::TakeOver;

/// Rows that are collected before they are added to a list.
const BUFFERED_ROWS: usize = 1 << 12;

/// The lists of one path in the previous snapshot, term by term.
pub(super) struct OldLists<'u> {
    unchanged: &'u Unchanged<'u>,
    file: &'u TermListsFile,
    /// The number of the path's lists.
    number: usize,
    terms: OldTerms,
    next: Option<NextTerm>,
    /// Emptied buffers, whose memory is used again.
    rows: Vec<u32>,
    new_rows: Vec<u32>,
}

/// A term as it is now, and its number in the file.
#[derive(Clone, Copy)]
struct NextTerm {
    term: Term,
    at: usize,
}

/// The numbers of the terms in the order of what the terms are now.
enum OldTerms {
    /// The terms are the same.
    Same(std::ops::Range<usize>),
    /// The terms are rows, which have moved.
    Moved(Sorted<IdRow>),
}

impl<'u> OldLists<'u> {
    /// The file with the lists of all paths.
    pub(super) fn file(unchanged: &'u Unchanged<'u>) -> Taken<&'u TermListsFile> {
        unchanged.old().term_lists(unchanged.entity).map_err(unchanged.failure())
    }

    /// Opens the lists of a path.
    pub(super) fn open(
        unchanged: &'u Unchanged<'u>,
        number: usize,
        terms: Terms,
        sorting: Sorting<'_>,
    ) -> Taken<OldLists<'u>> {
        let file = OldLists::file(unchanged)?;
        let count = file.terms(number).map_err(unchanged.failure())?;
        let mut lists = OldLists {
            unchanged,
            file,
            number,
            terms: OldTerms::Same(0..count),
            next: None,
            rows: Vec::new(),
            new_rows: Vec::new(),
        };
        if matches!(terms, Terms::Rows(_) | Terms::AnyRows) {
            lists.terms = OldTerms::Moved(lists.moved(terms, count, sorting)?);
        }
        lists.advance()?;
        Ok(lists)
    }

    /// Sorts the terms again, each of which is a row and becomes the row that it is now.
    fn moved(&self, terms: Terms, count: usize, sorting: Sorting<'_>) -> Taken<Sorted<IdRow>> {
        let mut sorter = Sorter::new(sorting.scratch, sorting.memory_bytes);
        for at in 0..count {
            let term = self.file.term_at(self.number, at).map_err(self.unchanged.failure())?;
            let target = match terms {
                Terms::Rows(target) => Some(target),
                _ => Entity::from_index((term >> 32) as u8),
            };
            let target = target.ok_or(TakeOver::contradiction("a term is a row of no entity"))?;
            match self.unchanged.moved(target, term as u32) {
                Some(row) => {
                    let above = (term >> 32) as u64;
                    sorter.push(IdRow { id: above << 32 | u64::from(row), row: at as u32 })?;
                }
                // A record that refers to a row that is no more has changed.
                None if self.is_dropped(at).map_err(self.unchanged.failure())? => {}
                None => {
                    return Err(TakeOver::contradiction(
                        "an unchanged record refers to a lost row",
                    ));
                }
            }
        }
        Ok(sorter.finish()?)
    }

    fn postings(&self, at: usize) -> Result<Postings<'u>, ReadError> {
        self.file.postings(self.number, at)
    }

    /// Whether no unchanged row has a term.
    fn is_dropped(&self, at: usize) -> Result<bool, ReadError> {
        let mut is_dropped = true;
        self.postings(at)?.each(|row| {
            is_dropped = self.unchanged.row(row).is_none();
            is_dropped
        })?;
        Ok(is_dropped)
    }

    fn advance(&mut self) -> Taken<()> {
        self.next = match &mut self.terms {
            OldTerms::Same(numbers) => match numbers.next() {
                Some(at) => {
                    let term = self.file.term_at(self.number, at);
                    Some(NextTerm { term: term.map_err(self.unchanged.failure())?, at })
                }
                None => None,
            },
            OldTerms::Moved(sorted) => sorted
                .next()
                .transpose()?
                .map(|IdRow { id, row }| NextTerm { term: Term::from(id), at: row as usize }),
        };
        Ok(())
    }

    /// Adds the unchanged rows with any term.
    pub(super) fn add_presence(&mut self, presence: &mut PostingsBuilder) -> Taken<()> {
        let at = self.file.terms(self.number).map_err(self.unchanged.failure())?;
        self.add(at, presence)
    }

    /// Adds the unchanged rows of a list to those of changed records.
    fn add(&mut self, at: usize, list: &mut PostingsBuilder) -> Taken<()> {
        let postings = self.postings(at).map_err(self.unchanged.failure())?;
        let OldLists { unchanged, rows, new_rows, .. } = self;
        new_rows.clear();
        if list.count() > 0 {
            list.take_rows(new_rows);
        }
        // Both ascend: old rows, numbered as they are now, and the rows of changed records.
        let (mut new, row_map) = (&new_rows[..], unchanged.row_map());
        let visited = postings.each(|old| {
            let Some(row) = row_map.get(old) else { return true };
            while let Some((first, rest)) = new.split_first().filter(|(first, _)| **first < row) {
                rows.push(*first);
                new = rest;
            }
            rows.push(row);
            if rows.len() >= BUFFERED_ROWS {
                list.push_rows(rows);
                rows.clear();
            }
            true
        });
        visited.map_err(unchanged.failure())?;
        rows.extend_from_slice(new);
        list.push_rows(rows);
        rows.clear();
        Ok(())
    }
}

impl OldRun<Term, ListsMerge> for OldLists<'_> {
    type Error = TakeOver<io::Error>;

    fn is_before(&self, term: Option<&Term>) -> bool {
        self.next.is_some_and(|next| term.is_none_or(|term| next.term < *term))
    }

    fn is_at(&self, term: &Term) -> bool {
        self.next.is_some_and(|next| next.term == *term)
    }

    fn take(&mut self, lists: &mut ListsMerge) -> Taken<()> {
        let Some(NextTerm { at, .. }) = self.next else { return Ok(()) };
        self.add(at, &mut lists.list)?;
        self.advance()
    }

    fn take_alone(&mut self, lists: &mut ListsMerge) -> Taken<()> {
        let Some(NextTerm { term, at }) = self.next else { return Ok(()) };
        self.add(at, &mut lists.list)?;
        lists.end_term(term)?;
        self.advance()
    }
}
