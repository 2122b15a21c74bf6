//! Objects.

use std::borrow::Cow;

use serde::de::MapAccess;

use crate::read::json::{Keys, MANY};
use crate::read::lenient::columnar::{ColumnarValue, Wanted};
use crate::read::lenient::diagnostics::Diagnostics;
use crate::read::lenient::members::{MemberName, Members};
use crate::read::lenient::seed::Lenient;
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

impl<'de, T: Members<'de>> Lenient<'de> for MaybeObject<T> {
    const WANTED: Wanted = Wanted::Members(T::MEMBERS);

    fn other(diagnostics: &Diagnostics) -> Self {
        diagnostics.warn("not_an_object");
        MaybeObject(None)
    }

    fn of_object<A: MapAccess<'de>>(
        object: A,
        diagnostics: &Diagnostics,
    ) -> Result<Self, A::Error> {
        T::read(object, diagnostics).map(|value| MaybeObject(Some(value)))
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

impl<'a> Lenient<'a> for MaybePairs<'a> {
    fn other(diagnostics: &Diagnostics) -> MaybePairs<'a> {
        diagnostics.warn("not_an_object");
        MaybePairs(None)
    }

    fn of_object<A: MapAccess<'a>>(
        mut object: A,
        diagnostics: &Diagnostics,
    ) -> Result<Self, A::Error> {
        let mut pairs: Vec<(Cow<'a, str>, MaybeText<'a>)> = Vec::new();
        let mut keys = Keys::<MANY>::default();
        while let Some(MemberName(key)) = object.next_key::<MemberName<'a>>()? {
            let value = object.next_value_seed(diagnostics.seed())?;
            diagnostics.hold(size_of::<(Cow<'_, str>, MaybeText<'_>, Cow<'_, str>)>())?;
            keys.insert(key.clone())?;
            pairs.push((key, value));
        }
        Ok(MaybePairs(Some(pairs)))
    }
}
