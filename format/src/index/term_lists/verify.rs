//! Verifies term lists.

use std::ops::Range;

use crate::index::bitset::Bitset;
use crate::index::check::{CheckError, ensure};
use crate::index::term_lists::{DIRECTORY_ENTRY_BYTES, ListsLayout, Term, TermListsFile};
use crate::storage::HEADER_BYTES;

impl TermListsFile {
    /// Checks the lists of a path. All their rows must lie in `rows`.
    ///
    /// `is_shown` fails for an invalid term and tells whether a term's rows have a value. On return
    /// `shown` holds the rows of these terms, and `present` the rows of the presence list. Both sets
    /// have space for all rows.
    pub(crate) fn verify(
        &self,
        number: usize,
        rows: &Range<u32>,
        mut is_shown: impl FnMut(Term) -> Result<bool, CheckError>,
        [shown, present]: &mut [Bitset; 2],
    ) -> Result<(), CheckError> {
        let layout = self.layout(number)?;
        let end = |number: usize| self.layout(number).map(ListsLayout::end);
        let mut at = if number == 0 { HEADER_BYTES } else { end(number - 1)? };
        shown.clear();
        present.clear();
        let mut last = None;
        for term_at in 0..=layout.terms {
            let (from, to, _) = self.postings_bytes(layout, term_at)?;
            ensure(from == at, "the postings are not contiguous")?;
            at = to;
            let list = self.postings(number, term_at)?;
            // Behind the last term is the presence list.
            if term_at == layout.terms {
                list.verify(rows, |row| {
                    present.insert(row);
                })?;
                break;
            }
            let term = self.term(layout, term_at)?;
            ensure(last.is_none_or(|last| last < term), "the terms do not ascend")?;
            last = Some(term);
            ensure(list.count() > 0, "a term has no row")?;
            // The rows of such a term are checked, but the term is no value of them.
            if is_shown(term)? {
                list.verify(rows, |row| {
                    shown.insert(row);
                })?;
            } else {
                list.verify(rows, |_| ())?;
            }
        }
        ensure(at == layout.terms_from, "the terms do not follow the postings")?;
        if number + 1 == self.layouts.len() {
            let directory_from = self.archive.len() - self.layouts.len() * DIRECTORY_ENTRY_BYTES;
            ensure(end(number)? == directory_from, "the directory does not follow the lists")?;
        }
        Ok(())
    }
}
