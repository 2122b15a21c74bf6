//! The one place that maps files, and so the one place with `unsafe`.
//!
//! The promise behind it: published files are never changed, only renamed and unlinked, and both
//! leave a mapping whole. A host that truncates a mapped file breaks that promise and gets SIGBUS.

#![allow(unsafe_code)]

use std::{fs::File, io, ops::Deref};

/// A file's bytes, mapped read-only. An empty file is an empty slice without a mapping.
pub struct Map(Option<memmap2::Mmap>);

impl Map {
    /// No bytes.
    pub fn empty() -> Map {
        Map(None)
    }

    /// Maps the whole of `file`.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn open(file: &File) -> io::Result<Map> {
        if file.metadata()?.len() == 0 {
            return Ok(Map(None));
        }
        // SAFETY: the bytes are only read, and by the promise above nobody changes them meanwhile.
        let map = unsafe { memmap2::Mmap::map(file)? };
        Ok(Map(Some(map)))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
