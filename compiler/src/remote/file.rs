//! One version of a file in a bucket, read as a stream or at any place without a local copy.
//!
//! Every request names the version by its ETag. A transfer that breaks or stalls continues at the byte where it
//! stopped:
//!
//! ```text
//! GET part_000.gz  Range: bytes=0-65535          If-Match: "9b2c…"
//! GET part_000.gz  Range: bytes=65536-327679     If-Match: "9b2c…"   breaks after 1,000 bytes
//! GET part_000.gz  Range: bytes=66536-328679     If-Match: "9b2c…"
//! ```
//!
//! A stream asks for pieces of doubling size. So a reader that stops after the first line costs one small
//! reply, and a whole part a few requests.

use std::collections::HashMap;
use std::io;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use pinakes_remote::host::{Failure, Reply};

use crate::error::{Error, Result};
use crate::remote::bucket::{Bucket, ListedFile, is_bucket, split};

/// Bytes of the first request for a file, which are kept while its kind is detected.
const HEAD_BYTES: u64 = 64 << 10;
/// Most bytes of one request of a stream.
const PIECE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a block that is read at any place.
const BLOCK_BYTES: u64 = 256 << 10;
/// Blocks that one reader keeps: together 64 MiB. Each column of a Parquet part reads from a block of its own.
const BLOCKS_MAX: usize = 256;

/// Hexadecimal digits of the name of a version.
const VERSION_DIGITS: usize = 32;

/// The files that this run has listed, by their addresses.
static FILES: LazyLock<Mutex<HashMap<PathBuf, Arc<RemoteFile>>>> = LazyLock::new(Mutex::default);

/// One version of a file in a bucket.
pub(crate) struct RemoteFile {
    bucket: Arc<Bucket>,
    key: String,
    size_bytes: u64,
    etag: String,
    /// Whether a plan names the version.
    is_planned: bool,
    /// The first bytes, until [`RemoteFile::forget`].
    head: Mutex<Option<Arc<[u8]>>>,
    /// The BLAKE3 hash in hex, once a stream was read to its end.
    content_hash: OnceLock<String>,
    /// The first failed transfer. Readers see it as an I/O error without its cause.
    failure: Mutex<Option<Error>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers the version of a file, and returns its address. Later calls of [`find`] return this version.
pub(crate) fn register(file: RemoteFile) -> PathBuf {
    let path = PathBuf::from(file.bucket.display(&file.key));
    lock(&FILES).insert(path.clone(), Arc::new(file));
    path
}

/// Remembers the version of a file that a plan names.
pub(crate) fn register_planned(path: &Path, size_bytes: u64, etag: &str) -> Result<()> {
    let (bucket, key) = split(path)?;
    let listed = ListedFile { key: key.to_owned(), size_bytes, etag: etag.to_owned() };
    register(RemoteFile { is_planned: true, ..RemoteFile::new(&Bucket::open(bucket)?, listed) });
    Ok(())
}

/// Returns a registered file; `None` for a local path and for an unknown file.
pub(crate) fn find(path: &Path) -> Option<Arc<RemoteFile>> {
    if is_bucket(path) { lock(&FILES).get(path).cloned() } else { None }
}

impl RemoteFile {
    /// The listed version of a file.
    pub(crate) fn new(bucket: &Arc<Bucket>, listed: ListedFile) -> RemoteFile {
        RemoteFile {
            bucket: Arc::clone(bucket),
            key: listed.key,
            size_bytes: listed.size_bytes,
            etag: listed.etag,
            is_planned: false,
            head: Mutex::default(),
            content_hash: OnceLock::new(),
            failure: Mutex::default(),
        }
    }

    pub(crate) fn etag(&self) -> &str {
        &self.etag
    }

    /// A name of the version, as a hash of address, size and ETag: files of one name have the same bytes.
    pub(crate) fn version(&self) -> String {
        let text = format!("{} {} {}", self.bucket.url(&self.key), self.size_bytes, self.etag);
        blake3::hash(text.as_bytes()).to_hex()[..VERSION_DIGITS].to_owned()
    }

    /// The BLAKE3 hash in hex, if a stream was read to its end.
    pub(crate) fn content_hash(&self) -> Option<&str> {
        self.content_hash.get().map(String::as_str)
    }

    /// Returns the error of the first failed transfer, once.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        lock(&self.failure).take()
    }

    /// Drops the first bytes from memory.
    pub(crate) fn forget(&self) {
        lock(&self.head).take();
    }

    /// Returns the first bytes, at most 64 KiB.
    pub(crate) fn head(&self) -> io::Result<Arc<[u8]>> {
        let known = lock(&self.head).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let bytes: Arc<[u8]> = self.read_range(0, self.size_bytes.min(HEAD_BYTES))?.into();
        *lock(&self.head) = Some(Arc::clone(&bytes));
        Ok(bytes)
    }

    fn request(&self, from: u64, to: u64) -> std::result::Result<Reply, Failure> {
        self.bucket.host().request_version(&self.key, from..to, self.size_bytes, &self.etag)
    }

