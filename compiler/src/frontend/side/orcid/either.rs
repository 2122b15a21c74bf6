//! A member that is an object in some editions of a dump and a simpler value in others.

use serde::de::{MapAccess, SeqAccess};

use crate::read::{Diagnostics, Lenient, Members};

/// An object of a known shape, or a simpler value.
pub(crate) enum Either<T, U> {
    Object(T),
    Other(U),
}

impl<T, U: Default> Default for Either<T, U> {
    fn default() -> Self {
        Either::Other(U::default())
    }
}

impl<'de, T: Members<'de>, U: Lenient<'de>> Lenient<'de> for Either<T, U> {
    fn other(diagnostics: &Diagnostics) -> Self {
        Either::Other(U::other(diagnostics))
    }

    fn of_bool(value: bool, diagnostics: &Diagnostics) -> Self {
        Either::Other(U::of_bool(value, diagnostics))
    }

    fn of_integer(value: i64, diagnostics: &Diagnostics) -> Self {
        Either::Other(U::of_integer(value, diagnostics))
    }

    fn of_huge(value: u64, diagnostics: &Diagnostics) -> Self {
        Either::Other(U::of_huge(value, diagnostics))
    }

    fn of_fraction(value: f64, diagnostics: &Diagnostics) -> Self {
        Either::Other(U::of_fraction(value, diagnostics))
    }

    fn of_text(text: &str, diagnostics: &Diagnostics) -> Self {
        Either::Other(U::of_text(text, diagnostics))
    }

    fn of_borrowed(text: &'de str, diagnostics: &Diagnostics) -> Self {
        Either::Other(U::of_borrowed(text, diagnostics))
    }

    fn of_array<A: SeqAccess<'de>>(array: A, diagnostics: &Diagnostics) -> Result<Self, A::Error> {
        U::of_array(array, diagnostics).map(Either::Other)
    }

    fn of_object<A: MapAccess<'de>>(
        object: A,
        diagnostics: &Diagnostics,
    ) -> Result<Self, A::Error> {
        T::read(object, diagnostics).map(Either::Object)
    }
}
