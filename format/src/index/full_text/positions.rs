//! Where the words of a block of postings stand: fields, positions and forms.
//!
//! ```text
//! block: set of fields u8, then for each field of the set:
//!        postings with the field, less one, u8 | unless all: their places, u8 each, or if that is shorter a bitmap of 128
//!        | number of occurrences, LEB128 | unless each posting has one: a bit for each, set at the last one of a posting
//!        | width u8 | packed gaps | if the term has more than one form: width u8 | packed forms
//! gap:   position, plus one, less the position after the last occurrence of the posting
//! ```
//!
//! Example: a term with two forms stands in the abstracts of two records: at positions 3 and 9 as form 1 and then as form 0,
//! and at position 2 as form 1.
//!
//! ```text
//! lasts: 0, 1, 1   gaps: 4, 6, 3   forms: 1, 0, 1
//! ```
//!
//! Cost of the occurrences of a posting: a count of the bits before them, and their own gaps and forms.

use std::cmp::Ordering;

use crate::index::full_text::bits::{bit_after, pack, packed_bytes, unpack_one, width_of};
use crate::index::full_text::layout::{BLOCK_POSTINGS, POSITION_MAX};
use crate::schema::texts::FIELDS;
use crate::storage::error::ReadError;
use crate::storage::leb128;

/// Bytes of a bitmap of a block's postings.
const BITMAP_BYTES: usize = BLOCK_POSTINGS / 8;

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
    places: Vec<u8>,
    is_last: Vec<u32>,
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
            let FieldValues { places, is_last, gaps, forms } =
                &mut self.fields[usize::from(of_field[0].field)];
            places.push(self.postings);
            let mut next = 0;
            for (at, Occurrence { position, form, .. }) in of_field.iter().enumerate() {
                is_last.push(u32::from(at + 1 == of_field.len()));
                // Two forms may stand at one position: a word and the compound that begins with it.
                gaps.push((*position + 1).saturating_sub(next));
                forms.push(u32::from(*form));
                next = *position + 1;
            }
        }
        self.postings += 1;
    }

    /// Appends the block of a term, and leaves no postings.
    pub fn write(&mut self, has_forms: bool, out: &mut Vec<u8>) {
        let set = self
            .fields
            .iter()
            .enumerate()
            .map(|(at, field)| u8::from(!field.places.is_empty()) << at);
        out.push(set.sum());
        for FieldValues { places, is_last, gaps, forms } in &mut self.fields {
            if places.is_empty() {
                continue;
            }
            out.push(places.len() as u8 - 1);
            if places.len() == usize::from(self.postings) {
            } else if places.len() <= BITMAP_BYTES {
                out.extend_from_slice(places);
            } else {
                let mut bitmap = [0u8; BITMAP_BYTES];
                places.iter().for_each(|place| bitmap[usize::from(place / 8)] |= 1 << (place % 8));
                out.extend_from_slice(&bitmap);
            }
            leb128::push(gaps.len() as u64, out);
            if gaps.len() > places.len() {
                pack(is_last, 1, out);
            }
            for numbers in [Some(&*gaps), has_forms.then_some(&*forms)].into_iter().flatten() {
                let width = width_of(numbers.iter().copied().max().unwrap_or(0));
                out.push(width as u8);
                pack(numbers, width, out);
            }
            places.clear();
            is_last.clear();
            gaps.clear();
            forms.clear();
        }
        self.postings = 0;
    }
}

/// The occurrences of a block's postings.
#[derive(Default)]
pub(super) struct BlockPositions<'s> {
    fields: [FieldPositions<'s>; FIELDS],
}

#[derive(Default)]
struct FieldPositions<'s> {
    /// The postings that have the field, a bit each.
    places: u128,
    /// The number of occurrences.
    count: usize,
    /// A bit for each occurrence, set at the last one of a posting; empty if each posting has one.
    lasts: &'s [u8],
    gaps: Packed<'s>,
    forms: Packed<'s>,
    /// A posting among those with the field, and its first occurrence: of the last posting asked for.
    known: (usize, usize),
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
        for (number, field) in self.fields.iter_mut().enumerate() {
            field.places = 0;
            if set >> number & 1 == 1 {
                *field = FieldPositions::open(&mut bytes, postings, has_forms)?;
            }
        }
        Ok(())
    }

    /// The fields of a posting, a bit each.
    pub fn fields(&self, posting: usize) -> u8 {
        let has = |field: &FieldPositions<'_>| field.places >> posting & 1 == 1;
        (0..).zip(&self.fields).map(|(number, field)| u8::from(has(field)) << number).sum()
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
        let bit = 1u128 << posting;
        if of_field.places & bit == 0 {
            return Ok(());
        }
        let number = (of_field.places & (bit - 1)).count_ones() as usize;
        let (begin, end) = of_field.occurrences_of(number).ok_or_else(miscounted)?;
        let mut next = 0;
        for at in begin..end {
            let position = (next + of_field.gaps.get(at)).checked_sub(1);
            let position = position.filter(|at| *at <= POSITION_MAX);
            let position = position.ok_or(corrupt("a position is too great"))?;
            visit(position, of_field.forms.get(at) as u16);
            next = position + 1;
        }
        Ok(())
    }
}

