//! The full-text index: word → records, with fields and positions, for searches by relevance.
//!
//! ```text
//! header | posting lists… | positions… | title words | terms | forms | directory: twelve u64
//! term: number of postings × 2 + 1 if they are here | number of forms | forms, as suffixes of the term
//!       | here:    length of the postings | rest | positions
//!       | or else: offset and length of the list | offset and length of its positions
//! form: the terms that the word is a form of, as suffixes of the form, each with the form's number in the term
//! ```
//!
//! A *term* is the stem of a word, in the language of the record that holds the word, and a mark of the language. A *form* is
//! the word as the record spells it, folded. So one list for each language answers a search for any inflection, and positions
//! tell the forms apart:
//!
//! ```text
//! term "network"  forms "network", "networks"   postings (row 3, impact 9) …   positions: abstract 4, form 1
//! form "networks" → term "network", form 1
//! ```
//!
//! - `impact` weighs a term in a record. The weight follows from the record alone, so that unchanged records keep it.
//! - `postings` lists the rows of a term, `positions` where the term stands in each record.
//! - Title words: for each row a byte, the words of the record's shortest title, at most 127; 0 without a title. The highest bit
//!   is set if the record has more titles. The bytes end with the last row that has a title. The term [`TITLE_END`] stands at the
//!   end of each title.
//! - `texts` maps terms and forms to their entries.
//!
//! Cost of [`FullText::term`]: a look-up in the shards, and decoding half a block of about 2 KiB.

mod amended;
mod bits;
mod cursors;
mod impact;
mod layout;
mod positions;
mod postings;
mod record;
mod texts;
mod verify;
mod write;

use std::sync::OnceLock;

use crate::index::full_text::layout::{HAS_TITLES, TITLE_WORDS_MAX};
use crate::index::full_text::positions::PositionsBuilder;
use crate::index::full_text::postings::{Cursor, List, Place as ListPlace};
use crate::index::full_text::texts::{Texts, TextsCursor};
use crate::schema::texts::Field;
use crate::storage::archive::{Archive, ArchiveError, InArchive};
use crate::storage::error::ReadError;
use crate::storage::header::HEADER_BYTES;
use crate::storage::leb128;
use crate::text::analyzer::Languages;

pub use crate::index::full_text::amended::{Amended, AmendedPosting, Place};
pub use crate::index::full_text::cursors::{FormCursor, TermCursor};
pub use crate::index::full_text::impact::{
    IDF_STEPS, IMPACT_MAX, idf, impact, impact_of, weight_of,
};
pub use crate::index::full_text::layout::{
    BLOCK_POSTINGS, FORMS_MAX, POSITION_MAX, TITLE_END, VALUE_GAP,
};
pub use crate::index::full_text::positions::{BlockPositions, Occurrence, Positions};
pub use crate::index::full_text::postings::NO_ROW;
pub use crate::index::full_text::record::{WordPlaces, each_text};
pub use crate::index::full_text::write::{
    EncodedTerm, EncodedTerms, EndedTerms, FormsWriter, FullTextWriter, TermEncoder,
};

fn corrupt(what: &'static str) -> ReadError {
    ReadError::corrupt("full_text", what)
}

/// A full-text index in a mapped file.
#[derive(Clone)]
pub struct FullText {
    archive: Archive,
    positions_from: usize,
    title_words_from: usize,
    terms: Texts,
    forms: Texts,
    /// The languages of the records, once they are known.
    languages: OnceLock<Languages>,
}

