//! Sorts values on all threads, by ranges of values.
//!
//! ```text
//! values 7 1 9 4 | 8 2 3 6      bounds from a sample: 4, 7
//! ranges 1 | 4 | 7 9      2 3 | 6 | 8         each block of values, divided
//! sorted 1 2 3 | 4 6 | 7 8 9                  each range, of all blocks
//! ```
//!
//! Cost for n values and r ranges: n·log2(r) comparisons to divide and n·log2(n ÷ r) to sort, and two copies of each
//! value. The longest task has a range: rarely more than twice the average, unless many values are equal.

use std::cmp::Ordering;

use crate::parallel;

/// Values of a block, which one task divides.
pub(crate) const BLOCK_VALUES: usize = 1 << 14;
/// Values of a range on average, which one task sorts.
const RANGE_VALUES: usize = 1 << 13;
/// The most ranges: their numbers fit into a byte.
const RANGES_MAX: usize = 256;
/// Values of the sample for each range.
const SAMPLE_VALUES: usize = 16;

/// Sorts the values of blocks, unstably. Returns ascending vectors of ascending values. Blocks should have [`BLOCK_VALUES`].
/// Memory for the values once, and twice for those that tasks copy.
pub(crate) fn sort_blocks<T: Send + Sync>(
    mut blocks: Vec<Vec<T>>,
    compare: impl Fn(&T, &T) -> Ordering + Sync,
) -> Vec<Vec<T>> {
    let count: usize = blocks.iter().map(Vec::len).sum();
    if blocks.len() <= 1 {
        blocks.iter_mut().for_each(|values| values.sort_unstable_by(&compare));
        return blocks;
    }
    // A sample at even distances.
    let ranges = (count / RANGE_VALUES).clamp(1, RANGES_MAX);
    let distance = (count / (ranges * SAMPLE_VALUES)).max(1);
    let mut sample: Vec<&T> = blocks.iter().flat_map(|of| of.iter().step_by(distance)).collect();
    sample.sort_unstable_by(|a, b| compare(a, b));
    let bounds: Vec<&T> = (1..ranges).map(|range| sample[range * sample.len() / ranges]).collect();
    // The range of each value; then each block is divided by them.
    let classes = parallel::map(blocks.iter().collect(), |block: &Vec<T>| {
        let range = |value: &T| bounds.partition_point(|bound| compare(bound, value).is_le()) as u8;
        block.iter().map(range).collect::<Vec<u8>>()
    });
    let blocks = blocks.into_iter().zip(classes).collect();
    let mut divided = parallel::map(blocks, |(block, classes): (Vec<T>, Vec<u8>)| {
        let mut counts = vec![0; ranges];
        classes.iter().for_each(|range| counts[usize::from(*range)] += 1);
        let mut divided: Vec<Vec<T>> = counts.into_iter().map(Vec::with_capacity).collect();
        for (value, range) in block.into_iter().zip(classes) {
            divided[usize::from(range)].push(value);
        }
        divided
    });
    let of_range = |range: usize| -> Vec<Vec<T>> {
        divided.iter_mut().map(|of_block| std::mem::take(&mut of_block[range])).collect()
    };
    let by_range = (0..ranges).map(of_range).collect();
    drop(divided);
    parallel::map(by_range, |parts: Vec<Vec<T>>| {
        let mut sorted = Vec::with_capacity(parts.iter().map(Vec::len).sum());
        parts.into_iter().for_each(|part| sorted.extend(part));
        sorted.sort_unstable_by(&compare);
        sorted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_however_many_are_equal() {
        for (count, different) in [(0, 1), (100, 7), (200_000, 1), (200_000, 3), (300_000, 1 << 40)]
        {
            let value = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let values: Vec<u64> = (0..count).map(|at| value(at) % different).collect();
            let mut expected = values.clone();
            expected.sort_unstable();
            let blocks = values.chunks(BLOCK_VALUES).map(<[u64]>::to_vec).collect();
            let sorted = sort_blocks(blocks, u64::cmp).concat();
            assert!(sorted == expected, "{count} values, {different} different");
        }
    }
}
