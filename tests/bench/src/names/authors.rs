//! The authors of a dump of names, read as lines of JSON: their words, and how many authors each has.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
};

use pinakes_format::text::fold::fold;
use pinakes_generate::Random;
use serde::Deserialize;

use crate::{
    Result,
    dump::{each_line, number},
};

/// Names kept to ask for them whole.
const SAMPLE: usize = 4_000;

/// An author as its line has it.
#[derive(Deserialize)]
pub struct Author {
    id: String,
    display_name: String,
    #[serde(default)]
    display_name_alternatives: Vec<String>,
    /// How often it was cited.
    pub cited_by_count: i64,
}

impl Author {
    /// The number of its id.
    pub fn id(&self) -> i64 {
        number(&self.id)
    }

    /// The words of its name and alternative names, folded, with a space between two.
    pub fn words(&self) -> String {
        let mut text = fold(&self.display_name);
        for alternative in &self.display_name_alternatives {
            text.push(' ');
            text.push_str(&fold(alternative));
        }
        text
    }
}

/// Calls `each` with every author of a dump.
pub fn each_author(dump: &Path, mut each: impl FnMut(&Author) -> Result<()>) -> Result<()> {
    each_line(dump, "authors", |line| each(&serde_json::from_slice(line)?))
}

/// The words of all authors.
pub struct Words {
    /// In order, each with the number of its authors.
    pub all: Vec<(String, u64)>,
    /// Some names, folded, drawn evenly from all.
    pub names: Vec<String>,
}

impl Words {
    /// Reads a dump.
    pub fn of(dump: &Path) -> Result<Words> {
        let mut authors: HashMap<String, u64> = HashMap::new();
        let (mut names, mut seen) = (Vec::with_capacity(SAMPLE), 0);
        let mut random = Random::new(1);
        each_author(dump, |author| {
            let text = author.words();
            for word in text.split(' ').collect::<BTreeSet<_>>() {
                match authors.get_mut(word) {
                    Some(count) => *count += 1,
                    None => drop(authors.insert(word.to_owned(), 1)),
                }
            }
            seen += 1;
            let place = random.below(seen) as usize;
            if names.len() < SAMPLE {
                names.push(fold(&author.display_name));
            } else if let Some(name) = names.get_mut(place) {
                *name = fold(&author.display_name);
            }
            Ok(())
        })?;
        let mut all: Vec<(String, u64)> = authors.into_iter().collect();
        all.sort_unstable();
        Ok(Words { all, names })
    }

    /// Every prefix of so many letters, with about the number of authors that match it: an author with two words of a
    /// prefix counts twice.
    pub fn prefixes(&self, letters: usize) -> BTreeMap<&str, u64> {
        let mut prefixes = BTreeMap::new();
        for (word, authors) in &self.all {
            if let Some(prefix) = word.get(..letters) {
                *prefixes.entry(prefix).or_default() += authors;
            }
        }
        prefixes
    }

    /// The commonest words of at least so many letters, commonest first.
    pub fn commonest(&self, letters: usize, count: usize) -> Vec<&str> {
        let long = self.all.iter().filter(|(word, _)| word.len() >= letters);
        top(long.map(|(word, authors)| (word.as_str(), *authors)), count)
    }
}

/// The texts with the greatest numbers, greatest first.
pub fn top<'a>(counted: impl IntoIterator<Item = (&'a str, u64)>, count: usize) -> Vec<&'a str> {
    let mut counted: Vec<_> = counted.into_iter().collect();
    counted.sort_unstable_by_key(|&(text, number)| (std::cmp::Reverse(number), text));
    counted.into_iter().take(count).map(|(text, _)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_count_the_authors_of_their_words() {
        let all = [("ab", 3), ("abc", 5), ("b", 1), ("bcd", 2)];
        let all = all.map(|(word, authors)| (word.to_owned(), authors)).to_vec();
        let words = Words { all, names: Vec::new() };
        assert_eq!(words.prefixes(2), BTreeMap::from([("ab", 8), ("bc", 2)]));
        assert_eq!(words.commonest(2, 2), ["abc", "ab"]);
    }
}
