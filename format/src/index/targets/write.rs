//! Writes a `targets` file.

use std::io;
use std::io::Write;
use std::path::Path;

use crate::index::targets::{BLOCK_RECORDS, row_width};
use crate::storage::{FileWriter, Header, Spool, Written, leb128};

/// Writes the rows of each record, for all paths at a time.
pub struct TargetsWriter {
    file: FileWriter,
    paths: Vec<PathWriter>,
}

/// The blocks of one path while they are written.
struct PathWriter {
    width: usize,
    blocks: Spool,
    /// The bytes in `blocks`.
    bytes: u64,
    /// Where each block begins in `blocks`: u64 each.
    offsets: Spool,
    records: u64,
    rows: u64,
    lengths: Vec<u8>,
    block: Vec<u8>,
}

impl TargetsWriter {
    /// Creates `path` and writes the header. Each path's rows are below the number in `rows`.
    pub fn create(
        path: &Path,
        header: Header,
        rows: impl Iterator<Item = u32>,
    ) -> io::Result<TargetsWriter> {
        let (file, directory) = FileWriter::create_archive(path, header)?;
        let paths = rows.map(|rows| PathWriter {
            width: row_width(rows),
            blocks: Spool::new(directory),
            bytes: 0,
            offsets: Spool::new(directory),
            records: 0,
            rows: 0,
            lengths: Vec::new(),
            block: Vec::new(),
        });
        Ok(TargetsWriter { file, paths: paths.collect() })
    }

    /// Appends the ascending rows of the next record of a path.
    pub fn push(&mut self, path: usize, rows: &[u32]) -> io::Result<()> {
        let path = &mut self.paths[path];
        leb128::push(rows.len() as u64, &mut path.lengths);
        for row in rows {
            path.block.extend_from_slice(&row.to_le_bytes()[..path.width]);
        }
        path.rows += rows.len() as u64;
        path.records += 1;
        match path.records.is_multiple_of(BLOCK_RECORDS as u64) {
            true => path.end_block(),
            false => Ok(()),
        }
    }

    /// Writes the blocks of each path, their offsets and the directory, and closes the file.
    pub fn finish(mut self) -> io::Result<Written> {
        let mut directory = Vec::with_capacity(self.paths.len());
        for path in &mut self.paths {
            if !path.lengths.is_empty() {
                path.end_block()?;
            }
            path.blocks.move_to(&mut self.file)?;
            directory.push([self.file.position_bytes(), path.width as u64, path.rows]);
            path.offsets.move_to(&mut self.file)?;
        }
        self.file.finish_archive(directory.into_iter().flatten())
    }
}

impl PathWriter {
    fn end_block(&mut self) -> io::Result<()> {
        self.offsets.write_all(&self.bytes.to_le_bytes())?;
        self.blocks.write_all(&self.lengths)?;
        self.blocks.write_all(&self.block)?;
        self.bytes += (self.lengths.len() + self.block.len()) as u64;
        self.lengths.clear();
        self.block.clear();
        Ok(())
    }
}
