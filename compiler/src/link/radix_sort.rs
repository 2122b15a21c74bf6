//! Sorts values by integer keys, digit by digit, without comparisons.
//!
//! ```text
//! keys 21 12 22 11 by decimal digits     by ones: 21 11 12 22     by tens: 11 12 21 22
//! ```
//!
//! A sort is stable: values with equal keys keep their order. It copies every value once for each digit in
//! which keys differ, and needs memory for a second copy of the values.

/// Bits of a digit. The counts of a digit's values stay in the processor's first cache.
const DIGIT_BITS: u32 = 11;
/// Fewer values are sorted by comparisons, which then take less time than counting.
const VALUES_MIN: usize = 1_024;
/// The most bits of the keys that are sorted by digits, from the highest on which keys differ. Values that
/// share these bits are sorted by comparisons: of a chunk's hashed terms, few do.
const SORTED_BITS: u32 = 3 * DIGIT_BITS;

/// Sorts values by a key, stably.
pub(crate) fn sort_by_key<T: Copy>(values: &mut Vec<T>, key: impl Fn(&T) -> u128) {
    let (any, all) =
        values.iter().map(&key).fold((0, u128::MAX), |(any, all), key| (any | key, all & key));
    let differing = any & !all;
    if differing == 0 || values.len() < 2 {
        return;
    }
    if values.len() < VALUES_MIN {
        return values.sort_by_key(key);
    }
    let (low, high) = (differing.trailing_zeros(), u128::BITS - differing.leading_zeros());
    let from = low.max(high.saturating_sub(SORTED_BITS));
    let mut others = values.clone();
    for shift in (from..high).step_by(DIGIT_BITS as usize) {
        distribute(values, &mut others, |value| (key(value) >> shift) as usize % DIGITS);
        std::mem::swap(values, &mut others);
    }
    if from > low {
        drop(others);
        for group in values.chunk_by_mut(|a, b| key(a) >> from == key(b) >> from) {
            if !group.is_sorted_by_key(&key) {
                group.sort_by_key(&key);
            }
        }
    }
}

/// The number of different digits.
const DIGITS: usize = 1 << DIGIT_BITS;

/// Copies values in the order of a digit.
fn distribute<T: Copy>(values: &[T], to: &mut [T], digit: impl Fn(&T) -> usize) {
    let mut places = [0usize; DIGITS];
    values.iter().for_each(|value| places[digit(value)] += 1);
    let mut first = 0;
    for place in &mut places {
        first += std::mem::replace(place, first);
    }
    for value in values {
        let place = &mut places[digit(value)];
        to[*place] = *value;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_by_their_keys_and_keep_their_order() {
        let mut seed = 1u128;
        for (count, bits, low) in [
            (0, 8, 0),
            (1, 8, 0),
            (100, 64, 0),
            (5_000, 0, 7),
            (5_000, 3, 90),
            (5_000, 11, 0),
            (5_000, 33, 16),
            (5_000, 34, 16),
            (9_000, 96, 16),
            (5_000, 128, 0),
        ] {
            let mut key = || {
                seed = seed.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
                // Half of the keys share their high bits.
                let half = if seed >> 127 == 0 { seed >> 64 } else { seed };
                (half & (((1u128 << (bits / 2)) << (bits - bits / 2)).wrapping_sub(1))) << low
            };
            let mut values: Vec<(u128, u32)> = (0..count).map(|at| (key(), at)).collect();
            let mut expected = values.clone();
            expected.sort();
            sort_by_key(&mut values, |value| value.0);
            assert_eq!(values, expected, "{count} values of {bits} bits from {low} on");
        }
    }
}
