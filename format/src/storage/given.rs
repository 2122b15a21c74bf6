//! The bytes of a file in memory, chunk by chunk, as a host gives them. Stands in the place of `mmap` where no file can be
//! mapped.
//!
//! ```text
//! chunk        0     1     2     3     4     5
//! given              aaaaaaaaaaaaaaaaa       bbbbb
//! table        -     a     a+1   a+2   -     b          each entry reaches to the end of what was given with it
//! ```
//!
//! A range of bytes is a part of one entry. If it reaches beyond the entry, its chunks are copied side by side, and the copy
//! takes the entry's place: a table of 32-bit addresses need not hold a file of 4 GiB in one piece.
//!
//! An absent chunk reads as zeros, as the hole of a file does. If the chunk is verified all the same, it is a chunk of zeros.
//!
//! Readers borrow bytes for as long as they like, so bytes that were given stay until the program ends. The host bounds
//! them: it ends an instance of the module that holds many, and begins another.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use crate::storage::integrity::{CHUNK_BYTES, chunk_range, chunks_of};
use crate::storage::loading::{FileChange, LoadMode};

/// The bytes of a chunk of zeros.
static ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];

/// The bytes of a file, as far as they were given.
pub struct Map {
    size_bytes: usize,
    /// For each chunk, the bytes from its first on that were given together; empty if the chunk is absent.
    chunks: RwLock<Vec<&'static [u8]>>,
}

impl Map {
    /// A map of no bytes.
    pub fn empty() -> Map {
        Map::absent(0)
    }

    /// A file of which no byte is here.
    pub(crate) fn absent(size_bytes: usize) -> Map {
        Map { size_bytes, chunks: RwLock::new(vec![&[]; size_bytes.div_ceil(CHUNK_BYTES)]) }
    }

    /// Maps no file.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn open(_: &File) -> io::Result<Map> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// As [`Map::open`].
    ///
    /// # Errors
    ///
    /// Always.
    pub fn load(_: File, _: LoadMode) -> io::Result<Map> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The size of the file.
    pub fn len(&self) -> usize {
        self.size_bytes
    }

    /// Whether the file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.size_bytes == 0
    }

    /// The bytes of a range whose chunks are verified.
    #[inline]
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.given(range.clone()).unwrap_or_else(|| self.with_zeros(range))
    }

    /// The bytes of a range within the file, of which absent chunks are zeros from now on.
    #[cold]
    fn with_zeros(&self, range: Range<usize>) -> &[u8] {
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        for chunk in chunks_of(range.start, range.end) {
            if chunks[chunk].is_empty() {
                chunks[chunk] = &ZEROS[..chunk_range(chunk, self.size_bytes).len()];
            }
        }
        drop(chunks);
        self.given(range).expect("each chunk of the file has bytes")
    }

    /// The bytes of a range; zeros, if a chunk of them is absent.
    pub fn read(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        let length = range.len();
        self.given(range).map_or_else(|| Cow::Owned(vec![0; length]), Cow::Borrowed)
    }

    #[inline]
    fn given(&self, range: Range<usize>) -> Option<&'static [u8]> {
        let (first, at) = (range.start / CHUNK_BYTES, range.start % CHUNK_BYTES);
        if range.is_empty() {
            return Some(&[]);
        }
        let given = *self.chunks.read().unwrap_or_else(PoisonError::into_inner).get(first)?;
        match given.get(at..at + range.len()) {
            Some(bytes) => Some(bytes),
            None => self.join(first, range.end)?.get(at..at + range.len()),
        }
    }

    /// Copies the chunks from `first` to the one before `end` side by side; `None` if one is absent.
    #[cold]
    fn join(&self, first: usize, end: usize) -> Option<&'static [u8]> {
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        let length = end.next_multiple_of(CHUNK_BYTES).min(self.size_bytes) - first * CHUNK_BYTES;
        let mut joined = Vec::with_capacity(length);
        while joined.len() < length {
            let given = *chunks.get(first + joined.len() / CHUNK_BYTES)?;
            let missing = length - joined.len();
            if given.is_empty() {
                return None;
            }
            joined.extend_from_slice(&given[..given.len().min(missing)]);
        }
        chunks[first] = joined.leak();
        Some(chunks[first])
    }

    /// Takes bytes of the file. Where they do not fill a chunk, the rest of it stays as it was: zeros at first.
    ///
    /// # Errors
    ///
    /// The range leaves the file.
    pub(crate) fn write(&self, _: &Path, bytes: &[u8], at: u64) -> io::Result<()> {
        let from = usize::try_from(at).map_err(io::Error::other)?;
        let to = from.checked_add(bytes.len()).filter(|to| *to <= self.size_bytes);
        let to = to.ok_or(io::ErrorKind::InvalidInput)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let whole =
            from / CHUNK_BYTES * CHUNK_BYTES..to.next_multiple_of(CHUNK_BYTES).min(self.size_bytes);
        let mut filled = vec![0; whole.len()];
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        if whole != (from..to) {
            for (known, chunk) in filled.chunks_mut(CHUNK_BYTES).zip(whole.start / CHUNK_BYTES..) {
                let before = chunks[chunk];
                let length = known.len().min(before.len());
                known[..length].copy_from_slice(&before[..length]);
            }
        }
        filled[from - whole.start..to - whole.start].copy_from_slice(bytes);
        let filled: &'static [u8] = filled.leak();
        for (at, chunk) in (0..filled.len()).step_by(CHUNK_BYTES).zip(whole.start / CHUNK_BYTES..) {
            chunks[chunk] = &filled[at..];
        }
        Ok(())
    }

    /// Removes nothing.
    ///
    /// # Errors
    ///
    /// Always.
    pub(crate) fn remove(&self, _: &Path, _: Range<u64>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// No byte is on a disk.
    pub(crate) fn next_data(&self, _: u64) -> Option<u64> {
        None
    }

    /// Reads nothing in advance.
    pub fn read_by_page(&self) {}

    /// Reads nothing in advance: the host is asked for the chunks that an attempt notes.
    pub fn fetch(&self, _: Range<usize>) {}

    /// As [`Map::fetch`].
    pub fn read_ahead(&self, _: Range<usize>) {}

    /// Whether a range can be read without waiting: nothing here waits.
    pub fn is_in_memory(&self, _: Range<usize>) -> bool {
        true
    }

    /// No access to memory fails.
    pub fn fault(&self) -> Option<usize> {
        None
    }

    /// No other process changes the bytes.
    pub fn check_file(&self, _: &Path) -> FileChange {
        FileChange::None
    }
}

