//! Where the words of a block of postings stand: fields, positions and forms.
//!
//! ```text
//! block: set of fields u8, then for each field of the set:
//!        places u8 | places, u8 each, or if that is shorter a bitmap of 128
//!        | further occurrences, LEB128 | their postings, u8 each, or if that is shorter a bit for each occurrence, set at
//!        the last one of a posting
//!        | width u8 | packed gaps | if the term has more than one form: width u8 | packed forms
//! gap:   position, plus one, less the position after the last occurrence of the posting
//! ```
//!
//! The places that are listed have the field. With [`LISTS_OTHERS`] the list has the places where a guess is wrong: that the
//! postings without an earlier field of the block have the field.
//!
//! Example: a term with two forms stands in the abstracts of two records: at positions 3 and 9 as form 1 and then as form 0,
//! and at position 2 as form 1.
//!
//! ```text
//! further: 1, of posting 0   gaps: 4, 6, 3   forms: 1, 0, 1
//! ```
//!
//! Cost of the occurrences of a posting: a count of the further ones before them, and their own gaps and forms. No value
//! depends on a row or on other postings, so that postings are copied to other blocks without their positions.

use std::ops::Range;

use crate::index::full_text::bits::{
    Ones, bit_after, count_ones, is_set, pack, packed_bytes, unpack_one, width_of,
};
use crate::index::full_text::layout::{
    BLOCK_POSTINGS, HAS_TITLES, POSITION_MAX, TITLE_WORDS_MAX, VALUE_GAP,
};
use crate::schema::texts::{FIELDS, Field};
use crate::storage::error::ReadError;
use crate::storage::leb128;

/// Bytes of a bitmap of a block's postings.
const BITMAP_BYTES: usize = BLOCK_POSTINGS / 8;
/// In the number of places: the list has the places where the guess is wrong.
const LISTS_OTHERS: u8 = 1 << 7;
/// In place of the number: a bitmap.
const BITMAP: u8 = LISTS_OTHERS - 1;

fn corrupt(what: &'static str) -> ReadError {
    ReadError::corrupt("full_text", what)
}

fn cut() -> ReadError {
    corrupt("positions are cut")
}

/// One place where a term stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// The number of the field.
    pub field: u8,
    /// The position in the field.
    pub position: u32,
    /// The number of the form among the forms of the term.
    pub form: u16,
}

/// Occurrences in one field while a block is written.
#[derive(Default)]
struct FieldValues {
    /// The postings that have the field, a bit each.
    places: u128,
    /// For each occurrence but the first of a posting, the posting's number among those with the field.
    further: Vec<u8>,
    gaps: Vec<u32>,
    forms: Vec<u32>,
}

/// Collects the occurrences of a block's postings.
#[derive(Default)]
pub(super) struct PositionsBuilder {
    fields: [FieldValues; FIELDS],
    postings: u8,
}

impl PositionsBuilder {
    /// Adds the occurrences of the next posting, ascending by field, position and form.
    pub fn push(&mut self, occurrences: &[Occurrence]) {
        for of_field in occurrences.chunk_by(|a, b| a.field == b.field) {
            let FieldValues { places, further, gaps, forms } =
                &mut self.fields[usize::from(of_field[0].field)];
            let number = places.count_ones() as u8;
            *places |= 1 << self.postings;
            further.extend(of_field.iter().skip(1).map(|_| number));
            let mut next = 0;
            for Occurrence { position, form, .. } in of_field {
                // Two forms may stand at one position: a word and the compound that begins with it.
                gaps.push((*position + 1).saturating_sub(next));
                forms.push(u32::from(*form));
                next = *position + 1;
            }
        }
        self.postings += 1;
    }

    /// Adds postings of an opened block. `forms` renumbers their forms.
    pub fn copy(
        &mut self,
        block: &BlockPositions<'_>,
        postings: Range<usize>,
        forms: &[u16],
    ) -> Result<(), ReadError> {
        for (values, of_field) in self.fields.iter_mut().zip(&block.fields) {
            of_field.copy_to(values, self.postings, &postings, forms)?;
        }
        self.postings += postings.len() as u8;
        Ok(())
    }

