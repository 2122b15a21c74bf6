//! The autocompletion queries: prefixes, and combinations of several prefixes.

use std::{collections::HashSet, ops::RangeInclusive};

use pinakes_generate::Random;

use super::{
    authors::{Words, top},
    engine::Engine,
};
use crate::Result;

/// Number of prefixes of random words of the dump.
const RANDOM_PREFIXES: usize = 20_000;
/// Lengths of these prefixes.
const PREFIX_LETTERS: RangeInclusive<usize> = 3..=8;
/// Most frequent words and prefixes of each length that become queries too.
const FREQUENT_MAX: usize = 50;
/// Exponents of two: near `1 << n` matches the snapshot may use another index structure.
const POWERS: RangeInclusive<u32> = 8..=16;
/// Prefixes near each power of two, half of them below the power.
const PREFIXES_PER_POWER: usize = 16;
/// Random combinations of short prefixes.
const SHORT_COMBINATIONS: usize = 2_000;
/// Random combinations of prefixes of the most frequent words.
const FREQUENT_COMBINATIONS: usize = 1_000;

/// Queries that share a ceiling.
pub struct Group {
    pub title: &'static str,
    /// Ceiling of each query's median at 5,000,000 authors, in microseconds.
    pub ceiling_micros: Option<f64>,
    /// Distinct queries.
    pub queries: Vec<String>,
}

/// All groups; the engine counts matches to find prefixes near the powers of two.
pub fn all(words: &Words, engine: &Engine) -> Result<Vec<Group>> {
    let group = |title, ceiling_micros, queries| Group { title, ceiling_micros, queries };
    Ok(vec![
        group("one and two letters", Some(10.0), short_prefixes(words)),
        group("three to eight letters", Some(200.0), long_prefixes(words, engine)?),
        group("three words", Some(1_000.0), word_combinations(words, 3)),
        group("two words", None, word_combinations(words, 2)),
    ])
}

/// Every prefix of one or two letters.
fn short_prefixes(words: &Words) -> Vec<String> {
    let of_length =
        |letters| words.prefixes(letters).into_keys().map(str::to_owned).collect::<Vec<_>>();
    [of_length(1), of_length(2)].concat()
}

/// Prefixes of three to eight letters: of random words, of the most frequent words, and near the powers of two.
fn long_prefixes(words: &Words, engine: &Engine) -> Result<Vec<String>> {
    let mut random = Random::new(2);
    let long: Vec<&str> = words.all.iter().map(|(word, _)| word.as_str()).collect();
    let long: Vec<&str> =
        long.into_iter().filter(|word| word.len() >= *PREFIX_LETTERS.start()).collect();
    let mut prefixes: Vec<String> =
        (0..RANDOM_PREFIXES).map(|_| random_prefix(&long, PREFIX_LETTERS, &mut random)).collect();
    let mut counted = Vec::new();
    for letters in PREFIX_LETTERS {
        let common = words.most_frequent(letters, FREQUENT_MAX);
        prefixes.extend(common.iter().map(|word| word[..letters].to_owned()));
        let counts = words.prefixes(letters);
        prefixes.extend(top(counts.clone(), FREQUENT_MAX).into_iter().map(str::to_owned));
        counted.extend(counts);
    }
    for power in POWERS {
        prefixes.extend(prefixes_near(&counted, 1 << power, engine)?);
    }
    Ok(distinct(prefixes))
}

/// A prefix of a random word; its random length is in `letters`, but at most the word's length.
fn random_prefix(words: &[&str], letters: RangeInclusive<usize>, random: &mut Random) -> String {
    if words.is_empty() {
        return String::new();
    }
    let word = *random.choose(words);
    let most = word.len().min(*letters.end());
    let least = most.min(*letters.start());
    word[..random.between(least as u64, most as u64) as usize].to_owned()
}

