//! The queries of the benchmark, as texts of `search=` and as queries of tantivy.
//!
//! The words of a query stand together in an output, so that a search of all words finds something. Their frequency is
//! drawn first: a third of the words is rare, a third frequent.

use std::{collections::HashMap, fmt::Write as _};

use pinakes_generate::Random;

use super::{engine::Engine, peer::PeerQuery, texts::Texts};
use crate::Result;

/// Queries of each group.
const QUERIES: usize = 60;
/// Review queries.
const REVIEWS: usize = 8;
/// Clauses of a review query, in three groups of alternatives.
const REVIEW_CLAUSES: usize = 60;
/// Least letters of a word that begins a pattern.
const PATTERN_LETTERS: usize = 5;

/// A query in both forms.
pub struct QueryPair {
    pub search: String,
    pub filter: &'static str,
    pub peer: PeerQuery,
}

/// The results that both engines compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The number of matches and the ten best.
    CountAndBest,
    /// Of tantivy the ten best alone, of any word.
    BestOfMost,
}

/// The aim of a group.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    /// At least this many times as fast as tantivy.
    Ratio(f64),
    Milliseconds(f64),
    /// Not slower than the group before.
    AsBefore,
}

/// Queries of one kind.
pub struct Group {
    pub title: &'static str,
    pub queries: Vec<QueryPair>,
    pub wanted: Wanted,
    pub aim: Aim,
    /// Whether both engines find the same records.
    pub has_equal_counts: bool,
}

/// How many records have a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Band {
    /// Less than one in a thousand.
    Rare,
    Middle,
    /// One in fifty or more.
    Frequent,
}

const BANDS: [Band; 3] = [Band::Rare, Band::Middle, Band::Frequent];

/// Draws words of the generated outputs.
pub struct Draw<'a> {
    texts: &'a Texts,
    engine: &'a Engine,
    outputs: u32,
    random: Random,
    /// Bands by rank, remembered.
    bands: HashMap<u32, Option<Band>>,
}

