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

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    io,
};

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

/// Merges runs key by key, and `old` with them.
///
/// - `split` splits the bytes of an entry after its key.
/// - `take` adds the rest of the entry to the state and returns the bytes after the entry.
/// - `finish` runs once for each key of the runs, after its last entry.
pub(crate) fn merge<'b, K: Ord + Copy, S, O: OldRun<K, S>>(
    runs: impl Iterator<Item = (u32, &'b [u8])>,
    mut old: Option<&mut O>,
    split: impl Fn(&'b [u8]) -> Option<(K, &'b [u8])>,
    state: &mut S,
    mut take: impl FnMut(&mut S, u32, &'b [u8]) -> io::Result<&'b [u8]>,
    mut finish: impl FnMut(&mut S, K) -> Result<(), O::Error>,
) -> Result<(), O::Error> {
    let mut cursors = Vec::new();
    // The next key of each run, and the run. Small elements, because the heap moves them.
    let mut heap: BinaryHeap<Reverse<(K, u32)>> = BinaryHeap::new();
    for (chunk, bytes) in runs {
        if let Some((key, rest)) = split(bytes) {
            // Runs are fewer than u32 has numbers: each is of one chunk.
            heap.push(Reverse((key, cursors.len() as u32)));
            cursors.push(Cursor { chunk, rest });
        }
    }
    // Ends a key, with yesterday's rows of it, and then writes yesterday's keys before the next.
    let mut pass = |state: &mut S, ended: Option<K>, next: Option<K>| -> Result<(), O::Error> {
        if let Some(key) = ended {
            if let Some(old) = old.as_mut().filter(|old| old.is_at(&key)) {
                old.take(state)?;
            }
            finish(state, key)?;
        }
        let Some(old) = &mut old else { return Ok(()) };
        while old.is_before(next.as_ref()) {
            old.take_alone(state)?;
        }
        Ok(())
    };
    let mut last = None;
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((key, run)) = *top;
        if last != Some(key) {
            pass(state, last, Some(key))?;
            last = Some(key);
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
    pass(state, last, None)
}