    /// For each posting of the term at the end of titles, the words of the shortest title, and [`HAS_TITLES`]; 0 without a
    /// title. Titles lie [`VALUE_GAP`] positions apart.
    pub fn title_words(&self) -> [u8; BLOCK_POSTINGS] {
        let FieldValues { places, further, gaps, .. } = &self.fields[Field::Title as usize];
        let mut words = [0; BLOCK_POSTINGS];
        let (mut gaps, mut further) = (gaps.iter(), further.iter().peekable());
        for (number, posting) in (0u8..).zip(ones_of(*places)) {
            let first = gaps.next().map(|gap| gap.saturating_sub(1));
            let (mut shortest, mut has_titles) = (first.unwrap_or(0), 0);
            while further.next_if(|of| **of == number).is_some() {
                let length = gaps.next().map_or(0, |gap| gap.saturating_sub(VALUE_GAP));
                (shortest, has_titles) = (shortest.min(length), HAS_TITLES);
            }
            words[usize::from(posting)] = shortest.min(TITLE_WORDS_MAX.into()) as u8 | has_titles;
        }
        words
    }

    /// Appends the block of a term, and leaves no postings.
    pub fn write(&mut self, has_forms: bool, out: &mut Vec<u8>) {
        let set =
            self.fields.iter().enumerate().map(|(at, field)| u8::from(field.places != 0) << at);
        out.push(set.sum());
        let mut guess = all_places(self.postings.into());
        for FieldValues { places, further, gaps, forms } in &mut self.fields {
            if gaps.is_empty() {
                continue;
            }
            write_places(*places, guess, out);
            guess &= !*places;
            leb128::push(further.len() as u64, out);
            match further.len() <= packed_bytes(gaps.len(), 1) {
                true => out.extend_from_slice(further),
                false => write_lasts(further, places.count_ones() as u8, out),
            }
            for numbers in [Some(&*gaps), has_forms.then_some(&*forms)].into_iter().flatten() {
                let width = width_of(numbers.iter().fold(0, |all, number| all | number));
                out.push(width as u8);
                pack(numbers, width, out);
            }
            *places = 0;
            further.clear();
            gaps.clear();
            forms.clear();
        }
        self.postings = 0;
    }
}

/// A bit for each posting of a block.
fn all_places(postings: usize) -> u128 {
    u128::MAX.checked_shr((BLOCK_POSTINGS - postings) as u32).unwrap_or(0)
}

/// Appends a bit for each occurrence of some postings, set at the last one of a posting.
fn write_lasts(further: &[u8], postings: u8, out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + packed_bytes(usize::from(postings) + further.len(), 1), 0);
    let mut before = 0;
    for posting in 0..postings {
        before += further[before..].iter().take_while(|of| **of == posting).count();
        let last = usize::from(posting) + before;
        out[from + last / 8] |= 1 << (last % 8);
    }
}

/// Appends the places of a field in the shortest way.
fn write_places(places: u128, guess: u128, out: &mut Vec<u8>) {
    let others = places ^ guess;
    let (kind, listed) = match others.count_ones() <= places.count_ones() {
        true => (LISTS_OTHERS, others),
        false => (0, places),
    };
    let count = listed.count_ones() as usize;
    if count > BITMAP_BYTES {
        out.push(BITMAP);
        out.extend_from_slice(&places.to_le_bytes());
        return;
    }
    out.push(kind | count as u8);
    out.extend(ones_of(listed));
}

/// The places of the set bits, ascending.
fn ones_of(mut bits: u128) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| bits.trailing_zeros() as u8);
        bits &= bits.wrapping_sub(1);
        place
    })
}

/// Reads the places of a field, at least one.
fn read_places(bytes: &mut &[u8], guess: u128, all: u128) -> Result<u128, ReadError> {
    let places = match take(bytes, 1)?[0] {
        BITMAP => {
            let (bitmap, rest) = bytes.split_first_chunk::<BITMAP_BYTES>().ok_or_else(cut)?;
            *bytes = rest;
            u128::from_le_bytes(*bitmap)
        }
        kind => {
            let listed = take(bytes, usize::from(kind & !LISTS_OTHERS))?;
            let mut halves = [0u64; 2];
            for place in listed {
                if let Some(half) = halves.get_mut(usize::from(place / 64)) {
                    *half |= 1 << (place % 64);
                }
            }
            let listed = u128::from(halves[1]) << 64 | u128::from(halves[0]);
            if kind & LISTS_OTHERS == 0 { listed } else { guess ^ listed }
        }
    };
    match places & !all == 0 && places != 0 {
        true => Ok(places),
        false => Err(corrupt("positions are of postings that do not exist")),
    }
}

