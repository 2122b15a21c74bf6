//! Walks over the terms and the forms of a full-text index.

use std::borrow::Cow;

use crate::index::full_text::texts::TextsCursor;
use crate::index::full_text::{FormOf, FullText, Term, corrupt, read_stems};
use crate::storage::error::ReadError;

/// Walks the terms in order.
pub struct TermCursor<'s> {
    pub(super) index: &'s FullText,
    pub(super) texts: TextsCursor<'s>,
}

impl<'s> TermCursor<'s> {
    /// Moves to the next term; `None` after the last.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn next_term(&mut self) -> Result<Option<(&[u8], Term<'s>)>, ReadError> {
        if !self.texts.advance()? {
            return Ok(None);
        }
        match self.texts.current() {
            Some((stem, bytes)) => Ok(Some((stem, self.index.read_term(bytes)?))),
            None => Ok(None),
        }
    }
}

/// Walks the forms in order.
pub struct FormCursor<'s>(pub(super) TextsCursor<'s>);

impl FormCursor<'_> {
    /// The current form; `None` before the first and beyond the last.
    pub fn form(&self) -> Option<Cow<'_, str>> {
        self.0.current().map(|(form, _)| String::from_utf8_lossy(form))
    }

    /// Bytes that the form surely shares with the form before.
    pub fn shared(&self) -> usize {
        self.0.shared()
    }

    /// The terms of the current form.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn terms(&self) -> Result<Vec<FormOf>, ReadError> {
        self.0.current().map_or(Ok(Vec::new()), |(form, bytes)| read_stems(form, bytes))
    }

    /// Moves to the next form, and tells whether there is one.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn advance(&mut self) -> Result<bool, ReadError> {
        let has_form = self.0.advance()?;
        self.check_letters().map(|()| has_form)
    }

    /// Moves to the first form at or after a text. Walks to a near one.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn seek(&mut self, text: &[u8]) -> Result<(), ReadError> {
        if !self.0.walk(text)? {
            self.0.seek(text)?;
        }
        self.check_letters()
    }

    /// Refuses a form whose order is not that of its letters: a walk over forms would not end.
    fn check_letters(&self) -> Result<(), ReadError> {
        match self.0.current().is_none_or(|(form, _)| str::from_utf8(form).is_ok()) {
            true => Ok(()),
            false => Err(corrupt("a form is not UTF-8")),
        }
    }
}
