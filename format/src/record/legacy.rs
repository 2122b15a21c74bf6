//! The legacy form of topics and domains: the same records with legacy member names.
//!
//! [`LEGACY`] lists the members of each entity in order: the legacy name and the current path. The
//! keys of filters and groups are derived from it by
//! [`keys_of_legacy`](crate::schema::keys::keys_of_legacy).

use crate::entity::{Entity, IdFormat, NO_ID};
use crate::json::record_reader::RecordReader;
use crate::json::render::{JsonWriter, Shape};
use crate::record::stored::Stored;
use crate::record::value::{Id, ParentRef, Ref, Timestamp, entity};
use crate::record::{Domain, TaxonomyIds, Topic};
use crate::storage::ReadError;
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
    render: fn(&[u8], &mut JsonWriter<'_>) -> Result<(), ReadError>,
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
            render: |packed, writer| {
                let record = $record::read(&mut RecordReader::new(packed)?)?;
                writer.open_object();
                $(
                    if true $(&& writer.shape() == legacy!(@$shown))? {
                        writer.key(concat!("\"", $name, "\":"));
                        record.$member$(.$below)*.render_legacy(writer)?;
                    }
                )*
                writer.close_object();
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

/// Renders the legacy form of a packed record in the shape of the writer.
///
/// # Errors
///
/// If the bytes are not a valid record, or the entity has no legacy form.
pub fn render(entity: Entity, packed: &[u8], writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
    let legacy = LEGACY
        .iter()
        .find(|legacy| legacy.entity == entity)
        .ok_or(ReadError::Internal("the entity has no legacy form"))?;
    (legacy.render)(packed, writer)
}

/// Values with a legacy form.
trait RenderLegacy {
    fn render_legacy(&self, writer: &mut JsonWriter<'_>) -> Result<(), ReadError>;
}

impl RenderLegacy for Option<String> {
    fn render_legacy(&self, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        writer.text_or_null(self.as_deref().map(str::as_bytes));
        Ok(())
    }
}

impl RenderLegacy for Option<u64> {
    fn render_legacy(&self, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        match self {
            Some(count) => json::unsigned(&mut writer.out, *count),
            None => writer.null(),
        }
        Ok(())
    }
}

impl RenderLegacy for Option<Timestamp> {
    fn render_legacy(&self, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        let Some(time) = self else {
            writer.null();
            return Ok(());
        };
        writer.out.push(b'"');
        writer.moment(time.micros, time.fraction_digits)?;
        writer.out.push(b'"');
        Ok(())
    }
}

impl RenderLegacy for Option<Vec<String>> {
    fn render_legacy(&self, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        match self {
            Some(texts) => write_texts(writer, texts.iter().map(String::as_bytes)),
            None => writer.null(),
        }
        Ok(())
    }
}

impl RenderLegacy for TaxonomyIds {
    fn render_legacy(&self, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        writer.open_object();
        writer.key("\"wikidata\":");
        self.wikidata.render_legacy(writer)?;
        writer.key("\"wikipedia\":");
        self.wikipedia.render_legacy(writer)?;
        writer.close_object();
        Ok(())
    }
}

impl<const E: u8> RenderLegacy for Id<E> {
    fn render_legacy(&self, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        write_id(entity(E), self.0, &mut writer.out);
        Ok(())
    }
}

/// A parent: `{id, name}` in single records, an array with the name in lists.
impl<const E: u8> RenderLegacy for Option<ParentRef<E>> {
    fn render_legacy(&self, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        let Some(ParentRef(row)) = *self else {
            writer.null();
            return Ok(());
        };
        match writer.shape() {
            Shape::Single => write_reference(writer, entity(E), row),
            Shape::List => write_names(writer, entity(E), [row].into_iter()),
        }
    }
}

/// Children or siblings: `{id, name}` objects in single records, names in lists.
impl<const E: u8> RenderLegacy for Option<Vec<Ref<E>>> {
    fn render_legacy(&self, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        let Some(references) = self else {
            writer.null();
            return Ok(());
        };
        let rows = references.iter().map(|reference| reference.0);
        if writer.shape() == Shape::List {
            return write_names(writer, entity(E), rows);
        }
        writer.out.push(b'[');
        for (at, row) in rows.enumerate() {
            if at > 0 {
                writer.out.push(b',');
            }
            write_reference(writer, entity(E), row)?;
        }
        writer.out.push(b']');
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
fn write_reference(writer: &mut JsonWriter<'_>, entity: Entity, row: u32) -> Result<(), ReadError> {
    let (id, name) = writer.store().reference(entity, row)?;
    writer.open_object();
    writer.key("\"id\":");
    match id {
        NO_ID => writer.null(),
        id => write_id(entity, id, &mut writer.out),
    }
    writer.key("\"name\":");
    writer.text_or_null(name);
    writer.close_object();
    Ok(())
}

/// Appends an array of the names of rows, without rows that have no name.
fn write_names(
    writer: &mut JsonWriter<'_>,
    entity: Entity,
    rows: impl Iterator<Item = u32>,
) -> Result<(), ReadError> {
    let store = writer.store();
    let names = rows.map(|row| store.row_name(entity, row)).collect::<Result<Vec<_>, _>>()?;
    write_texts(writer, names.into_iter().flatten().map(str::as_bytes));
    Ok(())
}

/// Appends an array of texts.
fn write_texts<'t>(writer: &mut JsonWriter<'_>, texts: impl Iterator<Item = &'t [u8]>) {
    json::list(&mut writer.out, texts, |text, out| json::string_of_bytes(out, text));
}
