//! The member that names the parent of a taxonomy node or publisher.

use std::{borrow::Cow, fmt};

use pinakes_format::entity::Entity;
use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::frontend::openalex::shared::RawReference;
use crate::object::chains::NodeRef;
use crate::read::identifier;
use crate::read::identifier::BadId;
use crate::read::lenient::{Diagnostics, Lenient, MaybeId, MaybeText, Members, clean};

/// The parent in a line: a reference object, or an id alone.
#[derive(Default)]
pub(crate) struct RawParent<'a> {
    reference: Option<RawReference<'a>>,
    /// Whether the line holds an id alone.
    is_id: bool,
    /// Whether the line holds anything else.
    pub is_other: bool,
}

impl RawParent<'_> {
    /// The number and name of the parent; `None` where the line names no parent. A bad id alone
    /// names no parent and is a warning.
    pub fn reference(
        &self,
        entity: Entity,
        diagnostics: &Diagnostics,
    ) -> Option<(Option<u64>, Option<&str>)> {
        let reference = self.reference.as_ref()?;
        let number = reference.number(entity, diagnostics);
        (number.is_some() || !self.is_id).then_some((number, reference.display_name.as_str()))
    }

    /// The taxonomy node of the parent, without a second warning for a bad id.
    pub fn node(&self, entity: Entity) -> Option<NodeRef<'_>> {
        let reference = self.reference.as_ref()?;
        let id = identifier::parse(entity, reference.id.0.as_str()?).ok()?;
        Some(NodeRef { id, name: reference.display_name.as_str() })
    }

    /// Whether the parent is of another entity, or is no single parent.
    pub fn is_misplaced(&self, entity: Entity) -> bool {
        let id = self.reference.as_ref().and_then(|reference| reference.id.0.as_str());
        let is_of_other_entity = |id| identifier::parse(entity, id) == Err(BadId::WrongType);
        self.is_other || id.is_some_and(is_of_other_entity)
    }
}

struct ParentVisitor<'d> {
    diagnostics: &'d Diagnostics,
}

impl<'de> Visitor<'de> for ParentVisitor<'_> {
    type Value = RawParent<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an id")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let reference = RawReference::read(map, self.diagnostics)?;
        Ok(RawParent { reference: Some(reference), ..RawParent::default() })
    }

    fn visit_str<E>(self, id: &str) -> Result<Self::Value, E> {
        let Some(id) = clean(Cow::Borrowed(id), self.diagnostics).to_owned() else {
            return Ok(RawParent::default());
        };
        let id = MaybeId(MaybeText(Some(Cow::Owned(id))));
        let reference = RawReference { id, display_name: MaybeText(None) };
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

impl<'a> Lenient<'a> for RawParent<'a> {
    fn read<D: Deserializer<'a>>(
        deserializer: D,
        diagnostics: &Diagnostics,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParentVisitor { diagnostics })
    }
}