/// The occurrences of a block's postings.
#[derive(Default)]
pub struct BlockPositions<'s> {
    /// The fields of the postings, a bit each.
    set: u8,
    fields: [FieldPositions<'s>; FIELDS],
}

#[derive(Default)]
struct FieldPositions<'s> {
    /// The postings that have the field, a bit each.
    places: u128,
    /// The number of occurrences.
    count: usize,
    /// For each occurrence but the first of a posting, the posting's number, ascending; empty if bits tell.
    further: &'s [u8],
    /// A bit for each occurrence, set at the last one of a posting; empty if `further` tells.
    lasts: &'s [u8],
    gaps: Packed<'s>,
    forms: Packed<'s>,
    known: Known,
}

/// The occurrences of the posting that was asked for last, so that later postings are found from there.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The posting, plus one; 0 if none was asked for.
    next: usize,
    /// The number of postings with the field up to here.
    number: usize,
    begin: usize,
    end: usize,
    /// Behind the last bit of the posting, if bits tell.
    ones: Ones,
}

/// The positions of a posting in a field.
#[derive(Clone)]
pub struct Positions<'s> {
    gaps: Packed<'s>,
    /// The next occurrence, and the end.
    occurrences: (usize, usize),
    /// The position after the last one.
    next: u32,
}

impl Positions<'_> {
    /// Adds a number to all positions that follow.
    #[inline]
    pub fn moved(mut self, by: u32) -> Self {
        self.next = self.next.wrapping_add(by);
        self
    }
}

impl Iterator for Positions<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (at, end) = &mut self.occurrences;
        if at == end {
            return None;
        }
        // Gaps of a faulty writer may pass the greatest position, and are positions without another word.
        self.next = self.next.wrapping_add(self.gaps.get(*at));
        *at += 1;
        Some(self.next.wrapping_sub(1))
    }
}

/// Numbers of a fixed width.
#[derive(Clone, Copy, Default)]
struct Packed<'s> {
    bytes: &'s [u8],
    width: u32,
}

impl<'s> BlockPositions<'s> {
    /// Reads where the fields of a block of `postings` postings lie.
    pub fn open(
        &mut self,
        mut bytes: &'s [u8],
        postings: usize,
        has_forms: bool,
    ) -> Result<(), ReadError> {
        let set = take(&mut bytes, 1)?[0];
        if set >> FIELDS != 0 {
            return Err(corrupt("positions are of a field that does not exist"));
        }
        self.set = set;
        let all = all_places(postings);
        let mut guess = all;
        for (number, field) in self.fields.iter_mut().enumerate() {
            field.places = 0;
            if set >> number & 1 == 1 {
                let places = read_places(&mut bytes, guess, all)?;
                *field = FieldPositions::open(&mut bytes, places, has_forms)?;
                guess &= !places;
            }
        }
        Ok(())
    }

    /// The fields of a posting, a bit each.
    #[inline]
    pub fn fields(&self, posting: usize) -> u8 {
        let bit =
            |field: Field| (self.fields[field as usize].places >> posting & 1) as u8 * field.bit();
        Field::of_set(self.set).map(bit).sum()
    }

    /// The fields of the block, a bit each.
    pub fn all_fields(&self) -> u8 {
        self.set
    }

    /// Whether a posting has a field.
    #[inline]
    pub fn has(&self, posting: usize, field: Field) -> bool {
        let places = self.fields[field as usize].places;
        let half = if posting < 64 { places as u64 } else { (places >> 64) as u64 };
        half >> (posting % 64) & 1 == 1
    }