/// The [`PREFIXES_PER_POWER`] prefixes whose number of matches is nearest to a number, half of them below the number.
fn prefixes_near(counted: &[(&str, u64)], number: u64, engine: &Engine) -> Result<Vec<String>> {
    let mut near = counted.to_vec();
    near.sort_unstable_by_key(|&(prefix, authors)| (authors.abs_diff(number), prefix));
    near.truncate(8 * PREFIXES_PER_POWER);
    let mut exact = Vec::with_capacity(near.len());
    for (prefix, _) in near {
        exact.push((engine.authors(prefix)?.count, prefix));
    }
    exact.sort_unstable_by_key(|&(count, prefix)| (count.abs_diff(number), prefix));
    let (below, above): (Vec<_>, Vec<_>) =
        exact.into_iter().partition(|&(count, _)| count < number);
    let sides =
        [below, above].into_iter().flat_map(|side| side.into_iter().take(PREFIXES_PER_POWER / 2));
    Ok(sides.map(|(_, prefix)| prefix.to_owned()).collect())
}

/// Queries of `count` words: shuffled words of names, combinations of short prefixes, and prefixes of the most
/// frequent words.
fn word_combinations(words: &Words, count: usize) -> Vec<String> {
    let mut random = Random::new(count as u64);
    let mut queries = Vec::new();
    for name in &words.names {
        let mut parts: Vec<&str> = name.split(' ').collect();
        for last in (1..parts.len()).rev() {
            parts.swap(last, random.below(last as u64 + 1) as usize);
        }
        parts.truncate(count);
        queries.push(parts.join(" "));
    }
    let frequent = |letters, most| top(words.prefixes(letters), most);
    let (single, short) =
        (frequent(1, 6), [frequent(1, 8), frequent(2, 16), frequent(3, 16)].concat());
    for number in 0..single.len().pow(count as u32) {
        let digit = |position| number / single.len().pow(position as u32) % single.len();
        let digits: Vec<usize> = (0..count).map(digit).collect();
        // Each combination of letters once: `a b`, but not `b a`.
        if digits.is_sorted() {
            let letters: Vec<&str> = digits.into_iter().map(|digit| single[digit]).collect();
            queries.push(letters.join(" "));
        }
    }
    let common = words.most_frequent(*PREFIX_LETTERS.start(), 20);
    for (pool, letters, queries_max) in
        [(&short, 1..=3, SHORT_COMBINATIONS), (&common, 2..=10, FREQUENT_COMBINATIONS)]
    {
        for _ in 0..queries_max {
            let parts = (0..count).map(|_| random_prefix(pool, letters.clone(), &mut random));
            queries.push(parts.collect::<Vec<_>>().join(" "));
        }
    }
    distinct(queries)
}

/// Removes empty and repeated queries, and keeps the order.
fn distinct(mut queries: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    queries.retain(|query| !query.is_empty() && seen.insert(query.clone()));
    queries
}

/// At most `most` queries, evenly spaced.
pub fn sample(queries: &[String], most: usize) -> impl Iterator<Item = &String> {
    queries.iter().step_by(queries.len().div_ceil(most).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        let words = ["anna", "anton", "berta", "bo", "zoe"];
        Words {
            all: words.map(|word| (word.to_owned(), 10)).to_vec(),
            names: vec!["anna bo berta".to_owned()],
        }
    }

    #[test]
    fn every_prefix_of_one_and_two_letters_is_a_query() {
        assert_eq!(short_prefixes(&words()), ["a", "b", "z", "an", "be", "bo", "zo"]);
    }

    #[test]
    fn queries_combine_words_in_any_order() {
        let queries = word_combinations(&words(), 3);
        assert!(queries.iter().all(|query| query.split(' ').count() == 3));
        assert!(queries.contains(&"z z z".to_owned()) && queries.contains(&"b a z".to_owned()));
        let name: HashSet<&str> = queries[0].split(' ').collect();
        assert_eq!(name, HashSet::from(["anna", "bo", "berta"]));
    }

    #[test]
    fn a_sample_is_evenly_spaced() {
        let queries: Vec<String> = (0..10).map(|number: u32| number.to_string()).collect();
        assert_eq!(sample(&queries, 4).collect::<Vec<_>>(), ["0", "3", "6", "9"]);
        assert_eq!(sample(&queries, 20).count(), 10);
        assert_eq!(sample(&[], 4).count(), 0);
    }
}
