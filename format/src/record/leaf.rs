//! Leaf values: the values of records that no declaration takes apart.
//!
//! A leaf type says in the table below what its schema is, and how a value is read. A value that was read is a
//! [`LeafValue`], from which JSON, selections, columns and the values of filters follow, each by one `match`. The compiler
//! inlines the read into each `match`, so that one arm is left for each type.
//!
//! The packed form of a leaf type stands beside the type (`value`), its input in [`build`](crate::record::build).

use crate::entity::{Entity, NO_ID};
use crate::json::record_reader::{RecordReader, utf8};
use crate::json::render::{JsonWriter, Render};
use crate::json::select::{
    MemberSelection, NO_MEMBERS, Select, SelectError, SelectedValue, SelectionWriter,
};
use crate::record::columns::{Column, Columns, put_id, put_named, put_reference, put_text};
use crate::record::gather::{Gather, Gathered, PathTree};
use crate::record::schema::{Describe, Schema};
use crate::record::select::{select_named, select_reference};
use crate::record::slot::read_code_or_none;
use crate::record::stored::Stored;
use crate::record::value::{
    AnyRef, Code, Date, Id, Json, LongText, NO_CODE, Named, Orcid, ParentRef, PrintedName, Ref,
    Table, Timestamp, UtcTimestamp, entity, table,
};
use crate::record::{HostName, SourceKind};
use crate::storage::ReadError;
use crate::text::json;

/// A value of a record, as it was read.
#[derive(Clone, Copy, Debug)]
pub enum LeafValue<'r> {
    /// The value is absent.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number that may be negative.
    Signed(i64),
    /// A count, at most 2^53 - 1.
    Unsigned(u64),
    /// A number, possibly fractional.
    Number(f64),
    /// A text, which may not be UTF-8 if the record is damaged.
    Text(&'r [u8]),
    /// The text of a JSON object.
    Json(&'r [u8]),
    /// An ORCID iD without its URL prefix.
    Orcid(&'r [u8]),
    /// A long text: the offset in the record's pool, and the length.
    LongText(u32, u32),
    /// A long text beside the record in a row, and null if this record is suppressed.
    PrintedName(Entity, u32, (u32, u32)),
    /// The identifier of the record.
    Id(Entity, u64),
    /// The record in a row, shown by its identifier.
    IdOf(Entity, u32),
    /// The record in a row, shown by its name.
    NameOf(Entity, u32),
    /// The record in a row, shown as `id` and `name`.
    Reference(Entity, u32),
    /// A reference whose `id` is a string.
    ParentReference(Entity, u32),
    /// A code, shown as its text.
    Code(u32),
    /// A code, shown as `{code, name}`.
    NamedCode(u32),
    /// Year, month and day.
    Day(u16, u8, u8),
    /// Microseconds since 1970, and the digits of the fraction to show.
    Moment(i64, u8),
    /// Microseconds since 1970, shown with milliseconds and `Z`.
    UtcMoment(i64),
}

/// A type of leaf values.
pub trait Leaf: Stored {
    /// The schema of the values.
    fn leaf_schema() -> Schema;

    /// Reads the next value of a record.
    fn read_leaf<'r>(from: &mut RecordReader<'r>) -> Result<LeafValue<'r>, ReadError>;
}

/// The table of leaf types: the type, its schema, and the read of a value.
macro_rules! leaves {
    ($([$($parameter:tt)*] $type:ty, $schema:expr, |$from:ident| $read:expr;)*) => {
        $(impl<$($parameter)*> Leaf for $type {
            fn leaf_schema() -> Schema {
                $schema
            }

            #[inline(always)]
            fn read_leaf<'r>($from: &mut RecordReader<'r>) -> Result<LeafValue<'r>, ReadError> {
                Ok($read)
            }
        })*
    };
}

