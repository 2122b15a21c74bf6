//! Generated outputs with a title, and in six of ten cases an abstract, of words drawn by Zipf's law.
//!
//! ```text
//! rank 0 to 9,999   weight 1 / (rank + 2.7)
//! rank from 10,000  weight ∝ 1 / rank²: the number of distinct words grows with the root of the number of all words
//! ```
//!
//! The words are those of an English dictionary, short words first. Words beyond the dictionary repeat its words with a
//! number. A word in eight repeats an earlier word of the output, so that records have subjects. A word in twelve is the
//! partner of the word before, so that words have collocations. Texts depend on the ordinal alone.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use pinakes_generate::Random;
use rayon::prelude::*;

use crate::Result;

/// The most frequent words of English.
const FUNCTION_WORDS: &str = "the of and in to a for is with that on as by this are from we was be were an which at or it these \
    can our results study between has using have not based their more also than been two may such both its during into \
    other no but all when there they most after only however over through about some where each under";
/// Ranks whose weights follow Zipf's law.
const ZIPF_RANKS: u32 = 10_000;
/// Added to each rank of Zipf's law.
const FLATNESS: f64 = 2.7;
/// Outputs in a part file.
const PART_OUTPUTS: u32 = 25_000;
/// The number in the id of output 0.
const FIRST_ID: u64 = 4_000_000_000;
/// The type of about one output in a hundred; the other outputs are articles.
const RARE_TYPE: &str = "letter";

/// The words and their frequencies.
pub struct Texts {
    words: Vec<&'static str>,
    /// The sum of the weights up to each rank.
    sums: Vec<f64>,
}

/// The ranks of an output's words.
#[derive(Default)]
pub struct OutputTexts {
    pub title: Vec<u32>,
    pub r#abstract: Vec<u32>,
    pub is_of_rare_type: bool,
}

impl Texts {
    pub fn new() -> Texts {
        let mut words: Vec<&str> = FUNCTION_WORDS.split_whitespace().collect();
        let frequent: std::collections::HashSet<&str> = words.iter().copied().collect();
        let is_word = |word: &&str| {
            word.len() > 2
                && word.bytes().all(|byte| byte.is_ascii_lowercase())
                && !frequent.contains(word)
        };
        let mut dictionary: Vec<&'static str> =
            random_word::all(random_word::Lang::En).iter().copied().filter(is_word).collect();
        // Frequent words are short.
        dictionary.sort_by_cached_key(|word| {
            let key = word.bytes().fold(0u64, |key, byte| key.wrapping_mul(257) + u64::from(byte));
            (word.len() as u64 + Random::new(key).below(8), *word)
        });
        words.extend(dictionary);
        let mut sum = 0.0;
        let sums = (0..ZIPF_RANKS).map(|rank| {
            sum += 1.0 / (f64::from(rank) + FLATNESS);
            sum
        });
        Texts { sums: sums.collect(), words }
    }

    /// The number of words in the dictionary.
    pub fn dictionary_words(&self) -> usize {
        self.words.len()
    }

    /// Draws a rank.
    fn draw(&self, random: &mut Random) -> u32 {
        let mut unit = || random.below(1 << 53) as f64 / (1u64 << 53) as f64;
        let zipf = self.sums[self.sums.len() - 1];
        // The tail begins with the weight of the last rank, and weighs that times its rank.
        let tail = f64::from(ZIPF_RANKS) / (f64::from(ZIPF_RANKS) + FLATNESS);
        let drawn = unit() * (zipf + tail);
        match drawn < zipf {
            true => self.sums.partition_point(|sum| *sum <= drawn) as u32,
            false => (f64::from(ZIPF_RANKS) / (1.0 - unit())).min(f64::from(u32::MAX)) as u32,
        }
    }

    /// The word that often follows a word.
    pub fn partner(&self, rank: u32) -> u32 {
        self.draw(&mut Random::new(u64::from(rank)))
    }

    /// Appends a text of `count` words.
    fn push(&self, count: u64, random: &mut Random, earlier: &[u32], into: &mut Vec<u32>) {
        for _ in 0..count {
            let known = earlier.len() + into.len();
            let rank = match random.below(24) {
                0..3 if known >= 6 => {
                    let at = random.below(known as u64) as usize;
                    earlier.get(at).copied().unwrap_or_else(|| into[at - earlier.len()])
                }
                3..5 if !into.is_empty() => self.partner(into[into.len() - 1]),
                _ => self.draw(random),
            };
            into.push(rank);
        }
    }

