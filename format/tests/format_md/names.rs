//! A reader of words, alternative names and prefix statistics, written from FORMAT.md alone.

use std::collections::BTreeSet;

use fst::{IntoStreamer, Map, Streamer};

use crate::{files::Archive, indexes::postings};

/// The shards of a file: texts, each with a number.
pub struct Shards<'a> {
    archive: &'a Archive,
    table: usize,
    pub count: usize,
}

impl<'a> Shards<'a> {
    pub fn open(archive: &'a Archive, table: u64, count: u64) -> Shards<'a> {
        let shards = Shards { archive, table: table as usize, count: count as usize };
        let (ends, texts_from) = (shards.entry(shards.count), shards.entry(0).1);
        assert_eq!((ends.0, ends.1), (texts_from, shards.table));
        shards
    }

    /// Where a shard and its first text begin, or the last of each ends.
    fn entry(&self, at: usize) -> (usize, usize) {
        let at = self.table + 16 * at;
        (self.archive.u64(at) as usize, self.archive.u64(at + 8) as usize)
    }

    pub fn from(&self) -> usize {
        self.entry(0).0
    }

    pub fn to(&self) -> usize {
        self.table + 16 * (self.count + 1)
    }

    fn map(&self, shard: usize) -> Map<&'a [u8]> {
        let bytes = &self.archive.0[self.entry(shard).0..self.entry(shard + 1).0];
        assert_eq!(bytes[..16], [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let behind = |at: usize| {
            u64::from_le_bytes(bytes[bytes.len() - at..][..8].try_into().unwrap()) as usize
        };
        let map = Map::new(bytes).unwrap();
        assert_eq!((behind(20), behind(12)), (map.len(), map.as_fst().root().addr()));
        map.as_fst().verify().unwrap();
        map
    }

    /// The last shard whose first text is not after this one.
    fn of(&self, text: &[u8]) -> Option<usize> {
        let first = |at: usize| &self.archive.0[self.entry(at).1..self.entry(at + 1).1];
        (0..self.count).rev().find(|at| first(*at) <= text)
    }

    pub fn get(&self, text: &[u8]) -> Option<u64> {
        self.map(self.of(text)?).get(text)
    }

    /// The first text that is not before this one.
    pub fn first_from(&self, text: &[u8]) -> Option<(Vec<u8>, u64)> {
        (self.of(text).unwrap_or(0)..self.count).find_map(|shard| {
            let map = self.map(shard);
            let mut from = map.range().ge(text).into_stream();
            from.next().map(|(text, number)| (text.to_vec(), number))
        })
    }

    pub fn all(&self) -> Vec<(Vec<u8>, u64)> {
        let all = |shard| self.map(shard).stream().into_byte_vec();
        (0..self.count).flat_map(all).collect()
    }
}

/// A text of a dictionary.
pub struct Text {
    pub text: String,
    pub rows: Vec<u32>,
    /// The mark of each row; none where they are many.
    pub marks: Vec<u8>,
    /// Notes on the bytes of the text's entry in the block.
    pub notes: Vec<(usize, String)>,
}

/// Bytes of a block under reading.
struct Block<'a> {
    bytes: &'a [u8],
    notes: Vec<(usize, String)>,
}

impl Block<'_> {
    /// A number in LEB128.
    fn number(&mut self, what: impl FnOnce(u64) -> String) -> u64 {
        let length = 1 + self.bytes.iter().position(|byte| byte & 0x80 == 0).unwrap();
        assert!(length <= 9);
        let sevens = self.bytes[..length].iter().rev().map(|byte| u64::from(byte & 0x7f));
        let number = sevens.fold(0, |number, seven| number << 7 | seven);
        self.bytes = &self.bytes[length..];
        self.notes.push((length, what(number)));
        number
    }

