//! The frame every archive of a snapshot shares: a header of 64 bytes, then its body.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use blake3::Hash;

use crate::entity::Entity;
use crate::storage::integrity::{CHUNK_BYTES, TreeWriter, VALUE_BYTES};

/// The version of the format this library writes, and the only one it reads.
pub const FORMAT_VERSION: u32 = 4;

/// The first bytes of every archive.
pub const MAGIC: [u8; 8] = *b"PINAKES\x1a";

/// Bytes of a header.
pub const HEADER_BYTES: usize = 64;

/// How archives are laid out, as rkyv was built: bit 0 unaligned, bit 1 little-endian, bit 2
/// 32-bit relative pointers.
pub const LAYOUT: u32 = 0b111;

/// What an archive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Kind {
    /// Records in row order.
    Records = 1,
    /// Row → id, and id → row.
    Ids = 2,
    /// Row → name.
    Names = 3,
    /// Merged id → the id it lives in.
    Redirects = 4,
    /// Codes and their names.
    Strings = 5,
    /// Term → rows.
    Lists = 6,
    /// Rows by value.
    Orders = 7,
    /// Word of a name → rows.
    Words = 8,
    /// Alternative name → rows.
    Alternatives = 9,
    /// What beginnings of words lead to, where that is much.
    Prefixes = 10,
}

impl Kind {
    /// The file's name, within its entity's directory if it has one.
    pub fn file_name(self) -> &'static str {
        match self {
            Kind::Records => "records",
            Kind::Ids => "ids",
            Kind::Names => "names",
            Kind::Redirects => "redirects",
            Kind::Strings => "strings",
            Kind::Lists => "lists",
            Kind::Orders => "orders",
            Kind::Words => "words",
            Kind::Alternatives => "alternatives",
            Kind::Prefixes => "prefixes",
        }
    }
}

/// A header's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the archive holds.
    pub kind: Kind,
    /// Of which entity; `None` for [`Kind::Strings`].
    pub entity: Option<Entity>,
    /// Rows with a record, or entries: redirects, codes, lists.
    pub published: u64,
    /// All rows: those and the strays; where there are no strays, the same again.
    pub rows: u64,
    /// The hash of the record declarations and keys that the archive was written by.
    pub schema_hash: u64,
}

/// Why a header was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HeaderError {
    /// The file is shorter than a header, or does not begin with [`MAGIC`].
    #[error("no Pinakes archive: it does not begin with a header; rebuild the snapshot")]
    Magic,
    /// Another version of the format.
    #[error("format version {found}, this program reads {FORMAT_VERSION}; recompile the snapshot")]
    Version {
        /// The version found.
        found: u32,
    },
    /// Another build of the format.
    #[error(
        "archive layout {found:#05b}, this program reads {LAYOUT:#05b} (unaligned, little-endian, \
         32-bit pointers); recompile the snapshot"
    )]
    Layout {
        /// The layout found.
        found: u32,
    },
    /// Records declared otherwise.
    #[error(
        "record schema {found:016x}, this program reads {expected:016x}; recompile the snapshot"
    )]
    Schema {
        /// The schema this program was built with.
        expected: u64,
        /// The schema found.
        found: u64,
    },
    /// A field holds something other than it must in this place.
    #[error("header field `{field}` is {found}, expected {expected}; rebuild the snapshot")]
    Field {
        /// The field.
        field: &'static str,
        /// What stands in it.
        found: u64,
        /// What must stand in it.
        expected: u64,
    },
}

const NO_ENTITY: u32 = u32::MAX;

/// A cursor over a header, so that each offset follows from the one before.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(HeaderError::Magic)?;
        self.0 = rest;
        Ok(*field)
    }

    fn u32(&mut self) -> Result<u32, HeaderError> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64, HeaderError> {
        Ok(u64::from_le_bytes(self.take()?))
    }
}

fn expect(field: &'static str, found: u64, expected: u64) -> Result<(), HeaderError> {
    if found == expected { Ok(()) } else { Err(HeaderError::Field { field, found, expected }) }
}

