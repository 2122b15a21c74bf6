//! Text → rows: the words of an entity's names, and its alternative names.
//!
//! ```text
//! header | blocks… | postings… | places of the blocks, and where the last ends: (blocks + 1) × u64
//!        | shards: the beginning of each block but the first → its number | directory: five u64
//! block:  texts ascending, each: bytes shared with the text before, bytes that follow them, those
//!         bytes, how many rows, and
//!         of few rows: where there are more than one, bytes of what follows
//!                      | the first row and its mark, then each gap, less one, and the mark
//!         of many:     where its postings begin among all, and bit 0 set where long | their bytes
//! ```
//!
//! Numbers within a block are LEB128; a *mark* is the two lowest bits of the number it stands in. A
//! block is decoded from its beginning, and the shards tell in which block a text is: the texts of a
//! block do not come before its beginning, and those of the block before it do.

mod verify;
mod write;

use crate::index::fst_shards::FstShards;
use crate::index::postings::Postings;
use crate::storage::archive::{Archive, ArchiveError};
use crate::storage::error::ReadError;
use crate::storage::header::HEADER_BYTES;

pub use crate::index::dictionary::write::{DictionaryWriter, RowsBuilder};

/// EntryRows of a text that stand in its block; those of texts with more have a list.
pub const BLOCK_ROWS_MAX: usize = 256;
/// Bytes at which a block is closed.
const BLOCK_BYTES: usize = 1_024;
/// Bits of a mark.
const MARK_BITS: u32 = 2;

/// A mapped dictionary.
pub struct Dictionary {
    archive: Archive,
    shards: FstShards,
    texts: u64,
    blocks: usize,
    /// Where the postings begin, which is where the blocks end.
    postings_from: usize,
    places_from: usize,
}

impl Dictionary {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// Where its directory is damaged or none.
    pub fn open(archive: Archive) -> Result<Dictionary, ArchiveError> {
        let refused = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: archive.len() as u64,
        };
        let (directory_from, [texts, blocks, places_from, table_from, shards]) =
            archive.directory()?;
        let shards = FstShards::open(&archive, table_from, shards)?;
        let places_to = blocks
            .checked_add(1)
            .and_then(|places| places.checked_mul(8))
            .and_then(|bytes| bytes.checked_add(places_from));
        let is_sound = places_from >= HEADER_BYTES
            && places_to == Some(shards.from())
            && shards.to() == directory_from;
        if !is_sound {
            return Err(refused(places_to.unwrap_or(usize::MAX)));
        }
        let postings_from = archive.number_at(places_from + blocks * 8)?;
        if postings_from < HEADER_BYTES || postings_from > places_from {
            return Err(refused(postings_from));
        }
        Ok(Dictionary { archive, shards, texts: texts as u64, blocks, postings_from, places_from })
    }

    /// The archive beneath.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// How many texts there are.
    pub fn texts(&self) -> u64 {
        self.texts
    }

    /// The bytes of a block.
    fn block(&self, block: usize) -> Result<&[u8], ReadError> {
        let at = self.places_from + block * 8;
        let (from, to) = (self.archive.u64_at(at)?, self.archive.u64_at(at + 8)?);
        if from < HEADER_BYTES as u64 || to > self.postings_from as u64 {
            return Err(ReadError::corrupt("dictionary", "a block lies outside its region"));
        }
        self.archive.bytes(from as usize, to as usize)
    }

    /// The texts from the first that is not before this one.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: a look-up and half a block.
    pub fn seek(&self, text: &[u8]) -> Result<DictionaryCursor<'_>, ReadError> {
        // The first block that begins after it comes after the one that may hold it.
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

/// DictionaryCursor of a dictionary one after another.
pub struct DictionaryCursor<'s> {
    dictionary: &'s Dictionary,
    next_block: usize,
    /// What is left of the block.
    rest: &'s [u8],
    /// The text it stands at; empty beyond the last.
    text: Vec<u8>,
    rows: EntryRows<'s>,
}

impl<'s> DictionaryCursor<'s> {
    /// The text it stands at and its rows; `None` beyond the last.
    pub fn current(&self) -> Option<(&[u8], EntryRows<'s>)> {
        (!self.text.is_empty()).then_some((self.text.as_slice(), self.rows))
    }

    /// The same where the text begins so.
    pub fn current_with_prefix(&self, prefix: &[u8]) -> Option<(&[u8], EntryRows<'s>)> {
        self.current().filter(|(text, _)| text.starts_with(prefix))
    }

