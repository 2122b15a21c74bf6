//! Finds the rows whose names share the rarest words with an affiliation.

use std::ops::Range;

use hashbrown::HashMap;

use crate::autocomplete::rows_of_name;
use crate::entity::Entity;
use crate::index::dictionary::{Dictionary, EntryRows};
use crate::matching::institutions::BITS_PLACED;
use crate::matching::institutions::affiliation::{Affiliation, Token};
use crate::matching::institutions::vocabulary::{DEPARTMENTS, names_of_city};
use crate::matching::outputs::best_first;
use crate::query::{Deadline, QueryError};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;
use crate::text::fold::fold;

/// Words of a segment from which on parts of it are windows too, and the words of a part.
const LONG_SEGMENT: usize = 6;
const PART_WORDS: usize = 4;
/// Organisations that a whole registry has.
const ALL_ORGANISATIONS: f64 = 100_000.0;
/// Bits of a rare word of a few records: enough for a whole name.
const BITS_FEW: f64 = 10.5;
/// Rows of a word from which on the rows of other words are looked up among them.
const FEW_ROWS: u32 = 1_000;
/// Greatest number of rows of a word that is read.
const MANY_ROWS: usize = 10_000;
/// Rows of a window's rarest words that are read.
const WINDOW_ROWS: usize = 300;
/// Rows of a window that are looked up in the lists of its other words.
const WINDOW_LOOKED_UP: usize = 300;
/// Rows of a window whose own names are compared with the words of the text.
const WINDOW_NAMES: usize = 100;
/// Penalty in bits for a word of the own name that the text lacks.
const BITS_LACKING: f32 = 2.0;
/// Records of a window that are read.
const WINDOW_READ: usize = 8;

/// A row, and the bits of the words that it shares with a window.
type RowBits = (u32, f32);

/// The rows of a word of the text.
#[derive(Default)]
enum WordRows<'s> {
    #[default]
    None,
    /// Ascending.
    Few(Vec<u32>),
    Many(EntryRows<'s>),
}

impl WordRows<'_> {
    fn count(&self) -> usize {
        match self {
            WordRows::None => 0,
            WordRows::Few(rows) => rows.len(),
            WordRows::Many(rows) => rows.count() as usize,
        }
    }

    fn each(&self, mut visit: impl FnMut(u32)) -> Result<(), ReadError> {
        match self {
            WordRows::None => Ok(()),
            WordRows::Few(rows) => {
                rows.iter().copied().for_each(visit);
                Ok(())
            }
            WordRows::Many(rows) => rows.each(&mut visit),
        }
    }

    fn has(&self, row: u32) -> Result<bool, ReadError> {
        match self {
            WordRows::None => Ok(false),
            WordRows::Few(rows) => Ok(rows.binary_search(&row).is_ok()),
            WordRows::Many(EntryRows::Postings(list)) => {
                Ok(list.view(row >> 16)?.contains(row as u16))
            }
            WordRows::Many(EntryRows::Inline(_)) => Ok(false),
        }
    }
}

/// How much a word of some records tells, in bits. A few records do not show how rare a word is among all organisations: a
/// word of one record is taken for one of [`ALL_ORGANISATIONS`], a word of several for less, and none for more than
/// [`BITS_FEW`].
///
/// ```text
/// records   a word of 1   of 2   of 50
/// 100000    16.6          15.6   11.0
/// 100       10.5          10.5    1.2
/// ```
fn bits_of(count: f64, records: f64) -> f32 {
    let seen = (records / count).log2();
    let unseen = (ALL_ORGANISATIONS / records).log2().max(0.0) / count;
    (seen + unseen).min(BITS_FEW).max(seen).max(0.1) as f32
}

/// The words of an affiliation, each looked up once.
struct Words<'s> {
    rows: Vec<WordRows<'s>>,
    /// By token: the place of its word in `rows`.
    places: Vec<usize>,
    /// By token: how rare its word is.
    bits: Vec<f32>,
}