    /// Reads bytes into memory. A broken transfer continues where it stopped.
    fn read_range(&self, from: u64, count: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut stream = Stream { position: from, end: from + count, reply: None };
        let mut buffer = vec![0; 64 << 10];
        while stream.position < stream.end {
            let read = stream.read(self, stream.end, &mut buffer)?;
            bytes.extend_from_slice(&buffer[..read]);
        }
        Ok(bytes)
    }

    fn fail(&self, failure: Failure) -> io::Error {
        let error = match failure {
            Failure::Changed if self.is_planned => Error::Damaged {
                path: self.bucket.display(&self.key).into(),
                reason: "it changed after it was planned; plan again".into(),
            },
            failure => self.bucket.error(&self.key, failure),
        };
        let message = error.to_string();
        lock(&self.failure).get_or_insert(error);
        io::Error::other(message)
    }
}

/// A transfer in progress.
struct Stream {
    position: u64,
    /// The end of the range that the current reply holds.
    end: u64,
    reply: Option<Reply>,
}

impl Stream {
    /// Reads at least one byte before `end`, and requests the bytes up to `end` if no transfer is in progress.
    fn read(&mut self, file: &RemoteFile, end: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let host = file.bucket.host();
        let read = host.retry(|| {
            let mut reply = match self.reply.take() {
                Some(reply) => reply,
                None => {
                    self.end = end;
                    file.request(self.position, end)?
                }
            };
            let most = usize::try_from(self.end - self.position).unwrap_or(usize::MAX);
            let most = most.min(buffer.len());
            let read = host.read_some(&mut reply, &mut buffer[..most])?;
            self.position += read as u64;
            if self.position < self.end {
                self.reply = Some(reply);
            } else {
                // Only a reply at its end leaves a connection that can be used again.
                let _ = host.expect_end(reply);
            }
            Ok(read)
        });
        read.map_err(|failure| file.fail(failure))
    }
}

/// Reads a file from its begin to its end, and at any place.
pub(crate) struct RemoteReader {
    file: Arc<RemoteFile>,
    stream: Stream,
    piece_bytes: u64,
    hasher: blake3::Hasher,
    blocks: Mutex<Blocks>,
}

/// The blocks that were read last.
#[derive(Default)]
struct Blocks {
    /// Bytes of each block, and when it was used.
    blocks: HashMap<u64, (Arc<[u8]>, u64)>,
    uses: u64,
}

impl RemoteReader {
    pub(crate) fn new(file: Arc<RemoteFile>) -> RemoteReader {
        RemoteReader {
            file,
            stream: Stream { position: 0, end: 0, reply: None },
            piece_bytes: 2 * HEAD_BYTES,
            hasher: blake3::Hasher::new(),
            blocks: Mutex::default(),
        }
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.file.size_bytes
    }

    /// Fills the buffer with the bytes at `from`.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], from: u64) -> io::Result<()> {
        let end = from.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.file.size_bytes) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut filled = 0;
        while filled < buffer.len() {
            let position = from + filled as u64;
            let block = self.block(position / BLOCK_BYTES)?;
            // The cast is exact: the remainder is smaller than a block.
            let bytes = &block[(position % BLOCK_BYTES) as usize..];
            let count = bytes.len().min(buffer.len() - filled);
            buffer[filled..filled + count].copy_from_slice(&bytes[..count]);
            filled += count;
        }
        Ok(())
    }

    /// Returns a block; replaces the block that was not used for longest.
    fn block(&self, number: u64) -> io::Result<Arc<[u8]>> {
        let mut cache = lock(&self.blocks);
        cache.uses += 1;
        let uses = cache.uses;
        if let Some((bytes, used)) = cache.blocks.get_mut(&number) {
            *used = uses;
            return Ok(Arc::clone(bytes));
        }
        let from = number * BLOCK_BYTES;
        let count = BLOCK_BYTES.min(self.file.size_bytes - from);
        let bytes: Arc<[u8]> = self.file.read_range(from, count)?.into();
        if cache.blocks.len() >= BLOCKS_MAX {
            let oldest = cache.blocks.iter().min_by_key(|(_, (_, used))| *used);
            let oldest = oldest.map(|(number, _)| *number);
            oldest.and_then(|number| cache.blocks.remove(&number));
        }
        cache.blocks.insert(number, (Arc::clone(&bytes), uses));
        Ok(bytes)
    }
}

impl Read for RemoteReader {
    /// Reads the next bytes. The hash of a file that was read to its end is known afterwards.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (file, stream) = (&self.file, &mut self.stream);
        if buffer.is_empty() {
            return Ok(0);
        }
        if stream.position == file.size_bytes {
            file.content_hash.get_or_init(|| self.hasher.finalize().to_hex().to_string());
            return Ok(0);
        }
        let read = if stream.position < HEAD_BYTES {
            let head = file.head()?;
            // The cast is exact: the position is smaller than the head.
            let read = (&head[stream.position as usize..]).read(buffer)?;
            stream.position += read as u64;
            read
        } else {
            if stream.reply.is_none() {
                self.piece_bytes = (self.piece_bytes * 2).min(PIECE_BYTES_MAX);
            }
            let end = (stream.position + self.piece_bytes).min(file.size_bytes);
            stream.read(file, end, buffer)?
        };
        self.hasher.update(&buffer[..read]);
        Ok(read)
    }
}
