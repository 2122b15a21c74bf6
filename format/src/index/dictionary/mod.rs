//! Text → rows: the words of an entity's names (`words`), and its alternative names (`alternatives`).
//!
//! ```text
//! header | blocks… | postings… | shards | directory: five u64
//! entry of a text in a block: number of rows, then
//!        at most 256 rows: size of the rows in bytes, unless there is one row
//!                          | first row and mark | gap to the next row, less one, and mark | …
//!        more rows:        offset of the postings, with bit 0 set for the long form | their size
//! ```
//!
//! [`TextBlocks`] are the blocks and the shards. Numbers are LEB128. A *mark* is the lowest two bits of a row's number: it
//! names the part of the name that holds the word.
//!
//! Cost of [`Dictionary::seek`]: a look-up in the shards and decoding half a block of about 1 KiB.

mod verify;
mod write;

use std::ops::Range;

use crate::index::fst_shards::FstShards;
use crate::index::postings::Postings;
use crate::index::text_blocks::{BlocksCursor, TextBlocks};
use crate::storage::{Archive, ArchiveError, HEADER_BYTES, InArchive, ReadError, leb128};

pub use crate::index::dictionary::write::{DictionaryWriter, RowsBuilder};

/// A dictionary in a mapped file.
#[derive(Clone)]
pub struct Dictionary {
    archive: Archive,
    blocks: TextBlocks,
}

impl InArchive for Dictionary {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl Dictionary {
    /// Opens the file.
    pub fn open(archive: Archive) -> Result<Dictionary, ArchiveError> {
        let (directory_from, [texts, last, postings_from, table_from, shards]) =
            archive.directory()?;
        let shards = FstShards::open(&archive, table_from, shards)?;
        let shards_to = shards.to();
        let blocks = TextBlocks::new(shards, HEADER_BYTES..postings_from, last, texts, BLOCK_BYTES);
        match blocks.filter(|_| shards_to == directory_from) {
            Some(blocks) => Ok(Dictionary { archive, blocks }),
            None => Err(ArchiveError::Length {
                expected: shards_to as u64,
                found: archive.len() as u64,
            }),
        }
    }

    /// The mapped file and its integrity checks.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The number of texts.
    pub fn texts(&self) -> u64 {
        self.blocks.count()
    }

    /// The bytes of the postings in the file: from the last block to the first shard.
    fn postings(&self) -> Range<usize> {
        self.blocks.bytes().end..self.blocks.shards().from()
    }

    /// Moves to the first text at or after `text`.
    pub fn seek(&self, text: &[u8]) -> Result<DictionaryCursor<'_>, ReadError> {
        let texts = self.blocks.cursor(&self.archive);
        let mut cursor = DictionaryCursor { dictionary: self, texts, rows: EntryRows::NONE };
        cursor.texts.seek_block(text)?;
        while cursor.texts.current().is_none_or(|found| found < text) && cursor.step(text)? {}
        Ok(cursor)
    }
}

/// Walks the texts of a dictionary in order.
pub struct DictionaryCursor<'s> {
    dictionary: &'s Dictionary,
    texts: BlocksCursor<'s>,
    rows: EntryRows<'s>,
}

impl<'s> DictionaryCursor<'s> {
    /// The current text and its rows, or `None` beyond the last text.
    pub fn current(&self) -> Option<(&[u8], EntryRows<'s>)> {
        self.texts.current().map(|text| (text, self.rows))
    }

    /// The current text and its rows, if the text starts with `prefix`.
    pub fn current_with_prefix(&self, prefix: &[u8]) -> Option<(&[u8], EntryRows<'s>)> {
        self.current().filter(|(text, _)| text.starts_with(prefix))
    }

    /// Moves to the next text and tells whether there is one.
    pub fn advance(&mut self) -> Result<bool, ReadError> {
        self.step(&[])
    }

    /// Moves to the next text. Posting lists of texts before `first` are not read.
    fn step(&mut self, first: &[u8]) -> Result<bool, ReadError> {
        let has_text = self.texts.advance()?;
        if has_text {
            let is_skipped = self.texts.current().is_some_and(|text| text < first);
            let mut reader = ByteReader(self.texts.rest);
            self.rows = self.dictionary.take_rows(&mut reader, is_skipped)?;
            self.texts.rest = reader.0;
        }
        Ok(has_text)
    }
}

