//! Writes dictionaries.

use std::{
    io::{self, Write},
    path::Path,
};

use crate::index::dictionary::layout::{BLOCK_BYTES, BLOCK_ROWS_MAX, MARK_BITS};
use crate::index::fst_shards::FstShardsWriter;
use crate::index::postings::PostingsBuilder;
use crate::storage::blobs::Spool;
use crate::storage::file_writer::{FileWriter, Written};
use crate::storage::header::Header;
use crate::storage::leb128;

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
    postings: Spool,
    postings_bytes: u64,
    offsets: Spool,
    shards: FstShardsWriter,
    block: Vec<u8>,
    last: Vec<u8>,
    list: Vec<u8>,
    texts: u64,
    blocks: u64,
}

impl DictionaryWriter {
    /// Creates `path` and writes the header.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn create(path: &Path, header: Header) -> io::Result<DictionaryWriter> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        let directory = path.parent().unwrap_or(Path::new("."));
        Ok(DictionaryWriter {
            file,
            postings: Spool::new(directory),
            postings_bytes: 0,
            offsets: Spool::new(directory),
            shards: FstShardsWriter::new(directory)?,
            block: Vec::new(),
            last: Vec::new(),
            list: Vec::new(),
            texts: 0,
            blocks: 0,
        })
    }

    /// Appends a text with its rows, and empties `rows`. Texts must ascend; each has at least one row.
    ///
    /// # Errors
    ///
    /// Fails if the text does not sort after the last one, has no row, or cannot be written.
    pub fn push(&mut self, text: &[u8], rows: &mut RowsBuilder) -> io::Result<()> {
        if text <= self.last.as_slice() || rows.count == 0 {
            return Err(io::Error::other("texts do not ascend, or one has no row"));
        }
        let shared = self.last.iter().zip(text).take_while(|(a, b)| a == b).count();
        if self.block.len() >= BLOCK_BYTES {
            self.close_block()?;
            // The separator: the shortest prefix that sorts after the last text.
            self.shards.push(&text[..=shared], self.blocks)?;
        }
        let shared = if self.block.is_empty() { 0 } else { shared };
        leb128::push(shared as u64, &mut self.block);
        leb128::push((text.len() - shared) as u64, &mut self.block);
        self.block.extend_from_slice(&text[shared..]);
        self.write_rows(rows)?;
        self.last.clear();
        self.last.extend_from_slice(text);
        self.texts += 1;
        Ok(())
    }

    fn write_rows(&mut self, rows: &mut RowsBuilder) -> io::Result<()> {
        let count = std::mem::take(&mut rows.count);
        leb128::push(count.into(), &mut self.block);
        self.list.clear();
        if count as usize <= BLOCK_ROWS_MAX {
            let mut next = 0;
            for (row, mark) in rows.inline.drain(..) {
                leb128::push(u64::from(row - next) << MARK_BITS | u64::from(mark), &mut self.list);
                next = row.saturating_add(1);
            }
            if count > 1 {
                leb128::push(self.list.len() as u64, &mut self.block);
            }
            self.block.extend_from_slice(&self.list);
            return Ok(());
        }
        let is_long = rows.postings.finish(&mut self.list);
        leb128::push(self.postings_bytes << 1 | u64::from(is_long), &mut self.block);
        leb128::push(self.list.len() as u64, &mut self.block);
        self.postings_bytes += self.list.len() as u64;
        self.postings.write_all(&self.list)
    }

    fn close_block(&mut self) -> io::Result<()> {
        self.offsets.write_all(&self.file.position_bytes().to_le_bytes())?;
        self.file.write_all(&self.block)?;
        self.block.clear();
        self.blocks += 1;
        Ok(())
    }

    /// Writes the postings, shards and directory, and closes the file.
    ///
    /// # Errors
    ///
    /// Fails if writing fails.
    pub fn finish(mut self) -> io::Result<Written> {
        if !self.block.is_empty() {
            self.close_block()?;
        }
        self.offsets.write_all(&self.file.position_bytes().to_le_bytes())?;
        self.postings.move_to(&mut self.file)?;
        let offsets_from = self.file.position_bytes();
        self.offsets.move_to(&mut self.file)?;
        let shards = self.shards.finish(&mut self.file)?;
        for field in [self.texts, self.blocks, offsets_from, shards.table_from, shards.shards] {
            self.file.write_all(&field.to_le_bytes())?;
        }
        self.file.finish()
    }
}
