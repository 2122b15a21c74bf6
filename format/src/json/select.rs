//! Writes selected members of records, for GraphQL and for `select`.
//!
//! A [`MemberSelection`] names members by their index in the declaration, in the order of the output; it
//! is built once per request, so that no name is compared while records are written. Records have
//! the shape of the writer. The caller implements [`Resolver`]: it limits the cost of a
//! selection and writes values that are not in the record.

use crate::entity::Entity;
use crate::json::record_reader::RecordReader;
use crate::json::render::JsonWriter;
use crate::storage::ReadError;

/// The members to write of an object, in the order of the output; empty for values without members.
#[derive(Clone, Debug, Default)]
pub struct MemberSelection(pub Vec<Selected>);

/// One member of the output.
#[derive(Clone, Debug)]
pub struct Selected {
    /// Name in the output, with quotes and colon.
    pub key: Box<str>,
    /// The value to write.
    pub value: SelectedValue,
}

/// The value of one member of the output.
#[derive(Clone, Debug)]
pub enum SelectedValue {
    /// A fixed JSON text.
    Constant(Box<str>),
    /// The member with this index in the declaration.
    Member(usize, MemberSelection),
    /// A value inside the flat member with this index.
    Flat(usize, Box<SelectedValue>),
    /// The id of the record referred to.
    Id,
    /// The name of the record referred to, or of a code.
    Name,
    /// The text of a code.
    Code,
    /// The record referred to; `null` if the reference is unresolved or suppressed.
    Record(MemberSelection),
    /// A value of the record that the [`Resolver`] writes, by the resolver's own number.
    Resolved(usize),
}

/// The reason a selection was not written completely.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// The snapshot is damaged, or the selection does not fit the record.
    #[error(transparent)]
    Damaged(#[from] ReadError),
    /// The resolver refused to continue; it knows the reason.
    #[error("cancelled by the caller")]
    Cancelled,
}

/// A step from a value of the output into a value below it.
#[derive(Clone, Copy, Debug)]
pub enum PathStep<'k> {
    /// Into the member with this key, written with quotes and colon.
    Field(&'k str),
    /// Into the list item with this index.
    Item(usize),
}

/// The caller's side of a selection: limits, the path of the output, and values that are not in the record.
pub trait Resolver {
    /// Called before a value below the current value is written. When a selection is cancelled, the writer
    /// leaves no further value, so the caller's path still leads to the last one.
    fn enter(&mut self, step: PathStep<'_>);

    /// Called after the value that was entered last is written.
    fn leave(&mut self);

    /// Called before a record is read; `out_bytes` is the size of the output so far.
    ///
    /// # Errors
    ///
    /// [`SelectError::Cancelled`] if a limit is exceeded.
    fn before_record(&mut self, out_bytes: usize) -> Result<(), SelectError>;

    /// Called after an object or array is written; `out_bytes` is the size of the output so far.
    fn check_size(&mut self, out_bytes: usize) -> Result<(), SelectError>;

    /// Writes the value `number` of the record with this entity and row.
    ///
    /// # Errors
    ///
    /// As [`Resolver::before_record`], and if the snapshot is damaged.
    fn write_resolved(
        &mut self,
        number: usize,
        entity: Entity,
        row: u32,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), SelectError>;
}

/// Writes selections to a writer.
pub struct SelectionWriter<'a, 's> {
    /// The writer that receives the JSON text.
    pub json: &'a mut JsonWriter<'s>,
    /// The caller's side.
    pub resolver: &'a mut dyn Resolver,
}

/// Types of values that selections can be taken of.
pub trait Select {
    /// Reads the next value of a record and writes the selected members as an object; a value without
    /// members is written whole.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged or the resolver cancels; the output is then incomplete JSON.
    fn select(
        from: &mut RecordReader<'_>,
        selection: &MemberSelection,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError>;

    /// Reads an object and writes one selected value of the object.
    ///
    /// # Errors
    ///
    /// As [`Select::select`], and if the object has no such value.
    fn select_value(
        _: &mut RecordReader<'_>,
        _: &SelectedValue,
        _: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        Err(NO_MEMBERS.into())
    }
}

/// The selection was made for another declaration.
pub(crate) const NO_MEMBERS: ReadError =
    ReadError::Internal("a selected member has no members of its own");

impl SelectionWriter<'_, '_> {
    /// Writes an object with the selected members, each by `write`.
    pub(crate) fn object(
        &mut self,
        selection: &MemberSelection,
        mut write: impl FnMut(&SelectedValue, &mut Self) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        self.json.open_object();
        for selected in &selection.0 {
            self.json.key(&selected.key);
            self.resolver.enter(PathStep::Field(&selected.key));
            write(&selected.value, self)?;
            self.resolver.leave();
        }
        self.json.close_object();
        self.resolver.check_size(self.json.out.len())
    }
}

impl<T: Select> Select for Option<T> {
    fn select(
        from: &mut RecordReader<'_>,
        selection: &MemberSelection,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        if from.flag() {
            return T::select(from, selection, writer);
        }
        writer.json.null();
        Ok(())
    }
}

impl<T: Select> Select for Vec<T> {
    fn select(
        from: &mut RecordReader<'_>,
        selection: &MemberSelection,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        writer.json.out.push(b'[');
        for at in 0..from.count()? {
            if at > 0 {
                writer.json.out.push(b',');
            }
            writer.resolver.enter(PathStep::Item(at));
            T::select(from, selection, writer)?;
            writer.resolver.leave();
        }
        writer.json.out.push(b']');
        writer.resolver.check_size(writer.json.out.len())
    }
}
