//! Where the words of a block of postings stand: fields, positions and forms.
//!
//! ```text
//! block: set of fields u8, then for each field of the set:
//!        postings with the field, less one, u8 | unless all: their places, u8 each, or if that is shorter a bitmap of 128
//!        | number of values, LEB128 | width u8 | packed values
//! value: ((difference from the position before, less one; or the first position) × 2 + 1 if it is the posting's last)
//!        × 2^(bits of a form) + form
//! ```
//!
//! Example: a term with two forms stands at positions 3 and 9 of an abstract, as form 1 and then as form 0:
//!
//! ```text
//! values: (3 × 2 + 0) × 2 + 1 = 13, (5 × 2 + 1) × 2 + 0 = 22   width 5
//! ```

use crate::index::full_text::bits::{pack, packed_bytes, unpack, width_of};
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

/// The bits of a form of a term with this many forms.
pub(super) fn form_bits(forms: usize) -> u32 {
    width_of(forms.saturating_sub(1) as u32)
}

/// Values of one field while a block is written.
#[derive(Default)]
struct FieldValues {
    places: Vec<u8>,
    values: Vec<u32>,
}

/// Collects the occurrences of a block's postings.
#[derive(Default)]
pub(super) struct PositionsBuilder {
    fields: [FieldValues; FIELDS],
    postings: u8,
}

impl PositionsBuilder {
    /// Adds the occurrences of the next posting, ascending by field, position and form.
    pub fn push(&mut self, occurrences: &[Occurrence], form_bits: u32) {
        for of_field in occurrences.chunk_by(|a, b| a.field == b.field) {
            let FieldValues { places, values } = &mut self.fields[usize::from(of_field[0].field)];
            places.push(self.postings);
            let mut next = 0;
            for (at, Occurrence { position, form, .. }) in of_field.iter().enumerate() {
                let is_last = u32::from(at + 1 == of_field.len());
                // Two forms may stand at one position: a word and the compound that begins with it.
                let gap = (*position + 1).saturating_sub(next);
                values.push((gap << 1 | is_last) << form_bits | u32::from(*form));
                next = *position + 1;
            }
        }
        self.postings += 1;
    }

    /// Appends the block, and leaves no postings.
    pub fn write(&mut self, out: &mut Vec<u8>) {
        let set = self
            .fields
            .iter()
            .enumerate()
            .map(|(at, field)| u8::from(!field.places.is_empty()) << at);
        out.push(set.sum());
        for FieldValues { places, values } in &mut self.fields {
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
            let width = width_of(values.iter().copied().max().unwrap_or(0));
            leb128::push(values.len() as u64, out);
            out.push(width as u8);
            pack(values, width, out);
            places.clear();
            values.clear();
        }
        self.postings = 0;
    }
}

/// The occurrences of a block's postings. A field is unpacked when it is asked for, and a posting then.
#[derive(Default)]
pub(super) struct BlockPositions<'s> {
    form_bits: u32,
    fields: [FieldPositions<'s>; FIELDS],
    /// The occurrences of the last posting asked for.
    occurrences: Vec<Occurrence>,
}

#[derive(Default)]
struct FieldPositions<'s> {
    /// The postings that have the field, a bit each.
    places: u128,
    packed: &'s [u8],
    length: usize,
    width: u32,
    /// The unpacked values; none until the field is asked for.
    values: Vec<u32>,
    /// For each posting with the field, where its values end.
    ends: Vec<u32>,
}

impl<'s> BlockPositions<'s> {
    /// Reads where the fields of a block of `postings` postings lie.
    pub fn open(
        &mut self,
        mut bytes: &'s [u8],
        postings: usize,
        form_bits: u32,
    ) -> Result<(), ReadError> {
        self.form_bits = form_bits;
        let set = take(&mut bytes, 1)?[0];
        if set >> FIELDS != 0 {
            return Err(corrupt("positions are of a field that does not exist"));
        }
        for (number, field) in self.fields.iter_mut().enumerate() {
            field.values.clear();
            field.ends.clear();
            field.places = 0;
            if set >> number & 1 == 1 {
                field.open(&mut bytes, postings)?;
            }
        }
        Ok(())
    }

