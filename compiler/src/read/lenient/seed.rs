//! Reading a value together with the diagnostics of its part.

use std::{fmt, marker::PhantomData};

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::read::lenient::columnar::{ColumnarValue, Scalar, Wanted};
use crate::read::lenient::diagnostics::Diagnostics;

/// A value that is read from any JSON value: a bad one is null and a warning. Null is the default of the type.
///
/// serde's `Deserialize` cannot pass a context. So the types of this folder implement this trait
/// instead, and no value can be read without diagnostics to report to.
///
/// A type has functions for the JSON values that it takes, and [`other`](Lenient::other) for the rest:
///
/// ```text
/// true       of_bool       5, -5     of_integer     "a"    of_borrowed, or of_text where the text has escapes
/// [1, 2]     of_array      2^64-1    of_huge        5.5    of_fraction        {"a": 1}    of_object
/// ```
pub(crate) trait Lenient<'de>: Default {
    /// The parts of the value that the type reads.
    const WANTED: Wanted = Wanted::All;

    /// The result for a value that the type does not take.
    fn other(diagnostics: &Diagnostics) -> Self;

    fn of_bool(_: bool, diagnostics: &Diagnostics) -> Self {
        Self::other(diagnostics)
    }

    fn of_integer(_: i64, diagnostics: &Diagnostics) -> Self {
        Self::other(diagnostics)
    }

    /// Takes an integer greater than `i64::MAX`.
    fn of_huge(_: u64, diagnostics: &Diagnostics) -> Self {
        Self::other(diagnostics)
    }

    fn of_fraction(_: f64, diagnostics: &Diagnostics) -> Self {
        Self::other(diagnostics)
    }

    fn of_text(_: &str, diagnostics: &Diagnostics) -> Self {
        Self::other(diagnostics)
    }

    /// Takes a text that stays in the line.
    fn of_borrowed(text: &'de str, diagnostics: &Diagnostics) -> Self {
        Self::of_text(text, diagnostics)
    }

    fn of_array<A: SeqAccess<'de>>(
        mut array: A,
        diagnostics: &Diagnostics,
    ) -> Result<Self, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::other(diagnostics))
    }

    fn of_object<A: MapAccess<'de>>(
        mut object: A,
        diagnostics: &Diagnostics,
    ) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::other(diagnostics))
    }

    /// Takes a scalar of a stored value; `None` for [`Scalar::Other`].
    fn of_scalar(scalar: Scalar<'de>, diagnostics: &Diagnostics) -> Option<Self> {
        Some(match scalar {
            Scalar::Null => Self::default(),
            Scalar::Bool(value) => Self::of_bool(value, diagnostics),
            Scalar::Integer(integer) => Self::of_integer(integer, diagnostics),
            Scalar::Fraction(fraction) => Self::of_fraction(fraction, diagnostics),
            Scalar::Text(text) => Self::of_borrowed(text, diagnostics),
            Scalar::Other => return None,
        })
    }

    fn read<D: Deserializer<'de>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(diagnostics.seed())
    }

    /// Reads a stored value, with the result of [`read`](Self::read).
    fn read_columnar<V: ColumnarValue<'de>>(
        value: V,
        diagnostics: &Diagnostics,
    ) -> Result<Self, V::Error> {
        let read = match Self::WANTED {
            Wanted::Scalar => Self::of_scalar(value.scalar()?, diagnostics),
            Wanted::All | Wanted::Members(_) => None,
        };
        read.map_or_else(|| Self::read(value, diagnostics), Ok)
    }
}

/// Reads a [`Lenient`] value where serde takes a seed or a visitor.
pub(crate) struct LenientSeed<'d, T> {
    diagnostics: &'d Diagnostics,
    value: PhantomData<T>,
}

impl Diagnostics {
    pub(crate) fn seed<T>(&self) -> LenientSeed<'_, T> {
        LenientSeed { diagnostics: self, value: PhantomData }
    }
}

impl<'de, T: Lenient<'de>> DeserializeSeed<'de> for LenientSeed<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer, self.diagnostics)
    }
}

impl<'de, T: Lenient<'de>> Visitor<'de> for LenientSeed<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::of_bool(value, self.diagnostics))
    }

    fn visit_i64<E>(self, value: i64) -> Result<T, E> {
        Ok(T::of_integer(value, self.diagnostics))
    }

    fn visit_u64<E>(self, value: u64) -> Result<T, E> {
        Ok(match i64::try_from(value) {
            Ok(value) => T::of_integer(value, self.diagnostics),
            Err(_) => T::of_huge(value, self.diagnostics),
        })
    }

    fn visit_f64<E>(self, value: f64) -> Result<T, E> {
        Ok(T::of_fraction(value, self.diagnostics))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::of_borrowed(text, self.diagnostics))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::of_text(text, self.diagnostics))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<T, A::Error> {
        T::of_array(array, self.diagnostics)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::of_object(object, self.diagnostics)
    }
}

/// A member of which only the presence counts.
impl<'de> Lenient<'de> for Option<IgnoredAny> {
    const WANTED: Wanted = Wanted::Scalar;

    fn other(_: &Diagnostics) -> Self {
        Some(IgnoredAny)
    }
}
