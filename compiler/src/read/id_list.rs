//! Lists of ids, such as the references of an output.

use std::fmt;

use pinakes_format::entity::Entity;
use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::read::identifier::parse_reference;
use crate::read::lenient::{ColumnarValue, Diagnostics, Lenient, MaybeId, Scalar, Wanted, drain};

/// Ids for which a list takes memory from the start: an output has about as many references.
const IDS_EXPECTED: usize = 32;

/// The ids of an array that parse, and the number of its non-null elements, or null.
///
/// Ids stay numbers, because a record may have thousands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaybeIds<const ENTITY: u8> {
    pub length: Option<u64>,
    pub ids: Vec<u64>,
}

struct IdsVisitor<'d, const ENTITY: u8> {
    diagnostics: &'d Diagnostics,
}

impl<'de, const ENTITY: u8> Visitor<'de> for IdsVisitor<'_, ENTITY> {
    type Value = MaybeIds<ENTITY>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let max = self.diagnostics.limits().array_elements_max.unwrap_or(u64::MAX);
        let (mut length, mut ids) = (0, Vec::with_capacity(IDS_EXPECTED));
        let Some(entity) = Entity::from_index(ENTITY) else { return Ok(MaybeIds::default()) };
        while let Some(element) = seq.next_element_seed(self.diagnostics.seed::<Given<'_>>())? {
            let Given(Some(id)) = element else { continue };
            length += 1;
            if length <= max {
                ids.extend(parse_reference(entity, &id, self.diagnostics));
            }
        }
        if length > max {
            self.diagnostics.warn("array_too_long");
            ids = Vec::new();
        }
        Ok(MaybeIds { length: Some(length), ids })
    }

    drain!(map "not_an_array");
    drain!(scalars "not_an_array");
    drain!(null);
}

impl<'de, const ENTITY: u8> Lenient<'de> for MaybeIds<ENTITY> {
    const WANTED: Wanted = Wanted::Scalar;

    fn read<D: Deserializer<'de>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdsVisitor { diagnostics })
    }

    fn read_columnar<V: ColumnarValue<'de>>(
        value: V,
        diagnostics: &Diagnostics,
    ) -> Result<Self, V::Error> {
        let max = diagnostics.limits().array_elements_max.unwrap_or(u64::MAX);
        let elements = value.elements().filter(|elements| elements.len() as u64 <= max);
        let (Some(elements), Some(entity)) = (elements, Entity::from_index(ENTITY)) else {
            return Self::read(value, diagnostics);
        };
        let (mut length, mut ids) = (0, Vec::new());
        for element in elements {
            let id = match element.scalar()? {
                Scalar::Null => continue,
                scalar => MaybeId::from_scalar(scalar, diagnostics),
            };
            let id = id.map_or_else(|| MaybeId::read(element, diagnostics), Ok)?;
            length += 1;
            ids.extend(parse_reference(entity, &id, diagnostics));
        }
        Ok(MaybeIds { length: Some(length), ids })
    }
}

/// An id, unless the value is null.
#[derive(Default)]
struct Given<'a>(Option<MaybeId<'a>>);

struct GivenVisitor<'d> {
    diagnostics: &'d Diagnostics,
}

impl<'de> Visitor<'de> for GivenVisitor<'_> {
    type Value = Given<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id or null")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Given(None))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Given(None))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        MaybeId::read(deserializer, self.diagnostics).map(|id| Given(Some(id)))
    }
}

impl<'de> Lenient<'de> for Given<'de> {
    fn read<D: Deserializer<'de>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_option(GivenVisitor { diagnostics })
    }
}
