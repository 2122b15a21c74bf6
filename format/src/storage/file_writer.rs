//! Writes a file of a snapshot once, from front to back, and hashes it on the way.
//!
//! A finished file is synced by a thread of its own while the caller writes the next file.
//! [`append_levels`] waits for that thread.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::{io, thread};

use blake3::Hash;
use blake3::hazmat::ChainingValue;

use crate::storage::header::Header;
use crate::storage::integrity::{CHUNK_BYTES, TreeWriter, VALUE_BYTES, chunk_value};

/// Added to the path of a file for the path of its level-0 values.
pub const VALUES: &str = ".values";
/// Stack of a thread that syncs a file.
const SYNC_STACK_BYTES: usize = 64 << 10;

/// At most this many files are synced concurrently. Each takes a thread and an open file. While one large file is
/// synced, the small files of several entities are written.
const SYNCS_MAX: usize = 32;

/// Bytes of one write. The system takes as long for a write of 8 KiB as for copying its bytes.
const BUFFER_BYTES: usize = 32 * CHUNK_BYTES;

/// Bytes that a task hashes, about: 0.1 ms.
const PIECE_BYTES: usize = 64 * CHUNK_BYTES;

/// The number of files that threads are syncing now.
static SYNCS: AtomicUsize = AtomicUsize::new(0);

/// A written file, described for the manifest and the hashes.
#[derive(Debug)]
pub struct Written {
    /// The file's size.
    pub size_bytes: u64,
    /// The file's BLAKE3 hash.
    pub root: Hash,
    /// The path of the file with the level-0 values.
    pub values_path: PathBuf,
    /// The values of the levels above 0, in order.
    pub above: Vec<u8>,
    sync: Sync,
}

/// The sync of a file, under way or done.
#[derive(Debug)]
enum Sync {
    Running(JoinHandle<io::Result<()>>),
    Done(io::Result<()>),
}

impl Sync {
    /// Syncs a file in a new thread. Syncs it in this thread where [`SYNCS_MAX`] are running, or the
    /// system grants no thread.
    fn start(file: File) -> Sync {
        if SYNCS.fetch_add(1, Ordering::Relaxed) >= SYNCS_MAX {
            SYNCS.fetch_sub(1, Ordering::Relaxed);
            return Sync::Done(file.sync_all());
        }
        let file = Arc::new(file);
        let shared = Arc::clone(&file);
        let sync = move || {
            let synced = shared.sync_all();
            drop(shared);
            SYNCS.fetch_sub(1, Ordering::Relaxed);
            synced
        };
        match thread::Builder::new().stack_size(SYNC_STACK_BYTES).spawn(sync) {
            Ok(thread) => Sync::Running(thread),
            Err(_) => {
                SYNCS.fetch_sub(1, Ordering::Relaxed);
                Sync::Done(file.sync_all())
            }
        }
    }

    fn wait(self) -> io::Result<()> {
        match self {
            Sync::Running(thread) => thread
                .join()
                .map_err(|_| io::Error::other("the thread that syncs a file panicked"))?,
            Sync::Done(synced) => synced,
        }
    }
}

/// Consecutive chunks of a file, which any thread may hash.
pub struct Chunks<'b> {
    first: u64,
    bytes: &'b [u8],
}

impl Chunks<'_> {
    /// The level-0 values of each item, on this thread: the `hash` of [`FileWriter::write_hashed`] where tasks do not pay.
    pub fn values_of_all(pieces: Vec<Chunks<'_>>) -> Vec<Vec<ChainingValue>> {
        pieces.into_iter().map(Chunks::values).collect()
    }

    /// The level-0 value of each chunk.
    pub fn values(self) -> Vec<ChainingValue> {
        let chunks = (self.first..).zip(self.bytes.chunks(CHUNK_BYTES));
        chunks.map(|(index, chunk)| chunk_value(index, chunk)).collect()
    }
}

/// Writes a file from front to back and hashes its chunks.
///
/// The level-0 values do not fit in memory: 8 MiB for each GiB. They go to a second file beside
/// the first, `<path>.values`, which [`append_levels`] removes.
pub struct FileWriter {
    file: File,
    /// Bytes from the start of a chunk on, neither hashed nor written yet.
    buffer: Vec<u8>,
    size_bytes: u64,
    tree: TreeWriter,
    values: BufWriter<File>,
    values_path: PathBuf,
}

impl FileWriter {
    /// Creates a file that must not exist yet.
    pub fn create(path: &Path) -> io::Result<FileWriter> {
        let mut values_path = path.as_os_str().to_owned();
        values_path.push(VALUES);
        let values_path = PathBuf::from(values_path);
        Ok(FileWriter {
            file: File::create_new(path)?,
            buffer: Vec::new(),
            size_bytes: 0,
            tree: TreeWriter::default(),
            values: BufWriter::new(File::create_new(&values_path)?),
            values_path,
        })
    }

