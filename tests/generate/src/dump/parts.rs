//! Divides the lines of an entity among part files.
//!
//! A partition holds its current records in the order of their ordinals. Partitions of works then hold the older
//! copies of works of the next partition. Every `part_records` lines a new part begins.

use std::ops::Range;

use crate::dates::{Day, Partitions};
use crate::emit::Emit;
use crate::random::Stream;
use crate::{Entity, Plan, older_record, record};

/// One work in this many has an older copy.
const WORKS_PER_OLDER_COPY: u64 = 100;

/// One part file.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) entity: Entity,
    day: Day,
    /// Number of the part within the partition, from 0.
    number: u64,
    /// Ordinals of the partition's current records.
    current: Range<u64>,
    /// The number of the partition's first older copy.
    older_start: u64,
    /// Lines of the part, by their position in the partition.
    pub(super) lines: Range<u64>,
}

impl Part {
    /// The folder below `data`.
    pub(super) fn folder(&self) -> String {
        let path = self.path();
        path.rsplit_once('/').map_or(path.clone(), |(folder, _)| folder.to_owned())
    }

    /// The file below `data`.
    pub(super) fn path(&self) -> String {
        let mut day = Vec::new();
        self.day.emit(&mut day);
        let day = String::from_utf8_lossy(&day).into_owned();
        format!("jsonl/{}/updated_date={day}/part_{:04}.gz", self.entity.folder(), self.number)
    }

    /// Appends the line at a position of the partition.
    pub(super) fn put_line(&self, plan: &Plan, position: u64, out: &mut Vec<u8>) {
        let current = self.current.end - self.current.start;
        if position < current {
            record(plan, self.entity, self.current.start + position, out);
        } else {
            older_record(plan, older_ordinal(plan, self.older_start + position - current), out);
        }
    }
}

/// All parts, entity by entity, oldest partition first.
pub(super) fn all(plan: &Plan) -> Vec<Part> {
    Entity::ALL.into_iter().flat_map(|entity| of_entity(plan, entity)).collect()
}

fn of_entity(plan: &Plan, entity: Entity) -> Vec<Part> {
    let partitions = Partitions::of(plan, entity);
    let mut parts = Vec::new();
    for partition in 0..=partitions.last() {
        let end = partitions.start(partition + 1);
        let current = if partition == 0 { 0..0 } else { partitions.start(partition)..end };
        let older = if entity == Entity::Works && partition < partitions.last() {
            first_older(plan, end)..first_older(plan, partitions.start(partition + 2))
        } else {
            0..0
        };
        let lines = current.end - current.start + older.end - older.start;
        for (number, start) in (0..lines).step_by(plan.part_records() as usize).enumerate() {
            parts.push(Part {
                entity,
                day: partitions.day(partition),
                number: number as u64,
                current: current.clone(),
                older_start: older.start,
                lines: start..lines.min(start + plan.part_records()),
            });
        }
    }
    parts
}

/// The work whose older copy has the given number; ascending.
fn older_ordinal(plan: &Plan, copy: u64) -> u64 {
    let block = copy * WORKS_PER_OLDER_COPY;
    let works = WORKS_PER_OLDER_COPY.min(plan.outputs() - block);
    block + plan.random(Entity::Works, copy, Stream::Older).below(works)
}

/// The number of the first older copy of a work at or after `ordinal`.
fn first_older(plan: &Plan, ordinal: u64) -> u64 {
    let copy = ordinal / WORKS_PER_OLDER_COPY;
    let passed =
        copy * WORKS_PER_OLDER_COPY < plan.outputs() && older_ordinal(plan, copy) < ordinal;
    if ordinal >= plan.outputs() {
        plan.outputs().div_ceil(WORKS_PER_OLDER_COPY)
    } else {
        copy + u64::from(passed)
    }
}
