//! Names, inverted as terms are: words and alternative names in sorted runs, one a chunk, merged
//! text by text into dictionaries.

use std::{
    cmp::Ordering,
    io::{self, Write},
    path::Path,
};

use pinakes_format::autocomplete::{ALTERNATIVE_BYTES_MAX, NamePart};
use pinakes_format::index::dictionary::{DictionaryWriter, RowsBuilder};
use pinakes_format::schema::keys;
use pinakes_format::storage::blobs::Spool;
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::Header;
use pinakes_format::text::fold::{cut, shared_bytes, words};
use rayon::slice::ParallelSliceMut;

use crate::link::index::prefix_stats::Beginnings;
use crate::link::index::runs::merge;
use crate::link::index::value::head;

/// Texts, each with the low half of a row whose names hold it.
#[derive(Default)]
pub(crate) struct Texts {
    /// What the texts are parts of, one name after another.
    names: String,
    places: Vec<Place>,
}

/// A text and what is said of it.
#[derive(Clone, Copy)]
struct Place {
    /// What it begins with.
    head: u64,
    from: usize,
    length: u32,
    low: u16,
    /// The row's mark; [`SHARED`] where the text is what two words of a row begin with.
    mark: u8,
}

/// Stands for a mark where there is no row.
const SHARED: u8 = u8::MAX;

impl Texts {
    /// Adds a name; where it begins.
    fn name(&mut self, name: &str) -> usize {
        let from = self.names.len();
        self.names.push_str(name);
        from
    }

    fn compare(&self, a: &Place, b: &Place) -> Ordering {
        a.head.cmp(&b.head).then_with(|| match a.length.max(b.length) {
            // The heads are all there is.
            0..=8 => Ordering::Equal,
            _ => self.text(a).cmp(self.text(b)),
        })
    }

    fn is_same(&self, a: &Place, b: &Place) -> bool {
        self.compare(a, b).is_eq()
    }

    fn text(&self, place: &Place) -> &str {
        &self.names[place.from..][..place.length as usize]
    }

    /// Takes the texts of rows that come after its own.
    fn append(&mut self, other: &Texts) {
        let from = self.name(&other.names);
        let moved = other.places.iter().map(|place| Place { from: place.from + from, ..*place });
        self.places.extend(moved);
    }

    fn held_bytes(&self) -> usize {
        self.names.len() + self.places.len() * size_of::<Place>()
    }
}

/// The names of rows, taken apart.
#[derive(Default)]
pub(crate) struct Names {
    words: Texts,
    alternatives: Texts,
    /// The words of the row under way.
    row: Vec<Place>,
}

impl Names {
    /// Adds a name of the row under way, folded.
    pub fn name(&mut self, names: keys::Names, folded: &str, low: u16) {
        if names == keys::Names::Alternative && !folded.is_empty() {
            let name = cut(folded, ALTERNATIVE_BYTES_MAX);
            let from = self.alternatives.name(name);
            // A text in memory is shorter than 4 GiB: so are the lines of dumps.
            let length = name.len() as u32;
            let place = Place { head: head(name.as_bytes()), from, length, low, mark: 0 };
            self.alternatives.places.push(place);
        }
        let from = self.words.name(folded);
        for (at, word) in words(folded).enumerate() {
            let part = match names {
                _ if at > 0 => NamePart::Other,
                keys::Names::Own if word == folded => NamePart::Whole,
                keys::Names::Own => NamePart::First,
                keys::Names::Alternative => NamePart::FirstOfAlternative,
            };
            // Words are parts of the name, and of unspaced scripts overlap: none is copied.
            let within = word.as_ptr() as usize - folded.as_ptr() as usize;
            let length = word.len() as u32;
            let head = head(word.as_bytes());
            self.row.push(Place { head, from: from + within, length, low, mark: part as u8 });
        }
    }

