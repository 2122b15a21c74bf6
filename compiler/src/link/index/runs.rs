//! Merges sorted runs, each of one chunk's rows. Costs log2(runs) comparisons for each entry.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    io,
};

/// The next entry of a run. Orders by key, then by run and so by row.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cursor<'b, K> {
    key: K,
    run: usize,
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
    let cursor = |run, chunk, bytes| {
        split(bytes).map(|(key, rest)| Reverse(Cursor { key, run, chunk, rest }))
    };
    let mut heap: BinaryHeap<Reverse<Cursor<'b, K>>> =
        runs.enumerate().filter_map(|(run, (chunk, bytes))| cursor(run, chunk, bytes)).collect();
    let mut last = None;
    while let Some(mut top) = heap.peek_mut() {
        let Reverse(Cursor { key, run, chunk, rest }) = *top;
        if let Some(last) = last.filter(|last| *last != key) {
            finish(state, last)?;
        }
        last = Some(key);
        let rest = take(state, chunk, rest)?;
        match cursor(run, chunk, rest) {
            Some(next) => *top = next,
            None => drop(PeekMut::pop(top)),
        }
    }
    last.map_or(Ok(()), |last| finish(state, last))
}
