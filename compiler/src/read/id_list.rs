//! Lists of ids, such as the references of an output.

use pinakes_format::entity::Entity;
use serde::de::SeqAccess;

use crate::read::identifier::parse_reference;
use crate::read::lenient::{ColumnarValue, Diagnostics, Lenient, MaybeId, Scalar, Wanted};

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

impl<'de, const ENTITY: u8> Lenient<'de> for MaybeIds<ENTITY> {
    const WANTED: Wanted = Wanted::Scalar;

    fn other(diagnostics: &Diagnostics) -> Self {
        diagnostics.warn("not_an_array");
        MaybeIds::default()
    }

    fn of_array<A: SeqAccess<'de>>(
        mut array: A,
        diagnostics: &Diagnostics,
    ) -> Result<Self, A::Error> {
        let max = diagnostics.limits().array_elements_max.unwrap_or(u64::MAX);
        let (mut length, mut ids) = (0, Vec::with_capacity(IDS_EXPECTED));
        let Some(entity) = Entity::from_index(ENTITY) else { return Ok(MaybeIds::default()) };
        while let Some(element) = array.next_element_seed(diagnostics.seed::<Given<'_>>())? {
            let Given(Some(id)) = element else { continue };
            length += 1;
            if length <= max {
                ids.extend(parse_reference(entity, &id, diagnostics));
            }
        }
        if length > max {
            diagnostics.warn("array_too_long");
            ids = Vec::new();
        }
        Ok(MaybeIds { length: Some(length), ids })
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
                scalar => MaybeId::of_scalar(scalar, diagnostics),
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

impl<'de> Lenient<'de> for Given<'de> {
    fn other(diagnostics: &Diagnostics) -> Given<'de> {
        Given(Some(MaybeId::other(diagnostics)))
    }

    fn of_integer(integer: i64, diagnostics: &Diagnostics) -> Given<'de> {
        Given(Some(MaybeId::of_integer(integer, diagnostics)))
    }

    fn of_huge(integer: u64, diagnostics: &Diagnostics) -> Given<'de> {
        Given(Some(MaybeId::of_huge(integer, diagnostics)))
    }

    fn of_text(text: &str, diagnostics: &Diagnostics) -> Given<'de> {
        Given(Some(MaybeId::of_text(text, diagnostics)))
    }

    fn of_borrowed(text: &'de str, diagnostics: &Diagnostics) -> Given<'de> {
        Given(Some(MaybeId::of_borrowed(text, diagnostics)))
    }
}
