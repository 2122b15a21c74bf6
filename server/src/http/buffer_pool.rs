//! A pool of buffers for large bodies.
//!
//! One thread renders a body and another thread frees it. mimalloc keeps memory freed by another thread on
//! the thread that allocated it: after 150 replies of 240 KB, 27 MB stayed allocated. The pool shares
//! such buffers between threads and keeps at most 4 MiB. Bodies of 256 KiB and more are copied to pages of
//! their own, which the system takes back with the body.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use memmap2::MmapMut;

/// Base-2 logarithm of the smallest pooled capacity; the allocator serves smaller buffers.
const CAPACITY_MIN_LOG2: u32 = 15;
/// Number of pooled capacities, each twice the one before: 32 KiB to 4 MiB.
const SIZES: usize = 8;
/// A body of at least this length gets pages of its own.
const MAPPED_BYTES_MIN: usize = 256 << 10;
/// Total capacity of pooled buffers.
const POOL_BYTES_MAX: usize = 4 << 20;

static POOL: Mutex<Pool> = Mutex::new(Pool { by_size: [const { Vec::new() }; SIZES], bytes: 0 });

struct Pool {
    by_size: [Vec<Vec<u8>>; SIZES],
    bytes: usize,
}

/// A buffer that returns to the pool when dropped.
#[derive(Debug, Default)]
pub struct PooledBuffer(Vec<u8>);

impl PooledBuffer {
    /// Returns an empty buffer of at least this capacity.
    pub fn with_capacity(bytes: usize) -> PooledBuffer {
        let bytes = pooled_capacity(bytes);
        let pooled = size_class(bytes).and_then(|class| {
            let mut pool = lock();
            let buffer = pool.by_size[class].pop()?;
            pool.bytes -= buffer.capacity();
            Some(buffer)
        });
        PooledBuffer(pooled.unwrap_or_else(|| Vec::with_capacity(bytes)))
    }

    pub fn as_mut_vec(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

/// Copies a body to memory that is freed with it: a pooled buffer of at most twice the length, or pages of
/// its own.
pub fn copy_body(bytes: &[u8]) -> Bytes {
    if bytes.len() >= MAPPED_BYTES_MIN
        && let Ok(mut pages) = MmapMut::map_anon(bytes.len())
    {
        pages.copy_from_slice(bytes);
        return Bytes::from_owner(pages);
    }
    let mut buffer = PooledBuffer::with_capacity(bytes.len());
    buffer.0.extend_from_slice(bytes);
    Bytes::from_owner(buffer)
}

/// The capacity of a buffer for a body of this length.
pub fn pooled_capacity(bytes: usize) -> usize {
    if bytes < 1 << CAPACITY_MIN_LOG2 { bytes } else { bytes.next_power_of_two() }
}

/// The size class of a capacity; `None` if the pool does not keep such buffers.
fn size_class(capacity: usize) -> Option<usize> {
    let size = capacity.checked_ilog2()?.checked_sub(CAPACITY_MIN_LOG2)? as usize;
    (size < SIZES).then_some(size)
}

fn lock() -> MutexGuard<'static, Pool> {
    // No code panics while it holds the lock.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        let mut buffer = mem::take(&mut self.0);
        let Some(class) = size_class(buffer.capacity()) else { return };
        buffer.clear();
        let mut pool = lock();
        if pool.bytes + buffer.capacity() <= POOL_BYTES_MAX {
            pool.bytes += buffer.capacity();
            pool.by_size[class].push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_reused_and_the_pool_is_bounded() {
        let body = vec![7; 100_000];
        assert_eq!(copy_body(&body), body);
        let long = vec![8; 300_000];
        assert_eq!(copy_body(&long), long);
        // Other tests may use the pool meanwhile, but a returned buffer is always empty.
        let again = PooledBuffer::with_capacity(70_000);
        assert!(again.as_ref().is_empty() && again.0.capacity() >= 131_072);
        drop((0..100).map(|_| PooledBuffer::with_capacity(1 << 20)).collect::<Vec<_>>());
        assert!(lock().bytes <= POOL_BYTES_MAX);
        drop(PooledBuffer::with_capacity(64 << 20));
        assert!(lock().bytes <= POOL_BYTES_MAX);
    }

    #[test]
    fn a_buffer_is_less_than_twice_as_long_as_its_body() {
        for bytes in [0, 1, 4_096, 32_767, 32_768, 32_769, 240_000, 5 << 20] {
            let capacity = pooled_capacity(bytes);
            assert!((bytes..bytes.max(1) * 2).contains(&capacity), "{bytes}");
            assert!(PooledBuffer::with_capacity(bytes).0.capacity() >= bytes);
        }
    }
}
