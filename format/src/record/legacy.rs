//! The legacy form of topics and domains: the same records with legacy member names.
//!
//! [`LEGACY`] lists the members of each entity in order: the legacy name and the current path. The
//! keys of filters and groups are derived from it by
//! [`keys_of_legacy`](crate::schema::keys::keys_of_legacy).

use rkyv::{
    option::ArchivedOption, primitive::ArchivedU64, string::ArchivedString, vec::ArchivedVec,
};

use crate::entity::{Entity, IdFormat, NO_ID};
use crate::json::render::{CurrentRecord, Page, RecordBytes, Shape};
use crate::record::value::{ArchivedId, ArchivedParentRef, ArchivedRef, ArchivedTimestamp, entity};
use crate::record::{self, Domain, TaxonomyIds, Topic};
use crate::storage::error::ReadError;
use crate::text::json;

/// An entity with a legacy form.
#[derive(Debug)]
pub struct LegacyEntity {
    /// The entity whose records the legacy interface shows.
    pub entity: Entity,
    /// URL path of the legacy list, without the leading slash.
    pub route: &'static str,
    /// The legacy name and the current path of each member.
    pub members: &'static [(&'static str, &'static str)],
    /// Legacy names of the members that lists omit.
    pub singles: &'static [&'static str],
    render: for<'s> fn(&'s [u8], &mut Page<'s>) -> Result<(), ReadError>,
}

/// Declares the legacy form of an entity, one line per member. Lists omit members marked `@single`.
macro_rules! legacy {
    ($record:ident at $route:literal: $(
        $(@$shown:ident)? $name:literal = $member:ident $(. $below:ident)*,
    )*) => {
        LegacyEntity {
            entity: Entity::$record,
            route: $route,
            members: &[$((
                $name,
                concat!(stringify!($member) $(, ".", stringify!($below))*),
            ),)*],
            singles: &[$($(legacy!(@named $shown $name),)?)*],
            render: |archived, page| {
                let record = record::access_stored::<$record>(archived)?;
                page.swap_record(CurrentRecord::new(RecordBytes { archived, long_texts: &[] }));
                page.open_object();
                $(
                    if true $(&& page.shape() == legacy!(@$shown))? {
                        page.key(concat!("\"", $name, "\":"));
                        record.$member$(.$below)*.render_legacy(page)?;
                    }
                )*
                page.close_object();
                Ok(())
            },
        }
    };
    (@single) => {
        Shape::Single
    };
    (@named single $name:literal) => {
        $name
    };
}

/// The entities with a legacy form.
pub static LEGACY: [LegacyEntity; 2] = [
    legacy! {
        Topic at "legacy/topics":
        "id" = id,
        "name" = name,
        "description" = description,
        @single "keywords" = keywords,
        @single "wikipedia" = ids.wikipedia,
        "subfield" = subfield,
        "field" = field,
        "domain" = domain,
        "siblings" = siblings,
        "outputs" = outputs_count,
        "citations" = cited_by_count,
        "updated_date" = updated_date,
        "created_date" = created_date,
    },
    legacy! {
        Domain at "legacy/domains":
        "id" = id,
        "name" = name,
        "description" = description,
        "urls" = ids,
        "display_name_alternatives" = display_name_alternatives,
        "fields" = fields,
        "siblings" = siblings,
        "outputs" = outputs_count,
        "citations" = cited_by_count,
        "updated_date" = updated_date,
        "created_date" = created_date,
    },
];

/// Renders the legacy form of an archived record in the shape of the page.
///
/// # Errors
///
/// If the bytes are not a valid record, or the entity has no legacy form.
pub fn render<'s>(
    entity: Entity,
    archived: &'s [u8],
    page: &mut Page<'s>,
) -> Result<(), ReadError> {
    let legacy = LEGACY
        .iter()
        .find(|legacy| legacy.entity == entity)
        .ok_or(ReadError::Internal("the entity has no legacy form"))?;
    (legacy.render)(archived, page)
}

/// Archived values with a legacy form.
trait RenderLegacy {
    fn render_legacy(&self, page: &mut Page<'_>) -> Result<(), ReadError>;
}

/// Values whose legacy form is the current form.
macro_rules! unchanged {
    ($($type:ty,)*) => {
        $(impl RenderLegacy for $type {
            fn render_legacy(&self, page: &mut Page<'_>) -> Result<(), ReadError> {
                page.value(self)
            }
        })*
    };
}

unchanged! {
    ArchivedOption<ArchivedString>,
    ArchivedOption<ArchivedVec<ArchivedString>>,
    ArchivedOption<ArchivedU64>,
    ArchivedOption<ArchivedTimestamp>,
    rkyv::Archived<TaxonomyIds>,
}

impl<const E: u8> RenderLegacy for ArchivedId<E> {
    fn render_legacy(&self, page: &mut Page<'_>) -> Result<(), ReadError> {
        write_id(entity(E), self.0.to_native(), &mut page.out);
        Ok(())
    }
}

/// A parent: `{id, name}` in single records, an array with the name in lists.
impl<const E: u8> RenderLegacy for ArchivedOption<ArchivedParentRef<E>> {
    fn render_legacy(&self, page: &mut Page<'_>) -> Result<(), ReadError> {
        let Some(parent) = self.as_ref() else {
            page.null();
            return Ok(());
        };
        let row = parent.0.to_native();
        match page.shape() {
            Shape::Single => write_reference(page, entity(E), row),
            Shape::List => write_names(page, entity(E), [row].into_iter()),
        }
    }
}

/// Children or siblings: `{id, name}` objects in single records, names in lists.
impl<const E: u8> RenderLegacy for ArchivedOption<ArchivedVec<ArchivedRef<E>>> {
    fn render_legacy(&self, page: &mut Page<'_>) -> Result<(), ReadError> {
        let Some(references) = self.as_ref() else {
            page.null();
            return Ok(());
        };
        let rows = references.iter().map(|reference| reference.0.to_native());
        if page.shape() == Shape::List {
            return write_names(page, entity(E), rows);
        }
        page.out.push(b'[');
        for (at, row) in rows.enumerate() {
            if at > 0 {
                page.out.push(b',');
            }
            write_reference(page, entity(E), row)?;
        }
        page.out.push(b']');
        Ok(())
    }
}

/// Appends an identifier in the legacy spelling as a JSON string.
pub fn write_id(entity: Entity, id: u64, out: &mut Vec<u8>) {
    out.push(b'"');
    IdFormat::LEGACY.write(entity, id, out);
    out.push(b'"');
}

/// Appends `{"id":…,"name":…}` for a row.
fn write_reference(page: &mut Page<'_>, entity: Entity, row: u32) -> Result<(), ReadError> {
    let (id, name) = page.store().reference(entity, row)?;
    page.open_object();
    page.key("\"id\":");
    match id {
        NO_ID => page.null(),
        id => write_id(entity, id, &mut page.out),
    }
    page.key("\"name\":");
    match name {
        Some(name) => json::string_of_bytes(&mut page.out, name),
        None => page.null(),
    }
    page.close_object();
    Ok(())
}

/// Appends an array of the names of rows, without rows that have no name.
fn write_names(
    page: &mut Page<'_>,
    entity: Entity,
    rows: impl Iterator<Item = u32>,
) -> Result<(), ReadError> {
    let store = page.store();
    page.out.push(b'[');
    let mut is_first = true;
    for row in rows {
        let Some(name) = store.row_name(entity, row)? else { continue };
        if !is_first {
            page.out.push(b',');
        }
        json::string(&mut page.out, name);
        is_first = false;
    }
    page.out.push(b']');
    Ok(())
}
