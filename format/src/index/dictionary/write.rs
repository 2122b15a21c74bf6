//! Writing a dictionary.

use std::{
    io::{self, Write},
    path::Path,
};

use crate::index::dictionary::{BLOCK_BYTES, BLOCK_ROWS_MAX, MARK_BITS};
use crate::index::fst_shards::FstShardsWriter;
use crate::index::postings::PostingsBuilder;
use crate::storage::blobs::Spool;
use crate::storage::header::{FileWriter, Header, Written};

/// The rows of a text under way.
#[derive(Default)]
pub struct RowsBuilder {
    /// The first of them, with their marks, while they may be all.
    few: Vec<(u32, u8)>,
    /// All of them, once they are many.
    many: PostingsBuilder,
    count: u32,
}

impl RowsBuilder {
    /// Adds a row, which comes after those before, with a mark of two bits.
    pub fn push(&mut self, row: u32, mark: u8) {
        self.count += 1;
        if self.count as usize <= BLOCK_ROWS_MAX {
            self.few.push((row, mark));
            return;
        }
        for (row, _) in self.few.drain(..) {
            self.many.push(row >> 16, &[row as u16]);
        }
        self.many.push(row >> 16, &[row as u16]);
    }

    /// How many rows there are.
    pub fn count(&self) -> u32 {
        self.count
    }
}

/// Writes a dictionary.
pub struct DictionaryWriter {
    file: FileWriter,
    postings: Spool,
    postings_bytes: u64,
    places: Spool,
    shards: FstShardsWriter,
    block: Vec<u8>,
    last: Vec<u8>,
    list: Vec<u8>,
    texts: u64,
    blocks: u64,
}

impl DictionaryWriter {
    /// Creates `path` with its header.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn create(path: &Path, header: Header) -> io::Result<DictionaryWriter> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        let directory = path.parent().unwrap_or(Path::new("."));
        Ok(DictionaryWriter {
            file,
            postings: Spool::new(directory),
            postings_bytes: 0,
            places: Spool::new(directory),
            shards: FstShardsWriter::new(directory)?,
            block: Vec::new(),
            last: Vec::new(),
            list: Vec::new(),
            texts: 0,
            blocks: 0,
        })
    }

    /// Appends a text, which comes after all before it, with its rows, of which there is one at
    /// least; they are taken.
    ///
    /// # Errors
    ///
    /// Where the text does not come after them, or the system refuses.
    pub fn push(&mut self, text: &[u8], rows: &mut RowsBuilder) -> io::Result<()> {
        if text <= self.last.as_slice() || rows.count == 0 {
            return Err(io::Error::other("texts do not ascend, or one has no row"));
        }
        let shared = self.last.iter().zip(text).take_while(|(a, b)| a == b).count();
        if self.block.len() >= BLOCK_BYTES {
            self.close_block()?;
            // As little of the text as tells it from those before.
            self.shards.push(&text[..=shared], self.blocks)?;
        }
        let shared = if self.block.is_empty() { 0 } else { shared };
        number(shared as u64, &mut self.block);
        number((text.len() - shared) as u64, &mut self.block);
        self.block.extend_from_slice(&text[shared..]);
        self.write_rows(rows)?;
        self.last.clear();
        self.last.extend_from_slice(text);
        self.texts += 1;
        Ok(())
    }

    fn write_rows(&mut self, rows: &mut RowsBuilder) -> io::Result<()> {
        let count = std::mem::take(&mut rows.count);
        number(count.into(), &mut self.block);
        self.list.clear();
        if count as usize <= BLOCK_ROWS_MAX {
            let mut next = 0;
            for (row, mark) in rows.few.drain(..) {
                number(u64::from(row - next) << MARK_BITS | u64::from(mark), &mut self.list);
                next = row.saturating_add(1);
            }
            if count > 1 {
                number(self.list.len() as u64, &mut self.block);
            }
            self.block.extend_from_slice(&self.list);
            return Ok(());
        }
        let is_long = rows.many.finish(&mut self.list);
        number(self.postings_bytes << 1 | u64::from(is_long), &mut self.block);
        number(self.list.len() as u64, &mut self.block);
        self.postings_bytes += self.list.len() as u64;
        self.postings.write_all(&self.list)
    }

    fn close_block(&mut self) -> io::Result<()> {
        self.places.write_all(&self.file.position_bytes().to_le_bytes())?;
        self.file.write_all(&self.block)?;
        self.block.clear();
        self.blocks += 1;
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn finish(mut self) -> io::Result<Written> {
        if !self.block.is_empty() {
            self.close_block()?;
        }
        self.places.write_all(&self.file.position_bytes().to_le_bytes())?;
        self.postings.move_to(&mut self.file)?;
        let places_from = self.file.position_bytes();
        self.places.move_to(&mut self.file)?;
        let shards = self.shards.finish(&mut self.file)?;
        for field in [self.texts, self.blocks, places_from, shards.table_from, shards.shards] {
            self.file.write_all(&field.to_le_bytes())?;
        }
        self.file.finish()
    }
}

/// Appends a number in LEB128.
pub(super) fn number(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