impl Header {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let entity = self.entity.map_or(NO_ENTITY, |entity| entity as u32);
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&LAYOUT.to_le_bytes());
        bytes.extend_from_slice(&self.schema_hash.to_le_bytes());
        bytes.extend_from_slice(&(self.kind as u32).to_le_bytes());
        bytes.extend_from_slice(&entity.to_le_bytes());
        bytes.extend_from_slice(&self.published.to_le_bytes());
        bytes.extend_from_slice(&self.rows.to_le_bytes());
        bytes.resize(HEADER_BYTES, 0);
        let mut header = [0; HEADER_BYTES];
        header.copy_from_slice(&bytes);
        header
    }

    /// Reads the header of the archive of `kind` and `entity`, written by the same declarations.
    ///
    /// # Errors
    ///
    /// One variant a cause; see [`HeaderError`].
    pub fn decode(
        bytes: &[u8],
        kind: Kind,
        entity: Option<Entity>,
        schema_hash: u64,
    ) -> Result<Header, HeaderError> {
        let mut fields = Fields(bytes.get(..HEADER_BYTES).ok_or(HeaderError::Magic)?);
        if fields.take()? != MAGIC {
            return Err(HeaderError::Magic);
        }
        let version = fields.u32()?;
        if version != FORMAT_VERSION {
            return Err(HeaderError::Version { found: version });
        }
        let layout = fields.u32()?;
        if layout != LAYOUT {
            return Err(HeaderError::Layout { found: layout });
        }
        let found = fields.u64()?;
        if found != schema_hash {
            return Err(HeaderError::Schema { expected: schema_hash, found });
        }
        expect("kind", u64::from(fields.u32()?), kind as u64)?;
        let entity_number = entity.map_or(NO_ENTITY, |entity| entity as u32);
        expect("entity", u64::from(fields.u32()?), u64::from(entity_number))?;
        let (published, rows) = (fields.u64()?, fields.u64()?);
        if published > rows || rows > u64::from(u32::MAX) {
            return Err(HeaderError::Field { field: "rows", found: rows, expected: published });
        }
        expect("reserved", fields.u64()?, 0)?;
        expect("reserved", fields.u64()?, 0)?;
        Ok(Header { kind, entity, published, rows, schema_hash })
    }
}

/// What writing a file gave: all the manifest and the hashes need to know of it.
#[derive(Debug)]
pub struct Written {
    /// Bytes of the file.
    pub size_bytes: u64,
    /// Its BLAKE3 hash.
    pub root: Hash,
    /// Where its level-0 values lie, next to the file.
    pub values_path: PathBuf,
    /// The values of the levels above 0, in order.
    pub above: Vec<u8>,
    /// Makes the file durable while the next is written; [`append_levels`] waits for it.
    syncing: Syncing,
}

/// Stack of a thread that only waits for the disk, in bytes.
const SYNCING_STACK_BYTES: usize = 64 << 10;

/// Files that are synced beside other work at a time; each is open, and has a thread.
const SYNCING_MAX: usize = 8;

/// How many are.
static SYNCING: AtomicUsize = AtomicUsize::new(0);

/// A file on its way to the disk.
#[derive(Debug)]
enum Syncing {
    /// Meanwhile other work goes on.
    Beside(JoinHandle<io::Result<()>>),
    /// Where enough are waited for, or the system has no thread to spare, the writer waited itself.
    Done(io::Result<()>),
}

impl Syncing {
    fn begin(file: File) -> Syncing {
        if SYNCING.fetch_add(1, Ordering::Relaxed) >= SYNCING_MAX {
            SYNCING.fetch_sub(1, Ordering::Relaxed);
            return Syncing::Done(file.sync_all());
        }
        let file = Arc::new(file);
        let beside = Arc::clone(&file);
        let sync = move || {
            let synced = beside.sync_all();
            drop(beside);
            SYNCING.fetch_sub(1, Ordering::Relaxed);
            synced
        };
        match thread::Builder::new().stack_size(SYNCING_STACK_BYTES).spawn(sync) {
            Ok(thread) => Syncing::Beside(thread),
            Err(_) => {
                SYNCING.fetch_sub(1, Ordering::Relaxed);
                Syncing::Done(file.sync_all())
            }
        }
    }

    fn wait(self) -> io::Result<()> {
        match self {
            Syncing::Beside(thread) => thread
                .join()
                .map_err(|_| io::Error::other("the thread that syncs a file panicked"))?,
            Syncing::Done(synced) => synced,
        }
    }
}

/// Writes a file once, front to back, hashing it on the way.
///
/// The level-0 values go to a second file beside it, since they are too many to hold; the linker
/// moves them into the snapshot's hashes and removes it.
pub struct FileWriter {
    file: File,
    chunk: Vec<u8>,
    size_bytes: u64,
    tree: TreeWriter,
    values: BufWriter<File>,
    values_path: PathBuf,
}

