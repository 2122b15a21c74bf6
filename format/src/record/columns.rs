//! Takes records apart into columns: one column for each member, nested as the declaration is.
//!
//! A [`Column`] receives the values of one member, record after record. The caller makes a tree of
//! columns from the schema of a record, and [`fill`] walks the archived record and the tree together.
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

use rkyv::{
    option::ArchivedOption,
    primitive::{ArchivedF64, ArchivedI32, ArchivedI64, ArchivedU64},
    string::ArchivedString,
    vec::ArchivedVec,
};

use crate::entity::{Entity, NO_ID};
use crate::json::render::Page;
use crate::record::value::{
    ArchivedAnyRef, ArchivedCode, ArchivedDate, ArchivedId, ArchivedJson, ArchivedLongText,
    ArchivedNamed, ArchivedOrcid, ArchivedParentRef, ArchivedRef, ArchivedTimestamp,
    ArchivedUtcTimestamp, entity,
};
use crate::record::{ArchivedAuthorOrcid, ArchivedYearPrices};
use crate::storage::error::ReadError;

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

/// Archived values that can be put into columns.
pub trait Columns {
    /// Puts the value into a column that is not skipped. The page gives names, codes and long texts.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged. The column then has an incomplete record.
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError>;
}

/// Puts a value into a column, unless the column is skipped.
///
/// # Errors
///
/// As [`Columns::put`].
pub fn fill<C: Column>(
    value: &impl Columns,
    column: &mut C,
    page: &mut Page<'_>,
) -> Result<(), ReadError> {
    if column.is_skipped() {
        return Ok(());
    }
    value.put(column, page)
}

/// Implements [`Columns`] for leaf values.
macro_rules! leaves {
    ($([$($parameter:tt)*] $type:ty, |$value:ident, $column:ident| $put:expr;)*) => {
        $(impl<$($parameter)*> Columns for $type {
            fn put<C: Column>(&self, $column: &mut C, _: &mut Page<'_>) -> Result<(), ReadError> {
                let $value = self;
                $put;
                Ok(())
            }
        })*
    };
}

leaves! {
    [] bool, |value, column| column.boolean(*value);
    [] ArchivedI32, |value, column| column.integer(i64::from(value.to_native()));
    [] ArchivedI64, |value, column| column.integer(value.to_native());
    // Counts are at most 2^53 - 1.
    [] ArchivedU64, |value, column| column.integer(i64::try_from(value.to_native()).unwrap_or(i64::MAX));
    [] ArchivedF64, |value, column| column.number(value.to_native());
    [] ArchivedString, |value, column| column.text("", value.as_bytes());
    [] ArchivedJson, |value, column| column.text("", value.0.as_bytes());
    [] ArchivedOrcid, |value, column| column.text("https://orcid.org/", value.0.as_bytes());
    [] ArchivedDate, |value, column| column.day(value.year.to_native(), value.month, value.day);
    [] ArchivedTimestamp, |value, column| column.moment(value.micros.to_native());
    [] ArchivedUtcTimestamp, |value, column| column.moment(value.micros.to_native());
    [const E: u8] ArchivedId<E>, |value, column| column.id(entity(E), value.0.to_native());
}

impl<T: Columns> Columns for ArchivedOption<T> {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        match self.as_ref() {
            Some(value) => value.put(column, page),
            None => {
                column.null();
                Ok(())
            }
        }
    }
}

impl<T: Columns> Columns for &T {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        T::put(self, column, page)
    }
}

impl<T: Columns> Columns for Option<T> {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        match self {
            Some(value) => value.put(column, page),
            None => {
                column.null();
                Ok(())
            }
        }
    }
}

impl<T: Columns> Columns for ArchivedVec<T> {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        let items = column.list(self.len()).ok_or(OTHER_MEMBERS)?;
        self.iter().try_for_each(|value| value.put(items, page))
    }
}

impl Columns for ArchivedLongText {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        let (offset, length) = (self.offset_bytes.to_native(), self.length_bytes.to_native());
        column.text("", page.long_text_bytes(offset, length)?);
        Ok(())
    }
}

impl Columns for ArchivedAnyRef {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        let entity = Entity::from_index(self.entity)
            .ok_or(ReadError::corrupt("records", "a reference names no entity"))?;
        put_id(entity, page.store().row_id(entity, self.target.to_native())?, column);
        Ok(())
    }
}

fn put_id<C: Column>(entity: Entity, id: u64, column: &mut C) {
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

fn put_reference<C: Column>(
    entity: Entity,
    row: u32,
    column: &mut C,
    page: &mut Page<'_>,
) -> Result<(), ReadError> {
    let [id_column, name_column] = pair(column)?;
    if name_column.is_skipped() {
        if !id_column.is_skipped() {
            put_id(entity, page.store().row_id(entity, row)?, id_column);
        }
        return Ok(());
    }
    let (id, name) = page.store().reference(entity, row)?;
    if !id_column.is_skipped() {
        put_id(entity, id, id_column);
    }
    put_text(name, name_column);
    Ok(())
}

impl<const E: u8> Columns for ArchivedRef<E> {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        put_reference(entity(E), self.0.to_native(), column, page)
    }
}

impl<const E: u8> Columns for ArchivedParentRef<E> {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        put_reference(entity(E), self.0.to_native(), column, page)
    }
}

impl<const E: u8> Columns for ArchivedCode<E> {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        column.text("", page.store().code(self.0.to_native())?);
        Ok(())
    }
}

impl<const E: u8> Columns for ArchivedNamed<E> {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        let code = self.0.to_native();
        let [code_column, name_column] = pair(column)?;
        if !code_column.is_skipped() {
            code_column.text("", page.store().code(code)?);
        }
        if !name_column.is_skipped() {
            put_text(page.store().code_name(code)?, name_column);
        }
        Ok(())
    }
}

impl Columns for ArchivedAuthorOrcid {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        self.0.put(column, page)
    }
}

impl Columns for ArchivedYearPrices {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        self.0.put(column, page)
    }
}
