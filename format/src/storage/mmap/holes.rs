//! Writes to the mapped files of a mirror: a chunk that was fetched fills a hole, and a chunk that nobody uses becomes one.

use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::PoisonError;
use std::time::SystemTime;
use std::{fs, io};

use rustix::fs::{FallocateFlags, OFlags, SeekFrom, fallocate, seek};

use crate::storage::mmap::{Identity, Map};

impl Map {
    /// Writes bytes to the file, which is at `path`. [`Map::check_file`] does not report the write.
    ///
    /// # Errors
    ///
    /// Where the system refuses, or another file is at the path now.
    pub(in crate::storage) fn write(&self, path: &Path, bytes: &[u8], at: u64) -> io::Result<()> {
        self.change_file(&open_to_write(path)?, |file| file.write_all_at(bytes, at))
    }

    /// Removes bytes of the file, which is at `path`, from the disk. They read as zeros afterwards.
    pub(in crate::storage) fn remove(&self, path: &Path, range: Range<u64>) -> io::Result<()> {
        self.change_file(&open_to_write(path)?, |file| {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            Ok(fallocate(file, flags, range.start, range.end - range.start)?)
        })
    }

    /// The first byte from an offset on that is on the disk, of a file that is read by row; `None` behind the last.
    pub(in crate::storage) fn next_data(&self, from: u64) -> Option<u64> {
        seek(self.by_row.as_ref()?, SeekFrom::Data(from)).ok()
    }

    /// Changes the file, which is opened at `opened` to be written. [`Map::check_file`] does not report the change, but
    /// reports a change by another process that came before.
    pub(super) fn change_file(
        &self,
        opened: &File,
        change: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(identity) = &self.identity else { return change(opened) };
        let mut known = identity.lock().unwrap_or_else(PoisonError::into_inner);
        let before = Identity::new(&opened.metadata()?);
        if !before.is_same_file(*known) {
            return Err(io::Error::other("another file is in its place"));
        }
        let changed = change(opened);
        // The system's times are coarse: another process that writes in the same tick would leave the same one. Without
        // the right to set the time, such a write is missed.
        let _ = opened.set_modified(SystemTime::now());
        if before == *known {
            *known = Identity::new(&opened.metadata()?);
        }
        changed
    }
}

/// Opens a file of a snapshot to write chunks. The files of a complete snapshot are read-only, also for their owner.
fn open_to_write(path: &Path) -> io::Result<File> {
    let open = || {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        // The C library takes the flags as an `int`.
        OpenOptions::new().write(true).custom_flags(flags.bits() as i32).open(path)
    };
    let metadata = fs::symlink_metadata(path)?;
    let is_sealed = metadata.is_file() && metadata.mode() & 0o200 == 0;
    if !is_sealed {
        return open();
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))?;
    let opened = open();
    fs::set_permissions(path, metadata.permissions())?;
    opened
}
