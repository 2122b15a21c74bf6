//! Lists and their lengths.

use serde::de::{IgnoredAny, SeqAccess};

use crate::read::lenient::columnar::{ColumnarValue, Wanted};
use crate::read::lenient::diagnostics::Diagnostics;
use crate::read::lenient::number::MaybeNumber;
use crate::read::lenient::object::MaybeObject;
use crate::read::lenient::seed::Lenient;
use crate::read::lenient::text::{MaybeId, MaybeText};

/// Elements for which a list takes memory before it reads the first one.
const CAPACITY_MAX: usize = 1_024;

/// Elements for which a list that is not empty takes memory.
const ELEMENTS_EXPECTED: usize = 8;

/// An element of a [`MaybeList`], which drops null elements.
pub trait Element {
    fn is_null(&self) -> bool;
}

impl Element for MaybeText<'_> {
    fn is_null(&self) -> bool {
        self.0.is_none()
    }
}

impl Element for MaybeId<'_> {
    fn is_null(&self) -> bool {
        self.0.0.is_none()
    }
}

impl Element for MaybeNumber {
    fn is_null(&self) -> bool {
        *self == MaybeNumber::Null
    }
}

impl<T> Element for MaybeObject<T> {
    fn is_null(&self) -> bool {
        self.0.is_none()
    }
}

/// An array without its null elements, or null.
#[derive(Clone, Debug, PartialEq)]
pub struct MaybeList<T>(pub Option<Vec<T>>);

impl<T> Default for MaybeList<T> {
    fn default() -> Self {
        MaybeList(None)
    }
}

impl<T> MaybeList<T> {
    /// Applies `map` to the elements and keeps each `Some`; a null list stays null.
    pub fn filter_map<U>(&self, map: impl FnMut(&T) -> Option<U>) -> Option<Vec<U>> {
        let list = self.0.as_ref()?;
        // Few elements are left out. Collecting would grow the vector several times.
        let mut kept = Vec::with_capacity(list.len());
        kept.extend(list.iter().filter_map(map));
        Some(kept)
    }

    /// The elements; empty for a null list.
    pub fn as_slice(&self) -> &[T] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<T> MaybeList<MaybeObject<T>> {
    /// Applies `map` to the objects; a null list stays null.
    pub fn map_objects<U>(&self, mut map: impl FnMut(&T) -> U) -> Option<Vec<U>> {
        self.filter_map(|object| object.0.as_ref().map(&mut map))
    }

    pub fn objects(&self) -> impl Iterator<Item = &T> {
        self.as_slice().iter().filter_map(|object| object.0.as_ref())
    }
}

impl<'de, T: Lenient<'de> + Element> Lenient<'de> for MaybeList<T> {
    const WANTED: Wanted = T::WANTED;

    fn other(diagnostics: &Diagnostics) -> Self {
        diagnostics.warn("not_an_array");
        MaybeList(None)
    }

    fn of_array<A: SeqAccess<'de>>(
        mut array: A,
        diagnostics: &Diagnostics,
    ) -> Result<Self, A::Error> {
        let mut list = Vec::new();
        let max = diagnostics.limits().array_elements_max.unwrap_or(u64::MAX);
        while let Some(element) = array.next_element_seed(diagnostics.seed::<T>())? {
            if element.is_null() {
                continue;
            }
            if list.len() as u64 == max {
                while array.next_element::<IgnoredAny>()?.is_some() {}
                diagnostics.warn("array_too_long");
                return Ok(MaybeList(None));
            }
            if list.len() == list.capacity() {
                let more = list.len().max(ELEMENTS_EXPECTED);
                diagnostics.hold(more * size_of::<T>())?;
                list.reserve_exact(more);
            }
            list.push(element);
        }
        Ok(MaybeList(Some(list)))
    }

    fn read_columnar<V: ColumnarValue<'de>>(
        value: V,
        diagnostics: &Diagnostics,
    ) -> Result<Self, V::Error> {
        let max = diagnostics.limits().array_elements_max.unwrap_or(u64::MAX);
        let elements = value.elements().filter(|elements| elements.len() as u64 <= max);
        let Some(elements) = elements else { return Self::read(value, diagnostics) };
        let mut list = Vec::with_capacity(elements.len().min(CAPACITY_MAX));
        for element in elements {
            let element = T::read_columnar(element, diagnostics)?;
            if !element.is_null() {
                diagnostics.hold(size_of::<T>())?;
                list.push(element);
            }
        }
        Ok(MaybeList(Some(list)))
    }
}

/// The number of non-null elements of an array, or null. Drops the elements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaybeLength(pub Option<u64>);

impl<'de> Lenient<'de> for MaybeLength {
    const WANTED: Wanted = Wanted::Scalar;

    fn other(diagnostics: &Diagnostics) -> MaybeLength {
        diagnostics.warn("not_an_array");
        MaybeLength(None)
    }

    fn of_array<A: SeqAccess<'de>>(mut array: A, _: &Diagnostics) -> Result<Self, A::Error> {
        let mut length = 0;
        while let Some(element) = array.next_element::<Option<IgnoredAny>>()? {
            length += u64::from(element.is_some());
        }
        Ok(MaybeLength(Some(length)))
    }
}
