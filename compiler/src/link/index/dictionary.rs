//! Writes dictionaries: the words and the alternative names of an entity.

use std::{io, path::Path};

use pinakes_format::autocomplete::NamePart;
use pinakes_format::index::dictionary::{DictionaryWriter, RowsBuilder};
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::Header;

use crate::link::index::names::TextRuns;
use crate::link::index::prefix_stats::PrefixStats;
use crate::link::index::word_state::WordStateWriter;

/// A dictionary while its texts are written, with the statistics of its prefixes.
pub(crate) struct DictionaryBuilder<'b, 'p> {
    pub writer: DictionaryWriter,
    /// The statistics and the state of words; alternative names have neither.
    pub words: Option<(&'b mut PrefixStats<'p>, &'b mut WordStateWriter)>,
    pub rows: RowsBuilder,
}

impl<'b, 'p> DictionaryBuilder<'b, 'p> {
    pub(crate) fn create(
        path: &Path,
        header: Header,
        words: Option<(&'b mut PrefixStats<'p>, &'b mut WordStateWriter)>,
    ) -> io::Result<DictionaryBuilder<'b, 'p>> {
        let writer = DictionaryWriter::create(path, header)?;
        Ok(DictionaryBuilder { writer, words, rows: RowsBuilder::default() })
    }

    /// Adds a row of the current text, with its mark.
    #[inline]
    pub(crate) fn row(&mut self, row: u32, mark: u8) -> io::Result<()> {
        self.rows.push(row, mark);
        if let Some((prefixes, state)) = &mut self.words {
            state.mark(mark);
            prefixes.row(row, NamePart::from_mark(mark))?;
        }
        Ok(())
    }

    /// Ends a text. A shared prefix need not be a word.
    pub(crate) fn end(&mut self, text: &[u8], shared: u64) -> io::Result<()> {
        if let Some((prefixes, state)) = &mut self.words {
            prefixes.end_word(text, shared)?;
            state.end(text, shared)?;
        }
        if self.rows.count() > 0 { self.writer.push(text, &mut self.rows) } else { Ok(()) }
    }
}

/// Writes a dictionary from runs.
pub(crate) fn write_dictionary(
    mut runs: TextRuns,
    path: &Path,
    header: Header,
    words: Option<(&mut PrefixStats<'_>, &mut WordStateWriter)>,
) -> io::Result<Written> {
    let mut builder = DictionaryBuilder::create(path, header, words)?;
    runs.merge(
        &mut builder,
        |builder, row, mark| builder.row(row, mark),
        |builder, text, shared| builder.end(text, shared),
    )?;
    builder.writer.finish()
}
