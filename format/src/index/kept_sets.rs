//! Sets of rows, counts and changed postings that a later query takes up, within a limit of memory.
//!
//! ```text
//! GET /outputs?filter=type:article&sort=fwci:desc&page=7     the set is made, and some of its intervals counted
//! GET /outputs?filter=type:article&sort=fwci:desc&page=8     both are taken up
//! ```
//!
//! All open snapshots share one [`KeptSets`]. The cache prefers sets that queries find again, so a client with
//! many filters that come once does not remove them.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::index::doc_set::DocSet;
use crate::index::full_text::Amended;
use crate::index::orders::Order;

/// Bytes of an entry besides its key and its rows.
const ENTRY_BYTES: usize = 256;
/// The usual size of an entry. The cache remembers the keys of about as many removed entries as fit.
const USUAL_BYTES: usize = 16 << 10;
/// The orders of which a set keeps counts. A list has one or two.
const COUNTED_ORDERS_MAX: usize = 4;
/// The bits of interval numbers for which counts are kept.
const INTERVAL_BITS_MAX: usize = 10;

/// The sets and counts of recent queries, of all snapshots.
pub struct KeptSets {
    cache: Cache<Key, Kept, Bytes>,
    /// The snapshots that took a number.
    snapshots: AtomicU64,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    snapshot: u64,
    what: Box<[u8]>,
}

#[derive(Clone)]
enum Kept {
    /// The rows of a filter in each chunk.
    ChunkCounts(Arc<[u32]>),
    Set(Arc<CountedSet>),
    Amended(Arc<Amended>),
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Kept> for Bytes {
    fn weight(&self, key: &Key, kept: &Kept) -> u64 {
        let bytes = match kept {
            Kept::ChunkCounts(counts) => size_of_val(&**counts),
            Kept::Set(set) => set.bytes(),
            Kept::Amended(amended) => amended.bytes(),
        };
        (ENTRY_BYTES + key.what.len() + bytes) as u64
    }
}

impl KeptSets {
    /// Keeps at most about this many bytes.
    pub fn new(bytes_max: usize) -> Arc<KeptSets> {
        let mut options = OptionsBuilder::new();
        options.estimated_items_capacity(bytes_max / USUAL_BYTES).weight_capacity(bytes_max as u64);
        // Several shards would have a share of the memory each, and a large set would fit none.
        let options = options.shards(1).build();
        let options = options.expect("both capacities are given");
        let (hashes, on_change) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let cache = Cache::with_options(options, Bytes, hashes, on_change);
        Arc::new(KeptSets { cache, snapshots: AtomicU64::new(0) })
    }

    /// The bytes of all sets and counts.
    pub fn bytes(&self) -> u64 {
        self.cache.weight()
    }
}

/// The sets that one snapshot keeps; by default it keeps none. When the snapshot is closed, its sets go.
#[derive(Default)]
pub(crate) struct SnapshotSets {
    /// The memory, and the number of the snapshot there.
    sets: Option<(Arc<KeptSets>, u64)>,
    /// The sets of which these are a view that keeps nothing.
    of: Option<Arc<SnapshotSets>>,
}

impl SnapshotSets {
    /// Keeps sets of another snapshot.
    pub fn new(sets: &Arc<KeptSets>) -> SnapshotSets {
        let number = sets.snapshots.fetch_add(1, Relaxed);
        SnapshotSets { sets: Some((Arc::clone(sets), number)), of: None }
    }

    /// Keeps sets of a snapshot with other suppressed records, in the same memory.
    pub fn of_other_suppression(&self) -> SnapshotSets {
        self.sets.as_ref().map_or_else(SnapshotSets::default, |(sets, _)| SnapshotSets::new(sets))
    }

    /// A view for an attempt in which absent bytes count as empty: it finds sets, and keeps none that lack rows.
    pub fn found_only(self: &Arc<Self>) -> SnapshotSets {
        SnapshotSets { sets: None, of: Some(Arc::clone(self)) }
    }

    /// The rows in each chunk of what `key` names.
    pub fn chunk_counts<E>(
        &self,
        key: &[u8],
        count: impl FnOnce() -> Result<Vec<u32>, E>,
    ) -> Result<Arc<[u32]>, E> {
        let place = self.place(key);
        if let Some(Kept::ChunkCounts(counts)) = place.as_ref().and_then(Place::find) {
            return Ok(counts);
        }
        let counts: Arc<[u32]> = count()?.into();
        place.into_iter().for_each(|place| place.keep(Kept::ChunkCounts(Arc::clone(&counts))));
        Ok(counts)
    }

