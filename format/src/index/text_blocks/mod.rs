//! Sorted texts in blocks that share prefixes, each text with an entry of its user: a dictionary, or a map of the full-text
//! index.
//!
//! ```text
//! blocks… | shards: separator of each block but the first → where the block before begins
//! block: length of the rest | for each text: length shared with the previous text | length of the suffix | suffix | entry
//! ```
//!
//! Numbers within a block are LEB128. A separator is the shortest prefix of a block's first text that sorts after all texts
//! of the previous block. Blocks are counted in bytes from the first.
//!
//! ```text
//! block at 0: "apple" "graph"   block at 17: "graphene" "gravity"   "graphe" → 0
//! seek("graph")   →  the first separator after "graph" is "graphe"   →  decode the block at 0
//! seek("graphs")  →  no separator is after "graphs"                  →  decode the last block, at 17
//! ```
//!
//! A look-up finds the first separator after its text, so separators lead to the block before. Nothing is read between the shard
//! and the block.

mod verify;
mod write;

use std::ops::Range;

use crate::index::fst_shards::FstShards;
use crate::storage::{Archive, HEADER_BYTES, ReadError, leb128};

pub(super) use crate::index::text_blocks::write::{TextBlocksWriter, WrittenBlocks};

/// Bytes beyond the size at which a block is closed, which are read with it: the block's length, and most of its last entry.
const LAST_ENTRY_BYTES: usize = 128;

fn corrupt(what: &'static str) -> ReadError {
    ReadError::corrupt("text_blocks", what)
}

/// The blocks of a mapped file.
#[derive(Clone)]
pub(super) struct TextBlocks {
    shards: FstShards,
    /// The bytes of the blocks in the file.
    bytes: Range<usize>,
    /// Where the last block begins.
    last: usize,
    texts: u64,
    /// The bytes that are read of a block at first.
    read_bytes: usize,
}

impl TextBlocks {
    /// Blocks in these bytes, which lie before the shards. `None` if the places contradict one another.
    ///
    /// The writer closes blocks at `block_bytes`.
    pub fn new(
        shards: FstShards,
        bytes: Range<usize>,
        last: usize,
        texts: usize,
        block_bytes: usize,
    ) -> Option<TextBlocks> {
        let is_sound = bytes.start >= HEADER_BYTES
            && bytes.end <= shards.from()
            && match bytes.end.checked_sub(bytes.start)? {
                0 => last == 0 && texts == 0,
                length => last < length,
            };
        let (texts, read_bytes) = (texts as u64, block_bytes + LAST_ENTRY_BYTES);
        is_sound.then_some(TextBlocks { shards, bytes, last, texts, read_bytes })
    }

    /// The bytes of the blocks in the file.
    pub fn bytes(&self) -> Range<usize> {
        self.bytes.clone()
    }

    /// The separators: a reader of the file checks their bounds.
    pub fn shards(&self) -> &FstShards {
        &self.shards
    }

    /// The number of texts.
    pub fn count(&self) -> u64 {
        self.texts
    }

    /// A cursor before the first text.
    pub fn cursor<'s>(&'s self, archive: &'s Archive) -> BlocksCursor<'s> {
        BlocksCursor {
            blocks: self,
            archive,
            block: None,
            next: 0,
            rest: &[],
            text: Vec::new(),
            shared: 0,
        }
    }

    /// Where the block begins that has the first text at or after `text`, or the last block before it.
    fn find(&self, archive: &Archive, text: &[u8]) -> Result<usize, ReadError> {
        let after = self.shards.first_from(archive, &[text, &[0]].concat())?;
        Ok(after.map_or(self.last, |(_, before)| before as usize))
    }

    /// The texts of the block that begins at a place, and where the next begins.
    fn block<'s>(
        &self,
        archive: &'s Archive,
        place: usize,
    ) -> Result<(&'s [u8], usize), ReadError> {
        let outside = || corrupt("a block lies outside its region");
        let from = place.checked_add(self.bytes.start).filter(|from| *from < self.bytes.end);
        let from = from.ok_or_else(outside)?;
        let mut read =
            archive.bytes(from, from.saturating_add(self.read_bytes).min(self.bytes.end))?;
        let before = read.len();
        let length = leb128::take(&mut read).and_then(|length| usize::try_from(length).ok());
        let begin = from + (before - read.len());
        let end = length.and_then(|length| begin.checked_add(length));
        let end = end.filter(|end| *end <= self.bytes.end).ok_or_else(outside)?;
        let texts = match read.get(..end - begin) {
            Some(texts) => texts,
            None => archive.bytes(begin, end)?,
        };
        Ok((texts, end - self.bytes.start))
    }
}

