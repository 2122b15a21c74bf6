//! From an archived record to the JSON of what is asked of it: members in the order and under the
//! names they are asked for, always in the shape of a single record, and the records referred to.
//!
//! A [`Selection`] is worked out once, from the declarations; after that no name is compared. What
//! a selection may cost is not known here: whoever asks is told of every record before it is read,
//! and of how the text grows, and says when to stop ([`Beyond`]).

use rkyv::vec::ArchivedVec;

use crate::entity::Entity;
use crate::json::render::Page;
use crate::storage::error::ReadError;

/// What is asked of an object, in the order of the answer; nothing, of a value without members.
#[derive(Clone, Debug, Default)]
pub struct Selection(pub Vec<Selected>);

/// One member of an answer.
#[derive(Clone, Debug)]
pub struct Selected {
    /// What it is called, with its quotes and colon.
    pub key: Box<str>,
    /// What stands there.
    pub part: Part,
}

/// A part of an object.
#[derive(Clone, Debug)]
pub enum Part {
    /// This JSON, whatever the object is.
    Constant(Box<str>),
    /// The member in this place of the declaration.
    Member(usize, Selection),
    /// A part of the member in this place, whose members stand in the object around it.
    Flat(usize, Box<Part>),
    /// The id of the record referred to.
    Id,
    /// Its name, or that of a code.
    Name,
    /// A code.
    Code,
    /// The record referred to; `null` where there is none.
    Record(Selection),
    /// The answer to a question about the record, by the number it has with whoever asks.
    Question(usize),
}

/// Why a selection came to no end.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// The snapshot is damaged, or the selection is not one of this kind of record.
    #[error(transparent)]
    Damaged(#[from] ReadError),
    /// Whoever asks had enough, and knows why.
    #[error("stopped by whoever asked")]
    Stopped,
}

/// Whoever asks: what is beyond one record.
pub trait Beyond {
    /// A record is about to be read, and the text has so many bytes.
    ///
    /// # Errors
    ///
    /// [`SelectError::Stopped`], where that is too much.
    fn record(&mut self, out_bytes: usize) -> Result<(), SelectError>;

    /// The text has grown to so many bytes.
    ///
    /// # Errors
    ///
    /// As [`Beyond::record`].
    fn grown(&mut self, out_bytes: usize) -> Result<(), SelectError>;

    /// Appends the answer to a question about the record in a row.
    ///
    /// # Errors
    ///
    /// As [`Beyond::record`], and where the snapshot is damaged.
    fn question(
        &mut self,
        number: usize,
        of: (Entity, u32),
        page: &mut Page<'_>,
    ) -> Result<(), SelectError>;
}

/// An answer under way.
pub struct Answering<'a, 's> {
    /// Its text.
    pub page: &'a mut Page<'s>,
    /// Whoever asks.
    pub beyond: &'a mut dyn Beyond,
}

/// Archived values of which something can be asked.
pub trait Select {
    /// Appends the JSON of what is asked of the value.
    ///
    /// # Errors
    ///
    /// Where the snapshot is damaged, or whoever asks had enough; the page then holds a torn text.
    fn select(
        &self,
        selection: &Selection,
        answering: &mut Answering<'_, '_>,
    ) -> Result<(), SelectError> {
        answering.page.open_object();
        for selected in &selection.0 {
            answering.page.key(&selected.key);
            self.part(&selected.part, answering)?;
        }
        answering.page.close_object();
        answering.beyond.grown(answering.page.out.len())
    }

    /// Appends the JSON of one part of an object.
    ///
    /// # Errors
    ///
    /// As [`Select::select`], and where the value has no such part.
    fn part(&self, _: &Part, _: &mut Answering<'_, '_>) -> Result<(), SelectError> {
        Err(ReadError::Internal("a selected member has no members of its own").into())
    }
}

impl<T: Select> Select for rkyv::option::ArchivedOption<T> {
    fn select(
        &self,
        selection: &Selection,
        answering: &mut Answering<'_, '_>,
    ) -> Result<(), SelectError> {
        match self.as_ref() {
            Some(value) => value.select(selection, answering),
            None => {
                answering.page.null();
                Ok(())
            }
        }
    }
}

impl<T: Select> Select for Option<T> {
    fn select(
        &self,
        selection: &Selection,
        answering: &mut Answering<'_, '_>,
    ) -> Result<(), SelectError> {
        match self {
            Some(value) => value.select(selection, answering),
            None => {
                answering.page.null();
                Ok(())
            }
        }
    }
}

impl<T: Select> Select for ArchivedVec<T> {
    fn select(
        &self,
        selection: &Selection,
        answering: &mut Answering<'_, '_>,
    ) -> Result<(), SelectError> {
        answering.page.out.push(b'[');
        for (at, value) in self.iter().enumerate() {
            if at > 0 {
                answering.page.out.push(b',');
            }
            value.select(selection, answering)?;
        }
        answering.page.out.push(b']');
        answering.beyond.grown(answering.page.out.len())
    }
}
