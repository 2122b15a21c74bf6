//! The words of people's names in a plan of names, drawn by Zipf's law from a vocabulary of any size.

use std::collections::HashSet;

use crate::random::Random;
use crate::text::Vocabulary;

/// Onsets of syllables, frequent ones first.
const ONSETS: &str =
    "m s r k l n t h b d j g p v c f w y ch sh z br kr st th dr kh gr tr zh qu fr pl x";

/// Rhymes of syllables, frequent ones first.
const VOWELS: &str = "a i e o an u ar in en er on ei el ia ai un as is ou ang or ia ue oe y";

/// Letters of a word.
const LETTERS_MIN: u64 = 4;
const LETTERS_MAX: u64 = 10;

/// Added to each rank of Zipf's law. About one name in a hundred has the commonest word.
const FLATNESS: f64 = 64.0;

/// Seed of all vocabularies. A larger vocabulary starts with the words of a smaller one.
const SEED: u64 = 64;

/// The position of a word in a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Given,
    Family,
}

impl Role {
    /// Tells whether a word of a rank fits the position. Of eight words three are given names, four are family names,
    /// and one is both.
    fn takes(self, rank: u32) -> bool {
        match rank % 8 {
            0 => true,
            1..=3 => self == Self::Given,
            _ => self == Self::Family,
        }
    }
}

/// Words of names. The words depend only on their number. Memory: about 30 bytes per word.
#[derive(Debug)]
pub(crate) struct NameWords(Vocabulary);

impl NameWords {
    /// Builds `count` distinct words, at least 1.
    pub(crate) fn new(count: u32) -> Self {
        let onsets: Vec<&str> = ONSETS.split_whitespace().collect();
        let vowels: Vec<&str> = VOWELS.split_whitespace().collect();
        let mut random = Random::new(SEED);
        let mut seen = HashSet::with_capacity(count as usize);
        let mut words = Vec::with_capacity(count as usize);
        let mut letters = String::new();
        while words.len() < count as usize {
            let spread = (LETTERS_MAX - LETTERS_MIN) / 2 + 1;
            let wanted = LETTERS_MIN + random.below(spread) + random.below(spread);
            letters.clear();
            if random.chance(120) {
                letters.push_str(vowels[random.skewed(vowels.len() as u64, 2) as usize]);
            }
            while letters.len() < wanted as usize {
                letters.push_str(onsets[random.skewed(onsets.len() as u64, 2) as usize]);
                letters.push_str(vowels[random.skewed(vowels.len() as u64, 2) as usize]);
            }
            letters.truncate(wanted as usize);
            if seen.insert(letters.clone()) {
                words.push(letters.clone());
            }
        }
        Self(Vocabulary::of_words(&words, FLATNESS))
    }

    /// Draws a word for a position in a name, in lower case.
    pub(crate) fn draw(&self, role: Role, random: &mut Random) -> &str {
        loop {
            let rank = self.0.draw(random);
            if role.takes(rank) || self.0.len() < 8 {
                return self.0.word(rank);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinct_and_of_four_to_ten_letters() {
        let words = NameWords::new(20_000);
        let all: HashSet<&str> = (0..words.0.len()).map(|rank| words.0.word(rank)).collect();
        assert_eq!(all.len(), 20_000);
        for word in all {
            assert!((4..=10).contains(&word.len()), "{word}");
            assert!(word.bytes().all(|letter| letter.is_ascii_lowercase()), "{word}");
        }
    }

    #[test]
    fn some_words_are_given_and_family_names() {
        let words = NameWords::new(1_000);
        let mut random = Random::new(5);
        let mut of = |role| -> HashSet<&str> {
            (0..20_000).map(|_| words.draw(role, &mut random)).collect()
        };
        let (given, family) = (of(Role::Given), of(Role::Family));
        let shared = given.intersection(&family).count();
        assert!((100..150).contains(&shared), "{shared}");
        assert!(given.len() > 400 && family.len() > 500, "{} {}", given.len(), family.len());
    }

    #[test]
    fn one_word_is_enough() {
        let words = NameWords::new(1);
        let mut random = Random::new(1);
        assert_eq!(words.draw(Role::Given, &mut random), words.draw(Role::Family, &mut random));
    }
}
