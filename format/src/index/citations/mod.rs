//! The citation graph: the outputs that each output refers to, and the outputs that refer to each.
//!
//! ```text
//! header | lists of references, one for each record | lists of citations, one for each row
//!        | records with references | records with citations | offsets of the blocks | directory
//! block:     lists of 64 rows, one after another | the length of each: LEB128
//! list:      nothing without rows; else the number of rows: LEB128 | rows
//! rows:      at most 4,096 by interpolative coding; more as a posting list after its form: u8
//! directory: twelve numbers
//! ```
//!
//! A row without a record, an unresolved reference, has citations but no references. Lists hold rows
//! in ascending order, each once:
//!
//! ```text
//! output 0 refers to 2, 3      references 0: [2, 3]   1: [0]   2: []
//! output 1 refers to 0         citations  0: [1]      1: []    2: [0]   3: [0], unresolved
//! ```
//!
//! Cost of a list: three reads, and decoding it if it is short.

mod code;
mod verify;
mod write;

use std::ops::Range;

use crate::index::postings::Postings;
use crate::schema::Direction;
use crate::storage::{Archive, ArchiveError, HEADER_BYTES, InArchive, ReadError, leb128};

pub use crate::index::citations::write::{CitationsWriter, EncodedLists};

/// Lists in a block.
pub const BLOCK_LISTS: usize = 64;
/// The most rows of a list in interpolative coding.
pub const CODED_ROWS_MAX: usize = 4_096;
/// The numbers of the directory.
const DIRECTORY_FIELDS: usize = 12;

/// The rows of a list.
pub enum RowList<'s> {
    /// Ascending rows.
    Rows(Vec<u32>),
    /// A long list.
    Postings(Postings<'s>),
}

impl RowList<'_> {
    /// Calls `visit` with each row, ascending, until `visit` returns false.
    pub fn each(&self, mut visit: impl FnMut(u32) -> bool) -> Result<(), ReadError> {
        match self {
            RowList::Rows(rows) => {
                let _ = rows.iter().try_for_each(|row| visit(*row).then_some(()));
                Ok(())
            }
            RowList::Postings(postings) => postings.each(visit),
        }
    }

    /// All rows, ascending.
    pub fn into_vec(self) -> Result<Vec<u32>, ReadError> {
        match self {
            RowList::Rows(rows) => Ok(rows),
            RowList::Postings(postings) => postings.to_vec(),
        }
    }
}

/// The lists of one direction, as the directory describes them.
#[derive(Clone, Copy)]
struct Section {
    /// The offset of the first list.
    from: usize,
    /// The offset after the last block.
    to: usize,
    /// The offset of the blocks' offsets.
    offsets_from: usize,
    /// The number of lists.
    lists: usize,
    /// The rows that lists may have are below this number.
    bound: u32,
    /// The posting list of the records whose list is not empty.
    present: PostingsRange,
    /// The number of rows in all lists.
    links: u64,
}

/// Where a posting list stands in the file.
#[derive(Clone, Copy)]
struct PostingsRange {
    from: usize,
    to: usize,
    is_long: bool,
}

/// A mapped `citations` file.
#[derive(Clone)]
pub struct CitationsFile {
    archive: Archive,
    references: Section,
    citations: Section,
}

fn corrupt(detail: &'static str) -> ReadError {
    ReadError::corrupt("citations", detail)
}

impl InArchive for CitationsFile {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl CitationsFile {
    /// Opens a `citations` archive.
    pub fn open(archive: Archive) -> Result<CitationsFile, ArchiveError> {
        let header = archive.header();
        let refused = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: archive.len() as u64,
        };
        let directory_bytes = DIRECTORY_FIELDS * 8;
        let directory = archive.len().checked_sub(directory_bytes);
        let directory = directory.filter(|from| *from >= HEADER_BYTES);
        let directory = directory.ok_or_else(|| refused(HEADER_BYTES + directory_bytes))?;
        let field = |number: usize| archive.number_at(directory + number * 8);
        // Both casts fit: an archive has at most 2^32 rows.
        let (published, rows) = (header.published as usize, header.rows as usize);
        let mut begin = HEADER_BYTES;
        let mut sections = Vec::with_capacity(2);
        // Two sections, then what describes them.
        for (at, (lists, bound)) in [(published, rows), (rows, published)].into_iter().enumerate() {
            let fields = at * DIRECTORY_FIELDS / 2;
            let to = field(fields)?;
            let present = PostingsRange {
                from: field(fields + 1)?,
                to: field(fields + 2)?,
                is_long: field(fields + 3)? == 1,
            };
            let section = Section {
                from: begin,
                to,
                offsets_from: field(fields + 4)?,
                lists,
                bound: bound as u32,
                present,
                links: field(fields + 5)? as u64,
            };
            let offsets_to = lists
                .div_ceil(BLOCK_LISTS)
                .checked_mul(8)
                .and_then(|bytes| bytes.checked_add(section.offsets_from));
            let is_sound = begin <= to
                && to <= section.present.from
                && section.present.from <= section.present.to
                && section.present.to <= section.offsets_from
                && offsets_to.is_some_and(|to| to <= directory);
            if !is_sound {
                return Err(refused(offsets_to.unwrap_or(usize::MAX)));
            }
            begin = to;
            sections.push(section);
        }
        match sections[..] {
            [references, citations] => Ok(CitationsFile { archive, references, citations }),
            _ => Err(refused(directory)),
        }
    }

