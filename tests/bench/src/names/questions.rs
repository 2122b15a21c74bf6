//! What is asked: prefixes, and several of them together.

use std::{collections::HashSet, ops::RangeInclusive};

use pinakes_generate::Random;

use super::{
    authors::{Words, top},
    engine::Engine,
};
use crate::Result;

/// Prefixes drawn from words that occur.
const DRAWN: usize = 20_000;
/// Letters of those.
const LETTERS: RangeInclusive<usize> = 3..=8;
/// Commonest words, and commonest prefixes, whose prefixes of each length are asked too.
const COMMONEST: usize = 50;
/// Powers of two near which a prefix's number of matches may change how it is answered.
const POWERS: RangeInclusive<u32> = 8..=16;
/// Prefixes asked about each power, half of them to either side.
const AROUND: usize = 16;
/// Questions of several short prefixes.
const SHORT: usize = 2_000;
/// Questions of several commonest words.
const COMMON: usize = 1_000;

/// Questions that share a ceiling.
pub struct Group {
    pub title: &'static str,
    /// How long any of them may take, in microseconds, at 5,000,000 authors.
    pub ceiling_micros: Option<f64>,
    /// Distinct.
    pub queries: Vec<String>,
}

/// All groups; the engine says how many match.
pub fn all(words: &Words, engine: &Engine) -> Result<Vec<Group>> {
    let group = |title, ceiling_micros, queries| Group { title, ceiling_micros, queries };
    Ok(vec![
        group("one and two letters", Some(10.0), letters(words)),
        group("three to eight letters", Some(200.0), stems(words, engine)?),
        group("three words", Some(1_000.0), several(words, 3)),
        group("two words", None, several(words, 2)),
    ])
}

/// Every prefix of one or two letters.
fn letters(words: &Words) -> Vec<String> {
    let of = |letters| words.prefixes(letters).into_keys().map(str::to_owned).collect::<Vec<_>>();
    [of(1), of(2)].concat()
}

/// Prefixes drawn at random, and those likely to be the worst.
fn stems(words: &Words, engine: &Engine) -> Result<Vec<String>> {
    let mut random = Random::new(2);
    let long: Vec<&str> = words.all.iter().map(|(word, _)| word.as_str()).collect();
    let long: Vec<&str> = long.into_iter().filter(|word| word.len() >= *LETTERS.start()).collect();
    let mut stems: Vec<String> = (0..DRAWN).map(|_| cut(&long, LETTERS, &mut random)).collect();
    let mut counted = Vec::new();
    for letters in LETTERS {
        let common = words.commonest(letters, COMMONEST);
        stems.extend(common.iter().map(|word| word[..letters].to_owned()));
        let prefixes = words.prefixes(letters);
        stems.extend(top(prefixes.clone(), COMMONEST).into_iter().map(str::to_owned));
        counted.extend(prefixes);
    }
    for power in POWERS {
        stems.extend(around(&counted, 1 << power, engine)?);
    }
    Ok(distinct(stems))
}

/// A prefix of one of some words, of as many letters as allowed and as it has.
fn cut(words: &[&str], letters: RangeInclusive<usize>, random: &mut Random) -> String {
    if words.is_empty() {
        return String::new();
    }
    let word = *random.choose(words);
    let most = word.len().min(*letters.end());
    let least = most.min(*letters.start());
    word[..random.between(least as u64, most as u64) as usize].to_owned()
}

/// The prefixes whose number of matches is nearest to a number, half of them below it.
fn around(counted: &[(&str, u64)], number: u64, engine: &Engine) -> Result<Vec<String>> {
    let mut near = counted.to_vec();
    near.sort_unstable_by_key(|&(prefix, authors)| (authors.abs_diff(number), prefix));
    near.truncate(8 * AROUND);
    let mut exact = Vec::with_capacity(near.len());
    for (prefix, _) in near {
        exact.push((engine.authors(prefix)?.count, prefix));
    }
    exact.sort_unstable_by_key(|&(count, prefix)| (count.abs_diff(number), prefix));
    let (below, above): (Vec<_>, Vec<_>) =
        exact.into_iter().partition(|&(count, _)| count < number);
    let sides = [below, above].into_iter().flat_map(|side| side.into_iter().take(AROUND / 2));
    Ok(sides.map(|(_, prefix)| prefix.to_owned()).collect())
}

/// So many words: of a name in any order, of a few letters each, and prefixes of the commonest words.
fn several(words: &Words, count: usize) -> Vec<String> {
    let mut random = Random::new(count as u64);
    let mut queries = Vec::new();
    for name in &words.names {
        let mut parts: Vec<&str> = name.split(' ').collect();
        for place in (1..parts.len()).rev() {
            parts.swap(place, random.below(place as u64 + 1) as usize);
        }
        parts.truncate(count);
        queries.push(parts.join(" "));
    }
    let of = |letters, most| top(words.prefixes(letters), most);
    let (single, short) = (of(1, 6), [of(1, 8), of(2, 16), of(3, 16)].concat());
    for number in 0..single.len().pow(count as u32) {
        let place = |place| number / single.len().pow(place as u32) % single.len();
        let places: Vec<usize> = (0..count).map(place).collect();
        // Each set of letters in one order.
        if places.is_sorted() {
            let letters: Vec<&str> = places.into_iter().map(|place| single[place]).collect();
            queries.push(letters.join(" "));
        }
    }
    let common = words.commonest(*LETTERS.start(), 20);
    for (pool, letters, questions) in [(&short, 1..=3, SHORT), (&common, 2..=10, COMMON)] {
        for _ in 0..questions {
            let parts = (0..count).map(|_| cut(pool, letters.clone(), &mut random));
            queries.push(parts.collect::<Vec<_>>().join(" "));
        }
    }
    distinct(queries)
}

/// Each once, in the order of first appearance.
fn distinct(mut queries: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    queries.retain(|query| !query.is_empty() && seen.insert(query.clone()));
    queries
}

/// At most so many, spread evenly.
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
    fn every_letter_and_every_two_are_asked() {
        assert_eq!(letters(&words()), ["a", "b", "z", "an", "be", "bo", "zo"]);
    }

    #[test]
    fn several_words_are_asked_in_any_order() {
        let queries = several(&words(), 3);
        assert!(queries.iter().all(|query| query.split(' ').count() == 3));
        assert!(queries.contains(&"z z z".to_owned()) && queries.contains(&"b a z".to_owned()));
        let name: HashSet<&str> = queries[0].split(' ').collect();
        assert_eq!(name, HashSet::from(["anna", "bo", "berta"]));
    }

    #[test]
    fn a_sample_is_spread_evenly() {
        let queries: Vec<String> = (0..10).map(|number: u32| number.to_string()).collect();
        assert_eq!(sample(&queries, 4).collect::<Vec<_>>(), ["0", "3", "6", "9"]);
        assert_eq!(sample(&queries, 20).count(), 10);
        assert_eq!(sample(&[], 4).count(), 0);
    }
}
