//! Objects.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::read::json::{Keys, MANY};
use crate::read::lenient::columnar::{ColumnarValue, Wanted};
use crate::read::lenient::diagnostics::Diagnostics;
use crate::read::lenient::members::{MemberName, Members};
use crate::read::lenient::seed::{Lenient, drain};
use crate::read::lenient::text::{MaybeId, MaybeText};

/// An object, or null.
#[derive(Clone, Debug, PartialEq)]
pub struct MaybeObject<T>(pub Option<T>);

impl<T> Default for MaybeObject<T> {
    fn default() -> Self {
        MaybeObject(None)
    }
}

impl<T> MaybeObject<T> {
    /// The text of an id in the object.
    pub fn id(&self, member: impl Fn(&T) -> &MaybeId<'_>) -> Option<String> {
        self.0.as_ref().and_then(|object| member(object).0.to_owned())
    }
}

struct ObjectVisitor<'d, T> {
    diagnostics: &'d Diagnostics,
    members: PhantomData<T>,
}

impl<'de, T: Members<'de>> Visitor<'de> for ObjectVisitor<'_, T> {
    type Value = MaybeObject<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::read(map, self.diagnostics).map(|value| MaybeObject(Some(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.diagnostics.warn("not_an_object");
        Ok(MaybeObject(None))
    }

    drain!(scalars "not_an_object");
    drain!(null);
}

impl<'de, T: Members<'de>> Lenient<'de> for MaybeObject<T> {
    const WANTED: Wanted = Wanted::Members(T::MEMBERS);

    fn read<D: Deserializer<'de>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor { diagnostics, members: PhantomData })
    }

    fn read_columnar<V: ColumnarValue<'de>>(
        value: V,
        diagnostics: &Diagnostics,
    ) -> Result<Self, V::Error> {
        match T::read_columnar(value, diagnostics)? {
            Some(object) => Ok(MaybeObject(Some(object))),
            None => Self::read(value, diagnostics),
        }
    }
}

/// An object that maps strings to strings, in the order of the dump; or null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaybePairs<'a>(pub Option<Vec<(Cow<'a, str>, MaybeText<'a>)>>);

struct PairsVisitor<'d> {
    diagnostics: &'d Diagnostics,
}

impl<'de> Visitor<'de> for PairsVisitor<'_> {
    type Value = MaybePairs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs: Vec<(Cow<'de, str>, MaybeText<'de>)> = Vec::new();
        let mut keys = Keys::<MANY>::default();
        while let Some(MemberName(key)) = map.next_key::<MemberName<'de>>()? {
            let value = map.next_value_seed(self.diagnostics.seed())?;
            self.diagnostics.hold(size_of::<(Cow<'_, str>, MaybeText<'_>, Cow<'_, str>)>())?;
            keys.insert(key.clone())?;
            pairs.push((key, value));
        }
        Ok(MaybePairs(Some(pairs)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.diagnostics.warn("not_an_object");
        Ok(MaybePairs(None))
    }

    drain!(scalars "not_an_object");
    drain!(null);
}

impl<'a> Lenient<'a> for MaybePairs<'a> {
    fn read<D: Deserializer<'a>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PairsVisitor { diagnostics })
    }
}
