//! The leaf values of records: identifiers, references, codes, times and long texts.
//!
//! A reference is one `u32`. In an object the number is a *symbol*: an entry of the segment's
//! table of (entity, id, name). In a snapshot the number is the *row* of the record referred to.
//! Both forms have the same layout, so the linker copies a record and replaces its numbers.

use std::mem::offset_of;

use rkyv::{
    Archive, Deserialize, Serialize,
    primitive::{ArchivedF64, ArchivedI32, ArchivedI64, ArchivedU32, ArchivedU64},
    string::ArchivedString,
    vec::ArchivedVec,
};

use crate::entity::{Entity, NO_ID};
use crate::json::location::ValueLocation;
use crate::json::render::{Page, Render};
use crate::record::schema::{Describe, Schema};
use crate::record::slot::{Slot, Slots, no_slots};
use crate::storage::error::ReadError;
use crate::text::json;

/// The first number of a [`Table`]. In symbols, smaller numbers are discriminants of [`Entity`].
pub const TABLE_FIRST: u8 = 64;

macro_rules! tables {
    ($first:ident $first_name:literal, $($table:ident $name:literal,)*) => {
        /// The tables of codes. A code is referred to like a record, with its table in place of
        /// the entity.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Table {
            $first = TABLE_FIRST,
            $($table,)*
        }

        /// The tables in the order of their numbers, which start at [`TABLE_FIRST`].
        const TABLES: [Table; TABLE_NAMES.len()] = [Table::$first, $(Table::$table,)*];

        /// The names of the tables in the order of their numbers, which start at [`TABLE_FIRST`].
        pub const TABLE_NAMES: [&str; [$first_name, $($name,)*].len()] = [$first_name, $($name,)*];
    };
}

tables! {
    Country "country",
    Language "language",
    OutputType "output type",
    SourceType "source type",
    InstitutionType "institution type",
    License "licence",
    Version "version",
    OaStatus "oa_status",
    Index "indexed_in",
    AuthorPosition "author_position",
    Currency "currency",
    Provenance "provenance",
    Relationship "relationship",
    Role "role",
}

/// The number of an absent code.
pub const NO_CODE: u32 = u32::MAX;

no_slots!(
    ArchivedLongText,
    ArchivedTimestamp,
    ArchivedUtcTimestamp,
    ArchivedDate,
    ArchivedOrcid,
    ArchivedJson,
);

/// The entity whose discriminant is a const parameter.
pub(crate) const fn entity(index: u8) -> Entity {
    crate::entity::CATALOG[index as usize].entity
}

/// A record's own identifier.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub struct Id<const E: u8>(pub u64);

impl<const E: u8> Describe for Id<E> {
    fn schema() -> Schema {
        Schema::Id(entity(E))
    }
}

impl<const E: u8> Slots for ArchivedId<E> {
    fn slots<'a>(&'a self, _: &mut impl FnMut(Slot<&'a ArchivedU32>)) {}
}

impl<const E: u8> Render for ArchivedId<E> {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.id(entity(E), at.u64()?);
        Ok(())
    }
}

