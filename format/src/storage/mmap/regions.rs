//! Where files are mapped, so that whoever takes a fault there knows which file it was.
//!
//! A table of fixed size, which a signal handler may read at any moment: it takes no lock and allocates
//! nothing. A slot's generation is odd while it changes, so that nobody takes the beginning of one
//! region for that of another.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{
        AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        fence,
    },
};

/// Regions at a time; the system allows a process fewer mappings unless it is told otherwise
/// (`vm.max_map_count`). Slots that were never used take no memory.
const REGIONS_MAX: usize = 1 << 16;

/// The regions of this process.
pub static REGIONS: Regions = Regions::new();

/// Where files are mapped.
pub struct Regions {
    slots: [Slot; REGIONS_MAX],
    /// Slots that were ever used, the first of them.
    used: AtomicUsize,
    /// Those of them that are free.
    free: Mutex<Vec<usize>>,
    /// Regions that a fault was taken in, ever.
    faults: AtomicU64,
}

struct Slot {
    generation: AtomicUsize,
    from: AtomicUsize,
    bytes: AtomicUsize,
    /// Where the first fault was, counted from 1; 0 where there was none.
    fault: AtomicUsize,
}

/// Where a file is mapped, for as long as this lives.
#[derive(Debug)]
pub struct Region(usize);

/// A region as a fault finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    slot: usize,
    /// Its first address.
    pub from: usize,
    /// Its length.
    pub bytes: usize,
}

impl Regions {
    const fn new() -> Regions {
        Regions {
            slots: [const { Slot::new() }; REGIONS_MAX],
            used: AtomicUsize::new(0),
            free: Mutex::new(Vec::new()),
            faults: AtomicU64::new(0),
        }
    }

    /// Notes that a file is mapped somewhere; `None` where there is no room for more.
    pub fn enter(&'static self, from: usize, bytes: usize) -> Option<Region> {
        let mut free = self.free();
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

    /// The region an address is in. May be asked in a signal handler.
    ///
    /// Cost: a look at each slot that was ever used.
    pub fn find(&self, address: usize) -> Option<Found> {
        let used = self.used.load(Acquire);
        self.slots[..used].iter().enumerate().find_map(|(slot, region)| {
            let (from, bytes) = region.get()?;
            let is_in = address.wrapping_sub(from) < bytes;
            is_in.then_some(Found { slot, from, bytes })
        })
    }

    /// Notes a fault at an address of a region. May be told in a signal handler.
    pub fn note_fault(&self, found: Found, address: usize) {
        let place = address - found.from + 1;
        let fault = &self.slots[found.slot].fault;
        if fault.compare_exchange(0, place, SeqCst, SeqCst).is_ok() {
            self.faults.fetch_add(1, SeqCst);
        }
    }

    /// Regions that a fault was taken in, ever.
    pub fn faults(&self) -> u64 {
        self.faults.load(SeqCst)
    }

    fn free(&self) -> MutexGuard<'_, Vec<usize>> {
        // Nothing in the lock panics half way through a change.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            generation: AtomicUsize::new(0),
            from: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            fault: AtomicUsize::new(0),
        }
    }

    /// One thread at a time: the one that took the slot, or gives it back.
    fn set(&self, from: usize, bytes: usize) {
        let generation = self.generation.load(Relaxed);
        self.generation.store(generation.wrapping_add(1), Relaxed);
        fence(Release);
        self.from.store(from, Relaxed);
        self.bytes.store(bytes, Relaxed);
        self.fault.store(0, Relaxed);
        self.generation.store(generation.wrapping_add(2), Release);
    }

    /// Beginning and length; `None` while they change, when no fault can be in it.
    fn get(&self) -> Option<(usize, usize)> {
        let before = self.generation.load(Acquire);
        let region = (self.from.load(Relaxed), self.bytes.load(Relaxed));
        fence(Acquire);
        let is_whole = before.is_multiple_of(2) && before == self.generation.load(Relaxed);
        is_whole.then_some(region)
    }
}

impl Region {
    /// Where in it a fault was taken first; `None` where none was.
    pub fn fault(&self) -> Option<usize> {
        REGIONS.slots[self.0].fault.load(SeqCst).checked_sub(1)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        REGIONS.slots[self.0].set(0, 0);
        REGIONS.free().push(self.0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// Addresses that nothing is at.
    const NOWHERE: usize = usize::MAX / 2;

    #[test]
    fn a_region_is_found_by_any_address_in_it_until_it_is_let_go() {
        let region = REGIONS.enter(NOWHERE, 100).unwrap();
        let after = REGIONS.enter(NOWHERE + 200, 1).unwrap();
        let found = |at: usize| REGIONS.find(NOWHERE + at).map(|found| (found.from, found.bytes));
        for (at, expected) in [(0, Some(100)), (99, Some(100)), (100, None), (199, None)] {
            assert_eq!(found(at), expected.map(|bytes| (NOWHERE, bytes)), "{at}");
        }
        assert_eq!(REGIONS.find(NOWHERE - 1), None);
        assert_eq!((region.fault(), after.fault()), (None, None));
        let before = REGIONS.faults();
        for at in [7, 3] {
            REGIONS.note_fault(REGIONS.find(NOWHERE + at).unwrap(), NOWHERE + at);
        }
        assert_eq!((region.fault(), after.fault()), (Some(7), None), "the first counts");
        assert_eq!(REGIONS.faults(), before + 1);
        drop(region);
        assert_eq!((found(0), found(200)), (None, Some((NOWHERE + 200, 1))));
        // Whoever gets the slot next has no fault.
        assert_eq!(REGIONS.enter(NOWHERE + 400, 8).unwrap().fault(), None);
    }

    #[test]
    fn no_region_is_taken_for_another_while_they_come_and_go() {
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
            // Between the two there is none, whichever slots they get.
            for _ in 0..200_000 {
                assert_eq!(REGIONS.find(base + 500_000), None);
            }
            is_done.store(true, Relaxed);
        });
    }
}