    /// The set that `key` names.
    pub fn set<E>(
        &self,
        key: &[u8],
        make: impl FnOnce() -> Result<DocSet, E>,
    ) -> Result<Arc<CountedSet>, E> {
        let place = self.place(key);
        if let Some(Kept::Set(set)) = place.as_ref().and_then(Place::find) {
            return Ok(set);
        }
        let set = Arc::new(CountedSet::new(make()?));
        place.into_iter().for_each(|place| place.keep(Kept::Set(Arc::clone(&set))));
        Ok(set)
    }

    /// The changed postings of a term. `go_on` computes those that are missing. A computation that fails keeps what it has, so
    /// that the next one ends sooner.
    pub fn amended<E>(
        &self,
        stem: &str,
        go_on: impl FnOnce(&mut Amended) -> Result<(), E>,
    ) -> Result<Arc<Amended>, E> {
        // No filter has this byte, which UTF-8 lacks.
        let place = self.place(&[&[u8::MAX], stem.as_bytes()].concat());
        let mut amended = Amended::default();
        if let Some(Kept::Amended(known)) = place.as_ref().and_then(Place::find) {
            if known.is_complete() {
                return Ok(known);
            }
            amended = Amended::clone(&known);
        }
        let outcome = go_on(&mut amended);
        let amended = Arc::new(amended);
        place.into_iter().for_each(|place| place.keep(Kept::Amended(Arc::clone(&amended))));
        outcome.map(|()| amended)
    }

    fn place(&self, key: &[u8]) -> Option<Place<'_>> {
        let (sets, snapshot) = self.of.as_deref().unwrap_or(self).sets.as_ref()?;
        let keeps = self.of.is_none();
        Some(Place { sets, key: Key { snapshot: *snapshot, what: key.into() }, keeps })
    }
}

/// Where a set or counts are kept.
struct Place<'s> {
    sets: &'s KeptSets,
    key: Key,
    keeps: bool,
}

impl Place<'_> {
    fn find(&self) -> Option<Kept> {
        self.sets.cache.get(&self.key)
    }

    fn keep(self, kept: Kept) {
        if self.keeps {
            self.sets.cache.insert(self.key, kept);
        }
    }
}

impl Drop for SnapshotSets {
    fn drop(&mut self) {
        if let Some((sets, snapshot)) = &self.sets {
            sets.cache.retain(|key, _| key.snapshot != *snapshot);
        }
    }
}

/// A set, and the counts of its rows by the intervals of orders.
pub(crate) struct CountedSet {
    pub rows: DocSet,
    /// By the number of the order.
    counts: Mutex<Vec<(usize, Arc<IntervalCounts>)>>,
}

impl CountedSet {
    pub fn new(rows: DocSet) -> CountedSet {
        CountedSet { rows, counts: Mutex::default() }
    }

    /// The counts of the set by the intervals of an order.
    pub fn counts(&self, order: &Order<'_>) -> Arc<IntervalCounts> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = counts.iter().find(|(number, _)| *number == order.number()) {
            return Arc::clone(known);
        }
        let new = Arc::new(IntervalCounts::new(order.interval_bits()));
        if order.interval_bits() <= INTERVAL_BITS_MAX && counts.len() < COUNTED_ORDERS_MAX {
            counts.push((order.number(), Arc::clone(&new)));
        }
        new
    }

    /// The bytes of the set, and the most bytes of its counts.
    fn bytes(&self) -> usize {
        match &self.rows {
            DocSet::All(_) => 0,
            DocSet::AllExcept(_, rows) => size_of_val(&**rows),
            DocSet::Sorted(rows) => rows.capacity() * size_of::<u32>(),
            DocSet::Bitmap(bitmap, _) => {
                let counts = COUNTED_ORDERS_MAX * (size_of::<AtomicU64>() << INTERVAL_BITS_MAX);
                size_of_val(bitmap.chunks()) + counts
            }
        }
    }
}

/// The rows of a set by the intervals of an order, as far as they were counted.
///
/// A node stands for all intervals whose numbers begin with the same bits. The next bit divides them into a lower
/// and an upper half, and the node has the number of the set's rows in the lower half:
///
/// ```text
/// intervals       0 1 2 3 4 5 6 7
/// first bit       [rows of 0–3    ]
/// second bit      [0–1]   [4–5]
/// third bit       [0] [2] [4] [6]
/// ```
pub(crate) struct IntervalCounts {
    /// The children of node n are 2n and 2n + 1; the root is 1.
    nodes: Box<[AtomicU64]>,
    bits: usize,
}