/// No access to memory fails.
pub fn fault_count() -> u64 {
    0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_within_and_across_what_was_given() {
        let bytes: Vec<u8> = (0..5 * CHUNK_BYTES + 9).map(|at| (at / 7 % 251) as u8).collect();
        let map = Map::absent(bytes.len());
        let give = |range: Range<usize>| {
            map.write(Path::new(""), &bytes[range.clone()], range.start as u64).unwrap();
        };
        let check = |range: Range<usize>, is_here: bool| {
            let expected =
                if is_here { bytes[range.clone()].to_vec() } else { vec![0; range.len()] };
            assert_eq!(map.read(range.clone()), expected, "{range:?}");
        };
        check(0..9, false);
        give(CHUNK_BYTES..3 * CHUNK_BYTES);
        check(CHUNK_BYTES + 5..3 * CHUNK_BYTES, true);
        check(CHUNK_BYTES + 5..3 * CHUNK_BYTES + 1, false);
        let held = map.bytes(2 * CHUNK_BYTES..2 * CHUNK_BYTES + 9);
        give(3 * CHUNK_BYTES..bytes.len());
        for range in [CHUNK_BYTES..bytes.len(), 3 * CHUNK_BYTES - 4..3 * CHUNK_BYTES + 4] {
            check(range.clone(), true);
            check(range, true);
        }
        assert_eq!(held, &bytes[2 * CHUNK_BYTES..2 * CHUNK_BYTES + 9]);
        check(0..bytes.len(), false);
        // Parts of a chunk.
        give(7..9);
        check(7..9, true);
        give(9..CHUNK_BYTES);
        give(0..7);
        check(0..bytes.len(), true);
        assert!(map.write(Path::new(""), &[0; 2], bytes.len() as u64 - 1).is_err());
    }

    #[test]
    fn verified_chunks_that_were_not_given_are_zeros() {
        let map = Map::absent(3 * CHUNK_BYTES + 9);
        map.write(Path::new(""), &[7; CHUNK_BYTES], CHUNK_BYTES as u64).unwrap();
        let end = 3 * CHUNK_BYTES + 9;
        assert_eq!(map.bytes(3 * CHUNK_BYTES + 2..end), [0; 7]);
        assert_eq!(map.bytes(CHUNK_BYTES - 3..CHUNK_BYTES + 2), [0, 0, 0, 7, 7]);
        let all = [[0; CHUNK_BYTES], [7; CHUNK_BYTES], [0; CHUNK_BYTES]].concat();
        assert_eq!(map.bytes(0..end), [all.as_slice(), &[0; 9]].concat());
    }
}