impl InArchive for FullText {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl FullText {
    /// The languages of the records, found at the first call.
    pub(crate) fn languages(
        &self,
        find: impl FnOnce() -> Result<Languages, ReadError>,
    ) -> Result<Languages, ReadError> {
        match self.languages.get() {
            Some(known) => Ok(*known),
            None => Ok(*self.languages.get_or_init({
                let found = find()?;
                move || found
            })),
        }
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// Fails if the directory is damaged or inconsistent.
    pub fn open(archive: Archive) -> Result<FullText, ArchiveError> {
        let (directory_from, [positions_from, title_words_from, a, b, c, d, e, f, g, h, i, j]) =
            archive.directory()?;
        let terms = Texts::open(&archive, [a, b, c, d, e]);
        // Read before the first is known to be here: one attempt notes what both lack.
        let forms = Texts::open(&archive, [f, g, h, i, j])?;
        let terms = terms?;
        let is_sound = positions_from >= HEADER_BYTES
            && positions_from <= title_words_from
            && title_words_from <= terms.from()
            && terms.to() == forms.from()
            && forms.to() == directory_from;
        match is_sound {
            true => Ok(FullText {
                archive,
                positions_from,
                title_words_from,
                terms,
                forms,
                languages: OnceLock::new(),
            }),
            false => Err(ArchiveError::Length {
                expected: forms.to() as u64,
                found: archive.len() as u64,
            }),
        }
    }

    /// The mapped file and its integrity checks.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The number of terms.
    pub fn terms(&self) -> u64 {
        self.terms.count()
    }

    /// The number of forms.
    pub fn forms(&self) -> u64 {
        self.forms.count()
    }

    /// The bytes of the posting lists and of the positions, without those in the dictionary.
    pub fn region_bytes(&self) -> (u64, u64) {
        let postings = self.positions_from - HEADER_BYTES;
        (postings as u64, (self.title_words_from - self.positions_from) as u64)
    }

    /// The titles of a record, as its title words tell them.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn titles(&self, row: u32) -> Result<Titles, ReadError> {
        let byte = self.title_byte(row)?;
        Ok(Titles { words: byte & TITLE_WORDS_MAX, are_several: byte & HAS_TITLES != 0 })
    }

    #[inline]
    fn title_byte(&self, row: u32) -> Result<u8, ReadError> {
        let at = self.title_words_from + row as usize;
        match at < self.terms.from() {
            true => {
                let byte = match self.archive.bytes(at, at + 1) {
                    Err(error) => self.archive.read_or(Err(error), &[][..])?,
                    Ok(byte) => byte,
                };
                Ok(byte.first().copied().unwrap_or(0))
            }
            false => Ok(0),
        }
    }

    /// Finds a term.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn term(&self, stem: &str) -> Result<Option<Term<'_>>, ReadError> {
        match self.terms.get(&self.archive, stem.as_bytes())? {
            Some(bytes) => self.read_term(bytes).map(Some),
            None => Ok(None),
        }
    }

