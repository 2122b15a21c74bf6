//! [`Stored`]: how each type of a declaration is packed into the bytes of a record.
//!
//! An object is its flags, and then its members in the order of the declaration. A null is a flag that
//! is not set and has no bytes, and a boolean is a flag alone:
//!
//! ```text
//! { is_oa: Option<bool>, url: Option<String>, year: Option<i32> }    is_oa false, url null, year 2020
//! flags 0b1_0_01: is_oa is there and false, url is null, year is there    then the number 2020
//! ```

use crate::json::record_reader::RecordReader;
use crate::record::slot::{Slot, SlotNumber};
use crate::record::writer::RecordWriter;
use crate::storage::ReadError;

/// Types of a record's values, by their form in the bytes of the record.
pub trait Stored: Sized {
    /// Bits of the value among the flags of the object that contains the value.
    const FLAG_BITS: u32 = 0;

    /// The bits of the value among these flags.
    fn flags(&self) -> u64 {
        0
    }

    /// Writes the value without its flags.
    fn write(&self, to: &mut RecordWriter);

    /// Reads the next value of a record.
    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError>;

    /// Passes over the next value of a record.
    fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError>;

    /// Passes over the next value of a record and calls `visit` with each reference and code in it.
    fn slots(
        from: &mut RecordReader<'_>,
        _: &mut dyn FnMut(Slot<SlotNumber>),
    ) -> Result<(), ReadError> {
        Self::skip(from)
    }

    /// Passes over the next value of a record and adds up the bytes of its members.
    fn measure(from: &mut RecordReader<'_>, _: &mut Measured) -> Result<(), ReadError> {
        Self::skip(from)
    }
}

/// An object of a declaration.
pub trait StoredObject: Stored {
    /// The place of each member, in the order of the declaration.
    type Members<'r>: AsRef<[RecordReader<'r>]>;

    /// Passes over the next object of a record and returns the places of its members.
    fn locate<'r>(from: &mut RecordReader<'r>) -> Result<Self::Members<'r>, ReadError>;
}

/// The bytes that the values at one path take in records.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Number of values that are not null.
    pub values: u64,
    /// Bytes among the members of records, with those of the values below.
    pub member_bytes: u64,
    /// Bytes among the texts of records, with those of the values below.
    pub text_bytes: u64,
    /// The members of the object, or of the objects of the list, in the order of the declaration.
    pub members: Vec<Measured>,
}

impl Measured {
    /// Adds the next value of a record, of type `T`.
    pub(crate) fn add<T: Stored>(&mut self, from: &mut RecordReader<'_>) -> Result<(), ReadError> {
        let (members, texts) = from.position();
        self.values += u64::from(T::FLAG_BITS == 0 || !from.has_no_flag());
        T::measure(from, self)?;
        let (members_end, texts_end) = from.position();
        self.member_bytes += (members_end - members) as u64;
        self.text_bytes += (texts_end - texts) as u64;
        Ok(())
    }
}

