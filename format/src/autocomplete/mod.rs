//! Autocomplete: the records whose names hold the words of a text, the likeliest first.
//!
//! A record matches where every word of the folded text is the beginning of some word of its names.
//! What comes first is a matter of [`Tier`]s and, within one, of citations. Of a single word the
//! marks of `words` tell the tier, and what many records match was worked out by the compiler; of
//! several words the order by name and `alternatives` tell which names begin with them.

mod candidate;
mod identifiers;
mod rank;
mod suppress;

use std::sync::LazyLock;

use crate::entity::Entity;
use crate::index::dictionary::EntryRows;
use crate::query::{AnswerError, Deadline, is_long, rows_of_words};
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;
use crate::text::fold::fold;

pub use crate::autocomplete::candidate::render;
pub use crate::autocomplete::rank::{Best, Ranking};
pub use crate::index::name_part::NamePart;
pub use crate::index::prefix_stats::{BEST_MAX as RESULTS_MAX, Tier};

use crate::autocomplete::rank::Names;

/// Every entity whose names are searched, in the order that decides between equals.
pub static ENTITIES: LazyLock<Vec<Entity>> = LazyLock::new(|| {
    let order = |entity: &Entity| entity.facts().autocomplete_order;
    let mut entities: Vec<Entity> = Entity::all().filter(|e| order(e).is_some()).collect();
    entities.sort_by_key(order);
    entities
});

/// Bytes of a folded alternative name that are indexed; longer ones are cut at a character. A text of
/// 256 bytes folds to fewer.
pub const ALTERNATIVE_BYTES_MAX: usize = 4_096;

/// What autocomplete found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// How many records match.
    pub count: u64,
    /// The best of them, best first, [`RESULTS_MAX`] at most.
    pub best: Vec<Candidate>,
}

/// A record that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// How well.
    pub tier: Tier,
    /// Its kind.
    pub entity: Entity,
    /// Its row.
    pub row: u32,
}

/// Finds the records of some entities that a text means: those that hold it, where it is a complete
/// identifier and any does, else those whose names hold its words.
///
/// # Errors
///
/// Where the snapshot is damaged, or the deadline passes. Cost: for one word a look-up, or
/// [`BLOCK_ROWS_MAX`](crate::index::dictionary::BLOCK_ROWS_MAX) rows; for several, or one longer than what is
/// indexed, gathering the rows of each, meeting them, and finding the most cited of them as a list sorted so does.
pub fn autocomplete(
    snapshot: &Snapshot,
    entities: &[Entity],
    text: &str,
    deadline: Deadline<'_>,
) -> Result<Candidates, AnswerError> {
    let folded = fold(text);
    let held = identifiers::find(snapshot, entities, text)?;
    let mut merged = Merged::default();
    if held.is_empty() {
        for entity in entities {
            let names = Names::new(snapshot, *entity, deadline)?;
            let (count, best) = by_words(&names, &folded)?;
            merged.add(&names, count, &best)?;
        }
        return Ok(merged.finish());
    }
    for (entity, rows) in held {
        let names = Names::new(snapshot, entity, deadline)?;
        let best = names.best_of_rows(&rows, &folded)?;
        merged.add(&names, rows.len() as u64, &best.rows())?;
    }
    Ok(merged.finish())
}

/// How many records of an entity have names with all words of a folded text, and the best.
fn by_words(names: &Names<'_>, folded: &str) -> Result<(u64, Vec<(Tier, u32)>), AnswerError> {
    let words: Vec<String> = folded.split(' ').map(str::to_owned).collect();
    match words.as_slice() {
        words if words.iter().any(String::is_empty) => Ok((0, Vec::new())),
        [word] if !is_long(word) => by_word(names, word),
        words => {
            let set = rows_of_words(names.snapshot, names.entity, words, names.deadline)?;
            let best =
                if set.count() == 0 { Vec::new() } else { names.best_of(&set, folded)?.rows() };
            Ok((set.count(), best))
        }
    }
}

/// The same of one word.
fn by_word(names: &Names<'_>, word: &str) -> Result<(u64, Vec<(Tier, u32)>), AnswerError> {
    let prefix = word.as_bytes();
    let suppressed = names.snapshot.suppressed();
    if let Some(answer) = suppressed.prefix_summary(names.entity, prefix) {
        return Ok((answer.count.into(), answer.best.clone()));
    }
    if let Some(answer) = names.snapshot.prefix_stats(names.entity)?.summary(prefix)? {
        return Ok((answer.count.into(), answer.best));
    }
    let mut found: Vec<(u32, Tier)> = Vec::new();
    let mut texts = names.snapshot.words(names.entity)?.seek(prefix)?;
    while let Some((text, rows)) = texts.current_with_prefix(prefix) {
        // What many rows have has an answer, and so has every beginning of it.
        let EntryRows::Inline(few) = rows else {
            return Err(
                ReadError::corrupt("prefix_stats", "a frequent prefix has no statistics").into()
            );
        };
        let is_word = text == prefix;
        few.each(|row, mark| found.push((row, NamePart::from_mark(mark).tier(is_word))))?;
        texts.advance()?;
    }
    found.sort_unstable();
    found.dedup_by_key(|(row, _)| *row);
    found.retain(|(row, _)| !suppressed.has(names.entity, *row));
    let mut best = Best::default();
    for (row, tier) in &found {
        best.offer(&names.ranking, *tier, *row)?;
    }
    Ok((found.len() as u64, best.rows()))
}

/// The best of the records of an entity that have a word which begins so, but for those withheld; found
/// by looking at all that do.
///
/// # Errors
///
/// Where the snapshot is damaged.
pub(crate) fn answer_without(
    snapshot: &Snapshot,
    entity: Entity,
    prefix: &str,
) -> Result<Vec<(Tier, u32)>, AnswerError> {
    let names = Names::new(snapshot, entity, Deadline::NEVER)?;
    let set = rows_of_words(snapshot, entity, &[prefix.to_owned()], Deadline::NEVER)?;
    Ok(names.best_of(&set, prefix)?.rows())
}

/// What several entities found.
#[derive(Default)]
struct Merged {
    count: u64,
    /// Each with what orders it.
    best: Vec<(MergeKey, Candidate)>,
}

/// The tier, whether there is no count of citations, that count so that the greatest comes first,
/// the entity's place, the id.
type MergeKey = (Tier, bool, u64, Option<usize>, u64);

impl Merged {
    fn add(
        &mut self,
        names: &Names<'_>,
        count: u64,
        best: &[(Tier, u32)],
    ) -> Result<(), ReadError> {
        self.count += count;
        let entity = names.entity;
        let place = ENTITIES.iter().position(|known| *known == entity);
        for (tier, row) in best.iter().copied() {
            let cited = names.ranking.cited_at(row)?;
            let id = names.snapshot.row_id(entity, row)?;
            let key = (tier, cited.is_none(), cited.unwrap_or_default(), place, id);
            self.best.push((key, Candidate { tier, entity, row }));
        }
        Ok(())
    }

    fn finish(mut self) -> Candidates {
        self.best.sort_unstable_by_key(|(key, _)| *key);
        let best = self.best.into_iter().take(RESULTS_MAX).map(|(_, candidate)| candidate);
        Candidates { count: self.count, best: best.collect() }
    }
}
