//! A member that is an object in some editions of a dump and a simpler value in others.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::{BorrowedStrDeserializer, MapAccessDeserializer, SeqAccessDeserializer},
    },
};

/// An object of a known shape, or a simpler value.
pub(crate) enum Either<T, U> {
    Object(T),
    Other(U),
}

struct EitherVisitor<T, U>(PhantomData<(T, U)>);

impl<'de, T, U> Visitor<'de> for EitherVisitor<T, U>
where
    T: Deserialize<'de>,
    U: Deserialize<'de> + Default,
{
    type Value = Either<T, U>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a simpler value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Either::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        U::deserialize(SeqAccessDeserializer::new(seq)).map(Either::Other)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        U::deserialize(BorrowedStrDeserializer::new(text)).map(Either::Other)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        U::deserialize(text.into_deserializer()).map(Either::Other)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Either::default())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        U::deserialize(value.into_deserializer()).map(Either::Other)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        U::deserialize(value.into_deserializer()).map(Either::Other)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        U::deserialize(value.into_deserializer()).map(Either::Other)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        U::deserialize(value.into_deserializer()).map(Either::Other)
    }
}

impl<'de, T, U> Deserialize<'de> for Either<T, U>
where
    T: Deserialize<'de>,
    U: Deserialize<'de> + Default,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EitherVisitor(PhantomData))
    }
}

impl<T, U: Default> Default for Either<T, U> {
    fn default() -> Self {
        Either::Other(U::default())
    }
}
