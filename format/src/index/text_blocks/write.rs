//! Writes sorted texts in blocks.

use std::io;
use std::io::Write;
use std::path::Path;

use crate::index::fst_shards::FstShardsWriter;
use crate::storage::{FileWriter, leb128};

/// Where readers find the blocks, beside the bytes of the blocks themselves.
pub struct WrittenBlocks {
    /// Where the last block begins, from the first.
    pub last: u64,
    /// The number of texts.
    pub texts: u64,
    /// Offset of the table of the shards.
    pub table_from: u64,
    /// The number of shards.
    pub shards: u64,
}

/// Writes texts, each with its entry.
pub struct TextBlocksWriter {
    shards: FstShardsWriter,
    /// The size at which a block is closed.
    block_bytes: usize,
    block: Vec<u8>,
    last_text: Vec<u8>,
    texts: u64,
    /// Bytes of the closed blocks.
    bytes: u64,
    /// The place of the last closed block.
    last: u64,
}

impl TextBlocksWriter {
    /// Keeps the shards in `directory` until [`TextBlocksWriter::finish`].
    pub fn new(block_bytes: usize, directory: &Path) -> io::Result<TextBlocksWriter> {
        Ok(TextBlocksWriter {
            shards: FstShardsWriter::new(directory)?,
            block_bytes,
            block: Vec::new(),
            last_text: Vec::new(),
            texts: 0,
            bytes: 0,
            last: 0,
        })
    }

    /// Appends a text, which sorts after the last one. Returns the block, to which the caller appends the text's entry;
    /// a block that is full is written to `out`.
    pub fn push(&mut self, text: &[u8], out: &mut impl Write) -> io::Result<&mut Vec<u8>> {
        if text <= self.last_text.as_slice() {
            return Err(io::Error::other("texts do not ascend"));
        }
        let shared = self.last_text.iter().zip(text).take_while(|(a, b)| a == b).count();
        if self.block.len() >= self.block_bytes {
            self.close_block(out)?;
            // The separator: the shortest prefix that sorts after the last text.
            self.shards.push(&text[..=shared], self.last)?;
        }
        let shared = if self.block.is_empty() { 0 } else { shared };
        leb128::push(shared as u64, &mut self.block);
        leb128::push((text.len() - shared) as u64, &mut self.block);
        self.block.extend_from_slice(&text[shared..]);
        self.last_text.clear();
        self.last_text.extend_from_slice(text);
        self.texts += 1;
        Ok(&mut self.block)
    }

    /// Writes the last block, if there are texts.
    pub fn close_block(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let mut length = Vec::with_capacity(leb128::BYTES_MAX);
        leb128::push(self.block.len() as u64, &mut length);
        out.write_all(&length)?;
        out.write_all(&self.block)?;
        self.last = self.bytes;
        self.bytes += (length.len() + self.block.len()) as u64;
        self.block.clear();
        Ok(())
    }

    /// Appends the shards to a file, after the last block was closed.
    pub fn finish(self, file: &mut FileWriter) -> io::Result<WrittenBlocks> {
        debug_assert!(self.block.is_empty(), "the last block is written");
        let shards = self.shards.finish(file)?;
        let (last, texts) = (self.last, self.texts);
        Ok(WrittenBlocks { last, texts, table_from: shards.table_from, shards: shards.shards })
    }
}