    /// The positions of a posting in a field that the posting has, ascending.
    #[inline]
    pub fn positions(&mut self, posting: usize, field: Field) -> Positions<'s> {
        let of_field = &mut self.fields[field as usize];
        // A block whose bits and places are checked tells the occurrences of each posting.
        let occurrences = of_field.occurrences_of(posting).unwrap_or_default();
        Positions { gaps: of_field.gaps, occurrences, next: 0 }
    }

    /// Whether a posting has a form.
    #[inline]
    pub fn has_form(&mut self, posting: usize, form: u16) -> bool {
        Field::of_set(self.fields(posting)).any(|field| {
            let field = &mut self.fields[field as usize];
            let (begin, end) = field.occurrences_of(posting).unwrap_or_default();
            (begin..end).any(|at| field.forms.get(at) == u32::from(form))
        })
    }

    /// Calls `visit` with the position and the form of each occurrence of a posting in a field, ascending.
    #[inline]
    pub fn each(
        &mut self,
        posting: usize,
        field: usize,
        mut visit: impl FnMut(u32, u16),
    ) -> Result<(), ReadError> {
        let of_field = &mut self.fields[field];
        if of_field.places >> posting & 1 == 0 {
            return Ok(());
        }
        let (begin, end) = of_field.occurrences_of(posting).ok_or_else(miscounted)?;
        let mut next = 0;
        for at in begin..end {
            let position = (next + of_field.gaps.get(at)).checked_sub(1);
            let position = position.filter(|at| *at <= POSITION_MAX);
            let position = position.ok_or_else(too_great)?;
            visit(position, of_field.forms.get(at) as u16);
            next = position + 1;
        }
        Ok(())
    }

    /// Calls `visit` with the form of each occurrence of some postings.
    pub fn each_form(
        &self,
        postings: Range<usize>,
        mut visit: impl FnMut(u16),
    ) -> Result<(), ReadError> {
        for field in &self.fields {
            let Stretch { occurrences, .. } = field.stretch(&postings)?;
            occurrences.for_each(|at| visit(field.forms.get(at) as u16));
        }
        Ok(())
    }
}

fn too_great() -> ReadError {
    corrupt("a position is too great")
}

fn miscounted() -> ReadError {
    corrupt("a field of a block has more or fewer postings than it states")
}

impl<'s> FieldPositions<'s> {
    fn open(
        bytes: &mut &'s [u8],
        places: u128,
        has_forms: bool,
    ) -> Result<FieldPositions<'s>, ReadError> {
        // Each posting has a position; these are the positions after it.
        let postings = places.count_ones() as usize;
        let further = leb128::take(bytes).and_then(|further| usize::try_from(further).ok());
        // A position takes a bit at least. The check precedes all use of the number as a length.
        let further = further.filter(|further| *further <= bytes.len() * 8).ok_or_else(cut)?;
        let count = postings + further;
        // The further positions name their postings, a byte for each, or each position has a bit that tells the last
        // one of a posting. The shorter form is stored.
        let (further, lasts) = match further <= packed_bytes(count, 1) {
            true => (take(bytes, further)?, &[][..]),
            false => (&[][..], take(bytes, packed_bytes(count, 1))?),
        };
        let is_sound = if lasts.is_empty() {
            further.is_sorted() && further.last().is_none_or(|last| usize::from(*last) < postings)
        } else {
            count_ones(lasts) == postings && unpack_one(lasts, count - 1, 1) == 1
        };
        if !is_sound {
            return Err(miscounted());
        }
        let gaps = Packed::open(bytes, count)?;
        if gaps.width == 0 {
            return Err(corrupt("the first position of a posting has no bits"));
        }
        if gaps.width > width_of(POSITION_MAX + 1) {
            return Err(too_great());
        }
        let forms = if has_forms { Packed::open(bytes, count)? } else { Packed::default() };
        Ok(FieldPositions { places, count, further, lasts, gaps, forms, known: Known::default() })
    }

    /// The occurrences of a posting that has the field: where they begin and end. Of postings that ascend only those between
    /// two are counted.
    ///
    /// ```text
    /// lasts 0 1 1 0 0 1: posting 0 has occurrences 0 and 1, posting 1 has 2, posting 2 has 3 to 5
    /// ```
    #[inline]
    fn occurrences_of(&mut self, posting: usize) -> Option<(usize, usize)> {
        if posting + 1 == self.known.next {
            return Some((self.known.begin, self.known.end));
        }
        if posting < self.known.next {
            self.known = Known::default();
        }
        let Known { next, number, end, ones, .. } = &mut self.known;
        let passed = count_below(self.places >> *next, posting - *next);
        let begin;
        if self.lasts.is_empty() {
            let mut listed = *end - *number;
            *number += passed;
            while self.further.get(listed).is_some_and(|of| usize::from(*of) < *number) {
                listed += 1;
            }
            begin = *number + listed;
            while self.further.get(listed).is_some_and(|of| usize::from(*of) == *number) {
                listed += 1;
            }
            *end = *number + 1 + listed;
        } else {
            ones.pass(self.lasts, passed)?;
            begin = ones.after;
            ones.pass(self.lasts, 1)?;
            *number += passed;
            *end = ones.after;
        }
        (*next, *number, self.known.begin) = (posting + 1, *number + 1, begin);
        (self.known.end <= self.count).then_some((begin, self.known.end))
    }
}