fn miscounted() -> ReadError {
    corrupt("a field of a block has more or fewer postings than it states")
}

impl<'s> FieldPositions<'s> {
    fn open(
        bytes: &mut &'s [u8],
        postings: usize,
        has_forms: bool,
    ) -> Result<FieldPositions<'s>, ReadError> {
        let of_postings = usize::from(take(bytes, 1)?[0]) + 1;
        let all = u128::MAX >> (BLOCK_POSTINGS - postings);
        let places = match of_postings {
            _ if of_postings == postings => all,
            0..=BITMAP_BYTES => take(bytes, of_postings)?
                .iter()
                .fold(0, |places, place| places | 1u128.checked_shl((*place).into()).unwrap_or(0)),
            _ => take(bytes, BITMAP_BYTES)?
                .iter()
                .rev()
                .fold(0, |places, byte| places << 8 | u128::from(*byte)),
        };
        if places & !all != 0 || places.count_ones() as usize != of_postings {
            return Err(corrupt("positions are of postings that do not exist"));
        }
        let count = leb128::take(bytes).and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| *count <= bytes.len() * 8).ok_or_else(cut)?;
        let lasts = match count.cmp(&of_postings) {
            Ordering::Less => return Err(miscounted()),
            Ordering::Equal => &[],
            Ordering::Greater => take(bytes, packed_bytes(count, 1))?,
        };
        if !lasts.is_empty() {
            let ones: usize = lasts.iter().map(|byte| byte.count_ones() as usize).sum();
            if ones != of_postings || unpack_one(lasts, count - 1, 1) != 1 {
                return Err(miscounted());
            }
        }
        let gaps = Packed::open(bytes, count)?;
        if gaps.width == 0 {
            return Err(corrupt("the first position of a posting has no bits"));
        }
        let forms = if has_forms { Packed::open(bytes, count)? } else { Packed::default() };
        Ok(FieldPositions { places, count, lasts, gaps, forms, known: (0, 0) })
    }

    /// The occurrences of a posting: where they begin and end.
    ///
    /// ```text
    /// lasts 0 1 1 0 0 1: posting 0 has occurrences 0 and 1, posting 1 has 2, posting 2 has 3 to 5
    /// ```
    fn occurrences_of(&mut self, posting: usize) -> Option<(usize, usize)> {
        if self.lasts.is_empty() {
            return Some((posting, posting + 1));
        }
        let (known, from) = if self.known.0 <= posting { self.known } else { (0, 0) };
        let begin = match posting - known {
            0 => from,
            passed => bit_after(self.lasts, from, passed - 1)?,
        };
        self.known = (posting, begin);
        let end = bit_after(self.lasts, begin, 0)?;
        (end <= self.count).then_some((begin, end))
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_are_read_as_they_were_written() {
        for (postings, forms) in [(1, 1), (5, 2), (128, 1), (128, 7), (100, 300)] {
            let has_forms = forms > 1;
            let of = |posting: usize| -> Vec<Occurrence> {
                let mut all = Vec::new();
                for field in 0..FIELDS as u8 {
                    let count = (posting * 7 + usize::from(field) * 3) % 5
                        * usize::from(posting.is_multiple_of(usize::from(field) + 1));
                    for at in 0..count {
                        let position = (posting * 31 % 50 + at * at * 3) as u32;
                        all.push(Occurrence { field, position, form: (at % forms) as u16 });
                    }
                }
                all
            };
            let mut builder = PositionsBuilder::default();
            (0..postings).for_each(|posting| builder.push(&of(posting)));
            let mut bytes = Vec::new();
            builder.write(has_forms, &mut bytes);
            let read_all = |bytes: &[u8]| -> Result<Vec<Vec<Occurrence>>, ReadError> {
                let mut read = BlockPositions::default();
                read.open(bytes, postings, has_forms)?;
                let mut of = |posting: usize| {
                    let mut all = Vec::new();
                    for field in 0..FIELDS as u8 {
                        read.each(posting, field.into(), |position, form| {
                            all.push(Occurrence { field, position, form });
                        })?;
                    }
                    Ok(all)
                };
                // Descending, and then ascending: each posting is found from any other.
                (0..postings).rev().map(&mut of).collect::<Result<Vec<_>, _>>()?;
                (0..postings).map(&mut of).collect()
            };
            let expected: Vec<Vec<Occurrence>> = (0..postings).map(of).collect();
            assert_eq!(read_all(&bytes).unwrap(), expected, "{postings} postings, {forms} forms");
            for length in 0..bytes.len() {
                assert!(read_all(&bytes[..length]).is_err(), "{length}");
            }
        }
    }
}
