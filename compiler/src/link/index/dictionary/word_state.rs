//! The state of words: what a dictionary leaves out, and the next link needs.
//!
//! Prefix statistics need the mark of each row, and the number of neighbouring words with a common prefix.
//! A pair of neighbours is two neighbouring words of a row with the text as common prefix. A dictionary stores
//! neither the marks of texts with more than 256 rows nor common prefixes:
//!
//! ```text
//! entry: bytes shared with the last text | bytes of the rest | the rest | pairs of neighbours
//!        | rows, if more than 256, else 0: LEB128 each
//!        | the marks of these rows: two bits each
//! ```

use std::io;
use std::io::Write;
use std::path::Path;

use pinakes_format::index::dictionary::BLOCK_ROWS_MAX;
use pinakes_format::storage::{Spool, leb128};

const MARK_BITS: usize = 2;
/// Marks in a byte.
const MARKS: usize = 8 / MARK_BITS;

/// Writes the state of words, text by text.
pub(crate) struct WordStateWriter {
    spool: Spool,
    last: Vec<u8>,
    marks: Vec<u8>,
    rows: usize,
    entry: Vec<u8>,
}

impl WordStateWriter {
    pub(crate) fn new(scratch: &Path) -> WordStateWriter {
        let (last, marks, entry) = (Vec::new(), Vec::new(), Vec::new());
        WordStateWriter { spool: Spool::new(scratch), last, marks, rows: 0, entry }
    }

    /// Adds the mark of a row of the current text.
    #[inline]
    pub(crate) fn mark(&mut self, mark: u8) {
        if self.rows.is_multiple_of(MARKS) {
            self.marks.push(0);
        }
        if let Some(byte) = self.marks.last_mut() {
            *byte |= (mark & 3) << (self.rows % MARKS * MARK_BITS);
        }
        self.rows += 1;
    }

    /// Ends the current text.
    pub(crate) fn end(&mut self, text: &[u8], shared: u64) -> io::Result<()> {
        let rows = if self.rows > BLOCK_ROWS_MAX { self.rows } else { 0 };
        if rows > 0 || shared > 0 {
            let common = common_bytes(&self.last, text);
            self.entry.clear();
            leb128::push(common as u64, &mut self.entry);
            leb128::push((text.len() - common) as u64, &mut self.entry);
            self.entry.extend_from_slice(&text[common..]);
            leb128::push(shared, &mut self.entry);
            leb128::push(rows as u64, &mut self.entry);
            self.spool.write_all(&self.entry)?;
            if rows > 0 {
                self.spool.write_all(&self.marks)?;
            }
            self.last.truncate(common);
            self.last.extend_from_slice(&text[common..]);
        }
        self.marks.clear();
        self.rows = 0;
        Ok(())
    }

    pub(crate) fn finish(self) -> Spool {
        self.spool
    }
}

fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Reads the state of words.
pub(crate) struct WordState<'s> {
    rest: &'s [u8],
    /// The current text; empty after the last.
    text: Vec<u8>,
    pub shared: u64,
    /// The number of marks.
    pub rows: usize,
    marks: &'s [u8],
}

impl<'s> WordState<'s> {
    pub(crate) fn new(bytes: &'s [u8]) -> io::Result<WordState<'s>> {
        let mut state = WordState { rest: bytes, text: Vec::new(), shared: 0, rows: 0, marks: &[] };
        state.advance()?;
        Ok(state)
    }

    pub(crate) fn current(&self) -> Option<&[u8]> {
        (!self.text.is_empty()).then_some(&self.text)
    }

    pub(crate) fn advance(&mut self) -> io::Result<()> {
        if self.rest.is_empty() {
            self.text.clear();
            return Ok(());
        }
        self.take().ok_or_else(|| io::Error::other("the state of words is cut"))
    }

    fn take(&mut self) -> Option<()> {
        let number = |rest: &mut &[u8]| usize::try_from(leb128::take(rest)?).ok();
        let (common, length) = (number(&mut self.rest)?, number(&mut self.rest)?);
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        self.text.truncate(common);
        self.text.extend_from_slice(text);
        self.shared = leb128::take(&mut self.rest)?;
        self.rows = number(&mut self.rest)?;
        let (marks, rest) = self.rest.split_at_checked(self.rows.div_ceil(MARKS))?;
        (self.marks, self.rest) = (marks, rest);
        (!self.text.is_empty()).then_some(())
    }

    pub(crate) fn mark(&self, row: usize) -> u8 {
        let byte = self.marks.get(row / MARKS).copied().unwrap_or_default();
        byte >> (row % MARKS * MARK_BITS) & 3
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_state_returns_the_marks_of_frequent_texts_and_the_pairs_of_neighbours() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = WordStateWriter::new(directory.path());
        let texts = [("gra", 7, 0), ("graph", 0, 257), ("grapheme", 0, 256), ("gravity", 2, 1_000)];
        for (text, shared, rows) in texts {
            (0..rows).for_each(|row| writer.mark((row % 4) as u8));
            writer.end(text.as_bytes(), shared).unwrap();
        }
        let bytes = writer.finish().take_map().unwrap();
        let mut state = WordState::new(&bytes).unwrap();
        for (text, shared, rows) in texts.into_iter().filter(|(text, ..)| *text != "grapheme") {
            assert_eq!(state.current(), Some(text.as_bytes()));
            assert_eq!((state.shared, state.rows), (shared, rows), "{text}");
            (0..rows).for_each(|row| assert_eq!(state.mark(row), (row % 4) as u8, "{text} {row}"));
            state.advance().unwrap();
        }
        assert_eq!(state.current(), None);
        assert!(
            WordState::new(&bytes[..bytes.len() - 1])
                .is_ok_and(|mut cut| { (0..3).any(|_| cut.advance().is_err()) })
        );
    }
}
