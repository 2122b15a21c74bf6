//! Reading a value together with the diagnostics of its part.

use std::marker::PhantomData;

use serde::de::{DeserializeSeed, IgnoredAny};
use serde::{Deserialize, Deserializer};

use crate::read::lenient::columnar::{ColumnarValue, Wanted};
use crate::read::lenient::diagnostics::Diagnostics;

/// A value that is read from any JSON value: a bad one is null and a warning.
///
/// serde's `Deserialize` cannot pass a context. So the types of this folder implement this trait
/// instead, and no value can be read without diagnostics to report to.
pub(crate) trait Lenient<'de>: Default {
    /// The parts of the value that the type reads.
    const WANTED: Wanted = Wanted::All;

    fn read<D: Deserializer<'de>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error>;

    /// Reads a stored value, with the result of [`read`](Self::read).
    fn read_columnar<V: ColumnarValue<'de>>(
        value: V,
        diagnostics: &Diagnostics,
    ) -> Result<Self, V::Error> {
        Self::read(value, diagnostics)
    }
}

/// Reads a [`Lenient`] value where serde takes a seed.
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

/// A member of which only the presence counts.
impl<'de> Lenient<'de> for Option<IgnoredAny> {
    const WANTED: Wanted = Wanted::Scalar;

    fn read<D: Deserializer<'de>>(deserializer: D, _: &Diagnostics) -> Result<Self, D::Error> {
        Option::deserialize(deserializer)
    }
}

/// Visitor methods for values of a wrong type: consume the value, warn, and return null. The visitor
/// has a member `diagnostics`.
macro_rules! drain {
    ($code:literal) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            self.diagnostics.warn($code);
            Ok(Default::default())
        }

        drain!(map $code);
    };
    (map $code:literal) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            self.diagnostics.warn($code);
            Ok(Default::default())
        }
    };
    (scalars $code:literal) => {
        drain!(numbers $code);
        drain!(bool $code);

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            self.diagnostics.warn($code);
            Ok(Default::default())
        }
    };
    (numbers $code:literal) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            self.diagnostics.warn($code);
            Ok(Default::default())
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            self.diagnostics.warn($code);
            Ok(Default::default())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            self.diagnostics.warn($code);
            Ok(Default::default())
        }
    };
    (bool $code:literal) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            self.diagnostics.warn($code);
            Ok(Default::default())
        }
    };
    (null) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
}

pub(crate) use drain;
