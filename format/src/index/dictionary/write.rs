//! Writes dictionaries.

use std::io;
use std::io::Write;
use std::path::Path;

use crate::index::dictionary::{BLOCK_BYTES, BLOCK_ROWS_MAX, MARK_BITS};
use crate::index::postings::PostingsBuilder;
use crate::index::text_blocks::{TextBlocksWriter, WrittenBlocks};
use crate::storage::{FileWriter, Header, Spool, Written, leb128};

/// Collects the rows of a text.
#[derive(Default)]
pub struct RowsBuilder {
    /// The rows with their marks, up to 256 rows.
    inline: Vec<(u32, u8)>,
    /// All rows, from the 257th on.
    postings: PostingsBuilder,
    count: u32,
}

impl RowsBuilder {
    /// Adds a row with a mark of two bits. Rows must ascend.
    pub fn push(&mut self, row: u32, mark: u8) {
        self.count += 1;
        if self.count as usize <= BLOCK_ROWS_MAX {
            self.inline.push((row, mark));
            return;
        }
        for (row, _) in self.inline.drain(..) {
            self.postings.push(row >> 16, &[row as u16]);
        }
        self.postings.push(row >> 16, &[row as u16]);
    }

    /// The number of rows.
    pub fn count(&self) -> u32 {
        self.count
    }
}

/// Writes a dictionary.
pub struct DictionaryWriter {
    file: FileWriter,
    blocks: TextBlocksWriter,
    postings: Spool,
    postings_bytes: u64,
    list: Vec<u8>,
}

impl DictionaryWriter {
    /// Creates `path` and writes the header.
    pub fn create(path: &Path, header: Header) -> io::Result<DictionaryWriter> {
        let (file, directory) = FileWriter::create_archive(path, header)?;
        Ok(DictionaryWriter {
            file,
            blocks: TextBlocksWriter::new(BLOCK_BYTES, directory)?,
            postings: Spool::new(directory),
            postings_bytes: 0,
            list: Vec::new(),
        })
    }

    /// Appends a text with its rows, and empties `rows`. Texts must ascend; each has at least one row.
    ///
    /// # Errors
    ///
    /// Fails if the text does not sort after the last one, has no row, or cannot be written.
    pub fn push(&mut self, text: &[u8], rows: &mut RowsBuilder) -> io::Result<()> {
        let count = std::mem::take(&mut rows.count);
        if count == 0 {
            return Err(io::Error::other("a text has no row"));
        }
        let block = self.blocks.push(text, &mut self.file)?;
        leb128::push(count.into(), block);
        self.list.clear();
        if count as usize <= BLOCK_ROWS_MAX {
            let mut next = 0;
            for (row, mark) in rows.inline.drain(..) {
                leb128::push(u64::from(row - next) << MARK_BITS | u64::from(mark), &mut self.list);
                next = row.saturating_add(1);
            }
            if count > 1 {
                leb128::push(self.list.len() as u64, block);
            }
            block.extend_from_slice(&self.list);
            return Ok(());
        }
        let is_long = rows.postings.finish(&mut self.list);
        leb128::push(self.postings_bytes << 1 | u64::from(is_long), block);
        leb128::push(self.list.len() as u64, block);
        self.postings_bytes += self.list.len() as u64;
        self.postings.write_all(&self.list)
    }

    /// Writes the postings, shards and directory, and closes the file.
    pub fn finish(mut self) -> io::Result<Written> {
        self.blocks.close_block(&mut self.file)?;
        let postings_from = self.file.position_bytes();
        self.postings.move_to(&mut self.file)?;
        let WrittenBlocks { last, texts, table_from, shards } =
            self.blocks.finish(&mut self.file)?;
        self.file.finish_archive([texts, last, postings_from, table_from, shards])
    }
}
