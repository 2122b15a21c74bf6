//! A sorted map from text to bytes, in blocks that share prefixes.
//!
//! ```text
//! blocks… | offset of each block and end of the last: (blocks + 1) × u64
//!         | shards: separator of each block but the first → its number
//! block: for each text: length shared with the text before | length of the suffix | suffix | length of the bytes | bytes
//! ```
//!
//! Lengths are LEB128. A separator is the shortest prefix of a block's first text that sorts after all texts before.
//!
//! Cost of [`Texts::seek`]: a look-up in the shards, and decoding half a block of about 2 KiB.

use std::{
    io::{self, Write},
    path::Path,
};

use crate::index::check::{CheckError, ensure};
use crate::index::fst_shards::{FstShards, FstShardsWriter};
use crate::index::full_text::layout::TEXTS_BLOCK_BYTES;
use crate::storage::archive::{Archive, ArchiveError};
use crate::storage::blobs::Spool;
use crate::storage::error::ReadError;
use crate::storage::file_writer::FileWriter;
use crate::storage::leb128;

/// Numbers of a directory that [`Texts::open`] reads.
pub(super) const DIRECTORY_NUMBERS: usize = 5;

fn corrupt(what: &'static str) -> ReadError {
    ReadError::corrupt("full_text", what)
}

/// Writes the map.
pub(super) struct TextsWriter {
    blocks: Spool,
    offsets: Spool,
    shards: FstShardsWriter,
    block: Vec<u8>,
    last: Vec<u8>,
    bytes: u64,
    block_count: u64,
    texts: u64,
}

impl TextsWriter {
    /// Keeps the blocks in `directory` until [`TextsWriter::finish`].
    pub fn new(directory: &Path) -> io::Result<TextsWriter> {
        Ok(TextsWriter {
            blocks: Spool::new(directory),
            offsets: Spool::new(directory),
            shards: FstShardsWriter::new(directory)?,
            block: Vec::new(),
            last: Vec::new(),
            bytes: 0,
            block_count: 0,
            texts: 0,
        })
    }

    /// Appends a text with its bytes. Texts must ascend.
    pub fn push(&mut self, text: &[u8], bytes: &[u8]) -> io::Result<()> {
        if text <= self.last.as_slice() {
            return Err(io::Error::other("texts do not ascend"));
        }
        let shared = self.last.iter().zip(text).take_while(|(a, b)| a == b).count();
        if self.block.len() >= TEXTS_BLOCK_BYTES {
            self.close_block()?;
            self.shards.push(&text[..=shared], self.block_count)?;
        }
        let shared = if self.block.is_empty() { 0 } else { shared };
        leb128::push(shared as u64, &mut self.block);
        leb128::push((text.len() - shared) as u64, &mut self.block);
        self.block.extend_from_slice(&text[shared..]);
        leb128::push(bytes.len() as u64, &mut self.block);
        self.block.extend_from_slice(bytes);
        self.last.clear();
        self.last.extend_from_slice(text);
        self.texts += 1;
        Ok(())
    }

    fn close_block(&mut self) -> io::Result<()> {
        self.offsets.write_all(&self.bytes.to_le_bytes())?;
        self.blocks.write_all(&self.block)?;
        self.bytes += self.block.len() as u64;
        self.block.clear();
        self.block_count += 1;
        Ok(())
    }

    /// Appends the map to a file. Returns the numbers that [`Texts::open`] needs.
    pub fn finish(mut self, file: &mut FileWriter) -> io::Result<[u64; DIRECTORY_NUMBERS]> {
        if !self.block.is_empty() {
            self.close_block()?;
        }
        self.offsets.write_all(&self.bytes.to_le_bytes())?;
        let blocks_from = file.position_bytes();
        self.blocks.move_to(file)?;
        self.offsets.move_to(file)?;
        let shards = self.shards.finish(file)?;
        Ok([blocks_from, self.block_count, self.texts, shards.table_from, shards.shards])
    }
}

/// The map in a mapped file.
#[derive(Clone)]
pub(super) struct Texts {
    shards: FstShards,
    blocks_from: usize,
    offsets_from: usize,
    blocks: usize,
    texts: u64,
}

impl Texts {
    /// Opens a map whose blocks begin at `from`, and end where their offsets begin.
    pub fn open(
        archive: &Archive,
        numbers: [usize; DIRECTORY_NUMBERS],
    ) -> Result<Texts, ArchiveError> {
        let [blocks_from, blocks, texts, table_from, shards] = numbers;
        let shards = FstShards::open(archive, table_from, shards)?;
        let offsets = blocks.checked_add(1).and_then(|offsets| offsets.checked_mul(8));
        let offsets_from = offsets.and_then(|bytes| shards.from().checked_sub(bytes));
        match offsets_from.filter(|from| *from >= blocks_from) {
            Some(offsets_from) => {
                Ok(Texts { shards, blocks_from, offsets_from, blocks, texts: texts as u64 })
            }
            None => Err(ArchiveError::Length {
                expected: blocks_from as u64,
                found: archive.len() as u64,
            }),
        }
    }

    /// The first byte of the map.
    pub fn from(&self) -> usize {
        self.blocks_from
    }

    /// The first byte behind the map.
    pub fn to(&self) -> usize {
        self.shards.to()
    }

    /// The number of texts.
    pub fn count(&self) -> u64 {
        self.texts
    }