impl<'s> Words<'s> {
    fn look_up(snapshot: &'s Snapshot, affiliation: &Affiliation) -> Result<Words<'s>, QueryError> {
        let dictionary = snapshot.words(Entity::Institution)?;
        let all = f64::from(snapshot.count(Entity::Institution).max(1));
        let tokens = &affiliation.tokens;
        let (rows, places) = (Vec::with_capacity(tokens.len()), Vec::with_capacity(tokens.len()));
        let mut words = Words { rows, places, bits: vec![0.0; tokens.len()] };
        let mut known: HashMap<&str, usize> = HashMap::new();
        for (at, token) in tokens.iter().enumerate() {
            if let Some(first) = known.get(token.word.text.as_str()) {
                words.bits[at] = words.bits[*first];
                words.places.push(words.places[*first]);
                continue;
            }
            let rows = snapshot.or_noted(rows_of_token(dictionary, token))?;
            if rows.count() > 0 {
                words.bits[at] = bits_of(rows.count() as f64, all);
            }
            known.insert(&token.word.text, at);
            words.places.push(words.rows.len());
            words.rows.push(rows);
        }
        Ok(words)
    }

    fn of(&self, token: usize) -> &WordRows<'s> {
        &self.rows[self.places[token]]
    }

    /// The tokens of a window that stand in names, each word once, the rarest first.
    fn rarest_first(&self, window: Range<usize>) -> Vec<usize> {
        let mut tokens: Vec<usize> = Vec::with_capacity(window.len());
        for at in window {
            if tokens.iter().all(|known| self.places[*known] != self.places[at])
                && self.bits[at] > 0.0
            {
                tokens.push(at);
            }
        }
        tokens.sort_by(|a, b| self.bits[*b].total_cmp(&self.bits[*a]));
        tokens
    }
}

/// The rows of a word. Looks a replaced word up as it stands, too, and a city by all its names. Of a word in many rows, these
/// alone are looked up.
fn rows_of_token<'s>(dictionary: &'s Dictionary, token: &Token) -> Result<WordRows<'s>, ReadError> {
    let (text, folded) = (token.word.text.as_str(), token.folded.as_str());
    let names = names_of_city(text);
    let others = names.iter().copied().filter(|name| *name != text);
    let folded = Some(folded).filter(|folded| !names.contains(folded) && *folded != text);
    let mut few = Vec::new();
    for text in [text].into_iter().chain(folded).chain(others) {
        let cursor = dictionary.seek(text.as_bytes())?;
        match cursor.current().filter(|(found, _)| *found == text.as_bytes()) {
            Some((_, EntryRows::Postings(list))) if list.count() > FEW_ROWS => {
                return Ok(WordRows::Many(EntryRows::Postings(list)));
            }
            Some((_, rows)) => rows.each(|row| few.push(row))?,
            None => {}
        }
    }
    few.sort_unstable();
    few.dedup();
    Ok(if few.is_empty() { WordRows::None } else { WordRows::Few(few) })
}

/// The rows whose names share most with a segment, or with two neighbours, and the bits of each word of the text.
pub(super) fn rows(
    snapshot: &Snapshot,
    affiliation: &Affiliation,
    deadline: Deadline<'_>,
) -> Result<(Vec<u32>, Vec<f32>), QueryError> {
    let words = Words::look_up(snapshot, affiliation)?;
    let tokens = &affiliation.tokens;
    let segments = tokens.last().map_or(0, |last| last.segment + 1);
    let mut found: Vec<u32> = Vec::new();
    // Segments of common words alone: more rows than are compared have them.
    let mut crowded: Vec<usize> = Vec::new();
    // By row: the words of the own name that the text lacks. Windows share rows.
    let mut lacking: HashMap<u32, usize> = HashMap::new();
    for (from, to) in windows(affiliation, segments) {
        let window = words.rarest_first(from..to);
        let (read, others) = read_rarest(snapshot, &words, &window)?;
        let is_empty = read.is_empty() && !window.is_empty();
        if is_empty || read.len() > WINDOW_LOOKED_UP {
            crowded.push(tokens[from].segment);
        }
        let mut best = best_of_window(snapshot, &words, read, others)?;
        if best.len() > WINDOW_READ {
            best = by_own_names(snapshot, affiliation, best, &mut lacking)?;
        }
        best_first(&mut best, WINDOW_READ);
        found.extend(best.into_iter().map(|(row, _)| row));
    }
    add_named(snapshot, affiliation, &crowded, deadline, &mut found)?;
    found.sort_unstable();
    found.dedup();
    Ok((found, words.bits))
}

