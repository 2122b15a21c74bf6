//! Names, inverted as terms are: words and alternative names in sorted runs, one a chunk, merged
//! text by text into dictionaries.

use std::{
    io::{self, Write},
    path::Path,
};

use pinakes_format::{
    autocomplete::NamePart,
    blobs::Spool,
    dictionary::{DictionaryWriter, TextRows},
    file::{Header, Written},
    map::Map,
};
use rayon::slice::ParallelSliceMut;

use super::{beginnings::Beginnings, invert::merge};

/// Texts, each with the low half of a row whose names hold it.
#[derive(Default)]
pub(super) struct Texts {
    /// Their bytes, one after another.
    bytes: Vec<u8>,
    places: Vec<Place>,
}

/// A text and what is said of it.
#[derive(Clone, Copy)]
struct Place {
    from: usize,
    length: u32,
    low: u16,
    /// The row's mark; [`SHARED`] where the text is what two words of a row begin with.
    mark: u8,
}

/// Stands for a mark where there is no row.
const SHARED: u8 = u8::MAX;

impl Texts {
    fn push(&mut self, text: &[u8], low: u16, mark: u8) {
        // A text in memory is shorter than 4 GiB: so are the lines of dumps.
        self.places.push(Place { from: self.bytes.len(), length: text.len() as u32, low, mark });
        self.bytes.extend_from_slice(text);
    }

    fn text(&self, place: &Place) -> &[u8] {
        &self.bytes[place.from..][..place.length as usize]
    }

    /// Takes the texts of rows that come after its own.
    fn append(&mut self, other: &Texts) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.places
            .extend(other.places.iter().map(|place| Place { from: place.from + from, ..*place }));
    }

    fn held_bytes(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<Place>()
    }
}

/// The names of rows, taken apart.
#[derive(Default)]
pub(super) struct Names {
    pub words: Texts,
    pub alternatives: Texts,
    /// The words of the row under way.
    row: Vec<(String, NamePart)>,
}

impl Names {
    /// Adds a word of the row under way.
    pub fn word(&mut self, word: &str, part: NamePart) {
        self.row.push((word.to_owned(), part));
    }

    /// Adds an alternative name of a row, folded.
    pub fn alternative(&mut self, folded: &str, low: u16) {
        if !folded.is_empty() {
            self.alternatives.push(folded.as_bytes(), low, 0);
        }
    }

    /// Ends the row under way: each of its words counts once, as the best part it is.
    ///
    /// What two words one after another begin with is kept too: of the words that begin so, a row has
    /// as many as it has such pairs, and one. So the rows of a prefix are its postings less those.
    pub fn end_row(&mut self, low: u16) {
        self.row.sort_unstable();
        self.row.dedup_by(|next, first| next.0 == first.0);
        for [(first, _), (next, _)] in self.row.array_windows() {
            let shared = shared_bytes(first, next);
            if shared > 0 {
                self.words.push(&next.as_bytes()[..shared], low, SHARED);
            }
        }
        for (word, part) in self.row.drain(..) {
            self.words.push(word.as_bytes(), low, part as u8);
        }
    }

    /// Takes the names of rows that come after its own.
    pub fn append(&mut self, other: &Names) {
        self.words.append(&other.words);
        self.alternatives.append(&other.alternatives);
    }

    /// Bytes held.
    pub fn held_bytes(&self) -> usize {
        self.words.held_bytes() + self.alternatives.held_bytes()
    }
}