impl IntervalCounts {
    const UNKNOWN: u64 = u64::MAX;

    fn new(bits: usize) -> IntervalCounts {
        let nodes = (0..1usize << bits).map(|_| AtomicU64::new(Self::UNKNOWN)).collect();
        IntervalCounts { nodes, bits }
    }

    /// The node of the intervals that agree with `interval` in all bits above `bit`.
    fn node(&self, bit: usize, interval: usize) -> Option<&AtomicU64> {
        let level = self.bits.checked_sub(bit + 1)?;
        self.nodes.get(1 << level | interval >> (bit + 1))
    }

    /// The rows in the intervals that agree with `interval` in all bits above `bit` and have `bit` clear; `None`
    /// before they are counted.
    pub fn get(&self, bit: usize, interval: usize) -> Option<u64> {
        let count = self.node(bit, interval)?.load(Relaxed);
        (count != Self::UNKNOWN).then_some(count)
    }

    /// Stores what [`get`](Self::get) returns from now on.
    pub fn set(&self, bit: usize, interval: usize, count: u64) {
        if let Some(node) = self.node(bit, interval) {
            node.store(count, Relaxed);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn keep(sets: &SnapshotSets, key: u8, rows: usize) {
        let set = || Ok::<_, ()>(DocSet::Sorted(vec![7; rows]));
        assert_eq!(sets.set(&[key], set).unwrap().rows.count(), rows as u64);
    }

    fn has(sets: &SnapshotSets, key: u8) -> bool {
        sets.set(&[key], || Err(())).is_ok()
    }

    #[test]
    fn sets_stay_within_their_bytes_and_go_with_their_snapshot() {
        let all = KeptSets::new(1 << 20);
        let (one, other) = (SnapshotSets::new(&all), SnapshotSets::new(&all));
        keep(&one, 1, 10);
        assert!(has(&one, 1) && !has(&other, 1));
        for key in 2..200 {
            keep(&other, key, 5_000);
            assert!(all.bytes() <= 1 << 20, "{}", all.bytes());
        }
        // A set that does not fit is not kept, and removes nothing.
        keep(&one, 200, 1 << 19);
        assert!(!has(&one, 200));
        drop(other);
        drop(one);
        assert_eq!(all.bytes(), 0);
        let none = SnapshotSets::default();
        keep(&none, 1, 10);
        assert!(!has(&none, 1));
    }

    #[test]
    fn a_view_finds_sets_and_keeps_none() {
        let sets = Arc::new(SnapshotSets::new(&KeptSets::new(1 << 20)));
        let view = sets.found_only();
        keep(&view, 1, 10);
        keep(&sets, 2, 10);
        assert!(!has(&view, 1) && !has(&sets, 1) && has(&view, 2));
        drop(view);
        assert!(has(&sets, 2));
    }

    #[test]
    fn changed_postings_go_on_where_a_computation_failed() {
        let sets = SnapshotSets::new(&KeptSets::new(1 << 20));
        let failed = sets.amended("smith", |amended| {
            amended.push(3, None);
            amended.advance(4);
            Err("the deadline")
        });
        assert_eq!(failed.err(), Some("the deadline"));
        let amended = sets.amended("smith", |amended| {
            assert_eq!(amended.next(), 4);
            amended.push(7, None);
            amended.advance(u32::MAX);
            Ok::<_, ()>(())
        });
        assert_eq!(amended.unwrap().removed(), 2);
        let again = sets.amended("smith", |_| Err(()));
        assert!(again.is_ok_and(|amended| amended.of(3).is_some_and(|left| left.is_none())));
    }

    #[test]
    fn each_node_of_interval_counts_is_known_by_its_upper_bits() {
        let counts = IntervalCounts::new(3);
        for (bit, interval) in [(2, 0), (1, 0), (1, 4), (0, 0), (0, 2), (0, 4), (0, 6)] {
            assert_eq!(counts.get(bit, interval), None);
            counts.set(bit, interval, (bit * 10 + interval) as u64);
        }
        assert_eq!(counts.get(1, 7), Some(14));
        assert_eq!(counts.get(2, 5), Some(20));
        assert_eq!(counts.get(0, 3), Some(2));
    }
}
