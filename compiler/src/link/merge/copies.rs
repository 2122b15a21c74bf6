//! Groups the copies of each record across segments and picks the copy to publish.
//!
//! Keys are sorted by id in every segment, so a heap of one cursor per segment yields ids in
//! ascending order, each with all its copies:
//!
//! ```text
//! segment 0: W1 W3      segment 1: W1 W2      groups: [W1 W1] [W2] [W3]
//! ```
//!
//! Cost: log2(segments) comparisons for each key, and a sort of the copies of each id. Memory: one cursor per
//! segment, and all copies of one id at a time, with at most 400 bytes for each: its key, and its hashes in sets.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap, HashSet};

use crate::error::Result;
use crate::link::context::{Segments, inconsistent_object};
use crate::link::tally::Tally;
use crate::object::{Origin, RecordKey};

/// One copy of a record: its key, and the position of the key.
#[derive(Clone, Copy)]
pub(crate) struct Copy {
    pub key: RecordKey,
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

/// The copies of one id that differ from each other. Two lines are equal by their bytes; a row equals a line or
/// another row if both compiled to the same record.
#[derive(Default)]
struct DistinctCopies {
    line_hashes: HashSet<[u8; 16]>,
    row_contents: HashSet<u128>,
    /// Of lines and rows.
    contents: HashSet<u128>,
}

impl DistinctCopies {
    /// Adds a copy; returns false if the copy equals an added one.
    fn add(&mut self, copy: &RecordKey) -> bool {
        let is_duplicate = match copy.has_line() {
            true => {
                self.line_hashes.contains(&copy.line_hash)
                    || self.row_contents.contains(&copy.content_hash)
            }
            false => self.contents.contains(&copy.content_hash),
        };
        if is_duplicate {
            return false;
        }
        match copy.has_line() {
            true => self.line_hashes.insert(copy.line_hash),
            false => self.row_contents.insert(copy.content_hash),
        };
        self.contents.insert(copy.content_hash);
        true
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
    if others.is_empty() {
        return winner;
    }
    let mut distinct = DistinctCopies::default();
    distinct.add(&winner.key);
    for copy in others {
        if !distinct.add(&copy.key) {
            tally.duplicates += 1;
            continue;
        }
        tally.superseded += 1;
        let same_source = copy.key.origin == winner.key.origin;
        if same_source && copy.key.updated_micros == winner.key.updated_micros {
            tally.conflicts += 1;
        }
    }
    winner
}

/// Whether a record may be published: a node that outputs alone name must be in `named`, if given.
pub(crate) fn is_named(key: &RecordKey, named: Option<&BTreeSet<u64>>) -> bool {
    key.origin != Origin::OutputTopic || named.is_none_or(|ids| ids.contains(&key.id))
}

/// Calls `visit` with the picked copy of each record that [`is_named`] admits.
pub(crate) fn each_winner(
    segments: &Segments<'_>,
    named: Option<&BTreeSet<u64>>,
    mut visit: impl FnMut(&RecordKey),
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A copy with few different lines, contents and times, made from the bits of a number.
    fn copy_of(bits: u64, index: u32) -> Copy {
        // Each content is that of a row and of two lines.
        let content_hash = u128::from(bits & 3);
        let line_hash = match bits >> 3 & 1 {
            0 => RecordKey::hash_without_line(content_hash),
            _ => [8 + (bits & 7) as u8; 16],
        };
        let origin = if bits >> 4 & 7 == 0 { Origin::Embedded } else { Origin::Own };
        let key = RecordKey {
            id: 1,
            updated_micros: (bits >> 8 & 1) as i64,
            line_hash,
            content_hash,
            rank: 0,
            group: 0,
            blob_from: 0,
            blob_bytes: 0,
            references_from: 0,
            references_bytes: 0,
            origin,
            is_copyable: false,
        };
        Copy { key, segment: 0, index }
    }

    /// Counts duplicates and superseded copies: compares each copy with every copy counted before.
    fn count_naively(copies: &[Copy], winner: Copy) -> (u64, u64) {
        let others = copies.iter().filter(|copy| copy.index != winner.index);
        let mut others: Vec<RecordKey> =
            others.map(|copy| copy.key).filter(|key| key.origin.is_read()).collect();
        others.sort_by_key(|key| Reverse(key.claim()));
        let (mut counted, mut duplicates) = (vec![winner.key], 0);
        for key in others {
            let is_equal = |other: &RecordKey| match key.has_line() && other.has_line() {
                true => key.line_hash == other.line_hash,
                false => key.content_hash == other.content_hash,
            };
            match counted.iter().any(is_equal) {
                true => duplicates += 1,
                false => counted.push(key),
            }
        }
        (duplicates, counted.len() as u64 - 1)
    }

    #[test]
    fn copies_count_as_if_each_was_compared_with_all_before() {
        let mut seed = 1_u64;
        for count in (1..12).cycle().take(2000) {
            let copies: Vec<Copy> = (0..count)
                .map(|index| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    copy_of(seed >> 33, index)
                })
                .collect();
            let mut tally = Tally::default();
            let winner = tally_copies(&copies, &mut tally);
            let counts = (tally.duplicates, tally.superseded);
            let keys = copies.iter().map(|copy| copy.key).collect::<Vec<_>>();
            assert_eq!(counts, count_naively(&copies, winner), "{keys:?}");
        }
    }

    /// Comparing each copy with all before would take 20 billion steps.
    #[test]
    fn many_different_copies_of_one_id_are_counted_in_one_pass() {
        let copies = (0..200_000).map(|index: u32| {
            let mut copy = copy_of(24, index);
            copy.key.line_hash[..4].copy_from_slice(&index.to_le_bytes());
            copy
        });
        let mut tally = Tally::default();
        tally_copies(&copies.collect::<Vec<_>>(), &mut tally);
        assert_eq!(tally.superseded, 199_999);
    }
}
