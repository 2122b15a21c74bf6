//! What a line says of the record above its own.

use std::{borrow::Cow, fmt};

use pinakes_format::entity::Entity;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use super::shared::RawReference;
use crate::{
    identifier,
    lenient::{IdText, Object, Text},
};

/// The record above another, as its line names it: an object, or its id alone.
#[derive(Default)]
pub(super) struct Parent<'a> {
    pub reference: Object<RawReference<'a>>,
    /// Whether something else stands there.
    pub is_other: bool,
}

impl Parent<'_> {
    /// Whether it is named and is no record of `entity`.
    pub fn is_misplaced(&self, entity: Entity) -> bool {
        let id = self.reference.0.as_ref().and_then(|reference| reference.id.0.as_str());
        self.is_other || id.is_some_and(|id| identifier::parse(entity, id).is_err())
    }
}

struct ParentVisitor;

impl<'de> Visitor<'de> for ParentVisitor {
    type Value = Parent<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an id")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let reference = RawReference::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Parent { reference: Object(Some(reference)), is_other: false })
    }

    fn visit_str<E>(self, id: &str) -> Result<Self::Value, E> {
        let id = IdText(Text(Some(Cow::Owned(id.to_owned()))));
        let reference = RawReference { id, display_name: Text(None) };
        Ok(Parent { reference: Object(Some(reference)), is_other: false })
    }

    fn visit_u64<E: serde::de::Error>(self, id: u64) -> Result<Self::Value, E> {
        self.visit_str(&id.to_string())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Parent::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Parent { is_other: true, ..Parent::default() })
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Parent { is_other: true, ..Parent::default() })
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Parent { is_other: true, ..Parent::default() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Parent { is_other: true, ..Parent::default() })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Parent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParentVisitor)
    }
}