/// Bytes of the characters that two texts begin with.
pub(super) fn shared_bytes(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// The names of an entity's records in runs.
pub(super) struct NameRuns {
    held: Names,
    pub words: TextRuns,
    pub alternatives: TextRuns,
}

impl NameRuns {
    pub fn new(scratch: &Path) -> io::Result<NameRuns> {
        let (words, alternatives) = (TextRuns::new(scratch)?, TextRuns::new(scratch)?);
        Ok(NameRuns { held: Names::default(), words, alternatives })
    }

    /// Takes the names of rows that come after those before.
    pub fn push(&mut self, names: &Names) {
        self.held.append(names);
    }

    /// Bytes held.
    pub fn held_bytes(&self) -> usize {
        self.held.held_bytes()
    }

    /// Writes what is held, all of one chunk, as runs.
    pub fn close_run(&mut self, chunk: u32) -> io::Result<()> {
        let Names { words, alternatives, .. } = std::mem::take(&mut self.held);
        self.words.push(words, chunk)?;
        self.alternatives.push(alternatives, chunk)
    }
}

/// Runs of texts: each with its length before it, and after it how many pairs of words begin so, how
/// many rows hold it, and their low halves and marks.
pub(super) struct TextRuns {
    spool: Spool,
    position: usize,
    /// The chunk of each run, and where it lies.
    runs: Vec<(u32, usize, usize)>,
}

impl TextRuns {
    pub fn new(scratch: &Path) -> io::Result<TextRuns> {
        Ok(TextRuns { spool: Spool::new(scratch)?, position: 0, runs: Vec::new() })
    }

    /// Writes the texts of rows of one chunk as a run.
    pub fn push(&mut self, mut texts: Texts, chunk: u32) -> io::Result<()> {
        let mut places = std::mem::take(&mut texts.places);
        let key = |place: &Place| (place.low, place.mark);
        places.par_sort_unstable_by(|a, b| {
            texts.text(a).cmp(texts.text(b)).then_with(|| key(a).cmp(&key(b)))
        });
        let from = self.position;
        let mut entry = Vec::new();
        for group in places.chunk_by(|a, b| texts.text(a) == texts.text(b)) {
            let text = texts.text(&group[0]);
            entry.clear();
            entry.extend_from_slice(&(text.len() as u32).to_le_bytes());
            entry.extend_from_slice(text);
            let shared = group.iter().filter(|place| place.mark == SHARED).count();
            entry.extend_from_slice(&(shared as u32).to_le_bytes());
            let counted_at = entry.len();
            entry.extend_from_slice(&[0; 4]);
            let mut count = 0u32;
            let mut last = None;
            // A row that has a text twice has it as the better part, which comes first.
            for place in group.iter().filter(|place| place.mark != SHARED) {
                if last.replace(place.low) != Some(place.low) {
                    count += 1;
                    entry.extend_from_slice(&place.low.to_le_bytes());
                    entry.push(place.mark);
                }
            }
            entry[counted_at..][..4].copy_from_slice(&count.to_le_bytes());
            self.spool.write_all(&entry)?;
            self.position += entry.len();
        }
        if self.position > from {
            self.runs.push((chunk, from, self.position));
        }
        Ok(())
    }

    /// Merges the runs text by text.
    fn merge<S>(
        &mut self,
        state: &mut S,
        mut row: impl FnMut(&mut S, u32, u8) -> io::Result<()>,
        mut end: impl FnMut(&mut S, &[u8], u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let spool = Map::open(&self.spool.take_file()?)?;
        let runs = self.runs.iter().map(|(chunk, from, to)| (*chunk, &spool[*from..*to]));
        merge(
            runs,
            split_text,
            &mut (state, 0),
            |(state, shared), chunk, bytes| {
                let (more, bytes) = take_u32(bytes)?;
                *shared += u64::from(more);
                let (count, bytes) = take_u32(bytes)?;
                let (rows, rest) = bytes.split_at_checked(count as usize * 3).ok_or_else(cut)?;
                for [low, high, mark] in rows.as_chunks::<3>().0 {
                    let low = u32::from(u16::from_le_bytes([*low, *high]));
                    row(state, chunk << 16 | low, *mark)?;
                }
                Ok(rest)
            },
            |(state, shared), text| end(state, text, std::mem::take(shared)),
        )
    }
}

fn cut() -> io::Error {
    io::Error::other("a run ends within an entry")
}

fn take_u32(bytes: &[u8]) -> io::Result<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    Ok((u32::from_le_bytes(*number), rest))
}

/// Takes a text off an entry.
fn split_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// Writes the dictionary of alternative names.
pub(super) fn write_alternatives(
    mut runs: TextRuns,
    path: &Path,
    header: Header,
) -> io::Result<Written> {
    let mut filling = (DictionaryWriter::create(path, header)?, TextRows::default());
    runs.merge(
        &mut filling,
        |(_, rows), row, mark| {
            rows.push(row, mark);
            Ok(())
        },
        |(writer, rows), text, _| writer.push(text, rows),
    )?;
    filling.0.finish()
}

/// Writes the dictionary of words, and gathers what is to be known of their beginnings.
pub(super) fn write_words(
    mut runs: TextRuns,
    path: &Path,
    header: Header,
    beginnings: &mut Beginnings<'_>,
) -> io::Result<Written> {
    let writer = DictionaryWriter::create(path, header)?;
    let mut filling = (writer, TextRows::default(), beginnings);
    runs.merge(
        &mut filling,
        |(_, rows, beginnings), row, mark| {
            rows.push(row, mark);
            beginnings.row(row, NamePart::of_mark(mark))
        },
        |(writer, rows, beginnings), word, shared| {
            beginnings.end_word(word, shared)?;
            // What two words begin with may be no word itself.
            if rows.count() > 0 { writer.push(word, rows) } else { Ok(()) }
        },
    )?;
    filling.0.finish()
}