/// Reads the rows of a window's rarest words, each with the bits of the word. Returns also the words that were not read.
fn read_rarest<'w>(
    snapshot: &Snapshot,
    words: &Words<'_>,
    window: &'w [usize],
) -> Result<(Vec<RowBits>, &'w [usize]), QueryError> {
    let mut read: Vec<RowBits> = Vec::new();
    let mut others = window;
    while let Some((at, rest)) = others.split_first() {
        let count = words.of(*at).count();
        if !read.is_empty() && read.len() + count > WINDOW_ROWS || count > MANY_ROWS {
            break;
        }
        let each = words.of(*at).each(|row| read.push((row, words.bits[*at])));
        snapshot.or_noted(each)?;
        others = rest;
    }
    Ok((read, others))
}

/// The rows that were read and have the most bits, those of the other words included.
fn best_of_window(
    snapshot: &Snapshot,
    words: &Words<'_>,
    mut read: Vec<RowBits>,
    others: &[usize],
) -> Result<Vec<RowBits>, QueryError> {
    keep_common(&mut read, others.first().map(|at| words.of(*at)), snapshot)?;
    read.sort_unstable_by_key(|(row, _)| *row);
    let mut best: Vec<RowBits> = Vec::with_capacity(read.len());
    for (row, bits) in &read {
        match best.last_mut() {
            Some((last, sum)) if last == row => *sum += bits,
            _ => best.push((*row, *bits)),
        }
    }
    best_first(&mut best, WINDOW_LOOKED_UP);
    for at in others {
        for (row, sum) in &mut best {
            let has = snapshot.or_noted(words.of(*at).has(*row))?;
            *sum += if has { words.bits[*at] } else { 0.0 };
        }
    }
    best.retain(|(row, sum)| {
        *sum >= BITS_PLACED && !snapshot.suppressed().has(Entity::Institution, *row)
    });
    Ok(best)
}

/// The best rows of a window after a penalty for the words of their own names that the text lacks.
fn by_own_names(
    snapshot: &Snapshot,
    affiliation: &Affiliation,
    mut best: Vec<RowBits>,
    lacking: &mut HashMap<u32, usize>,
) -> Result<Vec<RowBits>, QueryError> {
    best_first(&mut best, WINDOW_NAMES);
    let mut kept: Vec<RowBits> = Vec::with_capacity(WINDOW_READ + 1);
    for (row, sum) in best {
        // Later rows have no more bits before the penalty.
        if kept.get(WINDOW_READ - 1).is_some_and(|(_, least)| *least > sum) {
            break;
        }
        let words = match lacking.get(&row) {
            Some(words) => *words,
            None => {
                let name = snapshot.row_name(Entity::Institution, row);
                let name = snapshot.or_noted(name)?.unwrap_or_default();
                let words = affiliation.lacks(&fold(name)).0;
                lacking.insert(row, words);
                words
            }
        };
        kept.push((row, sum - BITS_LACKING * words as f32));
        best_first(&mut kept, WINDOW_READ);
    }
    Ok(kept)
}

/// Keeps the rows that another word has too, if many rows of common words were read: `national research centre` has no rare one.
fn keep_common(
    read: &mut Vec<RowBits>,
    other: Option<&WordRows<'_>>,
    snapshot: &Snapshot,
) -> Result<(), QueryError> {
    let Some(other) = other.filter(|_| read.len() > WINDOW_LOOKED_UP) else { return Ok(()) };
    let mut kept = Vec::new();
    for (row, bits) in read.iter().copied() {
        if snapshot.or_noted(other.has(row))? {
            kept.push((row, bits));
        }
    }
    if !kept.is_empty() {
        *read = kept;
    }
    Ok(())
}

