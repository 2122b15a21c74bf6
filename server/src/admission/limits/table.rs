//! What is counted of each client, in a table of fixed size.
//!
//! Slots are found by linear probing under a keyed hash and kept in the order they were last seen, so
//! that the least recently seen makes room for a new one. Everything is allocated and touched at
//! the start: a million strangers change neither the memory nor what a request costs. Removal
//! moves the entries behind back, so that there are no tombstones to be swept.

use std::{
    hash::{BuildHasher, RandomState},
    ops::Range,
};

/// No slot.
const NONE: u32 = u32::MAX;

/// What is counted of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// When the client's minute began, in milliseconds of the monotonic clock.
    pub minute_from: u64,
    /// Requests in that minute; none where no minute is open.
    pub minute: u32,
    /// The day that what follows is of, in days since 1970.
    pub day: u32,
    /// Requests of that day, by what they count as.
    pub of_day: [u32; 2],
}

/// A client's slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    counts: Counts,
    /// The client seen just before this one, and the one seen just after.
    older: u32,
    newer: u32,
}

/// The table.
pub struct Table {
    slots: Vec<Slot>,
    /// Slots in use, the first of them.
    used: u32,
    /// Hash → slot; twice as many places as slots or more, a power of two.
    places: Vec<u32>,
    hasher: RandomState,
    oldest: u32,
    newest: u32,
}

impl Table {
    /// A table of so many clients, one at least.
    pub fn new(clients_max: u32) -> Table {
        let clients = clients_max.clamp(1, NONE / 4);
        let places = (clients as usize * 2).next_power_of_two();
        // Written with other values than zero, so that the pages are there.
        let empty = Slot { key: u64::MAX, counts: Counts::default(), older: NONE, newer: NONE };
        Table {
            slots: vec![empty; clients as usize],
            used: 0,
            places: vec![NONE; places],
            hasher: RandomState::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    /// How many clients are known.
    pub fn clients(&self) -> u32 {
        self.used
    }

    /// The clients known and their counts, from one slot to before another, in no order that matters.
    pub fn slots(&self, slots: Range<u32>) -> impl Iterator<Item = (u64, Counts)> {
        let end = slots.end.min(self.used) as usize;
        let slots = &self.slots[(slots.start as usize).min(end)..end];
        slots.iter().map(|slot| (slot.key, slot.counts))
    }

    fn home(&self, key: u64) -> usize {
        self.hasher.hash_one(key) as usize & (self.places.len() - 1)
    }

    /// The place a key is at, or the free one where it would be.
    fn place_of(&self, key: u64) -> usize {
        let mut place = self.home(key);
        loop {
            match self.places[place] {
                slot if slot != NONE && self.slots[slot as usize].key != key => {
                    place = (place + 1) & (self.places.len() - 1);
                }
                _ => return place,
            }
        }
    }

    /// What is counted of a client; nothing where it is not known. It is not seen by this.
    pub fn peek(&self, key: u64) -> Counts {
        match self.places[self.place_of(key)] {
            NONE => Counts::default(),
            slot => self.slots[slot as usize].counts,
        }
    }

    /// A client's counts, to be changed, and whether another was forgotten for it; it is the last one
    /// seen.
    pub fn see(&mut self, key: u64) -> (&mut Counts, bool) {
        let is_full = self.used as usize == self.slots.len();
        let place = self.place_of(key);
        let is_new = self.places[place] == NONE;
        let slot = match self.places[place] {
            NONE => self.insert(key, place),
            slot => {
                self.unlink(slot);
                slot
            }
        };
        self.link_newest(slot);
        (&mut self.slots[slot as usize].counts, is_new && is_full)
    }

    /// A slot for a new client, whose place is free.
    fn insert(&mut self, key: u64, place: usize) -> u32 {
        let (slot, place) = if (self.used as usize) < self.slots.len() {
            self.used += 1;
            (self.used - 1, place)
        } else {
            let slot = self.oldest;
            self.unlink(slot);
            self.remove(self.place_of(self.slots[slot as usize].key));
            // The removal may have moved what stood before the free place.
            (slot, self.place_of(key))
        };
        self.places[place] = slot;
        self.slots[slot as usize] =
            Slot { key, counts: Counts::default(), older: NONE, newer: NONE };
        slot
    }

    /// Frees a place, and moves back what stands behind it for want of it.
    fn remove(&mut self, mut place: usize) {
        let mask = self.places.len() - 1;
        let mut next = place;
        loop {
            next = (next + 1) & mask;
            let slot = self.places[next];
            if slot == NONE {
                break;
            }
            let home = self.home(self.slots[slot as usize].key);
            // How far it stands from its home, and how far the free place is from where it stands.
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(place) & mask) {
                self.places[place] = slot;
                place = next;
            }
        }
        self.places[place] = NONE;
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { older, newer, .. } = self.slots[slot as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
    }

    fn link_newest(&mut self, slot: u32) {
        let older = std::mem::replace(&mut self.newest, slot);
        match older {
            NONE => self.oldest = slot,
            older => self.slots[older as usize].newer = slot,
        }
        self.slots[slot as usize].older = older;
        self.slots[slot as usize].newer = NONE;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_table_keeps_what_was_seen_last() {
        // Against a plain map and the order in which keys were seen.
        let mut table = Table::new(100);
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut seen: Vec<u64> = Vec::new();
        let mut random = 1u64;
        let mut forgotten = 0;
        for _ in 0..50_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (random >> 33) % 150;
            let (counts, has_forgotten) = table.see(key);
            counts.minute += 1;
            let found = counts.minute;
            forgotten += u32::from(has_forgotten);
            seen.retain(|other| *other != key);
            seen.push(key);
            assert_eq!(has_forgotten, seen.len() > 100);
            if seen.len() > 100 {
                known.remove(&seen.remove(0));
            }
            let count = known.entry(key).or_default();
            *count += 1;
            assert_eq!(found, *count, "{key}");
            assert_eq!(table.clients() as usize, known.len());
        }
        for key in 0..150 {
            assert_eq!(table.peek(key).minute, known.get(&key).copied().unwrap_or_default());
        }
        assert!(forgotten > 1_000);
    }

    #[test]
    fn one_client_is_enough_for_a_table() {
        let mut table = Table::new(0);
        for key in [7, 7, 8, 7] {
            table.see(key).0.minute += 1;
        }
        assert_eq!(table.clients(), 1);
        assert_eq!((table.peek(7).minute, table.peek(8).minute), (1, 0));
    }
}