/// Implements [`Stored`] and [`StoredObject`] for an object, from its members.
macro_rules! stored_object {
    ($name:ident { $($member:ident: $type:ty,)* }) => {
        impl $name {
            /// Bits of the flags of all members.
            const OBJECT_FLAG_BITS: u32 = {
                let bits = 0 $(+ <$type as $crate::record::stored::Stored>::FLAG_BITS)*;
                assert!(bits < 64, "the flags of an object are one number");
                bits
            };

            /// The index of a member in the declaration.
            #[allow(dead_code)]
            pub const fn index_of(member: &str) -> usize {
                let names = [$(stringify!($member)),*];
                let mut at = 0;
                while !$crate::record::stored::is_same(names[at], member) {
                    at += 1;
                }
                at
            }
        }

        impl $name {
            /// Whether a nullable member of the next object is not null, without a look at the members.
            #[allow(dead_code)]
            pub(crate) fn has_member(
                mut from: $crate::json::record_reader::RecordReader<'_>,
                member: usize,
            ) -> Result<bool, $crate::storage::error::ReadError> {
                const FLAG_BITS: &[u32] =
                    &[$(<$type as $crate::record::stored::Stored>::FLAG_BITS),*];
                let first: u32 = FLAG_BITS[..member].iter().sum();
                Ok(from.object_flags(Self::OBJECT_FLAG_BITS)? >> first & 1 == 1)
            }
        }

        impl $crate::record::stored::Stored for $name {
            fn write(&self, to: &mut $crate::record::writer::RecordWriter) {
                let (mut flags, mut bits) = (0, 0);
                $(
                    flags |= $crate::record::stored::Stored::flags(&self.$member) << bits;
                    bits += <$type as $crate::record::stored::Stored>::FLAG_BITS;
                )*
                to.flags(flags, bits);
                $($crate::record::stored::Stored::write(&self.$member, to);)*
            }

            fn read(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
            ) -> Result<Self, $crate::storage::error::ReadError> {
                let mut flags = from.object_flags(Self::OBJECT_FLAG_BITS)?;
                Ok($name {$(
                    $member: {
                        from.take_flags(&mut flags, <$type as $crate::record::stored::Stored>::FLAG_BITS);
                        <$type as $crate::record::stored::Stored>::read(from)?
                    },
                )*})
            }

            fn skip(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
            ) -> Result<(), $crate::storage::error::ReadError> {
                let mut flags = from.object_flags(Self::OBJECT_FLAG_BITS)?;
                $(
                    from.take_flags(&mut flags, <$type as $crate::record::stored::Stored>::FLAG_BITS);
                    <$type as $crate::record::stored::Stored>::skip(from)?;
                )*
                Ok(())
            }

            fn slots(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
                visit: &mut dyn FnMut($crate::record::slot::Slot<$crate::record::slot::SlotNumber>),
            ) -> Result<(), $crate::storage::error::ReadError> {
                let mut flags = from.object_flags(Self::OBJECT_FLAG_BITS)?;
                $(
                    from.take_flags(&mut flags, <$type as $crate::record::stored::Stored>::FLAG_BITS);
                    <$type as $crate::record::stored::Stored>::slots(from, visit)?;
                )*
                Ok(())
            }

            fn measure(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
                to: &mut $crate::record::stored::Measured,
            ) -> Result<(), $crate::storage::error::ReadError> {
                let mut flags = from.object_flags(Self::OBJECT_FLAG_BITS)?;
                to.members.resize_with([$(stringify!($member)),*].len(), Default::default);
                let mut members = to.members.iter_mut();
                $(
                    from.take_flags(&mut flags, <$type as $crate::record::stored::Stored>::FLAG_BITS);
                    if let Some(member) = members.next() {
                        member.add::<$type>(from)?;
                    }
                )*
                Ok(())
            }
        }

        impl $crate::record::stored::StoredObject for $name {
            type Members<'r> =
                [$crate::json::record_reader::RecordReader<'r>; [$(stringify!($member)),*].len()];

            fn locate<'r>(
                from: &mut $crate::json::record_reader::RecordReader<'r>,
            ) -> Result<Self::Members<'r>, $crate::storage::error::ReadError> {
                let mut flags = from.object_flags(Self::OBJECT_FLAG_BITS)?;
                Ok([$({
                    from.take_flags(&mut flags, <$type as $crate::record::stored::Stored>::FLAG_BITS);
                    let at = *from;
                    <$type as $crate::record::stored::Stored>::skip(from)?;
                    at
                },)*])
            }
        }
    };
}

pub(crate) use stored_object;

/// Whether two names are the same, when the program is compiled.
pub(crate) const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

impl<T: Stored> Stored for Option<T> {
    const FLAG_BITS: u32 = 1 + T::FLAG_BITS;

    fn flags(&self) -> u64 {
        self.as_ref().map_or(0, |value| value.flags() << 1 | 1)
    }

    fn write(&self, to: &mut RecordWriter) {
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
        from.flag().then(|| T::read(from)).transpose()
    }

    #[inline]
    fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError> {
        if from.flag() { T::skip(from) } else { Ok(()) }
    }