    /// The occurrences of a posting in a field, ascending.
    pub fn of(&mut self, posting: usize, field: usize) -> Result<&[Occurrence], ReadError> {
        self.occurrences.clear();
        let of_field = &mut self.fields[field];
        let bit = 1u128 << posting;
        if of_field.places & bit == 0 {
            return Ok(&[]);
        }
        if of_field.values.is_empty() {
            of_field.unpack(self.form_bits)?;
        }
        let number = (of_field.places & (bit - 1)).count_ones() as usize;
        let from = number.checked_sub(1).map_or(0, |before| of_field.ends[before] as usize);
        let mut next = 0;
        for value in &of_field.values[from..of_field.ends[number] as usize] {
            let gap = value >> self.form_bits >> 1;
            let form = (value & ((1 << self.form_bits) - 1)) as u16;
            let position = (next + gap).checked_sub(1).filter(|at| *at <= POSITION_MAX);
            let position = position.ok_or(corrupt("a position is too great"))?;
            self.occurrences.push(Occurrence { field: field as u8, position, form });
            next = position + 1;
        }
        Ok(&self.occurrences)
    }
}

impl<'s> FieldPositions<'s> {
    fn open(&mut self, bytes: &mut &'s [u8], postings: usize) -> Result<(), ReadError> {
        let count = usize::from(take(bytes, 1)?[0]) + 1;
        let all = u128::MAX >> (BLOCK_POSTINGS - postings);
        self.places = match count {
            _ if count == postings => all,
            0..=BITMAP_BYTES => take(bytes, count)?
                .iter()
                .fold(0, |places, place| places | 1u128.checked_shl((*place).into()).unwrap_or(0)),
            _ => take(bytes, BITMAP_BYTES)?
                .iter()
                .rev()
                .fold(0, |places, byte| places << 8 | u128::from(*byte)),
        };
        if self.places & !all != 0 || self.places.count_ones() as usize != count {
            return Err(corrupt("positions are of postings that do not exist"));
        }
        let length = leb128::take(bytes).and_then(|length| usize::try_from(length).ok());
        self.length = length.filter(|length| *length <= bytes.len() * 8).ok_or_else(cut)?;
        self.width = u32::from(take(bytes, 1)?[0]);
        if self.width == 0 || self.width > u32::BITS {
            return Err(corrupt("a position has no bits, or more than 32"));
        }
        self.packed = take(bytes, packed_bytes(self.length, self.width))?;
        Ok(())
    }

    fn unpack(&mut self, form_bits: u32) -> Result<(), ReadError> {
        unpack(self.packed, self.length, self.width, &mut self.values);
        let is_last = |value: &u32| value >> form_bits & 1 == 1;
        let ends = (1..).zip(&self.values).filter(|(_, value)| is_last(value));
        self.ends.extend(ends.map(|(end, _)| end));
        let has_all = self.ends.len() == self.places.count_ones() as usize
            && self.ends.last().is_some_and(|end| *end as usize == self.length);
        match has_all {
            true => Ok(()),
            false => {
                self.values.clear();
                self.ends.clear();
                Err(corrupt("a field of a block has more or fewer postings than it states"))
            }
        }
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
            let bits = form_bits(forms);
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
            (0..postings).for_each(|posting| builder.push(&of(posting), bits));
            let mut bytes = Vec::new();
            builder.write(&mut bytes);
            let read_all = |bytes: &[u8]| -> Result<Vec<Vec<Occurrence>>, ReadError> {
                let mut read = BlockPositions::default();
                read.open(bytes, postings, bits)?;
                let mut of = |posting: usize| {
                    let mut all = Vec::new();
                    for field in 0..FIELDS {
                        all.extend_from_slice(read.of(posting, field)?);
                    }
                    Ok(all)
                };
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
