//! A sorted map from text to bytes: [`TextBlocks`] whose entries are the length of the bytes, and the bytes.
//!
//! Cost of [`Texts::seek`]: a look-up in the shards, and decoding half a block of about 2 KiB.

use std::{io, path::Path};

use crate::index::check::CheckError;
use crate::index::fst_shards::FstShards;
use crate::index::full_text::layout::TEXTS_BLOCK_BYTES;
use crate::index::text_blocks::{BlocksCursor, TextBlocks, TextBlocksWriter};
use crate::storage::archive::{Archive, ArchiveError};
use crate::storage::blobs::Spool;
use crate::storage::error::ReadError;
use crate::storage::file_writer::FileWriter;
use crate::storage::leb128;

/// Numbers of a directory that [`Texts::open`] reads.
pub(super) const DIRECTORY_NUMBERS: usize = 5;

/// Writes the map.
pub(super) struct TextsWriter {
    spool: Spool,
    blocks: TextBlocksWriter,
}

impl TextsWriter {
    /// Keeps the blocks in `directory` until [`TextsWriter::finish`].
    pub fn new(directory: &Path) -> io::Result<TextsWriter> {
        let blocks = TextBlocksWriter::new(TEXTS_BLOCK_BYTES, directory)?;
        Ok(TextsWriter { spool: Spool::new(directory), blocks })
    }

    /// Appends a text with its bytes. Texts must ascend.
    pub fn push(&mut self, text: &[u8], bytes: &[u8]) -> io::Result<()> {
        let block = self.blocks.push(text, &mut self.spool)?;
        leb128::push(bytes.len() as u64, block);
        block.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends the map to a file. Returns the numbers that [`Texts::open`] needs.
    pub fn finish(mut self, file: &mut FileWriter) -> io::Result<[u64; DIRECTORY_NUMBERS]> {
        self.blocks.close_block(&mut self.spool)?;
        let from = file.position_bytes();
        self.spool.move_to(file)?;
        let place = self.blocks.finish(file)?;
        Ok([from, place.last, place.texts, place.table_from, place.shards])
    }
}

/// The map in a mapped file.
#[derive(Clone)]
pub(super) struct Texts(TextBlocks);

impl Texts {
    /// Opens a map whose blocks end where its shards begin.
    pub fn open(
        archive: &Archive,
        numbers: [usize; DIRECTORY_NUMBERS],
    ) -> Result<Texts, ArchiveError> {
        let [from, last, texts, table_from, shards] = numbers;
        let shards = FstShards::open(archive, table_from, shards)?;
        let bytes = from..shards.from();
        let blocks = TextBlocks::new(shards, bytes, last, texts, TEXTS_BLOCK_BYTES);
        let refused =
            || ArchiveError::Length { expected: from as u64, found: archive.len() as u64 };
        blocks.map(Texts).ok_or_else(refused)
    }

    /// The first byte of the map.
    pub fn from(&self) -> usize {
        self.0.bytes().start
    }

    /// The first byte behind the map.
    pub fn to(&self) -> usize {
        self.0.shards().to()
    }

    /// The number of texts.
    pub fn count(&self) -> u64 {
        self.0.count()
    }

    /// Moves to the first text at or after `text`.
    pub fn seek<'s>(
        &'s self,
        archive: &'s Archive,
        text: &[u8],
    ) -> Result<TextsCursor<'s>, ReadError> {
        let mut cursor = self.cursor(archive);
        cursor.seek(text)?;
        Ok(cursor)
    }

    /// A cursor before the first text.
    pub fn cursor<'s>(&'s self, archive: &'s Archive) -> TextsCursor<'s> {
        TextsCursor { texts: self.0.cursor(archive), bytes: &[] }
    }

    /// Finds the bytes of a text.
    pub fn get<'s>(
        &'s self,
        archive: &'s Archive,
        text: &[u8],
    ) -> Result<Option<&'s [u8]>, ReadError> {
        let cursor = self.seek(archive, text)?;
        Ok(cursor.current().filter(|(found, _)| *found == text).map(|(_, bytes)| bytes))
    }

    /// Checks the order of the texts and the separators, and calls `visit` with each text and its bytes.
    pub fn verify(
        &self,
        archive: &Archive,
        mut visit: impl FnMut(&str, &[u8]) -> Result<(), CheckError>,
    ) -> Result<(), CheckError> {
        self.0.verify(archive, |text, rest| visit(text, take_bytes(rest).ok_or_else(cut)?))
    }
}

fn cut() -> ReadError {
    ReadError::corrupt("full_text", "an entry of a text is cut short")
}