/// Types that are one number: a symbol in an object, a row in a snapshot.
macro_rules! target {
    ($(#[$doc:meta])* $name:ident, $archived:ident, $schema:expr) => {
        $(#[$doc])*
        #[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name<const E: u8>(pub u32);

        impl<const E: u8> Describe for $name<E> {
            fn schema() -> Schema {
                $schema
            }
        }

        impl<const E: u8> Slots for $archived<E> {
            fn slots<'a>(&'a self, visit: &mut impl FnMut(Slot<&'a ArchivedU32>)) {
                visit(Slot::Target(&self.0));
            }
        }
    };
}

target!(
    /// A reference to a record of entity `E`, rendered as `id` and `name`.
    Ref,
    ArchivedRef,
    Schema::Reference(entity(E))
);
target!(
    /// A reference from child to parent in the taxonomy, its `id` a string.
    ParentRef,
    ArchivedParentRef,
    Schema::ParentReference(entity(E))
);
target!(
    /// A code of table `E`, rendered as its text.
    Code,
    ArchivedCode,
    Schema::Code(table(E))
);
target!(
    /// A code of table `E`, rendered as `{code, name}`.
    Named,
    ArchivedNamed,
    Schema::NamedCode(table(E))
);

/// The table whose number is a const parameter. Panics on a wrong number, in the first test that
/// makes a schema.
fn table(number: u8) -> Table {
    TABLES[usize::from(number - TABLE_FIRST)]
}

impl<const E: u8> ArchivedRef<E> {
    /// Writes the members `id` and `name` into the object that was begun.
    ///
    /// # Errors
    ///
    /// If the row does not exist or its bytes are damaged.
    pub fn render_members(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.reference(entity(E), at.u32()?, false)
    }
}

impl<const E: u8> Render for ArchivedRef<E> {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let object = page.begin_object();
        Self::render_members(at, page)?;
        page.end_object(object);
        Ok(())
    }
}

impl<const E: u8> Render for ArchivedParentRef<E> {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let object = page.begin_object();
        page.reference(entity(E), at.u32()?, true)?;
        page.end_object(object);
        Ok(())
    }
}

impl<const E: u8> Render for ArchivedCode<E> {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.code(at.u32()?)
    }
}

impl<const E: u8> Render for ArchivedNamed<E> {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let code = at.u32()?;
        let object = page.begin_object();
        page.member(",\"code\":");
        page.code(code)?;
        page.member(",\"name\":");
        page.code_name(code)?;
        page.end_object(object);
        Ok(())
    }
}

/// A reference to a record of any entity, rendered as the identifier alone.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub struct AnyRef {
    /// Discriminant of the [`Entity`].
    pub entity: u8,
    /// The symbol in an object, the row in a snapshot.
    pub target: u32,
}

impl Describe for AnyRef {
    fn schema() -> Schema {
        Schema::AnyReference
    }
}

impl Slots for ArchivedAnyRef {
    fn slots<'a>(&'a self, visit: &mut impl FnMut(Slot<&'a ArchivedU32>)) {
        visit(Slot::Target(&self.target));
    }
}

impl Render for ArchivedAnyRef {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let entity = Entity::from_index(at.member(offset_of!(ArchivedAnyRef, entity)).u8()?)
            .ok_or(ReadError::corrupt("records", "a reference names no entity"))?;
        let row = at.member(offset_of!(ArchivedAnyRef, target)).u32()?;
        let id = page.store().row_id(entity, row)?;
        if id == NO_ID {
            page.null()
        } else {
            page.id_text(entity, id)
        }
        Ok(())
    }
}

/// A long text: a range of the record's compressed pool.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub struct LongText {
    /// Offset in the uncompressed pool, in bytes.
    pub offset_bytes: u32,
    /// Length in bytes.
    pub length_bytes: u32,
}

impl Describe for LongText {
    fn schema() -> Schema {
        Schema::LongText
    }
}

impl Render for ArchivedLongText {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let offset = at.member(offset_of!(ArchivedLongText, offset_bytes)).u32()?;
        page.long_text(offset, at.member(offset_of!(ArchivedLongText, length_bytes)).u32()?)
    }
}

/// A calendar day, without a time zone.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

impl Describe for Date {
    fn schema() -> Schema {
        Schema::Date
    }
}

impl Render for ArchivedDate {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let year = at.member(offset_of!(ArchivedDate, year)).bytes().map(u16::from_le_bytes)?;
        let month = at.member(offset_of!(ArchivedDate, month)).u8()?;
        let day = at.member(offset_of!(ArchivedDate, day)).u8()?;
        page.out.push(b'"');
        page.day(year, month, day);
        page.out.push(b'"');
        Ok(())
    }
}

/// A moment in UTC, with the 0 to 6 digits of the second's fraction that the dump gave.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub struct Timestamp {
    /// Microseconds since 1970-01-01T00:00:00.
    pub micros: i64,
    /// Number of digits of the fraction to render, 0 to 6.
    pub fraction_digits: u8,
}

impl Describe for Timestamp {
    fn schema() -> Schema {
        Schema::Timestamp
    }
}

