//! Term → rows: the posting lists of every indexed path of an entity.
//!
//! ```text
//! header | lists of each path… | directory, for each path: offset of the terms, their number, their width
//! lists of a path: postings of each term | presence: postings of the rows with any term
//!                  | terms, ascending | offsets
//! offsets:         of each postings and of their end: (terms + 2) × 5 bytes, bit 39 set for the long form
//! ```
//!
//! A term is a number of fixed width per path, written big-endian. A row, an integer and a hashed text
//! take 4, 8 and 12 bytes:
//!
//! ```text
//! filter year:2020  →  term = integer_term(2020)  →  binary search of the terms  →  postings
//! ```
//!
//! Cost: log2(terms) reads to find a term, then the cost of its [`Postings`].

mod verify;

use std::io;
use std::io::Write;
use std::path::Path;

use blake3::hazmat::ChainingValue;

use crate::index::postings::{Postings, PostingsBuilder};
use crate::schema::Terms;
use crate::storage::mmap::Map;
use crate::storage::{
    Archive, ArchiveError, Chunks, FileWriter, HEADER_BYTES, Header, InArchive, ReadError,
    SHORT_SEARCH_BYTES, Spool, Written, little_endian,
};

/// Size of an offset, in bytes. Most terms of a large file have one row, so offsets are a fourth of it.
const OFFSET_BYTES: usize = 5;
/// Set in an offset whose postings are in the long form. No file is larger than this.
const LONG: u64 = 1 << 39;
/// The least bytes of 64 rows: a container that takes none, with its entry.
const LONG_BYTES_MIN: usize = 28;
/// Offsets that are in memory together.
const OFFSETS_AT_ONCE: usize = 1 << 16;
/// Size of a directory entry, in bytes.
const DIRECTORY_ENTRY_BYTES: usize = 24;

/// Size of a hashed term, in bits.
pub const HASH_BITS: u32 = 96;

/// A term of any kind.
pub type Term = u128;

impl Terms {
    /// The size of a term, in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Terms::Rows(_) => 4,
            Terms::AnyRows | Terms::Values => 8,
            Terms::Identifiers(_) | Terms::Codes | Terms::Texts | Terms::Prefixes => {
                HASH_BITS as usize / 8
            }
            Terms::Presence => 0,
        }
    }
}

/// The term of a text: the first 12 bytes of its BLAKE3 hash.
///
/// The odds that any two of 10^9 texts share a term are 1 in 10^11.
pub fn text_term(text: &str) -> Term {
    let hash = blake3::hash(text.as_bytes());
    let mut bytes = [0; 16];
    bytes[4..].copy_from_slice(&hash.as_bytes()[..HASH_BITS as usize / 8]);
    u128::from_be_bytes(bytes)
}

/// The term of an integer. Terms sort as their integers do.
pub fn integer_term(value: i64) -> Term {
    Term::from(value.cast_unsigned() ^ (1 << 63))
}

/// The term of a reference whose entity differs from record to record.
pub fn any_row_term(entity: crate::entity::Entity, row: u32) -> Term {
    Term::from(entity as u8) << 32 | Term::from(row)
}

/// Posting lists of some paths, kept aside until [`TermListsWriter`] copies them into a file: threads write lists of several
/// paths at once. For each path [`ListsSpool::begin`], `push` for each term, and `end`.
pub struct ListsSpool {
    postings: Spool,
    postings_bytes: u64,
    terms: Spool,
    offsets: Spool,
    paths: Vec<SpooledPath>,
    /// The path that is begun.
    path: SpooledPath,
    list: Vec<u8>,
}

/// The terms of a path, the size of each, and where the path's postings begin.
#[derive(Clone, Copy, Default)]
struct SpooledPath {
    count: u64,
    width: usize,
    from: u64,
}

impl ListsSpool {
    /// No lists, with their unnamed files in `directory`.
    pub fn new(directory: &Path) -> ListsSpool {
        ListsSpool {
            postings: Spool::new(directory),
            postings_bytes: 0,
            terms: Spool::new(directory),
            offsets: Spool::new(directory),
            paths: Vec::new(),
            path: SpooledPath::default(),
            list: Vec::new(),
        }
    }

