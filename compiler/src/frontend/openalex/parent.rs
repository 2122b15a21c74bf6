//! The member that names the parent of a taxonomy node or publisher.

use std::borrow::Cow;

use pinakes_format::entity::Entity;
use serde::de::MapAccess;

use crate::frontend::openalex::shared::RawReference;
use crate::object::NodeRef;
use crate::read::{BadId, Diagnostics, Lenient, MaybeId, MaybeText, Members, clean, identifier};

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

impl<'a> Lenient<'a> for RawParent<'a> {
    fn other(_: &Diagnostics) -> RawParent<'a> {
        RawParent { is_other: true, ..RawParent::default() }
    }

    fn of_object<A: MapAccess<'a>>(object: A, diagnostics: &Diagnostics) -> Result<Self, A::Error> {
        let reference = RawReference::read(object, diagnostics)?;
        Ok(RawParent { reference: Some(reference), ..RawParent::default() })
    }

    fn of_text(id: &str, diagnostics: &Diagnostics) -> RawParent<'a> {
        let Some(id) = clean(Cow::Borrowed(id), diagnostics).to_owned() else {
            return RawParent::default();
        };
        let id = MaybeId(MaybeText(Some(Cow::Owned(id))));
        let reference = RawReference { id, display_name: MaybeText(None) };
        RawParent { reference: Some(reference), is_id: true, is_other: false }
    }

    fn of_integer(id: i64, diagnostics: &Diagnostics) -> RawParent<'a> {
        match u64::try_from(id) {
            Ok(id) => RawParent::of_huge(id, diagnostics),
            Err(_) => RawParent::other(diagnostics),
        }
    }

    fn of_huge(id: u64, diagnostics: &Diagnostics) -> RawParent<'a> {
        RawParent::of_text(&id.to_string(), diagnostics)
    }
}
