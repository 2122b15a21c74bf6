//! Merges sorted runs, each of one chunk's rows. Costs log2(runs) comparisons for each entry.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    io,
};

/// A run: its chunk, and the bytes after the key of its next entry.
struct Cursor<'b> {
    chunk: u32,
    rest: &'b [u8],
}

/// Merges runs key by key.
///
/// - `split` splits the bytes of an entry after its key.
/// - `take` adds the rest of the entry to the state and returns the bytes after the entry.
/// - `finish` runs once for each key, after its last entry.
pub(crate) fn merge<'b, K: Ord + Copy, S>(
    runs: impl Iterator<Item = (u32, &'b [u8])>,
    split: impl Fn(&'b [u8]) -> Option<(K, &'b [u8])>,
    state: &mut S,
    mut take: impl FnMut(&mut S, u32, &'b [u8]) -> io::Result<&'b [u8]>,
    mut finish: impl FnMut(&mut S, K) -> io::Result<()>,
) -> io::Result<()> {
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
    let mut last = None;
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((key, run)) = *top;
        if let Some(last) = last.filter(|last| *last != key) {
            finish(state, last)?;
        }
        last = Some(key);
        let cursor = &mut cursors[run as usize];
        match split(take(state, cursor.chunk, cursor.rest)?) {
            Some((next, rest)) => {
                cursor.rest = rest;
                *top = Reverse((next, run));
            }
            None => drop(PeekMut::pop(top)),
        }
    }
    last.map_or(Ok(()), |last| finish(state, last))
}
