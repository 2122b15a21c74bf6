//! Which threads wait for the disk.
//!
//! A thread that serves many clients must not wait for one client's read. Such a thread works
//! inside [`from_memory`]: while the disk is busy, a read of bytes that are not in memory fails with
//! [`ReadError::WouldWait`](crate::storage::error::ReadError::WouldWait) there, and the caller
//! repeats the work on a thread that waits. While the disk is not busy, every thread reads directly,
//! since asking the system about each page costs more than the rare wait.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

thread_local! {
    static IS_HASTY: Cell<bool> = const { Cell::new(false) };
}

static IS_DISK_BUSY: AtomicBool = AtomicBool::new(false);

/// Whether reads of this process wait for the disk at present; false at the start.
pub fn is_disk_busy() -> bool {
    IS_DISK_BUSY.load(Relaxed)
}

/// Tells every thread whether the disk is busy.
pub fn set_disk_busy(is_busy: bool) {
    IS_DISK_BUSY.store(is_busy, Relaxed);
}

/// Does work that must not wait.
pub fn from_memory<T>(work: impl FnOnce() -> T) -> T {
    /// Also restores after a panic.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_HASTY.set(self.0);
        }
    }
    let _restore = Restore(IS_HASTY.replace(true));
    work()
}

/// Whether this thread is inside [`from_memory`].
pub fn is_hasty() -> bool {
    IS_HASTY.get()
}

/// Whether this thread must not read from disk now.
#[inline]
pub(crate) fn must_not_wait() -> bool {
    is_disk_busy() && is_hasty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_hasty_until_it_ends_or_panics() {
        assert!(!is_hasty());
        assert!(from_memory(|| from_memory(is_hasty) && is_hasty()));
        let panicked = std::panic::catch_unwind(|| from_memory(|| panic!("as the test wants")));
        assert!(panicked.is_err() && !is_hasty());
    }
}
