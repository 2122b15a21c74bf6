//! The ids and names of rows, in one place: what a reference to a row prints.
//!
//! ```text
//! header | slot of each row: rows × 32 bytes | long names
//!
//! slot, by its byte 8:
//!   0 to 23   id: u64 | length of the name: u8 | name, filled with zeros
//!   254       id: u64 | 254 | zeros                                     no name
//!   255       id: u64 | 255 | offset: u64 | length: u32 | zeros         a long name
//! ```
//!
//! Offsets count from the start of the file. Most names fit a slot, so that a reference costs one
//! read.

use std::io;
use std::io::Write;
use std::path::Path;

use crate::storage::archive::{Archive, ArchiveError, InArchive};
use crate::storage::blobs::Spool;
use crate::storage::error::ReadError;
use crate::storage::file_writer::{FileWriter, Written};
use crate::storage::header::{HEADER_BYTES, Header};

/// The size of a slot.
pub const SLOT_BYTES: usize = 32;
/// The longest name in a slot, in bytes.
pub const SLOT_NAME_BYTES: usize = SLOT_BYTES - NAME_AT;
/// The length byte of a row without a name.
pub const NO_NAME: u8 = 254;
/// The length byte of a name outside its slot.
pub const LONG_NAME: u8 = 255;

const LENGTH_AT: usize = 8;
const NAME_AT: usize = 9;
const LONG_LENGTH_AT: usize = NAME_AT + 8;

/// Writes a `names` file.
pub struct NamesWriter {
    file: FileWriter,
    long_names: Spool,
    /// The offset of the next long name.
    next_long: u64,
}

impl NamesWriter {
    /// Creates a file that starts with a header; the header's rows must be added.
    pub fn create(path: &Path, header: Header) -> io::Result<NamesWriter> {
        let (file, directory) = FileWriter::create_archive(path, header)?;
        let long_names = Spool::new(directory);
        Ok(NamesWriter { file, long_names, next_long: slots_end(header.rows) })
    }

    /// Appends a row.
    ///
    /// # Errors
    ///
    /// Where the system refuses, or the name has 4 GiB.
    pub fn push(&mut self, id: u64, name: Option<&str>) -> io::Result<()> {
        let mut slot = [0; SLOT_BYTES];
        slot[..LENGTH_AT].copy_from_slice(&id.to_le_bytes());
        match name {
            None => slot[LENGTH_AT] = NO_NAME,
            Some(name) if name.len() <= SLOT_NAME_BYTES => {
                slot[LENGTH_AT] = name.len() as u8;
                slot[NAME_AT..][..name.len()].copy_from_slice(name.as_bytes());
            }
            Some(name) => {
                let length = u32::try_from(name.len()).map_err(io::Error::other)?;
                slot[LENGTH_AT] = LONG_NAME;
                slot[NAME_AT..LONG_LENGTH_AT].copy_from_slice(&self.next_long.to_le_bytes());
                slot[LONG_LENGTH_AT..][..4].copy_from_slice(&length.to_le_bytes());
                self.long_names.write_all(name.as_bytes())?;
                self.next_long += u64::from(length);
            }
        }
        self.file.write_all(&slot)
    }

    /// Appends the long names and finishes the file.
    pub fn finish(mut self) -> io::Result<Written> {
        self.long_names.move_to(&mut self.file)?;
        self.file.finish()
    }
}

/// The offset after the slots of a number of rows.
fn slots_end(rows: u64) -> u64 {
    HEADER_BYTES as u64 + rows * SLOT_BYTES as u64
}

/// A mapped `names` file.
#[derive(Clone)]
pub struct Names {
    archive: Archive,
    rows: usize,
}

impl InArchive for Names {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl Names {
    /// Opens a `names` archive.
    ///
    /// # Errors
    ///
    /// Where the file is too short for its slots.
    pub fn open(archive: Archive) -> Result<Names, ArchiveError> {
        let rows = archive.header().rows;
        let (expected, found) = (slots_end(rows), archive.len() as u64);
        if found < expected {
            return Err(ArchiveError::Length { expected, found });
        }
        // The cast fits: the slots are mapped.
        Ok(Names { archive, rows: rows as usize })
    }

    /// The archive with the names.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The name of a row; `None` where it has none.
    ///
    /// # Errors
    ///
    /// As [`Names::get`], and where the name is not UTF-8.
    pub fn text(&self, row: usize) -> Result<Option<&str>, ReadError> {
        let (_, name) = self.get(row)?;
        let text = name.map(std::str::from_utf8).transpose();
        text.map_err(|_| ReadError::corrupt("names", "a name is not UTF-8"))
    }

    /// The id of a row and the bytes of its name; [`NO_ID`](crate::entity::NO_ID) and `None` where it has
    /// none.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or its bytes are damaged.
    #[inline]
    pub fn get(&self, row: usize) -> Result<(u64, Option<&[u8]>), ReadError> {
        let slot = self.slot(row)?;
        let id = number(slot, 0);
        let name = match slot[LENGTH_AT] {
            NO_NAME => return Ok((id, None)),
            LONG_NAME => self.long_name(slot)?,
            length => slot[NAME_AT..]
                .get(..usize::from(length))
                .ok_or(ReadError::corrupt("names", "a name is longer than its slot"))?,
        };
        Ok((id, Some(name)))
    }

    /// Starts to read the slot of a row from disk.
    pub(crate) fn fetch(&self, row: usize) {
        if row < self.rows {
            let at = HEADER_BYTES + row * SLOT_BYTES;
            self.archive.fetch(at, at + SLOT_BYTES);
            if self.archive.is_collecting() {
                // Notes a long name, which stands elsewhere.
                let _ = self.get(row);
            }
        }
    }

    fn slot(&self, row: usize) -> Result<&[u8; SLOT_BYTES], ReadError> {
        if row >= self.rows {
            let (row, rows) = (row as u64, self.rows as u64);
            return Err(ReadError::Row { table: "names", row, rows });
        }
        let at = HEADER_BYTES + row * SLOT_BYTES;
        let slot = self.archive.bytes(at, at + SLOT_BYTES)?;
        slot.try_into().map_err(|_| ReadError::Internal("a slot has another size"))
    }

    fn long_name(&self, slot: &[u8; SLOT_BYTES]) -> Result<&[u8], ReadError> {
        let outside = ReadError::corrupt("names", "a long name lies outside the file");
        let from = number(slot, NAME_AT);
        let length = number(slot, LONG_LENGTH_AT) as u32;
        let to = from.checked_add(u64::from(length));
        match to {
            Some(to) if from >= slots_end(self.rows as u64) && to <= self.archive.len() as u64 => {
                // Both casts fit: the numbers are at most the length of a mapped file.
                self.archive.bytes(from as usize, to as usize)
            }
            _ => Err(outside),
        }
    }
}

/// The number at a place of a slot.
fn number(slot: &[u8; SLOT_BYTES], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&slot[at..at + 8]);
    u64::from_le_bytes(bytes)
}