impl Dictionary {
    /// Takes the rows of a text off the front of its block. A skipped posting list is not opened.
    fn take_rows<'s>(
        &'s self,
        reader: &mut ByteReader<'s>,
        is_skipped: bool,
    ) -> Result<EntryRows<'s>, ReadError> {
        let count = u32::try_from(reader.number()?).map_err(|_| {
            ReadError::corrupt("dictionary", "an entry's row count exceeds 32 bits")
        })?;
        if count == 0 {
            return Err(ReadError::corrupt("dictionary", "an entry has no rows"));
        }
        if count == 1 {
            // A single row has no length before it: the number shows its own end.
            let before = reader.0;
            reader.number()?;
            let bytes = &before[..before.len() - reader.0.len()];
            return Ok(EntryRows::Inline(InlineRows { count, bytes }));
        }
        if count as usize <= BLOCK_ROWS_MAX {
            let length = reader.number()? as usize;
            return Ok(EntryRows::Inline(InlineRows { count, bytes: reader.take(length)? }));
        }
        // The lowest bit of the offset tells the form of the list.
        let (offset, length) = (reader.number()?, reader.number()?);
        let from = usize::try_from(offset >> 1).ok();
        let within = self.postings();
        let from = from.and_then(|from| from.checked_add(within.start));
        // Offset and length come from the file, and are checked before a read.
        let to = from.and_then(|from| from.checked_add(usize::try_from(length).ok()?));
        let (Some(from), Some(to)) = (from, to.filter(|to| *to <= within.end)) else {
            return Err(ReadError::corrupt("dictionary", "a posting list lies outside its region"));
        };
        if is_skipped {
            return Ok(EntryRows::NONE);
        }
        let list = Postings::open(&self.archive, from, to, offset & 1 != 0);
        // An attempt goes on without the rows, and notes those of the next texts.
        let Some(list) = self.archive.read_or(list.map(Some), None)? else {
            return Ok(EntryRows::NONE);
        };
        if list.count() == count {
            Ok(EntryRows::Postings(list))
        } else {
            Err(ReadError::corrupt(
                "dictionary",
                "a posting list has another row count than its entry",
            ))
        }
    }
}

/// The rows of a text.
#[derive(Clone, Copy)]
pub enum EntryRows<'s> {
    /// At most 256 rows with marks, stored in the block.
    Inline(InlineRows<'s>),
    /// More than 256 rows, without marks.
    Postings(Postings<'s>),
}

impl EntryRows<'_> {
    const NONE: EntryRows<'static> = EntryRows::Inline(InlineRows { count: 0, bytes: &[] });

    /// The number of rows.
    pub fn count(&self) -> u32 {
        match self {
            EntryRows::Inline(rows) => rows.count,
            EntryRows::Postings(list) => list.count(),
        }
    }

    /// Calls `visit` with each row, ascending.
    pub fn each(&self, mut visit: impl FnMut(u32)) -> Result<(), ReadError> {
        match self {
            EntryRows::Inline(rows) => rows.each(|row, _| visit(row)),
            EntryRows::Postings(list) => list.each(|row| {
                visit(row);
                true
            }),
        }
    }
}

/// The rows of a text, stored in its block.
#[derive(Clone, Copy)]
pub struct InlineRows<'s> {
    count: u32,
    bytes: &'s [u8],
}

impl InlineRows<'_> {
    /// Calls `visit` with each row, ascending, and its mark.
    pub fn each(&self, mut visit: impl FnMut(u32, u8)) -> Result<(), ReadError> {
        let mut reader = ByteReader(self.bytes);
        let mut next = 0u64;
        for _ in 0..self.count {
            let number = reader.number()?;
            let row = next
                .checked_add(number >> MARK_BITS)
                .ok_or(ReadError::corrupt("dictionary", "a row number overflows"))?;
            let mark = number as u8 & ((1 << MARK_BITS) - 1);
            visit(
                u32::try_from(row).map_err(|_| {
                    ReadError::corrupt("dictionary", "a row number exceeds 32 bits")
                })?,
                mark,
            );
            next = row + 1;
        }
        if reader.0.is_empty() {
            Ok(())
        } else {
            Err(ReadError::corrupt("dictionary", "a block has bytes after its last row"))
        }
    }
}

/// Decodes an entry from its first byte.
struct ByteReader<'s>(&'s [u8]);

impl<'s> ByteReader<'s> {
    /// Reads a LEB128 number.
    #[inline]
    fn number(&mut self) -> Result<u64, ReadError> {
        leb128::take(&mut self.0).ok_or(ReadError::corrupt("dictionary", "a number is cut short"))
    }

    fn take(&mut self, length: usize) -> Result<&'s [u8], ReadError> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(ReadError::corrupt("dictionary", "an entry is cut short"))?;
        self.0 = rest;
        Ok(taken)
    }
}

