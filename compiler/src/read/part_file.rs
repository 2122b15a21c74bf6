//! The file of a part, read from its begin to its end.
//!
//! A dump is larger than memory, and is read twice: for its hash, and to be parsed. What was read would push
//! the pages out of memory that the linker and a server on the same machine need. The system is therefore told
//! to read ahead far, and to drop the pages of a part that is done.

use std::{fs::File, io, path::Path};

use rustix::fs::{Advice, fadvise};

/// Opens the file of a part to read it from its begin to its end.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    // Without the advice, reading takes longer. Pipes and some file systems know no advice.
    let _ = fadvise(&file, 0, None, Advice::Sequential);
    Ok(file)
}

/// Drops the pages of a part from memory.
pub(crate) fn drop_pages(path: &Path) {
    if let Ok(file) = File::open(path) {
        // Without the advice, the system drops the pages later.
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
    }
}