/// The rows whose own name is a whole segment that begins as a department does: `department of health and social care`.
pub(super) fn named_as_departments(
    snapshot: &Snapshot,
    affiliation: &Affiliation,
    deadline: Deadline<'_>,
) -> Result<Vec<u32>, QueryError> {
    let mut found = Vec::new();
    for (segment, _) in &affiliation.segments {
        let first = segment.split(' ').next().unwrap_or_default();
        if DEPARTMENTS.contains(&first) {
            found.extend(rows_named(snapshot, segment, deadline)?);
        }
    }
    found.retain(|row| !snapshot.suppressed().has(Entity::Institution, *row));
    Ok(found)
}

/// The rows whose own name is a segment.
fn rows_named(
    snapshot: &Snapshot,
    segment: &str,
    deadline: Deadline<'_>,
) -> Result<Vec<u32>, QueryError> {
    let named = rows_of_name(snapshot, Entity::Institution, segment, WINDOW_READ, deadline);
    snapshot.or_noted(named)
}

/// Adds the rows of which an alternative name is a whole segment, or the own name a segment of common words.
fn add_named(
    snapshot: &Snapshot,
    affiliation: &Affiliation,
    crowded: &[usize],
    deadline: Deadline<'_>,
    found: &mut Vec<u32>,
) -> Result<(), QueryError> {
    for (segment, number) in affiliation.segments.iter().filter(|(text, _)| text.contains(' ')) {
        if crowded.contains(number) {
            found.extend(rows_named(snapshot, segment, deadline)?);
        }
        found.extend(rows_otherwise_named(snapshot, segment)?);
    }
    found.retain(|row| !snapshot.suppressed().has(Entity::Institution, *row));
    Ok(())
}

/// The rows with a segment as an alternative name.
fn rows_otherwise_named(snapshot: &Snapshot, segment: &str) -> Result<Vec<u32>, QueryError> {
    let mut found = Vec::new();
    let mut read = || -> Result<(), ReadError> {
        let Some(alternatives) = snapshot.alternatives(Entity::Institution)? else {
            return Ok(());
        };
        let cursor = alternatives.seek(segment.as_bytes())?;
        let entry = cursor.current().filter(|(text, _)| *text == segment.as_bytes());
        entry.map_or(Ok(()), |(_, rows)| rows.each(|row| found.push(row)))
    };
    let read = read();
    snapshot.or_noted(read)?;
    Ok(found)
}

/// The rows with a whole segment as a name, if the snapshot has a part of all organisations: the name may be that of another
/// one, of which a part of the name is this one's. `None` of a snapshot with a whole registry.
pub(super) fn rows_of_whole_segments(
    snapshot: &Snapshot,
    affiliation: &Affiliation,
    deadline: Deadline<'_>,
) -> Result<Option<Vec<u32>>, QueryError> {
    if f64::from(snapshot.count(Entity::Institution)) >= ALL_ORGANISATIONS {
        return Ok(None);
    }
    let mut found = Vec::new();
    for (segment, _) in &affiliation.segments {
        found.extend(rows_named(snapshot, segment, deadline)?);
        found.extend(rows_otherwise_named(snapshot, segment)?);
    }
    Ok(Some(found))
}

/// The tokens of each segment, of each two neighbours, and of the parts of a long segment.
fn windows(affiliation: &Affiliation, segments: usize) -> Vec<(usize, usize)> {
    let tokens = &affiliation.tokens;
    let mut windows = Vec::new();
    let place_of = |segment: usize| tokens.partition_point(|token| token.segment < segment);
    for segment in 0..segments {
        let (from, to, next) = (place_of(segment), place_of(segment + 1), place_of(segment + 2));
        if from == to {
            continue;
        }
        // A department is no institution, unless the segment goes on with its name.
        let is_department = DEPARTMENTS.contains(&tokens[from].word.text.as_str())
            && !affiliation.is_ministry(tokens[from].segment);
        if is_department && to - from <= PART_WORDS {
            continue;
        }
        windows.push((from, to));
        if to < next {
            windows.push((from, next));
        }
        if to - from >= LONG_SEGMENT {
            windows.extend((from..=to - PART_WORDS).map(|at| (at, at + PART_WORDS)));
        }
    }
    windows
}
