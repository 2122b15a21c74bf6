//! Reads the authors of a dump from JSON lines, and counts the authors of each word.

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

/// Sampled names, whose words become queries.
const SAMPLE: usize = 4_000;

/// An author's JSON line.
#[derive(Deserialize)]
pub struct Author {
    id: String,
    display_name: String,
    #[serde(default)]
    display_name_alternatives: Vec<String>,
    pub cited_by_count: i64,
}

impl Author {
    pub fn id(&self) -> i64 {
        number(&self.id)
    }

    /// The folded words of the name and of the alternative names, separated by spaces.
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

/// The words of all authors' names.
pub struct Words {
    /// Sorted words, each with the number of its authors.
    pub all: Vec<(String, u64)>,
    /// A uniform sample of the names, folded.
    pub names: Vec<String>,
}

impl Words {
    /// Reads all authors of a dump.
    pub fn read(dump: &Path) -> Result<Words> {
        let mut author_counts: HashMap<String, u64> = HashMap::new();
        let (mut names, mut author_count) = (Vec::with_capacity(SAMPLE), 0);
        let mut random = Random::new(1);
        each_author(dump, |author| {
            let text = author.words();
            for word in text.split(' ').collect::<BTreeSet<_>>() {
                match author_counts.get_mut(word) {
                    Some(count) => *count += 1,
                    None => drop(author_counts.insert(word.to_owned(), 1)),
                }
            }
            author_count += 1;
            // Reservoir sampling: the n-th name replaces a sampled name with probability SAMPLE / n.
            let position = random.below(author_count) as usize;
            if names.len() < SAMPLE {
                names.push(fold(&author.display_name));
            } else if let Some(name) = names.get_mut(position) {
                *name = fold(&author.display_name);
            }
            Ok(())
        })?;
        let mut all: Vec<(String, u64)> = author_counts.into_iter().collect();
        all.sort_unstable();
        Ok(Words { all, names })
    }

    /// Every prefix of this length, with an upper bound of its matching authors: an author with two matching words
    /// counts twice.
    pub fn prefixes(&self, letters: usize) -> BTreeMap<&str, u64> {
        let mut prefixes = BTreeMap::new();
        for (word, authors) in &self.all {
            if let Some(prefix) = word.get(..letters) {
                *prefixes.entry(prefix).or_default() += authors;
            }
        }
        prefixes
    }

    /// The `count` most frequent words of at least `letters` letters, most frequent first.
    pub fn most_frequent(&self, letters: usize, count: usize) -> Vec<&str> {
        let long = self.all.iter().filter(|(word, _)| word.len() >= letters);
        top(long.map(|(word, authors)| (word.as_str(), *authors)), count)
    }
}

/// The `count` texts with the greatest numbers, greatest first.
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
        assert_eq!(words.most_frequent(2, 2), ["abc", "ab"]);
    }
}