leaves! {
    [] bool, Schema::Boolean, |from| LeafValue::Boolean(from.flag());
    [] i32, Schema::Integer { signed: true, bits: 32 }, |from| LeafValue::Signed(from.signed()?);
    [] i64, Schema::Integer { signed: true, bits: 64 }, |from| LeafValue::Signed(from.signed()?);
    [] u64, Schema::Integer { signed: false, bits: 64 }, |from| LeafValue::Unsigned(from.number()?);
    [] f64, Schema::Number, |from| LeafValue::Number(from.float()?);
    [] String, Schema::Text, |from| LeafValue::Text(from.text()?);
    [] Json, Schema::Json, |from| LeafValue::Json(from.text()?);
    [] Orcid, Schema::OrcidUrl, |from| LeafValue::Orcid(from.text()?);
    [] LongText, Schema::LongText, |from| {
        let (offset_bytes, length_bytes) = LongText::range(from)?;
        LeafValue::LongText(offset_bytes, length_bytes)
    };
    [const E: u8] PrintedName<E>, Schema::LongText, |from| {
        let row = from.last_reference();
        LeafValue::PrintedName(entity(E), row, LongText::range(from)?)
    };
    [] Date, Schema::Date, |from| {
        let (year, month, day) = from.day()?;
        LeafValue::Day(year, month, day)
    };
    [] Timestamp, Schema::Timestamp, |from| {
        let (micros, fraction_digits) = from.moment()?;
        LeafValue::Moment(micros, fraction_digits)
    };
    [] UtcTimestamp, Schema::UtcTimestamp, |from| LeafValue::UtcMoment(from.signed()?);
    [const E: u8] Id<E>, Schema::Id(entity(E)), |from| LeafValue::Id(entity(E), from.number()?);
    [const E: u8] Ref<E>, Schema::Reference(entity(E)), |from| {
        LeafValue::Reference(entity(E), from.reference()?)
    };
    [const E: u8] ParentRef<E>, Schema::ParentReference(entity(E)), |from| {
        LeafValue::ParentReference(entity(E), from.reference()?)
    };
    [] AnyRef, Schema::AnyReference, |from| {
        let (entity, row) = AnyRef::target(from)?;
        LeafValue::IdOf(entity, row)
    };
    [const T: u8] Code<T>, Schema::Code(table(T)), |from| LeafValue::Code(from.code()?);
    [const T: u8] Named<T>, Schema::NamedCode(table(T)), |from| LeafValue::NamedCode(from.code()?);
    [] SourceKind, Schema::Nullable(Box::new(Schema::Code(Table::SourceType))), |from| {
        from.reference()?;
        match read_code_or_none(from)? {
            NO_CODE => LeafValue::Null,
            code => LeafValue::Code(code),
        }
    };
    [] HostName, Schema::Nullable(Box::new(Schema::Text)), |from| HostName::shown(from)?;
}

impl<T: Leaf> Describe for T {
    fn schema() -> Schema {
        T::leaf_schema()
    }
}

impl LeafValue<'_> {
    /// Appends the JSON text.
    #[inline(always)]
    fn render(self, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        match self {
            LeafValue::Null => writer.null(),
            LeafValue::Boolean(value) => {
                writer.out.extend_from_slice(if value { b"true" } else { b"false" });
            }
            LeafValue::Signed(value) => json::signed(&mut writer.out, value),
            LeafValue::Unsigned(value) => json::unsigned(&mut writer.out, value),
            LeafValue::Number(value) => json::number(&mut writer.out, value),
            LeafValue::Text(text) => writer.text(text),
            LeafValue::Json(text) => writer.out.extend_from_slice(text),
            LeafValue::Orcid(orcid) => writer.orcid_url(orcid),
            LeafValue::LongText(offset, length) => writer.long_text(offset, length)?,
            LeafValue::PrintedName(entity, row, (offset, length)) => {
                // A placeholder keeps its id alone: the printed name would tell the name of the suppressed record.
                match writer.store().is_placeholder(entity, row)? {
                    true => writer.null(),
                    false => writer.long_text(offset, length)?,
                }
            }
            LeafValue::Id(entity, id) => writer.id(entity, id),
            LeafValue::IdOf(entity, row) => match writer.store().row_id(entity, row)? {
                NO_ID => writer.null(),
                id => writer.id_text(entity, id),
            },
            LeafValue::NameOf(entity, row) => writer.reference_name(entity, row)?,
            LeafValue::Reference(entity, row) => {
                let object = writer.begin_object();
                writer.reference(entity, row, false)?;
                writer.end_object(object);
            }
            LeafValue::ParentReference(entity, row) => {
                let object = writer.begin_object();
                writer.reference(entity, row, true)?;
                writer.end_object(object);
            }
            LeafValue::Code(code) => writer.code(code)?,
            LeafValue::NamedCode(code) => {
                let object = writer.begin_object();
                writer.member(",\"code\":");
                writer.code(code)?;
                writer.member(",\"name\":");
                writer.code_name(code)?;
                writer.end_object(object);
            }
            LeafValue::Day(year, month, day) => {
                writer.out.push(b'"');
                writer.day(year, month, day);
                writer.out.push(b'"');
            }
            LeafValue::Moment(micros, digits) => {
                writer.out.push(b'"');
                writer.moment(micros, digits)?;
                writer.out.push(b'"');
            }
            LeafValue::UtcMoment(micros) => {
                writer.out.push(b'"');
                writer.moment(micros, 3)?;
                writer.out.extend_from_slice(b"Z\"");
            }
        }
        Ok(())
    }

    /// Puts the value into a column.
    #[inline(always)]
    fn put<C: Column>(self, column: &mut C, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        match self {
            LeafValue::Null => column.null(),
            LeafValue::Boolean(value) => column.boolean(value),
            LeafValue::Signed(value) => column.integer(value),
            LeafValue::Unsigned(value) => column.integer(integer(value)),
            LeafValue::Number(value) => column.number(value),
            LeafValue::Text(text) | LeafValue::Json(text) => column.text("", text),
            LeafValue::Orcid(orcid) => column.text("https://orcid.org/", orcid),
            LeafValue::LongText(offset, length) => {
                column.text("", writer.long_text_bytes(offset, length)?);
            }
            LeafValue::PrintedName(entity, row, (offset, length)) => {
                // As in JSON, the printed name of a placeholder is left out.
                match writer.store().is_placeholder(entity, row)? {
                    true => column.null(),
                    false => column.text("", writer.long_text_bytes(offset, length)?),
                }
            }
            LeafValue::Id(entity, id) => column.id(entity, id),
            LeafValue::IdOf(entity, row) => {
                put_id(entity, writer.store().row_id(entity, row)?, column);
            }
            LeafValue::NameOf(entity, row) => {
                put_text(writer.store().row_name(entity, row)?.map(str::as_bytes), column);
            }
            LeafValue::Reference(entity, row) | LeafValue::ParentReference(entity, row) => {
                put_reference(entity, row, column, writer)?;
            }
            LeafValue::Code(code) => column.text("", writer.store().code(code)?),
            LeafValue::NamedCode(code) => put_named(code, column, writer)?,
            LeafValue::Day(year, month, day) => column.day(year, month, day),
            LeafValue::Moment(micros, _) | LeafValue::UtcMoment(micros) => column.moment(micros),
        }
        Ok(())
    }
}

