//! The rows whose names hold words that begin so.

use crate::entity::{Entity, with_record};
use crate::index::dictionary::EntryRows;
use crate::query::clause::Side;
use crate::query::doc_set::Set;
use crate::query::intersection::Filter;
use crate::query::union::Union;
use crate::query::{AnswerError, Deadline};
use crate::record::gather::{Gather, Gathered, PathTree};
use crate::schema::keys::keys_of;
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;
use crate::text::fold::{WORD_BYTES_MAX, cut_word, fold, has_word};

/// Texts looked at between two looks at the clock.
const TEXTS_PER_LOOK: u32 = 4_096;
/// A byte that no text has, so that with it after a text, it comes after all that begin so.
const BEYOND: u8 = 0xff;

/// Words that are met at a time: what each holds, at most a bit a row, is held for no more of them.
const WORDS_MET: usize = 4;

/// The rows whose names hold, for each of these, a word that begins so; none of those withheld.
///
/// Cost: that of a filter. Where a word is longer than what is indexed, also that of reading the names of
/// all rows found by what is.
pub(crate) fn rows_of_words(
    snapshot: &Snapshot,
    entity: Entity,
    words: &[String],
    deadline: Deadline<'_>,
) -> Result<Set, AnswerError> {
    let rows = snapshot.count(entity);
    let mut met: Option<Set> = None;
    for words in by_rarity(snapshot, entity, words)?.chunks(WORDS_MET) {
        let mut sides: Vec<Side<'_>> = met.take().map(Set::into_side).into_iter().collect();
        for word in words {
            let mut union = Union::new(rows);
            add_rows(snapshot, entity, cut_word(word), deadline, &mut union)?;
            let atoms = union.into_atoms();
            if atoms.is_empty() {
                return Ok(Set::Few(Vec::new()));
            }
            sides.push(Side { is_negated: false, atoms, text: String::new() });
        }
        let filter = Filter::new(sides, rows).but(snapshot.suppressed().rows(entity));
        let set = Set::of(&filter, deadline)?;
        if set.count() == 0 {
            return Ok(set);
        }
        met = Some(set);
    }
    let met = met.unwrap_or(Set::Few(Vec::new()));
    let long: Vec<&str> = words.iter().map(String::as_str).filter(|word| is_long(word)).collect();
    if long.is_empty() {
        return Ok(met);
    }
    let ends = &keys_of(entity).ends;
    let names = keys_of(entity).tree.pruned(&|end| ends[*end].names.is_some());
    met.retain(|row| {
        deadline.check()?;
        Ok(holds(snapshot, entity, row, &names, &long)?)
    })
}

/// Whether no index holds all of a word.
pub(crate) fn is_long(word: &str) -> bool {
    word.len() > WORD_BYTES_MAX
}

/// Whether the names of a record, which are gathered by a tree, hold for each of these a word that begins
/// so. Cost: that of folding them.
fn holds(
    snapshot: &Snapshot,
    entity: Entity,
    row: u32,
    names: &PathTree,
    words: &[&str],
) -> Result<bool, ReadError> {
    let mut missed = words.to_vec();
    with_record!(entity, R => {
        if let Some(record) = snapshot.archived::<R>(row)? {
            record.gather(names, &mut |_, value| {
                if let Gathered::Text(name) = value
                    && !missed.is_empty()
                {
                    let name = fold(name);
                    missed.retain(|word| !has_word(&name, word));
                }
            });
        }
    });
    Ok(missed.is_empty())
}

/// The words that say something beside the others, those that few names have first.
fn by_rarity<'w>(
    snapshot: &Snapshot,
    entity: Entity,
    words: &'w [String],
) -> Result<Vec<&'w str>, ReadError> {
    let mut asked: Vec<&str> = words.iter().map(String::as_str).collect();
    asked.sort_unstable();
    // A word that another begins with says nothing more, and sorts just before such a one.
    asked.dedup_by(|next, word| {
        let is_said = next.starts_with(&**word);
        if is_said {
            *word = next;
        }
        is_said
    });
    let prefixes = snapshot.prefix_stats(entity)?;
    let mut counted = Vec::with_capacity(asked.len());
    for word in asked {
        // What has no answer has few rows.
        let count = prefixes.summary(word.as_bytes())?.map_or(0, |answer| answer.count);
        counted.push((count, word));
    }
    counted.sort_unstable();
    Ok(counted.into_iter().map(|(_, word)| word).collect())
}

/// Adds the rows whose names hold a word that begins so.
pub(super) fn add_rows<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    prefix: &str,
    deadline: Deadline<'_>,
    union: &mut Union<'s>,
) -> Result<(), AnswerError> {
    let prefix = prefix.as_bytes();
    let (words, prefixes) = (snapshot.words(entity)?, snapshot.prefix_stats(entity)?);
    let mut at = prefix.to_vec();
    let mut looked = 0u32;
    loop {
        deadline.check()?;
        // Up to the next longer prefix whose rows are there as a set, word by word.
        let set = prefixes.next_set(&at)?.filter(|(longer, _)| longer.starts_with(prefix));
        let mut texts = words.seek(&at)?;
        while let Some((word, rows)) = texts.current_with_prefix(prefix) {
            if set.as_ref().is_some_and(|(longer, _)| word >= longer.as_slice()) {
                break;
            }
            match rows {
                EntryRows::Inline(few) => few.each(|row, _| union.row(row))?,
                EntryRows::Postings(list) => union.list_or_rows(list)?,
            }
            looked += 1;
            if looked.is_multiple_of(TEXTS_PER_LOOK) {
                deadline.check()?;
            }
            texts.advance()?;
        }
        let Some((mut longer, list)) = set else { return Ok(()) };
        union.list_or_rows(list)?;
        longer.push(BEYOND);
        at = longer;
    }
}

/// Adds the rows whose names hold all of these words, or words that begin so.
pub(super) fn add_words<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    words: &[String],
    deadline: Deadline<'_>,
    union: &mut Union<'s>,
) -> Result<(), AnswerError> {
    if let [word] = words
        && !is_long(word)
    {
        return add_rows(snapshot, entity, word, deadline, union);
    }
    match rows_of_words(snapshot, entity, words, deadline)? {
        Set::Few(rows) => rows.into_iter().for_each(|row| union.row(row)),
        Set::Many(bits, _) => union.bits(bits),
        // No filter without sides was asked.
        Set::All(_) | Set::AllBut(..) => {
            return Err(ReadError::Internal(
                "a search for words matched a complemented set of rows",
            )
            .into());
        }
    }
    Ok(())
}
