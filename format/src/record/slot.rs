//! Slots: the places in a packed record that hold the number of a symbol or row.
//!
//! The front ends write symbols there, and the linker replaces them by rows. The length of a number
//! depends on its size, so the linker copies the bytes between the slots and writes each number anew:
//!
//! ```text
//! members  … | row 7 | … | code 300 | …      rows 4211, code 2      … | row 4211 | … | code 2 | …
//! ```

use std::ops::Range;

use crate::entity::Entity;
use crate::json::record_reader::RecordReader;
use crate::record::value::NO_CODE;
use crate::record::writer::{push_number, push_reference};
use crate::storage::ReadError;

/// One place in a packed record that holds the number of a symbol or row. `T` is a [`SlotNumber`].
pub enum Slot<T> {
    /// A reference, and the entity of the record referred to.
    Reference(Entity, T),
    /// A code of one of the tables, such as a country.
    Code(T),
    /// A second copy of a reference that the record also holds as a `Reference`.
    Copy(Entity, T),
    /// The type of a venue. The linker replaces the code by the type of the source, if the source
    /// has one.
    SourceType {
        /// Reference to the source.
        source: T,
        /// Code of the type given with the venue, or [`NO_CODE`].
        code: T,
    },
}

/// How a number of a slot is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// A reference: 0 for that of the last reference, else the number plus 1.
    Reference,
    /// A code, as it is.
    Code,
    /// A code plus 1, or 0 for [`NO_CODE`].
    CodeOrNone,
}

/// A number of a packed record, and the bytes it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotNumber {
    from: usize,
    to: usize,
    number: u32,
    form: Form,
}

impl SlotNumber {
    fn new(
        from: &mut RecordReader<'_>,
        form: Form,
        read: impl FnOnce(&mut RecordReader<'_>) -> Result<u32, ReadError>,
    ) -> Result<SlotNumber, ReadError> {
        let (begin, _) = from.position();
        let number = read(from)?;
        Ok(SlotNumber { from: begin, to: from.position().0, number, form })
    }

    /// A number that was written to these bytes of a record's members.
    pub(crate) fn written(bytes: Range<usize>, number: u32, form: Form) -> SlotNumber {
        SlotNumber { from: bytes.start, to: bytes.end, number, form }
    }

    /// Adds to the offset of the number in its record.
    pub(crate) fn move_by(&mut self, bytes: usize) {
        self.from += bytes;
        self.to += bytes;
    }

    /// Reads a reference.
    pub(crate) fn reference(from: &mut RecordReader<'_>) -> Result<SlotNumber, ReadError> {
        SlotNumber::new(from, Form::Reference, |from| from.reference())
    }

    /// Reads a code.
    pub(crate) fn code(from: &mut RecordReader<'_>) -> Result<SlotNumber, ReadError> {
        SlotNumber::new(from, Form::Code, |from| from.code())
    }

    /// Reads a code, or [`NO_CODE`].
    pub(crate) fn code_or_none(from: &mut RecordReader<'_>) -> Result<SlotNumber, ReadError> {
        SlotNumber::new(from, Form::CodeOrNone, read_code_or_none)
    }

    /// The symbol, row or code that stands in the record.
    pub fn number(self) -> u32 {
        self.number
    }
}

/// Reads a code, or [`NO_CODE`].
pub(crate) fn read_code_or_none(from: &mut RecordReader<'_>) -> Result<u32, ReadError> {
    from.code().map(|number| number.checked_sub(1).unwrap_or(NO_CODE))
}

/// Copies a packed record with other numbers in its slots.
#[derive(Debug)]
pub struct RenumberedCopy<'r> {
    packed: &'r [u8],
    /// The members of the record.
    members: Range<usize>,
    /// Bytes of the record that were copied, or passed over.
    copied: usize,
    renumbered: Vec<u8>,
    reference: Option<u32>,
}

impl<'r> RenumberedCopy<'r> {
    /// Begins a copy of a record.
    ///
    /// # Errors
    ///
    /// If the record is shorter than its members.
    pub fn new(packed: &'r [u8]) -> Result<RenumberedCopy<'r>, ReadError> {
        let from = RecordReader::new(packed)?;
        let (begin, _) = from.position();
        let members = begin..packed.len() - from.texts().len();
        let renumbered = Vec::with_capacity(packed.len());
        Ok(RenumberedCopy { packed, members, copied: begin, renumbered, reference: None })
    }

    /// Copies the bytes before a slot, and writes a number for the number of the slot. The slots come in
    /// the order of the record.
    pub fn put(&mut self, slot: SlotNumber, number: u32) {
        // Slots lie within the members, one after another.
        self.renumbered.extend_from_slice(&self.packed[self.copied..slot.from]);
        self.copied = slot.to;
        match slot.form {
            Form::Reference => push_reference(number, &mut self.reference, &mut self.renumbered),
            Form::Code => push_number(number.into(), &mut self.renumbered),
            Form::CodeOrNone => {
                push_number(number.wrapping_add(1).into(), &mut self.renumbered);
            }
        }
    }

    /// Appends the whole copy to `out`.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.renumbered.extend_from_slice(&self.packed[self.copied..self.members.end]);
        push_number(self.renumbered.len() as u64, out);
        out.append(&mut self.renumbered);
        out.extend_from_slice(&self.packed[self.members.end..]);
    }
}
