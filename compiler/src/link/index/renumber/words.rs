//! Renumbers dictionaries.

use std::{io, path::Path};

use pinakes_format::index::dictionary::{Dictionary, DictionaryCursor, EntryRows};
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::Header;
use pinakes_format::storage::mmap::Map;

use crate::link::index::dictionary::DictionaryBuilder;
use crate::link::index::names::TextRuns;
use crate::link::index::prefix_stats::PrefixStats;
use crate::link::index::renumber::{Unchanged, mismatch};
use crate::link::index::word_state::{WordState, WordStateWriter};
use crate::link::resolve::changes::NO_ROW;

/// The texts of the previous dictionary, its state, and the common prefixes of dropped rows, merged by text.
struct OldTexts<'u> {
    unchanged: &'u Unchanged<'u>,
    texts: DictionaryCursor<'u>,
    state: WordState<'u>,
    dropped: WordState<'u>,
}

/// A dictionary of the previous snapshot.
pub(crate) struct OldWords<'u> {
    pub unchanged: &'u Unchanged<'u>,
    pub dictionary: &'u Dictionary,
    /// The state of words; empty for alternative names.
    pub state: &'u [u8],
}

/// Writes a dictionary from the previous one, without the texts of dropped rows and with those of changed rows.
pub(crate) fn write_renumbered(
    old: &OldWords<'_>,
    (mut changed, dropped): (TextRuns, TextRuns),
    (path, header, scratch): (&Path, Header, &Path),
    words: Option<(&mut PrefixStats<'_>, &mut WordStateWriter)>,
) -> io::Result<Written> {
    let dropped = shared_prefixes(dropped, scratch)?;
    let mut old = OldTexts {
        unchanged: old.unchanged,
        texts: old.dictionary.seek(&[]).map_err(io::Error::other)?,
        state: WordState::new(old.state)?,
        dropped: WordState::new(&dropped)?,
    };
    let mut builder = DictionaryBuilder::create(path, header, words)?;
    let mut filling = (&mut builder, &mut old, Vec::new());
    changed.merge(
        &mut filling,
        |(.., rows), row, mark| {
            rows.push((row, mark));
            Ok(())
        },
        |(builder, old, rows), text, shared| {
            old.write_before(Some(text), builder)?;
            old.write(text, rows, shared, builder)?;
            rows.clear();
            Ok(())
        },
    )?;
    old.write_before(None, &mut builder)?;
    builder.writer.finish()
}

/// Writes the common prefixes of dropped rows as a state of words.
fn shared_prefixes(mut runs: TextRuns, scratch: &Path) -> io::Result<Map> {
    let mut writer = WordStateWriter::new(scratch);
    runs.merge(&mut writer, |_, _, _| Ok(()), |writer, text, shared| writer.end(text, shared))?;
    writer.finish().take_map()
}

impl OldTexts<'_> {
    /// The first text of the dictionary and its state.
    fn first(&self) -> Option<&[u8]> {
        let word = self.texts.current().map(|(text, _)| text);
        [word, self.state.current(), self.dropped.current()].into_iter().flatten().min()
    }

    /// Writes the texts before a text, or all.
    fn write_before(
        &mut self,
        end: Option<&[u8]>,
        builder: &mut DictionaryBuilder<'_, '_>,
    ) -> io::Result<()> {
        let mut text = Vec::new();
        while let Some(first) = self.first().filter(|text| end.is_none_or(|end| *text < end)) {
            text.clear();
            text.extend_from_slice(first);
            self.write(&text, &[], 0, builder)?;
        }
        Ok(())
    }

    /// Writes a text, its unchanged rows, and the rows of changed records.
    fn write(
        &mut self,
        text: &[u8],
        changed: &[(u32, u8)],
        shared: u64,
        builder: &mut DictionaryBuilder<'_, '_>,
    ) -> io::Result<()> {
        let mut shared = shared;
        let has_state = self.state.current() == Some(text);
        if has_state {
            shared += self.state.shared;
        }
        if self.dropped.current() == Some(text) {
            shared = shared.checked_sub(self.dropped.shared).ok_or_else(mismatch)?;
            self.dropped.advance()?;
        }
        let mut changed = changed.iter().copied().peekable();
        if let Some((_, rows)) = self.texts.current().filter(|(of, _)| *of == text) {
            let state = Some(&self.state).filter(|state| has_state && state.rows > 0);
            let is_listed = matches!(rows, EntryRows::Postings(_));
            let marks = state.map_or(0, |state| state.rows);
            if is_listed && builder.words.is_some() && marks != rows.count() as usize {
                return Err(mismatch());
            }
            let mut outcome = Ok(());
            let renumbered = self.unchanged.rows();
            let mut add = |old: u32, mark: u8| {
                let Some(row) = renumbered.get(old as usize) else { return };
                let row = u32::from_le_bytes(*row);
                if row == NO_ROW || outcome.is_err() {
                    return;
                }
                while let Some((row, mark)) = changed.next_if(|(new, _)| *new < row) {
                    if let Err(error) = builder.row(row, mark) {
                        outcome = Err(error);
                    }
                }
                if let Err(error) = builder.row(row, mark) {
                    outcome = Err(error);
                }
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
            visited.map_err(io::Error::other)?;
            outcome?;
            self.texts.advance().map_err(io::Error::other)?;
        }
        changed.try_for_each(|(row, mark)| builder.row(row, mark))?;
        if has_state {
            self.state.advance()?;
        }
        match builder.rows.count() > 0 || shared > 0 {
            true => builder.end(text, shared),
            false => Ok(()),
        }
    }
}
