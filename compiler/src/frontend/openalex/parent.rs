//! What a line says of the record above its own.

use std::{borrow::Cow, fmt};

use pinakes_format::entity::Entity;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use crate::frontend::derived::NodeId;
use crate::frontend::openalex::shared::RawReference;
use crate::read::identifier;
use crate::read::identifier::BadId;
use crate::read::lenient::{IdText, Text, clean};

/// The record above another, as its line names it: an object, or its id alone.
#[derive(Default)]
pub(crate) struct RawParent<'a> {
    reference: Option<RawReference<'a>>,
    /// Whether its id stands there alone.
    is_id: bool,
    /// Whether something else stands there.
    pub is_other: bool,
}

impl RawParent<'_> {
    /// Its number and the name it has here; `None` where nothing is said of it. An id that is none says
    /// nothing, and is counted.
    pub fn reference(&self, entity: Entity) -> Option<(Option<u64>, Option<&str>)> {
        let reference = self.reference.as_ref()?;
        let number = reference.number(entity);
        (number.is_some() || !self.is_id).then_some((number, reference.display_name.as_str()))
    }

    /// The node of the taxonomy it names, if it names one. An id that is none is not counted again.
    pub fn node(&self, entity: Entity) -> Option<NodeId<'_>> {
        let reference = self.reference.as_ref()?;
        let id = identifier::parse(entity, reference.id.0.as_str()?).ok()?;
        Some(NodeId { id, name: reference.display_name.as_str() })
    }

    /// Whether it is a record of another entity than `entity`, or several.
    pub fn is_misplaced(&self, entity: Entity) -> bool {
        let id = self.reference.as_ref().and_then(|reference| reference.id.0.as_str());
        let is_elsewhere = |id| identifier::parse(entity, id) == Err(BadId::WrongType);
        self.is_other || id.is_some_and(is_elsewhere)
    }
}

struct ParentVisitor;

impl<'de> Visitor<'de> for ParentVisitor {
    type Value = RawParent<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an id")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let reference = RawReference::deserialize(MapAccessDeserializer::new(map))?;
        Ok(RawParent { reference: Some(reference), ..RawParent::default() })
    }

    fn visit_str<E>(self, id: &str) -> Result<Self::Value, E> {
        let Some(id) = clean(Cow::Borrowed(id)).to_owned() else { return Ok(RawParent::default()) };
        let id = IdText(Text(Some(Cow::Owned(id))));
        let reference = RawReference { id, display_name: Text(None) };
        Ok(RawParent { reference: Some(reference), is_id: true, is_other: false })
    }

    fn visit_u64<E: serde::de::Error>(self, id: u64) -> Result<Self::Value, E> {
        self.visit_str(&id.to_string())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(RawParent::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(RawParent { is_other: true, ..RawParent::default() })
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(RawParent { is_other: true, ..RawParent::default() })
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(RawParent { is_other: true, ..RawParent::default() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(RawParent { is_other: true, ..RawParent::default() })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawParent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParentVisitor)
    }
}