    /// The mapped file and its integrity checks.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    fn section(&self, direction: Direction) -> &Section {
        match direction {
            Direction::References => &self.references,
            Direction::Citations => &self.citations,
        }
    }

    /// The number of links of the graph in a direction: of references, unresolved ones included, or of
    /// citations, which are as many.
    pub fn links(&self, direction: Direction) -> u64 {
        self.section(direction).links
    }

    /// The records whose list is not empty.
    pub fn present(&self, direction: Direction) -> Result<Postings<'_>, ReadError> {
        let PostingsRange { from, to, is_long } = self.section(direction).present;
        Postings::open(&self.archive, from, to, is_long)
    }

    /// The number of rows of a list. Cost: three reads.
    ///
    /// # Errors
    ///
    /// Fails if there is no such list, or the bytes are damaged.
    pub fn count(&self, direction: Direction, row: u32) -> Result<u32, ReadError> {
        let range = self.list(self.section(direction), row)?;
        let to = range.end.min(range.start + leb128::BYTES_MAX);
        let mut head = self.archive.bytes(range.start, to)?;
        if range.is_empty() {
            return Ok(0);
        }
        let count = leb128::take(&mut head).and_then(|count| u32::try_from(count).ok());
        count.ok_or_else(|| corrupt("the length of a list is cut"))
    }

    /// The rows of a list.
    ///
    /// # Errors
    ///
    /// Fails if there is no such list, or the bytes are damaged.
    pub fn rows(&self, direction: Direction, row: u32) -> Result<RowList<'_>, ReadError> {
        let section = self.section(direction);
        let range = self.list(section, row)?;
        if range.is_empty() {
            return Ok(RowList::Rows(Vec::new()));
        }
        let to = range.end.min(range.start + leb128::BYTES_MAX);
        let mut head = self.archive.bytes(range.start, to)?;
        let whole = head.len();
        let count =
            leb128::take(&mut head).ok_or_else(|| corrupt("the length of a list is cut"))?;
        let from = range.start + whole - head.len();
        if count > CODED_ROWS_MAX as u64 {
            let is_long = match self.archive.bytes(from, range.end.min(from + 1))? {
                [0] => false,
                [1] => true,
                _ => return Err(corrupt("a list has an unknown form")),
            };
            let postings = Postings::open(&self.archive, from + 1, range.end, is_long);
            return postings.map(RowList::Postings);
        }
        let bytes = self.archive.bytes(from, range.end)?;
        let rows = code::decode(bytes, count as usize, 0..section.bound);
        rows.map(RowList::Rows).ok_or_else(|| corrupt("a list is no code of rows"))
    }

    /// The bytes of a list.
    fn list(&self, section: &Section, row: u32) -> Result<Range<usize>, ReadError> {
        let at = row as usize;
        if at >= section.lists {
            let (row, rows) = (u64::from(row), section.lists as u64);
            return Err(ReadError::Row { table: "citations", row, rows });
        }
        let block = at / BLOCK_LISTS;
        let lists = (section.lists - block * BLOCK_LISTS).min(BLOCK_LISTS);
        let lengths_from = self.archive.u64_at(section.offsets_from + block * 8)?;
        let lengths_from = usize::try_from(lengths_from)
            .ok()
            .filter(|from| (section.from..=section.to).contains(from))
            .ok_or_else(|| corrupt("a block lies outside its section"))?;
        let to = section.to.min(lengths_from + lists * leb128::BYTES_MAX);
        let mut lengths = self.archive.bytes(lengths_from, to)?;
        // The lists end where their lengths begin.
        let (mut after, mut length) = (0, 0);
        for list in 0..lists {
            let next = leb128::take(&mut lengths).ok_or_else(|| corrupt("a block is cut"))?;
            if list == at % BLOCK_LISTS {
                (after, length) = (0, next);
            } else {
                after += next;
            }
        }
        let end = (lengths_from as u64).checked_sub(after);
        let from = end.and_then(|end| end.checked_sub(length));
        match (from, end) {
            (Some(from), Some(end)) if from >= section.from as u64 => {
                Ok(from as usize..end as usize)
            }
            _ => Err(corrupt("a list lies outside its section")),
        }
    }
}
