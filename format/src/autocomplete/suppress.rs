//! Snapshots with suppressed records, and the prefix statistics that hold without those records.

use std::collections::BTreeMap;

use crate::autocomplete::rank::NameSearch;
use crate::entity::Entity;
use crate::index::kept_sets::CountedSet;
use crate::index::prefix_stats::Tier;
use crate::query::{Deadline, QueryError, rows_of_words};
use crate::record::Gathered;
use crate::schema::keys_of;
use crate::snapshot::suppression_list::SuppressionList;
use crate::snapshot::{PrefixSummaries, RecordLookup, Snapshot};
use crate::storage::ReadError;
use crate::text::fold::{fold, words};

impl Snapshot {
    /// The same snapshot without the records of a list. Both share their mapped files
    /// and the state of verification.
    ///
    /// Cost: for each id, a look-up and the words of its record's names. Where a suppressed record
    /// is among the ten best of a frequent prefix, the ten best are found anew.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
    pub fn without(&self, list: &SuppressionList) -> Result<Snapshot, ReadError> {
        let snapshot = self.with_suppressed_rows(list)?;
        if list.is_empty() {
            return Ok(snapshot);
        }
        let full = self.with_suppressed_rows(&SuppressionList::default())?;
        let summaries: Result<Vec<_>, ReadError> =
            Entity::all().map(|entity| prefix_summaries(&snapshot, &full, entity)).collect();
        Ok(snapshot.with_prefix_summaries(summaries?))
    }
}

/// The statistics of an entity's prefixes without suppressed records, where these count.
fn prefix_summaries(
    snapshot: &Snapshot,
    full: &Snapshot,
    entity: Entity,
) -> Result<PrefixSummaries, ReadError> {
    let mut summaries = BTreeMap::new();
    if !keys_of(entity).has_names() {
        return Ok(summaries);
    }
    // Only the prefixes of suppressed names change.
    for (prefix, rows) in count_prefixes(full, entity, snapshot.suppressed().rows(entity))? {
        // A prefix without a summary is rare: its rows are counted with each request.
        let Some(mut summary) = snapshot.prefix_stats(entity)?.summary(&prefix)? else { continue };
        let text = std::str::from_utf8(&prefix)
            .map_err(|_| ReadError::Internal("a prefix of a name is not UTF-8"))?;
        let count = summary.count.checked_sub(rows);
        summary.count = count.ok_or(ReadError::corrupt(
            "prefix_stats",
            "a prefix counts fewer rows than are suppressed",
        ))?;
        // Finding the best rows again costs a search, so it is done only if one of them is suppressed.
        if summary.best.iter().any(|(_, row)| snapshot.suppressed().has(entity, *row)) {
            summary.best =
                top_rows_of_prefix(snapshot, entity, text).map_err(|error| match error {
                    QueryError::Damaged(error) => error,
                    QueryError::Deadline | QueryError::Refused { .. } => {
                        ReadError::Internal("a query without a deadline reached its deadline")
                    }
                })?;
        }
        summaries.insert(prefix, summary);
    }
    Ok(summaries)
}

/// Counts, for each prefix of a word in the names of some records, the records with such a word.
fn count_prefixes(
    snapshot: &Snapshot,
    entity: Entity,
    rows: &[u32],
) -> Result<BTreeMap<Box<[u8]>, u32>, ReadError> {
    let keys = keys_of(entity);
    let tree = keys.tree.pruned(&|end: &usize| keys.ends[*end].names.is_some());
    // Per prefix, the last record counted and the count.
    let mut counted: BTreeMap<Box<[u8]>, (u32, u32)> = BTreeMap::new();
    for row in rows.iter().copied() {
        let mut names = Vec::new();
        snapshot.gather(entity, row, &tree, &mut |end, value| {
            if let (Some(_), Gathered::Text(name)) = (keys.ends[end].names, value) {
                names.push(fold(name));
            }
        })?;
        for word in names.iter().flat_map(|name| words(name)) {
            for (at, letter) in word.char_indices() {
                let prefix = &word.as_bytes()[..at + letter.len_utf8()];
                match counted.get_mut(prefix) {
                    // A record counts once, in however many of its words the prefix occurs.
                    Some((last, _)) if *last == row => {}
                    Some((last, count)) => (*last, *count) = (row, *count + 1),
                    None => drop(counted.insert(prefix.into(), (row, 1))),
                }
            }
        }
    }
    Ok(counted.into_iter().map(|(prefix, (_, count))| (prefix, count)).collect())
}

/// Computes the top ten of a frequent prefix without suppressed records and without the precomputed
/// prefix statistics. Cost: all rows that match the prefix.
fn top_rows_of_prefix(
    snapshot: &Snapshot,
    entity: Entity,
    prefix: &str,
) -> Result<Vec<(Tier, u32)>, QueryError> {
    let search = NameSearch::new(snapshot, entity, Deadline::NEVER)?;
    let set = rows_of_words(snapshot, entity, &[prefix.to_owned()], Deadline::NEVER)?;
    Ok(search.top_of_set(&CountedSet::new(set), prefix)?.rows())
}
