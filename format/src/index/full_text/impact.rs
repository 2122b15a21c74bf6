//! The weight of a word in a record: BM25F in integers, so that all machines compute the same bits.
//!
//! ```text
//! n       = Σ weight(field) × occurrences of the word in the field
//! length  = 3 × words of the title + words of the abstract + 2 × authors
//! impact  = n / (n + 1.2 × (¼ + ¾ × length / 120)), in 31sts, rounded, at least 1
//! idf     = log2((2 × records + 2) / (2 × records with the word + 1)), in 256ths
//! score   = Σ idf(word) × impact(word, record)
//! ```
//!
//! The mean length of 120 words is a constant of the format: a mean of the snapshot would change all impacts whenever a record is added.
//! An author counts as two words, with or without a name: else each suppressed author would change all impacts of their outputs.

use crate::schema::texts::{FIELDS, Field};

/// The greatest impact: impacts are 31sts.
pub const IMPACT_MAX: u8 = 31;
/// Fractional steps of an inverse document frequency.
pub const IDF_STEPS: u64 = 256;
/// By field: the weight of an occurrence.
const WEIGHTS: [u64; FIELDS] = [3, 1, 1, 1, 1, 1];
/// The words that an author counts as.
const AUTHOR_WORDS: u64 = 2;
/// The length of an average record, in weighted words.
const MEAN_LENGTH: u64 = 120;

/// Computes the weighted length of a record from the words of its title and its abstract, and from the number of its authors.
pub fn weighted_length(title: u32, of_abstract: u32, authors: u32) -> u64 {
    let weight = |field: Field| WEIGHTS[field as usize];
    weight(Field::Title) * u64::from(title)
        + weight(Field::Abstract) * u64::from(of_abstract)
        + AUTHOR_WORDS * u64::from(authors)
}

/// Computes the impact of a word, from its occurrences in each field and the weighted length of the record.
pub fn impact(occurrences: &[u32; FIELDS], length: u64) -> u8 {
    impact_of(weighted_occurrences(occurrences), length)
}

/// The weight of an occurrence in the field of a number.
pub fn weight_of(field: u8) -> u64 {
    WEIGHTS[usize::from(field)]
}

/// Sums up the occurrences of a word in a record, weighted by field.
fn weighted_occurrences(occurrences: &[u32; FIELDS]) -> u64 {
    WEIGHTS.iter().zip(occurrences).map(|(weight, count)| weight * u64::from(*count)).sum()
}

/// Computes the impact of a word from its weighted occurrences, at least 1, and the weighted length of the record.
pub fn impact_of(n: u64, length: u64) -> u8 {
    // Both terms of the fraction are multiplied by 10 × the mean length.
    let found = n * 10 * MEAN_LENGTH;
    let all = found + 3 * (MEAN_LENGTH + 3 * length);
    let steps = (2 * u64::from(IMPACT_MAX) * found + all) / (2 * all);
    steps.clamp(1, u64::from(IMPACT_MAX)) as u8
}

/// Computes the inverse document frequency of a word, in 256ths of a bit.
pub fn idf(records: u64, with_word: u64) -> u64 {
    log2(2 * records + 2).saturating_sub(log2(2 * with_word + 1))
}

/// The binary logarithm of a number of at least 1, in 256ths, rounded down.
fn log2(number: u64) -> u64 {
    let whole = u64::from(number.max(1).ilog2());
    // The mantissa in [1, 2), with 31 fractional bits. Each squaring gives the next bit of the logarithm.
    let mut mantissa = (u128::from(number.max(1)) << 31 >> whole) as u64;
    let mut log = whole;
    for _ in 0..IDF_STEPS.ilog2() {
        mantissa = (mantissa * mantissa) >> 31;
        log <<= 1;
        if mantissa >> 32 != 0 {
            mantissa >>= 1;
            log |= 1;
        }
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_floating_point_rounded_down() {
        for number in (1..5_000).chain([480_000_000, u64::from(u32::MAX)]) {
            let expected = (number as f64).log2() * 256.0;
            let found = log2(number) as f64;
            assert!(
                (expected - 1.001..=expected + 1e-6).contains(&found),
                "{number}: {found} {expected}"
            );
        }
    }

    #[test]
    fn an_impact_grows_with_occurrences_and_falls_with_length() {
        let of = |title, words| impact(&[title, 1, 0, 0, 0, 0], words);
        assert!(of(1, 100) > of(0, 100) && of(1, 50) > of(1, 500));
        assert_eq!(impact(&[u32::MAX; FIELDS], 0), IMPACT_MAX);
        assert_eq!(impact(&[0, 1, 0, 0, 0, 0], u64::from(u32::MAX)), 1);
    }
}
