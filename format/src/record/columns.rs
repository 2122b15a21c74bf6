//! Takes records apart into columns: one column for each member, nested as the declaration is.
//!
//! A [`Column`] receives the values of one member, record after record. The caller makes a tree of
//! columns from the schema of a record, and [`fill`] walks the packed record and the tree together.
//! Nothing is rendered and no name is compared. Values have the shape of single records, and the
//! members that no reply shows are among them.
//!
//! ```text
//! Output { id, year: Option, authors: Option<Vec<Authorship { position, @flat author: Ref }>> }
//!
//! object()                        columns of the members: id, year, authors
//!   id        id(Output, 12)
//!   year      null()
//!   authors   list(2)             column of the items
//!     object()                    columns of the members: position, author
//!       position   text("first")
//!       author     object()       columns `id` and `name`
//!     object() …
//! ```
//!
//! A walk costs one call for each value, and for each null whose parent is not null.

use crate::entity::{Entity, NO_ID};
use crate::json::record_reader::RecordReader;
use crate::json::render::JsonWriter;
use crate::record::stored::Stored;
use crate::record::{AuthorOrcid, OrcidProfile, YearPrice, YearPrices};
use crate::storage::ReadError;

/// Receiver of the values of one member, in the order of the records.
pub trait Column: Sized {
    /// Whether the caller needs no values; the walk then leaves the column and its value alone.
    fn is_skipped(&self) -> bool;

    /// The value is absent.
    fn null(&mut self);

    /// `true` or `false`.
    fn boolean(&mut self, value: bool);

    /// An integer; counts are at most 2^53 - 1.
    fn integer(&mut self, value: i64);

    /// A finite number.
    fn number(&mut self, value: f64);

    /// A text in UTF-8, with a prefix that may be empty.
    fn text(&mut self, prefix: &'static str, rest: &[u8]);

    /// An identifier.
    fn id(&mut self, entity: Entity, id: u64);

    /// A calendar day.
    fn day(&mut self, year: u16, month: u8, day: u8);

    /// A moment in UTC, in microseconds since 1970.
    fn moment(&mut self, micros: i64);

    /// Begins an object, and returns the columns of its members in the order of the declaration.
    fn object(&mut self) -> &mut [Self];

    /// Begins a list, and returns the column of its items; `None` for a column of other values.
    fn list(&mut self, length: usize) -> Option<&mut Self>;
}

/// Types of values that can be put into columns.
pub trait Columns {
    /// Reads the next value of a record and puts it into a column that is not skipped. The writer gives
    /// names, codes and long texts.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged. The column then has an incomplete record.
    fn put<C: Column>(
        from: &mut RecordReader<'_>,
        column: &mut C,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), ReadError>;
}

/// Reads the next value of a record and puts it into a column; passes over the value if the column is
/// skipped.
pub fn fill<T: Columns + Stored, C: Column>(
    from: &mut RecordReader<'_>,
    column: &mut C,
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    if column.is_skipped() { T::skip(from) } else { T::put(from, column, writer) }
}

/// Puts the value at a place into a column, unless the column is skipped.
pub fn fill_from<T: Columns, C: Column>(
    mut from: RecordReader<'_>,
    column: &mut C,
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    if column.is_skipped() { Ok(()) } else { T::put(&mut from, column, writer) }
}

/// As [`fill_from`], of a member of an object. `_member` names its type.
pub fn fill_member<T, M: Columns, C: Column>(
    _member: fn(&T) -> &M,
    from: RecordReader<'_>,
    column: &mut C,
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    fill_from::<M, C>(from, column, writer)
}

impl Columns for AuthorOrcid {
    fn put<C: Column>(
        from: &mut RecordReader<'_>,
        column: &mut C,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), ReadError> {
        OrcidProfile::put(from, column, writer)
    }
}

impl Columns for YearPrices {
    fn put<C: Column>(
        from: &mut RecordReader<'_>,
        column: &mut C,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), ReadError> {
        Vec::<YearPrice>::put(from, column, writer)
    }
}

impl<T: Columns> Columns for Option<T> {
    fn put<C: Column>(
        from: &mut RecordReader<'_>,
        column: &mut C,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), ReadError> {
        if from.flag() {
            return T::put(from, column, writer);
        }
        column.null();
        Ok(())
    }
}

impl<T: Columns> Columns for Vec<T> {
    fn put<C: Column>(
        from: &mut RecordReader<'_>,
        column: &mut C,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), ReadError> {
        let count = from.count()?;
        let items = column.list(count).ok_or(OTHER_MEMBERS)?;
        (0..count).try_for_each(|_| T::put(from, items, writer))
    }
}

pub(super) fn put_id<C: Column>(entity: Entity, id: u64, column: &mut C) {
    match id {
        NO_ID => column.null(),
        id => column.id(entity, id),
    }
}

/// Puts a text that was UTF-8 when the snapshot was written, or null.
pub(super) fn put_text<C: Column>(text: Option<&[u8]>, column: &mut C) {
    match text {
        Some(text) => column.text("", text),
        None => column.null(),
    }
}

/// The columns were made for another declaration.
pub(super) const OTHER_MEMBERS: ReadError =
    ReadError::Internal("a column is of another type than its values");

/// Begins an object of two members.
fn pair<C: Column>(column: &mut C) -> Result<&mut [C; 2], ReadError> {
    column.object().try_into().map_err(|_| OTHER_MEMBERS)
}

/// Puts the id and the name of the record in a row into a column.
pub fn put_reference<C: Column>(
    entity: Entity,
    row: u32,
    column: &mut C,
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    let [id_column, name_column] = pair(column)?;
    if name_column.is_skipped() {
        if !id_column.is_skipped() {
            put_id(entity, writer.store().row_id(entity, row)?, id_column);
        }
        return Ok(());
    }
    let (id, name) = writer.store().reference(entity, row)?;
    if !id_column.is_skipped() {
        put_id(entity, id, id_column);
    }
    put_text(name, name_column);
    Ok(())
}

pub(super) fn put_named<C: Column>(
    code: u32,
    column: &mut C,
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    let [code_column, name_column] = pair(column)?;
    if !code_column.is_skipped() {
        code_column.text("", writer.store().code(code)?);
    }
    if !name_column.is_skipped() {
        put_text(writer.store().code_name(code)?, name_column);
    }
    Ok(())
}
