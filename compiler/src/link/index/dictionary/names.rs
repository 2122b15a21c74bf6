//! Words and alternative names, sorted in runs and merged into dictionaries.
//!
//! ```text
//! row 7 "graph theory", row 9 "graph drawing"
//! words: drawing → 9   graph → 7, 9   theory → 7
//! ```

use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::io;
use std::io::Write;
use std::path::Path;

use hashbrown::HashTable;
use pinakes_format::autocomplete::{ALTERNATIVE_BYTES_MAX, NamePart};
use pinakes_format::schema::keys;
use pinakes_format::storage::Spool;
use pinakes_format::storage::mmap::Map;
use pinakes_format::text::fold::{cut, shared_bytes, words};

use crate::link::index::runs::{Entries, Merge, OldRun};
use crate::link::index::sort_key::head;
use crate::parallel::{self, BLOCK_VALUES};

/// Texts of one chunk, each with the low half of a row.
#[derive(Default)]
pub(crate) struct Texts {
    /// The names that the texts are parts of, concatenated.
    names: String,
    ranges: Vec<TextRange>,
}

/// A text, as a range of `names`, and its row.
#[derive(Clone, Copy)]
struct TextRange {
    /// The first bytes of the text; see [`head`].
    head: u64,
    from: usize,
    length: u32,
    low: u16,
    /// The mark of a [`NamePart`]; [`SHARED`] if the text is the common prefix of two words.
    mark: u8,
}

/// The postings of some texts, grouped by text.
struct TextGroups {
    groups: Vec<Group>,
    /// The low halves of rows and the marks, group by group, in the order of rows.
    postings: Vec<(u16, u8)>,
}

/// A text, and the end and number of its postings.
struct Group {
    first: TextRange,
    hash: u64,
    to: usize,
    count: usize,
}

/// The most tasks that group and sort the texts of a run.
const SHARDS_MAX: usize = 16;
/// Texts of the sample for each of these tasks.
const SAMPLE_TEXTS: usize = 64;

/// The mark of a prefix that two neighbouring words of a row share.
const SHARED: u8 = u8::MAX;

impl Texts {
    /// Appends a name and returns its offset.
    fn name(&mut self, name: &str) -> usize {
        let from = self.names.len();
        self.names.push_str(name);
        from
    }

    fn compare(&self, a: &TextRange, b: &TextRange) -> Ordering {
        a.head.cmp(&b.head).then_with(|| match a.length.max(b.length) {
            // The heads are the whole texts.
            0..=8 => Ordering::Equal,
            _ => self.text(a).cmp(self.text(b)),
        })
    }

    fn is_same(&self, a: &TextRange, b: &TextRange) -> bool {
        self.compare(a, b).is_eq()
    }

    fn text(&self, range: &TextRange) -> &str {
        &self.names[range.from..][..range.length as usize]
    }

    /// Encodes the texts as a run, in ascending pieces. Each task has the texts of a range of first bytes.
    fn encode(&self) -> Vec<Vec<u8>> {
        let shards = (self.ranges.len() / BLOCK_VALUES).clamp(1, SHARDS_MAX);
        let distance = (self.ranges.len() / (shards * SAMPLE_TEXTS)).max(1);
        let mut sample: Vec<u64> =
            self.ranges.iter().step_by(distance).map(|range| range.head).collect();
        sample.sort_unstable();
        let bounds: Vec<u64> = (1..shards).map(|at| sample[at * sample.len() / shards]).collect();
        // A run has fewer texts than u32 has numbers, because it has fewer bytes.
        let blocks = parallel::ranges(0..self.ranges.len() as u32, BLOCK_VALUES as u32);
        let divided = parallel::map(blocks, |block| {
            let mut divided = vec![Vec::new(); shards];
            for at in block {
                let head = self.ranges[at as usize].head;
                divided[bounds.partition_point(|bound| *bound <= head)].push(at);
            }
            divided
        });
        parallel::map((0..shards).collect(), |shard: usize| {
            self.encode_texts(divided.iter().flat_map(|of_block| &of_block[shard]))
        })
    }

