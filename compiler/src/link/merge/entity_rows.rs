//! Rows of one entity: the picked records in their list order.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::{BufWriter, Read, Write};

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::storage::unnamed_file;

use crate::error::Result;
use crate::external_sort::{Sorter, Spill, read_array};
use crate::link::column::{Column, IdRow, IdRows};
use crate::link::context::{Linker, Segments, check_rows};
use crate::link::merge::copies::{Copy, CopyGroups, is_named, tally_copies};
use crate::link::merge::deletions::{DeletionCounts, Deletions};
use crate::link::merge::redirects::{Merges, Redirects};
use crate::link::tally::Tally;
use crate::link::taxonomy::Sum;
use crate::object::{Origin, RecordKey, RecordPlace, Segment, count_of, rank_of};
use crate::parallel;

/// The rows of one entity.
pub(crate) struct EntityRows {
    /// For each row, the number of its record's segment and the record's place there. The key itself is not read
    /// again: keys ascend by id, so those of neighbouring rows lie far apart.
    pub order: Column,
    pub by_id: IdRows,
    /// For each record, ascending by id, the hash of what the record says. `None` for a subset.
    pub contents: Option<Column>,
    /// The ids merged into others.
    pub redirects: Redirects,
    pub deletions: DeletionCounts,
    /// The accounting so far.
    pub tally: Tally,
}

impl EntityRows {
    /// Bytes of a row in `order`.
    pub(crate) const ORDER_BYTES: usize = SegmentPlace::BYTES;
    /// Bytes of a hash in `contents`.
    pub(crate) const CONTENT_BYTES: usize = 16;

    /// Finds a row's record: the number of its segment, the segment and the place there.
    pub(crate) fn locate<'s, 'o>(
        &self,
        row: usize,
        segments: &'s Segments<'o>,
    ) -> Option<(usize, &'s Segment<'o>, RecordPlace)> {
        let SegmentPlace { segment, place } = SegmentPlace::decode(self.order.get(row)?)?;
        Some((segment as usize, segments.get(segment as usize)?, place))
    }

    /// Counts merges that form a cycle, merges without a target, and records newer than their merge or
    /// deletion, by warning code.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let [cycles, missing, alive] = self.redirects.count_oddities(|id| self.by_id.has(id));
        let counts = [
            ("merge_cycle", cycles),
            ("merge_target_missing", missing),
            ("merged_but_newer", alive),
            ("deleted_but_newer", self.deletions.newer),
        ];
        counts.into_iter().filter(|(_, count)| *count > 0)
    }
}

/// A record in one of the segments of its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SegmentPlace {
    segment: u32,
    place: RecordPlace,
}

impl SegmentPlace {
    /// Bytes on disk.
    const BYTES: usize = 29;

    fn encode(&self) -> [u8; SegmentPlace::BYTES] {
        let SegmentPlace { segment, place } = *self;
        let numbers = [
            segment,
            place.blob_from,
            place.blob_bytes,
            place.references_from,
            place.references_bytes,
        ];
        let mut bytes = [0; SegmentPlace::BYTES];
        bytes[..8].copy_from_slice(&place.id.to_le_bytes());
        for (into, number) in bytes[8..].chunks_exact_mut(4).zip(numbers) {
            into.copy_from_slice(&number.to_le_bytes());
        }
        bytes[28] = place.origin as u8;
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<SegmentPlace> {
        let (id, rest) = bytes.split_first_chunk()?;
        let (numbers, rest) = rest.split_first_chunk::<20>()?;
        let number = |at: usize| u32::from_le_bytes(numbers.as_chunks().0[at]);
        let place = RecordPlace {
            id: u64::from_le_bytes(*id),
            origin: Origin::decode(*rest.first()?)?,
            blob_from: number(1),
            blob_bytes: number(2),
            references_from: number(3),
            references_bytes: number(4),
        };
        Some(SegmentPlace { segment: number(0), place })
    }
}

/// Records that are picked before other tasks keep them.
const PICKED_TOGETHER: usize = 1 << 12;

/// A picked record: its sort key and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Picked {
    rank: u64,
    at: SegmentPlace,
}

