//! The table of mapped address ranges, in which the SIGBUS handler looks a failed access up.
//!
//! The table has a fixed size, so that the handler can read it at any moment without a lock or an
//! allocation. Each slot is a seqlock: its generation is odd during a write, so that a reader never
//! pairs the address of one region with the length of another.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU64, AtomicUsize, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The largest number of regions at once. Linux allows 65,530 mappings by default
/// (`vm.max_map_count`). Unused slots take no memory.
const REGIONS_MAX: usize = 1 << 16;

/// The regions of this process. All bytes of the table are zero at first, so that no file of a program holds its
/// 2 MiB; the list of free slots, which has a pointer, stands apart.
pub static REGIONS: Regions = Regions::new();

/// The used slots of [`REGIONS`] that are free again.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// A table of mapped address ranges.
pub struct Regions {
    slots: [RegionEntry; REGIONS_MAX],
    /// The number of slots used so far: the first of `slots`.
    used: AtomicUsize,
    /// The number of regions with a failed access, since the process started.
    fault_count: AtomicU64,
}

struct RegionEntry {
    generation: AtomicUsize,
    from: AtomicUsize,
    bytes: AtomicUsize,
    /// One more than the offset of the first failed access; 0 where there was none.
    fault: AtomicUsize,
}

/// An entry of [`REGIONS`], removed on drop.
#[derive(Debug)]
pub struct Region(usize);

/// A region that contains a looked-up address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionHit {
    slot: usize,
    /// The first address.
    pub from: usize,
    /// The length in bytes.
    pub bytes: usize,
}

impl Regions {
    const fn new() -> Regions {
        Regions {
            slots: [const { RegionEntry::new() }; REGIONS_MAX],
            used: AtomicUsize::new(0),
            fault_count: AtomicU64::new(0),
        }
    }

    /// Adds a region; `None` where the table is full.
    pub fn enter(&'static self, from: usize, bytes: usize) -> Option<Region> {
        let mut free = free();
        let slot = free.pop().or_else(|| {
            let next = self.used.load(Relaxed);
            (next < REGIONS_MAX).then(|| {
                self.used.store(next + 1, Release);
                next
            })
        })?;
        self.slots[slot].set(from, bytes);
        Some(Region(slot))
    }

    /// Finds the region of an address. Async-signal-safe.
    ///
    /// Cost: reads every slot used so far.
    pub fn find(&self, address: usize) -> Option<RegionHit> {
        let used = self.used.load(Acquire);
        self.slots[..used].iter().enumerate().find_map(|(slot, region)| {
            let (from, bytes) = region.get()?;
            let is_in = address.wrapping_sub(from) < bytes;
            is_in.then_some(RegionHit { slot, from, bytes })
        })
    }

    /// Records a failed access. Only the first of a region counts. Async-signal-safe.
    pub fn note_fault(&self, found: RegionHit, address: usize) {
        let place = address - found.from + 1;
        let fault = &self.slots[found.slot].fault;
        if fault.compare_exchange(0, place, SeqCst, SeqCst).is_ok() {
            self.fault_count.fetch_add(1, SeqCst);
        }
    }

    /// The number of regions with a failed access, since the process started.
    pub fn fault_count(&self) -> u64 {
        self.fault_count.load(SeqCst)
    }
}

fn free() -> MutexGuard<'static, Vec<usize>> {
    // A poisoned list is still valid: no operation under the lock can panic midway.
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RegionEntry {
    const fn new() -> RegionEntry {
        RegionEntry {
            generation: AtomicUsize::new(0),
            from: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            fault: AtomicUsize::new(0),
        }
    }

    /// Writes the slot. Only the thread that takes or releases the slot calls this.
    fn set(&self, from: usize, bytes: usize) {
        let generation = self.generation.load(Relaxed);
        self.generation.store(generation.wrapping_add(1), Relaxed);
        fence(Release);
        self.from.store(from, Relaxed);
        self.bytes.store(bytes, Relaxed);
        self.fault.store(0, Relaxed);
        self.generation.store(generation.wrapping_add(2), Release);
    }

    /// The first address and the length; `None` during a write, when no access can be in the region.
    fn get(&self) -> Option<(usize, usize)> {
        let before = self.generation.load(Acquire);
        let region = (self.from.load(Relaxed), self.bytes.load(Relaxed));
        fence(Acquire);
        let is_whole = before.is_multiple_of(2) && before == self.generation.load(Relaxed);
        is_whole.then_some(region)
    }
}

impl Region {
    /// The offset of the first failed access.
    pub fn fault(&self) -> Option<usize> {
        REGIONS.slots[self.0].fault.load(SeqCst).checked_sub(1)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        REGIONS.slots[self.0].set(0, 0);
        free().push(self.0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// An address that no mapping has.
    const NOWHERE: usize = usize::MAX / 2;

    #[test]
    fn an_address_finds_its_region_until_the_region_is_dropped() {
        let region = REGIONS.enter(NOWHERE, 100).unwrap();
        let after = REGIONS.enter(NOWHERE + 200, 1).unwrap();
        let found = |at: usize| REGIONS.find(NOWHERE + at).map(|found| (found.from, found.bytes));
        for (at, expected) in [(0, Some(100)), (99, Some(100)), (100, None), (199, None)] {
            assert_eq!(found(at), expected.map(|bytes| (NOWHERE, bytes)), "{at}");
        }
        assert_eq!(REGIONS.find(NOWHERE - 1), None);
        assert_eq!((region.fault(), after.fault()), (None, None));
        let before = REGIONS.fault_count();
        for at in [7, 3] {
            REGIONS.note_fault(REGIONS.find(NOWHERE + at).unwrap(), NOWHERE + at);
        }
        assert_eq!((region.fault(), after.fault()), (Some(7), None), "the first counts");
        assert_eq!(REGIONS.fault_count(), before + 1);
        drop(region);
        assert_eq!((found(0), found(200)), (None, Some((NOWHERE + 200, 1))));
        // The next region in the same slot starts without a fault.
        assert_eq!(REGIONS.enter(NOWHERE + 400, 8).unwrap().fault(), None);
    }

    #[test]
    fn concurrent_changes_never_mix_two_regions() {
        let base = NOWHERE / 2;
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for low in [true, false] {
                let is_done = &is_done;
                scope.spawn(move || {
                    while !is_done.load(Relaxed) {
                        let from = if low { base } else { base + 1_000_000 };
                        drop(REGIONS.enter(from, 10));
                    }
                });
            }
            // No region contains this address, in whichever slots the two are.
            for _ in 0..200_000 {
                assert_eq!(REGIONS.find(base + 500_000), None);
            }
            is_done.store(true, Relaxed);
        });
    }
}