    /// Finds some of the terms, which ascend. The terms of a word are near one another: the first is looked up, and a walk leads to
    /// the others.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn terms_of<'t>(&self, terms: &'t [String]) -> Result<Vec<(&'t str, Term<'_>)>, ReadError> {
        let mut cursor = self.terms.cursor(&self.archive);
        let (mut found, mut lacking) = (Vec::new(), Ok(()));
        for term in terms {
            match self.term_from(&mut cursor, term) {
                Ok(of) => found.extend(of.map(|of| (term.as_str(), of))),
                // An attempt notes the absent chunks of all terms.
                Err(error) if self.archive.notes_failures() => lacking = Err(error),
                Err(error) => return Err(error),
            }
        }
        lacking.map(|()| found)
    }

    /// Finds a term at or after a cursor, which is at the first text from an earlier term on.
    fn term_from<'s>(
        &'s self,
        cursor: &mut TextsCursor<'s>,
        term: &str,
    ) -> Result<Option<Term<'s>>, ReadError> {
        let is_before = cursor.current().is_none_or(|(text, _)| text < term.as_bytes());
        if is_before && !cursor.walk(term.as_bytes())? {
            cursor.seek(term.as_bytes())?;
        }
        let found = cursor.current().filter(|(text, _)| *text == term.as_bytes());
        found.map(|(_, bytes)| self.read_term(bytes)).transpose()
    }

    /// A cursor before the first term.
    pub fn term_cursor(&self) -> TermCursor<'_> {
        TermCursor { index: self, texts: self.terms.cursor(&self.archive) }
    }

    /// A cursor before the first form.
    pub fn form_cursor(&self) -> FormCursor<'_> {
        FormCursor(self.forms.cursor(&self.archive))
    }

    /// The terms that a word is a form of, and its number among the forms of each.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn form(&self, form: &str) -> Result<Vec<FormOf>, ReadError> {
        match self.forms.get(&self.archive, form.as_bytes())? {
            Some(bytes) => read_stems(form.as_bytes(), bytes),
            None => Ok(Vec::new()),
        }
    }

    fn read_term<'s>(&'s self, mut bytes: &'s [u8]) -> Result<Term<'s>, ReadError> {
        let cut = || corrupt("the entry of a term is cut");
        let head = leb128::take(&mut bytes).ok_or_else(cut)?;
        let count = u32::try_from(head >> 1).ok().filter(|count| *count > 0);
        let count =
            count.ok_or_else(|| corrupt("a term has no posting, or more than 32 bits count"))?;
        let forms = leb128::take(&mut bytes).filter(|forms| (1..=FORMS_MAX as u64).contains(forms));
        let forms = forms.ok_or_else(|| corrupt("a term has no form, or too many"))? as usize;
        // A search reads few forms of a term: here the entry's forms are passed over to find the list.
        let suffixes = bytes;
        for _ in 0..forms {
            take_suffix(&mut bytes).ok_or_else(cut)?;
        }
        let suffixes = &suffixes[..suffixes.len() - bytes.len()];
        // The lowest bit tells whether the postings are in the entry or in their region.
        let (list, positions) = if head & 1 == 1 {
            let length = leb128::take(&mut bytes).and_then(|length| usize::try_from(length).ok());
            let (rest, positions) =
                length.and_then(|length| bytes.split_at_checked(length)).ok_or_else(cut)?;
            // The writer puts full blocks into the region, where a search passes over whole blocks.
            if count as usize >= BLOCK_POSTINGS {
                return Err(corrupt("a whole block lies in the dictionary"));
            }
            (List { count, place: ListPlace::Inline(rest) }, PositionsPlace::Inline(positions))
        } else {
            let mut number =
                || leb128::take(&mut bytes).and_then(|n| usize::try_from(n).ok()).ok_or_else(cut);
            let [from, length, positions, positions_length] =
                [number()?, number()?, number()?, number()?];
            if !bytes.is_empty() {
                return Err(cut());
            }
            let outside = || corrupt("a posting list lies outside its region");
            let range = |from: usize, base: usize, length: usize, end: usize| {
                let from = from.checked_add(base)?;
                let to = from.checked_add(length)?;
                (to <= end).then_some((from, to))
            };
            let (from, to) =
                range(from, HEADER_BYTES, length, self.positions_from).ok_or_else(outside)?;
            let (positions_from, positions_to) =
                range(positions, self.positions_from, positions_length, self.title_words_from)
                    .ok_or_else(outside)?;
            let list = List::open(&self.archive, from, to, count)?;
            let place = PositionsPlace::Region {
                archive: &self.archive,
                from: positions_from,
                to: positions_to,
            };
            (list, place)
        };
        Ok(Term { list, positions, forms, suffixes })
    }
}

/// The titles of a record.
pub struct Titles {
    /// The words of the shortest, at most 127, which may stand for more; 0 without a title.
    pub words: u8,
    /// Whether the record has other titles.
    pub are_several: bool,
}

impl Titles {
    /// The words of the only title; `None` if there are others, or if the number may stand for more.
    pub fn words_of_only(&self) -> Option<u8> {
        (!self.are_several && self.words < TITLE_WORDS_MAX).then_some(self.words)
    }
}

/// A term that a word is a form of, and the form's number in the term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormOf {
    /// The stem that names the term.
    pub stem: String,
    /// The number of the form among the forms of the term.
    pub number: u16,
}

/// Reads the stems of a form.
fn read_stems(form: &[u8], mut bytes: &[u8]) -> Result<Vec<FormOf>, ReadError> {
    let cut = || corrupt("the entry of a form is cut");
    let mut stems = Vec::new();
    while !bytes.is_empty() {
        let (shared, suffix) = take_suffix(&mut bytes).ok_or_else(cut)?;
        let stem = [form.get(..shared).ok_or_else(cut)?, suffix].concat();
        let stem = String::from_utf8(stem).map_err(|_| corrupt("a term is not UTF-8"))?;
        let number = leb128::take(&mut bytes).filter(|number| *number < FORMS_MAX as u64);
        stems.push(FormOf { stem, number: number.ok_or_else(cut)? as u16 });
    }
    if stems.is_empty() { Err(corrupt("a form has no term")) } else { Ok(stems) }
}

/// Takes a shared length and a suffix off the front of `bytes`.
fn take_suffix<'s>(bytes: &mut &'s [u8]) -> Option<(usize, &'s [u8])> {
    let shared = usize::try_from(leb128::take(bytes)?).ok()?;
    let length = usize::try_from(leb128::take(bytes)?).ok()?;
    let (suffix, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some((shared, suffix))
}

/// A term: its forms, its posting list and its positions.
#[derive(Clone, Copy)]
pub struct Term<'s> {
    list: List<'s>,
    positions: PositionsPlace<'s>,
    forms: usize,
    suffixes: &'s [u8],
}

