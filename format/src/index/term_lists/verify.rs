//! Demanding of lists what they promise.

use std::ops::Range;

use crate::index::bitset::Bitset;
use crate::index::check::{CheckError, ensure};
use crate::index::term_lists::{PLACE_BYTES, Term, TermListsFile};
use crate::storage::header::HEADER_BYTES;

impl TermListsFile {
    /// Demands that the lists of a number, which stand at these rows, are what they promise.
    ///
    /// `is_shown` refuses a term that is none. Left in the sets, which are of all rows, are the rows
    /// that have a term it shows, and those of presence.
    pub(crate) fn verify(
        &self,
        number: usize,
        rows: &Range<u32>,
        mut is_shown: impl FnMut(Term) -> Result<bool, CheckError>,
        [shown, present]: &mut [Bitset; 2],
    ) -> Result<(), CheckError> {
        let place = self.place(number)?;
        let end = |number: usize| {
            self.place(number).map(|place| place.terms_from + place.terms * (place.width + 8) + 16)
        };
        let mut at = if number == 0 { HEADER_BYTES } else { end(number - 1)? };
        shown.clear();
        present.clear();
        let mut last = None;
        for term_at in 0..=place.terms {
            let (from, to, _) = self.postings_place(place, term_at)?;
            ensure(from == at, "postings do not lie one after another")?;
            at = to;
            let list = self.postings(number, term_at)?;
            if term_at == place.terms {
                list.verify(rows, |row| {
                    present.insert(row);
                })?;
                break;
            }
            let term = self.term(place, term_at)?;
            ensure(last.is_none_or(|last| last < term), "its terms do not ascend")?;
            last = Some(term);
            ensure(list.count() > 0, "a term has no row")?;
            if is_shown(term)? {
                list.verify(rows, |row| {
                    shown.insert(row);
                })?;
            } else {
                list.verify(rows, |_| ())?;
            }
        }
        ensure(at == place.terms_from, "its terms do not follow its postings")?;
        if number + 1 == self.places.len() {
            let directory_from = self.archive.len() - self.places.len() * PLACE_BYTES;
            ensure(end(number)? == directory_from, "the directory does not follow the lists")?;
        }
        Ok(())
    }
}
