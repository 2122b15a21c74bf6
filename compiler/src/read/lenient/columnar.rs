//! Values of an input that stores the members of objects apart, as the columns of a Parquet file.
//!
//! serde passes the name of every member of every object to the type that reads the object. A [`ColumnarValue`]
//! value knows the members' columns before the first object, so the type takes the columns in order.

use serde::Deserializer;

use crate::read::lenient::diagnostics::Diagnostics;
use crate::read::lenient::seed::Lenient;

/// A value, which serde can read too.
pub(crate) trait ColumnarValue<'de>: Deserializer<'de> + Copy {
    /// The members of an object in the order of [`Wanted::Members`](super::Wanted); `None` for an absent one.
    type Members: Iterator<Item = Option<Self>>;
    /// The elements of a list.
    type Elements: ExactSizeIterator<Item = Self>;

    /// The members of an object; `None` for any other value, and for an object that serde must read.
    ///
    /// # Errors
    ///
    /// Where the object has a member twice.
    fn members(self) -> Result<Option<Self::Members>, Self::Error>;

    /// The elements of a list; `None` for any other value.
    fn elements(self) -> Option<Self::Elements>;

    /// The value, if it is a scalar of a usual type.
    fn scalar(self) -> Result<Scalar<'de>, Self::Error>;
}

/// A scalar as serde_json passes it on.
pub(crate) enum Scalar<'de> {
    Null,
    Bool(bool),
    Integer(i64),
    /// Finite.
    Fraction(f64),
    Text(&'de str),
    /// A list, an object, or a scalar that serde must read.
    Other,
}

/// Reads the next member of an object.
#[inline]
pub(crate) fn read_next<'de, T: Lenient<'de>, V: ColumnarValue<'de>>(
    members: &mut impl Iterator<Item = Option<V>>,
    diagnostics: &Diagnostics,
) -> Result<T, V::Error> {
    match members.next().flatten() {
        Some(member) => T::read_columnar(member, diagnostics),
        None => Ok(T::default()),
    }
}

/// The part of a value that a type reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The value of a scalar, or the elements of a list of scalars. Of an object only its presence.
    Scalar,
    /// Everything below the value.
    All,
    /// These members of an object, or of the objects of a list.
    Members(&'static [(&'static str, Wanted)]),
}

impl Wanted {
    /// The parts of a member that the type reads; `None` for a member that it ignores.
    pub(crate) fn member(self, name: &str) -> Option<Wanted> {
        match self {
            Wanted::Scalar => None,
            Wanted::All => Some(Wanted::All),
            Wanted::Members(members) => {
                members.iter().find(|(member, _)| *member == name).map(|(_, wanted)| *wanted)
            }
        }
    }
}