impl Ord for Picked {
    fn cmp(&self, other: &Picked) -> Ordering {
        let key = |of: &Picked| (of.rank, of.at.place.id, of.at.segment, of.at.place.blob_from);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Picked {
    fn partial_cmp(&self, other: &Picked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Spill for Picked {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.rank.to_le_bytes())?;
        out.write_all(&self.at.encode())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Picked>> {
        let Some(rank) = read_array(input)? else { return Ok(None) };
        let Some(at) = read_array::<{ SegmentPlace::BYTES }>(input)? else { return Ok(None) };
        let at = SegmentPlace::decode(&at).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some(Picked { rank: u64::from_le_bytes(rank), at }))
    }
}

impl<'o> Linker<'o> {
    /// Merges the keys of an entity into rows.
    ///
    /// - `merges` drops records that were merged into others; deleted records are dropped too.
    /// - `sums` ranks records that have no counts of their own.
    /// - `named`, if given, lists the taxonomy nodes that published records name.
    /// - `admit` sees every record that would be published; false quarantines the record.
    pub(crate) fn merge(
        &self,
        entity: Entity,
        segments: &Segments<'o>,
        merges: Merges,
        sums: &Sums,
        named: Option<&BTreeSet<u64>>,
        mut admit: impl FnMut(&RecordKey, usize) -> Result<bool> + Send,
    ) -> Result<EntityRows> {
        let (mut tally, mut of_copies) = (Tally::default(), Tally::default());
        let mut sorter = Sorter::new(&self.scratch, self.merge_bytes());
        let mut deletions = Deletions::new(self, entity);
        let contents = self.scratch_result(unnamed_file(&self.scratch))?;
        let mut contents = BufWriter::with_capacity(1 << 18, contents);
        let mut keep = |winner: Copy| {
            // Each record that is dropped counts once: under the first of these reasons.
            if !is_named(&winner.key, named) {
                return Ok(());
            }
            if merges.removes(&winner.key) {
                if winner.key.origin.is_read() {
                    tally.merged += 1;
                }
                return Ok(());
            }
            if deletions.removes(&winner.key) {
                tally.deleted += u64::from(winner.key.origin.is_read());
                return Ok(());
            }
            if !admit(&winner.key, winner.segment as usize)? {
                tally.quarantined += u64::from(winner.key.origin.is_read());
                return Ok(());
            }
            match winner.key.origin.is_read() {
                true => tally.published_from_input += 1,
                false => tally.derived += 1,
            }
            check_rows(entity, tally.published())?;
            // A record that outputs or topics name has no counts of its own, but the sums of these.
            let mut rank = winner.key.rank;
            if winner.key.origin != Origin::Own {
                rank = rank_of(Some(sums.get(&winner.key.id).map_or(0, |sum| sum.outputs)));
            }
            if entity.facts().is_generated {
                rank = 0;
            }
            let at = SegmentPlace { segment: winner.segment, place: winner.key.place() };
            let picked = Picked { rank, at };
            self.scratch_result(sorter.push(picked))?;
            // In the order of ids, in which the next link compares them.
            let content = winner.key.content_hash.to_le_bytes();
            self.scratch_result(contents.write_all(&content))
        };
        let (mut groups, mut copies) = (CopyGroups::new(segments)?, Vec::new());
        let mut pick = || {
            let mut winners = Vec::with_capacity(PICKED_TOGETHER);
            while winners.len() < PICKED_TOGETHER && groups.next_group(segments, &mut copies)? {
                winners.push(tally_copies(&copies, &mut of_copies));
            }
            Result::Ok(winners)
        };
        let mut winners = pick()?;
        while !winners.is_empty() {
            // One thread picks copies while another keeps those before.
            let kept = || winners.into_iter().try_for_each(&mut keep);
            let (kept, next) = parallel::join(kept, &mut pick);
            kept?;
            winners = next?;
        }
        let Tally { duplicates, superseded, conflicts, .. } = of_copies;
        let tally = Tally { duplicates, superseded, conflicts, ..tally };
        let contents = self.scratch_result(Column::map(contents, EntityRows::CONTENT_BYTES))?;
        let assigned = parallel::step("assign rows", || self.assign_rows(sorter));
        let (order, by_id) = self.scratch_result(assigned)?;
        let redirects = self.redirects(merges)?;
        let deletions = deletions.counts();
        Ok(EntityRows { order, by_id, contents: Some(contents), redirects, deletions, tally })
    }

    /// Bytes one sorter may hold while two entities are merged concurrently.
    fn merge_bytes(&self) -> usize {
        self.sorter_bytes() / 2
    }

    fn assign_rows(&self, sorter: Sorter<Picked>) -> io::Result<(Column, IdRows)> {
        let mut order = BufWriter::with_capacity(1 << 18, unnamed_file(&self.scratch)?);
        let mut ids = Sorter::new(&self.scratch, self.merge_bytes());
        for (row, picked) in sorter.finish()?.enumerate() {
            let picked = picked?;
            order.write_all(&picked.at.encode())?;
            let row = u32::try_from(row).map_err(io::Error::other)?;
            ids.push(IdRow { id: picked.at.place.id, row })?;
        }
        let by_id = IdRows::map(ids.write_sorted()?, &self.scratch)?;
        Ok((Column::map(order, EntityRows::ORDER_BYTES)?, by_id))
    }
}

/// The sums by the id of a topic or of a node above topics.
pub(crate) type Sums = BTreeMap<u64, Sum>;

/// Moves each id's sum to the id that `to` returns, and drops sums without one.
pub(crate) fn passed_on(sums: &Sums, to: impl Fn(u64) -> Option<u64>) -> Sums {
    let mut passed = Sums::new();
    for (id, own) in sums {
        if let Some(to) = to(*id) {
            passed.entry(to).or_default().add(*own);
        }
    }
    passed
}

/// Counts an output and its citations for its primary topic.
pub(crate) fn add_to_sums(sums: &mut Sums, key: &RecordKey) {
    if key.group != NO_ID {
        let citations = count_of(key.rank).unwrap_or(0);
        sums.entry(key.group).or_default().add(Sum { outputs: 1, citations });
    }
}