    fn rows(&mut self, count: u64, rows: &mut Vec<u32>, marks: &mut Vec<u8>) {
        let before = if count > 1 {
            let length = self.number(|length| format!("their bytes: {length}")) as usize;
            self.bytes.len() - length
        } else {
            0
        };
        let mut next = 0;
        for _ in 0..count {
            let number = self.number(|number| {
                format!("row {} with the mark {}", next + (number >> 2), number & 3)
            });
            let row = next + (number >> 2);
            rows.push(u32::try_from(row).unwrap());
            marks.push((number & 3) as u8);
            next = row + 1;
        }
        assert!(count == 1 || self.bytes.len() == before);
    }
}

/// `words` or `alternatives`.
pub struct Dictionary<'a> {
    archive: &'a Archive,
    pub texts: usize,
    last_block: usize,
    pub postings_from: usize,
    pub shards: Shards<'a>,
}

/// A block of a dictionary.
pub struct DictionaryBlock {
    pub texts: Vec<Text>,
    /// Notes on the bytes before the texts.
    pub notes: Vec<(usize, String)>,
    /// Where the next block begins.
    pub next: usize,
}

impl<'a> Dictionary<'a> {
    pub fn open(archive: &'a Archive) -> Dictionary<'a> {
        let directory = archive.0.len() - 40;
        let field = |at: usize| archive.u64(directory + 8 * at);
        let [texts, last_block, postings_from] = [0, 1, 2].map(|at| field(at) as usize);
        let shards = Shards::open(archive, field(3), field(4));
        assert!(postings_from <= shards.from());
        assert_eq!(shards.to(), directory);
        Dictionary { archive, texts, last_block, postings_from, shards }
    }

    /// The block that begins at a place, counted from the first.
    pub fn block(&self, place: usize) -> DictionaryBlock {
        let bytes = &self.archive.0[64 + place..self.postings_from];
        let mut block = Block { bytes, notes: Vec::new() };
        let length = block.number(|length| format!("bytes of the block: {length}")) as usize;
        let next = place + (bytes.len() - block.bytes.len()) + length;
        block.bytes = &block.bytes[..length];
        let notes = std::mem::take(&mut block.notes);
        assert!(length > 0);
        let mut texts: Vec<Text> = Vec::new();
        while !block.bytes.is_empty() {
            let shared = block.number(|count| format!("bytes shared: {count}")) as usize;
            let more = block.number(|count| format!("bytes that follow: {count}")) as usize;
            let before = texts.last().map_or(&[][..], |before| before.text.as_bytes());
            let text = [&before[..shared], &block.bytes[..more]].concat();
            let text = String::from_utf8(text).unwrap();
            block.notes.push((more, text.clone()));
            block.bytes = &block.bytes[more..];
            let (mut rows, mut marks) = (Vec::new(), Vec::new());
            let count = block.number(|count| format!("rows: {count}"));
            if count <= 256 {
                block.rows(count, &mut rows, &mut marks);
            } else {
                let place = block.number(|place| format!("where its postings begin: {place}"));
                let length = block.number(|length| format!("their bytes: {length}")) as usize;
                let from = self.postings_from + (place >> 1) as usize;
                rows = postings(self.archive, from, from + length, place & 1 != 0);
                assert_eq!(rows.len(), count as usize);
            }
            texts.push(Text { text, rows, marks, notes: std::mem::take(&mut block.notes) });
        }
        DictionaryBlock { texts, notes, next }
    }

    /// The blocks from the one at a place on.
    fn blocks(&self, place: usize) -> impl Iterator<Item = DictionaryBlock> {
        let block = |place| (64 + place < self.postings_from).then(|| self.block(place));
        std::iter::successors(block(place), move |before| block(before.next))
    }

    pub fn all(&self) -> Vec<Text> {
        let all: Vec<Text> = self.blocks(0).flat_map(|block| block.texts).collect();
        assert_eq!(all.len(), self.texts);
        assert!(all.is_sorted_by(|a, b| a.text < b.text));
        all
    }

    /// The texts that are not before this one.
    pub fn from(&self, text: &[u8]) -> impl Iterator<Item = Text> {
        let after = self.shards.first_from(&[text, &[0]].concat());
        let place = after.map_or(self.last_block, |(_, before)| before as usize);
        let texts = self.blocks(place).flat_map(|block| block.texts);
        texts.skip_while(move |found| found.text.as_bytes() < text)
    }

    /// The texts that begin with this one.
    pub fn texts_with_prefix(&self, text: &str) -> Vec<Text> {
        self.from(text.as_bytes()).take_while(|found| found.text.starts_with(text)).collect()
    }
}

/// The summary of a prefix: the number of matching records, and the top ten with their tiers.
#[derive(Debug, PartialEq)]
pub struct Summary {
    pub count: u32,
    pub best: Vec<(usize, u32)>,
}

/// Reader of `prefix_stats`.
pub struct PrefixStatsReader<'a> {
    archive: &'a Archive,
    pub summaries: Shards<'a>,
    pub sets: Shards<'a>,
    places_from: usize,
}