impl<'r> LeafValue<'r> {
    /// The form that filters, sorts and indexes compare; `None` for null.
    #[inline(always)]
    fn gathered(self) -> Result<Option<Gathered<'r>>, ReadError> {
        Ok(Some(match self {
            LeafValue::Null => return Ok(None),
            LeafValue::Boolean(value) => Gathered::Boolean(value),
            LeafValue::Signed(value) => Gathered::Integer(value),
            LeafValue::Unsigned(value) => Gathered::Integer(integer(value)),
            LeafValue::Number(value) => Gathered::Number(value),
            LeafValue::Text(text) | LeafValue::Orcid(text) => Gathered::Text(utf8(text)?),
            LeafValue::Json(_) => Gathered::Present,
            LeafValue::LongText(offset, length) | LeafValue::PrintedName(.., (offset, length)) => {
                Gathered::LongText(offset, length)
            }
            LeafValue::Id(_, id) => Gathered::Id(id),
            LeafValue::NameOf(entity, row) => Gathered::NameOf(entity, row),
            LeafValue::IdOf(entity, row)
            | LeafValue::Reference(entity, row)
            | LeafValue::ParentReference(entity, row) => Gathered::Reference(entity, row),
            LeafValue::Code(code) | LeafValue::NamedCode(code) => Gathered::Code(code),
            LeafValue::Day(year, month, day) => {
                Gathered::Day(u32::from(year) * 10_000 + u32::from(month) * 100 + u32::from(day))
            }
            LeafValue::Moment(micros, _) | LeafValue::UtcMoment(micros) => Gathered::Moment(micros),
        }))
    }
}

/// A count as an integer. Counts are at most 2^53 - 1.
fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl<T: Leaf> Render for T {
    #[inline]
    fn render(from: &mut RecordReader<'_>, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        T::read_leaf(from)?.render(writer)
    }
}

impl<T: Leaf> Columns for T {
    fn put<C: Column>(
        from: &mut RecordReader<'_>,
        column: &mut C,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), ReadError> {
        T::read_leaf(from)?.put(column, writer)
    }
}

impl<T: Leaf> Gather for T {
    fn gather<'r>(
        from: &mut RecordReader<'r>,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'r>),
    ) -> Result<(), ReadError> {
        if let Some(gathered) = T::read_leaf(from)?.gathered()? {
            tree.ends.iter().for_each(|end| visit(*end, gathered));
        }
        Ok(())
    }
}

impl<T: Leaf> Select for T {
    fn select(
        from: &mut RecordReader<'_>,
        selection: &MemberSelection,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        match T::read_leaf(from)? {
            LeafValue::Reference(entity, row) => writer.object(selection, |value, writer| {
                select_reference(entity, row, false, value, writer)
            }),
            LeafValue::ParentReference(entity, row) => writer.object(selection, |value, writer| {
                select_reference(entity, row, true, value, writer)
            }),
            LeafValue::NamedCode(code) => {
                writer.object(selection, |value, writer| select_named(code, value, writer))
            }
            whole => Ok(whole.render(writer.json)?),
        }
    }

    fn select_value(
        from: &mut RecordReader<'_>,
        value: &SelectedValue,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        match T::read_leaf(from)? {
            LeafValue::Reference(entity, row) => {
                select_reference(entity, row, false, value, writer)
            }
            LeafValue::ParentReference(entity, row) => {
                select_reference(entity, row, true, value, writer)
            }
            LeafValue::NamedCode(code) => select_named(code, value, writer),
            _ => Err(NO_MEMBERS.into()),
        }
    }
}
