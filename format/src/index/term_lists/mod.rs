//! Term → rows: the posting lists of an entity.
//!
//! ```text
//! header | lists… | directory: for each, where its terms begin, how many, bytes of one
//! lists:  postings of each term, then of the rows that have any | terms ascending | places
//! places: where each postings begin, and the end: (terms + 2) × u64, bit 63 set where long
//! ```
//!
//! Terms are numbers, written big-endian in the bytes their kind needs, so that they sort as bytes.

mod verify;

use std::{
    io::{self, Write},
    path::Path,
};

use crate::index::postings::{Postings, PostingsBuilder};
use crate::schema::keys::Terms;
use crate::storage::archive::{Archive, ArchiveError};
use crate::storage::blobs::Spool;
use crate::storage::error::ReadError;
use crate::storage::header::{FileWriter, HEADER_BYTES, Header, Written};

/// Marks a place whose postings are in the long form.
const LONG: u64 = 1 << 63;
/// Bytes of a directory entry.
const PLACE_BYTES: usize = 24;

/// Bits of a hashed term.
pub const HASH_BITS: u32 = 112;

/// A term of any kind.
pub type Term = u128;

impl Terms {
    /// Bytes of one term.
    pub fn bytes(self) -> usize {
        match self {
            Terms::Rows(_) => 4,
            Terms::AnyRows | Terms::Values => 8,
            Terms::Identifiers(_) | Terms::Codes | Terms::Texts => HASH_BITS as usize / 8,
            Terms::Presence => 0,
        }
    }
}

/// The term of a text: the first 14 bytes of its BLAKE3 hash.
///
/// Two texts of one list never share it in practice: among 10^9 texts the odds are 1 in 10^15.
pub fn text_term(text: &str) -> Term {
    let hash = blake3::hash(text.as_bytes());
    let mut bytes = [0; 16];
    bytes[2..].copy_from_slice(&hash.as_bytes()[..HASH_BITS as usize / 8]);
    u128::from_be_bytes(bytes)
}

/// The term of an integer, ascending with it.
pub fn integer_term(value: i64) -> Term {
    Term::from(value.cast_unsigned() ^ (1 << 63))
}

/// The term of a row of an entity known only from the record.
pub fn any_row_term(entity: crate::entity::Entity, row: u32) -> Term {
    Term::from(entity as u8) << 32 | Term::from(row)
}

/// Writes a `lists` file.
pub struct TermListsWriter {
    file: FileWriter,
    directory: Vec<[u64; 3]>,
    terms: Spool,
    places: Spool,
    count: u64,
    width: usize,
    list: Vec<u8>,
}

impl TermListsWriter {
    /// Creates `path` with its header.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn create(path: &Path, header: Header) -> io::Result<TermListsWriter> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        let directory = path.parent().unwrap_or(Path::new("."));
        Ok(TermListsWriter {
            file,
            directory: Vec::new(),
            terms: Spool::new(directory),
            places: Spool::new(directory),
            count: 0,
            width: 0,
            list: Vec::new(),
        })
    }

    /// Begins the lists of the next path, with terms of so many bytes.
    pub fn begin(&mut self, width: usize) {
        self.width = width;
        self.count = 0;
    }

    /// Appends the list of a term; terms come ascending.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn push(&mut self, term: Term, list: &mut PostingsBuilder) -> io::Result<()> {
        self.terms.write_all(&term.to_be_bytes()[16 - self.width..])?;
        self.count += 1;
        self.write(list)
    }

    fn write(&mut self, list: &mut PostingsBuilder) -> io::Result<()> {
        self.list.clear();
        let mark = if list.finish(&mut self.list) { LONG } else { 0 };
        self.places.write_all(&(self.file.position_bytes() | mark).to_le_bytes())?;
        self.file.write_all(&self.list)
    }

    /// Ends the lists of a path with the rows that have any of its terms.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn end(&mut self, presence: &mut PostingsBuilder) -> io::Result<()> {
        self.write(presence)?;
        self.places.write_all(&self.file.position_bytes().to_le_bytes())?;
        let from = self.file.position_bytes();
        self.terms.move_to(&mut self.file)?;
        self.places.move_to(&mut self.file)?;
        self.directory.push([from, self.count, self.width as u64]);
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn finish(mut self) -> io::Result<Written> {
        for field in self.directory.iter().flatten() {
            self.file.write_all(&field.to_le_bytes())?;
        }
        self.file.finish()
    }
}

/// Where the lists of one path lie.
#[derive(Clone, Copy)]
struct ListsLayout {
    terms_from: usize,
    terms: usize,
    width: usize,
}

/// A mapped `lists` file.
pub struct TermListsFile {
    archive: Archive,
    places: Vec<ListsLayout>,
}

