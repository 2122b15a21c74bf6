//! Dictionaries: the words and the alternative names of an entity.
//!
//! - `names` sorts the texts of each chunk into runs.
//! - `old` is the dictionary of the previous snapshot, as one more run.
//! - `word_state` is what a dictionary leaves out, and the next link needs.
//!
//! This module merges the runs into the file, and gives each word to the prefix statistics: three tasks, of which two have
//! the texts that the first has merged before.

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
use crate::parallel;

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
    let mut writer = DictionaryWriter::create(path, header)?;
    let (mut prefixes, mut state) = match words {
        Some(WordStats { prefixes, state }) => (Some(prefixes), Some(state)),
        None => (None, None),
    };
    let dropped = old.map(|old| shared_prefixes(runs.dropped, old.scratch)).transpose()?;
    let old = old.zip(dropped.as_deref());
    let mut old = old.map(|(old, dropped)| OldTexts::open(old, dropped)).transpose()?;
    let mut merge = runs.texts.merge()?;
    let mut merged = MergedTexts { has_state: state.is_some(), ..MergedTexts::default() };
    let mut rows = RowsBuilder::default();
    loop {
        let next = MergedTexts { has_state: merged.has_state, ..MergedTexts::default() };
        let texts = std::mem::replace(&mut merged, next);
        let (ended, (written, counted)) = parallel::join(
            || merge.run(old.as_mut(), &mut merged),
            || {
                parallel::join(
                    || texts.write(&mut writer, &mut rows, state.as_deref_mut()),
                    || prefixes.as_deref_mut().map_or(Ok(()), |prefixes| texts.count(prefixes)),
                )
            },
        );
        written.and(counted)?;
        if ended? && merged.texts.is_empty() {
            return Ok(writer.finish()?);
        }
    }
}

/// Texts of a dictionary that are merged and not written yet.
#[derive(Default)]
struct MergedTexts {
    /// Whether the words have a state, so that alternative names have none.
    has_state: bool,
    /// The bytes of all texts, one after another.
    bytes: Vec<u8>,
    /// The rows of all texts, and those of the current text so far.
    rows: Vec<MarkedRow>,
    texts: Vec<MergedText>,
    /// Pairs of neighbouring words with the current text as their common prefix.
    shared: u64,
}

/// The ends of a text and of its rows, and the pairs of neighbours that share the text.
struct MergedText {
    bytes_to: usize,
    rows_to: usize,
    shared: u64,
}

/// Rows and texts that are merged, about, before other tasks write them.
const MERGED_ROWS: usize = 1 << 16;

impl MergedTexts {
    /// Where the rows of the current text begin.
    fn rows_from(&self) -> usize {
        self.texts.last().map_or(0, |text| text.rows_to)
    }

    /// Each text with its rows, and the pairs of neighbours that share the text.
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[MarkedRow], u64)> {
        let (mut bytes_from, mut rows_from) = (0, 0);
        self.texts.iter().map(move |&MergedText { bytes_to, rows_to, shared }| {
            let text = &self.bytes[bytes_from..bytes_to];
            let rows = &self.rows[rows_from..rows_to];
            (bytes_from, rows_from) = (bytes_to, rows_to);
            (text, rows, shared)
        })
    }

    /// Writes the texts that have rows, and the state of words.
    fn write(
        &self,
        writer: &mut DictionaryWriter,
        builder: &mut RowsBuilder,
        mut state: Option<&mut WordStateWriter>,
    ) -> io::Result<()> {
        for (text, rows, shared) in self.iter() {
            if let Some(state) = &mut state {
                rows.iter().for_each(|row| state.mark(row.mark));
                state.end(text, shared)?;
            }
            if !rows.is_empty() {
                rows.iter().for_each(|row| builder.push(row.row, row.mark));
                writer.push(text, builder)?;
            }
        }
        Ok(())
    }

    /// Counts the prefixes of words.
    fn count(&self, prefixes: &mut PrefixStats<'_>) -> io::Result<()> {
        self.iter().try_for_each(|(text, rows, shared)| {
            rows.iter().try_for_each(|of| prefixes.row(of.row, NamePart::from_mark(of.mark)))?;
            prefixes.end_word(text, shared)
        })
    }
}

impl TextSink for MergedTexts {
    #[inline]
    fn row(&mut self, row: MarkedRow) {
        self.rows.push(row);
    }

    fn share(&mut self, pairs: u64) {
        self.shared += pairs;
    }

    fn end(&mut self, text: &[u8]) -> io::Result<()> {
        let shared = std::mem::take(&mut self.shared);
        // A common prefix need not be a word.
        if self.rows.len() > self.rows_from() || (shared > 0 && self.has_state) {
            self.bytes.extend_from_slice(text);
            let (bytes_to, rows_to) = (self.bytes.len(), self.rows.len());
            self.texts.push(MergedText { bytes_to, rows_to, shared });
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.rows.len() + self.texts.len() > MERGED_ROWS
    }
}
