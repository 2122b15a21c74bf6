//! Writes a `citations` file.

use std::io;
use std::io::Write;
use std::path::Path;

use crate::index::citations::{BLOCK_LISTS, CODED_ROWS_MAX, DIRECTORY_FIELDS, code};
use crate::index::postings::PostingsBuilder;
use crate::schema::Direction;
use crate::storage::{FileWriter, HEADER_BYTES, Header, Spool, Written, leb128};

/// Writes the lists of references, one for each record, and then of citations, one for each row.
pub struct CitationsWriter {
    file: FileWriter,
    /// The records, and all rows.
    published: u64,
    rows_max: u64,
    references: SectionWriter,
    citations: SectionWriter,
}

/// The section of one direction while it is written.
struct SectionWriter {
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
    pub fn create(path: &Path, header: Header) -> io::Result<CitationsWriter> {
        let (file, directory) = FileWriter::create_archive(path, header)?;
        let section = || SectionWriter {
            lists: 0,
            links: 0,
            lengths: Vec::new(),
            offsets: Spool::new(directory),
            present: PostingsBuilder::default(),
            to: HEADER_BYTES as u64,
        };
        let (published, rows_max) = (header.published, header.rows);
        let (references, citations) = (section(), section());
        Ok(CitationsWriter { file, published, rows_max, references, citations })
    }

    /// Begins consecutive lists of one direction, which are encoded apart from the file.
    pub fn lists(&self, direction: Direction) -> EncodedLists {
        let bound = self.bound(direction);
        EncodedLists { direction, bound, bytes: Vec::new(), lists: Vec::new() }
    }

    /// The rows that lists may have are below this number.
    fn bound(&self, direction: Direction) -> u32 {
        // A header states at most u32::MAX rows.
        match direction {
            Direction::References => self.rows_max as u32,
            Direction::Citations => self.published as u32,
        }
    }

    /// Appends the lists of the next rows. All references come before all citations.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written, or there are more lists than rows.
    pub fn push_lists(&mut self, lists: &EncodedLists) -> io::Result<()> {
        let (section, lists_max) = match lists.direction {
            Direction::References => (&mut self.references, self.published),
            Direction::Citations => (&mut self.citations, self.rows_max),
        };
        let mut rest = &lists.bytes[..];
        for (bytes, count) in &lists.lists {
            if section.lists == lists_max {
                return Err(io::Error::other("the citation graph has more lists than rows"));
            }
            // A row is below 2^32.
            let row = section.lists as u32;
            if *count > 0 && section.lists < self.published {
                section.present.push(row >> 16, &[row as u16]);
            }
            leb128::push(*bytes as u64, &mut section.lengths);
            section.links += u64::from(*count);
            section.lists += 1;
            let (list, others) = rest.split_at(*bytes);
            rest = others;
            self.file.write_all(list)?;
            if section.lists.is_multiple_of(BLOCK_LISTS as u64) || section.lists == lists_max {
                section.offsets.write_all(&self.file.position_bytes().to_le_bytes())?;
                self.file.write_all(&section.lengths)?;
                section.lengths.clear();
            }
            section.to = self.file.position_bytes();
        }
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
            let mut present = Vec::new();
            let is_long = section.present.finish(&mut present);
            let from = self.file.position_bytes();
            self.file.write_all(&present)?;
            presences.push((from, self.file.position_bytes(), is_long));
        }
        for (section, (from, to, is_long)) in
            [&mut self.references, &mut self.citations].into_iter().zip(presences)
        {
            let offsets_from = self.file.position_bytes();
            section.offsets.move_to(&mut self.file)?;
            directory.extend([section.to, from, to, is_long.into(), offsets_from, section.links]);
        }
        self.file.finish_archive(directory)
    }
}

/// Consecutive lists of one direction, encoded.
#[derive(Clone)]
pub struct EncodedLists {
    direction: Direction,
    bound: u32,
    bytes: Vec<u8>,
    /// The bytes and the rows of each list.
    lists: Vec<(usize, u32)>,
}

impl EncodedLists {
    /// Encodes the list of the next row. Its rows ascend.
    pub fn push(&mut self, rows: &[u32]) {
        let EncodedLists { bound, bytes, lists, .. } = self;
        let from = bytes.len();
        if !rows.is_empty() {
            leb128::push(rows.len() as u64, bytes);
        }
        if rows.len() <= CODED_ROWS_MAX {
            code::encode(rows, 0..*bound, bytes);
        } else {
            let mut list = PostingsBuilder::default();
            list.push_rows(rows);
            let form = bytes.len();
            bytes.push(0);
            bytes[form] = list.finish(bytes).into();
        }
        // A list has fewer rows than the snapshot.
        lists.push((bytes.len() - from, rows.len() as u32));
    }
}