/// The most rows of a text that its block holds inline. A text with more rows has postings.
pub const BLOCK_ROWS_MAX: usize = 256;
/// Size at which the writer closes a block, in bytes.
pub(super) const BLOCK_BYTES: usize = 1_024;
/// Size of a mark, in bits.
pub(super) const MARK_BITS: u32 = 2;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::entity::Entity;
    use crate::index::check::archive;
    use crate::schema::layout::schema_hash;
    use crate::storage::header::{FileKind, Header};

    /// Writes a dictionary with these texts and rows. A row's mark is its lowest two bits.
    fn dictionary(texts: &[(String, Vec<u32>)], directory: &std::path::Path) -> Dictionary {
        let path = directory.join("words");
        let header = Header {
            kind: FileKind::Words,
            entity: Some(Entity::Field),
            published: 1 << 20,
            rows: 1 << 20,
            schema_hash: schema_hash(),
        };
        let mut writer = DictionaryWriter::create(&path, header).unwrap();
        let mut rows = RowsBuilder::default();
        for (text, all) in texts {
            all.iter().for_each(|row| rows.push(*row, *row as u8 & 3));
            writer.push(text.as_bytes(), &mut rows).unwrap();
        }
        writer.finish().unwrap();
        Dictionary::open(archive(&path, FileKind::Words)).unwrap()
    }

    #[test]
    fn a_walk_from_any_text_returns_the_texts_and_rows_that_follow() {
        let mut texts: Vec<(String, Vec<u32>)> = (0..3_000u32)
            .map(|at| {
                (format!("word{}", at * 7), (0..at % 5 + 1).map(|row| row * 999 + at).collect())
            })
            .collect();
        for (name, step) in [("common", 3), ("dense", 1), ("rare", 1_000)] {
            texts.push((name.to_owned(), (0..200_000).step_by(step).collect()));
        }
        texts.push(("東京".to_owned(), vec![5, 1 << 19]));
        // Longer than what is read of a block at first.
        texts.push(("w".repeat(4_000), vec![1]));
        texts.sort();
        let directory = tempfile::tempdir().unwrap();
        let dictionary = dictionary(&texts, directory.path());
        assert_eq!(dictionary.texts(), texts.len() as u64);
        dictionary.verify(0..1 << 20, 3, |_, _| Ok(())).unwrap();
        for asked in
            ["", "a", "common", "commons", "word", "word7", "word70", "word71", "z", "東", "龍"]
        {
            let mut found = dictionary.seek(asked.as_bytes()).unwrap();
            for (text, rows) in texts.iter().filter(|(text, _)| text.as_str() >= asked) {
                let (text_here, rows_here) = found.current().unwrap();
                assert_eq!(text_here, text.as_bytes(), "from {asked}");
                let mut all = Vec::new();
                rows_here.each(|row| all.push(row)).unwrap();
                assert_eq!(&all, rows, "{text}");
                if let EntryRows::Inline(rows) = rows_here {
                    rows.each(|row, mark| assert_eq!(mark, row as u8 & 3)).unwrap();
                }
                assert_eq!(found.current_with_prefix(b"word").is_some(), text.starts_with("word"));
                found.advance().unwrap();
            }
            assert!(found.current().is_none(), "from {asked}");
        }
    }

    #[test]
    fn a_walk_of_an_empty_dictionary_returns_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let dictionary = dictionary(&[], directory.path());
        assert!(dictionary.seek(b"a").unwrap().current().is_none());
        dictionary.verify(0..1, 3, |_, _| Ok(())).unwrap();
    }

    #[test]
    fn verification_refuses_a_change_of_any_byte_after_the_postings() {
        let mut texts: Vec<(String, Vec<u32>)> =
            (0..900u32).map(|at| (format!("word{at}"), vec![at])).collect();
        texts.push(("common".to_owned(), (0..2_000).collect()));
        texts.sort();
        let directory = tempfile::tempdir().unwrap();
        let whole = dictionary(&texts, directory.path());
        assert!(whole.blocks.bytes().len() > 4 * BLOCK_BYTES);
        let path = directory.path().join("damaged");
        let bytes = std::fs::read(directory.path().join("words")).unwrap();
        for at in whole.postings().end..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&path, damaged).unwrap();
            if let Ok(damaged) = Dictionary::open(archive(&path, FileKind::Words)) {
                let verified = damaged.verify(0..2_000, 3, |_, _| Ok(()));
                assert!(verified.is_err(), "byte {at} of {}", bytes.len());
            }
        }
    }
}