    /// Begins the lists of the next path, with terms of `width` bytes.
    pub fn begin(&mut self, width: usize) {
        self.path = SpooledPath { count: 0, width, from: self.postings_bytes };
    }

    /// Appends the list of a term. Terms must ascend.
    pub fn push(&mut self, term: Term, list: &mut PostingsBuilder) -> io::Result<()> {
        self.terms.write_all(&term.to_be_bytes()[16 - self.path.width..])?;
        self.path.count += 1;
        self.write(list)
    }

    fn write(&mut self, list: &mut PostingsBuilder) -> io::Result<()> {
        self.list.clear();
        let mark = if list.finish(&mut self.list) { LONG } else { 0 };
        self.write_offset(mark)?;
        self.postings_bytes += self.list.len() as u64;
        self.postings.write_all(&self.list)
    }

    /// Offsets count from the path's first postings here.
    fn write_offset(&mut self, mark: u64) -> io::Result<()> {
        let offset = (self.postings_bytes - self.path.from) | mark;
        self.offsets.write_all(&offset.to_le_bytes()[..OFFSET_BYTES])
    }

    /// Ends the lists of a path. `presence` holds the rows with any of its terms.
    pub fn end(&mut self, presence: &mut PostingsBuilder) -> io::Result<()> {
        self.write(presence)?;
        self.write_offset(0)?;
        self.paths.push(self.path);
        Ok(())
    }

    /// Maps what was written.
    pub fn finish(mut self) -> io::Result<SpooledLists> {
        Ok(SpooledLists {
            postings: self.postings.take_map()?,
            terms: self.terms.take_map()?,
            offsets: self.offsets.take_map()?,
            paths: self.paths,
        })
    }
}

/// The lists of a [`ListsSpool`].
pub struct SpooledLists {
    postings: Map,
    terms: Map,
    offsets: Map,
    paths: Vec<SpooledPath>,
}

impl SpooledLists {
    /// The lists of each path, the first path first.
    pub fn paths(&self) -> impl Iterator<Item = PathLists<'_>> {
        let [mut terms, mut offsets] =
            [&self.terms, &self.offsets].map(|map| map.bytes(0..map.len()));
        let ends = self.paths.iter().skip(1).map(|next| next.from as usize);
        let ends = ends.chain([self.postings.len()]);
        self.paths.iter().zip(ends).map(move |(path, end)| {
            let count = path.count as usize;
            PathLists {
                width: path.width,
                postings: self.postings.bytes(path.from as usize..end),
                terms: terms.split_off(..count * path.width).unwrap_or_default(),
                offsets: offsets.split_off(..(count + 2) * OFFSET_BYTES).unwrap_or_default(),
            }
        })
    }
}

/// The lists of one path, as a file has them, but for their offsets, which count from the first of the postings.
#[derive(Clone, Copy)]
pub struct PathLists<'s> {
    width: usize,
    postings: &'s [u8],
    terms: &'s [u8],
    offsets: &'s [u8],
}

/// Writes a `lists` file.
pub struct TermListsWriter {
    file: FileWriter,
    directory: Vec<[u64; 3]>,
}

impl TermListsWriter {
    /// Creates `path` and writes the header.
    pub fn create(path: &Path, header: Header) -> io::Result<TermListsWriter> {
        let (file, _) = FileWriter::create_archive(path, header)?;
        Ok(TermListsWriter { file, directory: Vec::new() })
    }

