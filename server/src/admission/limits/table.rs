//! The counts of each client, in a table of fixed size that replaces the least recently seen client.
//!
//! A keyed hash and linear probing find the slot of a client; a doubly linked list through the slots keeps
//! the order of use. All addresses are reserved at the start, and never move: 48 bytes for each client that
//! was seen, and 8 to 16 for each that may be. The system provides their pages when they are first written, so
//! that a server starts in milliseconds. A removal moves later entries back, so that there are no tombstones.
//!
//! The `lru` crate is not used: it allocates each entry in a box of its own, besides a hash map of pointers,
//! which is more than 80 bytes per client and grows with the clients.

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::ops::Range;

use pinakes_answer::QuotaClass;

/// Marks the end of the list.
const NONE: u32 = u32::MAX;
/// Marks an empty place. Zero, so that no place has to be written at the start.
const FREE: u32 = 0;
const MIB_PLACES: usize = (1 << 20) / size_of::<u32>();
/// Places in the smallest page of any system.
const PAGE_PLACES: usize = (4 << 10) / size_of::<u32>();

/// The counts of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCounts {
    /// Start of the client's minute, in milliseconds of the monotonic clock.
    pub minute_started: u64,
    /// Requests of the minute; 0 without an open minute.
    pub minute: u32,
    /// The day of `daily`, in days since 1970.
    pub day: u32,
    /// Units of the day by [`QuotaClass`].
    pub daily: [u32; QuotaClass::COUNT],
}

#[derive(Clone, Copy, Debug)]
struct ClientEntry<C> {
    key: u64,
    counts: C,
    /// Neighbours in the order of use.
    older: u32,
    newer: u32,
}

/// Counts of the most recently seen clients.
pub struct ClientTable<C = ClientCounts> {
    /// The slots in use, which never exceed the reserved capacity.
    slots: Vec<ClientEntry<C>>,
    clients_max: usize,
    /// Hash → slot + 1; a power of two, at least twice the largest number of slots.
    places: Vec<u32>,
    hasher: RandomState,
    oldest: u32,
    newest: u32,
}

impl<C: Copy + Default> ClientTable<C> {
    /// Makes a table of `clients_max` clients, at least 1.
    pub fn new(clients_max: u32) -> ClientTable<C> {
        let clients = clients_max.clamp(1, NONE / 4);
        let places = (clients as usize * 2).next_power_of_two();
        ClientTable {
            slots: Vec::with_capacity(clients as usize),
            clients_max: clients as usize,
            places: vec![FREE; places],
            hasher: RandomState::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    /// Makes the system provide the pages of a MiB of the places; false beyond the last. A flood of new clients
    /// then takes only the memory of their slots.
    pub fn provide_pages(&mut self, mib: usize) -> bool {
        let from = mib * MIB_PLACES;
        let places = self.places.iter_mut().skip(from).take(MIB_PLACES).step_by(PAGE_PLACES);
        places.for_each(|place| *place = black_box(*place));
        from < self.places.len()
    }

    /// The number of clients in the table.
    pub fn clients(&self) -> u32 {
        // At most the `u32` that the table was made for.
        self.slots.len() as u32
    }

    /// Keys and counts of the clients in a range of slots, in no particular order.
    pub fn slots(&self, slots: Range<u32>) -> impl Iterator<Item = (u64, C)> {
        let end = (slots.end as usize).min(self.slots.len());
        let slots = &self.slots[(slots.start as usize).min(end)..end];
        slots.iter().map(|slot| (slot.key, slot.counts))
    }

    fn home(&self, key: u64) -> usize {
        self.hasher.hash_one(key) as usize & (self.places.len() - 1)
    }

    fn slot_in(&self, place: usize) -> Option<u32> {
        self.places[place].checked_sub(1)
    }

    /// The place of a key, or the free place where it would be inserted.
    fn place_of(&self, key: u64) -> usize {
        let mut place = self.home(key);
        loop {
            match self.slot_in(place) {
                Some(slot) if self.slots[slot as usize].key != key => {
                    place = (place + 1) & (self.places.len() - 1);
                }
                _ => return place,
            }
        }
    }

    /// The counts of a client, or zeros; does not change the order of use.
    pub fn peek(&self, key: u64) -> C {
        let slot = self.slot_in(self.place_of(key));
        slot.map(|slot| self.slots[slot as usize].counts).unwrap_or_default()
    }

    /// The counts of a client, which becomes the most recently seen, and whether it replaced another.
    ///
    /// Cost: expected O(1).
    pub fn touch(&mut self, key: u64) -> (&mut C, bool) {
        let is_full = self.slots.len() == self.clients_max;
        let place = self.place_of(key);
        let known = self.slot_in(place);
        let slot = match known {
            None => self.insert(key, place),
            Some(slot) => {
                self.unlink(slot);
                slot
            }
        };
        self.link_newest(slot);
        (&mut self.slots[slot as usize].counts, known.is_none() && is_full)
    }

    /// Takes a slot for a new client whose place is free.
    fn insert(&mut self, key: u64, place: usize) -> u32 {
        let fresh = ClientEntry { key, counts: C::default(), older: NONE, newer: NONE };
        let (slot, place) = if self.slots.len() < self.clients_max {
            self.slots.push(fresh);
            (self.clients() - 1, place)
        } else {
            let slot = self.oldest;
            self.unlink(slot);
            self.remove(self.place_of(self.slots[slot as usize].key));
            self.slots[slot as usize] = fresh;
            // The removal may have moved an entry into the free place.
            (slot, self.place_of(key))
        };
        self.places[place] = slot + 1;
        slot
    }

    /// Frees a place, and moves back the entries that probed past it.
    fn remove(&mut self, mut place: usize) {
        let mask = self.places.len() - 1;
        let mut next = place;
        loop {
            next = (next + 1) & mask;
            let Some(slot) = self.slot_in(next) else { break };
            let home = self.home(self.slots[slot as usize].key);
            // The entry moves if the free place is not before its home.
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(place) & mask) {
                self.places[place] = slot + 1;
                place = next;
            }
        }
        self.places[place] = FREE;
    }

    fn unlink(&mut self, slot: u32) {
        let ClientEntry { older, newer, .. } = self.slots[slot as usize];
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
    fn the_table_keeps_the_most_recently_seen_clients() {
        // Compared with a plain map and the order of use.
        let mut table: ClientTable = ClientTable::new(100);
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut seen: Vec<u64> = Vec::new();
        let mut random = 1u64;
        let mut replaced = 0;
        for _ in 0..50_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (random >> 33) % 150;
            let (counts, has_replaced) = table.touch(key);
            counts.minute += 1;
            let found = counts.minute;
            replaced += u32::from(has_replaced);
            seen.retain(|other| *other != key);
            seen.push(key);
            assert_eq!(has_replaced, seen.len() > 100);
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
        assert!(replaced > 1_000);
    }

    #[test]
    fn a_table_of_one_client_works() {
        let mut table: ClientTable = ClientTable::new(0);
        assert!(table.provide_pages(0) && !table.provide_pages(1));
        for key in [7, 7, 8, 7] {
            table.touch(key).0.minute += 1;
        }
        assert_eq!(table.clients(), 1);
        assert_eq!((table.peek(7).minute, table.peek(8).minute), (1, 0));
    }
}