    fn slots(
        from: &mut RecordReader<'_>,
        visit: &mut dyn FnMut(Slot<SlotNumber>),
    ) -> Result<(), ReadError> {
        if from.flag() { T::slots(from, visit) } else { Ok(()) }
    }

    fn measure(from: &mut RecordReader<'_>, to: &mut Measured) -> Result<(), ReadError> {
        if from.flag() { T::measure(from, to) } else { Ok(()) }
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn write(&self, to: &mut RecordWriter) {
        const { assert!(T::FLAG_BITS == 0, "the items of a list have no flags outside of them") };
        to.number(self.len() as u64);
        self.iter().for_each(|item| item.write(to));
    }

    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
        (0..from.count()?).map(|_| T::read(from)).collect()
    }

    fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError> {
        (0..from.count()?).try_for_each(|_| T::skip(from))
    }

    fn slots(
        from: &mut RecordReader<'_>,
        visit: &mut dyn FnMut(Slot<SlotNumber>),
    ) -> Result<(), ReadError> {
        (0..from.count()?).try_for_each(|_| T::slots(from, visit))
    }

    fn measure(from: &mut RecordReader<'_>, to: &mut Measured) -> Result<(), ReadError> {
        (0..from.count()?).try_for_each(|_| T::measure(from, to))
    }
}

impl Stored for bool {
    const FLAG_BITS: u32 = 1;

    fn flags(&self) -> u64 {
        u64::from(*self)
    }

    fn write(&self, _: &mut RecordWriter) {}

    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
        Ok(from.flag())
    }

    fn skip(_: &mut RecordReader<'_>) -> Result<(), ReadError> {
        Ok(())
    }
}

/// Implements [`Stored`] for leaf values: a read of the value, and its write.
macro_rules! leaves {
    ($([$($parameter:tt)*] $type:ty, $read:ident, |$found:ident| $value:expr, |$self:ident, $to:ident| $write:expr;)*) => {
        $(impl<$($parameter)*> $crate::record::stored::Stored for $type {
            fn write(&self, $to: &mut $crate::record::writer::RecordWriter) {
                let $self = self;
                $write;
            }

            fn read(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
            ) -> Result<Self, $crate::storage::error::ReadError> {
                let $found = from.$read()?;
                Ok($value)
            }

            #[inline]
            fn skip(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
            ) -> Result<(), $crate::storage::error::ReadError> {
                from.$read()?;
                Ok(())
            }
        })*
    };
}

pub(crate) use leaves;

/// Implements [`Stored`] for a type that is kept as the value it wraps.
macro_rules! wrapper {
    ($name:ident($inner:ty)) => {
        impl $crate::record::stored::Stored for $name {
            fn write(&self, to: &mut $crate::record::writer::RecordWriter) {
                self.0.write(to);
            }

            fn read(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
            ) -> Result<Self, $crate::storage::error::ReadError> {
                <$inner>::read(from).map($name)
            }

            fn skip(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
            ) -> Result<(), $crate::storage::error::ReadError> {
                <$inner>::skip(from)
            }

            fn measure(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
                to: &mut $crate::record::stored::Measured,
            ) -> Result<(), $crate::storage::error::ReadError> {
                <$inner>::measure(from, to)
            }
        }
    };
}

pub(crate) use wrapper;

const NO_YEAR: ReadError = ReadError::corrupt("records", "a year has more than 32 bits");

impl Stored for i32 {
    fn write(&self, to: &mut RecordWriter) {
        to.signed((*self).into());
    }

    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
        i32::try_from(from.signed()?).map_err(|_| NO_YEAR)
    }

    #[inline]
    fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError> {
        from.signed().map(|_| ())
    }
}

impl Stored for String {
    fn write(&self, to: &mut RecordWriter) {
        to.text(self);
    }

    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
        from.utf8().map(str::to_owned)
    }

    #[inline]
    fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError> {
        from.text().map(|_| ())
    }
}

leaves! {
    [] i64, signed, |found| found, |value, to| to.signed(*value);
    [] u64, number, |found| found, |value, to| to.number(*value);
    [] f64, float, |found| found, |value, to| to.float(*value);
}

#[cfg(test)]
mod tests;