/// The set bits below a place.
#[inline]
fn count_below(bits: u128, place: usize) -> usize {
    let ones = match place {
        0..64 => (bits as u64 & ((1 << place) - 1)).count_ones(),
        _ => (bits & ((1 << place) - 1)).count_ones(),
    };
    ones as usize
}

/// Neighbouring postings of a block, in one field.
struct Stretch {
    /// The postings that have the field, a bit each, from the first of the stretch on.
    places: u128,
    /// The postings with the field before the stretch.
    before: usize,
    occurrences: Range<usize>,
}

impl FieldPositions<'_> {
    fn stretch(&self, postings: &Range<usize>) -> Result<Stretch, ReadError> {
        let places = self.places.checked_shr(postings.start as u32).unwrap_or(0);
        let places = places & all_places(postings.len());
        let before = (self.places & all_places(postings.start)).count_ones() as usize;
        let occurrences = match places.count_ones() as usize {
            0 => 0..0,
            count => self.begin_of(before)?..self.begin_of(before + count)?,
        };
        Ok(Stretch { places, before, occurrences })
    }

    /// The place of a posting's first occurrence.
    fn begin_of(&self, posting: usize) -> Result<usize, ReadError> {
        if self.lasts.is_empty() {
            return Ok(posting + self.further.partition_point(|of| usize::from(*of) < posting));
        }
        let Some(earlier) = posting.checked_sub(1) else { return Ok(0) };
        let begin = bit_after(self.lasts, earlier).filter(|begin| *begin <= self.count);
        begin.ok_or_else(miscounted)
    }

    /// Appends the occurrences of some postings, of which the first becomes `posting`.
    fn copy_to(
        &self,
        values: &mut FieldValues,
        posting: u8,
        postings: &Range<usize>,
        forms: &[u16],
    ) -> Result<(), ReadError> {
        let Stretch { places, before, occurrences } = self.stretch(postings)?;
        if places == 0 {
            return Ok(());
        }
        let mut number = values.places.count_ones() as u8;
        values.places |= places << posting;
        if self.lasts.is_empty() {
            // The first occurrence of each posting is not listed.
            let end = before + places.count_ones() as usize;
            let listed = occurrences.start - before..occurrences.end - end;
            let further = self.further[listed].iter().map(|of| of - before as u8 + number);
            values.further.extend(further);
        } else {
            for at in occurrences.clone() {
                match is_set(self.lasts, at) {
                    true => number += 1,
                    false => values.further.push(number),
                }
            }
        }
        values.gaps.extend(occurrences.clone().map(|at| self.gaps.get(at)));
        let form_of = |at| {
            let form = forms.get(self.forms.get(at) as usize).copied();
            u32::from(form.unwrap_or(0))
        };
        values.forms.extend(occurrences.map(form_of));
        Ok(())
    }
}

impl<'s> Packed<'s> {
    fn open(bytes: &mut &'s [u8], count: usize) -> Result<Packed<'s>, ReadError> {
        let width = u32::from(take(bytes, 1)?[0]);
        if width > u32::BITS {
            return Err(corrupt("a position or form has more than 32 bits"));
        }
        Ok(Packed { bytes: take(bytes, packed_bytes(count, width))?, width })
    }

    #[inline]
    fn get(&self, at: usize) -> u32 {
        unpack_one(self.bytes, at, self.width)
    }
}

fn take<'s>(bytes: &mut &'s [u8], count: usize) -> Result<&'s [u8], ReadError> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or_else(cut)?;
    *bytes = rest;
    Ok(taken)
}

#[cfg(test)]
mod tests;
