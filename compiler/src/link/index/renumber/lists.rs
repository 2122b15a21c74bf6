//! Renumbers term lists.

use std::{io, path::Path};

use pinakes_format::entity::Entity;
use pinakes_format::index::postings::{Postings, PostingsBuilder};
use pinakes_format::index::term_lists::{Term, TermListsFile, TermListsWriter};
use pinakes_format::schema::keys::Terms;

use crate::external_sort::{Sorted, Sorter};
use crate::link::column::IdRow;
use crate::link::index::renumber::{Unchanged, mismatch};
use crate::link::resolve::changes::NO_ROW;

/// Rows that are collected before they are added to a list.
const BUFFERED_ROWS: usize = 1 << 12;

/// The lists of one path in the previous snapshot, renumbered term by term.
pub(crate) struct OldLists<'u> {
    unchanged: &'u Unchanged<'u>,
    file: &'u TermListsFile,
    number: usize,
    terms: OldTerms,
    /// The next term, as it is now, and its number in the file.
    next: Option<(Term, usize)>,
    rows: Vec<u32>,
    new_rows: Vec<u32>,
    list: PostingsBuilder,
}

/// The numbers of the terms in the order of what the terms are now.
enum OldTerms {
    /// The terms are the same.
    Same(std::ops::Range<usize>),
    /// The terms are rows, which have moved.
    Moved(Sorted<IdRow>),
}

impl<'u> OldLists<'u> {
    /// Opens the lists of a path. A term that is a row becomes the row that it is now.
    pub(crate) fn open(
        unchanged: &'u Unchanged<'u>,
        (number, terms): (usize, Terms),
        (scratch, memory_bytes): (&Path, usize),
    ) -> io::Result<OldLists<'u>> {
        let file = unchanged.old().term_lists(unchanged.entity).map_err(io::Error::other)?;
        let count = file.terms(number).map_err(io::Error::other)?;
        let mut lists = OldLists {
            unchanged,
            file,
            number,
            terms: OldTerms::Same(0..count),
            next: None,
            rows: Vec::new(),
            new_rows: Vec::new(),
            list: PostingsBuilder::default(),
        };
        if matches!(terms, Terms::Rows(_) | Terms::AnyRows) {
            let mut sorter = Sorter::new(scratch, memory_bytes);
            for at in 0..count {
                let term = file.term_at(number, at).map_err(io::Error::other)?;
                let target = match terms {
                    Terms::Rows(target) => Some(target),
                    _ => Entity::from_index((term >> 32) as u8),
                };
                let target = target.ok_or_else(mismatch)?;
                match unchanged.moved(target, term as u32) {
                    Some(row) => {
                        let above = (term >> 32) as u64;
                        let (id, row) = (above << 32 | u64::from(row), at as u32);
                        sorter.push(IdRow { id, row })?;
                    }
                    // A record that refers to a row that is no more has changed.
                    None if lists.is_dropped(at)? => {}
                    None => return Err(mismatch()),
                }
            }
            lists.terms = OldTerms::Moved(sorter.finish()?);
        }
        lists.advance()?;
        Ok(lists)
    }

    fn postings(&self, at: usize) -> io::Result<Postings<'u>> {
        self.file.postings(self.number, at).map_err(io::Error::other)
    }

    /// Whether no unchanged row has a term.
    fn is_dropped(&self, at: usize) -> io::Result<bool> {
        let mut is_dropped = true;
        let visited = self.postings(at)?.each(|row| {
            is_dropped = self.unchanged.row(row).is_none();
            is_dropped
        });
        visited.map_err(io::Error::other)?;
        Ok(is_dropped)
    }

    fn advance(&mut self) -> io::Result<()> {
        self.next = match &mut self.terms {
            OldTerms::Same(numbers) => match numbers.next() {
                Some(at) => {
                    let term = self.file.term_at(self.number, at).map_err(io::Error::other)?;
                    Some((term, at))
                }
                None => None,
            },
            OldTerms::Moved(sorted) => {
                let next = sorted.next().transpose()?;
                next.map(|IdRow { id, row }| (Term::from(id), row as usize))
            }
        };
        Ok(())
    }

    /// Appends a term with the rows in `list`, after all old terms before it.
    pub(crate) fn push(
        &mut self,
        term: Term,
        list: &mut PostingsBuilder,
        writer: &mut TermListsWriter,
    ) -> io::Result<()> {
        self.push_before(Some(term), writer)?;
        match self.next.filter(|(next, _)| *next == term) {
            None => writer.push(term, list),
            Some((_, at)) => {
                self.add(at, list)?;
                self.advance()?;
                writer.push(term, list)
            }
        }
    }

    /// Appends the remaining terms, and the rows with any of them.
    pub(crate) fn finish(
        mut self,
        presence: &mut PostingsBuilder,
        writer: &mut TermListsWriter,
    ) -> io::Result<()> {
        self.push_before(None, writer)?;
        let at = self.file.terms(self.number).map_err(io::Error::other)?;
        self.add(at, presence)
    }

    /// Appends the old terms before a term, or all.
    fn push_before(&mut self, end: Option<Term>, writer: &mut TermListsWriter) -> io::Result<()> {
        while let Some((term, at)) = self.next.filter(|(next, _)| end.is_none_or(|end| *next < end))
        {
            let mut list = std::mem::take(&mut self.list);
            self.add(at, &mut list)?;
            if list.count() > 0 {
                writer.push(term, &mut list)?;
            }
            self.list = list;
            self.advance()?;
        }
        Ok(())
    }

    /// Adds the unchanged rows of a term to a list.
    fn add(&mut self, at: usize, list: &mut PostingsBuilder) -> io::Result<()> {
        let postings = self.postings(at)?;
        let OldLists { unchanged, rows, new_rows, .. } = self;
        let renumbered = unchanged.rows();
        new_rows.clear();
        if list.count() > 0 {
            list.take_rows(new_rows);
        }
        let mut new = &new_rows[..];
        let visited = postings.each(|old| {
            let row = renumbered.get(old as usize).map_or(NO_ROW, |row| u32::from_le_bytes(*row));
            if row == NO_ROW {
                return true;
            }
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
        visited.map_err(io::Error::other)?;
        rows.extend_from_slice(new);
        list.push_rows(rows);
        rows.clear();
        Ok(())
    }
}