    /// Appends the lists of the next path. `hash` is that of [`FileWriter::write_hashed`].
    pub fn append(
        &mut self,
        lists: PathLists<'_>,
        hash: impl Fn(Vec<Chunks<'_>>) -> Vec<Vec<ChainingValue>>,
    ) -> io::Result<()> {
        let PathLists { width, postings, terms, offsets } = lists;
        let first = self.file.position_bytes();
        self.file.write_hashed(postings, &hash)?;
        let terms_from = self.file.position_bytes();
        if terms_from >= LONG {
            return Err(io::Error::other("the term lists of an entity exceed 512 GiB"));
        }
        self.file.write_hashed(terms, &hash)?;
        let mut moved = Vec::new();
        for offsets in offsets.chunks(OFFSETS_AT_ONCE * OFFSET_BYTES) {
            moved.clear();
            for offset in offsets.chunks(OFFSET_BYTES) {
                // The sum stays below the mark.
                let offset = little_endian(offset) + first;
                moved.extend_from_slice(&offset.to_le_bytes()[..OFFSET_BYTES]);
            }
            self.file.write_hashed(&moved, &hash)?;
        }
        let count = (offsets.len() / OFFSET_BYTES).saturating_sub(2);
        self.directory.push([terms_from, count as u64, width as u64]);
        Ok(())
    }

    /// Writes the directory and closes the file.
    pub fn finish(self) -> io::Result<Written> {
        self.file.finish_archive(self.directory.into_iter().flatten())
    }
}

/// Position of the lists of one path.
#[derive(Clone, Copy)]
struct ListsLayout {
    terms_from: usize,
    terms: usize,
    width: usize,
}

impl ListsLayout {
    /// The offset after the lists.
    fn end(self) -> usize {
        self.terms_from + self.terms * (self.width + OFFSET_BYTES) + 2 * OFFSET_BYTES
    }
}

/// A mapped `lists` file. Methods take the number of a path's lists, as `schema::keys` counts them.
#[derive(Clone)]
pub struct TermListsFile {
    archive: Archive,
    layouts: Vec<ListsLayout>,
}

impl InArchive for TermListsFile {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl TermListsFile {
    /// Opens a file that must hold lists with these terms.
    ///
    /// # Errors
    ///
    /// Fails if the directory is damaged or describes other lists.
    pub fn open(archive: Archive, expected: &[Terms]) -> Result<TermListsFile, ArchiveError> {
        let count = expected.len();
        let short = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: archive.len() as u64,
        };
        let directory_bytes = count * DIRECTORY_ENTRY_BYTES;
        let from = archive.len().checked_sub(directory_bytes);
        let from = from.filter(|from| *from >= HEADER_BYTES);
        let from = from.ok_or_else(|| short(HEADER_BYTES + directory_bytes))?;
        let mut layouts = Vec::with_capacity(count);
        for (at, terms) in expected.iter().enumerate() {
            let field =
                |number: usize| archive.number_at(from + at * DIRECTORY_ENTRY_BYTES + number * 8);
            let layout =
                ListsLayout { terms_from: field(0)?, terms: field(1)?, width: terms.bytes() };
            // Terms and offsets lie between the header and the directory.
            let end = layout.terms.checked_mul(layout.width + OFFSET_BYTES).and_then(|bytes| {
                bytes.checked_add(layout.terms_from)?.checked_add(2 * OFFSET_BYTES)
            });
            let fits = end.is_some_and(|end| end <= from) && layout.terms_from >= HEADER_BYTES;
            if !fits || field(2)? != layout.width {
                return Err(short(end.unwrap_or(usize::MAX)));
            }
            layouts.push(layout);
        }
        Ok(TermListsFile { archive, layouts })
    }

    /// The mapped file and its integrity checks.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    fn layout(&self, lists: usize) -> Result<ListsLayout, ReadError> {
        self.layouts
            .get(lists)
            .copied()
            .ok_or(ReadError::corrupt("term_lists", "the file has no list of this number"))
    }

    /// The number of terms of a path.
    ///
    /// # Errors
    ///
    /// Fails if the file has no such lists.
    pub fn terms(&self, lists: usize) -> Result<usize, ReadError> {
        Ok(self.layout(lists)?.terms)
    }

    /// The size of a path's postings, terms and offsets, in bytes.
    ///
    /// # Errors
    ///
    /// Fails if the file has no such lists.
    pub fn bytes(&self, lists: usize) -> Result<u64, ReadError> {
        let end = |at: usize| self.layout(at).map(ListsLayout::end);
        let from = if lists == 0 { HEADER_BYTES } else { end(lists - 1)? };
        Ok(end(lists)?.saturating_sub(from) as u64)
    }

