//! The bytes of an object during a run: one mapping for each object, up to a limit.
//!
//! Linux allows a process 65,530 mappings, and a dump may have more parts than that. Objects beyond
//! [`MAPPED_MAX`] stay in their files until [`gather`](crate::object::gather) copies them into one file
//! and maps that file once.

use std::fs::File;
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pinakes_format::storage::mmap::Map;

/// The most objects with a mapping of their own: half of the mappings that Linux allows a process.
pub(crate) const MAPPED_MAX: usize = 32_768;

/// The number of objects with a mapping of their own.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

pub(crate) enum ObjectBytes {
    Mapped(CountedMap),
    /// A range of a mapping that several objects share.
    Gathered(Arc<Map>, Range<usize>),
    /// In the object's file, not mapped yet.
    InFile(PathBuf),
}

/// A mapping that counts towards [`MAPPED_MAX`].
pub(crate) struct CountedMap(Map);

impl CountedMap {
    /// Counts a mapping; `None` if `mapped_max` mappings are open.
    fn new(map: Map, mapped_max: usize) -> Option<CountedMap> {
        let more = |count: usize| (count < mapped_max).then_some(count + 1);
        MAPPED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(CountedMap(map))
    }
}

impl Drop for CountedMap {
    fn drop(&mut self) {
        MAPPED.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ObjectBytes {
    /// Keeps the mapping of the file at `path`, or unmaps it if `mapped_max` mappings are open.
    pub(crate) fn new(map: Map, path: &Path, mapped_max: usize) -> ObjectBytes {
        CountedMap::new(map, mapped_max)
            .map_or_else(|| ObjectBytes::InFile(path.into()), ObjectBytes::Mapped)
    }

    /// The mapping that holds the object.
    pub(crate) fn map(&self) -> Option<&Map> {
        match self {
            ObjectBytes::Mapped(CountedMap(map)) => Some(map),
            ObjectBytes::Gathered(map, _) => Some(map),
            ObjectBytes::InFile(_) => None,
        }
    }

    /// Number of bytes, also of an unmapped file; 0 if that file is gone.
    pub(crate) fn size_bytes(&self) -> u64 {
        match self {
            ObjectBytes::InFile(path) => path.metadata().map_or(0, |metadata| metadata.len()),
            mapped => mapped.len() as u64,
        }
    }

    /// Reads a range of the bytes, also from an unmapped file; empty if they cannot be read.
    pub(crate) fn read(&self, range: Range<usize>) -> Vec<u8> {
        let ObjectBytes::InFile(path) = self else {
            return self.get(range).unwrap_or_default().to_vec();
        };
        let mut bytes = vec![0; range.len()];
        let read =
            File::open(path).and_then(|file| file.read_exact_at(&mut bytes, range.start as u64));
        read.map(|()| bytes).unwrap_or_default()
    }
}

/// The mapped bytes; empty if the object is not mapped.
impl Deref for ObjectBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            ObjectBytes::Mapped(CountedMap(map)) => map,
            ObjectBytes::Gathered(map, range) => &map[range.clone()],
            ObjectBytes::InFile(_) => &[],
        }
    }
}
