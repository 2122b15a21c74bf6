//! The leaf values of records: identifiers, references, codes, times and long texts.
//!
//! A reference is one `u32`. In an object the number is a *symbol*: an entry of the segment's
//! table of (entity, id, name). In a snapshot the number is the *row* of the record referred to.
//! Both forms are packed alike, so the linker copies a record and replaces its numbers.

use crate::entity::Entity;
use crate::json::record_reader::{RecordReader, utf8};
use crate::json::render::{JsonWriter, Render};
use crate::record::slot::{Slot, SlotNumber};
use crate::record::stored::{Stored, leaves};
use crate::record::writer::RecordWriter;
use crate::storage::ReadError;

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
    CrossrefType "Crossref type",
    RawType "raw type",
    FulltextOrigin "origin of a full text",
    FundingType "type of an award",
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

leaves! {
    [const E: u8] Id<E>, number, |found| Id(found), |value, to| to.number(value.0);
}

/// Types that are one number: a symbol in an object, a row or code in a snapshot.
macro_rules! target {
    ($(#[$doc:meta])* $name:ident, $kind:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name<const E: u8>(pub u32);

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
    (@write code $self:ident, $to:ident) => { $to.code($self.0) };
    (@slot reference $number:ident, $entity:ident) => { Slot::Reference(entity($entity), $number) };
    (@slot code $number:ident, $table:ident) => { Slot::Code($number) };
}

target!(
    /// A reference to a record of entity `E`, rendered as `id` and `name`.
    Ref,
    reference
);
target!(
    /// A reference from child to parent in the taxonomy, its `id` a string.
    ParentRef,
    reference
);
target!(
    /// A code of table `E`, rendered as its text.
    Code,
    code
);
target!(
    /// A code of table `E`, rendered as `{code, name}`.
    Named,
    code
);

/// The table whose number is a const parameter. Panics on a wrong number, in the first test that
/// makes a schema.
pub(crate) fn table(number: u8) -> Table {
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
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), ReadError> {
        writer.reference(entity(E), from.reference()?, false)
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

/// A long text: a range of the record's compressed pool.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LongText {
    /// Offset in the uncompressed pool, in bytes.
    pub offset_bytes: u32,
    /// Length in bytes.
    pub length_bytes: u32,
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

/// The name, as printed, of the record that the reference before it leads to: null beside a suppressed record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PrintedName<const E: u8>(pub LongText);

impl<const E: u8> Stored for PrintedName<E> {
    fn write(&self, to: &mut RecordWriter) {
        self.0.write(to);
    }

    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
        LongText::read(from).map(PrintedName)
    }

    fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError> {
        LongText::skip(from)
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

leaves! {
    [] Date, day, |found| Date { year: found.0, month: found.1, day: found.2 },
        |date, to| to.day(date.year, date.month, date.day);
    [] Timestamp, moment, |found| Timestamp { micros: found.0, fraction_digits: found.1 },
        |time, to| to.moment(time.micros, time.fraction_digits);
    [] UtcTimestamp, signed, |micros| UtcTimestamp { micros }, |time, to| to.signed(time.micros);
    [] Orcid, text, |found| Orcid(utf8(found)?.to_owned()), |orcid, to| to.text(&orcid.0);
    [] Json, text, |found| Json(utf8(found)?.to_owned()), |json, to| to.text(&json.0);
}

/// A moment in UTC, with the 0 to 6 digits of the second's fraction that the dump gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timestamp {
    /// Microseconds since 1970-01-01T00:00:00.
    pub micros: i64,
    /// Number of digits of the fraction to render, 0 to 6.
    pub fraction_digits: u8,
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

/// An ORCID iD, stored bare and rendered as a URL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Orcid(pub String);

/// A JSON object with arbitrary members, stored as canonical text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Json(pub String);

/// Renders a value in one shape in single records and in another in lists.
macro_rules! by_shape {
    ($type:ident, |$from:ident, $writer:ident| single $single:expr, list $list:expr) => {
        impl Render for $type {
            fn render(
                $from: &mut RecordReader<'_>,
                $writer: &mut JsonWriter<'_>,
            ) -> Result<(), ReadError> {
                match $writer.shape() {
                    Shape::Single => $single,
                    Shape::List => $list,
                }
            }
        }
    };
}
pub(super) use by_shape;

impl<T: Render> Render for Option<T> {
    #[inline]
    fn render(from: &mut RecordReader<'_>, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        if from.flag() {
            return T::render(from, writer);
        }
        writer.null();
        Ok(())
    }
}

impl<T: Render> Render for Vec<T> {
    fn render(from: &mut RecordReader<'_>, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        let open = writer.out.len();
        for _ in 0..from.count()? {
            writer.out.push(b',');
            T::render(from, writer)?;
        }
        // The first comma becomes the bracket.
        match writer.out.get_mut(open) {
            Some(comma) => *comma = b'[',
            None => writer.out.push(b'['),
        }
        writer.out.push(b']');
        Ok(())
    }
}