impl Render for ArchivedTimestamp {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let micros = at.member(offset_of!(ArchivedTimestamp, micros)).i64()?;
        let digits = at.member(offset_of!(ArchivedTimestamp, fraction_digits)).u8()?;
        page.out.push(b'"');
        page.moment(micros, digits)?;
        page.out.push(b'"');
        Ok(())
    }
}

/// A moment in UTC, rendered with milliseconds and `Z`.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub struct UtcTimestamp {
    /// Microseconds since 1970-01-01T00:00:00Z.
    pub micros: i64,
}

impl UtcTimestamp {
    /// The moment rounded down to milliseconds.
    pub fn from_micros(micros: i64) -> UtcTimestamp {
        UtcTimestamp { micros: micros - micros.rem_euclid(1_000) }
    }
}

impl Describe for UtcTimestamp {
    fn schema() -> Schema {
        Schema::UtcTimestamp
    }
}

impl Render for ArchivedUtcTimestamp {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.out.push(b'"');
        page.moment(at.i64()?, 3)?;
        page.out.extend_from_slice(b"Z\"");
        Ok(())
    }
}

/// An ORCID iD, stored bare and rendered as a URL.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Orcid(pub String);

impl Describe for Orcid {
    fn schema() -> Schema {
        Schema::OrcidUrl
    }
}

impl Render for ArchivedOrcid {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.orcid_url(at)
    }
}

/// A JSON object with arbitrary members, stored as canonical text.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Json(pub String);

impl Describe for Json {
    fn schema() -> Schema {
        Schema::Json
    }
}

impl Render for ArchivedJson {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let text = page.text_of(at)?;
        page.out.extend_from_slice(text);
        Ok(())
    }
}

/// Renders a value in one shape in single records and in another in lists.
macro_rules! by_shape {
    ($archived:ident, |$at:ident, $page:ident| single $single:expr, list $list:expr) => {
        impl Render for $archived {
            fn render_at($at: ValueLocation<'_>, $page: &mut Page<'_>) -> Result<(), ReadError> {
                match $page.shape() {
                    Shape::Single => $single,
                    Shape::List => $list,
                }
            }
        }
    };
}
pub(super) use by_shape;

/// Renders numbers as themselves.
macro_rules! plain {
    ($($type:ty, |$bytes:ident, $out:ident| $write:expr;)*) => {
        $(impl Render for $type {
            #[inline]
            fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
                let ($bytes, $out) = (at.bytes()?, &mut page.out);
                $write;
                Ok(())
            }
        })*
    };
}

plain! {
    ArchivedI32, |bytes, out| json::signed(out, i64::from(i32::from_le_bytes(bytes)));
    ArchivedI64, |bytes, out| json::signed(out, i64::from_le_bytes(bytes));
    ArchivedU64, |bytes, out| json::unsigned(out, u64::from_le_bytes(bytes));
    ArchivedF64, |bytes, out| json::number(out, f64::from_le_bytes(bytes));
}

impl Render for ArchivedString {
    #[inline]
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.text_at(at)
    }
}

impl Render for bool {
    #[inline]
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.out.extend_from_slice(if at.bool()? { b"true" } else { b"false" });
        Ok(())
    }

    fn is_absent_at(at: ValueLocation<'_>) -> Result<bool, ReadError> {
        Ok(!at.bool()?)
    }
}

impl<T: Render> Render for rkyv::option::ArchivedOption<T> {
    #[inline]
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.nullable(at, T::render_at)
    }

    fn is_absent_at(at: ValueLocation<'_>) -> Result<bool, ReadError> {
        Ok(at.nullable()?.is_none())
    }
}

impl<T: Render> Render for ArchivedVec<T> {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let open = page.out.len();
        for element in page.list_of::<T>(at)? {
            page.out.push(b',');
            T::render_at(element, page)?;
        }
        // The first comma becomes the bracket.
        match page.out.get_mut(open) {
            Some(comma) => *comma = b'[',
            None => page.out.push(b'['),
        }
        page.out.push(b']');
        Ok(())
    }
}