    /// Ends the row under way: each of its words counts once, as the best part it is.
    ///
    /// What two words one after another begin with is kept too: of the words that begin so, a row has
    /// as many as it has such pairs, and one. So the rows of a prefix are its postings less those.
    pub fn end_row(&mut self) {
        let Names { words, row, .. } = self;
        row.sort_unstable_by(|a, b| words.compare(a, b).then(a.mark.cmp(&b.mark)));
        row.dedup_by(|next, first| words.is_same(next, first));
        let mut shared = Vec::new();
        for [first, next] in row.array_windows() {
            let length = shared_bytes(words.text(first), words.text(next)) as u32;
            if length > 0 {
                let head = head(&words.text(next).as_bytes()[..length as usize]);
                shared.push(Place { head, length, mark: SHARED, ..*next });
            }
        }
        words.places.append(&mut shared);
        words.places.append(row);
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

/// The names of an entity's records in runs.
pub(crate) struct NameRuns {
    held: Names,
    pub words: TextRuns,
    pub alternatives: TextRuns,
}

impl NameRuns {
    pub fn new(scratch: &Path) -> NameRuns {
        let (words, alternatives) = (TextRuns::new(scratch), TextRuns::new(scratch));
        NameRuns { held: Names::default(), words, alternatives }
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
pub(crate) struct TextRuns {
    spool: Spool,
    position: usize,
    /// The chunk of each run, and where it lies.
    runs: Vec<(u32, usize, usize)>,
}

impl TextRuns {
    pub fn new(scratch: &Path) -> TextRuns {
        TextRuns { spool: Spool::new(scratch), position: 0, runs: Vec::new() }
    }

    /// Writes the texts of rows of one chunk as a run.
    pub fn push(&mut self, mut texts: Texts, chunk: u32) -> io::Result<()> {
        let mut places = std::mem::take(&mut texts.places);
        let key = |place: &Place| (place.low, place.mark);
        places.par_sort_unstable_by(|a, b| texts.compare(a, b).then_with(|| key(a).cmp(&key(b))));
        let from = self.position;
        let mut entry = Vec::new();
        for group in places.chunk_by(|a, b| texts.is_same(a, b)) {
            let text = texts.text(&group[0]);
            entry.clear();
            entry.extend_from_slice(&(text.len() as u32).to_le_bytes());
            entry.extend_from_slice(text.as_bytes());
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
        let spool = self.spool.take_map()?;
        let runs = self.runs.iter().map(|(chunk, from, to)| (*chunk, &spool[*from..*to]));
        merge(
            runs,
            split_text,
            &mut (state, 0),
            |(state, shared), chunk, bytes| {
                let (more, bytes) = take_u32(bytes)?;
                *shared += u64::from(more);
                let (count, bytes) = take_u32(bytes)?;
                let (rows, rest) =
                    bytes.split_at_checked(count as usize * 3).ok_or_else(cut_short)?;
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

fn cut_short() -> io::Error {
    io::Error::other("a run ends within an entry")
}

fn take_u32(bytes: &[u8]) -> io::Result<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut_short)?;
    Ok((u32::from_le_bytes(*number), rest))
}

/// Takes a text off an entry.
fn split_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// Writes the dictionary of alternative names.
pub(crate) fn write_alternatives(
    mut runs: TextRuns,
    path: &Path,
    header: Header,
) -> io::Result<Written> {
    let mut filling = (DictionaryWriter::create(path, header)?, RowsBuilder::default());
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
pub(crate) fn write_words(
    mut runs: TextRuns,
    path: &Path,
    header: Header,
    beginnings: &mut Beginnings<'_>,
) -> io::Result<Written> {
    let writer = DictionaryWriter::create(path, header)?;
    let mut filling = (writer, RowsBuilder::default(), beginnings);
    runs.merge(
        &mut filling,
        |(_, rows, beginnings), row, mark| {
            rows.push(row, mark);
            beginnings.row(row, NamePart::from_mark(mark))
        },
        |(writer, rows, beginnings), word, shared| {
            beginnings.end_word(word, shared)?;
            // What two words begin with may be no word itself.
            if rows.count() > 0 { writer.push(word, rows) } else { Ok(()) }
        },
    )?;
    filling.0.finish()
}
