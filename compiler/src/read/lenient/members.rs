//! Declares the members of an object that are read.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::read::json::{self, JsonFault};
use crate::read::lenient::columnar::{ColumnarValue, Wanted};
use crate::read::lenient::diagnostics::Diagnostics;
use crate::read::lenient::seed::Lenient;

/// The members that are read from an object. `members!` declares them.
pub(crate) trait Members<'de>: Sized {
    /// The members by name, each with the parts of its value that the type reads.
    const MEMBERS: &'static [(&'static str, Wanted)];

    fn read<A: MapAccess<'de>>(map: A, diagnostics: &Diagnostics) -> Result<Self, A::Error>;

    /// Reads a stored object; `None` for a value that [`read`](Self::read) must read.
    fn read_columnar<V: ColumnarValue<'de>>(
        object: V,
        diagnostics: &Diagnostics,
    ) -> Result<Option<Self>, V::Error>;
}

/// Declares structs of [`Lenient`] members, and implements [`Members`] for them. An absent member is
/// null; a member that occurs twice is an error.
///
/// ```text
/// members! {
///     struct RawRole<'a> {
///         id: MaybeId<'a>,                 the JSON name is the field name
///         kind as "type": MaybeText<'a>,   the JSON name is "type"
///     }
/// }
/// ```
macro_rules! members {
    ($(
        $(#[$meta:meta])* $vis:vis struct $name:ident $(<$life:lifetime>)? { $($body:tt)* }
    )+) => {$(
        members!(@declare [$(#[$meta])* $vis struct $name $(<$life>)?] { $($body)* });
        members!(@of [$($life)?] $name { $($body)* });
    )+};
    (@of [$life:lifetime] $name:ident $body:tt) => {
        members!(@implement $life [$name<$life>] $body);
    };
    (@of [] $name:ident $body:tt) => { members!(@implement 'de [$name] $body); };
    (@declare [$($head:tt)*] {
        $($vis:vis $field:ident $(as $json:literal)? : $type:ty,)*
    }) => {
        $($head)* { $($vis $field: $type,)* }
    };
    (@implement $de:lifetime [$name:ty] {
        $($vis:vis $field:ident $(as $json:literal)? : $type:ty,)*
    }) => {
        impl<$de> $crate::read::lenient::Members<$de> for $name {
            const MEMBERS: &'static [(&'static str, $crate::read::lenient::Wanted)] = &[
                $((
                    members!(@name $field $($json)?),
                    <$type as $crate::read::lenient::Lenient<$de>>::WANTED,
                ),)*
            ];

            fn read<A: serde::de::MapAccess<$de>>(
                mut map: A,
                diagnostics: &$crate::read::lenient::Diagnostics,
            ) -> std::result::Result<Self, A::Error> {
                $(let mut $field: Option<$type> = None;)*
                while let Some(key) = map.next_key::<$crate::read::lenient::MemberName<$de>>()? {
                    match key.0.as_ref() {
                        $(members!(@name $field $($json)?) => {
                            $crate::read::lenient::members::read_once(
                                &mut $field,
                                members!(@name $field $($json)?),
                                &mut map,
                                diagnostics,
                            )?;
                        })*
                        _ => { map.next_value::<serde::de::IgnoredAny>()?; }
                    }
                }
                Ok(Self { $($field: $field.unwrap_or_default(),)* })
            }

            fn read_columnar<V: $crate::read::lenient::ColumnarValue<$de>>(
                object: V,
                diagnostics: &$crate::read::lenient::Diagnostics,
            ) -> std::result::Result<Option<Self>, V::Error> {
                let Some(mut members) = object.members()? else { return Ok(None) };
                Ok(Some(Self {
                    $($field: $crate::read::lenient::columnar::read_next(&mut members, diagnostics)?,)*
                }))
            }
        }
    };
    (@name $field:ident $json:literal) => { $json };
    (@name $field:ident) => { stringify!($field) };
}

pub(crate) use members;

/// Reads the value of a member; fails where the object has the member twice.
pub(crate) fn read_once<'de, T: Lenient<'de>, A: MapAccess<'de>>(
    member: &mut Option<T>,
    name: &'static str,
    map: &mut A,
    diagnostics: &Diagnostics,
) -> Result<(), A::Error> {
    if member.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *member = Some(map.next_value_seed(diagnostics.seed())?);
    Ok(())
}

/// Parses a JSON object, and checks the members that `T` does not declare as strictly as the others.
///
/// # Errors
///
/// Where the text has a [`JsonFault`].
pub(crate) fn from_str<'de, T: Members<'de>>(
    text: &'de str,
    diagnostics: &Diagnostics,
) -> Result<T, JsonFault> {
    json::parse(text, ObjectSeed::new(diagnostics))
}

/// Parses a JSON object; members that `T` does not declare are skipped as serde_json skips them.
///
/// # Errors
///
/// Where a part of the text that `T` reads has a [`JsonFault`].
pub(crate) fn from_str_skipping_unread<'de, T: Members<'de>>(
    text: &'de str,
    diagnostics: &Diagnostics,
) -> Result<T, JsonFault> {
    json::parse_skipping_unread(text, ObjectSeed::new(diagnostics))
}

/// Reads the members of a stored object.
pub(crate) fn from_columnar<'de, T: Members<'de>, V: ColumnarValue<'de>>(
    object: V,
    diagnostics: &Diagnostics,
) -> Result<T, V::Error> {
    match T::read_columnar(object, diagnostics)? {
        Some(read) => Ok(read),
        None => ObjectSeed::new(diagnostics).deserialize(object),
    }
}

/// Reads an object; any other value is an error.
struct ObjectSeed<'d, T> {
    diagnostics: &'d Diagnostics,
    members: PhantomData<T>,
}

impl<T> ObjectSeed<'_, T> {
    fn new(diagnostics: &Diagnostics) -> ObjectSeed<'_, T> {
        ObjectSeed { diagnostics, members: PhantomData }
    }
}

impl<'de, T: Members<'de>> DeserializeSeed<'de> for ObjectSeed<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Members<'de>> Visitor<'de> for ObjectSeed<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::read(map, self.diagnostics)
    }
}

/// A key, borrowed from the line where it holds no escape.
pub(crate) struct MemberName<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for MemberName<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = MemberName<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<MemberName<'de>, E> {
                Ok(MemberName(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<MemberName<'de>, E> {
                Ok(MemberName(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}
