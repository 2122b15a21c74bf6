//! Draws a random sample of the matching records, without replacement.
//!
//! Positions among the matching rows are drawn as a shuffle of all positions would draw them, from the
//! front. Only the positions that were moved are stored:
//!
//! ```text
//! 5 matching rows    0 1 2 3 4
//! draw one of 0..5   3          3 moves to the front, 0 takes its place     3 | 1 2 0 4
//! draw one of 1..5   3          position 3 now holds 0                      3 0 | 2 1 4
//! ```
//!
//! The numbers come from BLAKE3 over the snapshot's id and the seed. The first 10 records of a sample of 100
//! are therefore the sample of 10. Cost: the records of the sample.

use std::collections::HashMap;

/// The most records of a sample.
pub const SAMPLE_RECORDS_MAX: u32 = 10_000;

/// The context of the key derivation; a change of it changes every sample.
const CONTEXT: &str = "pinakes 2026-11-24 random sample of a list";

/// A random sample of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Records of the sample, if as many match; at most [`SAMPLE_RECORDS_MAX`].
    pub records: u32,
    /// The same seed gives the same sample of the same list of the same snapshot.
    pub seed: u64,
}

impl Sample {
    /// Draws positions among `matching` rows, in the order of the draws.
    pub(in crate::query) fn positions(self, snapshot_id: &str, matching: u64) -> Vec<u64> {
        let records = u64::from(self.records.min(SAMPLE_RECORDS_MAX)).min(matching);
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&self.seed.to_le_bytes()).update(snapshot_id.as_bytes());
        let mut numbers = hasher.finalize_xof();
        let mut moved: HashMap<u64, u64> = HashMap::new();
        let draws = (0..records).map(|at| {
            let mut number = [0; 8];
            numbers.fill(&mut number);
            let drawn = at + scale(u64::from_le_bytes(number), matching - at);
            let front = moved.remove(&at).unwrap_or(at);
            if drawn == at { front } else { moved.insert(drawn, front).unwrap_or(drawn) }
        });
        draws.collect()
    }
}

/// Maps a number below 2^64 to one below `end`. The chances differ by less than `end` in 2^64.
fn scale(number: u64, end: u64) -> u64 {
    // The product of two u64, shifted by 64 bits, is a u64.
    ((u128::from(number) * u128::from(end)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(records: u32, seed: u64, matching: u64) -> Vec<u64> {
        Sample { records, seed }.positions("snapshot", matching)
    }

    #[test]
    fn a_sample_of_everything_is_a_permutation() {
        for matching in [0, 1, 2, 3, 100, 9_999] {
            let mut drawn = positions(SAMPLE_RECORDS_MAX, 7, matching);
            drawn.sort_unstable();
            assert_eq!(drawn, (0..matching).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn a_smaller_sample_is_the_beginning_of_a_larger_one() {
        let larger = positions(1_000, 3, 1 << 32);
        assert_eq!(positions(10, 3, 1 << 32), larger[..10]);
        assert_ne!(positions(10, 4, 1 << 32), larger[..10]);
        let other = Sample { records: 10, seed: 3 }.positions("another", 1 << 32);
        assert_ne!(other, larger[..10]);
    }

    #[test]
    fn every_position_is_drawn_about_equally_often() {
        let mut counts = [[0u32; 10]; 3];
        for seed in 0..20_000 {
            for (at, position) in positions(3, seed, 10).into_iter().enumerate() {
                counts[at][position as usize] += 1;
            }
        }
        // 2,000 are expected each; the standard deviation is 42.
        assert!(counts.as_flattened().iter().all(|count| (1_800..2_200).contains(count)));
    }

    #[test]
    fn the_numbers_of_a_sample_do_not_change() {
        assert_eq!(positions(5, 0, 1_000_000), [967_725, 970_231, 801_262, 689_707, 850_061]);
    }
}
