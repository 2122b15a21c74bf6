//! The rows whose names hold words that begin so.

use super::{AnswerError, Deadline, matches::Filter, set::Set, side::Side, union::Union};
use crate::{dictionary::Rows, entity::Entity, render::RenderError, snapshot::Snapshot};

/// Texts looked at between two looks at the clock.
const TEXTS_PER_LOOK: u32 = 4_096;
/// A byte that no text has, so that with it after a text, it comes after all that begin so.
const BEYOND: u8 = 0xff;

/// The rows whose names hold, for each of these, a word that begins so.
pub(crate) fn rows_of_words(
    snapshot: &Snapshot,
    entity: Entity,
    words: &[String],
    deadline: Deadline,
) -> Result<Set, AnswerError> {
    // A word that another begins with says nothing more.
    let says_more = |word: &&String| {
        !words.iter().any(|other| other.len() > word.len() && other.starts_with(word.as_str()))
    };
    let mut asked: Vec<&String> = words.iter().filter(says_more).collect();
    asked.sort_unstable();
    asked.dedup();
    let rows = snapshot.count(entity);
    let mut sides = Vec::with_capacity(asked.len());
    for word in asked {
        let mut union = Union::new(rows);
        add_rows(snapshot, entity, word, deadline, &mut union)?;
        let side = Side { is_negated: false, atoms: union.into_atoms(), text: String::new() };
        if side.atoms.is_empty() {
            return Ok(Set::Few(Vec::new()));
        }
        sides.push(side);
    }
    if sides.is_empty() {
        return Ok(Set::Few(Vec::new()));
    }
    Set::of(&Filter::new(sides, rows), deadline)
}

/// Adds the rows whose names hold a word that begins so.
pub(super) fn add_rows<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    prefix: &str,
    deadline: Deadline,
    union: &mut Union<'s>,
) -> Result<(), AnswerError> {
    let prefix = prefix.as_bytes();
    let (words, prefixes) = (snapshot.words(entity)?, snapshot.prefixes(entity)?);
    let mut at = prefix.to_vec();
    let mut looked = 0;
    loop {
        // Up to the next longer prefix whose rows are there as a set, word by word.
        let set = prefixes.set_from(&at)?.filter(|(longer, _)| longer.starts_with(prefix));
        let mut texts = words.from(&at)?;
        while let Some((word, rows)) = texts.here_beginning(prefix) {
            if set.as_ref().is_some_and(|(longer, _)| word >= longer.as_slice()) {
                break;
            }
            match rows {
                Rows::Few(few) => few.each(|row, _| union.row(row))?,
                Rows::Many(list) => union.list_or_rows(list)?,
            }
            looked += 1;
            if looked % TEXTS_PER_LOOK == 0 {
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
    deadline: Deadline,
    union: &mut Union<'s>,
) -> Result<(), AnswerError> {
    if let [word] = words {
        return add_rows(snapshot, entity, word, deadline, union);
    }
    match rows_of_words(snapshot, entity, words, deadline)? {
        Set::Few(rows) => rows.into_iter().for_each(|row| union.row(row)),
        Set::Many(bits, _) => union.bits(bits),
        // No filter without sides was asked.
        Set::All(_) => return Err(RenderError::Record.into()),
    }
    Ok(())
}