impl FileWriter {
    /// Creates `path`, which must not exist.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn create(path: &Path) -> io::Result<FileWriter> {
        let mut values_path = path.as_os_str().to_owned();
        values_path.push(".values");
        let values_path = PathBuf::from(values_path);
        Ok(FileWriter {
            file: File::create_new(path)?,
            chunk: Vec::with_capacity(CHUNK_BYTES),
            size_bytes: 0,
            tree: TreeWriter::default(),
            values: BufWriter::new(File::create_new(&values_path)?),
            values_path,
        })
    }

    /// Bytes written so far.
    pub fn position_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn close_chunk(&mut self) -> io::Result<()> {
        self.file.write_all(&self.chunk)?;
        let value = self.tree.chunk(&self.chunk);
        self.values.write_all(&value)
    }

    /// Ends the file, and begins to make it durable.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn finish(mut self) -> io::Result<Written> {
        if !self.chunk.is_empty() {
            self.close_chunk()?;
        }
        let syncing = Syncing::begin(self.file);
        self.values.flush()?;
        let (root, above) = self.tree.finish(&self.chunk);
        let above = above.into_iter().flatten().flatten().collect();
        let Self { size_bytes, values_path, .. } = self;
        Ok(Written { size_bytes, root, values_path, above, syncing })
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            // A full chunk waits for its successor, so that the last one is never empty.
            if self.chunk.len() == CHUNK_BYTES {
                self.close_chunk()?;
                self.chunk.clear();
            }
            let (now, later) = rest.split_at(rest.len().min(CHUNK_BYTES - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            rest = later;
        }
        self.size_bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until a written file is durable, appends its levels to the snapshot's hashes and removes
/// its values file.
///
/// # Errors
///
/// Where the system refuses; a failed fsync is final.
pub fn append_levels(written: Written, hashes: &mut impl Write) -> io::Result<()> {
    written.syncing.wait()?;
    let values = File::open(&written.values_path)?;
    // One chunk needs no levels: the root is its hash.
    if written.size_bytes > CHUNK_BYTES as u64 {
        let chunks = written.size_bytes.div_ceil(CHUNK_BYTES as u64);
        let copied = io::copy(&mut values.take(chunks * VALUE_BYTES as u64), hashes)?;
        if copied != chunks * VALUE_BYTES as u64 {
            return Err(io::Error::other("the values of a file were cut short"));
        }
        hashes.write_all(&written.above)?;
    }
    std::fs::remove_file(&written.values_path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_every_flip_of_it_is_refused() {
        let header = Header {
            kind: Kind::Ids,
            entity: Some(Entity::Source),
            published: 3,
            rows: 5,
            schema_hash: 7,
        };
        let bytes = header.encode();
        let decode = |bytes: &[u8]| Header::decode(bytes, Kind::Ids, Some(Entity::Source), 7);
        assert_eq!(decode(&bytes), Ok(header));
        let counts = 32..48;
        for at in (0..HEADER_BYTES).filter(|at| !counts.contains(at)) {
            let mut damaged = bytes;
            damaged[at] ^= 4;
            assert!(decode(&damaged).is_err(), "byte {at}");
        }
        assert_eq!(decode(&bytes[..63]), Err(HeaderError::Magic));
        let mut newer = bytes;
        newer[8] = 9;
        let message = decode(&newer).unwrap_err().to_string();
        let expected = format!("this program reads {FORMAT_VERSION}; recompile the snapshot");
        assert_eq!(message, format!("format version 9, {expected}"));
    }

    #[test]
    fn a_written_file_has_the_hash_of_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        for (number, length) in [0, 5, CHUNK_BYTES, CHUNK_BYTES + 1].into_iter().enumerate() {
            let path = dir.path().join(number.to_string());
            let bytes = vec![7; length];
            let mut writer = FileWriter::create(&path).unwrap();
            for piece in bytes.chunks(1_000) {
                writer.write_all(piece).unwrap();
            }
            let written = writer.finish().unwrap();
            assert_eq!(written.root, blake3::hash(&bytes));
            let mut levels = Vec::new();
            let values_path = written.values_path.clone();
            append_levels(written, &mut levels).unwrap();
            let expected = crate::storage::integrity::levels_bytes(length as u64);
            assert_eq!(levels.len() as u64, expected);
            assert!(!values_path.exists());
        }
    }
}
