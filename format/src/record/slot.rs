//! Slots: the places in an archived record that hold the number of a symbol or row.
//!
//! The front ends write symbols there, and the linker replaces them by rows.

use rkyv::option::ArchivedOption;
use rkyv::primitive::{ArchivedF64, ArchivedI32, ArchivedI64, ArchivedU32, ArchivedU64};
use rkyv::string::ArchivedString;
use rkyv::vec::ArchivedVec;

/// One place in an archived record that holds the number of a symbol or row. `T` is a reference to
/// the number, or a [`SlotNumber`].
pub enum Slot<T> {
    /// A reference or a code.
    Target(T),
    /// A second copy of a reference that the record also holds as a `Target`.
    Copy(T),
    /// The type of a venue. The linker replaces the code by the type of the source, if the source
    /// has one.
    SourceType {
        /// Reference to the source.
        source: T,
        /// Code of the type given with the venue, or [`NO_CODE`](crate::record::value::NO_CODE).
        code: T,
    },
}

impl<T> Slot<T> {
    /// The slot with every number turned into another type.
    pub(crate) fn map<U>(self, to: impl Fn(T) -> U) -> Slot<U> {
        match self {
            Slot::Target(target) => Slot::Target(to(target)),
            Slot::Copy(copy) => Slot::Copy(to(copy)),
            Slot::SourceType { source, code } => {
                Slot::SourceType { source: to(source), code: to(code) }
            }
        }
    }
}

/// A number of an archived record, and where it lies, so that a copy of the bytes can be changed.
///
/// ```text
/// bytes:  … | 7 at offset 120 | …      replace(&mut bytes, 4211)      … | 4211 | …
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SlotNumber {
    offset: usize,
    number: u32,
}

impl SlotNumber {
    /// `number` belongs to the record archived in `bytes`.
    pub(crate) fn new(bytes: &[u8], number: &ArchivedU32) -> SlotNumber {
        let offset = std::ptr::from_ref(number).addr() - bytes.as_ptr().addr();
        SlotNumber { offset, number: number.to_native() }
    }

    /// The symbol, row or code that stands in the record.
    pub fn number(self) -> u32 {
        self.number
    }

    /// Writes another number to a copy of the archived record; `None` if the copy is too short.
    pub fn replace(self, bytes: &mut [u8], number: u32) -> Option<()> {
        let field = bytes.get_mut(self.offset..)?.first_chunk_mut()?;
        *field = number.to_le_bytes();
        Some(())
    }
}

/// Archived values that may contain references.
pub trait Slots {
    /// Calls `visit` with each reference, in the order of the declaration.
    fn slots<'a>(&'a self, visit: &mut impl FnMut(Slot<&'a ArchivedU32>));
}

impl<T: Slots> Slots for ArchivedOption<T> {
    fn slots<'a>(&'a self, visit: &mut impl FnMut(Slot<&'a ArchivedU32>)) {
        if let Some(value) = self.as_ref() {
            value.slots(visit);
        }
    }
}

impl<T: Slots> Slots for ArchivedVec<T> {
    fn slots<'a>(&'a self, visit: &mut impl FnMut(Slot<&'a ArchivedU32>)) {
        for value in self.iter() {
            value.slots(visit);
        }
    }
}

/// Implements [`Slots`] for archived values without references.
macro_rules! no_slots {
    ($($type:ty),* $(,)?) => {
        $(impl $crate::record::slot::Slots for $type {
            fn slots<'a>(
                &'a self,
                _: &mut impl FnMut($crate::record::slot::Slot<&'a rkyv::primitive::ArchivedU32>),
            ) {
            }
        })*
    };
}

pub(crate) use no_slots;

no_slots!(bool, ArchivedI32, ArchivedI64, ArchivedU64, ArchivedF64, ArchivedString);
