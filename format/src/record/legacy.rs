//! The older variant of topics and domains: the same records under older names.
//!
//! [`LEGACY`] is all there is to know of it: the lines of an entity say which members it shows, in
//! which order, and what each is here. Keys of filters and groups are derived from the same lines
//! by [`keys_of_legacy`](crate::schema::keys::keys_of_legacy).

use rkyv::{
    option::ArchivedOption, primitive::ArchivedU64, string::ArchivedString, vec::ArchivedVec,
};

use crate::entity::{Entity, IdFormat, NO_ID};
use crate::json::render::{Page, Render, Shape};
use crate::record::value::{ArchivedId, ArchivedParentRef, ArchivedRef, ArchivedTimestamp, entity};
use crate::record::{self, Domain, TaxonomyIds, Topic};
use crate::storage::error::ReadError;
use crate::text::json;

/// An entity the older variant serves.
#[derive(Debug)]
pub struct LegacyEntity {
    /// The entity.
    pub entity: Entity,
    /// The path of its list.
    pub route: &'static str,
    /// The members it shows, by their older names, and the paths they have here.
    pub members: &'static [(&'static str, &'static str)],
    /// The older names of those that single records alone show.
    pub singles: &'static [&'static str],
    render: fn(&[u8], &mut Page<'_>) -> Result<(), ReadError>,
}

/// Declares what the older variant shows of an entity, a line a member; `@single` where lists lack it.
macro_rules! older {
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
            singles: &[$($(older!(@named $shown $name),)?)*],
            render: |archived, page| {
                let record = record::access::<$record>(archived).ok_or(ReadError::corrupt("records", "an archived record does not validate"))?;
                page.open_object();
                $(
                    if true $(&& page.shape() == older!(@$shown))? {
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

/// The older variant.
pub static LEGACY: [LegacyEntity; 2] = [
    older! {
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
    older! {
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

/// Renders a record, given its archived bytes, in the page's shape.
///
/// # Errors
///
/// Where the bytes are no record, and where the entity has no legacy form.
pub fn render(entity: Entity, archived: &[u8], page: &mut Page<'_>) -> Result<(), ReadError> {
    let older = LEGACY
        .iter()
        .find(|older| older.entity == entity)
        .ok_or(ReadError::Internal("the entity has no legacy form"))?;
    (older.render)(archived, page)
}

/// Archived values as the older variant shows them.
trait RenderLegacy {
    fn render_legacy(&self, page: &mut Page<'_>) -> Result<(), ReadError>;
}

/// Values that look as they do now.
macro_rules! unchanged {
    ($($type:ty,)*) => {
        $(impl RenderLegacy for $type {
            fn render_legacy(&self, page: &mut Page<'_>) -> Result<(), ReadError> {
                self.render(page)
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

/// A parent: in lists its name, alone in an array.
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

/// Children or siblings: in lists their names.
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

/// Appends an identifier as a JSON string.
pub fn write_id(entity: Entity, id: u64, out: &mut Vec<u8>) {
    out.push(b'"');
    IdFormat::LEGACY.write(entity, id, out);
    out.push(b'"');
}

/// Appends `{id, name}` of the record in a row.
fn write_reference(page: &mut Page<'_>, entity: Entity, row: u32) -> Result<(), ReadError> {
    let store = page.store();
    page.open_object();
    page.key("\"id\":");
    match store.row_id(entity, row)? {
        NO_ID => page.null(),
        id => write_id(entity, id, &mut page.out),
    }
    page.key("\"name\":");
    match store.row_name(entity, row)? {
        Some(name) => json::string(&mut page.out, name),
        None => page.null(),
    }
    page.close_object();
    Ok(())
}

/// Appends the names of the records in rows; a list drops what has none.
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
