//! The terms of the previous snapshot, as one more run of the merge.

use std::io;

use pinakes_format::index::full_text::{
    FORMS_MAX, FullText, NO_ROW, Postings, Term, TermCursor, TermEncoder,
};
use pinakes_format::storage::ReadError;

use crate::link::index::full_text::merge::TermMerge;
use crate::link::index::runs::OldRun;
use crate::link::index::unchanged::{Taken, Unchanged};
use crate::link::take_over::{Reason, TakeOver};

/// Bytes of a posting, about.
const POSTING_BYTES: usize = 8;

/// A term of the previous snapshot.
#[derive(Clone, Copy)]
pub(super) struct OldTerm<'u> {
    unchanged: &'u Unchanged<'u>,
    term: Term<'u>,
}

/// The rows of a term in the previous snapshot.
pub(super) struct OldPart<'u> {
    unchanged: &'u Unchanged<'u>,
    postings: Postings<'u>,
    /// Rows of decoded postings, as they are now.
    rows: Vec<u32>,
    /// For each form of the term there, its text, if an unchanged row has it.
    pub forms: Vec<Option<Vec<u8>>>,
}

/// The terms of the previous snapshot, as one more run of the merge.
pub(super) struct OldTerms<'u> {
    unchanged: &'u Unchanged<'u>,
    terms: TermCursor<'u>,
    stem: Vec<u8>,
    term: Option<Term<'u>>,
    /// Where the merged range of terms ends; `None` for the last.
    end: Option<Vec<u8>>,
}

impl<'u> OldTerms<'u> {
    pub fn open(unchanged: &'u Unchanged<'u>, index: &'u FullText) -> Taken<OldTerms<'u>> {
        let (stem, terms) = (Vec::new(), index.term_cursor());
        let mut terms = OldTerms { unchanged, terms, stem, term: None, end: None };
        terms.advance()?;
        Ok(terms)
    }

    /// Leaves the terms from `end` on to the merges of later ranges.
    pub fn end_before(&mut self, end: Option<&[u8]>) {
        self.end = end.map(<[u8]>::to_vec);
    }

    fn advance(&mut self) -> Taken<()> {
        let OldTerms { unchanged, terms, stem, term, .. } = self;
        stem.clear();
        *term = terms.next_term().map_err(unchanged.failure())?.map(|(text, term)| {
            stem.extend_from_slice(text);
            term
        });
        Ok(())
    }
}

impl<'u> OldTerm<'u> {
    /// Bytes of the postings, about.
    pub fn bytes(self) -> usize {
        self.term.count() as usize * POSTING_BYTES
    }

    /// The unchanged rows of the term, and the forms that they have.
    pub fn part(self, stem: &[u8]) -> Taken<OldPart<'u>> {
        let OldTerm { unchanged, term } = self;
        // Which forms the rows have that count as the last form is not known.
        if term.form_count() == FORMS_MAX {
            return Err(TakeOver::Impossible(Reason::Forms));
        }
        let texts = term.forms(stem).map_err(unchanged.failure())?;
        let forms = used_forms(unchanged, term, texts).map_err(unchanged.failure())?;
        let postings = term.postings().map_err(unchanged.failure())?;
        Ok(OldPart { unchanged, postings, rows: Vec::new(), forms })
    }
}

/// The forms that an unchanged row has. Reads postings until all forms are found.
fn used_forms(
    unchanged: &Unchanged<'_>,
    term: Term<'_>,
    texts: Vec<Vec<u8>>,
) -> Result<Vec<Option<Vec<u8>>>, ReadError> {
    let mut is_used = vec![false; texts.len()];
    let mut missing = texts.len();
    let mut postings = term.postings()?;
    let map = unchanged.row_map();
    while missing > 0 && postings.row() != NO_ROW {
        let is_kept = |old: &&u32| map.get(**old).is_some();
        let kept = postings.decoded_rows().iter().take_while(is_kept).count();
        postings.each_form(kept, |form| {
            if let Some(used) = is_used.get_mut(usize::from(form)) {
                missing -= usize::from(!std::mem::replace(used, true));
            }
        })?;
        // Behind the kept rows stands a changed one, or no more of the block.
        let is_more = kept < postings.decoded_rows().len();
        postings.pass(kept + usize::from(is_more))?;
    }
    Ok(texts.into_iter().zip(is_used).map(|(text, is_used)| is_used.then_some(text)).collect())
}

impl OldPart<'_> {
    /// Adds the unchanged rows that now stand before a row.
    pub fn push_before(
        &mut self,
        row: u32,
        numbers: &[u16],
        encoder: &mut TermEncoder,
        encoded: &mut impl FnMut(&mut TermEncoder) -> io::Result<()>,
    ) -> Taken<()> {
        let OldPart { unchanged, postings, rows, .. } = self;
        let map = unchanged.row_map();
        while postings.row() != NO_ROW {
            rows.clear();
            let now = |old: &u32| map.get(*old).filter(|new| *new < row);
            rows.extend(postings.decoded_rows().iter().map_while(now));
            if rows.is_empty() {
                if map.get(postings.row()).is_some() {
                    break;
                }
                postings.advance().map_err(unchanged.failure())?;
                continue;
            }
            encoder.copy(postings, rows, numbers).map_err(unchanged.failure())?;
            encoded(encoder)?;
        }
        Ok(())
    }
}

impl<'b, 'u> OldRun<&'b [u8], TermMerge<'b, 'u>> for OldTerms<'u> {
    type Error = TakeOver<io::Error>;

    fn is_before(&self, stem: Option<&&'b [u8]>) -> bool {
        let end = stem.copied().or(self.end.as_deref());
        self.term.is_some() && end.is_none_or(|end| self.stem.as_slice() < end)
    }

    fn is_at(&self, stem: &&'b [u8]) -> bool {
        self.term.is_some() && self.stem.as_slice() == *stem
    }

    /// Ends the whole term, so that the merge finds no part of it at its end.
    fn take(&mut self, state: &mut TermMerge<'b, 'u>) -> Taken<()> {
        let old = self.term.map(|term| OldTerm { unchanged: self.unchanged, term });
        state.end(&self.stem, old)?;
        self.advance()
    }

    fn take_alone(&mut self, state: &mut TermMerge<'b, 'u>) -> Taken<()> {
        self.take(state)
    }
}
