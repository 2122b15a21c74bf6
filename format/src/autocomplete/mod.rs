//! Autocomplete: finds the records whose names match a text, and the ten best of them.
//!
//! A record matches if every word of the folded text is a prefix of a word in the record's names. The
//! best records come first by [`Tier`], then by citations. The pipeline of types:
//!
//! ```text
//! Completion   entities and a text      parsed once: identifier, folded words
//! Identifier   a DOI, an HX id, …       identifiers.rs: if the text is one and a record has it
//! prefix statistics                     one frequent prefix: count and top ten, precomputed
//! dictionary   words with a prefix      one rare prefix: at most 256 rows, ranked now
//! DocSet       rows with all words      several words: query::rows_of_words
//! NameSearch   names by Tier            rank.rs: name order, alternative names, most cited
//! TopRows      ten rows of an entity    rank.rs
//! Candidates   count and ten records    merged over all entities
//! ```
//!
//! Imports `entity`, `index`, `query`, `record`, `schema`, `snapshot`, `storage`, `text`.

mod candidate;
mod identifiers;
mod rank;
mod suppress;

use std::sync::LazyLock;

use crate::entity::Entity;
use crate::index::dictionary::EntryRows;
use crate::index::kept_sets::CountedSet;
use crate::query::{Deadline, QueryError, is_long, rows_of_words};
use crate::schema::identifier::Scheme;
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;
use crate::text::fold::fold;

pub use crate::autocomplete::candidate::render;
pub use crate::autocomplete::identifiers::Identifier;
pub use crate::autocomplete::rank::{Ranking, TopRows};
pub use crate::index::prefix_stats::NamePart;
pub use crate::index::prefix_stats::{BEST_MAX as RESULTS_MAX, Tier};

use crate::autocomplete::rank::NameSearch;

/// The entities whose names are searched. Ties between entities are broken in this order.
pub static ENTITIES: LazyLock<Vec<Entity>> = LazyLock::new(|| {
    let order = |entity: &Entity| entity.facts().autocomplete_order;
    let mut entities: Vec<Entity> = Entity::all().filter(|e| order(e).is_some()).collect();
    entities.sort_by_key(order);
    entities
});

/// Bytes of a folded alternative name that the index keeps; longer names are cut at a character. The
/// longest text of a client, 256 bytes, folds to fewer bytes.
pub const ALTERNATIVE_BYTES_MAX: usize = 4_096;

/// The result of autocomplete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Number of matching records.
    pub count: u64,
    /// The best records, best first, at most [`RESULTS_MAX`].
    pub best: Vec<Candidate>,
}

/// A matching record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// How well the record matches.
    pub tier: Tier,
    /// The record's entity.
    pub entity: Entity,
    /// The record's row.
    pub row: u32,
}

/// A text to complete, parsed, and the entities to search.
#[derive(Clone, Debug)]
pub struct Completion {
    entities: Vec<Entity>,
    /// The text as an identifier, if the text is a complete one.
    identifier: Option<Identifier>,
    folded: String,
}

impl Completion {
    /// Parses a text.
    pub fn new(entities: Vec<Entity>, text: &str) -> Completion {
        // `mag:` and a number is text here: only `/resolve` reads it.
        let identifier = Identifier::parse(text.trim())
            .filter(|identifier| !matches!(identifier, Identifier::External(Scheme::Mag, _)));
        Completion { entities, identifier, folded: fold(text) }
    }

    /// The entities to search.
    pub fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// The text as an identifier, if the text is a complete one.
    pub fn identifier(&self) -> Option<&Identifier> {
        self.identifier.as_ref()
    }

    /// The text with its letters folded, words separated by one space.
    pub fn folded(&self) -> &str {
        &self.folded
    }

    /// Whether the search must intersect the records of several words.
    pub fn has_several_words(&self) -> bool {
        self.folded.contains(' ')
    }