impl<'a> Draw<'a> {
    pub fn new(texts: &'a Texts, engine: &'a Engine, outputs: u32) -> Draw<'a> {
        Draw { texts, engine, outputs, random: Random::new(99), bands: HashMap::new() }
    }

    /// The band of a word; `None` for very frequent words.
    fn band(&mut self, rank: u32) -> Result<Option<Band>> {
        if let Some(band) = self.bands.get(&rank) {
            return Ok(*band);
        }
        let records = self.engine.records_with(&self.texts.word(rank))?;
        let band = records.map(|records| match f64::from(records) / f64::from(self.outputs) {
            ..0.001 => Band::Rare,
            ..0.02 => Band::Middle,
            _ => Band::Frequent,
        });
        self.bands.insert(rank, band);
        Ok(band)
    }

    /// Draws the words of an output with an abstract.
    fn output(&mut self) -> Vec<u32> {
        loop {
            let output = self.texts.output(self.random.below(u64::from(self.outputs)) as u32);
            if !output.r#abstract.is_empty() {
                return output.title.into_iter().chain(output.r#abstract).collect();
            }
        }
    }

    /// Draws a word of each band, all from one output and distinct.
    fn words(&mut self, bands: &[Band]) -> Result<Vec<u32>> {
        loop {
            let of_output = self.output();
            let from = self.random.below(of_output.len() as u64) as usize;
            let mut words: Vec<u32> = Vec::with_capacity(bands.len());
            for band in bands {
                for rank in of_output[from..].iter().chain(&of_output[..from]) {
                    if !words.contains(rank) && self.band(*rank)? == Some(*band) {
                        words.push(*rank);
                        break;
                    }
                }
            }
            if words.len() == bands.len() {
                return Ok(words);
            }
        }
    }

    /// Draws words of mixed frequency.
    fn mixed_words(&mut self, count: usize) -> Result<Vec<u32>> {
        let bands: Vec<Band> = (0..count).map(|_| *self.random.choose(&BANDS)).collect();
        self.words(&bands)
    }

    /// Draws words that follow each other in a text, none of them very frequent or rare: half of the time words that
    /// often do.
    fn sequence(&mut self, count: usize) -> Result<Vec<u32>> {
        let is_frequent = self.random.below(2) == 0;
        loop {
            let of_output = self.output();
            let from = self.random.below(of_output.len() as u64) as usize;
            'windows: for words in of_output[from..].windows(count) {
                let follows = |[a, b]: &[u32; 2]| self.texts.partner(*a) == *b;
                if is_frequent && !words.array_windows::<2>().all(follows) {
                    continue;
                }
                for rank in words {
                    if self.band(*rank)?.is_none_or(|band| band == Band::Rare) {
                        continue 'windows;
                    }
                }
                return Ok(words.to_vec());
            }
        }
    }

    fn stem(&self, rank: u32) -> String {
        self.engine.stem(&self.texts.word(rank))
    }

    fn all(&self, words: &[u32]) -> PeerQuery {
        PeerQuery::All(self.each(words))
    }

    fn each(&self, words: &[u32]) -> Vec<PeerQuery> {
        words.iter().map(|rank| PeerQuery::Word(self.stem(*rank))).collect()
    }

    fn phrase(&self, words: &[u32], distance: u32) -> PeerQuery {
        PeerQuery::Phrase(words.iter().map(|rank| self.stem(*rank)).collect(), distance)
    }

    fn all_words(&mut self, words: Vec<u32>) -> QueryPair {
        QueryPair { search: self.texts.text(&words), filter: "", peer: self.all(&words) }
    }

    /// A query as systematic reviews have it: two groups of alternatives, without those of a third.
    fn review(&mut self) -> Result<QueryPair> {
        let mut search = String::new();
        let mut groups = Vec::new();
        for group in 0..3 {
            search.push_str(["(", " AND (", " NOT ("][group]);
            let mut clauses = Vec::new();
            for clause in 0..REVIEW_CLAUSES / 3 {
                if clause > 0 {
                    search.push_str(" OR ");
                }
                match clause % 5 {
                    0 => {
                        let words = self.sequence(2)?;
                        write!(search, "\"{}\"", self.texts.text(&words))?;
                        clauses.push(self.phrase(&words, 0));
                    }
                    1 => {
                        let letters = self.pattern()?;
                        write!(search, "{letters}*")?;
                        clauses.push(PeerQuery::Begin(letters));
                    }
                    _ => {
                        // The records of the third group are few.
                        let bands = if group == 2 { &BANDS[..1] } else { &BANDS[..] };
                        let band = *self.random.choose(bands);
                        let words = self.words(&[band])?;
                        search.push_str(&self.texts.text(&words));
                        clauses.extend(self.each(&words));
                    }
                }
            }
            search.push(')');
            groups.push(clauses);
        }
        let without = groups.pop().unwrap_or_default();
        let all = groups.into_iter().map(PeerQuery::Any).collect();
        let peer = PeerQuery::Without(Box::new(PeerQuery::All(all)), without);
        Ok(QueryPair { search, filter: "", peer })
    }

    /// Draws the first letters of a word.
    fn pattern(&mut self) -> Result<String> {
        loop {
            let words = self.words(&[Band::Middle])?;
            let word = self.texts.word(words[0]);
            if word.len() > PATTERN_LETTERS && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
                return Ok(word[..PATTERN_LETTERS].to_owned());
            }
        }
    }

    /// Searches of three words of mixed frequency, for requests.
    pub fn three_words(&mut self, count: usize) -> Result<Vec<String>> {
        (0..count).map(|_| Ok(self.texts.text(&self.mixed_words(3)?))).collect()
    }

    /// Makes all groups.
    pub fn groups(&mut self, rare_type: &'static str) -> Result<Vec<Group>> {
        let mut groups = Vec::new();
        let mut add = |title, aim, queries| {
            let wanted = Wanted::CountAndBest;
            groups.push(Group { title, queries, wanted, aim, has_equal_counts: true });
        };
        for (title, band) in
            [("one rare word", 0), ("one word of middle frequency", 1), ("one frequent word", 2)]
        {
            let queries = self.make(|draw| {
                let words = draw.words(&[BANDS[band]])?;
                Ok(draw.all_words(words))
            })?;
            add(title, Aim::Ratio(2.0), queries);
        }
        for (title, count) in [("two words", 2), ("three words", 3), ("five words", 5)] {
            let queries = self.make(|draw| {
                let words = draw.mixed_words(count)?;
                Ok(draw.all_words(words))
            })?;
            add(title, Aim::Ratio(2.0), queries);
        }
        let two_frequent = self.make(|draw| {
            let words = draw.words(&[Band::Frequent, Band::Frequent])?;
            Ok(draw.all_words(words))
        })?;
        add("two frequent words", Aim::Ratio(2.0), two_frequent);
        for (title, count, distance) in [
            ("phrase of two words", 2, 0),
            ("phrase of three words", 3, 0),
            ("two words, ~5", 2, 5),
        ] {
            let queries = self.make(|draw| {
                let words = draw.sequence(count)?;
                let text = draw.texts.text(&words);
                let search = match distance {
                    0 => format!("\"{text}\""),
                    _ => format!("\"{text}\"~{distance}"),
                };
                Ok(QueryPair { search, filter: "", peer: draw.phrase(&words, distance) })
            })?;
            add(title, Aim::Ratio(1.0), queries);
        }
        let three: Vec<Vec<u32>> =
            (0..QUERIES).map(|_| self.mixed_words(3)).collect::<Result<_>>()?;
        let pair = |words: &Vec<u32>| (self.texts.text(words), self.all(words));
        let unfiltered =
            three.iter().map(pair).map(|(search, peer)| QueryPair { search, filter: "", peer });
        add("three other words", Aim::Ratio(2.0), unfiltered.collect());
        let filtered = three.iter().map(pair).map(|(search, peer)| QueryPair {
            search,
            filter: rare_type,
            peer: PeerQuery::OfRareType(Box::new(peer)),
        });
        add("the same with a filter of 1 %", Aim::AsBefore, filtered.collect());
        // A slop counts edits of the phrase, a distance counts positions.
        for group in &mut groups {
            group.has_equal_counts = group.title != "two words, ~5";
        }
        let most = self.make(|draw| {
            // No output has the words of two outputs.
            let (mut words, others) = (draw.mixed_words(6)?, draw.mixed_words(6)?);
            words.extend(others);
            let peer = PeerQuery::Any(draw.each(&words));
            Ok(QueryPair { search: draw.texts.text(&words), filter: "", peer })
        })?;
        groups.push(Group {
            title: "most of 12 words",
            queries: most,
            wanted: Wanted::BestOfMost,
            aim: Aim::Ratio(1.0),
            has_equal_counts: false,
        });
        let reviews: Result<Vec<_>> = (0..REVIEWS).map(|_| self.review()).collect();
        groups.push(Group {
            title: "review of 60 clauses",
            queries: reviews?,
            wanted: Wanted::CountAndBest,
            aim: Aim::Milliseconds(150.0),
            has_equal_counts: false,
        });
        Ok(groups)
    }

    fn make(
        &mut self,
        mut query: impl FnMut(&mut Draw<'a>) -> Result<QueryPair>,
    ) -> Result<Vec<QueryPair>> {
        (0..QUERIES).map(|_| query(self)).collect()
    }
}
