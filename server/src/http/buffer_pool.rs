//! Room for large bodies, used again and again.
//!
//! A body is rendered on one thread and let go on another. What an allocator does with such memory is
//! to keep it for the first, which may not ask again: of 150 replies of 240 KB that nobody held any
//! longer, 27 MB stayed. So such room is kept here, and no more of it than is written below.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

/// The least room that is kept, as a power of two; less is the allocator's business.
const LEAST: u32 = 15;
/// Sizes of room that are kept, each twice the one before: 32 KiB to 4 MiB.
const SIZES: usize = 8;
/// Bytes that are kept for the next bodies.
const KEPT_BYTES_MAX: usize = 4 << 20;

static KEPT: Mutex<Kept> = Mutex::new(Kept { by_size: [const { Vec::new() }; SIZES], bytes: 0 });

struct Kept {
    by_size: [Vec<Vec<u8>>; SIZES],
    bytes: usize,
}

/// Room for bytes, given back when it is let go.
#[derive(Debug, Default)]
pub struct Room(Vec<u8>);

impl Room {
    /// Empty room for so many bytes at least.
    pub fn of(bytes: usize) -> Room {
        let bytes = capacity_of(bytes);
        let kept = size_of_room(bytes).and_then(|size| {
            let mut kept = lock();
            let room = kept.by_size[size].pop()?;
            kept.bytes -= room.capacity();
            Some(room)
        });
        Room(kept.unwrap_or_else(|| Vec::with_capacity(bytes)))
    }

    /// Bytes in room of their own, which is no more than twice as large.
    pub fn copy(bytes: &[u8]) -> Room {
        let mut room = Room::of(bytes.len());
        room.0.extend_from_slice(bytes);
        room
    }

    /// What is in it, to be written.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// The same as a body.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

/// The room that a body of so many bytes takes.
pub fn capacity_of(bytes: usize) -> usize {
    if bytes < 1 << LEAST { bytes } else { bytes.next_power_of_two() }
}

/// Which of the sizes a capacity is large enough for; `None` where it is too small or too large for any.
fn size_of_room(capacity: usize) -> Option<usize> {
    let size = capacity.checked_ilog2()?.checked_sub(LEAST)? as usize;
    (size < SIZES).then_some(size)
}

fn lock() -> MutexGuard<'static, Kept> {
    // Nothing in the lock panics half way through a change.
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsRef<[u8]> for Room {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut room = mem::take(&mut self.0);
        let Some(size) = size_of_room(room.capacity()) else { return };
        room.clear();
        let mut kept = lock();
        if kept.bytes + room.capacity() <= KEPT_BYTES_MAX {
            kept.bytes += room.capacity();
            kept.by_size[size].push(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_used_again_and_kept_within_bounds() {
        let body = vec![7; 100_000];
        let bytes = Room::copy(&body).into_bytes();
        assert_eq!(bytes, body);
        drop(bytes);
        // Whatever other tests took and gave back meanwhile, none of it holds what was in it.
        let again = Room::of(70_000);
        assert!(again.as_ref().is_empty() && again.0.capacity() >= 131_072);
        drop((0..100).map(|_| Room::of(1 << 20)).collect::<Vec<_>>());
        assert!(lock().bytes <= KEPT_BYTES_MAX);
        drop(Room::of(64 << 20));
        assert!(lock().bytes <= KEPT_BYTES_MAX);
    }

    #[test]
    fn a_body_takes_less_than_twice_its_bytes() {
        for bytes in [0, 1, 4_096, 32_767, 32_768, 32_769, 240_000, 5 << 20] {
            let capacity = capacity_of(bytes);
            assert!((bytes..bytes.max(1) * 2).contains(&capacity), "{bytes}");
            assert!(Room::copy(&vec![1; bytes]).0.capacity() >= bytes);
        }
    }
}