    fn block<'s>(&self, archive: &'s Archive, block: usize) -> Result<&'s [u8], ReadError> {
        let at = self.offsets_from + block * 8;
        let within = |offset: u64| {
            let offset = usize::try_from(offset).ok()?.checked_add(self.blocks_from)?;
            (offset <= self.offsets_from).then_some(offset)
        };
        let (from, to) = (within(archive.u64_at(at)?), within(archive.u64_at(at + 8)?));
        let outside = || corrupt("a block of texts lies outside its region");
        archive.bytes(from.ok_or_else(outside)?, to.ok_or_else(outside)?)
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
        TextsCursor {
            texts: self,
            archive,
            next_block: 0,
            rest: &[],
            text: Vec::new(),
            bytes: &[],
            shared: 0,
        }
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
        let mut blocks = 0;
        self.shards.verify(archive, |_, block| {
            blocks += 1;
            ensure(block == blocks, "the shards list a block that does not exist")
        })?;
        // A search for a text before all separators begins with the first block, which needs no separator.
        ensure(
            blocks == self.blocks.saturating_sub(1) as u64,
            "the shards do not list every block",
        )?;
        let (mut last, mut texts, mut at) = (Vec::new(), 0u64, 0);
        for block in 0..self.blocks {
            let offset = archive.u64_at(self.offsets_from + block * 8)?;
            ensure(offset == at, "the blocks are not contiguous")?;
            let bytes = self.block(archive, block)?;
            ensure(!bytes.is_empty(), "a block is empty")?;
            at += bytes.len() as u64;
            let mut cursor = TextsCursor { next_block: block, ..self.cursor(archive) };
            let mut is_first = true;
            // The cursor is empty until the first `advance` reads the block.
            while is_first || !cursor.rest.is_empty() {
                cursor.advance()?;
                let Some((text, bytes)) = cursor.current() else { break };
                ensure(last.as_slice() < text, "the texts do not ascend")?;
                let name = std::str::from_utf8(text)
                    .map_err(|_| CheckError::Violation("a text is not UTF-8"))?;
                if is_first && block > 0 {
                    // A separator is as short as possible: it ends with the byte by which the block's first text
                    // differs from the text before.
                    let shared = last.iter().zip(text).take_while(|(a, b)| a == b).count();
                    let separated = self.shards.get(archive, &text[..=shared])?;
                    ensure(separated == Some(block as u64), "no shard entry leads to a block")?;
                }
                visit(name, bytes)?;
                last.clear();
                last.extend_from_slice(text);
                is_first = false;
                texts += 1;
            }
        }
        ensure(
            self.blocks_from as u64 + at == self.offsets_from as u64,
            "the block offsets do not follow the blocks",
        )?;
        ensure(texts == self.texts, "the text count differs from the texts")
    }
}

/// Walks the texts in order.
pub(super) struct TextsCursor<'s> {
    texts: &'s Texts,
    archive: &'s Archive,
    next_block: usize,
    /// The undecoded rest of the block.
    rest: &'s [u8],
    /// The current text; empty beyond the last.
    text: Vec<u8>,
    bytes: &'s [u8],
    /// Bytes that the current text shares with the one before.
    shared: usize,
}

impl<'s> TextsCursor<'s> {
    /// The current text and its bytes, or `None` beyond the last text.
    pub fn current(&self) -> Option<(&[u8], &'s [u8])> {
        (!self.text.is_empty()).then_some((self.text.as_slice(), self.bytes))
    }

    /// Bytes that the current text shares with the text before; a lower bound at the beginning of a block.
    pub fn shared(&self) -> usize {
        self.shared
    }

    /// Moves to the first text at or after `text`. Decodes on from the current block if the text is in it.
    pub fn seek(&mut self, text: &[u8]) -> Result<(), ReadError> {
        // The block that may hold the text precedes the first block with a greater separator.
        let after = self.texts.shards.first_from(self.archive, &[text, &[0]].concat())?;
        let block = after.map_or(self.texts.blocks, |(_, block)| block as usize).saturating_sub(1);
        if self.text.is_empty() || block + 1 != self.next_block || self.text.as_slice() > text {
            (self.next_block, self.rest) = (block, &[]);
            self.advance()?;
        }
        while self.current().is_some_and(|(found, _)| found < text) {
            self.advance()?;
        }
        Ok(())
    }

    /// Moves to the next text and tells whether there is one.
    pub fn advance(&mut self) -> Result<bool, ReadError> {
        if self.rest.is_empty() {
            self.text.clear();
            if self.next_block >= self.texts.blocks {
                return Ok(false);
            }
            self.rest = self.texts.block(self.archive, self.next_block)?;
            self.next_block += 1;
        }
        let cut = || corrupt("an entry of a block of texts is cut");
        let mut number = || leb128::take(&mut self.rest).and_then(|n| usize::try_from(n).ok());
        let (shared, length) = (number().ok_or_else(cut)?, number().ok_or_else(cut)?);
        let (suffix, rest) = self.rest.split_at_checked(length).ok_or_else(cut)?;
        if shared > self.text.len() || shared + length == 0 {
            return Err(corrupt("a text shares more than the text before it"));
        }
        self.rest = rest;
        self.text.truncate(shared);
        self.text.extend_from_slice(suffix);
        self.shared = shared;
        let length = leb128::take(&mut self.rest).and_then(|n| usize::try_from(n).ok());
        (self.bytes, self.rest) =
            self.rest.split_at_checked(length.ok_or_else(cut)?).ok_or_else(cut)?;
        Ok(true)
    }
}
