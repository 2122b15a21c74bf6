//! The rows of one side table by their keys, and which of them belong to a record.

use std::{
    io::{self, Read, Write},
    sync::atomic::{AtomicU64, Ordering},
};

use crate::error::Result;
use crate::frontend::side::SideValue;
use crate::link::external_sort::{Sorter, Spill, read_array};
use crate::link::{Column, Linker, broken};
use crate::object::side::{NO_KEY, SideSegment};

/// A key of a row, and where its entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    key: u64,
    segment: u32,
    entry: u32,
}

/// Bytes of a place on disk.
const PLACE_BYTES: usize = 16;

impl Spill for Place {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.key.to_le_bytes())?;
        out.write_all(&self.segment.to_le_bytes())?;
        out.write_all(&self.entry.to_le_bytes())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Place>> {
        let Some(key) = read_array(input)? else { return Ok(None) };
        let Some(segment) = read_array(input)? else { return Ok(None) };
        let Some(entry) = read_array(input)? else { return Ok(None) };
        Ok(Some(Place {
            key: u64::from_le_bytes(key),
            segment: u32::from_le_bytes(segment),
            entry: u32::from_le_bytes(entry),
        }))
    }
}

/// The rows of one side table, by key.
pub(crate) struct Joinable<'o> {
    /// The table's segments.
    pub segments: Vec<SideSegment<'o>>,
    /// Places, ascending by key.
    places: Column,
    /// For each segment, the number of its first row among all.
    first_rows: Vec<u64>,
    /// For each row, a bit: whether it belongs to a record.
    joined: Vec<AtomicU64>,
}

impl Joinable<'_> {
    /// How many rows there are.
    pub fn count(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.rows)).sum()
    }

    /// How many rows belong to a record.
    pub fn joined_count(&self) -> u64 {
        self.joined.iter().map(|bits| u64::from(bits.load(Ordering::Relaxed).count_ones())).sum()
    }

    fn place(&self, at: usize) -> Option<Place> {
        Place::read(&mut self.places.get(at)?).ok()?
    }

    /// What the rows with any of `keys` give, the newest alone, greatest hash first, and the same
    /// once; all of them are then joined.
    pub fn take<V: SideValue>(&self, keys: &[u64]) -> Result<Vec<V>> {
        let mut found = Vec::new();
        for key in keys.iter().filter(|key| **key != NO_KEY) {
            let Some(from) = self.places.find(*key) else { continue };
            let places = (from..self.places.len()).map(|at| self.place(at).ok_or_else(broken));
            for place in places {
                let place = place?;
                if place.key != *key {
                    break;
                }
                let segment = self.segments.get(place.segment as usize).ok_or_else(broken)?;
                let entry = segment.entry(place.entry as usize).ok_or_else(broken)?;
                let row = self.first_rows[place.segment as usize] + u64::from(entry.row);
                self.joined[(row / 64) as usize].fetch_or(1 << (row % 64), Ordering::Relaxed);
                let value = segment.value(&entry).ok_or_else(broken)?;
                found.push((entry.vintage, entry.hash, value));
            }
        }
        let newest = found.iter().map(|(vintage, ..)| *vintage).max();
        found.retain(|(vintage, ..)| Some(*vintage) == newest);
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        found.into_iter().map(|(.., value)| V::decode(value).ok_or_else(broken)).collect()
    }
}

impl<'o> Linker<'o> {
    /// Sorts the keys of a table's rows.
    pub(crate) fn joinable(&self, segments: Vec<SideSegment<'o>>) -> Result<Joinable<'o>> {
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        let mut first_rows = Vec::new();
        let mut count = 0;
        for (number, segment) in (0u32..).zip(&segments) {
            first_rows.push(count);
            count += u64::from(segment.rows);
            for at in 0..segment.count() {
                let key = segment.entry(at).ok_or_else(broken)?.key;
                let entry = u32::try_from(at).map_err(|_| broken())?;
                self.spilled(sorter.push(Place { key, segment: number, entry }))?;
            }
        }
        let places = self.spilled(self.write_sorted(sorter, PLACE_BYTES))?;
        let joined = (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Joinable { segments, places, first_rows, joined })
    }
}