    /// Creates an archive that must not exist yet, and writes its header. Returns the directory of the file too, for scratch
    /// files.
    pub fn create_archive(path: &Path, header: Header) -> io::Result<(FileWriter, &Path)> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        Ok((file, path.parent().unwrap_or(Path::new("."))))
    }

    /// The number of bytes written so far, which is the offset of the next byte.
    pub fn position_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Hashes and writes bytes that begin at a chunk and end at a chunk or at the end of the file.
    fn write_chunks(&mut self, bytes: &[u8]) -> io::Result<()> {
        for chunk in bytes.chunks(CHUNK_BYTES) {
            self.values.write_all(&self.tree.chunk(chunk))?;
        }
        self.file.write_all(bytes)
    }

    /// Writes bytes as `write_all` does. `hash` returns [`Chunks::values`] of each item, in order.
    pub fn write_hashed(
        &mut self,
        bytes: &[u8],
        hash: impl FnOnce(Vec<Chunks<'_>>) -> Vec<Vec<ChainingValue>>,
    ) -> io::Result<()> {
        // The buffer keeps the last byte until the end, because the last chunk is hashed as such.
        let mut rest = bytes;
        if self.buffer.len() + rest.len() > BUFFER_BYTES {
            let missing = self.buffer.len().next_multiple_of(CHUNK_BYTES) - self.buffer.len();
            // There are more bytes than `missing`, because the buffer holds a whole number of chunks.
            let (now, later) = rest.split_at(missing);
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.extend_from_slice(now);
            self.write_chunks(&buffer)?;
            buffer.clear();
            self.buffer = buffer;
            // Whole chunks are not copied.
            let (whole, last) = later.split_at((later.len() - 1) / CHUNK_BYTES * CHUNK_BYTES);
            let firsts = (self.tree.chunks()..).step_by(PIECE_BYTES / CHUNK_BYTES);
            let pieces = firsts.zip(whole.chunks(PIECE_BYTES));
            let pieces = pieces.map(|(first, bytes)| Chunks { first, bytes }).collect();
            for value in hash(pieces).into_iter().flatten() {
                self.values.write_all(&value)?;
                self.tree.push(value);
            }
            self.file.write_all(whole)?;
            rest = last;
        }
        self.buffer.extend_from_slice(rest);
        self.size_bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes the last chunk, and starts to sync the file.
    pub fn finish(mut self) -> io::Result<Written> {
        let rest = std::mem::take(&mut self.buffer);
        self.write_chunks(&rest)?;
        let sync = Sync::start(self.file);
        self.values.flush()?;
        let (root, above) = self.tree.finish(rest.chunks(CHUNK_BYTES).last().unwrap_or_default());
        let above = above.into_iter().flatten().flatten().collect();
        let Self { size_bytes, values_path, .. } = self;
        Ok(Written { size_bytes, root, values_path, above, sync })
    }

    /// Writes the fields of the directory, the last bytes of an archive, and finishes the file.
    pub fn finish_archive(
        mut self,
        directory: impl IntoIterator<Item = u64>,
    ) -> io::Result<Written> {
        for field in directory {
            self.write_all(&field.to_le_bytes())?;
        }
        self.finish()
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_hashed(bytes, Chunks::values_of_all)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until a written file is synced, appends its levels to the snapshot's hashes, and removes
/// the file of its level-0 values.
///
/// # Errors
///
/// Where the system refuses. The caller must not retry a failed sync: the system may have dropped
/// the unwritten pages.
pub fn append_levels(written: Written, hashes: &mut impl Write) -> io::Result<()> {
    written.sync.wait()?;
    let values = File::open(&written.values_path)?;
    // A file of one chunk has no levels: its root is the chunk's hash.
    if written.size_bytes > CHUNK_BYTES as u64 {
        let chunks = written.size_bytes.div_ceil(CHUNK_BYTES as u64);
        let copied = io::copy(&mut values.take(chunks * VALUE_BYTES as u64), hashes)?;
        if copied != chunks * VALUE_BYTES as u64 {
            return Err(io::Error::other("the file of level-0 values was cut"));
        }
        hashes.write_all(&written.above)?;
    }
    std::fs::remove_file(&written.values_path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::storage::integrity::levels_bytes;

    #[test]
    fn a_written_file_has_the_hash_of_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let lengths = [0, 5, CHUNK_BYTES, CHUNK_BYTES + 1, BUFFER_BYTES, 3 * BUFFER_BYTES];
        let pieces = [1_000, CHUNK_BYTES, 2 * BUFFER_BYTES + 1];
        let cases = lengths.into_iter().flat_map(|length| pieces.map(|piece| (length, piece)));
        for (number, (length, piece)) in cases.enumerate() {
            let path = dir.path().join(number.to_string());
            let bytes: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
            let mut writer = FileWriter::create(&path).unwrap();
            for piece in bytes.chunks(piece) {
                writer.write_all(piece).unwrap();
            }
            let written = writer.finish().unwrap();
            assert_eq!(written.root, blake3::hash(&bytes));
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
            let mut levels = Vec::new();
            let values_path = written.values_path.clone();
            append_levels(written, &mut levels).unwrap();
            let expected = levels_bytes(length as u64);
            assert_eq!(levels.len() as u64, expected);
            assert!(!values_path.exists());
        }
    }
}
