//! A member that is an object in some editions of a dump and a simpler value in others.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserializer,
    de::{
        Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::{BorrowedStrDeserializer, SeqAccessDeserializer},
    },
};

use crate::read::lenient::{Diagnostics, Lenient, Members};

/// An object of a known shape, or a simpler value.
pub(crate) enum Either<T, U> {
    Object(T),
    Other(U),
}

struct EitherVisitor<'d, T, U> {
    diagnostics: &'d Diagnostics,
    either: PhantomData<(T, U)>,
}

impl<'de, T: Members<'de>, U: Lenient<'de>> Visitor<'de> for EitherVisitor<'_, T, U> {
    type Value = Either<T, U>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a simpler value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::read(map, self.diagnostics).map(Either::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        U::read(SeqAccessDeserializer::new(seq), self.diagnostics).map(Either::Other)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        U::read(BorrowedStrDeserializer::new(text), self.diagnostics).map(Either::Other)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        U::read(text.into_deserializer(), self.diagnostics).map(Either::Other)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Either::default())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        U::read(value.into_deserializer(), self.diagnostics).map(Either::Other)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        U::read(value.into_deserializer(), self.diagnostics).map(Either::Other)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        U::read(value.into_deserializer(), self.diagnostics).map(Either::Other)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        U::read(value.into_deserializer(), self.diagnostics).map(Either::Other)
    }
}

impl<'de, T: Members<'de>, U: Lenient<'de>> Lenient<'de> for Either<T, U> {
    fn read<D: Deserializer<'de>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EitherVisitor { diagnostics, either: PhantomData })
    }
}

impl<T, U: Default> Default for Either<T, U> {
    fn default() -> Self {
        Either::Other(U::default())
    }
}