impl TermListsFile {
    /// Opens the file, which must hold lists of these terms.
    ///
    /// # Errors
    ///
    /// Where its directory is damaged, or is no directory of such lists.
    pub fn open(archive: Archive, expected: &[Terms]) -> Result<TermListsFile, ArchiveError> {
        let count = expected.len();
        let short = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: archive.len() as u64,
        };
        let directory_bytes = count * PLACE_BYTES;
        let from = archive.len().checked_sub(directory_bytes);
        let from = from.filter(|from| *from >= HEADER_BYTES);
        let from = from.ok_or_else(|| short(HEADER_BYTES + directory_bytes))?;
        let mut places = Vec::with_capacity(count);
        for (at, terms) in expected.iter().enumerate() {
            let field = |number: usize| archive.number_at(from + at * PLACE_BYTES + number * 8);
            let place =
                ListsLayout { terms_from: field(0)?, terms: field(1)?, width: terms.bytes() };
            // Everything a place is asked for lies between the header and the directory.
            let end = place
                .terms
                .checked_mul(place.width + 8)
                .and_then(|bytes| bytes.checked_add(place.terms_from)?.checked_add(16));
            let fits = end.is_some_and(|end| end <= from) && place.terms_from >= HEADER_BYTES;
            if !fits || field(2)? != place.width {
                return Err(short(end.unwrap_or(usize::MAX)));
            }
            places.push(place);
        }
        Ok(TermListsFile { archive, places })
    }

    /// The archive beneath.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    fn place(&self, lists: usize) -> Result<ListsLayout, ReadError> {
        self.places
            .get(lists)
            .copied()
            .ok_or(ReadError::corrupt("term_lists", "the file has no list of this number"))
    }

    /// How many terms lists have.
    ///
    /// # Errors
    ///
    /// Where there are no such lists.
    pub fn terms(&self, lists: usize) -> Result<usize, ReadError> {
        Ok(self.place(lists)?.terms)
    }

    /// The bytes lists take, postings and terms together.
    ///
    /// # Errors
    ///
    /// Where there are no such lists.
    pub fn bytes(&self, lists: usize) -> Result<u64, ReadError> {
        let end = |at: usize| {
            self.place(at).map(|place| place.terms_from + place.terms * (place.width + 8) + 16)
        };
        let from = if lists == 0 { HEADER_BYTES } else { end(lists - 1)? };
        Ok(end(lists)?.saturating_sub(from) as u64)
    }

    fn term(&self, place: ListsLayout, at: usize) -> Result<Term, ReadError> {
        let from = place.terms_from + at * place.width;
        let bytes = self.archive.bytes(from, from + place.width)?;
        Ok(bytes.iter().fold(0, |term, byte| term << 8 | Term::from(*byte)))
    }

    /// The number of the first term that is not below this one.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(terms) reads.
    pub fn lower_bound(&self, lists: usize, term: Term) -> Result<usize, ReadError> {
        let place = self.place(lists)?;
        let (mut low, mut high) = (0, place.terms);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.term(place, middle)? < term { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The term with this number.
    ///
    /// # Errors
    ///
    /// Where there is no such term, or the bytes are damaged.
    pub fn term_at(&self, lists: usize, number: usize) -> Result<Term, ReadError> {
        let place = self.place(lists)?;
        if number >= place.terms {
            return Err(ReadError::corrupt("term_lists", "a term lies beyond the list"));
        }
        self.term(place, number)
    }

    /// The list of a term; `None` where no row has it.
    ///
    /// # Errors
    ///
    /// As [`TermListsFile::lower_bound`].
    pub fn find(&self, lists: usize, term: Term) -> Result<Option<Postings<'_>>, ReadError> {
        let place = self.place(lists)?;
        let at = self.lower_bound(lists, term)?;
        if at == place.terms || self.term(place, at)? != term {
            return Ok(None);
        }
        self.postings(lists, at).map(Some)
    }

    /// The list of the term with this number.
    ///
    /// # Errors
    ///
    /// Where there is no such term, or the bytes are damaged.
    pub fn postings(&self, lists: usize, number: usize) -> Result<Postings<'_>, ReadError> {
        let place = self.place(lists)?;
        if number > place.terms {
            return Err(ReadError::corrupt("term_lists", "a term lies beyond the list"));
        }
        let (from, to, is_long) = self.postings_place(place, number)?;
        Postings::open(&self.archive, from, to, is_long)
    }

    /// Where the postings of a number lie, and whether they are long.
    fn postings_place(
        &self,
        place: ListsLayout,
        number: usize,
    ) -> Result<(usize, usize, bool), ReadError> {
        let at = place.terms_from + place.terms * place.width + number * 8;
        let (this, next) = (self.archive.u64_at(at)?, self.archive.u64_at(at + 8)?);
        let (from, to) = ((this & !LONG) as usize, (next & !LONG) as usize);
        if from < HEADER_BYTES || from > to || to > place.terms_from {
            return Err(ReadError::corrupt("term_lists", "a posting list lies outside its region"));
        }
        Ok((from, to, this & LONG != 0))
    }

    /// The rows that have any term.
    ///
    /// # Errors
    ///
    /// As [`TermListsFile::postings`].
    pub fn presence(&self, lists: usize) -> Result<Postings<'_>, ReadError> {
        self.postings(lists, self.place(lists)?.terms)
    }
}
