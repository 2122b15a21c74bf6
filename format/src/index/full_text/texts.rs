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
        self.0.verify(archive, |text, rest| visit(text, take_bytes(rest)?))
    }
}

/// Takes the bytes of a text off the front of its block.
fn take_bytes<'s>(rest: &mut &'s [u8]) -> Result<&'s [u8], ReadError> {
    let length = leb128::take(rest).and_then(|length| usize::try_from(length).ok());
    let (bytes, behind) = length
        .and_then(|length| rest.split_at_checked(length))
        .ok_or(ReadError::corrupt("full_text", "an entry of a text is cut short"))?;
    *rest = behind;
    Ok(bytes)
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

    /// Moves to the first text at or after `text`. Decodes on from the current text if both are in one block.
    pub fn seek(&mut self, text: &[u8]) -> Result<(), ReadError> {
        self.texts.seek_block(text)?;
        while self.texts.current().is_none_or(|found| found < text) && self.advance()? {}
        Ok(())
    }

    /// Passes at most `count` texts of the current block. Tells whether the cursor was before `text` and came to the first text at
    /// or after it.
    pub fn walk(&mut self, text: &[u8], count: usize) -> Result<bool, ReadError> {
        if self.texts.current().is_none_or(|found| found >= text) {
            return Ok(false);
        }
        for _ in 0..count {
            if self.texts.rest.is_empty() {
                break;
            }
            self.advance()?;
            if self.texts.current().is_some_and(|found| found >= text) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves to the next text and tells whether there is one.
    pub fn advance(&mut self) -> Result<bool, ReadError> {
        let has_text = self.texts.advance()?;
        if has_text {
            self.bytes = take_bytes(&mut self.texts.rest)?;
        }
        Ok(has_text)
    }
}
