//! Writes selected members of records, for GraphQL.
//!
//! A caller computes a [`Selection`] once, from the declarations; writing compares no names. The caller
//! also limits the work: the writer reports every record before reading it, and the growth of the text, to
//! the caller's [`Resolver`], which may stop the writer.

use rkyv::vec::ArchivedVec;

use crate::entity::Entity;
use crate::json::render::Page;
use crate::storage::error::ReadError;

/// The members to write of an object, in the order of the output; empty for values without members.
#[derive(Clone, Debug, Default)]
pub struct Selection(pub Vec<Selected>);

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
    Member(usize, Selection),
    /// A value inside the flat member with this index.
    Flat(usize, Box<SelectedValue>),
    /// The id of the record referred to.
    Id,
    /// The name of the record referred to, or of a code.
    Name,
    /// The text of a code.
    Code,
    /// The record referred to; `null` if the reference is unresolved or suppressed.
    Record(Selection),
    /// A value of the record that the [`Resolver`] writes, by the resolver's own number.
    Resolved(usize),
}

/// The reason a selection was not written completely.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// The snapshot is damaged, or the selection does not fit the record.
    #[error(transparent)]
    Damaged(#[from] ReadError),
    /// The resolver stopped the writer.
    #[error("cancelled by the caller")]
    Stopped,
}

/// A step from a value into a value below it.
#[derive(Clone, Copy, Debug)]
pub enum PathStep<'k> {
    /// Into the member with this key, written as JSON with its quotes and colon.
    Field(&'k str),
    /// Into the list item with this index.
    Item(usize),
}

/// The caller of a [`SelectionWriter`]: limits its work, follows its path, and writes related records.
pub trait Resolver {
    /// The writer enters a value. The resolver's path stays at the value where writing stopped.
    fn enter(&mut self, step: PathStep<'_>);

    /// The writer leaves the value that it entered last.
    fn leave(&mut self);

    /// The writer is about to read a record, and has written this number of bytes.
    ///
    /// # Errors
    ///
    /// [`SelectError::Stopped`] past a limit of the caller.
    fn begin_record(&mut self, out_bytes: usize) -> Result<(), SelectError>;

    /// The writer has written this number of bytes.
    ///
    /// # Errors
    ///
    /// [`SelectError::Stopped`] past a limit of the caller.
    fn check_size(&mut self, out_bytes: usize) -> Result<(), SelectError>;

    /// Appends the value of [`Part::Question`] with this number, for the record in a row.
    ///
    /// # Errors
    ///
    /// [`SelectError::Stopped`] past a limit of the caller; [`SelectError::Damaged`] for a damaged snapshot.
    fn write_related(
        &mut self,
        number: usize,
        of: (Entity, u32),
        page: &mut Page<'_>,
    ) -> Result<(), SelectError>;
}

/// Writes the selected members of records as JSON.
pub struct SelectionWriter<'a, 's> {
    /// The buffer, and the snapshot of the records.
    pub page: &'a mut Page<'s>,
    /// The caller.
    pub resolver: &'a mut dyn Resolver,
}

/// Archived values that selections can be taken of.
pub trait Select {
    /// Writes an object with the selected members.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged or the resolver cancels; the output is then incomplete JSON.
    fn select(
        &self,
        selection: &Selection,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        writer.page.open_object();
        for selected in &selection.0 {
            writer.page.key(&selected.key);
            writer.resolver.enter(PathStep::Field(&selected.key));
            self.part(&selected.part, writer)?;
            writer.resolver.leave();
        }
        writer.page.close_object();
        writer.resolver.check_size(writer.page.out.len())
    }

    /// Writes one selected value of an object.
    ///
    /// # Errors
    ///
    /// As [`Select::select`], and where the value has no such part.
    fn part(&self, _: &Part, _: &mut SelectionWriter<'_, '_>) -> Result<(), SelectError> {
        Err(ReadError::Internal("a selected member has no members of its own").into())
    }
}

impl<T: Select> Select for rkyv::option::ArchivedOption<T> {
    fn select(
        &self,
        selection: &Selection,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        match self.as_ref() {
            Some(value) => value.select(selection, writer),
            None => {
                writer.page.null();
                Ok(())
            }
        }
    }
}

impl<T: Select> Select for Option<T> {
    fn select(
        &self,
        selection: &Selection,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        match self {
            Some(value) => value.select(selection, writer),
            None => {
                writer.page.null();
                Ok(())
            }
        }
    }
}

impl<T: Select> Select for ArchivedVec<T> {
    fn select(
        &self,
        selection: &Selection,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        writer.page.out.push(b'[');
        for (at, value) in self.iter().enumerate() {
            if at > 0 {
                writer.page.out.push(b',');
            }
            writer.resolver.enter(PathStep::Item(at));
            value.select(selection, writer)?;
            writer.resolver.leave();
        }
        writer.page.out.push(b']');
        writer.resolver.check_size(writer.page.out.len())
    }
}
