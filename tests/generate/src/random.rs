//! Counter-based randomness: every draw is a hash of (seed, entity, ordinal, stream, draw number).
//!
//! Only integer arithmetic and the IEEE basic operations are used, so a seed gives the same bytes on every machine.

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of splitmix64: a bijection of 64-bit words that spreads every input bit.
pub(crate) fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A sequence of draws for one purpose. The streams of one record are independent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    /// Members that other records repeat (country, type, external ids).
    Facts = 1,
    /// Words of the display name.
    Name = 2,
    /// All other members.
    Body = 3,
    /// `updated_date` and `created_date`.
    Dates = 4,
    /// The choice of works that also have an older copy.
    Older = 5,
}

/// A sequence of draws of one key.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The sequence of `key`; equal keys give equal sequences.
    pub fn new(key: u64) -> Self {
        Self { state: mix(key) }
    }

    /// 64 uniform bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Uniform in `0..bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in `per_mille` of 1,000 cases.
    pub(crate) fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In `0..bound`, rank r with a density falling as `r^(1/power - 1)`: 1 is uniform, 3 close to Zipf's law.
    pub(crate) fn skewed(&mut self, bound: u64, power: u32) -> u64 {
        let unit = self.unit();
        let factor = (1..power).fold(unit, |product, _| product * unit);
        ((bound as f64 * factor) as u64).min(bound.saturating_sub(1))
    }

    /// One of `choices`, which must not be empty.
    pub fn choose<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

/// Share of the draws of [`Random::skewed`] with the power 2 that fall on `rank` of `bound` ranks.
pub(crate) fn square_share(rank: u64, bound: u64) -> f64 {
    let bound = bound.max(1) as f64;
    ((rank + 1) as f64 / bound).sqrt() - (rank as f64 / bound).sqrt()
}

/// A bijection between popularity ranks and ordinals of one entity. The order of a file hides popularity.
#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    count: u64,
    step: u64,
    inverse: u64,
    offset: u64,
}

impl Shuffle {
    /// A shuffle of `0..count`; `count` is below 2^31.
    pub(crate) fn new(count: u64, key: u64) -> Self {
        let count = count.max(1);
        let mut step = (count as f64 * 0.618_033_988_749_895) as u64 | 1;
        while greatest_common_divisor(step, count) != 1 {
            step += 1;
        }
        let (step, offset) = (step % count, mix(key) % count);
        Self { count, step, inverse: inverse(step, count), offset }
    }

    /// The number of ordinals.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The ordinal of a rank.
    pub(crate) fn ordinal(&self, rank: u64) -> u64 {
        (rank * self.step + self.offset) % self.count
    }

    /// The rank of an ordinal.
    pub(crate) fn rank(&self, ordinal: u64) -> u64 {
        (ordinal + self.count - self.offset) % self.count * self.inverse % self.count
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The inverse of `a` modulo `modulus`, by the extended Euclidean algorithm; the two are coprime.
fn inverse(a: u64, modulus: u64) -> u64 {
    let (mut old_r, mut r) = (a as i64, modulus as i64);
    let (mut old_s, mut s) = (1i64, 0i64);
    while r != 0 {
        let quotient = old_r / r;
        (old_r, r) = (r, old_r - quotient * r);
        (old_s, s) = (s, old_s - quotient * s);
    }
    old_s.rem_euclid(modulus as i64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_a_bijection() {
        for count in [1, 2, 3, 10, 252, 997, 4516] {
            let shuffle = Shuffle::new(count, 7);
            let mut seen = vec![false; count as usize];
            for rank in 0..count {
                let ordinal = shuffle.ordinal(rank);
                assert_eq!(shuffle.rank(ordinal), rank);
                seen[ordinal as usize] = true;
            }
            assert!(seen.iter().all(|&s| s));
        }
    }

    #[test]
    fn the_shares_of_all_ranks_add_up_to_one() {
        let sum: f64 = (0..1000).map(|rank| square_share(rank, 1000)).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn draws_stay_below_their_bound() {
        let mut random = Random::new(1);
        assert!(
            (0..10_000)
                .all(|_| random.skewed(7, 3) < 7 && random.below(5) < 5 && random.unit() < 1.0)
        );
    }
}
