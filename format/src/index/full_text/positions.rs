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

/// The occurrences of a block's postings, decoded.
#[derive(Default)]
pub(super) struct BlockPositions {
    fields: [FieldPositions; FIELDS],
    values: Vec<u32>,
}

#[derive(Default)]
struct FieldPositions {
    /// For each posting, where its occurrences begin; one more for the end. Empty if no posting has the field.
    starts: Vec<u32>,
    occurrences: Vec<Occurrence>,
}

impl BlockPositions {
    /// Decodes the block of `postings` postings at the beginning of `bytes`. Reads only the fields of a set.
    pub fn read(
        &mut self,
        mut bytes: &[u8],
        postings: usize,
        form_bits: u32,
        wanted: u8,
    ) -> Result<(), ReadError> {
        let cut = || corrupt("positions are cut");
        let mut take = |count: usize| -> Result<&[u8], ReadError> {
            let (taken, rest) = bytes.split_at_checked(count).ok_or_else(cut)?;
            bytes = rest;
            Ok(taken)
        };
        let set = take(1)?[0];
        if set >> FIELDS != 0 {
            return Err(corrupt("positions are of a field that does not exist"));
        }
        for (number, field) in self.fields.iter_mut().enumerate() {
            field.starts.clear();
            field.occurrences.clear();
            if set >> number & 1 == 0 {
                continue;
            }
            let count = usize::from(take(1)?[0]) + 1;
            let mut places = [false; BLOCK_POSTINGS];
            match count {
                _ if count == postings => places[..postings].fill(true),
                0..=BITMAP_BYTES => {
                    for place in take(count)? {
                        *places.get_mut(usize::from(*place)).ok_or_else(cut)? = true;
                    }
                }
                _ => {
                    let bitmap = take(BITMAP_BYTES)?;
                    for (place, is_set) in places.iter_mut().enumerate() {
                        *is_set = bitmap[place / 8] >> (place % 8) & 1 == 1;
                    }
                }
            }
            let mut length = 0;
            for shift in (0..).step_by(7).take(5) {
                let byte = take(1)?[0];
                length |= usize::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let width = u32::from(take(1)?[0]);
            if width > u32::BITS {
                return Err(corrupt("a position has more than 32 bits"));
            }
            let packed = take(packed_bytes(length, width.max(1)).min(packed_bytes(length, width)))?;
            if wanted >> number & 1 == 0 {
                continue;
            }
            if width == 0 {
                return Err(corrupt("positions have no bits"));
            }
            self.values.clear();
            unpack(packed, length, width, &mut self.values);
            field.decode(number as u8, &places[..postings], &self.values, form_bits)?;
        }
        Ok(())
    }

    /// The occurrences of a posting in a field.
    pub fn of(&self, posting: usize, field: usize) -> &[Occurrence] {
        let FieldPositions { starts, occurrences } = &self.fields[field];
        match starts.get(posting..posting + 2) {
            Some([from, to]) => occurrences.get(*from as usize..*to as usize).unwrap_or_default(),
            _ => &[],
        }
    }
}

impl FieldPositions {
    fn decode(
        &mut self,
        field: u8,
        places: &[bool],
        values: &[u32],
        form_bits: u32,
    ) -> Result<(), ReadError> {
        let mut values = values.iter();
        for has_field in places {
            self.starts.push(self.occurrences.len() as u32);
            let mut next = 0u32;
            let mut is_more = *has_field;
            while is_more {
                let value = values.next().ok_or(corrupt("a posting lacks its last position"))?;
                let (gap, form) = (value >> form_bits >> 1, value & ((1 << form_bits) - 1));
                let position = (next + gap).checked_sub(1).filter(|at| *at <= POSITION_MAX);
                let position = position.ok_or(corrupt("a position is too great"))?;
                self.occurrences.push(Occurrence { field, position, form: form as u16 });
                next = position + 1;
                is_more = value >> form_bits & 1 == 0;
            }
        }
        self.starts.push(self.occurrences.len() as u32);
        match values.next() {
            None => Ok(()),
            Some(_) => Err(corrupt("a block has positions after its last posting")),
        }
    }
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
            let mut read = BlockPositions::default();
            read.read(&bytes, postings, bits, u8::MAX).unwrap();
            for posting in 0..postings {
                let found: Vec<Occurrence> =
                    (0..FIELDS).flat_map(|field| read.of(posting, field).to_vec()).collect();
                assert_eq!(found, of(posting), "{posting} of {postings}");
            }
            for length in 0..bytes.len() {
                assert!(read.read(&bytes[..length], postings, bits, u8::MAX).is_err(), "{length}");
            }
        }
    }
}
