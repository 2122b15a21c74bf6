//! Calendar days, time stamps, and the `updated_date` partition of each record.

use crate::emit::{Emit, padded, put};
use crate::random::{Random, Stream, mix};
use crate::{Entity, Plan};

/// Days since 1970-01-01 of 2025-10-10, the day of the oldest partition of current records.
const FIRST_PARTITION_DAY: u64 = 20_371;

/// A calendar day, counted from 1970-01-01; written as `YYYY-MM-DD` without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(pub(crate) u64);

impl Day {
    /// (year, month, day of month) in the Gregorian calendar.
    pub(crate) fn civil(self) -> (u64, u64, u64) {
        let shifted = self.0 + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        (era * 400 + year_of_era + u64::from(month <= 2), month, day)
    }
}

impl Emit for Day {
    fn emit(&self, out: &mut Vec<u8>) {
        let (year, month, day) = self.civil();
        emit_date(out, year, month, day);
    }
}

/// `YYYY-MM-DD`.
pub(crate) fn emit_date(out: &mut Vec<u8>, year: u64, month: u64, day: u64) {
    padded(out, year, 4);
    out.push(b'-');
    padded(out, month, 2);
    out.push(b'-');
    padded(out, day, 2);
}

/// The partitions of an entity's ordinals.
///
/// Partition p of 1..=count holds a contiguous range of ordinals, and the older copies of works of partition p + 1.
/// Later partitions hold larger ordinals. Partition 0 is the oldest and holds only older copies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partitions {
    entity: Entity,
    records: u64,
    count: u64,
    seed: u64,
}

impl Partitions {
    pub(crate) fn of(plan: &Plan, entity: Entity) -> Self {
        let records = plan.count(entity);
        let count = match entity {
            Entity::Works => (records / 1000).clamp(3, 60),
            _ => (records / 1000).clamp(1, 24),
        };
        Self { entity, records, count, seed: plan.seed() }
    }

    /// Number of the newest partition.
    pub(crate) fn last(self) -> u64 {
        self.count
    }

    /// The first ordinal of a partition. Partition `last() + 1` starts at the number of records.
    pub(crate) fn start(self, partition: u64) -> u64 {
        let before = partition.saturating_sub(1);
        (u128::from(self.records) * u128::from(before * before)
            / u128::from(self.count * self.count)) as u64
    }

    /// The partition of an ordinal, from 1.
    pub(crate) fn of_ordinal(self, ordinal: u64) -> u64 {
        let (mut low, mut high) = (1, self.count + 1);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.start(middle) <= ordinal { low = middle } else { high = middle }
        }
        low
    }

    /// The day in the name of a partition's folder. Later partitions have later days.
    pub(crate) fn day(self, partition: u64) -> Day {
        let jitter = mix(self.seed ^ mix(((self.entity as u64) << 32) | partition)) % 3;
        Day(FIRST_PARTITION_DAY - 3 + partition * 3 + jitter)
    }
}

/// `,"updated_date":…,"created_date":…` of a record in `partition`.
pub(crate) fn emit_dates(
    plan: &Plan,
    entity: Entity,
    ordinal: u64,
    partition: u64,
    out: &mut Vec<u8>,
) {
    let mut random = plan.random(entity, ordinal, Stream::Dates);
    put!(out; ",\"updated_date\":\"", Partitions::of(plan, entity).day(partition), "T");
    emit_time(&mut random, out);
    let created = if random.chance(500) { 20_371 } else { 16_800 + random.below(3_500) };
    put!(out; "\",\"created_date\":\"", Day(created), "T00:00:00\"");
}

/// The dates of the newest copy of a record.
pub(crate) fn emit_newest_dates(plan: &Plan, entity: Entity, ordinal: u64, out: &mut Vec<u8>) {
    emit_dates(plan, entity, ordinal, Partitions::of(plan, entity).of_ordinal(ordinal), out);
}

/// `,"updated_date":…` of a record, the day alone.
pub(crate) fn emit_newest_day(plan: &Plan, entity: Entity, ordinal: u64, out: &mut Vec<u8>) {
    let partitions = Partitions::of(plan, entity);
    let day = partitions.day(partitions.of_ordinal(ordinal));
    put!(out; ",\"updated_date\":\"", day, "\"");
}

/// `HH:MM:SS.ffffff`; one in twenty has no fraction.
fn emit_time(random: &mut Random, out: &mut Vec<u8>) {
    let seconds = random.below(86_400);
    padded(out, seconds / 3600, 2);
    out.push(b':');
    padded(out, seconds / 60 % 60, 2);
    out.push(b':');
    padded(out, seconds % 60, 2);
    if !random.chance(50) {
        out.push(b'.');
        padded(out, random.below(1_000_000), 6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_calendar_dates() {
        for (day, expected) in
            [(0, (1970, 1, 1)), (FIRST_PARTITION_DAY, (2025, 10, 10)), (19_782, (2024, 2, 29))]
        {
            assert_eq!(Day(day).civil(), expected);
        }
    }

    #[test]
    fn every_ordinal_lies_in_the_range_of_its_partition() {
        let plan = Plan::new(30_000, 1);
        let partitions = Partitions::of(&plan, Entity::Works);
        assert_eq!(partitions.start(partitions.last() + 1), 30_000);
        for ordinal in (0..30_000).step_by(97) {
            let partition = partitions.of_ordinal(ordinal);
            assert!(
                (partitions.start(partition)..partitions.start(partition + 1)).contains(&ordinal)
            );
        }
    }
}
