//! Finds the rows whose names hold given words, each as a whole word or as a prefix of one.
//!
//! Example, `search=smi joh`: the prefix with fewer names, here `joh`, comes first. `joh` is the union
//! of the posting lists of `joh`, `johan`, `john`, and so on. The union is intersected with that of
//! `smi`.

use crate::entity::{Entity, with_record};
use crate::index::dictionary::EntryRows;
use crate::index::doc_set::DocSet;
use crate::index::postings::Postings;
use crate::index::term_lists::{TermListsFile, text_term};
use crate::query::rows::clause::Clause;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::query::rows::union::Union;
use crate::record::{Gather, Gathered, PathTree};
use crate::schema::keys_of;
use crate::snapshot::Snapshot;
use crate::storage::ReadError;
use crate::text::fold::{WORD_BYTES_MAX, cut_word, fold, has_word};

/// Dictionary words read between two checks of the deadline.
const WORDS_PER_CHECK: u32 = 4_096;
/// A byte that UTF-8 never has. A text followed by this byte sorts after every longer text.
const AFTER_EVERY_TEXT: u8 = 0xff;

/// Words whose rows are intersected together. Each word may hold a bitmap, so this bounds memory.
const WORDS_PER_INTERSECTION: usize = 4;

/// Finds the rows whose names hold each of the words as a prefix, without suppressed rows.
///
/// Cost: that of a filter with one clause a word. With a word longer than the index keeps, also
/// folding the names of all rows that match the indexed part.
pub(crate) fn rows_of_words(
    snapshot: &Snapshot,
    entity: Entity,
    words: &[String],
    deadline: Deadline<'_>,
) -> Result<DocSet, QueryError> {
    let rows = snapshot.count(entity);
    let mut found: Option<DocSet> = None;
    // Rare words first: their set is small, and bounds the work for the frequent ones.
    for words in sort_by_rarity(snapshot, entity, words)?.chunks(WORDS_PER_INTERSECTION) {
        let mut clauses: Vec<Clause<'_>> =
            found.take().map(DocSet::into_clause).into_iter().collect();
        for word in words {
            let mut union = Union::new(rows);
            let added = add_prefix(snapshot, entity, cut_word(word), deadline, &mut union);
            let is_read = snapshot.or_noted(added.map(|()| true))?;
            let leaves = union.into_leaves();
            if !is_read {
                continue;
            }
            if leaves.is_empty() {
                return Ok(DocSet::Sorted(Vec::new()));
            }
            clauses.push(Clause::internal(leaves));
        }
        let suppressed = snapshot.suppressed().rows(entity);
        let matches = Intersection::new(clauses, rows).without(suppressed);
        let set = DocSet::from_intersection(&matches, deadline)?;
        if set.count() == 0 {
            return Ok(set);
        }
        found = Some(set);
    }
    let found = found.unwrap_or(DocSet::Sorted(Vec::new()));
    // The index keeps the beginning of a long word alone, so the names themselves decide.
    let long: Vec<&str> = words.iter().map(String::as_str).filter(|word| is_long(word)).collect();
    if long.is_empty() {
        return Ok(found);
    }
    let ends = &keys_of(entity).ends;
    let names = keys_of(entity).tree.pruned(&|end| ends[*end].names.is_some());
    found.retain(|row| {
        deadline.check()?;
        Ok(names_hold(snapshot, entity, row, &names, &long)?)
    })
}

/// Finds the ascending rows that posting lists of prefixes have for each of the words.
///
/// Cost: the rows of each word.
pub(crate) fn rows_of_prefixes(
    file: &TermListsFile,
    lists: usize,
    words: &[String],
) -> Result<Vec<u32>, ReadError> {
    let mut of_words = Vec::with_capacity(words.len());
    let mut lacking = Ok(());
    for word in words {
        match file.find(lists, text_term(cut_word(word))) {
            Ok(Some(list)) => of_words.push(list),
            Ok(None) => return Ok(Vec::new()),
            // An attempt notes what all words lack, not only the first.
            Err(error) if file.notes_failures() => lacking = Err(error),
            Err(error) => return Err(error),
        }
    }
    lacking?;
    // The shortest list bounds the result.
    of_words.sort_unstable_by_key(Postings::count);
    let mut found: Option<Vec<u32>> = None;
    for list in of_words {
        let mut rows = Vec::new();
        let mut known = found.as_deref();
        list.each(|row| {
            if let Some(rest) = known {
                let at = rest.partition_point(|known| *known < row);
                known = Some(&rest[at..]);
                if rest.get(at) != Some(&row) {
                    return at < rest.len();
                }
            }
            rows.push(row);
            true
        })?;
        found = Some(rows);
    }
    Ok(found.unwrap_or_default())
}