    /// Encodes some of the texts, given by their numbers in the order of rows. See [`TextRuns`].
    fn encode_texts<'n>(&self, numbers: impl Iterator<Item = &'n u32> + Clone) -> Vec<u8> {
        let TextGroups { mut groups, postings } = self.group(numbers);
        groups.sort_unstable_by(|a, b| self.compare(&a.first, &b.first));
        let mut out = Vec::new();
        for Group { first, to, count, .. } in &groups {
            let text = self.text(first);
            let group = &postings[to - count..*to];
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
            let shared = group.iter().filter(|(_, mark)| *mark == SHARED).count();
            out.extend_from_slice(&(shared as u32).to_le_bytes());
            let counted_at = out.len();
            out.extend_from_slice(&[0; 4]);
            let mut rows = 0u32;
            let mut last = None;
            // A row has a word once, with its best mark. It may repeat an alternative name; all of these have mark 0.
            for (low, mark) in group.iter().filter(|(_, mark)| *mark != SHARED) {
                if last.replace(low) != Some(low) {
                    rows += 1;
                    out.extend_from_slice(&low.to_le_bytes());
                    out.push(*mark);
                }
            }
            out[counted_at..][..4].copy_from_slice(&rows.to_le_bytes());
        }
        out
    }

    /// Groups the postings of equal texts. Costs one lookup for each, where a sort compares each with many
    /// others: a chunk has several times as many words as different words.
    fn group<'n>(&self, numbers: impl Iterator<Item = &'n u32> + Clone) -> TextGroups {
        let hasher = foldhash::fast::RandomState::default();
        let mut known: HashTable<u32> = HashTable::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = |range: &TextRange| {
            let hash = match range.length {
                0..=8 => hasher.hash_one(range.head),
                _ => hasher.hash_one(self.text(range)),
            };
            let is_same = |at: &u32| self.is_same(&groups[*at as usize].first, range);
            let at = known.find(hash, is_same).copied().unwrap_or_else(|| {
                let at = groups.len() as u32;
                groups.push(Group { first: *range, hash, count: 0, to: 0 });
                known.insert_unique(hash, at, |at| groups[*at as usize].hash);
                at
            });
            groups[at as usize].count += 1;
            at
        };
        let texts = numbers.map(|at| &self.ranges[*at as usize]);
        let numbers: Vec<u32> = texts.clone().map(&mut group_of).collect();
        let mut first = 0;
        for group in &mut groups {
            group.to = first;
            first += group.count;
        }
        let mut postings = vec![(0, 0); numbers.len()];
        for (range, number) in texts.zip(numbers) {
            let place = &mut groups[number as usize].to;
            postings[*place] = (range.low, range.mark);
            *place += 1;
        }
        TextGroups { groups, postings }
    }

    /// Appends the texts of the next rows.
    fn append(&mut self, other: &Texts) {
        let from = self.name(&other.names);
        let moved =
            other.ranges.iter().map(|range| TextRange { from: range.from + from, ..*range });
        self.ranges.extend(moved);
    }

    fn held_bytes(&self) -> usize {
        self.names.len() + self.ranges.len() * size_of::<TextRange>()
    }

    /// Removes all texts and keeps the memory.
    fn clear(&mut self) {
        self.names.clear();
        self.ranges.clear();
    }
}

/// The words and alternative names of rows.
#[derive(Default)]
pub(crate) struct RowNames {
    words: Texts,
    alternatives: Texts,
    /// The words of the current row.
    row: Vec<TextRange>,
}

impl RowNames {
    /// Adds a folded name of the current row.
    pub fn name(&mut self, names: keys::NameRole, folded: &str, low: u16) {
        if names == keys::NameRole::Alternative && !folded.is_empty() {
            let name = cut(folded, ALTERNATIVE_BYTES_MAX);
            let from = self.alternatives.name(name);
            // A name is shorter than 4 GiB, because a line has at most 1 GiB.
            let length = name.len() as u32;
            let range = TextRange { head: head(name.as_bytes()), from, length, low, mark: 0 };
            self.alternatives.ranges.push(range);
        }
        let from = self.words.name(folded);
        for (at, word) in words(folded).enumerate() {
            let part = match names {
                _ if at > 0 => NamePart::Other,
                keys::NameRole::Own if word == folded => NamePart::Whole,
                keys::NameRole::Own => NamePart::First,
                keys::NameRole::Alternative => NamePart::FirstOfAlternative,
            };
            // A word is a range of the name, because words of unspaced scripts overlap.
            let within = word.as_ptr() as usize - folded.as_ptr() as usize;
            let length = word.len() as u32;
            let head = head(word.as_bytes());
            self.row.push(TextRange { head, from: from + within, length, low, mark: part as u8 });
        }
    }

    /// Ends the current row: keeps each word once, with its best mark, and the prefixes that sorted
    /// neighbours share.
    ///
    /// Of the words with a prefix a row has one more than it has neighbours that share the prefix. So
    /// the number of rows with a prefix is the number of postings minus the number of shared prefixes:
    ///
    /// ```text
    /// row 7: "grape", "graph"     prefix "gra": 2 postings - 1 shared prefix = 1 row
    /// ```
    pub fn end_row(&mut self) {
        let RowNames { words, row, .. } = self;
        row.sort_unstable_by(|a, b| words.compare(a, b).then(a.mark.cmp(&b.mark)));
        row.dedup_by(|next, first| words.is_same(next, first));
        for [first, next] in row.array_windows() {
            let length = shared_bytes(words.text(first), words.text(next)) as u32;
            if length > 0 {
                let head = head(&words.text(next).as_bytes()[..length as usize]);
                words.ranges.push(TextRange { head, length, mark: SHARED, ..*next });
            }
        }
        words.ranges.append(row);
    }

    /// Appends the names of the next rows.
    pub fn append(&mut self, other: &RowNames) {
        self.words.append(&other.words);
        self.alternatives.append(&other.alternatives);
    }

