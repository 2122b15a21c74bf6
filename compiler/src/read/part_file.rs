//! The file of a part, on disk or in a bucket, read from its begin to its end or at any place.
//!
//! A dump is larger than memory. A later run reads its new parts twice: for their hashes, and to be parsed. The pages
//! of a part would take the place of pages that the linker and a server on the same machine need. The system is
//! therefore told to read ahead far, and to drop the pages of a part that is done. Every run looks at the first line of
//! each part: the system is told to read nothing ahead then.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::{fs, io};

use rustix::fs::{Advice, fadvise};

use crate::remote::bucket::is_bucket;
use crate::remote::file;
use crate::remote::file::RemoteReader;

/// A part on disk, or one version of a file in a bucket.
pub(crate) enum PartFile {
    Local(File),
    InBucket(Box<RemoteReader>),
}

impl PartFile {
    /// Opens a part. The advice tells the system how much to read ahead.
    pub(crate) fn open(path: &Path, advice: Advice) -> io::Result<PartFile> {
        if is_bucket(path) {
            let file = file::find(path).ok_or(io::ErrorKind::NotFound)?;
            return Ok(PartFile::InBucket(Box::new(RemoteReader::new(file))));
        }
        open_local(path, advice).map(PartFile::Local)
    }

    pub(crate) fn size_bytes(&self) -> io::Result<u64> {
        match self {
            PartFile::Local(file) => file.metadata().map(|metadata| metadata.len()),
            PartFile::InBucket(file) => Ok(file.size_bytes()),
        }
    }

    /// Fills the buffer with the bytes at `from`.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], from: u64) -> io::Result<()> {
        match self {
            PartFile::Local(file) => file.read_exact_at(buffer, from),
            PartFile::InBucket(file) => file.read_exact_at(buffer, from),
        }
    }
}

impl Read for PartFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            PartFile::Local(file) => file.read(buffer),
            PartFile::InBucket(file) => file.read(buffer),
        }
    }
}

/// Opens a part on disk. The advice tells the system how much to read ahead.
pub(crate) fn open_local(path: &Path, advice: Advice) -> io::Result<File> {
    let file = File::open(path)?;
    // Pipes and some file systems know no advice.
    let _ = fadvise(&file, 0, None, advice);
    Ok(file)
}

/// Whether there is a file at the path. Of a bucket, only files that were listed are known.
pub(crate) fn is_file(path: &Path) -> bool {
    if is_bucket(path) { file::find(path).is_some() } else { path.is_file() }
}

/// Reads a whole file that is small, such as a manifest.
pub(crate) fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    if !is_bucket(path) {
        return fs::read(path);
    }
    let mut bytes = Vec::new();
    PartFile::open(path, Advice::Sequential)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Drops the pages of a part from memory.
pub(crate) fn drop_pages(path: &Path) {
    if is_bucket(path) {
        if let Some(file) = file::find(path) {
            file.forget();
        }
    } else if let Ok(file) = File::open(path) {
        // Without the advice, the system drops the pages later.
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
    }
}