    fn term(&self, layout: ListsLayout, at: usize) -> Result<Term, ReadError> {
        let from = layout.terms_from + at * layout.width;
        let bytes = self.archive.bytes(from, from + layout.width)?;
        Ok(bytes.iter().fold(0, |term, byte| term << 8 | Term::from(*byte)))
    }

    /// Binary-searches the number of the first term at or after `term`. Cost: log2(terms) reads.
    pub fn lower_bound(&self, lists: usize, term: Term) -> Result<usize, ReadError> {
        let layout = self.layout(lists)?;
        let at = |number: usize| {
            let from = layout.terms_from + number * layout.width;
            from..from + layout.width
        };
        let is_below = |number: usize| Ok(self.term(layout, number)? < term);
        self.archive.partition_point(layout.terms, at, is_below)
    }

    /// The term of a number.
    ///
    /// # Errors
    ///
    /// Fails if the term does not exist or the bytes are damaged.
    pub fn term_at(&self, lists: usize, number: usize) -> Result<Term, ReadError> {
        let layout = self.layout(lists)?;
        if number >= layout.terms {
            return Err(ReadError::corrupt("term_lists", "a term lies beyond the list"));
        }
        self.term(layout, number)
    }

    /// The rows with a term, or `None` if no row has the term.
    pub fn find(&self, lists: usize, term: Term) -> Result<Option<Postings<'_>>, ReadError> {
        let layout = self.layout(lists)?;
        // The place of the postings is read next.
        if self.archive.is_collecting() && layout.end() - layout.terms_from <= SHORT_SEARCH_BYTES {
            self.archive.fetch(layout.terms_from, layout.end());
        }
        let at = self.lower_bound(lists, term)?;
        if at == layout.terms || self.term(layout, at)? != term {
            return Ok(None);
        }
        self.postings(lists, at).map(Some)
    }

    /// Whether look-ups that fail note the chunks that they lack.
    pub(crate) fn notes_failures(&self) -> bool {
        self.archive.notes_failures()
    }

    /// The rows with the term of a number.
    ///
    /// # Errors
    ///
    /// Fails if the term does not exist or the bytes are damaged.
    pub fn postings(&self, lists: usize, number: usize) -> Result<Postings<'_>, ReadError> {
        let layout = self.layout(lists)?;
        if number > layout.terms {
            return Err(ReadError::corrupt("term_lists", "a term lies beyond the list"));
        }
        let (from, to, is_long) = self.postings_bytes(layout, number)?;
        Postings::open(&self.archive, from, to, is_long)
    }

    /// The byte range of the postings of a number, and whether they are in the long form.
    fn postings_bytes(
        &self,
        layout: ListsLayout,
        number: usize,
    ) -> Result<(usize, usize, bool), ReadError> {
        let at = layout.terms_from + layout.terms * layout.width + number * OFFSET_BYTES;
        let bytes = self.archive.bytes(at, at + 2 * OFFSET_BYTES)?;
        let (this, next) = bytes.split_at(OFFSET_BYTES);
        let (this, next) = (little_endian(this), little_endian(next));
        let (from, to) = ((this & !LONG) as usize, (next & !LONG) as usize);
        if from < HEADER_BYTES || from > to || to > layout.terms_from {
            return Err(ReadError::corrupt("term_lists", "a posting list lies outside its region"));
        }
        Ok((from, to, this & LONG != 0))
    }

    /// Calls `visit` with the postings of each term, but for those too short for 64 rows. Cost: all offsets of the path.
    ///
    /// # Errors
    ///
    /// Fails if the file has no such lists, or the bytes are damaged.
    pub(crate) fn each_long<'s>(
        &'s self,
        lists: usize,
        mut visit: impl FnMut(Postings<'s>),
    ) -> Result<(), ReadError> {
        let layout = self.layout(lists)?;
        for number in 0..layout.terms {
            let (from, to, is_long) = self.postings_bytes(layout, number)?;
            if to - from >= LONG_BYTES_MIN {
                visit(Postings::open(&self.archive, from, to, is_long)?);
            }
        }
        Ok(())
    }

    /// The rows with any term of a path.
    pub fn presence(&self, lists: usize) -> Result<Postings<'_>, ReadError> {
        self.postings(lists, self.layout(lists)?.terms)
    }
}
