//! Dictionaries: the words and the alternative names of an entity.
//!
//! - `names` sorts the texts of each chunk into runs.
//! - `old` is the dictionary of the previous snapshot, as one more run.
//! - `word_state` is what a dictionary leaves out, and the next link needs.
//!
//! This module merges the runs into the file, and gives each word to the prefix statistics.

pub(super) mod names;
mod old;
pub(super) mod word_state;

use std::{io, path::Path};

use pinakes_format::autocomplete::NamePart;
use pinakes_format::index::dictionary::{DictionaryWriter, RowsBuilder};
use pinakes_format::storage::{Header, Written};

use crate::link::index::dictionary::names::{MarkedRow, TextRuns, TextSink};
use crate::link::index::dictionary::old::{OldTexts, shared_prefixes};
use crate::link::index::dictionary::word_state::WordStateWriter;
use crate::link::index::prefix_stats::PrefixStats;
use crate::link::index::unchanged::Taken;

pub(super) use crate::link::index::dictionary::old::OldDictionary;

/// The runs of one dictionary.
pub(super) struct DictionaryRuns {
    /// The texts of the changed rows, or of all.
    pub texts: TextRuns,
    /// The texts, in the previous snapshot, of the rows that are changed or no more.
    pub dropped: TextRuns,
}

/// What is written about each word besides its entry in the dictionary, except for alternative names.
pub(super) struct WordStats<'b, 'p> {
    pub prefixes: &'b mut PrefixStats<'p>,
    pub state: &'b mut WordStateWriter,
}

/// Writes a dictionary from runs, and from the previous snapshot's dictionary.
pub(super) fn write_dictionary(
    mut runs: DictionaryRuns,
    old: Option<&OldDictionary<'_>>,
    path: &Path,
    header: Header,
    words: Option<WordStats<'_, '_>>,
) -> Taken<Written> {
    let writer = DictionaryWriter::create(path, header)?;
    let mut merge = DictionaryMerge {
        writer,
        words,
        pending: Vec::new(),
        rows: RowsBuilder::default(),
        shared: 0,
    };
    let dropped = old.map(|old| shared_prefixes(runs.dropped, old.scratch)).transpose()?;
    let old = old.zip(dropped.as_deref());
    let mut old = old.map(|(old, dropped)| OldTexts::open(old, dropped)).transpose()?;
    runs.texts.merge(old.as_mut(), &mut merge)?;
    Ok(merge.writer.finish()?)
}

/// A dictionary while its texts are written.
struct DictionaryMerge<'b, 'p> {
    writer: DictionaryWriter,
    words: Option<WordStats<'b, 'p>>,
    /// Rows of the current text that lie among yesterday's.
    pending: Vec<MarkedRow>,
    /// The other rows of the current text.
    rows: RowsBuilder,
    /// Pairs of neighbouring words with the current text as their common prefix.
    shared: u64,
}

impl DictionaryMerge<'_, '_> {
    /// Writes a row of the current text.
    #[inline]
    fn write_row(&mut self, MarkedRow { row, mark }: MarkedRow) -> io::Result<()> {
        self.rows.push(row, mark);
        if let Some(words) = &mut self.words {
            words.state.mark(mark);
            words.prefixes.row(row, NamePart::from_mark(mark))?;
        }
        Ok(())
    }
}

impl TextSink for DictionaryMerge<'_, '_> {
    #[inline]
    fn row(&mut self, row: MarkedRow) {
        self.pending.push(row);
    }

    fn share(&mut self, pairs: u64) {
        self.shared += pairs;
    }

    fn end(&mut self, text: &[u8]) -> io::Result<()> {
        for at in 0..self.pending.len() {
            self.write_row(self.pending[at])?;
        }
        self.pending.clear();
        let shared = std::mem::take(&mut self.shared);
        let has_rows = self.rows.count() > 0;
        // A common prefix need not be a word.
        if let Some(words) = &mut self.words
            && (has_rows || shared > 0)
        {
            words.prefixes.end_word(text, shared)?;
            words.state.end(text, shared)?;
        }
        if has_rows { self.writer.push(text, &mut self.rows) } else { Ok(()) }
    }
}