    /// The texts of an output.
    pub fn output(&self, ordinal: u32) -> OutputTexts {
        let mut random = Random::new(u64::from(ordinal) | 1 << 40);
        let mut texts =
            OutputTexts { is_of_rare_type: random.below(100) == 0, ..OutputTexts::default() };
        let words = random.between(6, 18);
        self.push(words, &mut random, &[], &mut texts.title);
        if random.below(10) < 6 {
            let words = random.between(60, 240);
            self.push(words, &mut random, &texts.title, &mut texts.r#abstract);
        }
        texts
    }

    /// Appends the word of a rank.
    pub fn push_word(&self, rank: u32, into: &mut String) {
        let count = self.words.len() as u32;
        into.push_str(self.words[(rank % count) as usize]);
        if rank >= count {
            // Writing into a string does not fail.
            let _ = write!(into, "{}", rank / count);
        }
    }

    /// The word of a rank.
    pub fn word(&self, rank: u32) -> String {
        let mut word = String::new();
        self.push_word(rank, &mut word);
        word
    }

    /// The words of ranks, with a space between them.
    pub fn text(&self, ranks: &[u32]) -> String {
        let mut text = String::new();
        for rank in ranks {
            if !text.is_empty() {
                text.push(' ');
            }
            self.push_word(*rank, &mut text);
        }
        text
    }

    /// Writes a dump of outputs, unless it exists. Citations fall with the ordinal, so that ordinals are rows.
    pub fn write_dump(&self, outputs: u32, dump: &Path) -> Result<()> {
        if dump.exists() {
            return Ok(());
        }
        let unfinished = dump.with_extension("unfinished");
        let _ = std::fs::remove_dir_all(&unfinished);
        let works = unfinished.join("works");
        std::fs::create_dir_all(&works)?;
        (0..outputs.div_ceil(PART_OUTPUTS)).into_par_iter().try_for_each(|part| -> Result<()> {
            let file = File::create(works.join(format!("part-{part:05}.jsonl.gz")))?;
            let mut out = GzEncoder::new(BufWriter::new(file), Compression::fast());
            let from = part * PART_OUTPUTS;
            let mut line = String::new();
            for ordinal in from..outputs.min(from + PART_OUTPUTS) {
                line.clear();
                self.push_line(ordinal, outputs, &mut line)?;
                out.write_all(line.as_bytes())?;
            }
            out.finish()?.flush()?;
            Ok(())
        })?;
        std::fs::rename(&unfinished, dump)?;
        Ok(())
    }

    /// Appends the line of an output.
    fn push_line(&self, ordinal: u32, outputs: u32, line: &mut String) -> Result<()> {
        let texts = self.output(ordinal);
        let title = self.text(&texts.title);
        let kind = if texts.is_of_rare_type { RARE_TYPE } else { "article" };
        let (id, citations) = (id_of(ordinal), outputs - ordinal);
        write!(
            line,
            r#"{{"id":"https://openalex.org/W{id}","title":"{title}","display_name":"{title}","language":"en","type":"{kind}","cited_by_count":{citations},"updated_date":"2025-01-01","abstract_inverted_index":"#
        )?;
        if texts.r#abstract.is_empty() {
            line.push_str("null}\n");
            return Ok(());
        }
        let mut positions: HashMap<u32, Vec<usize>> = HashMap::new();
        for (position, rank) in texts.r#abstract.iter().enumerate() {
            positions.entry(*rank).or_default().push(position);
        }
        let mut separator = '{';
        for (position, rank) in texts.r#abstract.iter().enumerate() {
            let of_word = &positions[rank];
            if of_word[0] == position {
                write!(line, "{separator}\"{}\":{of_word:?}", self.word(*rank))?;
                separator = ',';
            }
        }
        line.push_str("}}\n");
        Ok(())
    }
}

/// The number in the id of an output.
pub fn id_of(ordinal: u32) -> u64 {
    FIRST_ID + u64::from(ordinal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_fall_with_the_rank_and_new_words_keep_coming() {
        let texts = Texts::new();
        let (mut count, mut first) = (0u32, 0u32);
        let mut seen = std::collections::HashSet::new();
        let mut distinct = Vec::new();
        for ordinal in 0..4_000 {
            let output = texts.output(ordinal);
            for rank in output.title.iter().chain(&output.r#abstract) {
                count += 1;
                first += u32::from(*rank == 0);
                seen.insert(*rank);
            }
            if (ordinal + 1) % 1_000 == 0 {
                distinct.push(seen.len());
            }
        }
        assert!((20..60).contains(&(count / first)), "one word in {} is the first", count / first);
        assert!(distinct.array_windows::<2>().all(|[a, b]| b - a > 1_000), "{distinct:?}");
    }

    #[test]
    fn a_line_is_json_with_the_texts_of_its_output() {
        let texts = Texts::new();
        for ordinal in 0..50 {
            let mut line = String::new();
            texts.push_line(ordinal, 50, &mut line).unwrap_or_else(|error| panic!("{error}"));
            let parsed: serde_json::Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let output = texts.output(ordinal);
            assert_eq!(parsed["title"], texts.text(&output.title));
            assert_eq!(parsed["abstract_inverted_index"].is_null(), output.r#abstract.is_empty());
        }
    }
}
