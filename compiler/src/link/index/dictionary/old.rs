//! The dictionary of the previous snapshot, as one more run of the merge.
//!
//! ```text
//! dictionary   graph → 2 5 9            rows and, of texts with few rows, their marks
//! state        gra: 7 pairs             marks of frequent texts; pairs of neighbours
//! dropped      gra: 2 pairs             of the records that are changed or no more
//! now          gra: 5 pairs   graph → 2 4 8, as the rows are numbered now
//! ```

use std::{io, path::Path};

use pinakes_format::index::dictionary::{Dictionary, DictionaryCursor, EntryRows};
use pinakes_format::storage::mmap::Map;

use crate::link::index::dictionary::MergedTexts;
use crate::link::index::dictionary::names::{MarkedRow, TextRuns, TextSink};
use crate::link::index::dictionary::word_state::{WordState, WordStateWriter};
use crate::link::index::runs::{NoRun, OldRun};
use crate::link::index::unchanged::{Taken, Unchanged};
use crate::link::take_over::TakeOver;

/// A dictionary of the previous snapshot.
pub(in crate::link::index) struct OldDictionary<'u> {
    pub unchanged: &'u Unchanged<'u>,
    pub dictionary: &'u Dictionary,
    /// The state of words; empty for alternative names.
    pub state: &'u [u8],
    pub scratch: &'u Path,
}

/// The texts of the previous dictionary, its state, and the common prefixes of dropped rows, merged by text.
pub(super) struct OldTexts<'u> {
    unchanged: &'u Unchanged<'u>,
    texts: DictionaryCursor<'u>,
    state: WordState<'u>,
    dropped: WordState<'u>,
    /// The memory of the text that is taken.
    text: Vec<u8>,
}

impl<'u> OldTexts<'u> {
    pub(super) fn open(old: &OldDictionary<'u>, dropped: &'u [u8]) -> Taken<OldTexts<'u>> {
        Ok(OldTexts {
            unchanged: old.unchanged,
            texts: old.dictionary.seek(&[]).map_err(old.unchanged.failure())?,
            state: WordState::new(old.state).map_err(|_| cut())?,
            dropped: WordState::new(dropped)?,
            text: Vec::new(),
        })
    }

    /// The first text of the dictionary, its state and the dropped rows.
    fn first(&self) -> Option<&[u8]> {
        let word = self.texts.current().map(|(text, _)| text);
        [word, self.state.current(), self.dropped.current()].into_iter().flatten().min()
    }

    /// Moves the first text to `text`, and its rows and pairs to a merge.
    fn take_first(&mut self, merge: &mut MergedTexts) -> Taken<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.extend_from_slice(self.first().unwrap_or_default());
        let has_state = self.state.current() == Some(&text);
        if has_state {
            merge.shared += self.state.shared;
        }
        if self.dropped.current() == Some(&text) {
            let shared = merge.shared.checked_sub(self.dropped.shared);
            merge.shared =
                shared.ok_or(TakeOver::contradiction("a prefix is shared too rarely"))?;
            self.dropped.advance()?;
        }
        if let Some((_, rows)) = self.texts.current().filter(|(of, _)| *of == text) {
            let state = Some(&self.state).filter(|state| has_state && state.rows > 0);
            self.take_rows(rows, state, merge)?;
            self.texts.advance().map_err(self.unchanged.failure())?;
        }
        if has_state {
            self.state.advance().map_err(|_| cut())?;
        }
        self.text = text;
        Ok(())
    }

    /// Adds the unchanged rows of a text to those of changed records.
    fn take_rows(
        &self,
        rows: EntryRows<'_>,
        state: Option<&WordState<'_>>,
        merge: &mut MergedTexts,
    ) -> Taken<()> {
        let is_listed = matches!(rows, EntryRows::Postings(_));
        let marks = state.map_or(0, |state| state.rows);
        if is_listed && merge.has_state && marks != rows.count() as usize {
            return Err(TakeOver::contradiction("a word has another number of rows"));
        }
        let row_map = self.unchanged.row_map();
        // Both ascend: old rows, numbered as they are now, and the rows of changed records.
        let mut changed = merge.rows.split_off(merge.rows_from()).into_iter().peekable();
        let mut add = |old: u32, mark: u8| {
            let Some(row) = row_map.get(old) else { return };
            while let Some(new) = changed.next_if(|new| new.row < row) {
                merge.rows.push(new);
            }
            merge.rows.push(MarkedRow { row, mark });
        };
        let visited = match rows {
            EntryRows::Inline(rows) => rows.each(add),
            EntryRows::Postings(_) => {
                let mut at = 0;
                rows.each(|row| {
                    add(row, state.map_or(0, |state| state.mark(at)));
                    at += 1;
                })
            }
        };
        visited.map_err(self.unchanged.failure())?;
        merge.rows.extend(changed);
        Ok(())
    }
}

impl OldRun<&[u8], MergedTexts> for OldTexts<'_> {
    type Error = TakeOver<io::Error>;

    fn is_before(&self, text: Option<&&[u8]>) -> bool {
        self.first().is_some_and(|first| text.is_none_or(|text| first < *text))
    }

    fn is_at(&self, text: &&[u8]) -> bool {
        self.first() == Some(*text)
    }

    fn take(&mut self, merge: &mut MergedTexts) -> Taken<()> {
        self.take_first(merge)
    }

    fn take_alone(&mut self, merge: &mut MergedTexts) -> Taken<()> {
        self.take_first(merge)?;
        Ok(merge.end(&self.text)?)
    }
}

fn cut() -> TakeOver<io::Error> {
    TakeOver::contradiction("the state of words is cut")
}

/// Writes the common prefixes of dropped rows as a state of words.
pub(super) fn shared_prefixes(mut runs: TextRuns, scratch: &Path) -> io::Result<Map> {
    let mut prefixes = SharedPrefixes { writer: WordStateWriter::new(scratch), shared: 0 };
    runs.merge()?.run(None::<&mut NoRun>, &mut prefixes)?;
    prefixes.writer.finish().take_map()
}

/// Takes the common prefixes of texts, and not their rows.
struct SharedPrefixes {
    writer: WordStateWriter,
    shared: u64,
}

impl TextSink for SharedPrefixes {
    fn row(&mut self, _: MarkedRow) {}

    fn share(&mut self, pairs: u64) {
        self.shared += pairs;
    }

    fn end(&mut self, text: &[u8]) -> io::Result<()> {
        self.writer.end(text, std::mem::take(&mut self.shared))
    }
}