#[derive(Clone, Copy)]
enum PositionsPlace<'s> {
    Inline(&'s [u8]),
    Region { archive: &'s Archive, from: usize, to: usize },
}

impl<'s> Term<'s> {
    /// The number of records with the term, suppressed records included.
    pub fn count(&self) -> u32 {
        self.list.count
    }

    /// The number of forms.
    pub fn form_count(&self) -> usize {
        self.forms
    }

    /// The forms of the term with this stem, ascending.
    ///
    /// # Errors
    ///
    /// Fails if a form shares more than the stem.
    pub fn forms(&self, stem: &[u8]) -> Result<Vec<Vec<u8>>, ReadError> {
        let mut bytes = self.suffixes;
        let form = |_| {
            let (shared, suffix) = take_suffix(&mut bytes)?;
            Some([stem.get(..shared)?, suffix].concat())
        };
        let forms: Option<Vec<Vec<u8>>> = (0..self.forms).map(form).collect();
        forms.ok_or_else(|| corrupt("a form shares more than its term"))
    }

    /// The number of a form among those of the term with this stem; `None` of another form.
    ///
    /// # Errors
    ///
    /// Fails if a form shares more than the stem.
    pub fn number_of(&self, stem: &[u8], form: &[u8]) -> Result<Option<u16>, ReadError> {
        let mut bytes = self.suffixes;
        for number in 0..self.forms as u16 {
            let (shared, suffix) = take_suffix(&mut bytes)
                .filter(|(shared, _)| *shared <= stem.len())
                .ok_or_else(|| corrupt("a form shares more than its term"))?;
            if form.strip_prefix(&stem[..shared]) == Some(suffix) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Opens the postings at the first one.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn postings(self) -> Result<Postings<'s>, ReadError> {
        Ok(Postings {
            cursor: Cursor::open(self.list)?,
            positions: self.positions,
            has_forms: self.forms > 1,
            block: None,
            opened: BlockPositions::default(),
        })
    }
}

/// Walks the postings of a term in row order.
pub struct Postings<'s> {
    cursor: Cursor<'s>,
    positions: PositionsPlace<'s>,
    has_forms: bool,
    /// The block whose positions are open.
    block: Option<usize>,
    opened: BlockPositions<'s>,
}

impl<'s> Postings<'s> {
    /// The number of postings.
    pub fn count(&self) -> u32 {
        self.cursor.count()
    }

    /// The current row, or [`NO_ROW`] beyond the last.
    #[inline]
    pub fn row(&self) -> u32 {
        self.cursor.row()
    }

    /// The impact of the term in the current record.
    #[inline]
    pub fn impact(&mut self) -> u32 {
        self.cursor.impact()
    }

    /// Moves to the next row.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    #[inline]
    pub fn advance(&mut self) -> Result<(), ReadError> {
        self.cursor.advance()
    }

    /// Moves back to the first row.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn rewind(&mut self) -> Result<(), ReadError> {
        self.cursor.rewind()
    }

    /// Moves to the first row at or after `row`. Never moves back.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    #[inline]
    pub fn seek(&mut self, row: u32) -> Result<(), ReadError> {
        self.cursor.seek(row)
    }

    /// The last row of the postings that are decoded; [`NO_ROW`] if these are the last ones.
    #[inline]
    pub fn decoded_last(&self) -> u32 {
        self.cursor.block_last()
    }

    /// The decoded rows from the current one on.
    #[inline]
    pub fn decoded_rows(&self) -> &[u32] {
        self.cursor.decoded_rows()
    }

    /// The decoded rows from the current one on, and their impacts.
    #[inline]
    pub fn decoded(&mut self) -> (&[u32], &[u32]) {
        self.cursor.decoded()
    }

    /// Passes over some of the decoded rows.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    #[inline]
    pub fn pass(&mut self, count: usize) -> Result<(), ReadError> {
        self.cursor.pass(count)
    }

    /// Calls `visit` with the rows below `end` and their impacts, and moves to the first row at or after it.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    #[inline]
    pub fn each_below(
        &mut self,
        end: u32,
        mut visit: impl FnMut(u32, u32),
    ) -> Result<(), ReadError> {
        while self.row() < end {
            let (rows, impacts) = self.decoded();
            let count = rows.partition_point(|row| *row < end);
            rows[..count].iter().zip(impacts).for_each(|(row, impact)| visit(*row, *impact));
            self.pass(count)?;
        }
        Ok(())
    }

    /// The greatest impact of rows from `row` on, and the last row for which it holds. `row` is not before the current row.
    #[inline]
    pub fn bound(&mut self, row: u32) -> (u32, u32) {
        let (impact, last) = self.cursor.bound(row);
        (impact.into(), last)
    }

    /// The fields of the current record that have the term, a bit each.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn fields(&mut self) -> Result<u8, ReadError> {
        let posting = self.open_positions()?;
        Ok(self.opened.fields(posting))
    }

    /// Calls `visit` with the position and the form of each occurrence of the term in a field of the current record, ascending.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    #[inline]
    pub fn each_occurrence(
        &mut self,
        field: Field,
        visit: impl FnMut(u32, u16),
    ) -> Result<(), ReadError> {
        let posting = self.open_positions()?;
        self.opened.each(posting, field as usize, visit)
    }

    /// The positions of the decoded postings, and the number of the current posting among these.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn block_positions(&mut self) -> Result<(usize, &mut BlockPositions<'s>), ReadError> {
        let posting = self.open_positions()?;
        Ok((posting, &mut self.opened))
    }

    /// Calls `visit` with the form of each occurrence in the next decoded postings.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn each_form(&mut self, count: usize, visit: impl FnMut(u16)) -> Result<(), ReadError> {
        let posting = self.open_positions()?;
        self.opened.each_form(posting..posting + count, visit)
    }

    /// Whether the current record has a form of the term.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn has_form(&mut self, form: u16) -> Result<bool, ReadError> {
        let posting = self.open_positions()?;
        Ok(self.opened.has_form(posting, form))
    }

    /// Adds the positions of the next decoded postings to a block that is being written. `forms` renumbers their forms.
    fn copy_positions(
        &mut self,
        count: usize,
        to: &mut PositionsBuilder,
        forms: &[u16],
    ) -> Result<(), ReadError> {
        let posting = self.open_positions()?;
        to.copy(&self.opened, posting..posting + count, forms)
    }

    /// Opens the positions of the current block. Returns the place of the current posting in the block.
    #[inline]
    fn open_positions(&mut self) -> Result<usize, ReadError> {
        let (block, at) = self.cursor.place();
        if self.block != Some(block) {
            self.block = None;
            let bytes = self.position_bytes(block);
            let bytes = match self.positions {
                PositionsPlace::Region { archive, .. } => archive.read_or(bytes, &[])?,
                PositionsPlace::Inline(_) => bytes?,
            };
            if bytes.is_empty() {
                self.opened = BlockPositions::default();
                return Ok(at);
            }
            let count = self.cursor.list().count as usize;
            let postings = (count - (block * BLOCK_POSTINGS).min(count)).min(BLOCK_POSTINGS);
            self.opened.open(bytes, postings, self.has_forms)?;
            self.block = Some(block);
        }
        Ok(at)
    }

    /// The bytes of all positions that are not in the dictionary.
    pub(crate) fn positions_bytes(&self) -> usize {
        match self.positions {
            PositionsPlace::Inline(_) => 0,
            PositionsPlace::Region { from, to, .. } => to - from,
        }
    }

    /// Asks for all positions at once.
    pub(crate) fn fetch_positions(&self) {
        if let PositionsPlace::Region { archive, from, to } = self.positions {
            archive.fetch(from, to);
        }
    }

    /// The positions of a block.
    fn position_bytes(&self, block: usize) -> Result<&'s [u8], ReadError> {
        match self.positions {
            PositionsPlace::Inline(bytes) => Ok(bytes),
            PositionsPlace::Region { archive, from, to } => {
                let entry = |block| self.cursor.list().entry(block);
                let this =
                    entry(block).ok_or_else(|| corrupt("a posting list has no such block"))?;
                let next = entry(block + 1)
                    .map_or(to, |next| from.saturating_add(next.positions_from as usize));
                let this = from.saturating_add(this.positions_from as usize);
                if next > to {
                    return Err(corrupt("positions lie outside their region"));
                }
                archive.bytes(this, next)
            }
        }
    }
}
