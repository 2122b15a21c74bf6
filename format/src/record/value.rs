//! The leaf values of records: identifiers, references, codes, times and long texts.
//!
//! A reference is one `u32`. In an object the number is a *symbol*: an entry of the segment's
//! table of (entity, id, name). In a snapshot the number is the *row* of the record referred to.
//! Both forms are packed alike, so the linker copies a record and replaces its numbers.

use crate::entity::{Entity, NO_ID};
use crate::json::record_reader::RecordReader;
use crate::json::render::{Page, Render};
use crate::record::schema::{Describe, Schema};
use crate::record::slot::{Slot, SlotNumber};
use crate::record::stored::{Stored, leaves};
use crate::record::writer::RecordWriter;
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

/// The entity whose discriminant is a const parameter.
pub(crate) const fn entity(index: u8) -> Entity {
    crate::entity::CATALOG[index as usize].entity
}

/// A record's own identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Id<const E: u8>(pub u64);

impl<const E: u8> Describe for Id<E> {
    fn schema() -> Schema {
        Schema::Id(entity(E))
    }
}

leaves! {
    [const E: u8] Id<E>, number, |found| Id(found), |value, to| to.number(value.0);
}

impl<const E: u8> Render for Id<E> {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.id(entity(E), from.number()?);
        Ok(())
    }
}

/// Types that are one number: a symbol in an object, a row or code in a snapshot.
macro_rules! target {
    ($(#[$doc:meta])* $name:ident, $kind:ident, $schema:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name<const E: u8>(pub u32);

        impl<const E: u8> Describe for $name<E> {
            fn schema() -> Schema {
                $schema
            }
        }

        impl<const E: u8> Stored for $name<E> {
            fn write(&self, to: &mut RecordWriter) {
                target!(@write $kind self, to);
            }

            fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
                from.$kind().map($name)
            }

            #[inline]
            fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError> {
                from.$kind().map(|_| ())
            }

            fn slots(
                from: &mut RecordReader<'_>,
                visit: &mut dyn FnMut(Slot<SlotNumber>),
            ) -> Result<(), ReadError> {
                let number = SlotNumber::$kind(from)?;
                visit(target!(@slot $kind number, E));
                Ok(())
            }
        }
    };
    (@write reference $self:ident, $to:ident) => { $to.reference($self.0) };
    (@write code $self:ident, $to:ident) => { $to.number($self.0.into()) };
    (@slot reference $number:ident, $entity:ident) => { Slot::Reference(entity($entity), $number) };
    (@slot code $number:ident, $table:ident) => { Slot::Code($number) };
}

target!(
    /// A reference to a record of entity `E`, rendered as `id` and `name`.
    Ref,
    reference,
    Schema::Reference(entity(E))
);
target!(
    /// A reference from child to parent in the taxonomy, its `id` a string.
    ParentRef,
    reference,
    Schema::ParentReference(entity(E))
);
target!(
    /// A code of table `E`, rendered as its text.
    Code,
    code,
    Schema::Code(table(E))
);
target!(
    /// A code of table `E`, rendered as `{code, name}`.
    Named,
    code,
    Schema::NamedCode(table(E))
);

/// The table whose number is a const parameter. Panics on a wrong number, in the first test that
/// makes a schema.
fn table(number: u8) -> Table {
    TABLES[usize::from(number - TABLE_FIRST)]
}

impl<const E: u8> Ref<E> {
    /// Writes the members `id` and `name` into the object that was begun.
    ///
    /// # Errors
    ///
    /// If the row does not exist or its bytes are damaged.
    pub fn render_members(
        from: &mut RecordReader<'_>,
        page: &mut Page<'_>,
    ) -> Result<(), ReadError> {
        page.reference(entity(E), from.reference()?, false)
    }
}

impl<const E: u8> Render for Ref<E> {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let object = page.begin_object();
        Self::render_members(from, page)?;
        page.end_object(object);
        Ok(())
    }
}

impl<const E: u8> Render for ParentRef<E> {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let object = page.begin_object();
        page.reference(entity(E), from.reference()?, true)?;
        page.end_object(object);
        Ok(())
    }
}

impl<const E: u8> Render for Code<E> {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.code(from.code()?)
    }
}

impl<const E: u8> Render for Named<E> {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let code = from.code()?;
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

const NO_ENTITY: ReadError = ReadError::corrupt("records", "a reference names no entity");

impl Stored for AnyRef {
    fn write(&self, to: &mut RecordWriter) {
        to.byte(self.entity);
        to.reference(self.target);
    }

    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
        Ok(AnyRef { entity: from.byte()?, target: from.reference()? })
    }

    fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError> {
        Self::read(from).map(|_| ())
    }

    fn slots(
        from: &mut RecordReader<'_>,
        visit: &mut dyn FnMut(Slot<SlotNumber>),
    ) -> Result<(), ReadError> {
        let entity = Entity::from_index(from.byte()?).ok_or(NO_ENTITY)?;
        visit(Slot::Reference(entity, SlotNumber::reference(from)?));
        Ok(())
    }
}