impl<'a> PrefixStatsReader<'a> {
    pub fn open(archive: &'a Archive) -> PrefixStatsReader<'a> {
        let directory = archive.0.len() - 56;
        let field = |at: usize| archive.u64(directory + 8 * at);
        let [summaries, sets, places_from] = [0, 1, 2].map(|at| field(at) as usize);
        let of_summaries = Shards::open(archive, field(3), field(4));
        let of_sets = Shards::open(archive, field(5), field(6));
        let sets_from = archive.u64(places_from) & !(1 << 63);
        assert_eq!(sets_from as usize, 64 + 48 * summaries);
        assert_eq!(archive.u64(places_from + 8 * sets), places_from as u64);
        assert_eq!(of_summaries.from(), places_from + 8 * (sets + 1));
        assert_eq!((of_summaries.to(), of_sets.to()), (of_sets.from(), directory));
        assert!(of_summaries.all().iter().zip(0..).all(|((_, number), at)| *number == at));
        assert!(of_sets.all().iter().zip(0..).all(|((_, number), at)| *number == at));
        assert_eq!((of_summaries.all().len(), of_sets.all().len()), (summaries, sets));
        PrefixStatsReader { archive, summaries: of_summaries, sets: of_sets, places_from }
    }

    pub fn summary(&self, prefix: &str) -> Option<Summary> {
        let from = 64 + 48 * self.summaries.get(prefix.as_bytes())? as usize;
        let ends = &self.archive.0[from + 4..from + 8];
        let best = (0..ends[3]).map(|at| {
            let tier = ends.iter().position(|end| at < *end).unwrap() + 1;
            (tier, self.archive.u32(from + 8 + 4 * usize::from(at)))
        });
        Some(Summary { count: self.archive.u32(from), best: best.collect() })
    }

    pub fn set_from(&self, text: &[u8]) -> Option<(Vec<u8>, Vec<u32>)> {
        const LONG: u64 = 1 << 63;
        let (prefix, number) = self.sets.first_from(text)?;
        let at = self.places_from + 8 * number as usize;
        let (from, to) = (self.archive.u64(at), self.archive.u64(at + 8) & !LONG);
        let rows = postings(self.archive, (from & !LONG) as usize, to as usize, from & LONG != 0);
        Some((prefix, rows))
    }

    /// The rows with a word that begins with a prefix, and the number of texts read to find them.
    pub fn rows_with_prefix(&self, words: &Dictionary<'_>, prefix: &str) -> (BTreeSet<u32>, usize) {
        let (mut rows, mut read) = (BTreeSet::new(), 0);
        let mut at = prefix.as_bytes().to_vec();
        loop {
            let set =
                self.set_from(&at).filter(|(longer, _)| longer.starts_with(prefix.as_bytes()));
            let is_before_set = |word: &Text| {
                set.as_ref().is_none_or(|(longer, _)| word.text.as_bytes() < &longer[..])
            };
            let texts = words.from(&at).take_while(|word| word.text.starts_with(prefix));
            for word in texts.take_while(is_before_set) {
                rows.extend(word.rows);
                read += 1;
            }
            let Some((longer, of_set)) = set else { return (rows, read) };
            rows.extend(of_set);
            at = [longer, vec![0xff]].concat();
        }
    }
}
