//! Writes a `citations` file.

use std::{
    io::{self, Write},
    path::Path,
};

use crate::index::citations::{BLOCK_LISTS, CODED_ROWS_MAX, DIRECTORY_FIELDS, code};
use crate::index::postings::PostingsBuilder;
use crate::schema::keys::Direction;
use crate::storage::blobs::Spool;
use crate::storage::file_writer::{FileWriter, Written};
use crate::storage::header::{HEADER_BYTES, Header};
use crate::storage::leb128;

/// Writes the lists of references, one for each record, and then of citations, one for each row.
pub struct CitationsWriter {
    file: FileWriter,
    /// The records, and all rows.
    published: u64,
    rows_max: u64,
    references: SectionWriter,
    citations: SectionWriter,
    /// The bytes of the list that was pushed last.
    list: Vec<u8>,
}

/// The section of one direction while it is written.
struct SectionWriter {
    /// The rows that lists may have are below this number.
    bound: u32,
    lists: u64,
    links: u64,
    /// The encoded lengths of the lists of the current block.
    lengths: Vec<u8>,
    offsets: Spool,
    present: PostingsBuilder,
    to: u64,
}

impl CitationsWriter {
    /// Creates `path` and writes the header, which has the number of records and of rows.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn create(path: &Path, header: Header) -> io::Result<CitationsWriter> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        let directory = path.parent().unwrap_or(Path::new("."));
        // A header states at most u32::MAX rows.
        let section = |bound: u64| SectionWriter {
            bound: bound as u32,
            lists: 0,
            links: 0,
            lengths: Vec::new(),
            offsets: Spool::new(directory),
            present: PostingsBuilder::default(),
            to: HEADER_BYTES as u64,
        };
        let (published, rows_max) = (header.published, header.rows);
        let (references, citations) = (section(rows_max), section(published));
        Ok(CitationsWriter { file, published, rows_max, references, citations, list: Vec::new() })
    }

    /// Appends the ascending rows that the next record refers to. These lists come before those of
    /// [`CitationsWriter::push_citations`].
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written, or every record has a list.
    pub fn push_references(&mut self, rows: &[u32]) -> io::Result<()> {
        self.push(Direction::References, rows)
    }

    /// Appends the ascending rows that refer to the next row.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written, or every row has a list.
    pub fn push_citations(&mut self, rows: &[u32]) -> io::Result<()> {
        self.push(Direction::Citations, rows)
    }

    fn push(&mut self, direction: Direction, rows: &[u32]) -> io::Result<()> {
        let (section, lists_max) = match direction {
            Direction::References => (&mut self.references, self.published),
            Direction::Citations => (&mut self.citations, self.rows_max),
        };
        if section.lists == lists_max {
            return Err(io::Error::other("the citation graph has more lists than rows"));
        }
        // A row is below 2^32.
        let is_record = section.lists < self.published;
        section.add(section.lists as u32, is_record, rows, &mut self.list);
        self.file.write_all(&self.list)?;
        if section.lists.is_multiple_of(BLOCK_LISTS as u64) || section.lists == lists_max {
            section.offsets.write_all(&self.file.position_bytes().to_le_bytes())?;
            self.file.write_all(&section.lengths)?;
            section.lengths.clear();
        }
        section.to = self.file.position_bytes();
        Ok(())
    }

    /// Writes what describes the lists, and closes the file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written, or rows have no list yet.
    pub fn finish(mut self) -> io::Result<Written> {
        if (self.references.lists, self.citations.lists) != (self.published, self.rows_max) {
            return Err(io::Error::other("rows of the citation graph have no list"));
        }
        self.citations.to = self.citations.to.max(self.references.to);
        let mut directory = Vec::with_capacity(DIRECTORY_FIELDS);
        let mut presences = Vec::with_capacity(2);
        for section in [&mut self.references, &mut self.citations] {
            self.list.clear();
            let is_long = section.present.finish(&mut self.list);
            let from = self.file.position_bytes();
            self.file.write_all(&self.list)?;
            presences.push((from, self.file.position_bytes(), is_long));
        }
        for (section, (from, to, is_long)) in
            [&mut self.references, &mut self.citations].into_iter().zip(presences)
        {
            let offsets_from = self.file.position_bytes();
            section.offsets.move_to(&mut self.file)?;
            directory.extend([section.to, from, to, is_long.into(), offsets_from, section.links]);
        }
        for field in directory {
            self.file.write_all(&field.to_le_bytes())?;
        }
        self.file.finish()
    }
}

impl SectionWriter {
    /// Encodes the list of a row, and notes its length.
    fn add(&mut self, row: u32, is_record: bool, rows: &[u32], out: &mut Vec<u8>) {
        out.clear();
        let count = rows.len() as u64;
        if count > 0 {
            if is_record {
                self.present.push(row >> 16, &[row as u16]);
            }
            leb128::push(count, out);
        }
        if rows.len() <= CODED_ROWS_MAX {
            code::encode(rows, 0..self.bound, out);
        } else {
            let mut list = PostingsBuilder::default();
            list.push_rows(rows);
            let form = out.len();
            out.push(0);
            out[form] = list.finish(out).into();
        }
        leb128::push(out.len() as u64, &mut self.lengths);
        self.links += count;
        self.lists += 1;
    }
}
