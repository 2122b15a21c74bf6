//! Deleted ids: removes the records whose deletion is not older than they are.
//!
//! The blocks of all objects ascend by id, as the groups of copies do, so both are walked once:
//!
//! ```text
//! deleted   W2 (Aug) W2 (May) W5 (Aug)      records   W1 W2 (July) W5 (Sept)
//! removes   W2, deleted in August           stands    W5, changed after its deletion
//! ```
//!
//! Cost: log2(blocks) comparisons for each deleted id; memory for one cursor per block.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use pinakes_format::entity::Entity;

use crate::link::context::Linker;
use crate::object::{Deletion, IdBlock, Origin, RecordKey};

/// A walk over the deleted ids of one entity. Ask for ids in ascending order.
pub(crate) struct Deletions<'o> {
    blocks: Vec<IdBlock<'o, Deletion>>,
    /// The next deleted id of each block, and the block's number.
    next: BinaryHeap<Reverse<(Deletion, usize)>>,
    counts: DeletionCounts,
}

/// Counts of rows in lists of deleted ids, and of records that stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeletionCounts {
    /// Rows whose id has a record.
    pub joined: u64,
    /// Records that stand, because they changed after their deletion.
    pub newer: u64,
}

impl<'o> Deletions<'o> {
    pub(crate) fn new(linker: &Linker<'o>, entity: Entity) -> Deletions<'o> {
        let objects = linker.objects.iter();
        let mut blocks: Vec<_> = objects.flat_map(|object| object.deletions_of(entity)).collect();
        let first = |(number, block): (usize, &mut IdBlock<'o, Deletion>)| {
            block.next().map(|deletion| Reverse((deletion, number)))
        };
        let next = blocks.iter_mut().enumerate().filter_map(first).collect();
        Deletions { blocks, next, counts: DeletionCounts::default() }
    }

    /// Whether a deletion removes the record. A record stays if it has an object of its own
    /// ([`Origin::Own`]) that changed after its newest deletion.
    pub(crate) fn removes(&mut self, key: &RecordKey) -> bool {
        let mut newest = None;
        while let Some(mut top) = self.next.peek_mut().filter(|top| top.0.0.id <= key.id) {
            let Reverse((deletion, number)) = *top;
            if deletion.id == key.id {
                self.counts.joined += 1;
                newest = newest.max(Some(deletion.micros));
            }
            match self.blocks[number].next() {
                Some(next) => *top = Reverse((next, number)),
                None => _ = PeekMut::pop(top),
            }
        }
        let stands = |micros| key.origin == Origin::Own && key.updated_micros > micros;
        match newest {
            Some(micros) if stands(micros) => {
                self.counts.newer += 1;
                false
            }
            newest => newest.is_some(),
        }
    }

    pub(crate) fn counts(&self) -> DeletionCounts {
        self.counts
    }
}