    /// Finds the records that match. If the text is a complete identifier and a record has the
    /// identifier, only such records match; else records match by name.
    ///
    /// Cost for one word: one look-up, or at most
    /// [`BLOCK_ROWS_MAX`](crate::index::dictionary::BLOCK_ROWS_MAX) rows. Cost for several words, or
    /// for a word longer than the index keeps: that of a list query filtered by words and sorted by
    /// citations.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged or the deadline passes.
    pub fn execute(
        &self,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Candidates, QueryError> {
        if let Some(identifier) = &self.identifier {
            let found =
                find_identified(identifier, &self.entities, &self.folded, snapshot, deadline)?;
            if found.count > 0 {
                return Ok(found);
            }
        }
        let mut merged = CandidateMerge::new(self.entities.len());
        for entity in &self.entities {
            let mut add = || {
                // All are opened before the first is needed, so that one attempt notes the ends of all. From a disk, words are
                // opened where the statistics do not answer.
                let statistics = snapshot.prefix_stats(*entity);
                let words = match snapshot.is_collecting() {
                    true => snapshot.words(*entity).map(drop),
                    false => Ok(()),
                };
                let search = NameSearch::new(snapshot, *entity, deadline)?;
                statistics?;
                words?;
                let (count, top) = search_words(&search, &self.folded)?;
                Ok::<_, QueryError>(merged.add(&search, count, &top)?)
            };
            snapshot.or_noted(add())?;
        }
        Ok(merged.finish())
    }
}

/// Finds the records that have an identifier. `folded` ranks them, as a text ranks names.
///
/// # Errors
///
/// If the snapshot is damaged or the deadline passes.
pub fn find_identified(
    identifier: &Identifier,
    entities: &[Entity],
    folded: &str,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
) -> Result<Candidates, QueryError> {
    let found = identifier.find_rows(snapshot, entities)?;
    let mut merged = CandidateMerge::new(found.len());
    let is_only = matches!(&found[..], [(_, rows)] if rows.len() == 1);
    for (entity, rows) in found {
        let search = NameSearch::new(snapshot, entity, deadline)?;
        // One record needs no rank, and no look at its names.
        let top = match is_only {
            true => rows.iter().map(|row| (Tier::Words, *row)).collect(),
            false => search.top_of_rows(&rows, folded)?.rows(),
        };
        merged.add(&search, rows.len() as u64, &top)?;
    }
    Ok(merged.finish())
}

/// The first rows whose own name is a folded text.
///
/// Cost: two binary searches by names.
///
/// # Errors
///
/// If the snapshot is damaged or the deadline passes.
pub(crate) fn rows_of_name(
    snapshot: &Snapshot,
    entity: Entity,
    folded: &str,
    rows_max: usize,
    deadline: Deadline<'_>,
) -> Result<Vec<u32>, QueryError> {
    Ok(NameSearch::new(snapshot, entity, deadline)?.rows_of_name(folded, rows_max)?)
}

/// Counts the records of an entity that match a folded text by name, and finds the top ten.
fn search_words(
    search: &NameSearch<'_>,
    folded: &str,
) -> Result<(u64, Vec<(Tier, u32)>), QueryError> {
    let words: Vec<String> = folded.split(' ').map(str::to_owned).collect();
    match words.as_slice() {
        words if words.iter().any(String::is_empty) => Ok((0, Vec::new())),
        [word] if !is_long(word) => search_word(search, word),
        words => {
            let set = rows_of_words(search.snapshot, search.entity, words, search.deadline)?;
            let count = set.count();
            if count == 0 {
                return Ok((0, Vec::new()));
            }
            Ok((count, search.top_of_set(&CountedSet::new(set), folded)?.rows()))
        }
    }
}

fn search_word(search: &NameSearch<'_>, word: &str) -> Result<(u64, Vec<(Tier, u32)>), QueryError> {
    let prefix = word.as_bytes();
    let suppressed = search.snapshot.suppressed();
    if let Some(summary) = suppressed.prefix_summary(search.entity, prefix) {
        return Ok((summary.count.into(), summary.best.clone()));
    }
    if let Some(summary) = search.snapshot.prefix_stats(search.entity)?.summary(prefix)? {
        return Ok((summary.count.into(), summary.best));
    }
    let mut found: Vec<(u32, Tier)> = Vec::new();
    let mut texts = search.snapshot.words(search.entity)?.seek(prefix)?;
    while let Some((text, rows)) = texts.current_with_prefix(prefix) {
        // A word of many rows has prefix statistics, and so has every prefix of the word.
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
    found.retain(|(row, _)| !suppressed.has(search.entity, *row));
    let mut top = TopRows::default();
    for (row, tier) in &found {
        search.snapshot.or_noted(top.offer(&search.ranking, *tier, *row))?;
    }
    Ok((found.len() as u64, top.rows()))
}

/// Merges the top rows of several entities. The rows of one entity are in order already, and nothing of
/// them is read.
struct CandidateMerge {
    entities: usize,
    count: u64,
    best: Vec<(MergeKey, Candidate)>,
}

/// Sorts candidates: tier, whether the count of citations is missing, the count (most cited first),
/// index in [`ENTITIES`], place among the rows of the entity, which orders equal counts by id.
type MergeKey = (Tier, bool, u64, Option<usize>, u64);

impl CandidateMerge {
    fn new(entities: usize) -> CandidateMerge {
        CandidateMerge { entities, count: 0, best: Vec::new() }
    }

    fn add(
        &mut self,
        search: &NameSearch<'_>,
        count: u64,
        top: &[(Tier, u32)],
    ) -> Result<(), ReadError> {
        self.count += count;
        let entity = search.entity;
        let entity_rank = ENTITIES.iter().position(|known| *known == entity);
        for (place, (tier, row)) in (0..).zip(top.iter().copied()) {
            let cited = match self.entities {
                1 => Some(0),
                _ => search.snapshot.or_noted(search.citations_descending(row))?,
            };
            let key = (tier, cited.is_none(), cited.unwrap_or_default(), entity_rank, place);
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
