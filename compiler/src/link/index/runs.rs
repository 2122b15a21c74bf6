//! Merges sorted runs: those of the rows that this link extracted, each of one chunk, and yesterday's file.
//!
//! ```text
//! run of chunk 0      2019 → {4, 9}   2020 → {1}
//! run of chunk 1                      2020 → {7}
//! yesterday's file    2018 → {2, 3}   2020 → {5}     its rows as they are numbered now
//! merged              2018 → {2, 3}   2019 → {4, 9}   2020 → {1, 5, 7}
//! ```
//!
//! A build from scratch has no yesterday's file, and runs of all rows. Costs log2(runs) comparisons for each entry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;

/// Yesterday's file, as one more run. Its keys ascend as those of the other runs.
pub(crate) trait OldRun<K, S> {
    /// The error of reading the file, or of adding an entry to the state.
    type Error: From<io::Error>;

    /// Whether the run has a next key, and the key sorts before `key`; `None` sorts after every key.
    fn is_before(&self, key: Option<&K>) -> bool;

    /// Whether the run's next key is `key`.
    fn is_at(&self, key: &K) -> bool;

    /// Adds the rows of the next key to the rows of the same key in the state, and moves on.
    fn take(&mut self, state: &mut S) -> Result<(), Self::Error>;

    /// Adds the rows of the next key, which no other run has, to a state without rows, ends the key, and moves on.
    fn take_alone(&mut self, state: &mut S) -> Result<(), Self::Error>;
}

/// No yesterday's file: the run of a merge that never has one.
pub(crate) enum NoRun {}

impl<K, S> OldRun<K, S> for NoRun {
    type Error = io::Error;

    fn is_before(&self, _: Option<&K>) -> bool {
        match *self {}
    }

    fn is_at(&self, _: &K) -> bool {
        match *self {}
    }

    fn take(&mut self, _: &mut S) -> io::Result<()> {
        match *self {}
    }

    fn take_alone(&mut self, _: &mut S) -> io::Result<()> {
        match *self {}
    }
}

/// A run of one chunk's rows: its chunk, and the bytes after the key of its next entry.
struct Cursor<'b> {
    chunk: u32,
    rest: &'b [u8],
}

/// A merge of runs key by key, which can stop after each key.
pub(crate) struct Merge<'b, K> {
    cursors: Vec<Cursor<'b>>,
    /// The next key of each run, and the run. Small elements, because the heap moves them.
    heap: BinaryHeap<Reverse<(K, u32)>>,
}

/// The functions of a merge.
pub(crate) struct Entries<P, T, F> {
    /// Splits the bytes of an entry after its key.
    pub split: P,
    /// Adds the rest of an entry to the state and returns the bytes after the entry.
    pub take: T,
    /// Runs once for each key of the runs, after its last entry.
    pub finish: F,
}

impl<'b, K: Ord + Copy> Merge<'b, K> {
    /// Begins a merge. `split` splits the bytes of an entry after its key.
    pub fn new(
        runs: impl Iterator<Item = (u32, &'b [u8])>,
        split: impl Fn(&'b [u8]) -> Option<(K, &'b [u8])>,
    ) -> Merge<'b, K> {
        let (mut cursors, mut heap) = (Vec::new(), BinaryHeap::new());
        for (chunk, bytes) in runs {
            if let Some((key, rest)) = split(bytes) {
                // Runs are fewer than u32 has numbers: each is of one chunk.
                heap.push(Reverse((key, cursors.len() as u32)));
                cursors.push(Cursor { chunk, rest });
            }
        }
        Merge { cursors, heap }
    }

    /// Merges the runs, and `old` with them, until the state is full after a key. Returns whether the last key has ended.
    pub fn run<S, O, P, T, F>(
        &mut self,
        mut old: Option<&mut O>,
        state: &mut S,
        entries: &mut Entries<P, T, F>,
        is_full: impl Fn(&S) -> bool,
    ) -> Result<bool, O::Error>
    where
        O: OldRun<K, S>,
        P: Fn(&'b [u8]) -> Option<(K, &'b [u8])>,
        T: FnMut(&mut S, u32, &'b [u8]) -> io::Result<&'b [u8]>,
        F: FnMut(&mut S, K) -> Result<(), O::Error>,
    {
        let Merge { cursors, heap } = self;
        let Entries { split, take, finish } = entries;
        loop {
            let key = heap.peek().map(|Reverse((key, _))| *key);
            // Yesterday's keys before the next.
            if let Some(old) = old.as_deref_mut() {
                while old.is_before(key.as_ref()) {
                    old.take_alone(state)?;
                    if is_full(state) {
                        return Ok(false);
                    }
                }
            }
            let Some(key) = key else { return Ok(true) };
            while let Some(mut top) = heap.peek_mut() {
                let Reverse((next, run)) = *top;
                if next != key {
                    break;
                }
                let cursor = &mut cursors[run as usize];
                match split(take(state, cursor.chunk, cursor.rest)?) {
                    Some((next, rest)) => {
                        cursor.rest = rest;
                        *top = Reverse((next, run));
                    }
                    None => drop(PeekMut::pop(top)),
                }
            }
            // Yesterday's rows of the key.
            if let Some(old) = old.as_deref_mut().filter(|old| old.is_at(&key)) {
                old.take(state)?;
            }
            finish(state, key)?;
            if is_full(state) {
                return Ok(false);
            }
        }
    }
}

/// Merges runs key by key, and `old` with them.
///
/// - `split` splits the bytes of an entry after its key.
/// - `take` adds the rest of the entry to the state and returns the bytes after the entry.
/// - `finish` runs once for each key of the runs, after its last entry.
pub(crate) fn merge<'b, K: Ord + Copy, S, O: OldRun<K, S>>(
    runs: impl Iterator<Item = (u32, &'b [u8])>,
    old: Option<&mut O>,
    split: impl Fn(&'b [u8]) -> Option<(K, &'b [u8])>,
    state: &mut S,
    take: impl FnMut(&mut S, u32, &'b [u8]) -> io::Result<&'b [u8]>,
    finish: impl FnMut(&mut S, K) -> Result<(), O::Error>,
) -> Result<(), O::Error> {
    let mut merge = Merge::new(runs, &split);
    merge.run(old, state, &mut Entries { split, take, finish }, |_| false).map(|_| ())
}