impl AnyRef {
    /// Reads the entity and the row of the next value.
    pub(crate) fn target(from: &mut RecordReader<'_>) -> Result<(Entity, u32), ReadError> {
        let AnyRef { entity, target } = Self::read(from)?;
        Ok((Entity::from_index(entity).ok_or(NO_ENTITY)?, target))
    }
}

impl Render for AnyRef {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let (entity, row) = AnyRef::target(from)?;
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

impl LongText {
    /// Reads the offset and the length of the next value.
    pub(crate) fn range(from: &mut RecordReader<'_>) -> Result<(u32, u32), ReadError> {
        Ok((from.code()?, from.code()?))
    }
}

impl Stored for LongText {
    fn write(&self, to: &mut RecordWriter) {
        to.number(self.offset_bytes.into());
        to.number(self.length_bytes.into());
    }

    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
        let (offset_bytes, length_bytes) = LongText::range(from)?;
        Ok(LongText { offset_bytes, length_bytes })
    }

    fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError> {
        LongText::range(from).map(|_| ())
    }
}

impl Render for LongText {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let (offset, length) = LongText::range(from)?;
        page.long_text(offset, length)
    }
}

/// A calendar day, without a time zone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

leaves! {
    [] Date, day, |found| Date { year: found.0, month: found.1, day: found.2 },
        |date, to| to.day(date.year, date.month, date.day);
    [] Timestamp, moment, |found| Timestamp { micros: found.0, fraction_digits: found.1 },
        |time, to| to.moment(time.micros, time.fraction_digits);
    [] UtcTimestamp, signed, |micros| UtcTimestamp { micros }, |time, to| to.signed(time.micros);
    [] Orcid, utf8, |found| Orcid(found.to_owned()), |orcid, to| to.text(&orcid.0);
    [] Json, utf8, |found| Json(found.to_owned()), |json, to| to.text(&json.0);
}

impl Render for Date {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let (year, month, day) = from.day()?;
        page.out.push(b'"');
        page.day(year, month, day);
        page.out.push(b'"');
        Ok(())
    }
}

/// A moment in UTC, with the 0 to 6 digits of the second's fraction that the dump gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

impl Render for Timestamp {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let (micros, digits) = from.moment()?;
        page.out.push(b'"');
        page.moment(micros, digits)?;
        page.out.push(b'"');
        Ok(())
    }
}

/// A moment in UTC, rendered with milliseconds and `Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

impl Render for UtcTimestamp {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.out.push(b'"');
        page.moment(from.signed()?, 3)?;
        page.out.extend_from_slice(b"Z\"");
        Ok(())
    }
}

/// An ORCID iD, stored bare and rendered as a URL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Orcid(pub String);

impl Describe for Orcid {
    fn schema() -> Schema {
        Schema::OrcidUrl
    }
}

impl Render for Orcid {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.orcid_url(from.text()?);
        Ok(())
    }
}

/// A JSON object with arbitrary members, stored as canonical text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Json(pub String);

impl Describe for Json {
    fn schema() -> Schema {
        Schema::Json
    }
}

impl Render for Json {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.out.extend_from_slice(from.text()?);
        Ok(())
    }
}

/// Renders a value in one shape in single records and in another in lists.
macro_rules! by_shape {
    ($type:ident, |$from:ident, $page:ident| single $single:expr, list $list:expr) => {
        impl Render for $type {
            fn render($from: &mut RecordReader<'_>, $page: &mut Page<'_>) -> Result<(), ReadError> {
                match $page.shape() {
                    Shape::Single => $single,
                    Shape::List => $list,
                }
            }
        }
    };
}
pub(super) use by_shape;

/// Renders numbers and texts as themselves.
macro_rules! plain {
    ($($type:ty, $read:ident, |$value:ident, $page:ident| $write:expr;)*) => {
        $(impl Render for $type {
            #[inline]
            fn render(from: &mut RecordReader<'_>, $page: &mut Page<'_>) -> Result<(), ReadError> {
                let $value = from.$read()?;
                $write;
                Ok(())
            }
        })*
    };
}

plain! {
    i32, signed, |value, page| json::signed(&mut page.out, value);
    i64, signed, |value, page| json::signed(&mut page.out, value);
    u64, number, |value, page| json::unsigned(&mut page.out, value);
    f64, float, |value, page| json::number(&mut page.out, value);
    String, text, |value, page| page.text(value);
}

impl Render for bool {
    #[inline]
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        page.out.extend_from_slice(if from.flag() { b"true" } else { b"false" });
        Ok(())
    }
}

impl<T: Render> Render for Option<T> {
    #[inline]
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        if from.flag() {
            return T::render(from, page);
        }
        page.null();
        Ok(())
    }
}

impl<T: Render> Render for Vec<T> {
    fn render(from: &mut RecordReader<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let open = page.out.len();
        for _ in 0..from.count()? {
            page.out.push(b',');
            T::render(from, page)?;
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
