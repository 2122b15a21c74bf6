//! Text → rows: the words of an entity's names (`words`), and its alternative names (`alternatives`).
//!
//! ```text
//! header | blocks… | postings… | offset of each block and end of the last: (blocks + 1) × u64
//!        | shards: separator of each block but the first → its number | directory: five u64
//! block: entries ascending by text, each: length shared with the previous text | length of the suffix
//!        | suffix | number of rows, then
//!        at most 256 rows: size of the rows in bytes, unless there is one row
//!                          | first row and mark | gap to the next row, less one, and mark | …
//!        more rows:        offset of the postings, with bit 0 set for the long form | their size
//! ```
//!
//! Numbers within a block are LEB128. A *mark* is the lowest two bits of a row's number: it names
//! the part of the name that holds the word. A separator is the shortest prefix of a block's first text
//! that sorts after all texts of the previous block.
//!
//! ```text
//! block 0: "apple" "graph"   block 1: "graphene" "gravity"   separator of block 1: "graphe"
//! seek("graphs")  →  the last separator ≤ "graphs" is "graphe"  →  decode block 1  →  "gravity"
//! ```
//!
//! Cost of [`Dictionary::seek`]: a look-up in the shards and decoding half a block of about 1 KiB.

mod layout;
mod verify;
mod write;

use crate::index::dictionary::layout::MARK_BITS;
use crate::index::fst_shards::FstShards;
use crate::index::postings::Postings;
use crate::storage::archive::{Archive, ArchiveError, InArchive};
use crate::storage::error::ReadError;
use crate::storage::header::HEADER_BYTES;
use crate::storage::leb128;

pub use crate::index::dictionary::layout::BLOCK_ROWS_MAX;
pub use crate::index::dictionary::write::{DictionaryWriter, RowsBuilder};

/// A dictionary in a mapped file.
#[derive(Clone)]
pub struct Dictionary {
    archive: Archive,
    shards: FstShards,
    texts: u64,
    blocks: usize,
    /// The offset of the postings, and the end of the blocks.
    postings_from: usize,
    offsets_from: usize,
}

impl InArchive for Dictionary {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl Dictionary {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// Fails if the directory is damaged or inconsistent.
    pub fn open(archive: Archive) -> Result<Dictionary, ArchiveError> {
        let refused = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: archive.len() as u64,
        };
        let (directory_from, [texts, blocks, offsets_from, table_from, shards]) =
            archive.directory()?;
        let shards = FstShards::open(&archive, table_from, shards)?;
        let offsets_to = blocks
            .checked_add(1)
            .and_then(|offsets| offsets.checked_mul(8))
            .and_then(|bytes| bytes.checked_add(offsets_from));
        let is_sound = offsets_from >= HEADER_BYTES
            && offsets_to == Some(shards.from())
            && shards.to() == directory_from;
        if !is_sound {
            return Err(refused(offsets_to.unwrap_or(usize::MAX)));
        }
        let postings_from = archive.number_at(offsets_from + blocks * 8)?;
        if postings_from < HEADER_BYTES || postings_from > offsets_from {
            return Err(refused(postings_from));
        }
        Ok(Dictionary { archive, shards, texts: texts as u64, blocks, postings_from, offsets_from })
    }

    /// The mapped file and its integrity checks.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The number of texts.
    pub fn texts(&self) -> u64 {
        self.texts
    }

    /// The bytes of a block.
    fn block(&self, block: usize) -> Result<&[u8], ReadError> {
        let at = self.offsets_from + block * 8;
        let (from, to) = (self.archive.u64_at(at)?, self.archive.u64_at(at + 8)?);
        if from < HEADER_BYTES as u64 || to > self.postings_from as u64 {
            return Err(ReadError::corrupt("dictionary", "a block lies outside its region"));
        }
        self.archive.bytes(from as usize, to as usize)
    }

    /// Moves to the first text at or after `text`.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn seek(&self, text: &[u8]) -> Result<DictionaryCursor<'_>, ReadError> {
        // The block that may hold the text precedes the first block with a greater separator.
        let after = self.shards.first_from(&self.archive, &[text, &[0]].concat())?;
        let block = after.map_or(self.blocks, |(_, block)| block as usize);
        let mut texts = DictionaryCursor {
            dictionary: self,
            next_block: block.saturating_sub(1),
            rest: &[],
            text: Vec::new(),
            rows: EntryRows::NONE,
        };
        while texts.advance()? {
            if texts.text.as_slice() >= text {
                return Ok(texts);
            }
        }
        Ok(texts)
    }
}

/// Walks the texts of a dictionary in order.
pub struct DictionaryCursor<'s> {
    dictionary: &'s Dictionary,
    next_block: usize,
    /// The undecoded rest of the block.
    rest: &'s [u8],
    /// The current text; empty beyond the last.
    text: Vec<u8>,
    rows: EntryRows<'s>,
}

impl<'s> DictionaryCursor<'s> {
    /// The current text and its rows, or `None` beyond the last text.
    pub fn current(&self) -> Option<(&[u8], EntryRows<'s>)> {
        (!self.text.is_empty()).then_some((self.text.as_slice(), self.rows))
    }

    /// The current text and its rows, if the text starts with `prefix`.
    pub fn current_with_prefix(&self, prefix: &[u8]) -> Option<(&[u8], EntryRows<'s>)> {
        self.current().filter(|(text, _)| text.starts_with(prefix))
    }

    /// Moves to the next text and tells whether there is one.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn advance(&mut self) -> Result<bool, ReadError> {
        if self.rest.is_empty() {
            self.text.clear();
            if self.next_block >= self.dictionary.blocks {
                return Ok(false);
            }
            self.rest = self.dictionary.block(self.next_block)?;
            self.next_block += 1;
        }
        let mut reader = ByteReader(self.rest);
        let shared = reader.number()? as usize;
        let suffix_bytes = reader.number()? as usize;
        let suffix = reader.take(suffix_bytes)?;
        if shared > self.text.len() || shared + suffix.len() == 0 {
            return Err(ReadError::corrupt(
                "dictionary",
                "an entry shares more than the text before it",
            ));
        }
        self.text.truncate(shared);
        self.text.extend_from_slice(suffix);
        self.rows = self.dictionary.rows(&mut reader)?;
        self.rest = reader.0;
        Ok(true)
    }
}

impl Dictionary {
    fn rows<'s>(&'s self, reader: &mut ByteReader<'s>) -> Result<EntryRows<'s>, ReadError> {
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
        let from = from.and_then(|from| from.checked_add(self.postings_from));
        // Offset and length come from the file, and are checked before a read.
        let to = from.and_then(|from| from.checked_add(usize::try_from(length).ok()?));
        let (Some(from), Some(to)) = (from, to.filter(|to| *to <= self.offsets_from)) else {
            return Err(ReadError::corrupt("dictionary", "a posting list lies outside its region"));
        };
        let list = Postings::open(&self.archive, from, to, offset & 1 != 0)?;
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
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
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
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
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

/// Decodes a block from its first byte.
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
        assert!(whole.blocks > 4);
        let path = directory.path().join("damaged");
        let bytes = std::fs::read(directory.path().join("words")).unwrap();
        for at in whole.offsets_from..bytes.len() {
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