/// Takes the bytes of a text off the front of its block; `None` if they are cut.
#[inline]
fn take_bytes<'s>(rest: &mut &'s [u8]) -> Option<&'s [u8]> {
    let length = usize::try_from(leb128::take(rest)?).ok()?;
    let (bytes, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(bytes)
}

/// Walks the texts in order.
pub(super) struct TextsCursor<'s> {
    texts: BlocksCursor<'s>,
    bytes: &'s [u8],
}

impl<'s> TextsCursor<'s> {
    /// The current text and its bytes, or `None` beyond the last text.
    pub fn current(&self) -> Option<(&[u8], &'s [u8])> {
        self.texts.current().map(|text| (text, self.bytes))
    }

    /// Bytes that the current text shares with the text before; a lower bound at the beginning of a block.
    pub fn shared(&self) -> usize {
        self.texts.shared()
    }

    /// Moves to the first text at or after `text`. Goes on from the current text if both are in one block.
    pub fn seek(&mut self, text: &[u8]) -> Result<(), ReadError> {
        self.texts.seek_block(text)?;
        while self.texts.current().is_none_or(|found| found < text) {
            if !self.walk(text)? && !self.advance()? {
                break;
            }
        }
        Ok(())
    }

    /// Moves to the first text at or after `text` in the block of the current text, which is before `text`. Tells whether the block
    /// has one; if not, the cursor is at its end.
    pub fn walk(&mut self, text: &[u8]) -> Result<bool, ReadError> {
        if self.texts.current().is_none_or(|found| found >= text) {
            return Ok(false);
        }
        let found = self.texts.pass_before(text, take_bytes)?;
        self.bytes = found.unwrap_or(self.bytes);
        Ok(found.is_some())
    }

    /// Moves to the next text and tells whether there is one.
    pub fn advance(&mut self) -> Result<bool, ReadError> {
        let has_text = self.texts.advance()?;
        if has_text {
            self.bytes = take_bytes(&mut self.texts.rest).ok_or_else(cut)?;
        }
        Ok(has_text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write;

    use super::*;
    use crate::entity::Entity;
    use crate::index::check::archive;
    use crate::schema::layout::schema_hash;
    use crate::storage::header::{FileKind, Header};

    #[test]
    fn a_cursor_finds_the_first_text_from_any_place() {
        // Texts that share no, few and many letters with the one before, in several blocks.
        let texts: BTreeMap<String, Vec<u8>> = (0..3_000u32)
            .map(|at| {
                let mixed = at.wrapping_mul(2_654_435_761) >> 12;
                let text =
                    format!("{}{}", ["ab", "abba", "b", "東京"][at as usize % 4], mixed % 5_000);
                (text, vec![7; at as usize % 150])
            })
            .collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("texts");
        let mut file = FileWriter::create(&path).unwrap();
        let (kind, entity) = (FileKind::Words, Some(Entity::Field));
        let header = Header { kind, entity, published: 1, rows: 1, schema_hash: schema_hash() };
        file.write_all(&header.encode()).unwrap();
        let mut writer = TextsWriter::new(directory.path()).unwrap();
        texts.iter().for_each(|(text, bytes)| writer.push(text.as_bytes(), bytes).unwrap());
        let numbers = writer.finish(&mut file).unwrap().map(|number| number as usize);
        file.finish().unwrap();
        let archive = archive(&path, kind);
        let map = Texts::open(&archive, numbers).unwrap();
        let check = |cursor: &TextsCursor<'_>, asked: &str| {
            let expected = texts.range(asked.to_owned()..).next();
            let expected = expected.map(|(text, bytes)| (text.as_bytes(), bytes.as_slice()));
            assert_eq!(cursor.current(), expected, "{asked}");
        };
        let asked =
            texts.keys().flat_map(|text| [text.clone(), format!("{text}!"), format!("{text}z")]);
        let asked: Vec<String> = asked.chain(["", "zz", "龍"].map(str::to_owned)).collect();
        // Steps of many sizes: within a block, and across blocks.
        for step in [1, 7, 200, 4_001] {
            let mut cursor = map.cursor(&archive);
            for text in asked.iter().step_by(step) {
                check(&map.seek(&archive, text.as_bytes()).unwrap(), text);
                if !cursor.walk(text.as_bytes()).unwrap() {
                    cursor.seek(text.as_bytes()).unwrap();
                }
                check(&cursor, text);
                // The next text follows from wherever the cursor came.
                if let Some((found, _)) = cursor.current() {
                    let next = format!("{}\0", String::from_utf8_lossy(found));
                    let mut cursor = map.seek(&archive, found).unwrap();
                    cursor.advance().unwrap();
                    check(&cursor, &next);
                }
            }
        }
    }
}