/// Walks texts in order. The user takes each text's entry off [`BlocksCursor::rest`] before the next text.
pub(super) struct BlocksCursor<'s> {
    blocks: &'s TextBlocks,
    archive: &'s Archive,
    /// Where the block of the current text begins.
    block: Option<usize>,
    /// Where the next block begins.
    next: usize,
    /// The block from the current text's entry on.
    pub rest: &'s [u8],
    /// The current text; empty beyond the last.
    text: Vec<u8>,
    shared: usize,
}

impl<'s> BlocksCursor<'s> {
    /// The current text, or `None` before the first and beyond the last text.
    pub fn current(&self) -> Option<&[u8]> {
        (!self.text.is_empty()).then_some(self.text.as_slice())
    }

    /// Bytes that the current text shares with the text before; a lower bound at the beginning of a block.
    pub fn shared(&self) -> usize {
        self.shared
    }

    /// Moves before the block that may have `text`, unless the cursor is in that block and not behind the text.
    pub fn seek_block(&mut self, text: &[u8]) -> Result<(), ReadError> {
        let place = self.blocks.find(self.archive, text)?;
        if self.block != Some(place) || self.text.is_empty() || self.text.as_slice() > text {
            (self.block, self.next, self.rest) = (None, place, &[]);
            self.text.clear();
        }
        Ok(())
    }

    /// Moves to the next text and tells whether there is one.
    pub fn advance(&mut self) -> Result<bool, ReadError> {
        if self.rest.is_empty() {
            self.text.clear();
            if self.next >= self.blocks.bytes.len() {
                return Ok(false);
            }
            self.block = Some(self.next);
            (self.rest, self.next) = self.blocks.block(self.archive, self.next)?;
        }
        let mut number = || leb128::take(&mut self.rest).and_then(|n| usize::try_from(n).ok());
        let cut = || corrupt("a text is cut short");
        let (shared, length) = (number().ok_or_else(cut)?, number().ok_or_else(cut)?);
        let (suffix, rest) = self.rest.split_at_checked(length).ok_or_else(cut)?;
        if shared > self.text.len() || shared + length == 0 {
            return Err(corrupt("a text shares more than the text before it"));
        }
        self.rest = rest;
        self.text.truncate(shared);
        self.text.extend_from_slice(suffix);
        self.shared = shared;
        Ok(true)
    }

    /// Passes the texts before `text` in the block of the current text, which is one of these. `take` takes a text's entry off the
    /// block. Returns the entry of the first text at or after `text`; `None` if the block has none.
    ///
    /// A text that shares more with the text before than that shares with `text` is before `text` too, and is not looked at:
    ///
    /// ```text
    /// pass_before("great")    at grab, which shares 2    ph, shares 3: passed    vity, shares 3: passed    eat, shares 2: found
    /// ```
    #[inline]
    pub fn pass_before<E>(
        &mut self,
        text: &[u8],
        mut take: impl FnMut(&mut &'s [u8]) -> Option<E>,
    ) -> Result<Option<E>, ReadError> {
        let cut = || corrupt("a text is cut short");
        let mut rest = self.rest;
        let mut same = shared_bytes(&self.text, text);
        let mut length = self.text.len();
        while !rest.is_empty() {
            let mut number = || leb128::take(&mut rest).and_then(|n| usize::try_from(n).ok());
            let (shared, own) = (number().ok_or_else(cut)?, number().ok_or_else(cut)?);
            let (suffix, behind) = rest.split_at_checked(own).ok_or_else(cut)?;
            if shared > length || own == 0 {
                return Err(corrupt("a text shares more than the text before it"));
            }
            (rest, length) = (behind, shared + own);
            let entry = take(&mut rest).ok_or_else(cut)?;
            if shared > same {
                continue;
            }
            if suffix >= &text[shared..] {
                self.text.clear();
                self.text.extend_from_slice(&text[..shared]);
                self.text.extend_from_slice(suffix);
                (self.rest, self.shared) = (rest, shared);
                return Ok(Some(entry));
            }
            if shared < same {
                return Err(corrupt("the texts of a block do not ascend"));
            }
            same += shared_bytes(suffix, &text[shared..]);
        }
        self.rest = rest;
        Ok(None)
    }
}

/// The number of bytes that two texts begin with.
fn shared_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