/// Whether a word is longer than the index keeps.
pub(crate) fn is_long(word: &str) -> bool {
    word.len() > WORD_BYTES_MAX
}

/// Whether the names of a record hold each of the words as a prefix.
fn names_hold(
    snapshot: &Snapshot,
    entity: Entity,
    row: u32,
    names: &PathTree,
    words: &[&str],
) -> Result<bool, ReadError> {
    let mut missing = words.to_vec();
    with_record!(entity, R => {
        if let Some(mut from) = snapshot.reader(entity, row)? {
            R::gather(&mut from, names, &mut |_, value| {
                if let Gathered::Text(name) = value
                    && !missing.is_empty()
                {
                    let name = fold(name);
                    missing.retain(|word| !has_word(&name, word));
                }
            })?;
        }
    });
    Ok(missing.is_empty())
}

/// Drops words that are prefixes of another, and sorts the rest by the number of names, fewest first.
fn sort_by_rarity<'w>(
    snapshot: &Snapshot,
    entity: Entity,
    words: &'w [String],
) -> Result<Vec<&'w str>, ReadError> {
    let mut distinct: Vec<&str> = words.iter().map(String::as_str).collect();
    distinct.sort_unstable();
    // A prefix sorts just before the longer words, and every name with a longer word also matches it.
    distinct.dedup_by(|next, word| {
        let is_implied = next.starts_with(&**word);
        if is_implied {
            *word = next;
        }
        is_implied
    });
    let statistics = snapshot.prefix_stats(entity)?;
    let mut counted = Vec::with_capacity(distinct.len());
    for word in distinct {
        // A prefix without statistics has few rows.
        let summary = snapshot.or_noted(statistics.summary(word.as_bytes()))?;
        let count = summary.map_or(0, |answer| answer.count);
        counted.push((count, word));
    }
    counted.sort_unstable();
    Ok(counted.into_iter().map(|(_, word)| word).collect())
}

/// Adds the rows whose names hold a word with this prefix.
pub(in crate::query) fn add_prefix<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    prefix: &str,
    deadline: Deadline<'_>,
    union: &mut Union<'s>,
) -> Result<(), QueryError> {
    let prefix = prefix.as_bytes();
    let (words, statistics) = (snapshot.words(entity)?, snapshot.prefix_stats(entity)?);
    let mut from = prefix.to_vec();
    let mut words_read = 0u32;
    loop {
        deadline.check()?;
        // Words are added one by one up to the next longer prefix with a precomputed posting list.
        // Both are looked up before either is needed: an attempt notes what both lack.
        let (precomputed, texts) = (statistics.next_set(&from), words.seek(&from));
        let precomputed = precomputed?.filter(|(longer, _)| longer.starts_with(prefix));
        let mut texts = texts?;
        while let Some((word, rows)) = texts.current_with_prefix(prefix) {
            if precomputed.as_ref().is_some_and(|(longer, _)| word >= longer.as_slice()) {
                break;
            }
            match rows {
                EntryRows::Inline(few) => few.each(|row, _| union.add_row(row))?,
                EntryRows::Postings(list) => union.add_list_rows(list)?,
            }
            words_read += 1;
            if words_read.is_multiple_of(WORDS_PER_CHECK) {
                deadline.check()?;
            }
            texts.advance()?;
        }
        let Some((mut longer, list)) = precomputed else { return Ok(()) };
        union.add_list_rows(list)?;
        longer.push(AFTER_EVERY_TEXT);
        from = longer;
    }
}

/// Adds the rows whose names hold each of the words as a prefix.
pub(in crate::query) fn add_words<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    words: &[String],
    deadline: Deadline<'_>,
    union: &mut Union<'s>,
) -> Result<(), QueryError> {
    if let [word] = words
        && !is_long(word)
    {
        return add_prefix(snapshot, entity, word, deadline, union);
    }
    union.add_set(rows_of_words(snapshot, entity, words, deadline)?)?;
    Ok(())
}