    /// Goes on to the next; whether there is one.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
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
            let before = reader.0;
            reader.number()?;
            let bytes = &before[..before.len() - reader.0.len()];
            return Ok(EntryRows::Inline(InlineRows { count, bytes }));
        }
        if count as usize <= BLOCK_ROWS_MAX {
            let length = reader.number()? as usize;
            return Ok(EntryRows::Inline(InlineRows { count, bytes: reader.take(length)? }));
        }
        let (place, length) = (reader.number()?, reader.number()?);
        let from = usize::try_from(place >> 1).ok();
        let from = from.and_then(|from| from.checked_add(self.postings_from));
        let to = from.and_then(|from| from.checked_add(usize::try_from(length).ok()?));
        let (Some(from), Some(to)) = (from, to.filter(|to| *to <= self.places_from)) else {
            return Err(ReadError::corrupt("dictionary", "a posting list lies outside its region"));
        };
        let list = Postings::open(&self.archive, from, to, place & 1 != 0)?;
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
    /// Few, in its block, each with its mark.
    Inline(InlineRows<'s>),
    /// Many, without marks.
    Postings(Postings<'s>),
}

impl EntryRows<'_> {
    const NONE: EntryRows<'static> = EntryRows::Inline(InlineRows { count: 0, bytes: &[] });

    /// How many.
    pub fn count(&self) -> u32 {
        match self {
            EntryRows::Inline(few) => few.count,
            EntryRows::Postings(list) => list.count(),
        }
    }

    /// Shows `visit` each row, ascending.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
    pub fn each(&self, mut visit: impl FnMut(u32)) -> Result<(), ReadError> {
        match self {
            EntryRows::Inline(few) => few.each(|row, _| visit(row)),
            EntryRows::Postings(list) => list.each(|row| {
                visit(row);
                true
            }),
        }
    }
}

/// EntryRows in a block.
#[derive(Clone, Copy)]
pub struct InlineRows<'s> {
    count: u32,
    bytes: &'s [u8],
}

impl InlineRows<'_> {
    /// Shows `visit` each row, ascending, with its mark.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
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

/// Bytes being decoded.
struct ByteReader<'s>(&'s [u8]);

impl<'s> ByteReader<'s> {
    /// A number in LEB128.
    #[inline]
    fn number(&mut self) -> Result<u64, ReadError> {
        let mut number = 0;
        for (at, byte) in self.0.iter().enumerate().take(9) {
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                self.0 = &self.0[at + 1..];
                return Ok(number);
            }
        }
        Err(ReadError::corrupt("dictionary", "a number is cut short"))
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
    use crate::storage::header::{Header, Kind};

    /// A dictionary of these texts and rows; a row's mark is its lowest bits.
    fn dictionary(texts: &[(String, Vec<u32>)], directory: &std::path::Path) -> Dictionary {
        let path = directory.join("words");
        let header = Header {
            kind: Kind::Words,
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
        Dictionary::open(archive(&path, Kind::Words)).unwrap()
    }

    #[test]
    fn texts_and_their_rows_come_back_from_any_place() {
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
                let (here, here_rows) = found.current().unwrap();
                assert_eq!(here, text.as_bytes(), "from {asked}");
                let mut all = Vec::new();
                here_rows.each(|row| all.push(row)).unwrap();
                assert_eq!(&all, rows, "{text}");
                if let EntryRows::Inline(few) = here_rows {
                    few.each(|row, mark| assert_eq!(mark, row as u8 & 3)).unwrap();
                }
                assert_eq!(found.current_with_prefix(b"word").is_some(), text.starts_with("word"));
                found.advance().unwrap();
            }
            assert!(found.current().is_none(), "from {asked}");
        }
    }

    #[test]
    fn without_texts_there_is_nothing_to_find() {
        let directory = tempfile::tempdir().unwrap();
        let dictionary = dictionary(&[], directory.path());
        assert!(dictionary.seek(b"a").unwrap().current().is_none());
        dictionary.verify(0..1, 3, |_, _| Ok(())).unwrap();
    }

    #[test]
    fn a_change_of_any_byte_behind_the_rows_is_refused() {
        let mut texts: Vec<(String, Vec<u32>)> =
            (0..900u32).map(|at| (format!("word{at}"), vec![at])).collect();
        texts.push(("common".to_owned(), (0..2_000).collect()));
        texts.sort();
        let directory = tempfile::tempdir().unwrap();
        let whole = dictionary(&texts, directory.path());
        assert!(whole.blocks > 4);
        let path = directory.path().join("damaged");
        let bytes = std::fs::read(directory.path().join("words")).unwrap();
        for at in whole.places_from..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&path, damaged).unwrap();
            if let Ok(damaged) = Dictionary::open(archive(&path, Kind::Words)) {
                let verified = damaged.verify(0..2_000, 3, |_, _| Ok(()));
                assert!(verified.is_err(), "byte {at} of {}", bytes.len());
            }
        }
    }
}