    /// Removes all names and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.alternatives.clear();
    }

    /// Bytes in memory.
    pub fn held_bytes(&self) -> usize {
        self.words.held_bytes() + self.alternatives.held_bytes()
    }
}

/// The names of an entity's records, in runs.
pub(crate) struct NameRuns {
    current: RowNames,
    pub words: TextRuns,
    pub alternatives: TextRuns,
}

impl NameRuns {
    pub fn new(scratch: &Path) -> NameRuns {
        let (words, alternatives) = (TextRuns::new(scratch), TextRuns::new(scratch));
        NameRuns { current: RowNames::default(), words, alternatives }
    }

    /// Adds the names of the next rows.
    pub fn push(&mut self, names: &RowNames) {
        self.current.append(names);
    }

    /// Bytes in memory.
    pub fn held_bytes(&self) -> usize {
        self.current.held_bytes()
    }

    /// Writes the names in memory, all of one chunk, as runs.
    pub fn close_run(&mut self, chunk: u32) -> io::Result<()> {
        let NameRuns { current, words, alternatives } = self;
        let (words, alternatives) = parallel::join(
            || words.push(&mut current.words, chunk),
            || alternatives.push(&mut current.alternatives, chunk),
        );
        current.clear();
        words.and(alternatives)
    }
}

/// Runs of texts.
///
/// ```text
/// entry: length u32 | text | shared u32 | rows u32 | (low u16, mark u8) for each row
/// ```
///
/// `shared` counts the pairs of neighbouring words with the text as their common prefix.
pub(crate) struct TextRuns {
    spool: Spool,
    runs: Vec<TextRun>,
    /// The bytes of the spool, once they are merged.
    map: Option<Map>,
}

/// A run: the chunk of its rows, and its range in the spool.
struct TextRun {
    chunk: u32,
    from: usize,
    to: usize,
}

impl TextRuns {
    pub fn new(scratch: &Path) -> TextRuns {
        TextRuns { spool: Spool::new(scratch), runs: Vec::new(), map: None }
    }

    /// Writes the texts of rows of one chunk as a run. Leaves no texts.
    pub fn push(&mut self, texts: &mut Texts, chunk: u32) -> io::Result<()> {
        let from = self.spool.position();
        texts.encode().iter().try_for_each(|entries| self.spool.write_all(entries))?;
        let to = self.spool.position();
        if to > from {
            self.runs.push(TextRun { chunk, from, to });
        }
        texts.clear();
        Ok(())
    }

    /// Begins to merge the runs text by text.
    pub(super) fn merge(&mut self) -> io::Result<TextMerge<'_>> {
        let TextRuns { spool, map, runs, .. } = self;
        let spool = &**map.insert(spool.take_map()?);
        let runs = runs.iter().map(|run| (run.chunk, &spool[run.from..run.to]));
        Ok(TextMerge(Merge::new(runs, split_text)))
    }
}

/// A merge of runs text by text.
pub(super) struct TextMerge<'b>(Merge<'b, &'b [u8]>);

impl<'b> TextMerge<'b> {
    /// Merges the runs, and `old` with them, until the sink is full. Returns whether the last text has ended.
    pub fn run<S: TextSink, O: OldRun<&'b [u8], S>>(
        &mut self,
        old: Option<&mut O>,
        sink: &mut S,
    ) -> Result<bool, O::Error> {
        let take = |sink: &mut S, chunk, bytes: &'b [u8]| {
            let (pairs, bytes) = take_u32(bytes)?;
            sink.share(u64::from(pairs));
            let (count, bytes) = take_u32(bytes)?;
            let (rows, rest) = bytes.split_at_checked(count as usize * 3).ok_or_else(cut_short)?;
            for [low, high, mark] in rows.as_chunks::<3>().0 {
                let low = u32::from(u16::from_le_bytes([*low, *high]));
                sink.row(MarkedRow { row: chunk << 16 | low, mark: *mark });
            }
            Ok(rest)
        };
        let finish = |sink: &mut S, text: &'b [u8]| Ok(sink.end(text)?);
        self.0.run(old, sink, &mut Entries { split: split_text, take, finish }, S::is_full)
    }
}

/// A row of a text, and the mark of the part of its name.
#[derive(Clone, Copy)]
pub(super) struct MarkedRow {
    pub row: u32,
    pub mark: u8,
}

/// Takes texts in ascending order, each with its rows.
pub(super) trait TextSink {
    /// Adds a row of the current text. Rows ascend.
    fn row(&mut self, row: MarkedRow);

    /// Adds pairs of neighbouring words with the current text as their common prefix.
    fn share(&mut self, pairs: u64);

    /// Ends the current text.
    fn end(&mut self, text: &[u8]) -> io::Result<()>;

    /// Whether the merge stops after the current text.
    fn is_full(&self) -> bool {
        false
    }
}

fn cut_short() -> io::Error {
    io::Error::other("a run ends within an entry")
}

fn take_u32(bytes: &[u8]) -> io::Result<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut_short)?;
    Ok((u32::from_le_bytes(*number), rest))
}

/// Splits an entry after its text.
fn split_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
