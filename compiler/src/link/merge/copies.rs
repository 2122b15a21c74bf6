//! Groups the copies of each record across segments and picks the copy to publish.
//!
//! Keys are sorted by id in every segment, so a heap of one cursor per segment yields ids in
//! ascending order, each with all its copies:
//!
//! ```text
//! segment 0: W1 W3      segment 1: W1 W2      groups: [W1 W1] [W2] [W3]
//! ```
//!
//! Cost: log2(segments) comparisons for each key; memory for one cursor per segment.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, binary_heap::PeekMut},
};

use crate::error::Result;
use crate::link::context::{Segments, inconsistent_object};
use crate::link::tally::Tally;
use crate::object::{Key, Origin};

/// One copy of a record: its key, and the position of the key.
#[derive(Clone, Copy)]
pub(crate) struct Copy {
    pub key: Key,
    pub segment: u32,
    /// Index of the key in the segment.
    pub index: u32,
}

/// A cursor into the keys of each segment, smallest id first.
pub(crate) struct CopyGroups(BinaryHeap<Reverse<(u64, u32, u32)>>);

impl CopyGroups {
    pub(crate) fn new(segments: &Segments<'_>) -> Result<CopyGroups> {
        let mut heap = BinaryHeap::with_capacity(segments.len());
        for (segment, keys) in segments.iter().enumerate() {
            if keys.count() > 0 {
                let id = keys.id(0).ok_or_else(inconsistent_object)?;
                heap.push(Reverse((id, segment as u32, 0)));
            }
        }
        Ok(CopyGroups(heap))
    }

    /// Moves every copy of the next id into `copies`; returns false after the last id.
    pub(crate) fn next_group(
        &mut self,
        segments: &Segments<'_>,
        copies: &mut Vec<Copy>,
    ) -> Result<bool> {
        copies.clear();
        let Some(Reverse((id, ..))) = self.0.peek().copied() else { return Ok(false) };
        while let Some(mut top) = self.0.peek_mut().filter(|top| top.0.0 == id) {
            let Reverse((_, segment, index)) = *top;
            let keys = &segments[segment as usize];
            let key = keys.key(index as usize).ok_or_else(inconsistent_object)?;
            copies.push(Copy { key, segment, index });
            if index as usize + 1 < keys.count() {
                let next = keys.id(index as usize + 1).ok_or_else(inconsistent_object)?;
                *top = Reverse((next, segment, index + 1));
            } else {
                PeekMut::pop(top);
            }
        }
        Ok(true)
    }
}

/// Whether a copy says the same as another: two lines by their bytes, else by what they compiled to.
fn is_duplicate(copy: &Key, other: &Key) -> bool {
    match copy.has_line() && other.has_line() {
        true => copy.line_hash == other.line_hash,
        false => copy.content_hash == other.content_hash,
    }
}

/// Picks the copy to publish and counts the others in `tally`.
pub(crate) fn tally_copies(copies: &[Copy], tally: &mut Tally) -> Copy {
    let mut winner = copies[0];
    for copy in &copies[1..] {
        if copy.key.claim() > winner.key.claim() {
            winner = *copy;
        }
    }
    if copies.len() == 1 {
        return winner;
    }
    let is_winner = |copy: &Copy| (copy.segment, copy.index) == (winner.segment, winner.index);
    let others = copies.iter().filter(|copy| copy.key.origin.is_read() && !is_winner(copy));
    let mut others: Vec<&Copy> = others.collect();
    // Lines before rows without a line, so that the counts do not depend on the order of the parts.
    others.sort_unstable_by_key(|copy| Reverse(copy.key.claim()));
    let mut counted = vec![winner.key];
    for copy in others {
        if counted.iter().any(|key| is_duplicate(&copy.key, key)) {
            tally.duplicates += 1;
            continue;
        }
        counted.push(copy.key);
        tally.superseded += 1;
        let same_source = copy.key.origin == winner.key.origin;
        if same_source && copy.key.updated_micros == winner.key.updated_micros {
            tally.conflicts += 1;
        }
    }
    winner
}

/// Whether a record may be published: a node that outputs alone name must be in `named`, if given.
pub(crate) fn is_named(key: &Key, named: Option<&BTreeSet<u64>>) -> bool {
    key.origin != Origin::OutputTopic || named.is_none_or(|ids| ids.contains(&key.id))
}

/// Calls `visit` with the picked copy of each record that [`is_named`] admits.
pub(crate) fn each_winner(
    segments: &Segments<'_>,
    named: Option<&BTreeSet<u64>>,
    mut visit: impl FnMut(&Key),
) -> Result<()> {
    let mut copies = Vec::new();
    let mut groups = CopyGroups::new(segments)?;
    while groups.next_group(segments, &mut copies)? {
        let winner = tally_copies(&copies, &mut Tally::default());
        if is_named(&winner.key, named) {
            visit(&winner.key);
        }
    }
    Ok(())
}

/// Whether some record is known only from the topics of outputs.
pub(crate) fn has_output_topics_alone(segments: &Segments<'_>) -> Result<bool> {
    let mut copies = Vec::new();
    let mut groups = CopyGroups::new(segments)?;
    while groups.next_group(segments, &mut copies)? {
        if copies.iter().all(|copy| copy.key.origin == Origin::OutputTopic) {
            return Ok(true);
        }
    }
    Ok(false)
}
